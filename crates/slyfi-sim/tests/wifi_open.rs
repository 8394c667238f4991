//! The control: ordinary 802.11 on the same air, before the same referee.

use slyfi_base::{Duration, MacAddress};
use slyfi_rivals::wifi_open::{ApConfig, OpenAp, OpenStation, Ssid, StationConfig};
use slyfi_sim::capture::SharedBuffer;
use slyfi_sim::referee::LeakKind;
use slyfi_sim::{FlowHost, IpHost, LinkQuality, NodeConfig, RunError, Scenario, Sniffer};
use std::net::SocketAddr;

const AP: MacAddress = MacAddress([2, 0x51, 0, 0, 0, 0x10]);

fn station(i: u8) -> MacAddress {
    MacAddress([2, 0x51, 0, 0, 0, 0x20 + i])
}

fn ssid() -> Ssid {
    Ssid::new(b"coffee and cake").unwrap()
}

fn config(name: &str, mac: MacAddress) -> NodeConfig {
    NodeConfig::new(name)
        .with_hardware_address(mac.0)
        .with_secret("hardware address", mac.0)
        .with_secret("network name", *b"coffee and cake")
}

fn add_ap(s: &mut Scenario, host: impl slyfi_sim::Host) {
    let make =
        |mut rng: slyfi_sim::SimRng, now| OpenAp::new(now, ApConfig::new(AP, ssid()), &mut rng);
    s.access_point(config("ap", AP), make, host);
}

fn add_station(s: &mut Scenario, i: u8, host: impl slyfi_sim::Host) {
    let make = |rng, _| OpenStation::new(StationConfig::new(station(i), vec![ssid()]), rng);
    s.client(config("station", station(i)), make, host);
}

/// An access point and two stations with flows in all directions.
fn flows(seed: u64, quality: LinkQuality) -> Scenario {
    let mut s = Scenario::new(seed).with_quality(quality);
    s.air.referee().allow_rates();
    let flow =
        |host: FlowHost, id, to| host.with_flow(id, to, 300, (64, 1500), Duration::from_millis(5));
    add_ap(&mut s, flow(FlowHost::new(AP).started(), 1, station(0)));
    add_station(&mut s, 0, flow(FlowHost::new(station(0)), 2, AP));
    add_station(&mut s, 1, flow(FlowHost::new(station(1)), 3, station(0)));
    s
}

#[test]
fn wifi_open_makes_the_referee_shout() {
    let mut s = flows(1, LinkQuality::PERFECT);
    s.connect();
    let error = s.air.run_for(Duration::from_secs(5)).unwrap_err();
    assert!(matches!(error, RunError::Findings { .. }), "{error}");
    for kind in [
        LeakKind::Carrier,
        LeakKind::RepeatedAddress,
        LeakKind::Cleartext,
        LeakKind::RepeatedRun,
        LeakKind::Counter,
        LeakKind::StableByte,
    ] {
        assert!(s.air.referee().count(kind) > 0, "nothing of {kind:?}");
    }
}

#[test]
fn wifi_open_carries_its_flows_over_a_lossy_air_by_hardware_retries() {
    let mut s = flows(2, LinkQuality::lossy(0.1));
    s.air.referee().expect_findings();
    assert!(s.link_all(Duration::from_secs(10)).unwrap());
    s.air.run_for(Duration::from_secs(10)).unwrap();
    let host = |node| s.air.host::<FlowHost>(node).unwrap();
    let (ap, first) = (s.access_points[0], s.clients[0]);
    // Seven attempts at 10 %, the ACK counted in: hardly any frame is given up.
    for (node, flow) in [(ap, 2), (first, 1), (first, 3)] {
        let r = host(node).report(flow);
        assert!(r.is_exact() && r.received >= 295, "flow {flow}: {r:?}");
    }
    assert!(s.air.stats(first).retries > 30);
}

#[test]
fn a_file_is_fetched_over_wifi_open_and_the_sniffer_links_everything() {
    let mut s = Scenario::new(3);
    s.air.referee().expect_findings();
    let content: Vec<u8> =
        (0..500_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let server = "10.1.0.1".parse().unwrap();
    add_ap(&mut s, IpHost::new(AP, &[(server, 24)]).started().with_file(80, &content));
    let host = IpHost::new(station(0), &[("10.1.0.2".parse().unwrap(), 24)]);
    let ping = (server, 5, 56, Duration::from_millis(100));
    let host =
        host.with_fetch(SocketAddr::new(server, 80)).with_ping(ping.0, ping.1, ping.2, ping.3);
    add_station(&mut s, 0, host);
    let file = SharedBuffer::default();
    let sniffer = s.sniffer(Sniffer::new().with_capture(file.clone()));
    s.connect();
    let client = s.clients[0];
    let done = |air: &slyfi_sim::Air| air.host::<IpHost>(client).unwrap().is_done();
    assert!(s.air.run_to(Duration::from_secs(20), done).unwrap());
    let host = s.air.host::<IpHost>(client).unwrap();
    assert!(host.fetches().next().unwrap().content() == Some(&content[..]));
    assert_eq!(host.pings().next().unwrap().round_trips.len(), 5);

    let l = s.air.sniffer(sniffer).unwrap().linkability();
    assert!(l.frames() > 700);
    assert_eq!(l.distinct_addresses(), 2, "two transmitters, whose addresses ACKs carry too");
    assert_eq!(l.linkable_frames(), l.frames());
    assert!(l.constant_bytes() >= 12, "{}", l.constant_bytes());
    s.air.flush().unwrap();
    assert!(file.bytes().len() > 500_000);
}
