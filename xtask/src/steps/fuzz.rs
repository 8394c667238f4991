//! Coverage-guided fuzzing with the stable compiler.

use crate::context::Context;
use crate::options::Tier;
use crate::step::Outcome;
use crate::tally::Tally;
use crate::workspace::Workspace;
use std::path::Path;
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// What `cargo fuzz` asks of the nightly compiler, said to LLVM's pass directly.
const COVERAGE: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Ccodegen-units=1 --cfg fuzzing";

/// What all targets together may take in CI, seconds.
const CI_SECONDS: u64 = 100;

/// Replays every corpus; in CI it also fuzzes all targets, some seconds each, in the full tier longer.
pub fn run(context: &Context<'_>) -> Outcome {
    let manifest = context.root().join("fuzz/Cargo.toml");
    if !manifest.exists() {
        return Outcome::Skipped("fuzz/ is not there".into());
    }
    let fuzz = match Workspace::load(Some(&manifest.to_string_lossy())) {
        Ok(fuzz) => fuzz,
        Err(why) => return Outcome::Failed(why),
    };
    let built = context.cache("fuzz");
    // `--target` keeps the flags away from build scripts and macros, which have no fuzzer's main.
    let mut build = context.cargo(&["build", "--release", "--bins", "--target", TARGET]);
    build.arg("--manifest-path").arg(&manifest).arg("--target-dir").arg(&built);
    build.env("RUSTFLAGS", COVERAGE);
    match context.run("fuzz", &mut build, 1800) {
        Ok(done) if done.ok => {}
        Ok(_) => return Outcome::Failed("the fuzz targets do not build".into()),
        Err(why) => return Outcome::Failed(why),
    }
    let targets: Vec<_> = fuzz.members().flat_map(|p| &p.binaries).collect();
    let seconds = match context.options.tier {
        Tier::Quick | Tier::Default => 0,
        Tier::Ci => CI_SECONDS.div_ceil(targets.len().max(1) as u64),
        Tier::Full => 120,
    };
    let mut tally = Tally::default();
    for name in targets {
        let program = built.join(TARGET).join("release").join(name);
        let corpus = context.root().join("fuzz/corpus").join(name);
        match one(context, name, &program, &corpus, seconds) {
            Ok(()) => tally += Tally::one_passed(),
            Err(why) => {
                println!("    {name}: {why}");
                tally += Tally::one_failed();
            }
        }
    }
    if tally == Tally::default() {
        return Outcome::Failed("fuzz/ has no targets".into());
    }
    tally.closing.push(format!("fuzz: {}", tally.total()));
    Outcome::Ran(tally)
}

/// Replays a target's corpus, then fuzzes from it; new inputs go to a folder of their own.
fn one(
    context: &Context<'_>,
    name: &str,
    program: &Path,
    corpus: &Path,
    seconds: u64,
) -> Result<(), String> {
    if !corpus.is_dir() {
        return Err("has no corpus".into());
    }
    let found = context.cache("fuzz-found").join(name);
    std::fs::create_dir_all(&found).map_err(|e| e.to_string())?;
    let prefix = format!("-artifact_prefix={}/", found.display());
    let mut replay = Command::new(program);
    replay.args(["-runs=0", &prefix]).arg(corpus);
    if !context.run("fuzz", &mut replay, 300)?.ok {
        return Err("an input of its corpus fails".into());
    }
    if seconds > 0 {
        let mut fuzz = Command::new(program);
        fuzz.arg(format!("-max_total_time={seconds}")).args(["-timeout=10", &prefix]);
        fuzz.arg(&found).arg(corpus);
        if !context.run("fuzz", &mut fuzz, seconds + 120)?.ok {
            return Err(format!("found a failing input, see {}", found.display()));
        }
    }
    Ok(())
}
