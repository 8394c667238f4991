//! Products on a device beside the processor: the contract that [`Server`](crate::Server) has with it.
//!
//! An accelerator holds a copy of a matrix and computes what [`kernel::multiply_add`] computes. It is a
//! guest: a server keeps its own matrix, compares the copy's first products with the processor's, and
//! from the accelerator's first fault on answers by itself. An answer is therefore right or not there,
//! and no query fails because a device did.
//!
//! With the feature `gpu`, `gpu::Gpu` is one.

use core::fmt;
use std::sync::OnceLock;

use crate::kernel::{self, Matrix, Operand};

/// A device that can hold matrices.
pub trait Accelerator: Send + Sync {
    /// What it is, for reports.
    fn name(&self) -> &str;

    /// Copies a matrix to the device.
    ///
    /// # Errors
    /// [`AcceleratorError`] if it does not fit, or the device failed.
    fn load(&self, matrix: &Matrix) -> Result<Box<dyn Loaded>, AcceleratorError>;
}

/// A matrix on a device.
pub trait Loaded: Send + Sync {
    /// The device's name.
    fn device(&self) -> &str;

    /// The products of all rows with each of `operands`: what [`kernel::multiply_add`] adds to zeros.
    ///
    /// The calling thread sleeps until they are there; several threads may ask at the same time.
    ///
    /// # Errors
    /// [`AcceleratorError::Failed`] if the device did; then nothing that it computed is handed out,
    /// now or later.
    ///
    /// # Panics
    /// If an operand has another length than the matrix's rows: a fault of the caller's.
    fn products(&self, operands: &[Operand]) -> Result<Vec<Vec<u32>>, AcceleratorError>;

    /// The memory that it occupies on the device, bytes.
    fn memory_bytes(&self) -> u64;
}

/// Why there is no product from an accelerator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcceleratorError {
    /// The scheme computes nothing that an accelerator could.
    Unsupported,
    /// There is no device, or not the one that was asked for: what there is, and what to install.
    NoDevice(String),
    /// The device has no memory for it.
    Memory {
        /// How much was asked for, bytes.
        bytes: u64,
    },
    /// The matrix has more rows than the device's buffers hold answers for.
    TooManyRows {
        /// How many it could have.
        most: u64,
    },
    /// The device, or its driver, failed: what it said.
    Failed(String),
    /// The device's products are not the processor's: it, or its driver, computes wrongly.
    Wrong,
}

impl fmt::Display for AcceleratorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AcceleratorError::Unsupported => {
                f.write_str("this scheme has no kernel for accelerators: take hintless or lwe")
            }
            AcceleratorError::NoDevice(why) => f.write_str(why),
            AcceleratorError::Memory { bytes } => {
                write!(f, "the device has no memory for another {bytes} bytes")
            }
            AcceleratorError::TooManyRows { most } => write!(
                f,
                "the device answers columns of at most {most} bytes: take a layout with fewer rows \
                 in a column"
            ),
            AcceleratorError::Failed(why) => write!(
                f,
                "the device failed ({why}); the processor goes on alone until the program starts again"
            ),
            AcceleratorError::Wrong => f.write_str(
                "the device's products are not the processor's: its driver is broken, update it or do \
                 without",
            ),
        }
    }
}

impl std::error::Error for AcceleratorError {}

/// What a server says about its accelerator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceleratorStatus {
    /// The device's name.
    pub device: String,
    /// The memory that the table occupies on it, bytes.
    pub memory_bytes: u64,
    /// Why the server does without it, if it does.
    pub fault: Option<AcceleratorError>,
}

/// Where a server's products are computed: on an accelerator while it has one that works, or else on the
/// processor.
#[derive(Default)]
pub(crate) struct Placement {
    loaded: Option<Box<dyn Loaded>>,
    fault: OnceLock<AcceleratorError>,
}

