//! An access point, its clients, and an adversary between them who decides over every frame.

use crate::Choices;
use crate::air::Air;
use crate::host::{Host, Said};
use crate::network::{
    self, AP_MAC, MAX_PASSED, Seeded, ap_config, client_config, client_mac, ethernet, start,
};
use slyfi_base::link::RecordKind;
use slyfi_base::{Command, Duration, Event, Link, LinkId, MacAddress};
use slyfi_core::ap::{ApConfig, ApLink};
use slyfi_core::client::ClientLink;
use slyfi_core::pairing::{Kind, Pairing};
use slyfi_core::suite::Suite;
use slyfi_wire::announcement::Announcement;
use slyfi_wire::carrier;
use std::collections::{BTreeMap, HashSet};

/// EtherType of the packets whose fate is followed (IEEE 802, local experimental).
const FOLLOWED: u16 = 0x88b5;

/// Who plays.
#[derive(Clone, Copy)]
pub(crate) struct Setting {
    /// How many clients have machines.
    pub(crate) clients: u8,
    /// How many clients are paired beside them.
    pub(crate) others: u8,
    /// The access point's packet buffers.
    pub(crate) packets: u32,
    /// Whether every packet in the name of an honest node must be one that it sent, and all have to
    /// arrive whatever happens to other links.
    pub(crate) is_watched: bool,
}

/// Everyone, and what is on its way. Node 0 is the access point, the others are clients.
pub(crate) struct World {
    suite: Suite,
    choice: u8,
    setting: Setting,
    pub(crate) ap: Host<ApLink<Seeded>>,
    pub(crate) clients: Vec<Host<ClientLink<Seeded>>>,
    pub(crate) pairings: Vec<Pairing>,
    pub(crate) air: Air,
    /// Frames that were sent and have not been decided over: to whom, and what.
    pub(crate) flying: Vec<(usize, Vec<u8>)>,
    records: Vec<(RecordKind, Vec<u8>)>,
    /// What each node took as good: it must not do so twice.
    accepted: HashSet<(usize, Vec<u8>)>,
    restarts: u64,
    passed: Duration,
    /// Packets sent and the last one received, by sender and receiver.
    sent: BTreeMap<(u8, u8), Vec<Vec<u8>>>,
    received: BTreeMap<(u8, u8), usize>,
    /// Packets taken while the links were as they are now.
    pub(crate) owed: Vec<(u8, u8, usize)>,
}

impl World {
    /// Makes an access point and `clients`, none of them linked.
    pub(crate) fn new(c: &mut Choices<'_>, clients: u8) -> Self {
        let packets = network::PACKETS;
        World::with(c, Setting { clients, others: 0, packets, is_watched: false })
    }

    pub(crate) fn with(c: &mut Choices<'_>, setting: Setting) -> Self {
        let (suite, choice) = (network::suite(c.below(3)), c.byte());
        let clients = usize::from(setting.clients);
        let pairings: Vec<Pairing> = (1..=setting.clients + setting.others)
            .map(|n| network::pairing(suite, n, Kind::Member))
            .collect();
        let now = start();
        let config = ApConfig { packets: setting.packets, ..ap_config(suite, choice) };
        let ap = network::access_point(config, &pairings, 1, now);
        let hosts = pairings.iter().zip(1..).take(clients).map(|(p, n)| {
            let client = network::client(client_config(choice), p, n, 10 + u64::from(n), now);
            Host::new(client, now, true)
        });
        World {
            suite,
            choice,
            setting,
            ap: Host::new(ap, now, false),
            clients: hosts.collect(),
            air: Air::new(&pairings),
            pairings,
            flying: Vec::new(),
            records: Vec::new(),
            accepted: HashSet::new(),
            restarts: 0,
            passed: Duration::ZERO,
            sent: BTreeMap::new(),
            received: BTreeMap::new(),
            owed: Vec::new(),
        }
    }

    pub(crate) fn nodes(&self) -> usize {
        1 + self.clients.len()
    }

    /// Takes note of what a node said.
    pub(crate) fn absorb(&mut self, node: usize, said: Said) {
        let wall = match node.checked_sub(1) {
            None => self.ap.now.wall,
            Some(client) => self.clients[client].now.wall,
        };
        self.air.note_clock(wall);
        for frame in said.frames {
            self.air.take(node, &frame);
            let others = (0..self.nodes()).filter(|to| *to != node);
            self.flying.extend(others.map(|to| (to, frame.clone())));
        }
        if node == 0 {
            self.records.extend(said.records);
        }
        for packet in &said.packets {
            self.receive(node as u8, packet);
        }
        let moves =
            |e: &Event| matches!(e, Event::Linked { .. } | Event::Unlinked { .. } | Event::Roamed);
        if !self.setting.is_watched && said.events.iter().any(moves) {
            self.owed.clear();
        }
    }

