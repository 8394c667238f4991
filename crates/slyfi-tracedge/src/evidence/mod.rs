//! Proof that an operator cheated, which convinces without trust in whoever shows it
//! (docs/tracedge.md §8).

mod encoding;
mod verify;

use core::fmt;

use crate::answer::{Database, Exhibit, SignedAnswer};
use crate::directory::{KEY_BYTES, KeyBlock, Top};
use crate::enrol::Receipt;
use crate::epoch::{EpochKey, ROW_BYTES};
use crate::head::{ROWS_PER_LEAF, SignedHead};
use crate::log::{Entry, TreeHead};
use crate::merkle::Hash;

pub use verify::{Aids, NotEvidence, Verdict};

/// A proof. [`Evidence::verify`] says what it proves, if it does.
#[derive(Clone, Debug)]
pub enum Evidence {
    /// Two different heads of one epoch, or of one time.
    TwoHeads {
        /// One.
        one: Box<SignedHead>,
        /// The other.
        other: Box<SignedHead>,
    },
    /// Two entries of one log that contradict each other: such heads, or a head and a key that does not
    /// open it. The log says that they are the operator's, as a signature would.
    TwoLogged {
        /// One.
        one: Box<Entry>,
        /// The other.
        other: Box<Entry>,
        /// The log's state.
        tree_head: TreeHead,
        /// The leaves of the log.
        leaves: Vec<Hash>,
    },
    /// Two tree heads, of which one does not continue the other.
    ForkedLog {
        /// The smaller.
        small: TreeHead,
        /// The larger, or as large.
        large: TreeHead,
        /// The leaves of the larger.
        leaves: Vec<Hash>,
    },
    /// A head that was served for an epoch, and is not in the log that was signed afterwards.
    Unlogged {
        /// What was served.
        head: SignedHead,
        /// The log's state when the epoch was over.
        tree_head: TreeHead,
        /// The leaves of the log.
        leaves: Vec<Hash>,
    },
    /// A row of the committed table is not what K and its key give.
    WrongRow(Box<WrongRow>),
    /// A signed answer holds what the head's commitments contradict.
    WrongRetrieval(Box<WrongRetrieval>),
    /// A signed answer is not what the committed table gives for the query.
    WrongAnswer(Box<WrongAnswer>),
    /// The head's retrieval setup is not that of its table.
    WrongSetup {
        /// The head.
        head: SignedHead,
        /// Which setup.
        database: Database,
    },
    /// The directory gives a row to somebody else than the receipt does.
    WrongKey {
        /// The head whose directory it is.
        head: SignedHead,
        /// What was promised.
        receipt: Receipt,
        /// What the directory has.
        block: Box<KeyBlock>,
    },
    /// The table does not have the row that the receipt promises.
    NoRow {
        /// The head.
        head: SignedHead,
        /// What was promised.
        receipt: Receipt,
    },
    /// What the log says was K is not what the head committed to.
    WrongOpening {
        /// The head.
        head: SignedHead,
        /// The log's state.
        tree_head: TreeHead,
        /// Which entry of the log the opening is.
        index: u64,
        /// What it says.
        key: EpochKey,
        /// That it is in the log.
        proof: Vec<Hash>,
    },
}

impl Evidence {
    /// The name of its kind in reports.
    pub fn kind(&self) -> &'static str {
        match self {
            Evidence::TwoHeads { .. } => "two-heads",
            Evidence::TwoLogged { .. } => "two-logged",
            Evidence::ForkedLog { .. } => "forked-log",
            Evidence::Unlogged { .. } => "unlogged",
            Evidence::WrongRow(_) => "wrong-row",
            Evidence::WrongRetrieval(_) => "wrong-retrieval",
            Evidence::WrongAnswer(_) => "wrong-answer",
            Evidence::WrongSetup { .. } => "wrong-setup",
            Evidence::WrongKey { .. } => "wrong-key",
            Evidence::WrongOpening { .. } => "wrong-opening",
            Evidence::NoRow { .. } => "no-row",
        }
    }

    /// The whole database that settles what it proves, beside what is in it; `None` if nothing does or
    /// has to ([`Aids::table`], [`Aids::keys`]).
    pub fn settled_by(&self) -> Option<Database> {
        match self {
            Evidence::WrongRetrieval(wrong) => Some(wrong.database()),
            Evidence::WrongAnswer(wrong) => Some(wrong.database),
            Evidence::WrongSetup { database, .. } => Some(*database),
            _ => None,
        }
    }

    /// The epoch whose K is in it, if one is: not to be published before that epoch is over.
    pub fn discloses(&self) -> Option<&crate::epoch::Epoch> {
        match self {
            Evidence::WrongRow(wrong) => Some(&wrong.head.head().epoch),
            Evidence::WrongRetrieval(wrong) => match wrong.subject {
                Subject::Row { key: Some(_), .. } => Some(&wrong.head.head().epoch),
                Subject::Row { key: None, .. } | Subject::Entry { .. } => None,
            },
            _ => None,
        }
    }

    /// Whether it tells whoever reads it which row is the subscriber's who made it: it is about his own
    /// row, or he found it in the answer to the query for his own row, which it has to hold.
    ///
    /// Other evidence of the same cheat does not: a whole-table audit's, or another retrieval's.
    pub fn names(&self, mine: &Receipt) -> bool {
        match self {
            Evidence::WrongKey { receipt, .. } | Evidence::NoRow { receipt, .. } => {
                receipt.index == mine.index
            }
            Evidence::WrongRetrieval(wrong) => {
                let asked = wrong.exhibit.index;
                match wrong.subject {
                    Subject::Row { .. } => asked == mine.index,
                    Subject::Entry { .. } => {
                        asked == wrong.head.head().directory_layout.block_of(mine.index)
                    }
                }
            }
            _ => false,
        }
    }
}

