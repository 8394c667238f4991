//! Attacks, each as the claim that it fails.

mod common;
#[path = "common/hostile.rs"]
mod hostile;

use common::*;
use hostile::*;
use slyfi_base::event::Unlinked;
use slyfi_base::{Command, DropReason, Duration, Event, Instant, MacAddress, SecureRandom};
use slyfi_core::ap::{ApConfig, ApLink};
use slyfi_core::backhaul::BackhaulKey;
use slyfi_core::client::{ClientConfig, ClientLink};
use slyfi_core::suite::Suite;
use slyfi_wire::carrier;
use slyfi_wire::message::{Control, DataHeader, GroupKey, GroupMessage, LinkKind};

const SUITES: [Suite; 2] = [Suite::S2008, Suite::AEAD];

fn logged(n: u8, suite: Suite) -> Net {
    let ap = ApConfig { suite, key_log: true, ..ApConfig::default() };
    let client = ClientConfig { key_log: true, ..ClientConfig::default() };
    linked_with(n, suite, ap, client)
}

fn frames_of(net: &Net, node: usize) -> Vec<Vec<u8>> {
    net.air.iter().filter(|(_, n, _)| *n == node).map(|(_, _, f)| f.clone()).collect()
}

/// Whether data still goes both ways between the access point and a client.
fn serves(net: &mut Net, client: usize) -> bool {
    let number = (net.now.as_micros() % 251) as u8;
    let mac = client_mac(client as u8);
    let up = ethernet(AP_MAC, mac, 0x0800, &[number, 1, 1]);
    let down = ethernet(mac, AP_MAC, 0x0800, &[number, 2, 2]);
    let sent = net.send(client, &up).is_ok() && net.send(0, &down).is_ok();
    net.run(Duration::from_millis(300));
    sent && net.nodes[0].delivered.contains(&up) && net.nodes[client].delivered.contains(&down)
}

// ---- an outsider ----

#[test]
fn the_whole_capture_played_back_changes_nothing_and_draws_nothing() {
    for suite in SUITES {
        let mut net = linked(2, suite);
        for i in 0..20u8 {
            net.send(1, &ethernet(AP_MAC, client_mac(1), 0x0800, &[i])).unwrap();
            net.send(0, &ethernet(MacAddress::BROADCAST, AP_MAC, 0x0800, &[i])).unwrap();
            net.run(Duration::from_millis(10));
        }
        net.run(Duration::from_millis(500));
        let capture: Vec<Vec<u8>> = net.air.iter().map(|(_, _, f)| f.clone()).collect();
        let before: Vec<_> = net.nodes.iter().map(|n| (n.sent, n.delivered.len())).collect();
        let events: Vec<_> = net.nodes.iter().map(|n| n.events.len()).collect();
        for frame in &capture {
            for node in 0..3 {
                net.inject(node, frame);
            }
        }
        net.run(Duration::from_millis(20));
        let after: Vec<_> = net.nodes.iter().map(|n| (n.sent, n.delivered.len())).collect();
        assert_eq!(before, after, "{suite}");
        assert_eq!(events, net.nodes.iter().map(|n| n.events.len()).collect::<Vec<_>>());
        assert!(serves(&mut net, 1) && serves(&mut net, 2), "{suite}");
    }
}

#[test]
fn a_probe_with_any_bit_flipped_or_any_end_cut_is_refused_and_the_original_still_counts() {
    for suite in SUITES {
        let mut net = network(1, suite, ApConfig::default(), ClientConfig::default());
        net.fate = Box::new(|_, _, _, _| Fate::Drop);
        net.command(1, Command::Connect);
        let probe = frames_of(&net, 1).remove(0);
        net.nodes[1].is_up = false;
        for bit in carrier::HEADER_LEN * 8..probe.len() * 8 {
            let mut forged = probe.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            net.inject(0, &forged);
        }
        for len in 0..probe.len() {
            net.inject(0, &probe[..len]);
            let mut longer = probe.clone();
            longer.resize(probe.len() + len + 1, 0);
            net.inject(0, &longer);
        }
        net.run(Duration::from_millis(50));
        let ap = &net.nodes[0];
        assert_eq!((ap.sent, ap.records.len(), ap.events.len()), (0, 0, 0), "{suite}");
        net.inject(0, &probe);
        net.run(Duration::from_millis(50));
        assert_eq!(net.nodes[0].sent, 1, "{suite}");
    }
}

