//! Measuring several ways to do the same thing, fairly: interleaved, best of many.

use std::time::{Duration, Instant};

use serde::Serialize;

/// One timed slice: shorter than what a busy system lets a program run undisturbed, so that some of
/// the slices are clean.
const SLICE: Duration = Duration::from_micros(100);

/// What one contestant needs for one operation, at its best.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// Who.
    pub name: String,
    /// Nanoseconds for one operation; in rows of another unit, that.
    pub value: f64,
}

/// A way to do the operation that is measured.
pub struct Contestant<'a> {
    name: String,
    operation: Box<dyn FnMut() + 'a>,
    /// Operations in one slice.
    repeat: u32,
    best: Duration,
}

/// Contestants that take turns, so that whatever disturbs the machine disturbs all of them.
#[derive(Default)]
pub struct Contest<'a> {
    contestants: Vec<Contestant<'a>>,
    missing: Vec<String>,
}

/// How a contest went. The first contestant is ours.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Ours.
    pub ours: Measurement,
    /// Everybody else, in the order of entry.
    pub peers: Vec<Measurement>,
    /// Peers that this build or machine does not have.
    pub missing: Vec<String>,
}

impl<'a> Contest<'a> {
    /// Enters a contestant; the first to enter is ours.
    pub fn enter(&mut self, name: &str, operation: impl FnMut() + 'a) -> &mut Self {
        let mut operation = Box::new(operation);
        // Warm up, and find how many operations fill a slice.
        let mut repeat = 1_u32;
        loop {
            let start = Instant::now();
            (0..repeat).for_each(|_| operation());
            if start.elapsed() >= SLICE || repeat >= 1 << 20 {
                break;
            }
            repeat *= 2;
        }
        self.contestants.push(Contestant {
            name: name.to_owned(),
            operation,
            repeat,
            best: Duration::MAX,
        });
        self
    }

    /// Names a peer that cannot be measured here.
    pub fn miss(&mut self, name: &str, why: &str) -> &mut Self {
        eprintln!("NOT MEASURED: {name}: {why}");
        self.missing.push(format!("{name}: {why}"));
        self
    }

    /// Lets everybody run `rounds` slices in turn; `per_call` operations are in each call.
    ///
    /// Panics if nobody has entered.
    pub fn run(mut self, rounds: u32, per_call: u32) -> Outcome {
        for _ in 0..rounds {
            for contestant in &mut self.contestants {
                let start = Instant::now();
                (0..contestant.repeat).for_each(|_| (contestant.operation)());
                contestant.best = contestant.best.min(start.elapsed());
            }
        }
        let mut all = self.contestants.into_iter().map(|contestant| Measurement {
            name: contestant.name,
            value: contestant.best.as_secs_f64() * 1e9
                / f64::from(contestant.repeat)
                / f64::from(per_call),
        });
        let ours = all.next().expect("a contest has contestants");
        Outcome { ours, peers: all.collect(), missing: self.missing }
    }
}

impl Outcome {
    /// The fastest peer.
    pub fn best_peer(&self) -> Option<&Measurement> {
        self.peers.iter().min_by(|a, b| a.value.total_cmp(&b.value))
    }
}
