//! The medium access against what theory says about it.

mod support;

use slyfi_base::{Duration, Instant, Rate};
use slyfi_sim::dcf::{ACK_LEN, DIFS, SIFS, SLOT, ack_rate, airtime};
use slyfi_sim::{Air, LinkQuality, NodeConfig, NodeId, SilentHost};
use support::{Format, Toy};

const A: [u8; 6] = [2, 0, 0, 0, 0, 1];
const B: [u8; 6] = [2, 0, 0, 0, 0, 2];
const LEN: usize = 1500;

fn saturated(air: &mut Air, format: Format, rate: Rate) -> NodeId {
    let interval = Duration::from_micros(airtime(LEN, rate).as_micros() / 2);
    let rng = air.rng("toy", air.now().as_micros());
    let toy = Toy::new(format, rng).at_rate(rate).saturating(LEN, interval);
    air.add_node(NodeConfig::new("sender"), Box::new(toy), Box::<SilentHost>::default())
}

fn listener(air: &mut Air, config: NodeConfig, format: Format) -> NodeId {
    let rng = air.rng("listener", 0);
    air.add_node(config, Box::new(Toy::new(format, rng)), Box::<SilentHost>::default())
}

fn quiet(seed: u64) -> Air {
    let mut air = Air::new(seed);
    // The toys send what they like; here it is about time.
    air.referee().expect_findings();
    air
}

#[test]
fn a_saturated_broadcast_has_the_throughput_of_theory() {
    for rate in [Rate::BASE, Rate::PEAK] {
        let mut air = quiet(1);
        let sender = saturated(&mut air, Format::Random, rate);
        listener(&mut air, NodeConfig::new("listener"), Format::Random);
        air.run_for(Duration::from_secs(10)).unwrap();
        // One sender: DIFS, half a contention window on average, the frame.
        let cycle = DIFS as f64 + 7.5 * SLOT as f64 + airtime(LEN, rate).as_micros() as f64;
        let want = 10e6 / cycle;
        let got = air.stats(sender).sent as f64;
        assert!((got / want - 1.0).abs() < 0.01, "{rate:?}: {got} frames, theory {want}");
    }
}

#[test]
fn a_saturated_unicast_has_the_throughput_of_theory() {
    let mut air = quiet(2);
    let sender = saturated(&mut air, Format::Unicast { from: A, to: B }, Rate::PEAK);
    let config = NodeConfig::new("receiver").with_hardware_address(B);
    let receiver = listener(&mut air, config, Format::Unicast { from: B, to: A });
    air.run_for(Duration::from_secs(10)).unwrap();
    let ack = airtime(ACK_LEN, ack_rate(Rate::PEAK)).as_micros();
    let data = airtime(LEN, Rate::PEAK).as_micros();
    let want = 10e6 / (DIFS as f64 + 7.5 * SLOT as f64 + (data + SIFS + ack) as f64);
    let delivered = air.stats(receiver).delivered as f64;
    assert!((delivered / want - 1.0).abs() < 0.01, "{delivered} frames, theory {want}");
    assert_eq!(air.stats(sender).retries, 0);
}

#[test]
fn two_senders_share_fairly_and_collide_as_often_as_theory_says() {
    let mut air = quiet(3);
    let senders = [(); 2].map(|()| saturated(&mut air, Format::Random, Rate::PEAK));
    let listener = listener(&mut air, NodeConfig::new("listener"), Format::Random);
    air.run_for(Duration::from_secs(20)).unwrap();
    let [a, b] = senders.map(|s| air.stats(s));
    let share = a.sent as f64 / (a.sent + b.sent) as f64;
    assert!((0.48..0.52).contains(&share), "share {share}");
    // Broadcast: the window never grows. In the fixed point of Bianchi's model a station transmits
    // in a slot with probability 2 / (CWmin + 2) = 2 / 17, and that is the other's collision rate.
    let collided = a.collided as f64 / a.sent as f64;
    assert!((0.09..0.15).contains(&collided), "collided {collided}");
    let whole = a.sent + b.sent - a.collided - b.collided;
    // One may be on the air at the end.
    assert!(whole - air.stats(listener).heard <= 1);
}

#[test]
fn many_senders_collide_more_and_none_starves() {
    let mut air = quiet(4);
    let senders = [(); 10].map(|()| saturated(&mut air, Format::Random, Rate::PEAK));
    listener(&mut air, NodeConfig::new("listener"), Format::Random);
    air.run_for(Duration::from_secs(20)).unwrap();
    let sent = senders.map(|s| air.stats(s).sent);
    let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
    assert!(most * 10 < least * 12, "{sent:?}");
    let collided: u64 = senders.iter().map(|s| air.stats(*s).collided).sum();
    let rate = collided as f64 / sent.iter().sum::<u64>() as f64;
    // 1 − (1 − 2/17)⁹ = 0.68 by the same model, which leaves out that after a collision only those
    // who collided contend at once: the others wait an EIFS.
    assert!((0.55..0.7).contains(&rate), "{rate}");
}

