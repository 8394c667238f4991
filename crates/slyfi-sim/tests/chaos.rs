//! Everything at once, by seed: a bad air, crashes, attackers, clocks, members that come and go.

#[path = "support/slyfi.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod slyfi;

use slyfi::{AP, Client, Net, Options, mac};
use slyfi_base::{Command, DropReason, Duration, Instant, MacAddress, Rate, TxMeta};
use slyfi_core::client::ClientLink;
use slyfi_core::sizes::SizePolicy;
use slyfi_core::suite::Suite;
use slyfi_sim::adversary::{AckSpoofer, BitFlipper, Jammer, Junk, JunkFlooder, Replay, Replayer};
use slyfi_sim::medium::Corruption;
use slyfi_sim::{
    Adversary, AnyLink, CrashPoint, Fcs, FlowHost, LinkQuality, Loss, NodeConfig, NodeId, SimRng,
    Sweep,
};

/// How long the chaos lasts, in milliseconds.
const CHAOS: u64 = 15_000;

fn options(rng: &mut SimRng) -> Options {
    let mut o = Options { clients: 1 + rng.below(4) as u8, ..Options::default() };
    o.suite = Suite::ALL[rng.below(5) as usize];
    o.mixed = rng.below(4) == 0;
    o.quality = LinkQuality {
        loss: match rng.below(3) {
            0 => Loss::Independent(rng.below(31) as f64 / 100.0),
            1 => Loss::Bursty { worsen: 0.02, recover: 0.2, good: 0.01, bad: 0.9 },
            _ => Loss::Outages {
                good: Duration::from_millis(1500),
                bad: Duration::from_millis(20 + rng.below(600)),
            },
        },
        corruption: Corruption {
            chance: rng.below(5) as f64 / 100.0,
            bits: 1 + rng.below(8) as u32,
            fcs: if rng.below(2) == 0 { Fcs::Fails } else { Fcs::Passes },
        },
        duplicate: rng.below(3) as f64 * 0.05,
        reorder: rng.below(3) as f64 * 0.03,
        delay: Duration::from_micros(rng.below(2) * rng.below(3000)),
        ..LinkQuality::PERFECT
    };
    if o.quality.reorder > 0.0 {
        o = o.reordering();
    }
    let window = [8, 16, 50, 200][rng.below(4) as usize];
    let policy =
        [SizePolicy::None, SizePolicy::Buckets, SizePolicy::Constant][rng.below(3) as usize];
    (o.client.window, o.ap.window) = (window, window);
    (o.client.policy, o.ap.policy) = (policy, policy);
    if rng.below(4) == 0 {
        let pause = Duration::from_millis(50);
        (o.client.cover, o.ap.cover) = (Some(pause), Some(pause));
    }
    if rng.below(4) == 0 {
        // New keys after every few hundred frames.
        let after = 100 + rng.below(400);
        (o.client.rekey_after, o.ap.rekey_after) = (after, after);
    }
    o.interval = Duration::from_secs([5, 30, 300][rng.below(3) as usize]);
    o.day_turns_in = rng.below(40) as i64;
    // Within what the skew k = 1 forgives at any phase of the interval.
    let forgiven = o.interval.as_secs() as i64 / 2;
    o.clock_off = rng.below(2 * forgiven as u64 + 1) as i64 - forgiven;
    o
}

/// Attackers that stop when the chaos does.
fn attackers(net: &mut Net, rng: &mut SimRng) {
    let t = |ms: u64| Instant::from_micros(ms * 1000);
    let meta = TxMeta { rate: Rate::PEAK };
    let mut add = |attacker: Box<dyn Adversary>| {
        net.air().add_adversary(NodeConfig::new("attacker").with_queue(64), attacker);
    };
    for _ in 0..rng.below(3) {
        let own = rng.split("attacker", rng.clone().next_u64());
        match rng.below(6) {
            0 => {
                let pause = Duration::from_micros(700 + rng.below(3000));
                let len = 60 + rng.below(1000) as usize;
                let span = (t(0), t(CHAOS));
                add(Box::new(JunkFlooder::new(Junk::Carrier, len, pause, meta, span, own)));
            }
            1 => {
                let after = Duration::from_millis(rng.below(3000));
                add(Box::new(Replayer::new(Replay::After(after))));
            }
            2 => add(Box::new(Replayer::new(Replay::AllAt(t(rng.below(CHAOS)))))),
            3 => add(Box::new(AckSpoofer::new())),
            4 => add(Box::new(BitFlipper::new(28, 1))),
            _ => {
                let bursts = (0..10)
                    .map(|_| (t(rng.below(CHAOS)), Duration::from_millis(1 + rng.below(200))));
                add(Box::new(Jammer::new(bursts.collect::<Vec<_>>())));
            }
        }
    }
}

fn restart_client(net: &mut Net, i: u8, round: u64) {
    let client = net.client(i);
    let (config, pairing) = (net.options.client, net.pairings[usize::from(i)].clone());
    let rng = net.air().rng("client restart", round << 8 | u64::from(i));
    net.air().restart(client, |_, now| {
        let mut link = ClientLink::new(config, mac(i), rng, now);
        link.add_pairing(now, pairing).expect("the only pairing");
        Box::new(link) as Box<dyn AnyLink>
    });
    net.air().command(client, Command::Connect).expect("a client");
}

