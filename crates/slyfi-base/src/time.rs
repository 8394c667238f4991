//! Time as the machines see it: integers, handed in, never read.

/// The two clocks of one call: `mono` orders and times, `wall` is what Tryst's intervals count.
///
/// The host reads both at the same moment. `mono` never goes back between calls to one machine;
/// `wall` may step in either direction (NTP, a user), and the machines cope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Monotonic time.
    pub mono: Instant,
    /// This node's belief about civil time.
    pub wall: UnixTime,
}

impl Now {
    /// Returns the same two clocks `d` later.
    pub fn later(self, d: Duration) -> Self {
        Now { mono: self.mono + d, wall: self.wall + d }
    }
}

/// A point on a monotonic clock, in microseconds since an arbitrary origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// The origin of the clock.
    pub const ZERO: Instant = Instant(0);

    /// Returns the instant `us` microseconds after the origin.
    pub const fn from_micros(us: u64) -> Self {
        Instant(us)
    }

    /// Returns the microseconds since the origin.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Returns the time from `earlier` to `self`, or `None` if `earlier` is the later of the two.
    pub const fn checked_since(self, earlier: Instant) -> Option<Duration> {
        match self.0.checked_sub(earlier.0) {
            Some(us) => Some(Duration(us)),
            None => None,
        }
    }

    /// Returns the time from `earlier` to `self`, zero if `earlier` is the later of the two.
    pub const fn saturating_since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl core::ops::Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, d: Duration) -> Instant {
        Instant(self.0.saturating_add(d.0))
    }
}

/// A span of time in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);

    /// Returns a span of `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Duration(us)
    }

    /// Returns a span of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Duration(ms.saturating_mul(1_000))
    }

    /// Returns a span of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Duration(s.saturating_mul(1_000_000))
    }

    /// Returns the span in whole microseconds.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Returns the span in whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000
    }

    /// Returns the span in whole seconds, rounded down.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Returns the span `n` times over, saturating.
    pub const fn saturating_mul(self, n: u64) -> Self {
        Duration(self.0.saturating_mul(n))
    }
}

impl core::ops::Add for Duration {
    type Output = Duration;
    fn add(self, d: Duration) -> Duration {
        Duration(self.0.saturating_add(d.0))
    }
}

/// Civil time in microseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UnixTime(u64);

impl UnixTime {
    /// Returns the time `us` microseconds after the epoch.
    pub const fn from_micros(us: u64) -> Self {
        UnixTime(us)
    }

    /// Returns the time `s` seconds after the epoch.
    pub const fn from_secs(s: u64) -> Self {
        UnixTime(s.saturating_mul(1_000_000))
    }

    /// Returns the microseconds since the epoch.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Returns the whole seconds since the epoch, rounded down.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Returns `self - other` in microseconds, negative if `other` is the later.
    pub const fn offset_from(self, other: UnixTime) -> i64 {
        // Both fit 63 bits for the next 290 000 years, so the difference is exact.
        self.0.wrapping_sub(other.0) as i64
    }

    /// Returns this time moved by `us` microseconds, saturating at both ends.
    pub const fn shifted(self, us: i64) -> Self {
        UnixTime(self.0.saturating_add_signed(us))
    }
}

impl core::ops::Add<Duration> for UnixTime {
    type Output = UnixTime;
    fn add(self, d: Duration) -> UnixTime {
        UnixTime(self.0.saturating_add(d.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reversed_time_is_none_and_never_a_large_span() {
        let (early, late) = (Instant::from_micros(5), Instant::from_micros(9));
        assert_eq!(late.checked_since(early), Some(Duration::from_micros(4)));
        assert_eq!(early.checked_since(late), None);
        assert_eq!(early.saturating_since(late), Duration::ZERO);
    }

    #[test]
    fn civil_time_offsets_are_signed() {
        let (a, b) = (UnixTime::from_secs(10), UnixTime::from_secs(13));
        assert_eq!(a.offset_from(b), -3_000_000);
        assert_eq!(b.shifted(a.offset_from(b)), a);
        assert_eq!(UnixTime::from_secs(0).shifted(-1), UnixTime::from_secs(0));
    }
}
