//! Where and how the steps run.

use crate::machine::Machine;
use crate::options::{Options, Tier};
use crate::runner::{self, Finished};
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What every step gets.
pub struct Context<'o> {
    /// The command line.
    pub options: &'o Options,
    /// What `cargo metadata` says.
    pub workspace: Workspace,
    /// Root, CI, packages.
    pub machine: Machine,
}

impl<'o> Context<'o> {
    /// Looks at the workspace and the machine.
    ///
    /// # Errors
    /// When cargo cannot read the workspace.
    pub fn new(options: &'o Options) -> Result<Self, String> {
        let workspace = Workspace::load(None)?;
        let machine = Machine::new(options, workspace.target.join("xtask/log/install.log"));
        Ok(Context { options, workspace, machine })
    }

    /// The repository's root.
    pub fn root(&self) -> &Path {
        &self.workspace.root
    }

    /// Whether steps of `tier` are to run.
    pub fn includes(&self, tier: Tier) -> bool {
        self.options.tier >= tier
    }

    /// A folder under the target folder for what xtask builds and keeps.
    pub fn cache(&self, name: &str) -> PathBuf {
        self.workspace.target.join("xtask").join(name)
    }

    /// The log of one step.
    pub fn log(&self, step: &str) -> PathBuf {
        self.cache("log").join(format!("{step}.log"))
    }

    /// A command in the repository's root.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.root()).env("PATH", self.machine.path());
        command
    }

    /// A cargo command in the repository's root, with its first arguments.
    pub fn cargo(&self, args: &[&str]) -> Command {
        let mut command = self.command(&cargo());
        command.args(args).env("CARGO_TERM_COLOR", "never");
        command
    }

    /// Runs a command with its output in the step's log.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn run(&self, step: &str, command: &mut Command, limit: u64) -> Result<Finished, String> {
        runner::run(command, &self.log(step), Duration::from_secs(limit))
    }

    /// Builds the release program and returns its path.
    ///
    /// # Errors
    /// When it does not build.
    pub fn release_binary(&self, step: &str) -> Result<PathBuf, String> {
        if !self.workspace.has("slyfi") {
            return Err("there is no crate `slyfi` to build".into());
        }
        let mut build = self.cargo(&["build", "--release", "--package", "slyfi", "--bin", "slyfi"]);
        if self.run(step, &mut build, 1800)?.ok {
            Ok(self.workspace.target.join("release/slyfi"))
        } else {
            Err("the release build failed".into())
        }
    }
}

/// The cargo that runs this tool.
pub fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}
