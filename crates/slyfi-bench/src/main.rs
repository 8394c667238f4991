//! The measuring stick: what SlyFi's parts cost, as ratios to their best peers on the same machine in
//! the same run.
//!
//! ```text
//! cargo run --release -p slyfi-bench --features peers -- aes --json aes.json
//! ```
//!
//! A suite is a module of `suites` with a function that returns rows; `suites::ALL` names it.
//!
//! ```text
//! cargo run --release -p slyfi-bench -- dudect
//! RUSTFLAGS='--cfg aes_backend="soft"' cargo run --release -p slyfi-bench -- dudect
//! ```
//!
//! looks for times that depend on secrets instead ([`dudect`]); the second line makes the portable
//! AES bitsliced software, as it is on a machine without AES instructions.

use std::path::PathBuf;
use std::process::ExitCode;

mod dudect;
mod harness;
mod machine;
mod memory;
mod peers;
mod report;
mod suites;

use machine::Machine;
use report::{Measured, Report};
use suites::{ALL, Suite};

/// Slices of each contestant, unless `--rounds` says otherwise.
const ROUNDS: u32 = 300;

/// Slices with `--quick`: enough to see that everything runs, not enough to quote.
const QUICK_ROUNDS: u32 = 20;

/// Measurements in a run of `dudect`, and of its `--quick`.
const DUDECT: [usize; 2] = [100_000, 20_000];

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some("dudect") {
        let quick = args.any(|arg| arg == "--quick");
        return look_for_leaks(DUDECT[usize::from(quick)]);
    }
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    let mut report = Report { commit: machine::commit(), machine: Machine::this(), suites: vec![] };
    for suite in options.suites {
        eprintln!("measuring {} ...", suite.name);
        report.suites.push(Measured { name: suite.name, rows: (suite.run)(options.rounds) });
    }
    print!("{report}");
    if let Some(path) = options.json
        && let Err(error) = report.write_json(&path)
    {
        eprintln!("cannot write {}: {error}", path.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Examines everything; fails if something leaks, or if a twin that leaks on purpose is not flagged.
fn look_for_leaks(measurements: usize) -> ExitCode {
    eprintln!("{measurements} measurements a run ...");
    let mut right = true;
    for subject in dudect::subjects() {
        let verdict = dudect::examine(subject, measurements);
        println!("{verdict}");
        right &= verdict.is_right();
    }
    if right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Options {
    suites: Vec<&'static Suite>,
    json: Option<PathBuf>,
    rounds: u32,
}

impl Options {
    fn parse(args: impl Iterator<Item = String>) -> Result<Self, String> {
        let names: Vec<&str> = ALL.iter().map(|suite| suite.name).collect();
        let usage = || {
            let names = names.join("|");
            format!(
                "usage: slyfi-bench [{names}]... [--json FILE] [--rounds N | --quick]\n       \
                 slyfi-bench dudect [--quick]"
            )
        };
        let mut options = Self { suites: vec![], json: None, rounds: ROUNDS };
        let mut args = args;
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--json" => options.json = Some(args.next().ok_or_else(usage)?.into()),
                "--rounds" => {
                    let rounds = args.next().ok_or_else(usage)?;
                    options.rounds = rounds.parse().map_err(|_| usage())?;
                }
                "--quick" => options.rounds = QUICK_ROUNDS,
                name => {
                    let suite = ALL.iter().find(|suite| suite.name == name).ok_or_else(usage)?;
                    options.suites.push(suite);
                }
            }
        }
        if options.suites.is_empty() {
            options.suites.extend(ALL);
        }
        Ok(options)
    }
}
