//! The daemon's log: levels, a stamp from the event loop's clock, and nothing private unless asked.
//!
//! A small logger of its own instead of a framework, because the promise "keys, addresses and names
//! stay out of the log" has to be checked in one file: a line can only show a private value through
//! [`Logger::name`] or [`Logger::address`], and keys have no way in at all.

use slyfi_base::UnixTime;
use std::fmt;
use std::io::Write;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Level {
    /// The daemon cannot go on.
    Error,
    /// Something needs a person.
    Warn,
    /// Links come and go.
    #[default]
    Info,
    /// Every phase and every command.
    Debug,
    /// Every frame, by length and outcome.
    Trace,
}

impl Level {
    /// Returns the name used in the configuration and in the log.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warn => "warn",
            Level::Info => "info",
            Level::Debug => "debug",
            Level::Trace => "trace",
        }
    }

    /// Returns the syslog severity (RFC 5424 §6.2.1) that the journal reads from `<n>`.
    const fn severity(self) -> u8 {
        match self {
            Level::Error => 3,
            Level::Warn => 4,
            Level::Info => 6,
            Level::Debug | Level::Trace => 7,
        }
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        [Level::Error, Level::Warn, Level::Info, Level::Debug, Level::Trace]
            .into_iter()
            .find(|l| l.name() == s)
            .ok_or_else(|| {
                format!("unknown level `{s}`, expected error, warn, info, debug or trace")
            })
    }
}

/// Which private values a log line may show. Keys are not among them: only the key log has keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Reveal {
    /// Nothing private.
    #[default]
    None,
    /// Network names and the labels of pairings.
    Names,
    /// Hardware and IP addresses of hosts.
    Addresses,
    /// Names and addresses.
    All,
}

impl Reveal {
    /// Returns the name used in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Reveal::None => "none",
            Reveal::Names => "names",
            Reveal::Addresses => "addresses",
            Reveal::All => "all",
        }
    }
}

impl FromStr for Reveal {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        [Reveal::None, Reveal::Names, Reveal::Addresses, Reveal::All]
            .into_iter()
            .find(|r| r.name() == s)
            .ok_or_else(|| format!("unknown choice `{s}`, expected none, names, addresses or all"))
    }
}

/// How a line begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prefix {
    /// Date and time from the event loop's clock.
    Stamp,
    /// A severity for the journal, which stamps lines itself.
    Journal,
}

struct Shared {
    level: Level,
    reveal: Reveal,
    prefix: Prefix,
    wall: AtomicU64,
    sink: Mutex<Box<dyn Write + Send>>,
}

/// Where log lines go. Clones share the sink.
#[derive(Clone)]
pub struct Logger(Arc<Shared>);

impl fmt::Debug for Logger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logger").field("level", &self.0.level).finish_non_exhaustive()
    }
}

impl Logger {
    /// Makes a logger that writes to `sink`.
    pub fn new(level: Level, reveal: Reveal, sink: Box<dyn Write + Send>) -> Self {
        Logger::with_prefix(level, reveal, Prefix::Stamp, sink)
    }

    /// Makes a logger on standard error, without stamps where the journal adds its own.
    pub fn stderr(level: Level, reveal: Reveal) -> Self {
        // systemd sets this variable for services whose standard error is the journal
        // (systemd.exec(5), "Environment Variables Set by the Service Manager").
        let journal = std::env::var_os("JOURNAL_STREAM").is_some();
        let prefix = if journal { Prefix::Journal } else { Prefix::Stamp };
        Logger::with_prefix(level, reveal, prefix, Box::new(std::io::stderr()))
    }

    /// Makes a logger that says nothing.
    pub fn silent() -> Self {
        Logger::new(Level::Error, Reveal::None, Box::new(std::io::sink()))
    }

    fn with_prefix(
        level: Level,
        reveal: Reveal,
        prefix: Prefix,
        sink: Box<dyn Write + Send>,
    ) -> Self {
        let wall = AtomicU64::new(0);
        Logger(Arc::new(Shared { level, reveal, prefix, wall, sink: Mutex::new(sink) }))
    }

    /// Tells the logger the time; the event loop is the only one who knows it.
    pub fn set_time(&self, wall: UnixTime) {
        self.0.wall.store(wall.as_micros(), Ordering::Relaxed);
    }

    /// Returns whether lines of `level` are written.
    pub fn enabled(&self, level: Level) -> bool {
        level <= self.0.level
    }

    /// Returns a name as the log may show it.
    pub fn name<T: fmt::Display>(&self, value: T) -> Private<T> {
        Private { value, shown: matches!(self.0.reveal, Reveal::Names | Reveal::All) }
    }

    /// Returns an address as the log may show it.
    pub fn address<T: fmt::Display>(&self, value: T) -> Private<T> {
        Private { value, shown: matches!(self.0.reveal, Reveal::Addresses | Reveal::All) }
    }

