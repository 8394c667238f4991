//! What an operator commits to for an epoch (docs/tracedge.md §5).

use slyfi_pir::Setup;

use crate::answer::Database;
use crate::directory::DirectoryLayout;
use crate::epoch::{Epoch, ROW_BYTES};
use crate::keys::{OperatorId, OperatorKeys, PublicKey};
use crate::merkle::{Hash, sha256};
use crate::wire::{Malformed, Reader};

/// How far an operator's clock and a subscriber's may be apart, seconds.
pub const CLOCK_SKEW: u64 = 300;

/// The rows of a block of the table's tree.
pub const ROWS_PER_LEAF: usize = 64;

/// An epoch's commitment to K, table, directory and retrieval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Whose, which, and when.
    pub epoch: Epoch,
    /// R = r·B: commits to K.
    pub commitment: [u8; 32],
    /// V, the key of vacant rows.
    pub vacant: PublicKey,
    /// The root over the table's rows.
    pub table_root: Hash,
    /// The root over the directory's keys.
    pub directory_root: Hash,
    /// How the directory is cut; knows how many rows there are.
    pub directory_layout: DirectoryLayout,
    /// How rows are retrieved.
    pub table: Setup,
    /// How keys are retrieved.
    pub directory: Setup,
}

impl Head {
    const MAGIC: &[u8; 8] = b"TEhead1\0";
    /// The length of an encoding, bytes.
    pub const LEN: usize = 8 + 32 + 8 * 3 + 8 + 4 * 32 + 4 + 2 * Setup::LEN;

    /// How many rows the table has.
    pub fn rows(&self) -> u64 {
        self.directory_layout.rows()
    }

    /// Encodes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::LEN);
        out.extend_from_slice(Self::MAGIC);
        out.extend_from_slice(&self.epoch.operator.0);
        for number in [self.epoch.number, self.epoch.not_before, self.epoch.not_after, self.rows()]
        {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.commitment);
        out.extend_from_slice(self.vacant.as_bytes());
        out.extend_from_slice(&self.table_root);
        out.extend_from_slice(&self.directory_root);
        out.extend_from_slice(&self.directory_layout.keys_per_block().to_le_bytes());
        out.extend_from_slice(&self.directory_layout.path().to_le_bytes());
        out.extend_from_slice(&self.table.encode());
        out.extend_from_slice(&self.directory.encode());
        out
    }

    /// Decodes, and checks that the parts fit each other.
    ///
    /// # Errors
    /// [`Malformed`] for anything that [`Head::encode`] of a real head does not give.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes, "the head of an epoch");
        let wrong = reader.malformed();
        if &reader.array::<8>()? != Self::MAGIC {
            return Err(wrong);
        }
        let operator = OperatorId(reader.array()?);
        let epoch = Epoch {
            operator,
            number: reader.u64()?,
            not_before: reader.u64()?,
            not_after: reader.u64()?,
        };
        let rows = reader.u64()?;
        let commitment = reader.array()?;
        // R = 0 is r = 0, which no K gives, and would lay M open.
        PublicKey::decode(&commitment).map_err(|_| wrong)?;
        let vacant = PublicKey::decode(&reader.array()?).map_err(|_| wrong)?;
        let (table_root, directory_root) = (reader.array()?, reader.array()?);
        let directory_layout =
            DirectoryLayout::new(rows, reader.u16()?, reader.u16()?).ok_or(wrong)?;
        let table = Setup::decode(reader.bytes(Setup::LEN)?).map_err(|_| wrong)?;
        let directory = Setup::decode(reader.bytes(Setup::LEN)?).map_err(|_| wrong)?;
        reader.finish()?;
        let fits = |setup: &Setup, rows, bytes| {
            setup.shape.rows() == rows && setup.shape.row_bytes() == bytes
        };
        let whole = epoch.not_before < epoch.not_after
            && fits(&table, rows, ROW_BYTES)
            && fits(&directory, directory_layout.blocks(), directory_layout.entry_bytes());
        let head = Head {
            epoch,
            commitment,
            vacant,
            table_root,
            directory_root,
            directory_layout,
            table,
            directory,
        };
        if whole { Ok(head) } else { Err(wrong) }
    }

    /// What the public matrices of an operator's retrieval are expanded from.
    ///
    /// The operator's to choose it is not: a seed could be looked for that makes matrices of which it
    /// knows more than others. It is the same in every epoch, so clients can keep what follows from it.
    pub fn retrieval_seed(operator: &OperatorId, database: Database) -> [u8; 32] {
        sha256(&[b"slyfi-tracedge/1 retrieval", &operator.0, &[database.code()]])
    }

    /// Whether one honest operator cannot have made both: they are different heads for one epoch, or for
    /// one time. Heads for one time make groups of subscribers as well as heads for one epoch do.
    pub fn contradicts(&self, other: &Head) -> bool {
        let (a, b) = (&self.epoch, &other.epoch);
        let together = a.not_before < b.not_after && b.not_before < a.not_after;
        a.operator == b.operator && self != other && (a.number == b.number || together)
    }

    /// Checks whether a subscriber of `operator` may use it at `now` (Unix seconds), having accepted
    /// epoch `seen` before.
    ///
    /// A head whose epoch has not begun is the next epoch's: `ahead` is for fetching its key early.
    ///
    /// # Errors
    /// [`HeadError`], by the first thing that is wrong.
    pub fn check(
        &self,
        operator: &OperatorId,
        now: u64,
        seen: Option<u64>,
        ahead: bool,
    ) -> Result<(), HeadError> {
        let epoch = &self.epoch;
        if epoch.operator != *operator {
            return Err(HeadError::NotSigned);
        }
        for (setup, database) in
            [(&self.table, Database::Table), (&self.directory, Database::Directory)]
        {
            if !setup.scheme.is_secure() || setup.seed != Self::retrieval_seed(operator, database) {
                return Err(HeadError::Insecure);
            }
        }
        if now >= epoch.not_after.saturating_add(CLOCK_SKEW) {
            return Err(HeadError::Over);
        }
        if !ahead && now.saturating_add(CLOCK_SKEW) < epoch.not_before {
            return Err(HeadError::NotYet);
        }
        if seen.is_some_and(|seen| epoch.number < seen) {
            return Err(HeadError::OlderThanSeen);
        }
        Ok(())
    }

    /// H(head), which answers are signed with.
    pub fn digest(&self) -> Hash {
        sha256(&[&self.encode()])
    }

    /// Signs.
    pub fn sign(self, keys: &OperatorKeys) -> SignedHead {
        let signature = keys.sign(&self.encode());
        SignedHead { head: self, signature }
    }
}

