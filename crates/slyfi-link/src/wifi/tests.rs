//! Both ends of every protection, over an air that loses, repeats and forges.

use super::test_support::SomeRng;
use super::*;
use slyfi_base::event::{NoLink, Unlinked};
use slyfi_base::{Command, DropReason, Event, Instant, Link, Output, RxMeta, UnixTime};
use slyfi_ciphers::PacketNumber;
use slyfi_ciphers::crc32::crc32;
use slyfi_rivals::wifi::{AccessPoint, ApConfig, Effect, Ssid, Station, StationConfig};
use slyfi_wire::ieee80211::MacHeader;
use std::collections::VecDeque;
use zeroize::Zeroizing;

const AP: MacAddress = MacAddress([2, 0, 0, 0, 0, 0xaa]);
const SSID: &[u8] = b"home";
/// One that is keyed by a handshake, of each kind.
const KEYED: [Cipher; 5] =
    [Cipher::Tkip, Cipher::Ccmp, Cipher::Ccmp256, Cipher::Gcmp, Cipher::Gcmp256];

const fn station_mac(n: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 1, n])
}

fn now_at(us: u64) -> Now {
    let wall = UnixTime::from_micros(1_700_000_100_000_000 + us);
    Now { mono: Instant::from_micros(us), wall }
}

fn secret(cipher: Cipher, seed: u8) -> Secret {
    match cipher {
        Cipher::Open => Secret::None,
        Cipher::Wep => Secret::Key(Zeroizing::new(vec![seed; 13])),
        Cipher::Sbkh => Secret::Key(Zeroizing::new(vec![seed; 32])),
        // PBKDF2 takes its time; a PMK is what it would make.
        _ => Secret::Pmk(slyfi_ciphers::handshake::KeyBytes::new(&[seed; 32]).unwrap()),
    }
}

fn make_guard(role: Role, cipher: Cipher, own: MacAddress, seed: u8, now: Now) -> Guard {
    let (group_rekey, hop) = (None, Duration::from_secs(300));
    let settings = Settings { cipher, ssid: SSID, group_rekey, hop };
    let rng = SomeRng(u64::from(own.0[5]) + now.mono.as_micros());
    guard(role, own, &settings, &secret(cipher, seed), now, rng).unwrap()
}

/// One end with what it has put out.
struct Node {
    link: Box<dyn Link>,
    mac: MacAddress,
    events: Vec<Event>,
    delivered: Vec<Vec<u8>>,
    records: Vec<Vec<u8>>,
    timeout: Option<Instant>,
}

/// What arrives of a frame from one node at another.
type Rule = Box<dyn FnMut(usize, usize, &[u8]) -> Vec<Vec<u8>>>;

/// A medium without acknowledgements: what is lost stays lost.
struct Net {
    now: Now,
    nodes: Vec<Node>,
    air: Vec<(usize, Vec<u8>)>,
    rule: Rule,
    on_air: VecDeque<(usize, Vec<u8>)>,
}

impl Net {
    fn with_guards(guards: Vec<Guard>) -> Self {
        let mut net = Net {
            now: now_at(0),
            nodes: vec![],
            air: vec![],
            rule: Box::new(|_, _, f| vec![f.to_vec()]),
            on_air: VecDeque::new(),
        };
        for (n, guard) in guards.into_iter().enumerate() {
            net.add(n, guard);
        }
        net
    }

    fn new(cipher: Cipher, stations: u8) -> Self {
        let stations =
            (1..=stations).map(|n| make_guard(Role::Client, cipher, station_mac(n), 7, now_at(0)));
        let ap = make_guard(Role::AccessPoint, cipher, AP, 7, now_at(0));
        Self::with_guards([ap].into_iter().chain(stations).collect())
    }

    fn linked(cipher: Cipher, stations: u8) -> Self {
        let mut net = Self::new(cipher, stations);
        net.link_all();
        net
    }

    fn link_all(&mut self) {
        for n in 1..self.nodes.len() {
            self.command(n, Command::Connect);
            assert!(self.run_until(10.0, |net| net.is_linked(n)), "{:?}", self.nodes[n].events);
        }
    }