/// One thing that happens in a run.
fn happen(net: &mut Net, rng: &mut SimRng, round: u64) {
    let i = rng.below(u64::from(net.options.clients)) as u8;
    let client = net.client(i);
    match rng.below(10) {
        0 => net.restart_ap(Duration::from_millis(rng.below(2000))),
        1 => {
            let points = [
                CrashPoint::AfterTransmit(1 + rng.below(20) as u32),
                CrashPoint::BeforePersist(1),
                CrashPoint::AfterPersist(1),
            ];
            let ap = net.ap;
            net.air().crash_at(ap, points[rng.below(3) as usize]);
            net.run(Duration::from_millis(rng.below(1500)));
            net.air().spare(ap);
            if net.air().any_link(ap).is_none() {
                net.restart_ap(Duration::ZERO);
            }
        }
        2 => {
            net.air().crash(client);
            net.run(Duration::from_millis(rng.below(1000)));
            restart_client(net, i, round);
        }
        3 => {
            let _ = net.air().command(client, Command::Leave);
            net.run(Duration::from_millis(rng.below(1000)));
            let _ = net.air().command(client, Command::Connect);
        }
        4 => {
            let _ = net.air().command(client, Command::Roam);
        }
        5 => {
            let ap = net.ap;
            let link = net.air().link::<slyfi::Ap>(ap).and_then(|l| l.sessions().next());
            if let Some(link) = link.map(|s| s.link) {
                let _ = net.air().command(ap, Command::Dismiss(link));
            }
        }
        6 => {
            // A clock is set, a little.
            let step = rng.below(2_000_000) as i64 - 1_000_000;
            // Short intervals forgive no more than the clocks are off already.
            if net.options.interval.as_secs() > 5 {
                net.air().step_clock(client, step);
            }
        }
        7 => {
            let node = net.node(if rng.below(2) == 0 { AP } else { i });
            net.air().with_host(node, |h: &mut FlowHost| {
                let (id, to) = (0xbc00_0000 | round as u32, MacAddress::BROADCAST);
                h.add_flow(id, to, 20, (60, 1400), Duration::from_millis(10));
            });
        }
        _ => {}
    }
}

/// What a machine dropped, for messages.
fn drops(net: &Net, node: NodeId) -> Vec<(DropReason, u64)> {
    let drops = net.s.air.any_link(node).map(|l| l.drops().clone()).unwrap_or_default();
    drops.iter().filter(|(_, n)| *n > 0).collect()
}

fn run(seed: u64) -> Result<(), String> {
    let mut rng = SimRng::new(seed).split("chaos", 0);
    let options = options(&mut rng);
    let clients = options.clients;
    let mut net = Net::new(seed, options);
    attackers(&mut net, &mut rng);
    net.s.connect();
    let ends: Vec<(u8, u8)> = (0..clients)
        .flat_map(|i| [(i, AP), (AP, i), (i, (i + 1) % clients)])
        .filter(|(from, to)| from != to)
        .collect();
    for (from, to) in &ends {
        net.start(*from, *to, u64::MAX, (60, 1514), Duration::from_millis(40));
    }
    let mut round = 0;
    while net.air().now() < Instant::from_micros(CHAOS * 1000) {
        net.run(Duration::from_millis(rng.below(1500)));
        happen(&mut net, &mut rng, round);
        round += 1;
    }
    let nodes: Vec<_> = [net.ap].into_iter().chain(net.s.clients.clone()).collect();
    for node in &nodes {
        for (id, r) in net.s.air.host::<FlowHost>(*node).expect("a flow host").reports() {
            // Broadcasts are in order as long as the air is.
            let exact = if id >> 24 == 0xbc { r.duplicates + r.damaged == 0 } else { r.is_exact() };
            if !exact {
                return Err(format!("flow {id:x} at {node:?}: {r:?}"));
            }
        }
    }
    // On a good air all find back together and everything flows.
    net.air().medium().set_default(LinkQuality::PERFECT);
    for node in &nodes {
        net.air().with_host(*node, FlowHost::stop);
    }
    net.run(Duration::from_secs(45));
    net.next_round();
    for i in 0..clients {
        let client = net.client(i);
        if !net.air().link::<Client>(client).is_some_and(ClientLink::is_linked) {
            let tail: Vec<_> = net.s.air.events_of(client).rev().take(8).collect();
            return Err(format!(
                "client {i} is not linked 45 s after the chaos; before: {tail:?}, drops there {:?}, at the access point {:?}",
                drops(&net, client),
                drops(&net, net.ap)
            ));
        }
    }
    for (from, to) in &ends {
        net.start(*from, *to, 30, (60, 1514), Duration::from_millis(10));
    }
    net.finish(Duration::from_secs(10));
    for (from, to) in &ends {
        let r = net.report(*from, *to);
        // Renewing a session may cost what was in flight on the old one.
        let all = r.is_complete(30) || (net.options.renews() && r.is_exact() && r.received >= 20);
        if !all {
            return Err(format!("{from}->{to} is stuck: {r:?}"));
        }
    }
    Ok(())
}

#[test]
fn nothing_breaks_and_nothing_leaks_whatever_happens() {
    let sweep = Sweep::from_env(120);
    if let Err(failure) = sweep.run(run) {
        let o = options(&mut SimRng::new(failure.seed).split("chaos", 0));
        panic!("{failure}\n{o:?}");
    }
}
