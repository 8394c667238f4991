//! The vector units of x86-64, through `pulp`'s tokens: a token proves that the unit is there.

use core::arch::x86_64::{__m256i, __m512i, _MM_HINT_T0};
use core::ops::Range;

use pulp::bytemuck::cast;

use crate::kernel::matrix::{GROUP, Line, Matrix, PER_LINE, Pair};
use crate::kernel::operand::{Halves, Operand};

pulp::simd_type!({
    /// AVX2.
    pub(super) struct Avx2 {
        sse: f!("sse"),
        avx: f!("avx"),
        avx2: f!("avx2"),
    }

    /// AVX-512 F and BW.
    pub(super) struct Avx512 {
        sse: f!("sse"),
        avx512f: f!("avx512f"),
        avx512bw: f!("avx512bw"),
    }

    /// AVX-512 with VNNI: the same instructions as [`Avx512`]'s in the source; that the unit is
    /// named lets the compiler fuse them.
    pub(super) struct Vnni {
        sse: f!("sse"),
        avx512f: f!("avx512f"),
        avx512bw: f!("avx512bw"),
        avx512vnni: f!("avx512vnni"),
    }
});

/// What the kernel needs of a vector unit.
pub(super) trait Isa: Copy {
    /// 32 numbers of 16 bits: a pair of columns.
    type Wide: Copy;
    /// The same two numbers of 16 bits for every row.
    type Both: Copy;
    /// A sum of 32 bits for every row.
    type Sums: Copy;
    /// The most vectors that its registers take at a time.
    const VECTORS: usize;

    fn zero(self) -> Self::Sums;
    fn widen(self, bytes: &Pair) -> Self::Wide;
    fn broadcast(self, halves: i32) -> Self::Both;
    /// Adds the products of `a` and `b` to `sums`, which wrap.
    fn add_products(self, sums: Self::Sums, a: Self::Wide, b: Self::Both) -> Self::Sums;
    fn sums(self, sums: Self::Sums) -> [u32; GROUP];
    /// Asks for the cache line at `address`, which may be anything.
    fn prefetch(self, address: *const u8);
    /// Runs `f`, compiled for the unit.
    fn run(self, f: impl FnOnce());
    /// Takes the next `vectors` vectors, at most [`Isa::VECTORS`].
    fn vectors(self, work: &mut Work<'_, '_>, vectors: usize);
}

impl Isa for Avx2 {
    type Wide = [__m256i; 2];
    type Both = __m256i;
    type Sums = [__m256i; 2];
    const VECTORS: usize = 2;

    #[inline(always)]
    fn zero(self) -> [__m256i; 2] {
        [self.avx._mm256_setzero_si256(); 2]
    }

    #[inline(always)]
    fn widen(self, bytes: &Pair) -> [__m256i; 2] {
        let [low, high]: [[u8; 16]; 2] = cast(*bytes);
        [self.avx2._mm256_cvtepi8_epi16(cast(low)), self.avx2._mm256_cvtepi8_epi16(cast(high))]
    }

    #[inline(always)]
    fn broadcast(self, halves: i32) -> __m256i {
        self.avx._mm256_set1_epi32(halves)
    }

    #[inline(always)]
    fn add_products(self, sums: [__m256i; 2], a: [__m256i; 2], b: __m256i) -> [__m256i; 2] {
        let products = a.map(|a| self.avx2._mm256_madd_epi16(a, b));
        [0, 1].map(|i| self.avx2._mm256_add_epi32(sums[i], products[i]))
    }

    #[inline(always)]
    fn sums(self, sums: [__m256i; 2]) -> [u32; GROUP] {
        cast(sums)
    }

    #[inline(always)]
    fn prefetch(self, address: *const u8) {
        self.sse._mm_prefetch::<_MM_HINT_T0>(address.cast());
    }

    #[inline(always)]
    fn run(self, f: impl FnOnce()) {
        self.vectorize(f);
    }

    #[inline(always)]
    fn vectors(self, work: &mut Work<'_, '_>, vectors: usize) {
        // 16 registers: 8 for sums, and the operands.
        match vectors {
            1 => work.vectors::<Self, 2, 1>(self),
            _ => work.vectors::<Self, 1, 2>(self),
        }
    }
}

/// The two kinds of AVX-512 differ in what the compiler may emit only.
macro_rules! avx512 {
    ($name:ident) => {
        impl Isa for $name {
            type Wide = __m512i;
            type Both = __m512i;
            type Sums = __m512i;
            const VECTORS: usize = 8;

            #[inline(always)]
            fn zero(self) -> __m512i {
                self.avx512f._mm512_setzero_si512()
            }

            #[inline(always)]
            fn widen(self, bytes: &Pair) -> __m512i {
                self.avx512bw._mm512_cvtepi8_epi16(cast(*bytes))
            }

            #[inline(always)]
            fn broadcast(self, halves: i32) -> __m512i {
                self.avx512f._mm512_set1_epi32(halves)
            }

            #[inline(always)]
            fn add_products(self, sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
                self.avx512f._mm512_add_epi32(sums, self.avx512bw._mm512_madd_epi16(a, b))
            }

            #[inline(always)]
            fn sums(self, sums: __m512i) -> [u32; GROUP] {
                cast(sums)
            }

            #[inline(always)]
            fn prefetch(self, address: *const u8) {
                self.sse._mm_prefetch::<_MM_HINT_T0>(address.cast());
            }

            #[inline(always)]
            fn run(self, f: impl FnOnce()) {
                self.vectorize(f);
            }

            #[inline(always)]
            fn vectors(self, work: &mut Work<'_, '_>, vectors: usize) {
                // 32 registers: up to 24 for sums, and at least the 10 that the two units need to be
                // busy while a sum waits for its last product.
                match vectors {
                    1 => work.vectors::<Self, 8, 1>(self),
                    2 => work.vectors::<Self, 4, 2>(self),
                    3 => work.vectors::<Self, 3, 3>(self),
                    4 => work.vectors::<Self, 2, 4>(self),
                    5 => work.vectors::<Self, 2, 5>(self),
                    6 => work.vectors::<Self, 2, 6>(self),
                    7 => work.vectors::<Self, 1, 7>(self),
                    _ => work.vectors::<Self, 1, 8>(self),
                }
            }
        }
    };
}

