//! 802.11a's distributed coordination function: timing and one station's contention.
//!
//! ```text
//!   busy ──idle──▶ IFS ──▶ backoff slots (frozen while busy) ──▶ transmit ──▶ (ACK) ──▶ new backoff
//! ```

use crate::SimRng;
use slyfi_base::{Duration, Instant, Rate};

/// aSlotTime of the OFDM PHY at 20 MHz (IEEE 802.11-2020 Table 17-21), in microseconds.
pub const SLOT: u64 = 9;
/// aSIFSTime (Table 17-21), in microseconds.
pub const SIFS: u64 = 16;
/// DIFS = aSIFSTime + 2 × aSlotTime (10.3.7), in microseconds.
pub const DIFS: u64 = SIFS + 2 * SLOT;
/// aCWmin (Table 17-21).
pub const CW_MIN: u16 = 15;
/// aCWmax (Table 17-21).
pub const CW_MAX: u16 = 1023;
/// Preamble (16 µs) and SIGNAL symbol (4 µs) before the data symbols (17.3.2), in microseconds.
pub const PREAMBLE: u64 = 20;
/// Length of an OFDM symbol (Table 17-5), in microseconds.
pub const SYMBOL: u64 = 4;
/// Length of the frame check sequence (9.2.4.8), in bytes. Frames in this project come without it.
pub const FCS_LEN: usize = 4;
/// Length of an ACK frame without FCS (9.3.1.4), in bytes.
pub const ACK_LEN: usize = 10;
/// aRxPHYStartDelay at 20 MHz (Table 17-21), in microseconds.
pub const RX_START_DELAY: u64 = 20;
/// ACKTimeout (10.3.2.11): SIFS + slot + aRxPHYStartDelay, in microseconds.
pub const ACK_TIMEOUT: u64 = SIFS + SLOT + RX_START_DELAY;
/// aCCATime (17.4.4): a carrier younger than this is not sensed yet, in microseconds.
pub const CCA_TIME: u64 = 4;
/// Attempts for one unicast frame (dot11ShortRetryLimit's default, 10.3.4.4).
pub const RETRY_LIMIT: u8 = 7;
/// The rates of the OFDM PHY at 20 MHz (Table 17-4).
pub const RATES: [Rate; 8] =
    [Rate(12), Rate(18), Rate(24), Rate(36), Rate(48), Rate(72), Rate(96), Rate(108)];

/// Returns how long a frame of `len` bytes (FCS not counted, it is added) is on the air at `rate`.
///
/// `rate` is one of [`RATES`]; anything else is computed by the same formula.
///
/// # Source
/// IEEE 802.11-2020 17.4.3: TXTIME = 16 + 4 + 4 × ⌈(16 + 8 × LENGTH + 6) / N_DBPS⌉.
pub const fn airtime(len: usize, rate: Rate) -> Duration {
    // N_DBPS = 4 µs × rate; the unit of `Rate` is 500 kb/s.
    let bits_per_symbol = if rate.0 == 0 { 1 } else { rate.0 as u64 * 2 };
    let bits = 16 + 8 * (len + FCS_LEN) as u64 + 6;
    Duration::from_micros(PREAMBLE + SYMBOL * bits.div_ceil(bits_per_symbol))
}

/// Returns the rate of the ACK for a frame sent at `rate`: the highest mandatory rate (6, 12, 24 Mb/s)
/// that is not above it (10.6.6.5.2, 17.2.3.3).
pub const fn ack_rate(rate: Rate) -> Rate {
    match rate.0 {
        48.. => Rate(48),
        24.. => Rate(24),
        _ => Rate::BASE,
    }
}

/// EIFS = SIFS + airtime of an ACK at the lowest mandatory rate + DIFS (10.3.7), in microseconds.
pub const EIFS: u64 = SIFS + airtime(ACK_LEN, Rate::BASE).as_micros() + DIFS;

/// One station's view of the channel and its backoff.
#[derive(Clone, Debug)]
pub struct Contention {
    /// Transmissions sensed now, the own one included.
    sensed: u32,
    idle_since: Instant,
    /// Microseconds to wait after the channel went idle: [`DIFS`] or [`EIFS`].
    ifs: u64,
    nav: Instant,
    window: u16,
    slots: u64,
}

impl Contention {
    /// Makes the contention of a station that has sensed an idle channel since `at`.
    pub fn new(at: Instant) -> Self {
        Contention {
            sensed: 0,
            idle_since: at,
            ifs: DIFS,
            nav: Instant::ZERO,
            window: CW_MIN,
            slots: 0,
        }
    }

    /// Returns whether the channel is sensed busy.
    pub fn is_busy(&self) -> bool {
        self.sensed > 0
    }

    /// A transmission in range (or the own one) begins.
    pub fn on_begin(&mut self, now: Instant) {
        if self.sensed == 0
            && let Some(counted) = now.checked_since(self.counting_from())
        {
            self.slots = self.slots.saturating_sub(counted.as_micros() / SLOT);
        }
        self.sensed += 1;
    }

    /// A transmission in range (or the own one) ends; `damaged` when it was received with errors.
    pub fn on_end(&mut self, now: Instant, damaged: bool) {
        self.sensed = self.sensed.saturating_sub(1);
        if self.sensed == 0 {
            self.idle_since = now;
            self.ifs = if damaged { EIFS } else { DIFS };
        }
    }

    /// A received frame for another station reserves the medium until `until` (10.3.2.4).
    pub fn reserve(&mut self, until: Instant) {
        self.nav = self.nav.max(until);
    }

