//! System tests in network namespaces (tests/system).

use crate::context::Context;
use crate::machine::Need;
use crate::step::Outcome;
use crate::tally::Tally;
use std::path::PathBuf;

const NEEDS: [Need; 7] = [
    Need { what: "python3", package: "python3" },
    Need { what: "ip", package: "iproute2" },
    Need { what: "ping", package: "iputils-ping" },
    Need { what: "sysctl", package: "procps" },
    Need { what: "tcpdump", package: "tcpdump" },
    Need { what: "curl", package: "curl" },
    Need { what: "tshark", package: "tshark" },
];

/// Runs all scenarios.
pub fn run(context: &Context<'_>) -> Outcome {
    if let Err(why) = ready(context) {
        return Outcome::Skipped(why);
    }
    let program = match context.release_binary("system") {
        Ok(program) => program,
        Err(why) => return Outcome::Failed(why),
    };
    let packages = match reference_packages(context, "system") {
        Ok(folder) => folder,
        Err(why) => return Outcome::Skipped(why),
    };
    let mut tests = context.command("python3");
    tests.arg("tests/system/run.py").arg("--bin").arg(program).env("PYTHONPATH", packages);
    tests.arg("--keep").arg(context.cache("system"));
    outcome(context, "system", &mut tests, 2400)
}

/// Runs a runner that ends with `N passed, N failed, N skipped`.
pub fn outcome(
    context: &Context<'_>,
    step: &str,
    tests: &mut std::process::Command,
    limit: u64,
) -> Outcome {
    match context.run(step, tests, limit) {
        Ok(done) => match Tally::of_plain(step, &done.output) {
            Some(tally) if done.ok || tally.failed > 0 => Outcome::Ran(tally),
            _ => Outcome::Failed("the tests came to no end".into()),
        },
        Err(why) => Outcome::Failed(why),
    }
}

/// Runs scenarios with their output on the terminal.
///
/// # Errors
/// When they cannot run here.
pub fn interactive(context: &Context<'_>, names: &[String]) -> Result<bool, String> {
    ready(context)?;
    let program = context.release_binary("system")?;
    let packages = reference_packages(context, "system")?;
    let mut tests = context.command("python3");
    tests.arg("tests/system/run.py").arg("--bin").arg(program).args(names);
    tests.env("PYTHONPATH", packages);
    tests.status().map(|s| s.success()).map_err(|e| e.to_string())
}

fn ready(context: &Context<'_>) -> Result<(), String> {
    if !context.machine.root {
        return Err("needs root for network namespaces and TAPs; \
                    run `sudo -E env PATH=\"$PATH\" cargo xtask system`"
            .into());
    }
    if !context.machine.has("/dev/net/tun") {
        return Err("this kernel has no /dev/net/tun; run `modprobe tun`".into());
    }
    context.machine.ensure(&NEEDS)
}

/// Makes sure that python has what the references of `vectors/` import, which system tests use to
/// read key logs; otherwise installs it into the target folder. Returns the folder for `PYTHONPATH`.
///
/// # Errors
/// One line that names the command to run.
pub fn reference_packages(context: &Context<'_>, step: &str) -> Result<PathBuf, String> {
    // The first version with ML-KEM is new: distributions have older ones.
    const IMPORT: &str = "from cryptography.hazmat.primitives.asymmetric import mlkem";
    const PACKAGE: &str = "cryptography>=48";
    let folder = context.cache("python");
    let there = || {
        let mut python = context.command("python3");
        python.args(["-c", IMPORT]).env("PYTHONPATH", &folder);
        context.run(step, &mut python, 60).is_ok_and(|done| done.ok)
    };
    let command = format!("python3 -m pip install --target {} '{PACKAGE}'", folder.display());
    if there() {
        return Ok(folder);
    }
    if context.options.no_install {
        return Err(format!("python has no {PACKAGE}; run `{command}`"));
    }
    println!("    installing {PACKAGE} for python");
    let mut pip = context.command("python3");
    pip.args(["-m", "pip", "install", "-q", PACKAGE, "--target"]).arg(&folder);
    if context.run(step, &mut pip, 600)?.ok && there() {
        Ok(folder)
    } else {
        Err(format!("python has no {PACKAGE}; run `{command}`"))
    }
}
