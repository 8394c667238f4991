//! Attacks by those who have keys: members, access points, holders of an invite; and accidents.

mod common;
#[path = "common/hostile.rs"]
mod hostile;

use common::*;
use hostile::*;
use slyfi_base::event::Unlinked;
use slyfi_base::{Command, Duration, Event, MacAddress, SecureRandom};
use slyfi_core::ap::{ApConfig, ApLink};
use slyfi_core::client::{ClientConfig, ClientLink};
use slyfi_core::suite::Suite;
use slyfi_wire::message::{Control, DataHeader, GroupKey, GroupMessage, LinkKind};

const SUITES: [Suite; 2] = [Suite::S2008, Suite::AEAD];

// ---- a hostile member ----

#[test]
fn a_member_that_asks_without_end_and_acknowledges_nothing_stops_nobody_else() {
    let mut net = logged(2, Suite::AEAD);
    net.nodes[2].is_up = false;
    let mut hostile = Hostile::client(&net, 2);
    hostile.next = hostile.next.wrapping_sub(1);
    for _ in 0..4_000 {
        let frame = hostile.control(&Control::Resync);
        net.inject(0, &frame);
    }
    assert!(serves(&mut net, 1));
}

#[test]
fn a_member_cannot_evict_or_stop_another_with_packets_that_do_not_fit() {
    use slyfi_core::sizes::{SizePolicy, Sizes};
    let mut net = logged(2, Suite::AEAD);
    net.nodes[2].is_up = false;
    let (up, down) = session_secrets(&net, 2);
    let mut hostile = Hostile::new(&net, &up, &down, Sizes::new(SizePolicy::None, 2_300));
    let header = DataHeader { destination: Some(client_mac(1)), source: None, ether_type: 0x0800 };
    for len in (1_500..1_640).chain([2_000, 2_240]) {
        let frame = hostile.data(header, &vec![0; len]);
        net.inject(0, &frame);
        net.run(Duration::from_millis(1));
    }
    assert!(serves(&mut net, 1));
    assert_eq!(net.unlinked(0), None);
}

#[test]
fn a_frame_of_one_member_never_counts_as_anothers_that_has_taken_its_place() {
    let mut net = logged(1, Suite::AEAD);
    // A second client stands ready with an authentication.
    let now = net.clock(0);
    let mut victim = ClientLink::new(ClientConfig::default(), client_mac(2), Seeded(9), now);
    victim.add_pairing(now, pairing(Suite::AEAD, 101)).unwrap();
    net.nodes[1].is_up = false;
    let mut hostile = Hostile::client(&net, 1);
    let node = net.add(Box::new(victim), false);
    let mut authentications = 0;
    net.fate = Box::new(move |_, from, to, _| match (from, to) {
        (2, 0) => {
            authentications += 1;
            if authentications == 1 { Fate::Deliver } else { Fate::Drop }
        }
        (0, 2) => Fate::Deliver,
        _ => Fate::Drop,
    });
    net.command(node, Command::Connect);
    net.run(Duration::from_millis(30));
    let mut authentication = frames_of(&net, node).pop().unwrap();
    let mut leave = hostile.control(&Control::Leave);
    hostile.sequence = 0;
    let wish = Control::AssocRequest { pseudonym: client_mac(7), mtu: 1_500 };
    let mut association = hostile.control(&wish);
    let header = DataHeader { destination: None, source: None, ether_type: 0x0800 };
    let mut data = hostile.data(header, b"as another");
    let meta = slyfi_base::RxMeta::default();
    let now = net.clock(0);
    net.nodes[0].link.handle_frames(
        now,
        &mut [
            (meta, &mut leave),
            (meta, &mut authentication),
            (meta, &mut association),
            (meta, &mut data),
        ],
    );
    net.drain(0);
    assert!(net.nodes[0].delivered.is_empty());
    let linked = |e: &&Event| matches!(e, Event::Linked { .. });
    assert_eq!(net.nodes[0].events.iter().filter(linked).count(), 1, "the first one's alone");
}

