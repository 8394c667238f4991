//! The first step of an answer: the table times the query.
//!
//! The table is kept in *strips* of [`STRIP`] of its rows (byte positions of a column). In a strip
//! the columns follow each other in pairs, the two columns' bytes alternating, so that one register
//! of 16-bit products sums a pair. A query's words are at most 30 bits and are cut in two halves of
//! 15 bits, which makes two such products instead of one slow 32-bit one; sums wrap modulo 2^32,
//! which a modulus of 2^t, t ≤ 30, divides.

use pulp::x86::{V3, V4};

/// How many rows of the matrix are in a strip.
pub const STRIP: usize = 32;
/// How many bytes of a strip a pair of columns has.
const PAIR: usize = 2 * STRIP;
/// How many queries are answered in one pass.
pub const TOGETHER: usize = 4;
/// The bits of the lower half of a word.
const LOW_BITS: u32 = 15;

/// A query's words as the kernels take them: for every pair of columns the two lower halves in one
/// word, and the two upper halves in another.
pub struct Halves(Vec<[i32; 2]>);

impl Halves {
    /// Splits words below 2^30.
    pub fn new(words: &[u32]) -> Self {
        let low = |word: u32| word & ((1 << LOW_BITS) - 1);
        let pair = |words: &[u32]| {
            let (first, second) = (words[0], words.get(1).copied().unwrap_or(0));
            let join = |a: u32, b: u32| (a | b << 16) as i32;
            [join(low(first), low(second)), join(first >> LOW_BITS, second >> LOW_BITS)]
        };
        Halves(words.chunks(2).map(pair).collect())
    }
}

/// Lays out one strip: `bytes(column, into)` writes the column's bytes of this strip.
pub fn lay_out(columns: usize, strip: &mut [u8], bytes: impl Fn(usize, &mut [u8; STRIP])) {
    for (pair, out) in strip.chunks_exact_mut(PAIR).enumerate() {
        let (mut first, mut second) = ([0; STRIP], [0; STRIP]);
        bytes(2 * pair, &mut first);
        if 2 * pair + 1 < columns {
            bytes(2 * pair + 1, &mut second);
        }
        for ((out, a), b) in out.chunks_exact_mut(2).zip(first).zip(second) {
            out.copy_from_slice(&[a, b]);
        }
    }
}

/// The bytes of a strip of so many columns.
pub fn strip_bytes(columns: usize) -> usize {
    columns.div_ceil(2) * PAIR
}

/// Multiplies all strips with up to [`TOGETHER`] queries in one pass. Each of `sums` gets one word
/// for each row.
///
/// # Panics
/// If there are more queries than that, or lengths do not fit each other.
pub fn multiply(strips: &[u8], columns: usize, queries: &[&Halves], sums: &mut [Vec<u32>]) {
    let strips = strips.chunks_exact(strip_bytes(columns));
    assert_eq!(queries.len(), sums.len());
    for query in queries {
        assert_eq!(query.0.len(), columns.div_ceil(2), "a word for each column");
    }
    match queries {
        [a] => pass(strips, [a], sums),
        [a, b] => pass(strips, [a, b], sums),
        [a, b, c] => pass(strips, [a, b, c], sums),
        [a, b, c, d] => pass(strips, [a, b, c, d], sums),
        _ => panic!("1 to {TOGETHER} queries"),
    }
}

fn pass<'s, const Q: usize>(
    strips: impl Iterator<Item = &'s [u8]>,
    queries: [&Halves; Q],
    sums: &mut [Vec<u32>],
) {
    let queries = queries.map(|q| &q.0[..]);
    let kernel = Kernel::detect();
    for (number, strip) in strips.enumerate() {
        let strip = strip.as_chunks::<PAIR>().0;
        let mut rows = [[0; STRIP]; Q];
        match kernel {
            Kernel::V4(simd) => simd.vectorize(Wide { simd, strip, queries, rows: &mut rows }),
            Kernel::V3(simd) => simd.vectorize(Middle { simd, strip, queries, rows: &mut rows }),
            Kernel::Plain => plain(strip, queries, &mut rows),
        }
        for (sums, rows) in sums.iter_mut().zip(&rows) {
            sums[number * STRIP..][..STRIP].copy_from_slice(rows);
        }
    }
}

/// What the processor has.
#[derive(Clone, Copy)]
enum Kernel {
    V4(V4),
    V3(V3),
    Plain,
}

impl Kernel {
    fn detect() -> Self {
        if let Some(simd) = V4::try_new() {
            Kernel::V4(simd)
        } else if let Some(simd) = V3::try_new() {
            Kernel::V3(simd)
        } else {
            Kernel::Plain
        }
    }
}

/// The kernel without vectors: the others are tested against it.
fn plain<const Q: usize>(
    strip: &[[u8; PAIR]],
    queries: [&[[i32; 2]]; Q],
    rows: &mut [[u32; STRIP]; Q],
) {
    for (query, rows) in queries.iter().zip(rows) {
        for (pair, [low, high]) in strip.iter().zip(*query) {
            let word = |half: u32| {
                let part = |halves: i32| halves as u32 >> (16 * half) & 0xffff;
                part(*low) | part(*high) << LOW_BITS
            };
            for (row, bytes) in rows.iter_mut().zip(pair.chunks_exact(2)) {
                let sum = word(0).wrapping_mul(u32::from(bytes[0]));
                let sum = sum.wrapping_add(word(1).wrapping_mul(u32::from(bytes[1])));
                *row = row.wrapping_add(sum);
            }
        }
    }
}

