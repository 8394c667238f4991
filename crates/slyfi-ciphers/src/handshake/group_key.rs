//! A group key and where its receivers begin (IEEE 802.11-2020 §12.7.1.4).

use super::KeyBytes;
use crate::packet::{KeyId, PacketNumber};

/// A group temporal key on its way from an access point to a station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupKey {
    /// Its identifier, 1 to 3 (0 is the pairwise key's).
    pub key_id: KeyId,
    /// The key.
    pub key: KeyBytes,
    /// The highest number that it has sealed: receivers refuse everything up to it.
    pub sequence: PacketNumber,
}

impl GroupKey {
    /// The receive sequence counter as frames carry it: least significant octet first (§12.7.2).
    pub(crate) const fn rsc(&self) -> [u8; 8] {
        self.sequence.get().to_le_bytes()
    }
}
