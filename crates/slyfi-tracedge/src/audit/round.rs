//! A subscriber's retrieval and audit of one epoch (docs/tracedge.md §7.1).

use core::fmt;

use slyfi_base::SecureRandom;
use slyfi_pir::{Client, IndexOutOfRange, Retrieved};

use crate::answer::{Database, Exhibit, Reply, Retrieval};
use crate::directory::{KeyBlock, Top};
use crate::enrol::Receipt;
use crate::epoch::{EpochSecret, ROW_BYTES, RowError};
use crate::evidence::{Evidence, Subject, WrongRetrieval};
use crate::head::SignedHead;
use crate::keys::{PublicKey, SecretKey};

/// What a subscriber has of an operator.
pub struct Subscription {
    /// The operator's receipt: which row is his.
    pub receipt: Receipt,
    /// What opens it.
    pub secret: SecretKey,
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Subscription { <hidden> }")
    }
}

/// The clients of an epoch's two databases.
pub struct Databases {
    /// Of the table.
    pub table: Box<dyn Client>,
    /// Of the directory.
    pub directory: Box<dyn Client>,
}

impl fmt::Debug for Databases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Databases")
    }
}

/// One round under way: the retrieval of K, and what is audited with it.
///
/// The queries of a round are in random order, and all are made before the first is sent, so which
/// one is the login's does not show.
#[derive(Debug)]
pub struct Round {
    head: SignedHead,
    audit: Option<Audit>,
    replies: Vec<(Database, Reply)>,
}

/// What to audit in a round.
#[derive(Clone, Debug)]
pub struct Audit {
    /// How many random rows besides the subscriber's own.
    pub rows: u32,
    /// The top of the epoch's directory.
    pub top: Top,
}

/// What became of the subscriber's own row.
#[derive(Debug)]
pub enum OwnRow {
    /// It opened: here is K.
    Opened(Box<EpochSecret>),
    /// It did not. The evidence waits for K, which is published when the epoch is over
    /// ([`WrongRetrieval::complete`]); unless the row is vacant now: then the subscriber was revoked.
    Failed {
        /// Why.
        error: RowError,
        /// What proves it, once K is known; `None` if the directory was not retrieved.
        pending: Option<Box<WrongRetrieval>>,
        /// Whether the directory says that the row is vacant.
        revoked: bool,
    },
}

/// What a round found.
#[derive(Debug)]
pub struct Conclusion {
    /// The subscriber's own row.
    pub own: OwnRow,
    /// How many rows were recomputed and compared, the own one included.
    pub checked: u64,
    /// What is wrong, with proof.
    pub evidence: Vec<Evidence>,
}

impl Conclusion {
    /// Whether there is something to keep: a proof, or what becomes one when K is published.
    pub fn convicts(&self) -> bool {
        let waits = matches!(self.own, OwnRow::Failed { pending: Some(_), .. });
        waits || !self.evidence.is_empty()
    }
}

impl Round {
    /// Begins a round. Without an audit only the own row is retrieved.
    ///
    /// Send the queries in the order in which they come, and give every [`Reply`] to
    /// [`Round::take`], whatever is in it: a client that stops when it sees something wrong tells
    /// the operator that it saw it.
    ///
    /// # Errors
    /// [`IndexOutOfRange`] if the receipt names a row that this epoch's table does not have.
    pub fn begin(
        head: &SignedHead,
        audit: Option<Audit>,
        databases: &Databases,
        subscription: &Subscription,
        rng: &mut dyn SecureRandom,
    ) -> Result<(Self, Vec<Retrieval>), IndexOutOfRange> {
        let layout = head.head().directory_layout;
        let mut rows = vec![subscription.receipt.index];
        rows.extend(
            (0..audit.as_ref().map_or(0, |audit| audit.rows)).map(|_| rng.below(layout.rows())),
        );
        let mut retrievals = Vec::new();
        for row in rows {
            let table = &*databases.table;
            retrievals.push(Retrieval::begin(head, Database::Table, table, row, rng)?);
            if audit.is_some() {
                let (block, directory) = (layout.block_of(row), &*databases.directory);
                let retrieval = Retrieval::begin(head, Database::Directory, directory, block, rng);
                retrievals.push(retrieval?);
            }
        }
        for i in (1..retrievals.len()).rev() {
            retrievals.swap(i, rng.below(i as u64 + 1) as usize);
        }
        Ok((Round { head: head.clone(), audit, replies: Vec::new() }, retrievals))
    }

    /// Takes the reply to one of the queries.
    pub fn take(&mut self, database: Database, reply: Reply) {
        self.replies.push((database, reply));
    }

