use core::arch::x86_64::*;

use crate::Block;
use crate::x86::keys::{RCON, next_128};
use crate::x86::{load, store};

/// Keys in flight: a schedule is a chain of about seven cycles a round, and four of them keep the
/// processor as busy as it can be.
const KEYS: usize = 4;

/// Encrypts blocks under a key that is not kept: eight at a time, the schedule beside the rounds.
#[target_feature(enable = "aes,sse4.1")]
pub(crate) fn encrypt_blocks(key: &[u8; 16], blocks: &mut [Block]) {
    let (groups, rest) = blocks.as_chunks_mut::<8>();
    for group in groups {
        encrypt_group([key], [group]);
    }
    for block in rest.as_chunks_mut::<1>().0 {
        encrypt_group([key], [block]);
    }
}

/// Encrypts `B` blocks under each key.
#[target_feature(enable = "aes,sse4.1")]
pub(crate) fn encrypt_many<const B: usize>(keys: &[[u8; 16]], blocks: &mut [[Block; B]]) {
    let (key_groups, key_rest) = keys.as_chunks::<KEYS>();
    let (block_groups, block_rest) = blocks.as_chunks_mut::<KEYS>();
    for (keys, blocks) in key_groups.iter().zip(block_groups) {
        encrypt_group(keys.each_ref(), blocks.each_mut());
    }
    for (key, blocks) in key_rest.iter().zip(block_rest) {
        encrypt_group([key], [blocks]);
    }
}

/// Encrypts `B` blocks under each of `K` keys, the schedules and the rounds side by side.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
fn encrypt_group<const K: usize, const B: usize>(
    keys: [&[u8; 16]; K],
    blocks: [&mut [Block; B]; K],
) {
    let mut keys = keys.map(|key| load(key));
    let mut state = [[_mm_setzero_si128(); B]; K];
    for k in 0..K {
        for b in 0..B {
            state[k][b] = _mm_xor_si128(load(&blocks[k][b]), keys[k]);
        }
    }
    for (round, rcon) in RCON.into_iter().enumerate() {
        for k in 0..K {
            keys[k] = next_128(keys[k], rcon);
            for x in &mut state[k] {
                *x = if round < 9 {
                    _mm_aesenc_si128(*x, keys[k])
                } else {
                    _mm_aesenclast_si128(*x, keys[k])
                };
            }
        }
    }
    for (blocks, state) in blocks.into_iter().zip(state) {
        for (block, value) in blocks.iter_mut().zip(state) {
            store(block, value);
        }
    }
}
