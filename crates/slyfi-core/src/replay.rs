//! Probes and authentications that were accepted and must not be again (slyfi-2008 §4.1).
//!
//! A Tryst address lives for the whole window, so a recorded message could be played back within
//! it; the receiver remembers what it accepted for as long as the address is valid, across restarts
//! too. Full means refused.
//!
//! # Layout
//! A stored record, integers big-endian: version 1 (1 byte) ‖ pairing id (8) ‖ header tag (16) ‖
//! expiry in seconds since 1970 (8).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;
use slyfi_base::UnixTime;

/// An accepted message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ReplayRecord {
    /// The pairing's id.
    pub pairing: [u8; 8],
    /// The tag of the header that was accepted.
    pub header_mac: [u8; 16],
    /// When the message's address stops being valid.
    pub expires: UnixTime,
}

/// Why a message is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayRefused {
    /// It was accepted before, or so long ago that this can no longer be known.
    Replayed,
    /// No room to remember it.
    Full,
}

/// Bounds of the cache, in records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayBounds {
    /// For one pairing, so that a broken client locks out only itself.
    pub per_pairing: usize,
    /// In all: 32 bytes each.
    pub total: usize,
}

impl Default for ReplayBounds {
    fn default() -> Self {
        ReplayBounds { per_pairing: 512, total: 262_144 }
    }
}

/// The cache.
pub struct ReplayCache {
    bounds: ReplayBounds,
    by_pairing: BTreeMap<[u8; 8], Vec<Seen>>,
    total: usize,
    /// Records that expired up to here may have been forgotten.
    forgotten: UnixTime,
}

#[derive(Clone, Copy)]
struct Seen {
    header_mac: [u8; 16],
    expires: UnixTime,
}

const VERSION: u8 = 1;

impl ReplayRecord {
    /// Length of an encoded record.
    pub const LEN: usize = 33;

    /// Writes the record for the store.
    pub fn encode(&self) -> [u8; ReplayRecord::LEN] {
        let mut out = [0; ReplayRecord::LEN];
        out[0] = VERSION;
        out[1..9].copy_from_slice(&self.pairing);
        out[9..25].copy_from_slice(&self.header_mac);
        out[25..].copy_from_slice(&self.expires.as_secs().to_be_bytes());
        out
    }

    /// Reads what [`ReplayRecord::encode`] wrote; `None` for anything else.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; ReplayRecord::LEN] = bytes.try_into().ok()?;
        if bytes[0] != VERSION {
            return None;
        }
        let expires_s = u64::from_be_bytes(bytes[25..].try_into().ok()?);
        let expires = UnixTime::from_secs(expires_s);
        // Beyond what a clock can say, nothing was ever stored.
        (expires.as_secs() == expires_s).then_some(())?;
        Some(ReplayRecord {
            pairing: bytes[1..9].try_into().ok()?,
            header_mac: bytes[9..25].try_into().ok()?,
            expires,
        })
    }
}

impl fmt::Debug for ReplayRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReplayRecord(<hidden>)")
    }
}

impl ReplayCache {
    /// Makes an empty cache.
    pub fn new(bounds: ReplayBounds) -> Self {
        ReplayCache {
            bounds,
            by_pairing: BTreeMap::new(),
            total: 0,
            forgotten: UnixTime::default(),
        }
    }

    /// Returns how many records are held, expired ones that were not yet forgotten included.
    pub const fn len(&self) -> usize {
        self.total
    }

    /// Returns whether none is held.
    pub const fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Admits a message that verified, and remembers it. The record is to be made durable before the
    /// message has any effect.
    ///
    /// # Errors
    /// [`ReplayRefused`]; the message must have no effect then.
    pub fn admit(
        &mut self,
        record: ReplayRecord,
        wall: UnixTime,
    ) -> Result<ReplayRecord, ReplayRefused> {
        // After a clock that stepped back, an address can be valid again whose records are gone.
        if record.expires <= self.forgotten {
            return Err(ReplayRefused::Replayed);
        }
        if self.knows(&record.pairing, &record.header_mac) {
            return Err(ReplayRefused::Replayed);
        }
        self.make_room(&record.pairing, wall)?;
        self.remember(record);
        Ok(record)
    }

    /// Returns whether a message with this header was accepted and is remembered.
    pub fn knows(&self, pairing: &[u8; 8], header_mac: &[u8; 16]) -> bool {
        let seen = self.by_pairing.get(pairing);
        seen.is_some_and(|seen| seen.iter().any(|s| s.header_mac == *header_mac))
    }

    /// Puts back a record that was stored by an earlier run. Bounds do not apply: what was accepted
    /// stays refused.
    pub fn restore(&mut self, record: ReplayRecord) {
        self.remember(record);
    }

    /// Forgets a pairing that was removed.
    pub fn forget_pairing(&mut self, pairing: &[u8; 8]) {
        if let Some(seen) = self.by_pairing.remove(pairing) {
            self.total -= seen.len();
        }
    }

    fn remember(&mut self, record: ReplayRecord) {
        let ReplayRecord { pairing, header_mac, expires } = record;
        self.by_pairing.entry(pairing).or_default().push(Seen { header_mac, expires });
        self.total += 1;
    }

    /// Expired records are dropped only when their room is needed, so that a clock which steps back
    /// a little costs nothing.
    fn make_room(&mut self, pairing: &[u8; 8], wall: UnixTime) -> Result<(), ReplayRefused> {
        let mine = self.by_pairing.get(pairing).map_or(0, Vec::len);
        if mine >= self.bounds.per_pairing || self.total >= self.bounds.total {
            self.forget_expired(wall);
        }
        let mine = self.by_pairing.get(pairing).map_or(0, Vec::len);
        if mine >= self.bounds.per_pairing || self.total >= self.bounds.total {
            return Err(ReplayRefused::Full);
        }
        Ok(())
    }

    fn forget_expired(&mut self, wall: UnixTime) {
        self.forgotten = self.forgotten.max(wall);
        self.by_pairing.retain(|_, seen| {
            seen.retain(|s| s.expires > wall);
            !seen.is_empty()
        });
        self.total = self.by_pairing.values().map(Vec::len).sum();
    }
}

impl fmt::Debug for ReplayCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayCache").field("len", &self.total).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