/// Why a head is not accepted now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadError {
    /// It is no head.
    Malformed,
    /// It is not signed by the operator that was expected.
    NotSigned,
    /// Its epoch is over: an old head was replayed, or this machine's clock is ahead.
    Over,
    /// Its epoch begins later: it is the next one's, or this machine's clock is behind.
    NotYet,
    /// A later epoch's head has been accepted before.
    OlderThanSeen,
    /// Its retrieval scheme hides nothing (`ntru-2015`), or its matrices are of the operator's choice.
    Insecure,
}

impl core::fmt::Display for HeadError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            HeadError::Malformed => "this is not the head of an epoch",
            HeadError::NotSigned => "the head is not signed by this operator",
            HeadError::Over => "the epoch is over: an old head was served, or the clock is ahead",
            HeadError::NotYet => "the epoch begins later, or the clock is behind",
            HeadError::OlderThanSeen => {
                "a later epoch has been seen before: an old head was served"
            }
            HeadError::Insecure => {
                "the operator's retrieval hides nothing, or it chose the matrices"
            }
        })
    }
}

impl std::error::Error for HeadError {}

/// A head with its operator's signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedHead {
    head: Head,
    signature: [u8; 64],
}

impl SignedHead {
    /// The length of an encoding, bytes.
    pub const LEN: usize = Head::LEN + 64;

    /// Encodes: head ‖ signature.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.head.encode();
        out.extend_from_slice(&self.signature);
        out
    }

    /// Decodes, and checks the signature with the key that the head itself names.
    ///
    /// # Errors
    /// [`HeadError::Malformed`] or [`HeadError::NotSigned`].
    pub fn decode(bytes: &[u8]) -> Result<Self, HeadError> {
        let (body, signature) = bytes.split_last_chunk::<64>().ok_or(HeadError::Malformed)?;
        let head = Head::decode(body).map_err(|_| HeadError::Malformed)?;
        if !head.epoch.operator.has_signed(body, signature) {
            return Err(HeadError::NotSigned);
        }
        Ok(SignedHead { head, signature: *signature })
    }

    /// The head.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// [`Head::check`].
    ///
    /// # Errors
    /// [`HeadError`], by the first thing that is wrong.
    pub fn check(
        &self,
        operator: &OperatorId,
        now: u64,
        seen: Option<u64>,
        ahead: bool,
    ) -> Result<(), HeadError> {
        self.head.check(operator, now, seen, ahead)
    }
}
