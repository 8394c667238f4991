//! Several datagrams per system call: `sendmmsg` and `recvmmsg` over preallocated slots.

use crate::socket::RawAddress;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Datagrams per system call and per queue.
pub(crate) const BATCH: usize = 64;

/// Batches that one draining takes: more than the receive buffers asked for can hold.
const DRAIN_LIMIT: usize = 256;

/// Frames that wait for the socket; each goes to every destination.
pub(crate) struct TxQueue {
    bytes: Vec<u8>,
    slot: usize,
    lens: [usize; BATCH],
    head: usize,
    queued: usize,
    /// To how many destinations the frame at `head` has gone already.
    done: usize,
    /// Datagrams that the system refused as a network loses them.
    pub(crate) lost: u64,
    /// Datagrams handed to the system.
    pub(crate) sent: u64,
}

/// How far a flush came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// Everything is with the kernel.
    Complete,
    /// The kernel has no room now: flush again when the transmitter is writable, or after a
    /// millisecond (a full driver queue, `ENOBUFS`, never says that it is writable).
    Pending,
}

impl TxQueue {
    /// Makes room for [`BATCH`] frames of at most `slot` bytes, wrappings included.
    pub(crate) fn new(slot: usize) -> Self {
        TxQueue {
            bytes: vec![0; slot * BATCH],
            slot,
            lens: [0; BATCH],
            head: 0,
            queued: 0,
            done: 0,
            lost: 0,
            sent: 0,
        }
    }

    /// Forgets everything that waits.
    pub(crate) fn clear(&mut self) {
        (self.head, self.queued, self.done) = (0, 0, 0);
    }

    /// Queues the concatenation of `parts`; `false` when the queue is full.
    ///
    /// The caller has checked the length against the slot's.
    pub(crate) fn push(&mut self, parts: [&[u8]; 3]) -> bool {
        if self.queued == BATCH {
            return false;
        }
        let at = (self.head + self.queued) % BATCH;
        let mut len = 0;
        for part in parts {
            let start = at * self.slot + len;
            self.bytes[start..start + part.len()].copy_from_slice(part);
            len += part.len();
        }
        debug_assert!(len <= self.slot);
        self.lens[at] = len;
        self.queued += 1;
        true
    }

    /// Sends what waits to every one of `to`, or to the socket's own destination if `to` is empty.
    ///
    /// # Errors
    /// The system's, if it is neither "no room now" nor one that `is_loss` calls a lost datagram.
    pub(crate) fn flush(
        &mut self,
        fd: BorrowedFd<'_>,
        to: &[RawAddress],
        is_loss: fn(libc::c_int) -> bool,
    ) -> io::Result<Flush> {
        let fanout = to.len().max(1);
        while self.queued > 0 {
            match self.send_some(fd, to, fanout) {
                Ok(n) => {
                    self.sent += n as u64;
                    self.advance(n, fanout);
                }
                Err(e) => match e.raw_os_error() {
                    Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) => return Ok(Flush::Pending),
                    Some(libc::EINTR) => {}
                    Some(code) if is_loss(code) => {
                        self.lost += 1;
                        self.advance(1, fanout);
                    }
                    _ => return Err(e),
                },
            }
        }
        Ok(Flush::Complete)
    }

    /// Offers up to [`BATCH`] datagrams in one call and returns how many were taken.
    fn send_some(
        &mut self,
        fd: BorrowedFd<'_>,
        to: &[RawAddress],
        fanout: usize,
    ) -> io::Result<usize> {
        // SAFETY: all zeros is a value of these structures (integers and null pointers).
        let mut iov: [libc::iovec; BATCH] = unsafe { zeroed() };
        // SAFETY: as above.
        let mut msgs: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        let count = (self.queued * fanout - self.done).min(BATCH);
        for (i, (iov, msg)) in iov.iter_mut().zip(&mut msgs).take(count).enumerate() {
            let item = self.done + i;
            let at = (self.head + item / fanout) % BATCH;
            let frame = &mut self.bytes[at * self.slot..][..self.lens[at]];
            iov.iov_base = frame.as_mut_ptr().cast();
            iov.iov_len = frame.len();
            msg.msg_hdr.msg_iov = iov;
            msg.msg_hdr.msg_iovlen = 1;
            if let Some(address) = to.get(item % fanout) {
                msg.msg_hdr.msg_name = address.as_ptr().cast_mut().cast();
                msg.msg_hdr.msg_namelen = address.len;
            }
        }
        // SAFETY: the first `count` headers point into `iov`, `self.bytes` and `to`, which all
        // outlive the call; `sendmmsg` writes nothing but `msg_len`.
        let n = unsafe {
            libc::sendmmsg(
                fd.as_raw_fd(),
                msgs.as_mut_ptr(),
                count as libc::c_uint,
                libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
            )
        };
        crate::socket::check(n).map(|n| n as usize)
    }

    fn advance(&mut self, datagrams: usize, fanout: usize) {
        self.done += datagrams;
        let frames = self.done / fanout;
        self.done %= fanout;
        self.head = (self.head + frames) % BATCH;
        self.queued -= frames;
    }
}

