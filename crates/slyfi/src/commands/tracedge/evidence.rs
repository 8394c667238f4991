use serde::Serialize;
use slyfi_link::{Error, ErrorKind, Result};
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
    let verdict = evidence.verify(&operator, &aids).map_err(|e| {
        let mend = match &e {
            NotEvidence::Needs(_) => "give --table, --keys or --hint with the epoch's public file",
            NotEvidence::WrongAid(_) => "give the file of the epoch that the evidence is about",
            NotEvidence::AnotherOperator(_) | NotEvidence::ShowsNothing(_) => "",
        };
        // The file is no good as a proof, as a damaged invite is none as an invitation.
        Error::new(ErrorKind::Invite, format!("{}: {e}", args.file.display()), mend)
    })?;
    if args.json {
        return print_json(&Report {
            kind: evidence.kind(),
            operator: verdict.operator.to_string(),
            epoch: verdict.epoch,
            finding: &verdict.finding,
            conclusive: verdict.conclusive,
        });
    }
    let epoch = verdict.epoch.map_or(String::new(), |epoch| format!(" in epoch {epoch}"));
    print(&format!(
        "{}: operator {operator}{epoch}\n  {} ({})\n",
        paint.bad("proved"),
        verdict.finding,
        evidence.kind(),
    ))?;
    if !verdict.conclusive {
        print(
            "  An accident of decoding is not ruled out (it is rare, docs/tracedge.md §8): --table with \
             the epoch's table settles it.\n",
        )?;
    }
    Ok(())
}
