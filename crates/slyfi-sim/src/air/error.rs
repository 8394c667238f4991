//! Why a run ended.

use crate::referee::Finding;
use slyfi_base::{Instant, LinkError, Rate};

/// Why a run ended before its time, or must not count.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RunError {
    /// The referee found something that an outsider could hold on to.
    Findings {
        /// The seed of the run.
        seed: u64,
        /// What was found.
        findings: Vec<Finding>,
    },
    /// A machine kept asking for more without letting time pass.
    BusyLoop {
        /// The seed of the run.
        seed: u64,
        /// Whose machine.
        node: String,
        /// True time.
        at: Instant,
    },
    /// A machine gave up.
    Failed {
        /// The seed of the run.
        seed: u64,
        /// Whose machine.
        node: String,
        /// True time.
        at: Instant,
        /// What it said.
        error: LinkError,
    },
    /// A machine asked for a rate that 802.11a does not have.
    NoSuchRate {
        /// The seed of the run.
        seed: u64,
        /// Whose machine.
        node: String,
        /// The rate.
        rate: Rate,
    },
    /// A sniffer could not write its capture.
    Capture {
        /// Whose.
        node: String,
        /// What the writer said.
        error: String,
    },
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::Findings { seed, findings } => {
                write!(f, "seed {seed}: the referee has {} findings", findings.len())?;
                findings.iter().try_for_each(|x| write!(f, "\n  {x}"))
            }
            RunError::BusyLoop { seed, node, at } => {
                write!(f, "seed {seed}: {node} is stuck at {} us", at.as_micros())
            }
            RunError::Failed { seed, node, at, error } => {
                write!(f, "seed {seed}: {node} failed at {} us: {error:?}", at.as_micros())
            }
            RunError::NoSuchRate { seed, node, rate } => {
                write!(
                    f,
                    "seed {seed}: {node} sends at {} kb/s, no rate of 802.11a",
                    rate.as_kbps()
                )
            }
            RunError::Capture { node, error } => write!(f, "capture of {node}: {error}"),
        }
    }
}

impl std::error::Error for RunError {}
