//! SlyFi's developer tool; `cargo xtask` lists what it does.
//!
//! `cargo xtask test` is the one command that newcomers and CI run. It prints a line per step, keeps
//! each step's output in a log, and ends with the runners' own closing lines and one total.

mod bench;
mod context;
mod machine;
mod options;
mod report;
mod runner;
mod step;
mod steps;
mod tally;
mod workspace;

use context::Context;
use options::{Options, Task};
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("xtask: {problem}\n\n{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("xtask: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Does what was asked; `false` means that something was tested and did not pass.
fn run(options: &Options) -> Result<bool, String> {
    let task = &options.task;
    if matches!(task, Task::Help) {
        println!("{}", options::USAGE);
        return Ok(true);
    }
    let context = Context::new(options)?;
    match task {
        Task::Help => Ok(true),
        Task::Test | Task::Ci if options.list => {
            step::list(&context);
            Ok(true)
        }
        Task::Test | Task::Ci => step::run_all(&context),
        Task::Vectors => step::run_named(&context, &["vectors"]),
        Task::System(names) => steps::system::interactive(&context, names),
        Task::Guest { shell, names } => steps::guest::interactive(&context, *shell, names),
        Task::Bare(what) => steps::bare::interactive(&context, what),
        Task::Bench { json, quick } => bench::run(&context, json.as_deref(), *quick),
    }
}
