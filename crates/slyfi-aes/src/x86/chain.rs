//! One frame: the chain of CBC and the chain of CMAC, one block apart, in one loop.
//!
//! Either chain alone waits for the latency of ten rounds at every block and leaves the AES units
//! idle most of the time; the other chain runs in the gaps. The XORs between two blocks are taken
//! off the chain by giving them to the last round as its key: `AESENCLAST(x, k10 ⊕ k0 ⊕ p)` is the
//! ciphertext already mixed with the next plaintext and with the next first round key.

use core::arch::x86_64::*;

use super::aes_ni::ecb::encrypt;
use super::keys::vectors;
use super::{load, store};
use crate::key_words::KeyWords;
use crate::mac_key::MacKey;
use crate::{Block, CbcCmacKey};

/// Where the two chains of a frame are.
#[derive(Clone, Copy)]
pub(super) struct Chains {
    /// The last ciphertext block, or the initialisation vector.
    pub(super) ciphertext: __m128i,
    /// The input of the MAC's next encryption: its state, already XORed with the last block.
    pub(super) pending: __m128i,
}

/// CBC encryption of the blocks in place (SP 800-38A §6.2), and the CMAC of prefix and ciphertext.
#[target_feature(enable = "aes,sse4.1")]
pub(crate) fn seal(
    key: &CbcCmacKey,
    iv: &Block,
    mac_prefix: Option<&Block>,
    blocks: &mut [Block],
) -> Block {
    if blocks.is_empty() {
        return tag(&key.mac, mac_prefix, blocks);
    }
    let (chains, done) = start(key, iv, mac_prefix, blocks);
    let chains = resume(key, chains, &mut blocks[done..]);
    finish(&key.mac, chains.pending)
}

/// The CMAC of prefix and blocks.
#[target_feature(enable = "aes,sse4.1")]
pub(crate) fn tag(key: &MacKey, mac_prefix: Option<&Block>, blocks: &[Block]) -> Block {
    let prefix = mac_prefix.map_or(&[][..], |prefix| prefix);
    cmac(key, &[prefix, blocks.as_flattened()])
}

/// The CMAC of the parts in a row, cut anywhere (RFC 4493 §2.4).
#[target_feature(enable = "aes,sse4.1")]
pub(crate) fn cmac(key: &MacKey, parts: &[&[u8]]) -> Block {
    let mut state = _mm_setzero_si128();
    // A full block is held back until a byte follows it, for the last block is treated differently.
    let mut held: Block = [0; 16];
    let mut len = 0;
    for part in parts {
        let mut part = *part;
        while !part.is_empty() {
            if len == 16 {
                state = absorb(&key.cipher.keys, state, core::slice::from_ref(&held));
                len = 0;
            }
            if len == 0 {
                let (whole, rest) = part.split_at((part.len() - 1) / 16 * 16);
                state = absorb(&key.cipher.keys, state, whole.as_chunks().0);
                part = rest;
            }
            let (now, rest) = part.split_at(part.len().min(16 - len));
            held[len..][..now.len()].copy_from_slice(now);
            len += now.len();
            part = rest;
        }
    }
    let subkey = if len == 16 {
        key.k1()
    } else {
        held[len] = 0x80;
        held[len + 1..].fill(0);
        key.k2()
    };
    let last = _mm_xor_si128(load(&held), load(&subkey));
    let [state] = encrypt(&vectors(&key.cipher.keys), [_mm_xor_si128(state, last)]);
    block(state)
}

/// The chains at the first block that both can work on, and the number of blocks done on the way
/// there: without a prefix the MAC starts with the first ciphertext block, which has to exist.
///
/// Panics if there is no block.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
pub(super) fn start(
    key: &CbcCmacKey,
    iv: &Block,
    mac_prefix: Option<&Block>,
    blocks: &mut [Block],
) -> (Chains, usize) {
    if let Some(prefix) = mac_prefix {
        return (Chains { ciphertext: load(iv), pending: load(prefix) }, 0);
    }
    let input = _mm_xor_si128(load(iv), load(&blocks[0]));
    let [ciphertext] = encrypt(&vectors(&key.encrypt.keys), [input]);
    store(&mut blocks[0], ciphertext);
    (Chains { ciphertext, pending: ciphertext }, 1)
}

/// Takes both chains through the blocks.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
pub(super) fn resume(key: &CbcCmacKey, chains: Chains, blocks: &mut [Block]) -> Chains {
    let Some(last) = blocks.len().checked_sub(1) else { return chains };
    let enc = vectors(&key.encrypt.keys);
    let mac = vectors(&key.mac.cipher.keys);
    let enc_ends = _mm_xor_si128(enc[10], enc[0]);
    let mac_ends = _mm_xor_si128(mac[10], mac[0]);

    // Both states are kept already XORed with their first round key.
    let mut x = _mm_xor_si128(_mm_xor_si128(chains.ciphertext, load(&blocks[0])), enc[0]);
    let mut y = _mm_xor_si128(chains.pending, mac[0]);
    for i in 0..last {
        (x, y) = rounds(&enc, &mac, x, y);
        let next = load(&blocks[i + 1]);
        x = _mm_aesenclast_si128(x, _mm_xor_si128(enc_ends, next));
        let ciphertext = _mm_xor_si128(x, _mm_xor_si128(enc[0], next));
        store(&mut blocks[i], ciphertext);
        y = _mm_aesenclast_si128(y, _mm_xor_si128(mac_ends, ciphertext));
    }
    (x, y) = rounds(&enc, &mac, x, y);
    let ciphertext = _mm_aesenclast_si128(x, enc[10]);
    store(&mut blocks[last], ciphertext);
    Chains { ciphertext, pending: _mm_aesenclast_si128(y, _mm_xor_si128(mac[10], ciphertext)) }
}

/// The nine rounds before the last, of both chains.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
fn rounds(
    enc: &[__m128i; 11],
    mac: &[__m128i; 11],
    mut x: __m128i,
    mut y: __m128i,
) -> (__m128i, __m128i) {
    for i in 1..10 {
        x = _mm_aesenc_si128(x, enc[i]);
        y = _mm_aesenc_si128(y, mac[i]);
    }
    (x, y)
}

/// The MAC state after the blocks, none of which is the last of its message.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
fn absorb(keys: &KeyWords<11>, state: __m128i, blocks: &[Block]) -> __m128i {
    let [first, rest @ ..] = blocks else { return state };
    let keys = vectors(keys);
    let ends = _mm_xor_si128(keys[10], keys[0]);
    let rounds = |mut y| {
        for key in &keys[1..10] {
            y = _mm_aesenc_si128(y, *key);
        }
        y
    };
    let mut y = _mm_xor_si128(_mm_xor_si128(state, load(first)), keys[0]);
    for next in rest {
        y = _mm_aesenclast_si128(rounds(y), _mm_xor_si128(ends, load(next)));
    }
    _mm_aesenclast_si128(rounds(y), keys[10])
}

/// The tag, once the last block, a whole one, is in `pending`.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
pub(super) fn finish(key: &MacKey, pending: __m128i) -> Block {
    let input = _mm_xor_si128(pending, load(&key.k1()));
    let [state] = encrypt(&vectors(&key.cipher.keys), [input]);
    block(state)
}

#[inline]
#[target_feature(enable = "sse2")]
fn block(value: __m128i) -> Block {
    let mut block = [0; 16];
    store(&mut block, value);
    block
}
