//! What the store's bytes are on.

use core::fmt;
use core::ops::Bound;
use core::sync::atomic::{AtomicBool, Ordering};
use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::Arc;

use redb::BackendError;
/// A disk, as the store sees it: bytes that are written, and that are safe once they are synced.
pub use redb::StorageBackend as Disk;
use redb::backends::FileBackend;

/// Opens the disk, again and again: after a failure the store is opened anew.
pub type OpenDisk = Box<dyn Fn() -> io::Result<Box<dyn Disk>> + Send + Sync>;

/// The file at `path`, which is there.
pub(super) fn file(path: &Path) -> OpenDisk {
    let path = path.to_owned();
    Box::new(move || {
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        Ok(Box::new(FileBackend::new(file).map_err(io::Error::other)?))
    })
}

/// A disk that remembers that it failed. The database refuses everything after the first failure of
/// its disk, and who holds it cannot tell otherwise when it has to be opened anew.
pub(super) struct Watched {
    disk: Box<dyn Disk>,
    failed: Arc<AtomicBool>,
}

impl Watched {
    pub(super) fn new(disk: Box<dyn Disk>, failed: Arc<AtomicBool>) -> Self {
        Watched { disk, failed }
    }

    fn watch<T>(&self, done: io::Result<T>) -> io::Result<T> {
        if done.is_err() {
            self.failed.store(true, Ordering::Release);
        }
        done
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.disk.fmt(f)
    }
}

type Locked<T> = Result<T, BackendError>;

impl Disk for Watched {
    fn len(&self) -> io::Result<u64> {
        self.watch(self.disk.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.watch(self.disk.read(offset, out))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.watch(self.disk.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.watch(self.disk.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.watch(self.disk.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.disk.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Locked<bool> {
        self.disk.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Locked<bool> {
        self.disk.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Locked<()> {
        self.disk.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Locked<()> {
        self.disk.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Locked<()> {
        self.disk.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Locked<bool> {
        self.disk.query_lock_range(start, end)
    }
}
