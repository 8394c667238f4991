//! The scheme's constants, and how a table is laid out.
//!
//! The noise of an answer, as a fraction of the modulus, is the sum of four independent parts of
//! mean 0; `m` columns, bytes read as −128 … 127, base `B = 2^25`:
//!
//! | part | variance |
//! |---|---|
//! | the query's rounding to `t` bits, summed over a row | at most `m · 128² · 2^(−2t)/12` |
//! | the key switches of [`packing`](super::packing) | `(d−1) · d · ((q/B)²σ² + B²σ²) / (12q²)` |
//! | the answer's rounding of `a` to 20 bits, times the secret | `d · σ² · 2^(−40)/12` |
//! | the answer's rounding of `b` to 12 bits | `2^(−24)/12` |
//!
//! A byte comes out wrong if the sum exceeds 2⁻⁹. [`Layout::new`] takes the fewest bits `t` that keep
//! the standard deviation below 2⁻⁹/8.65, so that a *whole answer* of up to 2^17 bytes fails with a
//! probability below 2⁻⁴⁰; a test adds the table above up. (The query's own error of σ/q is nothing
//! beside its rounding.)

use std::sync::LazyLock;

use crate::error::Unsupported;
use crate::ring::{GaloisOrder, Ring};
use crate::scheme::Sizes;
use crate::shape::Shape;
use crate::wire::HEADER;

/// The ring's degree d.
pub const DEGREE: usize = 2048;
/// The two largest primes below 2^25 that are 1 modulo 2d; `q` ≈ 2^49.999 is their product.
pub const PRIMES: [u32; 2] = [33_550_337, 33_538_049];
/// The bits of a residue on the wire.
pub const RESIDUE_BITS: u32 = 25;
/// log₂ of the key switches' base B = √q: one digit above it is kept, what is below is noise.
pub const BASE_BITS: u32 = 25;
/// The bits of a plaintext: one byte of the table for each coefficient.
pub const PLAIN_BITS: u32 = 8;
/// To how many bits an answer rounds its first part, which is multiplied by the secret.
pub const ANSWER_A_BITS: u32 = 20;
/// To how many bits an answer rounds its second part.
pub const ANSWER_B_BITS: u32 = 12;
/// The most ring elements of an answer: 128 KiB of table.
pub const MAX_BLOCKS: u32 = 64;
/// The most columns: keeps what an unknown setup can make a client allocate below 64 MiB.
pub const MAX_COLUMNS: u64 = 1 << 22;

/// How many columns a query of 26 bits serves; each bit more serves four times as many.
const COLUMNS_AT_26_BITS: u64 = 46_000;

/// The ring that everything happens in, and the order of its points.
pub(super) static RING: LazyLock<Ring> = LazyLock::new(|| Ring::new(DEGREE, PRIMES));
/// The order of the ring's points under automorphisms.
pub(super) static ORDER: LazyLock<GaloisOrder> =
    LazyLock::new(|| GaloisOrder::new(&RING.transforms()[0]));

/// How a table is laid out: as a matrix of bytes, whose columns are runs of whole rows of the table.
/// A query picks a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// How many ring elements carry a column.
    pub blocks: usize,
    /// How many of the table's rows a column has.
    pub rows_per_column: u64,
    /// The bytes of a column, at most `blocks · DEGREE`.
    pub column_bytes: usize,
    /// How many columns there are; the last may be short.
    pub columns: usize,
    /// To how many bits a query rounds.
    pub query_bits: u32,
}

impl Layout {
    /// The layout of `shape` with columns of `blocks` ring elements.
    ///
    /// # Errors
    /// [`Unsupported`] if there are too many blocks or columns, or a row is longer than a column.
    pub fn new(shape: Shape, blocks: u32) -> Result<Self, Unsupported> {
        if blocks == 0 || blocks > MAX_BLOCKS {
            return Err(Unsupported("the hintless layout is a number of blocks from 1 to 64"));
        }
        let rows_per_column = (blocks as usize * DEGREE / shape.row_bytes()) as u64;
        if rows_per_column == 0 {
            return Err(Unsupported("a row is longer than a column: take more blocks"));
        }
        let columns = shape.rows().div_ceil(rows_per_column);
        if columns > MAX_COLUMNS {
            return Err(Unsupported("too many columns: take more blocks, or split the table"));
        }
        // 2^22 columns need 30 bits; below 16 bits nothing is worth saving.
        let query_bits = (16..=30)
            .find(|bits| columns << 32 <= COLUMNS_AT_26_BITS << 2 * (bits + 16 - 26))
            .ok_or(Unsupported("too many columns: take more blocks, or split the table"))?;
        Ok(Layout {
            blocks: blocks as usize,
            rows_per_column,
            column_bytes: rows_per_column as usize * shape.row_bytes(),
            columns: columns as usize,
            query_bits,
        })
    }

