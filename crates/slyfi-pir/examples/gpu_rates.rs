//! What a graphics processor does for retrieval, as JSON lines on standard output, beside this
//! machine's processor.
//!
//! ```text
//! cargo run --release -p slyfi-pir --features gpu --example gpu_rates -- --rows 1e7
//! SLYFI_GPU=llvmpipe cargo run --release -p slyfi-pir --features gpu --example gpu_rates -- --rows 1e5
//! cargo run --release -p slyfi-pir --features gpu --example gpu_rates -- --list
//! ```
//!
//! The first lines are the products alone, for matrices of the shapes that `lwe` and `hintless` cut a table
//! of so many rows into: milliseconds from words to sums, with the way to the device and back, and the
//! gigabytes of table that go through in a second. `--schemes` adds whole answers, which takes the time
//! to prepare the tables. Every product is compared with the processor's before it is timed.
#![expect(clippy::disallowed_methods, reason = "a stopwatch needs a clock")]

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Instant;

use serde_json::{Value, json};
use slyfi_base::SecureRandom;
use slyfi_pir::gpu::{self, Choice, Gpu};
use slyfi_pir::kernel::{self, Backend, Matrix, Operand};
use slyfi_pir::{Accelerator, Preparation, SchemeId, Server, Shape, registry};

struct Options {
    rows: u64,
    row_bytes: u32,
    rounds: usize,
    choice: Choice,
    list: bool,
    schemes: bool,
}

const USAGE: &str =
    "gpu_rates [--rows 1e7] [--row-bytes 32] [--rounds 9] [--gpu NAME] [--schemes] [--list]";

/// The sizes of batches to time.
const BATCHES: [usize; 3] = [1, 8, 64];

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
    let mut options = Options {
        rows: 1_000_000,
        row_bytes: 32,
        rounds: 9,
        choice: Choice::from_env(),
        list: false,
        schemes: false,
    };
    while let Some(option) = args.next() {
        let mut value = || args.next().ok_or(format!("{option} needs a value"));
        let number = |text: String| text.parse::<f64>().map_err(|e| format!("{text}: {e}"));
        match option.as_str() {
            "--rows" => options.rows = number(value()?)? as u64,
            "--row-bytes" => options.row_bytes = number(value()?)? as u32,
            "--rounds" => options.rounds = (number(value()?)? as usize).max(1),
            "--gpu" => options.choice.adapter = Some(value()?),
            "--list" => options.list = true,
            "--schemes" => options.schemes = true,
            _ => return Err(format!("{option} is not an option")),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), String> {
    if options.list {
        for adapter in gpu::adapters() {
            println!("{adapter}");
        }
        return Ok(());
    }
    let gpu = Gpu::open(&options.choice).map_err(|e| e.to_string())?;
    let shape = Shape::new(options.rows, options.row_bytes).map_err(|e| e.to_string())?;
    let mut table = vec![0; shape.table_bytes()];
    Fast(1).fill(&mut table);
    for id in [SchemeId::Lwe, SchemeId::Hintless] {
        println!("{}", products(id, shape, &table, &gpu, options)?);
    }
    if options.schemes {
        for id in [SchemeId::Lwe, SchemeId::Hintless] {
            println!("{}", answers(id, shape, &table, &gpu, options)?);
        }
    }
    Ok(())
}

/// The products of a table, cut as the scheme cuts it.
fn products(
    id: SchemeId,
    shape: Shape,
    table: &[u8],
    gpu: &Gpu,
    options: &Options,
) -> Result<Value, String> {
    let sizes = registry::default_layout(id, shape)
        .and_then(|layout| registry::sizes(id, shape, layout))
        .map_err(|e| e.to_string())?;
    let width = sizes.rows_per_answer * shape.row_bytes();
    let columns = table.len().div_ceil(width);
    let matrix = Matrix::transposed_by(table, width, columns, workers()).map_err(err)?;
    let started = Instant::now();
    let loaded = gpu.load(&matrix).map_err(err)?;
    let load_ms = started.elapsed().as_secs_f64() * 1e3;
    let mut rng = Fast(2);
    let mut vector = || {
        let mut bytes = vec![0; 4 * columns];
        rng.fill(&mut bytes);
        let words = bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b));
        Operand::new(&words.collect::<Vec<_>>())
    };
    let mut batches = vec![];
    for batch in BATCHES {
        let operands: Vec<Operand> = (0..batch).map(|_| vector()).collect();
        let processor = |operands: &[Operand]| {
            let mut out = vec![vec![0u32; width]; operands.len()];
            let mut into: Vec<&mut [u32]> = out.iter_mut().map(|o| &mut o[..]).collect();
            kernel::multiply_add(&matrix, 0..width, operands, &mut into);
            out
        };
        if loaded.products(&operands).map_err(err)? != processor(&operands) {
            return Err(format!("{}: products differ from the processor's", gpu.adapter()));
        }
        let mut device = vec![];
        let mut own = vec![];
        for _ in 0..options.rounds {
            timed(&mut device, || loaded.products(&operands)).map_err(err)?;
            timed(&mut own, || processor(&operands));
        }
        let rate = |times: &[f64]| {
            let passes = batch.div_ceil(8) as f64;
            let gigabytes = (width * columns) as f64 * passes / 1e9;
            let mut line = summary(times);
            line["ms_per_query"] = json!(least(times) / batch as f64);
            line["table_gb_per_s"] = json!(gigabytes / (least(times) / 1e3));
            line
        };
        batches.push(json!({
            "queries": batch,
            "device": rate(&device),
            "processor": rate(&own),
        }));
    }
    Ok(json!({
        "what": "products", "scheme": id.name(), "device": gpu.adapter().to_string(),
        "processor": Backend::detect().name(), "processor_threads": 1,
        "rows": shape.rows(), "row_bytes": shape.row_bytes(),
        "matrix_rows": width, "matrix_columns": columns,
        "device_memory_bytes": loaded.memory_bytes(), "load_ms": load_ms, "batches": batches,
    }))
}

