//! The shape of a table.

use crate::error::Unsupported;

/// How many rows a table has, and how many bytes each has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    rows: u64,
    row_bytes: u32,
}

impl Shape {
    /// The most rows that a table may have: what the capacity planner goes up to (10⁹), and some.
    pub const MAX_ROWS: u64 = 1 << 32;
    /// The longest row, bytes.
    pub const MAX_ROW_BYTES: u32 = 4096;

    /// A table of `rows` rows of `row_bytes` bytes.
    ///
    /// # Errors
    /// [`Unsupported`] if either is zero or above its bound, or if the table would not fit in the
    /// memory that this machine can address.
    pub const fn new(rows: u64, row_bytes: u32) -> Result<Self, Unsupported> {
        if rows == 0 || rows > Self::MAX_ROWS {
            return Err(Unsupported("a table has 1 to 2^32 rows"));
        }
        if row_bytes == 0 || row_bytes > Self::MAX_ROW_BYTES {
            return Err(Unsupported("a row has 1 to 4096 bytes"));
        }
        if rows * row_bytes as u64 > isize::MAX as u64 {
            return Err(Unsupported("a table this large cannot be addressed on this machine"));
        }
        Ok(Shape { rows, row_bytes })
    }

    /// The number of rows.
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// The length of a row, bytes.
    pub const fn row_bytes(&self) -> usize {
        self.row_bytes as usize
    }

    /// The length of the whole table, bytes.
    pub const fn table_bytes(&self) -> usize {
        // Fits: `new` has checked the product against `isize::MAX`.
        (self.rows * self.row_bytes as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_shapes_that_no_table_has() {
        assert!(Shape::new(1, 1).is_ok());
        assert!(Shape::new(Shape::MAX_ROWS, 32).is_ok());
        for (rows, bytes) in [(0, 32), (Shape::MAX_ROWS + 1, 32), (10, 0), (10, 4097)] {
            assert!(Shape::new(rows, bytes).is_err(), "{rows} x {bytes}");
        }
    }
}
