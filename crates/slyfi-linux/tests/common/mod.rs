//! Network namespaces for tests: each test gets one of its own, which is gone with the test.
#![allow(dead_code, reason = "each test file uses its own part")]

use slyfi_base::{Duration, Instant};
use slyfi_linux::{AdminState, Clock, Interest, Interface, Poll, Token, netconfig};
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Runs `test` in a fresh network namespace with `lo` up, or says loudly why it does not.
///
/// The namespace is that of a thread made for it, and of the programs which that thread starts. The
/// kernel takes it away, interfaces and all, when the thread and its sockets are gone: after a
/// failure too.
pub fn in_namespace(test: impl FnOnce() + Send + 'static) {
    if let Err(why) = try_in_namespace(test) {
        // Not `eprintln!`, which the test harness keeps to itself when a test passes.
        let test = std::thread::current().name().unwrap_or("test").to_owned();
        let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: {why}");
        assert!(std::env::var_os("CI").is_none(), "must not be skipped in CI: {why}");
    }
}

fn try_in_namespace(test: impl FnOnce() + Send + 'static) -> Result<(), String> {
    // SAFETY: no pointers are passed, and it cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Err("needs root".to_owned());
    }
    if !std::fs::exists("/dev/net/tun").unwrap_or(false) {
        return Err("needs /dev/net/tun".to_owned());
    }
    if Command::new("ip").arg("-V").output().is_err() {
        return Err("needs `ip` (iproute2)".to_owned());
    }
    // One after the other: a program that one test starts holds copies of another's descriptors for
    // a moment, and an interface with a copy left is busy.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let name = std::thread::current().name().map(str::to_owned);
    let thread = std::thread::Builder::new().name(name.unwrap_or_default()).spawn(|| {
        // SAFETY: no pointers are passed; it moves this thread only.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            return Err(format!("no new namespace: {}", std::io::Error::last_os_error()));
        }
        ip("link set lo up");
        test();
        Ok(())
    });
    match thread.expect("a thread").join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Runs `ip` with these arguments.
pub fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().expect("`ip`");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {arguments}: {errors}");
}

/// Two interfaces, `a` and `b`, joined by a wire and up.
pub fn wire() {
    ip("link add name a type veth peer name b");
    bring_up(&["a", "b"]);
}

/// Brings the two ends of a wire up and waits until packets get across.
///
/// The kernel notices a new carrier some time later (`net/core/link_watch.c`), and until then drops
/// what the interface is given to send, without a word.
pub fn bring_up(ends: &[&str; 2]) {
    for name in ends {
        netconfig::set_state(name, AdminState::Up).unwrap();
    }
    let sockets = ends.map(RawSocket::on);
    let mut call = [0xff; 60];
    call[12..14].copy_from_slice(&[0x88, 0xb6]);
    for (from, to) in [(0, 1), (1, 0)] {
        call[6..12].copy_from_slice(&[2, 0, 0, 0, 0, from as u8]);
        let mut tries = 0;
        let heard = || std::iter::from_fn(|| sockets[to].receive()).any(|p| p == call);
        while !heard() {
            sockets[from].send(&call);
            std::thread::sleep(std::time::Duration::from_millis(1));
            tries += 1;
            assert!(tries < 10_000, "nothing gets from {} to {}", ends[from], ends[to]);
        }
    }
}

/// Takes every right from this thread, as `drop_privileges` does from a process.
pub fn drop_thread_capabilities() {
    let (header, none) = ([0x2008_0522u32, 0], [0u32; 6]);
    // SAFETY: both arrays have the kernel's layout for this version (linux/capability.h).
    let code = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    assert_eq!(code, 0);
}

/// Calls `attempt` whenever `fd` has something, until it returns something or a second is over.
pub fn wait_for<T>(fd: BorrowedFd<'_>, mut attempt: impl FnMut(Instant) -> Option<T>) -> Option<T> {
    let (clock, mut poll) = (Clock::new(), Poll::new().unwrap());
    poll.add(fd, Token(0), Interest::Read).unwrap();
    let deadline = clock.now().mono + Duration::from_secs(1);
    loop {
        let now = clock.now().mono;
        if let Some(found) = attempt(now) {
            return Some(found);
        }
        if now >= deadline {
            return None;
        }
        poll.wait(now, Some(deadline)).unwrap();
    }
}

/// A raw packet socket that sends and sees everything on an interface.
pub struct RawSocket(OwnedFd);

impl RawSocket {
    pub fn on(interface: &str) -> Self {
        let index = Interface::by_name(interface).unwrap().index;
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let protocol = (libc::ETH_P_ALL as u16).to_be();
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::socket(libc::AF_PACKET, kind, protocol.into()) };
        assert!(fd >= 0);
        // SAFETY: the kernel just returned this descriptor, and nobody else knows it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: all zeros is a value of this structure of integers.
        let mut address = unsafe { std::mem::zeroed::<libc::sockaddr_ll>() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol;
        address.sll_ifindex = index.cast_signed();
        let len = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the pointer is to `len` readable bytes.
        let code = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len) };
        assert_eq!(code, 0);
        RawSocket(fd)
    }

    pub fn send(&self, packet: &[u8]) {
        // SAFETY: the pointer is to the packet's whole length.
        let n = unsafe { libc::send(self.0.as_raw_fd(), packet.as_ptr().cast(), packet.len(), 0) };
        assert_eq!(n, packet.len().cast_signed(), "{}", std::io::Error::last_os_error());
    }

    /// The next packet that the interface received or sent, if there is one now.
    pub fn receive(&self) -> Option<Vec<u8>> {
        let mut packet = vec![0u8; 9000];
        // SAFETY: the pointer is to the buffer's whole length.
        let n =
            unsafe { libc::recv(self.0.as_raw_fd(), packet.as_mut_ptr().cast(), packet.len(), 0) };
        packet.truncate(usize::try_from(n).ok()?);
        Some(packet)
    }

    /// The next packet that `wanted` is true of, within a second.
    pub fn find(&self, wanted: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
        wait_for(self.0.as_fd(), |_| {
            std::iter::from_fn(|| self.receive()).find(|packet| wanted(packet))
        })
    }
}
