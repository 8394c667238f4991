//! Four lanes in a register: what batches of frames with a key each have in common.

use core::arch::x86_64::*;

use crate::Block;
use crate::key_words::KeyWords;

/// Where the four lanes of a register are.
#[derive(Clone, Copy)]
pub(super) struct Quad(pub(super) [*mut Block; 4]);

impl Quad {
    /// Blocks `i` and `i + 1` of the lanes, a register for each.
    ///
    /// # Safety
    /// The blocks must be readable.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn load_two(self, i: usize) -> [__m512i; 2] {
        // SAFETY: the caller's contract.
        let [a, b, c, d] = self.0.map(|at| unsafe { _mm256_loadu_si256(at.add(i).cast()) });
        let ab = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(a), b);
        let cd = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(c), d);
        [_mm512_shuffle_i64x2::<0x88>(ab, cd), _mm512_shuffle_i64x2::<0xdd>(ab, cd)]
    }

    /// Block `i` of the lanes.
    ///
    /// # Safety
    /// The blocks must be readable.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn load_one(self, i: usize) -> __m512i {
        // SAFETY: the caller's contract.
        let [b0, b1, b2, b3] = self.0.map(|at| unsafe { _mm_loadu_si128(at.add(i).cast()) });
        let x = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(b0), b1);
        let x = _mm512_inserti32x4::<2>(x, b2);
        _mm512_inserti32x4::<3>(x, b3)
    }

    /// Stores block `i` of the lanes.
    ///
    /// One by one: a quarter of a register goes to memory without a shuffle, so that two blocks of
    /// a lane in one store would only cost more.
    ///
    /// # Safety
    /// The blocks must be writable.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn store_one(self, i: usize, value: __m512i) {
        let blocks = [
            _mm512_castsi512_si128(value),
            _mm512_extracti32x4_epi32::<1>(value),
            _mm512_extracti32x4_epi32::<2>(value),
            _mm512_extracti32x4_epi32::<3>(value),
        ];
        for (at, block) in self.0.into_iter().zip(blocks) {
            // SAFETY: the caller's contract.
            unsafe { _mm_storeu_si128(at.add(i).cast(), block) };
        }
    }
}

/// One round of AES, with the keys that are `AT` bytes after `tables`.
///
/// Not the intrinsic: the compiler would take the loads of the keys out of the loop and, as there
/// are more of them than registers, put copies on the stack, which cost time and which nobody
/// wipes. It would also run the chains one after another to save registers.
///
/// # Safety
/// `AT` must be the place of a register's worth of keys in the tables.
#[inline]
#[target_feature(enable = "avx512f,vaes")]
pub(super) unsafe fn round<const AT: usize>(mut state: __m512i, tables: *const u8) -> __m512i {
    // SAFETY: the caller's contract: 64 readable bytes. Without `pure`, so the order stays.
    unsafe {
        core::arch::asm!(
            "vaesenc {state}, {state}, zmmword ptr [{tables} + {at}]",
            state = inout(zmm_reg) state,
            tables = in(reg) tables,
            at = const AT,
            options(readonly, nostack, preserves_flags),
        );
    }
    state
}

/// For each of the first `COUNT` round keys, at least four, those of four lanes; zeros after them.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn side_by_side<const N: usize, const COUNT: usize>(
    keys: [&KeyWords<N>; 4],
) -> [__m512i; N] {
    let mut rounds = [_mm512_setzero_si512(); N];
    for i in 0..COUNT.div_ceil(4) {
        // Four at a time; the last four may begin with some that the ones before them had.
        let first = (4 * i).min(COUNT - 4);
        let rows = keys.map(|key| {
            let row: &[u128; 4] = key.0[first..].first_chunk().expect("four more round keys");
            // SAFETY: four words are 64 bytes.
            unsafe { _mm512_loadu_si512(row.as_ptr().cast()) }
        });
        rounds[first..first + 4].copy_from_slice(&transpose(rows));
    }
    rounds
}

/// Block `j` of row `i` becomes block `i` of row `j`.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let ab_low = _mm512_shuffle_i64x2::<0x44>(a, b); // a0 a1 b0 b1
    let ab_high = _mm512_shuffle_i64x2::<0xee>(a, b); // a2 a3 b2 b3
    let cd_low = _mm512_shuffle_i64x2::<0x44>(c, d);
    let cd_high = _mm512_shuffle_i64x2::<0xee>(c, d);
    [
        _mm512_shuffle_i64x2::<0x88>(ab_low, cd_low), // a0 b0 c0 d0
        _mm512_shuffle_i64x2::<0xdd>(ab_low, cd_low), // a1 b1 c1 d1
        _mm512_shuffle_i64x2::<0x88>(ab_high, cd_high),
        _mm512_shuffle_i64x2::<0xdd>(ab_high, cd_high),
    ]
}
