//! A small operator with subscribers, and retrieval in the clear for counting.

#![allow(dead_code, reason = "each test uses its part")]

pub mod disk;
pub mod service;

use std::sync::Mutex;

use slyfi_base::SecureRandom;
use slyfi_pir::{
    Client, IndexOutOfRange, Query, QueryState, Retrieved, SchemeId, Server, Setup, Shape,
    WireError,
};
use slyfi_tracedge::answer::{Database, SignedAnswer};
use slyfi_tracedge::audit::{Audit, Conclusion, Databases, Round, Subscription};
use slyfi_tracedge::directory::{DirectoryLayout, Top};
use slyfi_tracedge::enrol::Receipt;
use slyfi_tracedge::epoch::{Epoch, EpochKey, EpochSecret};
use slyfi_tracedge::head::{Head, SignedHead};
use slyfi_tracedge::keys::{OperatorKeys, SecretKey};
use slyfi_tracedge::pieces::Work;
use slyfi_tracedge::random::SeededRandom;
use slyfi_tracedge::table;

/// Nine in ten rows are subscribers', as many as keys; every tenth is vacant.
pub struct World {
    pub keys: OperatorKeys,
    pub owners: Vec<SecretKey>,
    pub directory: Vec<u8>,
    pub rng: SeededRandom,
}

pub const BEGIN: u64 = 1_700_000_000;

impl World {
    pub fn new(rows: u64, seed: u8) -> Self {
        let mut rng = SeededRandom::new([seed; 32]);
        let keys = OperatorKeys::generate(&mut rng);
        let owners: Vec<_> = (0..rows).map(|_| SecretKey::generate(&mut rng)).collect();
        let mut directory = Vec::new();
        for (i, owner) in owners.iter().enumerate() {
            let key = if i % 10 == 9 { keys.vacant().public() } else { owner.public() };
            directory.extend_from_slice(key.as_bytes());
        }
        World { keys, owners, directory, rng }
    }

    pub fn rows(&self) -> u64 {
        self.owners.len() as u64
    }

    pub fn epoch(&self, number: u64) -> Epoch {
        let not_before = BEGIN + 3_600 * number;
        Epoch { operator: self.keys.id(), number, not_before, not_after: not_before + 3_600 }
    }

    pub fn secret(&mut self, number: u64) -> EpochSecret {
        let epoch = self.epoch(number);
        EpochSecret::derive(&epoch, EpochKey::generate(&mut self.rng))
    }

    /// The honest table.
    pub fn table(&self, secret: &EpochSecret) -> Vec<u8> {
        let sink = Mutex::new(Vec::new());
        let vacant = self.keys.vacant().public();
        table::build(secret, &self.directory, vacant, &sink, &Work::quiet()).unwrap();
        sink.into_inner().unwrap()
    }

    pub fn subscription(&self, row: u64) -> Subscription {
        let secret = SecretKey::decode(&*self.owners[row as usize].encode()).unwrap();
        let receipt = Receipt::sign(&self.keys, row, secret.public(), 0, BEGIN * 2);
        Subscription { receipt, secret }
    }

    /// A subscriber's row, at random.
    pub fn anybody(&mut self) -> u64 {
        loop {
            let row = self.rng.below(self.rows());
            if row % 10 != 9 {
                return row;
            }
        }
    }

    /// A head over a table that is retrieved in the clear.
    pub fn head(&self, secret: &EpochSecret, table: &[u8]) -> (SignedHead, Top) {
        let layout = DirectoryLayout::for_rows(self.rows());
        let tree = layout.tree(&self.directory);
        let head = Head {
            epoch: *secret.epoch(),
            commitment: *secret.commitment(),
            vacant: *self.keys.vacant().public(),
            table_root: table::tree(table).root(),
            directory_root: tree.root(),
            directory_layout: layout,
            table: clear_setup(self.rows(), 32),
            directory: clear_setup(layout.blocks(), layout.entry_bytes()),
        };
        let top = Top::of(&layout, &tree);
        (head.sign(&self.keys), top)
    }
}

