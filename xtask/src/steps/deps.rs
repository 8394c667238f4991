//! Who may import whom (DESIGN §2), where `unsafe` may stand, and under which licences.

use crate::context::Context;
use crate::step::Outcome;
use crate::workspace::Package;

/// DESIGN §2's arrows: a crate and what it may import. Everything may import `slyfi-base`, and what
/// is not here may import nothing else of the workspace.
const ARROWS: &[(&str, &[&str])] = &[
    ("slyfi-base", &[]),
    ("slyfi-wire", &[]),
    ("slyfi-aes", &[]),
    ("slyfi-ciphers", &["slyfi-aes", "slyfi-wire"]),
    ("slyfi-core", &["slyfi-aes", "slyfi-wire"]),
    ("slyfi-rivals", &["slyfi-core"]),
    ("slyfi-sim", &["slyfi-wire"]),
    ("slyfi-linux", &["slyfi-wire"]),
    ("slyfi-link", &["slyfi-core", "slyfi-ciphers", "slyfi-rivals", "slyfi-linux"]),
    ("slyfi-capture", &["slyfi-wire"]),
    ("slyfi-pir", &[]),
    ("slyfi-tracedge", &["slyfi-pir", "slyfi-wire"]),
    ("slyfi-policy", &[]),
    (
        "slyfi-lab",
        &[
            "slyfi-link",
            "slyfi-sim",
            "slyfi-rivals",
            "slyfi-ciphers",
            "slyfi-policy",
            "slyfi-capture",
        ],
    ),
    ("slyfi-bare", &["slyfi-core", "slyfi-ciphers"]),
    ("slyfi", &["slyfi-lab", "slyfi-link", "slyfi-capture", "slyfi-tracedge", "slyfi-policy"]),
];

/// Arrows that the design does not draw, each for one thing that the crate does.
const BESIDES: &[(&str, &str, &str)] = &[
    ("slyfi-link", "slyfi-wire", "`--pcap` writes wire's pcapng and radiotap headers"),
    ("slyfi-rivals", "slyfi-wire", "open Wi-Fi is made of 802.11 headers, rivals of the carrier"),
    ("slyfi-capture", "slyfi-ciphers", "decryption with known keys"),
    ("slyfi-lab", "slyfi-aes", "the cost study measures CCMP on hardware AES and on software AES"),
    ("slyfi-lab", "slyfi-tracedge", "tracedge-2015's tables are measured on the service itself"),
    (
        "slyfi-lab",
        "slyfi-pir",
        "its Table 3 is ntru-2015's own arithmetic, and its modulus's strength",
    ),
    (
        "slyfi-tracedge",
        "slyfi-linux",
        "tables are mapped files; the service needs clock and randomness",
    ),
    ("slyfi-bare", "slyfi-wire", "the packet air's wrapping is wire's radiotap header"),
    ("slyfi-bare", "slyfi-aes", "reports which kernels run"),
    ("slyfi", "slyfi-core", "`vectors check` and the demo drive the machines themselves"),
    ("slyfi", "slyfi-sim", "the demo's air"),
    ("slyfi", "slyfi-rivals", "the demo's control, open Wi-Fi"),
    ("slyfi", "slyfi-linux", "commands without a daemon need the machine's clock and randomness"),
];

/// Tools for developers, which may import anything and which nothing may import.
const TOOLS: &[&str] = &["xtask", "slyfi-bench"];

/// The crates that may say `unsafe` (DESIGN §6), and the benchmarks, which call a C library to
/// compare with.
const UNSAFE: &[&str] = &["slyfi-linux", "slyfi-aes", "slyfi-bare", "slyfi-bench"];

/// Crates that are handed time, randomness and bytes, and must not be able to reach for them.
const PURE: &[&str] =
    &["slyfi-base", "slyfi-wire", "slyfi-aes", "slyfi-ciphers", "slyfi-core", "slyfi-rivals"];

