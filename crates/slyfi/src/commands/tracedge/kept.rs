use slyfi_link::{Error, ErrorKind, Result};
use slyfi_tracedge::answer::Database;
use slyfi_tracedge::evidence::{Aids, Evidence};
use slyfi_tracedge::keys::OperatorId;
use slyfi_tracedge::log::TreeHead;
use slyfi_tracedge::merkle::{Hash, log};
use slyfi_tracedge::service::api::Route;
use slyfi_tracedge::subscriber::Transport;

use super::https::client::Https;

/// A connection, and the retrieval hints that came over it: whoever judges an answer later needs them,
/// and to ask for them once more would tell that there is something to judge.
pub struct Kept {
    way: Https,
    /// The table's and the directory's.
    hints: [Option<Vec<u8>>; 2],
}

impl Kept {
    /// Keeps what comes over `way`.
    pub fn new(way: Https) -> Self {
        Kept { way, hints: [None, None] }
    }

    /// The last hints that came.
    pub fn hints(&self) -> [Option<&[u8]>; 2] {
        [self.hints[0].as_deref(), self.hints[1].as_deref()]
    }

    /// Asks for something; `None` unless it is there.
    pub fn get(&mut self, route: Route) -> Option<Vec<u8>> {
        self.call(route, &[]).ok().filter(|(status, _)| *status == 200).map(|(_, body)| body)
    }
}

impl Transport for Kept {
    type Error = Error;

    fn call(&mut self, route: Route, body: &[u8]) -> Result<(u16, Vec<u8>)> {
        let (status, body) = self.way.call(route, body)?;
        if let (Route::Hint { database, .. }, 200) = (route, status) {
            self.hints[usize::from(database == Database::Directory)] = Some(body.clone());
        }
        Ok((status, body))
    }

    fn binding(&self) -> Vec<u8> {
        self.way.binding()
    }

    fn rest(&mut self) {
        self.way.rest();
    }
}

/// A log as the operator shows it now: what it signed, and the leaves that go with it.
pub struct Log {
    /// What was signed.
    pub head: TreeHead,
    /// Its leaves.
    pub leaves: Vec<Hash>,
}

impl Log {
    /// Asks for it.
    pub fn get(way: &mut Kept, operator: &OperatorId) -> Result<Self> {
        let strange = |cause: &str| {
            Error::new(ErrorKind::NoLink, cause, "try again; is it an operator of this version?")
        };
        let head = way.get(Route::LogHead).and_then(|bytes| TreeHead::decode(&bytes).ok());
        let head = head.filter(|head| head.operator == *operator);
        let head =
            head.ok_or_else(|| strange("what came is not the operator's signed tree head"))?;
        let mut leaves = way.get(Route::LogLeaves).unwrap_or_default().as_chunks().0.to_vec();
        // Something may have been logged in between.
        leaves.truncate(usize::try_from(head.size).unwrap_or(usize::MAX));
        if leaves.len() as u64 != head.size || log::root(&leaves) != head.root {
            return Err(strange("what came are not the leaves of the log that was signed"));
        }
        Ok(Log { head, leaves })
    }

    /// Whether `seen` is a state that this log has gone through.
    pub fn continues(&self, seen: &TreeHead) -> bool {
        let size = usize::try_from(seen.size).ok();
        size.and_then(|size| self.leaves.get(..size)).is_some_and(|l| log::root(l) == seen.root)
    }

    /// The proof that these states and this log's cannot all be of one log, if it can be made.
    pub fn against(&self, seen: &[TreeHead]) -> Option<Evidence> {
        let mut states = seen.to_vec();
        states.push(self.head);
        for large in &states {
            // The leaves have to be the larger's. Of states as large, either is the larger.
            let leaves = usize::try_from(large.size).ok().and_then(|n| self.leaves.get(..n));
            let Some(leaves) = leaves else { continue };
            for small in states.iter().filter(|small| small.size <= large.size) {
                let (small, large, leaves) = (*small, *large, leaves.to_vec());
                let evidence = Evidence::ForkedLog { small, large, leaves };
                if evidence.verify(&large.operator, &Aids::default()).is_ok() {
                    return Some(evidence);
                }
            }
        }
        None
    }
}
