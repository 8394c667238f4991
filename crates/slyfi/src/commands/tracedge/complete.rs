//! `slyfi tracedge complete`: what did not open becomes a proof when K is published.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use slyfi_link::{Error, ErrorKind, Result};
use slyfi_tracedge::epoch::EpochKey;
use slyfi_tracedge::evidence::{Aids, Evidence, NotEvidence, WrongRetrieval};
use slyfi_tracedge::keys::OperatorId;
use slyfi_tracedge::log::{Entry, opens};
use slyfi_tracedge::merkle::{leaf_hash, log};
use slyfi_tracedge::recent::{RECENT, Recent};
use slyfi_tracedge::service::api::Route;

use super::https::client::Https;
use super::kept::{Kept, Log};
use super::proof::{Proof, hint_paths};
use super::state::State;
use super::subscriber::SubscriberArgs;
use super::{now_s, read};
use crate::commands::{print, print_json};
use crate::output::{Paint, span};

/// How many entries of the log are asked for together: which one was looked for is not told.
const BLOCK: u64 = 64;

/// Arguments of `tracedge complete`.
#[derive(Debug, Args)]
pub struct CompleteArgs {
    #[command(flatten)]
    subscriber: SubscriberArgs,
}

/// What became of a row that did not open, for programs.
#[derive(Serialize)]
struct Completed {
    epoch: u64,
    /// The proof; `None` if the answer turns out to be what it should: retrieval decoded it wrongly, by accident.
    evidence: Option<String>,
}

