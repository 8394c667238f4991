//! How fast the simulated air is: frames a second on one core, wall clock outside the simulation.
//!
//! `cargo run --release -p slyfi-sim --example speed`

use slyfi_base::{Duration, MacAddress, Rate};
use slyfi_rivals::wifi_open::{ApConfig, OpenAp, OpenStation, Ssid, StationConfig};
use slyfi_sim::{FlowHost, LinkQuality, NodeConfig, Scenario, SimRng};
use std::time::Instant;

#[expect(clippy::disallowed_methods, reason = "measures the simulator from outside of it")]
fn main() -> Result<(), slyfi_sim::RunError> {
    let ap = MacAddress([2, 0x51, 0, 0, 0, 0x10]);
    for (name, sizes) in [("short packets", (64, 64)), ("full packets", (1500, 1500))] {
        let ssid = || Ssid::new(b"speed").into_iter().collect::<Vec<_>>();
        let mut s = Scenario::new(1).with_quality(LinkQuality::PERFECT);
        s.air.referee().expect_findings();
        let host = |mac| FlowHost::new(mac);
        let make = |mut rng: SimRng, now| {
            let mut config = ApConfig::new(ap, ssid().remove(0));
            config.data_rate = Rate::PEAK;
            OpenAp::new(now, config, &mut rng)
        };
        s.access_point(NodeConfig::new("ap").with_hardware_address(ap.0), make, host(ap).started());
        for i in 0..3u8 {
            let mac = MacAddress([2, 0x51, 0, 0, 0, 0x20 + i]);
            let make = |rng, _| OpenStation::new(StationConfig::new(mac, ssid()), rng);
            let pause = Duration::from_micros(200);
            let host = host(mac).with_flow(u32::from(i), ap, u64::MAX, sizes, pause);
            let config = NodeConfig::new("station").with_hardware_address(mac.0);
            s.client(config, make, host);
        }
        assert!(s.link_all(Duration::from_secs(10))?, "wifi-open links on a perfect air");
        let (frames, begin) = (s.air.frames(), Instant::now());
        s.air.run_for(Duration::from_secs(60))?;
        let (frames, took) = (s.air.frames() - frames, begin.elapsed().as_secs_f64());
        println!("{name}: {frames} frames in {took:.2} s, {:.0} frames/s", frames as f64 / took);
    }
    Ok(())
}
