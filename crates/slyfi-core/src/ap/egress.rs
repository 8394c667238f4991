//! What goes on the air next: frames of several sessions are sealed as one batch, because the speed
//! of chained AES modes lies in working on several frames at once.

use super::ApLink;
use crate::shroud::{SealError, ShroudSeal, ShroudSender, seal_batch};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use slyfi_base::event::Unlinked;
use slyfi_base::{Duration, Instant, Output, SecureRandom, TxMeta};
use slyfi_wire::carrier;
use slyfi_wire::message::GroupMessage;

/// How many frames are sealed at once: the lanes of the widest kernel.
const BATCH: usize = 16;

/// Finished frames, in order.
pub(super) struct Egress {
    bytes: Vec<u8>,
    frame_len: usize,
    /// Place and length of each.
    frames: VecDeque<(usize, usize)>,
}

impl Egress {
    pub(super) fn new(max_body: usize) -> Self {
        let frame_len = carrier::HEADER_LEN + max_body;
        Egress { bytes: vec![0; BATCH * frame_len], frame_len, frames: VecDeque::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Hands the next frame out; ask [`Egress::is_empty`] first.
    pub(super) fn poll<'b>(&mut self, rate: TxMeta, buf: &'b mut [u8]) -> Output<'b> {
        let Some(&(place, len)) = self.frames.front() else { return Output::Timeout(None) };
        let start = place * self.frame_len;
        let (Some(frame), Some(out)) = (self.bytes.get(start..start + len), buf.get_mut(..len))
        else {
            return Output::BufferTooSmall { needed: len };
        };
        out.copy_from_slice(frame);
        self.frames.pop_front();
        Output::Transmit(rate, out)
    }
}

impl<R: SecureRandom> ApLink<R> {
    /// Seals up to a batch of frames, each of another session.
    pub(super) fn fill_egress(&mut self) {
        let now = self.now.mono;
        if self.group.has_work(now) {
            self.seal_broadcast();
            return;
        }
        let mut slots = Vec::with_capacity(BATCH);
        while slots.len() < BATCH {
            let Some(slot) = self.members.next_ready() else { break };
            if self.members.get(slot).is_some_and(|m| m.session.wants_to_send(now)) {
                slots.push(slot);
            }
        }
        slots.sort_unstable();
        let mut places = Vec::with_capacity(slots.len());
        let mut jobs = Vec::with_capacity(slots.len());
        let frames = self.egress.bytes.chunks_exact_mut(self.egress.frame_len);
        for (place, ((slot, member), frame)) in
            self.members.several(&slots).into_iter().zip(frames).enumerate()
        {
            // A frame is longer than the carrier by construction.
            let Ok(body) = carrier::emit(frame) else { continue };
            let offset = member.session.sender.suite().message_offset();
            let Some(out) = body.get_mut(offset..) else { continue };
            let Some(len) = member.session.emit(now, &self.pool, out) else { continue };
            places.push((slot, place));
            jobs.push(ShroudSeal {
                sender: &mut member.session.sender,
                body,
                message_len: len,
                sealed: Err(SealError::TooLong),
            });
        }
        seal_batch(&mut jobs);
        let sealed: Vec<_> = jobs.into_iter().map(|j| j.sealed).collect();
        let mut exhausted = Vec::new();
        for ((slot, place), result) in places.into_iter().zip(sealed) {
            match result {
                Ok(len) => self.egress.frames.push_back((place, carrier::HEADER_LEN + len)),
                Err(_) => exhausted.push(slot),
            }
        }
        for slot in slots {
            self.members.reschedule(slot, now);
        }
        for slot in exhausted {
            self.drop_member(slot, Unlinked::Exhausted);
        }
    }

    /// Seals the next broadcast.
    fn seal_broadcast(&mut self) {
        let Some(b) = self.group.pop(self.now.mono) else { return };
        let message = GroupMessage::Data {
            destination: b.destination,
            source: b.source,
            ether_type: b.ether_type,
            payload: self.pool.bytes(&b.payload),
        };
        seal_group(&mut self.egress, &mut self.group.sender, &message);
        self.pool.give(b.payload);
    }

    /// Seals a time beacon ahead of everything else that waits.
    pub(super) fn seal_beacon(&mut self) {
        let time = self.now.wall.as_micros();
        seal_group(&mut self.egress, &mut self.group.sender, &GroupMessage::Time { time });
    }

    /// Returns when something has to be done next, with nothing coming in.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let now = self.now;
        // The next turn is told in civil time; the two clocks run at one speed.
        let turn = self.directory.next_turn().map(|at| {
            let until = u64::try_from(at.offset_from(now.wall)).unwrap_or(0);
            now.mono + Duration::from_micros(until)
        });
        [
            self.members.next_deadline(),
            self.replies.iter().map(|r| r.due).min(),
            self.beacon_at,
            self.announce_at,
            self.group.held_until().filter(|_| !self.group.is_empty()),
            (!self.visitors.is_empty()).then_some(self.visitors_at),
            turn,
        ]
        .into_iter()
        .flatten()
        .min()
    }
}

fn seal_group(egress: &mut Egress, sender: &mut ShroudSender, message: &GroupMessage<'_>) {
    let place = egress.frames.iter().map(|(p, _)| p + 1).max().unwrap_or(0);
    let start = place * egress.frame_len;
    let Some(frame) = egress.bytes.get_mut(start..start + egress.frame_len) else { return };
    let Ok(body) = carrier::emit(frame) else { return };
    let offset = sender.suite().message_offset();
    let Some(out) = body.get_mut(offset..) else { return };
    let Ok(len) = message.emit(out) else { return };
    // A group key that is used up sends nothing; the rekey at its soft limit comes long before.
    if let Ok(len) = sender.seal(body, len) {
        egress.frames.push_back((place, carrier::HEADER_LEN + len));
    }
}
