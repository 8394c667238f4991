//! What goes on the air next: frames of several sessions are sealed as one batch, because the speed
//! of chained AES modes lies in working on several frames at once.

use super::ApLink;
use crate::shroud::{ShroudSeal, seal_batch};
use alloc::vec;
use alloc::vec::Vec;
use slyfi_base::event::Unlinked;
use slyfi_base::{Instant, Output, SecureRandom, TxMeta};
use slyfi_wire::carrier;
use slyfi_wire::message::GroupMessage;

/// How many frames are sealed at once: the lanes of the widest kernel.
const BATCH: usize = 16;

/// Finished frames, in order.
pub(super) struct Egress {
    bytes: Vec<u8>,
    frame_len: usize,
    lengths: Vec<usize>,
    next: usize,
}

impl Egress {
    pub(super) fn new(max_body: usize) -> Self {
        let frame_len = carrier::HEADER_LEN + max_body;
        Egress { bytes: vec![0; BATCH * frame_len], frame_len, lengths: Vec::new(), next: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.next >= self.lengths.len()
    }

    pub(super) fn poll<'b>(&mut self, rate: TxMeta, buf: &'b mut [u8]) -> Option<Output<'b>> {
        let len = *self.lengths.get(self.next)?;
        let Some(out) = buf.get_mut(..len) else {
            return Some(Output::BufferTooSmall { needed: len });
        };
        let start = self.next * self.frame_len;
        out.copy_from_slice(self.bytes.get(start..start + len)?);
        self.next += 1;
        Some(Output::Transmit(rate, out))
    }
}

impl<R: SecureRandom> ApLink<R> {
    /// Seals up to a batch of frames, each of another session.
    pub(super) fn fill_egress(&mut self) {
        let now = self.now.mono;
        self.egress.lengths.clear();
        self.egress.next = 0;
        if self.group.has_work(now) {
            self.seal_broadcast();
            return;
        }
        let mut slots = Vec::with_capacity(BATCH);
        while slots.len() < BATCH {
            let Some(slot) = self.members.next_ready() else { break };
            slots.push(slot);
        }
        if slots.is_empty() {
            return;
        }
        slots.sort_unstable();
        let mut jobs = Vec::with_capacity(slots.len());
        let frames = self.egress.bytes.chunks_exact_mut(self.egress.frame_len);
        for ((slot, member), frame) in self.members.several(&slots).into_iter().zip(frames) {
            // A frame is longer than the carrier by construction.
            let Ok(body) = carrier::emit(frame) else { continue };
            let offset = member.session.sender.suite().message_offset();
            let Some(out) = body.get_mut(offset..) else { continue };
            let Some(len) = member.session.emit(now, &self.pool, out) else { continue };
            jobs.push((slot, ShroudSeal::new(&mut member.session.sender, body, len)));
        }
        let (numbers, mut jobs): (Vec<u32>, Vec<ShroudSeal<'_>>) = jobs.into_iter().unzip();
        seal_batch(&mut jobs);
        // A job that was left out above has no number here: lengths go by the frame's place, so the
        // places are taken from the jobs' own bodies.
        let mut sealed = Vec::with_capacity(jobs.len());
        for (slot, job) in numbers.iter().zip(jobs) {
            sealed.push((*slot, job.sealed));
        }
        self.note_sealed(&slots, &sealed);
    }

    /// Notes the lengths of sealed frames, and ends sessions whose keys are used up.
    fn note_sealed(
        &mut self,
        slots: &[u32],
        sealed: &[(u32, Result<usize, crate::shroud::SealError>)],
    ) {
        let now = self.now.mono;
        let mut exhausted = Vec::new();
        for (slot, result) in sealed {
            match result {
                Ok(len) => self.egress.lengths.push(carrier::HEADER_LEN + len),
                Err(_) => exhausted.push(*slot),
            }
        }
        for slot in slots {
            self.members.reschedule(*slot, now);
        }
        for slot in exhausted {
            self.drop_member(slot, Unlinked::Exhausted);
        }
    }
}
