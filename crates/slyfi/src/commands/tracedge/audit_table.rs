use std::num::NonZeroUsize;

use serde::Serialize;
use slyfi_link::{Error, ErrorKind, Result};
use slyfi_linux::{Clock, OsRandom};
use slyfi_tracedge::audit::{KeySum, WholeError};
use slyfi_tracedge::epoch::{EpochKey, EpochSecret};
use slyfi_tracedge::evidence::{Evidence, WrongRow};
use slyfi_tracedge::head::SignedHead;
use slyfi_tracedge::pieces::Work;
use slyfi_tracedge::table;

use super::{AuditTableArgs, failed, read};
use crate::commands::{print, print_json};
use crate::output::Paint;

/// What was found, for programs.
#[derive(Serialize)]
struct Report {
    operator: String,
    epoch: u64,
    rows: u64,
    wrong_rows: Vec<u64>,
    evidence: Option<String>,
    seconds: f64,
}

/// `slyfi tracedge audit-table`
pub fn run(args: &AuditTableArgs, paint: Paint) -> Result<()> {
    let usage = |cause: String, mend: &str| Error::new(ErrorKind::Usage, cause, mend);
    let head = SignedHead::decode(&read(&args.head)?)
        .map_err(|e| usage(format!("{}: {e}", args.head.display()), "give another --head"))?;
    let (rows, keys) = (read(&args.table)?, read(&args.keys)?);
    let key = key(&read(&args.key_file)?)
        .ok_or_else(|| usage(format!("{}: no K", args.key_file.display()), "32 hex digits"))?;
    let epoch = &head.head().epoch;
    let secret = EpochSecret::derive(epoch, key.clone());
    if *secret.commitment() != head.head().commitment {
        let cause = "this K is not the one that the head commits to".to_owned();
        return Err(usage(cause, "take K of this epoch, from the log or your own retrieval"));
    }
    let layout = head.head().directory_layout;
    let theirs = keys.len() as u64 == layout.rows() * 32
        && layout.tree(&keys).root() == head.head().directory_root
        && table::tree(&rows).root() == head.head().table_root;
    if !theirs {
        let cause = "table or keys are not what the head commits to".to_owned();
        return Err(usage(cause, "fetch the files of this epoch again"));
    }
    let workers = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let work = Work { workers, ..Work::quiet() };
    let began = Clock::new().now().mono.as_micros();
    let checked = KeySum::new(&keys, &mut OsRandom, &work)
        .and_then(|sum| sum.check(&secret, &rows, &keys, &work));
    let wrong_rows = match checked {
        Ok(()) => Vec::new(),
        Err(WholeError::WrongRows(wrong)) => wrong,
        // Whose key is none cannot have a right row.
        Err(WholeError::NotAKey(row)) => vec![row],
        Err(e) => return Err(failed("the audit", &e)),
    };
    let seconds = (Clock::new().now().mono.as_micros() - began) as f64 / 1e6;
    let mut saved = None;
    if let Some(row) = wrong_rows.first() {
        let wrong = WrongRow::prove(&head, &key, *row, &rows, &keys)
            .ok_or_else(|| failed("the evidence", &"the row is not there"))?;
        let bytes = Evidence::WrongRow(Box::new(wrong)).encode();
        std::fs::write(&args.evidence, bytes)
            .map_err(|e| Error::system(args.evidence.display(), &e))?;
        saved = Some(args.evidence.display().to_string());
    }
    let report = Report {
        operator: epoch.operator.to_string(),
        epoch: epoch.number,
        rows: layout.rows(),
        wrong_rows,
        evidence: saved,
        seconds,
    };
    if args.json {
        print_json(&report)?;
    } else if report.wrong_rows.is_empty() {
        let all = format!("all {} rows hold K", report.rows);
        print(&format!("{} ({:.1} s)\n", paint.good(&all), report.seconds))?;
    }
    match report.evidence {
        None => Ok(()),
        Some(path) => Err(Error::new(
            ErrorKind::Invite,
            format!("{} of {} rows do not hold K", report.wrong_rows.len(), report.rows),
            format!(
                "the proof is in {path}: slyfi tracedge verify-evidence {path} --operator {}",
                report.operator
            ),
        )),
    }
}

/// Reads 32 hexadecimal digits.
fn key(text: &[u8]) -> Option<EpochKey> {
    let text = core::str::from_utf8(text).ok()?.trim();
    if text.len() != 32 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let mut key = [0; 16];
    for (at, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(EpochKey::from_bytes(key))
}
