//! sbkh-2004: what SBKH costs beside WEP, WPA 1.0 and WPA 2.0.

mod claims;
mod core;
mod costs;
mod figures;
pub mod period;
mod workloads;

pub use costs::{Costs, Point, RekeyCost};
pub use figures::{FIG3, FIG4, ProcessingCost};
pub use workloads::{Cipher, Level, Operation};