/// What a pure crate must not import: entropy, sockets, threads, clocks, loggers.
const REACHES_OUT: &[&str] = &[
    "rand",
    "getrandom",
    "fastrand",
    "libc",
    "nix",
    "rustix",
    "mio",
    "socket2",
    "tokio",
    "polling",
    "async-std",
    "smol",
    "chrono",
    "time",
    "jiff",
    "log",
    "tracing",
    "rayon",
    "crossbeam",
];

/// Checks all of it.
pub fn run(context: &Context<'_>) -> Outcome {
    let mut findings = Vec::new();
    for package in context.workspace.members() {
        let imports = |dev: bool| {
            let of_kind = package.dependencies.iter().filter(move |d| d.dev == dev);
            of_kind.map(|d| d.name.as_str())
        };
        findings.extend(arrows(&package.name, imports(false)));
        findings.extend(test_arrows(&package.name, imports(true)));
        match std::fs::read_to_string(&package.manifest) {
            Ok(manifest) => findings.extend(lints(&package.name, &manifest)),
            Err(e) => findings.push(format!("{}: {e}", package.manifest.display())),
        }
    }
    let allowed = std::fs::read_to_string(context.root().join("deny.toml")).unwrap_or_default();
    let allowed = allow_list(&allowed);
    findings.extend(context.workspace.packages.iter().filter_map(|p| origin(p, &allowed)));
    findings.sort();
    findings.dedup();
    Outcome::of_findings(&findings)
}

/// Checks what a crate imports for its own use.
fn arrows<'a>(name: &str, imports: impl Iterator<Item = &'a str>) -> Vec<String> {
    if TOOLS.contains(&name) {
        return Vec::new();
    }
    let allowed = ARROWS.iter().find(|(crate_name, _)| *crate_name == name).map(|(_, to)| *to);
    let Some(allowed) = allowed else {
        return vec![format!("{name} has no place in the house: give it its arrows")];
    };
    let mut findings = Vec::new();
    for import in imports {
        let ours = import.starts_with("slyfi");
        let besides = BESIDES.iter().any(|(from, to, _)| (*from, *to) == (name, import));
        if ours && import != "slyfi-base" && !allowed.contains(&import) && !besides {
            findings.push(format!("{name} must not import {import}"));
        }
        if name == "slyfi-base" {
            findings.push(format!("slyfi-base must import nothing, it imports {import}"));
        }
        if PURE.contains(&name) && REACHES_OUT.contains(&import) {
            findings.push(format!("{name} must not be able to reach out, it imports {import}"));
        }
    }
    findings
}

/// Checks what a crate imports for its tests: anything but its sibling and the tools.
fn test_arrows<'a>(name: &str, imports: impl Iterator<Item = &'a str>) -> Vec<String> {
    let siblings = ["slyfi-core", "slyfi-ciphers"];
    let wrong = |import: &&str| {
        let sibling = siblings.contains(&name) && siblings.contains(import) && *import != name;
        TOOLS.contains(import) || sibling
    };
    imports.filter(wrong).map(|i| format!("{name} must not import {i} for its tests")).collect()
}

/// Checks a manifest's lint table: the workspace's, which forbids `unsafe`, or its own.
fn lints(name: &str, manifest: &str) -> Vec<String> {
    let table = manifest.split("[lints]").nth(1).unwrap_or("");
    let inherits =
        table.lines().take_while(|l| !l.starts_with('[')).any(|l| l == "workspace = true");
    if !UNSAFE.contains(&name) {
        let say = || format!("{name} needs `[lints] workspace = true`, which forbids unsafe");
        return if inherits { Vec::new() } else { vec![say()] };
    }
    ["unsafe_op_in_unsafe_fn = \"deny\"", "undocumented_unsafe_blocks = \"deny\""]
        .into_iter()
        .filter(|lint| !manifest.contains(lint))
        .map(|lint| format!("{name} may use unsafe and needs the lint {lint}"))
        .collect()
}

/// Checks where a package of others comes from and its licence.
fn origin(package: &Package, allowed: &[String]) -> Option<String> {
    let source = package.source.as_deref()?;
    let who = format!("{} {}", package.name, package.version);
    if !source.starts_with("registry+") {
        return Some(format!("{who} does not come from a registry"));
    }
    let license = package.license.as_deref().unwrap_or("");
    (!permits(license, allowed)).then(|| format!("{who}: licence `{license}` is not on the list"))
}

