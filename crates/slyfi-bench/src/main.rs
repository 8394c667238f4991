//! The measuring stick: what SlyFi's parts cost, as ratios to their best peers on the same machine in
//! the same run.
//!
//! ```text
//! cargo run --release -p slyfi-bench --features peers -- aes --json aes.json
//! ```
//!
//! A suite is a module of `suites` with a function that returns rows; `suites::ALL` names it.

use std::path::PathBuf;
use std::process::ExitCode;

mod harness;
mod machine;
mod memory;
mod peers;
mod report;
mod suites;

use machine::Machine;
use report::Report;
use suites::{ALL, Suite};

/// Slices of each contestant, unless `--rounds` says otherwise.
const ROUNDS: u32 = 300;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    let report = Report {
        suite: options.suite.name.to_owned(),
        commit: machine::commit(),
        machine: Machine::this(),
        rows: (options.suite.run)(options.rounds),
    };
    print!("{report}");
    if let Some(path) = options.json
        && let Err(error) = report.write_json(&path)
    {
        eprintln!("cannot write {}: {error}", path.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

struct Options {
    suite: &'static Suite,
    json: Option<PathBuf>,
    rounds: u32,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let names: Vec<&str> = ALL.iter().map(|suite| suite.name).collect();
        let usage =
            || format!("usage: slyfi-bench <{}> [--json FILE] [--rounds N]", names.join("|"));
        let name = args.next().ok_or_else(usage)?;
        let suite = ALL.iter().find(|suite| suite.name == name).ok_or_else(usage)?;
        let mut options = Self { suite, json: None, rounds: ROUNDS };
        while let Some(arg) = args.next() {
            let value = args.next().ok_or_else(usage)?;
            match arg.as_str() {
                "--json" => options.json = Some(value.into()),
                "--rounds" => options.rounds = value.parse().map_err(|_| usage())?,
                _ => return Err(usage()),
            }
        }
        Ok(options)
    }
}
