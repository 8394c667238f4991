//! A directory for files that nobody keeps.

use crate::LabError;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory of its own, removed at the end.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes one.
    ///
    /// # Errors
    /// [`LabError::File`].
    pub fn new() -> Result<Self, LabError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("slyfi-lab-{}-{n}", std::process::id()));
        match std::fs::create_dir(&path) {
            Ok(()) => Ok(Scratch(path)),
            Err(source) => Err(LabError::File { path, source }),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is in the directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
