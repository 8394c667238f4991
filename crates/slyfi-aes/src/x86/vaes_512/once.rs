use core::arch::x86_64::*;

use crate::Block;
use crate::x86::keys::{RCON, ROTATED_LAST_WORD};
use crate::x86::{aes_ni, load, store};

/// Registers of four keys in flight, sixteen keys.
const WIDE: usize = 4;

/// Encrypts `B` blocks under each key: four keys to a register, each lane with its own schedule.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
pub(crate) fn encrypt_many<const B: usize>(keys: &[[u8; 16]], blocks: &mut [[Block; B]]) {
    let (key_groups, keys) = keys.as_chunks::<{ 4 * WIDE }>();
    let (block_groups, blocks) = blocks.as_chunks_mut::<{ 4 * WIDE }>();
    for (keys, blocks) in key_groups.iter().zip(block_groups) {
        encrypt_group::<WIDE, B>(keys.as_chunks().0, blocks.as_chunks_mut().0);
    }
    let (key_groups, keys) = keys.as_chunks::<4>();
    let (block_groups, blocks) = blocks.as_chunks_mut::<4>();
    for (keys, blocks) in key_groups.iter().zip(block_groups) {
        encrypt_group::<1, B>(core::slice::from_ref(keys), core::slice::from_mut(blocks));
    }
    aes_ni::once::encrypt_many(keys, blocks);
}

/// Encrypts `B` blocks under each of `4 * W` keys, the schedules and the rounds side by side.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
fn encrypt_group<const W: usize, const B: usize>(
    keys: &[[[u8; 16]; 4]],
    blocks: &mut [[[Block; B]; 4]],
) {
    let mut schedule = [_mm512_setzero_si512(); W];
    let mut state = [[_mm512_setzero_si512(); B]; W];
    for w in 0..W {
        schedule[w] = gather(keys[w].each_ref());
        for b in 0..B {
            let block = gather(blocks[w].each_ref().map(|blocks| &blocks[b]));
            state[w][b] = _mm512_xor_si512(block, schedule[w]);
        }
    }
    for (round, rcon) in RCON.into_iter().enumerate() {
        for w in 0..W {
            schedule[w] = next(schedule[w], rcon);
            for x in &mut state[w] {
                *x = if round < 9 {
                    _mm512_aesenc_epi128(*x, schedule[w])
                } else {
                    _mm512_aesenclast_epi128(*x, schedule[w])
                };
            }
        }
    }
    for w in 0..W {
        for b in 0..B {
            let value = state[w][b];
            let [b0, b1, b2, b3] = blocks[w].each_mut().map(|blocks| &mut blocks[b]);
            store(b0, _mm512_castsi512_si128(value));
            store(b1, _mm512_extracti32x4_epi32::<1>(value));
            store(b2, _mm512_extracti32x4_epi32::<2>(value));
            store(b3, _mm512_extracti32x4_epi32::<3>(value));
        }
    }
}

/// The next round keys of four AES-128 keys; see `x86::keys`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
fn next(keys: __m512i, rcon: i32) -> __m512i {
    let words = _mm512_shuffle_epi8(keys, _mm512_set1_epi32(ROTATED_LAST_WORD));
    let words = _mm512_aesenclast_epi128(words, _mm512_set1_epi32(rcon));
    let keys = _mm512_xor_si512(keys, _mm512_bslli_epi128::<4>(keys));
    _mm512_ternarylogic_epi64::<0x96>(keys, _mm512_bslli_epi128::<8>(keys), words)
}

/// Four blocks from four places in one register.
#[inline]
#[target_feature(enable = "avx512f")]
fn gather([b0, b1, b2, b3]: [&Block; 4]) -> __m512i {
    let x = _mm512_castsi128_si512(load(b0));
    let x = _mm512_inserti32x4::<1>(x, load(b1));
    let x = _mm512_inserti32x4::<2>(x, load(b2));
    _mm512_inserti32x4::<3>(x, load(b3))
}
