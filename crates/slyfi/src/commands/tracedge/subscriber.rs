//! `slyfi tracedge subscribe`, `fetch`, `audit`, `prove`, `status`: the subscriber's side.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use slyfi_link::{Error, ErrorKind, Result};
use slyfi_linux::OsRandom;
use slyfi_tracedge::audit::{OwnRow, Subscription};
use slyfi_tracedge::evidence::Evidence;
use slyfi_tracedge::head::{CLOCK_SKEW, SignedHead};
use slyfi_tracedge::keys::OperatorId;
use slyfi_tracedge::log::{LogError, TreeHead};
use slyfi_tracedge::service::api::Route;
use slyfi_tracedge::subscriber::{self, SubscriberError, Which};

use super::https::client::Https;
use super::invite::Invite;
use super::kept::Kept;
use super::proof::{Proof, save, save_hints};
use super::state::State;
use super::{hex, now_s, read};
use crate::commands::{print, print_json};
use crate::output::{Paint, columns, span};

/// Which subscription.
#[derive(Debug, Args)]
pub struct SubscriberArgs {
    /// The subscriber's directory: key, receipt, what was fetched.
    #[arg(long, value_name = "DIR", default_value = "slyfi-subscriber")]
    pub dir: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tracedge subscribe`.
#[derive(Debug, Args)]
pub struct SubscribeArgs {
    #[command(flatten)]
    subscriber: SubscriberArgs,
    /// The invitation.
    #[arg(value_name = "FILE")]
    invite: PathBuf,
    /// The operator's id, as it has published it: 64 hexadecimal digits.
    #[arg(long, value_name = "ID")]
    operator: Option<OperatorId>,
}

/// Arguments of `tracedge fetch`.
#[derive(Debug, Args)]
pub struct FetchArgs {
    #[command(flatten)]
    subscriber: SubscriberArgs,
    /// The next epoch's key, ahead of time.
    #[arg(long)]
    next: bool,
    /// How many random rows to audit besides.
    #[arg(long, default_value_t = 1, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    audits: u32,
}

/// Arguments of `tracedge audit`.
#[derive(Debug, Args)]
pub struct AuditArgs {
    #[command(flatten)]
    subscriber: SubscriberArgs,
    /// How many random rows to audit.
    #[arg(long, default_value_t = 10, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    audits: u32,
}

/// Arguments of `tracedge prove`.
#[derive(Debug, Args)]
pub struct ProveArgs {
    #[command(flatten)]
    subscriber: SubscriberArgs,
}

/// Arguments of `tracedge status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    subscriber: SubscriberArgs,
}

/// What to do about each failure.
fn explain(e: SubscriberError<Error>) -> Error {
    let (kind, mend) = match &e {
        SubscriberError::Transport(way) => return way.clone(),
        SubscriberError::Status(404) => {
            (ErrorKind::NoLink, "the epoch has just ended, or not begun: try again in a minute")
        }
        SubscriberError::Status(503) => (ErrorKind::NoLink, "try again in a few seconds"),
        SubscriberError::NoEpoch => {
            (ErrorKind::NoLink, "try later: the operator builds epochs with `slyfi tracedge build`")
        }
        SubscriberError::Head(_) => {
            (ErrorKind::NoLink, "wrong epoch: is this machine's clock right? else try later")
        }
        SubscriberError::Refused => {
            (ErrorKind::NoLink, "fetch the key of this epoch: slyfi tracedge fetch")
        }
        SubscriberError::Log(LogError::NotNow | LogError::Unopened) => {
            (ErrorKind::NoLink, "is this machine's clock right? else try again in a minute")
        }
        SubscriberError::Log(_) | SubscriberError::Cheated(_) => {
            (ErrorKind::Invite, "the operator contradicts what it signed before: trust it no more")
        }
        _ => (ErrorKind::NoLink, "is it an operator of this version?"),
    };
    Error::new(kind, e.to_string(), mend)
}

