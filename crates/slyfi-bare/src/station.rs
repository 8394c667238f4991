//! Hosts SlyFi's client machine where there is no system: a radio, a queue of packets either way,
//! and a loop that somebody else turns.
//!
//! What the daemon is on Linux, without threads, files or a control socket. There is no store:
//! a pairing made from an invite lives in the machine until power is off, and then the access point
//! has to be asked for a new invite. Nothing else of a client's needs to outlive a crash: replay
//! records are an access point's, and every session has new keys.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use slyfi_base::link::RecordKind;
use slyfi_base::{
    Command, Event, Instant, Link, LinkError, MacAddress, Now, Output, Radio, RadioConfig, Refused,
    SecureRandom,
};
use slyfi_core::client::{ClientConfig, ClientLink};
use slyfi_core::pairing::Pairing;
use slyfi_core::sizes::{DEFAULT_MAX_BODY, MIN_MAX_BODY};
use slyfi_wire::carrier;

/// Packets that wait in one direction at most.
const QUEUE: usize = 64;

/// Frames that one turn takes from the radio.
const FRAMES: usize = 32;

/// Room for one frame or packet, in bytes.
const SLOT: usize = 2048;

/// A client machine, its radio and its queues.
pub struct Station<R, G> {
    machine: ClientLink<G>,
    radio: R,
    inbound: VecDeque<Vec<u8>>,
    outbound: VecDeque<Vec<u8>>,
    frame: Vec<u8>,
    output: Vec<u8>,
    due: Option<Instant>,
    counters: Counters,
}

/// What a station has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames given to the radio.
    pub frames_sent: u64,
    /// Frames taken from it.
    pub frames_received: u64,
    /// Frames that the radio had no room for; the link repairs that like any loss.
    pub frames_lost: u64,
    /// Packets delivered by the link.
    pub packets_received: u64,
    /// Packets given to the link.
    pub packets_sent: u64,
    /// Packets dropped because a queue was full or the link refused them for good.
    pub packets_dropped: u64,
}

/// Why a station cannot be, or cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StationError<E> {
    /// The radio failed.
    Radio(E),
    /// The radio carries less than a set-up needs.
    FramesTooShort,
    /// The machine found its own state inconsistent.
    Machine(LinkError),
}

/// What happened that its user may want to hear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The machine says so.
    Event(Event),
    /// A pairing was made from an invite; it is in memory only.
    PairedUntilPowerOff,
}

impl<R: Radio, G: SecureRandom> Station<R, G> {
    /// Brings the radio up and makes a machine whose host has the address `host_mac`. It connects
    /// by itself.
    ///
    /// # Errors
    /// [`StationError`].
    pub fn new(
        mut radio: R,
        pairing: Pairing,
        host_mac: MacAddress,
        rng: G,
        now: Now,
    ) -> Result<Self, StationError<R::Error>> {
        radio.initialize(now.mono, &RadioConfig::default()).map_err(StationError::Radio)?;
        let carries = radio.capabilities();
        let max_body = carries.max_frame.saturating_sub(carrier::HEADER_LEN);
        if !carries.injects || max_body < MIN_MAX_BODY {
            return Err(StationError::FramesTooShort);
        }
        let config = ClientConfig {
            max_body: max_body.min(DEFAULT_MAX_BODY),
            keeps_order: carries.keeps_order,
            ..ClientConfig::default()
        };
        let mut machine = ClientLink::new(config, host_mac, rng, now);
        machine.add_pairing(now, pairing).expect("the first pairing has no double");
        machine.handle_command(now, Command::Connect).expect("a client connects");
        Ok(Station {
            machine,
            radio,
            inbound: VecDeque::with_capacity(QUEUE),
            outbound: VecDeque::with_capacity(QUEUE),
            frame: vec![0; SLOT],
            output: vec![0; 2 * SLOT],
            due: Some(now.mono),
            counters: Counters::default(),
        })
    }

