//! The graphics processor's products and answers are the processor's, bit for bit.
//!
//! `SLYFI_GPU` names the device; where it is not set, Mesa's software device will do. Without any, the
//! tests say that they were skipped, and in CI they fail.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

use common::{Seeded, table};
use proptest::prelude::*;
use slyfi_base::SecureRandom;
use slyfi_pir::gpu::{self, Choice, Gpu};
use slyfi_pir::kernel::{self, Backend, Matrix, Operand};
use slyfi_pir::{Accelerator, AcceleratorError, Preparation, SchemeId, Server, Shape, registry};

/// The smallest buffers to do with: every table but the least is cut in both directions.
const SMALL: u64 = 32 << 10;

fn open(binding_bytes: Option<u64>) -> Option<Gpu> {
    let named = Choice::from_env().adapter;
    let adapter = named.or_else(|| Some("llvmpipe".into()));
    match Gpu::open(&Choice { adapter, binding_bytes }) {
        Ok(gpu) => {
            println!("device: {}", gpu.adapter());
            Some(gpu)
        }
        Err(why @ AcceleratorError::NoDevice(_)) => {
            assert!(std::env::var_os("CI").is_none(), "CI has a device: {why}");
            println!("SKIPPED: {why}");
            None
        }
        Err(why) => panic!("{why}"),
    }
}

/// The device, opened once; and once more with small buffers.
static DEVICES: LazyLock<[Option<Gpu>; 2]> = LazyLock::new(|| [open(None), open(Some(SMALL))]);

fn devices() -> impl Iterator<Item = &'static Gpu> {
    DEVICES.iter().flatten()
}

fn words(count: usize, seed: u64) -> Vec<u32> {
    table(4 * count, seed)
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes(b.try_into().expect("four bytes")))
        .collect()
}

fn operands(count: usize, columns: usize, seed: u64) -> Vec<Operand> {
    (0..count as u64).map(|at| Operand::new(&words(columns, seed + at))).collect()
}

fn twin(matrix: &Matrix, operands: &[Operand]) -> Vec<Vec<u32>> {
    let mut out = vec![vec![0; matrix.rows()]; operands.len()];
    let mut into: Vec<&mut [u32]> = out.iter_mut().map(|o| &mut o[..]).collect();
    kernel::multiply_add_with(Backend::Portable, matrix, 0..matrix.rows(), operands, &mut into);
    out
}

fn matrix(rows: usize, columns: usize, seed: u64) -> Matrix {
    Matrix::transposed(&table(rows * columns, seed), rows, columns).expect("a small matrix")
}

