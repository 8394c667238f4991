//! The end of a log, which every subscriber reads before it uses a head (docs/tracedge.md §5).
//!
//! That a head is in the log says that others can see it, not that there is no other: a log with a head
//! for each subscriber is append-only too. So subscribers look at the entries themselves, all at the
//! same ones, and take the one head whose time it is.

use core::ops::Range;

use crate::epoch::Epoch;
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
    heads: Vec<Head>,
    /// The epochs whose keys were published.
    opened: Vec<u64>,
}

impl Recent {
    /// Decodes, and checks that these are the last entries of the log with these leaves.
    ///
    /// # Errors
    /// [`Malformed`] if they are not.
    pub fn decode(bytes: &[u8], leaves: &[Hash]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes, "the end of the log");
        let mut recent = Recent { heads: Vec::new(), opened: Vec::new() };
        for at in range(leaves.len() as u64) {
            let entry = reader.sized()?;
            if leaf_hash(entry) != leaves[at as usize] {
                return Err(reader.malformed());
            }
            match Entry::decode(entry)? {
                Entry::Head(head) => recent.heads.push(*head),
                Entry::Opening { epoch, .. } => recent.opened.push(epoch),
            }
        }
        reader.finish()?;
        Ok(recent)
    }

    /// Two heads that no honest operator makes, if there are such.
    pub fn contradiction(&self) -> Option<(&Head, &Head)> {
        let later = |at: usize| self.heads[at + 1..].iter();
        let mut heads = self.heads.iter().enumerate();
        heads.find_map(|(at, one)| Some((one, later(at).find(|other| one.contradicts(other))?)))
    }

    /// Checks that the operator whose log it is goes from epoch to epoch, and has published the keys of
    /// those that were over at `time`, by its own clock.
    ///
    /// # Errors
    /// [`LogError`], by what is wrong.
    pub fn check(&self, operator: &OperatorId, time: u64) -> Result<(), LogError> {
        if self.heads.iter().any(|head| head.epoch.operator != *operator) {
            return Err(LogError::AnotherOperator);
        }
        let follows = |one: &Epoch, next: &Epoch| {
            one.number.checked_add(1) == Some(next.number) && one.not_after <= next.not_before
        };
        if !self.heads.windows(2).all(|pair| follows(&pair[0].epoch, &pair[1].epoch)) {
            return Err(LogError::Disordered);
        }
        // The operator publishes K when clocks may be apart no more; as long again, for its pace.
        let over = |epoch: &Epoch| time >= epoch.not_after.saturating_add(2 * CLOCK_SKEW);
        let hidden = |head: &Head| over(&head.epoch) && !self.opened.contains(&head.epoch.number);
        if self.heads.iter().any(hidden) { Err(LogError::Unopened) } else { Ok(()) }
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
        let usable =
            || self.heads.iter().filter(|head| head.check(operator, now, seen, ahead).is_ok());
        let begun = usable().rfind(|head| head.epoch.not_before <= now);
        let picked = if ahead { usable().next_back() } else { begun.or_else(|| usable().next()) };
        let why = || self.heads.last()?.check(operator, now, seen, ahead).err();
        picked.ok_or_else(why)
    }
}
