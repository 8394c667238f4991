//! Work in pieces, shared by threads.

use core::num::NonZeroUsize;
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub use slyfi_pir::Progress;

/// How to do something long: on how many threads, and whom to tell.
pub struct Work<'a> {
    /// How many threads to use.
    pub workers: NonZeroUsize,
    /// Called now and then from any of the threads; [`ControlFlow::Break`] stops the work.
    pub progress: &'a (dyn Fn(Progress) -> ControlFlow<()> + Sync),
}

impl Work<'_> {
    /// On one thread, without a word.
    pub fn quiet() -> Self {
        Work { workers: NonZeroUsize::MIN, progress: &|_| ControlFlow::Continue(()) }
    }

    /// Does pieces `0..total`, and returns what they gave in their order; `None` if it was told to
    /// stop.
    pub(crate) fn run<T: Send>(
        &self,
        total: u64,
        work: impl Fn(u64) -> T + Sync,
    ) -> Option<Vec<T>> {
        let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
        let stopped = AtomicBool::new(false);
        let one_thread = || {
            let mut results = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                let piece = next.fetch_add(1, Ordering::Relaxed);
                if piece >= total {
                    break;
                }
                results.push((piece, work(piece)));
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                if (self.progress)(Progress { done, total }).is_break() {
                    stopped.store(true, Ordering::Relaxed);
                }
            }
            results
        };
        let mut results = std::thread::scope(|scope| {
            let others: Vec<_> = (1..self.workers.get()).map(|_| scope.spawn(one_thread)).collect();
            let mut results = one_thread();
            for other in others {
                // A panic of `work` is a fault here, and goes on as one.
                results.extend(other.join().unwrap_or_else(|e| std::panic::resume_unwind(e)));
            }
            results
        });
        if stopped.into_inner() && results.len() as u64 != total {
            return None;
        }
        results.sort_unstable_by_key(|(piece, _)| *piece);
        Some(results.into_iter().map(|(_, result)| result).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_done_once_and_in_its_place() {
        for workers in [1, 2, 5] {
            let workers = NonZeroUsize::new(workers).unwrap();
            let work = Work { workers, ..Work::quiet() };
            let squares = work.run(1_000, |i| i * i).unwrap();
            assert_eq!(squares, (0..1_000).map(|i| i * i).collect::<Vec<_>>());
        }
    }

    #[test]
    fn stops_when_told() {
        let progress = |p: Progress| {
            if p.done == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let work = Work { progress: &progress, ..Work::quiet() };
        let count = AtomicU64::new(0);
        assert!(work.run(1_000, |_| count.fetch_add(1, Ordering::Relaxed)).is_none());
        assert_eq!(count.into_inner(), 10);
    }
}
