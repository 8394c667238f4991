//! The two clocks of the machine, read together.

use slyfi_base::{Duration, Instant, Now, UnixTime};
use std::io;

/// Reads the machine's clocks.
///
/// The monotonic one is `CLOCK_BOOTTIME`: it goes on while the machine sleeps, so that keys and
/// sessions grow old in a closed laptop too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    offset_us: i64,
}

impl Clock {
    /// A clock that tells the machine's own time.
    pub const fn new() -> Self {
        Clock { offset_us: 0 }
    }

    /// A clock whose civil time is `offset_us` microseconds ahead of the machine's (behind, if
    /// negative). Tests of wrong clocks use it, and hosts whose clock may not be set.
    pub const fn with_offset(offset_us: i64) -> Self {
        Clock { offset_us }
    }

    /// Returns the time.
    pub fn now(&self) -> Now {
        Now {
            mono: Instant::from_micros(micros(libc::CLOCK_BOOTTIME)),
            wall: UnixTime::from_micros(micros(libc::CLOCK_REALTIME)).shifted(self.offset_us),
        }
    }
}

/// Reads one clock, in microseconds.
fn micros(clock: libc::clockid_t) -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a writable `struct timespec`.
    let ret = unsafe { libc::clock_gettime(clock, &mut t) };
    // Both clocks are in every Linux since 2.6.39, and the pointer is good: no other error exists.
    assert_eq!(ret, 0, "clock_gettime refused a clock that every Linux has");
    // A time before 1970 counts as 1970: it is wrong for every use either way.
    t.tv_sec.max(0) as u64 * 1_000_000 + t.tv_nsec as u64 / 1_000
}

/// Whether something (NTP, PTP) disciplines the machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncState {
    /// The kernel has been told that the clock is right.
    Synchronized {
        /// The most that it can be wrong by, in the disciplining program's belief.
        max_error: Duration,
    },
    /// Nothing disciplines the clock, or it has lost its source. It may be right all the same.
    Unsynchronized,
}

impl SyncState {
    /// Asks the kernel (`adjtimex`, which needs no rights to read).
    ///
    /// # Errors
    /// The system's; some containers forbid the call.
    pub fn read() -> io::Result<Self> {
        // SAFETY: all zeros is a value of this structure of integers; `modes` = 0 only reads.
        let mut t = unsafe { std::mem::zeroed::<libc::timex>() };
        // SAFETY: `t` is a writable `struct timex`.
        let state = crate::socket::check(unsafe { libc::adjtimex(&mut t) })?;
        if state == libc::TIME_ERROR || t.status & libc::STA_UNSYNC != 0 {
            return Ok(SyncState::Unsynchronized);
        }
        let max_error = Duration::from_micros(t.maxerror.max(0) as u64);
        Ok(SyncState::Synchronized { max_error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn civil_time_is_the_standard_librarys() {
        let std_now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let ours = Clock::new().now().wall;
        let ahead = ours.offset_from(UnixTime::from_micros(std_now.as_micros() as u64));
        assert!((0..5_000_000).contains(&ahead), "{ahead} µs apart");
    }

    #[test]
    fn an_offset_moves_civil_time_only() {
        let (true_clock, hour_ahead) = (Clock::new(), Clock::with_offset(3_600_000_000));
        let (a, b) = (true_clock.now(), hour_ahead.now());
        assert!(b.mono.saturating_since(a.mono).as_secs() < 5);
        let ahead = b.wall.offset_from(a.wall);
        assert!((3_600_000_000..3_605_000_000).contains(&ahead));
        let behind = Clock::with_offset(-3_600_000_000).now().wall.offset_from(a.wall);
        assert!((-3_600_000_000..-3_595_000_000).contains(&behind));
    }

    #[test]
    fn monotonic_time_does_not_go_back() {
        let clock = Clock::new();
        let mut last = clock.now().mono;
        for _ in 0..10_000 {
            let now = clock.now().mono;
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn the_kernel_says_whether_the_clock_is_disciplined() {
        match SyncState::read() {
            Ok(SyncState::Synchronized { max_error }) => assert!(max_error.as_secs() < 3600),
            Ok(SyncState::Unsynchronized) => {}
            Err(e) => assert_eq!(e.raw_os_error(), Some(libc::EPERM), "{e}"),
        }
    }
}
