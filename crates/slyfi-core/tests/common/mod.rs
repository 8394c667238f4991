//! A harness without a medium: machines, a queue between them, and one clock.

#![allow(dead_code, reason = "each test file uses its own part of the harness")]

use slyfi_base::event::{Phase, Unlinked};
use slyfi_base::link::RecordKind;
use slyfi_base::{
    Command, Duration, Event, Instant, Link, MacAddress, Now, Output, RxMeta, SecureRandom,
    UnixTime,
};
use slyfi_core::ap::{ApConfig, ApLink};
use slyfi_core::client::{ClientConfig, ClientLink};
use slyfi_core::pairing::{Kind, NetworkName, Pairing, Terms};
use slyfi_core::suite::Suite;
use std::collections::VecDeque;

/// SplitMix64 behind the contract of a secure source.
#[derive(Clone)]
pub struct Seeded(pub u64);

impl SecureRandom for Seeded {
    fn fill(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^= z >> 31;
            chunk.copy_from_slice(&z.to_le_bytes()[..chunk.len()]);
        }
    }
}

pub const START: UnixTime = UnixTime::from_secs(1_790_000_000);

/// One machine and what it has said.
pub struct Node {
    pub link: Box<dyn Link>,
    pub is_ap: bool,
    pub skew_us: i64,
    pub timeout: Option<Instant>,
    pub delivered: Vec<Vec<u8>>,
    pub events: Vec<Event>,
    pub records: Vec<(RecordKind, Option<UnixTime>, Vec<u8>)>,
    pub key_log: Vec<String>,
    pub sent: usize,
    pub is_up: bool,
}

/// A frame on its way.
struct Flying {
    at: Instant,
    from: usize,
    to: usize,
    bytes: Vec<u8>,
}

/// What happens to a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Deliver,
    Drop,
    Twice,
    Late(Duration),
}

/// Decides over a frame: time, from, to, bytes.
pub type Decide = Box<dyn FnMut(Instant, usize, usize, &[u8]) -> Fate>;

/// Machines that hear each other.
pub struct Net {
    pub now: Instant,
    pub nodes: Vec<Node>,
    flying: VecDeque<Flying>,
    backhaul: VecDeque<(usize, Vec<u8>)>,
    /// Asked about every frame.
    pub fate: Decide,
    /// Every frame sent: time, from, bytes.
    pub air: Vec<(Instant, usize, Vec<u8>)>,
    pub latency: Duration,
}

impl Net {
    pub fn new() -> Self {
        Net {
            now: Instant::from_micros(1_000_000),
            nodes: Vec::new(),
            flying: VecDeque::new(),
            backhaul: VecDeque::new(),
            fate: Box::new(|_, _, _, _| Fate::Deliver),
            air: Vec::new(),
            latency: Duration::from_micros(300),
        }
    }

    pub fn clock(&self, node: usize) -> Now {
        let wall = START + Duration::from_micros(self.now.as_micros());
        Now { mono: self.now, wall: wall.shifted(self.nodes.get(node).map_or(0, |n| n.skew_us)) }
    }

    pub fn start_clock(&self) -> Now {
        Now { mono: self.now, wall: START + Duration::from_micros(self.now.as_micros()) }
    }

    pub fn add(&mut self, link: Box<dyn Link>, is_ap: bool) -> usize {
        self.nodes.push(Node {
            link,
            is_ap,
            skew_us: 0,
            timeout: Some(self.now),
            delivered: Vec::new(),
            events: Vec::new(),
            records: Vec::new(),
            key_log: Vec::new(),
            sent: 0,
            is_up: true,
        });
        self.nodes.len() - 1
    }

    pub fn command(&mut self, node: usize, command: Command) {
        let now = self.clock(node);
        self.nodes[node].link.handle_command(now, command).unwrap();
        self.drain(node);
    }

    pub fn send(&mut self, node: usize, packet: &[u8]) -> Result<(), slyfi_base::Refused> {
        let now = self.clock(node);
        let sent = self.nodes[node].link.handle_packet(now, packet);
        self.drain(node);
        sent
    }

    /// Gives a node a frame of the caller's making.
    pub fn inject(&mut self, node: usize, bytes: &[u8]) {
        let now = self.clock(node);
        let mut bytes = bytes.to_vec();
        self.nodes[node].link.handle_frame(now, RxMeta::default(), &mut bytes);
        self.drain(node);
    }

    pub fn drain(&mut self, node: usize) {
        let mut buf = vec![0; 4096];
        for step in 0.. {
            assert!(step < 100_000, "the machine never comes to rest");
            match self.nodes[node].link.poll_output(&mut buf) {
                Output::Transmit(_, frame) => {
                    let frame = frame.to_vec();
                    self.nodes[node].sent += 1;
                    self.air.push((self.now, node, frame.clone()));
                    for to in 0..self.nodes.len() {
                        if to == node {
                            continue;
                        }
                        let at = self.now + self.latency;
                        let fly = |at| Flying { at, from: node, to, bytes: frame.clone() };
                        match (self.fate)(self.now, node, to, &frame) {
                            Fate::Deliver => self.flying.push_back(fly(at)),
                            Fate::Drop => {}
                            Fate::Twice => {
                                self.flying.push_back(fly(at));
                                self.flying.push_back(fly(at));
                            }
                            Fate::Late(d) => self.flying.push_back(fly(at + d)),
                        }
                    }
                }
                Output::Deliver(packet) => {
                    let packet = packet.to_vec();
                    self.nodes[node].delivered.push(packet);
                }
                Output::Persist(p) => {
                    let bytes = p.bytes.reveal().to_vec();
                    self.nodes[node].records.push((p.kind, p.until, bytes));
                }
                Output::Backhaul(m) => {
                    let m = m.to_vec();
                    self.backhaul.push_back((node, m));
                }
                Output::KeyLog(line) => {
                    let line = String::from_utf8(line.reveal().to_vec()).unwrap();
                    self.nodes[node].key_log.push(line);
                }
                Output::Event(e) => self.nodes[node].events.push(e),
                Output::BufferTooSmall { needed } => buf.resize(needed, 0),
                Output::Failed(e) => panic!("machine failed: {e:?}"),
                Output::Timeout(at) => {
                    self.nodes[node].timeout = at;
                    break;
                }
            }
        }
        while let Some((from, message)) = self.backhaul.pop_front() {
            for to in 0..self.nodes.len() {
                if to != from && self.nodes[to].is_ap && self.nodes[to].is_up {
                    let now = self.clock(to);
                    self.nodes[to].link.handle_backhaul(now, &message);
                    self.drain(to);
                }
            }
        }
    }

