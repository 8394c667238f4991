//! The sending end of the reliable stream: selective cumulative acknowledgements (slyfi-2008 §4.2).
//!
//! Loss is told from transmission numbers, not from sequences: once the peer reports that it heard
//! number n, everything whose last transmission was before n and is not acknowledged was lost (on
//! an air that keeps frames in order). A retransmission has a fresh number, so the rule holds for
//! it as well.

use super::PacketKind;
use super::rtt::Rtt;
use crate::pool::{Packet, PacketPool};
use alloc::collections::VecDeque;
use slyfi_base::Instant;

/// The stream's queue is full; the packet comes back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct QueueFull(pub(crate) Packet);

/// The most packets that wait for their first transmission.
const QUEUE: usize = 64;

/// How many control messages may wait beside a full queue of data: more than an honest link ever
/// has, and a peer that keeps asking for answers cannot take every packet that there is.
const CONTROL_RESERVE: usize = 32;

/// The most packets that are in flight: below what the selective acknowledgement can tell.
const FLIGHT: usize = 48;

/// How often a packet goes again because the peer reports it lost; after that only the time-out sends
/// it. A peer that reports losses of its own invention gets no flood for it.
const MAX_ON_REPORT: u8 = 32;

/// A packet that was sent and not yet acknowledged in its turn.
#[derive(Debug)]
struct Item {
    kind: PacketKind,
    packet: Packet,
    /// Number of the last transmission.
    number: u64,
    sent_at: Instant,
    transmissions: u8,
    acknowledged: bool,
    lost: bool,
}

/// Packets waiting and in flight.
#[derive(Debug)]
pub(super) struct Reliable {
    queue: VecDeque<(PacketKind, Packet)>,
    flight: VecDeque<Item>,
    /// The sequence of the first packet in flight.
    base: u16,
    rtt: Rtt,
    timer: Option<Instant>,
    acknowledged_tags: VecDeque<u32>,
}

impl Reliable {
    pub(super) fn new() -> Self {
        Reliable {
            queue: VecDeque::new(),
            flight: VecDeque::new(),
            base: 0,
            rtt: Rtt::new(),
            timer: None,
            acknowledged_tags: VecDeque::new(),
        }
    }

    pub(super) fn push(&mut self, kind: PacketKind, packet: Packet) -> Result<(), QueueFull> {
        let most = match kind {
            PacketKind::Data(_) => QUEUE,
            PacketKind::Control { .. } => QUEUE + CONTROL_RESERVE,
        };
        if self.queue.len() >= most {
            return Err(QueueFull(packet));
        }
        self.queue.push_back((kind, packet));
        Ok(())
    }

    pub(super) fn take_waiting(&mut self) -> Option<(PacketKind, Packet)> {
        self.queue.pop_front()
    }

    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn is_settled(&self) -> bool {
        self.flight.is_empty()
    }

    pub(super) fn is_drained(&self) -> bool {
        self.queue.is_empty() && self.flight.is_empty()
    }

    pub(super) fn next_acknowledged(&mut self) -> Option<u32> {
        self.acknowledged_tags.pop_front()
    }

    /// The sequence of the first packet known to be lost.
    pub(super) fn next_lost(&self) -> Option<u16> {
        let at = self.flight.iter().position(|i| i.lost && i.transmissions < MAX_ON_REPORT)?;
        Some(self.base.wrapping_add(at as u16))
    }

    /// The sequence of the oldest packet, if its time-out has expired.
    pub(super) fn timed_out(&self, now: Instant) -> Option<u16> {
        self.timer.filter(|t| *t <= now)?;
        let at = self.flight.iter().position(|i| !i.acknowledged)?;
        Some(self.base.wrapping_add(at as u16))
    }

    /// The sequence that the first waiting packet would get, if it may be sent.
    pub(super) fn next_new(&self) -> Option<u16> {
        if self.queue.is_empty() || self.flight.len() >= FLIGHT {
            return None;
        }
        Some(self.base.wrapping_add(self.flight.len() as u16))
    }

    /// When the time-out expires.
    pub(super) fn timeout_at(&self) -> Option<Instant> {
        self.timer
    }

    fn index(&self, sequence: u16) -> usize {
        usize::from(sequence.wrapping_sub(self.base))
    }

    /// Returns the packet with this sequence, in flight or first in the queue.
    pub(super) fn packet(&self, sequence: u16) -> Option<(&PacketKind, &Packet)> {
        let at = self.index(sequence);
        if let Some(item) = self.flight.get(at) {
            return Some((&item.kind, &item.packet));
        }
        if at == self.flight.len() { self.queue.front().map(|(k, p)| (k, p)) } else { None }
    }

    /// Notes that the packet with this sequence went out under `number`.
    pub(super) fn on_sent(&mut self, now: Instant, sequence: u16, number: u64) {
        let at = self.index(sequence);
        if let Some(item) = self.flight.get_mut(at) {
            if !item.lost {
                // Not a known loss: the time-out made it go again.
                self.rtt.back_off();
            }
            item.number = number;
            item.sent_at = now;
            item.transmissions = item.transmissions.saturating_add(1);
            item.lost = false;
        } else if let Some((kind, packet)) = self.queue.pop_front() {
            self.flight.push_back(Item {
                kind,
                packet,
                number,
                sent_at: now,
                transmissions: 1,
                acknowledged: false,
                lost: false,
            });
        }
        self.timer = Some(now + self.rtt.timeout());
    }

