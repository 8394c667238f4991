//! A service with an accelerator answers as one without; with one that fails, too.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::service::{NOW, World};
use slyfi_pir::accelerator::{Accelerator, AcceleratorError, Loaded};
use slyfi_pir::kernel::{Backend, Matrix, Operand, multiply_add_with};
use slyfi_tracedge::subscriber::Seen;

/// A device of plain Rust, which counts its passes and can be told to fail.
#[derive(Clone, Default)]
struct Twin {
    passes: Arc<AtomicUsize>,
    fails: Arc<AtomicBool>,
}

struct TwinMatrix {
    twin: Twin,
    matrix: Matrix,
}

impl Accelerator for Twin {
    fn name(&self) -> &str {
        "twin"
    }

    fn load(&self, matrix: &Matrix) -> Result<Box<dyn Loaded>, AcceleratorError> {
        if self.fails.load(Ordering::Relaxed) {
            return Err(AcceleratorError::Memory { bytes: matrix.memory_bytes() as u64 });
        }
        let (rows, columns) = (matrix.rows(), matrix.columns());
        let mut table = vec![0; rows * columns];
        for row in 0..rows {
            for (column, byte) in matrix.row_bytes(row).iter().enumerate() {
                table[column * rows + row] = *byte;
            }
        }
        let matrix = Matrix::transposed(&table, rows, columns).expect("a small matrix");
        Ok(Box::new(TwinMatrix { twin: self.clone(), matrix }))
    }
}

impl Loaded for TwinMatrix {
    fn device(&self) -> &str {
        "twin"
    }

    fn products(&self, operands: &[Operand]) -> Result<Vec<Vec<u32>>, AcceleratorError> {
        if self.twin.fails.load(Ordering::Relaxed) {
            return Err(AcceleratorError::Failed("unplugged".into()));
        }
        self.twin.passes.fetch_add(1, Ordering::Relaxed);
        let rows = self.matrix.rows();
        let mut out = vec![vec![0; rows]; operands.len()];
        let mut into: Vec<&mut [u32]> = out.iter_mut().map(|o| &mut o[..]).collect();
        multiply_add_with(Backend::Portable, &self.matrix, 0..rows, operands, &mut into);
        Ok(out)
    }

    fn memory_bytes(&self) -> u64 {
        self.matrix.memory_bytes() as u64
    }
}

fn world(name: &str, twin: &Twin) -> World {
    let World { dir, files, service, rng } = World::new(name, 200);
    let service = service.with_accelerator(Box::new(twin.clone()));
    World { dir, files, service, rng }
}

#[test]
fn logins_go_through_the_accelerator() {
    let twin = Twin::default();
    let mut world = world("accelerated", &twin);
    let mine = world.subscribe();
    let secret = world.publish(NOW);
    let proofs = twin.passes.load(Ordering::Relaxed);
    assert!(proofs > 0, "a copy is proven before it answers");
    let (key, _) = world.login(&mine, &mut Seen::default(), NOW + 10);
    assert_eq!(&key, secret.key());
    assert!(twin.passes.load(Ordering::Relaxed) > proofs);
    assert_eq!(world.service.accelerator_faults(), []);
}

#[test]
fn logins_go_on_when_the_accelerator_fails() {
    let twin = Twin::default();
    let mut world = world("unplugged", &twin);
    let mine = world.subscribe();
    let secret = world.publish(NOW);
    twin.fails.store(true, Ordering::Relaxed);
    let passes = twin.passes.load(Ordering::Relaxed);
    let (key, _) = world.login(&mine, &mut Seen::default(), NOW + 10);
    assert_eq!(&key, secret.key());
    assert_eq!(twin.passes.load(Ordering::Relaxed), passes);
    let first = secret.epoch().number;
    let unplugged = AcceleratorError::Failed("unplugged".into());
    assert_eq!(world.service.accelerator_faults(), [(first, unplugged.clone())]);
    // The next epoch finds no room on it, and is served.
    let next = world.publish(NOW + 20).epoch().number;
    let faults = world.service.accelerator_faults();
    assert_eq!(faults.len(), 2);
    assert_eq!(faults[0], (first, unplugged));
    assert!(matches!(&faults[1], (epoch, AcceleratorError::Memory { .. }) if *epoch == next));
}
