//! How a table becomes a matrix, and how many bits the noise leaves to send.

use crate::error::Unsupported;
use crate::lwe::bits::packed_len;
use crate::lwe::gauss::SIGMA;
use crate::scheme::Sizes;
use crate::shape::Shape;
use crate::wire::HEADER;

/// The length of a secret (SimplePIR's n).
pub(super) const N: usize = 1024;

/// Bits of an answer's number. Dropping 16 of 32 costs 2¹⁵ of the 2²³ that noise may take.
pub(super) const ANSWER_BITS: u32 = 16;

/// The matrix of a table, and the widths of its messages.
///
/// Record `c` of `per_column` consecutive rows becomes column `c`; its bytes are the entries. With D
/// that matrix (entries −128 … 127), A the public matrix, s and e of the Gaussian, the query is
/// `b = A·s + e + 2²⁴·u`, the answer `D·b`, the hint `H = D·A`. Each travels without its lowest bits.
/// What the client finds, `D·b − H·s`, is 2²⁴ times the wanted column plus, in each entry,
///
/// | part | from | sub-Gaussian parameter |
/// |---|---|---|
/// | Σ D·e | the Gaussian | S₁ = 128·σ·√m |
/// | Σ D·ρ | rounding the query by `query_drop` bits, dithered to mean zero | S₂ = 128·√((4^drop + 2)/12)·√m |
/// | Σ s·η | rounding the hint by `hint_drop` bits, \|η\| ≤ 2^(drop−1) | S₃ = 2^(drop−1)·σ·√n |
/// | ≤ 2¹⁵ | rounding the answer | |
///
/// for *any* table, chosen after the seed or not. An entry is right if the sum stays below 2²³. By the
/// union bound over three parts and `width` entries an answer has a wrong byte with probability at
/// most `6·width·exp(−x²/2)`, where `x = (2²³ − 2¹⁵) / (S₁ + S₂ + S₃)`; the widths are the shortest
/// that keep this at or below 2⁻⁴⁰.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    shape: Shape,
    /// Rows of the table in a column.
    pub(super) per_column: usize,
    /// Rows of the matrix: the bytes of a column.
    pub(super) width: usize,
    /// Columns of the matrix.
    pub(super) columns: usize,
    /// Low bits that the hint's numbers travel without.
    pub(super) hint_drop: u32,
    /// Low bits that the query's numbers travel without.
    pub(super) query_drop: u32,
}

impl Layout {
    /// The widest matrix: bounds what a setup can make a client allocate.
    const MAX_WIDTH: usize = 1 << 24;
    /// The most columns, for the same reason.
    const MAX_COLUMNS: usize = 1 << 24;

    /// A square matrix, or nearly: queries and answers of about the same length.
    pub(super) fn square(shape: Shape) -> u32 {
        let per_column = (shape.rows() as f64 / shape.row_bytes() as f64).sqrt().round();
        (per_column as u64).clamp(1, shape.rows()).min(u64::from(u32::MAX)) as u32
    }

    /// The layout of `per_column` rows to a column.
    pub(super) fn new(shape: Shape, per_column: u32) -> Result<Self, Unsupported> {
        if per_column == 0 || u64::from(per_column) > shape.rows() {
            return Err(Unsupported("a column has at least one row, and not more than the table"));
        }
        let per_column = per_column as usize;
        let width = per_column
            .checked_mul(shape.row_bytes())
            .filter(|width| *width <= Self::MAX_WIDTH)
            .ok_or(Unsupported("fewer rows in a column: one has at most 2^24 bytes"))?;
        let columns = usize::try_from(shape.rows().div_ceil(per_column as u64))
            .ok()
            .filter(|columns| *columns <= Self::MAX_COLUMNS)
            .ok_or(Unsupported("more rows in a column: there are at most 2^24 columns"))?;
        let budget = Budget::new(width, columns);
        let hint_drop = (0..=16).rev().find(|drop| budget.allows(0, *drop));
        let hint_drop = hint_drop.ok_or(Unsupported(
            "more rows in a column: the noise of this \
            many columns does not fit",
        ))?;
        let query_drop = (0..=8).rev().find(|drop| budget.allows(*drop, hint_drop)).unwrap_or(0);
        Ok(Layout { shape, per_column, width, columns, hint_drop, query_drop })
    }

