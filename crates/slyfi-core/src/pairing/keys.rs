//! The Tryst keys of a pairing and their day ratchet.
//!
//! # Layout
//! Suite `2008` (slyfi-2008 §4.1): `k_addr(j+1) = SHA1_128(k_addr(j))`; k_enc and k_mac stay.
//!
//! Suite `aead`, a secret D_j of 32 bytes for each direction and day:
//! `D_{j+1} = HKDF-Expand(D_j, "slyfi aead day", 32)` and
//! `k_addr ‖ k_enc ‖ k_mac = HKDF-Expand(D_j, "slyfi aead tryst", 48)`, HKDF over SHA-256.

use crate::kdf;
use crate::keys::{Key128, Key256};
use crate::suite::Suite;
use sha1::{Digest, Sha1};
use slyfi_base::SecureRandom;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// A direction of a pairing or of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Client to access point.
    Up,
    /// Access point to client.
    Down,
}

impl Direction {
    /// Returns the other one.
    pub const fn reverse(self) -> Self {
        match self {
            Direction::Up => Direction::Down,
            Direction::Down => Direction::Up,
        }
    }
}

/// The Tryst keys of one direction on one day (slyfi-2008 §3.3).
#[derive(Clone, Debug, PartialEq, Eq, ZeroizeOnDrop)]
pub struct TrystKeys {
    /// Makes the addresses.
    pub addr: Key128,
    /// Encrypts the packet key kp.
    pub enc: Key128,
    /// Authenticates the header.
    pub mac: Key128,
}

/// The stored form of one direction's keys.
#[derive(Clone, Debug, PartialEq, Eq, ZeroizeOnDrop)]
pub(super) enum DirectionKeys {
    S2008(TrystKeys),
    Aead(Key256),
}

impl DirectionKeys {
    pub(super) fn random<R: SecureRandom + ?Sized>(suite: Suite, rng: &mut R) -> Self {
        match suite {
            Suite::S2008 => DirectionKeys::S2008(TrystKeys {
                addr: Key128::random(rng),
                enc: Key128::random(rng),
                mac: Key128::random(rng),
            }),
            Suite::Aead { .. } => DirectionKeys::Aead(Key256::random(rng)),
        }
    }

    /// Moves on by one day; the old keys are overwritten.
    pub(super) fn ratchet(&mut self) {
        match self {
            DirectionKeys::S2008(keys) => keys.addr = sha1_128(&keys.addr),
            DirectionKeys::Aead(secret) => {
                let mut next = Zeroizing::new([0; 32]);
                kdf::expand(secret.as_bytes(), b"slyfi aead day", &[], &mut *next);
                secret.as_mut().copy_from_slice(&*next);
            }
        }
    }

    pub(super) fn expand(&self) -> TrystKeys {
        match self {
            DirectionKeys::S2008(keys) => keys.clone(),
            DirectionKeys::Aead(secret) => {
                let mut okm = Zeroizing::new([[0; 16]; 3]);
                kdf::expand(secret.as_bytes(), TRYST, &[], okm.as_flattened_mut());
                let [addr, enc, mac] = *okm;
                TrystKeys { addr: Key128::new(addr), enc: Key128::new(enc), mac: Key128::new(mac) }
            }
        }
    }
}

impl DirectionKeys {
    /// The address key alone: the first 16 bytes of the expansion.
    fn addr(&self) -> Key128 {
        match self {
            DirectionKeys::S2008(keys) => keys.addr.clone(),
            DirectionKeys::Aead(secret) => {
                let mut key = Key128::new([0; 16]);
                kdf::expand(secret.as_bytes(), TRYST, &[], key.as_mut());
                key
            }
        }
    }
}

/// The address keys of one direction, day after day.
pub(crate) struct AddressKeys {
    pub(super) keys: DirectionKeys,
    pub(super) day: u64,
    pub(super) last_day: u64,
}

impl AddressKeys {
    /// Returns the key of `day`, which must not be before that of the last call; `None` if it is
    /// erased or absurdly far ahead.
    pub(crate) fn on(&mut self, day: u64) -> Option<Key128> {
        if day < self.day || day > self.last_day {
            return None;
        }
        (self.day..day).for_each(|_| self.keys.ratchet());
        self.day = day;
        Some(self.keys.addr())
    }
}

const TRYST: &[u8] = b"slyfi aead tryst";

/// The first 128 bits of SHA-1 (slyfi-2008 §3.3, §4.1).
pub(crate) fn sha1_128(key: &Key128) -> Key128 {
    let mut hash = Sha1::digest(key.as_bytes());
    let mut first = [0; 16];
    first.copy_from_slice(&hash[..16]);
    hash.as_mut_slice().zeroize();
    Key128::new(first)
}