/// Runs a subscriber's round; `answer` is the operator.
pub fn round(
    head: &SignedHead,
    audit: Option<Audit>,
    databases: &Databases,
    mine: &Subscription,
    rng: &mut dyn SecureRandom,
    mut answer: impl FnMut(Database, &[u8]) -> SignedAnswer,
) -> Conclusion {
    let (mut round, retrievals) = Round::begin(head, audit, databases, mine, rng).unwrap();
    for retrieval in retrievals {
        let (database, signed) =
            (retrieval.database(), answer(retrieval.database(), retrieval.query()));
        round.take(database, retrieval.finish(signed).unwrap());
    }
    round.conclude(mine)
}

fn clear_setup(rows: u64, row_bytes: usize) -> Setup {
    let shape = Shape::new(rows, row_bytes as u32).unwrap();
    Setup { scheme: SchemeId::Hintless, layout: 0, shape, seed: [0; 32], hint: None }
}

/// Retrieval in the clear: what the audit does with rows does not depend on how they came, and
/// thousands of rounds have to be counted. Answers carry `block` rows.
pub struct Clear {
    pub setup: Setup,
    pub block: u64,
}

impl Clear {
    pub fn databases(head: &SignedHead, rows_per_answer: u64) -> Databases {
        let head = head.head();
        Databases {
            table: Box::new(Clear { setup: head.table, block: rows_per_answer }),
            directory: Box::new(Clear { setup: head.directory, block: 1 }),
        }
    }

    pub fn answer(&self, bytes: &[u8], query: &[u8]) -> Vec<u8> {
        let index = u64::from_le_bytes(query[..8].try_into().unwrap());
        let row = self.setup.shape.row_bytes();
        let first = (index - index % self.block) as usize * row;
        bytes[first..bytes.len().min(first + self.block as usize * row)].to_vec()
    }
}

struct ClearState {
    index: u64,
    block: u64,
    row_bytes: usize,
}

impl Client for Clear {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn query(&self, index: u64, rng: &mut dyn SecureRandom) -> Result<Query, IndexOutOfRange> {
        if index >= self.setup.shape.rows() {
            return Err(IndexOutOfRange { rows: self.setup.shape.rows() });
        }
        // Sixteen random bytes make queries differ, as they do in a real scheme.
        let mut bytes = index.to_le_bytes().to_vec();
        bytes.resize(24, 0);
        rng.fill(&mut bytes[8..]);
        let row_bytes = self.setup.shape.row_bytes();
        Ok(Query { bytes, state: Box::new(ClearState { index, block: self.block, row_bytes }) })
    }
}

impl QueryState for ClearState {
    fn extract(self: Box<Self>, answer: &[u8]) -> Result<Retrieved, WireError> {
        let first = self.index - self.index % self.block;
        let at = (self.index - first) as usize * self.row_bytes;
        let row = answer.get(at..at + self.row_bytes).ok_or(WireError::Value)?;
        if !answer.len().is_multiple_of(self.row_bytes) {
            return Err(WireError::Value);
        }
        Ok(Retrieved::new(self.index, first, row.to_vec(), answer.to_vec()))
    }
}

/// Clients of what a real server published.
pub fn clients(serving: &slyfi_tracedge::operator::Serving) -> Databases {
    let head = serving.head().head();
    let client = |database: Database| {
        slyfi_pir::registry::client(database.setup(head), serving.hint(database)).unwrap()
    };
    Databases { table: client(Database::Table), directory: client(Database::Directory) }
}

/// A server that somebody else could run over the same bytes.
pub fn server(setup: &Setup, bytes: &[u8]) -> Box<dyn Server> {
    let how = slyfi_pir::Preparation::quiet(setup.seed);
    slyfi_pir::registry::prepare(setup.scheme, setup.shape, setup.layout, bytes, &how).unwrap()
}
