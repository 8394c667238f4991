//! The radios: queue, contention, transmission, reception, hardware acknowledgement.

use super::{Air, Happening, Outgoing, Role};
use crate::channel::{Heard, Kind, Ongoing, TxId};
use crate::dcf::{self, CCA_TIME, RETRY_LIMIT};
use crate::medium::{Fcs, OnAir, Verdict};
use crate::node::NodeId;
use crate::referee::Seen;
use crate::schedule::Turn;
use slyfi_base::{Dbm, Duration, Instant, Rate, RxMeta, TxMeta};
use std::rc::Rc;

/// Frame control of an ACK (IEEE 802.11-2020 Table 9-1): control, subtype 1101.
const ACK: u8 = 0xd4;
/// The Retry bit in the second byte of frame control (9.2.4.1.6).
const RETRY: u8 = 0x08;

impl Air {
    /// Puts a frame into a node's queue.
    pub(crate) fn enqueue(&mut self, node: NodeId, out: Outgoing) {
        let now = self.now;
        let n = &mut self.nodes[node.index()];
        if n.queue.len() >= n.config.queue_limit {
            n.stats.queue_drops += 1;
            return;
        }
        if n.queue.is_empty() && n.awaiting.is_none() {
            n.contention.on_arrival(now, &mut n.rng);
        }
        n.queue.push_back(out);
        self.contend(node);
    }

    /// Plans the beginning of a node's next frame, if it has one and the channel lets it.
    fn contend(&mut self, node: NodeId) {
        let now = self.now;
        let n = &mut self.nodes[node.index()];
        if n.queue.is_empty() || n.awaiting.is_some() || n.begin_at.is_some() {
            return;
        }
        if let Some(at) = n.contention.may_begin(now) {
            n.begin += 1;
            n.begin_at = Some(at);
            self.schedule.add(at, Turn::Second, Happening::Begin(node, n.begin));
        }
    }

    pub(super) fn on_begin(&mut self, node: NodeId, number: u64) {
        let n = &mut self.nodes[node.index()];
        if n.begin != number || n.begin_at.is_none() {
            return;
        }
        n.begin_at = None;
        let Some(out) = n.queue.front() else { return };
        n.contention.spend();
        let (frame, meta, composed) = (out.frame.clone(), out.meta, out.composed);
        self.transmit(node, Kind::Queued, Outgoing { frame, meta, composed }, None);
    }

    /// Sends a frame at once, whatever the channel does.
    pub(super) fn force(&mut self, node: NodeId, out: Outgoing) {
        // A radio cannot send two frames at a time.
        if !self.channel.is_sending(node) {
            self.transmit(node, Kind::Forced, out, None);
        }
    }

    /// Sends noise at once.
    pub(super) fn noise(&mut self, node: NodeId, span: Duration) {
        if !self.channel.is_sending(node) {
            let composed = self.now_of(node).wall;
            let out = Outgoing { frame: Rc::from([]), meta: TxMeta::default(), composed };
            self.transmit(node, Kind::Noise, out, Some(span));
        }
    }

    fn transmit(&mut self, node: NodeId, kind: Kind, out: Outgoing, span: Option<Duration>) {
        let now = self.now;
        let rate = out.meta.rate;
        let airtime = span.unwrap_or_else(|| dcf::airtime(out.frame.len(), rate));
        let end = now + airtime;
        let at: Vec<Heard> = (0..self.nodes.len() as u16)
            .map(|i| {
                let to = NodeId(i);
                let signal =
                    if to == node { Some(Dbm(i8::MAX)) } else { self.medium.signal(node, to, now) };
                Heard { signal, spoiled: false, deaf: false }
            })
            .collect();

        let n = &mut self.nodes[node.index()];
        n.stats.airtime = n.stats.airtime + airtime;
        if kind != Kind::Noise {
            n.stats.sent += 1;
            n.stats.sent_bytes += out.frame.len() as u64;
            self.frames += 1;
            self.digest = digest(self.digest, now, node, &out.frame);
            let judged = matches!(n.role, Role::Party { .. });
            if judged {
                self.referee.see(&Seen {
                    at: now,
                    composed: out.composed,
                    sender: node,
                    network: n.config.network,
                    rate,
                    frame: &out.frame,
                });
            }
        }
        for (i, heard) in at.iter().enumerate() {
            if heard.signal.is_none() {
                continue;
            }
            let n = &mut self.nodes[i];
            n.contention.on_begin(now);
            // Too young a carrier is not sensed: whoever is about to begin does, and collides.
            let committed = n
                .begin_at
                .is_some_and(|b| b.saturating_since(now) < Duration::from_micros(CCA_TIME));
            if n.begin_at.is_some() && (!committed || i == node.index()) {
                n.begin_at = None;
                n.begin += 1;
            }
        }
        let id = self.channel.begin(node, end, rate, kind, out.frame, at);
        self.schedule.add(end, Turn::First, Happening::End(id));
    }