    /// The number of blocks that makes a login cheapest.
    ///
    /// Every block costs the server a pass over 32 MiB of tables, 2 ms on one core, which is held
    /// equal to 16 KiB on the wire.
    ///
    /// # Errors
    /// [`Unsupported`] if no number of blocks serves this shape.
    pub fn best_blocks(shape: Shape) -> Result<u32, Unsupported> {
        let cost = |layout: &Layout| {
            let sizes = layout.sizes();
            sizes.query + sizes.answer + 16 * 1024 * layout.blocks
        };
        (1..=MAX_BLOCKS)
            .filter_map(|blocks| Some((blocks, Layout::new(shape, blocks).ok()?)))
            .min_by_key(|(_, layout)| cost(layout))
            .map(|(blocks, _)| blocks)
            .ok_or(Unsupported("the table is too large for one server: split it"))
    }

    /// The lengths of everything that travels.
    pub fn sizes(&self) -> Sizes {
        Sizes {
            query: HEADER + 2 * KEY_BYTES + (self.columns * self.query_bits as usize).div_ceil(8),
            answer: HEADER + self.blocks * BLOCK_BYTES,
            hint: 0,
            rows_per_answer: self.rows_per_column as usize,
        }
    }

    /// How many polynomials the columns' ciphertexts fill.
    pub fn polynomials(&self) -> usize {
        self.columns.div_ceil(DEGREE)
    }

    /// Column `number` of a table; the last may be short.
    pub(super) fn column<'t>(&self, table: &'t [u8], number: usize) -> &'t [u8] {
        let start = number * self.column_bytes;
        &table[start..table.len().min(start + self.column_bytes)]
    }
}

/// The bytes of a key-switching key on the wire: its values modulo both primes.
pub const KEY_BYTES: usize = 2 * DEGREE * RESIDUE_BITS as usize / 8;
/// The bytes of a block of an answer.
pub const BLOCK_BYTES: usize = DEGREE * (ANSWER_A_BITS + ANSWER_B_BITS) as usize / 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lwe::gauss::SIGMA;

    /// The variance of an answer's noise, as a fraction of the modulus: the table in this module's
    /// documentation.
    fn variance(columns: f64, bits: i32) -> f64 {
        let (d, q) = (DEGREE as f64, RING.modulus() as f64);
        let base = 2f64.powi(BASE_BITS as i32);
        let uniform = |bits: i32| 4f64.powi(-bits) / 12.0;
        let query = columns * 128.0f64.powi(2) * (uniform(bits) + (SIGMA / q).powi(2));
        let switches =
            (d - 1.0) * d * ((q / base).powi(2) + base.powi(2)) * SIGMA.powi(2) / (12.0 * q * q);
        let a = d * SIGMA.powi(2) * uniform(ANSWER_A_BITS as i32);
        query + switches + a + uniform(ANSWER_B_BITS as i32)
    }

    #[test]
    fn whole_answers_fail_less_often_than_two_to_the_minus_40() {
        for bits in 16..=30 {
            let columns = COLUMNS_AT_26_BITS as f64 * 4f64.powi(bits - 26);
            let ratio = 2f64.powi(-9) / variance(columns, bits).sqrt();
            // P(|x| > r·σ) < √(2/π)/r · exp(−r²/2) for a Gaussian, times the bytes of an answer.
            let one = (2.0 / core::f64::consts::PI).sqrt() / ratio * (-ratio * ratio / 2.0).exp();
            let whole = one * f64::from(MAX_BLOCKS) * DEGREE as f64;
            assert!(whole.log2() < -40.0, "{bits} bits: 2^{}", whole.log2());
        }
        // A bit less for as many columns, and the claim would be false.
        assert!(2f64.powi(-9) / variance(COLUMNS_AT_26_BITS as f64, 25).sqrt() < 8.0);
    }

    #[test]
    fn layouts_cover_their_tables() {
        for rows in [1, 2, 63, 64, 65, 10_000, 1_000_000, 10_000_000, 1_000_000_000] {
            for row_bytes in [1, 16, 31, 32, 100, 2048, 4096] {
                let shape = Shape::new(rows, row_bytes).expect("a shape");
                let Ok(blocks) = Layout::best_blocks(shape) else {
                    assert!(rows >= 1_000_000_000 && row_bytes > 100, "{rows} x {row_bytes}");
                    continue;
                };
                let layout = Layout::new(shape, blocks).expect("the best is a layout");
                assert!(layout.column_bytes <= layout.blocks * DEGREE);
                let covered = layout.columns as u64 * layout.rows_per_column;
                assert!(covered >= rows && covered - rows < layout.rows_per_column);
                assert!(layout.query_bits <= 30);
            }
        }
    }

    #[test]
    fn refuses_layouts_that_cannot_be() {
        let shape = Shape::new(1000, 4096).expect("a shape");
        assert!(Layout::new(shape, 1).is_err());
        assert!(Layout::new(shape, 2).is_ok());
        assert!(Layout::new(shape, 0).is_err());
        assert!(Layout::new(shape, 65).is_err());
        let huge = Shape::new(Shape::MAX_ROWS, 4096).expect("a shape");
        assert!(Layout::new(huge, 64).is_err());
    }

    #[test]
    fn ten_million_rows_take_less_than_200_kilobytes() {
        let shape = Shape::new(10_000_000, 32).expect("a shape");
        let blocks = Layout::best_blocks(shape).expect("a layout");
        let sizes = Layout::new(shape, blocks).expect("a layout").sizes();
        assert!(sizes.query + sizes.answer < 200_000, "{sizes:?}");
    }
}
