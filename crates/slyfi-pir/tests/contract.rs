//! What holds for every scheme, whichever it is.

mod common;

use std::ops::ControlFlow;
use std::sync::LazyLock;

use common::{Seeded, table};
use proptest::prelude::*;
use slyfi_base::SecureRandom;
use slyfi_pir::{
    Client, Preparation, PrepareError, SchemeId, Server, Setup, SetupError, Shape, WireError,
    registry,
};

/// A small table of every scheme, its server and its client.
struct Served {
    shape: Shape,
    table: Vec<u8>,
    server: Box<dyn Server>,
    client: Box<dyn Client>,
}

impl Served {
    fn new(id: SchemeId, rows: u64, row_bytes: u32, layout: Option<u32>, seed: u64) -> Self {
        let shape = Shape::new(rows, row_bytes).expect("a test's shape");
        let table = table(shape.table_bytes(), seed);
        let layout = layout.unwrap_or_else(|| {
            registry::default_layout(id, shape).expect("every shape here has a layout")
        });
        let how = Preparation::quiet([seed as u8; 32]);
        let server = registry::prepare(id, shape, layout, &table, &how).expect("a small table");
        let setup = Setup::decode(&server.setup().encode()).expect("what a server publishes");
        assert_eq!(setup, *server.setup());
        let client = registry::client(&setup, server.hint()).expect("its own setup and hint");
        Served { shape, table, server, client }
    }

    fn row(&self, index: u64) -> &[u8] {
        let at = index as usize * self.shape.row_bytes();
        &self.table[at..at + self.shape.row_bytes()]
    }

    /// Retrieves a row and checks it and everything that came with it.
    fn retrieve(&self, index: u64, rng: &mut Seeded) -> Result<(), TestCaseError> {
        let sizes = self.server.setup().sizes().expect("a served setup");
        let query = self.client.query(index, rng).expect("a row of the table");
        prop_assert_eq!(query.bytes.len(), sizes.query);
        let answer = self.server.answer(&query.bytes).expect("an honest query");
        prop_assert_eq!(answer.len(), sizes.answer);
        let found = query.state.extract(&answer).expect("an honest answer");
        prop_assert_eq!(found.index(), index);
        prop_assert_eq!(found.row(), self.row(index));
        prop_assert!(found.indices().contains(&index));
        prop_assert!(found.indices().end <= self.shape.rows());
        let mut count = 0;
        for (at, row) in found.block() {
            prop_assert_eq!(row, self.row(at), "row {} beside {}", at, index);
            count += 1;
        }
        prop_assert!(count <= sizes.rows_per_answer);
        Ok(())
    }
}

/// A table of each scheme, prepared once for all tests.
static SERVED: LazyLock<Vec<Served>> = LazyLock::new(|| {
    SchemeId::ALL.into_iter().map(|id| Served::new(id, 3001, 20, None, 7)).collect()
});

fn each(test: impl Fn(SchemeId, &Served)) {
    for served in SERVED.iter() {
        test(served.server.setup().scheme, served);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3))]

    #[test]
    fn every_row_of_every_shape_comes_out(
        rows in 1u64..4000,
        row_bytes in 1u32..50,
        picks: [u64; 3],
        seed: u64,
    ) {
        for id in SchemeId::ALL {
            let served = Served::new(id, rows, row_bytes, None, seed);
            let mut rng = Seeded(seed);
            for index in [0, rows - 1, picks[0] % rows, picks[1] % rows, picks[2] % rows] {
                served.retrieve(index, &mut rng)?;
            }
        }
    }

    #[test]
    fn every_lwe_layout_serves(rows in 1u64..300, row_bytes in 1u32..50, pick: u64, seed: u64) {
        for layout in [1, (pick % rows) as u32 + 1, rows as u32] {
            let served = Served::new(SchemeId::Lwe, rows, row_bytes, Some(layout), seed);
            let mut rng = Seeded(seed);
            for index in [0, rows - 1, pick % rows] {
                served.retrieve(index, &mut rng)?;
            }
        }
    }
}

#[test]
fn extreme_tables_come_out_too() {
    for id in SchemeId::ALL {
        for byte in [0x7f, 0x80] {
            let shape = Shape::new(2000, 32).expect("a shape");
            let table = vec![byte; shape.table_bytes()];
            let layout = registry::default_layout(id, shape).expect("a layout");
            let how = Preparation::quiet([1; 32]);
            let server = registry::prepare(id, shape, layout, &table, &how).expect("a table");
            let client = registry::client(server.setup(), server.hint()).expect("a setup");
            let query = client.query(1234, &mut Seeded(1)).expect("a row");
            let answer = server.answer(&query.bytes).expect("an honest query");
            let found = query.state.extract(&answer).expect("an honest answer");
            assert_eq!(found.row(), [byte; 32], "{}", id.name());
        }
    }
}

