//! System tests on the real 802.11 stack of a QEMU guest (tests/system/guest.py).

use crate::context::Context;
use crate::machine::Need;
use crate::step::Outcome;
use crate::steps::system::outcome;
use std::process::Command;

const NEEDS: [Need; 12] = [
    Need { what: "python3", package: "python3" },
    Need { what: "qemu-system-x86_64", package: "qemu-system-x86" },
    Need { what: "/usr/share/seabios/bios-256k.bin", package: "seabios" },
    Need { what: "busybox", package: "busybox-static" },
    Need { what: "depmod", package: "kmod" },
    Need { what: "file", package: "file" },
    Need { what: "ip", package: "iproute2" },
    Need { what: "iw", package: "iw" },
    Need { what: "tcpdump", package: "tcpdump" },
    Need { what: "curl", package: "curl" },
    Need { what: "wpa_supplicant", package: "wpasupplicant" },
    Need { what: "hostapd", package: "hostapd" },
];

/// Boots the guest and runs all of its scenarios.
pub fn run(context: &Context<'_>) -> Outcome {
    if let Err(why) = ready(context) {
        return Outcome::Skipped(why);
    }
    let program = match context.release_binary("guest") {
        Ok(program) => program,
        Err(why) => return Outcome::Failed(why),
    };
    let mut tests = python(context);
    tests.arg("--bin").arg(program).arg("--keep").arg(context.cache("guest-kept"));
    outcome(context, "guest", &mut tests, 900)
}

/// Runs scenarios with their output on the terminal, or opens a shell in the guest.
///
/// # Errors
/// When the guest cannot run here.
pub fn interactive(context: &Context<'_>, shell: bool, names: &[String]) -> Result<bool, String> {
    ready(context)?;
    let mut tests = python(context);
    if shell {
        tests.arg("--shell");
    } else {
        tests.arg("--bin").arg(context.release_binary("guest")?).args(names);
    }
    tests.status().map(|s| s.success()).map_err(|e| e.to_string())
}

fn python(context: &Context<'_>) -> Command {
    let mut tests = context.command("python3");
    tests.arg("tests/system/guest.py").arg("--cache").arg(context.cache("guest"));
    tests
}

fn ready(context: &Context<'_>) -> Result<(), String> {
    if !context.machine.root {
        // The guest runs with this machine's files as its root, which an ordinary user cannot
        // share whole.
        return Err("needs root; run `sudo -E env PATH=\"$PATH\" cargo xtask guest`".into());
    }
    if !context.machine.has("apt-get") || !context.machine.has("dpkg-deb") {
        return Err("fetches Debian's kernel and needs apt-get and dpkg-deb".into());
    }
    context.machine.ensure(&NEEDS)
}
