//! The client and the access point against each other.

mod common;

use common::*;
use slyfi_base::event::Unlinked;
use slyfi_base::{Command, DropReason, Duration, Event, LinkId, MacAddress};
use slyfi_core::suite::Suite;

const SUITES: [Suite; 3] = [
    Suite::S2008,
    Suite::AEAD,
    Suite::Aead {
        key: slyfi_core::suite::KeySize::Aes256,
        kem: slyfi_core::suite::Kem::X25519MlKem768,
    },
];

#[test]
fn a_client_links_in_every_suite_and_packets_go_both_ways() {
    for suite in SUITES {
        let mut net = linked(1, suite);
        let up = ethernet(AP_MAC, client_mac(1), 0x0800, b"up");
        let down = ethernet(client_mac(1), AP_MAC, 0x0800, b"down");
        net.send(1, &up).unwrap();
        net.send(0, &down).unwrap();
        net.run(Duration::from_millis(100));
        assert_eq!(net.nodes[0].delivered, [up], "{suite:?}");
        assert_eq!(net.nodes[1].delivered, [down], "{suite:?}");
    }
}

#[test]
fn members_reach_each_other_and_everyone_hears_broadcasts_but_the_sender() {
    let mut net = linked(3, Suite::AEAD);
    let direct = ethernet(client_mac(2), client_mac(1), 0x0800, &[7; 1_400]);
    net.send(1, &direct).unwrap();
    net.run(Duration::from_millis(100));
    assert_eq!(net.nodes[2].delivered, [direct]);
    assert!(net.nodes[0].delivered.is_empty() && net.nodes[3].delivered.is_empty());

    let all = ethernet(MacAddress::BROADCAST, client_mac(1), 0x0800, b"to all");
    net.send(1, &all).unwrap();
    net.run(Duration::from_millis(300));
    for node in [0, 2, 3] {
        assert_eq!(net.nodes[node].delivered.last(), Some(&all), "node {node}");
    }
    assert!(net.nodes[1].delivered.is_empty());
    assert_eq!(net.nodes[1].link.drops().of(DropReason::Echo), 1);
}

#[test]
fn a_leaving_member_changes_the_broadcast_key_and_the_rest_keep_hearing() {
    let mut net = linked(3, Suite::AEAD);
    net.command(3, Command::Leave);
    net.run(Duration::from_millis(500));
    assert_eq!(net.unlinked(3), Some(Unlinked::Left));
    assert_eq!(net.unlinked(0), Some(Unlinked::Left));
    let all = ethernet(MacAddress::BROADCAST, AP_MAC, 0x0800, b"after");
    net.send(0, &all).unwrap();
    net.run(Duration::from_millis(500));
    assert_eq!(net.nodes[1].delivered, std::slice::from_ref(&all));
    assert_eq!(net.nodes[2].delivered, [all]);
    assert!(net.nodes[3].delivered.is_empty());
}

#[test]
fn a_dismissed_member_is_told_and_the_access_point_forgets_it() {
    let mut net = linked(2, Suite::AEAD);
    let link = net.nodes[0]
        .events
        .iter()
        .find_map(|e| match e {
            Event::Linked { link, pairing: 0 } => Some(*link),
            _ => None,
        })
        .unwrap();
    net.command(0, Command::Dismiss(link));
    net.run(Duration::from_millis(50));
    assert_eq!(net.unlinked(1), Some(Unlinked::Dismissed));
    assert_eq!(net.unlinked(0), Some(Unlinked::Dismissed));
    let now = net.clock(0);
    assert!(net.nodes[0].link.handle_command(now, Command::Dismiss(LinkId(99))).is_err());
}

#[test]
fn silence_ends_a_link_and_a_new_one_follows() {
    let mut net = linked(1, Suite::AEAD);
    let dark = net.now;
    net.fate =
        Box::new(
            move |at, _, _, _| {
                if at < dark + Duration::from_secs(30) { Fate::Drop } else { Fate::Deliver }
            },
        );
    net.run(Duration::from_secs(29));
    assert_eq!(net.unlinked(1), Some(Unlinked::Silent));
    assert_eq!(net.unlinked(0), Some(Unlinked::Silent));
    assert!(net.run_until(Duration::from_secs(30), |n| n.is_linked(1)));
    let up = ethernet(AP_MAC, client_mac(1), 0x0800, b"again");
    net.send(1, &up).unwrap();
    net.run(Duration::from_millis(100));
    assert_eq!(net.nodes[0].delivered, [up]);
}

#[test]
fn no_shroud_address_is_ever_used_twice() {
    let mut net = linked(3, Suite::S2008);
    let mut n = 0u32;
    net.fate = Box::new(move |_, _, _, _| {
        n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if n >> 28 < 4 { Fate::Drop } else { Fate::Deliver }
    });
    for i in 0..200u32 {
        let p = ethernet(AP_MAC, client_mac(1), 0x0800, &i.to_be_bytes());
        let _ = net.send(1, &p);
        net.run(Duration::from_millis(5));
    }
    net.run(Duration::from_secs(3));
    let mut seen = std::collections::HashMap::new();
    for (_, _, frame) in &net.air {
        *seen.entry(frame[28..44].to_vec()).or_insert(0) += 1;
    }
    // Each client's probe and authentication addresses repeat within their interval.
    let repeated = seen.values().filter(|n| **n > 1).count();
    assert!(repeated <= 12, "{repeated} addresses repeat");
    let got: Vec<u32> = net.nodes[0]
        .delivered
        .iter()
        .map(|p| u32::from_be_bytes(p[14..18].try_into().unwrap()))
        .collect();
    assert_eq!(got, (0..200).collect::<Vec<_>>());
}
