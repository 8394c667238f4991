//! The crates that firmware can use must not link `std`, directly or through what they import.

use crate::context::Context;
use crate::step::Outcome;
use crate::tally::Tally;
use serde_json::Value;
use std::path::Path;

/// DESIGN §2: who may never use `std`.
const CRATES: [&str; 7] = [
    "slyfi-base",
    "slyfi-wire",
    "slyfi-aes",
    "slyfi-ciphers",
    "slyfi-core",
    "slyfi-rivals",
    "slyfi-bare",
];

/// Builds each crate without default features and reads from the library what it links.
///
/// Only the host's target is installed, and that one has a `std`: a build that succeeds proves
/// nothing. The metadata of the built library names every crate that it needs, and is what counts.
pub fn run(context: &Context<'_>) -> Outcome {
    let mut tally = Tally::default();
    let mut findings = Vec::new();
    for name in CRATES.into_iter().filter(|name| context.workspace.has(name)) {
        match check(context, name) {
            Ok(()) => tally += Tally::one_passed(),
            Err(why) => findings.push(format!("{name}: {why}")),
        }
    }
    if findings.is_empty() { Outcome::Ran(tally) } else { Outcome::of_findings(&findings) }
}

fn check(context: &Context<'_>, name: &str) -> Result<(), String> {
    let args = ["build", "--lib", "--no-default-features", "--message-format=json", "-p", name];
    let done = context.run("no_std", &mut context.cargo(&args), 900)?;
    if !done.ok {
        return Err("does not build without default features".into());
    }
    let rlib = library(&done.output, name).ok_or("cargo named no library")?;
    let linked = linked_crates(context, Path::new(&rlib))?;
    if !linked.iter().any(|c| c == "core") {
        return Err("the list of linked crates could not be read".into());
    }
    match linked.iter().find(|c| *c == "std") {
        Some(_) => Err(format!("links std: {}", linked.join(" "))),
        None => Ok(()),
    }
}

/// Finds the library of package `name` in cargo's messages.
fn library(messages: &str, name: &str) -> Option<String> {
    let target = name.replace('-', "_");
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|m| m["reason"] == "compiler-artifact" && m["target"]["name"] == target.as_str())
        .flat_map(|m| m["filenames"].as_array().cloned().unwrap_or_default())
        .filter_map(|f| f.as_str().map(str::to_owned))
        .find(|f| f.ends_with(".rlib"))
}

/// Asks rustc which crates the library was linked against, transitively.
fn linked_crates(context: &Context<'_>, rlib: &Path) -> Result<Vec<String>, String> {
    let mut rustc = context.command("rustc");
    // Reading a library's metadata is an unstable option of a stable compiler; nothing is built.
    rustc.env("RUSTC_BOOTSTRAP", "1").args(["-Z", "ls=root"]).arg(rlib);
    let done = context.run("no_std", &mut rustc, 60)?;
    Ok(dependencies(&done.output))
}

/// Reads the section of external dependencies: lines such as `3 subtle-4e9a… hash …`.
fn dependencies(listing: &str) -> Vec<String> {
    listing
        .lines()
        .skip_while(|l| !l.contains("External Dependencies"))
        .skip(1)
        .take_while(|l| l.starts_with(|c: char| c.is_ascii_digit()))
        .filter_map(|l| l.split_whitespace().nth(1))
        .map(|n| n.rsplit_once('-').map_or(n, |(name, _)| name).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_names_of_linked_crates() {
        let text = "Crate info:\nname a\n=External Dependencies=\n1 core-9b hash 1 host_hash None\n\
                    2 zeroize-77 hash 2\n\n=Other=\n3 std-1\n";
        assert_eq!(dependencies(text), ["core", "zeroize"]);
        assert!(dependencies("nothing").is_empty());
    }
}
