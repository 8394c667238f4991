//! The suites, one module each.

mod aes;
mod ciphers;
mod link;
mod machines;

use crate::report::Row;

/// A suite of measurements.
pub struct Suite {
    /// What the command line calls it.
    pub name: &'static str,
    /// Measures, with so many slices for each contestant.
    pub run: fn(u32) -> Vec<Row>,
}

/// Every suite.
pub const ALL: &[Suite] = &[
    Suite { name: "aes", run: aes::run },
    Suite { name: "ciphers", run: ciphers::run },
    Suite { name: "link", run: link::run },
    Suite { name: "machines", run: machines::run },
];
