//! What a machine has for its host, kept until it is polled.

use crate::pool::{Packet, PacketPool};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use slyfi_base::link::RecordKind;
use slyfi_base::{Event, MacAddress, Output, Redacted, TxMeta, UnixTime};
use zeroize::Zeroizing;

/// An Ethernet frame for the host: its header, and its payload in the pool.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) header: [u8; 14],
    pub(crate) payload: Packet,
}

impl Delivery {
    pub(crate) fn new(
        destination: MacAddress,
        source: MacAddress,
        ether_type: u16,
        payload: Packet,
    ) -> Self {
        let mut header = [0; 14];
        header[..6].copy_from_slice(&destination.0);
        header[6..12].copy_from_slice(&source.0);
        header[12..].copy_from_slice(&ether_type.to_be_bytes());
        Delivery { header, payload }
    }
}

/// A record to be made durable. No `Debug`: it may be a pairing.
struct Record {
    kind: RecordKind,
    until: Option<UnixTime>,
    bytes: Zeroizing<Vec<u8>>,
}

/// Outputs in the order in which they are handed out: what must be durable first, frames last.
#[derive(Default)]
pub(crate) struct Outbox {
    records: VecDeque<Record>,
    key_log: VecDeque<Zeroizing<Vec<u8>>>,
    events: VecDeque<Event>,
    deliveries: VecDeque<Delivery>,
    backhaul: VecDeque<Vec<u8>>,
    frames: VecDeque<Vec<u8>>,
}

/// The most Ethernet frames that wait for the host.
const MAX_DELIVERIES: usize = 256;

/// The most frames outside of Shroud that wait for the air.
const MAX_FRAMES: usize = 1_024;

impl Outbox {
    pub(crate) fn record(
        &mut self,
        kind: RecordKind,
        until: Option<UnixTime>,
        bytes: Zeroizing<Vec<u8>>,
    ) {
        self.records.push_back(Record { kind, until, bytes });
    }

    pub(crate) fn key_log(&mut self, line: Zeroizing<Vec<u8>>) {
        self.key_log.push_back(line);
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// Keeps a frame for the host, or gives its packet back when too many wait.
    pub(crate) fn deliver(&mut self, delivery: Delivery, pool: &mut PacketPool) {
        if self.deliveries.len() < MAX_DELIVERIES {
            self.deliveries.push_back(delivery);
        } else {
            pool.give(delivery.payload);
        }
    }

    pub(crate) fn backhaul(&mut self, message: Vec<u8>) {
        self.backhaul.push_back(message);
    }

    /// Keeps a finished 802.11 frame for the air; the oldest wait longest, the excess is dropped.
    pub(crate) fn frame(&mut self, frame: Vec<u8>) {
        if self.frames.len() < MAX_FRAMES {
            self.frames.push_back(frame);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
            && self.key_log.is_empty()
            && self.events.is_empty()
            && self.deliveries.is_empty()
            && self.backhaul.is_empty()
            && self.frames.is_empty()
    }

    /// Hands the next output out. An empty outbox says [`Output::Timeout`] without a time; ask
    /// [`Outbox::is_empty`] first.
    pub(crate) fn poll<'b>(
        &mut self,
        rate: TxMeta,
        pool: &mut PacketPool,
        buf: &'b mut [u8],
    ) -> Output<'b> {
        let front = [
            self.records.front().map(|r| r.bytes.len()),
            self.key_log.front().map(|l| l.len()),
            self.events.front().map(|_| 0),
            self.deliveries.front().map(|d| 14 + pool.bytes(&d.payload).len()),
            self.backhaul.front().map(Vec::len),
            self.frames.front().map(Vec::len),
        ];
        let Some(needed) = front.into_iter().flatten().next() else {
            return Output::Timeout(None);
        };
        if buf.len() < needed {
            return Output::BufferTooSmall { needed };
        }
        let (out, _) = buf.split_at_mut(needed);
        if let Some(record) = self.records.pop_front() {
            out.copy_from_slice(&record.bytes);
            return Output::Persist(slyfi_base::link::Persist {
                kind: record.kind,
                until: record.until,
                bytes: Redacted::new(out),
            });
        }
        if let Some(line) = self.key_log.pop_front() {
            out.copy_from_slice(&line);
            return Output::KeyLog(Redacted::new(out));
        }
        if let Some(event) = self.events.pop_front() {
            return Output::Event(event);
        }
        if let Some(delivery) = self.deliveries.pop_front() {
            let (header, payload) = out.split_at_mut(14);
            header.copy_from_slice(&delivery.header);
            payload.copy_from_slice(pool.bytes(&delivery.payload));
            pool.give(delivery.payload);
            return Output::Deliver(out);
        }
        if let Some(message) = self.backhaul.pop_front() {
            out.copy_from_slice(&message);
            return Output::Backhaul(out);
        }
        match self.frames.pop_front() {
            Some(frame) => {
                out.copy_from_slice(&frame);
                Output::Transmit(rate, out)
            }
            None => Output::Timeout(None),
        }
    }
}