#[test]
fn a_frame_with_any_bit_flipped_is_refused_and_the_original_still_counts() {
    for suite in SUITES {
        let mut net = linked(1, suite);
        let packet = ethernet(AP_MAC, client_mac(1), 0x0800, b"the original");
        net.fate = Box::new(|_, _, _, _| Fate::Drop);
        let mark = net.air.len();
        net.send(1, &packet).unwrap();
        let frame = net.air[mark].2.clone();
        net.nodes[1].is_up = false;
        let sent = net.nodes[0].sent;
        for bit in carrier::HEADER_LEN * 8..frame.len() * 8 {
            let mut forged = frame.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            net.inject(0, &forged);
        }
        for len in 0..frame.len() {
            net.inject(0, &frame[..len]);
        }
        assert_eq!(net.nodes[0].sent, sent, "{suite}");
        assert!(net.nodes[0].delivered.is_empty(), "{suite}");
        net.inject(0, &frame);
        assert_eq!(net.nodes[0].delivered, [packet], "{suite}");
    }
}

#[test]
fn a_frame_that_comes_back_to_its_sender_is_foreign() {
    for suite in SUITES {
        let mut net = linked(1, suite);
        let p = ethernet(AP_MAC, client_mac(1), 0x0800, b"mirror");
        net.fate = Box::new(|_, _, _, _| Fate::Drop);
        net.send(1, &p).unwrap();
        net.send(0, &ethernet(client_mac(1), AP_MAC, 0x0800, b"mirror")).unwrap();
        for node in [0, 1] {
            let before =
                (net.nodes[node].sent, net.nodes[node].link.drops().of(DropReason::Foreign));
            let own = frames_of(&net, node);
            for frame in &own {
                net.inject(node, frame);
            }
            let after = net.nodes[node].link.drops().of(DropReason::Foreign);
            assert_eq!(net.nodes[node].sent, before.0, "{suite}");
            assert_eq!(after - before.1, own.len() as u64, "{suite}");
            assert!(net.nodes[node].delivered.is_empty());
        }
    }
}

#[test]
fn parts_of_two_probes_do_not_make_a_third() {
    for suite in SUITES {
        let mut net = network(2, suite, ApConfig::default(), ClientConfig::default());
        net.fate = Box::new(|_, _, _, _| Fate::Drop);
        for client in [1, 2] {
            net.command(client, Command::Connect);
            net.run(Duration::from_millis(350));
            net.nodes[client].is_up = false;
        }
        let probes: Vec<Vec<u8>> = [1, 2].iter().flat_map(|n| frames_of(&net, *n)).collect();
        assert!(probes.len() >= 4);
        let start = carrier::HEADER_LEN;
        for a in &probes {
            for b in probes.iter().filter(|b| *b != a) {
                for cut in [16, 32, 48] {
                    let mut spliced = a[..start + cut].to_vec();
                    spliced.extend_from_slice(&b[start + cut..]);
                    // One client's probes have one address: swapped, it changes nothing.
                    if spliced != *b {
                        net.inject(0, &spliced);
                    }
                }
                // One's header before the other's whole probe, as in a scoped broadcast.
                let mut stacked = a[..start + 48].to_vec();
                stacked.extend_from_slice(&b[start..]);
                net.inject(0, &stacked);
            }
        }
        net.run(Duration::from_millis(50));
        assert_eq!((net.nodes[0].sent, net.nodes[0].records.len()), (0, 0), "{suite}");
        net.inject(0, &probes[0]);
        net.run(Duration::from_millis(50));
        assert_eq!(net.nodes[0].sent, 1, "{suite}");
    }
}

