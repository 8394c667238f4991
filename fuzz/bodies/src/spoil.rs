//! What a hostile way does to bytes.

use crate::Choices;

/// Changes `bytes` in up to three places: flips, overwrites, cuts, lengthens, or replaces a part by
/// the same part of one of `others`.
pub(crate) fn spoil(bytes: &mut Vec<u8>, c: &mut Choices<'_>, others: &[Vec<u8>]) {
    for _ in 0..1 + c.below(3) {
        let at = usize::from(c.short()).checked_rem(bytes.len()).unwrap_or(0);
        match c.below(6) {
            0 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << (c.byte() & 7);
                }
            }
            1 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = c.byte();
                }
            }
            2 => bytes.truncate(at),
            3 => {
                let more = c.run();
                bytes.splice(at..at, more.iter().copied());
            }
            4 => {
                let len = usize::from(c.byte());
                let value = c.byte();
                bytes.iter_mut().skip(at).take(len).for_each(|byte| *byte = value);
            }
            _ => {
                let other = others.get(c.below(others.len())).map_or(&[][..], Vec::as_slice);
                let len = usize::from(c.byte()) + 1;
                let part = other.iter().skip(at).take(len);
                bytes.iter_mut().skip(at).zip(part).for_each(|(byte, other)| *byte = *other);
            }
        }
    }
}
