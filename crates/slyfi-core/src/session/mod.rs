//! One member's link under Shroud: the same on both of its ends.
//!
//! ```text
//!   packets, control -> Reliable -.                         .-> Ordered -> packets, control
//!                                 |-> ShroudSender   ShroudReceiver
//!        acks, pings ------------'    number n        number n
//! ```
//!
//! Every transmission (data, acknowledgement, retransmission) is sealed under the next number
//! (slyfi-2008 §4.2). The peer recognises numbers up to w past the highest that it received, so a
//! sender that never goes further than `heard + w` cannot be lost by its own doing; what is left of
//! that budget decides what may be sent:
//!
//! ```text
//!   heard                                              heard + w
//!     |--- new data ---------------|--- retransmission, acks ---|--- time-outs, pings ---|
//!                              w - w/2                      w - w/4
//! ```
//!
//! When the budget is spent and nothing came back, the loss is longer than w: the link is over and
//! a new one has to be made (slyfi-2008 §4.2).

mod ordered;
mod reliable;
mod rtt;

use crate::pool::{Packet, PacketPool};
use crate::shroud::{ShroudReceiver, ShroudSender};
use core::ops::Range;
use slyfi_base::event::Unlinked;
use slyfi_base::{DropReason, Duration, Instant};
use slyfi_wire::message::{DataHeader, LinkHeader, LinkKind};

use ordered::{Offer, Ordered};
pub(crate) use reliable::QueueFull;
use reliable::Reliable;

/// How a reliable packet is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketKind {
    /// An Ethernet payload with what is left of its header.
    Data(DataHeader),
    /// A control message; `tag` comes back when the peer has acknowledged it.
    Control { tag: u32 },
}

/// The timings of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionConfig {
    /// Window w: how many consecutive losses the link bridges (slyfi-2008 §4.2).
    pub(crate) window: u64,
    /// Whether the air keeps frames in order; a gap then is a loss at once.
    pub(crate) keeps_order: bool,
    /// Silence after which this side asks for a sign of life; `None` leaves that to the peer.
    pub(crate) ping_after: Option<Duration>,
    /// Silence after which the link is over.
    pub(crate) dead_after: Duration,
    /// The pause between cover frames; `None` sends none.
    pub(crate) cover: Option<Duration>,
}

/// What a session would put on the air next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Ack,
    Ping,
    Cover,
    Reliable(u16),
}

/// What a received frame brought.
#[derive(Debug)]
pub(crate) enum Received {
    /// Nothing for above: an acknowledgement, a ping, a packet that came early.
    Nothing,
    /// A packet in its turn; the payload lies in the frame body at the range. More may be waiting
    /// in [`Session::next_held`].
    InOrder(PacketKind, Range<usize>),
}

/// One end of a link.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) sender: ShroudSender,
    pub(crate) receiver: ShroudReceiver,
    config: SessionConfig,
    reliable: Reliable,
    ordered: Ordered,
    /// The highest of our transmission numbers that the peer is known to have received.
    heard: u64,
    /// Frames received since the last acknowledgement left.
    unacknowledged: u8,
    ack_at: Option<Instant>,
    /// When the peer was last heard.
    last_heard: Instant,
    ping_at: Option<Instant>,
    pings: u32,
    cover_at: Option<Instant>,
    /// Whether packets wait although they could be sent.
    is_paused: bool,
}

/// An acknowledgement leaves after this many frames that ask for one (slyfi-2008 §4.2 acknowledges
/// "cumulative windows of data packets").
const ACK_EVERY: u8 = 8;

/// An acknowledgement leaves at the latest after this long.
const ACK_DELAY: Duration = Duration::from_millis(2);

/// The first pause between unanswered pings; it doubles.
const PING_RETRY: Duration = Duration::from_millis(200);

impl Session {
    /// Begins a link at `now`; both directions' numbers start at one.
    pub(crate) fn new(
        sender: ShroudSender,
        receiver: ShroudReceiver,
        config: SessionConfig,
        now: Instant,
    ) -> Self {
        Session {
            sender,
            receiver,
            reliable: Reliable::new(),
            ordered: Ordered::new(),
            heard: 0,
            unacknowledged: 0,
            ack_at: None,
            last_heard: now,
            ping_at: config.ping_after.map(|d| now + d),
            pings: 0,
            cover_at: config.cover.map(|d| now + d),
            is_paused: false,
            config,
        }
    }

    /// Puts a packet into the reliable stream.
    ///
    /// # Errors
    /// [`QueueFull`] gives the packet back.
    pub(crate) fn queue(&mut self, kind: PacketKind, packet: Packet) -> Result<(), QueueFull> {
        self.reliable.push(kind, packet)
    }

    /// Takes the packet that waits longest for its first transmission.
    pub(crate) fn take_waiting(&mut self) -> Option<(PacketKind, Packet)> {
        self.reliable.take_waiting()
    }