    fn make(&self, n: usize, guard: Guard) -> (Box<dyn Link>, MacAddress) {
        let ssid = Ssid::new(SSID).unwrap();
        let mut rng = SomeRng(99 + n as u64);
        if n == 0 {
            let config = ApConfig::new(AP, ssid);
            (Box::new(AccessPoint::protected(self.now, config, guard, &mut rng)), AP)
        } else {
            let mac = station_mac(n as u8);
            let config = StationConfig::new(mac, vec![ssid]);
            (Box::new(Station::protected(config, guard, rng)), mac)
        }
    }

    fn add(&mut self, n: usize, guard: Guard) {
        let (link, mac) = self.make(n, guard);
        let (events, delivered, records) = (vec![], vec![], vec![]);
        self.nodes.push(Node { link, mac, events, delivered, records, timeout: None });
        self.drain(n);
    }

    /// Kills a node and starts it again with what was durable.
    fn restart(&mut self, n: usize, cipher: Cipher) {
        let role = if n == 0 { Role::AccessPoint } else { Role::Client };
        let mut guard = make_guard(role, cipher, self.nodes[n].mac, 7, self.now);
        for record in &self.nodes[n].records {
            assert!(guard.restore(self.now, record));
        }
        self.nodes[n].link = self.make(n, guard).0;
        self.nodes[n].events.clear();
        self.drain(n);
    }

    fn is_linked(&self, n: usize) -> bool {
        let last = self.nodes[n].events.iter().rev().find_map(|e| match e {
            Event::Linked { .. } => Some(true),
            Event::Unlinked { .. } => Some(false),
            _ => None,
        });
        last.unwrap_or(false)
    }

    fn command(&mut self, n: usize, command: Command) {
        self.nodes[n].link.handle_command(self.now, command).unwrap();
        self.drain(n);
    }

    fn send(&mut self, n: usize, to: MacAddress, payload: &[u8]) {
        let packet = [&to.0, &self.nodes[n].mac.0, &[0x88, 0xb5][..], payload].concat();
        self.nodes[n].link.handle_packet(self.now, &packet).unwrap();
        self.drain(n);
        self.settle();
    }

    /// Returns the payloads that a node's host got, and forgets them.
    fn got(&mut self, n: usize) -> Vec<Vec<u8>> {
        self.nodes[n].delivered.drain(..).map(|p| p[14..].to_vec()).collect()
    }

    /// Forgets what every host got so far.
    fn forget(&mut self) {
        self.nodes.iter_mut().for_each(|n| n.delivered.clear());
    }

    fn drops(&self, n: usize, reason: DropReason) -> u64 {
        self.nodes[n].link.drops().of(reason)
    }

    fn inject(&mut self, n: usize, frame: &[u8]) {
        self.nodes[n].link.handle_frame(self.now, RxMeta::default(), &mut frame.to_vec());
        self.drain(n);
    }

