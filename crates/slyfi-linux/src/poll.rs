//! Waiting for sockets, for a deadline and for other threads: a minimal epoll.

use slyfi_base::{Duration, Instant};
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use crate::socket::check;

/// Events that one wait returns at most; the rest comes with the next.
const EVENTS: usize = 64;

/// `struct __kernel_timespec`: 64 bits each, on 32-bit machines too.
#[repr(C)]
struct KernelTimespec {
    seconds: i64,
    nanoseconds: i64,
}

/// What a caller calls a registered descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token(pub u64);

/// What to wait for on a descriptor. Hang-ups and errors are always reported, as readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// There is something to read.
    Read,
    /// There is room to write.
    Write,
    /// Either.
    ReadWrite,
}

/// A descriptor that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Which.
    pub token: Token,
    /// Reading will not find it empty, or will find out what is wrong with it.
    pub readable: bool,
    /// Writing will find room.
    pub writable: bool,
}

/// A set of descriptors to wait for. Level-triggered: what is not drained is reported again.
#[derive(Debug)]
pub struct Poll {
    epoll: OwnedFd,
    ready: Vec<Ready>,
}

impl Poll {
    /// Makes an empty set.
    ///
    /// # Errors
    /// The system's, when it has no descriptors left.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: the kernel just returned this descriptor, and nobody else knows it.
        let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Poll { epoll, ready: Vec::with_capacity(EVENTS) })
    }

    /// Adds a descriptor. It leaves the set when its last duplicate is closed, or by
    /// [`Poll::remove`].
    ///
    /// # Errors
    /// `EEXIST` when it is in the set already.
    pub fn add(&self, fd: impl AsFd, token: Token, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd.as_fd(), token, interest)
    }

    /// Changes what a descriptor is waited for.
    ///
    /// # Errors
    /// `ENOENT` when it is not in the set.
    pub fn modify(&self, fd: impl AsFd, token: Token, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd.as_fd(), token, interest)
    }

    /// Takes a descriptor out.
    ///
    /// # Errors
    /// `ENOENT` when it is not in the set.
    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd.as_fd(), Token(0), Interest::Read)
    }

    fn control(
        &self,
        operation: libc::c_int,
        fd: BorrowedFd<'_>,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        let events = match interest {
            Interest::Read => libc::EPOLLIN,
            Interest::Write => libc::EPOLLOUT,
            Interest::ReadWrite => libc::EPOLLIN | libc::EPOLLOUT,
        };
        let mut event = libc::epoll_event { events: events as u32, u64: token.0 };
        // SAFETY: `event` is readable; both descriptors are open.
        check(unsafe {
            libc::epoll_ctl(self.epoll.as_raw_fd(), operation, fd.as_raw_fd(), &mut event)
        })?;
        Ok(())
    }

    /// Waits until a descriptor is ready or `deadline` has come (for ever, if `None`), and returns
    /// which are ready: none, when it was the deadline or a signal.
    ///
    /// Time that the machine sleeps does not count for the kernel's wait, though it does for
    /// [`crate::Clock`]; a deadline that passed meanwhile is served that much late.
    ///
    /// # Errors
    /// The system's; none is foreseen.
    pub fn wait(&mut self, now: Instant, deadline: Option<Instant>) -> io::Result<&[Ready]> {
        let left = deadline.map(|d| d.saturating_since(now));
        // SAFETY: all zeros is a value of this structure of integers.
        let mut events: [libc::epoll_event; EVENTS] = unsafe { zeroed() };
        let n = match check(self.wait_for(&mut events, left)) {
            Ok(n) => n as usize,
            Err(e) if e.raw_os_error() == Some(libc::EINTR) => 0,
            Err(e) => return Err(e),
        };
        self.ready.clear();
        self.ready.extend(events[..n].iter().map(|event| {
            let flags = event.events as libc::c_int;
            let trouble = flags & (libc::EPOLLERR | libc::EPOLLHUP) != 0;
            Ready {
                token: Token(event.u64),
                readable: flags & libc::EPOLLIN != 0 || trouble,
                writable: flags & libc::EPOLLOUT != 0,
            }
        }));
        Ok(&self.ready)
    }

    /// Waits with microseconds where the kernel can (5.11 and later), with milliseconds rounded up
    /// where it cannot: waking early would spin until the deadline.
    fn wait_for(&self, events: &mut [libc::epoll_event], left: Option<Duration>) -> libc::c_int {
        let fd = self.epoll.as_raw_fd();
        let pointer = events.as_mut_ptr();
        let count = events.len() as libc::c_int;
        let us = left.map(Duration::as_micros);
        let timespec = us.map(|us| KernelTimespec {
            seconds: (us / 1_000_000).cast_signed(),
            nanoseconds: (us % 1_000_000).cast_signed() * 1_000,
        });
        let timespec = timespec.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let no_mask = std::ptr::null::<libc::sigset_t>();
        // SAFETY: `pointer` is to `count` writable events, `timespec` is null or readable, and a
        // null mask leaves the thread's as it is (its size is then not looked at).
        let n = unsafe {
            libc::syscall(libc::SYS_epoll_pwait2, fd, pointer, count, timespec, no_mask, 0usize)
        };
        if n >= 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ENOSYS) {
            return n as libc::c_int;
        }
        let longest = libc::c_int::MAX.cast_unsigned().into();
        let ms = us.map_or(-1, |us| us.div_ceil(1_000).min(longest) as libc::c_int);
        // SAFETY: as above.
        unsafe { libc::epoll_wait(fd, pointer, count, ms) }
    }
}

