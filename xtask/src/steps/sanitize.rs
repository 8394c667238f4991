//! The crates with `unsafe` under AddressSanitizer.

use crate::context::Context;
use crate::step::Outcome;
use crate::steps::tests::tally;

const CRATES: [&str; 2] = ["slyfi-aes", "slyfi-linux"];

/// Runs the tests of the crates that may use `unsafe` with every memory access checked.
pub fn run(context: &Context<'_>) -> Outcome {
    let mut args = vec!["test", "--lib", "--tests", "--no-fail-fast"];
    args.extend(["--target", "x86_64-unknown-linux-gnu"]);
    for name in CRATES.into_iter().filter(|name| context.workspace.has(name)) {
        args.extend(["--package", name]);
    }
    let mut test = context.cargo(&args);
    test.arg("--target-dir").arg(context.cache("asan"));
    // The sanitizer's runtime comes with the stable compiler, its switch does not.
    test.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
    // A leak is no memory error, and the search for leaks needs a /proc, which a chroot has not.
    test.env("ASAN_OPTIONS", "detect_leaks=0");
    match context.run("asan", &mut test, 1800) {
        Ok(done) => Outcome::Ran(tally(&done.output, done.ok)),
        Err(why) => Outcome::Failed(why),
    }
}