#[test]
fn a_member_cannot_tell_others_that_it_has_an_address_of_someone_else() {
    use slyfi_wire::arp::{ArpRepr, Operation};
    use std::net::Ipv4Addr;
    let mut net = logged(3, Suite::AEAD);
    net.command(1, Command::Bind([10, 0, 0, 5].into()));
    net.run(Duration::from_millis(50));
    net.nodes[3].is_up = false;
    let mut hostile = Hostile::client(&net, 3);
    let mine = Ipv4Addr::from([10, 0, 0, 9]);
    let other = Ipv4Addr::from([10, 0, 0, 5]);
    for (operation, ip) in
        [(Operation::Request, other), (Operation::Reply, other), (Operation::Request, mine)]
    {
        for destination in [MacAddress::BROADCAST, client_mac(2)] {
            let mut payload = [0; 28];
            let arp = ArpRepr {
                operation,
                sender_mac: client_mac(3),
                sender_ip: ip,
                target_mac: MacAddress::default(),
                target_ip: ip,
            };
            arp.emit(&mut payload).unwrap();
            let header =
                DataHeader { destination: Some(destination), source: None, ether_type: 0x0806 };
            let frame = hostile.data(header, &payload);
            net.inject(0, &frame);
        }
    }
    net.run(Duration::from_millis(300));
    // The twin: of an address that nobody has, it can speak.
    for node in [0, 2] {
        let told = &net.nodes[node].delivered;
        assert!(!told.is_empty());
        for packet in told {
            assert_eq!(ArpRepr::parse(&packet[14..]).unwrap().sender_ip, mine, "node {node}");
        }
    }
}

#[test]
fn nobody_gets_a_registered_a_group_or_the_hosts_address_as_pseudonym() {
    for wish in [MacAddress([0, 0x1b, 0x21, 1, 2, 3]), MacAddress::BROADCAST, AP_MAC] {
        let mut net = Net::new();
        let now = net.start_clock();
        let mut ap = ApLink::new(ApConfig::default(), AP_MAC, Seeded(1), now);
        ap.add_pairing(now, pairing(Suite::AEAD, 5)).unwrap();
        net.add(Box::new(ap), true);
        let mut client = ClientLink::new(ClientConfig::default(), wish, Seeded(2), now);
        client.add_pairing(now, pairing(Suite::AEAD, 5)).unwrap();
        net.add(Box::new(client), false);
        net.command(1, Command::Connect);
        assert!(net.run_until(Duration::from_secs(3), |n| n.is_linked(1)));
        let given = net.nodes[1].events.iter().find_map(|e| match e {
            Event::Pseudonym(mac) => Some(*mac),
            _ => None,
        });
        let given = given.expect("another than it wished for");
        assert!(given.is_unicast() && given == MacAddress::local(given.0) && given != AP_MAC);
    }
}

/// Frames of random and of nearly sound contents, with random acknowledgements.
fn nonsense(hostile: &mut Hostile, rng: &mut Seeded) -> Vec<u8> {
    let mut bytes = [0; 96];
    rng.fill(&mut bytes);
    hostile.heard = match bytes[0] % 4 {
        0 => u32::MAX,
        1 => 0,
        2 => hostile.heard.wrapping_add(1),
        _ => u32::from_be_bytes(bytes[1..5].try_into().unwrap()),
    };
    hostile.next = match bytes[5] % 3 {
        0 => hostile.next.wrapping_add(u16::from(bytes[6] % 3)),
        1 => hostile.next,
        _ => u16::from_be_bytes(bytes[6..8].try_into().unwrap()),
    };
    let sequence = hostile.sequence.wrapping_add(u16::from(bytes[8] % 80)).wrapping_sub(3);
    let len = usize::from(bytes[9] % 64);
    let payload = &bytes[16..16 + len];
    match bytes[10] % 8 {
        0 => hostile.link(LinkKind::Ack, None, &[]),
        1 => hostile.link(LinkKind::Ping, None, &[]),
        2 => hostile.link(LinkKind::Control { sequence }, None, payload),
        3 => {
            let pseudonym = MacAddress(bytes[16..22].try_into().unwrap());
            hostile.control(&Control::AssocRequest { pseudonym, mtu: 0 })
        }
        4 => {
            let ip: [u8; 4] = bytes[16..20].try_into().unwrap();
            hostile.control(&Control::Bind(ip.into()))
        }
        5 => {
            let secret = [&[Suite::AEAD.to_byte()][..], &bytes[30..62]].concat();
            let next = u64::from_be_bytes(bytes[70..78].try_into().unwrap());
            let epoch = u32::from(bytes[79] % 4);
            hostile.control(&Control::Rekey(GroupKey { epoch, next, secret: &secret }))
        }
        6 => hostile.seal(payload),
        _ => {
            let destination = (bytes[11] & 1 == 0).then(|| client_mac(bytes[12] % 4));
            let header = DataHeader { destination, source: None, ether_type: 0x0800 };
            hostile.link(LinkKind::Data { sequence }, Some(header), payload)
        }
    }
}

