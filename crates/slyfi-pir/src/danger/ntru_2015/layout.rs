//! The square, and the groups of its columns.

use crate::danger::ntru_2015::LOG2_Q;
use crate::danger::ntru_2015::polynomial::N;
use crate::error::Unsupported;
use crate::scheme::Sizes;
use crate::shape::Shape;
use crate::wire::HEADER;

/// The bytes of a ciphertext: coefficients as 32-bit integers (§6.1).
pub(super) const CIPHERTEXT: usize = 4 * N;
/// The bit planes of a ciphertext, polynomials of the second iteration.
pub(super) const PLANES: usize = LOG2_Q as usize;

/// Row `i` of the table stands in row `i / columns` of the square, and there in column
/// `step·groups + group`: consecutive rows of the table are the groups of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    shape: Shape,
    /// Rows of the square: ciphertexts of the query's first vector.
    pub(super) rows: usize,
    /// Ciphertexts of the query's second vector.
    pub(super) steps: usize,
    /// Answers of the second iteration.
    pub(super) groups: usize,
}

impl Layout {
    /// The most additions that one iteration may make. Table 3 saw 2.21·10⁷ before a failure in 10⁸
    /// repetitions; the noise's standard deviation is 42 for one (3·g·r has 298 terms of g's 291 of 439
    /// places each, ±3), so at this many the modulus is 8.8 deviations away.
    const MAX_ADDITIONS: usize = 8_000_000;
    /// The longest row: its bits are one polynomial's coefficients.
    const MAX_ROW_BYTES: usize = N / 8;

    /// The groups that make the response √(160·√n) ciphertexts, as §6.2's formula has it.
    pub(super) fn of_the_paper(shape: Shape) -> u32 {
        let side = (shape.rows() as f64).sqrt();
        let groups = ((160.0 * side).sqrt() / PLANES as f64).round();
        groups.clamp(1.0, side.ceil()) as u32
    }

    pub(super) fn new(shape: Shape, groups: u32) -> Result<Self, Unsupported> {
        if shape.row_bytes() > Self::MAX_ROW_BYTES {
            return Err(Unsupported("ntru-2015 has rows of at most 54 bytes: one polynomial"));
        }
        // At most 2¹⁶: the root of 2³².
        let side = (shape.rows() as f64).sqrt().ceil() as usize;
        let groups = groups as usize;
        if groups == 0 || groups > side {
            return Err(Unsupported("there is at least one group, and not more than columns"));
        }
        let steps = side.div_ceil(groups);
        let rows = shape.rows().div_ceil((steps * groups) as u64) as usize;
        if rows * shape.row_bytes() * 8 > Self::MAX_ADDITIONS || steps * N > Self::MAX_ADDITIONS {
            return Err(Unsupported("fewer rows: ntru-2015 bears no more additions"));
        }
        Ok(Layout { shape, rows, steps, groups })
    }

    /// Columns of the square.
    pub(super) const fn columns(&self) -> usize {
        self.steps * self.groups
    }

    /// Ciphertexts of a query.
    pub(super) const fn query_ciphertexts(&self) -> usize {
        self.rows + self.steps
    }

    /// Ciphertexts of an answer.
    pub(super) const fn answer_ciphertexts(&self) -> usize {
        self.groups * PLANES
    }

    pub(super) const fn sizes(&self) -> Sizes {
        Sizes {
            query: HEADER + self.query_ciphertexts() * CIPHERTEXT,
            answer: HEADER + self.answer_ciphertexts() * CIPHERTEXT,
            hint: 0,
            rows_per_answer: self.groups,
        }
    }

    pub(super) const fn shape(&self) -> Shape {
        self.shape
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_million_rows_answer_as_the_paper_counts() {
        let shape = Shape::new(10_000_000, 32).expect("a shape");
        let layout = Layout::new(shape, Layout::of_the_paper(shape)).expect("a layout");
        // 45.3 ms / 63.7 µs = 711 decryptions (Table 7), 1.25 MB (§6.2).
        assert_eq!(layout.answer_ciphertexts(), 714);
        assert!((1_249_000..1_256_000).contains(&layout.sizes().answer));
        assert_eq!((layout.rows, layout.steps), (3129, 94));
    }

    #[test]
    fn tables_beyond_the_modulus_are_refused() {
        let of = |rows, bytes, groups| Layout::new(Shape::new(rows, bytes).expect("one"), groups);
        assert!(of(100, 54, 1).is_ok());
        assert!(of(100, 55, 1).is_err());
        assert!(of(100, 32, 0).is_err());
        assert!(of(100, 32, 11).is_err());
        assert!(of(1 << 32, 32, 40).is_err());
    }
}
