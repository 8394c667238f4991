//! How fast the simulated air is: frames a second on one core, wall clock outside the simulation.
//!
//! `cargo run --release -p slyfi-sim --example speed`

use slyfi_base::{Duration, MacAddress, Rate, TxMeta};
use slyfi_core::ap::{ApConfig as SlyfiApConfig, ApLink};
use slyfi_core::client::{ClientConfig, ClientLink};
use slyfi_core::pairing::{Kind, NetworkName, Pairing, Terms};
use slyfi_core::suite::Suite;
use slyfi_rivals::wifi_open::{ApConfig, OpenAp, OpenStation, Ssid, StationConfig};
use slyfi_sim::{FlowHost, LinkQuality, NodeConfig, Scenario, SimRng};
use std::time::Instant;

const AP: MacAddress = MacAddress([2, 0x51, 0, 0, 0, 0x10]);
const CLIENTS: u8 = 3;

fn mac(i: u8) -> MacAddress {
    MacAddress([2, 0x51, 0, 0, 0, 0x20 + i])
}

fn host(i: u8, size: usize) -> FlowHost {
    let pause = Duration::from_micros(200);
    FlowHost::new(mac(i)).with_flow(u32::from(i), AP, u64::MAX, (size, size), pause)
}

fn wifi_open(size: usize) -> Scenario {
    let ssid = || Ssid::new(b"speed").into_iter().collect::<Vec<_>>();
    let mut s = Scenario::new(1).with_quality(LinkQuality::PERFECT);
    s.air.referee().expect_findings();
    let make = |mut rng: SimRng, now| {
        let mut config = ApConfig::new(AP, ssid().remove(0));
        config.data_rate = Rate::PEAK;
        OpenAp::new(now, config, &mut rng)
    };
    let config = NodeConfig::new("ap").with_hardware_address(AP.0);
    s.access_point(config, make, FlowHost::new(AP).started());
    for i in 0..CLIENTS {
        let make = |rng, _| OpenStation::new(StationConfig::new(mac(i), ssid()), rng);
        let config = NodeConfig::new("station").with_hardware_address(mac(i).0);
        s.client(config, make, host(i, size));
    }
    s
}

fn slyfi(suite: Suite, size: usize) -> Scenario {
    let mut s = Scenario::new(1).with_quality(LinkQuality::PERFECT);
    let rate = TxMeta { rate: Rate::PEAK };
    let name = NetworkName::new(b"speed").into_iter().collect::<Vec<_>>().remove(0);
    let t0 = s.air.wall().shifted(-3_600_000_000);
    let terms = Terms::new(name, suite, t0, Kind::Member);
    let mut rng = s.air.rng("pairing", 0);
    // expect: the terms are the defaults.
    let pairings: Vec<Pairing> =
        (0..CLIENTS).map(|_| Pairing::generate(&terms, &mut rng).expect("terms")).collect();
    let make = |rng, now| {
        let config = SlyfiApConfig { rate, suite, ..SlyfiApConfig::default() };
        let mut link = ApLink::new(config, AP, rng, now);
        for p in &pairings {
            // expect: each is another.
            link.add_pairing(now, p.clone()).expect("a new pairing");
        }
        link
    };
    s.access_point(NodeConfig::new("ap"), make, FlowHost::new(AP).started());
    for i in 0..CLIENTS {
        let make = |rng, now| {
            let config = ClientConfig { rate, ..ClientConfig::default() };
            let mut link = ClientLink::new(config, mac(i), rng, now);
            // expect: it is the only one.
            link.add_pairing(now, pairings[usize::from(i)].clone()).expect("a new pairing");
            link
        };
        s.client(NodeConfig::new("client"), make, host(i, size));
    }
    s
}

#[expect(clippy::disallowed_methods, reason = "measures the simulator from outside of it")]
fn main() -> Result<(), slyfi_sim::RunError> {
    for size in [64, 1500] {
        for (name, mut s) in [
            ("wifi-open", wifi_open(size)),
            ("slyfi 2008", slyfi(Suite::S2008, size)),
            ("slyfi aead", slyfi(Suite::AEAD, size)),
        ] {
            assert!(s.link_all(Duration::from_secs(10))?, "everything links on a perfect air");
            let (frames, begin) = (s.air.frames(), Instant::now());
            s.air.run_for(Duration::from_secs(30))?;
            let (frames, took) = (s.air.frames() - frames, begin.elapsed().as_secs_f64());
            let rate = frames as f64 / took;
            println!("{name}, {size} bytes: {frames} frames in {took:.2} s, {rate:.0} frames/s");
        }
    }
    Ok(())
}
