//! Ordinary 802.11 under each of its ciphers, among frames of anybody without the key: what is
//! protected stays whole and secret, keys and numbers never serve twice, links come back.

use crate::Choices;
use crate::host::{Host, Said};
use crate::network::{AP_MAC, Seeded, client_mac, ethernet, start};
use slyfi_base::event::Unlinked;
use slyfi_base::link::RecordKind;
use slyfi_base::{Command, Duration, Event, LinkId, MacAddress, Now};
use slyfi_ciphers::handshake::KeyBytes;
use slyfi_link::config::Role;
use slyfi_link::wifi::{Cipher, Guard, Secret, Settings, guard};
use slyfi_rivals::wifi::{AccessPoint, ApConfig, Protection, Ssid, Station, StationConfig};
use slyfi_wire::ieee80211::{MacHeader, Type};
use std::collections::{BTreeMap, HashSet};

const MEMBERS: u16 = 3;
const SSID: &[u8] = b"fuzzed";
/// The EtherType of the packets that hosts send.
const LOCAL: u16 = 0x88b5;
/// The EtherType of handshakes (IEEE 802.1X).
const EAPOL: [u8; 2] = [0x88, 0x8e];
/// Two Michael failures within a minute stop everything for a minute; besides, each side's patience.
const PATIENCE: Duration = Duration::from_secs(240);

/// An access point, a station, and the air between them, which is the adversary's.
struct Cell {
    cipher: Cipher,
    ap: Host<AccessPoint<Guard>>,
    station: Host<Station<Seeded, Guard>>,
    restarts: u64,
    /// Frames not yet heard: by the access point or by the station.
    flying: Vec<(bool, Vec<u8>)>,
    log: Vec<(bool, Vec<u8>)>,
    /// How sealed bodies began that were on the air: their numbers and six bytes of known text.
    sealed: HashSet<Vec<u8>>,
    /// What each host sent: payloads, which are numbered.
    sent: [HashSet<Vec<u8>>; 2],
    delivered: [HashSet<Vec<u8>>; 2],
    number: u32,
    /// What each side has stored: values by their names.
    records: [BTreeMap<Vec<u8>, Vec<u8>>; 2],
}

/// Plays the scenario that `input` describes.
///
/// # Panics
/// When an invariant does not hold.
pub fn run(input: &[u8]) {
    let mut c = Choices::new(input);
    let ciphers = [
        Cipher::Ccmp,
        Cipher::Tkip,
        Cipher::Gcmp,
        Cipher::Ccmp256,
        Cipher::Gcmp256,
        Cipher::Wep,
        Cipher::Sbkh,
    ];
    let mut cell = Cell::new(ciphers[c.below(ciphers.len())]);
    cell.command(false, Command::Connect);
    if c.is() {
        cell.run(Duration::from_secs(2));
        assert!(cell.station.link.is_linked(), "an undisturbed link comes up");
        cell.talk(if cell.cipher == Cipher::Sbkh { 5 } else { 1 }, Duration::from_millis(50));
    }
    while !c.is_empty() {
        cell.act(&mut c);
        assert!(cell.ap.link.associated() <= usize::from(MEMBERS), "too many members");
    }
    cell.flying.clear();
    cell.command(false, Command::Connect);
    cell.run_until(PATIENCE, |cell| cell.station.is_up() && cell.ap.is_up());
    assert!(cell.station.link.is_linked(), "the link does not come back");
    // A side that was told that the other left finds out by asking.
    cell.talk(60, Duration::from_secs(4));
}

fn make_guard(cipher: Cipher, role: Role, now: Now, seed: u64) -> Guard {
    let own = if role == Role::AccessPoint { AP_MAC } else { client_mac(1) };
    let secret = match cipher {
        Cipher::Open => Secret::None,
        Cipher::Wep => Secret::Key(vec![5; 13].into()),
        Cipher::Sbkh => Secret::Key(vec![6; 32].into()),
        _ => Secret::Pmk(KeyBytes::new(&[7; 32]).expect("32 bytes")),
    };
    let group_rekey = Some(Duration::from_secs(30));
    let settings = Settings { cipher, ssid: SSID, group_rekey, hop: Duration::from_secs(300) };
    guard(role, own, &settings, &secret, now, Seeded(seed)).expect("a secret for this cipher")
}

