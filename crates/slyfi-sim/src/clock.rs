//! A node's two clocks, as wrong as the scenario wants them.

use slyfi_base::{Duration, Instant, Now, UnixTime};

/// The clocks of one node: the true time of the simulation in, that node's [`Now`] out.
#[derive(Clone, Debug)]
pub struct NodeClock {
    epoch: UnixTime,
    /// What the wall clock is off by, in microseconds; steps add to it.
    offset: i64,
    /// Drift of both clocks in parts per million.
    ppm: i32,
}

impl NodeClock {
    /// Makes a clock that shows `epoch` plus `offset` microseconds at the start of the simulation
    /// and gains `ppm` microseconds a second (at most 100 000 either way).
    pub fn new(epoch: UnixTime, offset: i64, ppm: i32) -> Self {
        NodeClock { epoch, offset, ppm: ppm.clamp(-100_000, 100_000) }
    }

    /// Returns what the node reads at the true time `t`.
    pub fn now(&self, t: Instant) -> Now {
        let mono = self.local(t.as_micros());
        Now {
            mono: Instant::from_micros(mono),
            wall: (self.epoch + Duration::from_micros(mono)).shifted(self.offset),
        }
    }

    /// Returns the first true time at which the node's monotonic clock shows `local` or more.
    pub fn true_time(&self, local: Instant) -> Instant {
        let want = local.as_micros();
        if self.ppm == 0 {
            return local;
        }
        let mut t = (i128::from(want) * 1_000_000 / (1_000_000 + i128::from(self.ppm))) as u64;
        // The division is off by at most a few microseconds; walk to the exact one.
        while self.local(t) < want {
            t += 1;
        }
        while t > 0 && self.local(t - 1) >= want {
            t -= 1;
        }
        Instant::from_micros(t)
    }

    /// Steps the wall clock by `us` microseconds (NTP, a user).
    pub fn step(&mut self, us: i64) {
        self.offset = self.offset.saturating_add(us);
    }

    fn local(&self, t: u64) -> u64 {
        if self.ppm == 0 {
            return t;
        }
        let drift = i128::from(t) * i128::from(self.ppm) / 1_000_000;
        (i128::from(t) + drift) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_clock_shows_the_true_time() {
        let c = NodeClock::new(UnixTime::from_secs(1000), 0, 0);
        let now = c.now(Instant::from_micros(5_000_000));
        assert_eq!(now.mono, Instant::from_micros(5_000_000));
        assert_eq!(now.wall, UnixTime::from_secs(1005));
    }

    #[test]
    fn drift_offset_and_step_add_up() {
        let mut c = NodeClock::new(UnixTime::from_secs(1000), -240_000_000, 50);
        let t = Instant::from_micros(100_000_000);
        assert_eq!(c.now(t).mono.as_micros(), 100_005_000);
        assert_eq!(c.now(t).wall.as_micros(), 1_000_000_000 + 100_005_000 - 240_000_000);
        c.step(1_000_000);
        assert_eq!(c.now(t).wall.as_micros(), 1_000_000_000 + 100_005_000 - 239_000_000);
        assert_eq!(c.now(t).mono.as_micros(), 100_005_000, "a step leaves the monotonic clock");
    }

    #[test]
    fn timers_fire_at_the_first_true_microsecond_and_not_before() {
        for ppm in [-100_000, -37, 0, 1, 40, 99_999] {
            let c = NodeClock::new(UnixTime::from_secs(0), 0, ppm);
            for want in [0, 1, 999, 1_000_000, 123_456_789] {
                let t = c.true_time(Instant::from_micros(want));
                assert!(c.now(t).mono.as_micros() >= want);
                if let Some(before) = t.as_micros().checked_sub(1) {
                    assert!(c.now(Instant::from_micros(before)).mono.as_micros() < want);
                }
            }
        }
    }
}