impl Placement {
    /// Copies `matrix` to `accelerator` and proves the copy before it is used.
    pub(crate) fn load(
        &mut self,
        accelerator: &dyn Accelerator,
        matrix: &Matrix,
    ) -> Result<(), AcceleratorError> {
        let loaded = accelerator.load(matrix)?;
        prove(&*loaded, matrix)?;
        *self = Placement { loaded: Some(loaded), fault: OnceLock::new() };
        Ok(())
    }

    /// The products of all rows of `matrix` with each of `operands`.
    pub(crate) fn products(&self, matrix: &Matrix, operands: &[Operand]) -> Vec<Vec<u32>> {
        if let (Some(loaded), None) = (&self.loaded, self.fault.get()) {
            match loaded.products(operands) {
                Ok(products) => return products,
                // Whichever thread is first names the fault; from now on the processor answers.
                Err(fault) => drop(self.fault.set(fault)),
            }
        }
        on_the_processor(matrix, operands)
    }

    /// What is to be said about it; nothing where there never was an accelerator.
    pub(crate) fn status(&self) -> Option<AcceleratorStatus> {
        self.loaded.as_ref().map(|loaded| AcceleratorStatus {
            device: loaded.device().to_owned(),
            memory_bytes: loaded.memory_bytes(),
            fault: self.fault.get().cloned(),
        })
    }
}

fn on_the_processor(matrix: &Matrix, operands: &[Operand]) -> Vec<Vec<u32>> {
    let mut products = vec![vec![0u32; matrix.rows()]; operands.len()];
    let mut into: Vec<&mut [u32]> = products.iter_mut().map(|p| &mut p[..]).collect();
    kernel::multiply_add(matrix, 0..matrix.rows(), operands, &mut into);
    products
}

