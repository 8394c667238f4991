use core::arch::x86_64::*;

use super::ghash::{GROUP, Rest, absorb, absorb_group};
use super::{load_bytes, store_bytes};
use crate::key_words::KeyWords;
use crate::x86::aes_ni::ghash::{Powers, lengths, swap as swap_block};
use crate::x86::keys::vectors;
use crate::x86::{load, store};
use crate::{Block, Mismatch};

/// GCM encryption (SP 800-38D §7.1) by AES of `R` rounds.
///
/// The GHASH of a group stands beside the encryption of the next one: the two need different
/// execution units, and neither has to wait for the other.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes,vpclmulqdq")]
pub(crate) fn seal<const R: usize>(
    keys: &KeyWords<15>,
    powers: &Powers,
    nonce: &[u8; 12],
    aad: &[u8],
    data: &mut [u8],
) -> Block {
    let mut counter = Counter::<R>::new(keys, nonce);
    let lengths = lengths(aad.len(), data.len());
    let mut state = absorb(powers, _mm_setzero_si128(), aad);

    let (groups, rest) = data.as_chunks_mut::<GROUP>();
    if let [first, groups @ ..] = groups {
        let mut before = counter.crypt_group(first);
        for group in groups {
            let ciphertext = counter.crypt_group(group);
            state = absorb_group(powers, state, before);
            before = ciphertext;
        }
        state = absorb_group(powers, state, before);
    }
    let state = match rest.len().div_ceil(64) {
        0 => Rest { registers: [], blocks: 0 }.finish(powers, state, lengths),
        1 => counter.crypt_rest::<1>(rest).finish(powers, state, lengths),
        2 => counter.crypt_rest::<2>(rest).finish(powers, state, lengths),
        3 => counter.crypt_rest::<3>(rest).finish(powers, state, lengths),
        _ => counter.crypt_rest::<4>(rest).finish(powers, state, lengths),
    };
    counter.tag(state)
}

/// GCM decryption (SP 800-38D §7.2) by AES of `R` rounds: the whole GHASH first, so that a forgery
/// costs no decryption and leaves the data alone.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes,vpclmulqdq")]
pub(crate) fn open<const R: usize>(
    keys: &KeyWords<15>,
    powers: &Powers,
    nonce: &[u8; 12],
    aad: &[u8],
    data: &mut [u8],
    tag: &Block,
) -> Result<(), Mismatch> {
    let mut counter = Counter::<R>::new(keys, nonce);
    let state = absorb(powers, absorb(powers, _mm_setzero_si128(), aad), data);
    let lengths = lengths(aad.len(), data.len());
    let state = Rest { registers: [], blocks: 0 }.finish(powers, state, lengths);
    Mismatch::unless_equal(&counter.tag(state), tag)?;

    let (groups, rest) = data.as_chunks_mut::<GROUP>();
    for group in groups {
        counter.crypt_group(group);
    }
    for rest in rest.chunks_mut(64) {
        counter.crypt_rest::<1>(rest);
    }
    Ok(())
}

/// The keystream of one message.
struct Counter<const R: usize> {
    keys: [__m512i; 15],
    /// The encryption of block number 1, which masks the tag.
    mask: __m128i,
    /// The next four block numbers, each with the nonce before it; little-endian.
    next: __m512i,
}

impl<const R: usize> Counter<R> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
    fn new(keys: &KeyWords<15>, nonce: &[u8; 12]) -> Self {
        let mut block = [0; 16];
        block[..12].copy_from_slice(nonce);
        let nonce = load(&block);
        let round_keys = vectors(keys);

        // Big-endian in the last word (SP 800-38D §7.1 step 2).
        let mut mask = _mm_insert_epi32::<3>(nonce, 1_i32.swap_bytes());
        mask = _mm_xor_si128(mask, round_keys[0]);
        for key in &round_keys[1..R] {
            mask = _mm_aesenc_si128(mask, *key);
        }
        mask = _mm_aesenclast_si128(mask, round_keys[R]);

        // The data begins with block number 2.
        let numbers = _mm512_set_epi32(5, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0);
        Self {
            keys: round_keys.map(|key| _mm512_broadcast_i32x4(key)),
            mask,
            next: _mm512_or_si512(_mm512_broadcast_i32x4(nonce), numbers),
        }
    }

    /// The next `W` registers of keystream.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
    fn stream<const W: usize>(&mut self) -> [__m512i; W] {
        // Swaps the bytes of each block number, leaves the nonce.
        let order = _mm_set_epi8(12, 13, 14, 15, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        let order = _mm512_broadcast_i32x4(order);
        let four = _mm512_set_epi32(4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0);
        let mut state = [_mm512_setzero_si512(); W];
        for x in &mut state {
            *x = _mm512_xor_si512(_mm512_shuffle_epi8(self.next, order), self.keys[0]);
            self.next = _mm512_add_epi32(self.next, four);
        }
        for key in &self.keys[1..R] {
            state = state.map(|x| _mm512_aesenc_epi128(x, *key));
        }
        state.map(|x| _mm512_aesenclast_epi128(x, self.keys[R]))
    }

    /// Encrypts or decrypts a group in place; returns what it has become.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
    fn crypt_group(&mut self, group: &mut [u8; GROUP]) -> [__m512i; 4] {
        self.crypt_rest::<4>(group).registers
    }

    /// Encrypts or decrypts at most `64 * W` bytes in place; returns what they have become.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
    fn crypt_rest<const W: usize>(&mut self, rest: &mut [u8]) -> Rest<W> {
        let mut registers = self.stream::<W>();
        let blocks = rest.len().div_ceil(16);
        let mut parts = rest.chunks_mut(64);
        for x in &mut registers {
            let part = parts.next().unwrap_or_default();
            *x = _mm512_xor_si512(*x, load_bytes(part));
            *x = store_bytes(part, *x);
        }
        Rest { registers, blocks }
    }

    /// The tag (SP 800-38D §7.1 step 6) from the final GHASH state.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    fn tag(&self, state: __m128i) -> Block {
        let mut tag = [0; 16];
        store(&mut tag, _mm_xor_si128(swap_block(state), self.mask));
        tag
    }
}