/// Why there is no head: the clocks, if they differ, else what `e` says.
fn explain_head(way: &mut Kept, e: SubscriberError<Error>, now: u64) -> Error {
    let by_time =
        matches!(e, SubscriberError::Head(_) | SubscriberError::Log(_) | SubscriberError::NoEpoch);
    let signed = if by_time { way.get(Route::LogHead) } else { None };
    let theirs = signed.and_then(|bytes| TreeHead::decode(&bytes).ok()).map(|head| head.time);
    match theirs {
        Some(theirs) if theirs.abs_diff(now) > CLOCK_SKEW => {
            let side = if now < theirs { "behind" } else { "ahead of" };
            let apart = span(theirs.abs_diff(now));
            let cause =
                format!("wrong epoch: this machine's clock is {apart} {side} the operator's");
            let mend = "set the clock; if it is right, the operator's is wrong: tell it";
            Error::new(ErrorKind::NoLink, cause, mend)
        }
        _ => explain(e),
    }
}

/// Saves what proves by itself, without an answer, that the operator cheated, and says where.
fn contradicted(
    dir: &Path,
    evidence: &Evidence,
    operator: &OperatorId,
    mine: &Subscription,
) -> Error {
    let cause = "the operator contradicts itself";
    // Whoever publishes a proof has to know what else he publishes.
    let whose = if evidence.names(&mine.receipt) { "-names-me" } else { "" };
    let name = format!("evidence-{}{whose}.te", evidence.kind());
    match Proof::save(dir, &name, 0, evidence, operator, [None, None]) {
        Ok(proof) => proof.caught(cause),
        Err(e) => {
            let kind = evidence.kind();
            Error::new(e.kind, format!("{cause} ({kind}), but the proof was lost: {e}"), "")
        }
    }
}

fn make_dir(dir: &Path) -> Result<()> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|e| Error::system(dir.display(), &e))
}

/// `slyfi tracedge subscribe`
pub fn subscribe(args: &SubscribeArgs, paint: Paint) -> Result<()> {
    let dir = &args.subscriber.dir;
    let invite = Invite::parse(&read(&args.invite)?)?;
    let bad =
        |cause: &str| Error::new(ErrorKind::Invite, cause, "ask the operator for a new invitation");
    let operator: OperatorId =
        invite.operator.parse().map_err(|e| bad(&format!("the invitation: {e}")))?;
    if args.operator.is_some_and(|published| published != operator) {
        return Err(bad(&format!("this invitation is of another operator, {operator}")));
    }
    let invitation = hex::array(&invite.invitation).ok_or_else(|| bad("no invitation in it"))?;
    make_dir(dir)?;
    if State::path(dir).exists() {
        let cause = format!("{} has a subscription already", dir.display());
        return Err(Error::new(ErrorKind::Usage, cause, "name another directory with --dir"));
    }
    let mut way = Https::connect(&invite.url, &invite.authority)?;
    let secret = State::asking_key(dir, &invite.invitation)?;
    let mine = subscriber::subscribe(&mut way, &operator, &invitation, secret, &mut OsRandom);
    let mine = mine.map_err(|e| match e {
        SubscriberError::Status(403) => bad("the invitation is spent, expired or wrong"),
        e => explain(e),
    })?;
    let state = State::new(&invite.url, &invite.authority, &mine);
    state.write(dir)?;
    State::asked(dir);
    if args.subscriber.json {
        return print_json(&status_of(&state)?);
    }
    print(&format!(
        "{}: row {} of operator {operator}, from epoch {} on\n",
        paint.good("subscribed"),
        mine.receipt.index,
        mine.receipt.first_epoch,
    ))
}

/// What a retrieval came to, for programs.
#[derive(Serialize)]
struct Fetched {
    epoch: u64,
    not_before: u64,
    not_after: u64,
    rows_checked: u64,
}

/// `slyfi tracedge fetch`
pub fn fetch(args: &FetchArgs, paint: Paint) -> Result<()> {
    let which = if args.next { Which::Next } else { Which::Current };
    retrieve(&args.subscriber, which, args.audits, paint)
}

