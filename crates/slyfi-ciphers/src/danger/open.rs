//! No protection at all, behind the same contract.

use slyfi_base::{Exhausted, LinkCipher, OpenHalf, Opened, Overhead, SealHalf, Undecryptable};

/// The open link: seals nothing, opens everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Open;

impl LinkCipher for Open {
    const OVERHEAD: Overhead = Overhead { headroom: 0, tailroom: 0 };
    type Seal = Open;
    type Open = Open;

    fn split(self) -> (Open, Open) {
        (Open, Open)
    }
}

impl SealHalf for Open {
    fn seal(&mut self, _header: &[u8], buf: &mut [u8], len: usize) -> Result<usize, Exhausted> {
        if len <= buf.len() { Ok(len) } else { Err(Exhausted) }
    }
}

impl OpenHalf for Open {
    fn open(&mut self, _header: &[u8], buf: &mut [u8]) -> Result<Opened, Undecryptable> {
        Ok(Opened::mint(0, buf.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_passes_and_nothing_is_added() {
        let (mut seal, mut open) = Open.split();
        let mut buf = *b"hello";
        assert_eq!(seal.seal(&[], &mut buf, 5), Ok(5));
        assert_eq!(open.open(&[], &mut buf).unwrap().payload(&buf), b"hello");
        assert_eq!(seal.seal(&[], &mut buf, 6), Err(Exhausted));
    }
}
