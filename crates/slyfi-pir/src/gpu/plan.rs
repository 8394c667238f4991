//! How a matrix is cut into buffers that a device can bind.

use crate::accelerator::AcceleratorError;

/// The columns that a workgroup takes at a time: their words of eight queries fill its shared memory.
pub(super) const TILE: usize = 512;
/// The rows that a workgroup has.
pub(super) const ROWS: usize = 64;
/// The tiles that a workgroup takes one after another, before it adds its sums to the others'.
pub(super) const CHUNK: usize = 8;
/// The queries that one pass over the table answers at most.
pub(super) const QUERIES: usize = 8;
/// The smallest buffers to do with: a workgroup's rows of one tile.
pub(super) const LEAST_BINDING: u64 = (ROWS * TILE) as u64;

/// A matrix cut into bands of columns, and these into parts of whole rows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) bands: Vec<Band>,
    pub(super) parts: Vec<Part>,
}

/// Columns whose words are in one buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Band {
    pub(super) first_column: usize,
    pub(super) columns: usize,
    /// From a row to the next, 32-bit words.
    pub(super) stride: usize,
}

/// Rows of a band that are in one buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Which of the bands.
    pub(super) band: usize,
    pub(super) first_row: usize,
    pub(super) rows: usize,
}

impl Band {
    pub(super) fn tiles(&self) -> usize {
        self.columns.div_ceil(TILE)
    }

    /// The length of the words of `queries` queries, bytes.
    pub(super) fn vector_bytes(&self, queries: usize) -> u64 {
        (self.tiles() * TILE * queries * 4) as u64
    }
}

impl Part {
    /// The length of its buffer. The last row is followed by what a whole tile reads beyond it.
    pub(super) fn bytes(&self, band: &Band) -> u64 {
        4 * ((self.rows - 1) * band.stride + band.tiles() * TILE / 4) as u64
    }
}

impl Plan {
    /// Cuts a matrix for a device that binds up to `binding` bytes and starts up to `workgroups`
    /// workgroups in a row.
    pub(super) fn new(
        rows: usize,
        columns: usize,
        binding: u64,
        workgroups: u32,
    ) -> Result<Self, AcceleratorError> {
        let binding = usize::try_from(binding).unwrap_or(usize::MAX);
        // The program counts words of a buffer in 32 bits.
        let binding = binding.min(u32::MAX as usize);
        let most = binding / (4 * QUERIES);
        if rows > most {
            return Err(AcceleratorError::TooManyRows { most: most as u64 });
        }
        if (binding as u64) < LEAST_BINDING {
            let why = format!("its buffers have at most {binding} bytes");
            return Err(AcceleratorError::NoDevice(why));
        }
        // So narrow that a workgroup's rows fit in a buffer, and eight queries' words do too.
        let widest = binding / ROWS / TILE * TILE;
        let widest = widest.min(workgroups as usize * CHUNK * TILE);
        let mut bands = Vec::new();
        let mut parts = Vec::new();
        for first_column in (0..columns).step_by(widest) {
            let columns = (columns - first_column).min(widest);
            let words = columns.div_ceil(4);
            // Rows of any length begin on a line of 128 bytes, where that costs next to nothing.
            let stride = if words < 32 * 32 { words } else { words.next_multiple_of(32) };
            let band = Band { first_column, columns, stride };
            let fit = 1 + (binding - band.tiles() * TILE) / (4 * stride);
            let height = (fit / ROWS * ROWS).min(workgroups as usize * ROWS);
            for first_row in (0..rows).step_by(height) {
                let rows = (rows - first_row).min(height);
                parts.push(Part { band: bands.len(), first_row, rows });
            }
            bands.push(band);
        }
        Ok(Plan { rows, columns, bands, parts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A byte of the matrix is in one part and no more, and no buffer is too large.
    fn covers(rows: usize, columns: usize, binding: u64, workgroups: u32) -> Plan {
        let plan = Plan::new(rows, columns, binding, workgroups).expect("a plan");
        let mut column = 0;
        for (at, band) in plan.bands.iter().enumerate() {
            assert_eq!(band.first_column, column);
            column += band.columns;
            assert!(band.stride * 4 >= band.columns);
            assert!(band.vector_bytes(QUERIES) <= binding);
            assert!(band.tiles().div_ceil(CHUNK) <= workgroups as usize);
            let mut row = 0;
            for part in plan.parts.iter().filter(|part| part.band == at) {
                assert_eq!(part.first_row, row);
                row += part.rows;
                assert!(part.bytes(band) <= binding, "{part:?} of {band:?}");
                assert!(part.rows.div_ceil(ROWS) <= workgroups as usize);
            }
            assert_eq!(row, rows);
        }
        assert_eq!(column, columns);
        plan
    }

    #[test]
    fn a_small_matrix_is_one_buffer() {
        for (rows, columns) in [(1, 1), (10_240, 31_250), (17_888, 17_889), (65, 513)] {
            let plan = covers(rows, columns, 1 << 30, 65_535);
            assert_eq!(plan.parts.len(), 1, "{rows} x {columns}");
        }
    }

    #[test]
    fn a_large_matrix_is_cut_by_rows_and_a_wide_one_by_columns() {
        assert_eq!(covers(10_240, 31_250, 128 << 20, 65_535).parts.len(), 3);
        assert_eq!(covers(1000, 3_000_000, 128 << 20, 65_535).bands.len(), 2);
        for binding in [LEAST_BINDING, LEAST_BINDING + 1, 100_000, 65_536] {
            for (rows, columns) in [(1, 1), (64, 512), (1000, 1537), (129, 100_000), (3, 511)] {
                covers(rows, columns, binding, 65_535);
                covers(rows, columns, binding, 2);
            }
        }
    }

    #[test]
    fn what_no_buffer_holds_is_refused() {
        let refused = Plan::new(2000, 10, LEAST_BINDING, 65_535);
        assert_eq!(refused, Err(AcceleratorError::TooManyRows { most: 1024 }));
        assert!(Plan::new(1024, 10, LEAST_BINDING, 65_535).is_ok());
        assert!(Plan::new(1, 10, LEAST_BINDING - 1, 65_535).is_err());
    }
}
