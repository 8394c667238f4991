//! What an experiment leaves behind.
//!
//! # Layout
//! A directory for each experiment, `OUT/sbkh-fig3`:
//!
//! | file | what |
//! |---|---|
//! | `verdict.md` | claims, our figures, verdicts; method and notes |
//! | `result.json` | the same, the tables and the provenance, for programs (schema 1) |
//! | `*.csv` | the tables, units in the column names |
//! | `*.svg` | the plots |

use crate::experiment::{Experiment, Outcome};
use crate::{Finding, LabError, Provenance, Table, plot};
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The version of `result.json`.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    experiment: &'a str,
    title: &'a str,
    source: &'a str,
    provenance: &'a Provenance,
    findings: &'a [Finding],
    notes: &'a [String],
    tables: &'a [Table],
}

/// Returns the name of an experiment's directory.
pub fn directory(out: &Path, id: &str) -> PathBuf {
    out.join(id.replace('/', "-"))
}

/// Returns `result.json`.
///
/// # Panics
/// Never: everything in it has a JSON form.
pub fn to_json(experiment: &dyn Experiment, provenance: &Provenance, outcome: &Outcome) -> String {
    let report = Report {
        schema: SCHEMA,
        experiment: experiment.id(),
        title: experiment.title(),
        source: experiment.source(),
        provenance,
        findings: &outcome.findings,
        notes: &outcome.notes,
        tables: &outcome.tables,
    };
    let mut text =
        serde_json::to_string_pretty(&report).expect("strings, numbers and lists of them");
    text.push('\n');
    text
}

/// Returns `verdict.md`.
pub fn to_markdown(
    experiment: &dyn Experiment,
    provenance: &Provenance,
    outcome: &Outcome,
) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# {}: {}\n", experiment.id(), experiment.title());
    let _ = writeln!(out, "{}. {}\n", experiment.source(), provenance.line());
    for note in &outcome.notes {
        let _ = writeln!(out, "**{note}**\n");
    }
    out.push_str("| claim | where | ours | verdict | why |\n|---|---|---|---|---|\n");
    for f in &outcome.findings {
        let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
        let _ = writeln!(
            out,
            "| {} | {} | {} | **{}** | {} |",
            cell(f.claim.text),
            f.claim.place,
            cell(&f.ours),
            f.verdict,
            cell(&f.reason)
        );
    }
    out.push('\n');
    for (name, figure) in &outcome.figures {
        let _ = writeln!(out, "![{}]({name}.svg)\n", figure.title.replace(['[', ']'], ""));
    }
    let _ = writeln!(out, "{}", experiment.method());
    out
}

/// Writes everything into the experiment's directory and returns its path.
///
/// # Errors
/// [`LabError::File`].
pub fn write(
    out: &Path,
    experiment: &dyn Experiment,
    provenance: &Provenance,
    outcome: &Outcome,
) -> Result<PathBuf, LabError> {
    let dir = directory(out, experiment.id());
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| LabError::File { path, source }
    };
    std::fs::create_dir_all(&dir).map_err(failed(&dir))?;
    let put = |name: &str, text: &str| {
        let path = dir.join(name);
        std::fs::write(&path, text).map_err(failed(&path))
    };
    for table in &outcome.tables {
        put(&format!("{}.csv", table.name), &table.to_csv())?;
    }
    let origin = format!("{} · {}", provenance.line(), outcome.notes.join(" · "));
    for (name, figure) in &outcome.figures {
        put(&format!("{name}.svg"), &plot::render(figure, origin.trim_end_matches([' ', '·'])))?;
    }
    put("result.json", &to_json(experiment, provenance, outcome))?;
    put("verdict.md", &to_markdown(experiment, provenance, outcome))?;
    Ok(dir)
}
