//! Arithmetic on ristretto255, many elements at a time.
//!
//! A table is one secret scalar times all keys, and an audit is a sum over all rows: the same steps
//! for each element. So eight elements lie side by side in the 64-bit lanes of vector registers, and
//! each instruction does a step for all eight (docs/tracedge.md §4.1).
//!
//! | back end | needs |
//! |---|---|
//! | `dalek` | nothing; picks AVX2 or AVX-512 by itself, for one element at a time |
//! | `ifma` | AVX-512 F and IFMA |

use curve25519_dalek::RistrettoPoint;
use zeroize::Zeroizing;

use crate::epoch::EpochSecret;

mod codec;
mod dalek;
mod field;
#[cfg_attr(not(target_arch = "x86_64"), path = "absent.rs")]
mod ifma;
mod ladder;
mod point;
#[cfg(test)]
mod portable;
mod sums;
mod unit;

pub(crate) use sums::Coefficient;
pub(crate) use unit::LANES;

/// Which arithmetic: what [`Backend::detect`] finds, or the other to compare with. Results are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// `curve25519-dalek`, an element at a time.
    Dalek,
    /// Eight elements at a time.
    Ifma,
}

impl Backend {
    /// All of them, the slowest first.
    pub const ALL: [Backend; 2] = [Backend::Dalek, Backend::Ifma];

    /// The fastest that this machine has.
    pub fn detect() -> Self {
        if Backend::Ifma.is_available() { Backend::Ifma } else { Backend::Dalek }
    }

    /// Whether this machine has it.
    pub fn is_available(self) -> bool {
        match self {
            Backend::Dalek => true,
            Backend::Ifma => ifma::Ifma::try_new().is_some(),
        }
    }

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Backend::Dalek => "dalek",
            Backend::Ifma => "ifma",
        }
    }

    /// Σ z_j·X over every eighth element X, from the first, the second, … on, with the same z_j for
    /// each eight in a row; the place of what is no element, if there is such.
    ///
    /// # Panics
    /// If this machine does not have the back end, or if there are not as many coefficients as
    /// eights of elements, begun ones included.
    pub(crate) fn sums(
        self,
        coefficients: &[Coefficient],
        encodings: &[[u8; 32]],
    ) -> Result<[RistrettoPoint; LANES], usize> {
        match self {
            Backend::Dalek => dalek::sums(coefficients, encodings),
            Backend::Ifma => match ifma::Ifma::try_new() {
                Some(unit) => sums::sums(unit, coefficients, encodings),
                None => self.missing(),
            },
        }
    }

    fn missing(self) -> ! {
        panic!("this machine has no {}", self.name())
    }
}

/// What makes rows of an epoch's table: M + r·P for many P.
pub(crate) struct RowMaker<'a> {
    backend: Backend,
    secret: &'a EpochSecret,
    digits: ladder::Digits,
    message: Zeroizing<[u8; 32]>,
}

impl<'a> RowMaker<'a> {
    /// For this epoch.
    pub(crate) fn new(backend: Backend, secret: &'a EpochSecret) -> Self {
        RowMaker {
            backend,
            secret,
            digits: ladder::Digits::of(secret.ephemeral()),
            message: Zeroizing::new(secret.message().compress().to_bytes()),
        }
    }

    /// The rows for `keys`; the place of what is no key, if there is such. Zero is none: under it
    /// K would lie open.
    ///
    /// # Security
    /// Constant time in K.
    ///
    /// # Panics
    /// If this machine does not have the back end.
    pub(crate) fn rows(&self, keys: &[[u8; 32]]) -> Result<Vec<[u8; 32]>, usize> {
        let mut rows = vec![[0; 32]; keys.len()];
        let made = match self.backend {
            Backend::Dalek => dalek::rows(self.secret, keys, &mut rows),
            Backend::Ifma => match ifma::Ifma::try_new() {
                Some(unit) => ladder::rows(unit, &self.digits, &self.message, keys, &mut rows),
                None => self.backend.missing(),
            },
        };
        let zero = keys.iter().position(|key| key == &[0; 32]);
        // The first of the two.
        match (made, zero) {
            (Ok(()), None) => Ok(rows),
            (Ok(()), Some(at)) | (Err(at), None) => Err(at),
            (Err(wrong), Some(zero)) => Err(wrong.min(zero)),
        }
    }
}

#[cfg(test)]
mod tests;