    /// Sends a packet whose fate is followed; returns whether it was taken.
    pub(crate) fn send(&mut self, from: u8, to: u8, len: usize) -> bool {
        let sent = self.sent.entry((from, to)).or_default();
        let number = sent.len();
        let mut payload = vec![from, to];
        payload.extend_from_slice(&(number as u32).to_be_bytes());
        payload.resize(6 + len, number as u8);
        sent.push(payload.clone());
        let packet = ethernet(mac(to), mac(from), FOLLOWED, &payload);
        let (taken, said) = match usize::from(from).checked_sub(1) {
            None => self.ap.packet(&packet),
            Some(client) => self.clients[client].packet(&packet),
        };
        self.absorb(from.into(), said);
        if taken.is_ok() {
            self.owed.push((from, to, number));
        }
        taken.is_ok()
    }

    /// A followed packet has arrived: it was sent, and nothing later arrived before it.
    fn receive(&mut self, at: u8, packet: &[u8]) {
        let (header, payload) = packet.split_at(14);
        let sender = (0..self.nodes() as u8).find(|n| header[6..12] == mac(*n).0);
        let Some(sender) = sender.filter(|s| *s != at) else { return };
        let is_followed = header[12..] == FOLLOWED.to_be_bytes();
        if !is_followed && !self.setting.is_watched {
            return;
        }
        let [from, to, a, b, c, d, ..] = *payload else {
            panic!("nobody sent this packet");
        };
        assert!(is_followed && from == sender, "somebody speaks in another's name");
        let number = u32::from_be_bytes([a, b, c, d]) as usize;
        let sent = self.sent.get(&(from, to)).and_then(|s| s.get(number));
        assert_eq!(sent.map(Vec::as_slice), Some(payload), "nobody sent this packet");
        if at != to {
            // For one who is no member: someone behind the access point's host, for all it knows.
            assert_eq!(at, 0, "a packet is delivered to another");
            return;
        }
        let last = self.received.insert((from, to), number);
        assert!(last.is_none_or(|last| last < number), "{last:?} was delivered before {number}");
        self.owed.retain(|owed| *owed != (from, to, number));
    }

    /// Whether this followed packet has arrived.
    pub(crate) fn has_arrived(&self, from: u8, to: u8, number: usize) -> bool {
        self.received.get(&(from, to)).is_some_and(|last| *last >= number)
    }

    /// How many followed packets were offered so far.
    pub(crate) fn offered(&self, from: u8, to: u8) -> usize {
        self.sent.get(&(from, to)).map_or(0, Vec::len)
    }

    pub(crate) fn command(&mut self, node: usize, command: Command) {
        let (_, said) = match node.checked_sub(1) {
            None => self.ap.command(command),
            Some(client) => self.clients[client].command(command),
        };
        self.absorb(node, said);
    }

    /// Offers a host's packet of any bytes but those that are followed.
    pub(crate) fn packet(&mut self, node: usize, packet: &[u8]) {
        if packet.get(12..14) == Some(&FOLLOWED.to_be_bytes()) {
            return;
        }
        let (_, said) = match node.checked_sub(1) {
            None => self.ap.packet(packet),
            Some(client) => self.clients[client].packet(packet),
        };
        self.absorb(node, said);
    }

    /// Gives a frame to a node.
    ///
    /// # Panics
    /// When the node does anything about a frame that nobody sent, or that it took before.
    pub(crate) fn deliver(&mut self, node: usize, frame: &[u8]) {
        let dropped = self.dropped(node);
        let said = match node.checked_sub(1) {
            None => self.ap.frame(frame),
            Some(client) => self.clients[client].frame(frame),
        };
        let counted = self.dropped(node) - dropped;
        let body = carrier::body(frame).unwrap_or(&[]);
        let is_genuine = self.air.is_genuine(body, node);
        let is_announcement = node > 0 && Announcement::parse(frame).is_ok();
        let key = (node, body.to_vec());
        if !is_announcement && (!is_genuine || self.accepted.contains(&key)) {
            // An old probe may be one of a client whose clock is off: the host hears of it.
            let is_diagnosis = |e: &Event| matches!(e, Event::ClientClockOff { .. });
            let events = said.events.iter().filter(|e| !(is_genuine && is_diagnosis(e))).copied();
            let said = Said { events: events.collect(), ..said.clone() };
            assert_eq!(said, Said::default(), "a frame without keys, or again, has an effect");
            assert!(counted >= 1, "what is dropped is counted");
        } else if counted == 0 {
            self.accepted.insert(key);
        }
        self.absorb(node, said);
    }

