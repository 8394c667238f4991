//! What can be wrong, by whose fault it is.

use core::fmt;

/// A shape or a layout that a scheme cannot serve: the caller's to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported(
    /// Why, and what would do.
    pub &'static str,
);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Unsupported {}

/// Why a server could not be made of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrepareError {
    /// The scheme cannot serve this shape or layout.
    Unsupported(Unsupported),
    /// The table's length is not what its shape says, bytes.
    TableLength {
        /// What the shape says.
        expected: usize,
        /// What was handed in.
        got: usize,
    },
    /// There is not enough memory for the prepared table.
    Memory {
        /// How much was asked for, bytes.
        bytes: usize,
    },
    /// The progress callback asked to stop.
    Stopped,
}

impl From<Unsupported> for PrepareError {
    fn from(why: Unsupported) -> Self {
        PrepareError::Unsupported(why)
    }
}

impl fmt::Display for PrepareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PrepareError::Unsupported(why) => write!(f, "this table cannot be served: {why}"),
            PrepareError::TableLength { expected, got } => {
                write!(f, "the table has {got} bytes, its shape says {expected}")
            }
            PrepareError::Memory { bytes } => {
                write!(f, "there is no memory for another {bytes} bytes of prepared table")
            }
            PrepareError::Stopped => f.write_str("preparing the table was stopped"),
        }
    }
}

impl std::error::Error for PrepareError {}

/// Why a [`Setup`](crate::Setup), or the hint that came with it, is refused: the operator's fault,
/// or the way's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupError {
    /// The setup is not [`Setup::LEN`](crate::Setup::LEN) bytes long.
    Length(usize),
    /// A version that this build does not know.
    Version(u8),
    /// A scheme that this build does not know.
    Scheme(u8),
    /// The scheme cannot have this shape or layout.
    Unsupported(Unsupported),
    /// The setup says another hint length than its shape and layout give.
    HintLength {
        /// What shape and layout give, bytes.
        expected: u64,
        /// What the setup or the hint has.
        got: u64,
    },
    /// The scheme needs the hint, and it was not handed in.
    HintMissing,
    /// A hint was handed in, and the scheme has none.
    HintUnwanted,
    /// The hint is not the one that the setup names.
    HintDigest,
    /// The hint names the right length and digest and still is not an encoding.
    HintMalformed,
}

impl From<Unsupported> for SetupError {
    fn from(why: Unsupported) -> Self {
        SetupError::Unsupported(why)
    }
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetupError::Length(got) => {
                write!(f, "a setup has {} bytes, this has {got}", crate::Setup::LEN)
            }
            SetupError::Version(v) => {
                write!(f, "the setup is of version {v}, which this build does not know: update it")
            }
            SetupError::Scheme(s) => {
                write!(f, "the setup names scheme {s}, which this build does not know: update it")
            }
            SetupError::Unsupported(why) => write!(f, "the setup cannot be: {why}"),
            SetupError::HintLength { expected, got } => {
                write!(f, "the hint has {got} bytes instead of {expected}: fetch it again")
            }
            SetupError::HintMissing => f.write_str("this scheme needs the table's hint: fetch it"),
            SetupError::HintUnwanted => f.write_str("this scheme has no hint"),
            SetupError::HintDigest => {
                f.write_str("the hint is not the one that the setup names: fetch it again")
            }
            SetupError::HintMalformed => f.write_str("the hint is not a hint's encoding"),
        }
    }
}

impl std::error::Error for SetupError {}

/// Why a query or an answer is refused: its sender's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireError {
    /// Another length than the setup gives, bytes.
    Length {
        /// What the setup gives.
        expected: usize,
        /// What came.
        got: usize,
    },
    /// A version that this build does not know.
    Version(u8),
    /// A query or answer of another scheme.
    Scheme(u8),
    /// A number out of its range, or padding that is not zero.
    Value,
    /// The answer does not open: it is to another query or was changed.
    Garbled,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireError::Length { expected, got } => {
                write!(f, "{got} bytes where this table has {expected}: is it of another epoch?")
            }
            WireError::Version(v) => write!(f, "version {v} is not known here: update"),
            WireError::Scheme(s) => write!(f, "scheme {s} is not this table's"),
            WireError::Value => f.write_str("a number is out of its range"),
            WireError::Garbled => {
                f.write_str("the answer is not to this query, or was changed on its way")
            }
        }
    }
}

impl std::error::Error for WireError {}

/// A row that the table does not have was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexOutOfRange {
    /// How many rows there are.
    pub rows: u64,
}

impl fmt::Display for IndexOutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the table has {} rows, and the one asked for is not among them", self.rows)
    }
}

impl std::error::Error for IndexOutOfRange {}