impl Cell {
    fn new(cipher: Cipher) -> Self {
        let (now, none) = (start(), BTreeMap::new());
        let mut cell = Cell {
            cipher,
            ap: Host::new(make_ap(cipher, now, 1, &none), now, false),
            station: Host::new(make_station(cipher, now, 2, &none), now, true),
            restarts: 0,
            flying: Vec::new(),
            log: Vec::new(),
            sealed: HashSet::new(),
            sent: [HashSet::new(), HashSet::new()],
            delivered: [HashSet::new(), HashSet::new()],
            number: 0,
            records: [BTreeMap::new(), BTreeMap::new()],
        };
        for is_ap in [true, false] {
            cell.pass_one(is_ap, Duration::ZERO);
        }
        cell
    }

    /// Everything that a machine said; `by_ap` says which.
    fn absorb(&mut self, by_ap: bool, said: Said) {
        assert!(said.backhaul.is_empty(), "there is no backhaul");
        for (kind, record) in said.records {
            assert_eq!(kind, RecordKind::Counter, "only numbers are stored");
            assert!((8..64).contains(&record.len()), "a record of {} bytes", record.len());
            self.records[usize::from(by_ap)].insert(record[..8].to_vec(), record);
        }
        for frame in said.frames {
            self.look_at(&frame);
            self.flying.push((!by_ap, frame.clone()));
            self.log.push((by_ap, frame));
        }
        for packet in said.packets {
            self.take_packet(by_ap, &packet);
        }
        for event in &said.events {
            let stopped = matches!(event, Event::ShutDown { .. })
                || matches!(event, Event::Unlinked { why: Unlinked::Countermeasures, .. });
            assert!(!stopped || self.cipher == Cipher::Tkip, "only TKIP has countermeasures");
        }
    }

    /// What may be seen on the air: management, handshakes, and data that are sealed, each once.
    fn look_at(&mut self, frame: &[u8]) {
        let header = MacHeader::new_checked(frame).expect("sends 802.11 frames");
        let (fc, body) = (header.frame_control(), header.body());
        if fc.kind() != Type::Data {
            assert!(!fc.is_protected(), "management frames are not protected here");
            return;
        }
        if fc.is_protected() {
            assert!(body.len() >= 8, "a sealed body of {} bytes", body.len());
            // All texts begin with the same six bytes of LLC: a number that serves twice under one
            // key shows, whatever follows.
            let number = self.ap.link.protection().overhead().headroom;
            let is_new = self.sealed.insert(body[..body.len().min(number + 6)].to_vec());
            assert!(is_new, "keystream comes again: a number has served twice");
            let readable = body.windows(6).any(|w| w == b"secret");
            assert!(!readable, "a payload in the clear");
        } else if !body.is_empty() {
            let handshake = body.get(6..8) == Some(&EAPOL) && self.cipher.profile().is_some();
            assert!(handshake, "data in the clear");
        }
    }

    fn take_packet(&mut self, by_ap: bool, packet: &[u8]) {
        let (to, payload) = (usize::from(by_ap), &packet[14..]);
        assert_eq!(packet[12..14], LOCAL.to_be_bytes(), "only hosts' packets are delivered");
        // WEP and SBKH protect no addresses: what somebody sent can come back to himself.
        let unbound = matches!(self.cipher, Cipher::Wep | Cipher::Sbkh);
        let reflected = unbound && self.sent[to].contains(payload);
        assert!(reflected || self.sent[1 - to].contains(payload), "nobody sent this");
        // WEP has nothing against replay, and whoever changes an address makes one there.
        let first = self.delivered[to].insert(payload.to_vec());
        assert!(first || reflected || self.cipher == Cipher::Wep, "delivered twice");
        let up = if by_ap { self.ap.is_up() } else { self.station.is_up() };
        assert!(up, "delivered before the link is up");
    }

    fn deliver(&mut self, to_ap: bool, frame: &[u8]) {
        let said = if to_ap { self.ap.frame(frame) } else { self.station.frame(frame) };
        assert!(said.frames.len() <= 8, "one frame causes {}", said.frames.len());
        self.absorb(to_ap, said);
    }