/// Wakes a [`Poll`] from another thread.
///
/// Clones are the same bell. Rings between two waits count as one.
#[derive(Clone, Debug)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Makes a bell; [`Poll::add`] it for reading.
    ///
    /// # Errors
    /// The system's, when it has no descriptors left.
    pub fn new() -> io::Result<Self> {
        Ok(Waker(Arc::new(event_fd()?)))
    }

    /// Rings.
    pub fn wake(&self) {
        ring(self.0.as_raw_fd());
    }

    /// Returns whether it has rung since the last call, and silences it.
    pub fn take(&self) -> bool {
        silence(self.0.as_fd())
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Makes a non-blocking event counter.
pub(crate) fn event_fd() -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed.
    let fd = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
    // SAFETY: the kernel just returned this descriptor, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Adds one to an event counter. Safe to call from a signal handler.
pub(crate) fn ring(fd: libc::c_int) {
    let one = 1u64;
    // The only failure is a counter that is full, and then it has rung.
    // SAFETY: the pointer is to eight readable bytes; `write` is async-signal-safe.
    let _ = unsafe { libc::write(fd, std::ptr::from_ref(&one).cast(), 8) };
}

/// Sets an event counter to zero and returns whether it was more.
pub(crate) fn silence(fd: BorrowedFd<'_>) -> bool {
    let mut count = 0u64;
    // SAFETY: the pointer is to eight writable bytes.
    let n = unsafe { libc::read(fd.as_raw_fd(), std::ptr::from_mut(&mut count).cast(), 8) };
    n == 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clock;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_deadline_ends_the_wait_and_not_before_its_time() {
        let (clock, mut poll) = (Clock::new(), Poll::new().unwrap());
        for us in [0, 300, 2_500, 20_000] {
            let now = clock.now().mono;
            let deadline = now + Duration::from_micros(us);
            assert!(poll.wait(now, Some(deadline)).unwrap().is_empty());
            assert!(clock.now().mono >= deadline, "{us} µs");
        }
        // A deadline that has passed does not wait at all.
        let now = clock.now().mono;
        assert!(poll.wait(now, Some(Instant::ZERO)).unwrap().is_empty());
    }

    #[test]
    fn reports_what_is_ready_by_its_token_until_it_is_drained() {
        use std::io::{Read, Write};
        let (mut a, mut b) = UnixStream::pair().unwrap();
        let mut poll = Poll::new().unwrap();
        let now = Clock::new().now().mono;
        poll.add(&b, Token(7), Interest::Read).unwrap();
        assert!(poll.add(&b, Token(8), Interest::Read).is_err(), "twice");
        assert!(poll.wait(now, Some(now)).unwrap().is_empty());
        a.write_all(b"x").unwrap();
        let expected = Ready { token: Token(7), readable: true, writable: false };
        assert_eq!(poll.wait(now, Some(now)).unwrap(), [expected]);
        assert_eq!(poll.wait(now, Some(now)).unwrap(), [expected], "level-triggered");
        b.read_exact(&mut [0]).unwrap();
        assert!(poll.wait(now, Some(now)).unwrap().is_empty());
        poll.modify(&b, Token(9), Interest::ReadWrite).unwrap();
        let expected = Ready { token: Token(9), readable: false, writable: true };
        assert_eq!(poll.wait(now, Some(now)).unwrap(), [expected]);
        poll.remove(&b).unwrap();
        assert!(poll.remove(&b).is_err());
        assert!(poll.wait(now, Some(now)).unwrap().is_empty());
    }

    #[test]
    fn a_hang_up_is_readable() {
        let (a, b) = UnixStream::pair().unwrap();
        let mut poll = Poll::new().unwrap();
        poll.add(&b, Token(1), Interest::Write).unwrap();
        drop(a);
        assert!(poll.wait(Instant::ZERO, None).unwrap()[0].readable);
    }

    #[test]
    fn another_thread_can_wake_it() {
        let (waker, mut poll) = (Waker::new().unwrap(), Poll::new().unwrap());
        poll.add(&waker, Token(3), Interest::Read).unwrap();
        assert!(!waker.take());
        let bell = waker.clone();
        let thread = std::thread::spawn(move || (0..5).for_each(|_| bell.wake()));
        assert_eq!(poll.wait(Instant::ZERO, None).unwrap()[0].token, Token(3));
        thread.join().unwrap();
        assert!(waker.take());
        assert!(!waker.take(), "five rings are one");
    }
}