    /// Bits of a query's number.
    pub(super) const fn query_bits(&self) -> u32 {
        32 - self.query_drop
    }

    /// Bits of a hint's number.
    pub(super) const fn hint_bits(&self) -> u32 {
        32 - self.hint_drop
    }

    /// The bytes of a row of the hint.
    pub(super) const fn hint_row_bytes(&self) -> usize {
        packed_len(N, self.hint_bits())
    }

    /// The lengths of everything that travels.
    pub(super) const fn sizes(&self) -> Sizes {
        Sizes {
            query: HEADER + packed_len(self.columns, self.query_bits()),
            answer: HEADER + packed_len(self.width, ANSWER_BITS),
            hint: self.width * self.hint_row_bytes(),
            rows_per_answer: self.per_column,
        }
    }

    /// The table's shape.
    pub(super) const fn shape(&self) -> Shape {
        self.shape
    }

    /// A bound on the probability that any byte of an answer comes out wrong, as log₂.
    pub(super) fn failure_log2(&self) -> f64 {
        Budget::new(self.width, self.columns).failure_log2(self.query_drop, self.hint_drop)
    }
}

/// What the noise may be, and is.
struct Budget {
    width: f64,
    columns: f64,
}

impl Budget {
    fn new(width: usize, columns: usize) -> Self {
        Budget { width: width as f64, columns: columns as f64 }
    }

    fn failure_log2(&self, query_drop: u32, hint_drop: u32) -> f64 {
        let gaussian = 128.0 * SIGMA * self.columns.sqrt();
        // Without rounding there is no dither either.
        let dither =
            if query_drop == 0 { 0.0 } else { (4f64.powi(query_drop as i32) + 2.0) / 12.0 };
        let query = 128.0 * dither.sqrt() * self.columns.sqrt();
        let rounding = if hint_drop == 0 { 0.0 } else { 2f64.powi(hint_drop as i32 - 1) };
        let hint = rounding * SIGMA * (N as f64).sqrt();
        let margin = 2f64.powi(23) - 2f64.powi(31 - ANSWER_BITS as i32);
        let x = margin / (gaussian + query + hint);
        (6.0 * self.width).log2() - x * x / 2.0 * core::f64::consts::LOG2_E
    }

    fn allows(&self, query_drop: u32, hint_drop: u32) -> bool {
        self.failure_log2(query_drop, hint_drop) <= -40.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(rows: u64, bytes: u32, per_column: u32) -> Result<Layout, Unsupported> {
        Layout::new(Shape::new(rows, bytes)?, per_column)
    }

    #[test]
    fn ten_million_rows_fit_in_a_square() {
        let shape = Shape::new(10_000_000, 32).expect("a shape");
        let square = Layout::new(shape, Layout::square(shape)).expect("a layout");
        assert_eq!((square.width, square.columns), (17_888, 17_890));
        assert!(square.failure_log2() <= -40.0);
        // Shorter than SimplePIR's own at this size: 66,900 + 66,976 bytes, a hint of 68.6 MB.
        let sizes = square.sizes();
        assert!(sizes.query < 66_900 && sizes.answer < 66_976 && sizes.hint < 50_000_000);
    }

    #[test]
    fn one_bit_less_would_be_too_noisy() {
        let layout = layout(1_000_000, 32, 100).expect("a layout");
        let budget = Budget::new(layout.width, layout.columns);
        assert!(!budget.allows(0, layout.hint_drop + 1));
        assert!(layout.query_drop == 8 || !budget.allows(layout.query_drop + 1, layout.hint_drop));
    }

    #[test]
    fn layouts_that_cannot_be_are_refused() {
        assert!(layout(10, 32, 0).is_err());
        assert!(layout(10, 32, 11).is_err());
        assert!(layout(1 << 32, 32, 1).is_err(), "too many columns");
        assert!(layout(1 << 32, 32, 1 << 20).is_err(), "too wide");
        // 2²⁴ columns: the Gaussian alone is 128·6.4·2¹² = 2²¹·⁷, of 2²³.
        assert!(layout(1 << 24, 1, 1).is_err(), "too noisy");
    }
}
