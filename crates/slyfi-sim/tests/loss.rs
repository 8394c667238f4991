//! What was sent is what is delivered, whatever the air does.

#[path = "support/slyfi.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod slyfi;

use slyfi::{AP, Net, Options};
use slyfi_base::event::Unlinked;
use slyfi_base::{DropReason, Duration, Event};
use slyfi_core::suite::Suite;
use slyfi_sim::medium::Corruption;
use slyfi_sim::{Fcs, LinkQuality, Loss, SimRng, Sweep};

/// What a seed stands for: a suite, an air, some traffic.
fn options(seed: u64) -> Options {
    let mut rng = SimRng::new(seed).split("options", 0);
    let mut pick = |n: u64| rng.below(n);
    let suite = [Suite::S2008, Suite::AEAD][pick(2) as usize];
    let loss = match pick(4) {
        0 => Loss::None,
        1 => Loss::Independent(pick(31) as f64 / 100.0),
        2 => Loss::Bursty { worsen: 0.02, recover: 0.2, good: 0.01, bad: 0.9 },
        // Past w = 50 every now and then.
        _ => Loss::Outages {
            good: Duration::from_secs(2),
            bad: Duration::from_millis(50 + 200 * pick(5)),
        },
    };
    let chance = pick(3) as f64 * 0.03;
    let fcs = [Fcs::Fails, Fcs::Passes][pick(2) as usize];
    let quality = LinkQuality {
        loss,
        corruption: Corruption { chance, bits: 1 + pick(5) as u32, fcs },
        duplicate: pick(3) as f64 * 0.05,
        reorder: pick(3) as f64 * 0.05,
        ..LinkQuality::PERFECT
    };
    let reorders = quality.reorder > 0.0;
    let options = Options { suite, quality, clients: 2, ..Options::default() };
    if reorders { options.reordering() } else { options }
}

/// Runs flows in four directions and says what is wrong with them.
fn run(seed: u64) -> Result<(), String> {
    let mut net = Net::new(seed, options(seed));
    if !net.s.link_all(Duration::from_secs(120)).map_err(|e| e.to_string())? {
        return Err("not linked in two minutes".to_string());
    }
    let ends = [(0, AP), (AP, 0), (1, 0), (AP, 1)];
    for (from, to) in ends {
        net.start(from, to, 100, (60, 1514), Duration::from_millis(20));
    }
    net.finish(Duration::from_secs(120));
    let lost_links = net.unlinked(net.client(0)).len()
        + net.unlinked(net.client(1)).len()
        + net.unlinked(net.ap).len();
    let no_room = net.s.air.any_link(net.ap).map_or(0, |l| l.drops().of(DropReason::NoRoom));
    for (from, to) in ends {
        let (r, sent) = (net.report(from, to), net.sent(from, to));
        if !r.is_exact() {
            return Err(format!("{from}->{to} not exact: {r:?}"));
        }
        if sent != 100 {
            return Err(format!("{from}->{to}: only {sent} sent"));
        }
        // A switch whose port is blocked drops: the access point does so with what it forwards.
        let dropped = if from != AP && to != AP { no_room } else { 0 };
        if r.received + dropped < 100 && lost_links == 0 {
            return Err(format!("{from}->{to}: {} of 100 and no link was lost", r.received));
        }
    }
    // Whatever happened, nothing is stuck: on a good air everything flows again.
    net.air().medium().set_default(LinkQuality::PERFECT);
    net.run(Duration::from_secs(20));
    net.next_round();
    for (from, to) in ends {
        net.start(from, to, 50, (60, 1514), Duration::from_millis(5));
    }
    net.finish(Duration::from_secs(10));
    for (from, to) in ends {
        let r = net.report(from, to);
        if !r.is_complete(50) {
            return Err(format!("{from}->{to} is stuck: {r:?}"));
        }
    }
    Ok(())
}

#[test]
fn delivered_data_is_what_was_sent_over_every_air() {
    let sweep = Sweep::from_env(2_000);
    if let Err(failure) = sweep.run(run) {
        let o = options(failure.seed);
        panic!("{failure}\n{:?} {:?}", o.suite, o.quality);
    }
}

#[test]
fn loss_up_to_30_percent_costs_time_and_no_packet() {
    for suite in [Suite::S2008, Suite::AEAD] {
        for loss in [0.05, 0.1, 0.2, 0.3] {
            let quality = LinkQuality::lossy(loss);
            let mut net = Net::new(7, Options { suite, quality, ..Options::default() });
            net.link();
            net.start(0, AP, 1000, (1000, 1000), Duration::from_millis(5));
            net.start(AP, 0, 1000, (1000, 1000), Duration::from_millis(5));
            net.finish(Duration::from_secs(60));
            assert_eq!(net.unlinked(net.ap), [], "{suite:?} {loss}");
            assert!(net.report(0, AP).is_complete(1000), "{suite:?} {loss}");
            assert!(net.report(AP, 0).is_complete(1000), "{suite:?} {loss}");
        }
    }
}

#[test]
fn a_burst_within_the_window_is_bridged() {
    let mut net = Net::new(8, Options::default());
    net.link();
    net.start(0, AP, 500, (500, 500), Duration::from_millis(2));
    net.run(Duration::from_millis(200));
    let (client, ap) = (net.client(0), net.ap);
    net.air().medium().drop_next(client, ap, 40);
    net.finish(Duration::from_secs(60));
    assert!(net.report(0, AP).is_complete(500), "{:?}", net.report(0, AP));
    assert_eq!(net.unlinked(client), []);
}

#[test]
fn a_burst_beyond_the_window_ends_the_link_and_the_flow_goes_on_over_a_new_one() {
    for (from, to) in [(0, AP), (AP, 0)] {
        let mut net = Net::new(9, Options::default());
        net.link();
        net.start(from, to, 3000, (500, 500), Duration::from_millis(2));
        net.run(Duration::from_millis(500));
        let (a, b) = (net.node(from), net.node(to));
        let client = net.client(0);
        net.air().medium().drop_next(a, b, 55);
        net.finish(Duration::from_secs(120));
        let why = net.unlinked(client);
        assert!(
            why.iter().any(|w| matches!(w, Unlinked::LossBeyondWindow | Unlinked::Silent)),
            "{why:?}"
        );
        assert!(net.count(client, |e| matches!(e, Event::Linked { .. })) >= 2);
        let r = net.report(from, to);
        assert!(r.is_exact(), "{r:?}");
        assert!(r.received > 2500, "{from}->{to}: {} of 3000", r.received);
    }
}
