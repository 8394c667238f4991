//! The steps of `cargo xtask test`: their order, their tiers and how they end.

use crate::context::Context;
use crate::options::Tier;
use crate::report;
use crate::steps;
use crate::tally::Tally;
use std::time::{Duration, Instant};

/// One step.
pub struct Step {
    /// What `--only` calls it.
    pub name: &'static str,
    /// What it checks, in a few words.
    pub about: &'static str,
    /// The first tier that runs it.
    pub tier: Tier,
    run: fn(&Context<'_>) -> Outcome,
}

/// How a step ended.
pub enum Outcome {
    /// It ran; the tally says how it went.
    Ran(Tally),
    /// It could not run here, because of this.
    Skipped(String),
    /// It could not do its work, because of this.
    Failed(String),
}

impl Outcome {
    /// One check: passed, or failed for a reason.
    pub fn of_check(result: Result<(), String>) -> Self {
        match result {
            Ok(()) => Outcome::Ran(Tally::one_passed()),
            Err(why) => Outcome::Failed(why),
        }
    }

    /// Findings of a check: none is good.
    pub fn of_findings(findings: &[String]) -> Self {
        Self::of_check(if findings.is_empty() { Ok(()) } else { Err(findings.join("\n")) })
    }
}

/// A step that ran, or did not.
pub struct Done {
    /// Its name.
    pub name: &'static str,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub took: Duration,
}

impl Done {
    /// What it adds to the total.
    pub fn tally(&self, skips_fail: bool) -> Tally {
        match &self.outcome {
            Outcome::Ran(tally) => tally.clone(),
            Outcome::Skipped(_) if skips_fail => Tally::one_failed(),
            Outcome::Skipped(_) => Tally { skipped: 1, ..Tally::default() },
            Outcome::Failed(_) => Tally::one_failed(),
        }
    }
}

/// Every step, cheap ones first.
pub const STEPS: &[Step] = &[
    step("fmt", "rustfmt", Tier::Quick, steps::lint::fmt),
    step("deps", "who imports whom, unsafe, licences", Tier::Quick, steps::deps::run),
    step("hygiene", "paths, stubs, lock file, links", Tier::Quick, steps::hygiene::run),
    step("clippy", "lints, warnings denied", Tier::Quick, steps::lint::clippy),
    step("test", "unit, property, vector and simulation tests", Tier::Quick, steps::tests::run),
    step("docs", "rustdoc, warnings denied", Tier::Default, steps::lint::docs),
    step("no_std", "crates that must not link std", Tier::Default, steps::no_std::run),
    step(
        "vectors",
        "independent references against the program",
        Tier::Default,
        steps::vectors::run,
    ),
    step("fuzz", "corpora replayed; in CI also short runs", Tier::Default, steps::fuzz::run),
    step("system", "the daemon in network namespaces", Tier::Default, steps::system::run),
    step("guest", "the daemon on simulated 802.11 radios", Tier::Default, steps::guest::run),
    step("bare", "the image without an operating system", Tier::Default, steps::bare::run),
    step("dudect", "times that must not depend on secrets", Tier::Ci, steps::dudect::run),
    step("gpu", "retrieval on a graphics processor: lavapipe", Tier::Ci, steps::gpu::run),
    step("asan", "unsafe crates under AddressSanitizer", Tier::Ci, steps::sanitize::run),
];

const fn step(
    name: &'static str,
    about: &'static str,
    tier: Tier,
    run: fn(&Context<'_>) -> Outcome,
) -> Step {
    Step { name, about, tier, run }
}

/// Lists the steps of the chosen tier.
pub fn list(context: &Context<'_>) {
    for step in STEPS {
        let mark = if context.includes(step.tier) { "" } else { "  (not in this tier)" };
        println!("{:8} {}{mark}", step.name, step.about);
    }
}

/// Runs the steps of the chosen tier, or those named by `--only`.
///
/// # Errors
/// When a step is named that does not exist.
pub fn run_all(context: &Context<'_>) -> Result<bool, String> {
    let only: Vec<_> = context.options.only.iter().map(String::as_str).collect();
    if !only.is_empty() {
        return run_named(context, &only);
    }
    let chosen: Vec<_> = STEPS.iter().filter(|s| context.includes(s.tier)).collect();
    Ok(run_steps(context, &chosen))
}

/// Runs the named steps, whatever the tier.
///
/// # Errors
/// When one does not exist.
pub fn run_named(context: &Context<'_>, names: &[&str]) -> Result<bool, String> {
    if let Some(unknown) = names.iter().find(|n| !STEPS.iter().any(|s| s.name == **n)) {
        return Err(format!("there is no step {unknown}; see `cargo xtask test --list`"));
    }
    let chosen: Vec<_> = STEPS.iter().filter(|s| names.contains(&s.name)).collect();
    Ok(run_steps(context, &chosen))
}

fn run_steps(context: &Context<'_>, steps: &[&Step]) -> bool {
    let mut done = Vec::new();
    for step in steps {
        // The log holds this run only; that it was not there yet is fine.
        let _ = std::fs::remove_file(context.log(step.name));
        report::begin(step);
        let start = Instant::now();
        let outcome = (step.run)(context);
        let one = Done { name: step.name, outcome, took: start.elapsed() };
        report::end(context, &one);
        let stop = one.tally(context.machine.ci).failed > 0 && !context.options.keep_going;
        done.push(one);
        if stop {
            break;
        }
    }
    report::close(context, steps, &done)
}
