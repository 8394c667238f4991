//! K, what follows from it, and the rows it is in (docs/tracedge.md §4).

use core::fmt;

use curve25519_dalek::ristretto::CompressedRistretto;
use curve25519_dalek::{RistrettoPoint, Scalar};
use sha2::Sha256;
use slyfi_base::SecureRandom;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::keys::{OperatorId, PublicKey, SecretKey, hash_to_scalar};

/// The bytes of a row.
pub const ROW_BYTES: usize = 32;

/// The label of r's hash.
const EPHEMERAL: &[u8] = b"slyfi-tracedge/1 ephemeral";

/// Whose epoch it is, which, and when: public, and bound into r.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// The operator.
    pub operator: OperatorId,
    /// The number; the next epoch's is one higher.
    pub number: u64,
    /// From when on, Unix seconds.
    pub not_before: u64,
    /// Until when (exclusive), Unix seconds.
    pub not_after: u64,
}

/// K: the 128-bit key of an epoch (tracedge-2015 Table 2). Erased when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct EpochKey([u8; 16]);

impl EpochKey {
    /// Draws a new one.
    pub fn generate(rng: &mut dyn SecureRandom) -> Self {
        let mut key = EpochKey([0; 16]);
        rng.fill(&mut key.0);
        key
    }

    /// Takes one from where it was kept.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        EpochKey(bytes)
    }

    /// The key itself.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl PartialEq for EpochKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for EpochKey {}

impl fmt::Debug for EpochKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EpochKey(<hidden>)")
    }
}

/// Why a row does not open. Each of these is the operator's doing, or the retrieval went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowError {
    /// The row or the head's R is no element.
    NotAnElement,
    /// What is in the row is no key.
    NotAKey,
    /// What is in the row is a key, but not the one that the head commits to.
    AnotherKey,
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RowError::NotAnElement => "the row is no element of the group",
            RowError::NotAKey => "the row holds no key",
            RowError::AnotherKey => "the row holds another key than the one committed to",
        })
    }
}

impl std::error::Error for RowError {}

/// K of an epoch with everything that follows from it: whoever has this can make every row.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct EpochSecret {
    key: EpochKey,
    message: RistrettoPoint,
    ephemeral: Scalar,
    half_message: RistrettoPoint,
    half_ephemeral: Scalar,
    #[zeroize(skip)]
    commitment: [u8; 32],
    #[zeroize(skip)]
    epoch: Epoch,
}

impl EpochSecret {
    /// Derives it.
    pub fn derive(epoch: &Epoch, key: EpochKey) -> Self {
        let message = RistrettoPoint::lizard_encode::<Sha256>(&key.0);
        let ephemeral = hash_to_scalar(&[
            EPHEMERAL,
            &epoch.operator.0,
            &epoch.number.to_le_bytes(),
            &epoch.not_before.to_le_bytes(),
            &epoch.not_after.to_le_bytes(),
            &key.0,
        ]);
        let commitment = RistrettoPoint::mul_base(&ephemeral).compress().to_bytes();
        let half = Scalar::from(2u8).invert();
        EpochSecret {
            key,
            message,
            ephemeral,
            half_message: message * half,
            half_ephemeral: ephemeral * half,
            commitment,
            epoch: *epoch,
        }
    }

    /// Opens a row of an epoch whose head has `commitment`.
    ///
    /// # Security
    /// Constant time in the secret and in what comes out, as far as [`RowError`] does not tell.
    ///
    /// # Errors
    /// [`RowError`] if the row does not open to the key that the head commits to.
    pub fn open(
        epoch: &Epoch,
        commitment: &[u8; 32],
        row: &[u8; ROW_BYTES],
        secret: &SecretKey,
    ) -> Result<Self, RowError> {
        let element = |bytes| CompressedRistretto(bytes).decompress().ok_or(RowError::NotAnElement);
        let message = element(*row)? - element(*commitment)? * secret.scalar();
        let key = message.lizard_decode::<Sha256>().ok_or(RowError::NotAKey)?;
        let opened = EpochSecret::derive(epoch, EpochKey(key));
        // r·B = R: there is no second K for one R, so all whose rows open have the same.
        if bool::from(opened.commitment.ct_eq(commitment)) {
            Ok(opened)
        } else {
            Err(RowError::AnotherKey)
        }
    }

    /// K.
    pub fn key(&self) -> &EpochKey {
        &self.key
    }

    /// The epoch.
    pub fn epoch(&self) -> &Epoch {
        &self.epoch
    }

