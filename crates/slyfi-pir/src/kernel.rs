//! Products of byte tables with vectors of 32-bit words, modulo 2³², at the speed of memory.
//!
//! A table's bytes are read as signed numbers, −128 to 127: modulo 2⁸ that is the same, and it makes
//! the products small enough for the multiplier that every vector unit has, pairs of 16-bit numbers
//! summed into 32 bits (`vpmaddwd`; with VNNI the sum is fused, `vpdpwssd`). A word is split into
//! two signed halves, `w = low + 2¹⁶·high`, so one 64-byte register takes 16 multiply-accumulates of
//! a byte by a word per instruction, where a 32-bit multiplication (`vpmulld`) needs three.
//!
//! The sums of 16 rows fill a register, so nothing is added up across it: two columns of 16 rows are
//! widened, and multiplied with the same two words for all rows. The table lies in the order in which
//! it is read ([`Matrix`]), and is asked for 4 KiB ahead. Up to eight vectors at a time share a pass over
//! the table; fewer share it between several stretches of the table, so that the units have enough
//! sums to work on.
//!
//! | back end | needs |
//! |---|---|
//! | `portable` | nothing; the twin that the others are tested against |
//! | `avx2` | AVX2 |
//! | `avx512` | AVX-512 F and BW |
//! | `vnni` | and AVX-512 VNNI |

mod matrix;
mod operand;
mod pages;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use matrix::Matrix;
pub use operand::Operand;
pub use pages::Pages;

/// Where to run: what [`Backend::detect`] finds, or one of the others to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Plain Rust.
    Portable,
    /// 256-bit vectors.
    Avx2,
    /// 512-bit vectors.
    Avx512,
    /// 512-bit vectors with a fused multiply-accumulate.
    Vnni,
}

impl Backend {
    /// All of them, the slowest first.
    pub const ALL: [Backend; 4] =
        [Backend::Portable, Backend::Avx2, Backend::Avx512, Backend::Vnni];

    /// The fastest that this machine has.
    pub fn detect() -> Self {
        let available = |backend: &&Backend| backend.is_available();
        *Self::ALL.iter().rev().find(available).unwrap_or(&Backend::Portable)
    }

    /// Whether this machine has it.
    pub fn is_available(self) -> bool {
        match self {
            Backend::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2 => x86::Avx2::try_new().is_some(),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512 => x86::Avx512::try_new().is_some(),
            #[cfg(target_arch = "x86_64")]
            Backend::Vnni => x86::Vnni::try_new().is_some(),
            #[cfg(not(target_arch = "x86_64"))]
            Backend::Avx2 | Backend::Avx512 | Backend::Vnni => false,
        }
    }

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Backend::Portable => "portable",
            Backend::Avx2 => "avx2",
            Backend::Avx512 => "avx512",
            Backend::Vnni => "vnni",
        }
    }
}

/// Adds the products of rows `rows` of `matrix` with `operands` to `out`, on the best back end.
///
/// `out[v]` belongs to `operands[v]` and has a word for each of the rows.
///
/// # Panics
/// If the lengths do not fit each other: a fault of the caller's.
pub fn multiply_add(
    matrix: &Matrix,
    rows: core::ops::Range<usize>,
    operands: &[Operand],
    out: &mut [&mut [u32]],
) {
    multiply_add_with(Backend::detect(), matrix, rows, operands, out);
}

