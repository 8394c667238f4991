//! The vector units of x86-64, through `pulp`'s tokens: a token proves that the unit is there.

use core::arch::x86_64::{__m256i, __m512i};
use core::ops::Range;

use pulp::bytemuck::cast;

use crate::kernel::matrix::{LANE, Matrix};
use crate::kernel::operand::{Halves, Operand};

pulp::simd_type!({
    /// AVX2.
    pub(super) struct Avx2 {
        avx: f!("avx"),
        avx2: f!("avx2"),
    }

    /// AVX-512 F and BW.
    pub(super) struct Avx512 {
        avx512f: f!("avx512f"),
        avx512bw: f!("avx512bw"),
    }

    /// AVX-512 with VNNI: the same instructions as [`Avx512`]'s in the source; that the unit is
    /// named lets the compiler fuse them.
    pub(super) struct Vnni {
        avx512f: f!("avx512f"),
        avx512bw: f!("avx512bw"),
        avx512vnni: f!("avx512vnni"),
    }
});

/// What the kernel needs of a vector unit.
pub(super) trait Isa: Copy {
    /// 32 numbers of 16 bits.
    type Wide: Copy;
    /// Sums of 32 bits.
    type Sums: Copy;

    fn zero(self) -> Self::Sums;
    fn widen(self, bytes: &[u8; LANE]) -> Self::Wide;
    fn load(self, halves: &[i16; LANE]) -> Self::Wide;
    /// Adds the products of `a` and `b` to `sums`, which wrap.
    fn add_products(self, sums: Self::Sums, a: Self::Wide, b: Self::Wide) -> Self::Sums;
    fn total(self, sums: Self::Sums) -> u32;
    /// Runs `f`, compiled for the unit.
    fn run(self, f: impl FnOnce());
    /// Rows by vectors that the registers hold: for one vector, and for several.
    fn tiles(self, work: &mut Work<'_>);
}

impl Isa for Avx2 {
    type Wide = [__m256i; 2];
    type Sums = __m256i;

    #[inline(always)]
    fn zero(self) -> __m256i {
        self.avx._mm256_setzero_si256()
    }

    #[inline(always)]
    fn widen(self, bytes: &[u8; LANE]) -> [__m256i; 2] {
        let [low, high]: [[u8; 16]; 2] = cast(*bytes);
        [self.avx2._mm256_cvtepi8_epi16(cast(low)), self.avx2._mm256_cvtepi8_epi16(cast(high))]
    }

    #[inline(always)]
    fn load(self, halves: &[i16; LANE]) -> [__m256i; 2] {
        cast(*halves)
    }

    #[inline(always)]
    fn add_products(self, sums: __m256i, a: [__m256i; 2], b: [__m256i; 2]) -> __m256i {
        let products = [0, 1].map(|i| self.avx2._mm256_madd_epi16(a[i], b[i]));
        let sums = self.avx2._mm256_add_epi32(sums, products[0]);
        self.avx2._mm256_add_epi32(sums, products[1])
    }

    #[inline(always)]
    fn total(self, sums: __m256i) -> u32 {
        cast::<_, [u32; 8]>(sums).iter().fold(0, |total, lane| total.wrapping_add(*lane))
    }

    #[inline(always)]
    fn run(self, f: impl FnOnce()) {
        self.vectorize(f);
    }

    #[inline(always)]
    fn tiles(self, work: &mut Work<'_>) {
        // 16 registers: 4 × 1 or 3 × 2 pairs of sums, and the operands.
        work.pairs::<Self, 3>(self);
        work.single::<Self, 4>(self);
    }
}

/// The two kinds of AVX-512 differ in what the compiler may emit only.
macro_rules! avx512 {
    ($name:ident) => {
        impl Isa for $name {
            type Wide = __m512i;
            type Sums = __m512i;

            #[inline(always)]
            fn zero(self) -> __m512i {
                self.avx512f._mm512_setzero_si512()
            }

            #[inline(always)]
            fn widen(self, bytes: &[u8; LANE]) -> __m512i {
                self.avx512bw._mm512_cvtepi8_epi16(cast(*bytes))
            }

            #[inline(always)]
            fn load(self, halves: &[i16; LANE]) -> __m512i {
                cast(*halves)
            }

            #[inline(always)]
            fn add_products(self, sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
                self.avx512f._mm512_add_epi32(sums, self.avx512bw._mm512_madd_epi16(a, b))
            }

            #[inline(always)]
            fn total(self, sums: __m512i) -> u32 {
                cast::<_, [u32; 16]>(sums).iter().fold(0, |total, lane| total.wrapping_add(*lane))
            }

            #[inline(always)]
            fn run(self, f: impl FnOnce()) {
                self.vectorize(f);
            }

            #[inline(always)]
            fn tiles(self, work: &mut Work<'_>) {
                // 32 registers: 8 × 1 or 6 × 2 pairs of sums, and the operands.
                work.pairs::<Self, 6>(self);
                work.single::<Self, 8>(self);
            }
        }
    };
}

avx512!(Avx512);
avx512!(Vnni);

/// What is to be multiplied, and where the results go.
pub(super) struct Work<'a> {
    matrix: &'a Matrix,
    rows: Range<usize>,
    lanes: Range<usize>,
    operands: &'a [Operand],
    out: &'a mut [&'a mut [u32]],
    /// How many vectors are done.
    done: usize,
}