    fn drain(&mut self, n: usize) {
        let mut buf = [0; 4096];
        loop {
            let node = &mut self.nodes[n];
            match node.link.poll_output(&mut buf) {
                Output::Transmit(_, frame) => {
                    self.air.push((n, frame.to_vec()));
                    self.on_air.push_back((n, frame.to_vec()));
                }
                Output::Deliver(packet) => node.delivered.push(packet.to_vec()),
                Output::Event(event) => node.events.push(event),
                Output::Persist(record) => node.records.push(record.bytes.reveal().to_vec()),
                Output::Timeout(at) => {
                    node.timeout = at;
                    return;
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn settle(&mut self) {
        while let Some((from, frame)) = self.on_air.pop_front() {
            for to in (0..self.nodes.len()).filter(|to| *to != from) {
                for mut arrived in (self.rule)(from, to, &frame) {
                    self.nodes[to].link.handle_frame(self.now, RxMeta::default(), &mut arrived);
                    self.drain(to);
                }
            }
        }
    }

    fn run_until(&mut self, seconds: f64, goal: impl Fn(&Net) -> bool) -> bool {
        let end = self.now.mono.as_micros() + (seconds * 1e6) as u64;
        loop {
            self.settle();
            if goal(self) {
                return true;
            }
            let next = self.nodes.iter().filter_map(|n| n.timeout).min();
            let next = next.map(|t| t.as_micros().max(self.now.mono.as_micros()));
            match next.filter(|t| *t <= end) {
                Some(t) => self.now = now_at(t),
                None => {
                    self.now = now_at(end);
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

    fn run(&mut self, seconds: f64) {
        assert!(!self.run_until(seconds, |_| false));
    }

    /// The data frames that node `n` has sent.
    fn data_of(&self, n: usize) -> Vec<Vec<u8>> {
        let is_data = |f: &[u8]| {
            let fc = MacHeader::new_checked(f).unwrap().frame_control();
            fc.0 & 0x0c == 8 && fc.carries_data()
        };
        self.air
            .iter()
            .filter(|(from, f)| *from == n && is_data(f))
            .map(|(_, f)| f.clone())
            .collect()
    }
}

fn contains(frames: &[(usize, Vec<u8>)], needle: &[u8]) -> bool {
    frames.iter().any(|(_, f)| f.windows(needle.len()).any(|w| w == needle))
}

const TEXT: &[u8] = b"a text that nobody else should be able to read";

#[test]
fn every_protection_carries_packets_between_everybody() {
    for cipher in Cipher::ALL {
        let mut net = Net::linked(cipher, 2);
        net.send(1, AP, TEXT);
        assert_eq!(net.got(0), [TEXT], "{cipher}: up");
        net.send(0, station_mac(1), TEXT);
        assert_eq!(net.got(1), [TEXT], "{cipher}: down");
        net.send(1, station_mac(2), TEXT);
        assert_eq!(net.got(2), [TEXT], "{cipher}: across");
        assert!(net.got(0).is_empty() && net.got(1).is_empty(), "{cipher}: to nobody else");
        net.send(0, MacAddress::BROADCAST, TEXT);
        assert_eq!(
            (net.got(1), net.got(2)),
            (vec![TEXT.to_vec()], vec![TEXT.to_vec()]),
            "{cipher}"
        );
        net.send(2, MacAddress::BROADCAST, TEXT);
        assert_eq!(
            (net.got(0), net.got(1)),
            (vec![TEXT.to_vec()], vec![TEXT.to_vec()]),
            "{cipher}"
        );
        assert!(net.got(2).is_empty(), "{cipher}: not its own");
        assert_eq!(contains(&net.air, TEXT), cipher == Cipher::Open, "{cipher} on the air");
        for n in 0..3 {
            let refused = net.drops(n, DropReason::CipherRefused);
            assert_eq!(refused, 0, "{cipher} node {n}: {:?}", net.nodes[n].link.drops());
        }
    }
}

#[test]
fn links_come_up_and_flows_go_on_over_an_air_that_loses_every_fifth_frame() {
    for cipher in Cipher::ALL {
        let mut net = Net::new(cipher, 1);
        let mut rng = SomeRng(5);
        net.rule =
            Box::new(move |_, _, f| if rng.below(5) == 0 { vec![] } else { vec![f.to_vec()] });
        net.command(1, Command::Connect);
        assert!(net.run_until(120.0, |net| net.is_linked(1)), "{cipher}");
        for n in 0..300u32 {
            net.run(0.03);
            if net.is_linked(1) && net.is_linked(0) {
                net.send(1, AP, &n.to_be_bytes());
                net.send(0, station_mac(1), &n.to_be_bytes());
            }
        }
        // Of SBKH each loss costs the packets until both ends have found each other again.
        let least = if cipher == Cipher::Sbkh { 60 } else { 180 };
        for n in 0..2 {
            let got = net.got(n);
            assert!(got.len() >= least, "{cipher} node {n}: {} of 300", got.len());
            assert!(got.is_sorted_by(|a, b| a < b), "{cipher}: in order, none twice");
        }
    }
}

#[test]
fn another_passphrase_is_told_on_both_sides_and_gives_no_link() {
    for cipher in KEYED {
        let ap = make_guard(Role::AccessPoint, cipher, AP, 7, now_at(0));
        let station = make_guard(Role::Client, cipher, station_mac(1), 8, now_at(0));
        let mut net = Net::with_guards(vec![ap, station]);
        net.command(1, Command::Connect);
        assert!(!net.run_until(20.0, |net| net.is_linked(1) || net.is_linked(0)), "{cipher}");
        assert!(net.nodes[0].events.contains(&Event::KeyNotProven), "{cipher}");
        let why = |e: &Event| matches!(e, Event::NoLink { why: NoLink::KeyNotProven, .. });
        assert!(net.nodes[1].events.iter().any(why), "{cipher}: {:?}", net.nodes[1].events);
    }
}

#[test]
fn another_static_key_opens_nothing() {
    for cipher in [Cipher::Wep, Cipher::Sbkh] {
        let ap = make_guard(Role::AccessPoint, cipher, AP, 7, now_at(0));
        let station = make_guard(Role::Client, cipher, station_mac(1), 8, now_at(0));
        let mut net = Net::with_guards(vec![ap, station]);
        net.command(1, Command::Connect);
        assert!(net.run_until(5.0, |net| net.is_linked(1)), "nothing proves the key before data");
        net.send(1, AP, TEXT);
        assert!(net.got(0).is_empty());
        assert!(net.drops(0, DropReason::CipherRefused) > 0, "{cipher}");
    }
}

#[test]
fn stations_of_another_cipher_are_not_taken() {
    for (ap, station) in
        [(Cipher::Ccmp, Cipher::Tkip), (Cipher::Ccmp, Cipher::Open), (Cipher::Wep, Cipher::Gcmp)]
    {
        let ap = make_guard(Role::AccessPoint, ap, AP, 7, now_at(0));
        let station = make_guard(Role::Client, station, station_mac(1), 7, now_at(0));
        let mut net = Net::with_guards(vec![ap, station]);
        net.command(1, Command::Connect);
        assert!(!net.run_until(10.0, |net| net.is_linked(1)));
    }
}

#[test]
fn frames_in_the_clear_replays_and_forgeries_are_refused_once_keyed() {
    for cipher in KEYED {
        let mut net = Net::linked(cipher, 1);
        net.send(1, AP, TEXT);
        net.send(0, station_mac(1), TEXT);
        let (up, down) = (net.data_of(1).pop().unwrap(), net.data_of(0).pop().unwrap());
        net.forget();
        for (n, frame) in [(0, up), (1, down)] {
            let before = net.drops(n, DropReason::CipherRefused);
            net.inject(n, &frame);
            let mut forged = frame.clone();
            // A new number, and a changed octet.
            forged[24] = forged[24].wrapping_add(1);
            *forged.last_mut().unwrap() ^= 1;
            net.inject(n, &forged);
            assert_eq!(net.drops(n, DropReason::CipherRefused) - before, 2, "{cipher} {n}");
            // The same packet in the clear, and a handshake's message in the clear.
            let mut clear = frame[..24].to_vec();
            clear[1] &= !0x40;
            let mut eapol = clear.clone();
            clear.extend([0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0xb5]);
            clear.extend(TEXT);
            eapol.extend([0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0x8e, 2, 3, 0, 95, 2]);
            eapol.extend([0; 94]);
            net.inject(n, &clear);
            net.inject(n, &eapol);
            assert_eq!(net.drops(n, DropReason::Unprotected), 2, "{cipher} {n}");
            assert!(net.got(n).is_empty(), "{cipher} {n}");
        }
    }
}

#[test]
fn replays_are_taken_by_wep_and_refused_by_sbkh() {
    for (cipher, taken) in [(Cipher::Wep, 1), (Cipher::Sbkh, 0)] {
        let mut net = Net::linked(cipher, 1);
        net.send(1, AP, TEXT);
        net.send(1, AP, b"another");
        let recorded = net.data_of(1)[0].clone();
        net.got(0);
        net.inject(0, &recorded);
        assert_eq!(net.got(0).len(), taken, "{cipher}: what the papers say");
    }
}

#[test]
fn the_group_key_changes_when_a_member_leaves_and_the_others_follow() {
    for cipher in KEYED {
        let mut net = Net::linked(cipher, 3);
        let epochs = |net: &Net| {
            net.nodes[0].events.iter().filter(|e| matches!(e, Event::GroupRekeyed { .. })).count()
        };
        net.command(3, Command::Leave);
        assert!(net.run_until(2.0, |net| epochs(net) == 1), "{cipher}");
        net.send(0, MacAddress::BROADCAST, TEXT);
        assert_eq!(
            (net.got(1), net.got(2)),
            (vec![TEXT.to_vec()], vec![TEXT.to_vec()]),
            "{cipher}"
        );
        let frame = net.data_of(0).pop().unwrap();
        assert_eq!(frame[27] >> 6, 2, "{cipher}: under the other identifier");
        // Over an air that loses, too.
        let mut rng = SomeRng(3);
        net.rule =
            Box::new(move |_, _, f| if rng.below(4) == 0 { vec![] } else { vec![f.to_vec()] });
        net.command(2, Command::Leave);
        assert!(net.run_until(60.0, |net| epochs(net) >= 2 && net.is_linked(1)), "{cipher}");
        net.rule = Box::new(|_, _, f| vec![f.to_vec()]);
        net.send(0, MacAddress::BROADCAST, b"once more");
        assert_eq!(net.got(1).last().unwrap(), b"once more", "{cipher}");
    }
}

/// A linked net whose access point's keys are spent after forty frames.
fn soon_spent() -> Net {
    let profile = Cipher::Ccmp.profile().unwrap();
    let Secret::Pmk(pmk) = secret(Cipher::Ccmp, 7) else { panic!() };
    let spent_after = PacketNumber::new(40).unwrap();
    let settings = RsnSettings { group_rekey: None, spent_after };
    let ap = RsnAccessPoint::new(profile, pmk, AP, settings, now_at(0), SomeRng(1));
    let station = make_guard(Role::Client, Cipher::Ccmp, station_mac(1), 7, now_at(0));
    let mut net = Net::with_guards(vec![Box::new(ap), station]);
    net.link_all();
    net
}

/// Numbers stay below the limit and what was on its way when it was reached.
fn assert_no_number_above(net: &Net, most: u16) {
    let protected = net.data_of(0).into_iter().filter(|f| f[1] & 0x40 != 0);
    assert!(protected.into_iter().all(|f| u16::from_le_bytes([f[24], f[25]]) <= most));
}

#[test]
fn a_spent_pairwise_key_is_replaced_by_a_new_association() {
    let mut net = soon_spent();
    for n in 0..200u8 {
        let packet = [&station_mac(1).0, &AP.0, &[0x88, 0xb5][..], &[n]].concat();
        // While the station is away the packet is refused; it comes back by itself.
        let _ = net.nodes[0].link.handle_packet(net.now, &packet);
        net.drain(0);
        assert!(net.run_until(5.0, |net| net.is_linked(1) && net.is_linked(0)));
    }
    let events = &net.nodes[0].events;
    let ended = |e: &&Event| matches!(e, Event::Unlinked { why: Unlinked::Exhausted, .. });
    assert!(events.iter().filter(ended).count() >= 3, "{events:?}");
    assert_no_number_above(&net, 50);
}

#[test]
fn a_spent_group_key_is_replaced_without_anybody_leaving() {
    let mut net = soon_spent();
    for n in 0..200u8 {
        net.send(0, MacAddress::BROADCAST, &[n]);
    }
    assert_eq!(net.got(1).len(), 200, "nothing was lost on the way");
    let events = &net.nodes[0].events;
    let gone = |e: &Event| matches!(e, Event::Unlinked { .. });
    let rekeyed = events.iter().filter(|e| matches!(e, Event::GroupRekeyed { .. })).count();
    // The handshakes take numbers of the pairwise key, which lasts as long.
    assert!(rekeyed >= 4 && !events.iter().any(gone), "{events:?}");
    assert_no_number_above(&net, 50);
}

/// Flips a bit of a TKIP frame's payload and mends the ICV: CRC-32 is linear.
fn forge(frame: &[u8]) -> Vec<u8> {
    let mut forged = frame.to_vec();
    let (from, to) = (24 + 8, frame.len() - 4);
    let mut delta = vec![0; to - from];
    delta[10] = 1;
    let mend = crc32(&delta) ^ crc32(&vec![0; to - from]);
    forged[from + 10] ^= 1;
    forged[to..].iter_mut().zip(mend.to_le_bytes()).for_each(|(f, m)| *f ^= m);
    forged
}

#[test]
fn two_michael_failures_within_a_minute_stop_tkip_for_a_minute() {
    for victim in [0, 1] {
        let mut net = Net::linked(Cipher::Tkip, 1);
        let (from, to) = if victim == 0 { (1, AP) } else { (0, station_mac(1)) };
        for n in 0..2 {
            // The frame is stopped on its way, changed, and let go.
            net.rule = Box::new(|_, _, f| {
                if f[0] & 0x0c == 8 && f[1] & 0x40 != 0 { vec![] } else { vec![f.to_vec()] }
            });
            let packet = [&to.0, &net.nodes[from].mac.0, &[0x88, 0xb5][..], TEXT].concat();
            net.nodes[from].link.handle_packet(net.now, &packet).unwrap();
            net.drain(from);
            let stopped = net.data_of(from).pop().unwrap();
            net.settle();
            net.rule = Box::new(|_, _, f| vec![f.to_vec()]);
            let shut =
                |net: &Net| net.nodes[0].events.iter().any(|e| matches!(e, Event::ShutDown { .. }));
            assert!(!shut(&net));
            net.inject(victim, &forge(&stopped));
            net.settle();
            assert_eq!(shut(&net), n == 1, "the station's reports count at the access point");
        }
        assert!(!net.is_linked(1), "everybody is sent away");
        let start = net.now.mono;
        assert!(!net.run_until(55.0, |net| net.is_linked(1)), "and does not come back");
        assert!(net.run_until(60.0, |net| net.is_linked(1)), "until it is over");
        assert!(net.now.mono >= start + Duration::from_secs(60));
        net.send(1, AP, TEXT);
        assert_eq!(net.got(0).last().unwrap(), TEXT);
    }
}

#[test]
fn a_forged_frame_whose_checksum_is_wrong_is_no_michael_failure() {
    let mut net = Net::linked(Cipher::Tkip, 1);
    net.send(1, AP, TEXT);
    for n in 0..5 {
        let mut noise = net.data_of(1).pop().unwrap();
        noise[24] = noise[24].wrapping_add(1 + n);
        noise[40] ^= 1;
        net.inject(0, &noise);
    }
    assert!(net.is_linked(1) && net.is_linked(0));
}

#[test]
fn a_stopped_last_message_does_not_set_numbers_back() {
    // KRACK over the whole machine: message 4 is stopped, the station sends data, message 3 comes again.
    let mut net = Net::new(Cipher::Ccmp, 1);
    let mut fourth = 0;
    net.rule = Box::new(move |from, to, f| {
        let is_eapol = f.len() > 32 && f[30..32] == [0x88, 0x8e];
        if from == 1 && to == 0 && is_eapol && f.len() == 24 + 8 + 99 {
            fourth += 1;
            if fourth <= 2 {
                return vec![];
            }
        }
        vec![f.to_vec()]
    });
    net.command(1, Command::Connect);
    assert!(net.run_until(1.0, |net| net.is_linked(1)));
    for n in 0..5 {
        net.send(1, AP, &[n; 60]);
    }
    assert!(net.run_until(5.0, |net| net.is_linked(0)));
    for n in 5..10 {
        net.send(1, AP, &[n; 60]);
    }
    let numbers: Vec<u16> = net
        .data_of(1)
        .iter()
        .filter(|f| f[1] & 0x40 != 0)
        .map(|f| u16::from_le_bytes([f[24], f[25]]))
        .collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    assert_eq!(net.got(0).len(), 5, "those after the access point had the key");
}

#[test]
fn restarted_ends_link_again_and_reuse_nothing() {
    for cipher in Cipher::ALL {
        let mut net = Net::linked(cipher, 1);
        for n in 0..10 {
            net.send(1, AP, &[n; 40]);
            net.send(0, station_mac(1), &[n; 40]);
        }
        for victim in [1, 0] {
            net.restart(victim, cipher);
            if victim == 1 {
                net.command(1, Command::Connect);
            } else {
                // The station notices with its next packet, at the latest.
                net.send(1, AP, TEXT);
            }
            let up = net.run_until(10.0, |net| net.is_linked(1) && net.is_linked(0));
            assert!(up, "{cipher} {victim}");
            net.run(0.1);
            net.forget();
            net.send(1, AP, b"up");
            net.send(0, station_mac(1), b"down");
            let (up, down) = (net.got(0), net.got(1));
            assert_eq!(
                (up, down),
                (vec![b"up".to_vec()], vec![b"down".to_vec()]),
                "{cipher} {victim}"
            );
        }
        if matches!(cipher, Cipher::Wep | Cipher::Sbkh) {
            for n in 0..2 {
                let mut counters: Vec<_> =
                    net.data_of(n).iter().map(|f| f[24..28].to_vec()).collect();
                let all = counters.len();
                counters.sort();
                counters.dedup();
                assert_eq!(counters.len(), all, "{cipher}: node {n} used a counter twice");
            }
        }
    }
}

#[test]
fn effects_come_before_what_depends_on_them() {
    // WEP: the record of a block of IVs is handed out before the first frame that uses one.
    let mut guard = make_guard(Role::Client, Cipher::Wep, station_mac(1), 7, now_at(0));
    guard.prepare(now_at(0), AP);
    assert!(matches!(guard.poll(), Some(Effect::Persist(_))));
    assert!(guard.poll().is_none());
}