#[test]
fn an_answer_to_one_client_or_request_means_nothing_to_another() {
    let mut net = network(2, Suite::AEAD, ApConfig::default(), ClientConfig::default());
    net.fate = Box::new(|_, _, to, _| if to == 1 { Fate::Drop } else { Fate::Deliver });
    net.command(1, Command::Connect);
    net.run(Duration::from_millis(50));
    let answers = frames_of(&net, 0);
    assert!(!answers.is_empty());
    net.command(2, Command::Connect);
    let sent = net.nodes[2].sent;
    for frame in &answers {
        net.inject(2, frame);
    }
    assert_eq!(net.nodes[2].sent, sent, "another's answer");
    // Once the search has been given up, its answers are of no use for the next.
    net.run(Duration::from_secs(12));
    let sent = net.nodes[1].sent;
    for frame in &answers {
        net.inject(1, frame);
    }
    assert_eq!(net.nodes[1].sent, sent, "an old answer");
}

#[test]
fn junk_under_addresses_that_are_waited_for_draws_nothing() {
    let mut rng = Seeded(8);
    for suite in SUITES {
        let mut net = linked(1, suite);
        let mut known: Vec<Vec<u8>> = net.air.iter().map(|(_, _, f)| f[28..44].to_vec()).collect();
        known.dedup();
        let before: Vec<_> = net.nodes.iter().map(|n| (n.sent, n.events.len())).collect();
        for address in &known {
            for len in [32, 47, 48, 64, 96, 128, 431, 1_600, 2_300] {
                let mut frame = carrier::HEADER.to_vec();
                frame.resize(28 + len, 0);
                rng.fill(&mut frame[28..]);
                for at in (0..8).map(|j| j * 48).filter(|at| at + 16 <= len) {
                    frame[28 + at..28 + at + 16].copy_from_slice(address);
                    net.inject(0, &frame);
                    net.inject(1, &frame);
                }
            }
        }
        let after: Vec<_> = net.nodes.iter().map(|n| (n.sent, n.events.len())).collect();
        assert_eq!(before, after, "{suite}");
        assert!(serves(&mut net, 1), "{suite}");
    }
}

#[test]
fn a_recording_of_a_probe_that_was_heard_tells_nothing_of_a_clock() {
    let mut net = linked(1, Suite::AEAD);
    let recorded = frames_of(&net, 1);
    net.nodes[1].is_up = false;
    net.run(Duration::from_secs(3_000));
    for frame in &recorded {
        net.inject(0, frame);
    }
    let told = |e: &Event| matches!(e, Event::ClientClockOff { .. });
    assert!(!net.nodes[0].events.iter().any(told));
    assert!(net.nodes[0].link.drops().of(DropReason::Replayed) >= 2);
}

#[test]
fn nothing_that_carries_keys_or_addresses_prints_them() {
    use slyfi_wire::message::TrystMessage;
    let secret = [0xab; 40];
    let group = GroupKey { epoch: 1, next: 2, secret: &secret };
    let printed = [
        format!("{:?}", Control::EnrolResponse { pairing: &secret }),
        format!("{:?}", Control::EnrolRequest { random: [0xab; 32] }),
        format!("{:?}", Control::Rekey(group)),
        format!("{:?}", Control::Bind([0xab; 16].into())),
        format!(
            "{:?}",
            TrystMessage::AuthRequest {
                request: [0xab; 8],
                time: 0xabab,
                access_point: [0xab; 8],
                agreement: &secret,
            }
        ),
    ];
    for text in printed {
        let lower = text.to_lowercase();
        assert!(!lower.contains("171") && !lower.contains("ab") && text.len() < 60, "{text}");
    }
}