#[test]
fn products_are_the_portable_ones_at_every_edge_of_a_tile() {
    for gpu in devices() {
        // Rows around a workgroup's 64 and a thread's 8, columns around a word's 4, a step's 128, a
        // tile's 512 and a workgroup's 4096.
        for (rows, columns) in [
            (1, 1),
            (7, 3),
            (8, 4),
            (9, 5),
            (63, 127),
            (64, 128),
            (65, 129),
            (128, 511),
            (129, 512),
            (200, 513),
            (1, 4095),
            (65, 4096),
            (70, 4097),
            (1000, 3),
        ] {
            let matrix = matrix(rows, columns, rows as u64);
            let loaded = gpu.load(&matrix).expect("it fits");
            assert!(loaded.memory_bytes() >= (rows * columns) as u64);
            for batch in [0, 1, 2, 3, 8, 9] {
                let operands = operands(batch, columns, 77);
                let got = loaded.products(&operands).expect("a device that works");
                assert_eq!(got, twin(&matrix, &operands), "{rows} x {columns}, {batch} queries");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn products_are_the_portable_ones_for_any_shape(
        rows in 1usize..600,
        columns in 1usize..3000,
        batch in 1usize..18,
        seed: u32,
    ) {
        for gpu in devices() {
            let matrix = matrix(rows, columns, u64::from(seed));
            let loaded = gpu.load(&matrix).expect("it fits");
            let operands = operands(batch, columns, u64::from(seed) + 1);
            let got = loaded.products(&operands).expect("a device that works");
            prop_assert_eq!(got, twin(&matrix, &operands));
        }
    }
}

#[test]
fn the_greatest_numbers_wrap_around() {
    for gpu in devices() {
        let (rows, columns) = (65, 5000);
        for byte in [0x7f, 0x80] {
            let bytes = vec![byte; rows * columns];
            let matrix = Matrix::transposed(&bytes, rows, columns).expect("a small matrix");
            let loaded = gpu.load(&matrix).expect("it fits");
            for word in [0x7fff_ffff, 0x8000_0000, 0xffff_ffff] {
                let operands = [Operand::new(&vec![word; columns])];
                let got = loaded.products(&operands).expect("a device that works");
                let term = (i32::from(byte as i8) as u32).wrapping_mul(word);
                assert_eq!(got, [vec![term.wrapping_mul(columns as u32); rows]]);
            }
        }
    }
}

/// The failing twin of all comparisons: one bit of the table is seen.
#[test]
fn a_flipped_bit_of_the_table_changes_its_product_and_no_other() {
    for gpu in devices() {
        let (rows, columns) = (130, 1100);
        let mut bytes = table(rows * columns, 5);
        let operands = operands(2, columns, 6);
        let honest = Matrix::transposed(&bytes, rows, columns).expect("a small matrix");
        let expected = twin(&honest, &operands);
        for (row, column) in [(0, 0), (64, 511), (129, 1099)] {
            bytes[column * rows + row] ^= 1;
            let other = Matrix::transposed(&bytes, rows, columns).expect("a small matrix");
            bytes[column * rows + row] ^= 1;
            let got = gpu.load(&other).expect("it fits").products(&operands).expect("it works");
            for (got, expected) in got.iter().zip(&expected) {
                let differ = (0..rows).filter(|r| got[*r] != expected[*r]);
                assert_eq!(differ.collect::<Vec<_>>(), [row]);
            }
        }
    }
}

#[test]
fn threads_that_ask_at_the_same_time_get_their_own_answers() {
    for gpu in devices() {
        let matrix = matrix(200, 1500, 8);
        let loaded = gpu.load(&matrix).expect("it fits");
        std::thread::scope(|scope| {
            for thread in 0..6 {
                let (matrix, loaded) = (&matrix, &loaded);
                scope.spawn(move || {
                    for round in 0..5 {
                        let operands = operands(1 + thread % 3, 1500, 100 * thread as u64 + round);
                        let got = loaded.products(&operands).expect("a device that works");
                        assert_eq!(got, twin(matrix, &operands));
                    }
                });
            }
        });
    }
}

#[test]
fn a_short_operand_is_a_fault_and_harms_no_later_one() {
    for gpu in devices() {
        let matrix = matrix(10, 20, 1);
        let loaded = gpu.load(&matrix).expect("it fits");
        let short = AssertUnwindSafe(|| loaded.products(&[Operand::new(&[1; 19])]));
        assert!(catch_unwind(short).is_err());
        let operands = operands(1, 20, 2);
        assert_eq!(loaded.products(&operands), Ok(twin(&matrix, &operands)));
    }
}

#[test]
fn a_table_with_more_rows_than_buffers_hold_is_refused() {
    let Some(gpu) = &DEVICES[1] else { return };
    let most = SMALL / 32;
    assert!(gpu.load(&matrix(most as usize, 2, 1)).is_ok());
    let refused = gpu.load(&matrix(most as usize + 1, 2, 1)).err();
    assert_eq!(refused, Some(AcceleratorError::TooManyRows { most }));
}

#[test]
fn a_device_that_is_not_there_is_named_with_those_that_are() {
    let choice = Choice { adapter: Some("no such card".into()), binding_bytes: None };
    let Err(AcceleratorError::NoDevice(why)) = Gpu::open(&choice) else {
        panic!("there is no such card");
    };
    match gpu::adapters().first() {
        Some(adapter) => assert!(why.contains(&adapter.name), "{why}"),
        None => assert!(why.contains("apt-get install"), "{why}"),
    }
}

fn served(id: SchemeId, bytes: &[u8], shape: Shape) -> Box<dyn Server> {
    let layout = registry::default_layout(id, shape).expect("a layout");
    registry::prepare(id, shape, layout, bytes, &Preparation::quiet([9; 32])).expect("a table")
}

#[test]
fn both_schemes_answer_the_same_bytes_and_the_row_comes_out() {
    let Some(gpu) = devices().next() else { return };
    let shape = Shape::new(20_011, 32).expect("a shape");
    let bytes = table(shape.table_bytes(), 12);
    for id in [SchemeId::Lwe, SchemeId::Hintless] {
        let plain = served(id, &bytes, shape);
        let mut moved = served(id, &bytes, shape);
        moved.accelerate(gpu).expect("it fits and computes right");
        let status = moved.accelerator().expect("an accelerator");
        assert_eq!((status.device.as_str(), status.fault), (gpu.name(), None));
        let client = registry::client(moved.setup(), moved.hint()).expect("its own setup");
        let mut rng = Seeded(4);
        let indices: Vec<u64> = (0..9).map(|_| rng.below(shape.rows())).collect();
        let queries: Vec<_> =
            indices.iter().map(|i| client.query(*i, &mut rng).expect("a row")).collect();
        let mut sent: Vec<&[u8]> = queries.iter().map(|q| &q.bytes[..]).collect();
        assert_eq!(moved.answer(sent[0]), plain.answer(sent[0]), "{}", id.name());
        sent.insert(4, b"junk");
        let mut answers = moved.answer_batch(&sent);
        assert_eq!(answers, plain.answer_batch(&sent), "{}", id.name());
        assert!(answers.remove(4).is_err());
        for ((query, answer), index) in queries.into_iter().zip(answers).zip(indices) {
            let found = query.state.extract(&answer.expect("honest")).expect("honest");
            assert_eq!(found.row(), &bytes[index as usize * 32..][..32], "{}", id.name());
        }
        assert_eq!(moved.accelerator().and_then(|s| s.fault), None, "the device did all of it");
    }
}
