//! The heap, for the parts that need one (SlyFi's client machine), and a count of its uses, which
//! shows that the exchange is none of them.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering};
use linked_list_allocator::LockedHeap;

/// Bytes of heap.
const SIZE: usize = 16 << 20;

#[repr(align(4096))]
struct Memory(UnsafeCell<[u8; SIZE]>);

// SAFETY: only the allocator ever touches it, through the pointer of `initialize`.
unsafe impl Sync for Memory {}

static MEMORY: Memory = Memory(UnsafeCell::new([0; SIZE]));

struct Counting {
    heap: LockedHeap,
    calls: AtomicU64,
}

#[global_allocator]
static HEAP: Counting = Counting { heap: LockedHeap::empty(), calls: AtomicU64::new(0) };

// SAFETY: everything is the inner allocator's; counting changes nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.calls.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller vouches for the layout.
        unsafe { self.heap.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller vouches for the pointer and its layout.
        unsafe { self.heap.dealloc(at, layout) }
    }
}

/// Gives the allocator its memory; before that every allocation fails.
pub fn initialize() {
    // SAFETY: called once, at the start, and nothing else knows of the memory.
    unsafe { HEAP.heap.lock().init(MEMORY.0.get().cast(), SIZE) }
}

/// Returns how often the allocator was called, for memory or to give it back.
pub fn calls() -> u64 {
    HEAP.calls.load(Ordering::Relaxed)
}

/// Returns how many bytes are in use.
pub fn used() -> usize {
    HEAP.heap.lock().used()
}
