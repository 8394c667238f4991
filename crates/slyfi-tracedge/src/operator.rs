//! An epoch as its operator publishes and serves it.

use std::io;

use slyfi_pir::{Accelerator, AcceleratorError};
use slyfi_pir::{Preparation, PrepareError, SchemeId, Server, Setup, Shape, WireError, registry};

use crate::answer::{Database, SignedAnswer};
use crate::directory::{DirectoryLayout, KEY_BYTES, Top};
use crate::epoch::{EpochSecret, ROW_BYTES};
use crate::head::{Head, SignedHead};
use crate::keys::OperatorKeys;
use crate::merkle::{BlockTree, Hash};
use crate::pieces::Work;
use crate::service::mend_io;
use crate::table::{self, BuildError, RowSink};

/// Why an epoch could not be published.
#[derive(Debug)]
pub enum PublishError {
    /// The table could not be made.
    Build(BuildError),
    /// Retrieval could not be prepared.
    Prepare(PrepareError),
    /// The table that was written could not be read back, or is another.
    Table(io::Error),
}

impl core::fmt::Display for PublishError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            PublishError::Build(e) => e.fmt(f),
            PublishError::Prepare(e) => e.fmt(f),
            PublishError::Table(e) => write!(f, "the table cannot be read back: {e}"),
        }
    }
}

impl std::error::Error for PublishError {}

impl PublishError {
    /// What mends it; empty where the error says all.
    pub fn mend(&self) -> &'static str {
        match self {
            PublishError::Build(BuildError::Io(e)) | PublishError::Table(e) => mend_io(e),
            PublishError::Build(BuildError::NotAKey(_)) => "put back a copy of the store",
            _ => "",
        }
    }
}

impl From<BuildError> for PublishError {
    fn from(e: BuildError) -> Self {
        PublishError::Build(e)
    }
}

impl From<PrepareError> for PublishError {
    fn from(e: PrepareError) -> Self {
        PublishError::Prepare(e)
    }
}

/// What is retrieved how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schemes {
    /// The table's.
    pub table: SchemeId,
    /// The directory's.
    pub directory: SchemeId,
}

impl Schemes {
    /// One scheme for both.
    pub const fn both(scheme: SchemeId) -> Self {
        Schemes { table: scheme, directory: scheme }
    }
}

/// The tree over a new epoch's table, whose rows go into `sink`.
///
/// # Errors
/// [`BuildError`].
pub fn build_table(
    keys: &OperatorKeys,
    secret: &EpochSecret,
    directory: &[u8],
    sink: &dyn RowSink,
    work: &Work<'_>,
) -> Result<BlockTree, BuildError> {
    table::build(secret, directory, keys.vacant().public(), sink, work)
}

/// A database that answers.
fn prepare(
    scheme: SchemeId,
    rows: u64,
    row_bytes: usize,
    bytes: &[u8],
    seed: [u8; 32],
    work: &Work<'_>,
) -> Result<Box<dyn Server>, PrepareError> {
    let too_long = slyfi_pir::Unsupported("entries this long are not served");
    let shape = Shape::new(rows, u32::try_from(row_bytes).map_err(|_| too_long)?)?;
    let layout = registry::default_layout(scheme, shape)?;
    let how = Preparation { seed, workers: work.workers, progress: work.progress };
    registry::prepare(scheme, shape, layout, bytes, &how)
}

/// An epoch that is being served: no secret is in it but what its answers are signed with.
pub struct Serving {
    head: SignedHead,
    digest: Hash,
    top: Top,
    table: Box<dyn Server>,
    directory: Box<dyn Server>,
    /// Why there is nothing on the accelerator.
    refused: Option<AcceleratorError>,
}

impl core::fmt::Debug for Serving {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Serving {{ epoch: {} }}", self.head.head().epoch.number)
    }
}

impl Serving {
    /// Prepares the retrieval of a table and its directory, and signs the epoch's head.
    ///
    /// `tree` is [`build_table`]'s, `rows` what it wrote. The public matrices are expanded from the
    /// operator's id, so they are the same from epoch to epoch and clients can keep them.
    ///
    /// # Errors
    /// [`PublishError`].
    ///
    /// # Panics
    /// If there are no keys; [`build_table`] has refused that.
    pub fn prepare(
        keys: &OperatorKeys,
        secret: &EpochSecret,
        directory: &[u8],
        rows: &[u8],
        tree: &BlockTree,
        schemes: Schemes,
        work: &Work<'_>,
    ) -> Result<Self, PublishError> {
        let count = (directory.len() / KEY_BYTES) as u64;
        let layout = DirectoryLayout::for_rows(count);
        let directory_tree = layout.tree(directory);
        let seed = |database: Database| Head::retrieval_seed(&keys.id(), database);
        let table = prepare(schemes.table, count, ROW_BYTES, rows, seed(Database::Table), work)?;
        let entries = layout.database(directory, &directory_tree);
        let directory_server = prepare(
            schemes.directory,
            layout.blocks(),
            layout.entry_bytes(),
            &entries,
            seed(Database::Directory),
            work,
        )?;
        let head = Head {
            epoch: *secret.epoch(),
            commitment: *secret.commitment(),
            vacant: *keys.vacant().public(),
            table_root: tree.root(),
            directory_root: directory_tree.root(),
            directory_layout: layout,
            table: *table.setup(),
            directory: *directory_server.setup(),
        };
        let top = Top::of(&layout, &directory_tree);
        let digest = head.digest();
        let (head, directory) = (head.sign(keys), directory_server);
        Ok(Serving { head, digest, top, table, directory, refused: None })
    }

