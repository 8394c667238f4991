//! Selection without an address or a branch that depends on what is selected.

/// 1 if `index` is one of the `count` numbers from `first` on, else 0. All are below 2⁶³.
#[inline]
pub(crate) fn is_within(index: u64, first: u64, count: u64) -> u64 {
    let offset = index.wrapping_sub(first);
    // Not below `first`, and below `first + count`.
    (!offset & offset.wrapping_sub(count)) >> 63
}

/// Copies row `index` of `rows`, which are those from `first` on, to `out`, looking at all of them.
pub(crate) fn copy_row(index: u64, first: u64, rows: &[u8], out: &mut [u8]) {
    for (at, row) in (first..).zip(rows.chunks_exact(out.len())) {
        let mask = (is_within(index, at, 1) as u8).wrapping_neg();
        for (out, byte) in out.iter_mut().zip(row) {
            *out |= byte & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_inside_from_outside() {
        for (index, expected) in [(4, 0), (5, 1), (7, 1), (8, 0), (0, 0), (1 << 40, 0)] {
            assert_eq!(is_within(index, 5, 3), expected, "{index}");
        }
        let mut row = [0; 2];
        copy_row(11, 10, &[1, 2, 3, 4, 5, 6], &mut row);
        assert_eq!(row, [3, 4]);
    }
}
