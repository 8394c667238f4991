//! Every single bit of captured frames flipped, one copy a bit.

use super::{Adversary, Attack};
use slyfi_base::{Duration, Now, RxMeta, TxMeta};
use std::collections::BTreeMap;

/// Takes one captured frame of each length and sends it again with one bit flipped, for every bit.
///
/// To be worth something the flipped copy has to arrive while the address of the original is still
/// in the receiver's table: make the medium lose the original (a rule) where that matters.
#[derive(Debug)]
pub struct BitFlipper {
    first_bit: usize,
    per_length: usize,
    captured: BTreeMap<usize, usize>,
    frame: Option<(Vec<u8>, TxMeta, usize)>,
    waiting: Vec<(Vec<u8>, TxMeta)>,
    sent: u64,
}

impl BitFlipper {
    /// Makes a flipper that leaves the first `first_byte` bytes whole (the carrier, if it is to be
    /// taken for a SlyFi frame) and takes `per_length` frames of every length.
    pub fn new(first_byte: usize, per_length: usize) -> Self {
        BitFlipper {
            first_bit: first_byte * 8,
            per_length,
            captured: BTreeMap::new(),
            frame: None,
            waiting: Vec::new(),
            sent: 0,
        }
    }

    /// Returns how many flipped copies were handed to the radio.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns how many frames were taken.
    pub fn captured(&self) -> usize {
        self.captured.values().sum()
    }

    /// Returns whether every bit of every frame taken has been flipped.
    pub fn is_done(&self) -> bool {
        self.frame.is_none() && self.waiting.is_empty()
    }
}

impl Adversary for BitFlipper {
    fn hear(&mut self, _now: Now, meta: RxMeta, frame: &[u8]) {
        let taken = self.captured.entry(frame.len()).or_default();
        if meta.bad_fcs || frame.len() * 8 <= self.first_bit || *taken >= self.per_length {
            return;
        }
        *taken += 1;
        let meta = TxMeta { rate: meta.rate.unwrap_or(slyfi_base::Rate::BASE) };
        self.waiting.push((frame.to_vec(), meta));
    }

    fn poll_attack(&mut self, now: Now, room: usize) -> Attack {
        if self.frame.is_none() {
            self.frame = self.waiting.pop().map(|(f, m)| (f, m, self.first_bit));
        }
        let Some((frame, meta, bit)) = &mut self.frame else { return Attack::Wait(None) };
        if room == 0 {
            return Attack::Wait(Some(now.mono + Duration::from_millis(1)));
        }
        let mut flipped = frame.clone();
        flipped[*bit / 8] ^= 1 << (*bit % 8);
        let meta = *meta;
        *bit += 1;
        if *bit == flipped.len() * 8 {
            self.frame = None;
        }
        self.sent += 1;
        Attack::Send { frame: flipped, meta }
    }
}
