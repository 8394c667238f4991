//! The queue of what happens next.

use slyfi_base::Instant;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Which of two happenings at one microsecond goes first.
///
/// What ends makes room for what begins: a frame that starts at the very end of another does not
/// overlap it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    /// Ends of transmissions.
    First,
    /// Everything else.
    Second,
    /// Decisions that want to see all that happened at this microsecond (ACK timeouts).
    Last,
}

/// Happenings ordered by time, then turn, then the order in which they were scheduled.
#[derive(Debug)]
pub struct Schedule<T> {
    heap: BinaryHeap<Entry<T>>,
    next: u64,
}

#[derive(Debug)]
struct Entry<T> {
    key: (Instant, Turn, u64),
    what: T,
}

impl<T> Schedule<T> {
    /// Makes an empty schedule.
    pub fn new() -> Self {
        Schedule { heap: BinaryHeap::new(), next: 0 }
    }

    /// Adds a happening.
    pub fn add(&mut self, at: Instant, turn: Turn, what: T) {
        self.heap.push(Entry { key: (at, turn, self.next), what });
        self.next += 1;
    }

    /// Returns when the next happening is due.
    pub fn next_at(&self) -> Option<Instant> {
        self.heap.peek().map(|e| e.key.0)
    }

    /// Takes the next happening.
    pub fn pop(&mut self) -> Option<(Instant, T)> {
        self.heap.pop().map(|e| (e.key.0, e.what))
    }
}

impl<T> Default for Schedule<T> {
    fn default() -> Self {
        Schedule::new()
    }
}

// `BinaryHeap` gives the greatest first; the earliest has to be the greatest.
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}
impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl<T> Eq for Entry<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_by_time_then_turn_then_sequence() {
        let mut s = Schedule::new();
        let t = Instant::from_micros;
        s.add(t(5), Turn::Second, 'c');
        s.add(t(5), Turn::Last, 'e');
        s.add(t(5), Turn::Second, 'd');
        s.add(t(5), Turn::First, 'b');
        s.add(t(4), Turn::Last, 'a');
        s.add(t(6), Turn::First, 'f');
        let order: String = std::iter::from_fn(|| s.pop()).map(|(_, c)| c).collect();
        assert_eq!(order, "abcdef");
        assert_eq!(s.next_at(), None);
    }
}
