//! The scheme `hintless`, from a table to a row.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use slyfi_base::SecureRandom;
use slyfi_pir::hintless::Hintless;
use slyfi_pir::{Client, Preparation, Scheme, Server, Setup, Shape};

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

/// Retrieves `indices` from `table` and compares the rows and their blocks with it.
fn check(shape: Shape, blocks: u32, table: &[u8], indices: &[u64]) {
    let server =
        Hintless::prepare(shape, blocks, table, &Preparation::quiet([3; 32])).expect("a server");
    let setup = Setup::decode(&server.setup().encode()).expect("a setup");
    let client = Hintless::client(&setup, server.hint()).expect("a client");
    let sizes = setup.sizes().expect("sizes");
    let mut rng = seeded(9);
    for index in indices {
        let query = client.query(*index, &mut rng).expect("a row of the table");
        assert_eq!(query.bytes.len(), sizes.query);
        let answer = server.answer(&query.bytes).expect("an answer");
        assert_eq!(answer.len(), sizes.answer);
        let got = query.state.extract(&answer).expect("a row");
        assert_eq!(got.row(), row(table, shape, *index), "row {index} of {shape:?}");
        assert!(got.indices().contains(index));
        for (i, other) in got.block() {
            assert_eq!(other, row(table, shape, i), "row {i} beside {index}");
        }
    }
}

#[test]
fn retrieves_rows_of_small_tables() {
    for (rows, row_bytes, blocks) in [(1, 1, 1), (1, 32, 1), (65, 32, 1), (5000, 32, 1)] {
        let shape = Shape::new(rows, row_bytes).expect("a shape");
        let table = random_table(shape, 1);
        check(shape, blocks, &table, &[0, rows / 2, rows - 1]);
    }
}
