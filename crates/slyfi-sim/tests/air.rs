//! The air's own promises: what it does with machines, disks, captures, attackers and wires.

mod support;

use slyfi_base::link::{Persist, RecordKind};
use slyfi_base::reason::DropCounters;
use slyfi_base::{
    ApiMisuse, Command, Dbm, Duration, Instant, Link, Now, Output, Rate, Redacted, Refused, RxMeta,
    TxMeta, UnixTime,
};
use slyfi_sim::adversary::{AckSpoofer, Jammer, Replay, Replayer};
use slyfi_sim::capture::SharedBuffer;
use slyfi_sim::medium::Corruption;
use slyfi_sim::{
    Air, AnyLink, CrashPoint, Fcs, Happened, LinkQuality, NodeConfig, NodeId, Rule, RunError,
    SilentHost, Sniffer, Verdict,
};
use slyfi_wire::carrier;
use slyfi_wire::radiotap::Radiotap;
use std::collections::VecDeque;
use support::{Format, Toy};

fn toy(air: &mut Air, config: NodeConfig, format: Format) -> NodeId {
    let rng = air.rng("toy", u64::from(air.now().as_micros() == 0));
    air.add_node(config, Box::new(Toy::new(format, rng)), Box::<SilentHost>::default())
}

fn pair(seed: u64) -> (Air, NodeId, NodeId) {
    let mut air = Air::new(seed);
    air.referee().expect_findings();
    let a = toy(&mut air, NodeConfig::new("a"), Format::Clear);
    let b = toy(&mut air, NodeConfig::new("b"), Format::Clear);
    // Past the first DIFS, so that a frame begins at once.
    air.run_for(Duration::from_millis(1)).unwrap();
    (air, a, b)
}

fn packets(air: &Air, node: NodeId) -> &[Vec<u8>] {
    &air.host::<SilentHost>(node).unwrap().packets
}

/// Says what it is told to say, in order.
struct Script {
    lines: VecDeque<Line>,
    backhaul: Vec<Vec<u8>>,
    drops: DropCounters,
}

#[derive(Clone)]
enum Line {
    Transmit(Rate, usize),
    Persist(u8, Option<u64>),
    Backhaul(u8),
    KeyLog(u8),
    NeedsBuffer(usize),
    Spin,
    Fail,
}

impl Script {
    fn new(lines: &[Line]) -> Self {
        let drops = DropCounters::default();
        Script { lines: lines.iter().cloned().collect(), backhaul: Vec::new(), drops }
    }
}

impl Link for Script {
    fn handle_frame(&mut self, _: Now, _: RxMeta, _: &mut [u8]) {}
    fn handle_packet(&mut self, _: Now, _: &[u8]) -> Result<(), Refused> {
        Err(Refused::NotLinked)
    }
    fn handle_backhaul(&mut self, _: Now, message: &[u8]) {
        self.backhaul.push(message.to_vec());
    }
    fn handle_command(&mut self, _: Now, _: Command) -> Result<(), ApiMisuse> {
        Ok(())
    }
    fn handle_timeout(&mut self, _: Now) {}
    fn poll_output<'b>(&mut self, buf: &'b mut [u8]) -> Output<'b> {
        if let Some(Line::NeedsBuffer(needed)) = self.lines.front()
            && buf.len() < *needed
        {
            return Output::BufferTooSmall { needed: *needed };
        }
        match self.lines.pop_front() {
            Some(Line::Transmit(rate, len)) => {
                // To a group: nobody acknowledges it.
                buf[4] = 0xff;
                Output::Transmit(TxMeta { rate }, &buf[..len])
            }
            Some(Line::Persist(byte, until)) => {
                buf[0] = byte;
                let until = until.map(UnixTime::from_secs);
                let bytes = Redacted::new(&buf[..1]);
                Output::Persist(Persist { kind: RecordKind::Replay, until, bytes })
            }
            Some(Line::Backhaul(byte)) => {
                buf[0] = byte;
                Output::Backhaul(&buf[..1])
            }
            Some(Line::KeyLog(byte)) => {
                buf[0] = byte;
                Output::KeyLog(Redacted::new(&buf[..1]))
            }
            Some(Line::NeedsBuffer(needed)) => {
                buf[4] = 0xff;
                Output::Transmit(TxMeta::default(), &buf[..needed.min(2000)])
            }
            // The past: a machine that never lets time go on.
            Some(Line::Spin) => {
                self.lines.push_front(Line::Spin);
                Output::Timeout(Some(Instant::ZERO))
            }
            Some(Line::Fail) => Output::Failed(slyfi_base::LinkError::Inconsistent),
            None => Output::Timeout(None),
        }
    }
    fn drops(&self) -> &DropCounters {
        &self.drops
    }
}

