//! Nodes: what they are made of and what is counted about them.

use slyfi_base::{Duration, Event, Instant, Link, LinkError};
use std::any::Any;

/// Names a node of an [`crate::Air`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u16);

impl NodeId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A [`Link`] that a test can look into by its own type ([`crate::Air::link`]).
pub trait AnyLink: Link + Any {}
impl<T: Link + Any> AnyLink for T {}

/// What a node is like.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// For logs and findings.
    pub name: String,
    /// Nodes of one network may share Tryst keys (slyfi-2008 §3.5, roaming), so the referee allows
    /// them the same Tryst address in one interval.
    pub network: u32,
    /// Access points with the same number are joined by a backhaul.
    pub backhaul: Option<u32>,
    /// What the wall clock is off by, in microseconds.
    pub clock_offset: i64,
    /// Drift of both clocks in parts per million.
    pub clock_ppm: i32,
    /// Frames that the radio's queue holds; more are dropped and counted.
    pub queue_limit: usize,
    /// The address for which the radio sends hardware acknowledgements; SlyFi's radios have none.
    pub hardware_address: Option<[u8; 6]>,
    /// Whether the radio hands damaged frames up, marked.
    pub passes_bad_fcs: bool,
    /// Byte strings that must never be seen on the air, with what they are.
    pub secrets: Vec<(&'static str, Vec<u8>)>,
}

impl NodeConfig {
    /// Makes the configuration of a node with right clocks and a queue of 256 frames.
    pub fn new(name: impl Into<String>) -> Self {
        NodeConfig {
            name: name.into(),
            network: 0,
            backhaul: None,
            clock_offset: 0,
            clock_ppm: 0,
            queue_limit: 256,
            hardware_address: None,
            passes_bad_fcs: false,
            secrets: Vec::new(),
        }
    }

    /// Sets the network.
    pub fn with_network(self, network: u32) -> Self {
        NodeConfig { network, ..self }
    }

    /// Joins an access point to others by a backhaul.
    pub fn with_backhaul(self, group: u32) -> Self {
        NodeConfig { backhaul: Some(group), ..self }
    }

    /// Sets the clock's error in microseconds and drift in parts per million.
    pub fn with_clock(self, offset: i64, ppm: i32) -> Self {
        NodeConfig { clock_offset: offset, clock_ppm: ppm, ..self }
    }

    /// Sets the length of the radio's queue.
    pub fn with_queue(self, queue_limit: usize) -> Self {
        NodeConfig { queue_limit, ..self }
    }

    /// Gives the radio an address that it acknowledges.
    pub fn with_hardware_address(self, address: [u8; 6]) -> Self {
        NodeConfig { hardware_address: Some(address), ..self }
    }

    /// Lets the radio hand damaged frames up.
    pub fn with_bad_fcs(self) -> Self {
        NodeConfig { passes_bad_fcs: true, ..self }
    }

    /// Adds a byte string that must never be seen on the air (a name, an address).
    pub fn with_secret(mut self, what: &'static str, bytes: impl Into<Vec<u8>>) -> Self {
        self.secrets.push((what, bytes.into()));
        self
    }
}

/// What is counted about a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeStats {
    /// Frames put on the air, retries and acknowledgements included.
    pub sent: u64,
    /// Their bytes, frame check sequences not counted.
    pub sent_bytes: u64,
    /// Their time on the air.
    pub airtime: Duration,
    /// Frames of this node that something collided with at one receiver or more.
    pub collided: u64,
    /// Frames handed to the machine (or sniffer, or attacker).
    pub heard: u64,
    /// Hardware retries of unicast frames.
    pub retries: u64,
    /// Unicast frames given up after the retry limit.
    pub gave_up: u64,
    /// Frames dropped because the radio's queue was full.
    pub queue_drops: u64,
    /// Packets that the machine delivered to the host.
    pub delivered: u64,
    /// Packets that the host gave to the machine and that were taken.
    pub accepted: u64,
    /// Packets that the machine refused for good.
    pub refused: u64,
    /// Records made durable.
    pub persisted: u64,
}

/// One line of what happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// True time.
    pub at: Instant,
    /// Where.
    pub node: NodeId,
    /// What.
    pub what: Happened,
}

/// What happened at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The machine said so.
    Event(Event),
    /// The machine was killed.
    Crashed,
    /// A new machine was started from the disk.
    Restarted,
    /// The machine gave up; it was dropped.
    Failed(LinkError),
    /// Backhaul messages were lost on the way to this node.
    BackhaulLost,
}
