//! Where numbers come from.

use serde::{Deserialize, Serialize};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// Commit, machine and time of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The commit of the working tree, marked `-dirty` if anything but `results/` was changed since;
    /// `unknown` outside of a checkout.
    pub commit: String,
    /// The program's version.
    pub version: String,
    /// The processor.
    pub cpu: String,
    /// The fastest AES that this machine has.
    pub aes: String,
    /// Seconds since 1970.
    pub taken: u64,
    /// Whether it was a quick run, which is not to be quoted.
    pub quick: bool,
}

impl Provenance {
    /// This machine, now.
    pub fn here(quick: bool) -> Self {
        Provenance {
            commit: commit(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            cpu: cpu(),
            aes: slyfi_aes::backend().to_string(),
            // Before 1970 the clock is wrong anyway.
            taken: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()),
            quick,
        }
    }

    /// Returns it in one line, for the foot of a plot.
    pub fn line(&self) -> String {
        let quick = if self.quick { " · QUICK RUN, not to be quoted" } else { "" };
        format!(
            "slyfi {} · commit {} · {} · AES: {}{quick}",
            self.version, self.commit, self.cpu, self.aes
        )
    }
}

fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|line| line.starts_with("model name"));
    let name = line.and_then(|line| line.split_once(':')).map_or("", |(_, name)| name.trim());
    if name.is_empty() { std::env::consts::ARCH.to_owned() } else { name.to_owned() }
}

/// Asks git at run time: a number compiled in would be that of the last build script's run.
///
/// What a run writes into `results/` does not change what the next one measures.
fn commit() -> String {
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return "unknown".to_owned();
    };
    let changed = ["status", "--porcelain", "--", ":(top)", ":(top,exclude)results"];
    match git(&changed) {
        Some(changed) if changed.is_empty() => commit,
        _ => format!("{commit}-dirty"),
    }
}

/// What git says, if it says anything.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_commit_and_machine_and_says_when_it_was_quick() {
        let here = Provenance::here(true);
        assert!(!here.commit.is_empty() && !here.cpu.is_empty());
        assert!(here.line().contains(&here.commit) && here.line().contains("QUICK"));
        assert!(!Provenance { quick: false, ..here }.line().contains("QUICK"));
    }
}
