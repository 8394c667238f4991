//! Why bytes are no packet, and why a packet does not fit.

/// Why received bytes are not what they should be. Numbers, no text, no contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Malformed {
    /// The bytes end too early.
    Truncated {
        /// The least number of bytes that would have been needed.
        needed: usize,
        /// How many there were.
        actual: usize,
    },
    /// The field at `offset` holds a value that the format does not have.
    Value {
        /// Where the field begins, in bytes from the start of the packet.
        offset: usize,
    },
    /// Bytes were left over after the last field.
    Trailing {
        /// Where they begin, in bytes from the start of the packet.
        offset: usize,
    },
    /// The checksum does not match.
    Checksum,
}

/// The buffer for an `emit` is too small; nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NoSpace {
    /// Bytes needed.
    pub needed: usize,
}
