//! The scheme's constants, and how a table is laid out.
//!
//! The noise of an answer, as a fraction of the modulus, is the sum of four independent parts of
//! mean 0; `m` columns, bytes read as −128 … 127, base `B = 2^25`:
//!
//! | part | variance | at 10⁷ rows |
//! |---|---|---|
//! | the query's rounding to `t` bits, and its error, weighted by a row's bytes | at most `m · 128² · (2^(−2t)/12 + σ²/q²)` | 2^(−26.7) |
//! | the key switches of [`packing`](super::packing) | `(d−1) · d · ((q/B)²σ² + B²σ²) / (12q²)` | 2^(−25.2) |
//! | the answer's rounding of `a` to 20 bits, times the secret | `d · σ² · 2^(−40)/12` | 2^(−27.2) |
//! | the answer's rounding of `b` to 12 bits | `2^(−24)/12` | 2^(−27.6) |
//!
//! Uniform and Gaussian noise is sub-Gaussian with its own variance V, and so are weighted sums: a byte
//! comes out wrong, which takes a sum above 2⁻⁹, with probability at most `2·exp(−2^(−18)/2V)`, and an
//! answer by the union bound with at most that times its bytes ([`Layout::failure_log2`]). [`Layout::new`]
//! takes the fewest bits `t` for which that is below 2⁻⁴⁰ for answers of any length.
//!
//! The first row holds for any table. The second takes the digits of the switched polynomials for
//! uniform; they are those of the table's products with random public polynomials.

use std::sync::LazyLock;

use crate::error::Unsupported;
use crate::lwe::gauss::SIGMA;
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
const COLUMNS_AT_26_BITS: u64 = 34_000;

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
            .find(|bits| columns << 32 <= COLUMNS_AT_26_BITS << (2 * (bits + 16 - 26)))
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

    /// The variance of an answer's noise, as a fraction of the modulus, for a table whose bytes, read
    /// as signed numbers, have the mean square `byte_square`: at most 128².
    pub fn noise_variance(&self, byte_square: f64) -> f64 {
        let (d, q) = (DEGREE as f64, RING.modulus() as f64);
        let base = 2f64.powi(BASE_BITS as i32);
        let uniform = |bits: u32| 4f64.powi(-(bits as i32)) / 12.0;
        let query = uniform(self.query_bits) + (SIGMA / q).powi(2);
        let switches =
            (d - 1.0) * d * ((q / base).powi(2) + base.powi(2)) * SIGMA.powi(2) / (12.0 * q * q);
        self.columns as f64 * byte_square * query
            + switches
            + d * SIGMA.powi(2) * uniform(ANSWER_A_BITS)
            + uniform(ANSWER_B_BITS)
    }

    /// A bound on the probability that any byte of an answer comes out wrong, as log₂.
    pub fn failure_log2(&self) -> f64 {
        let half_spacing = 2f64.powi(-1 - PLAIN_BITS as i32);
        let exponent = half_spacing.powi(2) / (2.0 * self.noise_variance(128.0 * 128.0));
        (2.0 * (self.blocks * DEGREE) as f64).log2() - exponent * core::f64::consts::LOG2_E
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
    use crate::security::primal_usvp;

    #[test]
    fn whole_answers_fail_less_often_than_two_to_the_minus_40() {
        // Below 19 bits there is not one column of a table.
        for bits in 19..=30 {
            let most = (COLUMNS_AT_26_BITS as f64 * 4f64.powi(bits - 26)) as usize;
            for blocks in [1, MAX_BLOCKS as usize] {
                let layout = Layout {
                    blocks,
                    rows_per_column: 1,
                    column_bytes: blocks * DEGREE,
                    columns: most,
                    query_bits: bits as u32,
                };
                assert!(layout.failure_log2() < -40.0, "{bits}: {}", layout.failure_log2());
                // One bit less, and the claim would be false.
                let rough = Layout { query_bits: bits as u32 - 1, ..layout };
                assert!(rough.failure_log2() > -40.0, "{bits}: {}", rough.failure_log2());
            }
        }
    }

    #[test]
    fn the_lattice_is_harder_than_the_public_hint_schemes() {
        // The keys are the easier half: the query's words are rounded, which only adds noise. An
        // attacker may take as many samples as he likes.
        let hardness =
            primal_usvp(DEGREE as u32, (RING.modulus() as f64).log2(), SIGMA, 4 * DEGREE as u32);
        assert!((415..=430).contains(&hardness.block_size), "{hardness:?}");
        let lwe = primal_usvp(1024, 32.0, SIGMA, 4 * 1024);
        assert!(hardness.core_svp_log2 > lwe.core_svp_log2 + 20.0, "{hardness:?} {lwe:?}");
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