#[test]
fn what_must_be_durable_comes_out_before_the_frame_that_depends_on_it() {
    let mut net = network(
        1,
        Suite::AEAD,
        ApConfig { reply_jitter: Duration::ZERO, ..ApConfig::default() },
        ClientConfig::default(),
    );
    net.fate = Box::new(|_, _, _, _| Fate::Drop);
    net.command(1, Command::Connect);
    let mut probe = frames_of(&net, 1).remove(0);
    let now = net.clock(0);
    let link = &mut net.nodes[0].link;
    link.handle_frame(now, slyfi_base::RxMeta::default(), &mut probe);
    let mut buf = vec![0; 4096];
    let mut order = Vec::new();
    loop {
        match link.poll_output(&mut buf) {
            slyfi_base::Output::Persist(_) => order.push("persist"),
            slyfi_base::Output::Transmit(..) => order.push("transmit"),
            slyfi_base::Output::Timeout(_) => break,
            _ => {}
        }
    }
    assert_eq!(order, ["persist", "transmit"]);
}

// ---- roaming ----

/// Two access points (0, 1) and a client (2), which is linked to the first.
fn roaming_network(client: ClientConfig) -> Net {
    let mut net = Net::new();
    let now = net.start_clock();
    let config = ApConfig {
        backhaul: Some(BackhaulKey::new([9; 32])),
        key_log: true,
        time_beacon: None,
        ..ApConfig::default()
    };
    for n in 0..2u8 {
        let mac = MacAddress([2, 0, 0, 0, 1, n]);
        let mut ap = ApLink::new(config.clone(), mac, Seeded(20 + u64::from(n)), now);
        ap.add_pairing(now, pairing(Suite::AEAD, 101)).unwrap();
        net.add(Box::new(ap), true);
    }
    let mut link = ClientLink::new(client, client_mac(1), Seeded(3), now);
    link.add_pairing(now, pairing(Suite::AEAD, 101)).unwrap();
    net.add(Box::new(link), false);
    net.fate = only(0);
    net.command(2, Command::Connect);
    assert!(net.run_until(Duration::from_secs(3), |n| n.is_linked(2)));
    net.run(Duration::from_millis(200));
    net
}

type Fates = Box<dyn FnMut(Instant, usize, usize, &[u8]) -> Fate>;

/// The client hears one access point only.
fn only(ap: usize) -> Fates {
    Box::new(
        move |_, from, to, _| {
            if from + to == 2 + ap && from != to { Fate::Deliver } else { Fate::Drop }
        },
    )
}

