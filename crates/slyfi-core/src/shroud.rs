//! Shroud: data transport under an address for each transmission (slyfi-2008 §3.4).
//!
//! # Layout
//! Transmissions of a direction are numbered from 1; the number is never sent.
//!
//! | bytes | suite `2008` | suite `aead` |
//! |---|---|---|
//! | 16 | address `AES_ksEnc(i)` | address `AES_ka(i)` |
//! | variable | `AES-CBC_ksEnc(PKCS5(p))`, IV the address | `AES-GCM_kg(len ‖ p ‖ zeros)` |
//! | 16 | `CMAC_ksMAC(address ‖ etxt)` | the GCM tag |
//!
//! The block under the address key is i, 16 bytes big-endian. Suite `aead`: the nonce is i, 12 bytes
//! big-endian, the associated data the address; `len` is 2 bytes big-endian, the zeros are those of
//! the size policy ([`crate::sizes`]).
//!
//! A direction's secret is 32 bytes: `2008` ksEnc ‖ ksMAC; `aead` S with
//! `ka = HKDF-Expand(S, "slyfi aead shroud addr", 16)` and
//! `kg = HKDF-Expand(S, "slyfi aead shroud gcm", 16 or 32)`, HKDF over SHA-256.

mod batch;
mod receiver;
mod secret;
mod sender;

pub use crate::tryst::Unverified;
pub use batch::{ShroudOpen, ShroudSeal, open_batch, seal_batch};
pub use receiver::{Opened, ShroudReceiver, Slot, Window};
pub use secret::DirectionSecret;
pub use sender::{Limits, SealError, ShroudSender};

/// The window w unless configured otherwise (slyfi-2008 §4.2).
pub const DEFAULT_WINDOW: u16 = 50;

/// The largest window w.
pub const MAX_WINDOW: u16 = 4096;

/// The most older addresses that may be kept for air that reorders.
pub const MAX_LATE: u8 = 64;

/// The block whose encryption is the address of transmission `number`.
const fn block(number: u64) -> slyfi_aes::Block {
    (number as u128).to_be_bytes()
}

/// The GCM nonce of transmission `number`.
fn nonce(number: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&number.to_be_bytes());
    nonce
}

#[cfg(test)]
mod tests;