    pub(super) fn on_end(&mut self, id: TxId) {
        let Some(tx) = self.channel.end(id) else { return };
        if tx.at.iter().enumerate().any(|(i, h)| i != tx.from.index() && h.spoiled) {
            self.nodes[tx.from.index()].stats.collided += 1;
        }
        for i in 0..tx.at.len() {
            let heard = tx.at[i];
            let to = NodeId(i as u16);
            let Some(signal) = heard.signal.filter(|_| to != tx.from) else { continue };
            if heard.spoiled || tx.kind == Kind::Noise {
                self.nodes[i].contention.on_end(self.now, !heard.deaf);
            } else {
                self.receive(&tx, to, signal);
            }
        }
        self.finish(&tx);
        for (i, heard) in tx.at.iter().enumerate() {
            if heard.signal.is_some() {
                self.contend(NodeId(i as u16));
            }
        }
    }

    /// A frame that nothing collided with ends at a node.
    fn receive(&mut self, tx: &Ongoing, to: NodeId, signal: Dbm) {
        let on_air = OnAir { at: self.now, from: tx.from, to, rate: tx.rate, bytes: &tx.frame };
        let verdict = self.medium.verdict(&on_air);
        let damaged = matches!(verdict, Verdict::Corrupt { fcs: Fcs::Fails, .. });
        let lost = verdict == Verdict::Drop;
        self.nodes[to.index()].contention.on_end(self.now, damaged);
        if lost {
            return;
        }
        if !damaged {
            self.hardware(tx, to);
        }
        let is_ack = tx.frame.first() == Some(&ACK);
        let node = &self.nodes[to.index()];
        let is_party = matches!(node.role, Role::Party { .. });
        // Acknowledgements and damaged frames end in the radio, unless it was told to pass them.
        if is_party && (is_ack || (damaged && !node.config.passes_bad_fcs)) {
            return;
        }
        if is_party && !damaged && self.is_repetition(to, &tx.frame) {
            return;
        }
        let meta = RxMeta { signal: Some(signal), rate: Some(tx.rate), bad_fcs: damaged };
        match verdict {
            Verdict::Drop => {}
            Verdict::Deliver { delay } => self.deliver(to, meta, tx.frame.clone(), delay),
            Verdict::Duplicate { delay, gap } => {
                self.deliver(to, meta, tx.frame.clone(), delay);
                self.deliver(to, meta, tx.frame.clone(), delay + gap);
            }
            Verdict::Corrupt { bits, delay, .. } => {
                let mut bytes = tx.frame.to_vec();
                self.medium.flip_bits(&mut bytes, bits);
                self.deliver(to, meta, Rc::from(bytes), delay);
            }
        }
    }

    fn deliver(&mut self, to: NodeId, meta: RxMeta, frame: Rc<[u8]>, delay: Duration) {
        let what = Happening::Arrive(to, meta, frame);
        // Through the schedule even without delay: a machine's answer must not begin before every
        // radio has seen the end of this frame.
        self.schedule.add(self.now + delay, Turn::Second, what);
    }