#[test]
fn a_repeated_probe_of_a_moving_session_never_makes_the_same_keys_again() {
    let mut net = roaming_network(ClientConfig { key_log: true, ..ClientConfig::default() });
    // The jammer lets probes through but no answer, so that the client probes again, and keeps the
    // second probe for itself; then it stops associations for two seconds, until the client pings.
    net.fate = Box::new(|_, _, _, _| Fate::Drop);
    let mark = net.air.len();
    net.command(2, Command::Roam);
    net.run(Duration::from_millis(150));
    let probes: Vec<Vec<u8>> =
        net.air[mark..].iter().filter(|(_, n, _)| *n == 2).map(|(_, _, f)| f.clone()).collect();
    assert_eq!(probes.len(), 2);
    let begun =
        |net: &Net| net.nodes[1].key_log.iter().filter(|l| l.starts_with("SLYFI_SESSION")).count();
    net.inject(1, &probes[0]);
    net.run(Duration::from_millis(15));
    assert_eq!(begun(&net), 1);
    let answer = frames_of(&net, 1).pop().unwrap();
    net.inject(2, &answer);
    // All that the client sends is recorded; of it, only a ping reaches the access point.
    net.run(Duration::from_millis(2_200));
    let (up, down) = session_secrets(&net, 2);
    let ping = heard(&net, &up).into_iter().position(|h| h.header.kind == LinkKind::Ping).unwrap();
    let (up_frames, mut table) = (opened(&net, &up), Vec::new());
    for (_, _, frame) in net.air.iter().filter(|(_, n, _)| *n == 2) {
        let mut alone = Net::new();
        alone.air.push((Instant::ZERO, 2, frame.clone()));
        if let Some((_, number, _)) = opened(&alone, &up).pop() {
            table.push((number, frame.clone()));
        }
    }
    let frame_of = |number: u64| table.iter().find(|(n, _)| *n == number).unwrap().1.clone();
    net.inject(1, &frame_of(up_frames[ping].1));
    net.run(Duration::from_millis(1));
    let first = opened(&net, &down).len();
    assert_eq!(first, 1, "the ping was acknowledged");
    // The probe that was kept comes, then the client's association.
    net.inject(1, &probes[1]);
    net.run(Duration::from_millis(15));
    let last = up_frames.last().unwrap().1;
    net.fate = only(1);
    net.inject(1, &frame_of(last));
    net.run(Duration::from_secs(1));
    // `opened` asserts it for a whole window; the bare addresses say it of everything under Shroud.
    opened(&net, &down);
    let mut seen = std::collections::HashMap::new();
    for (_, node, frame) in net.air.iter().filter(|(_, n, _)| *n == 1) {
        seen.entry(frame[28..44].to_vec()).or_insert_with(Vec::new).push((*node, frame.len()));
    }
    let tryst = 1;
    let repeated = seen.values().filter(|v| v.len() > 1).count();
    assert!(repeated <= tryst, "{repeated} addresses repeat");
    assert_eq!(begun(&net), 1, "one request, one session");
}

#[test]
fn a_revoked_pairing_ends_the_link_of_a_session_that_came_from_elsewhere() {
    let mut net = roaming_network(ClientConfig::default());
    net.fate = only(1);
    net.command(2, Command::Roam);
    let roamed = |n: &Net| n.nodes[2].events.contains(&Event::Roamed);
    assert!(net.run_until(Duration::from_secs(3), roamed));
    net.run(Duration::from_millis(200));
    assert!(net.nodes[1].events.iter().any(|e| matches!(e, Event::Linked { .. })));

    // The first access point voids the pairing; the second, where the session is, is told.
    let now = net.start_clock();
    let config = ApConfig { backhaul: Some(BackhaulKey::new([9; 32])), ..ApConfig::default() };
    let mut admin = ApLink::new(config, MacAddress([2, 0, 0, 0, 1, 9]), Seeded(70), now);
    let index = admin.add_pairing(now, pairing(Suite::AEAD, 101)).unwrap();
    admin.remove_pairing(now, index).unwrap();
    net.add(Box::new(admin), true);
    net.drain(3);
    assert_eq!(net.unlinked(1), Some(Unlinked::Dismissed));
    let revoked =
        |n: &Node| n.records.iter().any(|r| r.0 == slyfi_base::link::RecordKind::PairingRevoked);
    assert!(revoked(&net.nodes[1]));
    net.run(Duration::from_secs(20));
    assert!(!net.is_linked(2), "and it does not come back");
}

#[test]
fn a_moving_sessions_probing_keys_are_no_pairing() {
    let mut net = roaming_network(ClientConfig { key_log: true, ..ClientConfig::default() });
    net.fate = only(1);
    net.command(2, Command::Roam);
    let roamed = |n: &Net| n.nodes[2].events.contains(&Event::Roamed);
    assert!(net.run_until(Duration::from_secs(3), roamed));
    net.run(Duration::from_millis(200));
    let linked = |n: &Net, ap: usize| {
        n.nodes[ap].events.iter().filter(|e| matches!(e, Event::Linked { .. })).count()
    };
    assert_eq!(linked(&net, 1), 1);
    // A member that loses its link comes back in the same place, not in one more.
    net.command(2, Command::Roam);
    net.run(Duration::from_secs(10));
    assert!(linked(&net, 1) <= 2 && net.is_linked(2));
}

// ---- a former member ----

