//! Tryst: discovery and binding messages under addresses that live for an interval (slyfi-2008 §3.3).
//!
//! # Layout
//! A body is 1 to 8 headers (more than one: scoped broadcast, §4.1) and one ctext.
//!
//! | header, 48 bytes | |
//! |---|---|
//! | 16 | address: `AES_kaddr(class ‖ 0⁷ ‖ i)`, i 8 bytes big-endian, class 0 probe, 1 authentication |
//! | 16 | `AES_kEnc(kp)`, kp random for each message, the same in all its headers |
//! | 16 | `CMAC_kMAC` of the 32 bytes before |
//!
//! ctext of suite `2008`: `etxt = AES-CBC_kp(PKCS5(p))` with a zero IV, then `CMAC_kp2(etxt)` with
//! `kp2 = SHA1_128(kp)`.
//!
//! ctext of suite `aead`: `AES-GCM_kg(len ‖ p ‖ zeros)` and its 16-byte tag, nonce 12 zero bytes (kg
//! is used once), associated data all headers of the body, and
//! `kg = HKDF-SHA256(salt "slyfi aead tryst packet", kp, info "key")`, 16 or 32 bytes by the suite's
//! key size. `len` is 2 bytes big-endian; the zeros are those of the size policy
//! ([`crate::sizes`]).
//!
//! # Security
//! A header proves its sender to its recipient only. In a scoped broadcast every recipient learns kp
//! and so could make another ctext for the others' headers; they would take it once (the replay
//! cache goes by the header's tag). The paper's construction has the same property.

mod open;
mod seal;

pub use crate::pairing::TrystKeys;
pub use open::{Opened, Unverified, open};
pub use seal::{Recipient, SealError, seal, seal_with};

use crate::keys::Key128;
use crate::suite::KeySize;
use crate::table::Address;
use slyfi_aes::{EncryptKey, GcmKey};
use zeroize::Zeroizing;

/// Bytes of a header.
pub const HEADER_LEN: usize = 48;

/// The most headers of one body.
pub const MAX_RECIPIENTS: usize = 8;

/// The two kinds of Tryst message; each has its own address in every interval (slyfi-2008 §5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// Discovery.
    Probe = 0,
    /// Binding.
    Authentication = 1,
}

impl Class {
    /// Both, in the order of their numbers.
    pub const ALL: [Class; 2] = [Class::Probe, Class::Authentication];

    /// Returns the block whose encryption is the address of this class in `interval`.
    pub const fn block(self, interval: u64) -> [u8; 16] {
        ((self as u128) << 120 | interval as u128).to_be_bytes()
    }
}

/// Returns the address of `class` in `interval` under the address key of the interval's day.
pub fn address(addr_key: &Key128, class: Class, interval: u64) -> Address {
    let mut block = class.block(interval);
    EncryptKey::new(addr_key.as_bytes()).encrypt_block(&mut block);
    block
}

/// The AES-GCM key of one packet of suite `aead`.
fn packet_key(size: KeySize, kp: &Key128) -> GcmKey {
    let mut okm = Zeroizing::new([0; 32]);
    let (key, _) = okm.split_at_mut(match size {
        KeySize::Aes128 => 16,
        KeySize::Aes256 => 32,
    });
    crate::kdf::derive(b"slyfi aead tryst packet", kp.as_bytes(), b"key", key);
    match size {
        // The prefix of the longer output is the shorter one, so one array serves both.
        KeySize::Aes128 => GcmKey::new_128(okm.first_chunk().expect("16 of 32 bytes")),
        KeySize::Aes256 => GcmKey::new_256(&okm),
    }
}

/// kp is used for one message, so its only nonce is zero.
const NONCE: [u8; 12] = [0; 12];

#[cfg(test)]
mod tests;
