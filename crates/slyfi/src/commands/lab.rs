//! `slyfi lab`: experiments of the papers, on this machine.

use super::{print, print_json};
use crate::cli::{LabCommand, LabRunArgs};
use crate::output::{Paint, columns};
use serde_json::{Value, json};
use slyfi_lab::measure::count::Counter;
use slyfi_lab::{Context, Experiment, Kept, LabError, Provenance, Verdict, output, registry};
use slyfi_link::{Error, ErrorKind, Result};
use std::io::{IsTerminal, Write, stderr};
use std::path::Path;

/// Runs it.
pub fn run(command: &LabCommand, paint: Paint) -> Result<()> {
    match command {
        LabCommand::List { json } => list(*json),
        LabCommand::Run(args) => experiments(args, paint),
        LabCommand::Show { id, out, json } => show(id, out, *json, paint),
        LabCommand::Count { id, quick } => registry::count(id, *quick).map_err(failed),
    }
}

fn failed(error: LabError) -> Error {
    let (kind, mend) = match &error {
        LabError::Unknown(_) => (ErrorKind::Usage, "slyfi lab list names them"),
        LabError::NotBuilt { .. } => (
            ErrorKind::Usage,
            "build it with that feature: cargo build --release --features tracedge",
        ),
        LabError::Data { .. } => {
            (ErrorKind::Usage, "give the file that the measuring command wrote")
        }
        LabError::NoData { .. } => {
            (ErrorKind::Usage, "run it in a checkout, or give its file with --data")
        }
        LabError::File { path, source } => match source.kind() {
            std::io::ErrorKind::NotFound => (ErrorKind::Usage, "give the path of a file"),
            _ => return Error::system(path.display(), source),
        },
        _ => (ErrorKind::System, ""),
    };
    Error::new(kind, error.to_string(), mend)
}

fn list(as_json: bool) -> Result<()> {
    let all = registry::all();
    if as_json {
        let one = |e: &&dyn Experiment| {
            json!({
                "id": e.id(), "title": e.title(), "source": e.source(), "claims": e.claims(),
            })
        };
        return print_json(&all.iter().map(one).collect::<Vec<_>>());
    }
    let rows: Vec<_> = all
        .iter()
        .map(|e| vec![e.id().to_owned(), e.source().to_owned(), e.title().to_owned()])
        .collect();
    print(&columns(&rows))
}

fn experiments(args: &LabRunArgs, paint: Paint) -> Result<()> {
    let mut chosen: Vec<&'static dyn Experiment> = Vec::new();
    for id in &args.id {
        for experiment in registry::find(id).map_err(failed)? {
            if !chosen.iter().any(|e| e.id() == experiment.id()) {
                chosen.push(experiment);
            }
        }
    }
    let program = std::env::current_exe().map_err(|e| Error::system("this program", &e))?;
    let counter = Counter::find(program, vec!["lab".to_owned(), "count".to_owned()]);
    if let Counter::Missing(why) = &counter {
        let line = format!("slyfi: warning: instructions will not be counted: {why}\n");
        let _ = stderr().write_all(line.as_bytes());
    }
    let terminal = stderr().is_terminal();
    let mut progress = |text: &str| {
        if terminal {
            let _ = write!(stderr(), "\r\x1b[K{text}");
        }
    };
    let mut context = Context {
        quick: args.quick,
        data: args.data.clone(),
        rows: args.rows,
        out: args.out.clone(),
        counter,
        progress: &mut progress,
        kept: Kept::default(),
    };
    let mut reports = Vec::new();
    for experiment in chosen {
        let outcome = experiment.run(&mut context);
        if terminal {
            let _ = stderr().write_all(b"\r\x1b[K");
        }
        let outcome = outcome.map_err(failed)?;
        let provenance = Provenance::here(args.quick);
        let dir = output::write(&args.out, experiment, &provenance, &outcome).map_err(failed)?;
        let report = output::to_json(experiment, &provenance, &outcome);
        let report: Value = serde_json::from_str(&report)
            .map_err(|e| Error::new(ErrorKind::System, format!("JSON: {e}"), ""))?;
        if args.json {
            reports.push(report);
        } else {
            print(&verdicts(&report, paint))?;
            print(&format!("written to {}\n\n", dir.display()))?;
        }
    }
    if args.json { print_json(&reports) } else { Ok(()) }
}

/// Shows what a run left.
fn show(id: &str, out: &Path, as_json: bool, paint: Paint) -> Result<()> {
    let mut found = false;
    let mut reports = Vec::new();
    for experiment in registry::find(id).map_err(failed)? {
        let path = output::directory(out, experiment.id()).join("result.json");
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let report: Value = serde_json::from_str(&text).map_err(|e| {
            let cause = format!("{}: {e}", path.display());
            Error::new(ErrorKind::Usage, cause, "run the experiment again")
        })?;
        found = true;
        if as_json {
            reports.push(report);
        } else {
            print(&format!("{}\n", verdicts(&report, paint)))?;
        }
    }
    if !found {
        let cause = format!("{} has no result of {id}", out.display());
        let mend = format!("run it: slyfi lab run {id} --out {}", out.display());
        return Err(Error::new(ErrorKind::Usage, cause, mend));
    }
    if as_json { print_json(&reports) } else { Ok(()) }
}

/// A result for people: each claim with what was found.
fn verdicts(report: &Value, paint: Paint) -> String {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let mut out = paint.bold(&format!("{}: {}", text(report, "experiment"), text(report, "title")));
    let from = &report["provenance"];
    let quick = if from["quick"] == true { ", QUICK" } else { "" };
    out.push_str(&paint.dim(&format!(
        "\n{}, commit {}, {}{quick}\n",
        text(report, "source"),
        text(from, "commit"),
        text(from, "cpu")
    )));
    for note in report["notes"].as_array().into_iter().flatten() {
        out.push_str(&format!("! {}\n", note.as_str().unwrap_or_default()));
    }
    for finding in report["findings"].as_array().into_iter().flatten() {
        let verdict = text(finding, "verdict").replace('_', " ");
        let painted = match &verdict {
            v if [Verdict::Reproduced, Verdict::Better]
                .iter()
                .any(|good| *v == good.to_string()) =>
            {
                paint.good(&verdict)
            }
            v if *v == Verdict::NotReproduced.to_string() => paint.bad(&verdict),
            _ => paint.bold(&verdict),
        };
        let claim = &finding["claim"];
        out.push_str(&format!("{painted}: {} ({})\n", text(claim, "text"), text(claim, "place")));
        for line in [text(finding, "ours"), text(finding, "reason")] {
            if !line.is_empty() {
                out.push_str(&format!("    {line}\n"));
            }
        }
    }
    out
}