/// See [`Evidence::WrongRow`].
#[derive(Clone, Debug)]
pub struct WrongRow {
    /// The head.
    pub head: SignedHead,
    /// K.
    pub key: EpochKey,
    /// Which row.
    pub row: u64,
    /// The rows of the tree's block that it is in.
    pub rows: Vec<u8>,
    /// That this block is in the table.
    pub path: Vec<Hash>,
    /// Whose row it is.
    pub block: KeyBlock,
}

impl WrongRow {
    /// Puts the proof together from the whole table and list of keys that the head commits to; `None`
    /// if they are of other lengths or there is no such row.
    pub fn prove(
        head: &SignedHead,
        key: &EpochKey,
        row: u64,
        table: &[u8],
        keys: &[u8],
    ) -> Option<Self> {
        let layout = head.head().directory_layout;
        let rows = layout.rows();
        let whole = table.len() as u64 == rows * ROW_BYTES as u64
            && keys.len() as u64 == rows * KEY_BYTES as u64;
        if row >= rows || !whole {
            return None;
        }
        let leaf = row / ROWS_PER_LEAF as u64;
        let bytes = ROWS_PER_LEAF * ROW_BYTES;
        let first = leaf as usize * bytes;
        let block = layout.block_of(row);
        Some(WrongRow {
            head: head.clone(),
            key: key.clone(),
            row,
            rows: table[first..table.len().min(first + bytes)].to_vec(),
            path: crate::table::tree(table).full_path(leaf),
            block: KeyBlock::prove(&layout, keys, &layout.tree(keys), block),
        })
    }
}

/// See [`Evidence::WrongRetrieval`].
#[derive(Clone)]
pub struct WrongRetrieval {
    pub(crate) head: SignedHead,
    pub(crate) exhibit: Exhibit,
    pub(crate) subject: Subject,
}

impl fmt::Debug for WrongRetrieval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WrongRetrieval {{ epoch: {}, .. }}", self.head.head().epoch.number)
    }
}

impl WrongRetrieval {
    /// The head under which it happened.
    pub fn head(&self) -> &SignedHead {
        &self.head
    }

    /// Which database was asked.
    pub const fn database(&self) -> Database {
        match self.subject {
            Subject::Row { .. } => Database::Table,
            Subject::Entry { .. } => Database::Directory,
        }
    }

    /// Completes what a subscriber kept when his own row did not open, with the K that was published
    /// afterwards.
    #[must_use]
    pub fn complete(mut self, published: EpochKey) -> Evidence {
        if let Subject::Row { key, .. } = &mut self.subject {
            *key = Some(published);
        }
        Evidence::WrongRetrieval(Box::new(self))
    }
}

/// What is wrong in an answer.
#[derive(Clone)]
pub(crate) enum Subject {
    /// A row.
    Row {
        /// K, once it is known.
        key: Option<EpochKey>,
        /// Which row: the one that was asked for, or one that came with it.
        row: u64,
        /// Whose row it is.
        block: Box<KeyBlock>,
    },
    /// The entry of the directory that was asked for.
    Entry {
        /// The top of the directory's tree.
        top: Top,
    },
}

/// See [`Evidence::WrongAnswer`].
#[derive(Clone, Debug)]
pub struct WrongAnswer {
    /// The head.
    pub head: SignedHead,
    /// Which database was asked.
    pub database: Database,
    /// The query.
    pub query: Vec<u8>,
    /// The answer.
    pub signed: SignedAnswer,
}
