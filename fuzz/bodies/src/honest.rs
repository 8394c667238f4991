//! An honest operator of TracEdge, with everything that it ever signed.

use crate::seeded::Seeded;
use slyfi_base::SecureRandom;
use slyfi_tracedge::answer::{Database, SignedAnswer};
use slyfi_tracedge::directory::{KeyBlock, Top};
use slyfi_tracedge::enrol::{Receipt, Request};
use slyfi_tracedge::epoch::{Epoch, EpochKey, EpochSecret};
use slyfi_tracedge::head::{Head, SignedHead};
use slyfi_tracedge::keys::{OperatorId, OperatorKeys, SecretKey};
use slyfi_tracedge::log::{Entry, TreeHead};
use slyfi_tracedge::merkle::{BlockTree, Hash};
use slyfi_tracedge::operator::{Schemes, Serving, build_table};
use slyfi_tracedge::pieces::Work;
use slyfi_tracedge::random::SeededRandom;
use slyfi_tracedge::{SchemeId, registry, table};
use std::sync::Mutex;

/// Rows of its tables: more than a leaf of the table's tree and than a block of the directory.
pub(crate) const ROWS: u64 = 130;
/// When its first epoch begins, Unix seconds.
pub(crate) const BEGIN: u64 = 1_800_000_000;
/// The invitation of [`Honest::requests`].
pub(crate) const INVITATION: [u8; 16] = [4; 16];

const HOUR: u64 = 3_600;

/// SHA-256.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    sha2::Digest::finalize(sha2::Digest::chain_update(sha2::Sha256::default(), bytes)).into()
}

/// An epoch with all that is public of it.
pub(crate) struct Published {
    pub(crate) secret: EpochSecret,
    pub(crate) rows: Vec<u8>,
    pub(crate) serving: Serving,
    pub(crate) blocks: Vec<KeyBlock>,
}

impl Published {
    pub(crate) fn signed(&self) -> &SignedHead {
        self.serving.head()
    }

    pub(crate) fn head(&self) -> &Head {
        self.signed().head()
    }

    pub(crate) fn top(&self) -> &Top {
        self.serving.top()
    }
}

/// A query that an honest subscriber made from a seed, and what the operator answered.
pub(crate) struct Asked {
    /// Which of [`Honest::epochs`].
    pub(crate) epoch: usize,
    pub(crate) database: Database,
    pub(crate) index: u64,
    pub(crate) seed: [u8; 32],
    pub(crate) query: Vec<u8>,
    pub(crate) signed: SignedAnswer,
}

/// The operator, two subscribers' requests and receipts, two epochs, the log.
pub(crate) struct Honest {
    pub(crate) keys: OperatorKeys,
    pub(crate) owners: Vec<SecretKey>,
    pub(crate) directory: Vec<u8>,
    pub(crate) tree: BlockTree,
    pub(crate) epochs: Vec<Published>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) leaves: Vec<Hash>,
    pub(crate) tree_heads: Vec<TreeHead>,
    pub(crate) receipts: Vec<Receipt>,
    pub(crate) requests: Vec<Request>,
    pub(crate) asked: Vec<Asked>,
}

impl Honest {
    /// Always the same one.
    pub(crate) fn new() -> Self {
        let rng = &mut Seeded(11);
        let keys = OperatorKeys::generate(rng);
        let owners: Vec<_> = (0..ROWS).map(|_| SecretKey::generate(rng)).collect();
        let key = |(i, owner): (usize, &SecretKey)| {
            *if i % 10 == 9 { keys.vacant().public() } else { owner.public() }.as_bytes()
        };
        let directory: Vec<u8> = owners.iter().enumerate().flat_map(key).collect();
        let epochs: Vec<_> = (0..2).map(|n| publish(&keys, &directory, 5 + n, rng)).collect();
        let opening = |published: &Published| Entry::Opening {
            epoch: published.head().epoch.number,
            key: published.secret.key().clone(),
        };
        let entries = vec![
            Entry::Head(Box::new(epochs[0].head().clone())),
            Entry::Head(Box::new(epochs[1].head().clone())),
            opening(&epochs[0]),
            opening(&epochs[1]),
        ];
        let leaves: Vec<Hash> = entries.iter().map(Entry::leaf).collect();
        // Heads are in the log before their epochs begin, keys after they are over.
        let times = [BEGIN - 9, BEGIN - 5, BEGIN + HOUR + 300, BEGIN + 2 * HOUR + 300];
        let tree_heads = (1..=leaves.len())
            .flat_map(|n| [(n, times[n - 1]), (n, times[n - 1] + 2)])
            .map(|(n, time)| TreeHead::sign(&keys, &leaves[..n], time))
            .collect();
        let receipts = [3, 127, 64]
            .map(|row| {
                let key = owners[row as usize].public();
                Receipt::sign(&keys, row, key, 5, BEGIN + 100 * HOUR)
            })
            .to_vec();
        let requests =
            owners[..2].iter().map(|o| Request::new(o, &keys.id(), &INVITATION, rng)).collect();
        let tree = epochs[0].head().directory_layout.tree(&directory);
        let mut operator = Honest {
            keys,
            owners,
            directory,
            tree,
            epochs,
            entries,
            leaves,
            tree_heads,
            receipts,
            requests,
            asked: Vec::new(),
        };
        for (epoch, database, index) in [
            (0, Database::Table, 3),
            (0, Database::Directory, 2),
            (1, Database::Table, ROWS - 1),
            (1, Database::Directory, 0),
        ] {
            let mut seed = [0; 32];
            rng.fill(&mut seed);
            operator.asked.push(operator.ask(epoch, database, index, seed));
        }
        operator
    }

    pub(crate) fn id(&self) -> OperatorId {
        self.keys.id()
    }

    fn ask(&self, epoch: usize, database: Database, index: u64, seed: [u8; 32]) -> Asked {
        let published = &self.epochs[epoch];
        let setup = database.setup(published.head());
        let client = registry::client(setup, published.serving.hint(database))
            .expect("the operator's own hint");
        let query = client.query(index, &mut SeededRandom::new(seed)).expect("there is such a row");
        let query = query.bytes;
        let signed =
            published.serving.answer(&self.keys, database, &query).expect("an honest query");
        Asked { epoch, database, index, seed, query, signed }
    }
}

fn publish(keys: &OperatorKeys, directory: &[u8], number: u64, rng: &mut Seeded) -> Published {
    let not_before = BEGIN + HOUR * (number - 5);
    let epoch = Epoch { operator: keys.id(), number, not_before, not_after: not_before + HOUR };
    let secret = EpochSecret::derive(&epoch, EpochKey::generate(rng));
    let sink = Mutex::new(Vec::new());
    let quiet = Work::quiet();
    let tree = build_table(keys, &secret, directory, &sink, &quiet).expect("keys are keys");
    let rows = sink.into_inner().expect("nobody died");
    assert_eq!(table::tree(&rows).root(), tree.root());
    let schemes = Schemes::both(SchemeId::Lwe);
    let serving = Serving::prepare(keys, &secret, directory, &rows, &tree, schemes, &quiet)
        .expect("a small table");
    let layout = serving.head().head().directory_layout;
    let key_tree = layout.tree(directory);
    let blocks = (0..layout.blocks())
        .map(|block| KeyBlock::prove(&layout, directory, &key_tree, block))
        .collect();
    Published { secret, rows, serving, blocks }
}
