//! TKIP as a link cipher: counters, replays, countermeasures.

use super::countermeasures::{Consequence, Countermeasures};
use super::key::{Refused, TkipKey};
use super::mixing::Ttak;
use crate::packet::{KeyId, PacketNumber, protected_whole};
use crate::replay::{Lane, ReplayCounters};
use slyfi_base::{
    Exhausted, Instant, LinkCipher, OpenHalf, Opened, Overhead, SealHalf, Undecryptable,
};
use slyfi_wire::ieee80211::MacHeader;

/// A TKIP key as a link cipher.
#[derive(Clone, Debug)]
pub struct Tkip {
    key: TkipKey,
    key_id: KeyId,
}

impl Tkip {
    /// A fresh key: numbers begin at 1.
    pub const fn new(key: TkipKey, key_id: KeyId) -> Self {
        Tkip { key, key_id }
    }
}

impl LinkCipher for Tkip {
    const OVERHEAD: Overhead = TkipKey::OVERHEAD;
    type Seal = TkipSeal;
    type Open = TkipOpen;

    fn split(self) -> (TkipSeal, TkipOpen) {
        let Tkip { key, key_id } = self;
        let seal =
            TkipSeal { key: key.clone(), key_id, last: PacketNumber::default(), phase1: None };
        let open = TkipOpen {
            key,
            key_id,
            received: ReplayCounters::default(),
            countermeasures: Countermeasures::default(),
            now: Instant::ZERO,
            consequence: None,
        };
        (seal, open)
    }
}

/// The sending half. Phase 1 of the mixing is kept for the 2¹⁶ numbers that share it.
#[derive(Clone, Debug)]
pub struct TkipSeal {
    key: TkipKey,
    key_id: KeyId,
    last: PacketNumber,
    phase1: Option<([u8; 6], u64, Ttak)>,
}

impl TkipSeal {
    /// Goes on after `last`, the highest number this key ever sealed with.
    #[must_use]
    pub fn resumed(mut self, last: PacketNumber) -> Self {
        self.last = last;
        self
    }

    /// Returns the number of the last frame sealed.
    pub const fn last_number(&self) -> PacketNumber {
        self.last
    }
}

impl SealHalf for TkipSeal {
    /// Also [`Exhausted`], and no number is spent, when `header` is no whole data frame's or `buf`
    /// has no room.
    fn seal(&mut self, header: &[u8], buf: &mut [u8], len: usize) -> Result<usize, Exhausted> {
        let number = self.last.next().ok_or(Exhausted)?;
        let mac = MacHeader::new_checked(header).map_err(|_| Exhausted)?;
        let transmitter = mac.addr2().ok_or(Exhausted)?.0;
        let upper = number.get() >> 16;
        let ttak = match &self.phase1 {
            Some((a, u, ttak)) if *a == transmitter && *u == upper => ttak,
            _ => {
                let ttak = self.key.phase1(transmitter, number);
                &self.phase1.insert((transmitter, upper, ttak)).2
            }
        };
        let sealed =
            self.key.seal_at(ttak, number, self.key_id, header, buf, len).ok_or(Exhausted)?;
        self.last = number;
        Ok(sealed)
    }
}

/// The receiving half.
///
/// The host says what time it is with [`TkipOpen::advance_to`] and asks after each refused frame
/// whether countermeasures are due with [`TkipOpen::take_consequence`].
#[derive(Clone, Debug)]
pub struct TkipOpen {
    key: TkipKey,
    key_id: KeyId,
    received: ReplayCounters,
    countermeasures: Countermeasures,
    now: Instant,
    consequence: Option<Consequence>,
}

impl TkipOpen {
    /// Refuses every number up to `number`: a group key comes with the one that its sender is at.
    #[must_use]
    pub const fn starting_at(mut self, number: PacketNumber) -> Self {
        self.received = ReplayCounters::starting_at(number);
        self
    }

    /// Tells the time at which the next frames arrive.
    pub fn advance_to(&mut self, now: Instant) {
        self.now = now.max(self.now);
    }

    /// Returns what the last Michael failure asks of the host, once.
    pub fn take_consequence(&mut self) -> Option<Consequence> {
        self.consequence.take()
    }

    /// Returns whether the countermeasures have shut TKIP down; everything is refused then.
    pub fn is_shut_down(&self) -> bool {
        self.countermeasures.is_shut_down(self.now)
    }
}

impl OpenHalf for TkipOpen {
    /// The order is the standard's (§12.5.2.6): counter, ICV, Michael; only then the counter moves.
    fn open(&mut self, header: &[u8], buf: &mut [u8]) -> Result<Opened, Undecryptable> {
        let mac = protected_whole(header)?;
        let lane = Lane::of(&mac);
        let (number, key_id) = TkipKey::parse_header(buf).ok_or(Undecryptable)?;
        if self.is_shut_down() || key_id != self.key_id || !self.received.is_new(lane, number) {
            return Err(Undecryptable);
        }
        match self.key.open_any(header, buf) {
            Ok(packet) => {
                self.received.accept(lane, packet.number);
                Ok(packet.opened)
            }
            Err(refused) => {
                if refused == Refused::Michael {
                    self.consequence = Some(self.countermeasures.on_failure(self.now));
                }
                Err(Undecryptable)
            }
        }
    }
}
