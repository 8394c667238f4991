//! `slyfi tracedge heads`: two subscribers compare what the operator has shown them.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};
use slyfi_link::{Error, ErrorKind, Result};
use slyfi_tracedge::evidence::{Aids, Evidence};
use slyfi_tracedge::head::SignedHead;
use slyfi_tracedge::keys::OperatorId;
use slyfi_tracedge::log::TreeHead;

use super::https::client::Https;
use super::kept::{Kept, Log};
use super::proof::Proof;
use super::state::State;
use super::subscriber::SubscriberArgs;
use super::{failed, hex, read};
use crate::commands::{print, print_json};
use crate::output::Paint;

/// Arguments of `tracedge heads`.
#[derive(Debug, Args)]
pub struct HeadsArgs {
    #[command(flatten)]
    subscriber: SubscriberArgs,
    /// Write what the operator has shown this subscriber to a file, for another one (- is standard
    /// output). It says nothing about who he is.
    #[arg(long, value_name = "FILE", required_unless_present = "compare")]
    export: Option<PathBuf>,
    /// Compare it with what the operator has shown another one.
    #[arg(long, value_name = "FILE", conflicts_with = "export")]
    compare: Option<PathBuf>,
}

/// What an operator has shown a subscriber, signed by it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shown {
    operator: String,
    /// Where the invitation says that it is, and whom it says to trust: the same for all, or it knows
    /// everybody by his own.
    url: String,
    authority: String,
    /// The newest state of its log.
    tree_head: String,
    /// The heads of the last epochs.
    heads: Vec<String>,
}

/// The same, with its signatures checked.
struct Signed {
    tree_head: TreeHead,
    heads: Vec<SignedHead>,
}

/// Refuses an address that is not the other one's.
fn same_address(state: &State, theirs: &Shown) -> Result<()> {
    if (&state.url, &state.authority) == (&theirs.url, &theirs.authority) {
        return Ok(());
    }
    let cause = format!(
        "your invitation has another address or authority than the other's: {} and {}",
        state.url, theirs.url
    );
    let mend = "whoever has an address of his own is known by it: ask the operator why";
    Err(Error::new(ErrorKind::Invite, cause, mend))
}

impl Shown {
    fn read(path: &Path, operator: &OperatorId) -> Result<(Shown, Signed)> {
        let bad = |what: &str| {
            let mend = "ask for the file that `slyfi tracedge heads --export` wrote";
            Error::new(ErrorKind::Usage, format!("{}: {what}", path.display()), mend)
        };
        let shown: Shown = serde_json::from_slice(&read(path)?).map_err(|e| bad(&e.to_string()))?;
        let tree_head = hex::decode(&shown.tree_head).and_then(|b| TreeHead::decode(&b).ok());
        let tree_head = tree_head.ok_or_else(|| bad("no tree head that its operator signed"))?;
        let head = |text: &String| SignedHead::decode(&hex::decode(text)?).ok();
        let heads: Option<Vec<_>> = shown.heads.iter().map(head).collect();
        let heads = heads.ok_or_else(|| bad("a head that its operator did not sign"))?;
        let theirs = heads.iter().map(|head| head.head().epoch.operator);
        if theirs.chain([tree_head.operator]).any(|theirs| theirs != *operator) {
            return Err(bad(&format!("it is about another operator than yours, {operator}")));
        }
        Ok((shown, Signed { tree_head, heads }))
    }
}

/// What the comparison came to, for programs.
#[derive(Serialize)]
struct Compared {
    /// `equal` or `consistent`.
    outcome: &'static str,
    /// How much of the log either has seen, entries.
    mine: u64,
    theirs: u64,
    /// Epochs whose heads both have.
    epochs_in_common: u64,
}

/// `slyfi tracedge heads`
pub fn run(args: &HeadsArgs, paint: Paint) -> Result<()> {
    let dir = &args.subscriber.dir;
    let state = State::read(dir)?;
    let (operator, seen, heads) = (state.operator()?, state.seen()?, state.heads()?);
    let tree_head = seen.tree_head.ok_or_else(|| {
        let cause = "the operator has shown this subscriber nothing yet";
        Error::new(ErrorKind::NoLink, cause, "slyfi tracedge fetch")
    })?;
    let mine = Signed { tree_head, heads };
    let Some(path) = &args.compare else {
        // The parser asks for one of the two.
        return args.export.as_ref().map_or(Ok(()), |path| export(path, &state, &mine));
    };
    let (shown, theirs) = Shown::read(path, &operator)?;
    let compared = compare(&state, dir, &operator, (&mine, &theirs))?;
    same_address(&state, &shown)?;
    if args.subscriber.json {
        return print_json(&compared);
    }
    let Compared { outcome, mine, theirs, epochs_in_common } = compared;
    print(&format!(
        "{}: one log, of which you saw {mine} entries and the other {theirs}; {epochs_in_common} heads in \
         common, the same\n",
        paint.good(outcome),
    ))
}

