//! What the machines cost as a whole: setting a link up, carrying a packet, keeping a member.

use std::hint::black_box;

use slyfi_base::event::Phase;
use slyfi_base::{
    Command, Duration, Event, Instant, Link, MacAddress, Now, Output, RxMeta, SecureRandom,
    UnixTime,
};
use slyfi_core::ap::{ApConfig, ApLink};
use slyfi_core::client::{ClientConfig, ClientLink};
use slyfi_core::pairing::{Kind, NetworkName, Pairing, Terms};
use slyfi_core::suite::{Kem, KeySize, Suite};

use crate::harness::{Contest, Measurement, Outcome};
use crate::memory;
use crate::report::{Bar, Row};

/// The access point's host.
const HOST: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

/// When the measurements begin.
const START: u64 = 1_790_000_000;

/// Members for the measurement of memory.
const MEMBERS: usize = 200;

/// Measures everything.
pub fn run(rounds: u32) -> Vec<Row> {
    let ml_kem = Suite::Aead { key: KeySize::Aes128, kem: Kem::X25519MlKem768 };
    vec![
        set_up(rounds, Suite::S2008),
        set_up(rounds, Suite::AEAD),
        set_up(rounds, ml_kem),
        packet(rounds, Suite::S2008),
        packet(rounds, Suite::AEAD),
        member(Suite::S2008),
        member(Suite::AEAD),
    ]
}

/// All that both machines do from the command to the link, and back to none: probe, authentication
/// with the agreement, association, group key, leave. No jitter, no loss, no latency.
fn set_up(rounds: u32, suite: Suite) -> Row {
    let mut pair = Net::new(suite, 1);
    let mut contest = Contest::default();
    contest.enter("slyfi-core", move || {
        pair.link(0);
        pair.leave(0);
        // The replay cache holds so many of one client within a window, and no more.
        pair.now = pair.now.later(Duration::from_secs(4));
    });
    let what = format!("link set-up and leave, both machines, suite {suite}");
    Row::new(&what, Bar::Nanoseconds(1e6), contest.run(rounds, 1))
}

/// One full packet from the client's host to the access point's, with its share of acknowledgements.
fn packet(rounds: u32, suite: Suite) -> Row {
    let mut pair = Net::new(suite, 1);
    pair.link(0);
    let mut packet = vec![0x5a; 1_514];
    packet[..6].copy_from_slice(&HOST.0);
    packet[12..14].copy_from_slice(&[0x08, 0x00]);
    let mut contest = Contest::default();
    contest.enter("slyfi-core", move || {
        let before = pair.delivered;
        let now = pair.tick();
        pair.clients[0].handle_packet(now, black_box(&packet)).expect("the queue is empty");
        pair.pump();
        assert_eq!(pair.delivered, before + 1);
    });
    let what = format!("1500 B host to host, both machines, suite {suite}");
    Row::new(&what, Bar::None, contest.run(rounds, 1))
}

/// What a member adds to an access point's memory, w = 50, buffers for packets not counted: those are
/// one pool for all.
fn member(suite: Suite) -> Row {
    let mut net = Net::new(suite, MEMBERS);
    net.ap_bytes = 0;
    for client in 0..MEMBERS {
        net.link(client);
    }
    let value = net.ap_bytes as f64 / MEMBERS as f64;
    let ours = Measurement { name: "slyfi-core".to_owned(), value };
    let what = format!("one member of an access point, w = 50, suite {suite}");
    Row::bytes(&what, Bar::Bytes(8_192.0), Outcome { ours, peers: vec![], missing: vec![] })
}

/// An access point and clients, frames handed from one to the other.
struct Net {
    ap: ApLink<Seeded>,
    clients: Vec<ClientLink<Seeded>>,
    /// What the access point has allocated since this was set to zero.
    ap_bytes: isize,
    now: Now,
    delivered: u64,
    linked: bool,
    buf: Vec<u8>,
    frame: Vec<u8>,
}

