//! What a network does beyond carrying packets: enrolment, bindings, time, roaming, restarts.

mod common;

use common::*;
use slyfi_base::event::{NoLink, Phase, Unlinked};
use slyfi_base::link::RecordKind;
use slyfi_base::{Command, DropReason, Duration, Event, MacAddress};
use slyfi_core::ap::{ApConfig, ApLink};
use slyfi_core::backhaul::BackhaulKey;
use slyfi_core::client::{ClientConfig, ClientLink};
use slyfi_core::invite::Invite;
use slyfi_core::pairing::Pairing;
use slyfi_core::suite::Suite;
use slyfi_wire::arp::{ArpRepr, Operation};
use slyfi_wire::ndp::{self, Body, NeighborRepr};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

fn arp_request(from: MacAddress, sender: [u8; 4], target: [u8; 4]) -> Vec<u8> {
    let mut payload = [0; 28];
    ArpRepr {
        operation: Operation::Request,
        sender_mac: from,
        sender_ip: Ipv4Addr::from(sender),
        target_mac: MacAddress::default(),
        target_ip: Ipv4Addr::from(target),
    }
    .emit(&mut payload)
    .unwrap();
    ethernet(MacAddress::BROADCAST, from, 0x0806, &payload)
}

#[test]
fn the_access_point_answers_arp_for_members_and_for_its_host() {
    let mut net = linked(2, Suite::AEAD);
    net.command(0, Command::Bind(IpAddr::from([10, 0, 0, 1])));
    net.command(1, Command::Bind(IpAddr::from([10, 0, 0, 11])));
    net.run(Duration::from_millis(50));
    // A member asks for a member: the binding came from the command.
    net.send(2, &arp_request(client_mac(2), [10, 0, 0, 12], [10, 0, 0, 11])).unwrap();
    // And for the host.
    net.send(2, &arp_request(client_mac(2), [10, 0, 0, 12], [10, 0, 0, 1])).unwrap();
    net.run(Duration::from_millis(100));
    let owners: Vec<MacAddress> = net.nodes[2]
        .delivered
        .iter()
        .map(|p| ArpRepr::parse(&p[14..]).unwrap().sender_mac)
        .collect();
    assert_eq!(owners, [client_mac(1), AP_MAC]);
    assert!(net.nodes[1].delivered.is_empty(), "nobody else hears the question");
    assert!(net.nodes[0].delivered.is_empty());

    // The host asks for the member that has just asked: its request was claim enough.
    net.send(0, &arp_request(AP_MAC, [10, 0, 0, 1], [10, 0, 0, 12])).unwrap();
    let reply = ArpRepr::parse(&net.nodes[0].delivered[0][14..]).unwrap();
    assert_eq!((reply.sender_mac, reply.target_mac), (client_mac(2), AP_MAC));

    // What nobody has, the host's side of the network is asked for.
    net.send(2, &arp_request(client_mac(2), [10, 0, 0, 12], [10, 0, 0, 99])).unwrap();
    net.run(Duration::from_millis(50));
    assert_eq!(net.nodes[0].delivered.len(), 2);
    assert!(net.nodes[1].delivered.is_empty());
}

#[test]
fn the_access_point_answers_neighbour_discovery_and_keeps_addresses_unique() {
    let mut net = linked(2, Suite::AEAD);
    let target: Ipv6Addr = "fe80::11".parse().unwrap();
    net.command(1, Command::Bind(IpAddr::V6(target)));
    net.run(Duration::from_millis(50));
    for source in ["fe80::22", "::"] {
        let source: Ipv6Addr = source.parse().unwrap();
        let dad = source.is_unspecified();
        let ask = NeighborRepr {
            source,
            destination: ndp::solicited_node(target),
            target,
            body: Body::Solicitation,
            link_layer: (!dad).then_some(client_mac(2)),
        };
        let mut bytes = [0; NeighborRepr::MAX_LEN];
        let len = ask.emit(&mut bytes).unwrap();
        let to = ndp::multicast_mac(ask.destination);
        net.send(2, &ethernet(to, client_mac(2), 0x86dd, &bytes[..len])).unwrap();
        net.run(Duration::from_millis(50));
        let got = net.nodes[2].delivered.last().unwrap();
        let answer = NeighborRepr::parse(&got[14..]).unwrap();
        assert_eq!((answer.target, answer.link_layer), (target, Some(client_mac(1))));
        assert_eq!(got[0] & 1 == 1, dad, "detection is answered to all nodes");
    }
    assert!(net.nodes[1].delivered.is_empty());
}

