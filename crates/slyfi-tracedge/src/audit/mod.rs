//! Does the operator give everybody the same K (docs/tracedge.md §7)?
//!
//! [`round`] is a subscriber's audit, through retrieval; [`whole`] is anybody's who has K and the
//! whole table.

pub mod round;
pub mod whole;

pub use round::{Audit, Conclusion, Databases, OwnRow, Round, Subscription};
pub use whole::{KeySum, WholeError};

/// The probability that a subscriber whose own row is in a class that holds `fraction` of the rows
/// passes `audits` independent audits (docs/tracedge.md §12).
pub fn unseen(fraction: f64, audits: u32) -> f64 {
    fraction.powf(f64::from(audits))
}
