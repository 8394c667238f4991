//! One array of slots: open addressing, linear probing, removal by shifting back.

use super::Address;
use alloc::vec;
use alloc::vec::Vec;

/// Tags looked at in one step.
const GROUP: usize = 8;

/// The smallest array.
const LEAST: usize = 64;

/// An address (two halves) and what it stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Item([u64; 3]);

impl Item {
    pub(super) fn new(address: &Address, value: u64) -> Self {
        let (halves, _) = address.as_chunks();
        Item([u64::from_ne_bytes(halves[0]), u64::from_ne_bytes(halves[1]), value])
    }

    pub(super) fn halves(&self) -> [u64; 2] {
        [self.0[0], self.0[1]]
    }

    pub(super) fn address(&self) -> Address {
        let halves = self.halves().map(u64::to_ne_bytes);
        let mut address = [0; 16];
        address.copy_from_slice(halves.as_flattened());
        address
    }

    fn same_address(&self, other: &Item) -> bool {
        (self.0[0] ^ other.0[0]) | (self.0[1] ^ other.0[1]) == 0
    }
}

/// The array. Slot i is taken if its tag is not zero; the first [`GROUP`] tags are repeated behind the
/// last, so that a group can be read at any slot.
pub(super) struct Slots {
    tags: Vec<u8>,
    items: Vec<[u64; 3]>,
    len: usize,
}

impl Slots {
    /// Makes an array of at least this many slots.
    pub(super) fn new(size: usize) -> Self {
        let size = size.max(LEAST);
        // Zeros straight from the allocator: a large array is not touched before it is used.
        Slots { tags: vec![0; size + GROUP], items: vec![[0; 3]; size], len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn size(&self) -> usize {
        self.items.len()
    }

    /// Whether it is 3/5 full: runs of taken slots grow fast beyond that.
    pub(super) fn is_full(&self) -> bool {
        self.len * 5 >= self.size() * 3
    }

    /// Returns the value of the first item with the address of `wanted`.
    pub(super) fn find(&self, hash: u64, wanted: &Item) -> Option<u64> {
        self.position(hash, |item| item.same_address(wanted)).map(|at| self.items[at][2])
    }

    /// Reads what lies at the home of a hash.
    pub(super) fn touch(&self, hash: u64) -> u64 {
        let home = self.home(hash);
        self.items[home][0] ^ u64::from(self.tags[home])
    }

    /// Puts an item in the first free slot from its home on.
    pub(super) fn insert(&mut self, hash: u64, item: Item) {
        let mut at = self.home(hash);
        while !self.is_gap(at) {
            at = self.after(at);
        }
        self.put(at, tag(hash), item.0);
        self.len += 1;
    }

    /// Removes an item and closes the gap, so that no lookup has to step over it.
    pub(super) fn remove(&mut self, hash: u64, item: &Item, rehash: impl Fn(&Item) -> u64) -> bool {
        let Some(mut hole) = self.position(hash, |i| i == item) else { return false };
        let mut at = hole;
        loop {
            at = self.after(at);
            if self.is_gap(at) {
                break;
            }
            // An item may move back as far as its home.
            let home = self.home(rehash(&Item(self.items[at])));
            if self.distance(home, at) >= self.distance(hole, at) {
                self.put(hole, self.tags[at], self.items[at]);
                hole = at;
            }
        }
        self.put(hole, 0, [0; 3]);
        self.len -= 1;
        true
    }

    /// Empties a slot without closing the gap.
    pub(super) fn take(&mut self, at: usize) -> Option<Item> {
        if self.is_gap(at) {
            return None;
        }
        let item = Item(self.items[at]);
        self.put(at, 0, [0; 3]);
        self.len -= 1;
        Some(item)
    }

    pub(super) fn is_gap(&self, at: usize) -> bool {
        self.tags[at] == 0
    }

    /// The first free slot; there always is one.
    pub(super) fn first_gap(&self) -> usize {
        self.tags.iter().position(|t| *t == 0).unwrap_or(0)
    }

    pub(super) fn after(&self, at: usize) -> usize {
        if at + 1 == self.size() { 0 } else { at + 1 }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Item> {
        let taken = self.tags.iter().zip(&self.items).filter(|(tag, _)| **tag != 0);
        taken.map(|(_, item)| Item(*item))
    }

    fn position(&self, hash: u64, is_it: impl Fn(&Item) -> bool) -> Option<usize> {
        let mut start = self.home(hash);
        loop {
            // The tags from `start` on, the first in the lowest byte.
            let group = u64::from_le_bytes(*self.tags[start..].first_chunk()?);
            let gaps = zero_bytes(group);
            let before_gap = (gaps & gaps.wrapping_neg()).wrapping_sub(1);
            let mut same = zero_bytes(group ^ (u64::from(tag(hash)) * ONES)) & before_gap;
            while same != 0 {
                let at = start + same.trailing_zeros() as usize / 8;
                let at = if at >= self.size() { at - self.size() } else { at };
                if is_it(&Item(self.items[at])) {
                    return Some(at);
                }
                same &= same - 1;
            }
            if gaps != 0 {
                return None;
            }
            start += GROUP;
            if start >= self.size() {
                start -= self.size();
            }
        }
    }

    /// The slot an item belongs in: the hash's share of the array.
    fn home(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.size() as u128) >> 64) as usize
    }

    /// Steps from one slot to another, going round.
    fn distance(&self, from: usize, to: usize) -> usize {
        if to >= from { to - from } else { to + self.size() - from }
    }

    fn put(&mut self, at: usize, tag: u8, item: [u64; 3]) {
        self.items[at] = item;
        self.tags[at] = tag;
        if at < GROUP {
            let repeated = self.size() + at;
            self.tags[repeated] = tag;
        }
    }
}

/// The hash's lowest byte, which its home depends on least; never zero.
fn tag(hash: u64) -> u8 {
    (hash as u8).max(1)
}

const ONES: u64 = 0x0101_0101_0101_0101;

/// Marks zero bytes with their top bit. Right up to the lowest; above it a 1 may be marked, too.
const fn zero_bytes(x: u64) -> u64 {
    x.wrapping_sub(ONES) & !x & (ONES << 7)
}
