//! A fixed pool of packet buffers: the data path allocates nothing.

use alloc::vec;
use alloc::vec::Vec;
use zeroize::Zeroize;

/// One buffer of a [`PacketPool`]. Not `Clone`: whoever holds it owns the buffer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    slot: u32,
}

/// Buffers of equal size, allocated once.
///
/// The pool bounds what hostile or merely busy members can make a machine hold: when it is empty,
/// received data is dropped unacknowledged (the sender tries again) and the host's is refused.
#[derive(Debug)]
pub(crate) struct PacketPool {
    bytes: Vec<u8>,
    lengths: Vec<u16>,
    free: Vec<u32>,
    size: usize,
}

impl PacketPool {
    /// Makes `count` buffers of `size` bytes, at most 64 KiB each.
    pub(crate) fn new(count: u32, size: usize) -> Self {
        let size = size.min(usize::from(u16::MAX));
        let slots = usize::try_from(count).unwrap_or(usize::MAX);
        PacketPool {
            bytes: vec![0; slots.saturating_mul(size)],
            lengths: vec![0; slots],
            free: (0..count).rev().collect(),
            size,
        }
    }

    /// Returns how many buffers are free.
    pub(crate) fn free(&self) -> usize {
        self.free.len()
    }

    /// Returns whether only an eighth is left: kept for what passes through, so that those who make
    /// packets wait cannot stop everybody else.
    pub(crate) fn is_scarce(&self) -> bool {
        self.free.len() <= self.lengths.len() / 8
    }

    /// Takes a buffer and fills it with `parts`, one after the other.
    ///
    /// `None` when the pool is empty or the parts do not fit one buffer.
    pub(crate) fn take(&mut self, parts: &[&[u8]]) -> Option<Packet> {
        let len: usize = parts.iter().map(|p| p.len()).sum();
        if len > self.size {
            return None;
        }
        let slot = self.free.pop()?;
        let start = slot as usize * self.size;
        let mut at = start;
        for part in parts {
            self.bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        // `new` bounds the size by 64 KiB.
        self.lengths[slot as usize] = len as u16;
        Some(Packet { slot })
    }

    /// Returns the bytes of a packet.
    pub(crate) fn bytes(&self, packet: &Packet) -> &[u8] {
        let start = packet.slot as usize * self.size;
        &self.bytes[start..start + usize::from(self.lengths[packet.slot as usize])]
    }

    /// Takes a packet back. It may have carried keys, so it leaves nothing behind.
    pub(crate) fn give(&mut self, packet: Packet) {
        let start = packet.slot as usize * self.size;
        let len = usize::from(self.lengths[packet.slot as usize]);
        self.bytes[start..start + len].fill(0);
        debug_assert!(!self.free.contains(&packet.slot), "a packet has one owner");
        self.free.push(packet.slot);
    }
}

impl Drop for PacketPool {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_come_back_and_run_out() {
        let mut pool = PacketPool::new(2, 8);
        let a = pool.take(&[b"ab", b"", b"cde"]).unwrap();
        let b = pool.take(&[b"12345678"]).unwrap();
        assert_eq!(pool.take(&[b"x"]), None, "empty");
        assert_eq!(pool.bytes(&a), b"abcde");
        assert_eq!(pool.bytes(&b), b"12345678");
        pool.give(a);
        assert_eq!(pool.free(), 1);
        assert_eq!(pool.take(&[b"123456789"]), None, "longer than a buffer");
        let c = pool.take(&[]).unwrap();
        assert_eq!(pool.bytes(&c), b"");
        pool.give(b);
        pool.give(c);
        assert_eq!(pool.free(), 2);
        assert!(pool.bytes.iter().all(|b| *b == 0), "nothing is left behind");
    }
}