/// The identifiers of `allow = [...]` in deny.toml's `[licenses]`.
fn allow_list(deny: &str) -> Vec<String> {
    let licenses = deny.split("[licenses]").nth(1).unwrap_or("");
    let list = licenses.split("allow = [").nth(1).and_then(|l| l.split(']').next()).unwrap_or("");
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether an SPDX expression can be met with the allowed identifiers.
///
/// Enough of SPDX for the expressions of crates: `OR` (or the old `/`) of `AND`s, parentheses
/// around either.
fn permits(expression: &str, allowed: &[String]) -> bool {
    let expression = expression.replace('/', " OR ");
    let expression = expression.trim();
    // A parenthesised part is decided first and put back as a word that is or is not allowed.
    if let Some(open) = expression.rfind('(') {
        let Some(close) = expression[open..].find(')').map(|at| open + at) else { return false };
        let inner = permits(&expression[open + 1..close], allowed);
        let word = allowed.first().filter(|_| inner).map_or("none", String::as_str);
        let flat = format!("{}{word}{}", &expression[..open], &expression[close + 1..]);
        return permits(&flat, allowed);
    }
    expression.split(" OR ").any(|all| {
        all.split(" AND ").all(|one| allowed.iter().any(|allowed| allowed == one.trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arrow_points_at_a_crate_further_down() {
        // No cycle: with the order of the table turned into ranks, arrows only go down.
        let mut ranked: Vec<&str> = vec![];
        let mut left: Vec<_> = ARROWS.to_vec();
        while !left.is_empty() {
            let (ready, rest): (Vec<_>, Vec<_>) =
                left.into_iter().partition(|(_, to)| to.iter().all(|t| ranked.contains(t)));
            assert!(!ready.is_empty(), "a cycle among {rest:?}");
            ranked.extend(ready.iter().map(|(name, _)| *name));
            left = rest;
        }
    }

    #[test]
    fn imports_against_an_arrow_are_found() {
        assert!(arrows("slyfi-core", ["slyfi-base", "slyfi-aes", "subtle"].into_iter()).is_empty());
        for wrong in ["slyfi-ciphers", "slyfi-linux", "getrandom"] {
            assert_eq!(arrows("slyfi-core", [wrong].into_iter()).len(), 1, "{wrong}");
        }
        assert_eq!(arrows("slyfi-base", ["subtle"].into_iter()).len(), 1);
        assert_eq!(arrows("slyfi-unheard-of", [].into_iter()).len(), 1);
        assert_eq!(test_arrows("slyfi-core", ["slyfi-ciphers"].into_iter()).len(), 1);
        // A crate's tests may ask for the crate itself, with more features.
        let fine = ["slyfi-core", "slyfi-sim", "proptest"];
        assert!(test_arrows("slyfi-core", fine.into_iter()).is_empty());
    }

    #[test]
    fn a_manifest_without_the_lints_is_found() {
        let good = "[lints]\nworkspace = true\n";
        assert!(lints("slyfi-core", good).is_empty());
        assert_eq!(lints("slyfi-core", "[package]\n").len(), 1);
        assert_eq!(lints("slyfi-core", "[lints]\n[dependencies]\nworkspace = true\n").len(), 1);
        assert_eq!(lints("slyfi-aes", good).len(), 2);
    }

    #[test]
    fn licence_expressions_are_decided() {
        let allowed =
            allow_list("[licenses]\nallow = [\n  \"MIT\", \"Apache-2.0\",\n \"BSD-3-Clause\"]\n");
        for good in [
            "MIT",
            "MIT OR Apache-2.0",
            "GPL-3.0 OR MIT",
            "MIT/Apache-2.0",
            "(MIT OR GPL-3.0) AND BSD-3-Clause",
        ] {
            assert!(permits(good, &allowed), "{good}");
        }
        for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT AND GPL-3.0) OR WTFPL"] {
            assert!(!permits(bad, &allowed), "{bad}");
        }
    }
}