fn script(air: &mut Air, config: NodeConfig, lines: &[Line]) -> NodeId {
    air.referee().expect_findings();
    let id = air.add_node(config, Box::new(Script::new(&[])), Box::<SilentHost>::default());
    let lines = lines.to_vec();
    air.restart(id, |_, _| Box::new(Script::new(&lines)) as Box<dyn AnyLink>);
    id
}

#[test]
fn a_machine_that_spins_or_fails_or_sends_at_no_rate_ends_the_run() {
    let run = |line| {
        let mut air = Air::new(7);
        script(&mut air, NodeConfig::new("it"), &[line]);
        air.run_for(Duration::from_secs(1))
    };
    let stuck = run(Line::Spin).unwrap_err();
    assert!(matches!(&stuck, RunError::BusyLoop { node, .. } if node == "it"), "{stuck}");
    assert!(matches!(run(Line::Fail), Err(RunError::Failed { .. })));
    assert!(matches!(run(Line::Transmit(Rate(13), 60)), Err(RunError::NoSuchRate { .. })));
    assert!(run(Line::Transmit(Rate(12), 60)).is_ok());
    assert!(stuck.to_string().contains("seed 7"), "{stuck}");
}

#[test]
fn buffers_grow_as_asked_and_key_log_lines_are_kept() {
    let mut air = Air::new(1);
    let lines = [Line::NeedsBuffer(100_000), Line::KeyLog(9)];
    let id = script(&mut air, NodeConfig::new("it"), &lines);
    air.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!(air.stats(id).sent, 1);
    assert_eq!(air.key_log(id), [vec![9]]);
}

#[test]
fn a_crash_comes_exactly_where_it_was_planned() {
    let lines = [
        Line::Persist(1, None),
        Line::Transmit(Rate(12), 60),
        Line::Persist(2, None),
        Line::Transmit(Rate(12), 61),
    ];
    let run = |point| {
        let mut air = Air::new(1);
        air.referee().expect_findings();
        let host = Box::<SilentHost>::default();
        let id = air.add_node(NodeConfig::new("it"), Box::new(Script::new(&[])), host);
        if let Some(point) = point {
            air.crash_at(id, point);
        }
        air.restart(id, |_, _| Box::new(Script::new(&lines)) as Box<dyn AnyLink>);
        air.run_for(Duration::from_secs(1)).unwrap();
        let wall = air.wall();
        (air.disk(id).records(wall).len(), air.stats(id).sent, air.any_link(id).is_some())
    };
    assert_eq!(run(None), (2, 2, true));
    assert_eq!(run(Some(CrashPoint::BeforePersist(1))), (0, 0, false));
    assert_eq!(run(Some(CrashPoint::AfterPersist(1))), (1, 0, false));
    assert_eq!(run(Some(CrashPoint::AfterTransmit(1))), (1, 1, false));
    assert_eq!(run(Some(CrashPoint::BeforePersist(2))), (1, 1, false));
    assert_eq!(run(Some(CrashPoint::AfterPersist(2))), (2, 1, false));
    assert_eq!(run(Some(CrashPoint::AfterPersist(3))), (2, 2, true));
}

#[test]
fn records_that_may_be_forgotten_are_not_read_back() {
    let mut air = Air::new(1).with_epoch(UnixTime::from_secs(1000));
    let lines = [Line::Persist(1, Some(1005)), Line::Persist(2, None)];
    let id = script(&mut air, NodeConfig::new("it"), &lines);
    let mut seen = Vec::new();
    for _ in 0..2 {
        air.crash(id);
        air.run_for(Duration::from_secs(4)).unwrap();
        air.restart(id, |records, _| {
            seen.push(records.len());
            Box::new(Script::new(&[])) as Box<dyn AnyLink>
        });
    }
    assert_eq!(seen, [2, 1]);
    let happened: Vec<_> = air.events_of(id).map(|r| r.what).collect();
    let (c, r) = (Happened::Crashed, Happened::Restarted);
    assert_eq!(happened, [r, c, r, c, r]);
}

