//! The countermeasures against guessing Michael codes (IEEE 802.11-2020 §12.5.2.4).

use slyfi_base::{Duration, Instant};

/// Two failures within this time stop the network, for as long again (§12.5.2.4.1: 60 s).
pub const PERIOD: Duration = Duration::from_secs(60);

/// What the host must do after a Michael failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// The first in a while: log it; a station reports it to its access point.
    Report,
    /// The second within [`PERIOD`]: drop every TKIP key and neither send nor receive under TKIP until
    /// this instant; then everybody takes a new handshake.
    ShutDown {
        /// When it is over.
        until: Instant,
    },
}

/// The record of Michael failures of one device.
///
/// # Security
/// Anybody who replays a frame on another TID's counter can cause two failures a minute, and so stop
/// the network without a key.
#[derive(Clone, Copy, Debug, Default)]
pub struct Countermeasures {
    last_failure: Option<Instant>,
    blocked_until: Option<Instant>,
}

impl Countermeasures {
    /// Records a Michael failure (of a frame whose ICV and counter were right) at `now`.
    pub fn on_failure(&mut self, now: Instant) -> Consequence {
        let second =
            self.last_failure.and_then(|t| now.checked_since(t)).is_some_and(|d| d < PERIOD);
        self.last_failure = Some(now);
        if !second {
            return Consequence::Report;
        }
        let until = now + PERIOD;
        self.blocked_until = Some(until);
        Consequence::ShutDown { until }
    }

    /// Returns whether TKIP is shut down at `now`.
    pub fn is_shut_down(&self, now: Instant) -> bool {
        self.blocked_until.is_some_and(|until| now < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(s)
    }

    #[test]
    fn two_failures_within_a_minute_shut_down_for_a_minute() {
        let mut c = Countermeasures::default();
        assert_eq!(c.on_failure(at(100)), Consequence::Report);
        assert!(!c.is_shut_down(at(100)));
        assert_eq!(c.on_failure(at(159)), Consequence::ShutDown { until: at(219) });
        assert!(c.is_shut_down(at(159)) && c.is_shut_down(at(218)) && !c.is_shut_down(at(219)));
    }

    #[test]
    fn failures_a_minute_apart_are_only_reported() {
        let mut c = Countermeasures::default();
        for s in [0, 60, 120, 200] {
            assert_eq!(c.on_failure(at(s)), Consequence::Report);
            assert!(!c.is_shut_down(at(s)));
        }
    }
}