/// `slyfi tracedge audit`
pub fn audit(args: &AuditArgs, paint: Paint) -> Result<()> {
    retrieve(&args.subscriber, Which::Current, args.audits, paint)
}

fn retrieve(args: &SubscriberArgs, which: Which, audits: u32, paint: Paint) -> Result<()> {
    let dir = &args.dir;
    let mut state = State::read(dir)?;
    let (operator, mine, mut seen) = (state.operator()?, state.subscription()?, state.seen()?);
    let (url, authority) = (state.url.clone(), state.authority.clone());
    let connect = || Https::connect(&url, &authority).map(Kept::new);
    let (mut way, mut gone) = (connect()?, None);
    let (head, conclusion, now) = loop {
        let now = now_s();
        let head = match subscriber::head(&mut way, &operator, &mut seen, which, now) {
            Ok(head) => head,
            Err(SubscriberError::Cheated(evidence)) => {
                return Err(contradicted(dir, &evidence, &operator, &mine));
            }
            Err(e) => return Err(explain_head(&mut way, e, now)),
        };
        let epoch = head.head().epoch;
        if which == Which::Next && epoch.not_before <= now {
            let cause = "the operator has not built the next epoch yet";
            return Err(Error::new(ErrorKind::NoLink, cause, "try later, or leave --next out"));
        }
        // What was accepted of the log stays accepted, whatever comes of the rest.
        state.saw(&seen, &head);
        state.write(dir)?;
        match subscriber::fetch(&mut way, &head, &mine, audits, &mut OsRandom) {
            Ok(conclusion) => break (head, conclusion, now),
            // It ended while it was asked about: the head of the one after it is there.
            Err(SubscriberError::Status(404)) if gone != Some(epoch.number) => {
                (way, gone) = (connect()?, Some(epoch.number));
            }
            Err(SubscriberError::Cheated(evidence)) => {
                return Err(contradicted(dir, &evidence, &operator, &mine));
            }
            Err(e) => return Err(explain(e)),
        }
    };
    let epoch = head.head().epoch;
    let mut saved = Vec::new();
    for (n, evidence) in conclusion.evidence.iter().enumerate() {
        // Whoever publishes a proof has to know what else he publishes.
        let whose = if evidence.names(&mine.receipt) { "-names-me" } else { "" };
        let name = format!("evidence-{}-{n}{whose}.te", epoch.number);
        saved.push(Proof::save(dir, &name, epoch.number, evidence, &operator, way.hints())?);
    }
    if let OwnRow::Opened(secret) = &conclusion.own {
        state.keep(&epoch, secret.key(), now);
        state.write(dir)?;
    }
    if let OwnRow::Failed { pending: Some(pending), .. } = &conclusion.own {
        // It becomes a proof with K, which the log has when the epoch is over.
        save(dir, &format!("pending-{}.te", epoch.number), &pending.encode_pending())?;
        save_hints(dir, epoch.number, way.hints())?;
    }
    if let Some(proof) = saved.first() {
        return Err(proof.caught("the operator was caught cheating"));
    }
    if let OwnRow::Failed { revoked, pending, .. } = &conclusion.own {
        return Err(not_opened(&head, *revoked, pending.is_some(), mine.receipt.first_epoch));
    }
    let report = Fetched {
        epoch: epoch.number,
        not_before: epoch.not_before,
        not_after: epoch.not_after,
        rows_checked: conclusion.checked,
    };
    if args.json {
        return print_json(&report);
    }
    let when = match epoch.not_before.saturating_sub(now) {
        0 => format!("ends in {}", span(epoch.not_after.saturating_sub(now))),
        wait => format!("begins in {}", span(wait)),
    };
    print(&format!(
        "{} of epoch {}, which {when}; {} rows checked, nothing wrong\n",
        paint.good("key"),
        report.epoch,
        report.rows_checked,
    ))
}

