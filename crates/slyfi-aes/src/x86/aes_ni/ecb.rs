use core::arch::x86_64::*;

use crate::Block;
use crate::key_words::KeyWords;
use crate::x86::keys::vectors;
use crate::x86::{load, store};

/// Blocks in flight: enough to hide a latency of 4 cycles at two rounds a cycle.
const WIDE: usize = 8;

/// Encrypts one block.
#[target_feature(enable = "aes,sse4.1")]
pub(crate) fn encrypt_block(keys: &KeyWords<11>, block: &mut Block) {
    let [state] = encrypt(&vectors(keys), [load(block)]);
    store(block, state);
}

/// Decrypts one block with the schedule of the equivalent inverse cipher.
#[target_feature(enable = "aes,sse4.1")]
pub(crate) fn decrypt_block(inverse: &KeyWords<11>, block: &mut Block) {
    let [state] = decrypt(&vectors(inverse), [load(block)]);
    store(block, state);
}

/// Encrypts each block.
#[target_feature(enable = "aes,sse4.1")]
pub(crate) fn encrypt_blocks(keys: &KeyWords<11>, blocks: &mut [Block]) {
    let keys = vectors(keys);
    let (groups, rest) = blocks.as_chunks_mut::<WIDE>();
    for group in groups {
        encrypt_group(&keys, group);
    }
    let (pairs, rest) = rest.as_chunks_mut::<2>();
    for pair in pairs {
        encrypt_group(&keys, pair);
    }
    for block in rest.as_chunks_mut::<1>().0 {
        encrypt_group(&keys, block);
    }
}

#[inline]
#[target_feature(enable = "aes,sse4.1")]
fn encrypt_group<const W: usize>(keys: &[__m128i; 11], group: &mut [Block; W]) {
    let state = encrypt(keys, group.each_ref().map(|block| load(block)));
    for (block, value) in group.iter_mut().zip(state) {
        store(block, value);
    }
}

/// Encrypts `W` registers side by side.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
pub(in crate::x86) fn encrypt<const W: usize>(
    keys: &[__m128i; 11],
    mut state: [__m128i; W],
) -> [__m128i; W] {
    state = state.map(|x| _mm_xor_si128(x, keys[0]));
    for key in &keys[1..10] {
        state = state.map(|x| _mm_aesenc_si128(x, *key));
    }
    state.map(|x| _mm_aesenclast_si128(x, keys[10]))
}

/// Decrypts `W` registers side by side.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
pub(in crate::x86) fn decrypt<const W: usize>(
    inverse: &[__m128i; 11],
    mut state: [__m128i; W],
) -> [__m128i; W] {
    state = state.map(|x| _mm_xor_si128(x, inverse[0]));
    for key in &inverse[1..10] {
        state = state.map(|x| _mm_aesdec_si128(x, *key));
    }
    state.map(|x| _mm_aesdeclast_si128(x, inverse[10]))
}
