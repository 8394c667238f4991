//! What so many subscribers take, on paper, from rates of this machine.

use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::Mutex;

use serde::Serialize;
use slyfi_link::Result;
use slyfi_linux::{Clock, OsRandom};
use slyfi_tracedge::directory::DirectoryLayout;
use slyfi_tracedge::epoch::{Epoch, EpochKey, EpochSecret, ROW_BYTES};
use slyfi_tracedge::keys::{OperatorKeys, SecretKey};
use slyfi_tracedge::pieces::Work;
use slyfi_tracedge::{Preparation, SchemeId, Shape, registry, table};

use super::{PlanArgs, bytes, failed};
use crate::commands::{print, print_json};
use crate::output::{Paint, columns};

/// The tables that rates are measured on: large enough that the pass over the table shows beside
/// what every answer costs, small enough for a few seconds.
const MEASURED: [u64; 2] = [1 << 17, 1 << 19];

/// Costs of one database.
#[derive(Clone, Copy, Debug, Serialize)]
struct Rates {
    /// An answer: seconds of a core, whatever the table.
    answer_fixed_s: f64,
    /// An answer: seconds of a core for each byte of the table.
    answer_per_byte_s: f64,
    /// Preparing: seconds of a core for each byte of the table.
    prepare_per_byte_s: f64,
    /// Memory for each byte of the table.
    memory_per_byte: f64,
}

#[derive(Serialize)]
struct Plan {
    subscribers: u64,
    logins_per_s: f64,
    audits: u32,
    scheme: String,
    /// Whether the rates are a release build's; others mean nothing.
    release: bool,
    row_s: f64,
    rates: Rates,
    query_bytes: usize,
    answer_bytes: usize,
    hint_bytes: usize,
    bytes_per_login: u64,
    core_s_per_login: f64,
    core_s_per_epoch: f64,
    cores: f64,
    memory_bytes: f64,
    disk_bytes: f64,
    traffic_bits_per_s: f64,
    machines: u64,
    dollars: f64,
    dollars_per_login_per_s: f64,
}

/// `slyfi tracedge plan`
pub fn run(args: &PlanArgs, paint: Paint) -> Result<()> {
    // The parser takes no other names.
    let scheme = SchemeId::from_name(&args.scheme).unwrap_or(SchemeId::Hintless);
    if cfg!(debug_assertions) {
        // The rates would be those of nobody's machine. Who closed standard error knows.
        let _ = writeln!(
            std::io::stderr(),
            "slyfi: warning: this is a debug build, which is many times slower; for rates that mean \
             something: cargo run --release -- tracedge plan …"
        );
    }
    if !args.json {
        print("measuring this machine, a few seconds …\n")?;
    }
    let row_s = row_seconds()?;
    let rates = rates(scheme)?;
    let plan = plan(args, scheme, row_s, rates)?;
    if args.json { print_json(&plan) } else { print(&render(&plan, args, paint)) }
}

fn now_s() -> f64 {
    Clock::new().now().mono.as_micros() as f64 / 1e6
}

/// Seconds of a core for one row.
fn row_seconds() -> Result<f64> {
    const ROWS: usize = 16_384;
    let keys = OperatorKeys::generate(&mut OsRandom);
    let owner = SecretKey::generate(&mut OsRandom);
    let directory = owner.public().as_bytes().repeat(ROWS);
    let epoch = Epoch { operator: keys.id(), number: 0, not_before: 0, not_after: 1 };
    let secret = EpochSecret::derive(&epoch, EpochKey::generate(&mut OsRandom));
    let sink = Mutex::new(vec![0; directory.len()]);
    let vacant = keys.vacant().public();
    let began = now_s();
    table::build(&secret, &directory, vacant, &sink, &Work::quiet())
        .map_err(|e| failed("the table", &e))?;
    Ok((now_s() - began) / ROWS as f64)
}

/// Measures two tables and draws a line through them.
fn rates(scheme: SchemeId) -> Result<Rates> {
    let mut points = Vec::new();
    for rows in MEASURED {
        let shape = Shape::new(rows, ROW_BYTES as u32).map_err(|e| failed("the table", &e))?;
        let layout =
            registry::default_layout(scheme, shape).map_err(|e| failed("the table", &e))?;
        // What is in a table does not change what it costs.
        let table: Vec<u8> = (0..shape.table_bytes()).map(|i| ((i * 131) >> 3) as u8).collect();
        let how = Preparation { workers: NonZeroUsize::MIN, ..Preparation::quiet([1; 32]) };
        let began = now_s();
        let server = registry::prepare(scheme, shape, layout, &table, &how)
            .map_err(|e| failed("retrieval", &e))?;
        let prepared = now_s() - began;
        let client =
            registry::client(server.setup(), server.hint()).map_err(|e| failed("retrieval", &e))?;
        let query = client.query(rows / 2, &mut OsRandom).map_err(|e| failed("a query", &e))?;
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            let began = now_s();
            server.answer(&query.bytes).map_err(|e| failed("an answer", &e))?;
            best = best.min(now_s() - began);
        }
        points.push((shape.table_bytes() as f64, best, prepared, server.memory_bytes() as f64));
    }
    let [(b0, answer0, ..), (b1, answer1, prepared, memory)] = points[..] else {
        return Err(failed("measuring", &"no two points"));
    };
    // Noise may turn the line over; a pass over the table is never free.
    let slope = ((answer1 - answer0) / (b1 - b0)).max(answer1 / b1 / 100.0);
    Ok(Rates {
        answer_fixed_s: (answer0 - slope * b0).max(0.0),
        answer_per_byte_s: slope,
        prepare_per_byte_s: prepared / b1,
        memory_per_byte: memory / b1,
    })
}

