//! An epoch's files: the table and the list of keys, written whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use slyfi_linux::Mapping;

use crate::epoch::EpochSecret;
use crate::keys::OperatorKeys;
use crate::merkle::BlockTree;
use crate::operator::{PublishError, Schemes, Serving, build_table};
use crate::pieces::Work;
use crate::table::BuildError;

/// Where the files of epochs are.
///
/// A file has its name only when it is whole and on the disk: it is written under another name,
/// synced, renamed, and the directory synced. What a crash or a full disk leaves behind is
/// [`EpochFiles::sweep`]'s to remove, and never read.
#[derive(Clone, Debug)]
pub struct EpochFiles {
    dir: PathBuf,
}

/// The two files of an epoch, mapped.
#[derive(Debug)]
pub struct Mapped {
    /// The rows.
    pub table: Mapping,
    /// The public keys.
    pub keys: Mapping,
}

impl EpochFiles {
    /// Files in `dir`, which exists.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        EpochFiles { dir: dir.into() }
    }

    /// Where the table of `epoch` is.
    pub fn table(&self, epoch: u64) -> PathBuf {
        self.dir.join(format!("{epoch:012}.table"))
    }

    /// Where the list of keys of `epoch` is.
    pub fn keys(&self, epoch: u64) -> PathBuf {
        self.dir.join(format!("{epoch:012}.keys"))
    }

    /// Writes the list of keys and the table of a new epoch, prepares its retrieval and signs its
    /// head. Nothing is published by this: the caller records the head, then serves it.
    ///
    /// # Errors
    /// [`PublishError`]; no file then has its name, except the list of keys, perhaps.
    pub fn build(
        &self,
        keys: &OperatorKeys,
        secret: &EpochSecret,
        directory: &[u8],
        schemes: Schemes,
        work: &Work<'_>,
    ) -> Result<Serving, PublishError> {
        let number = secret.epoch().number;
        let io_failed = |e| PublishError::Build(BuildError::Io(e));
        let fill = |file: &mut File| file.write_all(directory);
        write_whole(&self.keys(number), fill).map_err(io_failed)?;
        let mut built: Option<Result<BlockTree, BuildError>> = None;
        let written = write_whole(&self.table(number), |file| {
            let tree = build_table(keys, secret, directory, file, work);
            let failed = tree.is_err();
            built = Some(tree);
            // The reason is in `built`; this only keeps the file from getting its name.
            if failed { Err(io::Error::other("not built")) } else { Ok(()) }
        });
        let tree = match built {
            Some(tree) => tree?,
            None => {
                return Err(written
                    .err()
                    .map_or(PublishError::Build(BuildError::Length), io_failed));
            }
        };
        written.map_err(io_failed)?;
        let mapped = self.map(number).map_err(PublishError::Table)?;
        Serving::prepare(keys, secret, directory, &mapped.table, &tree, schemes, work)
    }

    /// Maps the files of `epoch`.
    ///
    /// # Errors
    /// What the system said.
    pub fn map(&self, epoch: u64) -> io::Result<Mapped> {
        Ok(Mapped {
            table: Mapping::open(&self.table(epoch))?,
            keys: Mapping::open(&self.keys(epoch))?,
        })
    }

    /// Removes what is unfinished and the files of epochs that `keep` does not name.
    ///
    /// # Errors
    /// What the system said.
    pub fn sweep(&self, keep: impl Fn(u64) -> bool) -> io::Result<()> {
        for entry in std::fs::read_dir(&self.dir)? {
            let name = entry?.file_name();
            let Some((stem, suffix)) = name.to_str().and_then(|name| name.split_once('.')) else {
                continue;
            };
            let Ok(epoch) = stem.parse::<u64>() else { continue };
            let ours = matches!(suffix, "table" | "keys" | "table.new" | "keys.new");
            if ours && (suffix.ends_with(".new") || !keep(epoch)) {
                std::fs::remove_file(self.dir.join(&name))?;
            }
        }
        Ok(())
    }
}