/// Datagrams that were received together and are taken out one by one.
pub(crate) struct RxBatch {
    bytes: Vec<u8>,
    slot: usize,
    entries: [Entry; BATCH],
    next: usize,
    filled: usize,
}

#[derive(Clone, Copy)]
struct Entry {
    len: usize,
    from: RawAddress,
    truncated: bool,
}

/// One received datagram.
pub(crate) struct Datagram<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) from: &'a RawAddress,
    /// Whether it was longer than the slot, so that its end is missing.
    pub(crate) truncated: bool,
}

impl RxBatch {
    /// Makes room for [`BATCH`] datagrams of at most `slot` bytes.
    pub(crate) fn new(slot: usize) -> Self {
        let entry = Entry { len: 0, from: RawAddress::unspecified(), truncated: false };
        RxBatch { bytes: vec![0; slot * BATCH], slot, entries: [entry; BATCH], next: 0, filled: 0 }
    }

    /// Forgets what was received and not taken, here and in the socket; what comes in meanwhile may
    /// stay, for a flood must not hold the caller.
    pub(crate) fn drain(&mut self, fd: BorrowedFd<'_>) {
        for _ in 0..DRAIN_LIMIT {
            self.next = self.filled;
            if !matches!(self.next(fd), Ok(Some(_))) {
                break;
            }
        }
        self.next = self.filled;
    }

