//! What fuzzing has found in the machines, each as the shortest scenario that shows it: a peer with
//! valid keys that says what no honest one does.

mod common;

use common::*;
use slyfi_base::{Command, Duration, Event, MacAddress, Refused, RxMeta};
use slyfi_core::ap::ApConfig;
use slyfi_core::client::{ClientConfig, ClientLink};
use slyfi_core::keys::Key256;
use slyfi_core::shroud::{DirectionSecret, ShroudSender};
use slyfi_core::sizes::{SizePolicy, Sizes};
use slyfi_core::suite::Suite;
use slyfi_wire::carrier;
use slyfi_wire::message::{
    AssocStatus, Control, DataHeader, GroupKey, GroupMessage, LinkHeader, LinkKind,
};

/// The sending half of a session, taken from a key log.
struct Forger(ShroudSender);

impl Forger {
    fn new(secret: &DirectionSecret) -> Self {
        let mut sender = ShroudSender::new(secret, Sizes::new(SizePolicy::Buckets, 2_000));
        // Past what the honest sender has used, inside the window.
        sender.skip_to(20);
        Forger(sender)
    }

    /// In the name of a client (`up`) or of its access point.
    fn of(net: &Net, client: usize, up: bool) -> Self {
        let line = net.nodes[client].key_log.iter().rfind(|l| l.starts_with("SLYFI_SESSION "));
        let field = line.unwrap().split(' ').nth(if up { 3 } else { 4 }).unwrap();
        let byte = |i: usize| u8::from_str_radix(&field[2 * i..2 * i + 2], 16).unwrap();
        let secret = Key256::new(core::array::from_fn(byte));
        Forger::new(&DirectionSecret::new(Suite::AEAD, secret))
    }

    fn seal(&mut self, message: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; carrier::MAX_FRAME];
        let body = carrier::emit(&mut frame).unwrap();
        let offset = Suite::AEAD.message_offset();
        body[offset..offset + message.len()].copy_from_slice(message);
        let len = self.0.seal(body, message.len()).unwrap();
        frame.truncate(carrier::HEADER_LEN + len);
        frame
    }

    fn control(&mut self, sequence: u16, control: &Control<'_>) -> Vec<u8> {
        let kind = LinkKind::Control { sequence };
        let header = LinkHeader { kind, heard: 0, next: 0, selective: 0 };
        let mut message = vec![0; header.buffer_len(None)];
        header.emit(None, &mut message).unwrap();
        let mut payload = vec![0; control.buffer_len()];
        control.emit(&mut payload).unwrap();
        message.extend_from_slice(&payload);
        self.seal(&message)
    }

    fn data(&mut self, sequence: u16, to: MacAddress, payload: &[u8]) -> Vec<u8> {
        let kind = LinkKind::Data { sequence };
        let header = LinkHeader { kind, heard: 0, next: 0, selective: 0 };
        let data = DataHeader { destination: Some(to), source: None, ether_type: 0x0800 };
        let mut message = vec![0; header.buffer_len(Some(&data))];
        header.emit(Some(&data), &mut message).unwrap();
        message.extend_from_slice(payload);
        self.seal(&message)
    }
}

/// An access point and clients that write key logs; those below `linked` are linked.
fn net(clients: u8, linked: usize) -> Net {
    let ap = ApConfig { packets: 512, ..ApConfig::default() };
    let client = ClientConfig { key_log: true, ..ClientConfig::default() };
    let mut net = network(clients, Suite::AEAD, ap, client);
    for i in 1..=linked {
        net.command(i, Command::Connect);
        assert!(net.run_until(Duration::from_secs(5), |net| net.is_linked(i)));
    }
    net.run(Duration::from_millis(300));
    net
}

fn reaches(net: &mut Net, from: usize, to: usize, packet: &[u8]) -> bool {
    net.send(from, packet).unwrap();
    net.run(Duration::from_millis(300));
    net.nodes[to].delivered.iter().any(|p| p == packet)
}

