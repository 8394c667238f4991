//! The AES chains that SlyFi lives on, fused and batched over frames with a key each.
//!
//! | what | how it is fast |
//! |---|---|
//! | [`EncryptKey`], [`encrypt_blocks_with_many`] | addresses: many blocks, or many keys, side by side |
//! | [`CbcCmacKey`] | the chain of CMAC runs in the gaps of the chain of CBC: both for the time of one |
//! | [`seal_batch`], [`open_batch`] | sixteen frames of sixteen links, a lane each, in four registers |
//! | [`GcmKey`] | GHASH of one group of blocks beside the encryption of the next |
//! | [`CcmKey`] | the counter blocks of CCM run in the gaps of its MAC's chain |
//! | [`ccm_seal_batch`], [`ccm_open_batch`] | the same, sixteen messages of sixteen keys |
//! | [`Cmac`], [`DecryptKey`] | short messages and single blocks, without dispatch inside |
//!
//! No `std`, no allocation, no knowledge of a protocol.
//!
//! # Backends
//! [`backend()`] finds the best one once, from CPUID and XCR0 alone, and a key keeps the one that it was
//! made for. Every SIMD kernel has a safe twin, the RustCrypto ciphers behind [`Backend::Portable`],
//! and `tests/kernels` runs one test body over all of them. All of them take the same time whatever
//! the keys and the data are: the kernels have no table and no branch on either.
//!
//! # What is promised
//! - Opening verifies before it decrypts; data that does not verify is left as it was. CCM, whose tag
//!   is the plaintext's, cannot: it leaves zeros.
//! - Keys are zeroised on drop, batches leave no round key on the stack, and `Debug` shows nothing.
//!   Copies that the compiler spills from registers are beyond what a library can wipe.
//! - A length that the caller gets wrong panics when sealing; nothing that comes from the air does.
//!
//! # Memory safety
//! `unsafe` is confined to `x86` and to one dispatching macro; the tests also run under
//! AddressSanitizer, every buffer at its exact size:
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address \
//!     cargo test -p slyfi-aes --target x86_64-unknown-linux-gnu
//! ```

#![no_std]
#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, unused_mut, unused_variables, reason = "what only the kernels use")
)]

mod backend;
mod batch;
mod cbc_cmac;
mod ccm;
mod ccm_batch;
mod cmac;
mod decrypt;
mod encrypt;
mod gcm;
mod gcm_batch;
mod key_words;
mod mac_key;
mod mismatch;
mod one_time;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use backend::{Backend, backend};
pub use batch::{CbcCmacOpen, CbcCmacSeal, open_batch, seal_batch};
pub use cbc_cmac::CbcCmacKey;
pub use ccm::{CcmHead, CcmKey};
pub use ccm_batch::{CcmOpen, CcmSeal, ccm_open_batch, ccm_seal_batch};
pub use cmac::Cmac;
pub use decrypt::DecryptKey;
pub use encrypt::EncryptKey;
pub use gcm::GcmKey;
pub use gcm_batch::{GcmOpen, GcmSeal, gcm_open_batch, gcm_seal_batch};
pub use mismatch::Mismatch;
pub use one_time::{encrypt_blocks_with, encrypt_blocks_with_many};
#[doc(hidden)]
pub use one_time::{encrypt_blocks_with_many_on, encrypt_blocks_with_on};

/// One AES block (FIPS 197 §3.4: 128 bits).
pub type Block = [u8; 16];
