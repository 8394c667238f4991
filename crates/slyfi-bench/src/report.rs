//! What a run says: a table for people, JSON for machines.

use std::fmt;
use std::io;
use std::path::Path;

use serde::Serialize;

use crate::harness::{Measurement, Outcome};
use crate::machine::Machine;

/// All rows of a run and where they were taken.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The commit of the working tree.
    pub commit: String,
    /// The machine.
    pub machine: Machine,
    /// The measurements.
    pub suites: Vec<Measured>,
}

/// The rows of one suite.
#[derive(Debug, Serialize)]
pub struct Measured {
    /// Which suite.
    pub name: &'static str,
    /// The measurements.
    pub rows: Vec<Row>,
}

/// One thing measured, and what it is held to.
#[derive(Debug, Serialize)]
pub struct Row {
    /// What was measured.
    pub what: String,
    /// The unit of the values.
    pub unit: &'static str,
    /// What it is held to.
    pub bar: Bar,
    /// Best peer's time by ours: above 1 we are faster. `None` if no peer was measured.
    pub ratio: Option<f64>,
    /// Whether the bar is reached.
    pub verdict: Verdict,
    /// Ours.
    pub ours: Measurement,
    /// The peers that were measured.
    pub peers: Vec<Measurement>,
    /// The peers that were not, and why.
    pub missing: Vec<String>,
}

/// What a row is held to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Bar {
    /// At least so many times as fast as the best peer.
    Times(f64),
    /// At most so many nanoseconds.
    Nanoseconds(f64),
    /// At most so many bytes.
    Bytes(f64),
    /// Nothing: for orientation.
    None,
}

/// Whether a bar is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// It is.
    Reached,
    /// It is not.
    Short,
    /// A peer that it needs is missing.
    NotMeasured,
    /// There is none.
    NoBar,
}

impl Row {
    /// Judges an outcome.
    pub fn new(what: &str, bar: Bar, outcome: Outcome) -> Self {
        let ratio = outcome.best_peer().map(|peer| peer.value / outcome.ours.value);
        let verdict = match (bar, ratio) {
            (Bar::None, _) => Verdict::NoBar,
            // A ratio to the best peer means nothing if the best one may be missing.
            (Bar::Times(_), _) if !outcome.missing.is_empty() => Verdict::NotMeasured,
            (Bar::Times(_), None) => Verdict::NotMeasured,
            (Bar::Times(least), Some(ratio)) if ratio >= least => Verdict::Reached,
            (Bar::Nanoseconds(most) | Bar::Bytes(most), _) if outcome.ours.value <= most => {
                Verdict::Reached
            }
            (Bar::Times(_) | Bar::Nanoseconds(_) | Bar::Bytes(_), _) => Verdict::Short,
        };
        let Outcome { ours, peers, missing } = outcome;
        Self { what: what.to_owned(), unit: "ns", bar, ratio, verdict, ours, peers, missing }
    }

    /// Judges an outcome that is in bytes.
    pub fn bytes(what: &str, bar: Bar, outcome: Outcome) -> Self {
        Self { unit: "B", ..Self::new(what, bar, outcome) }
    }
}

impl Report {
    /// Writes the report as JSON.
    pub fn write_json(&self, path: &Path) -> io::Result<()> {
        let mut json = serde_json::to_string_pretty(self)?;
        json.push('\n');
        std::fs::write(path, json)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "at {}", self.commit)?;
        writeln!(f, "{} | {}", self.machine.cpu, self.machine.backend)?;
        writeln!(
            f,
            "{:<60} {:>12}  {:<32} {:>6}  {:<12} verdict",
            "what", "ours", "best peer", "ratio", "bar"
        )?;
        for row in self.suites.iter().flat_map(|suite| &suite.rows) {
            let best = row.peers.iter().min_by(|a, b| a.value.total_cmp(&b.value));
            let best = best
                .map_or_else(|| "-".to_owned(), |peer| format!("{} {:.1}", peer.name, peer.value));
            let ratio = row.ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
            let bar = match row.bar {
                Bar::Times(least) => format!(">= {least:.2}x"),
                Bar::Nanoseconds(most) => format!("<= {most} ns"),
                Bar::Bytes(most) => format!("<= {most} B"),
                Bar::None => "-".to_owned(),
            };
            let verdict = match row.verdict {
                Verdict::Reached => "reached",
                Verdict::Short => "SHORT",
                Verdict::NotMeasured => "NOT MEASURED",
                Verdict::NoBar => "",
            };
            writeln!(
                f,
                "{:<60} {:>9.1} {:<2}  {best:<32} {ratio:>6}  {bar:<12} {verdict}",
                row.what, row.ours.value, row.unit
            )?;
        }
        Ok(())
    }
}