#[test]
fn hidden_terminals_collide_where_both_are_heard_and_rts_is_not_there_to_help() {
    let mut air = quiet(5);
    let [a, b] = [(); 2].map(|()| saturated(&mut air, Format::Random, Rate::PEAK));
    let middle = listener(&mut air, NodeConfig::new("middle"), Format::Random);
    air.medium().set_both(a, b, LinkQuality::UNHEARD);
    air.run_for(Duration::from_secs(5)).unwrap();
    let sent = air.stats(a).sent + air.stats(b).sent;
    let heard = air.stats(middle).heard;
    assert!(heard * 10 < sent, "{heard} of {sent} survived");
    // Each alone has the whole air to itself.
    assert!(air.stats(a).sent * 100 > 5_000_000 * 100 / 350, "{}", air.stats(a).sent);
}

#[test]
fn unicast_is_retried_up_to_the_limit_and_broadcast_never() {
    let mut air = quiet(6);
    let rng = air.rng("toy", 0);
    let toy = Toy::new(Format::Unicast { from: A, to: B }, rng);
    let a = air.add_node(NodeConfig::new("a"), Box::new(toy), Box::<SilentHost>::default());
    let config = NodeConfig::new("b").with_hardware_address(B);
    let b = listener(&mut air, config, Format::Unicast { from: B, to: A });

    air.medium().drop_next(a, b, 3);
    air.send_packet(a, &[1; 100]).unwrap();
    air.run_for(Duration::from_millis(100)).unwrap();
    assert_eq!((air.stats(a).retries, air.stats(a).gave_up), (3, 0));
    assert_eq!(air.stats(b).delivered, 1);

    // A lost ACK: the receiver sees the frame once and acknowledges it twice.
    air.medium().drop_next(b, a, 1);
    air.send_packet(a, &[2; 100]).unwrap();
    air.run_for(Duration::from_millis(100)).unwrap();
    assert_eq!((air.stats(a).retries, air.stats(b).delivered), (4, 2));
    assert_eq!(air.stats(b).sent, 3);

    air.medium().set(a, b, LinkQuality::lossy(1.0));
    air.send_packet(a, &[3; 100]).unwrap();
    air.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!((air.stats(a).retries, air.stats(a).gave_up), (10, 1));

    let mut air = quiet(7);
    let rng = air.rng("toy", 0);
    let toy = Box::new(Toy::new(Format::Random, rng));
    let a = air.add_node(NodeConfig::new("a"), toy, Box::<SilentHost>::default());
    let b = listener(&mut air, NodeConfig::new("b").with_hardware_address(B), Format::Random);
    air.medium().set(a, b, LinkQuality::lossy(1.0));
    air.send_packet(a, &[3; 100]).unwrap();
    air.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!((air.stats(a).sent, air.stats(b).sent), (1, 0));
}

#[test]
fn a_full_queue_drops_and_counts() {
    let mut air = quiet(8);
    let rng = air.rng("toy", 0);
    let toy = Box::new(Toy::new(Format::Random, rng));
    let config = NodeConfig::new("a").with_queue(10);
    let a = air.add_node(config, toy, Box::<SilentHost>::default());
    for _ in 0..25 {
        air.send_packet(a, &[0; 1000]).unwrap();
    }
    air.run_for(Duration::from_secs(1)).unwrap();
    let s = air.stats(a);
    assert_eq!((s.sent, s.queue_drops), (10, 15));
}

#[test]
fn the_duration_field_keeps_a_hidden_sender_from_the_acknowledgement() {
    // c hears a but not b: only a's Duration field tells it that an ACK follows.
    let mut air = quiet(9);
    let a = saturated(&mut air, Format::Unicast { from: A, to: B }, Rate::PEAK);
    let config = NodeConfig::new("b").with_hardware_address(B);
    let b = listener(&mut air, config, Format::Unicast { from: B, to: A });
    let c = saturated(&mut air, Format::Random, Rate::PEAK);
    air.medium().set_both(b, c, LinkQuality::UNHEARD);
    air.run_until(Instant::from_micros(5_000_000)).unwrap();
    // Without it c would begin a DIFS after a's frame, in the middle of the ACK: at least as often
    // as its first slots come up. What is left are the collisions of a and c.
    let (a, c) = (air.stats(a), air.stats(c));
    assert!(a.retries * 100 < a.sent * 20, "{a:?} {c:?}");
    assert_eq!(a.gave_up, 0);
}
