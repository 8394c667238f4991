//! What evidence proves.

use core::fmt;

use slyfi_pir::{Preparation, registry};

use super::{Evidence, Subject, WrongAnswer, WrongRetrieval, WrongRow};
use crate::answer::Database;
use crate::directory::KeyBlock;
use crate::enrol::Receipt;
use crate::epoch::{EpochKey, EpochSecret, ROW_BYTES};
use crate::head::{CLOCK_SKEW, Head, ROWS_PER_LEAF, SignedHead};
use crate::keys::{OperatorId, PublicKey};
use crate::log::{Entry, TreeHead, opens};
use crate::merkle::{Hash, is_block, leaf_hash, log, sha256};
use crate::random::SeededRandom;
use crate::table;

/// Public files that some evidence needs besides itself. All are checked against the head.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aids<'a> {
    /// The retrieval hint of the database in question, if its scheme has one.
    pub hint: Option<&'a [u8]>,
    /// The whole table.
    pub table: Option<&'a [u8]>,
    /// The whole list of keys.
    pub keys: Option<&'a [u8]>,
}

/// What is proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Against whom.
    pub operator: OperatorId,
    /// The epoch it happened in, if it is about one.
    pub epoch: Option<u64>,
    /// In words.
    pub finding: String,
    /// Whether a decoding accident of retrieval is ruled out. Where it is not, the whole table
    /// settles it ([`Aids::table`]).
    pub conclusive: bool,
}

/// Why evidence proves nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotEvidence {
    /// It is about another operator.
    AnotherOperator(OperatorId),
    /// It does not show what it claims.
    ShowsNothing(&'static str),
    /// It needs a file that was not given.
    Needs(&'static str),
    /// A file that was given is not the one that the head commits to.
    WrongAid(&'static str),
}

impl fmt::Display for NotEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotEvidence::AnotherOperator(id) => write!(f, "this is about another operator, {id}"),
            NotEvidence::ShowsNothing(why) => write!(f, "this proves nothing: {why}"),
            NotEvidence::Needs(what) => write!(f, "this cannot be checked without {what}"),
            NotEvidence::WrongAid(what) => write!(f, "{what} is not what the head commits to"),
        }
    }
}

impl std::error::Error for NotEvidence {}

type Finding = Result<Verdict, NotEvidence>;

fn nothing(why: &'static str) -> Finding {
    Err(NotEvidence::ShowsNothing(why))
}

fn against(head: &Head, finding: impl Into<String>) -> Verdict {
    let finding = finding.into();
    let (operator, epoch) = (head.epoch.operator, Some(head.epoch.number));
    Verdict { operator, epoch, finding, conclusive: true }
}

impl Evidence {
    /// Checks this proof against `operator`. Needs no network, and no trust in whoever made it.
    ///
    /// # Errors
    /// [`NotEvidence`] if it proves nothing, or more files are needed.
    pub fn verify(&self, operator: &OperatorId, aids: &Aids<'_>) -> Finding {
        let named = self.operator();
        if named != *operator {
            return Err(NotEvidence::AnotherOperator(named));
        }
        match self {
            Evidence::TwoHeads { one, other } => two_heads(one.head(), other.head()),
            Evidence::TwoLogged { one, other, tree_head, leaves } => {
                two_logged(one, other, tree_head, leaves)
            }
            Evidence::ForkedLog { small, large, leaves } => forked_log(small, large, leaves),
            Evidence::Unlogged { head, tree_head, leaves } => unlogged(head, tree_head, leaves),
            Evidence::WrongRow(wrong) => wrong_row(wrong),
            Evidence::WrongRetrieval(wrong) => wrong_retrieval(wrong, aids),
            Evidence::WrongAnswer(wrong) => wrong_answer(wrong, aids),
            Evidence::WrongSetup { head, database } => wrong_setup(head.head(), *database, aids),
            Evidence::WrongKey { head, receipt, block } => wrong_key(head.head(), receipt, block),
            Evidence::NoRow { head, receipt } => no_row(head.head(), receipt),
            Evidence::WrongOpening { head, tree_head, index, key, proof } => {
                wrong_opening(head.head(), tree_head, *index, key, proof)
            }
        }
    }

