use std::path::{Path, PathBuf};

use slyfi_link::{Error, ErrorKind, Result};
use slyfi_tracedge::evidence::{Aids, Evidence};
use slyfi_tracedge::keys::OperatorId;

/// Writes a file of the subscriber's directory.
pub fn save(dir: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf> {
    let path = dir.join(name);
    std::fs::write(&path, bytes).map_err(|e| Error::system(path.display(), &e))?;
    Ok(path)
}

/// Where the retrieval hints of an epoch are kept, the table's and the directory's.
pub fn hint_paths(dir: &Path, epoch: u64) -> [PathBuf; 2] {
    ["table", "directory"].map(|database| dir.join(format!("hint-{epoch}.{database}")))
}

/// Keeps the hints that came with a retrieval: without them nobody can judge it afterwards.
pub fn save_hints(dir: &Path, epoch: u64, hints: [Option<&[u8]>; 2]) -> Result<()> {
    for (path, hint) in hint_paths(dir, epoch).iter().zip(hints) {
        if let Some(hint) = hint {
            std::fs::write(path, hint).map_err(|e| Error::system(path.display(), &e))?;
        }
    }
    Ok(())
}

/// A proof on the disk.
pub struct Proof {
    path: PathBuf,
    hint: Option<PathBuf>,
    operator: OperatorId,
}

impl Proof {
    /// Saves it, with the hint that it takes to judge it.
    pub fn save(
        dir: &Path,
        name: &str,
        epoch: u64,
        evidence: &Evidence,
        operator: &OperatorId,
        hints: [Option<&[u8]>; 2],
    ) -> Result<Self> {
        let path = save(dir, name, &evidence.encode())?;
        let proved = |hint| evidence.verify(operator, &Aids { hint, ..Aids::default() }).is_ok();
        let alone = proved(None);
        let needed = hints.iter().position(|hint| !alone && hint.is_some() && proved(*hint));
        let hint = needed.map(|database| hint_paths(dir, epoch)[database].clone());
        if hint.is_some() {
            save_hints(dir, epoch, hints)?;
        }
        Ok(Proof { path, hint, operator: *operator })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What to tell the subscriber.
    pub fn caught(&self, cause: &str) -> Error {
        let path = self.path.display();
        let hint = self.hint.as_ref();
        let hint = hint.map_or(String::new(), |path| format!(" --hint {}", path.display()));
        let mend = format!(
            "the proof is in {path}: slyfi tracedge verify-evidence {path} --operator {}{hint}",
            self.operator
        );
        Error::new(ErrorKind::Invite, cause, mend)
    }
}