#[test]
fn an_address_that_a_member_has_cannot_be_taken_by_another() {
    let mut net = linked(2, Suite::AEAD);
    let address = IpAddr::from([10, 0, 0, 5]);
    net.command(1, Command::Bind(address));
    net.run(Duration::from_millis(50));
    net.command(2, Command::Bind(address));
    net.run(Duration::from_millis(50));
    net.send(0, &arp_request(AP_MAC, [10, 0, 0, 1], [10, 0, 0, 5])).unwrap();
    let reply = ArpRepr::parse(&net.nodes[0].delivered[0][14..]).unwrap();
    assert_eq!(reply.sender_mac, client_mac(1));
}

#[test]
fn time_beacons_tell_members_the_clock_and_nobody_else() {
    let mut net = network(1, Suite::AEAD, ApConfig::default(), ClientConfig::default());
    net.nodes[1].skew_us = -2_000_000;
    net.command(1, Command::Connect);
    net.run(Duration::from_secs(12));
    let offsets: Vec<i64> = net.nodes[1]
        .events
        .iter()
        .filter_map(|e| match e {
            Event::ClockOffset(us) => Some(*us),
            _ => None,
        })
        .collect();
    assert!(offsets.len() >= 4, "two at the set-up, then beacons: {offsets:?}");
    assert!(offsets.iter().all(|us| (us - 2_000_000).abs() < 20_000), "{offsets:?}");
    let time = (START.as_secs() + 13).to_be_bytes();
    assert!(net.air.iter().all(|(_, _, f)| !f.windows(6).any(|w| w == &time[2..])));
}

/// An access point and a client that only has an invite.
fn invited() -> (Net, Invite, [u8; 8]) {
    let mut net = Net::new();
    let now = net.start_clock();
    let mut rng = Seeded(77);
    let invite =
        Invite::new(Suite::AEAD, name(), now.wall, Duration::from_secs(600), &mut rng).unwrap();
    let invite = Invite::from_url(&invite.to_url(), now.wall).unwrap();
    let pairing = invite.pairing();
    let id = *pairing.id();
    let mut ap = ApLink::new(ApConfig::default(), AP_MAC, Seeded(1), now);
    ap.add_pairing(now, pairing).unwrap();
    net.add(Box::new(ap), true);
    for n in 1..=2 {
        let mut client =
            ClientLink::new(ClientConfig::default(), client_mac(n), Seeded(n.into()), now);
        client.add_pairing(now, invite.pairing()).unwrap();
        net.add(Box::new(client), false);
    }
    (net, invite, id)
}

#[test]
fn an_invite_makes_one_pairing_on_both_sides_and_no_second() {
    let (mut net, _, id) = invited();
    net.command(1, Command::Connect);
    assert!(net.run_until(Duration::from_secs(5), |n| n.is_linked(1)));
    let stored = |net: &Net, node: usize| -> Vec<Vec<u8>> {
        let records = net.nodes[node].records.iter();
        records.filter(|r| r.0 == RecordKind::Pairing).map(|r| r.2.clone()).collect()
    };
    assert_eq!(stored(&net, 0).len(), 1);
    assert_eq!(stored(&net, 0), stored(&net, 1));
    let pairing = Pairing::decode(&stored(&net, 1)[0]).unwrap();
    assert_ne!(*pairing.id(), id);
    for node in [0, 1] {
        let spent = |r: &(RecordKind, _, Vec<u8>)| r.0 == RecordKind::InviteSpent && r.2 == id;
        assert!(net.nodes[node].records.iter().any(spent), "node {node}");
    }
    let up = ethernet(AP_MAC, client_mac(1), 0x0800, b"enrolled");
    net.send(1, &up).unwrap();
    net.run(Duration::from_millis(100));
    assert_eq!(net.nodes[0].delivered, [up]);

    net.command(2, Command::Connect);
    net.run(Duration::from_secs(3));
    assert!(!net.is_linked(2));
    let refused = |e: &Event| matches!(e, Event::NoLink { why: NoLink::InviteSpent, .. });
    assert!(net.nodes[2].events.iter().any(refused), "{:?}", net.nodes[2].events);
    assert_eq!(stored(&net, 0).len(), 1);
}

