//! Attackers get nothing accepted, and take no more than the air time that they use.

#[path = "support/slyfi.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod slyfi;

use slyfi::{AP, Net, Options};
use slyfi_base::{DropReason, Duration, Event, Instant, Rate, TxMeta};
use slyfi_core::suite::Suite;
use slyfi_sim::adversary::{AckSpoofer, BitFlipper, Jammer, Junk, JunkFlooder, Replay, Replayer};
use slyfi_sim::{Air, Happened, LinkQuality, NodeConfig, NodeId, Rule, SimRng, Verdict};
use slyfi_wire::carrier;

const SUITES: [Suite; 2] = [Suite::S2008, Suite::AEAD];

fn net(seed: u64, suite: Suite, clients: u8) -> Net {
    Net::new(seed, Options { suite, clients, ..Options::default() })
}

fn drops(air: &Air, node: NodeId, why: DropReason) -> u64 {
    air.any_link(node).unwrap().drops().of(why)
}

/// All frames that a machine dropped.
fn all_drops(air: &Air, node: NodeId) -> u64 {
    air.any_link(node).unwrap().drops().iter().map(|(_, n)| n).sum()
}

/// Goodput of a saturated upload over ten seconds beside a flood, in packets.
fn goodput(suite: Suite, junk: Option<Junk>) -> (u64, u64, u64) {
    let mut net = net(1, suite, 1);
    net.link();
    let meta = TxMeta { rate: Rate::PEAK };
    let attacker = junk.map(|junk| {
        let now = net.air().now();
        // 2 000 frames a second, about a quarter of the air.
        let span = (now, now + Duration::from_secs(10));
        let rng = net.air().rng("junk", 0);
        let flood = JunkFlooder::new(junk, 400, Duration::from_micros(500), meta, span, rng);
        net.air().add_adversary(NodeConfig::new("junk"), Box::new(flood))
    });
    net.start(0, AP, 1_000_000, (1400, 1400), Duration::ZERO);
    net.run(Duration::from_secs(10));
    let r = net.report(0, AP);
    assert!(r.is_exact() && r.gaps() == 0, "{r:?}");
    let sent = attacker.map_or(0, |a| net.air().adversary::<JunkFlooder>(a).unwrap().sent());
    let ap = net.ap;
    (r.received, sent, drops(net.air(), ap, DropReason::Foreign))
}

#[test]
fn a_junk_flood_costs_no_more_than_the_same_load_of_foreign_frames() {
    for suite in SUITES {
        let (alone, ..) = goodput(suite, None);
        let (foreign, ..) = goodput(suite, Some(Junk::Foreign));
        let (junk, sent, dropped) = goodput(suite, Some(Junk::Carrier));
        assert!(sent > 15_000, "{sent}");
        // Collisions spare the receiver some of it.
        assert!(dropped * 10 > sent * 8, "{dropped} of {sent} looked up and dropped");
        assert!(foreign < alone);
        let ratio = junk as f64 / foreign as f64;
        assert!((0.97..1.03).contains(&ratio), "{suite:?}: {junk} against {foreign} packets");
    }
}

#[test]
fn a_slow_flow_gets_through_a_flood_a_hundred_times_its_rate() {
    for suite in SUITES {
        let mut net = net(2, suite, 1);
        net.link();
        let now = net.air().now();
        let span = (now, now + Duration::from_secs(20));
        let rng = net.air().rng("junk", 0);
        let meta = TxMeta { rate: Rate::PEAK };
        // 20 packets a second against 2000 frames.
        let flood =
            JunkFlooder::new(Junk::Carrier, 300, Duration::from_micros(500), meta, span, rng);
        let junk = net.air().add_adversary(NodeConfig::new("junk"), Box::new(flood));
        net.start(0, AP, 300, (300, 300), Duration::from_millis(50));
        net.start(AP, 0, 300, (300, 300), Duration::from_millis(50));
        net.finish(Duration::from_secs(60));
        assert!(net.report(0, AP).is_complete(300));
        assert!(net.report(AP, 0).is_complete(300));
        assert!(net.air().stats(junk).sent > 30_000);
        assert_eq!(net.unlinked(net.ap), []);
    }
}

#[test]
fn a_link_is_set_up_during_a_flood() {
    for suite in SUITES {
        let mut net = net(3, suite, 3);
        let span = (Instant::ZERO, Instant::from_micros(30_000_000));
        let rng = net.air().rng("junk", 0);
        let meta = TxMeta { rate: Rate::PEAK };
        let flood =
            JunkFlooder::new(Junk::Carrier, 200, Duration::from_micros(400), meta, span, rng);
        net.air().add_adversary(NodeConfig::new("junk"), Box::new(flood));
        net.link();
    }
}

/// Links two clients, lets them talk and one of them leave and come back.
fn history(net: &mut Net) {
    net.link();
    net.start(0, AP, 200, (60, 1514), Duration::from_millis(5));
    net.start(AP, 1, 200, (60, 1514), Duration::from_millis(5));
    net.start(1, 0, 200, (60, 1514), Duration::from_millis(5));
    net.finish(Duration::from_secs(30));
}