    /// Lets packets wait that were never sent, or lets them go again.
    pub(crate) fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// Returns whether everything that was sent has been acknowledged.
    pub(crate) fn is_settled(&self) -> bool {
        self.reliable.is_settled()
    }

    /// Makes the acknowledgement due at once.
    pub(crate) fn acknowledge_now(&mut self, now: Instant) {
        self.ack_at = Some(now);
    }

    /// Returns how many packets wait for their first transmission.
    pub(crate) fn queued(&self) -> usize {
        self.reliable.queued()
    }

    /// Returns whether everything that was queued has been acknowledged.
    pub(crate) fn is_drained(&self) -> bool {
        self.reliable.is_drained()
    }

    /// Takes a tag of a control message that the peer has acknowledged.
    pub(crate) fn next_acknowledged(&mut self) -> Option<u32> {
        self.reliable.next_acknowledged()
    }

    /// Returns when the peer was last heard.
    pub(crate) fn last_heard(&self) -> Instant {
        self.last_heard
    }

    /// Reads the opened message at `message` of `body` (the frame's tag has been verified).
    pub(crate) fn on_message(
        &mut self,
        now: Instant,
        body: &[u8],
        message: Range<usize>,
        pool: &mut PacketPool,
    ) -> Result<Received, DropReason> {
        let bytes = body.get(message.clone()).ok_or(DropReason::Malformed)?;
        let (header, data, rest) = LinkHeader::parse(bytes).map_err(|_| DropReason::Malformed)?;
        self.last_heard = now;
        self.pings = 0;
        self.ping_at = self.config.ping_after.map(|d| now + d);
        self.on_acknowledgement(now, &header, pool);
        let start = message.end - rest.len();
        let (sequence, kind) = match (header.kind, data) {
            (LinkKind::Ack | LinkKind::Cover, _) => return Ok(Received::Nothing),
            (LinkKind::Ping, _) => {
                self.ack_at = Some(now);
                return Ok(Received::Nothing);
            }
            (LinkKind::Data { sequence }, Some(d)) => (sequence, PacketKind::Data(d)),
            (LinkKind::Control { sequence }, _) => (sequence, PacketKind::Control { tag: 0 }),
            (LinkKind::Data { .. }, None) => return Err(DropReason::Malformed),
        };
        match self.ordered.offer(sequence) {
            Offer::InOrder => {
                self.ask_for_ack(now, self.ordered.has_gap());
                Ok(Received::InOrder(kind, start..message.end))
            }
            Offer::Early(slot) => {
                // Held only if there is room; else it stays unacknowledged and comes again.
                if pool.is_scarce() {
                    return Err(DropReason::NoRoom);
                }
                let packet = pool.take(&[rest]).ok_or(DropReason::NoRoom)?;
                self.ordered.hold(slot, kind, packet);
                self.ask_for_ack(now, true);
                Ok(Received::Nothing)
            }
            Offer::Duplicate => {
                self.ask_for_ack(now, true);
                Err(DropReason::Duplicate)
            }
            Offer::TooFar => Err(DropReason::Unexpected),
        }
    }

    /// Takes the next packet that had come early and is in its turn now.
    pub(crate) fn next_held(&mut self) -> Option<(PacketKind, Packet)> {
        self.ordered.next_held()
    }

    /// Takes back the turn of a packet that could not be handed on (no room): it stays
    /// unacknowledged, and the peer sends it again.
    pub(crate) fn undo_in_order(&mut self) {
        self.ordered.undo();
    }

    fn on_acknowledgement(&mut self, now: Instant, header: &LinkHeader, pool: &mut PacketPool) {
        let newest = self.sender.next_number().saturating_sub(1);
        let heard = expand(header.heard, newest);
        if heard > self.heard {
            self.heard = heard;
        }
        let slack = if self.config.keeps_order { 0 } else { 3 };
        self.reliable.on_ack(now, header.next, header.selective, self.heard, slack, pool);
    }

    fn ask_for_ack(&mut self, now: Instant, at_once: bool) {
        self.unacknowledged = self.unacknowledged.saturating_add(1);
        if at_once || self.unacknowledged >= ACK_EVERY {
            self.ack_at = Some(now);
        } else if self.ack_at.is_none() {
            self.ack_at = Some(now + ACK_DELAY);
        }
    }

    /// Whether the next number leaves `reserve` of the window's numbers after it.
    fn may_send(&self, reserve: u64) -> bool {
        let limit = self.heard.saturating_add(self.config.window.saturating_sub(reserve));
        self.sender.next_number() <= limit
    }