#[test]
fn an_old_broadcast_key_opens_and_forges_nothing_once_its_holder_has_left() {
    for suite in SUITES {
        let mut net = logged(3, suite);
        let old = group_secret(&net, 3);
        net.command(3, Command::Leave);
        net.run(Duration::from_secs(1));
        net.nodes[3].is_up = false;
        let left = net.now;
        for i in 0..5u8 {
            net.send(0, &ethernet(MacAddress::BROADCAST, AP_MAC, 0x0800, &[i])).unwrap();
            net.run(Duration::from_millis(50));
        }
        assert_eq!(net.nodes[1].delivered.len(), 5, "{suite}");
        let mut after = Net::new();
        after.air = net.air.iter().filter(|(at, _, _)| *at > left).cloned().collect();
        assert!(opened(&after, &old).is_empty(), "{suite}");
        let forged = GroupMessage::Data {
            destination: MacAddress::BROADCAST,
            source: AP_MAC,
            ether_type: 0x0800,
            payload: b"forged",
        };
        for number in 1..80 {
            let frame = broadcast(&old, number, &forged);
            net.inject(1, &frame);
        }
        assert_eq!(net.nodes[1].delivered.len(), 5, "{suite}");
    }
}

#[test]
fn keys_of_a_session_that_has_ended_are_foreign() {
    let mut net = logged(1, Suite::AEAD);
    let mut thief = Hostile::client(&net, 1);
    net.command(1, Command::Leave);
    net.run(Duration::from_secs(1));
    let before = (net.nodes[0].sent, net.nodes[0].delivered.len());
    for _ in 0..40 {
        let header = DataHeader { destination: None, source: None, ether_type: 0x0800 };
        let frame = thief.data(header, b"still here");
        net.inject(0, &frame);
    }
    assert_eq!(before, (net.nodes[0].sent, net.nodes[0].delivered.len()));
}

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
    net.fate = only(0);
    net.command(2, Command::Connect);
    assert!(net.run_until(Duration::from_secs(3), |n| n.is_linked(2)));
    net.command(2, Command::Bind([192, 168, 77, 1].into()));
    net.run(Duration::from_millis(100));
    // Beside a link, only the same network is looked for.
    net.fate = only(1);
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

// ---- announcements ----

fn forged_announcement() -> Vec<u8> {
    let network = name();
    let announcement = slyfi_wire::announcement::Announcement {
        bssid: MacAddress([2, 6, 6, 6, 6, 6]),
        sequence: 1,
        timestamp: 1,
        interval: 100,
        ssid: network.as_bytes(),
        ap_id: [6; 8],
    };
    let mut frame = vec![0; announcement.buffer_len()];
    announcement.emit(&mut frame).unwrap();
    frame
}

#[test]
fn a_forged_announcement_does_not_make_a_client_show_itself() {
    for heeds in [false, true] {
        let client = ClientConfig { heed_announcements: heeds, ..ClientConfig::default() };
        let mut net = network(1, Suite::AEAD, ApConfig::default(), client);
        net.command(1, Command::Connect);
        net.nodes[0].is_up = false;
        // The search finds nobody, and pauses.
        let pauses = |n: &Net| n.nodes[1].events.iter().any(|e| matches!(e, Event::NoLink { .. }));
        assert!(net.run_until(Duration::from_secs(20), pauses));
        let sent = net.nodes[1].sent;
        net.inject(1, &forged_announcement());
        assert_eq!(net.nodes[1].sent - sent, usize::from(heeds), "who asked for it, answers");
    }
}

#[test]
fn forged_announcements_do_not_keep_a_client_from_its_network() {
    let client = ClientConfig { heed_announcements: true, ..ClientConfig::default() };
    let mut net = network(1, Suite::AEAD, ApConfig::default(), client);
    net.command(1, Command::Connect);
    for _ in 0..300 {
        net.inject(1, &forged_announcement());
        net.run(Duration::from_millis(100));
    }
    assert!(net.is_linked(1));
}
