//! What the operator of an `ntru-2015` table learns from queries, without solving any lattice.

mod common;

use common::{Seeded, table};
use slyfi_pir::danger::ntru_2015::{LOG2_Q, N};
use slyfi_pir::{Preparation, SchemeId, Shape, registry};

/// The index of a query, from its bytes alone: each ciphertext's coefficients add up to what it
/// encrypts.
fn read_index(query: &[u8], rows: usize, columns: usize, groups: usize) -> Option<u64> {
    let sums: Vec<u32> = query[2..]
        .chunks_exact(4 * N)
        .map(|ciphertext| {
            let words = ciphertext.chunks_exact(4);
            let words = words.map(|w| u32::from_le_bytes(w.try_into().expect("four bytes")));
            words.fold(0u32, u32::wrapping_add) & ((1 << LOG2_Q) - 1)
        })
        .collect();
    let (row, step) = sums.split_at_checked(rows)?;
    let row = row.iter().position(|sum| *sum == 1)?;
    let step = step.iter().position(|sum| *sum == 1)?;
    Some((row * columns + step * groups) as u64)
}

#[test]
fn adding_up_a_query_tells_its_index() {
    let shape = Shape::new(10_000, 32).expect("a shape");
    let layout = 5;
    let table = table(shape.table_bytes(), 1);
    let how = Preparation::quiet([0; 32]);
    let server =
        registry::prepare(SchemeId::Ntru2015, shape, layout, &table, &how).expect("a table");
    let client = registry::client(server.setup(), None).expect("a setup");
    for index in [0, 1, 4321, 9999] {
        let query = client.query(index, &mut Seeded(index)).expect("a row");
        let learned = read_index(&query.bytes, 100, 100, 5).expect("it is there to be read");
        assert_eq!(learned, index / 5 * 5, "the block of {index}");
    }
    // The failing twin: the schemes that protect have nothing to add up.
    let setup = {
        let layout = registry::default_layout(SchemeId::Lwe, shape).expect("a layout");
        registry::prepare(SchemeId::Lwe, shape, layout, &table, &how).expect("a table")
    };
    let client = registry::client(setup.setup(), setup.hint()).expect("a setup");
    let query = client.query(4321, &mut Seeded(1)).expect("a row");
    assert_eq!(read_index(&query.bytes, 100, 100, 5), None);
}
