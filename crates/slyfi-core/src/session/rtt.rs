//! Round-trip time and retransmission time-out, as RFC 6298 §2 estimates them.

use slyfi_base::Duration;

/// The estimator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rtt {
    smoothed_us: u64,
    variation_us: u64,
    measured: bool,
    backoff: u32,
}

/// The time-out before anything was measured.
const INITIAL: Duration = Duration::from_millis(100);

/// The shortest time-out: above an acknowledgement's delay and a busy channel's queue.
const MIN: Duration = Duration::from_millis(20);

/// The longest time-out, backed off.
const MAX: Duration = Duration::from_millis(400);

impl Rtt {
    pub(super) fn new() -> Self {
        Rtt { smoothed_us: 0, variation_us: 0, measured: false, backoff: 0 }
    }

    /// Takes a measurement of a packet that was sent only once (Karn's rule, RFC 6298 §3).
    pub(super) fn measure(&mut self, d: Duration) {
        let us = d.as_micros();
        if self.measured {
            self.variation_us = (3 * self.variation_us + self.smoothed_us.abs_diff(us)) / 4;
            self.smoothed_us = (7 * self.smoothed_us + us) / 8;
        } else {
            self.smoothed_us = us;
            self.variation_us = us / 2;
            self.measured = true;
        }
    }

    /// Doubles the time-out, after one expired (RFC 6298 §5.5).
    pub(super) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }

    /// Takes the doubling back: the peer is there.
    pub(super) fn restore(&mut self) {
        self.backoff = 0;
    }

    pub(super) fn timeout(&self) -> Duration {
        let base = if self.measured {
            Duration::from_micros(self.smoothed_us + 4 * self.variation_us).max(MIN)
        } else {
            INITIAL
        };
        base.saturating_mul(1 << self.backoff).min(MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_double_and_come_back() {
        let mut r = Rtt::new();
        assert_eq!(r.timeout(), INITIAL);
        r.measure(Duration::from_millis(40));
        assert_eq!(r.timeout(), Duration::from_millis(120));
        r.back_off();
        assert_eq!(r.timeout(), Duration::from_millis(240));
        for _ in 0..20 {
            r.back_off();
        }
        assert_eq!(r.timeout(), MAX);
        r.restore();
        for _ in 0..50 {
            r.measure(Duration::from_micros(300));
        }
        assert_eq!(r.timeout(), MIN);
    }
}
