//! Floods of frames that no key ever made.

use super::{Adversary, Attack};
use crate::SimRng;
use slyfi_base::{Duration, Instant, Now, RxMeta, TxMeta};
use slyfi_wire::carrier;

/// What the flood consists of; all three take the same time on the air for the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Junk {
    /// A valid carrier around random bytes: every receiver has to look the address up.
    Carrier,
    /// Ordinary 802.11 data frames between other stations, which end at the first bytes.
    Foreign,
    /// Energy without a frame: what the same load costs in air time alone.
    Noise,
}

/// Sends junk at a constant rate.
#[derive(Debug)]
pub struct JunkFlooder {
    junk: Junk,
    len: usize,
    interval: Duration,
    meta: TxMeta,
    next_at: Instant,
    until: Instant,
    sent: u64,
    rng: SimRng,
}

impl JunkFlooder {
    /// Makes a flood of frames of `len` bytes, one each `interval`, from `since` to `until` of its
    /// clock. What its radio's queue does not take is not sent later.
    pub fn new(
        junk: Junk,
        len: usize,
        interval: Duration,
        meta: TxMeta,
        (since, until): (Instant, Instant),
        rng: SimRng,
    ) -> Self {
        let len = len.clamp(carrier::MIN_FRAME, carrier::MAX_FRAME);
        JunkFlooder { junk, len, interval, meta, next_at: since, until, sent: 0, rng }
    }

    /// Returns how many frames were handed to the radio.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    fn frame(&mut self) -> Vec<u8> {
        let mut frame = vec![0; self.len];
        self.rng.fill_bytes(&mut frame);
        if self.junk == Junk::Foreign {
            // Data frame, to the distribution system, between two stations that are not here.
            frame[..4].copy_from_slice(&[0x08, 0x01, 0, 0]);
            frame[4..10].copy_from_slice(&[0x03, 0x10, 0x20, 0x30, 0x40, 0x50]);
            frame[10..16].copy_from_slice(&[0x02, 0x10, 0x20, 0x30, 0x40, 0x51]);
        } else {
            frame[..carrier::HEADER_LEN].copy_from_slice(&carrier::HEADER);
        }
        frame
    }
}

impl Adversary for JunkFlooder {
    fn hear(&mut self, _now: Now, _meta: RxMeta, _frame: &[u8]) {}

    fn poll_attack(&mut self, now: Now, room: usize) -> Attack {
        while self.next_at <= now.mono && self.next_at < self.until {
            self.next_at = self.next_at + self.interval.max(Duration::from_micros(1));
            if room == 0 {
                continue;
            }
            self.sent += 1;
            if self.junk == Junk::Noise {
                return Attack::Noise { span: crate::dcf::airtime(self.len, self.meta.rate) };
            }
            return Attack::Send { frame: self.frame(), meta: self.meta };
        }
        Attack::Wait((self.next_at < self.until).then_some(self.next_at))
    }
}