    /// Looks at everything that came.
    pub fn conclude(self, subscription: &Subscription) -> Conclusion {
        let Round { head, audit, replies } = self;
        let mut evidence = Vec::new();
        let mut blocks = Vec::new();
        let mut rows = Vec::new();
        for (database, reply) in replies {
            match database {
                Database::Table => rows.push(reply),
                Database::Directory => match open_block(&head, audit.as_ref(), &reply) {
                    Ok(block) => blocks.push(block),
                    // Only an audit asks the directory.
                    Err(None) => (),
                    Err(Some(top)) => {
                        evidence.push(Evidence::WrongRetrieval(Box::new(WrongRetrieval {
                            head: head.clone(),
                            exhibit: reply.exhibit,
                            subject: Subject::Entry { top },
                        })))
                    }
                },
            }
        }
        let keys = Keys(&blocks);
        let own = subscription.receipt.index;
        let own_block = keys.block_of(own);
        if let Some(wrong) = own_block.and_then(|block| wrong_key(&head, subscription, block)) {
            evidence.push(wrong);
        }
        let own_row = open_own(&head, subscription, &rows, own_block);
        let mut checked = 0;
        if let OwnRow::Opened(secret) = &own_row {
            checked = 1;
            for reply in &rows {
                let (count, wrong) = check_rows(&head, secret, reply, &keys);
                checked += count;
                evidence.extend(wrong);
            }
        }
        // First what can be published without saying whose row is whose.
        evidence.sort_by_key(|evidence| evidence.names(&subscription.receipt));
        Conclusion { own: own_row, checked, evidence }
    }
}

/// The key blocks that a round retrieved.
struct Keys<'a>(&'a [KeyBlock]);

impl<'a> Keys<'a> {
    fn block_of(&self, row: u64) -> Option<&'a KeyBlock> {
        self.0.iter().find(|block| block.key(row).is_some())
    }
}

/// Opens a retrieved entry of the directory; else the top that it does not lead to.
fn open_block(
    head: &SignedHead,
    audit: Option<&Audit>,
    reply: &Reply,
) -> Result<KeyBlock, Option<Top>> {
    let top = &audit.ok_or(None)?.top;
    let open =
        |entry: &Retrieved| head.head().directory_layout.open(top, entry.index(), entry.row()).ok();
    reply.content.as_ref().and_then(open).ok_or_else(|| Some(top.clone()))
}

/// The proof that the directory gives the subscriber's row to somebody else, if it does.
fn wrong_key(head: &SignedHead, mine: &Subscription, block: &KeyBlock) -> Option<Evidence> {
    let receipt = &mine.receipt;
    let key = block.key(receipt.index)?;
    let covered = receipt.covers(&head.head().epoch);
    let right = key == receipt.key.as_bytes() || key == head.head().vacant.as_bytes();
    (covered && !right).then(|| Evidence::WrongKey {
        head: head.clone(),
        receipt: *receipt,
        block: Box::new(block.clone()),
    })
}

/// Opens the subscriber's own row.
fn open_own(
    head: &SignedHead,
    mine: &Subscription,
    rows: &[Reply],
    block: Option<&KeyBlock>,
) -> OwnRow {
    let index = mine.receipt.index;
    // More than one retrieval may have asked for it: an audited row can be the own one.
    let asked = |reply: &&Reply| reply.exhibit.index == index;
    let opened = rows.iter().filter(asked).find_map(|reply| {
        let row: &[u8; ROW_BYTES] = reply.content.as_ref()?.row().try_into().ok()?;
        let head = head.head();
        Some(EpochSecret::open(&head.epoch, &head.commitment, row, &mine.secret))
    });
    match opened {
        Some(Ok(secret)) => OwnRow::Opened(Box::new(secret)),
        failed => {
            let error = failed.and_then(Result::err).unwrap_or(RowError::NotAnElement);
            let vacant = head.head().vacant.as_bytes();
            let revoked = block.and_then(|b| b.key(index)).is_some_and(|key| key == vacant);
            let exhibit = rows.iter().find(asked).map(|reply| reply.exhibit.clone());
            let pending = exhibit.zip(block).filter(|_| !revoked).map(|(exhibit, block)| {
                let (row, block) = (index, Box::new(block.clone()));
                let subject = Subject::Row { key: None, row, block };
                Box::new(WrongRetrieval { head: head.clone(), exhibit, subject })
            });
            OwnRow::Failed { error, pending, revoked }
        }
    }
}

/// Recomputes the rows of a reply whose keys are known; returns how many, and the proof that one is
/// wrong.
fn check_rows(
    head: &SignedHead,
    secret: &EpochSecret,
    reply: &Reply,
    keys: &Keys<'_>,
) -> (u64, Option<Evidence>) {
    let asked = reply.exhibit.index;
    let proof = |row: u64| {
        let block = keys.block_of(row)?;
        let (key, block) = (Some(secret.key().clone()), Box::new(block.clone()));
        let exhibit: Exhibit = reply.exhibit.clone();
        let subject = Subject::Row { key, row, block };
        let wrong = WrongRetrieval { head: head.clone(), exhibit, subject };
        Some(Evidence::WrongRetrieval(Box::new(wrong)))
    };
    let Some(content): Option<&Retrieved> = reply.content.as_ref() else {
        return (0, proof(asked));
    };
    let mut count = 0;
    // The asked row first: if it is wrong, it is the one to show.
    let asked_row = core::iter::once((asked, content.row()));
    for (row, bytes) in asked_row.chain(content.block().filter(|(row, _)| *row != asked)) {
        let Some(key) = keys.block_of(row).and_then(|block| block.key(row)) else { continue };
        count += 1;
        let right = PublicKey::decode(key).is_ok_and(|key| secret.row(&key) == bytes);
        if !right {
            return (count, proof(row));
        }
    }
    (count, None)
}
