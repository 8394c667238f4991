//! Times that must not depend on secrets.

use crate::context::Context;
use crate::step::Outcome;
use crate::tally::Tally;

/// Examines tag and MIC comparison and the AES of every backend, the portable one as the bitsliced
/// software that a machine without AES instructions gets (`slyfi-bench dudect` says how).
pub fn run(context: &Context<'_>) -> Outcome {
    let mut dudect = context.cargo(&["run", "--release", "--package", "slyfi-bench"]);
    // Other flags for the compiler: a folder of its own, or each build would undo the other.
    dudect.arg("--target-dir").arg(context.cache("soft-aes"));
    dudect.env("RUSTFLAGS", "--cfg aes_backend=\"soft\"");
    dudect.args(["--", "dudect", "--quick"]);
    match context.run("dudect", &mut dudect, 1800) {
        Ok(done) if done.ok => Outcome::Ran(Tally::one_passed()),
        Ok(done) => {
            let right = ["constant time", "leaks, as it is meant to"];
            let wrong: Vec<&str> = done
                .output
                .lines()
                .filter(|line| !right.iter().any(|r| line.ends_with(r)))
                .filter(|line| line.contains(" t = "))
                .collect();
            let log = context.log("dudect");
            Outcome::Failed(format!("{}\nsee {}", wrong.join("\n"), log.display()))
        }
        Err(why) => Outcome::Failed(why),
    }
}
