use core::fmt;
use subtle::ConstantTimeEq;

use crate::Block;

/// A tag did not verify. Says nothing about where or why, so that no caller can tell a forger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch;

impl Mismatch {
    /// `Ok` if the two tags are equal; the time taken does not depend on where they differ.
    pub(crate) fn unless_equal(computed: &Block, received: &Block) -> Result<(), Self> {
        if bool::from(computed.ct_eq(received)) { Ok(()) } else { Err(Self) }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("authentication tag mismatch")
    }
}

impl core::error::Error for Mismatch {}