#[test]
fn a_member_that_sends_nonsense_under_valid_keys_hurts_only_itself() {
    for suite in SUITES {
        for seed in 0..8 {
            let mut net = logged(2, suite);
            net.nodes[2].is_up = false;
            let mut hostile = Hostile::client(&net, 2);
            let mut rng = Seeded(seed);
            for i in 0..3_000 {
                let frame = nonsense(&mut hostile, &mut rng);
                net.inject(0, &frame);
                if i % 16 == 0 {
                    net.run(Duration::from_millis(1));
                }
            }
            assert!(serves(&mut net, 1), "{suite} {seed}");
            assert!(net.is_linked(1));
            net.run(Duration::from_secs(20));
            assert!(serves(&mut net, 1), "{suite} {seed}, after it has fallen silent");
        }
    }
}

#[test]
fn members_that_come_and_go_without_end_do_not_hold_broadcasts_up() {
    let mut net = logged(2, Suite::AEAD);
    // The second acknowledges no key, the first comes and goes.
    net.nodes[2].is_up = false;
    for i in 0..20u8 {
        net.command(1, Command::Leave);
        net.run(Duration::from_millis(20));
        net.command(1, Command::Connect);
        net.run(Duration::from_millis(80));
        let _ = net.send(0, &ethernet(MacAddress::BROADCAST, AP_MAC, 0x0800, &[i]));
    }
    net.run(Duration::from_millis(20));
    let got = net.nodes[1].delivered.len();
    assert!(got >= 5, "{got} of 20 while it goes on");
}

// ---- accidents ----

#[test]
fn a_client_that_leaves_and_comes_back_at_once_is_linked_anew() {
    let mut net = linked(1, Suite::AEAD);
    net.command(1, Command::Leave);
    net.run(Duration::from_millis(5));
    assert_eq!(net.unlinked(0), Some(Unlinked::Left));
    net.command(1, Command::Connect);
    net.run(Duration::from_millis(100));
    assert!(serves(&mut net, 1));
    // Also when nothing of it was heard on the other side yet.
    net.fate = Box::new(|_, _, _, _| Fate::Drop);
    net.command(1, Command::Leave);
    net.run(Duration::from_millis(5));
    net.fate = Box::new(|_, _, _, _| Fate::Deliver);
    net.command(1, Command::Connect);
    net.run(Duration::from_millis(100));
    assert!(serves(&mut net, 1));
}

#[test]
fn a_client_that_leaves_while_it_makes_new_keys_says_so() {
    let client = ClientConfig { rekey_after: 30, ..ClientConfig::default() };
    let mut net = linked_with(1, Suite::AEAD, ApConfig::default(), client);
    let from = net.air.len();
    for i in 0..40u8 {
        net.send(1, &ethernet(AP_MAC, client_mac(1), 0x0800, &[i])).unwrap();
        net.run(Duration::from_millis(2));
        if net.air[from..].iter().any(|(_, n, f)| *n == 0 && f.len() > 200) {
            break;
        }
    }
    net.command(1, Command::Leave);
    net.run(Duration::from_millis(300));
    assert_eq!(net.unlinked(0), Some(Unlinked::Left));
}

