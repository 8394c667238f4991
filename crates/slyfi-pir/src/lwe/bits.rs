//! Numbers of less than a word, packed bit by bit, the low bits first.

use crate::error::WireError;

/// The bytes that `count` numbers of `width` bits take.
pub(crate) const fn packed_len(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Packs the low `width` bits (at most 32) of each of `numbers` into `out`, which has
/// [`packed_len`] bytes.
pub(crate) fn pack(numbers: impl IntoIterator<Item = u32>, width: u32, out: &mut [u8]) {
    let mut out = out.iter_mut();
    let (mut held, mut bits) = (0u64, 0u32);
    let mask = (1u64 << width) - 1;
    for number in numbers {
        held |= (u64::from(number) & mask) << bits;
        bits += width;
        while bits >= 8 {
            if let Some(byte) = out.next() {
                *byte = held as u8;
            }
            held >>= 8;
            bits -= 8;
        }
    }
    if bits > 0
        && let Some(byte) = out.next()
    {
        *byte = held as u8;
    }
}

/// Unpacks numbers of `width` bits (at most 32) until `out` is full.
pub(crate) fn unpack(packed: &[u8], width: u32, out: &mut [u32]) {
    let mask = ((1u64 << width) - 1) as u32;
    // Where eight bytes are left, a number is a shift and a mask of them: width + 7 bits at most.
    let whole = packed.len().saturating_sub(7) * 8 / width as usize;
    let (quick, slow) = out.split_at_mut(whole.min(out.len()));
    for (at, number) in quick.iter_mut().enumerate() {
        let bit = at * width as usize;
        let mut window = [0; 8];
        window.copy_from_slice(&packed[bit / 8..bit / 8 + 8]);
        *number = (u64::from_le_bytes(window) >> (bit % 8)) as u32 & mask;
    }
    let first = quick.len();
    for (at, number) in slow.iter_mut().enumerate() {
        let bit = (first + at) * width as usize;
        let bytes = packed[bit / 8..].iter().take(8).enumerate();
        let window = bytes.fold(0u64, |window, (i, byte)| window | u64::from(*byte) << (8 * i));
        *number = (window >> (bit % 8)) as u32 & mask;
    }
}

/// Checks that the bits after the last number are zero, so that there is one encoding only.
pub(crate) fn check_padding(packed: &[u8], count: usize, width: u32) -> Result<(), WireError> {
    let used = count * width as usize % 8;
    match packed.last() {
        Some(last) if used != 0 && last >> used != 0 => Err(WireError::Value),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_packed_comes_out(width in 1u32..=32, numbers in prop::collection::vec(any::<u32>(), 0..70)) {
            let mut packed = vec![0; packed_len(numbers.len(), width)];
            pack(numbers.iter().copied(), width, &mut packed);
            prop_assert_eq!(check_padding(&packed, numbers.len(), width), Ok(()));
            let mut out = vec![0; numbers.len()];
            unpack(&packed, width, &mut out);
            let mask = ((1u64 << width) - 1) as u32;
            let expected: Vec<u32> = numbers.iter().map(|n| n & mask).collect();
            prop_assert_eq!(out, expected);
        }
    }

    #[test]
    fn stray_bits_after_the_last_number_are_refused() {
        assert_eq!(check_padding(&[0xff, 0x03], 1, 10), Ok(()));
        assert_eq!(check_padding(&[0xff, 0x07], 1, 10), Err(WireError::Value));
    }
}