    /// Gives several frames to the access point at once.
    pub(crate) fn deliver_batch(&mut self, frames: &[Vec<u8>]) {
        let said = self.ap.frames(frames);
        self.absorb(0, said);
    }

    fn dropped(&self, node: usize) -> u64 {
        match node.checked_sub(1) {
            None => self.ap.dropped(),
            Some(client) => self.clients[client].dropped(),
        }
    }

    /// Lets time go by, at most as much as a scenario may take.
    pub(crate) fn pass(&mut self, d: Duration) {
        let left = MAX_PASSED.as_micros().saturating_sub(self.passed.as_micros());
        let d = Duration::from_micros(d.as_micros().min(left));
        self.passed = self.passed + d;
        let said = self.ap.pass(d);
        self.absorb(0, said);
        for client in 0..self.clients.len() {
            let said = self.clients[client].pass(d);
            self.absorb(client + 1, said);
        }
    }

    /// How long until somebody has something to do.
    pub(crate) fn wait(&self) -> Duration {
        let waits = self.clients.iter().filter_map(Host::wait).chain(self.ap.wait());
        waits.min().unwrap_or(Duration::from_secs(1))
    }

    /// Sets a node's clock off by `seconds`.
    pub(crate) fn set_clock(&mut self, node: usize, seconds: i64) {
        let wall = network::START + self.passed;
        let wall = wall.shifted(seconds * 1_000_000);
        let said = match node.checked_sub(1) {
            None => self.ap.set_wall(wall),
            Some(client) => self.clients[client].set_wall(wall),
        };
        self.absorb(node, said);
    }

    /// A node loses all that it did not store, and starts again.
    pub(crate) fn crash(&mut self, node: usize) {
        self.restarts += 1;
        let seed = 1_000_000 * self.restarts + node as u64;
        self.owed.clear();
        match node.checked_sub(1) {
            None => {
                let now = self.ap.now;
                let packets = self.setting.packets;
                let config = ApConfig { packets, ..ap_config(self.suite, self.choice) };
                let mut ap = network::access_point(config, &self.pairings, seed, now);
                for (kind, bytes) in &self.records {
                    assert!(ap.restore(now, *kind, bytes), "what it stored it reads");
                }
                self.ap = Host::new(ap, now, false);
                let said = self.ap.settle();
                self.absorb(0, said);
            }
            Some(client) => {
                let now = self.clients[client].now;
                let config = client_config(self.choice);
                let pairing = &self.pairings[client];
                let machine = network::client(config, pairing, node as u8, seed, now);
                self.clients[client] = Host::new(machine, now, true);
                // A client remembers nothing of what it took: old answers name no open request.
                let said = self.clients[client].settle();
                self.absorb(node, said);
            }
        }
    }

    /// Delivers everything, and goes on in time, until `limit` has passed or `done`.
    pub(crate) fn run(&mut self, limit: Duration, mut done: impl FnMut(&World) -> bool) -> bool {
        let mut spent = Duration::ZERO;
        while spent < limit {
            for round in 0.. {
                assert!(round < 10_000, "the air never comes to rest");
                if self.flying.is_empty() {
                    break;
                }
                let (to, frame) = self.flying.remove(0);
                self.deliver(to, &frame);
            }
            if done(self) {
                return true;
            }
            let step = self.wait().max(Duration::from_micros(100)).min(Duration::from_secs(2));
            spent = spent + step;
            self.pass(step);
        }
        done(self)
    }

    /// Whether every client is linked.
    pub(crate) fn is_linked(&self) -> bool {
        self.clients.iter().all(|c| c.link.is_linked())
    }

    /// One act of the adversary or of a host, drawn from the input. `victim` is who is meant where
    /// that is open.
    pub(crate) fn act(&mut self, c: &mut Choices<'_>, victim: Option<usize>) {
        let any = c.below(self.nodes());
        let node = victim.unwrap_or(any);
        match c.below(20) {
            0 | 1 => self.deliver_flying(c),
            2 => {
                if !self.flying.is_empty() {
                    let at = c.below(self.flying.len());
                    self.flying.remove(at);
                }
            }
            3 => {
                if let Some((to, frame)) = self.flying.first().cloned() {
                    self.deliver(to, &frame);
                }
            }
            4 => self.replay(c, node),
            5 => self.corrupt(c, node),
            6 => {
                let junk = c.run().to_vec();
                self.deliver(node, &junk);
            }
            7 => {
                let junk = [&carrier::HEADER[..], c.run(), &[c.byte(); 40]].concat();
                self.deliver(node, &junk);
            }
            8 | 9 => self.pass(self.wait()),
            10 => self.pass(Duration::from_micros(c.short().into())),
            11 => self.pass(Duration::from_millis(c.short().into())),
            12 | 13 => {
                let to = c.below(self.nodes()) as u8;
                let len = usize::from(c.byte()) * 6;
                if to as usize != any {
                    self.send(any as u8, to, len.max(14));
                }
            }
            14 => {
                let packet = c.run().to_vec();
                self.packet(any, &packet);
            }
            15 => self.command(any, host_command(c)),
            16 => self.deliver_all(c),
            17 => self.set_clock(any, i64::from(c.short() as i16 / 8)),
            18 => self.batch(c),
            _ => {
                if c.below(4) == 0 {
                    self.crash(any);
                } else {
                    self.command(any, Command::Connect);
                }
            }
        }
    }

