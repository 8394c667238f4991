use core::arch::x86_64::*;

use super::ghash::{self, Powers, absorb, absorb_blocks, lengths, swap};
use crate::gcm::KeySize;
use crate::key_words::KeyWords;
use crate::x86::keys::vectors;
use crate::x86::{load, store};
use crate::{Block, Mismatch};

/// Blocks in flight, which share a GHASH reduction as well.
const WIDE: usize = 8;

/// The powers of the GHASH key of a schedule (SP 800-38D §7.1 step 1: H is the encryption of zeros).
#[target_feature(enable = "aes,pclmulqdq,sse4.1")]
pub(crate) fn powers(keys: &KeyWords<15>, size: KeySize) -> Powers {
    let keys = vectors(keys);
    let rounds = match size {
        KeySize::Aes128 => 10,
        KeySize::Aes256 => 14,
    };
    let mut h = keys[0];
    for key in &keys[1..rounds] {
        h = _mm_aesenc_si128(h, *key);
    }
    ghash::powers(swap(_mm_aesenclast_si128(h, keys[rounds])))
}

/// GCM encryption (SP 800-38D §7.1) by AES of `R` rounds.
#[target_feature(enable = "aes,pclmulqdq,sse4.1")]
pub(crate) fn seal<const R: usize>(
    keys: &KeyWords<15>,
    powers: &Powers,
    nonce: &[u8; 12],
    aad: &[u8],
    data: &mut [u8],
) -> Block {
    let counter = Counter::<R>::new(keys, nonce);
    let mut state = absorb(powers, _mm_setzero_si128(), aad);
    let (aad_len, data_len) = (aad.len(), data.len());

    let (groups, rest) = data.as_chunks_mut::<{ 16 * WIDE }>();
    let mut number = 2;
    for group in groups {
        let blocks: &mut [Block; WIDE] = whole(group);
        let stream = counter.stream::<WIDE>(number);
        let mut swapped = stream;
        for i in 0..WIDE {
            let ciphertext = _mm_xor_si128(stream[i], load(&blocks[i]));
            store(&mut blocks[i], ciphertext);
            swapped[i] = swap(ciphertext);
        }
        state = absorb_blocks(powers, state, swapped);
        number += WIDE as u32;
    }
    counter.xor_rest(number, rest);
    state = absorb(powers, state, rest);
    counter.tag(powers, state, aad_len, data_len)
}

/// GCM decryption (SP 800-38D §7.2) by AES of `R` rounds: the whole GHASH first, so that a forgery
/// costs no decryption and leaves the data alone.
#[target_feature(enable = "aes,pclmulqdq,sse4.1")]
pub(crate) fn open<const R: usize>(
    keys: &KeyWords<15>,
    powers: &Powers,
    nonce: &[u8; 12],
    aad: &[u8],
    data: &mut [u8],
    tag: &Block,
) -> Result<(), Mismatch> {
    let counter = Counter::<R>::new(keys, nonce);
    let state = absorb(powers, absorb(powers, _mm_setzero_si128(), aad), data);
    Mismatch::unless_equal(&counter.tag(powers, state, aad.len(), data.len()), tag)?;

    let (groups, rest) = data.as_chunks_mut::<{ 16 * WIDE }>();
    let mut number = 2;
    for group in groups {
        let blocks: &mut [Block; WIDE] = whole(group);
        for (block, stream) in blocks.iter_mut().zip(counter.stream::<WIDE>(number)) {
            store(block, _mm_xor_si128(stream, load(block)));
        }
        number += WIDE as u32;
    }
    counter.xor_rest(number, rest);
    Ok(())
}

/// The blocks of a group of `16 * WIDE` bytes.
#[inline]
fn whole(group: &mut [u8; 16 * WIDE]) -> &mut [Block; WIDE] {
    let (blocks, _) = group.as_chunks_mut::<16>();
    blocks.try_into().expect("the sizes are constants")
}

/// The keystream of one message.
struct Counter<const R: usize> {
    keys: [__m128i; 15],
    /// Nonce, and zeros in place of the block number.
    nonce: __m128i,
}

impl<const R: usize> Counter<R> {
    #[inline]
    #[target_feature(enable = "aes,sse4.1")]
    fn new(keys: &KeyWords<15>, nonce: &[u8; 12]) -> Self {
        let mut block = [0; 16];
        block[..12].copy_from_slice(nonce);
        Self { keys: vectors(keys), nonce: load(&block) }
    }

    /// `W` blocks of the keystream from block `number` on; the first of the data is number 2.
    #[inline]
    #[target_feature(enable = "aes,sse4.1")]
    fn stream<const W: usize>(&self, number: u32) -> [__m128i; W] {
        let mut state = [self.nonce; W];
        for (i, x) in state.iter_mut().enumerate() {
            // Big-endian in the last word (SP 800-38D §6.2, §7.1).
            let number = number.wrapping_add(i as u32).swap_bytes() as i32;
            *x = _mm_xor_si128(_mm_insert_epi32::<3>(*x, number), self.keys[0]);
        }
        for key in &self.keys[1..R] {
            state = state.map(|x| _mm_aesenc_si128(x, *key));
        }
        state.map(|x| _mm_aesenclast_si128(x, self.keys[R]))
    }

    /// Encrypts or decrypts the last bytes, fewer than a group.
    #[inline]
    #[target_feature(enable = "aes,sse4.1")]
    fn xor_rest(&self, number: u32, rest: &mut [u8]) {
        if rest.is_empty() {
            return;
        }
        let stream = self.stream::<WIDE>(number);
        for (bytes, stream) in rest.chunks_mut(16).zip(stream) {
            if let Ok(block) = <&mut Block>::try_from(&mut *bytes) {
                store(block, _mm_xor_si128(stream, load(block)));
                continue;
            }
            let mut block = [0; 16];
            store(&mut block, stream);
            for (byte, stream) in bytes.iter_mut().zip(block) {
                *byte ^= stream;
            }
        }
    }

    /// The tag (SP 800-38D §7.1 steps 5 and 6) from the GHASH state after all data.
    #[inline]
    #[target_feature(enable = "aes,pclmulqdq,sse4.1")]
    fn tag(&self, powers: &Powers, state: __m128i, aad_len: usize, data_len: usize) -> Block {
        let state = absorb_blocks(powers, state, [lengths(aad_len, data_len)]);
        let [mask] = self.stream::<1>(1);
        let mut tag = [0; 16];
        store(&mut tag, _mm_xor_si128(swap(state), mask));
        tag
    }
}
