//! What makes a network of links: broadcast and its keys, crashes, roaming, real IP traffic.

#[path = "support/slyfi.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod slyfi;

use slyfi::{AP, Client, Net, Options, ap_mac, flow, mac, restore};
use slyfi_base::event::Unlinked;
use slyfi_base::{Command, Duration, Event, Instant, MacAddress};
use slyfi_core::ap::ApLink;
use slyfi_core::backhaul::BackhaulKey;
use slyfi_core::client::ClientLink;
use slyfi_core::suite::Suite;
use slyfi_sim::adversary::{Replay, Replayer};
use slyfi_sim::capture::SharedBuffer;
use slyfi_sim::{
    AnyLink, CrashPoint, FlowHost, Happened, IpHost, LinkQuality, NodeConfig, NodeId, Scenario,
    Sniffer,
};
use std::net::{IpAddr, SocketAddr};

const SUITES: [Suite; 2] = [Suite::S2008, Suite::AEAD];

/// Number of a broadcast flow.
const fn cast(from: u8) -> u32 {
    flow(from, 0xbb)
}

fn broadcast(net: &mut Net, from: u8, count: u64) {
    let node = net.node(from);
    let pause = Duration::from_millis(10);
    net.air()
        .with_host(node, |h: &mut FlowHost| {
            h.add_flow(cast(from), MacAddress::BROADCAST, count, (60, 1000), pause);
        })
        .unwrap();
}

fn heard(net: &Net, at: u8, from: u8) -> slyfi_sim::FlowReport {
    net.s.air.host::<FlowHost>(net.node(at)).unwrap().report(cast(from))
}

#[test]
fn broadcasts_reach_everyone_but_their_sender_once() {
    for suite in SUITES {
        let mut net = Net::new(1, Options { suite, clients: 4, ..Options::default() });
        net.link();
        broadcast(&mut net, AP, 100);
        broadcast(&mut net, 0, 100);
        net.run(Duration::from_secs(3));
        for at in [1, 2, 3] {
            // Broadcasts are not acknowledged: a collision costs one.
            for from in [AP, 0] {
                let r = heard(&net, at, from);
                assert!(r.is_exact() && r.received >= 95, "{suite:?} {from}->{at}: {r:?}");
            }
        }
        assert!(heard(&net, AP, 0).is_complete(100));
        assert!(heard(&net, 0, AP).received >= 95);
        assert_eq!(heard(&net, 0, 0).received, 0, "an own broadcast came back");
    }
}

#[test]
fn who_has_left_hears_no_broadcast_and_the_rest_go_on_under_a_new_key() {
    for suite in SUITES {
        let mut net = Net::new(2, Options { suite, clients: 3, ..Options::default() });
        net.link();
        broadcast(&mut net, AP, 400);
        net.run(Duration::from_secs(1));
        let leaver = net.client(2);
        net.air().command(leaver, Command::Leave).unwrap();
        net.run(Duration::from_secs(1));
        let at_leaving = heard(&net, 2, AP).received;
        assert!((50..150).contains(&at_leaving), "{at_leaving}");
        net.run(Duration::from_secs(4));
        assert_eq!(heard(&net, 2, AP).received, at_leaving);
        assert_eq!(net.unlinked(leaver), [Unlinked::Left]);
        assert_eq!(net.count(net.ap, |e| matches!(e, Event::GroupRekeyed { epoch: 2 })), 1);
        for at in [0, 1] {
            let r = heard(&net, at, AP);
            assert!(r.is_exact() && r.received >= 380, "{suite:?} {at}: {r:?}");
        }
    }
}

#[test]
fn a_member_that_falls_silent_is_dropped_and_the_key_changes() {
    let mut net = Net::new(3, Options { clients: 2, ..Options::default() });
    net.link();
    let gone = net.client(1);
    net.air().crash(gone);
    net.run(Duration::from_secs(20));
    assert_eq!(net.unlinked(net.ap), [Unlinked::Silent]);
    assert_eq!(net.count(net.ap, |e| matches!(e, Event::GroupRekeyed { .. })), 1);
    broadcast(&mut net, AP, 100);
    net.run(Duration::from_secs(2));
    assert!(heard(&net, 0, AP).is_complete(100));
}

