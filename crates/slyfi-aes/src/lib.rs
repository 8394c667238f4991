//! The AES chains that SlyFi lives on, fused and batched.

#![no_std]

mod backend;
mod batch;
mod cbc_cmac;
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