#[test]
fn packets_that_fit_no_frame_do_not_end_the_link_they_are_for() {
    // Both a little too long to be sealed and too long to be written at all.
    for len in [1_545, 1_590] {
        let mut net = net(2, 2);
        let mut hostile = Forger::of(&net, 1, true);
        let frame = hostile.data(1, client_mac(2), &vec![7; len]);
        net.inject(0, &frame);
        net.run(Duration::from_secs(1));
        assert!(net.is_linked(2), "{len}: {:?}", net.unlinked(2));
        let down = ethernet(client_mac(2), AP_MAC, 0x0800, b"still there");
        assert!(reaches(&mut net, 0, 2, &down), "{len}");
        assert!(net.nodes[2].delivered.iter().all(|p| p.len() < 1_000));
    }
}

#[test]
fn the_longest_packet_that_fits_still_reaches_another_member() {
    let mut net = net(2, 2);
    let mut other = Forger::of(&net, 1, true);
    let frame = other.data(1, client_mac(2), &[7; 1_500]);
    net.inject(0, &frame);
    net.run(Duration::from_secs(1));
    assert_eq!(net.nodes[2].delivered.iter().filter(|p| p.len() == 1_514).count(), 1);
}

#[test]
fn a_frame_does_not_count_for_the_session_that_took_its_sessions_place_in_one_batch() {
    let mut net = net(2, 1);
    // The authentication of client 2 is caught on its way.
    let mut heard = 0;
    net.fate = Box::new(move |_, from, to, _| {
        heard += u32::from(from == 2 && to == 0);
        if from == 2 && heard > 1 { Fate::Drop } else { Fate::Deliver }
    });
    let before = net.air.len();
    net.command(2, Command::Connect);
    net.run(Duration::from_millis(60));
    let of_client_2 = net.air[before..].iter().filter(|(_, from, _)| *from == 2);
    let authentication = of_client_2.map(|(_, _, frame)| frame.clone()).nth(1).unwrap();

    let mut hostile = Forger::of(&net, 1, true);
    let associate = Control::AssocRequest { pseudonym: client_mac(9), mtu: 1_400 };
    let mut batch =
        [hostile.control(1, &Control::Leave), authentication, hostile.control(0, &associate)];
    let now = net.clock(0);
    let mut frames: Vec<(RxMeta, &mut [u8])> =
        batch.iter_mut().map(|f| (RxMeta::default(), f.as_mut_slice())).collect();
    net.nodes[0].link.handle_frames(now, &mut frames);
    net.drain(0);
    let linked = net.nodes[0].events.iter().filter(|e| matches!(e, Event::Linked { .. })).count();
    assert_eq!(linked, 1, "client 2 never asked to be associated");

    net.fate = Box::new(|_, _, _, _| Fate::Deliver);
    assert!(net.run_until(Duration::from_secs(5), |net| net.is_linked(2)), "now it does");
}

#[test]
fn one_member_cannot_take_the_packets_of_all() {
    let mut net = net(2, 2);
    net.fate = Box::new(|_, _, to, _| if to == 1 { Fate::Drop } else { Fate::Deliver });
    let mut hostile = Forger::of(&net, 1, true);
    for n in 1..2_000 {
        let frame = hostile.control(n, &Control::Resync);
        net.inject(0, &frame);
    }
    for n in 0..20u8 {
        let down = ethernet(client_mac(2), AP_MAC, 0x0800, &[n; 100]);
        assert!(reaches(&mut net, 0, 2, &down));
    }
}