impl Net {
    fn new(suite: Suite, clients: usize) -> Self {
        let now = Now { mono: Instant::from_micros(1), wall: UnixTime::from_secs(START) };
        let mut rng = Seeded(7);
        let config = ApConfig {
            suite,
            reply_jitter: Duration::ZERO,
            time_beacon: None,
            diagnose: 0,
            ..ApConfig::default()
        };
        let mut ap = ApLink::new(config, HOST, Seeded(8), now);
        let clients = (0..clients)
            .map(|n| {
                let name = NetworkName::new(b"bench").expect("short");
                let t0 = UnixTime::from_secs(START - 100_000);
                let terms = Terms::new(name, suite, t0, Kind::Member);
                let pairing = Pairing::generate(&terms, &mut rng).expect("in range");
                ap.add_pairing(now, pairing.clone()).expect("ids are random");
                let [a, b] = (n as u16).to_be_bytes();
                let mac = MacAddress([2, 1, 0, 0, a, b]);
                let config = ClientConfig { packets: 96, ..ClientConfig::default() };
                let mut client = ClientLink::new(config, mac, Seeded(100 + n as u64), now);
                client.add_pairing(now, pairing).expect("the first");
                client
            })
            .collect();
        let (buf, frame) = (vec![0; 4096], vec![0; 4096]);
        Net { ap, clients, ap_bytes: 0, now, delivered: 0, linked: false, buf, frame }
    }

    fn tick(&mut self) -> Now {
        self.now = self.now.later(Duration::from_micros(500));
        self.now
    }

    fn link(&mut self, client: usize) {
        let now = self.tick();
        self.linked = false;
        self.clients[client].handle_command(now, Command::Connect).expect("a client's command");
        for _ in 0..64 {
            self.pump_with(client);
            if self.linked {
                break;
            }
        }
        assert!(self.linked, "the link comes up");
    }

    fn leave(&mut self, client: usize) {
        let now = self.tick();
        self.clients[client].handle_command(now, Command::Leave).expect("a client's command");
        self.pump_with(client);
    }

    fn pump(&mut self) {
        self.pump_with(0);
    }

    /// Hands frames to and fro until neither side has any.
    fn pump_with(&mut self, client: usize) {
        let (ap, client) = (&mut self.ap, &mut self.clients[client]);
        loop {
            let mut quiet = true;
            loop {
                match client.poll_output(&mut self.buf) {
                    Output::Transmit(_, frame) => {
                        quiet = false;
                        self.frame[..frame.len()].copy_from_slice(frame);
                        let frame = &mut self.frame[..frame.len()];
                        let before = memory::allocated();
                        ap.handle_frame(self.now, RxMeta::default(), frame);
                        self.ap_bytes += memory::allocated() as isize - before as isize;
                    }
                    Output::Event(Event::Phase(Phase::Linked)) => self.linked = true,
                    Output::Timeout(_) => break,
                    _ => {}
                }
            }
            loop {
                let before = memory::allocated();
                let output = ap.poll_output(&mut self.buf);
                self.ap_bytes += memory::allocated() as isize - before as isize;
                match output {
                    Output::Transmit(_, frame) => {
                        quiet = false;
                        self.frame[..frame.len()].copy_from_slice(frame);
                        let frame = &mut self.frame[..frame.len()];
                        client.handle_frame(self.now, RxMeta::default(), frame);
                    }
                    Output::Deliver(_) => self.delivered += 1,
                    Output::Timeout(_) => break,
                    _ => {}
                }
            }
            if quiet {
                self.now = self.now.later(Duration::from_micros(500));
                ap.handle_timeout(self.now);
                client.handle_timeout(self.now);
                return;
            }
        }
    }
}

/// SplitMix64: reproducible, and of no use for keys outside of a benchmark.
struct Seeded(u64);

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