/// Writes a file whole or not at all. Only its owner may read it afterwards, and nobody write it.
pub fn write_whole(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let unfinished = PathBuf::from(name);
    match std::fs::remove_file(&unfinished) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => (),
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o400).open(&unfinished)?;
    let written = fill(&mut file).and_then(|()| file.sync_all());
    drop(file);
    if let Err(e) = written.and_then(|()| std::fs::rename(&unfinished, path)) {
        // It is of no use to anybody; if it cannot be removed, the sweep will.
        let _ = std::fs::remove_file(&unfinished);
        return Err(e);
    }
    sync_dir(path)
}

/// Makes the name of a file last.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    File::open(dir.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::{Epoch, EpochKey};
    use crate::random::SeededRandom;
    use core::ops::ControlFlow;
    use slyfi_pir::SchemeId;

    struct Dir(PathBuf);

    impl Dir {
        fn new(name: &str) -> Self {
            let dir = std::env::temp_dir().join(format!("slyfi-te-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&dir).unwrap();
            Dir(dir)
        }

        fn names(&self) -> Vec<String> {
            let entries = std::fs::read_dir(&self.0).unwrap();
            let mut names: Vec<_> =
                entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Dir {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn epoch(keys: &OperatorKeys, number: u64) -> EpochSecret {
        let epoch = Epoch { operator: keys.id(), number, not_before: 10, not_after: 20 };
        EpochSecret::derive(&epoch, EpochKey::from_bytes([3; 16]))
    }

    #[test]
    fn an_epoch_is_built_mapped_and_resumed() {
        let dir = Dir::new("build");
        let files = EpochFiles::new(&dir.0);
        let keys = OperatorKeys::generate(&mut SeededRandom::new([1; 32]));
        let directory = keys.vacant().public().as_bytes().repeat(500);
        let secret = epoch(&keys, 7);
        let schemes = Schemes::both(SchemeId::Lwe);
        let serving = files.build(&keys, &secret, &directory, schemes, &Work::quiet()).unwrap();
        let mapped = files.map(7).unwrap();
        assert_eq!((mapped.table.len(), &mapped.keys[..]), (500 * 32, &directory[..]));
        let head = serving.head().clone();
        assert!(Serving::resume(head, &mapped.keys, &mapped.table, &Work::quiet()).is_ok());
        assert_eq!(dir.names(), ["000000000007.keys", "000000000007.table"]);
        files.sweep(|epoch| epoch == 8).unwrap();
        assert!(dir.names().is_empty());
    }

    #[test]
    fn what_was_stopped_leaves_no_table_and_is_swept() {
        let dir = Dir::new("stopped");
        let files = EpochFiles::new(&dir.0);
        let keys = OperatorKeys::generate(&mut SeededRandom::new([2; 32]));
        let directory = keys.vacant().public().as_bytes().repeat(5_000);
        let (secret, schemes) = (epoch(&keys, 7), Schemes::both(SchemeId::Lwe));
        let work = Work { progress: &|_| ControlFlow::Break(()), ..Work::quiet() };
        let stopped = files.build(&keys, &secret, &directory, schemes, &work);
        assert!(matches!(stopped, Err(PublishError::Build(BuildError::Stopped))), "{stopped:?}");
        assert!(files.map(7).is_err());
        // A kill in the middle leaves a file under the other name.
        std::fs::write(dir.0.join("000000000009.table.new"), b"half").unwrap();
        std::fs::write(dir.0.join("somebody-elses.txt"), b"").unwrap();
        files.sweep(|_| true).unwrap();
        assert_eq!(dir.names(), ["000000000007.keys", "somebody-elses.txt"]);
    }

    #[test]
    fn a_file_that_could_not_be_filled_keeps_what_was_there() {
        let dir = Dir::new("full");
        let path = dir.0.join("file");
        write_whole(&path, |file| file.write_all(b"old")).unwrap();
        let full = || Err(io::Error::from(io::ErrorKind::StorageFull));
        let failed = write_whole(&path, |file| file.write_all(b"new").and_then(|()| full()));
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(dir.names(), ["file"]);
    }
}
