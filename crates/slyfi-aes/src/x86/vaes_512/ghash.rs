//! GHASH as in `aes_ni::ghash`, four blocks to a register.

use core::arch::x86_64::*;

use super::{load_blocks, load_bytes};
use crate::Block;
use crate::x86::aes_ni::ghash::{POLYNOMIAL, POWERS, Powers, power};
use crate::x86::keys::vector;

/// Bytes in flight: four registers of four blocks, which share a reduction.
pub(super) const GROUP: usize = 256;

/// A sum of products that are not reduced yet, a part of it in each lane.
#[derive(Clone, Copy)]
pub(super) struct Sum {
    low: __m512i,
    middle: __m512i,
    high: __m512i,
}

impl Sum {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vpclmulqdq")]
    pub(super) fn zero() -> Self {
        let zero = _mm512_setzero_si512();
        Self { low: zero, middle: zero, high: zero }
    }

    /// Adds the products of four byte-swapped blocks and four powers.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vpclmulqdq")]
    pub(super) fn add(&mut self, blocks: __m512i, powers: __m512i) {
        let low = _mm512_clmulepi64_epi128::<0x00>(blocks, powers);
        let one = _mm512_clmulepi64_epi128::<0x01>(blocks, powers);
        let other = _mm512_clmulepi64_epi128::<0x10>(blocks, powers);
        let high = _mm512_clmulepi64_epi128::<0x11>(blocks, powers);
        self.low = _mm512_xor_si512(self.low, low);
        self.middle = xor3(self.middle, one, other);
        self.high = _mm512_xor_si512(self.high, high);
    }

    /// The sum in the field.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vpclmulqdq")]
    pub(super) fn reduce(self) -> __m128i {
        let polynomial = _mm512_broadcast_i32x4(vector(POLYNOMIAL));
        let middle = fold(self.middle, self.low, polynomial);
        let lanes = fold(self.high, middle, polynomial);
        let pair =
            _mm256_xor_si256(_mm512_castsi512_si256(lanes), _mm512_extracti64x4_epi64::<1>(lanes));
        _mm_xor_si128(_mm256_castsi256_si128(pair), _mm256_extracti128_si256::<1>(pair))
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vpclmulqdq")]
fn fold(onto: __m512i, from: __m512i, polynomial: __m512i) -> __m512i {
    let swapped = _mm512_shuffle_epi32::<0x4e>(from);
    let product = _mm512_clmulepi64_epi128::<0x10>(from, polynomial);
    xor3(onto, swapped, product)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0x96>(a, b, c)
}

/// Swaps the bytes of each block.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn swap(blocks: __m512i) -> __m512i {
    let order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    _mm512_shuffle_epi8(blocks, _mm512_broadcast_i32x4(order))
}

/// The powers for `count` blocks (at most 4) in a row, the first of which is multiplied by the power
/// `exponent`.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn powers_from(powers: &Powers, exponent: usize, count: usize) -> __m512i {
    let row: &[u128] = &powers.0[POWERS - exponent..][..count];
    // SAFETY: the row has `count` words of 16 bytes.
    unsafe { load_blocks(row.as_ptr().cast::<Block>(), count) }
}

/// The GHASH state after `bytes`, padded with zeros to whole blocks.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vpclmulqdq")]
pub(super) fn absorb(powers: &Powers, mut state: __m128i, bytes: &[u8]) -> __m128i {
    let (groups, rest) = bytes.as_chunks::<GROUP>();
    for group in groups {
        let (registers, _) = group.as_chunks::<64>();
        let registers: &[_; 4] = registers.try_into().expect("a group is four registers");
        state = absorb_group(powers, state, registers.each_ref().map(|part| load_bytes(part)));
    }
    if rest.is_empty() {
        return state;
    }
    let mut sum = Sum::zero();
    let mut exponent = rest.len().div_ceil(16);
    let mut carried = _mm512_zextsi128_si512(state);
    for part in rest.chunks(64) {
        let blocks = part.len().div_ceil(16);
        let swapped = _mm512_xor_si512(swap(load_bytes(part)), carried);
        sum.add(swapped, powers_from(powers, exponent, blocks));
        carried = _mm512_setzero_si512();
        exponent -= blocks;
    }
    sum.reduce()
}

/// The GHASH state after a group, not swapped yet.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vpclmulqdq")]
pub(super) fn absorb_group(powers: &Powers, state: __m128i, group: [__m512i; 4]) -> __m128i {
    let mut sum = Sum::zero();
    let mut carried = _mm512_zextsi128_si512(state);
    for (i, register) in group.into_iter().enumerate() {
        let swapped = _mm512_xor_si512(swap(register), carried);
        sum.add(swapped, powers_from(powers, 16 - 4 * i, 4));
        carried = _mm512_setzero_si512();
    }
    sum.reduce()
}

/// The last blocks of the data, at most `4 * W`, in registers, zeros after them.
pub(super) struct Rest<const W: usize> {
    pub(super) registers: [__m512i; W],
    pub(super) blocks: usize,
}

impl<const W: usize> Rest<W> {
    /// The final GHASH state, after these blocks and the block of lengths, with one reduction.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vpclmulqdq")]
    pub(super) fn finish(self, powers: &Powers, state: __m128i, lengths: __m128i) -> __m128i {
        let mut sum = Sum::zero();
        let mut carried = _mm512_zextsi128_si512(state);
        for (i, register) in self.registers.into_iter().enumerate() {
            let swapped = _mm512_xor_si512(swap(register), carried);
            let done = 4 * i;
            let blocks = (self.blocks - done).min(4);
            sum.add(swapped, powers_from(powers, self.blocks - done + 1, blocks));
            carried = _mm512_setzero_si512();
        }
        let lengths = _mm512_xor_si512(_mm512_zextsi128_si512(lengths), carried);
        sum.add(lengths, _mm512_zextsi128_si512(power(powers, 1)));
        sum.reduce()
    }
}
