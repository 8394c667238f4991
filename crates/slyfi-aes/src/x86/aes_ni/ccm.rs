//! One message: the counter block of one step runs in the gaps of the MAC's chain.
//!
//! The chain is never longer than the rounds themselves: the XOR with the next text is given to the
//! last round as its key, `AESENCLAST(y, kR ⊕ k0 ⊕ p)`, as in `x86::chain`. A wider register would not
//! help, for the chain leaves two thirds of the AES units idle as it is.

use core::arch::x86_64::*;

use crate::Block;
use crate::ccm::CcmHead;
use crate::key_words::KeyWords;
use crate::x86::ccm_lanes::swap;
use crate::x86::keys::vectors;
use crate::x86::{load, load_part, store, store_part};

/// Takes both chains of CCM (RFC 3610 §2.2, §2.3) through the message, with AES of `R` rounds;
/// returns the tag.
#[target_feature(enable = "aes,sse4.1")]
pub(crate) fn run<const R: usize, const SEALS: bool>(
    keys: &KeyWords<15>,
    head: &CcmHead<'_>,
    data: &mut [u8],
) -> Block {
    let mut chains = Chains::<R>::new(keys, head);
    let (blocks, rest) = data.as_chunks_mut::<16>();
    for block in blocks {
        let before = load(block);
        let after = chains.step::<SEALS>(before, |text| text);
        store(block, after);
    }
    if !rest.is_empty() {
        let len = rest.len();
        // What the padding decrypts to is no text.
        let after = chains.step::<SEALS>(load_part(rest), |text| keep(text, len));
        store_part(rest, after);
    }
    let mut tag = [0; 16];
    store(&mut tag, chains.tag());
    tag
}

/// Where the two chains of a message are.
struct Chains<const R: usize> {
    keys: [__m128i; 15],
    /// The last round key and the first, in one.
    ends: __m128i,
    /// The MAC, already XORed with the next block and with the first round key.
    mac: __m128i,
    /// The counter of the last block, its bytes reversed.
    counter: __m128i,
    /// A₀.
    a0: __m128i,
}

impl<const R: usize> Chains<R> {
    /// The chains in front of the data.
    #[inline]
    #[target_feature(enable = "aes,sse4.1")]
    fn new(keys: &KeyWords<15>, head: &CcmHead<'_>) -> Self {
        let keys = vectors(keys);
        let a0 = load(&head.counter);
        let ends = _mm_xor_si128(keys[R], keys[0]);
        let mut chains = Self { keys, ends, mac: keys[0], counter: swap(a0), a0 };
        if let [b0, first @ ..] = head.first {
            chains.mac = _mm_xor_si128(keys[0], load(b0));
            for block in first {
                chains.absorb(load(block));
            }
        }
        let (blocks, rest) = head.rest.as_chunks();
        for block in blocks {
            chains.absorb(load(block));
        }
        if !rest.is_empty() {
            chains.absorb(load_part(rest));
        }
        chains
    }

    /// The MAC alone takes in a block.
    #[inline]
    #[target_feature(enable = "aes,sse4.1")]
    fn absorb(&mut self, block: __m128i) {
        let mut y = self.mac;
        for key in &self.keys[1..R] {
            y = _mm_aesenc_si128(y, *key);
        }
        self.mac = _mm_aesenclast_si128(y, _mm_xor_si128(self.ends, block));
    }

    /// Turns a block of text into ciphertext, or back; `text` makes of it what the MAC takes in.
    #[inline]
    #[target_feature(enable = "aes,sse4.1")]
    fn step<const SEALS: bool>(
        &mut self,
        before: __m128i,
        text: impl FnOnce(__m128i) -> __m128i,
    ) -> __m128i {
        self.counter = _mm_add_epi64(self.counter, _mm_set_epi64x(0, 1));
        let mut x = _mm_xor_si128(swap(self.counter), self.keys[0]);
        let mut y = self.mac;
        for key in &self.keys[1..R] {
            x = _mm_aesenc_si128(x, *key);
            y = _mm_aesenc_si128(y, *key);
        }
        let after = _mm_aesenclast_si128(x, _mm_xor_si128(self.keys[R], before));
        let text = text(if SEALS { before } else { after });
        self.mac = _mm_aesenclast_si128(y, _mm_xor_si128(self.ends, text));
        after
    }

    /// The tag, once all data has been taken in.
    #[inline]
    #[target_feature(enable = "aes,sse4.1")]
    fn tag(&self) -> __m128i {
        let mut x = _mm_xor_si128(self.a0, self.keys[0]);
        let mut y = self.mac;
        for key in &self.keys[1..R] {
            x = _mm_aesenc_si128(x, *key);
            y = _mm_aesenc_si128(y, *key);
        }
        let mask = _mm_aesenclast_si128(x, self.keys[R]);
        _mm_aesenclast_si128(y, _mm_xor_si128(self.keys[R], mask))
    }
}

/// The first `len` bytes, zeros after them.
#[inline]
#[target_feature(enable = "sse4.1")]
fn keep(block: __m128i, len: usize) -> __m128i {
    let numbers = _mm_set_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    _mm_and_si128(block, _mm_cmplt_epi8(numbers, _mm_set1_epi8(len as i8)))
}
