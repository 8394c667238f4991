//! A medium for a handful of machines: frames reach everyone unless a rule says otherwise, unicast
//! frames are repeated like a card's until their receiver has them, time jumps to the next timer.

use slyfi_base::{
    Command, Event, Instant, Link, MacAddress, Now, Output, RxMeta, SecureRandom, TxMeta, UnixTime,
};
use slyfi_rivals::wifi_open::{ApConfig, OpenAp, OpenStation, Ssid, StationConfig};
use slyfi_wire::ieee80211::MacHeader;
use std::collections::VecDeque;

/// How often a card sends a unicast frame that nobody acknowledges (IEEE 802.11-2020's default
/// short retry limit).
pub const CARD_TRIES: u8 = 7;

/// A generator for tests: xorshift64*.
#[derive(Debug, Clone)]
pub struct TestRng(pub u64);

impl SecureRandom for TestRng {
    fn fill(&mut self, out: &mut [u8]) {
        for b in out {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            *b = (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 56) as u8;
        }
    }
}

pub const AP: MacAddress = MacAddress([2, 0, 0, 0, 0, 0xaa]);

pub fn station_mac(n: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 1, n])
}

pub fn ssid(name: &str) -> Ssid {
    Ssid::new(name.as_bytes()).unwrap()
}

pub fn ap_config() -> ApConfig {
    ApConfig::new(AP, ssid("home"))
}

pub fn station_config(n: u8) -> StationConfig {
    StationConfig::new(station_mac(n), vec![ssid("home")])
}

pub fn at(us: u64) -> Now {
    Now { mono: Instant::from_micros(us), wall: UnixTime::from_secs(1_700_000_000) }
}

pub fn ap(config: ApConfig) -> Box<dyn Link> {
    Box::new(OpenAp::new(at(0), config, &mut TestRng(99)))
}

pub fn station(config: StationConfig) -> Box<dyn Link> {
    let seed = u64::from(config.mac.0[5]) + 1;
    Box::new(OpenStation::new(config, TestRng(seed)))
}

/// One machine with what it has put out.
pub struct Node {
    pub link: Box<dyn Link>,
    pub mac: MacAddress,
    pub events: Vec<Event>,
    pub delivered: Vec<Vec<u8>>,
    timeout: Option<Instant>,
}

/// Whether a frame of one node reaches another: `(from, to, frame)`.
type Rule = Box<dyn FnMut(usize, usize, &[u8]) -> bool>;

pub struct Net {
    pub now: Now,
    pub nodes: Vec<Node>,
    /// Every frame put on the air, retransmissions by the card left out.
    pub air: Vec<(usize, TxMeta, Vec<u8>)>,
    pub reaches: Rule,
    /// Acknowledgements get lost, so that cards repeat what was received.
    pub loses_acks: bool,
    on_air: VecDeque<(usize, Vec<u8>)>,
}

impl Net {
    /// An access point, node 0, and stations 1 to `stations`.
    pub fn new(stations: u8) -> Self {
        let mut net = Net {
            now: at(0),
            nodes: Vec::new(),
            air: Vec::new(),
            reaches: Box::new(|_, _, _| true),
            loses_acks: false,
            on_air: VecDeque::new(),
        };
        net.add(AP, ap(ap_config()));
        for n in 1..=stations {
            net.add(station_mac(n), station(station_config(n)));
        }
        net
    }

    /// The same with every station linked, one after the other.
    pub fn linked(stations: u8) -> Self {
        let mut net = Net::new(stations);
        for n in 1..=usize::from(stations) {
            net.command(n, Command::Connect);
            assert!(net.run_until(5.0, |net| net.is_linked(n)), "station {n}");
        }
        net
    }

    pub fn add(&mut self, mac: MacAddress, link: Box<dyn Link>) {
        let (events, delivered) = (Vec::new(), Vec::new());
        self.nodes.push(Node { link, mac, events, delivered, timeout: None });
        self.drain(self.nodes.len() - 1);
    }

