//! `cargo test`.

use crate::context::Context;
use crate::machine::Need;
use crate::options::Tier;
use crate::step::Outcome;
use crate::tally::Tally;

/// What some tests hold our programs against; without them those say that they were skipped, and
/// fail in CI.
const NEEDS: [Need; 8] = [
    Need { what: "ip", package: "iproute2" },
    Need { what: "tshark", package: "tshark" },
    Need { what: "spin", package: "spin" },
    Need { what: "gcc", package: "gcc" },
    Need { what: "valgrind", package: "valgrind" },
    Need { what: "strace", package: "strace" },
    Need { what: "curl", package: "curl" },
    Need { what: "faketime", package: "faketime" },
];

/// Runs the workspace's tests: in the quick tier those inside the libraries and binaries only.
pub fn run(context: &Context<'_>) -> Outcome {
    let mut args = vec!["test", "--workspace", "--no-fail-fast"];
    if context.options.tier == Tier::Quick {
        args.extend(["--lib", "--bins"]);
    }
    if context.options.tier != Tier::Quick
        && let Err(why) = context.machine.ensure(&NEEDS)
    {
        println!("    some tests will be skipped: {why}");
    }
    let mut cargo = context.cargo(&args);
    if context.options.tier == Tier::Full {
        // How many seeds every sweep of the simulator takes; without it each has its own number.
        cargo.env("SLYFI_SEEDS", "5000");
    }
    match context.run("test", &mut cargo, 3600) {
        Ok(done) => Outcome::Ran(tally(&done.output, done.ok)),
        Err(why) => Outcome::Failed(why),
    }
}

/// Counts what `cargo test` printed; an end with an error counts even when no test failed, because
/// then something did not build or did not come to its end.
pub fn tally(output: &str, ok: bool) -> Tally {
    let mut tally = Tally::of_libtest(output);
    if !ok && tally.failed == 0 {
        tally.failed = 1;
    }
    tally
}

#[cfg(test)]
mod checks {
    use super::*;

    #[test]
    fn a_build_that_fails_is_a_failure() {
        assert_eq!(tally("error: could not compile", false).failed, 1);
    }

    #[test]
    fn failed_tests_are_counted_once() {
        let text = "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured";
        assert_eq!((tally(text, false).passed, tally(text, false).failed), (3, 2));
    }
}
