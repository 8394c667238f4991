//! Every protection of ordinary 802.11 in the simulated medium: contention, loss, hardware retries, TCP.

use slyfi_base::{Duration, MacAddress, Now};
use slyfi_ciphers::handshake::KeyBytes;
use slyfi_link::config::Role;
use slyfi_link::wifi::{Cipher, Guard, Secret, Settings, guard};
use slyfi_rivals::wifi::{AccessPoint, ApConfig, Ssid, Station, StationConfig};
use slyfi_sim::{FlowHost, IpHost, LinkQuality, NodeConfig, Scenario, SimRng};
use std::net::SocketAddr;
use zeroize::Zeroizing;

const AP: MacAddress = MacAddress([2, 0x51, 0, 0, 0, 0x10]);
const SSID: &[u8] = b"coffee and cake";

fn station(i: u8) -> MacAddress {
    MacAddress([2, 0x51, 0, 0, 0, 0x20 + i])
}

fn protection(role: Role, cipher: Cipher, own: MacAddress, rng: SimRng, now: Now) -> Guard {
    let hop = Duration::from_secs(300);
    let settings = Settings { cipher, ssid: SSID, group_rekey: None, hop };
    let secret = match cipher {
        Cipher::Open => Secret::None,
        Cipher::Wep => Secret::Key(Zeroizing::new(vec![7; 13])),
        Cipher::Sbkh => Secret::Key(Zeroizing::new(vec![7; 32])),
        _ => Secret::Pmk(KeyBytes::new(&[7; 32]).unwrap()),
    };
    guard(role, own, &settings, &secret, now, rng).unwrap()
}

fn config(name: &str, mac: MacAddress) -> NodeConfig {
    NodeConfig::new(name).with_hardware_address(mac.0)
}

fn add_ap(s: &mut Scenario, cipher: Cipher, host: impl slyfi_sim::Host) {
    let make = move |mut rng: SimRng, now| {
        let guard = protection(Role::AccessPoint, cipher, AP, rng.clone(), now);
        let config = ApConfig::new(AP, Ssid::new(SSID).unwrap());
        AccessPoint::protected(now, config, guard, &mut rng)
    };
    s.access_point(config("ap", AP), make, host);
}

fn add_station(s: &mut Scenario, cipher: Cipher, i: u8, host: impl slyfi_sim::Host) {
    let make = move |rng: SimRng, now| {
        let guard = protection(Role::Client, cipher, station(i), rng.clone(), now);
        let config = StationConfig::new(station(i), vec![Ssid::new(SSID).unwrap()]);
        Station::protected(config, guard, rng)
    };
    s.client(config("station", station(i)), make, host);
}

#[test]
fn flows_in_all_directions_arrive_over_a_lossy_air() {
    for cipher in Cipher::ALL {
        let mut s = Scenario::new(2).with_quality(LinkQuality::lossy(0.1));
        s.air.referee().expect_findings();
        let flow = |host: FlowHost, id, to| {
            host.with_flow(id, to, 200, (64, 1400), Duration::from_millis(5))
        };
        add_ap(&mut s, cipher, flow(FlowHost::new(AP).started(), 1, station(0)));
        add_station(&mut s, cipher, 0, flow(FlowHost::new(station(0)), 2, AP));
        add_station(&mut s, cipher, 1, flow(FlowHost::new(station(1)), 3, station(0)));
        assert!(s.link_all(Duration::from_secs(10)).unwrap(), "{cipher}");
        s.air.run_for(Duration::from_secs(5)).unwrap();
        let (ap, first) = (s.access_points[0], s.clients[0]);
        for (node, flow) in [(ap, 2), (first, 1), (first, 3)] {
            let r = s.air.host::<FlowHost>(node).unwrap().report(flow);
            // Cards repeat what is lost; SBKH loses more where one frame is given up all the same.
            let least = if cipher == Cipher::Sbkh { 150 } else { 190 };
            assert!(r.received >= least, "{cipher} flow {flow}: {r:?}");
            assert!(cipher == Cipher::Sbkh || r.is_exact(), "{cipher} flow {flow}: {r:?}");
        }
    }
}

#[test]
fn a_file_is_fetched_unchanged_under_every_protection() {
    for cipher in Cipher::ALL {
        let mut s = Scenario::new(3);
        s.air.referee().expect_findings();
        let content: Vec<u8> =
            (0..200_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let server = "10.1.0.1".parse().unwrap();
        let host = IpHost::new(AP, &[(server, 24)]).started().with_file(80, &content);
        add_ap(&mut s, cipher, host);
        let host = IpHost::new(station(0), &[("10.1.0.2".parse().unwrap(), 24)]);
        add_station(&mut s, cipher, 0, host.with_fetch(SocketAddr::new(server, 80)));
        s.connect();
        let client = s.clients[0];
        let done = |air: &slyfi_sim::Air| air.host::<IpHost>(client).unwrap().is_done();
        assert!(s.air.run_to(Duration::from_secs(30), done).unwrap(), "{cipher}");
        let host = s.air.host::<IpHost>(client).unwrap();
        assert!(host.fetches().next().unwrap().content() == Some(&content[..]), "{cipher}");
    }
}
