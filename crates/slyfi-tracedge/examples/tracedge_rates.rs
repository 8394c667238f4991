//! What a table costs: `cargo run --release -p slyfi-tracedge --example tracedge_rates [ROWS]`.
//!
//! Takes each arithmetic that this machine has on 100,000 rows in turn, three rounds, and prints the best of each and
//! the ratios. Then builds a table of ROWS rows (10⁷ unless told otherwise; 0 for no more than the comparison) on all cores, and
//! audits all of it, first as a newcomer and then as somebody who kept the sum of the keys. Prints wall and
//! processor seconds.

use std::num::NonZeroUsize;
use std::sync::Mutex;

use slyfi_base::SecureRandom;
use slyfi_linux::{Clock, OsRandom};
use slyfi_tracedge::audit::KeySum;
use slyfi_tracedge::epoch::{Epoch, EpochKey, EpochSecret};
use slyfi_tracedge::keys::{OperatorKeys, SecretKey};
use slyfi_tracedge::lanes::Backend;
use slyfi_tracedge::pieces::Work;
use slyfi_tracedge::table;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Rows and rounds of the comparison.
const COMPARED: usize = 100_000;
const ROUNDS: usize = 3;

/// Seconds of one step.
#[derive(Clone, Copy)]
struct Cost {
    wall: f64,
    processor: f64,
}

/// An operator and its subscribers.
struct World {
    operator: OperatorKeys,
    owners: Vec<SecretKey>,
    secret: EpochSecret,
}

impl World {
    fn new() -> Self {
        let operator = OperatorKeys::generate(&mut OsRandom);
        // 4,096 owners, many times: what a row costs does not depend on whose it is.
        let owners = (0..4_096).map(|_| SecretKey::generate(&mut OsRandom)).collect();
        let epoch = Epoch { operator: operator.id(), number: 1, not_before: 0, not_after: 3_600 };
        let mut key = [0; 16];
        OsRandom.fill(&mut key);
        let secret = EpochSecret::derive(&epoch, EpochKey::from_bytes(key));
        World { operator, owners, secret }
    }

    /// Builds a table and audits it: what that cost, by step.
    fn run(&self, backend: Backend, rows: usize, work: &Work<'_>) -> Outcome<[Cost; 3]> {
        let owner = |i: usize| *self.owners[i % self.owners.len()].public().as_bytes();
        let directory: Vec<u8> = (0..rows).flat_map(owner).collect();
        let sink = Mutex::new(vec![0; rows * 32]);
        let vacant = self.operator.vacant().public();
        let (built, build) =
            timed(|| table::build_with(backend, &self.secret, &directory, vacant, &sink, work));
        built?;
        let table = sink.into_inner()?;
        let (sum, sum_of_keys) =
            timed(|| KeySum::new_with(backend, &directory, &mut OsRandom, work));
        let sum = sum?;
        let (audited, audit) = timed(|| sum.check(&self.secret, &table, &directory, work));
        audited?;
        Ok([build, sum_of_keys, audit])
    }
}

const STEPS: [&str; 3] = ["build", "sum of keys", "audit of rows"];

fn main() -> Outcome<()> {
    let rows: usize = std::env::args().nth(1).map_or(Ok(10_000_000), |n| n.parse())?;
    let workers = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let world = World::new();
    compare(&world)?;
    if rows == 0 {
        return Ok(());
    }
    let work = Work { workers, ..Work::quiet() };
    let backend = Backend::detect();
    println!("\n{rows} rows, {workers} threads, {}", backend.name());
    for (step, cost) in STEPS.iter().zip(world.run(backend, rows, &work)?) {
        let Cost { wall, processor } = cost;
        let each = processor * 1e6 / rows as f64;
        println!("{step:<14} {wall:8.2} s wall  {processor:8.2} core-s  {each:6.2} us/row");
    }
    Ok(())
}

/// Microseconds of a core for each row, by back end, in turn.
fn compare(world: &World) -> Outcome<()> {
    let available = Backend::ALL.into_iter().filter(|backend| backend.is_available());
    let backends: Vec<_> = available.collect();
    let mut best = vec![[f64::INFINITY; 3]; backends.len()];
    for _ in 0..ROUNDS {
        for (backend, best) in backends.iter().zip(&mut best) {
            let costs = world.run(*backend, COMPARED, &Work::quiet())?;
            for (best, cost) in best.iter_mut().zip(costs) {
                *best = best.min(cost.processor * 1e6 / COMPARED as f64);
            }
        }
    }
    println!("us/row on one core, best of {ROUNDS} rounds of {COMPARED} rows");
    for (i, step) in STEPS.iter().enumerate() {
        print!("{step:<14}");
        for (backend, best) in backends.iter().zip(&best) {
            print!("  {} {:6.2}", backend.name(), best[i]);
        }
        println!("  ratio {:.2}", best[0][i] / best[best.len() - 1][i]);
    }
    Ok(())
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, Cost) {
    let (wall, processor) = (Clock::new().now().mono.as_micros(), processor_us());
    let result = run();
    let wall = (Clock::new().now().mono.as_micros() - wall) as f64 / 1e6;
    let processor = (processor_us() - processor) as f64 / 1e6;
    (result, Cost { wall, processor })
}

/// The processor time that this process has used, microseconds (proc(5): 100 ticks a second).
fn processor_us() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after.split_whitespace().skip(11).take(2).filter_map(|t| t.parse::<u64>().ok());
    ticks.sum::<u64>() * 10_000
}