    /// A frame comes to an empty queue: a medium that is not idle for long enough means a backoff.
    pub fn on_arrival(&mut self, now: Instant, rng: &mut SimRng) {
        if self.slots == 0 && (self.is_busy() || now < self.counting_from()) {
            self.draw(rng);
        }
    }

    /// A frame exchange ended well (or was given up): the window shrinks and a backoff follows.
    pub fn on_done(&mut self, rng: &mut SimRng) {
        self.window = CW_MIN;
        self.draw(rng);
    }

    /// No ACK came: the window doubles and a backoff follows.
    pub fn on_failure(&mut self, rng: &mut SimRng) {
        self.window = (self.window * 2 + 1).min(CW_MAX);
        self.draw(rng);
    }

    /// Returns when a waiting frame may begin if nothing else does, `None` while busy.
    pub fn may_begin(&self, now: Instant) -> Option<Instant> {
        if self.is_busy() {
            return None;
        }
        let at = self.counting_from() + Duration::from_micros(self.slots * SLOT);
        Some(at.max(now))
    }

    /// The station begins its own frame: the backoff is used up.
    pub fn spend(&mut self) {
        self.slots = 0;
    }

    fn draw(&mut self, rng: &mut SimRng) {
        self.slots = rng.below(u64::from(self.window) + 1);
    }

    fn counting_from(&self) -> Instant {
        self.idle_since.max(self.nav) + Duration::from_micros(self.ifs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Instant {
        Instant::from_micros(us)
    }

    #[test]
    fn airtimes_are_those_computed_by_hand() {
        // LENGTH 1500 with FCS at 54 Mb/s: ⌈12022 / 216⌉ = 56 symbols.
        assert_eq!(airtime(1496, Rate::PEAK).as_micros(), 20 + 4 * 56);
        // 1500 + 4: ⌈12054 / 216⌉ = 56 symbols; the paper's "225" leaves the preamble out (§5.4).
        assert_eq!(airtime(1500, Rate::PEAK).as_micros(), 244);
        // The same at 6 Mb/s: ⌈12054 / 24⌉ = 503 symbols.
        assert_eq!(airtime(1500, Rate::BASE).as_micros(), 20 + 4 * 503);
        // ACK, 14 bytes with FCS: ⌈134 / 24⌉ = 6, ⌈134 / 48⌉ = 3, ⌈134 / 96⌉ = 2 symbols.
        assert_eq!(airtime(ACK_LEN, Rate(12)).as_micros(), 44);
        assert_eq!(airtime(ACK_LEN, Rate(24)).as_micros(), 32);
        assert_eq!(airtime(ACK_LEN, Rate(48)).as_micros(), 28);
        assert_eq!(EIFS, 94);
        assert_eq!(DIFS, 34);
    }

    #[test]
    fn a_symbol_more_starts_exactly_where_the_bits_overflow() {
        // 216 bits a symbol: 22 + 8 (len + 4) fits n symbols up to the byte.
        let fits = (216 * 10 - 22) / 8 - FCS_LEN;
        assert_eq!(airtime(fits, Rate::PEAK).as_micros(), 20 + 40);
        assert_eq!(airtime(fits + 1, Rate::PEAK).as_micros(), 20 + 44);
    }

    #[test]
    fn acks_use_the_mandatory_rate_below() {
        let rates: Vec<u8> = RATES.iter().map(|&r| ack_rate(r).0).collect();
        assert_eq!(rates, [12, 12, 24, 24, 48, 48, 48, 48]);
    }

    #[test]
    fn an_idle_medium_is_used_at_once_and_a_busy_one_after_backoff() {
        let mut rng = SimRng::new(1);
        let mut c = Contention::new(us(0));
        c.on_arrival(us(1000), &mut rng);
        assert_eq!(c.may_begin(us(1000)), Some(us(1000)));

        let mut c = Contention::new(us(0));
        c.on_begin(us(990));
        c.on_arrival(us(1000), &mut rng);
        assert_eq!(c.may_begin(us(1000)), None);
        c.on_end(us(1200), false);
        let at = c.may_begin(us(1200)).expect("idle").as_micros();
        let waited = at - 1200 - DIFS;
        assert!(waited <= 15 * SLOT && waited.is_multiple_of(SLOT), "{waited}");
    }

    #[test]
    fn backoff_freezes_while_busy_and_goes_on_where_it_was() {
        let mut c = Contention::new(us(0));
        c.slots = 10;
        // DIFS and 3 whole slots pass, then someone else sends for 500 µs.
        c.on_begin(us(DIFS + 3 * SLOT + 4));
        assert_eq!(c.slots, 7);
        c.on_end(us(1000), false);
        assert_eq!(c.may_begin(us(1000)), Some(us(1000 + DIFS + 7 * SLOT)));
        // A carrier inside the IFS takes no slot.
        c.on_begin(us(1000 + DIFS - 1));
        assert_eq!(c.slots, 7);
        c.on_end(us(2000), true);
        assert_eq!(c.may_begin(us(2000)), Some(us(2000 + EIFS + 7 * SLOT)));
        c.reserve(us(2300));
        assert_eq!(c.may_begin(us(2000)), Some(us(2300 + EIFS + 7 * SLOT)));
    }

    #[test]
    fn the_window_doubles_to_its_maximum_and_falls_back() {
        let mut rng = SimRng::new(2);
        let mut c = Contention::new(us(0));
        let windows: Vec<u16> = (0..8)
            .map(|_| {
                c.on_failure(&mut rng);
                assert!(c.slots <= u64::from(c.window));
                c.window
            })
            .collect();
        assert_eq!(windows, [31, 63, 127, 255, 511, 1023, 1023, 1023]);
        c.on_done(&mut rng);
        assert_eq!(c.window, CW_MIN);
        assert!(c.slots <= 15);
    }
}
