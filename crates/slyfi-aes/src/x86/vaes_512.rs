//! Kernels for VAES and VPCLMULQDQ on 512-bit registers, four blocks to a register.

pub(crate) mod batch;
pub(crate) mod cbc;
pub(crate) mod ccm;
pub(crate) mod ecb;
pub(crate) mod gcm;
pub(crate) mod ghash;
pub(crate) mod once;
mod quad;

use core::arch::x86_64::*;

use super::keys;
use crate::Block;
use crate::key_words::KeyWords;

/// Loads the first `count` blocks (at most 4) at `blocks`, zeros after them.
///
/// # Safety
/// The blocks must be readable.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn load_blocks(blocks: *const Block, count: usize) -> __m512i {
    // SAFETY: the mask keeps the load inside the caller's blocks.
    unsafe { _mm512_maskz_loadu_epi64(block_mask(count), blocks.cast()) }
}

/// Stores the first `count` blocks (at most 4) at `blocks`.
///
/// # Safety
/// The blocks must be writable.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn store_blocks(blocks: *mut Block, count: usize, value: __m512i) {
    // SAFETY: the mask keeps the store inside the caller's blocks.
    unsafe { _mm512_mask_storeu_epi64(blocks.cast(), block_mask(count), value) }
}

/// Loads at most 64 bytes, zeros after them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_bytes(bytes: &[u8]) -> __m512i {
    // SAFETY: the mask keeps the load inside the slice.
    unsafe { _mm512_maskz_loadu_epi8(byte_mask(bytes.len()), bytes.as_ptr().cast()) }
}

/// Stores as many bytes as fit; returns them with zeros after them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn store_bytes(bytes: &mut [u8], value: __m512i) -> __m512i {
    let mask = byte_mask(bytes.len());
    // SAFETY: the mask keeps the store inside the slice.
    unsafe { _mm512_mask_storeu_epi8(bytes.as_mut_ptr().cast(), mask, value) };
    _mm512_maskz_mov_epi8(mask, value)
}

/// The lowest `count` bits, at most 64.
#[inline]
fn byte_mask(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// Two mask bits of 64 each for every block.
#[inline]
fn block_mask(count: usize) -> u8 {
    (0xff_u32 >> (8 - 2 * count.min(4))) as u8
}

/// The round keys, each in all four lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn broadcast<const N: usize>(keys: &KeyWords<N>) -> [__m512i; N] {
    keys::vectors(keys).map(|key| _mm512_broadcast_i32x4(key))
}

/// Encrypts `W` registers side by side.
#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn encrypt<const W: usize>(keys: &[__m512i; 11], mut state: [__m512i; W]) -> [__m512i; W] {
    state = state.map(|x| _mm512_xor_si512(x, keys[0]));
    for key in &keys[1..10] {
        state = state.map(|x| _mm512_aesenc_epi128(x, *key));
    }
    state.map(|x| _mm512_aesenclast_epi128(x, keys[10]))
}