fn linked(net: &Net) -> usize {
    net.count(net.ap, |e| matches!(e, Event::Linked { .. }))
}

#[test]
fn a_replay_of_everything_is_ignored_by_all() {
    for suite in SUITES {
        let mut net = net(4, suite, 2);
        let at = Instant::from_micros(20_000_000);
        let replayer = Replayer::new(Replay::AllAt(at));
        let attacker = net.air().add_adversary(NodeConfig::new("replay"), Box::new(replayer));
        history(&mut net);
        assert!(net.air().now() < at);
        let taped = net.air().adversary::<Replayer>(attacker).unwrap().recorded() as u64;
        assert!(taped > 600);
        net.air().run_until(at).unwrap();
        let nodes = [net.ap, net.client(0), net.client(1)];
        let before = nodes.map(|n| (net.s.air.stats(n).delivered, all_drops(&net.s.air, n)));
        let links = linked(&net);
        let events = |net: &Net| {
            let beacon =
                |r: &&slyfi_sim::Recorded| matches!(r.what, Happened::Event(Event::ClockOffset(_)));
            net.s.air.events().iter().filter(|r| !beacon(r)).count()
        };
        let before_events = events(&net);
        net.run(Duration::from_secs(10));
        assert!(net.air().adversary::<Replayer>(attacker).unwrap().sent() >= taped);
        for (node, (delivered, dropped)) in nodes.into_iter().zip(before) {
            assert_eq!(net.air().stats(node).delivered, delivered, "{suite:?}");
            let more = all_drops(&net.s.air, node) - dropped;
            assert!(more + 50 > taped, "{suite:?}: {more} dropped of {taped}");
        }
        assert_eq!(linked(&net), links);
        assert_eq!(events(&net), before_events, "{suite:?}: something happened");
    }
}

#[test]
fn an_immediate_replay_of_every_frame_changes_nothing() {
    for suite in SUITES {
        let mut net = net(5, suite, 2);
        let replayer = Replayer::new(Replay::After(Duration::from_micros(300)));
        net.air().add_adversary(NodeConfig::new("replay"), Box::new(replayer));
        history(&mut net);
        for (from, to) in [(0, AP), (AP, 1), (1, 0)] {
            assert!(net.report(from, to).is_complete(200), "{:?}", net.report(from, to));
        }
        assert_eq!(linked(&net), 2);
    }
}

#[test]
fn a_wormhole_to_another_place_gets_no_answer_for_what_was_already_heard() {
    // Heard here and sent there a second later: everyone there has heard it before.
    let mut net = net(6, Suite::AEAD, 1);
    let ear = Replayer::new(Replay::Record);
    let mouth = ear.elsewhere(Instant::from_micros(1_000_000));
    let ear = net.air().add_adversary(NodeConfig::new("ear"), Box::new(ear));
    let mouth = net.air().add_adversary(NodeConfig::new("mouth"), Box::new(mouth));
    net.air().medium().set_both(ear, mouth, LinkQuality::UNHEARD);
    net.link();
    net.start(0, AP, 100, (60, 1514), Duration::from_millis(20));
    net.finish(Duration::from_secs(30));
    assert!(net.air().adversary::<Replayer>(mouth).unwrap().sent() > 100);
    assert!(net.report(0, AP).is_complete(100));
    assert_eq!(linked(&net), 1);
}

/// Keeps all that `from` sends for a second from `to`, and flips every bit of the first frame from
/// `first_byte` on.
///
/// While it lasts `to` hears nothing newer, so the address of the frame stays in its table.
fn flip(net: &mut Net, from: NodeId, to: NodeId, first_byte: usize) -> NodeId {
    let now = net.air().now();
    let second = Rule::new(Verdict::Drop).from(from).to(to);
    net.air().medium().add_rule(second.during(now, now + Duration::from_secs(1)));
    let config = NodeConfig::new("flipper").with_queue(32);
    let flipper = net.air().add_adversary(config, Box::new(BitFlipper::new(first_byte, 1)));
    for node in [net.ap].into_iter().chain(net.s.clients.clone()) {
        // One frame of one sender is enough.
        let quality = if node == from { LinkQuality::PERFECT } else { LinkQuality::UNHEARD };
        net.s.air.medium().set(node, flipper, quality);
    }
    let deaf = Rule::new(Verdict::Drop).from(from).to(flipper);
    let mut heard = 0;
    net.air().medium().add_rule(deaf.when(move |_| {
        heard += 1;
        heard > 1
    }));
    flipper
}