    /// Goes on to the next thing that happens; false when that is after `until`.
    fn step(&mut self, until: Instant) -> bool {
        let frame = self.flying.iter().map(|f| f.at).min();
        let timer = self.nodes.iter().filter(|n| n.is_up).filter_map(|n| n.timeout).min();
        let next = [frame, timer].into_iter().flatten().min();
        let Some(next) = next.filter(|t| *t <= until) else { return false };
        self.now = self.now.max(next);
        while let Some(at) = self.flying.iter().position(|f| f.at <= self.now) {
            let mut f = self.flying.remove(at).unwrap();
            if !self.nodes[f.to].is_up {
                continue;
            }
            let _ = f.from;
            let now = self.clock(f.to);
            self.nodes[f.to].link.handle_frame(now, RxMeta::default(), &mut f.bytes);
            self.drain(f.to);
        }
        for node in 0..self.nodes.len() {
            let is_due = self.nodes[node].timeout.is_some_and(|t| t <= self.now);
            if is_due && self.nodes[node].is_up {
                let now = self.clock(node);
                self.nodes[node].link.handle_timeout(now);
                self.drain(node);
            }
        }
        true
    }

    pub fn run(&mut self, d: Duration) {
        let until = self.now + d;
        for step in 0.. {
            assert!(step < 2_000_000, "time stands still at {:?}", self.now);
            if !self.step(until) {
                break;
            }
        }
        self.now = until;
    }

    /// Runs until `done`, at most for `limit`; tells whether it was done.
    pub fn run_until(&mut self, limit: Duration, mut done: impl FnMut(&Net) -> bool) -> bool {
        let until = self.now + limit;
        for step in 0.. {
            assert!(step < 2_000_000, "time stands still at {:?}", self.now);
            if done(self) {
                return true;
            }
            if !self.step(until) {
                self.now = until;
                return done(self);
            }
        }
        false
    }

    pub fn is_linked(&self, node: usize) -> bool {
        let up = |e: &Event| matches!(e, Event::Phase(Phase::Linked));
        let down = |e: &Event| matches!(e, Event::Unlinked { .. });
        let last_up = self.nodes[node].events.iter().rposition(up);
        let last_down = self.nodes[node].events.iter().rposition(down);
        last_up > last_down
    }

    pub fn unlinked(&self, node: usize) -> Option<Unlinked> {
        self.nodes[node].events.iter().rev().find_map(|e| match e {
            Event::Unlinked { why, .. } => Some(*why),
            _ => None,
        })
    }
}

pub const AP_MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

pub fn client_mac(n: u8) -> MacAddress {
    MacAddress([2, 0xc1, 0, 0, 0, n])
}

pub fn name() -> NetworkName {
    NetworkName::new(b"test network").unwrap()
}

pub fn pairing(suite: Suite, seed: u64) -> Pairing {
    let t0 = UnixTime::from_secs(START.as_secs() - 100_000);
    let terms = Terms::new(name(), suite, t0, Kind::Member);
    Pairing::generate(&terms, &mut Seeded(seed)).unwrap()
}

/// An access point (node 0) and `n` clients (nodes 1..=n), not yet connected.
pub fn network(n: u8, suite: Suite, ap: ApConfig, client: ClientConfig) -> Net {
    let mut net = Net::new();
    let now = net.start_clock();
    let mut access_point = ApLink::new(ap, AP_MAC, Seeded(1), now);
    let pairings: Vec<Pairing> = (1..=n).map(|i| pairing(suite, 100 + u64::from(i))).collect();
    for p in &pairings {
        access_point.add_pairing(now, p.clone()).unwrap();
    }
    net.add(Box::new(access_point), true);
    for (p, i) in pairings.into_iter().zip(1..) {
        let mut c = ClientLink::new(client, client_mac(i), Seeded(10 + u64::from(i)), now);
        c.add_pairing(now, p).unwrap();
        net.add(Box::new(c), false);
    }
    net
}

/// The same, all linked.
pub fn linked(n: u8, suite: Suite) -> Net {
    linked_with(n, suite, ApConfig { suite, ..ApConfig::default() }, ClientConfig::default())
}

pub fn linked_with(n: u8, suite: Suite, ap: ApConfig, client: ClientConfig) -> Net {
    let mut net = network(n, suite, ap, client);
    for i in 1..=usize::from(n) {
        net.command(i, Command::Connect);
    }
    let up =
        net.run_until(Duration::from_secs(5), |net| (1..=usize::from(n)).all(|i| net.is_linked(i)));
    assert!(up, "not linked: {:?}", net.nodes[1].events);
    net.run(Duration::from_millis(300));
    net
}

pub fn ethernet(to: MacAddress, from: MacAddress, ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&to.0);
    out.extend_from_slice(&from.0);
    out.extend_from_slice(&ether_type.to_be_bytes());
    out.extend_from_slice(payload);
    out
}