    /// What the radio does by itself: acknowledge, take an acknowledgement, keep silent.
    fn hardware(&mut self, tx: &Ongoing, to: NodeId) {
        let now = self.now;
        let n = &mut self.nodes[to.index()];
        let Some(receiver) = tx.frame.get(4..10) else { return };
        if tx.frame[0] == ACK {
            if n.awaiting.is_some()
                && n.queue.front().and_then(|o| o.frame.get(10..16)) == Some(receiver)
            {
                n.awaiting = None;
                n.attempts = 0;
                n.queue.pop_front();
                n.contention.on_done(&mut n.rng);
            }
            return;
        }
        if receiver[0] & 1 == 1 {
            return;
        }
        if n.config.hardware_address.is_some_and(|a| a == *receiver) {
            let Some(transmitter) = tx.frame.get(10..16) else { return };
            let mut ack = [0u8; dcf::ACK_LEN];
            ack[0] = ACK;
            ack[4..].copy_from_slice(transmitter);
            let meta = TxMeta { rate: dcf::ack_rate(tx.rate) };
            let out = Outgoing { frame: Rc::from(ack), meta, composed: n.clock.now(now).wall };
            let at = now + Duration::from_micros(dcf::SIFS);
            self.schedule.add(at, Turn::Second, Happening::Force(to, out));
        } else {
            // The Duration field reserves the medium for what follows (9.2.5, 10.3.2.4).
            let us = u16::from_le_bytes([tx.frame[2], tx.frame[3]]);
            if us < 0x8000 {
                n.contention.reserve(now + Duration::from_micros(u64::from(us)));
            }
        }
    }

    /// Whether a frame is a retry whose first copy was received (10.3.2.14); remembers it.
    fn is_repetition(&mut self, to: NodeId, frame: &[u8]) -> bool {
        let n = &mut self.nodes[to.index()];
        let (Some(receiver), Some(from), Some(sequence)) = (
            frame.get(4..10),
            frame.get(10..16).and_then(|b| b.first_chunk::<6>()),
            frame.get(22..24).and_then(|b| b.first_chunk::<2>()),
        ) else {
            return false;
        };
        if n.config.hardware_address.is_none_or(|a| a != *receiver) {
            return false;
        }
        match n.last_acked.iter_mut().find(|(a, _)| a == from) {
            Some((_, last)) => {
                let same = last == sequence && frame[1] & RETRY != 0;
                *last = *sequence;
                same
            }
            None => {
                n.last_acked.push((*from, *sequence));
                false
            }
        }
    }

    /// The sender's side of the end of a transmission.
    fn finish(&mut self, tx: &Ongoing) {
        let now = self.now;
        let n = &mut self.nodes[tx.from.index()];
        n.contention.on_end(now, false);
        if tx.kind != Kind::Queued {
            return;
        }
        // The queue was emptied by a crash while the frame was on the air.
        let Some(front) = n.queue.front().filter(|o| Rc::ptr_eq(&o.frame, &tx.frame)) else {
            return;
        };
        let unicast = front.frame.len() >= 16 && front.frame[4] & 1 == 0 && front.frame[0] != ACK;
        if unicast {
            n.begin += 1;
            n.awaiting = Some(n.begin);
            let at = now + Duration::from_micros(dcf::ACK_TIMEOUT);
            self.schedule.add(at, Turn::Last, Happening::AckTimeout(tx.from, n.begin));
        } else {
            n.queue.pop_front();
            n.contention.on_done(&mut n.rng);
        }
    }

    pub(super) fn on_ack_timeout(&mut self, node: NodeId, number: u64) {
        if self.nodes[node.index()].awaiting != Some(number) {
            return;
        }
        // A reception has begun: it may be the acknowledgement, so its end decides (10.3.2.11).
        if let Some(end) = self.channel.busy_until(node) {
            self.schedule.add(end, Turn::Last, Happening::AckTimeout(node, number));
            return;
        }
        let n = &mut self.nodes[node.index()];
        n.awaiting = None;
        n.attempts += 1;
        if n.attempts >= RETRY_LIMIT {
            n.stats.gave_up += 1;
            n.attempts = 0;
            n.queue.pop_front();
            n.contention.on_done(&mut n.rng);
        } else {
            n.stats.retries += 1;
            n.contention.on_failure(&mut n.rng);
            if let Some(out) = n.queue.front_mut() {
                let mut bytes = out.frame.to_vec();
                bytes[1] |= RETRY;
                out.frame = Rc::from(bytes);
            }
        }
        self.contend(node);
    }
}

/// Folds one transmission into the digest of the run.
fn digest(mut d: u64, at: Instant, node: NodeId, frame: &[u8]) -> u64 {
    let mut mix = |v: u64| d = (d ^ v).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    mix(at.as_micros());
    mix(u64::from(node.0) << 32 | frame.len() as u64);
    for chunk in frame.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(u64::from_le_bytes(word));
    }
    d
}

/// Returns whether the OFDM PHY has this rate.
pub(crate) fn is_rate(rate: Rate) -> bool {
    dcf::RATES.contains(&rate)
}