/// Why the own row does not open.
fn not_opened(head: &SignedHead, revoked: bool, pending: bool, first_epoch: u64) -> Error {
    let number = head.head().epoch.number;
    if !revoked {
        let cause = format!("this subscriber's row of epoch {number} holds no key that fits");
        let mend = if pending {
            "when the epoch is over, prove it: slyfi tracedge complete"
        } else {
            "whole-table audits prove it when the epoch is over: slyfi tracedge audit-table"
        };
        return Error::new(ErrorKind::Invite, cause, mend);
    }
    let cause = format!("not subscribed in epoch {number}: the row is vacant");
    if number < first_epoch {
        let mend = format!("the subscription begins with epoch {first_epoch}: fetch then");
        return Error::new(ErrorKind::Invite, cause, mend);
    }
    Error::new(ErrorKind::Invite, cause, "the subscription was ended: ask the operator")
}

/// `slyfi tracedge prove`
pub fn prove(args: &ProveArgs, paint: Paint) -> Result<()> {
    #[derive(Serialize)]
    struct Proved {
        epoch: u64,
    }
    let state = State::read(&args.subscriber.dir)?;
    let now = now_s();
    let Some(fetched) = state.current(now) else {
        let newest = state.keys.last().map_or(String::new(), |key| {
            match (key.not_before.checked_sub(now), now.checked_sub(key.not_after)) {
                (Some(wait), _) => {
                    format!(" (that of epoch {} begins in {})", key.epoch, span(wait))
                }
                (_, Some(ago)) => format!(" (that of epoch {} ended {} ago)", key.epoch, span(ago)),
                _ => String::new(),
            }
        });
        let cause = format!("there is no key of this epoch{newest}");
        return Err(Error::new(ErrorKind::NoLink, cause, "slyfi tracedge fetch"));
    };
    let (epoch, key) = (fetched.epoch, fetched.key()?);
    let mut way = Https::connect(&state.url, &state.authority)?;
    // The session's keys are for whoever carries packets; there is nobody yet.
    subscriber::prove(&mut way, epoch, &key, &mut OsRandom).map_err(explain)?;
    if args.subscriber.json {
        return print_json(&Proved { epoch });
    }
    print(&format!("{} in epoch {epoch}; the operator knows K too\n", paint.good("logged on")))
}

/// What a subscriber has, for programs.
#[derive(Serialize)]
struct Status {
    operator: String,
    url: String,
    row: u64,
    first_epoch: u64,
    until: u64,
    seen_epoch: Option<u64>,
    /// The epochs whose keys are there.
    keys: Vec<u64>,
    current: Option<u64>,
}

fn status_of(state: &State) -> Result<Status> {
    let receipt = state.subscription()?.receipt;
    Ok(Status {
        operator: receipt.operator.to_string(),
        url: state.url.clone(),
        row: receipt.index,
        first_epoch: receipt.first_epoch,
        until: receipt.until,
        seen_epoch: state.seen()?.epoch,
        keys: state.keys.iter().map(|key| key.epoch).collect(),
        current: state.current(now_s()).map(|key| key.epoch),
    })
}

/// `slyfi tracedge status`
pub fn status(args: &StatusArgs) -> Result<()> {
    let status = status_of(&State::read(&args.subscriber.dir)?)?;
    if args.subscriber.json {
        return print_json(&status);
    }
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let number = |n: Option<u64>| n.map_or("none".to_owned(), |n| n.to_string());
    let keys: Vec<_> = status.keys.iter().map(u64::to_string).collect();
    print(&columns(&[
        row("operator", status.operator),
        row("at", status.url),
        row("row", format!("{}, from epoch {} on", status.row, status.first_epoch)),
        row("receipt holds", span(status.until.saturating_sub(now_s()))),
        row("newest epoch seen", number(status.seen_epoch)),
        row("keys of epochs", if keys.is_empty() { "none".to_owned() } else { keys.join(", ") }),
        row("log on with", number(status.current)),
    ]))
}
