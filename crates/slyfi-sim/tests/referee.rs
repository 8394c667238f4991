//! The referee: silent about random bytes behind the carrier, loud about everything else.

mod support;

use slyfi_base::{Duration, MacAddress, Rate, UnixTime};
use slyfi_sim::referee::{AddressClass, AddressOracle, Leak, LeakKind, TrystAllowance};
use slyfi_sim::{Air, FlowHost, NodeConfig, NodeId, RunError, SilentHost};
use support::{Format, Toy};

fn mac(i: u8) -> MacAddress {
    MacAddress([2, 9, 8, 7, 6, i])
}

/// Two hosts exchange 4000 packets.
fn exchange(air: &mut Air, formats: [Format; 2]) -> [NodeId; 2] {
    let mut i = 0;
    formats.map(|format| {
        i += 1;
        let host = FlowHost::new(mac(i)).started().with_flow(
            u32::from(i),
            mac(3 - i),
            2000,
            (200, 200),
            Duration::from_micros(900),
        );
        let link = Toy::new(format, air.rng("toy", u64::from(i)));
        let config = NodeConfig::new("node")
            .with_secret("hardware address", mac(i).0)
            .with_secret("network name", *b"Home of the Seed");
        air.add_node(config, Box::new(link), Box::new(host))
    })
}

fn kinds(air: &mut Air) -> Vec<LeakKind> {
    air.referee().verdict();
    LeakKind::ALL.into_iter().filter(|k| air.referee().count(*k) > 0).collect()
}

#[test]
fn random_bytes_behind_the_carrier_pass() {
    for seed in 0..5 {
        let mut air = Air::new(seed);
        exchange(&mut air, [Format::Random; 2]);
        air.run_for(Duration::from_secs(3)).unwrap();
        assert!(air.referee().frames() >= 4000);
        assert_eq!(air.referee().verdict(), []);
    }
}

#[test]
fn ordinary_frames_make_it_shout() {
    let mut air = Air::new(1);
    air.referee().set_tryst_allowance(TrystAllowance::NONE);
    let (a, b) = (mac(1).0, mac(2).0);
    let formats = [Format::Unicast { from: a, to: b }, Format::Unicast { from: b, to: a }];
    exchange(&mut air, formats);
    let error = air.run_for(Duration::from_secs(3)).unwrap_err();
    assert!(matches!(error, RunError::Findings { seed: 1, .. }));
    let want = [
        LeakKind::Carrier,
        LeakKind::RepeatedAddress,
        LeakKind::Cleartext,
        LeakKind::RepeatedRun,
        LeakKind::Counter,
        LeakKind::StableByte,
    ];
    assert_eq!(kinds(&mut air), want);
}

#[test]
fn cleartext_behind_the_carrier_is_named() {
    let mut air = Air::new(2);
    air.referee().expect_findings();
    exchange(&mut air, [Format::Clear; 2]);
    air.run_for(Duration::from_secs(3)).unwrap();
    let what: Vec<&str> = air
        .referee()
        .findings()
        .iter()
        .filter_map(|f| match f.leak {
            Leak::Cleartext { what, .. } => Some(what),
            _ => None,
        })
        .collect();
    assert!(what.contains(&"payload"), "{what:?}");
    assert!(!kinds(&mut air).contains(&LeakKind::Carrier));
}

#[test]
fn lengths_outside_the_policy_and_a_second_rate_are_found() {
    let mut air = Air::new(3);
    air.referee().expect_findings();
    air.referee().set_sizes(|len| len == 100 || len == 300);
    let mut nodes = Vec::new();
    for rate in [Rate::PEAK, Rate::BASE] {
        let link = Toy::new(Format::Random, air.rng("toy", 1)).at_rate(rate);
        let host = Box::<SilentHost>::default();
        nodes.push(air.add_node(NodeConfig::new("node"), Box::new(link), host));
    }
    air.send_packet(nodes[0], &[0; 100]).unwrap();
    air.send_packet(nodes[0], &[0; 300]).unwrap();
    air.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!(kinds(&mut air), []);
    air.send_packet(nodes[0], &[0; 299]).unwrap();
    air.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!(kinds(&mut air), [LeakKind::Size]);
    air.send_packet(nodes[1], &[0; 100]).unwrap();
    air.run_for(Duration::from_secs(1)).unwrap();
    // The two toys draw the same bytes, so the address is the other's too, which is allowed once.
    assert!(kinds(&mut air).contains(&LeakKind::Carrier));
}

