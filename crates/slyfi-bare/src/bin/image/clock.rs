//! Time: the time-stamp counter, told how fast it runs by the timer chip, and the clock chip's date.

use crate::cpu::{in8, out8, tsc};
use slyfi_bare::exchange;
use slyfi_base::{Instant, Now, UnixTime};

/// The frequency of the 8254 timer, in Hz (14.31818 MHz / 12).
const PIT_HZ: u64 = 1_193_182;

/// How many of its ticks the counter is watched for at a time: 5 ms.
const PIT_TICKS: u16 = (PIT_HZ / 200) as u16;

/// The clock of a machine that has only its own chips.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    mhz: u64,
    origin: u64,
    wall_s: u64,
}

impl Clock {
    /// Measures the counter's speed, which takes 40 ms, and reads the date unless one is given.
    ///
    /// # Errors
    /// When the timer or the date is not there.
    pub fn new(time_s: Option<u64>) -> Result<Self, &'static str> {
        // Whatever holds this processor up, such as another guest, makes one measurement longer and
        // never shorter.
        let least = (0..8).filter_map(|_| measure_mhz()).min();
        let mhz = least.ok_or("no 8254 timer to measure the time-stamp counter with")?;
        let wall_s = match time_s {
            Some(given) => given,
            None => read_date().ok_or("the clock chip shows no date; give time=SECONDS")?,
        };
        Ok(Clock { mhz, origin: tsc(), wall_s })
    }

    /// Returns the counter's speed in MHz. Under an emulator that counts instructions it is 1000.
    pub const fn mhz(&self) -> u64 {
        self.mhz
    }

    /// Returns both clocks of SlyFi's machines.
    pub fn now(&mut self) -> Now {
        let us = exchange::Clock::nanos(self) / 1000;
        let mono = Instant::from_micros(us);
        Now { mono, wall: UnixTime::from_micros(self.wall_s * 1_000_000 + us) }
    }
}

impl exchange::Clock for Clock {
    fn nanos(&mut self) -> u64 {
        let ticks = u128::from(tsc() - self.origin);
        (ticks * 1000 / u128::from(self.mhz)) as u64
    }
}

/// Counts ticks of the counter over ticks of the timer's channel 2 (the speaker's, which nothing
/// else uses), rounded to whole MHz.
fn measure_mhz() -> Option<u64> {
    const GATE: u16 = 0x61;
    const CHANNEL_2: u16 = 0x42;
    const MODE: u16 = 0x43;
    const OUT: u8 = 0x20;
    // Gate off, speaker off; mode 0: the output rises when the count is through.
    let gate = in8(GATE) & !3;
    out8(GATE, gate);
    out8(MODE, 0b1011_0000);
    let [low, high] = PIT_TICKS.to_le_bytes();
    out8(CHANNEL_2, low);
    out8(CHANNEL_2, high);
    let begin = tsc();
    out8(GATE, gate | 1);
    // A machine without the chip reads constant bits: ten seconds of a fast counter are enough.
    while in8(GATE) & OUT == 0 {
        if tsc() - begin > 50_000_000_000 {
            return None;
        }
    }
    let ticks = tsc() - begin;
    out8(GATE, gate);
    let hz = ticks * PIT_HZ / u64::from(PIT_TICKS);
    let mhz = (hz + 500_000) / 1_000_000;
    (mhz > 0).then_some(mhz)
}

/// Reads the MC146818's date as seconds since 1970, UTC.
fn read_date() -> Option<u64> {
    // Reads that agree were not in the middle of a change.
    let mut last = read_fields();
    for _ in 0..1000 {
        let next = read_fields();
        if next == last {
            return seconds(next);
        }
        last = next;
    }
    None
}

/// Second, minute, hour, day, month, year of the century, and register B.
fn read_fields() -> [u8; 7] {
    [0x00, 0x02, 0x04, 0x07, 0x08, 0x09, 0x0b].map(|register| {
        out8(0x70, register);
        in8(0x71)
    })
}

fn seconds([second, minute, hour, day, month, year, b]: [u8; 7]) -> Option<u64> {
    let is_binary = b & 4 != 0;
    let number = |v: u8| u64::from(if is_binary { v } else { (v >> 4) * 10 + (v & 15) });
    let afternoon = b & 2 == 0 && hour & 0x80 != 0;
    let hour = match (b & 2 == 0, number(hour & 0x7f)) {
        (true, hour) => hour % 12 + if afternoon { 12 } else { 0 },
        (false, hour) => hour,
    };
    let (second, minute) = (number(second), number(minute));
    let (day, month, year) = (number(day), number(month), 2000 + number(year));
    let sane = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60;
    (sane && second < 61).then_some(())?;
    // Days since 1970 of the Gregorian calendar, years counted from March.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468;
    Some(days * 86_400 + hour * 3600 + minute * 60 + second)
}