    pub fn is_linked(&self, n: usize) -> bool {
        let last = self.nodes[n].events.iter().rev().find_map(|e| match e {
            Event::Linked { .. } => Some(true),
            Event::Unlinked { .. } => Some(false),
            _ => None,
        });
        last.unwrap_or(false)
    }

    pub fn command(&mut self, n: usize, command: Command) {
        self.nodes[n].link.handle_command(self.now, command).unwrap();
        self.drain(n);
    }

    /// Hands an Ethernet frame to node `n`, and lets the air settle.
    pub fn send(&mut self, n: usize, to: MacAddress, payload: &[u8]) {
        let packet = packet(to, self.nodes[n].mac, payload);
        self.nodes[n].link.handle_packet(self.now, &packet).unwrap();
        self.drain(n);
        self.settle();
    }

    /// Takes everything that node `n` has to say.
    pub fn drain(&mut self, n: usize) {
        let mut buf = [0; 4096];
        loop {
            let node = &mut self.nodes[n];
            match node.link.poll_output(&mut buf) {
                Output::Transmit(meta, frame) => {
                    self.air.push((n, meta, frame.to_vec()));
                    self.on_air.push_back((n, frame.to_vec()));
                }
                Output::Deliver(packet) => node.delivered.push(packet.to_vec()),
                Output::Event(event) => node.events.push(event),
                Output::Timeout(at) => {
                    node.timeout = at;
                    return;
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Delivers all frames that are on the air, and those that they cause.
    pub fn settle(&mut self) {
        while let Some((from, mut frame)) = self.on_air.pop_front() {
            let receiver = MacHeader::new_checked(&frame).unwrap().addr1();
            let tries = if receiver.is_group() { 1 } else { CARD_TRIES };
            for attempt in 0..tries {
                let mut acknowledged = false;
                for to in (0..self.nodes.len()).filter(|to| *to != from) {
                    if (self.reaches)(from, to, &frame) {
                        let mut copy = frame.clone();
                        self.nodes[to].link.handle_frame(self.now, RxMeta::default(), &mut copy);
                        acknowledged |= self.nodes[to].mac == receiver;
                        self.drain(to);
                    }
                }
                if acknowledged && !(self.loses_acks && attempt == 0) {
                    break;
                }
                frame[1] |= 0x08;
            }
        }
    }

    /// Runs timers and frames until `goal` holds; `false` if it does not within `seconds`.
    pub fn run_until(&mut self, seconds: f64, goal: impl Fn(&Net) -> bool) -> bool {
        let end = self.now.mono.as_micros() + (seconds * 1e6) as u64;
        loop {
            self.settle();
            if goal(self) {
                return true;
            }
            let next = self.nodes.iter().filter_map(|n| n.timeout).min();
            match next.filter(|t| t.as_micros() <= end) {
                Some(t) => self.now = at(t.as_micros().max(self.now.mono.as_micros())),
                None => {
                    self.now = at(end);
                    return false;
                }
            }
            for n in 0..self.nodes.len() {
                if self.nodes[n].timeout.is_some_and(|t| t <= self.now.mono) {
                    self.nodes[n].link.handle_timeout(self.now);
                    self.drain(n);
                }
            }
        }
    }

    /// Runs timers and frames for `seconds`.
    pub fn run(&mut self, seconds: f64) {
        assert!(!self.run_until(seconds, |_| false));
    }

    /// The subtypes of the management frames so far, in order, beacons left out.
    pub fn exchange(&self) -> Vec<u8> {
        let subtype = |frame: &[u8]| {
            let header = MacHeader::new_checked(frame).unwrap();
            let fc = header.frame_control();
            (fc.0 & 0x0c == 0 && fc.subtype() != 8).then_some(fc.subtype())
        };
        self.air.iter().filter_map(|(_, _, frame)| subtype(frame)).collect()
    }
}

/// An Ethernet frame with an experimental EtherType.
pub fn packet(to: MacAddress, from: MacAddress, payload: &[u8]) -> Vec<u8> {
    [&to.0, &from.0, &[0x88, 0xb5][..], payload].concat()
}