#[test]
fn the_backhaul_reaches_the_others_of_the_group_after_its_delay_unless_it_is_lost() {
    for (loss, arrives) in [(0.0, 1), (1.0, 0)] {
        let mut air = Air::new(1).with_backhaul(Duration::from_millis(5), loss);
        let listen =
            |air: &mut Air, group| script(air, NodeConfig::new("ap").with_backhaul(group), &[]);
        let (same, other) = (listen(&mut air, 1), listen(&mut air, 2));
        let sender = script(&mut air, NodeConfig::new("ap").with_backhaul(1), &[Line::Backhaul(7)]);
        let heard = |air: &Air, id| air.link::<Script>(id).unwrap().backhaul.len();
        air.run_for(Duration::from_micros(4_999)).unwrap();
        assert_eq!(heard(&air, same), 0);
        air.run_for(Duration::from_micros(1)).unwrap();
        assert_eq!(heard(&air, same), arrives);
        assert_eq!((heard(&air, other), heard(&air, sender)), (0, 0));
        let lost = air.events_of(same).filter(|r| r.what == Happened::BackhaulLost).count();
        assert_eq!(lost, 1 - arrives);
    }
}

#[test]
fn damaged_frames_end_in_the_radio_unless_it_was_told_to_pass_them() {
    for (fcs, passes, delivered, heard) in [
        (Fcs::Fails, false, 0, 0),
        (Fcs::Fails, true, 0, 1),
        // Nobody noticed: the machine has to.
        (Fcs::Passes, false, 1, 1),
    ] {
        let mut air = Air::new(1);
        air.referee().expect_findings();
        let a = toy(&mut air, NodeConfig::new("a"), Format::Clear);
        let config = NodeConfig::new("b");
        let config = if passes { config.with_bad_fcs() } else { config };
        let b = toy(&mut air, config, Format::Clear);
        let corruption = Corruption { chance: 1.0, bits: 3, fcs };
        air.medium().set(a, b, LinkQuality { corruption, ..LinkQuality::PERFECT });
        air.send_packet(a, &[0; 100]).unwrap();
        air.run_for(Duration::from_secs(1)).unwrap();
        assert_eq!((air.stats(b).delivered, air.stats(b).heard), (delivered, heard));
        let frames = &air.link::<Toy>(b).unwrap().heard;
        for (_, meta, frame) in frames {
            assert_eq!(meta.bad_fcs, fcs == Fcs::Fails);
            let mut sent = carrier::HEADER.to_vec();
            sent.extend_from_slice(&[0; 100]);
            let flipped: u32 = frame.iter().zip(&sent).map(|(a, b)| (a ^ b).count_ones()).sum();
            assert_eq!(flipped, 3);
        }
    }
}

#[test]
fn frames_are_duplicated_delayed_and_overtaken() {
    let (mut air, a, b) = pair(1);
    air.medium().set(a, b, LinkQuality { duplicate: 1.0, ..LinkQuality::PERFECT });
    air.send_packet(a, &[1; 50]).unwrap();
    air.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!(packets(&air, b).len(), 2);

    let (mut air, a, b) = pair(1);
    let slow = Verdict::Deliver { delay: Duration::from_millis(20) };
    air.medium().add_rule(Rule::new(slow).from(a).to(b).times(1));
    air.send_packet(a, &[1; 50]).unwrap();
    air.send_packet(a, &[2; 50]).unwrap();
    air.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!(packets(&air, b), [vec![2; 50], vec![1; 50]]);
    let at: Vec<u64> = air.link::<Toy>(b).unwrap().heard.iter().map(|h| h.0.as_micros()).collect();
    // Both frames are 82 bytes at 54 Mb/s: 36 µs; the first begins at once.
    assert_eq!(at[1], 1_000 + 36 + 20_000);
}

