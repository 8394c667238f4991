//! The base key pair and its hops (§II: "one key for the uplink and the other key for the downlink",
//! unchanged for a Time Duration that both nodes know).

use crate::handshake::Kdf;
use slyfi_base::{Duration, UnixTime};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the station to the access point.
    Uplink,
    /// From the access point to the station.
    Downlink,
}

impl Direction {
    /// Returns the opposite.
    pub const fn other(self) -> Self {
        match self {
            Direction::Uplink => Direction::Downlink,
            Direction::Downlink => Direction::Uplink,
        }
    }
}

/// A base key pair. Zeroised on drop.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct BaseKeyPair {
    uplink: [u8; 16],
    downlink: [u8; 16],
}

impl core::fmt::Debug for BaseKeyPair {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("BaseKeyPair(..)")
    }
}

impl BaseKeyPair {
    /// Takes the two keys.
    ///
    /// # Security
    /// The two must differ, and two pairs of nodes must not share one: the keystream depends on
    /// nothing else.
    pub const fn new(uplink: [u8; 16], downlink: [u8; 16]) -> Self {
        BaseKeyPair { uplink, downlink }
    }

    pub(super) const fn key(&self, direction: Direction) -> &[u8; 16] {
        match direction {
            Direction::Uplink => &self.uplink,
            Direction::Downlink => &self.downlink,
        }
    }
}

/// A schedule of base key pairs for one pair of nodes. Zeroised on drop.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct KeySchedule {
    master: [u8; 32],
    #[zeroize(skip)]
    station: [u8; 6],
    #[zeroize(skip)]
    access_point: [u8; 6],
    #[zeroize(skip)]
    start: UnixTime,
    #[zeroize(skip)]
    time_duration: Duration,
}

impl core::fmt::Debug for KeySchedule {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("KeySchedule(..)")
    }
}

impl KeySchedule {
    /// Base key pairs change every `time_duration` from `start` on; `None` for a duration of zero.
    pub fn new(
        master: [u8; 32],
        station: [u8; 6],
        access_point: [u8; 6],
        start: UnixTime,
        time_duration: Duration,
    ) -> Option<Self> {
        let nonzero = time_duration > Duration::ZERO;
        nonzero.then_some(KeySchedule { master, station, access_point, start, time_duration })
    }

    fn hop_at(&self, now: UnixTime) -> u32 {
        let since = now.as_micros().saturating_sub(self.start.as_micros());
        u32::try_from(since / self.time_duration.as_micros()).unwrap_or(u32::MAX)
    }

    /// The addresses take part, so that pairs of nodes with one master do not share a keystream.
    fn pair(&self, hop: u32) -> BaseKeyPair {
        let mut out = [0; 32];
        let context: [&[u8]; 3] = [&self.station, &self.access_point, &hop.to_be_bytes()];
        Kdf::Sha256.derive(&self.master, "SBKH base key pair", &context, &mut out);
        let pair = BaseKeyPair::new(
            core::array::from_fn(|i| out[i]),
            core::array::from_fn(|i| out[16 + i]),
        );
        out.zeroize();
        pair
    }
}

/// Where base key pairs come from.
#[derive(Clone, Debug)]
pub enum BaseKeys {
    /// One pair, for ever: the paper's static key.
    Fixed(BaseKeyPair),
    /// A pair for each Time Duration.
    Scheduled(KeySchedule),
}

impl BaseKeys {
    /// Returns which pair is due at `now`.
    pub fn hop_at(&self, now: UnixTime) -> u32 {
        match self {
            BaseKeys::Fixed(_) => 0,
            BaseKeys::Scheduled(schedule) => schedule.hop_at(now),
        }
    }

    /// Returns whether there is such a hop. Of a fixed pair there is one: under another number its
    /// keystream would begin again.
    pub(super) const fn has(&self, hop: u32) -> bool {
        match self {
            BaseKeys::Fixed(_) => hop == 0,
            BaseKeys::Scheduled(_) => true,
        }
    }

    /// Returns the pair of a hop.
    pub(super) fn pair(&self, hop: u32) -> BaseKeyPair {
        match self {
            BaseKeys::Fixed(pair) => pair.clone(),
            BaseKeys::Scheduled(schedule) => schedule.pair(hop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_follow_the_time_duration_and_each_has_its_own_keys() {
        let schedule = |station| {
            let start = UnixTime::from_secs(1000);
            KeySchedule::new([7; 32], station, [9; 6], start, Duration::from_secs(60)).unwrap()
        };
        let s = schedule([1; 6]);
        for (t, hop) in [(0, 0), (1000, 0), (1059, 0), (1060, 1), (1000 + 60 * 77, 77)] {
            assert_eq!(s.hop_at(UnixTime::from_secs(t)), hop);
        }
        assert_eq!(s.hop_at(UnixTime::from_micros(u64::MAX)), u32::MAX);
        assert!(s.pair(1) != s.pair(2) && s.pair(1).uplink != s.pair(1).downlink);
        assert!(s.pair(1) != schedule([2; 6]).pair(1), "another station, other keys");
        let start = UnixTime::from_secs(0);
        assert!(KeySchedule::new([7; 32], [1; 6], [9; 6], start, Duration::ZERO).is_none());
    }
}
