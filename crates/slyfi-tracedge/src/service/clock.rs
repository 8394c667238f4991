//! Whether the operator's clock may be believed.
//!
//! An operator whose clock is wrong harms itself: with a clock ahead it would publish the K of an
//! epoch that is not over, and sign states of the log that later look as if it had hidden the epochs
//! in between (docs/tracedge.md §8, unlogged).

use core::fmt;

use slyfi_base::Now;

use crate::head::CLOCK_SKEW;

/// Why the clock is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockError {
    /// It is this many seconds behind what it was when the store was last written.
    Behind(u64),
    /// It leapt by this many seconds, ahead or back, while the service was running.
    Leapt(u64),
}

impl fmt::Display for ClockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClockError::Behind(s) => write!(f, "this machine's clock is {s} s behind what it was"),
            ClockError::Leapt(s) => write!(f, "this machine's clock leapt by {s} s"),
        }
    }
}

impl ClockError {
    /// What mends it.
    pub const fn mend(&self) -> &'static str {
        match self {
            ClockError::Behind(_) => {
                "set the clock; if it is right and was ahead before, wait for as long"
            }
            ClockError::Leapt(_) => {
                "set the clock; if it is right now, it will be believed in five minutes"
            }
        }
    }
}

impl std::error::Error for ClockError {}

/// Compares the civil clock with the one that never leaps.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Civil time less monotonic time, seconds: what is believed.
    believed: Option<i64>,
    /// What the difference is instead, and since when (monotonic seconds).
    doubted: Option<(i64, u64)>,
}

impl Watch {
    /// Looks at the clocks.
    ///
    /// # Errors
    /// [`ClockError::Leapt`] for a leap of more than [`CLOCK_SKEW`], until the clock has gone on from
    /// there for as long.
    pub(super) fn look(&mut self, now: Now) -> Result<(), ClockError> {
        let seconds = |us: u64| us / 1_000_000;
        let (wall, mono) = (seconds(now.wall.as_micros()), seconds(now.mono.as_micros()));
        // Seconds of 64-bit microseconds: far from overflowing.
        let offset = wall as i64 - mono as i64;
        let near = |other: i64| offset.abs_diff(other) <= CLOCK_SKEW;
        if self.believed.is_none_or(near) {
            // Small steps are what keeps a clock right.
            (self.believed, self.doubted) = (Some(offset), None);
            return Ok(());
        }
        let since = match self.doubted {
            Some((there, since)) if near(there) => since,
            _ => mono,
        };
        if mono.saturating_sub(since) >= CLOCK_SKEW {
            (self.believed, self.doubted) = (Some(offset), None);
            return Ok(());
        }
        self.doubted = Some((offset, since));
        Err(ClockError::Leapt(self.believed.map_or(0, |believed| offset.abs_diff(believed))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slyfi_base::{Instant, UnixTime};

    fn at(wall: u64, mono: u64) -> Now {
        let us = |s: u64| s * 1_000_000;
        Now { wall: UnixTime::from_micros(us(wall)), mono: Instant::from_micros(us(mono)) }
    }

    #[test]
    fn a_leap_is_believed_when_the_clock_has_gone_on_from_there() {
        for leap in [301i64, -301, 86_400 * 365] {
            let mut watch = Watch::default();
            let wall = |mono: u64| 1_800_000_000 + mono;
            let leapt = |mono: u64| wall(mono).saturating_add_signed(leap);
            assert_eq!(watch.look(at(wall(0), 0)), Ok(()));
            let told = Err(ClockError::Leapt(leap.unsigned_abs()));
            assert_eq!(watch.look(at(leapt(20), 20)), told);
            assert_eq!(watch.look(at(leapt(319), 319)), told);
            assert_eq!(watch.look(at(leapt(320), 320)), Ok(()));
            // Set right in between, it begins anew.
            let mut watch = Watch::default();
            assert_eq!(watch.look(at(wall(0), 0)), Ok(()));
            assert_eq!(watch.look(at(leapt(20), 20)), told);
            assert_eq!(watch.look(at(wall(40), 40)), Ok(()));
            assert_eq!(watch.look(at(leapt(330), 330)), told);
        }
    }

    #[test]
    fn small_steps_and_a_machine_that_slept_are_believed() {
        let mut watch = Watch::default();
        for (wall, mono) in [(1_000, 0), (1_300, 10), (1_010, 20), (1_010 + 86_400, 20 + 86_400)] {
            assert_eq!(watch.look(at(wall, mono)), Ok(()), "{wall} {mono}");
        }
    }
}