#[test]
fn an_access_point_without_room_is_not_asked_for_new_keys_without_pause() {
    let ap = ApConfig { max_sessions: 1, ..ApConfig::default() };
    let client = ClientConfig { rekey_after: 20, ..ClientConfig::default() };
    let mut net = linked_with(1, Suite::AEAD, ap, client);
    for i in 0..30u8 {
        net.send(1, &ethernet(AP_MAC, client_mac(1), 0x0800, &[i])).unwrap();
        net.run(Duration::from_millis(2));
    }
    let asked = net.nodes[0].records.len();
    net.run(Duration::from_secs(4));
    let asked = net.nodes[0].records.len() - asked;
    assert!((1..=8).contains(&asked), "{asked} times in four seconds");
}

#[test]
fn an_invites_holder_has_one_place_and_no_time_beyond_its_expiry() {
    use slyfi_core::invite::Invite;
    let mut net = Net::new();
    let now = net.start_clock();
    let life = Duration::from_secs(2);
    let invite = Invite::new(Suite::AEAD, name(), now.wall, life, &mut Seeded(7)).unwrap();
    let config = ApConfig { max_sessions: 4, ..ApConfig::default() };
    let mut ap = ApLink::new(config, AP_MAC, Seeded(1), now);
    ap.add_pairing(now, invite.pairing()).unwrap();
    ap.add_pairing(now, pairing(Suite::AEAD, 5)).unwrap();
    net.add(Box::new(ap), true);
    // Six holders of one URL associate, and then ask for nothing.
    let mut holders = Vec::new();
    for n in 1..=6u8 {
        let client = ClientConfig { key_log: true, ..ClientConfig::default() };
        let mut client = ClientLink::new(client, client_mac(n), Seeded(40 + u64::from(n)), now);
        client.add_pairing(now, invite.pairing()).unwrap();
        holders.push(net.add(Box::new(client), false));
    }
    let mut hostile = None;
    for node in holders {
        net.command(node, Command::Connect);
        // It falls silent as soon as its session has keys, and associates by hand.
        let keyed = |n: &Net| !n.nodes[node].key_log.is_empty();
        assert!(net.run_until(Duration::from_millis(200), keyed));
        net.nodes[node].is_up = false;
        net.run(Duration::from_millis(5));
        hostile = Some(Hostile::client(&net, node));
    }
    // A member finds room beside them.
    let mut member = ClientLink::new(ClientConfig::default(), client_mac(9), Seeded(60), now);
    member.add_pairing(now, pairing(Suite::AEAD, 5)).unwrap();
    let member = net.add(Box::new(member), false);
    net.command(member, Command::Connect);
    assert!(net.run_until(Duration::from_secs(2), |n| n.is_linked(member)));
    // After its expiry the session that is still open brings no pairing.
    net.run(Duration::from_secs(3));
    let mut hostile = hostile.unwrap();
    let frame = hostile.control(&Control::EnrolRequest { random: [3; 32] });
    net.inject(0, &frame);
    net.run(Duration::from_millis(50));
    let pairing =
        |r: &(slyfi_base::link::RecordKind, _, _)| r.0 == slyfi_base::link::RecordKind::Pairing;
    assert!(!net.nodes[0].records.iter().any(pairing));
}

// ---- a hostile access point ----

#[test]
fn an_access_point_that_sends_nonsense_under_valid_keys_does_not_stop_a_client() {
    for suite in SUITES {
        for seed in 0..8 {
            let mut net = logged(1, suite);
            net.nodes[0].is_up = false;
            let mut hostile = Hostile::access_point(&net, 1);
            let mut rng = Seeded(100 + seed);
            for _ in 0..3_000 {
                let frame = nonsense(&mut hostile, &mut rng);
                net.inject(1, &frame);
            }
            net.fate = Box::new(|_, _, _, _| Fate::Drop);
            net.run(Duration::from_secs(8));
            net.fate = Box::new(|_, _, _, _| Fate::Deliver);
            net.nodes[0].is_up = true;
            net.run(Duration::from_secs(30));
            assert!(net.is_linked(1), "{suite} {seed}: it finds an honest one again");
        }
    }
}