    /// Whom it is about.
    fn operator(&self) -> OperatorId {
        let head: &SignedHead = match self {
            Evidence::ForkedLog { small, .. } => return small.operator,
            Evidence::TwoLogged { tree_head, .. } => return tree_head.operator,
            Evidence::TwoHeads { one, .. } => one,
            Evidence::WrongRow(wrong) => &wrong.head,
            Evidence::WrongRetrieval(wrong) => &wrong.head,
            Evidence::WrongAnswer(wrong) => &wrong.head,
            Evidence::Unlogged { head, .. }
            | Evidence::WrongSetup { head, .. }
            | Evidence::WrongKey { head, .. }
            | Evidence::NoRow { head, .. }
            | Evidence::WrongOpening { head, .. } => head,
        };
        head.head().epoch.operator
    }
}

fn two_heads(one: &Head, other: &Head) -> Finding {
    if one == other {
        return nothing("the heads are the same");
    }
    if !one.contradicts(other) {
        return nothing("the heads are of different times and epochs, or of different operators");
    }
    Ok(against(one, "two different heads were made for one epoch, or for one time"))
}

fn two_logged(one: &Entry, other: &Entry, tree_head: &TreeHead, leaves: &[Hash]) -> Finding {
    let ((Entry::Head(head), _) | (_, Entry::Head(head))) = (one, other) else {
        return nothing("there is no head in it");
    };
    if tree_head.operator != head.epoch.operator || !are_leaves(tree_head, leaves) {
        return nothing("the leaves are not those of the operator's tree head");
    }
    if !leaves.contains(&one.leaf()) || !leaves.contains(&other.leaf()) {
        return nothing("an entry is not in the log");
    }
    if !one.contradicts(other) {
        return nothing("the entries do not contradict each other");
    }
    Ok(against(head, "what was logged of an epoch contradicts itself"))
}

/// Whether these are the leaves of the log that was signed.
fn are_leaves(tree_head: &TreeHead, leaves: &[Hash]) -> bool {
    leaves.len() as u64 == tree_head.size && log::root(leaves) == tree_head.root
}

fn forked_log(small: &TreeHead, large: &TreeHead, leaves: &[Hash]) -> Finding {
    if small.operator != large.operator || small.size > large.size {
        return nothing("the tree heads are of different operators, or in the wrong order");
    }
    if !are_leaves(large, leaves) {
        return nothing("the leaves are not those of the larger tree head");
    }
    // Fits: it is at most the number of leaves that are here.
    if log::root(&leaves[..small.size as usize]) == small.root {
        return nothing("one tree head continues the other");
    }
    let finding = "two states of the log were signed, of which neither continues the other";
    let finding = finding.to_owned();
    Ok(Verdict { operator: small.operator, epoch: None, finding, conclusive: true })
}

fn unlogged(head: &SignedHead, tree_head: &TreeHead, leaves: &[Hash]) -> Finding {
    let head = head.head();
    // A head says when its epoch is, not when it was made: an honest one's epoch may have begun while its
    // table was built, and be logged after that. It is not made for what is over. An operator whose
    // clock was set back a little has signed later times before that.
    let over = head.epoch.not_after.saturating_add(CLOCK_SKEW);
    if tree_head.operator != head.epoch.operator || tree_head.time < over {
        return nothing("the log's state is another operator's, or from before the epoch's end");
    }
    if !are_leaves(tree_head, leaves) {
        return nothing("the leaves are not those of the tree head");
    }
    if leaves.contains(&Entry::Head(Box::new(head.clone())).leaf()) {
        return nothing("the head is in the log");
    }
    Ok(against(head, "a head was served that is not in the log"))
}

/// K with what follows from it, if it is the head's.
fn secret_of(head: &Head, key: &EpochKey) -> Result<EpochSecret, NotEvidence> {
    let secret = EpochSecret::derive(&head.epoch, key.clone());
    if *secret.commitment() == head.commitment {
        Ok(secret)
    } else {
        Err(NotEvidence::ShowsNothing("K is not what the head commits to"))
    }
}

/// The key of a row, if the block is in the directory.
fn key_of<'a>(head: &Head, block: &'a KeyBlock, row: u64) -> Result<&'a [u8; 32], NotEvidence> {
    let outside = NotEvidence::ShowsNothing("the key is not in the directory");
    if !block.is_in(&head.directory_root) {
        return Err(outside);
    }
    block.key(row).ok_or(outside)
}

/// Whether `bytes` is the right row for what the directory has.
fn is_right(secret: &EpochSecret, key: &[u8; 32], bytes: &[u8]) -> bool {
    PublicKey::decode(key).is_ok_and(|key| secret.row(&key) == bytes)
}

