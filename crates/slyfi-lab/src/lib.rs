//! Experiments on real components: tables, plots, verdicts.
//!
//! ```text
//!   registry --> Experiment::run --> Outcome: tables, figures, findings
//!                    |                   |
//!                 measure             output: data.csv, result.json, *.svg, verdict.md
//! ```
//!
//! An [`Experiment`] repeats one figure or table of a paper: it says what the paper claims, measures
//! the same thing on this project's own components, and holds the two against each other. Its
//! [`Finding`]s are made by pure functions of the measured numbers, so that doctored numbers can test
//! them. [`registry`] knows all of them; a new one is a module and a line there.
//!
//! [`output`] writes what came out. Every file says from which commit and machine it is.

pub mod bare;
pub mod error;
pub mod experiment;
pub mod finding;
pub mod measure;
pub mod output;
pub mod plot;
pub mod provenance;
pub mod registry;
pub mod sbkh;
mod scratch;
pub mod table;
#[cfg(feature = "tracedge")]
pub mod tracedge;

pub use error::LabError;
pub use experiment::{Context, Experiment, Kept, Outcome};
pub use finding::{Claim, Finding, Verdict};
pub use provenance::Provenance;
pub use table::{Cell, Column, Table};