    fn deliver_flying(&mut self, c: &mut Choices<'_>) {
        if !self.flying.is_empty() {
            let at = c.below(self.flying.len());
            let (to, frame) = self.flying.remove(at);
            self.deliver(to, &frame);
        }
    }

    /// Delivers what is flying in its order, but for those that a byte says are lost.
    fn deliver_all(&mut self, c: &mut Choices<'_>) {
        let lost = c.byte();
        for (n, (to, frame)) in std::mem::take(&mut self.flying).into_iter().enumerate() {
            if lost >> (n % 8) & 1 == 0 {
                self.deliver(to, &frame);
            }
        }
    }

    fn replay(&mut self, c: &mut Choices<'_>, node: usize) {
        if !self.air.log.is_empty() {
            let at = usize::from(c.short()) % self.air.log.len();
            let frame = self.air.log[at].1.clone();
            self.deliver(node, &frame);
        }
    }

    fn corrupt(&mut self, c: &mut Choices<'_>, node: usize) {
        if self.air.log.is_empty() {
            return;
        }
        let at = self.air.log.len() - 1 - c.below(self.air.log.len());
        let mut frame = self.air.log[at].1.clone();
        let at = usize::from(c.short()) % frame.len();
        match c.below(4) {
            0 => frame.truncate(at),
            1 => frame.extend_from_slice(c.run()),
            _ => frame[at] ^= c.byte().max(1),
        }
        self.deliver(node, &frame);
    }

    /// Gives the access point several of the frames on their way, and some a second time, at once.
    fn batch(&mut self, c: &mut Choices<'_>) {
        let (mine, others) = std::mem::take(&mut self.flying).into_iter().partition(|f| f.0 == 0);
        self.flying = others;
        let mut frames: Vec<Vec<u8>> =
            Vec::<(usize, Vec<u8>)>::into_iter(mine).map(|(_, frame)| frame).collect();
        if !frames.is_empty() {
            let at = c.below(frames.len());
            frames.push(frames[at].clone());
            frames.swap(at, 0);
        }
        for frame in &frames {
            // What a batch takes is not told apart; it must not be taken again all the same.
            let body = carrier::body(frame).unwrap_or(&[]).to_vec();
            self.accepted.remove(&(0, body));
        }
        self.deliver_batch(&frames);
    }
}

fn mac(n: u8) -> MacAddress {
    if n == 0 { AP_MAC } else { client_mac(n) }
}

fn host_command(c: &mut Choices<'_>) -> Command {
    let address = [10, 0, 0, c.byte() % 8];
    match c.below(6) {
        0 => Command::Connect,
        1 => Command::Leave,
        2 => Command::Roam,
        3 => Command::Bind(address.into()),
        4 => Command::Unbind(address.into()),
        _ => Command::Dismiss(LinkId(c.below(4).try_into().unwrap_or(0))),
    }
}

/// Ends a scenario: everybody leaves, and nothing stays behind.
///
/// # Panics
/// When a packet buffer, a session or a session's address has leaked.
pub(crate) fn everybody_leaves(world: &mut World) {
    for node in (0..world.nodes()).rev() {
        world.command(node, Command::Leave);
    }
    world.run(Duration::from_secs(40), |_| false);
    let left = |link: &dyn Link| link.drops().clone();
    assert_eq!(world.ap.link.sessions().count(), 0, "{:?}", left(&world.ap.link));
    assert_eq!(world.ap.link.free_packets(), world.setting.packets as usize, "packets leaked");
    let diagnose = usize::from(ap_config(world.suite, world.choice).diagnose);
    let most = network::most_addresses(world.pairings.len(), diagnose, 0);
    assert!(world.ap.link.live_addresses() <= most, "addresses leaked");
    for client in &world.clients {
        assert!(!client.link.is_linked() && !client.is_up());
        assert_eq!(client.link.free_packets(), network::PACKETS as usize, "packets leaked");
        let most = network::most_addresses(1, 0, 0);
        assert!(client.link.live_addresses() <= most, "addresses leaked");
    }
}
