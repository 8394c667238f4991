//! The steps, a file for each kind.

pub mod bare;
pub mod deps;
pub mod dudect;
pub mod fuzz;
pub mod gpu;
pub mod guest;
pub mod hygiene;
pub mod lint;
pub mod no_std;
pub mod sanitize;
pub mod system;
pub mod tests;
pub mod vectors;
