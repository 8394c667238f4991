//! The receiving end of the reliable stream: everything once, in order, in bounded space.

use super::PacketKind;
use crate::pool::{Packet, PacketPool};

/// How far ahead of its turn a packet may come. Bits of the selective acknowledgement, plus one.
pub(super) const SPAN: u16 = 65;

/// What is to be done with a packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// It is its turn; it counts as received.
    InOrder,
    /// It came early; it counts once [`Ordered::hold`] was called with the slot.
    Early(u16),
    /// It was received before.
    Duplicate,
    /// Further ahead than a sender may be.
    TooFar,
}

/// Packets that came early, and where the stream stands.
#[derive(Debug)]
pub(super) struct Ordered {
    next: u16,
    /// Bit n: the packet `next + 1 + n` is held.
    held: u64,
    packets: alloc::collections::VecDeque<(u16, PacketKind, Packet)>,
}

impl Ordered {
    pub(super) fn new() -> Self {
        Ordered { next: 0, held: 0, packets: alloc::collections::VecDeque::new() }
    }

    pub(super) fn offer(&mut self, sequence: u16) -> Offer {
        let ahead = sequence.wrapping_sub(self.next);
        if ahead == 0 {
            self.advance();
            Offer::InOrder
        } else if ahead >= 0x8000 {
            Offer::Duplicate
        } else if ahead >= SPAN {
            Offer::TooFar
        } else if self.held & (1 << (ahead - 1)) != 0 {
            Offer::Duplicate
        } else {
            Offer::Early(sequence)
        }
    }

    fn advance(&mut self) {
        self.next = self.next.wrapping_add(1);
        self.held >>= 1;
    }

    /// Takes back the last [`Offer::InOrder`] before anything else is offered.
    pub(super) fn undo(&mut self) {
        self.next = self.next.wrapping_sub(1);
        // The bit that fell out stood for the packet that is next again: never held.
        self.held <<= 1;
        if self.is_held(self.next.wrapping_add(1)) {
            self.held |= 1;
        }
    }

    fn is_held(&self, sequence: u16) -> bool {
        self.packets.iter().any(|(s, _, _)| *s == sequence)
    }

    pub(super) fn hold(&mut self, sequence: u16, kind: PacketKind, packet: Packet) {
        let ahead = sequence.wrapping_sub(self.next);
        self.held |= 1 << ahead.saturating_sub(1);
        self.packets.push_back((sequence, kind, packet));
    }

    /// Takes the packet whose turn it is, if it is here.
    pub(super) fn next_held(&mut self) -> Option<(PacketKind, Packet)> {
        let at = self.packets.iter().position(|(s, _, _)| *s == self.next)?;
        let (_, kind, packet) = self.packets.remove(at)?;
        self.advance();
        Some((kind, packet))
    }

    /// Returns whether packets wait for one that is missing.
    pub(super) fn has_gap(&self) -> bool {
        !self.packets.is_empty()
    }

    /// Returns the cumulative and the selective acknowledgement.
    pub(super) fn acknowledgement(&self) -> (u16, u64) {
        (self.next, self.held)
    }

    pub(super) fn release(&mut self, pool: &mut PacketPool) {
        for (_, _, packet) in self.packets.drain(..) {
            pool.give(packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(o: &mut Ordered, pool: &mut PacketPool, s: u16) {
        let Offer::Early(slot) = o.offer(s) else { panic!("{s} is early") };
        let p = pool.take(&[&s.to_be_bytes()]).unwrap();
        o.hold(slot, PacketKind::Control { tag: u32::from(s) }, p);
    }

    #[test]
    fn early_packets_wait_for_their_turn_and_come_once() {
        let mut pool = PacketPool::new(8, 8);
        let mut o = Ordered::new();
        hold(&mut o, &mut pool, 2);
        hold(&mut o, &mut pool, 1);
        assert_eq!(o.offer(2), Offer::Duplicate);
        assert_eq!(o.acknowledgement(), (0, 0b11));
        assert!(o.next_held().is_none());
        assert_eq!(o.offer(0), Offer::InOrder);
        for expected in [1, 2] {
            let (kind, p) = o.next_held().unwrap();
            assert_eq!(kind, PacketKind::Control { tag: expected });
            pool.give(p);
        }
        assert!(o.next_held().is_none());
        assert_eq!(o.acknowledgement(), (3, 0));
        for old in 0..3 {
            assert_eq!(o.offer(old), Offer::Duplicate);
        }
        assert_eq!(pool.free(), 8);
    }

    #[test]
    fn the_space_is_bounded_and_the_sequence_wraps() {
        let mut o = Ordered::new();
        for s in 0..=u16::MAX {
            assert_eq!(o.offer(s), Offer::InOrder);
        }
        assert_eq!(o.offer(0), Offer::InOrder);
        assert_eq!(o.offer(1 + SPAN), Offer::TooFar);
        assert_eq!(o.offer(SPAN), Offer::Early(SPAN));
        assert_eq!(o.offer(u16::MAX), Offer::Duplicate);
    }

    #[test]
    fn a_turn_taken_back_is_offered_again() {
        let mut pool = PacketPool::new(8, 8);
        let mut o = Ordered::new();
        hold(&mut o, &mut pool, 1);
        hold(&mut o, &mut pool, 3);
        assert_eq!(o.offer(0), Offer::InOrder);
        o.undo();
        assert_eq!(o.acknowledgement(), (0, 0b101));
        assert_eq!(o.offer(0), Offer::InOrder);
        assert_eq!(o.acknowledgement(), (1, 0b10));
    }
}