fn export(path: &Path, state: &State, mine: &Signed) -> Result<()> {
    let shown = Shown {
        operator: state.operator()?.to_string(),
        url: state.url.clone(),
        authority: state.authority.clone(),
        tree_head: hex::encode(&mine.tree_head.encode()),
        heads: mine.heads.iter().map(|head| hex::encode(&head.encode())).collect(),
    };
    if path.as_os_str() == "-" {
        return print_json(&shown);
    }
    let json = serde_json::to_vec_pretty(&shown).map_err(|e| failed("the heads", &e))?;
    std::fs::write(path, json).map_err(|e| Error::system(path.display(), &e))
}

fn compare(
    state: &State,
    dir: &Path,
    operator: &OperatorId,
    (mine, theirs): (&Signed, &Signed),
) -> Result<Compared> {
    let caught = |evidence: &Evidence| {
        let cause = "the operator was caught cheating: it shows people different logs or heads";
        match Proof::save(dir, "evidence-heads.te", 0, evidence, operator, [None, None]) {
            Ok(proof) => proof.caught(cause),
            Err(e) => e,
        }
    };
    let mut epochs_in_common = 0;
    for one in &mine.heads {
        for other in &theirs.heads {
            let same = one.head().epoch.number == other.head().epoch.number;
            epochs_in_common += u64::from(same);
            let (one, other) = (Box::new(one.clone()), Box::new(other.clone()));
            let evidence = Evidence::TwoHeads { one, other };
            if evidence.verify(operator, &Aids::default()).is_ok() {
                return Err(caught(&evidence));
            }
        }
    }
    let (a, b) = (mine.tree_head, theirs.tree_head);
    let compared = |outcome| Compared { outcome, mine: a.size, theirs: b.size, epochs_in_common };
    if (a.size, a.root) == (b.size, b.root) {
        return Ok(compared("equal"));
    }
    // One of them has seen more: the operator has to show that this is more of the same. What is asked
    // for does not depend on what either has seen.
    let mut way = Kept::new(Https::connect(&state.url, &state.authority)?);
    let log = Log::get(&mut way, operator)?;
    if let Some(evidence) = log.against(&[a, b]) {
        return Err(caught(&evidence));
    }
    if log.continues(&a) && log.continues(&b) {
        return Ok(compared("consistent"));
    }
    let (shows, signed) = (log.head.size, a.size.max(b.size));
    let cause =
        format!("the operator shows a log of {shows} entries, and has signed one of {signed}");
    let mend = "it hides something, or has restored an old store: compare again later";
    Err(Error::new(ErrorKind::NoLink, cause, mend))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slyfi_linux::OsRandom;
    use slyfi_tracedge::audit::Subscription;
    use slyfi_tracedge::enrol::Receipt;
    use slyfi_tracedge::keys::{OperatorKeys, SecretKey};

    #[test]
    fn an_address_of_ones_own_is_noticed() {
        let (keys, secret) =
            (OperatorKeys::generate(&mut OsRandom), SecretKey::generate(&mut OsRandom));
        let receipt = Receipt::sign(&keys, 7, secret.public(), 0, 1_000);
        let mine = State::new("https://a.example", "authority", &Subscription { receipt, secret });
        let compare = |url: &str, authority: &str| {
            let (url, authority) = (url.to_owned(), authority.to_owned());
            let (operator, tree_head) = (keys.id().to_string(), String::new());
            same_address(&mine, &Shown { operator, url, authority, tree_head, heads: Vec::new() })
        };
        assert!(compare("https://a.example", "authority").is_ok());
        for (url, authority) in
            [("https://a7.example", "authority"), ("https://a.example", "authority of your own")]
        {
            let refused = compare(url, authority).unwrap_err();
            assert!(refused.cause.contains("another address or authority"), "{}", refused.cause);
        }
    }
}