#[test]
fn no_single_bit_of_a_probe_can_be_flipped() {
    for suite in SUITES {
        let mut net = net(7, suite, 1);
        let (client, ap) = (net.client(0), net.ap);
        let flipper = flip(&mut net, client, ap, carrier::HEADER_LEN);
        net.s.connect();
        net.run(Duration::from_secs(1));
        let a = net.s.air.adversary::<BitFlipper>(flipper).unwrap();
        assert!(a.is_done() && a.captured() == 1 && a.sent() >= 8 * 96, "{}", a.sent());
        assert_eq!(net.s.air.stats(ap).sent, 0, "{suite:?}: the access point answered");
        // All flips behind carrier and address got as far as a tag and no further.
        let behind = a.sent() - 8 * carrier::ADDRESS_LEN as u64;
        let unverified = drops(&net.s.air, ap, DropReason::TrystUnverified);
        assert!(unverified >= behind, "{unverified} of {behind}");
        // The unharmed one is answered.
        net.link();
    }
}

#[test]
fn no_single_bit_of_a_data_frame_can_be_flipped() {
    for suite in SUITES {
        for (from, to) in [(0, AP), (AP, 0)] {
            let mut net = net(8, suite, 1);
            net.link();
            net.run(Duration::from_millis(500));
            let (a, b) = (net.node(from), net.node(to));
            let flipper = flip(&mut net, a, b, carrier::HEADER_LEN);
            net.start(from, to, 5, (80, 80), Duration::from_secs(2));
            net.run(Duration::from_secs(1));
            let done = net.s.air.adversary::<BitFlipper>(flipper).unwrap();
            assert!(done.is_done() && done.captured() == 1, "{done:?}");
            assert_eq!(net.s.air.stats(b).delivered, 0);
            let behind = done.sent() - 8 * carrier::ADDRESS_LEN as u64;
            let unverified = drops(&net.s.air, b, DropReason::ShroudUnverified);
            assert!(unverified >= behind, "{suite:?} {from}->{to}: {unverified} of {behind}");
            net.finish(Duration::from_secs(30));
            let r = net.report(from, to);
            assert!(r.is_complete(5), "{suite:?} {from}->{to}: {r:?}");
            assert_eq!(net.unlinked(net.ap), []);
        }
    }
}

#[test]
fn flips_in_the_carrier_leave_no_frame_or_the_very_same_one_once() {
    // The flags, duration and sequence control that a card may rewrite are not authenticated: such
    // a copy is the frame itself, late.
    for suite in SUITES {
        let mut net = net(12, suite, 1);
        net.link();
        net.run(Duration::from_millis(500));
        let (a, b) = (net.client(0), net.ap);
        let flipper = flip(&mut net, a, b, 0);
        net.start(0, AP, 5, (80, 80), Duration::from_secs(2));
        net.run(Duration::from_secs(1));
        assert!(net.air().adversary::<BitFlipper>(flipper).unwrap().is_done());
        assert_eq!(net.air().stats(b).delivered, 1);
        assert!(drops(&net.s.air, b, DropReason::NotCarrier) >= 8 * 28 - 35);
        net.finish(Duration::from_secs(30));
        assert!(net.report(0, AP).is_complete(5));
    }
}

#[test]
fn forged_acknowledgements_acknowledge_nothing() {
    for suite in SUITES {
        let mut net = net(9, suite, 1);
        net.link();
        net.air().add_adversary(NodeConfig::new("acks"), Box::new(AckSpoofer::new()));
        net.air().medium().set_default(LinkQuality::lossy(0.3));
        net.start(0, AP, 500, (500, 500), Duration::from_millis(10));
        net.finish(Duration::from_secs(60));
        assert!(net.report(0, AP).is_complete(500), "{:?}", net.report(0, AP));
    }
}

#[test]
fn jamming_for_a_while_stops_everything_for_that_while_only() {
    let mut net = net(10, Suite::AEAD, 1);
    net.link();
    let begin = net.air().now() + Duration::from_secs(1);
    let plan =
        (0..200u64).map(|i| (begin + Duration::from_millis(10 * i), Duration::from_micros(9_800)));
    let jammer = Jammer::new(plan.collect::<Vec<_>>());
    net.air().add_adversary(NodeConfig::new("jammer"), Box::new(jammer));
    net.start(0, AP, 500, (500, 500), Duration::from_millis(10));
    net.finish(Duration::from_secs(60));
    let r = net.report(0, AP);
    assert!(r.is_exact() && r.received >= 450, "{r:?}");
}

#[test]
fn random_frames_to_a_lone_access_point_get_no_answer() {
    // Every length, and every kind of first bytes behind the carrier.
    let mut net = net(11, Suite::AEAD, 1);
    let ap = net.ap;
    let meta = TxMeta { rate: Rate::PEAK };
    for (i, len) in
        [carrier::MIN_FRAME, 100, 156, 300, 1000, carrier::MAX_FRAME].into_iter().enumerate()
    {
        let begin = Instant::from_micros(1_000_000 * i as u64);
        let rng = SimRng::new(i as u64);
        let flood = JunkFlooder::new(
            Junk::Carrier,
            len,
            Duration::from_micros(500),
            meta,
            (begin, begin + Duration::from_secs(1)),
            rng,
        );
        net.air().add_adversary(NodeConfig::new("junk"), Box::new(flood));
    }
    net.run(Duration::from_secs(6));
    assert_eq!(net.air().stats(ap).sent, 0);
    assert!(drops(&net.s.air, ap, DropReason::Foreign) > 9_000);
}
