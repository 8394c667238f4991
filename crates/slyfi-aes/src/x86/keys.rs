//! Key schedules (FIPS 197 §5.2) without AESKEYGENASSIST, which is microcoded and slow: the last
//! AES round of four equal words is `SubWord` of each, because `ShiftRows` has nothing to move.

use core::arch::x86_64::*;

use zeroize::Zeroizing;

use super::{load, store};
use crate::Block;
use crate::key_words::KeyWords;

/// `Rcon[1..=10]` (FIPS 197 §5.2, Table 5).
pub(super) const RCON: [i32; 10] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36];

/// Shuffle that puts `RotWord` of the last word into every word.
pub(super) const ROTATED_LAST_WORD: i32 = 0x0c0f_0e0d;

/// Shuffle that puts the last word into every word.
const LAST_WORD: i32 = 0x0f0e_0d0c;

/// The round keys of an AES-128 key.
#[target_feature(enable = "aes,sse4.1")]
pub(crate) fn expand_128(key: &[u8; 16]) -> KeyWords<11> {
    let mut keys = [_mm_setzero_si128(); 11];
    keys[0] = load(key);
    for i in 1..11 {
        keys[i] = next_128(keys[i - 1], RCON[i - 1]);
    }
    KeyWords(keys.map(|key| word(key)))
}

/// The round keys of an AES-192 key, thirteen, and zeros after them. Word by word, since a round key
/// is not a whole number of steps; no key on the air is of this size.
#[target_feature(enable = "aes,sse4.1")]
pub(crate) fn expand_192(key: &[u8; 24]) -> KeyWords<15> {
    let mut words = Zeroizing::new([0_u32; 60]);
    for (word, bytes) in words.iter_mut().zip(key.as_chunks().0) {
        *word = u32::from_ne_bytes(*bytes);
    }
    for i in 6..52 {
        let mut word = words[i - 1];
        if i % 6 == 0 {
            let rotated = _mm_set1_epi32(word.rotate_right(8) as i32);
            let substituted = _mm_aesenclast_si128(rotated, _mm_set1_epi32(RCON[i / 6 - 1]));
            word = _mm_cvtsi128_si32(substituted) as u32;
        }
        words[i] = words[i - 6] ^ word;
    }
    let mut keys = KeyWords([0; 15]);
    for (key, words) in keys.0.iter_mut().zip(words.as_chunks::<4>().0) {
        *key = words.iter().rev().fold(0, |key, word| key << 32 | u128::from(*word));
    }
    keys
}

/// The round keys of an AES-256 key.
#[target_feature(enable = "aes,sse4.1")]
pub(crate) fn expand_256(key: &[u8; 32]) -> KeyWords<15> {
    let (halves, _) = key.as_chunks::<16>();
    let mut keys = [_mm_setzero_si128(); 15];
    keys[0] = load(&halves[0]);
    keys[1] = load(&halves[1]);
    for i in 2..15 {
        keys[i] = if i % 2 == 0 {
            next(keys[i - 2], keys[i - 1], ROTATED_LAST_WORD, RCON[i / 2 - 1])
        } else {
            next(keys[i - 2], keys[i - 1], LAST_WORD, 0)
        };
    }
    KeyWords(keys.map(|key| word(key)))
}

/// The schedule of the equivalent inverse cipher (FIPS 197 §5.3.5), in the order of its use.
#[target_feature(enable = "aes,sse4.1")]
pub(crate) fn inverse(keys: &KeyWords<11>) -> KeyWords<11> {
    KeyWords(inverse_vectors(keys).map(|key| word(key)))
}

/// [`inverse`] in registers.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
pub(super) fn inverse_vectors(keys: &KeyWords<11>) -> [__m128i; 11] {
    let mut inverse = vectors(keys);
    inverse.reverse();
    for key in &mut inverse[1..10] {
        *key = _mm_aesimc_si128(*key);
    }
    inverse
}

/// The round key after `key` of AES-128.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
pub(super) fn next_128(key: __m128i, rcon: i32) -> __m128i {
    next(key, key, ROTATED_LAST_WORD, rcon)
}

/// The round key that follows `base`, `word` of `source` mixed into its first word.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
fn next(base: __m128i, source: __m128i, word: i32, rcon: i32) -> __m128i {
    let word = _mm_shuffle_epi8(source, _mm_set1_epi32(word));
    let word = _mm_aesenclast_si128(word, _mm_set1_epi32(rcon));
    // Each word is the XOR of all the words up to it.
    let base = _mm_xor_si128(base, _mm_slli_si128::<4>(base));
    let base = _mm_xor_si128(base, _mm_slli_si128::<8>(base));
    _mm_xor_si128(base, word)
}

/// The round keys in registers.
#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn vectors<const N: usize>(keys: &KeyWords<N>) -> [__m128i; N] {
    // SAFETY: `KeyWords<N>` is `[u128; N]`: the same size as the vectors, the same alignment, and
    // every bit pattern is a vector.
    unsafe { *(&raw const keys.0).cast() }
}

/// A vector as the word that keys are stored in.
#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn word(vector: __m128i) -> u128 {
    let mut bytes: Block = [0; 16];
    store(&mut bytes, vector);
    u128::from_ne_bytes(bytes)
}

/// The vector of a stored word.
#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn vector(word: u128) -> __m128i {
    load(&word.to_ne_bytes())
}