#[test]
fn a_broadcast_position_near_the_end_of_the_numbers_does_not_stop_a_client() {
    for next in [u64::MAX, u64::MAX - 1, u64::MAX - 40, u64::MAX / 2] {
        let mut net = logged(1, Suite::AEAD);
        net.nodes[0].is_up = false;
        let mut hostile = Hostile::access_point(&net, 1);
        let secret = [&[Suite::AEAD.to_byte()][..], &[7; 32]].concat();
        let frame = hostile.control(&Control::Rekey(GroupKey { epoch: 9, next, secret: &secret }));
        net.inject(1, &frame);
        let secret = slyfi_core::shroud::DirectionSecret::new(
            Suite::AEAD,
            slyfi_core::keys::Key256::new([7; 32]),
        );
        let message = GroupMessage::Time { time: u64::MAX };
        for number in [next, next.saturating_add(1)].into_iter().filter(|n| *n < u64::MAX) {
            let frame = broadcast(&secret, number, &message);
            net.inject(1, &frame);
        }
        // The hostile frames have used up the honest one's numbers, so the link is made anew.
        net.nodes[0].is_up = true;
        net.run(Duration::from_secs(30));
        assert!(serves(&mut net, 1), "{next}");
    }
}

type Fates = Box<dyn FnMut(slyfi_base::Instant, usize, usize, &[u8]) -> Fate>;

/// The client (2) hears one access point (0 or 1) only.
fn near(ap: usize) -> Fates {
    Box::new(move |_, from, to, _| if from + to == 2 + ap { Fate::Deliver } else { Fate::Drop })
}

#[test]
fn a_network_is_not_told_what_another_has_given() {
    let (home, cafe) = (pairing(Suite::AEAD, 1), pairing(Suite::AEAD, 2));
    let mut net = Net::new();
    let now = net.start_clock();
    for (n, p) in [(0u8, &home), (1, &cafe)] {
        let config = ApConfig { key_log: true, ..ApConfig::default() };
        let mac = MacAddress([2, 0, 0, 0, 1, n]);
        let mut ap = ApLink::new(config, mac, Seeded(30 + u64::from(n)), now);
        ap.add_pairing(now, p.clone()).unwrap();
        net.add(Box::new(ap), true);
    }
    let config = ClientConfig { key_log: true, ..ClientConfig::default() };
    let mut client = ClientLink::new(config, client_mac(1), Seeded(3), now);
    client.add_pairing(now, home).unwrap();
    client.add_pairing(now, cafe).unwrap();
    net.add(Box::new(client), false);
    net.fate = near(0);
    net.command(2, Command::Connect);
    assert!(net.run_until(Duration::from_secs(3), |n| n.is_linked(2)));
    net.command(2, Command::Bind([192, 168, 77, 1].into()));
    net.run(Duration::from_millis(100));
    // Beside a link, only the same network is looked for.
    net.fate = near(1);
    net.command(2, Command::Roam);
    net.run(Duration::from_millis(1_500));
    assert_eq!(net.nodes[1].sent, 0);
    net.run(Duration::from_secs(12));
    assert!(net.run_until(Duration::from_secs(40), |n| n.is_linked(2)), "the other network");
    net.run(Duration::from_millis(300));
    let (up, _) = session_secrets(&net, 2);
    let told = heard(&net, &up);
    assert!(
        told.iter().any(|h| matches!(Control::parse(&h.payload), Ok(Control::AssocRequest { .. })))
    );
    assert!(!told.iter().any(|h| matches!(Control::parse(&h.payload), Ok(Control::Bind(_)))));
}
