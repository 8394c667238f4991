//! A table laid out for products.

use std::num::NonZeroUsize;

use crate::error::PrepareError;
use crate::kernel::pages::Pages;

/// The rows of a group: as many as a register of 64 bytes has sums of 32 bits.
pub(super) const GROUP: usize = 16;

/// What the kernels take at a time: two columns of a group. Bytes `2r` and `2r + 1` are row `r`'s.
pub(super) type Pair = [u8; 2 * GROUP];

/// The pairs of columns in a cache line.
pub(super) const PER_LINE: usize = 2;

/// A cache line: four columns of a group.
pub(super) type Line = [Pair; PER_LINE];

/// A matrix of bytes, in groups of 16 rows; a group lies pair of columns by pair of columns, so that
/// a kernel reads one stretch of memory from end to end. What groups and lines lack is zero.
pub struct Matrix {
    pages: Pages,
    rows: usize,
    columns: usize,
    /// The lines from one group to the next.
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
        let mut stride = columns.div_ceil(2 * PER_LINE);
        if (stride * size_of::<Line>()).is_multiple_of(4096) {
            // Groups a multiple of a page apart would share the same few sets of the cache.
            stride += 1;
        }
        let mut pages = Pages::zeroed(stride * size_of::<Line>() * width.div_ceil(GROUP))?;
        // Bands of groups, so that a cache line of a record is read once.
        let pairs: &mut [Pair] = pages.bytes_mut().as_chunks_mut().0;
        let stride_pairs = stride * PER_LINE;
        let bands = std::sync::Mutex::new(pairs.chunks_mut(BAND * stride_pairs).enumerate());
        std::thread::scope(|scope| {
            for _ in 0..workers.get() {
                scope.spawn(|| {
                    loop {
                        // Held only to take a band; a poisoned lock is another thread's panic.
                        let taken = bands.lock().ok().and_then(|mut bands| bands.next());
                        let Some((at, out)) = taken else { break };
                        fill_band(table, width, BAND * GROUP * at, out, stride_pairs);
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

    /// The bytes of a row, without padding, gathered: what an accelerator copies.
    ///
    /// # Panics
    /// If there is no such row: a fault of the caller's.
    pub fn row_bytes(&self, row: usize) -> Vec<u8> {
        assert!(row < self.rows, "a row of the matrix");
        let pairs = self.group(row / GROUP).as_flattened().iter();
        let bytes = pairs.flat_map(|pair| [pair[2 * (row % GROUP)], pair[2 * (row % GROUP) + 1]]);
        bytes.take(self.columns).collect()
    }

    /// The lines of a group, without padding.
    pub(super) fn lines_in_group(&self) -> usize {
        self.columns.div_ceil(2 * PER_LINE)
    }

    /// Group `group`: rows 16·`group` and the 15 after it.
    #[inline(always)]
    pub(super) fn group(&self, group: usize) -> &[Line] {
        let pairs: &[Pair] = self.pages.bytes().as_chunks().0;
        let lines: &[Line] = pairs.as_chunks().0;
        &lines[group * self.stride..][..self.lines_in_group()]
    }
}

/// The groups whose rows are one cache line of a record.
const BAND: usize = 64 / GROUP;

/// Writes the groups from row `first` on to `out`, `stride` pairs each.
fn fill_band(table: &[u8], width: usize, first: usize, out: &mut [Pair], stride: usize) {
    for (at, records) in table.chunks(2 * width).enumerate() {
        // The last record of a table may be short, or have no neighbour.
        let (left, right) = records.split_at(width.min(records.len()));
        for (group, out) in out.chunks_exact_mut(stride).enumerate() {
            let first = first + group * GROUP;
            let part = |record: &[u8]| -> [u8; GROUP] {
                let part = record.get(first..).unwrap_or(&[]);
                match part.first_chunk() {
                    Some(whole) => *whole,
                    None => core::array::from_fn(|row| part.get(row).copied().unwrap_or(0)),
                }
            };
            interleave(part(left), part(right), &mut out[at]);
        }
    }
}

#[inline(always)]
fn interleave(left: [u8; GROUP], right: [u8; GROUP], out: &mut Pair) {
    for (out, (left, right)) in out.as_chunks_mut().0.iter_mut().zip(left.iter().zip(&right)) {
        *out = [*left, *right];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_rows_back() {
        // Not a multiple of anything, and a last record that is short; 256 columns are a whole page.
        for (width, columns) in [(1, 1), (37, 101), (16, 256), (70, 63)] {
            let table: Vec<u8> = (0..width * columns - width / 2).map(|i| (i * 7) as u8).collect();
            for workers in [1, 3] {
                let workers = NonZeroUsize::new(workers).expect("some");
                let matrix = Matrix::transposed_by(&table, width, columns, workers);
                let matrix = matrix.expect("a small matrix");
                for row in 0..width {
                    let byte = |c| table.get(c * width + row).copied().unwrap_or(0);
                    let expected: Vec<u8> = (0..columns).map(byte).collect();
                    assert_eq!(matrix.row_bytes(row), expected, "{width} {columns} {row}");
                }
            }
        }
    }
}
