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