#[test]
fn a_spent_invite_stays_spent_over_a_restart() {
    let (mut net, invite, _) = invited();
    net.command(1, Command::Connect);
    assert!(net.run_until(Duration::from_secs(5), |n| n.is_linked(1)));
    let now = net.clock(0);
    let mut ap = ApLink::new(ApConfig::default(), AP_MAC, Seeded(55), now);
    ap.add_pairing(now, invite.pairing()).unwrap();
    for (kind, _, bytes) in &net.nodes[0].records {
        assert!(ap.restore(now, *kind, bytes));
    }
    net.nodes[0].link = Box::new(ap);
    net.drain(0);
    net.command(2, Command::Connect);
    net.run(Duration::from_secs(3));
    assert!(!net.is_linked(2));
    // The first client, whose pairing was stored, finds its way back.
    assert!(net.run_until(Duration::from_secs(20), |n| n.is_linked(1)));
}

#[test]
fn recorded_probes_and_authentications_are_ignored_also_after_a_restart() {
    let mut net = linked(1, Suite::AEAD);
    let recorded: Vec<Vec<u8>> =
        net.air.iter().filter(|(_, from, _)| *from == 1).map(|(_, _, f)| f.clone()).collect();
    let before = net.nodes[0].sent;
    for frame in &recorded {
        net.inject(0, frame);
    }
    net.run(Duration::from_millis(50));
    assert_eq!(net.nodes[0].sent, before, "no reply to any replay");
    assert!(net.nodes[0].link.drops().of(DropReason::Replayed) >= 2);

    let now = net.clock(0);
    let mut ap = ApLink::new(ApConfig::default(), AP_MAC, Seeded(99), now);
    ap.add_pairing(now, pairing(Suite::AEAD, 101)).unwrap();
    for (kind, _, bytes) in &net.nodes[0].records {
        assert!(ap.restore(now, *kind, bytes));
    }
    net.nodes[0].link = Box::new(ap);
    net.nodes[1].is_up = false;
    net.drain(0);
    let before = net.nodes[0].sent;
    for frame in &recorded {
        net.inject(0, frame);
    }
    net.run(Duration::from_millis(50));
    assert_eq!(net.nodes[0].sent, before);
    assert!(net.nodes[0].link.drops().of(DropReason::Replayed) >= 2);

    // The twin: without the records, the same probe would be answered.
    let mut forgetful = ApLink::new(ApConfig::default(), AP_MAC, Seeded(98), now);
    forgetful.add_pairing(now, pairing(Suite::AEAD, 101)).unwrap();
    net.nodes[0].link = Box::new(forgetful);
    net.drain(0);
    let before = net.nodes[0].sent;
    for frame in &recorded {
        net.inject(0, frame);
    }
    net.run(Duration::from_millis(50));
    assert!(net.nodes[0].sent > before);
}

#[test]
fn clocks_minutes_apart_link_and_an_hour_apart_is_diagnosed_in_silence() {
    for (minutes, links) in [(4, true), (-4, true), (60, false), (-60, false)] {
        let mut net = network(1, Suite::AEAD, ApConfig::default(), ClientConfig::default());
        net.nodes[1].skew_us = minutes * 60_000_000;
        net.command(1, Command::Connect);
        let up = net.run_until(Duration::from_secs(8), |n| n.is_linked(1));
        assert_eq!(up, links, "{minutes} minutes");
        if links {
            continue;
        }
        assert_eq!(net.nodes[0].sent, 0, "a clock that is off draws no answer");
        let seconds = net.nodes[0].events.iter().find_map(|e| match e {
            Event::ClientClockOff { pairing: 0, seconds } => Some(*seconds),
            _ => None,
        });
        let seconds = seconds.expect("the access point knows why");
        assert!((seconds - minutes * 60).abs() <= 300, "{seconds} s for {minutes} min");
        let gave_up = |e: &Event| matches!(e, Event::NoLink { why: NoLink::NoAnswer, .. });
        assert!(net.nodes[1].events.iter().any(gave_up));
    }
}

