//! Measuring: time, and instructions.

pub mod count;
pub mod timing;

/// Something whose cost is measured: a batch of equal operations.
pub trait Workload {
    /// Makes the next run possible. Not measured.
    fn prepare(&mut self);

    /// Does the operations.
    fn run(&mut self);

    /// Returns how many operations a run does.
    fn operations(&self) -> u32;
}