#[test]
fn a_dismissed_member_is_told_and_may_come_back() {
    let mut net = Net::new(4, Options { clients: 2, ..Options::default() });
    net.link();
    let ap = net.ap;
    let link = net.air().link::<slyfi::Ap>(ap).unwrap().sessions().next().unwrap().link;
    net.air().command(ap, Command::Dismiss(link)).unwrap();
    net.run(Duration::from_secs(1));
    assert!(net.unlinked(net.ap).contains(&Unlinked::Dismissed));
    net.run(Duration::from_secs(20));
    let linked = |net: &mut Net, i| {
        let node = net.client(i);
        net.air().link::<Client>(node).unwrap().is_linked()
    };
    assert!(linked(&mut net, 0) && linked(&mut net, 1));
}

#[test]
fn an_access_point_that_crashes_in_the_middle_of_a_transfer_is_found_again() {
    for suite in SUITES {
        for point in [
            CrashPoint::AfterTransmit(50),
            CrashPoint::AfterTransmit(1),
            CrashPoint::AfterPersist(1),
            CrashPoint::BeforePersist(1),
        ] {
            let mut net = Net::new(5, Options { suite, clients: 2, ..Options::default() });
            let ap = net.ap;
            if matches!(point, CrashPoint::AfterTransmit(_)) {
                net.link();
                net.start(0, AP, 2000, (500, 500), Duration::from_millis(10));
                net.start(AP, 1, 2000, (500, 500), Duration::from_millis(10));
            } else {
                // The first record is that of a probe.
                net.s.connect();
            }
            net.air().crash_at(ap, point);
            net.run(Duration::from_secs(1));
            assert!(net.air().any_link(ap).is_none(), "{point:?}: not crashed");
            net.restart_ap(Duration::from_secs(1));
            let clients = net.s.clients.clone();
            net.run(Duration::from_secs(30));
            for c in clients {
                assert!(net.air().link::<Client>(c).unwrap().is_linked(), "{suite:?} {point:?}");
            }
            net.next_round();
            net.start(0, AP, 50, (60, 1514), Duration::from_millis(5));
            net.start(AP, 1, 50, (60, 1514), Duration::from_millis(5));
            net.run(Duration::from_secs(10));
            assert!(net.report(0, AP).is_complete(50), "{suite:?} {point:?}");
            assert!(net.report(AP, 1).is_complete(50), "{suite:?} {point:?}");
        }
    }
}

#[test]
fn a_client_that_crashes_links_again_and_repeats_no_address() {
    for suite in SUITES {
        let mut net = Net::new(6, Options { suite, ..Options::default() });
        net.link();
        let client = net.client(0);
        for round in 0..5u64 {
            net.next_round();
            net.start(AP, 0, 20, (500, 500), Duration::from_millis(5));
            net.finish(Duration::from_secs(10));
            assert!(net.report(AP, 0).is_complete(20), "{suite:?} {round}");
            net.air().crash(client);
            net.run(Duration::from_millis(50 + round * 400));
            let (config, pairing) = (net.options.client, net.pairings[0].clone());
            let rng = net.air().rng("client restart", round);
            net.air().restart(client, |_, now| {
                let mut link = ClientLink::new(config, mac(0), rng, now);
                link.add_pairing(now, pairing).unwrap();
                Box::new(link) as Box<dyn AnyLink>
            });
            net.link();
        }
    }
}

#[test]
fn a_recording_is_refused_after_a_restart_because_the_disk_remembers() {
    for (forgetful, answered) in [(false, 0), (true, 1)] {
        let mut net = Net::new(7, Options::default());
        let at = Instant::from_micros(4_000_000);
        let replayer = Replayer::new(Replay::AllAt(at));
        net.air().add_adversary(NodeConfig::new("replay"), Box::new(replayer));
        net.link();
        net.run(Duration::from_millis(500));
        let client = net.client(0);
        net.air().crash(client);
        let ap = net.ap;
        if forgetful {
            // The failing twin: without its records the access point answers a recorded probe.
            net.air().disk(ap).wipe();
        }
        net.restart_ap(Duration::from_millis(500));
        net.air().run_until(at).unwrap();
        let before = net.air().stats(ap).sent;
        net.run(Duration::from_secs(5));
        let sent = net.air().stats(ap).sent - before;
        assert_eq!(sent.min(1), answered, "{sent} frames");
    }
}

