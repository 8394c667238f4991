//! Does the time of an operation depend on what it must not? A test of dudect's kind (Reparaz, Balasch
//! and Verbauwhede, "Dude, is my code constant time?", DATE 2017): two classes of inputs, fixed and
//! random, in random order; Welch's t-test on the times, cropped from above at several places since
//! what disturbs a measurement only ever adds to it.
//!
//! A busy machine can make any one run look like a leak, so that a subject leaks only if several
//! runs in a row say so, and the same way round. Beside each kind of subject runs a twin that leaks
//! on purpose: if it is not flagged, the check saw nothing and says that instead of passing.

use std::fmt;
use std::time::Instant;

mod subjects;
mod welch;

pub use subjects::subjects;
use welch::largest_t;

/// Above this |t| the paper calls code "definitely not constant time" (its reference implementation's
/// threshold; the 4.5 of leakage tests on oscilloscopes flags too much for a machine with an OS).
const THRESHOLD: f64 = 10.0;

/// Runs that have to agree before a subject leaks.
const RUNS: usize = 5;

/// Operations in one measurement: one alone is shorter than what the clock costs.
const REPEAT: u32 = 8;

/// What is timed, given an input.
pub type Operation = Box<dyn FnMut(&[u8; 32])>;

/// Something whose time is looked at.
pub struct Subject {
    /// What the operation is.
    pub name: String,
    /// Whether it is a twin that leaks on purpose.
    pub leaks_on_purpose: bool,
    /// The operation, on an input.
    pub operation: Operation,
    /// The inputs of the class that stays the same; the other one is random in the bytes of `varies`.
    pub fixed: [u8; 32],
    /// Which bytes of the input the classes differ in.
    pub varies: std::ops::Range<usize>,
}

/// What came out for a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// At least one run found no difference.
    Constant,
    /// Every run found the same class slower.
    Leaks,
}

/// A subject's finding and the largest t of each run that it took.
pub struct Verdict {
    name: String,
    leaks_on_purpose: bool,
    finding: Finding,
    ts: Vec<f64>,
}

impl Verdict {
    /// Whether the finding is what it should be.
    pub fn is_right(&self) -> bool {
        (self.finding == Finding::Leaks) == self.leaks_on_purpose
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ts: Vec<String> = self.ts.iter().map(|t| format!("{t:+.1}")).collect();
        let finding = match (self.finding, self.leaks_on_purpose) {
            (Finding::Constant, false) => "constant time",
            (Finding::Leaks, true) => "leaks, as it is meant to",
            (Finding::Leaks, false) => "LEAKS",
            (Finding::Constant, true) => "NOT FLAGGED: too few measurements, or too noisy",
        };
        write!(f, "{:<52} t = {:<40} {finding}", self.name, ts.join(" "))
    }
}

/// Looks at a subject with so many measurements a run.
pub fn examine(mut subject: Subject, measurements: usize) -> Verdict {
    let mut ts: Vec<f64> = Vec::new();
    let mut noise = Noise(measurements as u64);
    while ts.len() < RUNS {
        let t = run(&mut subject, measurements, &mut noise);
        ts.push(t);
        if !agree(&ts) {
            break;
        }
    }
    let finding = if agree(&ts) { Finding::Leaks } else { Finding::Constant };
    let Subject { name, leaks_on_purpose, .. } = subject;
    Verdict { name, leaks_on_purpose, finding, ts }
}

/// Whether every run found the same class slower.
fn agree(ts: &[f64]) -> bool {
    ts.iter().all(|t| t.abs() > THRESHOLD && t.signum() == ts[0].signum())
}

/// One run; the largest t of it.
fn run(subject: &mut Subject, measurements: usize, noise: &mut Noise) -> f64 {
    // All inputs before the first measurement, and both classes from the same memory: making one
    // leaves traces in the caches.
    let inputs: Vec<(bool, [u8; 32])> = (0..measurements)
        .map(|_| {
            let is_random = noise.next() & 1 == 1;
            let mut input = subject.fixed;
            let varied: Vec<u8> = subject.varies.clone().map(|_| noise.next() as u8).collect();
            if is_random {
                input[subject.varies.clone()].copy_from_slice(&varied);
            }
            (is_random, input)
        })
        .collect();
    let mut times = Vec::with_capacity(measurements);
    for (is_random, input) in &inputs {
        let start = Instant::now();
        for _ in 0..REPEAT {
            (subject.operation)(std::hint::black_box(input));
        }
        times.push((*is_random, start.elapsed().as_nanos() as f64));
    }
    largest_t(&times)
}

/// SplitMix64 (Steele et al., OOPSLA 2014).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_leaks_only_if_all_runs_agree_on_the_slower_class() {
        assert!(agree(&[40.0, 11.0, 12.0, 15.0, 10.5]));
        assert!(!agree(&[40.0, 11.0, -12.0]));
        assert!(!agree(&[9.9]));
    }

    #[test]
    fn every_subject_has_a_twin_that_leaks() {
        let (twins, subjects): (Vec<_>, Vec<_>) =
            subjects().into_iter().partition(|subject| subject.leaks_on_purpose);
        assert!(subjects.len() >= 6 && twins.len() >= 2);
    }

    #[test]
    fn the_twins_are_flagged() {
        for twin in subjects().into_iter().filter(|subject| subject.leaks_on_purpose) {
            let verdict = examine(twin, 20_000);
            assert!(verdict.is_right(), "{verdict}");
        }
    }
}
