//! The receive ring that the kernel fills and the process empties without a system call a frame.
//!
//! TPACKET_V2, not V3: V3 hands over whole blocks, so that a frame on a quiet air waits for the
//! block's timer (set in milliseconds), and with it every acknowledgement. V2 hands over frame by
//! frame at once. Measured over a veth pair on Linux 6.18, from `send` to the end of `poll`: V2
//! median 10 µs, V3 with the shortest timer 336 µs.
//!
//! # Source
//! Linux `Documentation/networking/packet_mmap.rst`, `linux/if_packet.h`.

use super::Received;
use crate::air::RX_SLOT;
use crate::socket;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes that the kernel allocates in one piece.
const BLOCK: usize = 64 * 1024;
/// Blocks: 4 MiB, a thousand frames, some 50 ms of the paper's 54 Mb/s.
const BLOCKS: usize = 64;
/// Frames in the ring.
const SLOTS: usize = BLOCK * BLOCKS / RX_SLOT;
/// Where a slot's `struct sockaddr_ll` is: TPACKET_ALIGN of the header before it.
const ADDRESS_OFFSET: usize =
    size_of::<libc::tpacket2_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);

/// A mapped TPACKET_V2 receive ring.
#[derive(Debug)]
pub(super) struct Ring {
    map: NonNull<u8>,
    next: usize,
}

// SAFETY: the mapping belongs to this value alone and is bound to no thread.
unsafe impl Send for Ring {}

impl Ring {
    /// Gives the socket a ring and maps it. The socket must not be bound yet.
    pub(super) fn new(fd: BorrowedFd<'_>) -> io::Result<Self> {
        const { assert!(BLOCK.is_multiple_of(RX_SLOT)) };
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        socket::set_option(fd, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: BLOCKS as u32,
            tp_frame_size: RX_SLOT as u32,
            tp_frame_nr: SLOTS as u32,
        };
        socket::set_option(fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        // SAFETY: a new mapping at a place of the kernel's choice touches no existing memory.
        let map = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                BLOCK * BLOCKS,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                0,
            )
        };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // The kernel maps nothing at address zero for a process without a hint.
        let map = NonNull::new(map.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Ring { map, next: 0 })
    }

    /// Hands the next received packet to `f`; `None` when there is none.
    pub(super) fn take<R>(&mut self, f: impl FnOnce(Received<'_>) -> R) -> Option<R> {
        // SAFETY: `next` is below SLOTS, so the slot is inside the mapping.
        let slot = unsafe { self.map.add(self.next * RX_SLOT) };
        // SAFETY: a slot is page-fraction aligned and begins with its 32-bit status word, which
        // kernel and process access as the atomic that hands the slot over.
        let status = unsafe { AtomicU32::from_ptr(slot.cast().as_ptr()) };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the slot is ours until the status is given back; the header is at its front.
        let header = unsafe { slot.cast::<libc::tpacket2_hdr>().read() };
        // SAFETY: as above; the address lies behind the header, inside the slot.
        let address = unsafe { slot.add(ADDRESS_OFFSET).cast::<libc::sockaddr_ll>().read() };
        let (at, len) = (usize::from(header.tp_mac), header.tp_snaplen as usize);
        let fits = at.checked_add(len).is_some_and(|end| end <= RX_SLOT);
        let bytes = if fits {
            // SAFETY: the range is inside the slot (checked), and the kernel writes nothing to a
            // slot that it has handed over.
            unsafe { std::slice::from_raw_parts(slot.add(at).as_ptr(), len) }
        } else {
            &[]
        };
        let result = f(Received {
            bytes,
            is_outgoing: address.sll_pkttype == libc::PACKET_OUTGOING,
            is_truncated: !fits || header.tp_len != header.tp_snaplen,
        });
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % SLOTS;
        Some(result)
    }

    /// Empties the ring once around; what comes in meanwhile may stay.
    pub(super) fn drain(&mut self) {
        for _ in 0..SLOTS {
            if self.take(|_| ()).is_none() {
                return;
            }
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length and nothing borrows from it any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), BLOCK * BLOCKS) };
    }
}