    fn choose(&self, now: Instant) -> Option<Choice> {
        let w = self.config.window;
        let (data_reserve, ack_reserve) = (w / 2, w / 4);
        if self.may_send(ack_reserve)
            && let Some(sequence) = self.reliable.next_lost()
        {
            return Some(Choice::Reliable(sequence));
        }
        if self.may_send(0)
            && let Some(sequence) = self.reliable.timed_out(now)
        {
            return Some(Choice::Reliable(sequence));
        }
        if !self.is_paused
            && self.may_send(data_reserve)
            && let Some(sequence) = self.reliable.next_new()
        {
            return Some(Choice::Reliable(sequence));
        }
        if self.ack_at.is_some_and(|t| t <= now) && self.may_send(ack_reserve) {
            return Some(Choice::Ack);
        }
        if self.ping_at.is_some_and(|t| t <= now) && self.may_send(0) {
            return Some(Choice::Ping);
        }
        if self.cover_at.is_some_and(|t| t <= now) && self.may_send(data_reserve) {
            // A ping now and then brings an acknowledgement and with it new budget; nobody outside
            // can tell it from cover.
            return Some(if self.may_send(w - w / 4) { Choice::Cover } else { Choice::Ping });
        }
        None
    }

    /// Returns whether [`Session::emit`] would write a message now.
    pub(crate) fn wants_to_send(&self, now: Instant) -> bool {
        self.choose(now).is_some()
    }

    /// Writes the next message to `out` and returns its length; `None` when there is none now.
    ///
    /// The caller seals it at once under the number that [`ShroudSender::next_number`] told.
    pub(crate) fn emit(
        &mut self,
        now: Instant,
        pool: &PacketPool,
        out: &mut [u8],
    ) -> Option<usize> {
        let choice = self.choose(now)?;
        let number = self.sender.next_number();
        let (next, selective) = self.ordered.acknowledgement();
        let (kind, data, payload): (_, _, &[u8]) = match choice {
            Choice::Ack => (LinkKind::Ack, None, &[]),
            Choice::Ping => (LinkKind::Ping, None, &[]),
            Choice::Cover => (LinkKind::Cover, None, &[]),
            Choice::Reliable(sequence) => {
                let (kind, packet) = self.reliable.packet(sequence)?;
                let payload = pool.bytes(packet);
                match kind {
                    PacketKind::Data(d) => (LinkKind::Data { sequence }, Some(*d), payload),
                    PacketKind::Control { .. } => (LinkKind::Control { sequence }, None, payload),
                }
            }
        };
        // The low 32 bits: the peer knows the rest.
        let heard = self.receiver.highest() as u32;
        let header = LinkHeader { kind, heard, next, selective };
        let len = header.emit(data.as_ref(), out).ok()?;
        out.get_mut(len..len + payload.len())?.copy_from_slice(payload);
        self.unacknowledged = 0;
        self.ack_at = None;
        match choice {
            Choice::Reliable(sequence) => self.reliable.on_sent(now, sequence, number),
            Choice::Ping => {
                let pause = PING_RETRY.saturating_mul(1 << self.pings.min(4));
                self.pings = self.pings.saturating_add(1);
                self.ping_at = Some(now + pause);
            }
            Choice::Ack | Choice::Cover => {}
        }
        // Any frame serves as cover.
        self.cover_at = self.config.cover.map(|d| now + d);
        Some(len + payload.len())
    }

    /// Returns why the link is over, if it is.
    pub(crate) fn is_over(&self, now: Instant) -> Option<Unlinked> {
        if now >= self.last_heard + self.config.dead_after {
            return Some(Unlinked::Silent);
        }
        if !self.may_send(0) && self.reliable.timed_out(now).is_some() {
            return Some(Unlinked::LossBeyondWindow);
        }
        None
    }

    /// Returns the next instant at which something may have to be done.
    pub(crate) fn next_timeout(&self) -> Instant {
        let mut at = self.last_heard + self.config.dead_after;
        if let Some(t) = self.reliable.timeout_at() {
            at = at.min(t);
        }
        let w = self.config.window;
        if let Some(t) = self.ack_at.filter(|_| self.may_send(w / 4)) {
            at = at.min(t);
        }
        if let Some(t) = self.ping_at.filter(|_| self.may_send(0)) {
            at = at.min(t);
        }
        if let Some(t) = self.cover_at.filter(|_| self.may_send(w / 2)) {
            at = at.min(t);
        }
        at
    }

    /// Gives all packets back to the pool. Addresses are the receiver's to remove.
    pub(crate) fn release(&mut self, pool: &mut PacketPool) {
        self.reliable.release(pool);
        self.ordered.release(pool);
    }
}

/// The full number whose low 32 bits are `low`, not above `newest`.
fn expand(low: u32, newest: u64) -> u64 {
    let candidate = (newest & !u64::from(u32::MAX)) | u64::from(low);
    if candidate > newest { candidate.saturating_sub(1 << 32) } else { candidate }
}

#[cfg(test)]
mod tests;
