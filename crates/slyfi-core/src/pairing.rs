//! Pairings: what a client and a network keep of each other between links.
//!
//! # Layout
//! A stored pairing ([`Pairing::encode`]), integers big-endian:
//!
//! | bytes | field |
//! |---|---|
//! | 1 | version, 1 |
//! | 1 | suite ([`Suite::to_byte`]) |
//! | 8 | id, random |
//! | 8 | T0, seconds since 1970 |
//! | 4 | interval I, seconds |
//! | 1 | skew k |
//! | 4 | day of the keys |
//! | 1 | kind: 0 member, 1 invite |
//! | 8 | invite: when it expires, seconds since 1970; member: 0 |
//! | 1 + n | length and bytes of the network's name |
//! | 48 or 32 | keys client → access point: `2008` k_addr ‖ k_enc ‖ k_mac, `aead` the day secret |
//! | 48 or 32 | keys access point → client |

mod keys;
mod name;
mod stored;

pub(crate) use keys::{AddressKeys, sha1_128};
pub use keys::{Direction, TrystKeys};
pub use name::NetworkName;
pub use stored::Damaged;

use crate::suite::Suite;
use keys::DirectionKeys;
use slyfi_base::{Duration, SecureRandom, UnixTime};

/// Seconds in a day of the ratchet (slyfi-2008 §4.1).
pub const DAY_S: u64 = 86_400;

/// The interval unless a pairing says otherwise: 5 minutes (slyfi-2008 §5.3).
pub const DEFAULT_INTERVAL: Duration = Duration::from_secs(300);

/// The skew k unless a pairing says otherwise.
pub const DEFAULT_SKEW: u8 = 1;

/// The largest skew k.
pub const MAX_SKEW: u8 = 16;

/// How many days forward keys are computed: a century. A clock beyond that is wrong, and must not
/// cost more than this many hashes.
pub const MAX_DAYS: u32 = 36_525;

/// A client's place in a network: who, since when, and the Tryst keys of both directions.
///
/// Stored keys are of one day and only move forward ([`Pairing::advance`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairing {
    id: [u8; 8],
    network: NetworkName,
    suite: Suite,
    t0_s: u64,
    interval_s: u32,
    skew: u8,
    day: u32,
    kind: Kind,
    up: DirectionKeys,
    down: DirectionKeys,
}

/// What a pairing entitles to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A link.
    Member,
    /// One enrolment, until the invite expires.
    Invite {
        /// When.
        expires: UnixTime,
    },
}

/// What a new pairing is made with, apart from its keys.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The network it is for.
    pub network: NetworkName,
    /// The cryptography.
    pub suite: Suite,
    /// T0, whole seconds. A peer whose clock is behind T0 cannot be heard, so it should lie at least
    /// k + 1 intervals before the clock of whoever makes the pairing.
    pub t0: UnixTime,
    /// The interval I, whole seconds, from 1 s to a day.
    pub interval: Duration,
    /// The skew k, at most [`MAX_SKEW`]: `[i−k, i+k]` is kept (slyfi-2008 §4.1).
    pub skew: u8,
    /// What it entitles to.
    pub kind: Kind,
}

/// The terms make no sense: the interval or the skew is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange;

/// Why there are no keys for an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoKeys {
    /// There is no such pairing.
    NoPairing,
    /// The wanted interval lies on a day whose keys have been erased: the clock went back too far.
    Erased,
    /// The wanted interval lies before T0.
    BeforeT0,
    /// More than [`MAX_DAYS`] ahead of the stored keys.
    TooFarAhead,
}

impl Terms {
    /// Returns terms with the paper's interval and skew.
    pub fn new(network: NetworkName, suite: Suite, t0: UnixTime, kind: Kind) -> Self {
        Terms { network, suite, t0, interval: DEFAULT_INTERVAL, skew: DEFAULT_SKEW, kind }
    }
}

impl Pairing {
    /// Makes a pairing with a random id and random keys of day 0.
    ///
    /// # Errors
    /// [`OutOfRange`].
    pub fn generate<R: SecureRandom + ?Sized>(
        terms: &Terms,
        rng: &mut R,
    ) -> Result<Self, OutOfRange> {
        let mut id = [0; 8];
        rng.fill(&mut id);
        let up = DirectionKeys::random(terms.suite, rng);
        let down = DirectionKeys::random(terms.suite, rng);
        Pairing::assemble(terms, id, up, down)
    }

    /// Makes a pairing of suite `aead` from the day-0 secrets of both directions.
    ///
    /// # Errors
    /// [`OutOfRange`], also if the suite is `2008`.
    pub fn from_day_secrets(
        terms: &Terms,
        id: [u8; 8],
        up: &crate::keys::Key256,
        down: &crate::keys::Key256,
    ) -> Result<Self, OutOfRange> {
        if !terms.suite.is_aead() {
            return Err(OutOfRange);
        }
        let keys = |secret: &crate::keys::Key256| DirectionKeys::Aead(secret.clone());
        Pairing::assemble(terms, id, keys(up), keys(down))
    }

    /// Makes a pairing of suite `2008` from the day-0 keys of both directions.
    ///
    /// # Errors
    /// [`OutOfRange`], also if the suite is not `2008`.
    pub fn from_keys_2008(
        terms: &Terms,
        id: [u8; 8],
        up: &TrystKeys,
        down: &TrystKeys,
    ) -> Result<Self, OutOfRange> {
        if terms.suite.is_aead() {
            return Err(OutOfRange);
        }
        let keys = |keys: &TrystKeys| DirectionKeys::S2008(keys.clone());
        Pairing::assemble(terms, id, keys(up), keys(down))
    }