    fn command(&mut self, to_ap: bool, command: Command) {
        let (_, said) =
            if to_ap { self.ap.command(command) } else { self.station.command(command) };
        self.absorb(to_ap, said);
    }

    /// A host sends a packet, to the other or to all; returns its payload if it was taken.
    fn packet(&mut self, to_ap: bool, to: MacAddress) -> Option<Vec<u8>> {
        self.number += 1;
        let payload = [&b"a secret "[..], &self.number.to_be_bytes()].concat();
        let from = if to_ap { AP_MAC } else { client_mac(1) };
        let packet = ethernet(to, from, LOCAL, &payload);
        self.sent[usize::from(to_ap)].insert(payload.clone());
        let (taken, said) =
            if to_ap { self.ap.packet(&packet) } else { self.station.packet(&packet) };
        let up = if to_ap { self.ap.is_up() || to.is_group() } else { self.station.is_up() };
        assert!(taken.is_err() || up, "data are taken before the link is up");
        self.absorb(to_ap, said);
        taken.is_ok().then_some(payload)
    }

    fn pass_one(&mut self, is_ap: bool, d: Duration) {
        let said = if is_ap { self.ap.pass(d) } else { self.station.pass(d) };
        self.absorb(is_ap, said);
    }

    fn pass(&mut self, d: Duration) {
        self.pass_one(true, d);
        self.pass_one(false, d);
    }

    fn wait(&self) -> Duration {
        let waits = [self.ap.wait(), self.station.wait()];
        waits.into_iter().flatten().min().unwrap_or(Duration::from_secs(1))
    }

    fn run(&mut self, limit: Duration) {
        self.run_until(limit, |_| false);
    }

    fn run_until(&mut self, limit: Duration, done: impl Fn(&Cell) -> bool) {
        let mut spent = Duration::ZERO;
        while spent < limit {
            for round in 0.. {
                assert!(round < 10_000, "the air never comes to rest");
                if self.flying.is_empty() {
                    break;
                }
                let (to_ap, frame) = self.flying.remove(0);
                self.deliver(to_ap, &frame);
            }
            if done(self) {
                return;
            }
            let step = self.wait().max(Duration::from_micros(100)).min(Duration::from_secs(1));
            spent = spent + step;
            self.pass(step);
        }
    }

    /// On good air packets arrive within some tries, both ways and at everybody.
    fn talk(&mut self, tries: usize, wait: Duration) {
        self.flying.clear();
        for (from_ap, to) in
            [(false, AP_MAC), (true, client_mac(1)), (false, AP_MAC), (true, MacAddress::BROADCAST)]
        {
            let arrived = (0..tries).any(|_| {
                let payload = self.packet(from_ap, to);
                let receiver = usize::from(!from_ap);
                let there = |cell: &Cell| {
                    payload.as_ref().is_some_and(|p| cell.delivered[receiver].contains(p))
                };
                self.run_until(wait, there);
                there(self)
            });
            assert!(arrived, "on good air packets are lost");
        }
    }

    /// A machine dies and starts again with what it had stored.
    fn restart(&mut self, is_ap: bool) {
        self.restarts += 1;
        let (seed, records) = (100 + self.restarts, &self.records[usize::from(is_ap)]);
        if is_ap {
            let now = self.ap.now;
            self.ap = Host::new(make_ap(self.cipher, now, seed, records), now, false);
        } else {
            let now = self.station.now;
            self.station = Host::new(make_station(self.cipher, now, seed, records), now, true);
        }
        self.pass_one(is_ap, Duration::ZERO);
        if !is_ap {
            self.command(false, Command::Connect);
        }
    }

