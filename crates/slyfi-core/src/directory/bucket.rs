use crate::pairing::{DAY_S, Pairing};
use alloc::vec::Vec;
use slyfi_base::UnixTime;
use zeroize::Zeroize;

/// A clock that goes back by less than this many seconds turns nothing back.
const JITTER_S: u64 = 2;

/// What pairings that turn at the same second have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BucketKey {
    pub(super) interval_s: u32,
    /// T0 modulo the interval.
    pub(super) phase_s: u32,
    pub(super) skew: u8,
}

impl BucketKey {
    pub(super) fn of(pairing: &Pairing) -> Self {
        let interval_s = pairing.interval_s();
        let phase_s = (pairing.t0_s() % u64::from(interval_s)) as u32;
        BucketKey { interval_s, phase_s, skew: pairing.skew() }
    }

    /// The bucket's own count of intervals, from its phase on.
    pub(super) fn tick_at(&self, wall_s: u64) -> i64 {
        let since = (wall_s as i64).wrapping_sub(self.phase_s.into());
        since.div_euclid(self.interval_s.into())
    }

    /// The second in which a tick begins.
    pub(super) fn begins(&self, tick: i64) -> u64 {
        let s = tick.saturating_mul(self.interval_s.into()).saturating_add(self.phase_s.into());
        u64::try_from(s).unwrap_or(0)
    }
}

/// The pairings that turn together. Their address keys lie side by side for the AES unit.
///
/// While a turn is under way, the members before `cursor` are at tick `to`, the others at `at`.
pub(super) struct Bucket {
    pub(super) key: BucketKey,
    pub(super) at: i64,
    pub(super) to: i64,
    pub(super) cursor: usize,
    pub(super) members: Vec<Member>,
    pub(super) keys: AddrKeys,
    /// When it stands in the directory's schedule.
    pub(super) due: Option<u64>,
}

/// A member's place in time.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) index: u32,
    /// Ticks between the bucket's phase and the pairing's T0.
    pub(super) offset: i64,
    /// The intervals `valid.0 .. valid.1` are on the day of the key beside it.
    pub(super) valid: (i64, i64),
}

impl Member {
    pub(super) fn new(index: u32, pairing: &Pairing) -> Self {
        let interval_s = u64::from(pairing.interval_s());
        let first = |day: u64| day.saturating_mul(DAY_S).div_ceil(interval_s) as i64;
        let day = u64::from(pairing.day());
        Member {
            index,
            offset: (pairing.t0_s() / interval_s) as i64,
            valid: (first(day), first(day + 1)),
        }
    }
}

impl Bucket {
    pub(super) fn new(key: BucketKey, wall: UnixTime) -> Self {
        let at = key.tick_at(wall.as_secs());
        let keys = AddrKeys::default();
        Bucket { key, at, to: at, cursor: 0, members: Vec::new(), keys, due: None }
    }

    /// The tick that the member at `position` is at.
    pub(super) fn tick_of(&self, position: usize) -> i64 {
        if position < self.cursor { self.to } else { self.at }
    }

    /// Whether a turn is under way.
    pub(super) fn is_turning(&self) -> bool {
        self.at != self.to
    }

    /// Whether the clock went back behind some member by more than jitter.
    pub(super) fn is_ahead(&self, wall: UnixTime) -> bool {
        self.key.tick_at(wall.as_secs().saturating_add(JITTER_S)) < self.at.max(self.to)
    }

    /// Takes a member out; calls `moved` with each other member's index and new position.
    pub(super) fn take(&mut self, position: usize, mut moved: impl FnMut(u32, u32)) {
        let mut hole = position;
        if hole < self.cursor {
            // The last of those that have turned fills the hole, so that they stay in front.
            self.cursor -= 1;
            self.swap(hole, self.cursor, &mut moved);
            hole = self.cursor;
        }
        let last = self.members.len() - 1;
        self.swap(hole, last, &mut moved);
        self.members.pop();
        self.keys.pop();
    }

    fn swap(&mut self, a: usize, b: usize, moved: &mut impl FnMut(u32, u32)) {
        if a == b {
            return;
        }
        self.members.swap(a, b);
        self.keys.0.swap(a, b);
        for position in [a, b] {
            moved(self.members[position].index, position as u32);
        }
    }
}

/// Address keys side by side. Grown by hand, because a vector that grows leaves a copy behind.
#[derive(Default)]
pub(super) struct AddrKeys(Vec<[u8; 16]>);

impl AddrKeys {
    pub(super) fn push(&mut self, key: &[u8; 16]) {
        if self.0.len() == self.0.capacity() {
            let mut larger = Vec::with_capacity((self.0.len() * 2).max(4));
            larger.extend_from_slice(&self.0);
            self.0.zeroize();
            self.0 = larger;
        }
        self.0.push(*key);
    }

    pub(super) fn set(&mut self, position: usize, key: &[u8; 16]) {
        self.0[position].copy_from_slice(key);
    }

    pub(super) fn as_slice(&self) -> &[[u8; 16]] {
        &self.0
    }

    fn pop(&mut self) {
        if let Some(last) = self.0.last_mut() {
            last.zeroize();
        }
        self.0.pop();
    }
}

impl Drop for AddrKeys {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}