    fn assemble(
        terms: &Terms,
        id: [u8; 8],
        up: DirectionKeys,
        down: DirectionKeys,
    ) -> Result<Self, OutOfRange> {
        let interval_s = u32::try_from(terms.interval.as_secs()).map_err(|_| OutOfRange)?;
        let whole = terms.interval == Duration::from_secs(interval_s.into());
        if !whole || !valid(interval_s, terms.skew) {
            return Err(OutOfRange);
        }
        Ok(Pairing {
            id,
            network: terms.network.clone(),
            suite: terms.suite,
            t0_s: terms.t0.as_secs(),
            interval_s,
            skew: terms.skew,
            day: 0,
            kind: terms.kind,
            up,
            down,
        })
    }

    /// Returns the random id that both sides know the pairing by. Never on the air in the clear.
    pub const fn id(&self) -> &[u8; 8] {
        &self.id
    }

    /// Returns the network's name.
    pub const fn network(&self) -> &NetworkName {
        &self.network
    }

    /// Returns the suite.
    pub const fn suite(&self) -> Suite {
        self.suite
    }

    /// Returns T0.
    pub const fn t0(&self) -> UnixTime {
        UnixTime::from_secs(self.t0_s)
    }

    /// Returns the interval I.
    pub const fn interval(&self) -> Duration {
        Duration::from_secs(self.interval_s as u64)
    }

    /// Returns the skew k.
    pub const fn skew(&self) -> u8 {
        self.skew
    }

    /// Returns the day, counted from T0, that the stored keys are of.
    pub const fn day(&self) -> u32 {
        self.day
    }

    /// Returns what the pairing entitles to.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the interval that `wall` lies in, `⌊(T − T0) / I⌋`; negative before T0.
    pub fn interval_at(&self, wall: UnixTime) -> i64 {
        // Whole seconds suffice: T0 and I are whole seconds.
        let since = (wall.as_secs() as i64).wrapping_sub(self.t0_s as i64);
        since.div_euclid(i64::from(self.interval_s))
    }

    /// Returns when `interval` begins.
    pub fn begins(&self, interval: u64) -> UnixTime {
        let after = interval.saturating_mul(self.interval_s.into());
        UnixTime::from_secs(self.t0_s.saturating_add(after))
    }

    /// Returns when a receiver stops keeping the addresses of `interval`: when `i − k` passes it.
    pub fn expires(&self, interval: u64) -> UnixTime {
        self.begins(interval.saturating_add(u64::from(self.skew) + 1))
    }

    /// Returns the day in which `interval` begins, counted from T0 (slyfi-2008 §4.1).
    pub const fn day_of(&self, interval: u64) -> u64 {
        day_of(interval, self.interval_s)
    }

    /// Returns the day that stored keys may be advanced to at `wall`: that of interval `i − k`.
    pub fn due_day(&self, wall: UnixTime) -> u32 {
        let oldest = self.interval_at(wall) - i64::from(self.skew);
        let day = u64::try_from(oldest).map_or(0, |i| self.day_of(i));
        u32::try_from(day).unwrap_or(u32::MAX)
    }

    /// Advances the keys of both directions to `to_day`, overwriting those of the days before.
    /// Returns whether anything changed: a day that has passed stays passed.
    ///
    /// # Errors
    /// [`NoKeys::TooFarAhead`]; nothing is changed then.
    pub fn advance(&mut self, to_day: u32) -> Result<bool, NoKeys> {
        if to_day <= self.day {
            return Ok(false);
        }
        let steps = to_day - self.day;
        if steps > MAX_DAYS {
            return Err(NoKeys::TooFarAhead);
        }
        for _ in 0..steps {
            self.up.ratchet();
            self.down.ratchet();
        }
        self.day = to_day;
        Ok(true)
    }

    /// Returns the Tryst keys of one direction for `interval`.
    ///
    /// # Errors
    /// [`NoKeys`]: that day's keys are erased, or it is absurdly far ahead.
    pub fn tryst_keys(&self, direction: Direction, interval: u64) -> Result<TrystKeys, NoKeys> {
        let keys = self.direction(direction);
        match self.steps_to(interval)? {
            0 => Ok(keys.expand()),
            steps => {
                let mut keys = keys.clone();
                (0..steps).for_each(|_| keys.ratchet());
                Ok(keys.expand())
            }
        }
    }

    /// Returns the address keys of one direction, from the stored day on.
    pub(crate) fn address_keys(&self, direction: Direction) -> AddressKeys {
        let day = self.day.into();
        let last_day = day + u64::from(MAX_DAYS);
        AddressKeys { keys: self.direction(direction).clone(), day, last_day }
    }

    /// Days from the stored keys' day to that of `interval`.
    fn steps_to(&self, interval: u64) -> Result<u32, NoKeys> {
        let ahead = self.day_of(interval).checked_sub(self.day.into()).ok_or(NoKeys::Erased)?;
        u32::try_from(ahead).ok().filter(|n| *n <= MAX_DAYS).ok_or(NoKeys::TooFarAhead)
    }

    fn direction(&self, direction: Direction) -> &DirectionKeys {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    pub(crate) const fn interval_s(&self) -> u32 {
        self.interval_s
    }

    pub(crate) const fn t0_s(&self) -> u64 {
        self.t0_s
    }
}

/// `⌊i · I / 86400⌋`.
pub(crate) const fn day_of(interval: u64, interval_s: u32) -> u64 {
    interval.saturating_mul(interval_s as u64) / DAY_S
}

const fn valid(interval_s: u32, skew: u8) -> bool {
    interval_s >= 1 && interval_s as u64 <= DAY_S && skew <= MAX_SKEW
}

#[cfg(test)]
mod tests;
