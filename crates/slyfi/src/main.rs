//! `slyfi`: the command line. It reads arguments, calls the libraries and shows what they say; no
//! protocol is decided here.

mod cli;
mod commands;
mod demo;
mod output;

use clap::Parser;
use slyfi_link::{Error, ErrorKind};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match parse().and_then(|cli| commands::run(&cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            // A closed standard error leaves nobody to tell; the exit code still does.
            let _ = writeln!(std::io::stderr(), "slyfi: error: {e}");
            ExitCode::from(e.kind.exit_code())
        }
    }
}

/// Parses the arguments. Help and version are printed and end the program; a mistake is one line.
fn parse() -> Result<cli::Cli, Error> {
    cli::Cli::try_parse().map_err(|e| {
        if !e.use_stderr() {
            e.exit();
        }
        let text = e.to_string();
        let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
        let first = lines.next().unwrap_or("wrong arguments").trim_start_matches("error: ");
        // What clap lists on lines of their own: missing arguments, possible values, tips.
        let rest = lines.take_while(|l| !l.starts_with("Usage:") && !l.starts_with("For more"));
        let cause = std::iter::once(first).chain(rest).collect::<Vec<_>>().join(" ");
        Error::new(ErrorKind::Usage, cause, "add --help to the command to see what it takes")
    })
}
