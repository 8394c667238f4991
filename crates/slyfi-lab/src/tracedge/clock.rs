//! Clocks: the wall's, this thread's time on a processor, and that of all threads.

use std::time::Instant;

/// Runs `f`; returns what it gave and the seconds of the wall clock.
pub fn timed<T>(f: impl FnOnce() -> T) -> (T, f64) {
    let begun = Instant::now();
    let out = f();
    (out, begun.elapsed().as_secs_f64())
}

/// What something took in several rounds: milliseconds of the wall clock and of this thread on a
/// processor, which other work on the machine disturbs less.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rounds {
    wall_ms: Vec<f64>,
    cpu_ms: Vec<f64>,
}

impl Rounds {
    /// Runs `f` as one more round.
    pub fn time<T>(&mut self, f: impl FnOnce() -> T) -> T {
        let cpu = thread_ms();
        let (out, wall) = timed(f);
        self.wall_ms.push(wall * 1e3);
        self.cpu_ms.push(thread_ms() - cpu);
        out
    }

    /// The medians; `None` without a round.
    pub fn medians(&self) -> Option<Millis> {
        Some(Millis { wall: median(&self.wall_ms)?, cpu: median(&self.cpu_ms)? })
    }
}

/// Milliseconds of the wall clock and of a thread on a processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Millis {
    /// By the wall clock.
    pub wall: f64,
    /// On a processor; not a number where the system does not say.
    pub cpu: f64,
}

impl Millis {
    /// One of so many parts.
    pub fn each(self, parts: usize) -> Self {
        Millis { wall: self.wall / parts as f64, cpu: self.cpu / parts as f64 }
    }
}

/// The middle one.
pub fn median(of: &[f64]) -> Option<f64> {
    let mut sorted = of.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// The milliseconds that this thread has been on a processor.
fn thread_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = stat.split(' ').next().and_then(|n| n.parse::<f64>().ok());
    nanoseconds.map_or(f64::NAN, |n| n / 1e6)
}

/// The seconds that all threads of this process have been on processors (proc(5): 100 ticks a second).
pub fn core_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after.split_whitespace().skip(11).take(2).filter_map(|t| t.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// The most memory that this process has had, bytes; `None` where the system does not say.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disturbed_round_does_not_count_and_no_round_is_none() {
        let rounds = Rounds { wall_ms: vec![2.0, 900.0, 1.0], cpu_ms: vec![1.0, 1.0, 2.0] };
        assert_eq!(rounds.medians(), Some(Millis { wall: 2.0, cpu: 1.0 }));
        assert_eq!(rounds.medians().map(|m| m.each(2).wall), Some(1.0));
        assert_eq!(Rounds::default().medians(), None);
    }

    #[test]
    fn work_takes_time_on_a_processor_and_sleep_does_not() {
        let mut rounds = Rounds::default();
        rounds.time(|| std::thread::sleep(std::time::Duration::from_millis(30)));
        let slept = rounds.medians().unwrap();
        assert!(slept.wall >= 30.0 && slept.cpu < 15.0, "{slept:?}");
        assert!(peak_memory().is_some_and(|bytes| bytes > 1 << 20));
    }
}