    /// R, what the head commits with.
    pub fn commitment(&self) -> &[u8; 32] {
        &self.commitment
    }

    /// The row under `key`.
    pub fn row(&self, key: &PublicKey) -> [u8; ROW_BYTES] {
        (self.message + key.point() * self.ephemeral).compress().to_bytes()
    }

    /// Half of the row under `key`: [`RistrettoPoint::double_and_compress_batch`] takes these, and is
    /// ten times cheaper than compressing rows one by one.
    pub(crate) fn half_row(&self, key: &RistrettoPoint) -> RistrettoPoint {
        self.half_message + key * self.half_ephemeral
    }

    /// M.
    pub(crate) fn message(&self) -> &RistrettoPoint {
        &self.message
    }

    /// r.
    pub(crate) fn ephemeral(&self) -> &Scalar {
        &self.ephemeral
    }
}

impl fmt::Debug for EpochSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EpochSecret {{ epoch: {}, secrets: <hidden> }}", self.epoch.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SeededRandom;

    fn epoch() -> Epoch {
        let operator = OperatorId([9; 32]);
        Epoch { operator, number: 7, not_before: 1_000, not_after: 4_600 }
    }

    #[test]
    fn a_row_opens_for_its_owner_and_for_nobody_else() {
        let rng = &mut SeededRandom::new([1; 32]);
        let (owner, other) = (SecretKey::generate(rng), SecretKey::generate(rng));
        for _ in 0..20 {
            let secret = EpochSecret::derive(&epoch(), EpochKey::generate(rng));
            let row = secret.row(owner.public());
            let opened = EpochSecret::open(&epoch(), secret.commitment(), &row, &owner).unwrap();
            assert_eq!(opened.key(), secret.key());
            let wrong = EpochSecret::open(&epoch(), secret.commitment(), &row, &other);
            assert_eq!(wrong.unwrap_err(), RowError::NotAKey);
        }
    }

    #[test]
    fn every_16_bytes_are_a_key() {
        // Lizard is injective on all strings, not only on random ones.
        let owner = SecretKey::generate(&mut SeededRandom::new([2; 32]));
        for bytes in [[0; 16], [0xff; 16], *b"\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80"] {
            let secret = EpochSecret::derive(&epoch(), EpochKey::from_bytes(bytes));
            let row = secret.row(owner.public());
            let opened = EpochSecret::open(&epoch(), secret.commitment(), &row, &owner).unwrap();
            assert_eq!(opened.key().as_bytes(), &bytes);
        }
    }

    #[test]
    fn rejects_a_row_with_another_key_under_the_same_head() {
        let rng = &mut SeededRandom::new([3; 32]);
        let owner = SecretKey::generate(rng);
        let committed = EpochSecret::derive(&epoch(), EpochKey::generate(rng));
        let other = EpochSecret::derive(&epoch(), EpochKey::generate(rng));
        // The operator knows r of the head, and makes a row that decrypts to the other key.
        let row = other.message() + owner.public().point() * committed.ephemeral();
        let row = row.compress().to_bytes();
        let opened = EpochSecret::open(&epoch(), committed.commitment(), &row, &owner);
        assert_eq!(opened.unwrap_err(), RowError::AnotherKey);
        let zero = EpochSecret::open(&epoch(), committed.commitment(), &[0xff; 32], &owner);
        assert_eq!(zero.unwrap_err(), RowError::NotAnElement);
    }

    #[test]
    fn a_commitment_is_of_one_operator_epoch_and_span() {
        let key = EpochKey::from_bytes([5; 16]);
        let of = |epoch: &Epoch| *EpochSecret::derive(epoch, key.clone()).commitment();
        let base = of(&epoch());
        assert_eq!(base, of(&epoch()));
        assert_ne!(base, of(&Epoch { operator: OperatorId([8; 32]), ..epoch() }));
        assert_ne!(base, of(&Epoch { number: 8, ..epoch() }));
        assert_ne!(base, of(&Epoch { not_before: 999, ..epoch() }));
        assert_ne!(base, of(&Epoch { not_after: 4_601, ..epoch() }));
    }

    #[test]
    fn nothing_secret_prints_itself() {
        let secret = EpochSecret::derive(&epoch(), EpochKey::from_bytes([0xcd; 16]));
        let text = format!("{secret:?} {:?}", secret.key());
        assert!(!text.contains("205") && !text.contains("cd"), "{text}");
    }
}
