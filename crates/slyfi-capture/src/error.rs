//! What can go wrong that is not the air's doing.

use std::fmt;
use std::path::PathBuf;

/// A capture could not be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file could not be opened or read.
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is neither pcap nor pcapng, or its first block is damaged.
    NotACapture {
        /// Which.
        path: PathBuf,
    },
    /// The file is compressed, and not with gzip.
    Compressed {
        /// Which.
        path: PathBuf,
        /// The program that unpacks it.
        with: &'static str,
    },
    /// The output could not be written.
    Write(std::io::Error),
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptureError::Read { path, source } => {
                write!(f, "cannot read {}: {source}", path.display())
            }
            CaptureError::NotACapture { path } => {
                write!(f, "{} is neither a pcap nor a pcapng file", path.display())
            }
            CaptureError::Compressed { path, with } => {
                write!(f, "{} is compressed with {with}; unpack it first", path.display())
            }
            CaptureError::Write(source) => write!(f, "cannot write the opened frames: {source}"),
        }
    }
}

impl std::error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CaptureError::Read { source, .. } | CaptureError::Write(source) => Some(source),
            CaptureError::NotACapture { .. } | CaptureError::Compressed { .. } => None,
        }
    }
}

/// A key was not written as [`crate::Key`] wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError {
    /// What is wrong; never contains the key.
    pub what: &'static str,
    /// The line of the key file, from 1.
    pub line: Option<usize>,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "key file, line {line}: {}", self.what),
            None => f.write_str(self.what),
        }
    }
}

impl std::error::Error for KeyError {}
