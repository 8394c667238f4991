//! A node's simulated disk: what its machine asked to be kept.

use slyfi_base::UnixTime;
use slyfi_base::link::{Persist, RecordKind};

/// The records of one node, in the order of writing. Writing is instant and durable.
#[derive(Clone, Debug, Default)]
pub struct Disk(Vec<Record>);

/// A kept record.
#[derive(Clone, PartialEq, Eq)]
pub struct Record {
    /// What it is.
    pub kind: RecordKind,
    /// When it may be forgotten.
    pub until: Option<UnixTime>,
    /// The record as the machine wrote it.
    pub bytes: Vec<u8>,
}

// Records hold keys.
impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Record").field("kind", &self.kind).field("until", &self.until).finish()
    }
}

impl Disk {
    /// Makes a record durable.
    pub(crate) fn write(&mut self, p: &Persist<'_>) {
        let bytes = p.bytes.reveal().to_vec();
        self.0.push(Record { kind: p.kind, until: p.until, bytes });
    }

    /// Returns the records that may not be forgotten at `wall` yet.
    pub fn records(&self, wall: UnixTime) -> Vec<Record> {
        self.0.iter().filter(|r| r.until.is_none_or(|u| u > wall)).cloned().collect()
    }

    /// Loses everything (a disk that was not there).
    pub fn wipe(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slyfi_base::Redacted;

    #[test]
    fn records_are_kept_until_their_time() {
        let mut d = Disk::default();
        for (bytes, until) in [(b"a", Some(10)), (b"b", None), (b"c", Some(20))] {
            let until = until.map(UnixTime::from_secs);
            let bytes = Redacted::new(&bytes[..]);
            d.write(&Persist { kind: RecordKind::Replay, until, bytes });
        }
        let at = |s| -> Vec<u8> {
            d.records(UnixTime::from_secs(s)).into_iter().flat_map(|r| r.bytes).collect()
        };
        assert_eq!(at(9), b"abc");
        assert_eq!(at(10), b"bc");
        assert_eq!(at(20), b"b");
        assert!(!format!("{d:?}").contains("97"));
    }
}