    /// Returns the next datagram, asking the socket for more when none is left; `None` when the
    /// socket has none now.
    pub(crate) fn next(&mut self, fd: BorrowedFd<'_>) -> io::Result<Option<Datagram<'_>>> {
        if self.next == self.filled {
            (self.next, self.filled) = (0, 0);
            self.filled = self.refill(fd)?;
            if self.filled == 0 {
                return Ok(None);
            }
        }
        let at = self.next;
        self.next += 1;
        let entry = &self.entries[at];
        Ok(Some(Datagram {
            bytes: &self.bytes[at * self.slot..][..entry.len],
            from: &entry.from,
            truncated: entry.truncated,
        }))
    }

    fn refill(&mut self, fd: BorrowedFd<'_>) -> io::Result<usize> {
        // SAFETY: all zeros is a value of these structures (integers and null pointers).
        let mut iov: [libc::iovec; BATCH] = unsafe { zeroed() };
        // SAFETY: as above.
        let mut msgs: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        let slots = self.bytes.chunks_exact_mut(self.slot);
        for (((iov, msg), entry), slot) in
            iov.iter_mut().zip(&mut msgs).zip(&mut self.entries).zip(slots)
        {
            iov.iov_base = slot.as_mut_ptr().cast();
            iov.iov_len = slot.len();
            msg.msg_hdr.msg_iov = iov;
            msg.msg_hdr.msg_iovlen = 1;
            msg.msg_hdr.msg_name = std::ptr::from_mut(&mut entry.from.storage).cast();
            msg.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        }
        let n = loop {
            // SAFETY: every header points to a slot of its own in `self.bytes` and to an address of
            // its own in `self.entries`, with their true lengths, and all outlive the call.
            let n = unsafe {
                libc::recvmmsg(
                    fd.as_raw_fd(),
                    msgs.as_mut_ptr(),
                    BATCH as libc::c_uint,
                    libc::MSG_DONTWAIT,
                    std::ptr::null_mut(),
                )
            };
            match crate::socket::check(n) {
                Ok(n) => break n as usize,
                Err(e) if e.raw_os_error() == Some(libc::EAGAIN) => return Ok(0),
                Err(e) if e.raw_os_error() == Some(libc::EINTR) => {}
                Err(e) => return Err(e),
            }
        };
        for (entry, msg) in self.entries.iter_mut().zip(&msgs).take(n) {
            entry.len = (msg.msg_len as usize).min(self.slot);
            entry.truncated = msg.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
            entry.from.len = msg.msg_hdr.msg_namelen;
        }
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    fn socket() -> (UdpSocket, RawAddress) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap().into();
        (socket, address)
    }

    #[test]
    fn every_frame_reaches_every_destination_once_and_in_order() {
        let ((a, to_a), (b, to_b), (tx, from)) = (socket(), socket(), socket());
        let mut queue = TxQueue::new(8);
        // More datagrams than one call takes, and a queue whose head has moved.
        for round in 0..3u8 {
            for i in 0..BATCH as u8 {
                assert!(queue.push([&[round], &[i], b"!"]));
            }
            assert!(!queue.push([&[], &[], &[]]), "a full queue takes nothing");
            assert_eq!(queue.flush(tx.as_fd(), &[to_a, to_b], |_| false).unwrap(), Flush::Complete);
            assert_eq!(queue.queued, 0);
            for socket in [&a, &b] {
                let mut batch = RxBatch::new(8);
                for i in 0..BATCH as u8 {
                    let got = batch.next(socket.as_fd()).unwrap().unwrap();
                    assert_eq!(got.bytes, [round, i, b'!']);
                    assert_eq!(got.from.to_ip(), from.to_ip());
                    assert!(!got.truncated);
                }
                assert!(batch.next(socket.as_fd()).unwrap().is_none());
            }
            queue.push([b"x", b"", b""]);
            queue.clear();
        }
        assert_eq!((queue.sent, queue.lost), (3 * 2 * BATCH as u64, 0));
    }

    #[test]
    fn a_datagram_longer_than_its_slot_says_so() {
        let ((rx, to), (tx, _)) = (socket(), socket());
        let mut queue = TxQueue::new(8);
        queue.push([b"12345678", b"", b""]);
        queue.push([b"1234", b"", b""]);
        queue.flush(tx.as_fd(), &[to], |_| false).unwrap();
        let mut batch = RxBatch::new(4);
        let long = batch.next(rx.as_fd()).unwrap().unwrap();
        assert!(long.truncated);
        let fitting = batch.next(rx.as_fd()).unwrap().unwrap();
        assert!(!fitting.truncated);
        assert_eq!(fitting.bytes, b"1234");
    }

    #[test]
    fn a_refused_destination_is_a_loss_only_where_told_so() {
        let (tx, _) = socket();
        // An IPv4 socket refuses an IPv6 destination, each time and without an effect.
        let (rx, good) = socket();
        let bad = RawAddress::from("[::1]:9".parse::<std::net::SocketAddr>().unwrap());
        let mut queue = TxQueue::new(8);
        queue.push([b"a", b"", b""]);
        assert!(queue.flush(tx.as_fd(), &[bad, good], |_| false).is_err());
        assert_eq!(queue.flush(tx.as_fd(), &[bad, good], |_| true).unwrap(), Flush::Complete);
        assert_eq!((queue.sent, queue.lost), (1, 1));
        assert_eq!(RxBatch::new(8).next(rx.as_fd()).unwrap().unwrap().bytes, b"a");
    }
}
