//! How a table is prepared: seed, threads, progress.

use core::num::NonZeroUsize;
use core::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::PrepareError;

/// How to prepare a table.
pub struct Preparation<'a> {
    /// What the public matrix or polynomials are expanded from. Public; may stay the same from
    /// table to table, so that clients can expand it ahead of time.
    pub seed: [u8; 32],
    /// How many threads to use.
    pub workers: NonZeroUsize,
    /// Called now and then, from any of the threads; [`ControlFlow::Break`] stops the work.
    pub progress: &'a (dyn Fn(Progress) -> ControlFlow<()> + Sync),
}

impl Preparation<'_> {
    /// On one thread, without a word.
    pub fn quiet(seed: [u8; 32]) -> Self {
        let progress = &|_| ControlFlow::Continue(());
        Preparation { seed, workers: NonZeroUsize::MIN, progress }
    }
}

/// How far the work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Units of work done; what a unit is, is the scheme's to say.
    pub done: u64,
    /// Units of work in all.
    pub total: u64,
}

/// Work in pieces, shared by threads.
pub(crate) struct Workload<'a> {
    how: &'a Preparation<'a>,
    total: u64,
    done: AtomicU64,
}

impl<'a> Workload<'a> {
    /// A workload of `total` pieces.
    pub(crate) fn new(how: &'a Preparation<'a>, total: u64) -> Self {
        Workload { how, total, done: AtomicU64::new(0) }
    }

    /// Runs `work` on the pieces `0..total`, `scratch` made once per thread, and hands what comes
    /// out to `collect` on the calling thread as it comes, in any order.
    pub(crate) fn run<S, T: Send>(
        &self,
        scratch: impl Fn() -> S + Sync,
        work: impl Fn(&mut S, u64) -> T + Sync,
        collect: impl FnMut(u64, T),
    ) -> Result<(), PrepareError> {
        self.run_stage(self.total, scratch, work, collect)
    }

    /// [`Workload::run`] of a stage of `pieces`, numbered from 0, for work where one stage needs
    /// all of the one before.
    pub(crate) fn run_stage<S, T: Send>(
        &self,
        pieces: u64,
        scratch: impl Fn() -> S + Sync,
        work: impl Fn(&mut S, u64) -> T + Sync,
        mut collect: impl FnMut(u64, T),
    ) -> Result<(), PrepareError> {
        let next = &AtomicU64::new(0);
        let workers = (self.how.workers.get() as u64).min(pieces).max(1);
        // Bounded, so that workers cannot run ahead of the collector and fill the memory.
        let (results, collected) = std::sync::mpsc::sync_channel(2 * workers as usize);
        let mut stopped = false;
        std::thread::scope(|scope| {
            for _ in 0..workers {
                let results = results.clone();
                let (scratch, work) = (&scratch, &work);
                scope.spawn(move || {
                    let mut scratch = scratch();
                    loop {
                        let piece = next.fetch_add(1, Ordering::Relaxed);
                        if piece >= pieces {
                            break;
                        }
                        // The collector goes away when it was asked to stop.
                        if results.send((piece, work(&mut scratch, piece))).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(results);
            for (piece, result) in collected {
                collect(piece, result);
                let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
                if (self.how.progress)(Progress { done, total: self.total }).is_break() {
                    stopped = true;
                    break;
                }
            }
        });
        if stopped { Err(PrepareError::Stopped) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(
        workers: usize,
        progress: &(dyn Fn(Progress) -> ControlFlow<()> + Sync),
    ) -> Preparation<'_> {
        let workers = NonZeroUsize::new(workers).expect("a test's constant");
        Preparation { seed: [0; 32], workers, progress }
    }

    #[test]
    fn does_every_piece_once() {
        for workers in [1, 3, 8] {
            let how = with(workers, &|_| ControlFlow::Continue(()));
            let mut seen = vec![0; 100];
            let all = Workload::new(&how, 100).run(
                || (),
                |(), i| i * i,
                |i, square| {
                    assert_eq!(square, i * i);
                    seen[i as usize] += 1;
                },
            );
            assert_eq!(all, Ok(()));
            assert_eq!(seen, [1; 100]);
        }
    }

    #[test]
    fn stops_when_asked() {
        let how = with(2, &|p| {
            if p.done == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let mut pieces = 0;
        let stopped = Workload::new(&how, 1_000_000).run(|| (), |(), _| (), |_, ()| pieces += 1);
        assert_eq!(stopped, Err(PrepareError::Stopped));
        assert_eq!(pieces, 10);
    }
}
