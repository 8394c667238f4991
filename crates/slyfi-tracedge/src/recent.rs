//! The end of a log, which every subscriber reads before it uses a head (docs/tracedge.md §5).
//!
//! That a head is in the log says that others can see it, not that there is no other: a log with a head
//! for each subscriber is append-only too. So subscribers look at the entries themselves, all at the
//! same ones, and take the one head whose time it is.

use core::ops::Range;

use crate::epoch::{Epoch, EpochKey};
use crate::head::{CLOCK_SKEW, Head, HeadError};
use crate::keys::OperatorId;
use crate::log::{Entry, LogError};
use crate::merkle::{Hash, leaf_hash};
use crate::wire::{Malformed, Reader, put_sized};

/// How many entries at the end of the log everybody reads: 32 epochs, some 20 kB.
pub const RECENT: u64 = 64;

/// The numbers of the entries that are read of a log of `size`.
pub fn range(size: u64) -> Range<u64> {
    size.saturating_sub(RECENT)..size
}

/// Encodes entries, each with its length before it.
pub fn encode(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    entries.iter().for_each(|entry| put_sized(&mut out, entry));
    out
}

/// The last entries of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recent {
    /// Which entry of the log the first of these is.
    first: u64,
    entries: Vec<Entry>,
}

impl Recent {
    /// Decodes, and checks that these are the last entries of the log with these leaves.
    ///
    /// # Errors
    /// [`Malformed`] if they are not.
    pub fn decode(bytes: &[u8], leaves: &[Hash]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes, "the end of the log");
        let mut entries = Vec::new();
        let range = range(leaves.len() as u64);
        let first = range.start;
        for at in range {
            let entry = reader.sized()?;
            if leaf_hash(entry) != leaves[at as usize] {
                return Err(reader.malformed());
            }
            entries.push(Entry::decode(entry)?);
        }
        reader.finish()?;
        Ok(Recent { first, entries })
    }

    fn heads(&self) -> impl DoubleEndedIterator<Item = &Head> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Head(head) => Some(&**head),
            Entry::Opening { .. } => None,
        })
    }

    /// Which entry of the log the first of these is.
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// The K that was published for an epoch, and which entry of the log it is.
    pub fn opening(&self, wanted: u64) -> Option<(u64, &EpochKey)> {
        (self.first..).zip(&self.entries).find_map(|(index, entry)| match entry {
            Entry::Opening { epoch, key } if *epoch == wanted => Some((index, key)),
            _ => None,
        })
    }

    /// Whether all that an operator logs of an epoch after its head would be among these: heads are
    /// logged in order, each before its own K.
    pub fn reaches_back_to(&self, epoch: u64) -> bool {
        self.first == 0 || self.heads().any(|head| head.epoch.number <= epoch)
    }

    /// Two entries that no honest operator logs, if there are such.
    pub fn contradiction(&self) -> Option<(&Entry, &Entry)> {
        let later = |at: usize| self.entries[at + 1..].iter();
        let mut entries = self.entries.iter().enumerate();
        entries.find_map(|(at, one)| Some((one, later(at).find(|other| one.contradicts(other))?)))
    }

    /// Checks that the operator whose log it is goes from epoch to epoch, and has published the keys of
    /// those that were over at `time`, by its own clock.
    ///
    /// # Errors
    /// [`LogError`], by what is wrong.
    pub fn check(&self, operator: &OperatorId, time: u64) -> Result<(), LogError> {
        if self.heads().any(|head| head.epoch.operator != *operator) {
            return Err(LogError::AnotherOperator);
        }
        let follows = |one: &Epoch, next: &Epoch| {
            one.number.checked_add(1) == Some(next.number) && one.not_after <= next.not_before
        };
        let pairs = || self.heads().zip(self.heads().skip(1));
        if !pairs().all(|(one, next)| follows(&one.epoch, &next.epoch)) {
            return Err(LogError::Disordered);
        }
        // The operator publishes K when clocks may be apart no more; as long again, for its pace.
        let over = |epoch: &Epoch| time >= epoch.not_after.saturating_add(2 * CLOCK_SKEW);
        let opened = |number: u64| {
            self.entries
                .iter()
                .any(|e| matches!(e, Entry::Opening { epoch, .. } if *epoch == number))
        };
        if self.heads().any(|head| over(&head.epoch) && !opened(head.epoch.number)) {
            Err(LogError::Unopened)
        } else {
            Ok(())
        }
    }

    /// The head to use: which one, is the clock's and the log's to say, and never the operator's.
    ///
    /// # Errors
    /// What is wrong with the newest head, if none can be used; `None` if there is no head.
    pub fn pick(
        &self,
        operator: &OperatorId,
        now: u64,
        seen: Option<u64>,
        ahead: bool,
    ) -> Result<&Head, Option<HeadError>> {
        let usable = || self.heads().filter(|head| head.check(operator, now, seen, ahead).is_ok());
        let begun = usable().rfind(|head| head.epoch.not_before <= now);
        let picked = if ahead { usable().next_back() } else { begun.or_else(|| usable().next()) };
        let why = || self.heads().next_back()?.check(operator, now, seen, ahead).err();
        picked.ok_or_else(why)
    }
}
