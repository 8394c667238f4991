//! Private retrieval of every scheme: setups, queries and answers from anybody.

use crate::Choices;
use crate::memory::{alone, within};
use crate::seeded::Seeded;
use crate::spoil::spoil;
use slyfi_pir::error::SetupError;
use slyfi_pir::{Client, HintDigest, Preparation, SchemeId, Server, Setup, Shape, registry};
use std::sync::LazyLock;

/// A table that is served, and a client of it.
struct Served {
    table: Vec<u8>,
    server: Box<dyn Server>,
    client: Box<dyn Client>,
    asked: Vec<Asked>,
}

/// An honest query, which its seed makes again, and its answer.
struct Asked {
    index: u64,
    seed: u64,
    query: Vec<u8>,
    answer: Vec<u8>,
}

impl Served {
    fn new(scheme: SchemeId, shape: Shape, layout: u32) -> Self {
        let mut table = vec![0; shape.table_bytes()];
        slyfi_base::SecureRandom::fill(&mut Seeded(u64::from(layout)), &mut table);
        let how = Preparation::quiet([7; 32]);
        let server = registry::prepare(scheme, shape, layout, &table, &how).expect("a small table");
        let client = registry::client(server.setup(), server.hint()).expect("its own hint");
        let mut served = Served { table, server, client, asked: Vec::new() };
        let last = shape.rows() - 1;
        served.asked = [0, last / 3, last].map(|index| served.ask(index, index ^ 0x5eed)).into();
        served
    }

    /// Retrieves a row, and checks all that came.
    fn ask(&self, index: u64, seed: u64) -> Asked {
        let setup = self.server.setup();
        let sizes = setup.sizes().expect("a setup that is served");
        let made = self.client.query(index, &mut Seeded(seed)).expect("a row of the table");
        assert_eq!(made.bytes.len(), sizes.query, "the length shows the index");
        let answer = self.server.answer(&made.bytes).expect("an honest query");
        assert_eq!(answer.len(), sizes.answer, "the length shows the index");
        let got = made.state.extract(&answer).expect("an honest answer");
        assert_eq!((got.index(), got.row()), (index, self.row(index)));
        assert!(got.indices().contains(&index) && got.indices().end <= setup.shape.rows());
        assert!(got.block().all(|(at, row)| row == self.row(at)), "a neighbour is wrong");
        Asked { index, seed, query: made.bytes, answer }
    }

    fn row(&self, index: u64) -> &[u8] {
        let len = self.server.setup().shape.row_bytes();
        &self.table[index as usize * len..][..len]
    }
}

/// Tables that are made once: preparing a ring takes its time.
static TABLES: LazyLock<Vec<Served>> = LazyLock::new(|| {
    let shape = |rows, bytes| Shape::new(rows, bytes).expect("a small table");
    vec![
        Served::new(SchemeId::Hintless, shape(300, 32), 1),
        Served::new(SchemeId::Hintless, shape(2_100, 3), 1),
        Served::new(SchemeId::Lwe, shape(300, 32), 3),
        Served::new(SchemeId::Lwe, shape(97, 5), 97),
        Served::new(SchemeId::Ntru2015, shape(60, 16), 2),
        Served::new(SchemeId::Ntru2015, shape(7, 54), 1),
    ]
});

/// What a query of these tables may make either side allocate.
const MOST: usize = 32 << 20;

/// Draws what is hostile, and gives it the rest of the input.
///
/// # Panics
/// When an honest retrieval fails beside it, junk is not answered as its bytes ask, an index shows in a
/// length, or a few bytes take much memory.
pub fn run(input: &[u8]) {
    let _alone = alone();
    let mut c = Choices::new(input);
    match c.below(6) {
        0 => setup(&mut c),
        1 => made(&mut c),
        2 | 3 => query(&mut c),
        _ => answer(&mut c),
    }
}

/// A setup of anything: what is read is written the same, and can be used.
fn setup(c: &mut Choices<'_>) {
    let served = &TABLES[c.below(TABLES.len())];
    let mut bytes = served.server.setup().encode().to_vec();
    if c.is() {
        bytes[1] = c.byte() % 5;
        bytes[2..6].copy_from_slice(&(c.word() >> (c.byte() & 31)).to_le_bytes());
        bytes[6..10].copy_from_slice(&u32::from(c.short() % 5_000).to_le_bytes());
        bytes[10..18].copy_from_slice(&(c.long() >> (c.byte() & 63)).to_le_bytes());
        // The length of the hint that such a table has, so that the rest is looked at.
        let shape = Shape::new(number(&bytes[10..18]), number(&bytes[6..10]) as u32);
        let sizes = shape.ok().zip(SchemeId::from_code(bytes[1])).and_then(|(shape, scheme)| {
            registry::sizes(scheme, shape, number(&bytes[2..6]) as u32).ok()
        });
        let hint = sizes.map_or(0, |sizes| sizes.hint as u64);
        bytes[50..58].copy_from_slice(&hint.to_le_bytes());
        bytes[58..].fill(u8::from(hint > 0));
    } else {
        spoil(&mut bytes, c, &[]);
    }
    let Ok(setup) = within(4_096, || Setup::decode(&bytes)) else { return };
    assert_eq!(&setup.encode()[..], bytes, "a setup has one encoding");
    let sizes = setup.sizes().expect("a setup that was decoded can be");
    assert_eq!(registry::sizes(setup.scheme, setup.shape, setup.layout), Ok(sizes));
    assert_eq!(setup.hint.is_some(), sizes.hint > 0);
    let (rows, shape) = (setup.shape.rows(), setup.shape);
    assert!(sizes.rows_per_answer as u64 <= rows.next_multiple_of(2_048 * u64::from(u16::MAX)));
    let default = registry::default_layout(setup.scheme, shape);
    if let Ok(default) = default {
        assert!(registry::sizes(setup.scheme, shape, default).is_ok(), "its own layout");
    }
    // A hint of anybody is not this one.
    let hint = c.rest();
    if let Some(digest) = setup.hint {
        let checked = setup.check_hint(Some(hint));
        assert_eq!(checked.is_ok(), HintDigest::of(hint) == digest);
        let made = within(65_536 + hint.len(), || registry::client(&setup, Some(hint)).map(drop));
        assert!(made.is_err() || checked.is_ok(), "another hint");
        let none = registry::client(&setup, None).map(drop);
        assert_eq!(none, Err(SetupError::HintMissing));
    } else {
        assert_eq!(setup.check_hint(Some(hint)), Err(SetupError::HintUnwanted));
    }
    // Public polynomials take what the query takes, some times over.
    if setup.scheme != SchemeId::Lwe && sizes.query < 1 << 18 {
        let client = within(MOST, || registry::client(&setup, None)).expect("there is no hint");
        if sizes.query < 1 << 16 {
            let query = within(MOST, || client.query(rows - 1, &mut Seeded(5)));
            assert_eq!(query.expect("the last row").bytes.len(), sizes.query);
        }
        assert!(client.query(rows, &mut Seeded(5)).is_err(), "there is no such row");
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte))
}