#[test]
fn used_up_keys_are_replaced_before_they_end_and_nothing_is_lost() {
    let ap = ApConfig { rekey_after: 60, ..ApConfig::default() };
    let client = ClientConfig { rekey_after: 60, ..ClientConfig::default() };
    let mut net = linked_with(1, Suite::AEAD, ap, client);
    let mut sent = Vec::new();
    for i in 0..400u32 {
        let p = ethernet(AP_MAC, client_mac(1), 0x0800, &i.to_be_bytes());
        net.send(1, &p).unwrap();
        sent.push(p);
        net.run(Duration::from_millis(3));
    }
    net.run(Duration::from_secs(1));
    assert!(net.nodes[0].delivered == sent, "{} of 400", net.nodes[0].delivered.len());
    let renewals = net.nodes[1].events.iter().filter(|e| **e == Event::Roamed).count();
    assert!(renewals >= 3, "{renewals} renewals");
    assert!(net.unlinked(1).is_none(), "the link never went down");
}

#[test]
fn a_clear_announcement_is_followed_at_once_by_an_authentication() {
    let ap =
        ApConfig { announce: Some((name(), Duration::from_millis(100))), ..ApConfig::default() };
    let client = ClientConfig {
        retry: Duration::from_secs(30),
        heed_announcements: true,
        ..ClientConfig::default()
    };
    let mut net = network(1, Suite::AEAD, ap, client);
    // The probe is lost, and would not be repeated for half a minute.
    let mut first = true;
    net.fate =
        Box::new(
            move |_, from, _, _| {
                if from == 1 && core::mem::take(&mut first) { Fate::Drop } else { Fate::Deliver }
            },
        );
    net.command(1, Command::Connect);
    assert!(net.run_until(Duration::from_secs(1), |n| n.is_linked(1)));
    let ssid = net.air.iter().filter(|(_, from, f)| *from == 0 && f[0] == 0x80).count();
    assert!(ssid >= 1, "the announcement is an ordinary beacon");
}

#[test]
fn a_member_is_told_where_the_broadcasts_stand_after_a_loss_beyond_the_window() {
    let mut net = linked_with(
        1,
        Suite::AEAD,
        ApConfig { time_beacon: None, ..ApConfig::default() },
        ClientConfig::default(),
    );
    let all = ethernet(MacAddress::BROADCAST, AP_MAC, 0x0800, b"lost");
    // Only broadcasts are lost: they are the frames longer than a keep-alive's.
    net.fate = Box::new(|_, from, _, _| if from == 0 { Fate::Drop } else { Fate::Deliver });
    for _ in 0..60 {
        net.send(0, &all).unwrap();
    }
    net.fate = Box::new(|_, _, _, _| Fate::Deliver);
    net.send(0, &all).unwrap();
    net.run(Duration::from_secs(1));
    assert!(net.nodes[1].delivered.is_empty(), "60 in a row are more than w");
    net.run(Duration::from_secs(25));
    net.send(0, &all).unwrap();
    net.run(Duration::from_secs(1));
    assert_eq!(net.nodes[1].delivered, [all]);
    assert!(net.unlinked(1).is_none());
}

/// Two access points of one network (0 and 1), and a client (2).
fn two_access_points() -> Net {
    let mut net = Net::new();
    let now = net.start_clock();
    let config = ApConfig { backhaul: Some(BackhaulKey::new([9; 32])), ..ApConfig::default() };
    for n in 0..2u8 {
        let mac = MacAddress([2, 0, 0, 0, 1, n]);
        let mut ap = ApLink::new(config.clone(), mac, Seeded(20 + u64::from(n)), now);
        ap.add_pairing(now, pairing(Suite::AEAD, 101)).unwrap();
        net.add(Box::new(ap), true);
    }
    let mut client = ClientLink::new(ClientConfig::default(), client_mac(1), Seeded(3), now);
    client.add_pairing(now, pairing(Suite::AEAD, 101)).unwrap();
    net.add(Box::new(client), false);
    net
}

/// Lets the client hear only one access point.
fn near(ap: usize) -> Decide {
    Box::new(
        move |_, from, to, _| {
            if from + to == 2 + ap && from != to { Fate::Deliver } else { Fate::Drop }
        },
    )
}

