//! Numbers of a fixed count of bits, one after another, least significant bit first.

use crate::error::WireError;

/// Writes each of `values`, which are below 2^`bits`, into `out`; what is left of the last byte is
/// zero.
///
/// # Panics
/// If `out` is not exactly as long as that takes.
pub fn write(values: impl ExactSizeIterator<Item = u32>, bits: u32, out: &mut [u8]) {
    assert_eq!(out.len(), (values.len() * bits as usize).div_ceil(8), "the right length");
    let (mut pending, mut have) = (0u64, 0);
    let mut out = out.iter_mut();
    for value in values {
        debug_assert!(u64::from(value) < 1 << bits);
        pending |= u64::from(value) << have;
        have += bits;
        while have >= 8 {
            if let Some(byte) = out.next() {
                *byte = pending as u8;
            }
            pending >>= 8;
            have -= 8;
        }
    }
    if let Some(byte) = out.next() {
        *byte = pending as u8;
    }
}

/// Reads `count` numbers of `bits` bits, at most 32.
///
/// # Errors
/// [`WireError::Value`] if the bits that are left of the last byte are not zero.
///
/// # Panics
/// If `bytes` is not exactly as long as that takes: the caller has checked the message's length.
pub fn read(bytes: &[u8], bits: u32, count: usize) -> Result<Vec<u32>, WireError> {
    assert_eq!(bytes.len(), (count * bits as usize).div_ceil(8), "the right length");
    let mask = (1u64 << bits) - 1;
    let mut values = Vec::with_capacity(count);
    let (mut pending, mut have) = (0u64, 0);
    for byte in bytes {
        pending |= u64::from(*byte) << have;
        have += 8;
        while have >= bits && values.len() < count {
            values.push((pending & mask) as u32);
            pending >>= bits;
            have -= bits;
        }
    }
    if pending == 0 { Ok(values) } else { Err(WireError::Value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lays_bits_out_least_significant_first() {
        let mut out = [0; 3];
        write([0b101, 1, 1].into_iter(), 8, &mut out);
        assert_eq!(out, [0b101, 1, 1]);
        let mut out = [0; 2];
        write([0b101, 0b110, 0b111].into_iter(), 3, &mut out);
        assert_eq!(out, [0b1111_0101, 0b1]);
    }

    #[test]
    fn refuses_padding_that_is_not_zero() {
        assert_eq!(read(&[0xff, 0x01], 3, 3), Ok(vec![7, 7, 7]));
        assert_eq!(read(&[0xff, 0x03], 3, 3), Err(WireError::Value));
    }

    proptest! {
        #[test]
        fn comes_back(values in prop::collection::vec(any::<u32>(), 0..50), bits in 1..33u32) {
            let values: Vec<u32> =
                values.iter().map(|v| (u64::from(*v) & ((1 << bits) - 1)) as u32).collect();
            let mut out = vec![0; (values.len() * bits as usize).div_ceil(8)];
            write(values.iter().copied(), bits, &mut out);
            prop_assert_eq!(read(&out, bits, values.len()), Ok(values));
        }
    }
}