/// The files that wait.
fn pending(dir: &Path) -> Result<Vec<PathBuf>> {
    let failed = |e| Error::system(dir.display(), &e);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        if name.starts_with("pending-") && name.ends_with(".te") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// `slyfi tracedge complete`
pub fn run(args: &CompleteArgs, paint: Paint) -> Result<()> {
    let dir = &args.subscriber.dir;
    let state = State::read(dir)?;
    let operator = state.operator()?;
    let files = pending(dir)?;
    let mut done = Vec::new();
    let mut caught = None;
    if !files.is_empty() {
        let mut way = Kept::new(Https::connect(&state.url, &state.authority)?);
        let shown = Log::get(&mut way, &operator)?;
        let seen = state.seen()?.tree_head;
        if let Some(evidence) = seen.and_then(|seen| shown.against(&[seen])) {
            let none = [None, None];
            let proof = Proof::save(dir, "evidence-log.te", 0, &evidence, &operator, none)?;
            return Err(proof.caught("the log does not continue what was seen of it before"));
        }
        let recent = recent(&mut way, &shown)?;
        for file in files {
            let (completed, proof) = complete(dir, &file, &operator, &mut way, (&shown, &recent))?;
            done.push(completed);
            caught = caught.or(proof);
        }
    }
    if args.subscriber.json {
        print_json(&done)?;
    } else if done.is_empty() {
        print("nothing waits: every row that was fetched did open, or its proof is complete\n")?;
    } else {
        for Completed { epoch, evidence } in &done {
            let what = match evidence {
                Some(path) => format!("{}, see {path}", paint.bad("the operator cheated")),
                None => paint.good("an accident of decoding, and no cheat"),
            };
            print(&format!("epoch {epoch}: {what}\n"))?;
        }
    }
    match caught {
        Some(proof) => Err(proof.caught("the operator was caught cheating")),
        None => Ok(()),
    }
}

fn complete(
    dir: &Path,
    file: &Path,
    operator: &OperatorId,
    way: &mut Kept,
    (shown, recent): (&Log, &Recent),
) -> Result<(Completed, Option<Proof>)> {
    let damaged = |e: &dyn std::fmt::Display| {
        let mend = "move it away: nothing can be proved with it";
        Error::new(ErrorKind::Store, format!("{}: {e}", file.display()), mend)
    };
    let waiting = WrongRetrieval::decode_pending(&read(file)?).map_err(|e| damaged(&e))?;
    let head = waiting.head().clone();
    let epoch = head.head().epoch;
    let Some((index, key)) = opening(way, shown, recent, epoch.number)? else {
        let cause = format!("K of epoch {} is not in the log", epoch.number);
        let mend = match epoch.not_after.saturating_sub(now_s()) {
            0 => "the operator owes it, minutes after the epoch: if it never comes, say so"
                .to_owned(),
            left => format!("it comes when the epoch is over: try again in {}", span(left + 600)),
        };
        return Err(Error::new(ErrorKind::NoLink, cause, mend));
    };
    let evidence = if opens(&epoch, &head.head().commitment, &key) {
        waiting.complete(key)
    } else {
        let proof = log::inclusion(&shown.leaves, index as usize);
        Evidence::WrongOpening { head, tree_head: shown.head, index, key, proof }
    };
    let hints = hint_paths(dir, epoch.number).map(|path| std::fs::read(path).ok());
    let hints = [hints[0].as_deref(), hints[1].as_deref()];
    let proof = match evidence.verify(operator, &Aids { hint: hints[0], ..Aids::default() }) {
        Ok(_) => {
            let name = format!("evidence-{}-own-names-me.te", epoch.number);
            Some(Proof::save(dir, &name, epoch.number, &evidence, operator, hints)?)
        }
        Err(NotEvidence::ShowsNothing(_)) => None,
        Err(e) => return Err(damaged(&e)),
    };
    std::fs::remove_file(file).map_err(|e| Error::system(file.display(), &e))?;
    let path = proof.as_ref().map(|proof| proof.path().display().to_string());
    Ok((Completed { epoch: epoch.number, evidence: path }, proof))
}

/// What everybody who fetches reads first, in the same order; here for the end of the log.
fn recent(way: &mut Kept, shown: &Log) -> Result<Recent> {
    let bytes = way.get(Route::LogRecent { size: shown.head.size });
    let recent = bytes.and_then(|bytes| Recent::decode(&bytes, &shown.leaves).ok());
    // Not for what it says: up to here it looks like `fetch --next` before there is a next epoch.
    let _ = way.get(Route::Epochs);
    recent.ok_or_else(|| {
        let cause = "what came is not the end of the log that the operator signed";
        Error::new(ErrorKind::NoLink, cause, "try again; is it an operator of this version?")
    })
}

/// Finds K of an epoch in the log: at its end, which everybody reads, or before.
fn opening(
    way: &mut Kept,
    shown: &Log,
    recent: &Recent,
    wanted: u64,
) -> Result<Option<(u64, EpochKey)>> {
    if let Some((index, key)) = recent.opening(wanted) {
        return Ok(Some((index, key.clone())));
    }
    if recent.reaches_back_to(wanted) {
        return Ok(None);
    }
    // Who closed standard error is not told, and wants the proof all the same.
    let _ = writeln!(
        std::io::stderr(),
        "slyfi: warning: K of epoch {wanted} is no longer among the last {RECENT} entries of the log, \
         which everybody reads; older ones are asked for now, {BLOCK} at a time. That tells the operator, \
         by the address it comes from, that somebody's row did not open about then"
    );
    older(way, shown, recent.first(), wanted)
}

/// Finds K of an epoch among the entries before `end`, from the last on.
fn older(way: &mut Kept, shown: &Log, end: u64, wanted: u64) -> Result<Option<(u64, EpochKey)>> {
    let odd = |index| {
        let cause = format!("entry {index} of the operator's log is not what was signed");
        Error::new(ErrorKind::NoLink, cause, "try again; is it an operator of this version?")
    };
    let mut found = None;
    let mut passed = false;
    for index in (0..end).rev() {
        let bytes = way.get(Route::LogEntry { index }).ok_or_else(|| odd(index))?;
        if shown.leaves.get(index as usize) != Some(&leaf_hash(&bytes)) {
            return Err(odd(index));
        }
        match Entry::decode(&bytes).map_err(|_| odd(index))? {
            Entry::Opening { epoch, key } if epoch == wanted => found = Some((index, key)),
            Entry::Opening { .. } => (),
            // Heads are logged in order, each before its own K.
            Entry::Head(head) => passed |= head.epoch.number <= wanted,
        }
        if (passed || found.is_some()) && index.is_multiple_of(BLOCK) {
            break;
        }
    }
    Ok(found)
}