fn wrong_row(wrong: &WrongRow) -> Finding {
    let head = wrong.head.head();
    let secret = secret_of(head, &wrong.key)?;
    let key = key_of(head, &wrong.block, wrong.row)?;
    let per_leaf = ROWS_PER_LEAF as u64;
    let (leaf, at) = (wrong.row / per_leaf, (wrong.row % per_leaf) as usize);
    let leaves = head.rows().div_ceil(per_leaf);
    if !is_block(leaf_hash(&wrong.rows), leaf, leaves, &wrong.path, &head.table_root) {
        return nothing("the rows are not in the table");
    }
    let row = wrong.rows.chunks(ROW_BYTES).nth(at);
    if row.is_some_and(|row| is_right(&secret, key, row)) {
        return nothing("the row is what K and its key give");
    }
    let finding = format!("row {} of the committed table does not hold K", wrong.row);
    Ok(against(head, finding))
}

fn wrong_retrieval(wrong: &WrongRetrieval, aids: &Aids<'_>) -> Finding {
    let head = wrong.head.head();
    let database = wrong.database();
    // The query is made again from its seed: that is what shows which entry it asked for.
    let client = registry::client(database.setup(head), aids.hint).map_err(|e| match e {
        slyfi_pir::SetupError::HintMissing => NotEvidence::Needs("the hint of this epoch"),
        _ => NotEvidence::WrongAid("the hint"),
    })?;
    let exhibit = &wrong.exhibit;
    let query = client
        .query(exhibit.index, &mut SeededRandom::new(*exhibit.seed))
        .map_err(|_| NotEvidence::ShowsNothing("there is no such entry"))?;
    let (digest, asked) = (head.digest(), sha256(&[&query.bytes]));
    if !exhibit.signed.is_signed_by(&head.epoch.operator, &digest, database, &asked) {
        return nothing("the answer is not signed as the answer to this query");
    }
    let content = query.state.extract(&exhibit.signed.answer).ok();
    let (what, right) = match &wrong.subject {
        Subject::Row { key, row, block } => {
            let key = key.as_ref().ok_or(NotEvidence::Needs("the epoch's K, once published"))?;
            let secret = secret_of(head, key)?;
            let owner = key_of(head, block, *row)?;
            let bytes = content.as_ref().map(|content| {
                let asked = (content.index() == *row).then(|| content.row());
                asked.or_else(|| content.block().find(|(at, _)| at == row).map(|(_, b)| b))
            });
            match bytes {
                Some(None) => return nothing("the row did not come with this answer"),
                Some(Some(bytes)) => (format!("row {row}"), is_right(&secret, owner, bytes)),
                None => (format!("row {row}"), false),
            }
        }
        Subject::Entry { top } => {
            let right = content.as_ref().is_some_and(|content| {
                head.directory_layout.open(top, content.index(), content.row()).is_ok()
            });
            (format!("entry {} of the directory", exhibit.index), right)
        }
    };
    if right {
        return nothing("the answer holds what it should");
    }
    let mut verdict = against(head, format!("a signed answer holds something else than {what}"));
    verdict.conclusive = content.is_none();
    if let Some(database_bytes) = whole_database(head, database, aids)? {
        // With the table at hand an accident of decoding can be told from a cheat.
        let answer = answer_of(head, database, &database_bytes, &query.bytes)?;
        let table_right = match &wrong.subject {
            Subject::Row { key: Some(key), row, block } => {
                let bytes = database_bytes.chunks(ROW_BYTES).nth(*row as usize);
                let (secret, owner) = (secret_of(head, key)?, key_of(head, block, *row)?);
                bytes.is_some_and(|bytes| is_right(&secret, owner, bytes))
            }
            Subject::Row { key: None, .. } | Subject::Entry { .. } => true,
        };
        if answer == exhibit.signed.answer && table_right {
            return nothing("table and answer are right: retrieval decoded wrongly by accident");
        }
        verdict.conclusive = true;
    }
    Ok(verdict)
}

fn wrong_answer(wrong: &WrongAnswer, aids: &Aids<'_>) -> Finding {
    let head = wrong.head.head();
    let (digest, asked) = (head.digest(), sha256(&[&wrong.query]));
    if !wrong.signed.is_signed_by(&head.epoch.operator, &digest, wrong.database, &asked) {
        return nothing("the answer is not signed as the answer to this query");
    }
    let bytes = whole_database(head, wrong.database, aids)?
        .ok_or(NotEvidence::Needs("the whole table or list of keys"))?;
    if answer_of(head, wrong.database, &bytes, &wrong.query)? == wrong.signed.answer {
        return nothing("the answer is what the table gives");
    }
    Ok(against(head, "a signed answer is not what the committed table gives for the query"))
}