struct Wide<'a, const Q: usize> {
    simd: V4,
    strip: &'a [[u8; PAIR]],
    queries: [&'a [[i32; 2]]; Q],
    rows: &'a mut [[u32; STRIP]; Q],
}

impl<const Q: usize> pulp::NullaryFnOnce for Wide<'_, Q> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let (f, bw) = (self.simd.avx512f, self.simd.avx512bw);
        let zero = f._mm512_setzero_si512();
        // For each query: the halves of the strip, lower and upper products apart.
        let mut sums = [[[zero; 2]; 2]; Q];
        for (at, pair) in self.strip.iter().enumerate() {
            let halves: [[u8; STRIP]; 2] = pulp::cast(*pair);
            let data = halves.map(|half| bw._mm512_cvtepu8_epi16(pulp::cast(half)));
            for (sums, query) in sums.iter_mut().zip(&self.queries) {
                let words = query[at].map(|word| f._mm512_set1_epi32(word));
                for (sums, data) in sums.iter_mut().zip(data) {
                    for (sum, word) in sums.iter_mut().zip(words) {
                        *sum = f._mm512_add_epi32(*sum, bw._mm512_madd_epi16(data, word));
                    }
                }
            }
        }
        for (rows, sums) in self.rows.iter_mut().zip(sums) {
            let halves = sums
                .map(|[low, high]| f._mm512_add_epi32(low, f._mm512_slli_epi32::<LOW_BITS>(high)));
            *rows = pulp::cast(halves);
        }
    }
}

struct Middle<'a, const Q: usize> {
    simd: V3,
    strip: &'a [[u8; PAIR]],
    queries: [&'a [[i32; 2]]; Q],
    rows: &'a mut [[u32; STRIP]; Q],
}

impl<const Q: usize> pulp::NullaryFnOnce for Middle<'_, Q> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let (avx, avx2) = (self.simd.avx, self.simd.avx2);
        // A quarter of the strip at a time: 16 registers do not hold more sums.
        for quarter in 0..4 {
            let mut sums = [[avx._mm256_setzero_si256(); 2]; Q];
            for (at, pair) in self.strip.iter().enumerate() {
                let quarters: [[u8; PAIR / 4]; 4] = pulp::cast(*pair);
                let data = avx2._mm256_cvtepu8_epi16(pulp::cast(quarters[quarter]));
                for (sums, query) in sums.iter_mut().zip(&self.queries) {
                    for (sum, word) in sums.iter_mut().zip(query[at]) {
                        let word = avx._mm256_set1_epi32(word);
                        *sum = avx2._mm256_add_epi32(*sum, avx2._mm256_madd_epi16(data, word));
                    }
                }
            }
            for (rows, [low, high]) in self.rows.iter_mut().zip(sums) {
                let sum =
                    avx2._mm256_add_epi32(low, avx2._mm256_slli_epi32::<{ LOW_BITS as i32 }>(high));
                let sum: [u32; STRIP / 4] = pulp::cast(sum);
                rows[quarter * STRIP / 4..][..STRIP / 4].copy_from_slice(&sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn strip_of(columns: &[[u8; STRIP]]) -> Vec<u8> {
        let mut strip = vec![0; strip_bytes(columns.len())];
        lay_out(columns.len(), &mut strip, |column, into| *into = columns[column]);
        strip
    }

    fn definition(columns: &[[u8; STRIP]], words: &[u32]) -> [u32; STRIP] {
        core::array::from_fn(|row| {
            columns.iter().zip(words).fold(0u32, |sum, (column, word)| {
                sum.wrapping_add(word.wrapping_mul(u32::from(column[row])))
            })
        })
    }

    fn check<const Q: usize>(columns: &[[u8; STRIP]], words: &[Vec<u32>]) {
        let strip = strip_of(columns);
        let halves: Vec<Halves> = words.iter().map(|w| Halves::new(w)).collect();
        let queries: [&[[i32; 2]]; Q] = core::array::from_fn(|q| &halves[q].0[..]);
        let pairs = strip.as_chunks::<PAIR>().0;
        let expected: [[u32; STRIP]; Q] = core::array::from_fn(|q| definition(columns, &words[q]));
        let mut rows = [[0; STRIP]; Q];
        plain(pairs, queries, &mut rows);
        assert_eq!(rows, expected);
        if let Some(simd) = V3::try_new() {
            let mut rows = [[0; STRIP]; Q];
            simd.vectorize(Middle { simd, strip: pairs, queries, rows: &mut rows });
            assert_eq!(rows, expected);
        }
        if let Some(simd) = V4::try_new() {
            let mut rows = [[0; STRIP]; Q];
            simd.vectorize(Wide { simd, strip: pairs, queries, rows: &mut rows });
            assert_eq!(rows, expected);
        }
    }

    #[test]
    fn survives_the_largest_numbers() {
        let columns = vec![[255; STRIP]; 4097];
        let words = vec![vec![(1 << 30) - 1; 4097]; 4];
        check::<1>(&columns, &words);
        check::<4>(&columns, &words);
    }

    proptest! {
        #[test]
        fn all_kernels_are_the_definition(
            bytes in prop::collection::vec(any::<[u8; STRIP]>(), 1..40),
            words in prop::collection::vec(prop::collection::vec(0..1u32 << 30, 40), 4),
        ) {
            let words: Vec<Vec<u32>> = words.iter().map(|w| w[..bytes.len()].to_vec()).collect();
            check::<1>(&bytes, &words);
            check::<2>(&bytes, &words);
            check::<3>(&bytes, &words);
            check::<4>(&bytes, &words);
        }
    }
}