    /// Writes one line.
    pub fn log(&self, level: Level, line: fmt::Arguments<'_>) {
        if !self.enabled(level) {
            return;
        }
        let mut sink = self.0.sink.lock().unwrap_or_else(PoisonError::into_inner);
        // A log that cannot be written has nowhere to complain; the daemon goes on.
        let _ = match self.0.prefix {
            Prefix::Journal => writeln!(sink, "<{}>{line}", level.severity()),
            Prefix::Stamp => {
                let stamp = Stamp(UnixTime::from_micros(self.0.wall.load(Ordering::Relaxed)));
                writeln!(sink, "{stamp} {:<5} {line}", level.name())
            }
        };
        let _ = sink.flush();
    }
}

/// A value that prints itself only where the log was told to reveal it.
pub struct Private<T> {
    value: T,
    shown: bool,
}

impl<T: fmt::Display> fmt::Display for Private<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.shown { self.value.fmt(f) } else { f.write_str("<hidden>") }
    }
}

/// Civil time as `2026-11-21T20:16:45.123Z` (RFC 3339).
pub struct Stamp(pub UnixTime);

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_micros() / 1_000;
        let (days, ms) = (ms / 86_400_000, ms % 86_400_000);
        let (year, month, day) = civil_from_days(days);
        let (h, m, s, ms) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60, ms % 1_000);
        write!(f, "{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{ms:03}Z")
    }
}

/// Turns days since 1970-01-01 into year, month and day of the proleptic Gregorian calendar.
///
/// Counted in 400-year eras that begin on 1 March, so that the leap day is the last day of a year.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    const ERA: u64 = 146_097;
    let z = days + 719_468;
    let (era, doe) = (z / ERA, z % ERA);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / (ERA - 1)) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (era * 400 + yoe + u64::from(month <= 2), month, doy - (153 * mp + 2) / 5 + 1)
}

/// Logs what a person has to act on.
#[macro_export]
macro_rules! warn {
    ($log:expr, $($arg:tt)*) => { $log.log($crate::logging::Level::Warn, format_args!($($arg)*)) };
}

/// Logs what ends the daemon.
#[macro_export]
macro_rules! error {
    ($log:expr, $($arg:tt)*) => { $log.log($crate::logging::Level::Error, format_args!($($arg)*)) };
}

/// Logs that links come and go.
#[macro_export]
macro_rules! info {
    ($log:expr, $($arg:tt)*) => { $log.log($crate::logging::Level::Info, format_args!($($arg)*)) };
}

/// Logs phases and commands.
#[macro_export]
macro_rules! debug {
    ($log:expr, $($arg:tt)*) => { $log.log($crate::logging::Level::Debug, format_args!($($arg)*)) };
}

/// Logs every frame; the arguments are only evaluated when the level is on.
#[macro_export]
macro_rules! trace {
    ($log:expr, $($arg:tt)*) => {
        if $log.enabled($crate::logging::Level::Trace) {
            $log.log($crate::logging::Level::Trace, format_args!($($arg)*))
        }
    };
}

/// A sink that tests read back.
#[derive(Clone, Default)]
pub struct Recorder(Arc<Mutex<Vec<u8>>>);

impl Recorder {
    /// Returns everything written so far.
    pub fn contents(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Write for Recorder {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(level: Level, reveal: Reveal) -> String {
        let sink = Recorder::default();
        let log = Logger::new(level, reveal, Box::new(sink.clone()));
        log.set_time(UnixTime::from_micros(1_795_292_205_123_000));
        info!(log, "host {} in {}", log.address("10.0.0.1"), log.name("home"));
        debug!(log, "detail");
        String::from_utf8(sink.contents()).unwrap()
    }

    #[test]
    fn hides_names_and_addresses_unless_asked() {
        let hidden = logged(Level::Info, Reveal::None);
        assert_eq!(hidden, "2026-11-21T20:16:45.123Z info  host <hidden> in <hidden>\n");
        assert!(logged(Level::Info, Reveal::All).contains("host 10.0.0.1 in home"));
        assert!(logged(Level::Info, Reveal::Names).contains("host <hidden> in home"));
        assert!(logged(Level::Info, Reveal::Addresses).contains("host 10.0.0.1 in <hidden>"));
    }

    #[test]
    fn levels_filter() {
        assert!(!logged(Level::Info, Reveal::None).contains("detail"));
        assert!(logged(Level::Debug, Reveal::None).contains("detail"));
        assert_eq!(logged(Level::Warn, Reveal::None), "");
    }

    #[test]
    fn stamps_follow_the_calendar() {
        for (s, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(Stamp(UnixTime::from_secs(s)).to_string(), text);
        }
    }

    #[test]
    fn names_of_levels_parse_and_others_do_not() {
        assert_eq!("debug".parse(), Ok(Level::Debug));
        assert!("verbose".parse::<Level>().is_err());
        assert_eq!("all".parse(), Ok(Reveal::All));
        assert!("yes".parse::<Reveal>().is_err());
    }
}
