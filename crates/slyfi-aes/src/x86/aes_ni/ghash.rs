//! GHASH (SP 800-38D §6.4) by carry-less multiplication.
//!
//! GCM writes its polynomials with the lowest coefficient in the highest bit. Blocks are byte-swapped
//! on loading, which leaves a product one bit short of where it should be; the powers of the key are
//! stored multiplied by x once more, which puts it right for free (Gueron and Kounavis, "Intel
//! Carry-Less Multiplication Instruction and its Usage for Computing the GCM Mode", 2014).

use core::arch::x86_64::*;

use crate::key_words::KeyWords;
use crate::x86::keys::{vector, word};
use crate::x86::load;

/// How many powers of the key are kept: sixteen blocks and the block of lengths share a reduction.
pub(crate) const POWERS: usize = 17;

/// The powers of a GHASH key from high to low, so that a row of blocks meets a row of powers.
pub(crate) type Powers = KeyWords<POWERS>;

/// x¹²⁷ + x¹²⁶ + x¹²¹ + 1 with the lowest coefficient in the highest bit: the field polynomial
/// x¹²⁸ + x⁷ + x² + x + 1 (SP 800-38D §6.3), less its highest term, one bit further on.
pub(in crate::x86) const POLYNOMIAL: u128 = 0xc200_0000_0000_0000_0000_0000_0000_0001;

/// The powers of a byte-swapped key.
#[target_feature(enable = "pclmulqdq,sse4.1")]
pub(super) fn powers(h: __m128i) -> Powers {
    let h = word(h);
    let times_x = (h << 1) ^ ((h >> 127) * POLYNOMIAL);
    let mut powers = [_mm_setzero_si128(); POWERS + 1];
    powers[1] = vector(times_x);
    for k in 2..=POWERS {
        // Halving keeps the chain of dependent products short.
        let mut sum = Sum::zero();
        sum.add(powers[k / 2], powers[k - k / 2]);
        powers[k] = sum.reduce();
    }
    powers.reverse();
    let mut words = [0; POWERS];
    for (to, from) in words.iter_mut().zip(powers) {
        *to = word(from);
    }
    KeyWords(words)
}

/// A sum of products that are not reduced yet.
#[derive(Clone, Copy)]
pub(super) struct Sum {
    low: __m128i,
    middle: __m128i,
    high: __m128i,
}

impl Sum {
    #[inline]
    #[target_feature(enable = "pclmulqdq,sse4.1")]
    pub(super) fn zero() -> Self {
        let zero = _mm_setzero_si128();
        Self { low: zero, middle: zero, high: zero }
    }

    /// Adds the product of a byte-swapped block and a power.
    #[inline]
    #[target_feature(enable = "pclmulqdq,sse4.1")]
    pub(super) fn add(&mut self, block: __m128i, power: __m128i) {
        let middle = _mm_xor_si128(
            _mm_clmulepi64_si128::<0x01>(block, power),
            _mm_clmulepi64_si128::<0x10>(block, power),
        );
        self.low = _mm_xor_si128(self.low, _mm_clmulepi64_si128::<0x00>(block, power));
        self.middle = _mm_xor_si128(self.middle, middle);
        self.high = _mm_xor_si128(self.high, _mm_clmulepi64_si128::<0x11>(block, power));
    }

    /// The sum in the field: 64 bits at a time from the low end, each folded by one multiplication.
    #[inline]
    #[target_feature(enable = "pclmulqdq,sse4.1")]
    pub(super) fn reduce(self) -> __m128i {
        let polynomial = vector(POLYNOMIAL);
        let middle = fold(self.middle, self.low, polynomial);
        fold(self.high, middle, polynomial)
    }
}

/// `onto`, with the low half of `from` folded in and its high half moved down.
#[inline]
#[target_feature(enable = "pclmulqdq,sse4.1")]
fn fold(onto: __m128i, from: __m128i, polynomial: __m128i) -> __m128i {
    let swapped = _mm_shuffle_epi32::<0x4e>(from);
    let product = _mm_clmulepi64_si128::<0x10>(from, polynomial);
    _mm_xor_si128(onto, _mm_xor_si128(swapped, product))
}

/// Swaps the bytes of a block.
#[inline]
#[target_feature(enable = "ssse3")]
pub(in crate::x86) fn swap(block: __m128i) -> __m128i {
    _mm_shuffle_epi8(block, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
}

/// The block of lengths that ends a GHASH (SP 800-38D §7.1 step 5), byte-swapped. Both lengths in
/// bytes.
#[inline]
#[target_feature(enable = "sse2")]
pub(in crate::x86) fn lengths(aad: usize, data: usize) -> __m128i {
    _mm_set_epi64x((aad as i64) << 3, (data as i64) << 3)
}

/// The powers of the key.
#[inline]
#[target_feature(enable = "sse2")]
pub(in crate::x86) fn power(powers: &Powers, exponent: usize) -> __m128i {
    vector(powers.0[POWERS - exponent])
}

/// The GHASH state after `bytes`, padded with zeros to whole blocks.
#[target_feature(enable = "pclmulqdq,sse4.1")]
pub(super) fn absorb(powers: &Powers, mut state: __m128i, bytes: &[u8]) -> __m128i {
    let (blocks, rest) = bytes.as_chunks::<16>();
    let (groups, blocks) = blocks.as_chunks::<8>();
    for group in groups {
        state = absorb_blocks(powers, state, group.each_ref().map(|block| swap(load(block))));
    }
    for block in blocks {
        state = absorb_blocks(powers, state, [swap(load(block))]);
    }
    if !rest.is_empty() {
        let mut block = [0; 16];
        block[..rest.len()].copy_from_slice(rest);
        state = absorb_blocks(powers, state, [swap(load(&block))]);
    }
    state
}

/// The GHASH state after `W` byte-swapped blocks, with one reduction.
#[inline]
#[target_feature(enable = "pclmulqdq,sse4.1")]
pub(super) fn absorb_blocks<const W: usize>(
    powers: &Powers,
    state: __m128i,
    mut blocks: [__m128i; W],
) -> __m128i {
    blocks[0] = _mm_xor_si128(blocks[0], state);
    let mut sum = Sum::zero();
    for (i, block) in blocks.into_iter().enumerate() {
        sum.add(block, power(powers, W - i));
    }
    sum.reduce()
}