/// Compares products of the copy with the processor's, in batches of 1, 2, 4 and 8, which may be
/// different programs on the device.
fn prove(loaded: &dyn Loaded, matrix: &Matrix) -> Result<(), AcceleratorError> {
    // Any numbers will do that give each byte of the table its say; Knuth's multiplier makes them.
    let mut state = 1u64;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 32) as u32
    };
    for count in [1, 2, 4, 8] {
        let mut operand = || Operand::new(&Vec::from_iter((0..matrix.columns()).map(|_| word())));
        let operands: Vec<Operand> = (0..count).map(|_| operand()).collect();
        if loaded.products(&operands)? != on_the_processor(matrix, &operands) {
            return Err(AcceleratorError::Wrong);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;
    use crate::prepare::Preparation;
    use crate::registry;
    use crate::setup::SchemeId;
    use crate::shape::Shape;
    use slyfi_base::SecureRandom;

    /// A device of plain Rust, which can be told to fail or to miscount, and counts what it is asked.
    #[derive(Clone, Default)]
    struct Twin {
        fails: Arc<AtomicBool>,
        miscounts: bool,
        asked: Arc<AtomicUsize>,
    }

    struct TwinMatrix {
        twin: Twin,
        rows: Vec<Vec<u8>>,
    }

    impl Accelerator for Twin {
        fn name(&self) -> &str {
            "twin"
        }

        fn load(&self, matrix: &Matrix) -> Result<Box<dyn Loaded>, AcceleratorError> {
            let rows = (0..matrix.rows()).map(|row| matrix.row_bytes(row).to_vec()).collect();
            Ok(Box::new(TwinMatrix { twin: self.clone(), rows }))
        }
    }

    impl Loaded for TwinMatrix {
        fn device(&self) -> &str {
            "twin"
        }

        fn products(&self, operands: &[Operand]) -> Result<Vec<Vec<u32>>, AcceleratorError> {
            self.twin.asked.fetch_add(1, Ordering::Relaxed);
            if self.twin.fails.load(Ordering::Relaxed) {
                return Err(AcceleratorError::Failed("unplugged".into()));
            }
            let product = |row: &Vec<u8>, operand: &Operand| {
                let terms = row.iter().zip(operand.iter());
                terms.fold(u32::from(self.twin.miscounts), |sum, (byte, word)| {
                    sum.wrapping_add((i32::from(*byte as i8) as u32).wrapping_mul(word))
                })
            };
            let all = |operand| self.rows.iter().map(|row| product(row, operand)).collect();
            Ok(operands.iter().map(all).collect())
        }

        fn memory_bytes(&self) -> u64 {
            self.rows.iter().map(|row| row.len() as u64).sum()
        }
    }

    /// Random enough for tests.
    struct Counter(u64);

    impl SecureRandom for Counter {
        fn fill(&mut self, out: &mut [u8]) {
            for byte in out {
                self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *byte = (self.0 >> 56) as u8;
            }
        }
    }

    const ROWS: u64 = 3000;

    fn served(id: SchemeId) -> (Vec<u8>, Box<dyn crate::Server>, Box<dyn crate::Client>) {
        let shape = Shape::new(ROWS, 20).expect("a shape");
        let mut table = vec![0; shape.table_bytes()];
        Counter(5).fill(&mut table);
        let layout = registry::default_layout(id, shape).expect("a layout");
        let how = Preparation::quiet([3; 32]);
        let server = registry::prepare(id, shape, layout, &table, &how).expect("a table");
        let client = registry::client(server.setup(), server.hint()).expect("a setup");
        (table, server, client)
    }

    #[test]
    fn an_accelerator_answers_for_the_server() {
        for id in [SchemeId::Lwe, SchemeId::Hintless] {
            let (table, mut server, client) = served(id);
            assert_eq!(server.accelerator(), None);
            let twin = Twin::default();
            server.accelerate(&twin).expect("a device that works");
            let proofs = twin.asked.load(Ordering::Relaxed);
            let query = client.query(1234, &mut Counter(1)).expect("a row");
            let answer = server.answer(&query.bytes).expect("an honest query");
            assert_eq!(twin.asked.load(Ordering::Relaxed), proofs + 1, "{}", id.name());
            let found = query.state.extract(&answer).expect("an honest answer");
            assert_eq!(found.row(), &table[1234 * 20..][..20], "{}", id.name());
            let status = server.accelerator().expect("an accelerator");
            assert_eq!((status.device.as_str(), status.fault), ("twin", None));
            assert!(status.memory_bytes >= table.len() as u64);
        }
    }

    #[test]
    fn a_device_that_fails_is_done_without_and_never_asked_again() {
        for id in [SchemeId::Lwe, SchemeId::Hintless] {
            let (table, mut server, client) = served(id);
            let twin = Twin::default();
            server.accelerate(&twin).expect("a device that works");
            twin.fails.store(true, Ordering::Relaxed);
            let asked = twin.asked.load(Ordering::Relaxed);
            for index in [0, 17, ROWS - 1] {
                let query = client.query(index, &mut Counter(index)).expect("a row");
                let answer = server.answer(&query.bytes).expect("an honest query");
                let found = query.state.extract(&answer).expect("an honest answer");
                assert_eq!(found.row(), &table[index as usize * 20..][..20], "{}", id.name());
            }
            assert_eq!(twin.asked.load(Ordering::Relaxed), asked + 1, "{}", id.name());
            let fault = server.accelerator().and_then(|status| status.fault);
            assert_eq!(fault, Some(AcceleratorError::Failed("unplugged".into())));
        }
    }

    #[test]
    fn a_device_that_miscounts_is_refused() {
        for id in [SchemeId::Lwe, SchemeId::Hintless] {
            let (_, mut server, _) = served(id);
            let twin = Twin { miscounts: true, ..Twin::default() };
            assert_eq!(server.accelerate(&twin), Err(AcceleratorError::Wrong));
            assert_eq!(server.accelerator(), None, "{}", id.name());
        }
    }

    #[test]
    fn a_scheme_without_such_products_says_so() {
        let (_, mut server, _) = served(SchemeId::Ntru2015);
        assert_eq!(server.accelerate(&Twin::default()), Err(AcceleratorError::Unsupported));
    }
}