pub(super) fn multiply_add<I: Isa>(
    isa: I,
    matrix: &Matrix,
    rows: Range<usize>,
    operands: &[Operand],
    out: &mut [&mut [u32]],
) {
    isa.run(
        #[inline(always)]
        || {
            // Blocks of columns whose part of a vector stays in the second-level cache, and of rows
            // that stay there while all vectors pass over them.
            let all = matrix.columns().div_ceil(LANE);
            let lanes = all.div_ceil(all.div_ceil(LANES_PER_BLOCK).max(1)).max(1);
            for first_lane in (0..all).step_by(lanes) {
                let lanes = first_lane..(first_lane + lanes).min(all);
                let mut first = 0;
                while first < rows.len() {
                    let count = (rows.len() - first).min(ROWS_PER_BLOCK);
                    let block = rows.start + first..rows.start + first + count;
                    let mut part: Vec<&mut [u32]> =
                        out.iter_mut().map(|out| &mut out[first..first + count]).collect();
                    isa.tiles(&mut Work {
                        matrix,
                        rows: block,
                        lanes: lanes.clone(),
                        operands,
                        out: &mut part,
                        done: 0,
                    });
                    first += count;
                }
            }
        },
    );
}

/// A multiple of every tile's rows.
const ROWS_PER_BLOCK: usize = 48;
/// 32,768 columns: 128 KiB of each vector.
const LANES_PER_BLOCK: usize = 1024;

impl Work<'_> {
    /// Two vectors at a time, `R` rows at a time, as long as there are two.
    #[inline(always)]
    fn pairs<I: Isa, const R: usize>(&mut self, isa: I) {
        while self.operands.len() - self.done >= 2 {
            self.vectors::<I, R, 2>(isa);
        }
    }

    /// What is left.
    #[inline(always)]
    fn single<I: Isa, const R: usize>(&mut self, isa: I) {
        while self.done < self.operands.len() {
            self.vectors::<I, R, 1>(isa);
        }
    }

    #[inline(always)]
    fn vectors<I: Isa, const R: usize, const V: usize>(&mut self, isa: I) {
        let vectors: [&[Halves]; V] =
            core::array::from_fn(|v| &self.operands[self.done + v].lanes()[self.lanes.clone()]);
        let mut row = 0;
        while row + R <= self.rows.len() {
            self.tile::<I, R, V>(isa, row, vectors);
            row += R;
        }
        while row < self.rows.len() {
            self.tile::<I, 1, V>(isa, row, vectors);
            row += 1;
        }
        self.done += V;
    }

    // By index: through iterators the sums are kept in memory instead of registers.
    #[inline(always)]
    fn tile<I: Isa, const R: usize, const V: usize>(
        &mut self,
        isa: I,
        row: usize,
        vectors: [&[Halves]; V],
    ) {
        let rows: [&[[u8; LANE]]; R] = core::array::from_fn(|r| {
            &self.matrix.row(self.rows.start + row + r)[self.lanes.clone()]
        });
        // Unrelated to the compiler: it would otherwise chain the rows' addresses, find the first sums
        // less urgent than the last, and take their fused multiply-accumulates apart.
        let rows = core::hint::black_box(rows);
        // Equal lengths, said so that the loop needs no checks.
        let lanes = rows[0].len();
        let rows = rows.map(|row| &row[..lanes]);
        let vectors = vectors.map(|vector| &vector[..lanes]);
        let mut sums = [[[isa.zero(); 2]; V]; R];
        for lane in 0..lanes {
            let halves: [[I::Wide; 2]; V] = core::array::from_fn(|v| {
                [isa.load(&vectors[v][lane].low), isa.load(&vectors[v][lane].high)]
            });
            for r in 0..R {
                let wide = isa.widen(&rows[r][lane]);
                for v in 0..V {
                    for half in 0..2 {
                        sums[r][v][half] =
                            isa.add_products(sums[r][v][half], wide, halves[v][half]);
                    }
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            for (v, [low, high]) in sums.iter().enumerate() {
                let sum = isa.total(*low).wrapping_add(isa.total(*high) << 16);
                let out = &mut self.out[self.done + v][row + r];
                *out = out.wrapping_add(sum);
            }
        }
    }
}