#[test]
fn batches_answer_as_single_queries_do_and_junk_harms_nobody() {
    each(|id, served| {
        let mut rng = Seeded(3);
        let indices = [0u64, 17, 3000, 1500, 17];
        let queries: Vec<_> =
            indices.iter().map(|i| served.client.query(*i, &mut rng).expect("a row")).collect();
        let mut bytes: Vec<&[u8]> = queries.iter().map(|q| &q.bytes[..]).collect();
        bytes.insert(2, b"junk");
        let mut answers = served.server.answer_batch(&bytes);
        let junk = answers.remove(2);
        assert!(matches!(junk, Err(WireError::Length { got: 4, .. })), "{}", id.name());
        for ((query, answer), index) in queries.into_iter().zip(answers).zip(indices) {
            let single = served.server.answer(&query.bytes).expect("an honest query");
            let answer = answer.expect("an honest query");
            assert_eq!(answer, single, "{}", id.name());
            let found = query.state.extract(&answer).expect("an honest answer");
            assert_eq!(found.row(), served.row(index), "{}", id.name());
        }
        assert!(served.server.answer_batch(&[]).is_empty());
    });
}

#[test]
fn lengths_do_not_depend_on_the_index() {
    each(|id, served| {
        let sizes = served.server.setup().sizes().expect("a setup");
        let mut rng = Seeded(4);
        for index in [0, 1, 1499, 2999, 3000] {
            let query = served.client.query(index, &mut rng).expect("a row");
            assert_eq!(query.bytes.len(), sizes.query, "{} {index}", id.name());
            let answer = served.server.answer(&query.bytes).expect("an honest query");
            assert_eq!(answer.len(), sizes.answer, "{} {index}", id.name());
        }
    });
}

#[test]
fn no_two_queries_are_alike() {
    each(|id, served| {
        let mut rng = Seeded(5);
        let first = served.client.query(42, &mut rng).expect("a row").bytes;
        let second = served.client.query(42, &mut rng).expect("a row").bytes;
        let same = first.iter().zip(&second).skip(2).filter(|(a, b)| a == b).count();
        // Fresh secrets: bytes agree by chance only. A coefficient of ntru-2015 has bytes that are
        // always zero, which is a quarter and some.
        assert!(same * 3 < first.len() * 2, "{}: {same} of {}", id.name(), first.len());
    });
}

#[test]
fn rows_that_are_not_there_are_refused() {
    each(|id, served| {
        for index in [3001, u64::MAX] {
            let query = served.client.query(index, &mut Seeded(6));
            assert!(query.is_err(), "{}", id.name());
        }
    });
}

#[test]
fn a_doctored_answer_changes_the_row() {
    each(|id, served| {
        let mut rng = Seeded(7);
        let query = served.client.query(99, &mut rng).expect("a row");
        let other = served.client.query(100, &mut rng).expect("a row");
        // The answer to somebody else's query: well formed, and not what was asked for. A scheme may
        // notice; none gives the row.
        let answer = served.server.answer(&other.bytes).expect("an honest query");
        if let Ok(found) = query.state.extract(&answer) {
            assert_ne!(found.row(), served.row(99), "{}", id.name());
        }
    });
}

