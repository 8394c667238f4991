//! The scheme `hintless`, from a table to a row.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use slyfi_base::SecureRandom;
use slyfi_pir::hintless::{Hintless, HintlessClient, HintlessServer};
use slyfi_pir::{Client, Preparation, PrepareError, Scheme, Server, Setup, Shape, WireError};

struct Seeded(ChaCha20Rng);

impl SecureRandom for Seeded {
    fn fill(&mut self, out: &mut [u8]) {
        self.0.fill_bytes(out);
    }
}

fn seeded(seed: u8) -> Seeded {
    Seeded(ChaCha20Rng::from_seed([seed; 32]))
}

fn random_table(shape: Shape, seed: u8) -> Vec<u8> {
    let mut table = vec![0; shape.table_bytes()];
    seeded(seed).fill(&mut table);
    table
}

fn row(table: &[u8], shape: Shape, index: u64) -> &[u8] {
    &table[index as usize * shape.row_bytes()..][..shape.row_bytes()]
}

/// Both ends of a table.
fn ends(shape: Shape, blocks: u32, table: &[u8]) -> (HintlessServer, HintlessClient) {
    let server =
        Hintless::prepare(shape, blocks, table, &Preparation::quiet([3; 32])).expect("a server");
    let setup = Setup::decode(&server.setup().encode()).expect("a setup");
    let client = Hintless::client(&setup, server.hint()).expect("a client");
    (server, client)
}

/// Retrieves `indices` and compares the rows and their blocks with the table.
fn check(shape: Shape, blocks: u32, table: &[u8], indices: &[u64]) {
    let (server, client) = ends(shape, blocks, table);
    let sizes = server.setup().sizes().expect("sizes");
    let mut rng = seeded(9);
    for index in indices {
        let query = client.query(*index, &mut rng).expect("a row of the table");
        assert_eq!(query.bytes.len(), sizes.query);
        let answer = server.answer(&query.bytes).expect("an answer");
        assert_eq!(answer.len(), sizes.answer);
        let got = query.state.extract(&answer).expect("a row");
        assert_eq!(got.row(), row(table, shape, *index), "row {index} of {shape:?}");
        assert!(got.indices().contains(index));
        assert!(got.block().count() <= sizes.rows_per_answer);
        for (i, other) in got.block() {
            assert_eq!(other, row(table, shape, i), "row {i} beside {index}");
        }
    }
}

#[test]
fn retrieves_every_kind_of_row_of_every_kind_of_shape() {
    // One row; columns that fill their ring elements and that do not; a last column that is short;
    // several ring elements, and rows longer than one; more columns than a polynomial has
    // coefficients.
    for (rows, row_bytes, blocks) in
        [(1, 1, 1), (65, 32, 1), (41, 100, 2), (7, 4096, 2), (9, 2100, 3), (131_073, 32, 1)]
    {
        let shape = Shape::new(rows, row_bytes).expect("a shape");
        let table = random_table(shape, 1);
        check(shape, blocks, &table, &[0, rows / 2, rows - 1]);
    }
}

#[test]
fn retrieves_from_tables_that_make_most_noise() {
    let shape = Shape::new(140_000, 32).expect("a shape");
    for byte in [0x80, 0x7f] {
        check(shape, 1, &vec![byte; shape.table_bytes()], &[0, 139_999]);
    }
}

#[test]
fn answers_batches_of_any_size_in_order_and_junk_by_itself() {
    let shape = Shape::new(3000, 32).expect("a shape");
    let table = random_table(shape, 2);
    let (server, client) = ends(shape, 1, &table);
    let mut rng = seeded(4);
    for count in [0, 1, 2, 3, 4, 5, 9] {
        let queries: Vec<_> =
            (0..count).map(|i| client.query(i * 307, &mut rng).expect("a row")).collect();
        let mut bytes: Vec<&[u8]> = queries.iter().map(|q| &q.bytes[..]).collect();
        let junk = [&[][..], bytes.first().map_or(&[][..], |b| &b[1..])];
        let middle = bytes.len() / 2;
        bytes.splice(middle..middle, junk);
        let mut answers = server.answer_batch(&bytes);
        let refused: Vec<_> = answers.drain(middle..middle + 2).collect();
        assert!(refused.iter().all(|a| matches!(a, Err(WireError::Length { .. }))));
        assert_eq!(answers.len(), count as usize);
        for ((i, query), answer) in queries.into_iter().enumerate().zip(answers) {
            let alone = server.answer(&query.bytes).expect("an answer");
            assert_eq!(answer.as_ref(), Ok(&alone));
            let got = query.state.extract(&alone).expect("a row");
            assert_eq!(got.row(), row(&table, shape, i as u64 * 307));
        }
    }
}

