//! One seed, one run.

mod support;

use slyfi_base::{Duration, Instant, MacAddress, TxMeta};
use slyfi_sim::adversary::{Junk, JunkFlooder, Replay, Replayer};
use slyfi_sim::capture::SharedBuffer;
use slyfi_sim::medium::Corruption;
use slyfi_sim::{Air, Fcs, FlowHost, LinkQuality, Loss, NodeConfig, Sniffer};
use support::{Format, Toy};

/// A busy little air: loss, damage, reordering, attackers; returns all that can be seen of it.
fn run(seed: u64) -> (Vec<u8>, u64, u64, String) {
    let mut air = Air::new(seed);
    air.referee().expect_findings();
    let quality = LinkQuality {
        loss: Loss::Bursty { worsen: 0.05, recover: 0.3, good: 0.01, bad: 0.7 },
        corruption: Corruption { chance: 0.02, bits: 3, fcs: Fcs::Passes },
        duplicate: 0.02,
        reorder: 0.05,
        ..LinkQuality::PERFECT
    };
    air.medium().set_default(quality);
    let file = SharedBuffer::default();
    for i in 0..4u8 {
        let mac = |i| MacAddress([2, 0, 0, 0, 0, i]);
        let host = FlowHost::new(mac(i)).started().with_flow(
            u32::from(i),
            mac((i + 1) % 4),
            u64::MAX,
            (100, 1400),
            Duration::from_micros(1500),
        );
        let link = Toy::new(Format::Clear, air.rng("toy", u64::from(i)));
        let config = NodeConfig::new(format!("node {i}")).with_clock(i64::from(i) * 1000, 20);
        air.add_node(config, Box::new(link), Box::new(host));
    }
    air.add_sniffer(NodeConfig::new("sniffer"), Sniffer::new().with_capture(file.clone()));
    let flood = JunkFlooder::new(
        Junk::Carrier,
        300,
        Duration::from_millis(2),
        TxMeta::default(),
        (Instant::ZERO, Instant::from_micros(500_000)),
        air.rng("junk", 0),
    );
    air.add_adversary(NodeConfig::new("junk"), Box::new(flood));
    let replayer = Replayer::new(Replay::AllAt(Instant::from_micros(900_000)));
    air.add_adversary(NodeConfig::new("replay"), Box::new(replayer));
    air.run_for(Duration::from_secs(1)).unwrap();
    let findings = format!("{:?}", air.referee().findings());
    let seen = format!("{:?} {findings}", air.events());
    air.flush().unwrap();
    (file.bytes(), air.digest(), air.frames(), seen)
}

#[test]
fn the_same_seed_writes_the_same_capture_byte_for_byte() {
    let (one, two) = (run(11), run(11));
    assert!(one.0 == two.0, "captures differ");
    assert_eq!((one.1, one.2, one.3), (two.1, two.2, two.3));
    assert!(one.2 > 1000);
}

#[test]
fn another_seed_gives_another_run() {
    let (one, two) = (run(11), run(12));
    assert!(one.0 != two.0);
    assert_ne!(one.1, two.1);
}
