//! One table for every address that can be heard, Tryst's and Shroud's (slyfi-2008 §3.4).
//!
//! An address is 16 bytes at the same place of every frame; the table says what it stands for. A
//! foreign frame costs the lookups and nothing else: no cryptography, no allocation.

mod slots;

use crate::tryst::{Class, HEADER_LEN, MAX_RECIPIENTS};
use core::fmt;
use slots::{Item, Slots};
use slyfi_base::SecureRandom;

/// Bytes of an address.
pub const ADDRESS_LEN: usize = 16;

/// An address on the air: the output of AES under a secret key.
pub type Address = [u8; ADDRESS_LEN];

/// How many low bits of an interval or transmission number an [`Entry`] keeps.
pub const LOW_BITS: u32 = 29;

/// What an address stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    /// A Tryst message of a pairing, within the window.
    Tryst {
        /// The pairing's place in the directory.
        pairing: u32,
        /// Probe or authentication.
        class: Class,
        /// The interval's low [`LOW_BITS`] bits; [`nearest`] finds the rest.
        interval: u32,
    },
    /// A Tryst message outside the window, known only so that a wrong clock can be told.
    Diagnose {
        /// The pairing's place in the directory.
        pairing: u32,
        /// Probe or authentication.
        class: Class,
        /// The interval's low [`LOW_BITS`] bits.
        interval: u32,
    },
    /// A Shroud frame of one link.
    Shroud {
        /// The link's slot.
        link: u32,
        /// The transmission number's low [`LOW_BITS`] bits.
        number: u32,
    },
    /// A Shroud frame of the network's group.
    Group {
        /// The epoch of the group key.
        epoch: u32,
        /// The transmission number's low [`LOW_BITS`] bits.
        number: u32,
    },
}

/// Returns the number closest to `around` whose low [`LOW_BITS`] bits are `low`.
pub const fn nearest(low: u32, around: u64) -> u64 {
    let turn = 1 << LOW_BITS;
    let ahead = (low as u64).wrapping_sub(around) & (turn - 1);
    if ahead < turn / 2 || around < turn - ahead {
        around.wrapping_add(ahead)
    } else {
        around - (turn - ahead)
    }
}

/// An [`Entry`] in one word: kind (2 bits), class (1), low bits of the number (29), index (32).
#[derive(Clone, Copy, PartialEq, Eq)]
struct Packed(u64);

const LOW_MASK: u64 = (1 << LOW_BITS) - 1;

impl Packed {
    const fn new(entry: Entry) -> Self {
        let (kind, class, number, index) = match entry {
            Entry::Tryst { pairing, class, interval } => (0, class as u64, interval, pairing),
            Entry::Diagnose { pairing, class, interval } => (1, class as u64, interval, pairing),
            Entry::Shroud { link, number } => (2, 0, number, link),
            Entry::Group { epoch, number } => (3, 0, number, epoch),
        };
        Packed(kind << 62 | class << 61 | (number as u64 & LOW_MASK) << 32 | index as u64)
    }

    const fn entry(self) -> Entry {
        let class = if self.0 >> 61 & 1 == 0 { Class::Probe } else { Class::Authentication };
        let number = (self.0 >> 32 & LOW_MASK) as u32;
        let index = self.0 as u32;
        match self.0 >> 62 {
            0 => Entry::Tryst { pairing: index, class, interval: number },
            1 => Entry::Diagnose { pairing: index, class, interval: number },
            2 => Entry::Shroud { link: index, number },
            _ => Entry::Group { epoch: index, number },
        }
    }

    /// Whether a header past the first may carry this: scoped broadcasts are probes.
    const fn may_be_scoped(self) -> bool {
        self.0 >> 61 == 0b000 || self.0 >> 61 == 0b010
    }
}

/// All live addresses of a node.
///
/// Open addressing with linear probing, a byte of each hash kept apart from the addresses, so that a
/// foreign frame costs little more than a cache line for each place it is looked for at. Removal
/// leaves no tombstones, and growing moves a few addresses with each insertion: nothing ever pauses
/// to move them all, which would stop a node with a million pairings for half a second.
pub struct AddressTable {
    slots: Slots,
    /// The smaller table that is being emptied into `slots`.
    old: Option<Emptying>,
    secret: [u64; 2],
}

struct Emptying {
    slots: Slots,
    cursor: usize,
    left: usize,
}

/// How many old slots each insertion empties. From 3/5 full, the larger table is reached by its own
/// limit only after this has long finished.
const STEP: usize = 8;

impl AddressTable {
    /// Makes an empty table; `rng` gives the secret of its hash.
    pub fn new<R: SecureRandom + ?Sized>(rng: &mut R) -> Self {
        let mut secret = [[0; 8]; 2];
        rng.fill(secret.as_flattened_mut());
        let secret = secret.map(u64::from_le_bytes);
        AddressTable { slots: Slots::new(0), old: None, secret }
    }

