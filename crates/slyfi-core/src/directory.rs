//! The pairings of a node, and the turning of their addresses from interval to interval.
//!
//! An access point can have a million pairings with an own T0 each. They are kept in buckets that
//! turn at the same second, so that a turn touches only those that are due, and a host that calls
//! [`Directory::turn`] with a budget never waits long.

mod bucket;
mod slab;
mod turn;

use crate::pairing::{Direction, NoKeys, Pairing, TrystKeys};
use crate::table::{Address, AddressTable, nearest};
use crate::tryst::{self, Class};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use bucket::{Bucket, BucketKey};
use core::fmt;
use hashbrown::HashTable;
use slab::Slab;
use slyfi_base::UnixTime;
pub use turn::Turn;

/// Which end of its pairings a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Sends up, receives down.
    Client,
    /// Sends down, receives up.
    AccessPoint,
}

impl Side {
    /// Returns the direction that it sends in.
    pub const fn sends(self) -> Direction {
        match self {
            Side::Client => Direction::Up,
            Side::AccessPoint => Direction::Down,
        }
    }

    /// Returns the direction that it receives in.
    pub const fn receives(self) -> Direction {
        self.sends().reverse()
    }
}

/// The most pairings for which the clock diagnosis is kept.
pub const MAX_DIAGNOSED: usize = 4096;

/// The most intervals to either side of the window that the clock diagnosis looks at.
pub const MAX_DIAGNOSIS: u16 = 288;

/// The pairing is in already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// Where.
    pub index: u32,
}

/// There are more than [`MAX_DIAGNOSED`] pairings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

/// Pairings in memory, numbered, with their receiving addresses in the table.
pub struct Directory {
    side: Side,
    pairings: Slab,
    by_id: HashTable<u32>,
    buckets: Vec<Bucket>,
    bucket_of: BTreeMap<BucketKey, u32>,
    /// Buckets with members, by the second in which they are due.
    due: BTreeSet<(u64, u32)>,
    /// The wall clock of the last turn.
    turned: UnixTime,
    /// Intervals beyond the window on either side that are known for diagnosis.
    diagnosis: u16,
}

impl Directory {
    /// Makes an empty directory.
    pub fn new(side: Side) -> Self {
        Directory {
            side,
            pairings: Slab::default(),
            by_id: HashTable::new(),
            buckets: Vec::new(),
            bucket_of: BTreeMap::new(),
            due: BTreeSet::new(),
            turned: UnixTime::default(),
            diagnosis: 0,
        }
    }

    /// Returns which end of its pairings this node is.
    pub const fn side(&self) -> Side {
        self.side
    }

    /// Returns how many pairings there are.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Returns a pairing.
    pub fn get(&self, index: u32) -> Option<&Pairing> {
        self.pairings.get(index).map(|s| &s.pairing)
    }

    /// Returns where the pairing with this id is.
    pub fn by_id(&self, id: &[u8; 8]) -> Option<u32> {
        self.by_id.find(hash(id), |i| self.get(*i).is_some_and(|p| p.id() == id)).copied()
    }

    /// Iterates over all pairings and their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Pairing)> {
        self.pairings.iter().map(|(i, s)| (i, &s.pairing))
    }

    /// Adds a pairing, advances its keys to the day that is due, and puts its addresses in the table;
    /// returns its number.
    ///
    /// # Errors
    /// [`Duplicate`].
    pub fn insert(
        &mut self,
        pairing: Pairing,
        wall: UnixTime,
        table: &mut AddressTable,
    ) -> Result<u32, Duplicate> {
        if let Some(index) = self.by_id(pairing.id()) {
            return Err(Duplicate { index });
        }
        if self.diagnosis > 0 && self.len() >= MAX_DIAGNOSED {
            self.change_diagnosis(0, table);
        }
        let id = *pairing.id();
        let index = self.pairings.insert(pairing);
        let pairings = &self.pairings;
        self.by_id.insert_unique(hash(&id), index, |i| {
            pairings.get(*i).map_or(0, |s| hash(s.pairing.id()))
        });
        self.join_bucket(index, wall, table);
        Ok(index)
    }

    /// Removes a pairing and its addresses.
    pub fn remove(&mut self, index: u32, table: &mut AddressTable) -> Option<Pairing> {
        let id = *self.get(index)?.id();
        self.leave_bucket(index, table);
        if let Ok(found) = self.by_id.find_entry(hash(&id), |i| *i == index) {
            found.remove();
        }
        self.pairings.remove(index)
    }

    /// Returns the address and the keys to send a message of `class` with, at `wall`.
    ///
    /// # Errors
    /// [`NoKeys`].
    pub fn sending(
        &self,
        index: u32,
        class: Class,
        wall: UnixTime,
    ) -> Result<(Address, TrystKeys), NoKeys> {
        let pairing = self.get(index).ok_or(NoKeys::NoPairing)?;
        let interval = u64::try_from(pairing.interval_at(wall)).map_err(|_| NoKeys::BeforeT0)?;
        let keys = pairing.tryst_keys(self.side.sends(), interval)?;
        Ok((tryst::address(&keys.addr, class, interval), keys))
    }

    /// Returns the keys to open a message of `interval` with.
    ///
    /// # Errors
    /// [`NoKeys`].
    pub fn receiving(&self, index: u32, interval: u64) -> Result<TrystKeys, NoKeys> {
        let pairing = self.get(index).ok_or(NoKeys::NoPairing)?;
        pairing.tryst_keys(self.side.receives(), interval)
    }

    /// Returns the whole interval behind the low bits in a table entry.
    pub fn resolve(&self, index: u32, low: u32, wall: UnixTime) -> Option<u64> {
        let now = self.get(index)?.interval_at(wall);
        Some(nearest(low, u64::try_from(now).unwrap_or(0)))
    }

    /// Returns how far ahead of `wall` the clock of a sender is whose address lies in the interval
    /// with these low bits: seconds, to the length of an interval.
    pub fn clock_offset(&self, index: u32, low: u32, wall: UnixTime) -> Option<i64> {
        let pairing = self.get(index)?;
        let sent = self.resolve(index, low, wall)? as i64;
        Some((sent - pairing.interval_at(wall)) * i64::from(pairing.interval_s()))
    }

    /// Keeps the addresses of `intervals` further intervals on either side of the window in the
    /// table, as [`crate::table::Entry::Diagnose`], so that a peer's wrong clock can be told. They
    /// are never answered.
    ///
    /// # Errors
    /// [`TooMany`]. Also switched off by itself when there come to be too many.
    pub fn set_diagnosis(
        &mut self,
        intervals: u16,
        table: &mut AddressTable,
    ) -> Result<(), TooMany> {
        if intervals > 0 && self.len() > MAX_DIAGNOSED {
            return Err(TooMany);
        }
        self.change_diagnosis(intervals.min(MAX_DIAGNOSIS), table);
        Ok(())
    }
}

/// Ids are random; this spreads also those that are not.
fn hash(id: &[u8; 8]) -> u64 {
    let wide = u128::from(u64::from_le_bytes(*id)) * 0x9e37_79b9_7f4a_7c15;
    (wide >> 64) as u64 ^ wide as u64
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Directory")
            .field("side", &self.side)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