/// Tables of any small shape and layout, of the schemes that prepare them in no time.
fn made(c: &mut Choices<'_>) {
    let scheme = if c.is() { SchemeId::Lwe } else { SchemeId::Ntru2015 };
    let (rows, row_bytes) = (1 + u64::from(c.byte() % 80), 1 + u32::from(c.byte() % 60));
    let shape = Shape::new(rows, row_bytes).expect("a small table");
    let layout = u32::from(c.byte());
    let Ok(sizes) = registry::sizes(scheme, shape, layout) else {
        let how = Preparation::quiet([1; 32]);
        let table = vec![0; shape.table_bytes()];
        assert!(registry::prepare(scheme, shape, layout, &table, &how).is_err());
        return;
    };
    // A hint takes a thousand numbers for each byte of a column.
    if sizes.hint > 1 << 19 {
        return;
    }
    let served = Served::new(scheme, shape, layout);
    assert_eq!(served.server.setup().sizes(), Ok(sizes));
    served.ask(u64::from(c.byte()) % rows, c.long());
}

/// Queries of anything: answered the same alone and beside others, or refused.
fn query(c: &mut Choices<'_>) {
    let served = &TABLES[c.below(TABLES.len())];
    let sizes = served.server.setup().sizes().expect("a setup that is served");
    let honest = &served.asked[c.below(served.asked.len())];
    let mut junk = match c.below(4) {
        0 => c.run().to_vec(),
        1 => vec![c.byte(); sizes.query],
        2 => {
            // The right header before anything.
            let mut junk = honest.query[..2].to_vec();
            let pattern = c.run();
            junk.extend(pattern.iter().copied().chain([c.byte()]).cycle().take(sizes.query - 2));
            junk
        }
        _ => honest.query.clone(),
    };
    if c.is() {
        spoil(&mut junk, c, std::slice::from_ref(&honest.query));
    }
    let answered = within(MOST, || served.server.answer(&junk));
    if let Ok(answer) = &answered {
        assert_eq!((junk.len(), answer.len()), (sizes.query, sizes.answer));
        assert_eq!(junk[..2], honest.query[..2], "another scheme's or version's");
        assert!(junk != honest.query || *answer == honest.answer, "another answer than before");
    }
    if c.byte() % 4 == 0 {
        let batch = served.server.answer_batch(&[&junk, &honest.query, &junk, &[]]);
        let [one, other, again, none] = &batch[..] else { panic!("an answer for each query") };
        assert!(none.is_err() && *one == answered && *again == answered, "alone it is another");
        assert_eq!(other.as_ref(), Ok(&honest.answer), "junk beside an honest query");
    }
    if c.byte() % 16 == 1 {
        served.ask(u64::from(c.short()) % served.server.setup().shape.rows(), c.long());
    }
}

/// Answers of anything: refused, or rows of the right form.
fn answer(c: &mut Choices<'_>) {
    let served = &TABLES[c.below(TABLES.len())];
    let shape = served.server.setup().shape;
    let Asked { index, seed, query, answer: genuine } = &served.asked[c.below(served.asked.len())];
    let made = served.client.query(*index, &mut Seeded(*seed)).expect("a row of the table");
    assert_eq!(made.bytes, *query, "a seed makes one query");
    let mut answer = genuine.clone();
    match c.below(4) {
        0 => answer = c.run().to_vec(),
        1 => {
            let pattern = c.run().to_vec();
            let fill = pattern.iter().copied().chain([c.byte()]).cycle();
            answer.iter_mut().skip(2).zip(fill).for_each(|(byte, fill)| *byte = fill);
        }
        // The answer to another query.
        2 => answer.clone_from(&served.asked[c.below(served.asked.len())].answer),
        _ => spoil(&mut answer, c, std::slice::from_ref(genuine)),
    }
    let right = answer == *genuine;
    let Ok(got) = within(MOST, || made.state.extract(&answer)) else {
        assert!(!right, "an honest answer");
        return;
    };
    assert_eq!((answer.len(), &answer[..2]), (genuine.len(), &genuine[..2]));
    assert_eq!((got.index(), got.row().len()), (*index, shape.row_bytes()));
    assert!(got.indices().contains(index) && got.indices().end <= shape.rows());
    assert!(got.block().all(|(_, row)| row.len() == shape.row_bytes()));
    assert!(!right || got.row() == served.row(*index), "an honest answer");
}
