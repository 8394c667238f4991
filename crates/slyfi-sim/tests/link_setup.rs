//! Setting a link up, phase by phase, and what flows then.

#[path = "support/slyfi.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod slyfi;

use slyfi::{AP, Client, Net, Options};
use slyfi_base::event::Phase;
use slyfi_base::{Duration, Event};
use slyfi_core::suite::Suite;

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
