//! The twin in plain Rust.

use core::ops::Range;

use crate::kernel::matrix::{GROUP, Matrix};
use crate::kernel::operand::Operand;

pub(super) fn multiply_add(
    matrix: &Matrix,
    rows: Range<usize>,
    operands: &[Operand],
    out: &mut [&mut [u32]],
) {
    for (at, row) in rows.enumerate() {
        let (group, row) = (matrix.group(row / GROUP), row % GROUP);
        for (operand, out) in operands.iter().zip(&mut *out) {
            let (mut low, mut high) = (0i32, 0i32);
            for (pair, words) in group.as_flattened().iter().zip(operand.pairs()) {
                for (byte, [l, h]) in pair[2 * row..][..2].iter().zip(words.signed()) {
                    let byte = i32::from(*byte as i8);
                    low = low.wrapping_add(byte * i32::from(l));
                    high = high.wrapping_add(byte * i32::from(h));
                }
            }
            let sum = (low as u32).wrapping_add((high as u32) << 16);
            out[at] = out[at].wrapping_add(sum);
        }
    }
}