#[test]
fn a_group_key_at_the_end_of_all_numbers_does_no_harm() {
    let mut net = net(1, 1);
    let secret = DirectionSecret::new(Suite::AEAD, Key256::new([5; 32]));
    let conveyed = [&[Suite::AEAD.to_byte()][..], secret.as_bytes()].concat();
    let mut access_point = Forger::of(&net, 1, false);
    let next = u64::MAX - 10;
    let rekey = Control::Rekey(GroupKey { epoch: 9, next, secret: &conveyed });
    let frame = access_point.control(1, &rekey);
    net.inject(1, &frame);
    let mut group = Forger::new(&secret);
    group.0.skip_to(u64::MAX - 5);
    let time = GroupMessage::Time { time: 0 };
    let mut message = vec![0; time.buffer_len()];
    time.emit(&mut message).unwrap();
    let frame = group.seal(&message);
    net.inject(1, &frame);
    assert!(net.is_linked(1));
    // The same key where numbers begin is taken, and so are its broadcasts.
    let rekey = Control::Rekey(GroupKey { epoch: 10, next: 1, secret: &conveyed });
    let frame = access_point.control(2, &rekey);
    net.inject(1, &frame);
    let offsets = |net: &Net| {
        net.nodes[1].events.iter().filter(|e| matches!(e, Event::ClockOffset(_))).count()
    };
    let before = offsets(&net);
    let frame = Forger::new(&secret).seal(&message);
    net.inject(1, &frame);
    assert_eq!(offsets(&net), before + 1);
}

#[test]
fn a_pairing_does_not_give_way_to_one_that_only_an_invite_may_bring() {
    let mut net = net(1, 0);
    // Nothing of the client's association arrives, so that it stays one.
    let mut heard = 0;
    net.fate = Box::new(move |_, from, to, _| {
        heard += u32::from(from == 1 && to == 0);
        if from == 1 && heard > 2 { Fate::Drop } else { Fate::Deliver }
    });
    net.command(1, Command::Connect);
    net.run(Duration::from_millis(60));
    assert!(!net.nodes[1].key_log.is_empty(), "session keys are made");
    let mut access_point = Forger::of(&net, 1, false);
    let other = pairing(Suite::AEAD, 4_711).encode();
    let frame = access_point.control(0, &Control::EnrolResponse { pairing: &other });
    net.inject(1, &frame);
    assert!(net.nodes[1].records.is_empty(), "nothing is to be stored, nothing to be voided");
}

#[test]
fn an_association_with_an_unusable_group_key_makes_no_link() {
    let mut net = net(1, 0);
    let mut heard = 0;
    net.fate = Box::new(move |_, from, to, _| {
        heard += u32::from(from == 1 && to == 0);
        if from == 1 && heard > 2 { Fate::Drop } else { Fate::Deliver }
    });
    net.command(1, Command::Connect);
    net.run(Duration::from_millis(60));
    let mut access_point = Forger::of(&net, 1, false);
    let response = Control::AssocResponse {
        status: AssocStatus::Accepted,
        pseudonym: client_mac(1),
        access_point: AP_MAC,
        mtu: 1_500,
        group: GroupKey { epoch: 1, next: 1, secret: &[] },
        since: START.as_secs(),
        roaming: false,
    };
    let frame = access_point.control(0, &response);
    net.inject(1, &frame);
    let up = ethernet(AP_MAC, client_mac(1), 0x0800, b"up");
    assert_eq!(net.send(1, &up), Err(Refused::NotLinked));
    assert!(!net.is_linked(1), "the machine and its events agree");
}

#[test]
fn data_that_waits_for_a_member_reaches_its_next_session() {
    let mut net = net(1, 1);
    net.fate = Box::new(|_, _, to, _| if to == 1 { Fate::Drop } else { Fate::Deliver });
    for n in 0..40u8 {
        net.send(0, &ethernet(client_mac(1), AP_MAC, 0x0800, &[n; 64])).unwrap();
    }
    // The client starts again; what was never sent to it is still at the access point.
    let now = net.clock(1);
    let mut again = ClientLink::new(ClientConfig::default(), client_mac(1), Seeded(900), now);
    again.add_pairing(now, pairing(Suite::AEAD, 101)).unwrap();
    net.nodes[1].link = Box::new(again);
    net.fate = Box::new(|_, _, _, _| Fate::Deliver);
    net.command(1, Command::Connect);
    net.run(Duration::from_secs(2));
    let delivered = &net.nodes[1].delivered;
    assert_eq!(delivered.last().map(|p| p[14]), Some(39), "{} packets", delivered.len());
}