    /// Does everything that can be done now: frames in, packets out, timers, frames out.
    ///
    /// # Errors
    /// When the radio or the machine cannot go on.
    pub fn turn(
        &mut self,
        now: Now,
        notice: &mut dyn FnMut(Notice),
    ) -> Result<(), StationError<R::Error>> {
        for _ in 0..FRAMES {
            let read = self.radio.read(now.mono, &mut self.frame).map_err(StationError::Radio)?;
            let Some((meta, len)) = read else { break };
            self.counters.frames_received += 1;
            self.machine.handle_frame(now, meta, &mut self.frame[..len]);
            self.drain(now, notice)?;
        }
        while let Some(packet) = self.outbound.pop_front() {
            let refused = self.machine.handle_packet(now, &packet).err();
            self.drain(now, notice)?;
            match refused {
                None => self.counters.packets_sent += 1,
                Some(Refused::QueueFull) => {
                    self.outbound.push_front(packet);
                    break;
                }
                Some(_) => self.counters.packets_dropped += 1,
            }
        }
        if self.due.is_some_and(|due| due <= now.mono) {
            self.machine.handle_timeout(now);
            self.drain(now, notice)?;
        }
        Ok(())
    }

    /// Tells the machine something.
    ///
    /// # Errors
    /// When the radio or the machine cannot go on.
    pub fn command(
        &mut self,
        now: Now,
        command: Command,
        notice: &mut dyn FnMut(Notice),
    ) -> Result<(), StationError<R::Error>> {
        // What makes no sense now (an address that is bound already) changes nothing.
        let _ = self.machine.handle_command(now, command);
        self.drain(now, notice)
    }

    /// Takes the next packet of the network, an Ethernet frame.
    pub fn receive(&mut self) -> Option<Vec<u8>> {
        self.inbound.pop_front()
    }

    /// Queues an Ethernet frame for the network; dropped when the queue is full.
    pub fn send(&mut self, packet: Vec<u8>) {
        if self.outbound.len() < QUEUE {
            self.outbound.push_back(packet);
        } else {
            self.counters.packets_dropped += 1;
        }
    }

    /// Returns whether [`Station::send`] has room.
    pub fn can_send(&self) -> bool {
        self.outbound.len() < QUEUE
    }

    /// Returns the longest Ethernet payload that one frame carries, in bytes.
    pub fn mtu(&self) -> usize {
        self.machine.mtu()
    }

    /// Returns whether data can flow.
    pub fn is_linked(&self) -> bool {
        self.machine.is_linked()
    }

    /// Returns the counters.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    fn drain(
        &mut self,
        now: Now,
        notice: &mut dyn FnMut(Notice),
    ) -> Result<(), StationError<R::Error>> {
        loop {
            match self.machine.poll_output(&mut self.output) {
                Output::Transmit(meta, frame) => {
                    let sent =
                        self.radio.write(now.mono, meta, frame).map_err(StationError::Radio)?;
                    self.counters.frames_sent += u64::from(sent);
                    self.counters.frames_lost += u64::from(!sent);
                }
                Output::Deliver(packet) => {
                    if self.inbound.len() < QUEUE {
                        self.inbound.push_back(packet.to_vec());
                        self.counters.packets_received += 1;
                    } else {
                        self.counters.packets_dropped += 1;
                    }
                }
                Output::Persist(record) => {
                    if record.kind == RecordKind::Pairing {
                        notice(Notice::PairedUntilPowerOff);
                    }
                }
                Output::Event(event) => notice(Notice::Event(event)),
                // Neither was asked for.
                Output::Backhaul(_) | Output::KeyLog(_) => {}
                Output::BufferTooSmall { needed } => self.output.resize(needed, 0),
                Output::Failed(error) => return Err(StationError::Machine(error)),
                Output::Timeout(due) => {
                    self.due = due;
                    return Ok(());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
