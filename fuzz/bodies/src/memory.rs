//! What the code under test takes of memory.

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// What `cargo test` itself may allocate beside a body.
const HARNESS: usize = 1 << 16;

static ALONE: Mutex<()> = Mutex::new(());

/// Keeps other bodies out: what is counted is counted for the whole process.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    // A body that panicked has broken a promise, not the counts.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does `work`, for a body that is [`alone`].
///
/// # Panics
/// When it allocated more than `most` bytes in all, whatever it gave back in between.
pub(crate) fn within<T>(most: usize, work: impl FnOnce() -> T) -> T {
    let before = ALLOCATOR.stats().bytes_allocated;
    let out = work();
    let taken = ALLOCATOR.stats().bytes_allocated - before;
    assert!(taken <= most + HARNESS, "allocated {taken} bytes where {most} do");
    out
}