fn plan(args: &PlanArgs, scheme: SchemeId, row_s: f64, rates: Rates) -> Result<Plan> {
    let sizes = |rows: u64, row_bytes: usize| {
        let shape = Shape::new(rows, row_bytes as u32)?;
        let layout = registry::default_layout(scheme, shape)?;
        registry::sizes(scheme, shape, layout)
    };
    let of = |r: std::result::Result<_, slyfi_tracedge::Unsupported>| {
        r.map_err(|e| failed("a table this large", &e))
    };
    let layout = DirectoryLayout::for_rows(args.subscribers);
    let table = of(sizes(args.subscribers, ROW_BYTES))?;
    let table_bytes = args.subscribers as f64 * ROW_BYTES as f64;
    let (mut down_up, mut hint) = (table.query + table.answer, table.hint);
    let mut core_s = rates.answer_fixed_s + rates.answer_per_byte_s * table_bytes;
    let mut stored = table_bytes;
    let mut retrievals = 1.0;
    if args.audits > 0 {
        let directory = of(sizes(layout.blocks(), layout.entry_bytes()))?;
        let directory_bytes = layout.blocks() as f64 * layout.entry_bytes() as f64;
        down_up += directory.query + directory.answer;
        hint += directory.hint;
        core_s += rates.answer_fixed_s + rates.answer_per_byte_s * directory_bytes;
        stored += directory_bytes;
        retrievals += f64::from(args.audits);
    }
    let core_s_per_login = core_s * retrievals;
    let bytes_per_login = down_up as f64 * retrievals + hint as f64;
    let core_s_per_epoch = row_s * args.subscribers as f64 + rates.prepare_per_byte_s * stored;
    let epoch_s = f64::from(args.epoch_minutes.max(1)) * 60.0;
    let cores = core_s_per_login * args.logins_per_s + core_s_per_epoch / epoch_s;
    // Two epochs are served side by side while the next one's key is fetched ahead.
    let memory_bytes = 2.0 * rates.memory_per_byte * stored;
    let machines = (cores / f64::from(args.machine_cores.max(1))).ceil().max(1.0);
    let dollars = machines * args.machine_cost;
    Ok(Plan {
        subscribers: args.subscribers,
        logins_per_s: args.logins_per_s,
        audits: args.audits,
        scheme: args.scheme.clone(),
        release: !cfg!(debug_assertions),
        row_s,
        rates,
        query_bytes: table.query,
        answer_bytes: table.answer,
        hint_bytes: hint,
        bytes_per_login: bytes_per_login as u64,
        core_s_per_login,
        core_s_per_epoch,
        cores,
        memory_bytes,
        disk_bytes: 2.0 * 2.0 * table_bytes,
        traffic_bits_per_s: bytes_per_login * 8.0 * args.logins_per_s,
        machines: machines as u64,
        dollars,
        dollars_per_login_per_s: dollars / args.logins_per_s,
    })
}

fn render(plan: &Plan, args: &PlanArgs, paint: Paint) -> String {
    let row = |a: &str, b: String| vec![a.to_owned(), b];
    let rows = [
        row("subscribers", plan.subscribers.to_string()),
        row("logins", format!("{} a second, each with {} audits", plan.logins_per_s, plan.audits)),
        row("bytes of a login", bytes(plan.bytes_per_login as f64)),
        row("core time of a login", format!("{:.3} s", plan.core_s_per_login)),
        row(
            "core time of an epoch",
            format!("{:.0} s in {} min", plan.core_s_per_epoch, args.epoch_minutes),
        ),
        row("cores", format!("{:.1}", plan.cores)),
        row("machines", format!("{} of {} cores", plan.machines, args.machine_cores)),
        row(
            "memory of each",
            format!("{} (two epochs, the whole table)", bytes(plan.memory_bytes)),
        ),
        row("disk", bytes(plan.disk_bytes)),
        row("traffic", format!("{}it/s", bytes(plan.traffic_bits_per_s).replace('B', "b"))),
        row("money", format!("${:.0}", plan.dollars)),
        row(
            "money per login/s",
            format!("${:.2} (tracedge-2015: $83.33)", plan.dollars_per_login_per_s),
        ),
    ];
    format!(
        "{}{}",
        columns(&rows),
        paint.dim("Drawn from two small tables of this machine along a line; cores are counted as alike.\n")
    )
}
