//! Reading and writing fixed layouts, little-endian.

use core::fmt;

/// Bytes that are no encoding of what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(
    /// What they should have been.
    pub &'static str,
);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this is not {}", self.0)
    }
}

impl std::error::Error for Malformed {}

/// Takes an encoding apart from its beginning.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Reader<'a> {
    /// Reads `bytes`, which should be `what`.
    pub(crate) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Reader { rest: bytes, what }
    }

    /// What is said of bytes that do not fit.
    pub(crate) fn malformed(&self) -> Malformed {
        Malformed(self.what)
    }

    /// Takes `len` bytes.
    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(self.malformed())?;
        self.rest = rest;
        Ok(taken)
    }

    /// Takes `N` bytes.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let mut out = [0; N];
        out.copy_from_slice(self.bytes(N)?);
        Ok(out)
    }

    /// Takes one byte.
    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    /// Takes two bytes.
    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    /// Takes four bytes.
    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    /// Takes eight bytes.
    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// Takes bytes with their length (four bytes) before them.
    pub(crate) fn sized(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.u32()? as usize;
        self.bytes(len)
    }

    /// Takes hashes with their number (four bytes) before them.
    pub(crate) fn hashes(&mut self) -> Result<Vec<[u8; 32]>, Malformed> {
        let count = self.u32()? as usize;
        let bytes = self.bytes(count.checked_mul(32).ok_or(self.malformed())?)?;
        Ok(bytes.as_chunks().0.to_vec())
    }

    /// Checks that nothing is left.
    pub(crate) fn finish(self) -> Result<(), Malformed> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.malformed()) }
    }
}

/// Appends bytes with their length before them.
pub(crate) fn put_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    // Nothing this crate writes comes near 4 GiB; a length that did would make an encoding that
    // its own reader refuses.
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Appends hashes with their number before them.
pub(crate) fn put_hashes(out: &mut Vec<u8>, hashes: &[[u8; 32]]) {
    out.extend_from_slice(&(hashes.len() as u32).to_le_bytes());
    out.extend_from_slice(hashes.as_flattened());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_what_was_written() {
        let mut out = vec![7];
        put_sized(&mut out, b"abc");
        put_hashes(&mut out, &[[1; 32], [2; 32]]);
        let mut reader = Reader::new(&out, "a test");
        assert_eq!(reader.u8(), Ok(7));
        assert_eq!(reader.sized(), Ok(&b"abc"[..]));
        assert_eq!(reader.hashes(), Ok(vec![[1; 32], [2; 32]]));
        assert_eq!(reader.finish(), Ok(()));
    }

    #[test]
    fn lengths_that_lie_allocate_nothing_and_are_refused() {
        let huge = u32::MAX.to_le_bytes();
        assert_eq!(Reader::new(&huge, "a test").sized(), Err(Malformed("a test")));
        assert_eq!(Reader::new(&huge, "a test").hashes(), Err(Malformed("a test")));
        assert_eq!(Reader::new(&[0], "a test").u64(), Err(Malformed("a test")));
        assert_eq!(Reader::new(&[0], "a test").finish(), Err(Malformed("a test")));
    }
}
