//! Signals as something to poll for.

use crate::poll::{event_fd, ring, silence};
use crate::socket::check;
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, Ordering};

/// A signal that a daemon answers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGHUP: read the configuration again.
    Hangup,
    /// SIGINT: leave.
    Interrupt,
    /// SIGTERM: leave.
    Terminate,
}

impl Signal {
    const ALL: [Signal; 3] = [Signal::Hangup, Signal::Interrupt, Signal::Terminate];

    const fn number(self) -> libc::c_int {
        match self {
            Signal::Hangup => libc::SIGHUP,
            Signal::Interrupt => libc::SIGINT,
            Signal::Terminate => libc::SIGTERM,
        }
    }
}

/// Which signals have come and were not taken, a bit each.
static PENDING: AtomicU8 = AtomicU8::new(0);
/// The event counter that the handler rings. It lives as long as the process: a handler may still
/// be running when [`Signals`] is dropped.
static COUNTER: OnceLock<OwnedFd> = OnceLock::new();
/// The same, for the handler, which may only touch lock-free things.
static COUNTER_FD: AtomicI32 = AtomicI32::new(-1);
/// Whether there is a [`Signals`].
static IN_USE: AtomicBool = AtomicBool::new(false);

extern "C" fn handler(number: libc::c_int) {
    if let Some(i) = Signal::ALL.iter().position(|s| s.number() == number) {
        // SAFETY: the location of this thread's errno, which the interrupted code may be using.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: as above.
        let saved = unsafe { *errno };
        PENDING.fetch_or(1 << i, Ordering::SeqCst);
        ring(COUNTER_FD.load(Ordering::SeqCst));
        // SAFETY: as above.
        unsafe { *errno = saved };
    }
}

/// Catches SIGHUP, SIGINT and SIGTERM; [`crate::Poll::add`] it for reading.
///
/// Handlers, not a signalfd: a mask of blocked signals would be inherited by hooks and leave them
/// deaf, while handlers end with `exec`.
#[derive(Debug)]
pub struct Signals {
    counter: &'static OwnedFd,
    before: [SavedAction; Signal::ALL.len()],
}

#[derive(Clone, Copy)]
struct SavedAction(libc::sigaction);

impl std::fmt::Debug for SavedAction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SavedAction")
    }
}

impl Signals {
    /// Begins to catch. Until it is dropped, these signals do not end the process.
    ///
    /// # Errors
    /// `ErrorKind::ResourceBusy` when there is one already, or the system's.
    pub fn catch() -> io::Result<Self> {
        if IN_USE.swap(true, Ordering::SeqCst) {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        let caught = Self::install();
        if caught.is_err() {
            IN_USE.store(false, Ordering::SeqCst);
        }
        caught
    }

    fn install() -> io::Result<Self> {
        // `IN_USE` is held, so no other thread is here.
        let counter = match COUNTER.get() {
            Some(fd) => fd,
            None => {
                let fd = event_fd()?;
                COUNTER.get_or_init(|| fd)
            }
        };
        COUNTER_FD.store(counter.as_raw_fd(), Ordering::SeqCst);
        PENDING.store(0, Ordering::SeqCst);
        silence(counter.as_fd());
        // SAFETY: all zeros is a value of this structure: an empty mask, the default action.
        let mut action = unsafe { zeroed::<libc::sigaction>() };
        action.sa_sigaction = handler as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        let mut before = [SavedAction(action); Signal::ALL.len()];
        for (signal, before) in Signal::ALL.into_iter().zip(&mut before) {
            // SAFETY: both pointers are to whole structures; the handler is async-signal-safe (it
            // touches atomics, errno and `write`) and lives for ever.
            check(unsafe { libc::sigaction(signal.number(), &action, &mut before.0) })?;
        }
        Ok(Signals { counter, before })
    }

    /// Returns the signals that have come since the last call, each once.
    pub fn take(&self) -> impl Iterator<Item = Signal> + use<> {
        silence(self.counter.as_fd());
        let pending = PENDING.swap(0, Ordering::SeqCst);
        (0..Signal::ALL.len()).filter(move |i| pending & (1 << i) != 0).map(|i| Signal::ALL[i])
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (signal, before) in Signal::ALL.into_iter().zip(&self.before) {
            // SAFETY: the pointer is to what `sigaction` itself filled in.
            unsafe { libc::sigaction(signal.number(), &before.0, std::ptr::null_mut()) };
        }
        IN_USE.store(false, Ordering::SeqCst);
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.counter.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll::{Interest, Poll, Token};
    use slyfi_base::Instant;

    #[test]
    fn signals_are_caught_polled_for_and_taken_once() {
        let signals = Signals::catch().unwrap();
        assert!(Signals::catch().is_err(), "only one at a time");
        let mut poll = Poll::new().unwrap();
        poll.add(&signals, Token(1), Interest::Read).unwrap();
        assert!(poll.wait(Instant::ZERO, Some(Instant::ZERO)).unwrap().is_empty());
        for number in [libc::SIGTERM, libc::SIGHUP, libc::SIGHUP] {
            // SAFETY: `raise` only needs the number to be one; the handler is installed.
            assert_eq!(unsafe { libc::raise(number) }, 0);
        }
        assert_eq!(poll.wait(Instant::ZERO, None).unwrap()[0].token, Token(1));
        assert_eq!(signals.take().collect::<Vec<_>>(), [Signal::Hangup, Signal::Terminate]);
        assert_eq!(signals.take().next(), None);
        assert!(poll.wait(Instant::ZERO, Some(Instant::ZERO)).unwrap().is_empty());
        drop(signals);
        // What was there before is back: here, what this process began with.
        drop(Signals::catch().unwrap());
    }
}
