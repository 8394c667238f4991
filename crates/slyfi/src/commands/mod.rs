//! One file per group of commands.

mod config;
mod daemon;
mod decrypt;
mod lab;
mod pair;
mod query;
#[cfg(feature = "tracedge")]
pub mod tracedge;
mod vectors;

use crate::cli::{Cli, Command, TargetArgs};
use crate::output::Paint;
use slyfi_link::config::{Config, Role};
use slyfi_link::control::{Answer, Client, Request};
use slyfi_link::{Error, ErrorKind, Result};
use std::io::Write;

/// Runs a command.
pub fn run(cli: &Cli) -> Result<()> {
    let paint = Paint::new(cli.color);
    match &cli.command {
        Command::Ap(args) => daemon::access_point(args),
        Command::Join(args) => daemon::join(args),
        Command::Pair(args) => pair::pair(args, paint),
        Command::Status(args) => query::status(args, paint),
        Command::Peers(args) => query::peers(args, paint),
        Command::Revoke(args) => pair::revoke(args),
        Command::Dismiss(args) => told(&args.target, &Request::Dismiss { link: args.link }),
        Command::Roam(target) => told(target, &Request::Roam),
        Command::Leave(target) => told(target, &Request::Leave),
        Command::Metrics(target) => query::metrics(target),
        Command::Config(command) => config::run(command),
        Command::Demo(args) => crate::demo::run(args, paint),
        Command::Decrypt(args) => decrypt::run(args),
        Command::Lab(command) => lab::run(command, paint),
        Command::Vectors(command) => vectors::run(command),
        #[cfg(feature = "tracedge")]
        Command::Tracedge(command) => tracedge::run(command, paint),
    }
}

/// Finds the running daemon that is meant; `None` when none runs.
fn find_daemon(target: &TargetArgs, config: &Config) -> Result<Option<Client>> {
    let mut paths: Vec<_> = target.roles().iter().map(|role| config.control_path(*role)).collect();
    paths.dedup();
    let mut found = Vec::new();
    for path in paths {
        found.extend(Client::connect(&path)?);
    }
    if found.len() > 1 {
        let cause = "an access point and a client run on this machine";
        return Err(Error::new(
            ErrorKind::Usage,
            cause,
            "say which with --role ap or --role client",
        ));
    }
    Ok(found.pop())
}

/// Returns the failure when a command needs a daemon and none runs.
fn no_daemon(target: &TargetArgs, config: &Config) -> Error {
    let paths: Vec<_> = target
        .roles()
        .iter()
        .map(|role| config.control_path(*role).display().to_string())
        .collect();
    let mut paths = paths;
    paths.dedup();
    Error::new(
        ErrorKind::NoDaemon,
        format!("no daemon listens on {}", paths.join(" or ")),
        "start `slyfi ap` or `slyfi join`, or name its store with --store",
    )
}

/// Tells a running daemon to do something.
fn told(target: &TargetArgs, request: &Request) -> Result<()> {
    ask(target, request).map(|_| ())
}

/// Asks a running daemon.
fn ask(target: &TargetArgs, request: &Request) -> Result<Answer> {
    let config = target.to_config()?;
    let mut client = find_daemon(target, &config)?.ok_or_else(|| no_daemon(target, &config))?;
    client.ask(request)
}

/// Returns the failure when a daemon of another version answers something else.
fn strange_answer() -> Error {
    let cause = "the daemon's answer is of another version";
    Error::new(ErrorKind::NoDaemon, cause, "restart it, or use its own slyfi command")
}

/// Prints to standard output. A reader that has gone away (`slyfi peers | head`) is no failure.
fn print(text: &str) -> Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::system("standard output", &e))
        }
        _ => Ok(()),
    }
}

/// Prints a value as JSON.
fn print_json<T: serde::Serialize>(value: &T) -> Result<()> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|e| Error::new(ErrorKind::System, format!("JSON: {e}"), ""))?;
    print(&format!("{text}\n"))
}

/// Returns the role whose store a command works on when no daemon runs: the one that was named, or
/// the one that has a store, the access point's first.
fn role_of(target: &TargetArgs, config: &Config) -> Role {
    let has_store = |role: &&Role| config.store_dir(**role).exists();
    let roles = target.roles();
    *roles.iter().find(has_store).unwrap_or(&roles[0])
}
