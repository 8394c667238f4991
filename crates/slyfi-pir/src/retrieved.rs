//! What comes out of an answer.

use core::ops::Range;

use zeroize::Zeroize;

/// The wanted row, and the rows beside it that came in the same answer.
///
/// Which rows these are tells whose login it is: it is not printed, and erased when dropped.
pub struct Retrieved {
    index: u64,
    first: u64,
    row_bytes: usize,
    row: Vec<u8>,
    block: Vec<u8>,
}

impl Retrieved {
    /// Puts together what a scheme extracted: `row` is row `index`, `block` are consecutive rows
    /// from `first` on, the wanted one among them.
    ///
    /// `row` is handed in beside the block because a scheme selects it without an address that
    /// depends on the index.
    ///
    /// # Panics
    /// If `row` is empty, or the block is not a whole number of rows: a fault of the scheme.
    pub fn new(index: u64, first: u64, row: Vec<u8>, block: Vec<u8>) -> Self {
        let row_bytes = row.len();
        assert!(block.len().is_multiple_of(row_bytes), "a block has whole rows");
        Retrieved { index, first, row_bytes, row, block }
    }

    /// The index that was asked for.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The wanted row.
    pub fn row(&self) -> &[u8] {
        &self.row
    }

    /// The indices of all rows that came, the wanted one among them.
    pub fn indices(&self) -> Range<u64> {
        self.first..self.first + (self.block.len() / self.row_bytes) as u64
    }

    /// All rows that came with their indices, the wanted one among them.
    pub fn block(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.indices().zip(self.block.chunks_exact(self.row_bytes))
    }
}

impl core::fmt::Debug for Retrieved {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Retrieved { <hidden> }")
    }
}

impl Drop for Retrieved {
    fn drop(&mut self) {
        self.index.zeroize();
        self.first.zeroize();
        self.row.zeroize();
        self.block.zeroize();
    }
}
