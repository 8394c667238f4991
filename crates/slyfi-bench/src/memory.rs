//! Memory as the allocator sees it.

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Returns the bytes that are allocated now.
pub fn allocated() -> usize {
    // What reallocations add or give back is part of both.
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}
