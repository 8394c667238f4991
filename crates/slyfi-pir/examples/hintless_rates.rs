//! What the scheme `hintless` costs on this machine.
//!
//! ```text
//! cargo run --release -p slyfi-pir --example hintless_rates -- 10000000 32 2
//! ```
//! Rows, bytes of a row, threads; then how many blocks, if not the best number.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use slyfi_base::SecureRandom;
use slyfi_pir::hintless::Hintless;
use slyfi_pir::{Client, Preparation, Scheme, Server, Shape};

struct Seeded(ChaCha20Rng);

impl SecureRandom for Seeded {
    fn fill(&mut self, out: &mut [u8]) {
        self.0.fill_bytes(out);
    }
}

/// Medians of several runs, in milliseconds: on the clock, and of this thread's time on a processor
/// where the system tells it, which other programs disturb less.
struct Times {
    clock: f64,
    processor: Option<f64>,
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} ms", self.clock)?;
        match self.processor {
            Some(processor) => write!(f, " ({processor:.2} ms on the processor)"),
            None => Ok(()),
        }
    }
}

/// How long this thread has run on a processor, in milliseconds.
fn on_processor() -> Option<f64> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(statistics.split(' ').next()?.parse::<f64>().ok()? / 1e6)
}

/// Runs `work`, which does `each` pieces at a time, and tells the times of one.
fn median(runs: usize, each: usize, mut work: impl FnMut()) -> Times {
    let (mut clock, mut processor) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let (start, before) = (Instant::now(), on_processor());
        work();
        processor.extend(on_processor().zip(before).map(|(after, before)| after - before));
        clock.push(start.elapsed().as_secs_f64() * 1e3);
    }
    clock.sort_by(f64::total_cmp);
    processor.sort_by(f64::total_cmp);
    let middle = |times: &[f64]| times.get(runs / 2).map(|time| time / each as f64);
    Times { clock: middle(&clock).unwrap_or_default(), processor: middle(&processor) }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse::<u64>().expect("a number"));
    let rows = arguments.next().unwrap_or(1_000_000);
    let row_bytes = arguments.next().unwrap_or(32) as u32;
    let threads = arguments.next().unwrap_or(1) as usize;
    let shape = Shape::new(rows, row_bytes).expect("a shape that can be");
    let layout = match arguments.next() {
        Some(blocks) => blocks as u32,
        None => Hintless::default_layout(shape).expect("a shape that can be served"),
    };
    let sizes = Hintless::sizes(shape, layout).expect("a layout that can be");
    println!("{rows} rows of {row_bytes} bytes, {layout} blocks, {sizes:?}");
    println!("{} bytes for a login", sizes.query + sizes.answer);

    let mut rng = Seeded(ChaCha20Rng::from_seed([1; 32]));
    let mut table = vec![0; shape.table_bytes()];
    rng.fill(&mut table);
    let preparation = Preparation {
        seed: [2; 32],
        workers: NonZeroUsize::new(threads).expect("a thread"),
        progress: &|_| ControlFlow::Continue(()),
    };
    let start = Instant::now();
    let server = Hintless::prepare(shape, layout, &table, &preparation).expect("a server");
    println!("prepared in {:.2} s on {threads} threads", start.elapsed().as_secs_f64());
    println!("server memory {:.1} MiB", server.memory_bytes() as f64 / 1048576.0);
    let start = Instant::now();
    let client = Hintless::client(server.setup(), None).expect("a client");
    println!("client made in {:.2} ms", start.elapsed().as_secs_f64() * 1e3);

    let mut queries = Vec::new();
    let query =
        median(21, 1, || queries.push(client.query(rng.below(rows), &mut rng).expect("a row")));
    println!("query {query}");
    let (queries, states): (Vec<Vec<u8>>, Vec<_>) =
        queries.into_iter().map(|q| (q.bytes, q.state)).unzip();
    let answer = median(21, 1, || {
        server.answer(&queries[0]).expect("an answer");
    });
    println!("answer {answer}");
    for batch in [2, 4, 8] {
        let bytes: Vec<&[u8]> = queries[..batch].iter().map(|q| &q[..]).collect();
        let time = median(9, batch, || {
            server.answer_batch(&bytes);
        });
        println!("batch of {batch}: {time} each");
    }
    let answered = AtomicU64::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let bytes: Vec<&[u8]> = queries[..8].iter().map(|q| &q[..]).collect();
                while start.elapsed() < Duration::from_secs(4) {
                    server.answer_batch(&bytes);
                    answered.fetch_add(8, Ordering::Relaxed);
                }
            });
        }
    });
    let rate = answered.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64();
    println!("saturated, batches of 8, {threads} threads: {rate:.1} answers/s");
    let answers: Vec<_> = queries.iter().map(|q| server.answer(q).expect("an answer")).collect();
    let mut opened = states.into_iter().zip(&answers);
    let extract = median(21, 1, || {
        let (state, answer) = opened.next().expect("as many as runs");
        let got = state.extract(answer).expect("a row");
        let at = got.index() as usize * row_bytes as usize;
        assert_eq!(got.row(), &table[at..at + row_bytes as usize]);
    });
    println!("extraction {extract}");
}