/// Two access points of one network and a client; the client is heard by both.
fn two_aps(seed: u64, suite: Suite) -> (Scenario, [NodeId; 2], NodeId) {
    let mut options = Options { suite, ..Options::default() };
    options.ap.backhaul = Some(BackhaulKey::new([7; 32]));
    let mut s = Scenario::new(seed);
    let pairings = slyfi::pairings(&s.air, &options);
    let aps = [0u8, 1].map(|i| {
        let config = NodeConfig::new(format!("ap {i}")).with_backhaul(1);
        let mac = MacAddress([2, 0x5a, 0, 0, 0xaa, i]);
        let (options, pairings) = (&options, &pairings);
        let make = |rng, now| {
            let mut link = ApLink::new(options.ap.clone(), mac, rng, now);
            for p in pairings {
                link.add_pairing(now, p.clone()).unwrap();
            }
            link
        };
        s.access_point(config, make, FlowHost::new(mac).started())
    });
    let make = |rng, now| {
        let mut link = ClientLink::new(options.client, mac(0), rng, now);
        link.add_pairing(now, pairings[0].clone()).unwrap();
        link
    };
    // The access point's host is whoever is there: the flow is to everyone's first hop.
    let client = s.client(NodeConfig::new("client"), make, FlowHost::new(mac(0)));
    (s, aps, client)
}

#[test]
fn a_client_roams_to_the_better_access_point_and_its_session_goes_with_it() {
    for suite in SUITES {
        let (mut s, aps, client) = two_aps(8, suite);
        // The client walks: first only the first is heard, then both, then only the second.
        let t = |s: u64| Instant::from_micros(s * 1_000_000);
        let near = LinkQuality { signal: Some(slyfi_base::Dbm(-40)), ..LinkQuality::PERFECT };
        let far = LinkQuality { signal: Some(slyfi_base::Dbm(-80)), ..LinkQuality::PERFECT };
        let unheard = LinkQuality::UNHEARD;
        s.air.medium().plan_both(client, aps[0], &[(t(0), near), (t(5), far), (t(15), unheard)]);
        s.air.medium().plan_both(client, aps[1], &[(t(0), unheard), (t(5), near)]);
        assert!(s.link_all(Duration::from_secs(3)).unwrap());
        s.air.run_until(t(10)).unwrap();
        s.air.command(client, Command::Roam).unwrap();
        s.air.run_until(t(14)).unwrap();
        let events: Vec<Event> = s
            .air
            .events_of(client)
            .filter_map(|r| match r.what {
                Happened::Event(e) if r.at > t(10) => Some(e),
                _ => None,
            })
            .collect();
        assert!(events.contains(&Event::Roamed), "{suite:?}: {events:?}");
        let moved = s.air.events_of(aps[0]).any(|r| {
            matches!(r.what, Happened::Event(Event::Unlinked { why: Unlinked::Moved, .. }))
        });
        assert!(moved, "the old access point keeps the session");
        // Nothing is left of the first one, and data flows through the second.
        s.air.run_until(t(16)).unwrap();
        s.air
            .with_host(aps[1], |h: &mut FlowHost| {
                h.add_flow(77, mac(0), 100, (100, 1500), Duration::from_millis(5));
            })
            .unwrap();
        s.air.run_until(t(20)).unwrap();
        let r = s.air.host::<FlowHost>(client).unwrap().report(77);
        assert!(r.is_complete(100), "{suite:?}: {r:?}");
    }
}

#[test]
fn without_a_second_access_point_roaming_keeps_the_first() {
    let (mut s, aps, client) = two_aps(9, Suite::AEAD);
    s.air.medium().set_both(client, aps[1], LinkQuality::UNHEARD);
    assert!(s.link_all(Duration::from_secs(3)).unwrap());
    s.air.command(client, Command::Roam).unwrap();
    s.air.run_for(Duration::from_secs(10)).unwrap();
    assert!(s.air.link::<Client>(client).unwrap().is_linked());
    assert!(!s.air.events_of(client).any(|r| r.what == Happened::Event(Event::Roamed)));
}

#[test]
fn a_client_that_loses_one_access_point_links_to_the_other() {
    let (mut s, aps, client) = two_aps(10, Suite::AEAD);
    s.air.medium().set_both(client, aps[1], LinkQuality::UNHEARD);
    assert!(s.link_all(Duration::from_secs(3)).unwrap());
    s.air.medium().set_both(client, aps[1], LinkQuality::PERFECT);
    s.air.medium().set_both(client, aps[0], LinkQuality::UNHEARD);
    s.air.run_for(Duration::from_secs(20)).unwrap();
    assert!(s.air.link::<Client>(client).unwrap().is_linked());
    let second =
        s.air.events_of(aps[1]).any(|r| matches!(r.what, Happened::Event(Event::Linked { .. })));
    assert!(second);
}

