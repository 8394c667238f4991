//! What a machine has for its host, kept in order until it is polled.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use slyfi_base::link::{Persist, RecordKind};
use slyfi_base::{Event, Exhausted, Output, Redacted, TxMeta};

/// The most outputs that wait. A host that drains after every call, as the contract has it, comes
/// nowhere near.
const MAX_WAITING: usize = 1024;

/// The most emptied buffers kept for the next frames.
const MAX_SPARE: usize = 64;

#[derive(Debug)]
enum Item {
    Event(Event),
    Deliver(Vec<u8>),
    Transmit(TxMeta, Vec<u8>),
    Persist(Vec<u8>),
}

/// Why a frame is not on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unsent {
    /// The queue is full.
    NoRoom,
    /// Nothing can seal it.
    NoKey,
}

/// A queue of outputs that reuses its buffers.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    items: VecDeque<Item>,
    spare: Vec<Vec<u8>>,
}

impl Outbox {
    /// Returns whether a frame or packet still fits.
    pub(super) fn has_room(&self) -> bool {
        self.items.len() < MAX_WAITING
    }

    /// Events are few, and always kept.
    pub(super) fn event(&mut self, event: Event) {
        self.items.push_back(Item::Event(event));
    }

    /// Keeps a record of how far a key was used. Always kept: what follows depends on it.
    pub(super) fn persist(&mut self, record: Vec<u8>) {
        self.items.push_back(Item::Persist(record));
    }

    /// Keeps an 802.11 frame for the air, made by `write`. Returns whether there was room.
    pub(super) fn transmit(&mut self, meta: TxMeta, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        let write = |bytes: &mut Vec<u8>| {
            write(bytes);
            Ok(())
        };
        self.transmit_sealed(meta, write).is_ok()
    }

    /// Keeps an 802.11 frame for the air, made by `write` unless there is no room.
    pub(super) fn transmit_sealed(
        &mut self,
        meta: TxMeta,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), Exhausted>,
    ) -> Result<(), Unsent> {
        self.push(|bytes| Item::Transmit(meta, bytes), write)
    }

    /// Keeps an Ethernet frame for the host, made by `write`. Returns whether there was room.
    pub(super) fn deliver(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        let write = |bytes: &mut Vec<u8>| {
            write(bytes);
            Ok(())
        };
        self.push(Item::Deliver, write).is_ok()
    }

    fn push(
        &mut self,
        item: impl FnOnce(Vec<u8>) -> Item,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), Exhausted>,
    ) -> Result<(), Unsent> {
        if !self.has_room() {
            return Err(Unsent::NoRoom);
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        if write(&mut bytes).is_err() {
            self.spare.push(bytes);
            return Err(Unsent::NoKey);
        }
        self.items.push_back(item(bytes));
        Ok(())
    }

    /// Hands out the next output; `None` when only the time-out is left.
    pub(super) fn poll<'b>(&mut self, buf: &'b mut [u8]) -> Option<Output<'b>> {
        let needed = match self.items.front()? {
            Item::Event(_) => 0,
            Item::Deliver(bytes) | Item::Transmit(_, bytes) | Item::Persist(bytes) => bytes.len(),
        };
        let Some(out) = buf.get_mut(..needed) else {
            return Some(Output::BufferTooSmall { needed });
        };
        Some(match self.items.pop_front()? {
            Item::Event(event) => Output::Event(event),
            Item::Deliver(bytes) => {
                self.give_out(bytes, out);
                Output::Deliver(out)
            }
            Item::Transmit(meta, bytes) => {
                self.give_out(bytes, out);
                Output::Transmit(meta, out)
            }
            Item::Persist(bytes) => {
                self.give_out(bytes, out);
                let kind = RecordKind::Counter;
                Output::Persist(Persist { kind, until: None, bytes: Redacted::new(out) })
            }
        })
    }

    fn give_out(&mut self, bytes: Vec<u8>, out: &mut [u8]) {
        out.copy_from_slice(&bytes);
        if self.spare.len() < MAX_SPARE {
            self.spare.push(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slyfi_base::event::Phase;

    #[test]
    fn outputs_come_in_order_and_wait_for_a_large_enough_buffer() {
        let mut o = Outbox::default();
        assert!(o.transmit(TxMeta::default(), |b| b.extend([1, 2, 3])));
        o.event(Event::Phase(Phase::Probing));
        assert!(o.deliver(|b| b.push(4)));
        let mut buf = [0; 3];
        assert!(matches!(o.poll(&mut buf[..2]), Some(Output::BufferTooSmall { needed: 3 })));
        assert!(matches!(o.poll(&mut buf), Some(Output::Transmit(_, [1, 2, 3]))));
        assert!(matches!(o.poll(&mut []), Some(Output::Event(Event::Phase(Phase::Probing)))));
        assert!(matches!(o.poll(&mut buf), Some(Output::Deliver([4]))));
        assert!(o.poll(&mut buf).is_none());
    }

    #[test]
    fn a_full_queue_takes_no_more_frames() {
        let mut o = Outbox::default();
        let taken = (0..2 * MAX_WAITING).filter(|_| o.deliver(|b| b.push(0))).count();
        assert_eq!(taken, MAX_WAITING);
        assert!(o.poll(&mut [0]).is_some());
        assert!(o.deliver(|b| b.push(0)));
    }
}