fn wrong_setup(head: &Head, database: Database, aids: &Aids<'_>) -> Finding {
    let bytes = whole_database(head, database, aids)?
        .ok_or(NotEvidence::Needs("the whole table or list of keys"))?;
    if serve(head, database, &bytes)?.setup() == database.setup(head) {
        return nothing("the setup is that of the table");
    }
    Ok(against(head, "the committed retrieval hint is not that of the committed table"))
}

/// Whether the operator promised the row for this epoch.
fn covers(head: &Head, receipt: &Receipt) -> Result<(), NotEvidence> {
    if receipt.operator != head.epoch.operator {
        return Err(NotEvidence::ShowsNothing("the receipt is another operator's"));
    }
    if !receipt.covers(&head.epoch) {
        return Err(NotEvidence::ShowsNothing("the receipt does not cover this epoch"));
    }
    Ok(())
}

fn no_row(head: &Head, receipt: &Receipt) -> Finding {
    covers(head, receipt)?;
    if receipt.index < head.rows() {
        return nothing("the row is there");
    }
    let (rows, row) = (head.rows(), receipt.index);
    Ok(against(head, format!("a table of {rows} rows does not have row {row}, which was promised")))
}

fn wrong_key(head: &Head, receipt: &Receipt, block: &KeyBlock) -> Finding {
    covers(head, receipt)?;
    let key = key_of(head, block, receipt.index)?;
    if key == receipt.key.as_bytes() || key == head.vacant.as_bytes() {
        return nothing("the row is the receipt's owner's, or vacant");
    }
    let finding = format!("the directory gives row {} to another key", receipt.index);
    Ok(against(head, finding))
}

fn wrong_opening(
    head: &Head,
    tree_head: &TreeHead,
    index: u64,
    key: &EpochKey,
    proof: &[Hash],
) -> Finding {
    let opening = Entry::Opening { epoch: head.epoch.number, key: key.clone() };
    let logged = tree_head.operator == head.epoch.operator
        && log::includes(&tree_head.root, tree_head.size, index, opening.leaf(), proof);
    if !logged {
        return nothing("the opening is not in the log");
    }
    if opens(&head.epoch, &head.commitment, key) {
        return nothing("the opening is right");
    }
    Ok(against(head, "the K that was published is not the one that was committed to"))
}

/// The whole database, from the files given, if they are; checked against the head.
fn whole_database(
    head: &Head,
    database: Database,
    aids: &Aids<'_>,
) -> Result<Option<Vec<u8>>, NotEvidence> {
    match database {
        Database::Table => {
            let Some(rows) = aids.table else { return Ok(None) };
            let whole = rows.len() as u64 == head.rows() * ROW_BYTES as u64
                && table::tree(rows).root() == head.table_root;
            if whole { Ok(Some(rows.to_vec())) } else { Err(NotEvidence::WrongAid("the table")) }
        }
        Database::Directory => {
            let Some(keys) = aids.keys else { return Ok(None) };
            let layout = head.directory_layout;
            if keys.len() as u64 != layout.rows() * 32 {
                return Err(NotEvidence::WrongAid("the list of keys"));
            }
            let tree = layout.tree(keys);
            if tree.root() != head.directory_root {
                return Err(NotEvidence::WrongAid("the list of keys"));
            }
            Ok(Some(layout.database(keys, &tree)))
        }
    }
}

/// A server like the one the operator should have run.
fn serve(
    head: &Head,
    database: Database,
    bytes: &[u8],
) -> Result<Box<dyn slyfi_pir::Server>, NotEvidence> {
    let setup = database.setup(head);
    let how = Preparation::quiet(setup.seed);
    registry::prepare(setup.scheme, setup.shape, setup.layout, bytes, &how)
        .map_err(|_| NotEvidence::ShowsNothing("this build cannot serve such a table"))
}

/// What the operator should have answered.
fn answer_of(
    head: &Head,
    database: Database,
    bytes: &[u8],
    query: &[u8],
) -> Result<Vec<u8>, NotEvidence> {
    serve(head, database, bytes)?
        .answer(query)
        .map_err(|_| NotEvidence::ShowsNothing("the query is none, so no answer to it is wrong"))
}
