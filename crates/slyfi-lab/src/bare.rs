//! bare-wireless-2016, chapter 5: CCM with no operating system beside Linux, Figures 13 to 20.
//!
//! The numbers come from `cargo xtask bare --measure FILE`, which runs the exchange of §5.4.1 between
//! the freestanding image and the same program on Linux; here they become figures and verdicts.

mod claims;
mod data;
mod figures;
#[cfg(test)]
mod tests;

pub use data::{Accelerated, Delays, Instructions, Measurements, Pairing, System};
pub use figures::{FIGURES, TimingFigure};
