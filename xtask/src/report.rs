//! What the developer sees: a line per step, the log of what failed, a table, the total.

use crate::context::Context;
use crate::step::{Done, Outcome, Step};
use crate::tally::Tally;
use std::io::Write;

/// How much of a failed step's log is shown.
const SHOWN: usize = 120;

/// How many characters of its lines.
const WIDTH: usize = 300;

/// Says that a step begins.
pub fn begin(step: &Step) {
    println!("==> {}: {}", step.name, step.about);
    // A pipe that nobody reads any more is no reason to stop testing.
    let _ = std::io::stdout().flush();
}

/// Says how a step ended, and why if it did not pass.
pub fn end(context: &Context<'_>, done: &Done) {
    let tally = done.tally(context.machine.ci);
    let log = context.log(done.name);
    if tally.failed > 0 {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        let from = lines.len().saturating_sub(SHOWN);
        for line in &lines[from..] {
            // A failed comparison of frames is one line of many thousand characters.
            println!("    | {}", line.chars().take(WIDTH).collect::<String>());
        }
    }
    let seconds = done.took.as_secs_f64();
    match &done.outcome {
        Outcome::Ran(_) => println!("    {} in {seconds:.1} s", tally.total()),
        Outcome::Skipped(why) => println!("    SKIPPED: {why}"),
        Outcome::Failed(why) => {
            println!("    FAILED in {seconds:.1} s: {}", why.replace('\n', "\n      "));
        }
    }
    if tally.failed > 0 {
        println!("    log: {}", log.display());
    }
}

/// Prints the table, the runners' closing lines and the total; returns whether all is well.
pub fn close(context: &Context<'_>, steps: &[&Step], done: &[Done]) -> bool {
    let ci = context.machine.ci;
    let mut total = Tally::default();
    println!("\n{:10} {:9} {:>8} {:>8} {:>8} {:>9}", "step", "", "passed", "failed", "skipped", "");
    for step in steps {
        let Some(d) = done.iter().find(|d| d.name == step.name) else {
            println!("{:10} not run", step.name);
            continue;
        };
        let t = d.tally(ci);
        let word = match &d.outcome {
            Outcome::Skipped(_) => "SKIPPED",
            _ if t.failed > 0 => "FAILED",
            _ => "ok",
        };
        let (p, f, s) = (t.passed, t.failed, t.skipped);
        println!("{:10} {word:9} {p:8} {f:8} {s:8} {:7.1} s", d.name, d.took.as_secs_f64());
        total += t;
    }
    println!();
    // Cargo's own lines last: they are what readers of CI logs look for.
    let (cargo, own): (Vec<_>, Vec<_>) =
        total.closing.iter().partition(|line| line.contains("test result:"));
    for line in own.into_iter().chain(cargo) {
        println!("{line}");
    }
    if ci && done.iter().any(|d| matches!(d.outcome, Outcome::Skipped(_))) {
        println!("\nin CI a skipped step counts as failed");
    }
    println!("\n{}", total.total());
    total.failed == 0 && total.passed > 0
}
