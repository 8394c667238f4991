//! `--key-log FILE`: session keys for a dissector, one line each. Whoever has the file can read and
//! link everything of these sessions; it exists only where it was asked for.

use crate::error::{Error, ErrorKind, Result};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// An open key log.
#[derive(Debug)]
pub struct KeyLog {
    file: File,
    path: PathBuf,
}

impl KeyLog {
    /// Opens the file for appending; a new one has mode 0600.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when an existing file can be read by others, or the system's.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |e| Error::system(path.display(), &e);
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        let file = options.open(path).map_err(failed)?;
        let mode = file.metadata().map_err(failed)?.mode();
        if mode & 0o077 != 0 {
            return Err(Error::new(
                ErrorKind::Usage,
                format!("the key log {} has mode {:o}", path.display(), mode & 0o777),
                format!("chmod 600 {}", path.display()),
            ));
        }
        Ok(KeyLog { file, path: path.to_owned() })
    }

    /// Opens the file again, for log rotation.
    ///
    /// # Errors
    /// As [`KeyLog::open`].
    pub fn reopen(&mut self) -> Result<()> {
        *self = KeyLog::open(&self.path)?;
        Ok(())
    }

    /// Appends one line.
    ///
    /// # Errors
    /// The system's, a full disk for one.
    pub fn line(&mut self, line: &[u8]) -> io::Result<()> {
        let mut with_end = zeroize::Zeroizing::new(Vec::with_capacity(line.len() + 1));
        with_end.extend_from_slice(line);
        with_end.push(b'\n');
        // One write per line: two daemons that share a file do not tear lines apart.
        self.file.write_all(&with_end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn lines_are_appended_to_a_file_that_only_its_owner_reads() {
        let dir = TempDir::new("keylog");
        let path = dir.path().join("keys");
        KeyLog::open(&path).unwrap().line(b"one").unwrap();
        KeyLog::open(&path).unwrap().line(b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one\ntwo\n");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = TempDir::new("keylog");
        let path = dir.path().join("keys");
        KeyLog::open(&path).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        let e = KeyLog::open(&path).unwrap_err();
        assert_eq!(e.kind, ErrorKind::Usage);
        assert!(e.mend.starts_with("chmod 600"), "{e}");
    }
}
