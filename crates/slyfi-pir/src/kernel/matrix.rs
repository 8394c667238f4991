//! A table laid out for products.

use std::num::NonZeroUsize;

use crate::error::PrepareError;
use crate::kernel::pages::Pages;

/// How many bytes of a row the kernels take at a time.
pub(super) const LANE: usize = 32;

/// A matrix of bytes, row by row, each padded with zeros to whole lanes.
pub struct Matrix {
    pages: Pages,
    rows: usize,
    columns: usize,
    stride: usize,
}

impl Matrix {
    /// Lays out a table of records of `width` bytes so that record `c` becomes column `c`: a matrix
    /// of `width` rows and `columns` columns. What the table lacks is zero.
    ///
    /// # Errors
    /// [`PrepareError::Memory`] if there is not enough.
    ///
    /// # Panics
    /// If `width` is zero or the table has more than `columns` records: a fault of the caller's.
    pub fn transposed(table: &[u8], width: usize, columns: usize) -> Result<Self, PrepareError> {
        Self::transposed_by(table, width, columns, NonZeroUsize::MIN)
    }

    /// [`Matrix::transposed`] on several threads.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    pub fn transposed_by(
        table: &[u8],
        width: usize,
        columns: usize,
        workers: NonZeroUsize,
    ) -> Result<Self, PrepareError> {
        assert!(table.len().div_ceil(width) <= columns, "a column for each record");
        let mut stride = columns.next_multiple_of(LANE);
        if stride.is_multiple_of(4096) {
            // Rows a multiple of a page apart would share the same few sets of the cache.
            stride += 2 * LANE;
        }
        let mut pages = Pages::zeroed(stride * width)?;
        // Bands of rows, so that a cache line of a record is read once for 64 rows.
        let band = 64 * stride;
        let bands =
            std::sync::Mutex::new(pages.bytes_mut()[..stride * width].chunks_mut(band).enumerate());
        std::thread::scope(|scope| {
            for _ in 0..workers.get() {
                scope.spawn(|| {
                    loop {
                        // Held only to take a band; a poisoned lock is another thread's panic.
                        let taken = bands.lock().ok().and_then(|mut bands| bands.next());
                        let Some((at, out)) = taken else { break };
                        fill_band(table, width, 64 * at, out, stride);
                    }
                });
            }
        });
        Ok(Matrix { pages, rows: width, columns, stride })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns, without padding.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The memory it occupies, bytes.
    pub fn memory_bytes(&self) -> usize {
        self.pages.bytes().len()
    }

    /// The bytes of a row, without padding: what an accelerator copies.
    ///
    /// # Panics
    /// If there is no such row: a fault of the caller's.
    pub fn row_bytes(&self, row: usize) -> &[u8] {
        assert!(row < self.rows, "a row of the matrix");
        &self.pages.bytes()[row * self.stride..][..self.columns]
    }

    /// A row, in lanes; the last is padded with zeros.
    #[inline(always)]
    pub(super) fn row(&self, row: usize) -> &[[u8; LANE]] {
        let lanes = self.columns.div_ceil(LANE);
        let bytes = &self.pages.bytes()[row * self.stride..][..lanes * LANE];
        bytes.as_chunks().0
    }
}

/// Writes rows `first_row..` of the transposed table to `out`.
fn fill_band(table: &[u8], width: usize, first_row: usize, out: &mut [u8], stride: usize) {
    let rows = out.len() / stride;
    // 64 records at a time: a tile of 64 lines that stay in the first-level cache while they are
    // turned.
    let mut tile = [[0u8; 64]; 64];
    for (at, records) in table.chunks(64 * width).enumerate() {
        let count = records.len().div_ceil(width);
        for (c, record) in records.chunks(width).enumerate() {
            // The last record of a table may be short.
            let end = record.len().min(first_row + rows).max(first_row.min(record.len()));
            let part = &record[first_row.min(record.len())..end];
            for row in &mut tile {
                row[c] = 0;
            }
            for (row, byte) in tile.iter_mut().zip(part) {
                row[c] = *byte;
            }
        }
        for (row, line) in out.chunks_exact_mut(stride).zip(&tile) {
            row[64 * at..][..count].copy_from_slice(&line[..count]);
        }
    }
}
