//! What a table costs: `cargo run --release -p slyfi-tracedge --example tracedge_rates [ROWS]`.
//!
//! Builds a table of ROWS rows (10⁷ unless told otherwise) on all cores, then audits all of it, first as a
//! newcomer and then as somebody who kept the sum of the keys. Prints wall and processor seconds.

use std::num::NonZeroUsize;
use std::sync::Mutex;

use slyfi_base::SecureRandom;
use slyfi_linux::{Clock, OsRandom};
use slyfi_tracedge::audit::KeySum;
use slyfi_tracedge::epoch::{Epoch, EpochKey, EpochSecret};
use slyfi_tracedge::keys::{OperatorKeys, SecretKey};
use slyfi_tracedge::pieces::Work;
use slyfi_tracedge::table;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows: usize = std::env::args().nth(1).map_or(Ok(10_000_000), |n| n.parse())?;
    let workers = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let work = Work { workers, ..Work::quiet() };
    let keys = OperatorKeys::generate(&mut OsRandom);
    // 4,096 owners, many times: what a row costs does not depend on whose it is.
    let owners: Vec<_> = (0..4_096).map(|_| SecretKey::generate(&mut OsRandom)).collect();
    let directory: Vec<u8> =
        (0..rows).flat_map(|i| *owners[i % owners.len()].public().as_bytes()).collect();
    let epoch = Epoch { operator: keys.id(), number: 1, not_before: 0, not_after: 3_600 };
    let mut key = [0; 16];
    OsRandom.fill(&mut key);
    let secret = EpochSecret::derive(&epoch, EpochKey::from_bytes(key));
    println!("{rows} rows, {workers} threads");
    let sink = Mutex::new(vec![0; rows * 32]);
    let vacant = keys.vacant().public();
    timed("build", rows, || table::build(&secret, &directory, vacant, &sink, &work))?;
    let table = sink.into_inner()?;
    let sum = timed("sum of keys", rows, || KeySum::new(&directory, &mut OsRandom, &work))?;
    timed("audit of rows", rows, || sum.check(&secret, &table, &directory, &work))?;
    Ok(())
}

fn timed<T>(what: &str, rows: usize, run: impl FnOnce() -> T) -> T {
    let (wall, cpu) = (Clock::new().now().mono.as_micros(), processor_us());
    let result = run();
    let wall = (Clock::new().now().mono.as_micros() - wall) as f64;
    let cpu = (processor_us() - cpu) as f64;
    let each = cpu / rows as f64;
    println!("{what:<14} {:8.2} s wall  {:8.2} core-s  {each:6.2} us/row", wall / 1e6, cpu / 1e6);
    result
}

/// The processor time that this process has used, microseconds (proc(5): 100 ticks a second).
fn processor_us() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after.split_whitespace().skip(11).take(2).filter_map(|t| t.parse::<u64>().ok());
    ticks.sum::<u64>() * 10_000
}