    /// Returns how many addresses are live.
    pub fn len(&self) -> usize {
        self.slots.len() + self.old.as_ref().map_or(0, |old| old.slots.len())
    }

    /// Returns whether no address is live.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts an address in. Should it be there for something else, both are kept; a lookup finds
    /// either one, and removing one leaves the other.
    pub fn insert(&mut self, address: &Address, entry: Entry) {
        self.make_room();
        let item = Item::new(address, Packed::new(entry).0);
        self.slots.insert(self.hash(&item), item);
    }

    /// Takes an address out, if it is in for exactly this; returns whether it was.
    pub fn remove(&mut self, address: &Address, entry: Entry) -> bool {
        let secret = self.secret;
        let item = Item::new(address, Packed::new(entry).0);
        let hash = self.hash(&item);
        let rehash = |item: &Item| mix(secret, item);
        self.slots.remove(hash, &item, rehash)
            || self.old.as_mut().is_some_and(|old| old.slots.remove(hash, &item, rehash))
    }

    /// Returns what an address stands for.
    pub fn lookup(&self, address: &Address) -> Option<Entry> {
        self.find(address).map(Packed::entry)
    }

    /// Finds what a frame's body (the bytes past the carrier) is addressed to: the index of the
    /// header and its entry.
    ///
    /// The first address can be of any kind; those of further headers, 48 bytes apart, count only
    /// if they are of Tryst probes (scoped broadcast, slyfi-2008 §4.1).
    pub fn lookup_frame(&self, body: &[u8]) -> Option<(usize, Entry)> {
        let first = self.find(body.first_chunk()?);
        if let Some(packed) = first {
            return Some((0, packed.entry()));
        }
        (1..MAX_RECIPIENTS).find_map(|j| {
            let packed = self.find(body.get(j * HEADER_LEN..)?.first_chunk()?)?;
            packed.may_be_scoped().then(|| (j, packed.entry()))
        })
    }

    /// Reads where the addresses would be, all at once, so that the memory they lie in is fetched side
    /// by side and not one wait after another.
    pub(crate) fn touch<'a>(&self, addresses: impl Iterator<Item = &'a Address>) {
        let read = addresses.fold(0, |sum, a| sum ^ self.slots.touch(self.hash(&Item::new(a, 0))));
        core::hint::black_box(read);
    }

    /// Iterates over all live addresses, in no order.
    ///
    /// # Security
    /// They tell a node's frames apart from others'; for tests and key logs.
    pub fn addresses(&self) -> impl Iterator<Item = Address> {
        let old = self.old.as_ref().map(|old| &old.slots);
        core::iter::once(&self.slots).chain(old).flat_map(Slots::iter).map(|i| i.address())
    }

    fn find(&self, address: &Address) -> Option<Packed> {
        let wanted = Item::new(address, 0);
        let hash = self.hash(&wanted);
        let found = self.slots.find(hash, &wanted);
        match (&self.old, found) {
            (Some(old), None) => old.slots.find(hash, &wanted),
            _ => found,
        }
        .map(Packed)
    }

    fn hash(&self, item: &Item) -> u64 {
        mix(self.secret, item)
    }

    /// Grows before the next insertion, or goes on with it.
    fn make_room(&mut self) {
        if self.old.is_none() && self.slots.is_full() {
            let larger = Slots::new(self.slots.size() / 2 * 3);
            let slots = core::mem::replace(&mut self.slots, larger);
            // Emptying starts at a gap, so that it never cuts a run of slots in two.
            let (cursor, left) = (slots.first_gap(), slots.size());
            self.old = Some(Emptying { slots, cursor, left });
        }
        let Some(old) = &mut self.old else { return };
        let mut steps = 0;
        while old.left > 0 && (steps < STEP || !old.slots.is_gap(old.cursor)) {
            if let Some(item) = old.slots.take(old.cursor) {
                self.slots.insert(mix(self.secret, &item), item);
            }
            old.cursor = old.slots.after(old.cursor);
            old.left -= 1;
            steps += 1;
        }
        if old.left == 0 {
            self.old = None;
        }
    }
}

/// Mixes the address, already random, with the table's secret, so that an outsider who chooses the
/// addresses of his frames cannot choose where in the table they are looked for.
fn mix(secret: [u64; 2], item: &Item) -> u64 {
    let [a, b] = item.halves();
    let wide = u128::from(a ^ secret[0]) * u128::from(b ^ secret[1]);
    wide as u64 ^ (wide >> 64) as u64
}

impl fmt::Debug for AddressTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddressTable").field("len", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
