//! Clocks that are off: what still works, and what says so when it does not.

#[path = "support/slyfi.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod slyfi;

use slyfi::{AP, Net, Options};
use slyfi_base::event::NoLink;
use slyfi_base::{Duration, Event};
use slyfi_core::suite::Suite;

const SUITES: [Suite; 2] = [Suite::S2008, Suite::AEAD];

fn net(seed: u64, suite: Suite, minutes: i64) -> Net {
    Net::new(seed, Options { suite, clock_off: minutes * 60, ..Options::default() })
}

#[test]
fn four_minutes_off_links_at_every_phase_of_the_interval() {
    for suite in SUITES {
        for minutes in [-4, 4] {
            for wait in [0, 70, 140, 210, 280] {
                let mut net = net(wait, suite, minutes);
                net.run(Duration::from_secs(wait));
                net.link();
                net.start(0, AP, 50, (100, 1000), Duration::from_millis(10));
                net.start(AP, 0, 50, (100, 1000), Duration::from_millis(10));
                net.finish(Duration::from_secs(30));
                assert!(net.report(0, AP).is_complete(50) && net.report(AP, 0).is_complete(50));
            }
        }
    }
}

#[test]
fn an_hour_off_never_links_and_both_sides_say_so() {
    for suite in SUITES {
        for minutes in [-60, 60] {
            let mut net = net(1, suite, minutes);
            assert!(!net.s.link_all(Duration::from_secs(30)).unwrap());
            let (client, ap) = (net.client(0), net.ap);
            assert!(
                net.count(client, |e| matches!(e, Event::NoLink { why: NoLink::NoAnswer, .. })) > 0
            );
            let off = |e| match e {
                Event::ClientClockOff { pairing: 0, seconds } => {
                    (seconds - minutes * 60).abs() <= 300
                }
                _ => false,
            };
            assert!(net.count(ap, off) > 0, "{:?}", net.air().events());
        }
    }
}

#[test]
fn a_clock_that_is_set_right_links() {
    let mut net = net(2, Suite::AEAD, 60);
    assert!(!net.s.link_all(Duration::from_secs(20)).unwrap());
    let client = net.client(0);
    net.air().step_clock(client, -3_600_000_000);
    net.link();
}

#[test]
fn a_clock_that_steps_while_linked_keeps_the_link() {
    for step in [-7_200_000_000, 7_200_000_000] {
        let mut net = net(3, Suite::AEAD, 0);
        net.link();
        net.start(0, AP, 200, (100, 1000), Duration::from_millis(50));
        net.run(Duration::from_secs(2));
        let client = net.client(0);
        net.air().step_clock(client, step);
        net.finish(Duration::from_secs(30));
        assert!(net.report(0, AP).is_complete(200), "{:?}", net.report(0, AP));
        assert_eq!(net.unlinked(client), []);
    }
}

#[test]
fn drifting_clocks_stay_linked_for_a_day_and_addresses_turn() {
    let mut net = net(4, Suite::AEAD, 0);
    net.link();
    for _ in 0..24 {
        net.run(Duration::from_secs(3600));
    }
    net.start(0, AP, 50, (100, 1000), Duration::from_millis(10));
    net.finish(Duration::from_secs(30));
    assert!(net.report(0, AP).is_complete(50));
    assert_eq!(net.unlinked(net.client(0)), []);
    assert_eq!(net.count(net.ap, |e| matches!(e, Event::DayTurned)), 1);
}
