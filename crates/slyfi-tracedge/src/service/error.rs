//! Why an operator's store does not do something, and what mends that.

use core::fmt;

use super::clock::ClockError;

/// Why the store does not do something.
#[derive(Debug)]
pub enum StoreError {
    /// The database failed.
    Database(Box<redb::Error>),
    /// The clock is not believed.
    Clock(ClockError),
    /// What is in it is not what was put there.
    Damaged(&'static str),
    /// It will not.
    Refused(&'static str),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Database(e) => write!(f, "the operator's store: {e}"),
            StoreError::Clock(e) => e.fmt(f),
            StoreError::Damaged(what) => write!(f, "the operator's store is damaged: {what}"),
            StoreError::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for StoreError {}

impl StoreError {
    /// What mends it; empty where the error says all.
    pub fn mend(&self) -> &'static str {
        match self {
            StoreError::Database(e) => match &**e {
                redb::Error::DatabaseAlreadyOpen => {
                    "another process has it: end it, or give orders to the `serve` that runs"
                }
                redb::Error::Io(e) => mend_io(e),
                redb::Error::PreviousIo | redb::Error::DatabaseClosed => {
                    "its disk failed just before: make room on it and try again"
                }
                _ => "put back a copy of the file, or begin a new operator elsewhere",
            },
            StoreError::Clock(e) => e.mend(),
            StoreError::Damaged(_) => {
                "put back a copy of the file, or begin a new operator elsewhere"
            }
            StoreError::Refused(_) => "",
        }
    }
}

/// What mends a failure of the disk.
pub(crate) fn mend_io(e: &std::io::Error) -> &'static str {
    use std::io::ErrorKind::{
        FileTooLarge, NotFound, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
    };
    match e.kind() {
        StorageFull | QuotaExceeded => "the disk is full: make room on it and try again",
        FileTooLarge => "a file may not grow so large here: see `ulimit -f` and the file system",
        PermissionDenied | ReadOnlyFilesystem => "this user must be able to write there",
        NotFound => "it was there once: put it back",
        _ => "look after the disk and try again",
    }
}

impl From<ClockError> for StoreError {
    fn from(e: ClockError) -> Self {
        StoreError::Clock(e)
    }
}

impl<E: Into<redb::Error>> From<E> for StoreError {
    fn from(e: E) -> Self {
        StoreError::Database(Box::new(e.into()))
    }
}
