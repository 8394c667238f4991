//! AVX-512 IFMA through `pulp`'s token, which proves that the unit is there.

use core::arch::x86_64::__m512i;

use pulp::bytemuck::cast;

use super::unit::{LANES, Mask, Unit};

pulp::simd_type!({
    /// AVX-512 F and IFMA: multiplication of 52-bit integers.
    pub(super) struct Ifma {
        avx512f: f!("avx512f"),
        avx512ifma: f!("avx512ifma"),
    }
});

impl Unit for Ifma {
    type Vector = __m512i;

    #[inline(always)]
    fn splat(self, n: u64) -> __m512i {
        self.avx512f._mm512_set1_epi64(n.cast_signed())
    }

    #[inline(always)]
    fn load(self, words: [u64; LANES]) -> __m512i {
        cast(words)
    }

    #[inline(always)]
    fn store(self, v: __m512i) -> [u64; LANES] {
        cast(v)
    }

    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512f._mm512_add_epi64(a, b)
    }

    #[inline(always)]
    fn sub(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512f._mm512_sub_epi64(a, b)
    }

    #[inline(always)]
    fn and(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512f._mm512_and_si512(a, b)
    }

    #[inline(always)]
    fn or(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512f._mm512_or_si512(a, b)
    }

    #[inline(always)]
    fn shl<const N: u32>(self, v: __m512i) -> __m512i {
        self.avx512f._mm512_slli_epi64::<N>(v)
    }

    #[inline(always)]
    fn shr<const N: u32>(self, v: __m512i) -> __m512i {
        self.avx512f._mm512_srli_epi64::<N>(v)
    }

    #[inline(always)]
    fn madd_low(self, sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
        self.avx512ifma._mm512_madd52lo_epu64(sum, a, b)
    }

    #[inline(always)]
    fn madd_high(self, sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
        self.avx512ifma._mm512_madd52hi_epu64(sum, a, b)
    }

    #[inline(always)]
    fn select(self, mask: Mask, a: __m512i, b: __m512i) -> __m512i {
        self.avx512f._mm512_mask_blend_epi64(mask, a, b)
    }

    #[inline(always)]
    fn equal(self, a: __m512i, b: __m512i) -> Mask {
        self.avx512f._mm512_cmpeq_epi64_mask(a, b)
    }

    #[inline(always)]
    fn run<R>(self, f: impl FnOnce() -> R) -> R {
        self.vectorize(f)
    }
}