    /// Takes an acknowledgement. `heard` is the highest number that the peer has received, `slack`
    /// how many later numbers must have been heard before an unacknowledged one counts as lost.
    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        next: u16,
        selective: u64,
        heard: u64,
        slack: u64,
        pool: &mut PacketPool,
    ) {
        let done = self.index(next);
        // More than was ever sent, or older than what is known: not of use.
        if done > self.flight.len() {
            return;
        }
        let mut progress = false;
        for _ in 0..done {
            if let Some(item) = self.flight.pop_front() {
                progress |= !item.acknowledged;
                self.finish(now, item, pool);
            }
        }
        self.base = next;
        // Bit n stands for next + 1 + n, that is, for place n + 1 in flight.
        for (n, item) in self.flight.iter_mut().skip(1).enumerate() {
            if n < 64 && selective & (1 << n) != 0 && !item.acknowledged {
                item.acknowledged = true;
                item.lost = false;
                progress = true;
                if item.transmissions == 1 {
                    self.rtt.measure(now.saturating_since(item.sent_at));
                }
            }
        }
        for item in &mut self.flight {
            if !item.acknowledged && item.number.saturating_add(slack) < heard {
                item.lost = true;
            }
        }
        if progress {
            self.rtt.restore();
            self.timer = Some(now + self.rtt.timeout());
        }
        if self.flight.iter().all(|i| i.acknowledged) {
            self.timer = None;
        }
    }

    fn finish(&mut self, now: Instant, item: Item, pool: &mut PacketPool) {
        if item.transmissions == 1 && !item.acknowledged {
            self.rtt.measure(now.saturating_since(item.sent_at));
        }
        if let PacketKind::Control { tag } = item.kind
            && tag != 0
        {
            self.acknowledged_tags.push_back(tag);
        }
        pool.give(item.packet);
    }

    pub(super) fn release(&mut self, pool: &mut PacketPool) {
        for (_, packet) in self.queue.drain(..) {
            pool.give(packet);
        }
        for item in self.flight.drain(..) {
            pool.give(item.packet);
        }
        self.timer = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slyfi_base::Duration;

    const KIND: PacketKind = PacketKind::Control { tag: 7 };

    fn filled(n: u32) -> (PacketPool, Reliable) {
        let mut pool = PacketPool::new(n, 8);
        let mut r = Reliable::new();
        for i in 0..n {
            let p = pool.take(&[&i.to_be_bytes()]).unwrap();
            r.push(KIND, p).unwrap();
        }
        (pool, r)
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_hole_before_a_heard_number_is_lost_and_goes_again_under_a_fresh_one() {
        let (mut pool, mut r) = filled(4);
        for n in 1..=4u64 {
            let s = r.next_new().unwrap();
            r.on_sent(at(n), s, n);
        }
        assert_eq!(r.next_new(), None);
        // The peer has 0, 2 and 3; 1 was sent under number 2.
        r.on_ack(at(9), 1, 0b11, 4, 0, &mut pool);
        assert_eq!(r.next_lost(), Some(1));
        r.on_sent(at(10), 1, 5);
        assert_eq!(r.next_lost(), None);
        r.on_ack(at(11), 1, 0b11, 4, 0, &mut pool);
        assert_eq!(r.next_lost(), None, "number 5 may still be heard");
        r.on_ack(at(12), 4, 0, 5, 0, &mut pool);
        assert!(r.is_drained());
        assert_eq!(pool.free(), 4);
        assert_eq!(r.timeout_at(), None);
        assert_eq!((0..4).filter_map(|_| r.next_acknowledged()).count(), 4);
    }

    #[test]
    fn invented_losses_draw_a_bounded_number_of_frames() {
        let (mut pool, mut r) = filled(1);
        r.on_sent(at(0), 0, 1);
        let mut number = 1;
        for ms in 0..1_000 {
            r.on_ack(at(ms), 0, 0, number + 1, 0, &mut pool);
            if let Some(s) = r.next_lost() {
                number += 1;
                r.on_sent(at(ms), s, number);
            }
        }
        assert_eq!(number, u64::from(MAX_ON_REPORT));
        assert!(r.timed_out(at(10_000)).is_some(), "the time-out still sends it");
    }

    #[test]
    fn an_air_that_reorders_gets_slack() {
        let (mut pool, mut r) = filled(2);
        r.on_sent(at(1), 0, 1);
        r.on_sent(at(1), 1, 2);
        r.on_ack(at(2), 0, 0b1, 2, 3, &mut pool);
        assert_eq!(r.next_lost(), None);
        r.on_ack(at(2), 0, 0b1, 5, 3, &mut pool);
        assert_eq!(r.next_lost(), Some(0));
    }

    #[test]
    fn acknowledgements_of_what_was_never_sent_change_nothing() {
        let (mut pool, mut r) = filled(2);
        r.on_sent(at(1), 0, 1);
        r.on_ack(at(2), 2, u64::MAX, 1, 0, &mut pool);
        r.on_ack(at(2), 0xffff, u64::MAX, 1, 0, &mut pool);
        assert_eq!(r.next_acknowledged(), None);
        assert_eq!(pool.free(), 0);
        assert!(r.timed_out(at(1_000)).is_some());
    }

    #[test]
    fn timeouts_back_off_until_something_is_heard() {
        let (mut pool, mut r) = filled(1);
        r.on_sent(at(0), 0, 1);
        assert_eq!(r.timed_out(at(99)), None);
        assert_eq!(r.timed_out(at(100)), Some(0));
        r.on_sent(at(100), 0, 2);
        assert_eq!(r.timed_out(at(299)), None);
        assert_eq!(r.timed_out(at(300)), Some(0));
        r.release(&mut pool);
        assert_eq!(pool.free(), 1);
    }
}
