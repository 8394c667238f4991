//! Time: contestants take turns, and the median of many short runs counts.

use super::Workload;
use serde::Serialize;
use std::time::{Duration, Instant};

/// What one operation took, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Time {
    /// The median over all rounds.
    pub median: f64,
    /// The least: what the 2004 paper took from each series of runs.
    pub least: f64,
}

/// Lets every workload run in each of `rounds` rounds, so that whatever disturbs the machine disturbs
/// all of them alike. Before each measured run comes the same one unmeasured, for the caches' sake.
/// Whoever is first in a round is last in the next, so that nobody always runs behind the same
/// neighbour.
pub fn contest(
    workloads: &mut [Box<dyn Workload>],
    rounds: u32,
    progress: &mut dyn FnMut(u32),
) -> Vec<Time> {
    let mut taken: Vec<Vec<Duration>> = vec![Vec::new(); workloads.len()];
    let count = workloads.len();
    for round in 0..rounds {
        progress(round + 1);
        for turn in 0..count {
            let i = (turn + round as usize) % count;
            workloads[i].prepare();
            workloads[i].run();
            workloads[i].prepare();
            let begun = Instant::now();
            workloads[i].run();
            taken[i].push(begun.elapsed());
        }
    }
    taken.iter_mut().zip(workloads).map(|(t, w)| summary(t, w.operations())).collect()
}

fn summary(taken: &mut [Duration], operations: u32) -> Time {
    taken.sort_unstable();
    let nanos = |d: Duration| d.as_secs_f64() * 1e9 / f64::from(operations);
    let at = |i: usize| taken.get(i).copied().map_or(f64::NAN, nanos);
    Time { median: at(taken.len() / 2), least: at(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Spin(u64, u64);

    impl Workload for Spin {
        fn prepare(&mut self) {
            self.1 = 1;
        }

        fn run(&mut self) {
            for i in 0..self.0 {
                self.1 = std::hint::black_box(self.1.wrapping_mul(i | 3));
            }
        }

        fn operations(&self) -> u32 {
            4
        }
    }

    #[test]
    fn more_work_takes_more_time() {
        let mut both: Vec<Box<dyn Workload>> =
            vec![Box::new(Spin(2_000, 0)), Box::new(Spin(60_000, 0))];
        let mut told = 0;
        let times = contest(&mut both, 21, &mut |round| told = round);
        assert_eq!(told, 21);
        assert!(times[1].median > 3.0 * times[0].median, "{times:?}");
        assert!(times.iter().all(|t| t.least <= t.median));
    }

    #[test]
    fn a_disturbed_round_does_not_count() {
        let ms = Duration::from_millis;
        let t = summary(&mut [ms(2), ms(900), ms(2), ms(1), ms(2)], 2);
        assert_eq!((t.median, t.least), (1e6, 5e5));
    }
}