/// [`multiply_add`] on a back end of the caller's choice.
///
/// # Panics
/// As there, and if this machine does not have the back end.
pub fn multiply_add_with(
    backend: Backend,
    matrix: &Matrix,
    rows: core::ops::Range<usize>,
    operands: &[Operand],
    out: &mut [&mut [u32]],
) {
    assert!(rows.end <= matrix.rows(), "rows of the matrix");
    assert_eq!(operands.len(), out.len(), "a result for each operand");
    assert!(operands.iter().all(|v| v.words() == matrix.columns()), "a word for each column");
    assert!(out.iter().all(|o| o.len() == rows.len()), "a word for each row");
    let missing = || -> ! { panic!("this machine has no {}", backend.name()) };
    match backend {
        Backend::Portable => portable::multiply_add(matrix, rows, operands, out),
        #[cfg(target_arch = "x86_64")]
        Backend::Avx2 => match x86::Avx2::try_new() {
            Some(isa) => x86::multiply_add(isa, matrix, rows, operands, out),
            None => missing(),
        },
        #[cfg(target_arch = "x86_64")]
        Backend::Avx512 => match x86::Avx512::try_new() {
            Some(isa) => x86::multiply_add(isa, matrix, rows, operands, out),
            None => missing(),
        },
        #[cfg(target_arch = "x86_64")]
        Backend::Vnni => match x86::Vnni::try_new() {
            Some(isa) => x86::multiply_add(isa, matrix, rows, operands, out),
            None => missing(),
        },
        #[cfg(not(target_arch = "x86_64"))]
        Backend::Avx2 | Backend::Avx512 | Backend::Vnni => missing(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn schoolbook(table: &[u8], width: usize, vector: &[u32]) -> Vec<u32> {
        let mut out = vec![0u32; width];
        for (record, word) in table.chunks(width).zip(vector) {
            for (sum, byte) in out.iter_mut().zip(record) {
                let signed = i32::from(*byte as i8) as u32;
                *sum = sum.wrapping_add(signed.wrapping_mul(*word));
            }
        }
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_back_end_does_schoolbook_products(
            width in 1usize..300,
            columns in 1usize..100,
            ragged in 0usize..40,
            vectors in 0usize..18,
            extreme: bool,
            seed: u64,
        ) {
            let mut state = seed;
            let mut next = move || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if extreme { [0x8000_8000, 0x7fff_7fff, u32::MAX][(state >> 61) as usize % 3] }
                else { (state >> 32) as u32 }
            };
            let bytes = (width * columns).saturating_sub(ragged % width).max(1);
            let table: Vec<u8> = (0..bytes).map(|_| next() as u8).collect();
            let matrix = Matrix::transposed(&table, width, columns).expect("a small matrix");
            let vectors: Vec<Vec<u32>> =
                (0..vectors).map(|_| (0..columns).map(|_| next()).collect()).collect();
            let operands: Vec<Operand> = vectors.iter().map(|v| Operand::new(v)).collect();
            let rows = (seed as usize % width)..width;
            for backend in Backend::ALL.into_iter().filter(|b| b.is_available()) {
                let mut out = vec![vec![7u32; rows.len()]; vectors.len()];
                let mut into: Vec<&mut [u32]> = out.iter_mut().map(|o| &mut o[..]).collect();
                multiply_add_with(backend, &matrix, rows.clone(), &operands, &mut into);
                for (vector, got) in vectors.iter().zip(&out) {
                    let expected: Vec<u32> = schoolbook(&table, width, vector)[rows.clone()]
                        .iter().map(|w| w.wrapping_add(7)).collect();
                    prop_assert_eq!(&expected, got, "{}", backend.name());
                }
            }
        }
    }

    #[test]
    fn long_rows_wrap_around() {
        // 2²⁰ products of −128 and −1 on one row: far beyond what a 32-bit sum holds.
        let columns = 1 << 20;
        let table = vec![0x80u8; columns];
        let matrix = Matrix::transposed(&table, 1, columns).expect("a megabyte");
        let vector = vec![0xffff_8001u32; columns];
        let expected = (0..columns)
            .fold(0u32, |s, _| s.wrapping_add((-128i32 as u32).wrapping_mul(0xffff_8001)));
        for backend in Backend::ALL.into_iter().filter(|b| b.is_available()) {
            let mut out = [0u32];
            let operand = [Operand::new(&vector)];
            multiply_add_with(backend, &matrix, 0..1, &operand, &mut [&mut out[..]]);
            assert_eq!(out, [expected], "{}", backend.name());
        }
    }

    #[test]
    #[should_panic(expected = "a word for each column")]
    fn a_short_vector_is_a_fault() {
        let matrix = Matrix::transposed(&[1, 2, 3, 4], 2, 2).expect("a small matrix");
        multiply_add(&matrix, 0..2, &[Operand::new(&[1])], &mut [&mut [0, 0]]);
    }
}
