//! Reading a store in full before it is opened for writing, with every write kept in memory.

use super::files::unreadable;
use super::{damaged, open_error, store_io};
use crate::error::Result;
use redb::{BackendError, Database, StorageBackend};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Bound;
use std::os::unix::fs::FileExt;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Opens `path` over an [`Overlay`], lets redb verify its checksums (and repair what a crash left,
/// in memory) and runs `check` on it. The file is not written.
pub(super) fn verify(
    path: &Path,
    check: &dyn Fn(&Database) -> Result<(), redb::Error>,
) -> Result<()> {
    let file = File::open(path).map_err(|e| store_io(path, &e))?;
    let len = file.metadata().map_err(|e| store_io(path, &e))?.len();
    if len == 0 {
        // redb would take an empty file for a new one.
        return Err(unreadable(path, "it is empty"));
    }
    let overlay = Overlay { file, state: Mutex::new(State { len, blocks: BTreeMap::new() }) };
    let attempt = AssertUnwindSafe(|| {
        let db = Database::builder()
            .set_check_integrity_on_open(true)
            .create_with_backend(overlay)
            .map_err(|e| open_error(path, &e))?;
        check(&db).map_err(|e| damaged(path, &e))
    });
    // redb asserts some properties of the file in builds with debug assertions, and a damaged file
    // can break them. The hook is silenced only for this call, before any other thread exists.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let outcome = panic::catch_unwind(attempt);
    panic::set_hook(hook);
    outcome.unwrap_or_else(|_| Err(unreadable(path, "its structure is broken")))
}

const BLOCK: usize = 4096;

/// A file whose writes stay in memory.
#[derive(Debug)]
struct Overlay {
    file: File,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    len: u64,
    blocks: BTreeMap<u64, Box<[u8; BLOCK]>>,
}

impl Overlay {
    /// Returns the present contents of a block.
    fn block(&self, state: &State, index: u64) -> io::Result<[u8; BLOCK]> {
        if let Some(block) = state.blocks.get(&index) {
            return Ok(**block);
        }
        let mut block = [0; BLOCK];
        let mut done = 0;
        while done < BLOCK {
            match self.file.read_at(&mut block[done..], index * BLOCK as u64 + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(block)
    }
}

/// Splits a range of bytes at block borders: block, range inside it, offset from the start.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, std::ops::Range<usize>, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == len {
            return None;
        }
        let at = offset + done as u64;
        let start = (at % BLOCK as u64) as usize;
        let n = (BLOCK - start).min(len - done);
        let piece = (at / BLOCK as u64, start..start + n, done);
        done += n;
        Some(piece)
    })
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state.lock().unwrap_or_else(PoisonError::into_inner).len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if offset.checked_add(out.len() as u64).is_none_or(|end| end > state.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (index, range, done) in pieces(offset, out.len()) {
            let n = range.len();
            out[done..done + n].copy_from_slice(&self.block(&state, index)?[range]);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // What lies past the new end must read as zero if the store grows again.
        let first = len / BLOCK as u64;
        let mut edge = self.block(&state, first)?;
        edge[(len % BLOCK as u64) as usize..].fill(0);
        state.blocks.insert(first, Box::new(edge));
        let last = state.len.max(len) / BLOCK as u64;
        if len < state.len {
            for index in first + 1..=last {
                state.blocks.insert(index, Box::new([0; BLOCK]));
            }
        }
        state.len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for (index, range, done) in pieces(offset, data.len()) {
            let mut block = self.block(&state, index)?;
            let n = range.len();
            block[range].copy_from_slice(&data[done..done + n]);
            state.blocks.insert(index, Box::new(block));
        }
        state.len = state.len.max(offset + data.len() as u64);
        Ok(())
    }

    // The caller holds the file's lock; the overlay itself is nobody else's.
    fn try_lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }

    fn lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }

    fn unlock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }
}