#[test]
fn real_ip_traffic_flows_between_hosts_and_the_sniffer_links_nothing() {
    for suite in SUITES {
        let ip = |i: u8| -> IpAddr { IpAddr::from([10, 51, 0, i]) };
        let v6 = |i: u8| -> IpAddr { format!("fd00:51::{i}").parse().unwrap() };
        let content: Vec<u8> =
            (0..300_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let addresses = |i| [(ip(i), 24), (v6(i), 64)];
        let host = |i: u8| IpHost::new(mac(i), &addresses(i + 2));
        let mut net = {
            let options = Options { suite, clients: 3, ..Options::default() };
            let ap_host = IpHost::new(ap_mac(), &addresses(1)).started().with_file(80, &content);
            let pause = Duration::from_millis(500);
            let hosts = [
                host(0).with_fetch(SocketAddr::new(ip(1), 80)).with_ping(v6(1), 12, 56, pause),
                // From client to client.
                host(1).with_ping(ip(2), 12, 56, pause).with_ping(v6(4), 12, 56, pause),
                host(2).with_fetch(SocketAddr::new(v6(1), 80)).with_ping(ip(1), 12, 1000, pause),
            ];
            Net::with_hosts(11, options, ap_host, hosts)
        };
        let file = SharedBuffer::default();
        let sniffer = net.s.sniffer(Sniffer::new().with_capture(file.clone()));
        net.link();
        let clients = net.s.clients.clone();
        let done = |air: &slyfi_sim::Air| {
            clients.iter().all(|c| air.host::<IpHost>(*c).unwrap().is_done())
        };
        assert!(net.air().run_to(Duration::from_secs(60), done).unwrap(), "{suite:?}");
        for c in &clients {
            let h = net.s.air.host::<IpHost>(*c).unwrap();
            assert!(h.fetches().all(|f| f.content() == Some(&content[..])), "{suite:?}");
            let pings: Vec<_> = h.pings().collect();
            // The stack asks for one neighbour a second and drops what it cannot answer yet.
            let good =
                |p: &&slyfi_sim::host::PingReport| p.round_trips.len() >= 4 && p.duplicates == 0;
            assert!(pings.iter().all(good), "{suite:?}: {pings:?}");
        }
        let l = net.s.air.sniffer(sniffer).unwrap().linkability();
        assert!(l.frames() > 500);
        assert_eq!(l.constant_bytes(), 0);
        // The one probe of each client and its answer have an address of their own, too.
        assert_eq!((l.linkable_frames(), l.largest_group()), (0, 1));
        net.air().flush().unwrap();
        assert!(file.bytes().len() > 600_000);
    }
}

#[test]
fn the_replay_records_are_read_back() {
    let mut net = Net::new(12, Options::default());
    net.link();
    let ap = net.ap;
    let now = net.air().now_of(ap);
    let records = net.air().disk(ap).records(now.wall);
    assert!(records.len() >= 2, "a probe and an authentication");
    let rng = net.air().rng("restored", 0);
    let mut link = slyfi::ap_link(&net.options, &net.pairings, rng, now);
    restore(&mut link, &records, now);
    let later = now.wall + Duration::from_secs(3600);
    assert!(net.air().disk(ap).records(later).is_empty(), "they may be forgotten in time");
}

#[test]
fn ten_clients_that_lose_their_access_point_at_once_all_find_it_again() {
    for seed in 0..5 {
        let mut net = Net::new(seed, Options { clients: 10, ..Options::default() });
        net.link();
        // A time beacon reaches all in the same microsecond, and is the last that they hear.
        net.run(Duration::from_secs(12));
        net.restart_ap(Duration::from_secs(1));
        net.run(Duration::from_secs(15));
        let clients = net.s.clients.clone();
        for c in clients {
            assert!(net.air().link::<Client>(c).unwrap().is_linked(), "seed {seed}, {c:?}");
        }
    }
}

#[test]
fn ten_clients_that_start_at_once_all_link_within_two_seconds() {
    for seed in 0..5 {
        let mut net = Net::new(seed, Options { clients: 10, ..Options::default() });
        assert!(net.s.link_all(Duration::from_secs(2)).unwrap(), "seed {seed}");
    }
}
