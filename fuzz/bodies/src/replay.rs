//! Replaying a committed corpus in an ordinary test.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Why a replay is not fine.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// There is no corpus, or no file in it.
    NoCorpus,
    /// These files made the body panic.
    Panicked(Vec<PathBuf>),
}

/// Gives every file of `fuzz/corpus/NAME` to `body`; returns how many there were.
///
/// # Errors
/// [`Failure`].
pub fn replay(name: &str, body: impl Fn(&[u8])) -> Result<usize, Failure> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus").join(name);
    let entries = std::fs::read_dir(&folder).map_err(|_| Failure::NoCorpus)?;
    let mut files: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    files.sort();
    let mut panicked = Vec::new();
    for file in &files {
        let Ok(input) = std::fs::read(file) else { continue };
        if catch_unwind(AssertUnwindSafe(|| body(&input))).is_err() {
            panicked.push(file.clone());
        }
    }
    match (files.is_empty(), panicked.is_empty()) {
        (true, _) => Err(Failure::NoCorpus),
        (false, false) => Err(Failure::Panicked(panicked)),
        (false, true) => Ok(files.len()),
    }
}

/// Makes a test of each `target => body`: every input of the target's corpus goes through its body.
#[macro_export]
macro_rules! replays {
    ($($target:ident => $body:path),+ $(,)?) => {$(
        #[test]
        fn $target() {
            let replayed = $crate::replay(stringify!($target), $body);
            assert!(replayed.as_ref().is_ok_and(|files| *files > 0), "{replayed:?}");
        }
    )+};
}