avx512!(Avx512);
avx512!(Vnni);

/// What is to be multiplied, and where the results go.
pub(super) struct Work<'a, 'b> {
    matrix: &'a Matrix,
    rows: Range<usize>,
    /// The lines of the groups that are in turn.
    lines: Range<usize>,
    operands: &'a [Operand],
    out: &'a mut [&'b mut [u32]],
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
    let lines = matrix.lines_in_group();
    let mut work = Work { matrix, rows, lines: 0..0, operands, out, done: 0 };
    isa.run(
        #[inline(always)]
        || {
            while work.lines.end < lines {
                let first = work.lines.end;
                work.lines = first..(first + LINES_PER_BLOCK).min(lines);
                work.done = 0;
                while work.done < operands.len() {
                    // As few passes as possible, and all alike.
                    let left = operands.len() - work.done;
                    let vectors = left.div_ceil(left.div_ceil(I::VECTORS));
                    isa.vectors(&mut work, vectors);
                }
            }
        },
    );
}

/// 32,768 columns: 128 KiB of each vector, so that eight stay in the second-level cache.
const LINES_PER_BLOCK: usize = 1 << 13;

/// How far ahead of the products the table is asked for, lines in all streams together. What a
/// processor's own prefetchers ask for is not enough: they stop at the end of each page of 4 KiB.
const LINES_AHEAD: usize = 64;

/// The words of `V` vectors for a pair of columns: beside each other, so that one register addresses
/// all of them.
type Words<const V: usize> = [Halves; V];

impl Work<'_, '_> {
    /// `V` vectors, `R` groups of rows at a time.
    #[inline(always)]
    fn vectors<I: Isa, const R: usize, const V: usize>(&mut self, isa: I) {
        let words = self.words::<V>();
        let mut group = self.rows.start / GROUP;
        let end = self.rows.end.div_ceil(GROUP);
        while group + R <= end {
            self.tile::<I, R, V>(isa, group, &words);
            group += R;
        }
        while R > 1 && group < end {
            self.tile::<I, 1, V>(isa, group, &words);
            group += 1;
        }
        self.done += V;
    }

    /// The words of the next `V` vectors, with zeros where the last line has no columns.
    #[inline(always)]
    fn words<const V: usize>(&self) -> Vec<Words<V>> {
        let mut words = vec![[Halves::default(); V]; self.lines.len() * PER_LINE];
        for (v, operand) in self.operands[self.done..][..V].iter().enumerate() {
            let pairs = &operand.pairs()[self.lines.start * PER_LINE..];
            for (words, pair) in words.iter_mut().zip(pairs) {
                words[v] = *pair;
            }
        }
        words
    }

    // By index: through iterators the sums are kept in memory instead of registers.
    #[inline(always)]
    fn tile<I: Isa, const R: usize, const V: usize>(
        &mut self,
        isa: I,
        group: usize,
        words: &[Words<V>],
    ) {
        let groups: [&[Pair]; R] = core::array::from_fn(|r| {
            self.matrix.group(group + r)[self.lines.clone()].as_flattened()
        });
        // Unrelated to the compiler: it would otherwise chain the groups' addresses, find the first
        // sums less urgent than the last, and take their fused multiply-accumulates apart. For the
        // same reason a step adds to each sum once.
        let groups = core::hint::black_box(groups);
        // Equal lengths, said so that the loop needs no checks.
        let pairs = words.len();
        let groups = groups.map(|group| &group[..pairs]);
        let mut sums = [[[isa.zero(); 2]; V]; R];
        for pair in 0..pairs {
            if pair.is_multiple_of(PER_LINE) {
                for group in &groups {
                    let line = group[pair].as_ptr();
                    isa.prefetch(line.wrapping_add(size_of::<Line>() * (LINES_AHEAD / R)));
                }
            }
            let wide: [I::Wide; R] = core::array::from_fn(|r| isa.widen(&groups[r][pair]));
            for v in 0..V {
                let Halves { low, high } = words[pair][v];
                for (half, halves) in [low, high].into_iter().enumerate() {
                    let both = isa.broadcast(halves);
                    for r in 0..R {
                        sums[r][v][half] = isa.add_products(sums[r][v][half], wide[r], both);
                    }
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            let first = (group + r) * GROUP;
            for (v, [low, high]) in sums.iter().enumerate() {
                let sums = isa.sums(*low).into_iter().zip(isa.sums(*high));
                let out = &mut self.out[self.done + v];
                for (row, (low, high)) in (first..).zip(sums) {
                    // The first and the last group may have rows that were not asked for.
                    if self.rows.contains(&row) {
                        let out = &mut out[row - self.rows.start];
                        *out = out.wrapping_add(low.wrapping_add(high << 16));
                    }
                }
            }
        }
    }
}
