//! Requests for a row, and the operator's receipt (docs/tracedge.md §3).

use slyfi_base::SecureRandom;

use crate::epoch::Epoch;
use crate::keys::{OperatorId, OperatorKeys, Possession, PublicKey, SecretKey};
use crate::wire::{Malformed, Reader};

/// What somebody who was invited sends to get a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The invitation that he was given.
    pub invitation: [u8; 16],
    /// His key.
    pub key: PublicKey,
    /// That he knows its secret.
    pub possession: Possession,
}

/// Why a request gets no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// It is no request.
    Malformed,
    /// The proof of possession does not hold: the requester does not know his key's secret.
    NotPossessed,
}

impl core::fmt::Display for RequestError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            RequestError::Malformed => "this is no request for a row",
            RequestError::NotPossessed => "the requester does not prove that the key is his",
        })
    }
}

impl std::error::Error for RequestError {}

impl Request {
    /// The length of an encoding, bytes.
    pub const LEN: usize = 16 + 32 + Possession::LEN;

    /// Asks for a row for `key`.
    pub fn new(
        key: &SecretKey,
        operator: &OperatorId,
        invitation: &[u8; 16],
        rng: &mut dyn SecureRandom,
    ) -> Self {
        let possession = Possession::prove(key, operator, invitation, rng);
        Request { invitation: *invitation, key: *key.public(), possession }
    }

    /// Encodes: invitation ‖ P ‖ proof.
    pub fn encode(&self) -> Vec<u8> {
        [&self.invitation[..], self.key.as_bytes(), self.possession.as_bytes()].concat()
    }

    /// Decodes, and checks the proof towards `operator`.
    ///
    /// # Errors
    /// [`RequestError`], by what is wrong. Whether the invitation is good is the operator's to say.
    pub fn decode(bytes: &[u8], operator: &OperatorId) -> Result<Self, RequestError> {
        let request = Self::parse(bytes).map_err(|_| RequestError::Malformed)?;
        let proved = request.possession.verify(&request.key, operator, &request.invitation);
        if proved { Ok(request) } else { Err(RequestError::NotPossessed) }
    }

    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes, "a request for a row");
        let invitation = reader.array()?;
        let key = PublicKey::decode(&reader.array()?)?;
        let possession = Possession::from_bytes(reader.array()?);
        reader.finish()?;
        Ok(Request { invitation, key, possession })
    }
}

/// The operator's word that a row is somebody's, for a time.
///
/// Until it ends the row may hold this key or be vacant, and nobody else's: anything else in a
/// directory is proof against the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The operator.
    pub operator: OperatorId,
    /// The row.
    pub index: u64,
    /// Whose it is.
    pub key: PublicKey,
    /// The first epoch in which it is.
    pub first_epoch: u64,
    /// Until when the row is nobody else's, Unix seconds.
    pub until: u64,
    signature: [u8; 64],
}

impl Receipt {
    const MAGIC: &[u8; 8] = b"TErcpt1\0";
    /// The length of an encoding, bytes.
    pub const LEN: usize = 8 + 32 + 8 + 32 + 8 + 8 + 64;

    fn body(operator: &OperatorId, index: u64, key: &PublicKey, first: u64, until: u64) -> Vec<u8> {
        let [index, first, until] = [index, first, until].map(u64::to_le_bytes);
        [&Self::MAGIC[..], &operator.0, &index, key.as_bytes(), &first, &until].concat()
    }

    /// Signs.
    pub fn sign(
        keys: &OperatorKeys,
        index: u64,
        key: &PublicKey,
        first_epoch: u64,
        until: u64,
    ) -> Self {
        let operator = keys.id();
        let signature = keys.sign(&Self::body(&operator, index, key, first_epoch, until));
        Receipt { operator, index, key: *key, first_epoch, until, signature }
    }

    /// Whether it promises the row for `epoch`, which is the same operator's.
    pub fn covers(&self, epoch: &Epoch) -> bool {
        epoch.number >= self.first_epoch && epoch.not_before < self.until
    }

    /// Encodes: magic ‖ operator ‖ index ‖ P ‖ first epoch ‖ until ‖ signature.
    pub fn encode(&self) -> Vec<u8> {
        let mut out =
            Self::body(&self.operator, self.index, &self.key, self.first_epoch, self.until);
        out.extend_from_slice(&self.signature);
        out
    }

    /// Decodes, and checks the signature with the key that it names.
    ///
    /// # Errors
    /// [`Malformed`] if it is none, or is not signed.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes, "an operator's receipt for a row");
        let wrong = reader.malformed();
        if &reader.array::<8>()? != Self::MAGIC {
            return Err(wrong);
        }
        let operator = OperatorId(reader.array()?);
        let index = reader.u64()?;
        let key = PublicKey::decode(&reader.array()?).map_err(|_| wrong)?;
        let (first_epoch, until) = (reader.u64()?, reader.u64()?);
        let signature = reader.array()?;
        reader.finish()?;
        let body = Self::body(&operator, index, &key, first_epoch, until);
        let signed = operator.has_signed(&body, &signature);
        let receipt = Receipt { operator, index, key, first_epoch, until, signature };
        if signed { Ok(receipt) } else { Err(wrong) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SeededRandom;

    #[test]
    fn a_request_is_for_one_operator_and_one_invitation() {
        let rng = &mut SeededRandom::new([1; 32]);
        let (operator, other) =
            (OperatorKeys::generate(rng).id(), OperatorKeys::generate(rng).id());
        let key = SecretKey::generate(rng);
        let request = Request::new(&key, &operator, &[3; 16], rng);
        let bytes = request.encode();
        assert_eq!(bytes.len(), Request::LEN);
        assert_eq!(Request::decode(&bytes, &operator), Ok(request));
        assert_eq!(Request::decode(&bytes, &other), Err(RequestError::NotPossessed));
        let mut moved = bytes.clone();
        moved[0] ^= 1;
        assert_eq!(Request::decode(&moved, &operator), Err(RequestError::NotPossessed));
        assert_eq!(Request::decode(&bytes[1..], &operator), Err(RequestError::Malformed));
    }

    #[test]
    fn a_receipt_cannot_be_changed() {
        let rng = &mut SeededRandom::new([2; 32]);
        let (keys, key) = (OperatorKeys::generate(rng), SecretKey::generate(rng));
        let receipt = Receipt::sign(&keys, 5, key.public(), 9, 1_000);
        let bytes = receipt.encode();
        assert_eq!(bytes.len(), Receipt::LEN);
        assert_eq!(Receipt::decode(&bytes), Ok(receipt));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(Receipt::decode(&changed).is_err(), "byte {at}");
        }
    }
}