#[test]
fn answers_and_queries_of_the_wrong_form_are_refused() {
    each(|id, served| {
        let mut rng = Seeded(8);
        let sizes = served.server.setup().sizes().expect("a setup");
        let honest = served.client.query(5, &mut rng).expect("a row").bytes;
        let answer = served.server.answer(&honest).expect("an honest query");
        for length in [0, 1, 2, sizes.query - 1, sizes.query + 1] {
            let mut wrong = honest.clone();
            wrong.resize(length, 0);
            let expected = WireError::Length { expected: sizes.query, got: length };
            assert_eq!(served.server.answer(&wrong), Err(expected), "{}", id.name());
        }
        for (at, value) in [(0, 2u8), (1, 99)] {
            let mut wrong = honest.clone();
            wrong[at] = value;
            let error = [WireError::Version(2), WireError::Scheme(99)][at];
            assert_eq!(served.server.answer(&wrong), Err(error), "{}", id.name());
            let mut wrong = answer.clone();
            wrong[at] = value;
            let state = served.client.query(5, &mut rng).expect("a row").state;
            assert_eq!(state.extract(&wrong).err(), Some(error), "{}", id.name());
        }
        for length in [0, 1, sizes.answer - 1, sizes.answer + 1] {
            let mut wrong = answer.clone();
            wrong.resize(length, 0);
            let state = served.client.query(5, &mut rng).expect("a row").state;
            let expected = WireError::Length { expected: sizes.answer, got: length };
            assert_eq!(state.extract(&wrong).err(), Some(expected), "{}", id.name());
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn setups_survive_anything(mut bytes: [u8; 90], fix: u8) {
        // As random bytes, and with the parts fixed that would end the parsing at once.
        if fix & 1 != 0 { bytes[0] = 1; }
        if fix & 2 != 0 { bytes[1] = fix % 3 + 1; }
        if fix & 4 != 0 { bytes[7..10].fill(0); bytes[13..18].fill(0); bytes[4..6].fill(0); }
        if let Ok(setup) = Setup::decode(&bytes) {
            prop_assert_eq!(setup.encode(), bytes);
            prop_assert!(setup.sizes().is_ok());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn queries_and_answers_survive_anything(seed: u64) {
        for served in SERVED.iter() {
            let id = served.server.setup().scheme;
            let sizes = served.server.setup().sizes().expect("a setup");
            let mut rng = Seeded(seed);
            let mut junk = vec![0; sizes.query];
            rng.fill(&mut junk);
            let _ = served.server.answer(&junk);
            (junk[0], junk[1]) = (1, id.code());
            if let Ok(answer) = served.server.answer(&junk) {
                prop_assert_eq!(answer.len(), sizes.answer);
            }
            let mut junk = vec![0; sizes.answer];
            rng.fill(&mut junk);
            (junk[0], junk[1]) = (1, id.code());
            let state = served.client.query(3, &mut rng).expect("a row").state;
            if let Ok(found) = state.extract(&junk) {
                prop_assert_eq!(found.row().len(), 20);
            }
        }
    }
}

#[test]
fn setups_say_what_is_wrong_with_them() {
    each(|id, served| {
        let good = served.server.setup().encode();
        assert_eq!(Setup::decode(&good[1..]), Err(SetupError::Length(89)));
        let with = |at: usize, value: u8| {
            let mut bytes = good;
            bytes[at] = value;
            Setup::decode(&bytes)
        };
        assert_eq!(with(0, 9), Err(SetupError::Version(9)));
        assert_eq!(with(1, 9), Err(SetupError::Scheme(9)));
        assert!(matches!(with(9, 0xff), Err(SetupError::Unsupported(_))), "row of 4 GiB");
        assert!(matches!(with(17, 0xff), Err(SetupError::Unsupported(_))), "2^63 rows");
        let other_hint = with(50, good[50] ^ 1);
        assert!(matches!(other_hint, Err(SetupError::HintLength { .. })), "{}", id.name());
    });
}

#[test]
fn hints_are_bound_to_their_setup() {
    each(|id, served| {
        let setup = served.server.setup();
        let client = |hint: Option<&[u8]>| registry::client(setup, hint).err();
        let Some(hint) = served.server.hint() else {
            assert_eq!(client(Some(&[])), Some(SetupError::HintUnwanted), "{}", id.name());
            return;
        };
        assert_eq!(client(None), Some(SetupError::HintMissing));
        let (expected, got) = (hint.len() as u64, hint.len() as u64 - 1);
        let short = client(Some(&hint[1..]));
        assert_eq!(short, Some(SetupError::HintLength { expected, got }));
        let mut wrong = hint.to_vec();
        wrong[7] ^= 1;
        assert_eq!(client(Some(&wrong)), Some(SetupError::HintDigest));
    });
}

#[test]
fn preparing_says_what_is_wrong_and_can_be_stopped() {
    for id in SchemeId::ALL {
        let shape = Shape::new(1000, 16).expect("a shape");
        let layout = registry::default_layout(id, shape).expect("a layout");
        let table = table(shape.table_bytes(), 1);
        let how = Preparation::quiet([0; 32]);
        let short = registry::prepare(id, shape, layout, &table[1..], &how).err();
        assert_eq!(short, Some(PrepareError::TableLength { expected: 16_000, got: 15_999 }));
        let how = Preparation { progress: &|_| ControlFlow::Break(()), ..how };
        let stopped = registry::prepare(id, shape, layout, &table, &how).err();
        assert_eq!(stopped, Some(PrepareError::Stopped), "{}", id.name());
    }
}

#[test]
fn threads_change_nothing() {
    for id in SchemeId::ALL {
        let shape = Shape::new(2500, 16).expect("a shape");
        let layout = registry::default_layout(id, shape).expect("a layout");
        let table = table(shape.table_bytes(), 1);
        let one = Preparation::quiet([2; 32]);
        let four = Preparation { workers: 4.try_into().expect("not zero"), ..one };
        let by = |how| registry::prepare(id, shape, layout, &table, how).expect("a table");
        let (one, four) = (by(&one), by(&four));
        assert_eq!(one.setup(), four.setup(), "{}", id.name());
        assert_eq!(one.hint(), four.hint(), "{}", id.name());
    }
}

#[test]
fn secrets_do_not_print_themselves() {
    each(|id, served| {
        let query = served.client.query(77, &mut Seeded(9)).expect("a row");
        let said = format!("{query:?}");
        assert!(said.contains("<hidden>"), "{}", id.name());
        let answer = served.server.answer(&query.bytes).expect("an honest query");
        let found = query.state.extract(&answer).expect("an honest answer");
        assert_eq!(format!("{found:?}"), "Retrieved { <hidden> }");
    });
}
