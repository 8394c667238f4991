//! A file as memory, to read.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::ptr::NonNull;

/// A whole file, mapped to be read.
///
/// Tables are gigabytes: they are read through the page cache instead of being copied.
///
/// What a mapping shows changes when somebody writes to the file, and reading behind its end is a
/// fatal signal after somebody cut it short. So a file is mapped only if it belongs to this
/// process's user and nobody but its owner may write it, its name is no symbolic link, and
/// [`Mapping::open`] holds a shared `flock` on it as long as it is mapped: whoever replaces tables
/// writes a new file and renames it, and never opens an old one for writing.
#[derive(Debug)]
pub struct Mapping {
    /// `None`: the file is empty, which cannot be mapped.
    at: Option<NonNull<u8>>,
    len: usize,
    /// Holds the lock.
    _file: File,
}

// SAFETY: the memory is only read, by whoever has a reference, and unmapped by the last owner.
unsafe impl Send for Mapping {}
// SAFETY: as above; there is no way to write through it.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the file at `path`.
    ///
    /// # Errors
    /// What the system said; `PermissionDenied` if the file is another user's or others may write it,
    /// `WouldBlock` if somebody holds it for writing.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().read(true).custom_flags(libc::O_NOFOLLOW).open(path)?;
        let metadata = file.metadata()?;
        // SAFETY: it takes nothing and cannot fail.
        let user = unsafe { libc::geteuid() };
        if !metadata.is_file() || metadata.uid() != user || metadata.mode() & 0o022 != 0 {
            let cause = "only files of this user that nobody else may write are mapped";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, cause));
        }
        // SAFETY: the descriptor is open.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let len = usize::try_from(metadata.len())
            .map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        let mut mapping = Mapping { at: None, len, _file: file };
        if len > 0 {
            let fd = mapping._file.as_raw_fd();
            // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
            let at = unsafe {
                libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, fd, 0)
            };
            if at == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            mapping.at = NonNull::new(at.cast());
        }
        Ok(mapping)
    }
}

impl std::ops::Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self.at {
            // SAFETY: `len` readable bytes are mapped there until this is dropped, and nobody
            // writes them (see the type).
            Some(at) => unsafe { std::slice::from_raw_parts(at.as_ptr(), self.len) },
            None => &[],
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if let Some(at) = self.at {
            // SAFETY: it was mapped with this length, and no reference into it outlives this.
            unsafe { libc::munmap(at.as_ptr().cast(), self.len) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    fn file(name: &str, content: &[u8], mode: u32) -> std::path::PathBuf {
        let path =
            std::env::temp_dir().join(format!("slyfi-mapping-{}-{name}", std::process::id()));
        let mut file = File::create(&path).unwrap();
        file.write_all(content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn shows_the_file() {
        let content: Vec<u8> = (0..10_000u32).flat_map(u32::to_le_bytes).collect();
        let path = file("whole", &content, 0o600);
        let mapping = Mapping::open(&path).unwrap();
        // The file may lose its name while it is mapped.
        std::fs::remove_file(&path).unwrap();
        assert_eq!(&mapping[..], &content[..]);
        let path = file("empty", b"", 0o600);
        assert!(Mapping::open(&path).unwrap().is_empty());
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn refuses_files_that_others_may_write_links_and_files_held_for_writing() {
        let path = file("shared", b"x", 0o620);
        assert_eq!(Mapping::open(&path).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        std::fs::remove_file(&path).unwrap();
        let path = file("target", b"x", 0o600);
        let link = path.with_extension("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(Mapping::open(&link).is_err());
        std::fs::remove_file(&link).unwrap();
        let writer = File::options().write(true).open(&path).unwrap();
        writer.lock().unwrap();
        assert_eq!(Mapping::open(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(writer);
        assert!(Mapping::open(&path).is_ok());
        std::fs::remove_file(&path).unwrap();
        assert!(Mapping::open(std::path::Path::new("/dev/null")).is_err());
    }
}