#[test]
fn refuses_what_no_client_sends() {
    let shape = Shape::new(100, 32).expect("a shape");
    let (server, client) = ends(shape, 1, &random_table(shape, 1));
    let query = client.query(5, &mut seeded(1)).expect("a row");
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = query.bytes.clone();
        change(&mut bytes);
        server.answer(&bytes).expect_err("junk")
    };
    assert_eq!(server.answer(&query.bytes).map(|a| a.len()), Ok(8194));
    assert!(matches!(refused(&|b| b.truncate(9)), WireError::Length { .. }));
    assert!(matches!(refused(&|b| b.push(0)), WireError::Length { .. }));
    assert_eq!(refused(&|b| b[0] = 2), WireError::Version(2));
    assert_eq!(refused(&|b| b[1] = 2), WireError::Scheme(2));
    // Residues of all ones are above both primes.
    assert_eq!(refused(&|b| b[2..30].fill(0xff)), WireError::Value);
    assert_eq!(refused(&|b| b[2 + 12_800 - 8..2 + 12_800].fill(0xff)), WireError::Value);
    assert_eq!(refused(&|b| b[2 + 12_800..][..30].fill(0xff)), WireError::Value);
}

#[test]
fn tells_answers_to_other_queries_and_changed_ones() {
    let shape = Shape::new(1000, 32).expect("a shape");
    let table = random_table(shape, 5);
    let (server, client) = ends(shape, 1, &table);
    let mut rng = seeded(6);
    let mut query = || client.query(500, &mut rng).expect("a row");
    let other = server.answer(&query().bytes).expect("an answer");
    let asked = query();
    assert_eq!(asked.state.extract(&other).err(), Some(WireError::Garbled));

    // The keys of another query: nothing is switched to the secret that opens.
    let (asked, stranger) = (query(), query());
    let mut mixed = stranger.bytes[..2 + 25_600].to_vec();
    mixed.extend(&asked.bytes[2 + 25_600..]);
    let answer = server.answer(&mixed).expect("an answer");
    assert_eq!(asked.state.extract(&answer).err(), Some(WireError::Garbled));

    // Random bytes; and, as the twin, the answer itself.
    let asked = query();
    let mut answer = server.answer(&asked.bytes).expect("an answer");
    seeded(7).fill(&mut answer[2..]);
    assert_eq!(asked.state.extract(&answer).err(), Some(WireError::Garbled));
    let asked = query();
    let answer = server.answer(&asked.bytes).expect("an answer");
    assert_eq!(asked.state.extract(&answer).expect("a row").row(), row(&table, shape, 500));
    let asked = query();
    let answer = &server.answer(&asked.bytes).expect("an answer")[1..];
    assert!(matches!(asked.state.extract(answer), Err(WireError::Length { .. })));
}

#[test]
fn refuses_rows_that_are_not_there_and_tables_of_another_length() {
    let shape = Shape::new(100, 32).expect("a shape");
    let table = random_table(shape, 1);
    let (_, client) = ends(shape, 1, &table);
    assert!(client.query(99, &mut seeded(1)).is_ok());
    assert_eq!(client.query(100, &mut seeded(1)).expect_err("no row").rows, 100);
    let short = Hintless::prepare(shape, 1, &table[1..], &Preparation::quiet([3; 32]));
    assert!(matches!(short.err(), Some(PrepareError::TableLength { expected: 3200, got: 3199 })));
}

#[test]
fn queries_for_one_row_have_nothing_in_common() {
    let shape = Shape::new(5000, 32).expect("a shape");
    let (_, client) = ends(shape, 1, &random_table(shape, 1));
    let mut rng = seeded(8);
    let [a, b] = [(), ()].map(|()| client.query(77, &mut rng).expect("a row").bytes);
    let same = a[2..].iter().zip(&b[2..]).filter(|(x, y)| x == y).count() as f64;
    let share = same / (a.len() - 2) as f64;
    // One byte in 256, within six standard deviations.
    let deviation = (1.0 / 256.0 / a.len() as f64).sqrt();
    assert!((share - 1.0 / 256.0).abs() < 6.0 * deviation, "{share}");
}

#[test]
fn retrieves_from_large_tables_whose_layout_is_the_default() {
    // `SLYFI_FULL=1` takes the ten million rows that the scheme is made for.
    let rows = if std::env::var_os("SLYFI_FULL").is_some() { 10_000_000 } else { 150_000 };
    let shape = Shape::new(rows, 32).expect("a shape");
    let blocks = Hintless::default_layout(shape).expect("a layout");
    assert!(Hintless::failure_log2(shape, blocks).expect("a layout") < -40.0);
    check(shape, blocks, &random_table(shape, 3), &[0, 1, rows / 3, rows - 1]);
}
