//! The append-only log of heads and openings (docs/tracedge.md §5).

use crate::epoch::{Epoch, EpochKey, EpochSecret};
use crate::head::{CLOCK_SKEW, Head};
use crate::keys::{OperatorId, OperatorKeys};
use crate::merkle::{Hash, leaf_hash, log};
use crate::wire::{Malformed, Reader};

/// What a log holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// An epoch's head, before the epoch begins.
    Head(Box<Head>),
    /// An epoch's K, when it is over.
    Opening {
        /// Which epoch.
        epoch: u64,
        /// Its key.
        key: EpochKey,
    },
}

impl Entry {
    /// Encodes: 1 ‖ head, or 2 ‖ epoch ‖ K.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Entry::Head(head) => [&[1], &head.encode()[..]].concat(),
            Entry::Opening { epoch, key } => {
                [&[2], &epoch.to_le_bytes()[..], key.as_bytes()].concat()
            }
        }
    }

    /// Decodes.
    ///
    /// # Errors
    /// [`Malformed`] for anything that [`Entry::encode`] does not give.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes, "an entry of the log");
        match reader.u8()? {
            1 => Ok(Entry::Head(Box::new(Head::decode(&bytes[1..])?))),
            2 => {
                let (epoch, key) = (reader.u64()?, EpochKey::from_bytes(reader.array()?));
                reader.finish()?;
                Ok(Entry::Opening { epoch, key })
            }
            _ => Err(reader.malformed()),
        }
    }

    /// Whether one honest operator cannot have logged both: two heads that contradict each other, or a
    /// head and a key of its epoch that does not open it.
    pub fn contradicts(&self, other: &Entry) -> bool {
        match (self, other) {
            (Entry::Head(one), Entry::Head(other)) => one.contradicts(other),
            (Entry::Head(head), Entry::Opening { epoch, key })
            | (Entry::Opening { epoch, key }, Entry::Head(head)) => {
                head.epoch.number == *epoch && !opens(&head.epoch, &head.commitment, key)
            }
            (Entry::Opening { .. }, Entry::Opening { .. }) => false,
        }
    }

    /// The hash that stands for it in the tree.
    pub fn leaf(&self) -> Hash {
        leaf_hash(&self.encode())
    }
}

/// Whether a published K opens the commitment of an epoch.
pub fn opens(epoch: &Epoch, commitment: &[u8; 32], key: &EpochKey) -> bool {
    EpochSecret::derive(epoch, key.clone()).commitment() == commitment
}

/// A signed statement about the whole log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeHead {
    /// Whose log.
    pub operator: OperatorId,
    /// How many entries it has.
    pub size: u64,
    /// The root over them.
    pub root: Hash,
    /// When it was signed, Unix seconds.
    pub time: u64,
    signature: [u8; 64],
}

/// Why a tree head is not accepted after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogError {
    /// It is another operator's.
    AnotherOperator,
    /// It is smaller or older than what was seen: an old state was served.
    OlderThanSeen,
    /// The proof that it extends what was seen does not hold.
    NotExtended,
    /// The proof that a head is in it does not hold.
    NotIncluded,
    /// Its heads do not follow each other.
    Disordered,
    /// K of an epoch that is over was not published: what its table held cannot be looked at.
    Unopened,
    /// It was not signed now: an old state was served, or this machine's clock is off.
    NotNow,
}

impl core::fmt::Display for LogError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            LogError::AnotherOperator => "the log is another operator's",
            LogError::OlderThanSeen => "the log is older than what was seen of it before",
            LogError::NotExtended => "the log does not continue what was seen of it before",
            LogError::NotIncluded => "the epoch's head is not in the log",
            LogError::Disordered => "the epochs in the log do not follow each other",
            LogError::Unopened => "the key of an epoch that is over is not in the log",
            LogError::NotNow => {
                "the log's state is of another time: it is old, or the clock is off"
            }
        })
    }
}

impl std::error::Error for LogError {}

impl TreeHead {
    const MAGIC: &[u8; 8] = b"TElog1\0\0";
    /// The length of an encoding, bytes.
    pub const LEN: usize = 8 + 32 + 8 + 32 + 8 + 64;

    fn body(operator: &OperatorId, size: u64, root: &Hash, time: u64) -> Vec<u8> {
        let (size, time) = (size.to_le_bytes(), time.to_le_bytes());
        [&Self::MAGIC[..], &operator.0, &size, root, &time].concat()
    }

    /// Signs the state of a log.
    pub fn sign(keys: &OperatorKeys, leaves: &[Hash], time: u64) -> Self {
        let (operator, size, root) = (keys.id(), leaves.len() as u64, log::root(leaves));
        let signature = keys.sign(&Self::body(&operator, size, &root, time));
        TreeHead { operator, size, root, time, signature }
    }

    /// Encodes: magic ‖ operator ‖ size ‖ root ‖ time ‖ signature.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Self::body(&self.operator, self.size, &self.root, self.time);
        out.extend_from_slice(&self.signature);
        out
    }

    /// Decodes, and checks the signature with the key that it names.
    ///
    /// # Errors
    /// [`Malformed`] if it is none, or is not signed.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes, "a signed tree head");
        let wrong = reader.malformed();
        if &reader.array::<8>()? != Self::MAGIC {
            return Err(wrong);
        }
        let (operator, size) = (OperatorId(reader.array()?), reader.u64()?);
        let (root, time) = (reader.array()?, reader.u64()?);
        let signature = reader.array()?;
        reader.finish()?;
        let body = Self::body(&operator, size, &root, time);
        let signed = operator.has_signed(&body, &signature);
        let tree_head = TreeHead { operator, size, root, time, signature };
        if signed { Ok(tree_head) } else { Err(wrong) }
    }

    /// Checks that this may follow `seen`.
    ///
    /// # Errors
    /// [`LogError`], by what is wrong.
    pub fn check_after(&self, seen: &TreeHead, proof: &[Hash]) -> Result<(), LogError> {
        if self.operator != seen.operator {
            return Err(LogError::AnotherOperator);
        }
        // An honest operator's clock may be set back a little too; what counts is the log.
        let back = self.time.saturating_add(CLOCK_SKEW) < seen.time;
        if self.size < seen.size || back {
            return Err(LogError::OlderThanSeen);
        }
        if seen.size != 0 && !log::extends(seen.size, &seen.root, self.size, &self.root, proof) {
            return Err(LogError::NotExtended);
        }
        Ok(())
    }

    /// Checks that `head` is entry `index`.
    ///
    /// # Errors
    /// [`LogError`] if it is not.
    pub fn check_includes(&self, head: &Head, index: u64, proof: &[Hash]) -> Result<(), LogError> {
        if head.epoch.operator != self.operator {
            return Err(LogError::AnotherOperator);
        }
        let leaf = Entry::Head(Box::new(head.clone())).leaf();
        if log::includes(&self.root, self.size, index, leaf, proof) {
            Ok(())
        } else {
            Err(LogError::NotIncluded)
        }
    }
}
