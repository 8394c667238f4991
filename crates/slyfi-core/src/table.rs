//! One table for every address that can be heard, Tryst's and Shroud's (slyfi-2008 §3.4).
//!
//! An address is 16 bytes at the same place of every frame; the table says what it stands for. A
//! foreign frame costs the lookups and nothing else: no cryptography, no allocation.

use crate::tryst::{Class, HEADER_LEN, MAX_RECIPIENTS};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use hashbrown::HashTable;
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
/// Extendible hashing: segments of bounded size, found by a directory, so that nothing that is done
/// to the table ever pauses to move all of it. That would stop a node with a million pairings for
/// half a second in the middle of its traffic.
pub struct AddressTable {
    segments: Vec<Segment>,
    /// Segment numbers by [`directory_index`]; the length is a power of two.
    directory: Vec<u32>,
    len: usize,
    secret: [u64; 2],
}

struct Segment {
    live: HashTable<(Address, Packed)>,
    /// How many bits of [`directory_index`] its addresses have in common.
    depth: u32,
}

/// A segment with this many addresses is split in two. They fill it to 7/8, so it grows no further,
/// and cleaning up after removals touches no more than this.
const SEGMENT: usize = 1792;

impl AddressTable {
    /// Makes an empty table; `rng` gives the secret of its hash.
    pub fn new<R: SecureRandom + ?Sized>(rng: &mut R) -> Self {
        let mut secret = [[0; 8]; 2];
        rng.fill(secret.as_flattened_mut());
        AddressTable {
            segments: vec![Segment { live: HashTable::new(), depth: 0 }],
            directory: vec![0],
            len: 0,
            secret: secret.map(u64::from_le_bytes),
        }
    }

    /// Returns how many addresses are live.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns whether no address is live.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts an address in. Should it be there for something else, both are kept; a lookup finds
    /// either one, and removing one leaves the other.
    pub fn insert(&mut self, address: &Address, entry: Entry) {
        let (secret, hash) = (self.secret, hash(self.secret, address));
        let mut number = self.segment_of(hash);
        if self.segments[number].live.len() >= SEGMENT {
            self.split(number);
            number = self.segment_of(hash);
        }
        let item = (*address, Packed::new(entry));
        self.segments[number].live.insert_unique(hash, item, |(a, _)| self::hash(secret, a));
        self.len += 1;
    }

    /// Takes an address out, if it is in for exactly this; returns whether it was.
    pub fn remove(&mut self, address: &Address, entry: Entry) -> bool {
        let hash = hash(self.secret, address);
        let wanted = (*address, Packed::new(entry));
        let number = self.segment_of(hash);
        let found = self.segments[number].live.find_entry(hash, |item| *item == wanted);
        let removed = found.map(|item| item.remove()).is_ok();
        self.len -= usize::from(removed);
        removed
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

    /// Iterates over all live addresses, in no order.
    ///
    /// # Security
    /// They tell a node's frames apart from others'; for tests and key logs.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.segments.iter().flat_map(|s| s.live.iter()).map(|(address, _)| address)
    }

    fn find(&self, address: &Address) -> Option<Packed> {
        let hash = hash(self.secret, address);
        let segment = &self.segments[self.segment_of(hash)];
        segment.live.find(hash, |(a, _)| a == address).map(|(_, p)| *p)
    }

    fn segment_of(&self, hash: u64) -> usize {
        self.directory[directory_index(hash) & (self.directory.len() - 1)] as usize
    }

    /// Moves the half of a segment whose next bit is set to a new one.
    fn split(&mut self, number: usize) {
        let secret = self.secret;
        let segment = &mut self.segments[number];
        let bit = 1 << segment.depth;
        segment.depth += 1;
        let depth = segment.depth;
        let mut live = HashTable::with_capacity(SEGMENT);
        for item in segment.live.extract_if(|(a, _)| directory_index(hash(secret, a)) & bit != 0) {
            live.insert_unique(hash(secret, &item.0), item, |(a, _)| hash(secret, a));
        }
        let new = self.segments.len() as u32;
        self.segments.push(Segment { live, depth });
        if self.directory.len() == bit {
            self.directory.extend_from_within(..);
        }
        for (index, segment) in self.directory.iter_mut().enumerate() {
            if *segment as usize == number && index & bit != 0 {
                *segment = new;
            }
        }
    }
}

/// The bits of a hash that the directory goes by: others than those that place an item in its
/// segment (the lowest and the topmost).
const fn directory_index(hash: u64) -> usize {
    (hash >> 24) as u32 as usize
}

/// Mixes the address, already random, with the table's secret, so that an outsider who chooses the
/// addresses of his frames cannot choose where in the table they are looked for.
fn hash(secret: [u64; 2], address: &Address) -> u64 {
    let (halves, []) = address.as_chunks::<8>() else { unreachable!("16 bytes are two halves") };
    let a = u64::from_le_bytes(halves[0]) ^ secret[0];
    let b = u64::from_le_bytes(halves[1]) ^ secret[1];
    let wide = u128::from(a) * u128::from(b);
    wide as u64 ^ (wide >> 64) as u64
}

impl fmt::Debug for AddressTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddressTable").field("len", &self.len()).finish_non_exhaustive()
    }
}
