//! The contract.

use slyfi_base::SecureRandom;

use crate::accelerator::{Accelerator, AcceleratorError, AcceleratorStatus};
use crate::error::{IndexOutOfRange, PrepareError, SetupError, Unsupported, WireError};
use crate::prepare::Preparation;
use crate::retrieved::Retrieved;
use crate::setup::{SchemeId, Setup};
use crate::shape::Shape;

/// A way to retrieve rows privately.
///
/// Whoever picks the scheme at run time goes through [`crate::registry`], which does the same on
/// trait objects.
pub trait Scheme {
    /// Which one it is.
    const ID: SchemeId;
    /// Its server half.
    type Server: Server;
    /// Its client half.
    type Client: Client;

    /// The layout that serves `shape` best if nothing else is asked for. What the number means is
    /// the scheme's to say.
    ///
    /// # Errors
    /// [`Unsupported`] if no layout serves this shape.
    fn default_layout(shape: Shape) -> Result<u32, Unsupported>;

    /// The lengths that a table of this shape and layout has on the wire.
    ///
    /// # Errors
    /// [`Unsupported`] if the scheme cannot have it.
    fn sizes(shape: Shape, layout: u32) -> Result<Sizes, Unsupported>;

    /// Makes a server of a table of `shape`, rows one after another.
    ///
    /// The table is not needed afterwards; it may be a mapped file.
    ///
    /// # Errors
    /// [`PrepareError`] if the scheme cannot serve it, the table has another length, or the progress
    /// callback asked to stop.
    fn prepare(
        shape: Shape,
        layout: u32,
        table: &[u8],
        how: &Preparation<'_>,
    ) -> Result<Self::Server, PrepareError>;

    /// Makes a client of what a server published.
    ///
    /// # Errors
    /// [`SetupError`] if the setup is not this scheme's or cannot be, or the hint is not the one it
    /// names.
    fn client(setup: &Setup, hint: Option<&[u8]>) -> Result<Self::Client, SetupError>;
}

/// The lengths of everything that travels, fixed by shape and layout, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Of a query.
    pub query: usize,
    /// Of an answer.
    pub answer: usize,
    /// Of the hint; 0 if there is none.
    pub hint: usize,
    /// How many rows an answer carries at most: the wanted one and its block.
    pub rows_per_answer: usize,
}

/// The server half: a prepared table. It never learns an index and keeps nothing of a query.
pub trait Server: Send + Sync {
    /// What to publish.
    fn setup(&self) -> &Setup;

    /// The hint to publish, if the scheme has one; [`Setup::hint`] is its digest.
    fn hint(&self) -> Option<&[u8]>;

    /// Answers a query, on the calling thread.
    ///
    /// # Errors
    /// [`WireError`] for anything that [`Client::query`] does not make of this setup. Costs no more
    /// than a look at the length for most junk.
    fn answer(&self, query: &[u8]) -> Result<Vec<u8>, WireError>;

    /// Answers several queries in one pass over the table, in their order, on the calling thread.
    ///
    /// Junk among them is refused without harm to the others. Schemes without a batched kernel
    /// answer one after another.
    fn answer_batch(&self, queries: &[&[u8]]) -> Vec<Result<Vec<u8>, WireError>> {
        queries.iter().map(|query| self.answer(query)).collect()
    }

    /// The memory that the prepared table occupies, bytes, the hint included.
    fn memory_bytes(&self) -> usize;

    /// Copies the table to an accelerator, which computes the products with it from now on. The first
    /// of them are compared with the processor's; should the device fail later, the server goes on
    /// without it, and [`Server::accelerator`] says so.
    ///
    /// # Errors
    /// [`AcceleratorError`] if the scheme has no use for one, it has no room, or it failed; then
    /// everything stays as it was.
    fn accelerate(&mut self, _accelerator: &dyn Accelerator) -> Result<(), AcceleratorError> {
        Err(AcceleratorError::Unsupported)
    }

    /// The accelerator that the table was copied to, if any, and whether it still works.
    fn accelerator(&self) -> Option<AcceleratorStatus> {
        None
    }
}

/// The client half.
pub trait Client: Send + Sync {
    /// The setup that it was made of.
    fn setup(&self) -> &Setup;

    /// Makes a query for row `index`.
    ///
    /// # Security
    /// Constant time in `index`, as long as it is a row of the table.
    ///
    /// # Errors
    /// [`IndexOutOfRange`] if the table has no such row.
    fn query(&self, index: u64, rng: &mut dyn SecureRandom) -> Result<Query, IndexOutOfRange>;
}

/// A query, and what its maker keeps for the answer.
#[must_use]
pub struct Query {
    /// What goes to the server.
    pub bytes: Vec<u8>,
    /// What opens the answer. Holds the secret of this query; erased when dropped.
    pub state: Box<dyn QueryState>,
}

impl core::fmt::Debug for Query {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Query {{ {} bytes, state: <hidden> }}", self.bytes.len())
    }
}

/// The secret half of a query: opens one answer, once.
pub trait QueryState: Send {
    /// Opens the answer.
    ///
    /// # Security
    /// Constant time in the index and the rows. There is no integrity here: a server that garbles
    /// its answer changes what comes out.
    ///
    /// # Errors
    /// [`WireError`] for anything that a server of this setup does not answer.
    fn extract(self: Box<Self>, answer: &[u8]) -> Result<Retrieved, WireError>;
}