/// Sends frames with given addresses and random rest, after given pauses.
fn addressed(air: &mut Air, node: NodeId, frames: &[(u64, u8)]) {
    let mut rng = air.rng("rest", 0);
    for (after, address) in frames {
        air.run_for(Duration::from_secs(*after)).unwrap();
        let mut packet = vec![*address; 100];
        // An address that is random enough for the other rules.
        air.rng("address", u64::from(*address)).fill_bytes(&mut packet[..16]);
        rng.fill_bytes(&mut packet[16..]);
        air.send_packet(node, &packet).unwrap();
        air.run_for(Duration::from_millis(10)).unwrap();
    }
}

fn clear_node(air: &mut Air, network: u32) -> NodeId {
    let link = Toy::new(Format::Clear, air.rng("toy", 0));
    let config = NodeConfig::new("node").with_network(network);
    air.add_node(config, Box::new(link), Box::<SilentHost>::default())
}

#[test]
fn an_address_may_repeat_within_the_tryst_window_and_not_after() {
    let run = |frames: &[(u64, u8)]| {
        let mut air = Air::new(4);
        air.referee().expect_findings();
        let node = clear_node(&mut air, 0);
        addressed(&mut air, node, frames);
        kinds(&mut air)
    };
    assert_eq!(run(&[(0, 1), (10, 1), (800, 1), (10, 2)]), []);
    let both = [LeakKind::RepeatedAddress];
    assert_eq!(run(&[(0, 1), (901, 1)]), both);
    assert_eq!(run(&(0..65).map(|_| (1, 1)).collect::<Vec<_>>()), both, "more than a few probes");
}

#[test]
fn nodes_of_different_networks_never_share_an_address() {
    let run = |networks: [u32; 2]| {
        let mut air = Air::new(5);
        air.referee().expect_findings();
        for network in networks {
            let node = clear_node(&mut air, network);
            let mut packet = vec![0; 100];
            air.rng("address", 0).fill_bytes(&mut packet[..16]);
            air.rng("rest", u64::from(node.0)).fill_bytes(&mut packet[16..]);
            air.send_packet(node, &packet).unwrap();
        }
        air.run_for(Duration::from_secs(1)).unwrap();
        kinds(&mut air)
    };
    assert_eq!(run([0, 0]), []);
    assert_eq!(run([0, 1]), [LeakKind::RepeatedAddress]);
}

/// Address 1 is Tryst's for the first 300 seconds of the run, all others are Shroud's.
struct Truth([u8; 16], UnixTime);
impl AddressOracle for Truth {
    fn class(&mut self, address: &[u8; 16], _: NodeId, _: UnixTime) -> AddressClass {
        if *address == self.0 {
            AddressClass::Tryst { since: self.1, until: self.1 + Duration::from_secs(300) }
        } else {
            AddressClass::Shroud
        }
    }
}

#[test]
fn with_an_oracle_a_shroud_address_may_never_repeat_and_a_tryst_address_ends_with_its_interval() {
    let run = |frames: &[(u64, u8)]| {
        let mut air = Air::new(6);
        air.referee().expect_findings();
        let mut first = [0; 16];
        air.rng("address", 1).fill_bytes(&mut first);
        let begin = air.wall();
        air.referee().set_oracle(Truth(first, begin));
        let node = clear_node(&mut air, 0);
        addressed(&mut air, node, frames);
        kinds(&mut air)
    };
    assert_eq!(run(&[(0, 1), (1, 2), (1, 1), (200, 1), (1, 3)]), []);
    assert_eq!(run(&[(0, 2), (1, 2)]), [LeakKind::RepeatedAddress]);
    assert_eq!(run(&[(0, 1), (301, 1)]), [LeakKind::OutsideInterval]);
}

#[test]
fn whole_frames_that_repeat_and_shared_tails_are_found() {
    let mut air = Air::new(7);
    air.referee().expect_findings();
    air.referee().set_tryst_allowance(TrystAllowance::NONE);
    let node = clear_node(&mut air, 0);
    let mut packet = vec![0; 200];
    air.rng("a", 0).fill_bytes(&mut packet);
    air.send_packet(node, &packet).unwrap();
    air.rng("b", 0).fill_bytes(&mut packet[..190]);
    air.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!(kinds(&mut air), []);
    air.send_packet(node, &packet).unwrap();
    air.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!(kinds(&mut air), [LeakKind::RepeatedRun]);
    let leak = &air.referee().findings()[0].leak;
    assert_eq!(*leak, Leak::RepeatedRun { position: 190, first_position: 190, by: node });
}
