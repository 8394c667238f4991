//! What this machine has and may do, and how it gets what it lacks.

use crate::options::Options;
use crate::runner;
use std::cell::Cell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The machine that the steps run on.
pub struct Machine {
    /// Whether this process is root.
    pub root: bool,
    /// Whether this is a CI run: there a skipped step is a failed one.
    pub ci: bool,
    install: bool,
    updated: Cell<bool>,
    log: PathBuf,
}

/// Something that a step needs, and the Debian package that brings it.
pub struct Need {
    /// A program's name, or an absolute path.
    pub what: &'static str,
    /// The package.
    pub package: &'static str,
}

impl Machine {
    /// Looks at the process and its environment; installations are logged to `log`.
    pub fn new(options: &Options, log: PathBuf) -> Self {
        let ci = matches!(options.task, crate::options::Task::Ci)
            || std::env::var("CI").is_ok_and(|v| v == "true" || v == "1");
        let root = is_root();
        Machine { root, ci, install: root && !options.no_install, updated: Cell::new(false), log }
    }

    /// `PATH` with the folders of administrators' tools, which users often lack.
    pub fn path(&self) -> OsString {
        let mut path = std::env::var_os("PATH").unwrap_or_default();
        path.push(":/usr/local/sbin:/usr/sbin:/sbin");
        path
    }

    /// Whether the program or file is there.
    pub fn has(&self, what: &str) -> bool {
        if what.starts_with('/') {
            return Path::new(what).exists();
        }
        std::env::split_paths(&self.path()).any(|folder| folder.join(what).is_file())
    }

    /// Makes sure that all of `needs` are there; as root it installs what is missing.
    ///
    /// # Errors
    /// One line that names the command to run.
    pub fn ensure(&self, needs: &[Need]) -> Result<(), String> {
        let mut packages: Vec<_> =
            needs.iter().filter(|n| !self.has(n.what)).map(|n| n.package).collect();
        packages.dedup();
        if packages.is_empty() {
            return Ok(());
        }
        let list = packages.join(" ");
        if self.install && self.has("apt-get") {
            println!("    installing {list}");
            self.apt(&packages)?;
            packages = needs.iter().filter(|n| !self.has(n.what)).map(|n| n.package).collect();
            if packages.is_empty() {
                return Ok(());
            }
            return Err(format!("installed {list}, but {} is still missing", packages.join(" ")));
        }
        Err(format!("missing; run `sudo apt-get install -y --no-install-recommends {list}`"))
    }

    fn apt(&self, packages: &[&str]) -> Result<(), String> {
        if !self.updated.replace(true) {
            self.logged(Command::new("apt-get").args(["update", "-q"]))?;
        }
        self.logged(
            Command::new("apt-get")
                .args(["install", "-y", "-q", "--no-install-recommends"])
                .args(packages)
                .env("DEBIAN_FRONTEND", "noninteractive"),
        )
    }

    fn logged(&self, command: &mut Command) -> Result<(), String> {
        let done = runner::run(command, &self.log, Duration::from_secs(600))?;
        if done.ok { Ok(()) } else { Err(format!("apt-get failed, see {}", self.log.display())) }
    }
}

/// Whether the effective user is root (`proc(5)`: real, effective, saved, file system).
fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("Uid:")).unwrap_or("");
    line.split_whitespace().nth(2) == Some("0")
}
