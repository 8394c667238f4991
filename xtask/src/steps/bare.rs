//! The image without an operating system (crates/slyfi-bare): built, linted, booted, held to its
//! claims, measured (tests/system/bare.py).

use crate::context::Context;
use crate::machine::Need;
use crate::options::BareTask;
use crate::step::Outcome;
use crate::steps::system::{outcome, reference_packages};
use std::path::PathBuf;
use std::process::Command;

const NEEDS: [Need; 9] = [
    Need { what: "python3", package: "python3" },
    Need { what: "qemu-system-x86_64", package: "qemu-system-x86" },
    Need { what: "/usr/share/seabios/bios-256k.bin", package: "seabios" },
    Need { what: "grub-mkrescue", package: "grub-common" },
    Need { what: "/usr/lib/grub/i386-pc/multiboot2.mod", package: "grub-pc-bin" },
    Need { what: "xorriso", package: "xorriso" },
    Need { what: "mformat", package: "mtools" },
    Need { what: "busybox", package: "busybox-static" },
    Need { what: "depmod", package: "kmod" },
];

/// What tests with a network of their own need besides.
const NETWORK: [Need; 3] = [
    Need { what: "ip", package: "iproute2" },
    Need { what: "ping", package: "iputils-ping" },
    Need { what: "sysctl", package: "procps" },
];

/// The one target that is installed; naming it keeps its flags from build scripts.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// What the image and its twin on Linux are built with.
const PROFILE: [&str; 6] =
    ["--config", "crates/slyfi-bare/profile.toml", "--profile", "bare", "--target", TARGET];

/// Lints, builds and tests the image.
pub fn run(context: &Context<'_>) -> Outcome {
    if let Err(why) = ready(context) {
        return Outcome::Skipped(why);
    }
    if let Err(why) = lint(context) {
        return Outcome::Failed(why);
    }
    let tests = build(context).and_then(|programs| {
        let mut tests = python(context, &programs)?;
        tests.arg("--bin").arg(context.release_binary("bare")?);
        tests.arg("--keep").arg(context.cache("bare-kept"));
        Ok(tests)
    });
    match tests {
        Ok(mut tests) => outcome(context, "bare", &mut tests, 1200),
        Err(why) => Outcome::Failed(why),
    }
}

/// Does what `cargo xtask bare` was asked for, with its output on the terminal.
///
/// # Errors
/// When it cannot run here.
pub fn interactive(context: &Context<'_>, task: &BareTask) -> Result<bool, String> {
    ready(context)?;
    let programs = build(context)?;
    let mut tests = python(context, &programs)?;
    match task {
        BareTask::Build => {
            println!("{}\n{}", programs.image.display(), programs.twin.display());
            return Ok(true);
        }
        BareTask::Claims(names) => {
            tests.arg("--bin").arg(context.release_binary("bare")?).args(names);
        }
        BareTask::Measure { file, rounds } => {
            tests.arg("--measure").arg(file);
            if let Some(rounds) = rounds {
                tests.arg("--rounds").arg(rounds);
            }
        }
        BareTask::Baseline => {
            tests.arg("--write-baseline");
        }
    }
    tests.status().map(|s| s.success()).map_err(|e| e.to_string())
}

/// The image and the program that does the same on Linux.
struct Programs {
    image: PathBuf,
    twin: PathBuf,
}

fn build(context: &Context<'_>) -> Result<Programs, String> {
    let mut build = context.cargo(&["build", "--package", "slyfi-bare", "--features", "image"]);
    build.args(PROFILE).arg("--bins");
    if !context.run("bare", &mut build, 1800)?.ok {
        return Err("the image does not build".into());
    }
    let folder = context.workspace.target.join(TARGET).join("bare");
    Ok(Programs { image: folder.join("slyfi-image"), twin: folder.join("slyfi-exchange") })
}

/// Lints the image, which a plain `cargo clippy --workspace` cannot: it needs its own profile.
fn lint(context: &Context<'_>) -> Result<(), String> {
    let mut clippy = context.cargo(&["clippy", "--package", "slyfi-bare", "--features", "image"]);
    clippy.args(PROFILE).args(["--bin", "slyfi-image", "--", "-D", "warnings"]);
    match context.run("bare", &mut clippy, 1800)?.ok {
        true => Ok(()),
        false => Err("clippy has something to say about the image".into()),
    }
}

fn python(context: &Context<'_>, programs: &Programs) -> Result<Command, String> {
    let packages = reference_packages(context, "bare")?;
    let mut tests = context.command("python3");
    tests.arg("tests/system/bare.py").arg("--image").arg(&programs.image);
    tests.arg("--twin").arg(&programs.twin).arg("--cache").arg(context.cache("guest"));
    tests.env("PYTHONPATH", packages);
    Ok(tests)
}

fn ready(context: &Context<'_>) -> Result<(), String> {
    if !context.machine.root {
        return Err("needs root for a TAP and a network namespace; \
                    run `sudo -E env PATH=\"$PATH\" cargo xtask bare`"
            .into());
    }
    if !context.machine.has("apt-get") || !context.machine.has("dpkg-deb") {
        return Err(
            "fetches Debian's kernel for the Linux side and needs apt-get and dpkg-deb".into()
        );
    }
    context.machine.ensure(&NEEDS)?;
    context.machine.ensure(&NETWORK)
}
