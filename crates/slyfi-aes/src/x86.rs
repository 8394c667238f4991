//! The kernels for x86-64.
//!
//! Latencies and ports in the comments are those of Intel Ice Lake and later and of AMD Zen 4 and
//! later as measured by uops.info: one AES round has a latency of 3 to 4 cycles, and 1 to 2 of them
//! start per cycle, whatever the width of the register.

pub(crate) mod detect;
pub(crate) mod keys;

pub(crate) mod aes_ni;
mod ccm_lanes;
pub(crate) mod chain;
mod lanes;
pub(crate) mod vaes_512;

use core::arch::x86_64::*;

use crate::Block;

/// Loads a block, aligned or not.
#[inline]
#[target_feature(enable = "sse2")]
fn load(block: &Block) -> __m128i {
    // SAFETY: a block is 16 readable bytes, and the instruction asks for no alignment.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

/// Stores a block, aligned or not.
#[inline]
#[target_feature(enable = "sse2")]
fn store(block: &mut Block, value: __m128i) {
    // SAFETY: a block is 16 writable bytes, and the instruction asks for no alignment.
    unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), value) }
}

/// Loads fewer than 16 bytes, zeros after them.
#[inline]
#[target_feature(enable = "sse2")]
fn load_part(bytes: &[u8]) -> __m128i {
    let mut block = [0; 16];
    block[..bytes.len()].copy_from_slice(bytes);
    load(&block)
}

/// Stores as many bytes as fit.
#[inline]
#[target_feature(enable = "sse2")]
fn store_part(bytes: &mut [u8], value: __m128i) {
    let mut block = [0; 16];
    store(&mut block, value);
    bytes.copy_from_slice(&block[..bytes.len()]);
}