#[test]
fn a_machine_hears_in_range_only_and_with_the_strength_of_the_link() {
    let (mut air, a, b) = pair(1);
    air.medium().set(a, b, LinkQuality { signal: Some(Dbm(-71)), ..LinkQuality::PERFECT });
    air.send_packet(a, &[1; 50]).unwrap();
    air.run_for(Duration::from_secs(1)).unwrap();
    let (_, meta, _) = air.link::<Toy>(b).unwrap().heard[0];
    assert_eq!((meta.signal, meta.rate), (Some(Dbm(-71)), Some(Rate::PEAK)));
    air.medium().set(a, b, LinkQuality::UNHEARD);
    air.send_packet(a, &[1; 50]).unwrap();
    air.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!(packets(&air, b).len(), 1);
    // The other way still works.
    air.send_packet(b, &[1; 50]).unwrap();
    air.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!(packets(&air, a).len(), 1);
}

/// The frames of a pcapng: time stamp in µs and radiotap packet.
fn frames(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let (mut at, mut out) = (0, Vec::new());
    while at < bytes.len() {
        let word = |o: usize| u32::from_le_bytes(bytes[at + o..at + o + 4].try_into().unwrap());
        let len = word(4) as usize;
        assert!(len.is_multiple_of(4) && word(len - 4) as usize == len, "a broken block");
        match word(0) {
            1 => assert_eq!(word(8) & 0xffff, 127, "link type"),
            6 => {
                let time = u64::from(word(12)) << 32 | u64::from(word(16));
                out.push((time, bytes[at + 28..at + 28 + word(20) as usize].to_vec()));
            }
            _ => {}
        }
        at += len;
    }
    out
}

#[test]
fn a_sniffer_writes_what_it_hears_with_time_rate_and_signal_and_misses_its_own_losses() {
    let (mut air, a, b) = pair(1);
    let file = SharedBuffer::default();
    let sniffer = Sniffer::new().with_capture(file.clone());
    let sniffer = air.add_sniffer(NodeConfig::new("sniffer"), sniffer);
    air.medium().set(a, sniffer, LinkQuality { signal: Some(Dbm(-66)), ..LinkQuality::PERFECT });
    air.send_packet(a, &[1; 50]).unwrap();
    air.run_for(Duration::from_millis(1)).unwrap();
    air.medium().drop_next(b, sniffer, 1);
    air.send_packet(b, &[2; 50]).unwrap();
    air.run_for(Duration::from_millis(1)).unwrap();
    let damaged = Corruption { chance: 1.0, bits: 1, fcs: Fcs::Fails };
    air.medium().set(b, sniffer, LinkQuality { corruption: damaged, ..LinkQuality::PERFECT });
    air.send_packet(b, &[3; 50]).unwrap();
    air.run_for(Duration::from_millis(1)).unwrap();
    air.flush().unwrap();

    let seen = frames(&file.bytes());
    assert_eq!(seen.len(), 2);
    // 2008-06-17T00:00:00Z, a millisecond, and the 36 µs of the frame.
    assert_eq!(seen[0].0, 1_213_660_800_001_036);
    let first = Radiotap::new_checked(&seen[0].1).unwrap();
    assert_eq!(first.info().rate, Some(Rate::PEAK));
    assert_eq!(first.info().signal, Some(Dbm(-66)));
    assert_eq!(first.info().channel.map(|c| c.frequency), Some(5180));
    assert!(!first.info().is_bad_fcs());
    assert_eq!(&first.frame()[carrier::HEADER_LEN..], [1; 50]);
    assert!(Radiotap::new_checked(&seen[1].1).unwrap().info().is_bad_fcs());
    assert_eq!(air.sniffer(sniffer).unwrap().linkability().frames(), 1);
}

#[test]
fn a_capture_that_cannot_be_written_ends_the_run() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (mut air, a, _) = pair(1);
    air.add_sniffer(NodeConfig::new("sniffer"), Sniffer::new().with_capture(Full));
    air.send_packet(a, &[1; 50]).unwrap();
    let result = air.run_for(Duration::from_secs(1));
    assert!(matches!(result, Err(RunError::Capture { .. })), "{result:?}");
}

#[test]
fn jamming_destroys_what_it_overlaps() {
    let (mut air, a, b) = pair(1);
    let noise = [(Instant::from_micros(1_010), Duration::from_micros(10))];
    air.add_adversary(NodeConfig::new("jammer"), Box::new(Jammer::new(noise)));
    air.send_packet(a, &[1; 50]).unwrap();
    air.run_for(Duration::from_millis(1)).unwrap();
    assert_eq!((packets(&air, b).len(), air.stats(a).collided), (0, 1));
    air.send_packet(a, &[1; 50]).unwrap();
    air.run_for(Duration::from_millis(1)).unwrap();
    assert_eq!(packets(&air, b).len(), 1);
}

