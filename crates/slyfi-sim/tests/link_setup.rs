//! Setting a link up, phase by phase, and what flows then.

#[path = "support/slyfi.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod slyfi;

use slyfi::{AP, Client, Net, Options, Truth, ap_link, ap_mac, mac, pairings};
use slyfi_base::event::{NoLink, Phase};
use slyfi_base::{Duration, Event};
use slyfi_core::client::ClientLink;
use slyfi_core::suite::Suite;
use slyfi_sim::{FlowHost, LinkQuality, NodeConfig, Rule, Scenario, SilentHost, Sniffer, Verdict};

const SUITES: [Suite; 2] = [Suite::S2008, Suite::AEAD];

#[test]
fn a_client_goes_through_the_phases_in_order_and_links() {
    for suite in SUITES {
        let mut net = Net::new(1, Options { suite, ..Options::default() });
        net.link();
        let client = net.client(0);
        let phases = [Phase::Probing, Phase::Authenticating, Phase::Associating, Phase::Linked];
        let at: Vec<_> = phases.map(|p| net.entered(client, p).expect("entered")).into();
        assert!(at.is_sorted(), "{at:?}");
        assert!(at[3].as_micros() < 100_000, "{suite:?}: linked after {:?}", at[3]);
        assert!(net.air().link::<Client>(client).unwrap().is_linked());
        assert_eq!(net.count(net.ap, |e| matches!(e, Event::Linked { .. })), 1);
    }
}

#[test]
fn data_flows_both_ways_and_between_clients() {
    for suite in SUITES {
        let mut net = Net::new(2, Options { suite, clients: 3, ..Options::default() });
        net.link();
        let ends = [(0, AP), (AP, 0), (0, 1), (1, 0), (1, 2), (AP, 2), (2, AP)];
        for (from, to) in ends {
            net.start(from, to, 300, (50, 1514), Duration::from_millis(4));
        }
        net.finish(Duration::from_secs(30));
        for (from, to) in ends {
            let r = net.report(from, to);
            assert!(r.is_complete(300), "{suite:?} {from}->{to}: {r:?}");
        }
    }
}

#[test]
fn any_one_message_of_the_set_up_may_be_lost() {
    for suite in SUITES {
        // Probe, authentication, association: the request or the answer.
        for lost in 0..6u64 {
            let mut net = Net::new(3 + lost, Options { suite, ..Options::default() });
            let (client, ap) = (net.client(0), net.ap);
            let (from, to) = if lost % 2 == 0 { (client, ap) } else { (ap, client) };
            let mut seen = 0;
            let rule = Rule::new(Verdict::Drop).from(from).to(to).when(move |_| {
                seen += 1;
                seen == lost / 2 + 1
            });
            net.air().medium().add_rule(rule);
            assert!(net.s.link_all(Duration::from_secs(2)).unwrap(), "{suite:?}: message {lost}");
            net.start(0, AP, 20, (100, 1000), Duration::from_millis(5));
            net.finish(Duration::from_secs(5));
            assert!(net.report(0, AP).is_complete(20));
        }
    }
}

#[test]
fn who_is_out_of_range_is_told_that_nobody_answers_and_links_when_he_comes() {
    let mut net = Net::new(20, Options { quality: LinkQuality::UNHEARD, ..Options::default() });
    assert!(!net.s.link_all(Duration::from_secs(20)).unwrap());
    let client = net.client(0);
    assert!(net.count(client, |e| matches!(e, Event::NoLink { why: NoLink::NoAnswer, .. })) >= 2);
    net.air().medium().set_default(LinkQuality::PERFECT);
    net.link();
}

/// A client that is paired with ten networks, of which one is here or none.
fn wanderer(seed: u64, suite: Suite, here: Option<usize>) -> (Scenario, slyfi_sim::NodeId) {
    let options = Options { suite, clients: 10, ..Options::default() };
    let mut s = Scenario::new(seed);
    let all = pairings(&s.air, &options);
    s.air.referee().set_oracle(Truth::new(all.clone()));
    if let Some(i) = here {
        let one = [all[i].clone()];
        let make = |rng, now| ap_link(&options, &one, rng, now);
        s.access_point(NodeConfig::new("ap"), make, FlowHost::new(ap_mac()).started());
    }
    let make = |rng, now| {
        let mut link = ClientLink::new(options.client, mac(0), rng, now);
        for p in &all {
            link.add_pairing(now, p.clone()).unwrap();
        }
        link
    };
    let client = s.client(NodeConfig::new("client"), make, SilentHost::default());
    (s, client)
}

#[test]
fn scoped_probes_find_the_one_of_ten_networks_that_is_here() {
    for suite in SUITES {
        for here in [0, 4, 9] {
            let (mut s, _) = wanderer(30 + here as u64, suite, Some(here));
            assert!(s.link_all(Duration::from_secs(3)).unwrap(), "{suite:?}: network {here}");
        }
    }
}

#[test]
fn scoped_probes_without_an_answer_show_an_address_for_an_interval_and_nothing_else() {
    for suite in SUITES {
        let (mut s, client) = wanderer(40, suite, None);
        let sniffer = s.sniffer(Sniffer::new());
        s.connect();
        // Two hours of probing: 24 intervals.
        s.air.run_for(Duration::from_secs(7200)).unwrap();
        let probes = s.air.stats(client).sent;
        assert!(probes > 1000, "{probes}");
        let l = s.air.sniffer(sniffer).unwrap().linkability();
        // Two frames a probe, an address each in every interval.
        assert!((48..=52).contains(&l.distinct_addresses()), "{}", l.distinct_addresses());
        assert_eq!(l.constant_bytes(), 0);
    }
}