#[test]
fn a_session_moves_to_another_access_point_without_an_authentication() {
    let mut net = two_access_points();
    net.fate = near(0);
    net.command(2, Command::Connect);
    assert!(net.run_until(Duration::from_secs(3), |n| n.is_linked(2)));
    net.run(Duration::from_millis(200));
    let mut here = 1;
    for turn in 0..4 {
        net.fate = near(here);
        let before = net.air.len();
        net.command(2, Command::Roam);
        let roamed =
            |n: &Net| n.nodes[2].events.iter().filter(|e| **e == Event::Roamed).count() == turn + 1;
        assert!(net.run_until(Duration::from_secs(3), roamed), "turn {turn}");
        // A probe and its answer, the association and its answer: no authentication in between.
        let frames = net.air.len() - before;
        assert!(frames <= 6, "{frames} frames");
        net.run(Duration::from_millis(200));
        let other = 1 - here;
        assert_eq!(net.unlinked(other), Some(Unlinked::Moved), "turn {turn}");
        let up = ethernet(MacAddress([2, 0, 0, 0, 1, here as u8]), client_mac(1), 0x0800, b"hi");
        net.send(2, &up).unwrap();
        net.run(Duration::from_millis(100));
        assert_eq!(net.nodes[here].delivered.last(), Some(&up), "turn {turn}");
        here = other;
    }
    assert!(net.unlinked(2).is_none(), "the client never lost its link");
    let mut shroud = std::collections::HashSet::new();
    let mut repeated = std::collections::HashSet::new();
    for (_, _, frame) in &net.air {
        if !shroud.insert(frame[28..44].to_vec()) {
            repeated.insert(frame[28..44].to_vec());
        }
    }
    // Only Tryst addresses repeat, within their interval; every session has probing keys of its own.
    assert!(repeated.len() <= 4, "{} addresses repeat", repeated.len());
}

#[test]
fn a_client_that_loses_its_access_point_comes_back_at_another_by_its_handed_over_session() {
    let mut net = two_access_points();
    net.fate = near(0);
    net.command(2, Command::Connect);
    assert!(net.run_until(Duration::from_secs(3), |n| n.is_linked(2)));
    net.run(Duration::from_millis(200));
    net.fate = near(1);
    assert!(net.run_until(Duration::from_secs(10), |n| n.unlinked(2).is_some()));
    assert!(net.run_until(Duration::from_secs(3), |n| n.is_linked(2)));
    let events = &net.nodes[2].events;
    let auths = events.iter().filter(|e| **e == Event::Phase(Phase::Authenticating)).count();
    assert_eq!(auths, 1, "only the first set-up authenticated");
}

#[test]
fn a_revoked_pairing_is_void_at_every_access_point() {
    let mut net = Net::new();
    let now = net.start_clock();
    let config = ApConfig { backhaul: Some(BackhaulKey::new([9; 32])), ..ApConfig::default() };
    let mut first = ApLink::new(config.clone(), AP_MAC, Seeded(1), now);
    let mut second = ApLink::new(config, MacAddress([2, 0, 0, 0, 0, 2]), Seeded(2), now);
    let index = first.add_pairing(now, pairing(Suite::AEAD, 5)).unwrap();
    second.add_pairing(now, pairing(Suite::AEAD, 5)).unwrap();
    let id = first.remove_pairing(now, index).unwrap();
    assert_eq!(first.pairings(), 0);
    net.add(Box::new(first), true);
    net.add(Box::new(second), true);
    net.drain(0);
    let told = (RecordKind::PairingRevoked, None, id.to_vec());
    assert_eq!(net.nodes[1].records, [told]);
}

#[test]
fn the_key_log_is_silent_unless_asked_for() {
    let quiet = linked(1, Suite::AEAD);
    assert!(quiet.nodes.iter().all(|n| n.key_log.is_empty()));
    let net = linked_with(
        1,
        Suite::AEAD,
        ApConfig { key_log: true, ..ApConfig::default() },
        ClientConfig { key_log: true, ..ClientConfig::default() },
    );
    assert!(net.nodes[0].key_log[0].starts_with("SLYFI_SESSION "));
    assert_eq!(net.nodes[0].key_log, net.nodes[1].key_log);
}

#[test]
fn an_access_point_drops_what_is_not_its_own_without_a_word() {
    let mut net = linked(1, Suite::AEAD);
    let before = net.nodes[0].sent;
    let mut rng = Seeded(4);
    for len in [0, 10, 27, 28, 59, 60, 128, 1_500, 2_400] {
        let mut junk = vec![0; len];
        slyfi_base::SecureRandom::fill(&mut rng, &mut junk);
        net.inject(0, &junk);
        if len >= 28 {
            junk[..28].copy_from_slice(&slyfi_wire::carrier::HEADER);
            net.inject(0, &junk);
        }
    }
    assert_eq!(net.nodes[0].sent, before);
    assert!(net.nodes[0].link.drops().of(DropReason::Foreign) >= 3);
}