/// Whole answers, with and without the device.
fn answers(
    id: SchemeId,
    shape: Shape,
    table: &[u8],
    gpu: &Gpu,
    options: &Options,
) -> Result<Value, String> {
    let layout = registry::default_layout(id, shape).map_err(err)?;
    let progress = |p: slyfi_pir::Progress| {
        if p.total < 100 || p.done.is_multiple_of(p.total / 100) {
            eprint!("\r{}: preparing {:3} %", id.name(), 100 * p.done / p.total);
        }
        ControlFlow::Continue(())
    };
    let how = Preparation { seed: [7; 32], workers: workers(), progress: &progress };
    let mut server = registry::prepare(id, shape, layout, table, &how).map_err(err)?;
    eprintln!();
    let client = registry::client(server.setup(), server.hint()).map_err(err)?;
    let mut rng = Fast(3);
    let queries: Result<Vec<_>, _> = (0..8)
        .map(|_| client.query(rng.below(shape.rows()), &mut Fast(rng.below(1 << 60))))
        .collect();
    let queries = queries.map_err(err)?;
    let sent: Vec<&[u8]> = queries.iter().map(|q| &q.bytes[..]).collect();
    let measure = |server: &dyn Server| {
        let (mut single, mut batch) = (vec![], vec![]);
        for _ in 0..options.rounds {
            timed(&mut single, || server.answer_batch(&sent[..1]));
            timed(&mut batch, || server.answer_batch(&sent));
        }
        json!({ "answer_ms": summary(&single), "batch_of_8_ms": summary(&batch) })
    };
    let processor = measure(&*server);
    let expected = server.answer_batch(&sent);
    server.accelerate(gpu).map_err(err)?;
    let device = measure(&*server);
    let status = server.accelerator().and_then(|status| status.fault);
    if let Some(fault) = status {
        return Err(fault.to_string());
    }
    if server.answer_batch(&sent) != expected {
        return Err(format!("{}: answers differ from the processor's", gpu.adapter()));
    }
    Ok(json!({
        "what": "answers", "scheme": id.name(), "device": gpu.adapter().to_string(),
        "rows": shape.rows(), "row_bytes": shape.row_bytes(), "layout": layout,
        "with_device": device, "without": processor,
    }))
}

fn err(why: impl core::fmt::Display) -> String {
    why.to_string()
}

fn workers() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Runs `f`; its wall-clock milliseconds go to `times`.
fn timed<T>(times: &mut Vec<f64>, f: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let out = f();
    times.push(started.elapsed().as_secs_f64() * 1e3);
    out
}

fn least(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Least and median, milliseconds.
fn summary(times: &[f64]) -> Value {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    json!({ "least_ms": times[0], "median_ms": times[times.len() / 2] })
}

/// Random enough for a measurement: SplitMix64.
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
