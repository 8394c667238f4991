use serde::Serialize;
use slyfi_link::{Error, ErrorKind, Result};
use slyfi_tracedge::answer::Database;
use slyfi_tracedge::evidence::{Aids, Evidence, NotEvidence};
use slyfi_tracedge::keys::OperatorId;

use super::{VerifyArgs, read};
use crate::commands::{print, print_json};
use crate::output::Paint;

/// A verdict, for programs.
#[derive(Serialize)]
struct Report<'a> {
    kind: &'a str,
    operator: String,
    epoch: Option<u64>,
    finding: &'a str,
    conclusive: bool,
}

/// `slyfi tracedge verify-evidence FILE --operator ID`
pub fn verify(args: &VerifyArgs, paint: Paint) -> Result<()> {
    let usage = |cause: String, mend: &str| Error::new(ErrorKind::Usage, cause, mend);
    let operator: OperatorId = args.operator.parse().map_err(|e| {
        usage(format!("--operator: {e}"), "take it from your receipt: `slyfi tracedge status`")
    })?;
    let evidence = Evidence::decode(&read(&args.file)?).map_err(|e| {
        usage(format!("{}: {e}", args.file.display()), "was the file cut short or changed?")
    })?;
    let [table, keys, hint] =
        [&args.table, &args.keys, &args.hint].map(|path| path.as_deref().map(read).transpose());
    let (table, keys, hint) = (table?, keys?, hint?);
    let aids = Aids { table: table.as_deref(), keys: keys.as_deref(), hint: hint.as_deref() };
    let refused = |kind, e: &NotEvidence, mend: &str| {
        Error::new(kind, format!("{}: {e}", args.file.display()), mend)
    };
    let verdict = evidence.verify(&operator, &aids).map_err(|e| match &e {
        NotEvidence::Needs(_) => {
            let mend = "give --table, --keys or --hint with the epoch's public file";
            refused(ErrorKind::Inconclusive, &e, mend)
        }
        NotEvidence::WrongAid(_) => {
            let mend = "give the file of the epoch that the evidence is about";
            refused(ErrorKind::Inconclusive, &e, mend)
        }
        NotEvidence::AnotherOperator(_) | NotEvidence::ShowsNothing(_) => {
            refused(ErrorKind::NotProved, &e, "")
        }
    })?;
    if args.json {
        print_json(&Report {
            kind: evidence.kind(),
            operator: verdict.operator.to_string(),
            epoch: verdict.epoch,
            finding: &verdict.finding,
            conclusive: verdict.conclusive,
        })?;
    } else {
        let epoch = verdict.epoch.map_or(String::new(), |epoch| format!(" in epoch {epoch}"));
        let outcome = if verdict.conclusive { "proved" } else { "not settled" };
        let (outcome, finding) = (paint.bad(outcome), &verdict.finding);
        let kind = evidence.kind();
        print(&format!("{outcome}: operator {operator}{epoch}\n  {finding} ({kind})\n"))?;
    }
    if verdict.conclusive {
        return Ok(());
    }
    let cause = format!(
        "{}: a signed answer is wrong, but an accident of decoding is not ruled out (it is rare, \
         docs/tracedge.md §8)",
        args.file.display(),
    );
    let mend = match evidence.settled_by() {
        Some(Database::Directory) => "--keys with the epoch's list of keys settles it",
        _ => "--table with the epoch's table settles it",
    };
    Err(Error::new(ErrorKind::Inconclusive, cause, mend))
}
