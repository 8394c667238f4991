//! The application side of a node: what stands behind the TAP interface of a real one.

mod flow;
mod ip;
mod ping;

pub use flow::{FlowHost, FlowReport};
pub use ip::{FetchReport, IpHost, PingReport};
pub use ping::PingHost;

use slyfi_base::{Command, Event, Instant, Now, Refused};
use std::any::Any;

/// A host: takes delivered Ethernet frames and makes packets to send. Sans-IO like [`slyfi_base::Link`].
///
/// After every `handle_*` the node polls [`Host::poll_output`] until it says
/// [`HostOutput::Timeout`]. While the machine's queue is full the node holds the packet and does
/// not poll on, so a host is slowed down and loses nothing.
pub trait Host: Any {
    /// Takes an Ethernet frame that the machine delivered.
    fn handle_packet(&mut self, now: Now, packet: &[u8]);

    /// Learns what the machine said.
    fn handle_event(&mut self, now: Now, event: Event) {
        let _ = (now, event);
    }

    /// The machine refused a packet for good (not linked, no such member, too long).
    fn handle_refused(&mut self, now: Now, packet: &[u8], why: Refused) {
        let _ = (now, packet, why);
    }

    /// The instant asked for has come.
    fn handle_timeout(&mut self, now: Now) {
        let _ = now;
    }

    /// Returns the next thing to do.
    fn poll_output(&mut self, now: Now) -> HostOutput;

    /// Returns byte strings of its payloads by which the referee would know them on the air.
    fn markers(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }
}

/// What a host wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostOutput {
    /// Send this Ethernet frame.
    Send(Vec<u8>),
    /// Give this command to the machine.
    Command(Command),
    /// Nothing more until the given instant (or until the next input, if `None`).
    Timeout(Option<Instant>),
}

/// A host that keeps what it gets and sends nothing by itself.
#[derive(Clone, Debug, Default)]
pub struct SilentHost {
    /// The delivered Ethernet frames, in order.
    pub packets: Vec<Vec<u8>>,
}

impl Host for SilentHost {
    fn handle_packet(&mut self, _now: Now, packet: &[u8]) {
        self.packets.push(packet.to_vec());
    }

    fn poll_output(&mut self, _now: Now) -> HostOutput {
        HostOutput::Timeout(None)
    }
}
