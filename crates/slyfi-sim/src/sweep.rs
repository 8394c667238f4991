//! Many seeds, and the first that fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// A range of seeds to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sweep {
    first: u64,
    count: u64,
    threads: usize,
}

/// The lowest seed that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepFailure {
    /// The seed.
    pub seed: u64,
    /// What it said.
    pub message: String,
    /// How many seeds were run.
    pub run: u64,
}

impl std::fmt::Display for SweepFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let SweepFailure { seed, message, run } = self;
        write!(f, "seed {seed} failed ({run} run); rerun with SLYFI_SEED={seed}\n{message}")
    }
}

impl std::error::Error for SweepFailure {}

impl Sweep {
    /// Makes a sweep over `count` seeds from `first` on, on two threads.
    pub fn new(first: u64, count: u64) -> Self {
        Sweep { first, count, threads: 2 }
    }

    /// Makes the sweep that the environment asks for: the one seed of `SLYFI_SEED`, or
    /// `SLYFI_SEEDS` seeds from 0 on, or `default` seeds.
    pub fn from_env(default: u64) -> Self {
        match var("SLYFI_SEED") {
            Some(seed) => Sweep { first: seed, count: 1, threads: 1 },
            None => Sweep::new(0, seeds_from_env(default)),
        }
    }

    /// Sets how many threads run.
    pub fn with_threads(self, threads: usize) -> Self {
        Sweep { threads: threads.max(1), ..self }
    }

    /// Returns how many seeds will be run.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Runs `test` with every seed; a panic counts as a failure. Returns the results in the order
    /// of the seeds.
    ///
    /// # Errors
    /// The lowest failing seed. Seeds above it may not have been run.
    pub fn run<T: Send, E: std::fmt::Display>(
        &self,
        test: impl Fn(u64) -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, SweepFailure> {
        let next = AtomicU64::new(0);
        let lowest = AtomicU64::new(u64::MAX);
        let results = Mutex::new(Vec::new());
        let failure: Mutex<Option<(u64, String)>> = Mutex::new(None);
        let work = || {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                // Seeds above a failure cannot change which is the lowest.
                if i >= self.count || i > lowest.load(Ordering::Relaxed) {
                    return;
                }
                let seed = self.first.wrapping_add(i);
                let message = match catch_unwind(AssertUnwindSafe(|| test(seed))) {
                    Ok(Ok(value)) => {
                        results.lock().unwrap_or_else(|e| e.into_inner()).push((i, value));
                        continue;
                    }
                    Ok(Err(error)) => error.to_string(),
                    Err(panic) => panic_message(panic.as_ref()),
                };
                lowest.fetch_min(i, Ordering::Relaxed);
                let mut failure = failure.lock().unwrap_or_else(|e| e.into_inner());
                if failure.as_ref().is_none_or(|(f, _)| i < *f) {
                    *failure = Some((i, message));
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.threads {
                scope.spawn(work);
            }
            work();
        });
        let run = next.into_inner().min(self.count);
        if let Some((i, message)) = failure.into_inner().unwrap_or_else(|e| e.into_inner()) {
            return Err(SweepFailure { seed: self.first.wrapping_add(i), message, run });
        }
        let mut results = results.into_inner().unwrap_or_else(|e| e.into_inner());
        results.sort_by_key(|(i, _)| *i);
        Ok(results.into_iter().map(|(_, value)| value).collect())
    }
}

/// Returns the seed that the environment asks for (`SLYFI_SEED`), or `default`.
pub fn seed_from_env(default: u64) -> u64 {
    var("SLYFI_SEED").unwrap_or(default)
}

/// Returns how many seeds the environment asks for (`SLYFI_SEEDS`), or `default`.
pub fn seeds_from_env(default: u64) -> u64 {
    var("SLYFI_SEEDS").unwrap_or(default)
}

fn var(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    // A seed that cannot be read must not be taken for none: the run would be another one.
    Some(text.trim().parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("panicked").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_of_seeds() {
        let r = Sweep::new(5, 50).run(|seed| Ok::<_, String>(seed * 2));
        assert_eq!(r, Ok((5..55).map(|s| s * 2).collect()));
    }

    #[test]
    fn the_lowest_failing_seed_is_told_and_panics_count() {
        let r = Sweep::new(0, 100).run(|seed| match seed {
            40.. => Err("too high".to_string()),
            _ => Ok(()),
        });
        let failure = r.unwrap_err();
        assert_eq!((failure.seed, failure.message.as_str()), (40, "too high"));
        assert!(failure.to_string().contains("SLYFI_SEED=40"));
        let r = Sweep::new(0, 3).run(|seed| {
            assert!(seed != 1, "one is wrong");
            Ok::<_, String>(())
        });
        let failure = r.unwrap_err();
        assert!(failure.seed == 1 && failure.message.contains("one is wrong"));
    }
}
