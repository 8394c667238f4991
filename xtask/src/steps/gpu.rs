//! The retrieval's products on a graphics processor, tested on Mesa's software device.

use crate::context::Context;
use crate::machine::Need;
use crate::step::Outcome;
use crate::steps::tests::tally;
use crate::tally::Tally;
use std::process::Command;

/// Vulkan's loader, and lavapipe: a device that every machine has.
#[cfg(not(target_arch = "aarch64"))]
const NEEDS: [Need; 2] = [
    Need { what: "/usr/lib/x86_64-linux-gnu/libvulkan.so.1", package: "libvulkan1" },
    Need { what: "/usr/lib/x86_64-linux-gnu/libvulkan_lvp.so", package: "mesa-vulkan-drivers" },
];
#[cfg(target_arch = "aarch64")]
const NEEDS: [Need; 2] = [
    Need { what: "/usr/lib/aarch64-linux-gnu/libvulkan.so.1", package: "libvulkan1" },
    Need { what: "/usr/lib/aarch64-linux-gnu/libvulkan_lvp.so", package: "mesa-vulkan-drivers" },
];

/// What is built for this step alone. That it runs fast does not matter, that it compiles fast does: the
/// workspace's level for others' crates would double the step's time.
const UNOPTIMISED: [&str; 9] = [
    "ash",
    "gpu-allocator",
    "naga",
    "naga-types",
    "wgpu",
    "wgpu-core",
    "wgpu-hal",
    "wgpu-naga-bridge",
    "wgpu-types",
];

/// Lints the feature `gpu` and runs its tests on the device that `SLYFI_GPU` names, or on lavapipe.
pub fn run(context: &Context<'_>) -> Outcome {
    if !context.workspace.has("slyfi-pir") {
        return Outcome::Skipped("there is no crate `slyfi-pir`".into());
    }
    // A machine with a card has its driver.
    let named = std::env::var_os("SLYFI_GPU").is_some_and(|name| !name.is_empty());
    if !named && let Err(why) = context.machine.ensure(&NEEDS) {
        return Outcome::Skipped(why);
    }
    let mut clippy = cargo(context, "clippy");
    clippy.args(["--lib", "--test", "gpu", "--example", "gpu_rates", "--", "-D", "warnings"]);
    match context.run("gpu", &mut clippy, 1200) {
        Ok(done) if done.ok => {}
        Ok(_) => return Outcome::Failed("clippy has something to say".into()),
        Err(why) => return Outcome::Failed(why),
    }
    let mut total = Tally::default();
    for target in [&["--lib", "gpu::"][..], &["--test", "gpu"]] {
        let mut test = cargo(context, "test");
        test.args(target).args(["--no-fail-fast", "--", "--show-output"]);
        match context.run("gpu", &mut test, 1200) {
            Ok(done) => {
                for device in devices(&done.output) {
                    println!("    on {device}");
                }
                total += tally(&done.output, done.ok);
            }
            Err(why) => return Outcome::Failed(why),
        }
    }
    Outcome::Ran(total)
}

/// A cargo command for the crate with the feature.
fn cargo(context: &Context<'_>, what: &str) -> Command {
    let mut cargo = context.cargo(&[what, "--package", "slyfi-pir", "--features", "gpu"]);
    for package in UNOPTIMISED {
        cargo.arg("--config").arg(format!("profile.dev.package.{package}.opt-level=0"));
    }
    cargo
}

/// The devices that the tests say they ran on, each once.
fn devices(output: &str) -> Vec<&str> {
    let mut devices: Vec<_> = output.lines().filter_map(|l| l.strip_prefix("device: ")).collect();
    devices.sort_unstable();
    devices.dedup();
    devices
}

#[cfg(test)]
mod checks {
    use super::*;

    #[test]
    fn the_device_is_read_from_what_the_tests_print() {
        let text = "test a ... ok\n\n---- a stdout ----\ndevice: llvmpipe, Mesa\n\n\
                    ---- b stdout ----\ndevice: llvmpipe, Mesa\nno device: none\n";
        assert_eq!(devices(text), ["llvmpipe, Mesa"]);
        assert!(devices("test result: ok").is_empty());
    }
}
