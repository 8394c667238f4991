//! The store's files: who may read them, how a new one takes the old one's place.

use super::{damaged, in_use, open_error, store_io};
use crate::error::{Error, ErrorKind, Result};
use redb::Database;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, chown};
use std::path::{Path, PathBuf};

/// Where the store is.
pub(super) fn store_path(dir: &Path) -> PathBuf {
    dir.join("keys.redb")
}

/// Where the next store is written.
fn new_path(dir: &Path) -> PathBuf {
    dir.join("keys.redb.new")
}

/// What the last store is called until it is overwritten.
fn old_path(dir: &Path) -> PathBuf {
    dir.join("keys.redb.old")
}

/// Makes the directory, mode 0700, and what is missing above it.
pub(super) fn make_dir(dir: &Path) -> Result<()> {
    if let Some(parent) = dir.parent().filter(|p| !p.as_os_str().is_empty()) {
        fs::create_dir_all(parent).map_err(|e| store_io(parent, &e))?;
    }
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other.map_err(|e| store_io(dir, &e)),
    }
}

/// Refuses a store that others can read.
pub(super) fn check_permissions(dir: &Path) -> Result<()> {
    for (path, mode) in [(dir.to_owned(), "700"), (store_path(dir), "600")] {
        let meta = fs::metadata(&path).map_err(|e| store_io(&path, &e))?;
        if meta.mode() & 0o077 != 0 {
            return Err(Error::new(
                ErrorKind::Store,
                format!(
                    "{} has mode {:o}: others on this machine can get at the keys",
                    path.display(),
                    meta.mode() & 0o777
                ),
                format!("chmod {mode} {}", path.display()),
            ));
        }
    }
    Ok(())
}

/// Locks the store as redb does, so that nobody writes it while it is verified.
pub(super) fn lock(path: &Path) -> Result<File> {
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(|e| store_io(path, &e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(in_use(path)),
        Err(TryLockError::Error(e)) => Err(store_io(path, &e)),
    }
}

/// Builds a store with `fill` and puts it in place atomically. The one that was there, if any, is
/// left as `keys.redb.old` for [`clean_up`].
pub(super) fn install_new(dir: &Path, fill: &dyn Fn(&Database) -> Result<()>) -> Result<Database> {
    let (path, new, old) = (store_path(dir), new_path(dir), old_path(dir));
    let io = |e| store_io(dir, &e);
    remove(&new).map_err(io)?;
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&new);
    let file = file.map_err(io)?;
    if let Ok(meta) = fs::metadata(&path) {
        // A command run by root must not take the store away from the daemon's own user.
        let mine = file.metadata().map_err(io)?;
        if (mine.uid(), mine.gid()) != (meta.uid(), meta.gid()) {
            chown(&new, Some(meta.uid()), Some(meta.gid())).map_err(io)?;
        }
    }
    let backend = redb::backends::FileBackend::new(file).map_err(|e| open_error(&new, &e))?;
    let db = Database::builder().create_with_backend(backend);
    let db = db.map_err(|e| open_error(&new, &e))?;
    fill(&db)?;
    if path.try_exists().map_err(io)? {
        remove(&old).map_err(io)?;
        fs::hard_link(&path, &old).map_err(io)?;
    }
    fs::rename(&new, &path).map_err(io)?;
    sync_dir(dir).map_err(io)?;
    Ok(db)
}

/// Overwrites and removes what a rewrite, finished or not, left behind.
pub(super) fn clean_up(dir: &Path) -> Result<()> {
    let current = fs::metadata(store_path(dir)).map_err(|e| store_io(dir, &e))?;
    for path in [new_path(dir), old_path(dir)] {
        let Ok(meta) = fs::metadata(&path) else { continue };
        // After a crash between link and rename the old name still means the present store.
        if (meta.dev(), meta.ino()) != (current.dev(), current.ino()) {
            overwrite(&path, meta.len()).map_err(|e| store_io(&path, &e))?;
        }
        remove(&path).map_err(|e| store_io(&path, &e))?;
    }
    sync_dir(dir).map_err(|e| store_io(dir, &e))
}

/// Gives the directory and everything in it to another user.
pub(super) fn give_to(dir: &Path, uid: u32, gid: u32) -> Result<()> {
    let refused = |path: &Path, e: &io::Error| {
        Error::new(
            ErrorKind::Privileges,
            format!("{} cannot be given to user {uid}: {e}", path.display()),
            "start as root, or leave `user` out of the configuration",
        )
    };
    let give = |path: &Path| chown(path, Some(uid), Some(gid)).map_err(|e| refused(path, &e));
    for entry in fs::read_dir(dir).map_err(|e| store_io(dir, &e))? {
        give(&entry.map_err(|e| store_io(dir, &e))?.path())?;
    }
    give(dir)
}

fn overwrite(path: &Path, len: u64) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    let zeros = [0; 64 * 1024];
    let mut left = len;
    while left > 0 {
        let n = left.min(zeros.len() as u64);
        file.write_all(&zeros[..n as usize])?;
        left -= n;
    }
    file.sync_all()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Reports a store whose verification failed.
pub(super) fn unreadable(path: &Path, why: &str) -> Error {
    damaged(path, &redb::Error::Corrupted(why.to_owned()))
}
