//! The interface between the stack and the node.

use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;
use std::collections::VecDeque;

/// Packets that wait for the machine before the stack has to.
const QUEUE: usize = 32;

/// Two queues of Ethernet frames.
pub(super) struct Wire {
    pub(super) mtu: usize,
    pub(super) received: VecDeque<Vec<u8>>,
    pub(super) sent: VecDeque<Vec<u8>>,
}

impl Wire {
    pub(super) fn new(mtu: usize) -> Self {
        Wire { mtu, received: VecDeque::new(), sent: VecDeque::new() }
    }
}

pub(super) struct Received(Vec<u8>);
pub(super) struct ToSend<'a>(&'a mut VecDeque<Vec<u8>>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for ToSend<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        self.0.push_back(packet);
        result
    }
}

impl Device for Wire {
    type RxToken<'a> = Received;
    type TxToken<'a> = ToSend<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, ToSend<'_>)> {
        if self.sent.len() >= QUEUE {
            return None;
        }
        Some((Received(self.received.pop_front()?), ToSend(&mut self.sent)))
    }

    fn transmit(&mut self, _: Instant) -> Option<ToSend<'_>> {
        (self.sent.len() < QUEUE).then_some(ToSend(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut c = DeviceCapabilities::default();
        c.medium = Medium::Ethernet;
        c.max_transmission_unit = self.mtu;
        c
    }
}
