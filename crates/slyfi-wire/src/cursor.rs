//! Cursors over bytes: the only places where this crate computes offsets at run time.

use crate::{Malformed, NoSpace};

/// Reads fields front to back; running out is [`Malformed::Truncated`].
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the front of `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    /// Returns how many bytes have been read.
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Returns how many bytes are left.
    pub const fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// Returns whether nothing is left.
    pub const fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// Reads `n` bytes.
    ///
    /// # Errors
    /// [`Malformed::Truncated`] when fewer are left; nothing is consumed then.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        let end = self.at.saturating_add(n);
        let field = self
            .bytes
            .get(self.at..end)
            .ok_or(Malformed::Truncated { needed: end, actual: self.bytes.len() })?;
        self.at = end;
        Ok(field)
    }

    /// Reads an array.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    /// Reads one byte.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    /// Reads a big-endian 16-bit integer.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn u16_be(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// Reads a big-endian 32-bit integer.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn u32_be(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// Reads a big-endian 64-bit integer.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn u64_be(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// Reads a little-endian 16-bit integer.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn u16_le(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Reads a little-endian 32-bit integer.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn u32_le(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Reads a little-endian 64-bit integer.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn u64_le(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Reads all that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        self.at = self.bytes.len();
        rest
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// [`Malformed::Trailing`] when bytes are left over.
    pub const fn finish(self) -> Result<(), Malformed> {
        if self.is_empty() { Ok(()) } else { Err(Malformed::Trailing { offset: self.at }) }
    }
}

/// Writes fields front to back into a buffer whose room was checked beforehand.
#[derive(Debug)]
pub struct Writer<'b> {
    buf: &'b mut [u8],
    at: usize,
}

impl<'b> Writer<'b> {
    /// Starts at the front of `buf`, to write exactly `needed` bytes.
    ///
    /// # Errors
    /// [`NoSpace`] when `buf` is shorter than that.
    pub fn new(buf: &'b mut [u8], needed: usize) -> Result<Self, NoSpace> {
        match buf.get_mut(..needed) {
            Some(buf) => Ok(Writer { buf, at: 0 }),
            None => Err(NoSpace { needed }),
        }
    }

    /// Writes `bytes`. More than the room that was asked for is a bug of the caller, found by
    /// debug assertions; in release builds the excess is not written.
    pub fn put(&mut self, bytes: &[u8]) {
        let end = self.at.saturating_add(bytes.len());
        debug_assert!(end <= self.buf.len(), "wrote past the announced length");
        if let Some(room) = self.buf.get_mut(self.at..end) {
            room.copy_from_slice(bytes);
            self.at = end;
        }
    }

    /// Writes one byte.
    pub fn u8(&mut self, v: u8) {
        self.put(&[v]);
    }

    /// Writes a big-endian 16-bit integer.
    pub fn u16_be(&mut self, v: u16) {
        self.put(&v.to_be_bytes());
    }

    /// Writes a big-endian 32-bit integer.
    pub fn u32_be(&mut self, v: u32) {
        self.put(&v.to_be_bytes());
    }

    /// Writes a big-endian 64-bit integer.
    pub fn u64_be(&mut self, v: u64) {
        self.put(&v.to_be_bytes());
    }

    /// Writes a little-endian 16-bit integer.
    pub fn u16_le(&mut self, v: u16) {
        self.put(&v.to_le_bytes());
    }

    /// Writes a little-endian 32-bit integer.
    pub fn u32_le(&mut self, v: u32) {
        self.put(&v.to_le_bytes());
    }

    /// Writes a little-endian 64-bit integer.
    pub fn u64_le(&mut self, v: u64) {
        self.put(&v.to_le_bytes());
    }

    /// Writes zeros up to the next multiple of `align` (from the start of the buffer).
    pub fn align(&mut self, align: usize) {
        while align > 0 && !self.at.is_multiple_of(align) {
            self.u8(0);
        }
    }

    /// Returns how many bytes have been written.
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Ends the writing and returns the length.
    pub fn finish(self) -> usize {
        debug_assert_eq!(self.at, self.buf.len(), "wrote less than the announced length");
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_past_the_end_consumes_nothing() {
        let mut r = Reader::new(&[1, 2, 3]);
        assert_eq!(r.u16_be(), Ok(0x0102));
        assert_eq!(r.u16_be(), Err(Malformed::Truncated { needed: 4, actual: 3 }));
        assert_eq!(r.u8(), Ok(3));
        assert_eq!(r.take(usize::MAX), Err(Malformed::Truncated { needed: usize::MAX, actual: 3 }));
        assert_eq!(r.finish(), Ok(()));
    }

    #[test]
    fn leftovers_are_reported_where_they_begin() {
        let mut r = Reader::new(&[1, 2, 3]);
        assert_eq!(r.u8(), Ok(1));
        assert_eq!(r.clone().finish(), Err(Malformed::Trailing { offset: 1 }));
        assert_eq!(r.rest(), [2, 3]);
        assert_eq!(r.finish(), Ok(()));
    }

    #[test]
    fn a_short_buffer_is_refused_before_anything_is_written() {
        let mut buf = [9u8; 3];
        assert!(matches!(Writer::new(&mut buf, 4), Err(NoSpace { needed: 4 })));
        assert_eq!(buf, [9; 3]);
        let mut w = Writer::new(&mut buf, 2).unwrap();
        w.u16_le(0x0102);
        assert_eq!(w.finish(), 2);
        assert_eq!(buf, [2, 1, 9]);
    }
}
