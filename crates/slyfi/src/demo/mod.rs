//! `slyfi demo`: the same people on the same air, first over ordinary 802.11, then over SlyFi, and
//! what an eavesdropper could tell in each case.

mod measure;
mod report;
mod scene;

use crate::cli::DemoArgs;
use crate::output::Paint;
use measure::Measured;
use scene::Protocol;
use serde::Serialize;
use slyfi_link::{Error, ErrorKind, Result};
use std::io::Write;

/// Both runs.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// What everything random followed from.
    pub seed: u64,
    /// Ordinary 802.11.
    pub wifi_open: Measured,
    /// SlyFi, suite `aead`.
    pub slyfi: Measured,
}

/// Runs the demonstration.
///
/// # Errors
/// The captures cannot be written, or a run went wrong: the eavesdropper found something on SlyFi's
/// air, or the traffic did not arrive.
pub fn run(args: &DemoArgs, paint: Paint) -> Result<()> {
    std::fs::create_dir_all(&args.out).map_err(|e| Error::system(args.out.display(), &e))?;
    let play = |protocol: Protocol, n: u8| {
        if !args.json {
            say(&format!("{n}/2  {} …\n", protocol.words()));
        }
        scene::play(protocol, args.seed, &args.out)
    };
    let comparison = Comparison {
        seed: args.seed,
        wifi_open: play(Protocol::WifiOpen, 1)?,
        slyfi: play(Protocol::SlyFi, 2)?,
    };
    let text = if args.json {
        let json = serde_json::to_string_pretty(&comparison);
        json.map_err(|e| Error::new(ErrorKind::System, format!("JSON: {e}"), ""))? + "\n"
    } else {
        report::render(&comparison, paint)
    };
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::system("standard output", &e))
        }
        _ => Ok(()),
    }
}

/// Shows progress, where standard output is for the result.
fn say(text: &str) {
    // Progress that cannot be shown is not worth failing for.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
