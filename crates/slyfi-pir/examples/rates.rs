//! What retrieval costs on this machine, as JSON lines on standard output, one for each scheme.
//!
//! ```text
//! cargo run --release -p slyfi-pir --example rates -- --rows 1e7
//! cargo run --release -p slyfi-pir --example rates -- --rows 1e6 --row-bytes 16 --scheme lwe --layout 40
//! ```
//!
//! Times are the least and the median of several rounds: of the wall clock, and of the thread's time on
//! a processor, which other work on the machine disturbs less. In each round as many bytes as the table
//! has are read once, plainly: `plain_read_ms` is what an answer would take if arithmetic were free, and
//! `over_plain_read` how many times as long a round's answer took as its reading did, the median. It says
//! more about the program than milliseconds do when other work shares the processor or its memory.
#![expect(clippy::disallowed_methods, reason = "a stopwatch needs a clock")]

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use slyfi_base::SecureRandom;
use slyfi_pir::kernel::{Backend, Pages};
use slyfi_pir::{Preparation, Progress, SchemeId, Server, Shape, registry};

/// What was asked for on the command line.
struct Options {
    rows: u64,
    row_bytes: u32,
    schemes: Vec<SchemeId>,
    layout: Option<u32>,
    rounds: usize,
    batch: usize,
    workers: NonZeroUsize,
}

const USAGE: &str = "rates [--rows 1e7] [--row-bytes 32] [--scheme lwe|hintless|ntru-2015]... \
    [--layout N] [--rounds 7] [--batch 8] [--workers N]";

fn main() -> ExitCode {
    match options(std::env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}\nusage: {USAGE}");
            ExitCode::FAILURE
        }
    }
}

fn options(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let workers = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut options = Options {
        rows: 1_000_000,
        row_bytes: 32,
        schemes: vec![],
        layout: None,
        rounds: 7,
        batch: 8,
        workers,
    };
    while let Some(option) = args.next() {
        let value = args.next().ok_or(format!("{option} needs a value"))?;
        let number = || value.parse::<f64>().map_err(|e| format!("{option} {value}: {e}"));
        match option.as_str() {
            "--rows" => options.rows = number()? as u64,
            "--row-bytes" => options.row_bytes = number()? as u32,
            "--layout" => options.layout = Some(number()? as u32),
            "--rounds" => options.rounds = (number()? as usize).max(1),
            "--batch" => options.batch = (number()? as usize).max(1),
            "--workers" => {
                let workers = NonZeroUsize::new(number()? as usize);
                options.workers = workers.ok_or("--workers needs at least one")?;
            }
            "--scheme" => {
                let id = SchemeId::from_name(&value);
                options.schemes.push(id.ok_or(format!("there is no scheme {value}"))?);
            }
            _ => return Err(format!("{option} is not an option")),
        }
    }
    if options.schemes.is_empty() {
        options.schemes = vec![SchemeId::Lwe, SchemeId::Hintless];
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), String> {
    let shape = Shape::new(options.rows, options.row_bytes).map_err(|e| e.to_string())?;
    let mut table = vec![0; shape.table_bytes()];
    Fast(1).fill(&mut table);
    for id in &options.schemes {
        println!("{}", rates(*id, shape, &table, options)?);
    }
    Ok(())
}

fn rates(id: SchemeId, shape: Shape, table: &[u8], options: &Options) -> Result<Value, String> {
    let layout = match options.layout {
        Some(layout) => layout,
        None => registry::default_layout(id, shape).map_err(|e| e.to_string())?,
    };
    let sizes = registry::sizes(id, shape, layout).map_err(|e| e.to_string())?;
    let progress = |p: Progress| {
        if p.total < 100 || p.done.is_multiple_of(p.total / 100) {
            eprint!("\r{}: preparing {:3} %", id.name(), 100 * p.done / p.total);
        }
        ControlFlow::Continue(())
    };
    let how = Preparation { seed: [7; 32], workers: options.workers, progress: &progress };
    let started = Instant::now();
    let server = registry::prepare(id, shape, layout, table, &how).map_err(|e| e.to_string())?;
    let prepare_s = started.elapsed().as_secs_f64();
    eprintln!();
    let client = registry::client(server.setup(), server.hint()).map_err(|e| e.to_string())?;

    let plain = Plain::new(table)?;
    let mut read = vec![];
    let mut rng = Fast(2);
    let (mut query, mut single, mut extract) = (vec![], vec![], vec![]);
    let row_bytes = shape.row_bytes();
    for round in 0..options.rounds as u64 {
        let index = rng.below(shape.rows());
        let made = timed(&mut query, || client.query(index, &mut Fast(round + 3)));
        let made = made.map_err(|e| e.to_string())?;
        timed(&mut read, || plain.read());
        let answer = timed(&mut single, || server.answer(&made.bytes));
        let answer = answer.map_err(|e| e.to_string())?;
        let found = timed(&mut extract, || made.state.extract(&answer));
        let found = found.map_err(|e| e.to_string())?;
        let at = index as usize * row_bytes;
        if found.row() != &table[at..at + row_bytes] {
            return Err(format!("{}: row {index} came out wrong", id.name()));
        }
    }

    let mut queries = vec![];
    for _ in 0..options.batch {
        let made = client.query(rng.below(shape.rows()), &mut rng).map_err(|e| e.to_string())?;
        queries.push(made.bytes);
    }
    let queries: Vec<&[u8]> = queries.iter().map(|q| &q[..]).collect();
    let (mut batched, mut read_beside) = (vec![], vec![]);
    for _ in 0..options.rounds {
        timed(&mut read_beside, || plain.read());
        let answers = timed(&mut batched, || server.answer_batch(&queries));
        if let Some(why) = answers.into_iter().find_map(Result::err) {
            return Err(why.to_string());
        }
    }
    let share = 1.0 / options.batch as f64;
    let each: Vec<(f64, f64)> = batched.iter().map(|(w, c)| (w * share, c * share)).collect();
    let saturated = saturated(&*server, &queries, options)?;
    Ok(json!({
        "scheme": id.name(), "secure": id.is_secure(), "rows": shape.rows(),
        "row_bytes": row_bytes, "layout": layout, "backend": Backend::detect().name(),
        "query_bytes": sizes.query, "answer_bytes": sizes.answer, "hint_bytes": sizes.hint,
        "rows_per_answer": sizes.rows_per_answer, "server_memory_bytes": server.memory_bytes(),
        "prepare_s": prepare_s, "workers": options.workers.get(),
        "query_ms": summary(&query), "extract_ms": summary(&extract),
        "answer_ms": summary(&single), "batch": options.batch, "batched_answer_ms": summary(&each),
        "plain_read_ms": summary(&[&read[..], &read_beside].concat()),
        "over_plain_read": { "answer": ratio(&single, &read), "batched": ratio(&each, &read_beside) },
        "saturated_answers_per_s": saturated,
    }))
}

/// Answers in a second when every worker answers batches.
fn saturated(server: &dyn Server, queries: &[&[u8]], options: &Options) -> Result<f64, String> {
    let started = Instant::now();
    let answered = std::thread::scope(|scope| {
        let work = || {
            let mut answered = 0;
            while started.elapsed().as_secs_f64() < 2.0 {
                answered += server.answer_batch(queries).iter().filter(|a| a.is_ok()).count();
            }
            answered
        };
        let workers: Vec<_> = (0..options.workers.get()).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|w| w.join()).sum::<Result<usize, _>>()
    });
    let answered = answered.map_err(|_| "a worker panicked")?;
    Ok(answered as f64 / started.elapsed().as_secs_f64())
}