    /// Serves what was published before, after a restart: the same head, and retrieval prepared
    /// again from the same files.
    ///
    /// # Errors
    /// [`PublishError::Table`] if the files do not give the head that was signed: nothing else may
    /// be served under it.
    pub fn resume(
        head: SignedHead,
        directory: &[u8],
        rows: &[u8],
        work: &Work<'_>,
    ) -> Result<Self, PublishError> {
        let other = |what: &str| {
            PublishError::Table(io::Error::new(io::ErrorKind::InvalidData, what.to_owned()))
        };
        let published = head.head();
        let layout = published.directory_layout;
        let lengths = directory.len() as u64 == layout.rows() * KEY_BYTES as u64
            && rows.len() as u64 == layout.rows() * ROW_BYTES as u64;
        if !lengths || table::tree(rows).root() != published.table_root {
            return Err(other("it is not the table that was committed to"));
        }
        let directory_tree = layout.tree(directory);
        if directory_tree.root() != published.directory_root {
            return Err(other("the list of keys is not the one that was committed to"));
        }
        let again = |setup: &Setup, bytes: &[u8]| {
            let how =
                Preparation { seed: setup.seed, workers: work.workers, progress: work.progress };
            let server = registry::prepare(setup.scheme, setup.shape, setup.layout, bytes, &how)?;
            if server.setup() == setup {
                Ok(server)
            } else {
                Err(other("retrieval is not what was committed to: another version built it"))
            }
        };
        let table = again(&published.table, rows)?;
        let entries = layout.database(directory, &directory_tree);
        let directory = again(&published.directory, &entries)?;
        let (top, digest) = (Top::of(&layout, &directory_tree), published.digest());
        Ok(Serving { head, digest, top, table, directory, refused: None })
    }

    /// The head.
    pub fn head(&self) -> &SignedHead {
        &self.head
    }

    /// The top of the directory's tree.
    pub fn top(&self) -> &Top {
        &self.top
    }

    fn server(&self, database: Database) -> &dyn Server {
        match database {
            Database::Table => &*self.table,
            Database::Directory => &*self.directory,
        }
    }

    /// The hint to publish, if there is one.
    pub fn hint(&self, database: Database) -> Option<&[u8]> {
        self.server(database).hint()
    }

    /// Answers a query and signs the answer.
    ///
    /// # Errors
    /// [`WireError`] for what is no query of this epoch.
    pub fn answer(
        &self,
        keys: &OperatorKeys,
        database: Database,
        query: &[u8],
    ) -> Result<SignedAnswer, WireError> {
        let answer = self.server(database).answer(query)?;
        Ok(SignedAnswer::sign(keys, &self.digest, database, query, answer))
    }

    /// Answers several queries in one pass over the database.
    pub fn answer_batch(
        &self,
        keys: &OperatorKeys,
        database: Database,
        queries: &[&[u8]],
    ) -> Vec<Result<SignedAnswer, WireError>> {
        let answers = self.server(database).answer_batch(queries);
        let sign = |(answer, query): (Result<Vec<u8>, WireError>, &&[u8])| {
            Ok(SignedAnswer::sign(keys, &self.digest, database, query, answer?))
        };
        answers.into_iter().zip(queries).map(sign).collect()
    }

    /// Copies both databases to an accelerator ([`Server::accelerate`]). Answers stay the same; where it
    /// has no room or fails, the processor makes them, and [`Serving::accelerator_fault`] says why.
    pub fn accelerate(&mut self, accelerator: &dyn Accelerator) {
        let databases = [&mut self.table, &mut self.directory];
        let results = databases.map(|database| database.accelerate(accelerator));
        self.refused = results.into_iter().find_map(Result::err);
    }

    /// Why the processor computes what an accelerator should, if it does.
    pub fn accelerator_fault(&self) -> Option<AcceleratorError> {
        let of = |database: &dyn Server| database.accelerator().and_then(|status| status.fault);
        self.refused.clone().or_else(|| of(&*self.table)).or_else(|| of(&*self.directory))
    }

    /// The memory that the prepared databases occupy, bytes.
    pub fn memory_bytes(&self) -> usize {
        self.table.memory_bytes() + self.directory.memory_bytes()
    }
}