    fn act(&mut self, c: &mut Choices<'_>) {
        let to_ap = c.is();
        match c.below(16) {
            0..=2 => {
                if !self.flying.is_empty() {
                    let (to_ap, frame) = self.flying.remove(0);
                    self.deliver(to_ap, &frame);
                }
            }
            3 => {
                if !self.flying.is_empty() {
                    self.flying.remove(0);
                }
            }
            4 => self.deliver(to_ap, c.run()),
            5 | 6 => {
                // Again, to either, sometimes spoiled.
                let at = self.log.len().saturating_sub(1 + c.below(64));
                if let Some((_, mut frame)) = self.log.get(at).cloned() {
                    for _ in 0..c.below(4) {
                        let at = usize::from(c.byte()) % frame.len();
                        frame[at] = c.byte();
                    }
                    self.deliver(to_ap, &frame);
                }
            }
            7 => {
                // With another sequence number, so that only the cipher can tell.
                let at = self.log.len().saturating_sub(1 + c.below(64));
                if let Some((by_ap, mut frame)) = self.log.get(at).cloned()
                    && frame.len() >= 24
                {
                    frame[22..24].copy_from_slice(&(c.short() & 0xfff0).to_le_bytes());
                    self.deliver(!by_ap, &frame);
                }
            }
            8 => self.deliver(to_ap, &forged(c)),
            9 => self.pass(self.wait()),
            10 => self.pass(Duration::from_millis(c.short().into())),
            11 | 12 => {
                let to = match (to_ap, c.is()) {
                    (_, true) => MacAddress::BROADCAST,
                    (true, false) => client_mac(1),
                    (false, false) => AP_MAC,
                };
                self.packet(to_ap, to);
            }
            13 => self.run(Duration::from_millis(200)),
            14 => {
                if c.byte() % 4 == 0 {
                    self.restart(to_ap);
                }
            }
            _ => {
                let commands = [
                    Command::Connect,
                    Command::Leave,
                    Command::Roam,
                    Command::Dismiss(LinkId(u32::from(c.byte() % 4))),
                ];
                self.command(to_ap, commands[c.below(4)]);
            }
        }
    }
}

fn make_ap(
    cipher: Cipher,
    now: Now,
    seed: u64,
    records: &BTreeMap<Vec<u8>, Vec<u8>>,
) -> AccessPoint<Guard> {
    let ssid = Ssid::new(SSID).expect("a short name");
    let config = ApConfig { max_members: MEMBERS, ..ApConfig::new(AP_MAC, ssid) };
    let mut guard = make_guard(cipher, Role::AccessPoint, now, seed);
    restore(&mut guard, now, records);
    AccessPoint::protected(now, config, guard, &mut Seeded(seed))
}

fn make_station(
    cipher: Cipher,
    now: Now,
    seed: u64,
    records: &BTreeMap<Vec<u8>, Vec<u8>>,
) -> Station<Seeded, Guard> {
    let ssid = Ssid::new(SSID).expect("a short name");
    let config = StationConfig::new(client_mac(1), vec![ssid]);
    let mut guard = make_guard(cipher, Role::Client, now, seed);
    restore(&mut guard, now, records);
    Station::protected(config, guard, Seeded(seed))
}

fn restore(guard: &mut Guard, now: Now, records: &BTreeMap<Vec<u8>, Vec<u8>>) {
    for record in records.values() {
        assert!(guard.restore(now, record), "does not understand its own record");
    }
}

/// A frame between addresses that mean something: management with any body, or data that say they are
/// protected, or a handshake in the clear.
fn forged(c: &mut Choices<'_>) -> Vec<u8> {
    let addresses = [AP_MAC, client_mac(1), MacAddress::BROADCAST, client_mac(2), client_mac(3)];
    let kind = c.byte();
    let is_data = kind & 3 == 1;
    let subtype = if is_data { 0x08 } else { kind & 0xf0 };
    let to_ap = c.is();
    let protected = if is_data && c.is() { 0x40 } else { 0 };
    let flags = if is_data { protected | if to_ap { 1 } else { 2 } } else { 0 };
    let mut frame = vec![subtype, flags, 0, 0];
    for own in if to_ap { [0, 1, 0] } else { [1, 0, 0] } {
        let which = if c.byte() % 8 == 0 { c.below(addresses.len()) } else { own };
        frame.extend_from_slice(&addresses[which].0);
    }
    frame.extend_from_slice(&(c.short() & 0xfff0).to_le_bytes());
    if is_data && protected == 0 {
        frame.extend_from_slice(&[0xaa, 0xaa, 3, 0, 0, 0]);
        frame.extend_from_slice(if c.is() { &EAPOL } else { &[0x88, 0xb5] });
    }
    frame.extend_from_slice(c.run());
    frame
}
