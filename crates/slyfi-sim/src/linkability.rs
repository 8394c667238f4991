//! What an outsider can tell apart: the numbers beside a capture.

use slyfi_wire::carrier;
use std::collections::BTreeMap;

/// Frames of a kind from which on a constant byte is called constant.
const ENOUGH: u64 = 16;
/// Byte positions looked at behind the start of a frame.
const POSITIONS: usize = 256;

/// Counts what links the frames of a capture to each other.
///
/// An outsider takes the field where a protocol has its identifiers for one: SlyFi's address behind
/// the carrier, any other frame's transmitter (or receiver, where it has no transmitter).
#[derive(Clone, Debug, Default)]
pub struct Linkability {
    frames: u64,
    identifiers: BTreeMap<Vec<u8>, u64>,
    /// By kind (first byte of frame control; SlyFi's carrier is one kind): bits that were always 0
    /// or always 1.
    kinds: BTreeMap<u8, Kind>,
}

#[derive(Clone, Debug)]
struct Kind {
    frames: u64,
    all: Vec<u8>,
    any: Vec<u8>,
    carrier: bool,
}

impl Linkability {
    /// Takes one frame, its frame check sequence removed.
    pub fn add(&mut self, frame: &[u8]) {
        let Some(&first) = frame.first() else { return };
        self.frames += 1;
        let slyfi = carrier::address(frame);
        let identifier = match slyfi {
            Some(address) => &address[..],
            None => frame.get(10..16).or(frame.get(4..10)).unwrap_or(frame),
        };
        match self.identifiers.get_mut(identifier) {
            Some(n) => *n += 1,
            None => {
                self.identifiers.insert(identifier.to_vec(), 1);
            }
        }
        let seen = &frame[..frame.len().min(POSITIONS)];
        let kind = self.kinds.entry(first).or_insert_with(|| Kind {
            frames: 0,
            all: seen.to_vec(),
            any: seen.to_vec(),
            carrier: true,
        });
        kind.frames += 1;
        kind.carrier &= slyfi.is_some();
        // Only positions that every frame of the kind has can be constant.
        kind.all.truncate(seen.len());
        kind.any.truncate(seen.len());
        for ((all, any), b) in kind.all.iter_mut().zip(&mut kind.any).zip(seen) {
            *all &= b;
            *any |= b;
        }
    }

    /// Returns how many frames were taken.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Returns how many different identifiers were seen.
    pub fn distinct_addresses(&self) -> u64 {
        self.identifiers.len() as u64
    }

    /// Returns how many frames share their identifier with another frame.
    pub fn linkable_frames(&self) -> u64 {
        self.identifiers.values().filter(|n| **n > 1).sum()
    }

    /// Returns how many frames the most frequent identifier links.
    pub fn largest_group(&self) -> u64 {
        self.identifiers.values().copied().max().unwrap_or(0)
    }

    /// Returns how many bytes are the same in all frames of a kind, the carrier's constant bytes
    /// left out; of the kind with the most such bytes, among kinds with 16 frames or more.
    pub fn constant_bytes(&self) -> usize {
        let constant = |k: &Kind| {
            let skip = if k.carrier { carrier::HEADER_LEN } else { 1 };
            k.all.iter().zip(&k.any).skip(skip).filter(|(all, any)| all == any).count()
        };
        self.kinds.values().filter(|k| k.frames >= ENOUGH).map(constant).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimRng;

    #[test]
    fn random_frames_behind_the_carrier_link_nothing() {
        let mut rng = SimRng::new(1);
        let mut l = Linkability::default();
        for _ in 0..200 {
            let mut f = [0; 100];
            rng.fill_bytes(&mut f);
            f[..carrier::HEADER_LEN].copy_from_slice(&carrier::HEADER);
            l.add(&f);
        }
        assert_eq!((l.frames(), l.distinct_addresses()), (200, 200));
        assert_eq!((l.linkable_frames(), l.largest_group(), l.constant_bytes()), (0, 1, 0));
    }

    #[test]
    fn transmitters_and_constant_bytes_show() {
        let mut rng = SimRng::new(1);
        let mut l = Linkability::default();
        for i in 0..200u8 {
            let mut f = [0; 100];
            rng.fill_bytes(&mut f);
            f[..16].copy_from_slice(&[8, 1, 0, 0, 2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, i % 2]);
            l.add(&f);
        }
        assert_eq!((l.distinct_addresses(), l.linkable_frames(), l.largest_group()), (2, 200, 100));
        assert_eq!(l.constant_bytes(), 14);
    }
}