#[test]
fn the_stronger_frame_survives_an_overlap_only_where_capture_is_on() {
    for (capture, survive) in [(None, 0), (Some(10), 1)] {
        let mut air = Air::new(1);
        if let Some(db) = capture {
            air = air.with_capture(db);
        }
        air.referee().expect_findings();
        let near = toy(&mut air, NodeConfig::new("near"), Format::Clear);
        let far = toy(&mut air, NodeConfig::new("far"), Format::Clear);
        let listener = toy(&mut air, NodeConfig::new("listener"), Format::Clear);
        air.medium().set_both(near, far, LinkQuality::UNHEARD);
        let signal = Some(Dbm(-80));
        air.medium().set(far, listener, LinkQuality { signal, ..LinkQuality::PERFECT });
        air.send_packet(near, &[1; 500]).unwrap();
        air.send_packet(far, &[2; 500]).unwrap();
        air.run_for(Duration::from_millis(5)).unwrap();
        assert_eq!(packets(&air, listener).len(), survive);
    }
}

#[test]
fn a_replayer_sends_again_what_it_heard() {
    let (mut air, a, b) = pair(1);
    let replayer = Replayer::new(Replay::AllAt(Instant::from_micros(1_000_000)));
    air.add_adversary(NodeConfig::new("replay"), Box::new(replayer));
    for i in 0..5 {
        air.send_packet(a, &[i; 50]).unwrap();
    }
    air.run_for(Duration::from_secs(2)).unwrap();
    let want: Vec<Vec<u8>> = (0..5).chain(0..5).map(|i| vec![i; 50]).collect();
    assert_eq!(packets(&air, b), want);
    assert_eq!(packets(&air, a), &want[..5]);
}

#[test]
fn a_forged_acknowledgement_deceives_an_ordinary_radio() {
    let (a_mac, b_mac) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
    for (spoofed, gave_up) in [(true, 0), (false, 1)] {
        let mut air = Air::new(1);
        air.referee().expect_findings();
        let format = Format::Unicast { from: a_mac, to: b_mac };
        let a = toy(&mut air, NodeConfig::new("a"), format);
        if spoofed {
            air.add_adversary(NodeConfig::new("acks"), Box::new(AckSpoofer::new()));
        }
        // There is no receiver at all.
        air.send_packet(a, &[1; 50]).unwrap();
        air.run_for(Duration::from_secs(1)).unwrap();
        assert_eq!(air.stats(a).gave_up, gave_up);
        assert_eq!(air.stats(a).retries, 6 * gave_up);
    }
}

#[test]
fn scripts_run_at_their_time_and_clocks_are_each_nodes_own() {
    let mut air = Air::new(1).with_epoch(UnixTime::from_secs(1_000));
    air.referee().expect_findings();
    let a = toy(&mut air, NodeConfig::new("a").with_clock(-5_000_000, 0), Format::Clear);
    let b = toy(&mut air, NodeConfig::new("b"), Format::Clear);
    air.at(Instant::from_micros(500_000), move |air| {
        air.send_packet(a, &[1; 50]).unwrap();
        air.step_clock(a, 1_000_000);
    });
    air.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!(air.link::<Toy>(b).unwrap().heard[0].0.as_micros(), 500_036);
    assert_eq!(air.now_of(a).wall, UnixTime::from_secs(997));
    assert_eq!(air.now_of(b).wall, UnixTime::from_secs(1001));
    assert_eq!(air.wall(), UnixTime::from_secs(1001));
}

#[test]
fn running_to_a_goal_stops_there_or_says_that_it_was_not_reached() {
    let (mut air, a, b) = pair(1);
    air.at(Instant::from_micros(500_000), move |air| air.send_packet(a, &[1; 50]).unwrap());
    let heard = |air: &Air| air.stats(b).heard > 0;
    assert!(!air.run_to(Duration::from_millis(400), heard).unwrap());
    assert_eq!(air.now().as_micros(), 401_000);
    assert!(air.run_to(Duration::from_millis(400), heard).unwrap());
    assert_eq!(air.now().as_micros(), 500_036);
}
