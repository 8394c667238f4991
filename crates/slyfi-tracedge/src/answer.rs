//! Signed answers, and the retrievals they answer (docs/tracedge.md §6).

use core::fmt;

use slyfi_base::SecureRandom;
use slyfi_pir::{Client, QueryState, Retrieved};
use zeroize::Zeroizing;

use crate::head::{Head, SignedHead};
use crate::keys::{OperatorId, OperatorKeys};
use crate::merkle::{Hash, sha256};
use crate::random::SeededRandom;
use crate::wire::{Malformed, Reader};

/// The label of what is signed.
const ANSWER: &[u8] = b"slyfi-tracedge/1 answer";

/// What is retrieved from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Database {
    /// The table: rows.
    Table,
    /// The directory: blocks of keys with their paths.
    Directory,
}

impl Database {
    /// Its number on the wire.
    pub const fn code(self) -> u8 {
        match self {
            Database::Table => 1,
            Database::Directory => 2,
        }
    }

    /// The database of a number on the wire.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Database::Table),
            2 => Some(Database::Directory),
            _ => None,
        }
    }

    /// Its setup in a head.
    pub fn setup(self, head: &Head) -> &slyfi_pir::Setup {
        match self {
            Database::Table => &head.table,
            Database::Directory => &head.directory,
        }
    }
}

/// An answer with the operator's signature over which query it answers and under which head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedAnswer {
    /// The answer, as retrieval made it.
    pub answer: Vec<u8>,
    /// The signature.
    pub signature: [u8; 64],
}

impl SignedAnswer {
    /// What is signed.
    fn transcript(head: &Hash, database: Database, query: &Hash, answer: &[u8]) -> Vec<u8> {
        let answer = sha256(&[answer]);
        [ANSWER, head, &[database.code()], query, &answer].concat()
    }

    /// Signs an answer to `query` under the head with this digest.
    pub fn sign(
        keys: &OperatorKeys,
        head: &Hash,
        database: Database,
        query: &[u8],
        answer: Vec<u8>,
    ) -> Self {
        let transcript = Self::transcript(head, database, &sha256(&[query]), &answer);
        SignedAnswer { signature: keys.sign(&transcript), answer }
    }

    /// Whether `operator` signed this as its answer to the query with this hash.
    pub fn is_signed_by(
        &self,
        operator: &OperatorId,
        head: &Hash,
        database: Database,
        query: &Hash,
    ) -> bool {
        let transcript = Self::transcript(head, database, query, &self.answer);
        operator.has_signed(&transcript, &self.signature)
    }

    /// Encodes: signature ‖ answer.
    pub fn encode(&self) -> Vec<u8> {
        [&self.signature[..], &self.answer].concat()
    }

    /// Decodes; the length of the answer is retrieval's to check.
    ///
    /// # Errors
    /// [`Malformed`] if it is too short for a signature.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes, "a signed answer");
        let signature = reader.array()?;
        Ok(SignedAnswer { signature, answer: bytes[64..].to_vec() })
    }
}

/// A query that is under way. The seed it was made from is kept, because index and seed prove what
/// it asked for if the answer turns out wrong; it is erased when this is dropped.
pub struct Retrieval {
    database: Database,
    index: u64,
    seed: Zeroizing<[u8; 32]>,
    query: Vec<u8>,
    state: Box<dyn QueryState>,
    head: Hash,
    operator: OperatorId,
}

impl Retrieval {
    /// Asks for entry `index`.
    ///
    /// # Errors
    /// [`slyfi_pir::IndexOutOfRange`] if there is no such entry.
    pub fn begin(
        head: &SignedHead,
        database: Database,
        client: &dyn Client,
        index: u64,
        rng: &mut dyn SecureRandom,
    ) -> Result<Self, slyfi_pir::IndexOutOfRange> {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill(&mut *seed);
        let query = client.query(index, &mut SeededRandom::new(*seed))?;
        Ok(Retrieval {
            database,
            index,
            seed,
            query: query.bytes,
            state: query.state,
            head: head.head().digest(),
            operator: head.head().epoch.operator,
        })
    }

    /// Which database to send it to.
    pub fn database(&self) -> Database {
        self.database
    }

    /// What to send.
    pub fn query(&self) -> &[u8] {
        &self.query
    }

    /// Takes the answer.
    ///
    /// # Errors
    /// [`AnswerError`] if it is not signed by the operator as the answer to this query. What is
    /// signed and still is no answer comes out as a [`Reply`] without content, to be kept as evidence.
    pub fn finish(self, signed: SignedAnswer) -> Result<Reply, AnswerError> {
        let query_hash = sha256(&[&self.query]);
        if !signed.is_signed_by(&self.operator, &self.head, self.database, &query_hash) {
            return Err(AnswerError);
        }
        let content = self.state.extract(&signed.answer).ok();
        let exhibit = Exhibit { index: self.index, seed: self.seed, signed };
        Ok(Reply { content, exhibit })
    }
}

impl fmt::Debug for Retrieval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Retrieval {{ from: {:?}, index: <hidden> }}", self.database)
    }
}

/// An answer is not signed by the operator as the answer to what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerError;

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer is not signed by the operator as the answer to this query")
    }
}

impl std::error::Error for AnswerError {}

/// What came back.
#[derive(Debug)]
pub struct Reply {
    /// The entry and what came with it; `None` if what the operator signed is no answer.
    pub content: Option<Retrieved>,
    /// What proves it.
    pub exhibit: Exhibit,
}

/// What proves what an operator answered to which question.
///
/// Holds the index and what the query was made from: not printed, and erased when dropped.
#[derive(Clone)]
pub struct Exhibit {
    /// The entry that was asked for.
    pub(crate) index: u64,
    /// What the query was made from.
    pub(crate) seed: Zeroizing<[u8; 32]>,
    /// The answer.
    pub(crate) signed: SignedAnswer,
}

impl fmt::Debug for Exhibit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exhibit { <hidden> }")
    }
}