/// Runs `f`; its wall-clock and processor milliseconds go to `times`.
fn timed<T>(times: &mut Vec<(f64, f64)>, f: impl FnOnce() -> T) -> T {
    let (wall, cpu) = (Instant::now(), cpu_ms());
    let out = f();
    times.push((wall.elapsed().as_secs_f64() * 1e3, cpu_ms() - cpu));
    out
}

/// The milliseconds that this thread has been on a processor; NaN where the system does not say.
fn cpu_ms() -> f64 {
    // The system counts up to when the thread last left a processor, or to its last clock tick, which
    // may be 4 ms ago. So leave it.
    std::thread::sleep(Duration::from_nanos(1));
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = stat.split(' ').next().and_then(|n| n.parse::<f64>().ok());
    nanoseconds.map_or(f64::NAN, |n| n / 1e6)
}

/// A copy of a table, in pages like the server's, and nothing to do but to read it.
struct Plain(Pages);

impl Plain {
    fn new(table: &[u8]) -> Result<Self, String> {
        let mut pages = Pages::zeroed(table.len()).map_err(|e| e.to_string())?;
        pages.bytes_mut()[..table.len()].copy_from_slice(table);
        Ok(Plain(pages))
    }

    /// Reads all of it with the widest registers there are; the exclusive or of its words.
    fn read(&self) -> u64 {
        let mut sums = [0u64; 64];
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                for block in self.0.bytes().as_chunks::<512>().0 {
                    for (sum, word) in sums.iter_mut().zip(block.as_chunks().0) {
                        *sum ^= u64::from_le_bytes(*word);
                    }
                }
            },
        );
        std::hint::black_box(sums.iter().fold(0, |all, sum| all ^ sum))
    }
}

/// The median of the rounds' ratios, of wall-clock and of processor time.
fn ratio(times: &[(f64, f64)], to: &[(f64, f64)]) -> Value {
    let ratios: Vec<_> = times.iter().zip(to).map(|(t, to)| (t.0 / to.0, t.1 / to.1)).collect();
    json!({ "wall": median(&ratios, |r| r.0), "cpu": median(&ratios, |r| r.1) })
}

fn median(times: &[(f64, f64)], pick: fn(&(f64, f64)) -> f64) -> f64 {
    sorted(times, pick)[times.len() / 2]
}

fn sorted(times: &[(f64, f64)], pick: fn(&(f64, f64)) -> f64) -> Vec<f64> {
    let mut times: Vec<f64> = times.iter().map(pick).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// Least and median of wall-clock and processor time.
fn summary(times: &[(f64, f64)]) -> Value {
    let of = |pick: fn(&(f64, f64)) -> f64| json!({ "least": sorted(times, pick)[0], "median": median(times, pick) });
    json!({ "wall": of(|t| t.0), "cpu": of(|t| t.1) })
}

/// Random enough for tables and, in a measurement, for queries: SplitMix64.
struct Fast(u64);

impl SecureRandom for Fast {
    fn fill(&mut self, out: &mut [u8]) {
        for part in out.chunks_mut(8) {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            part.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes()[..part.len()]);
        }
    }
}
