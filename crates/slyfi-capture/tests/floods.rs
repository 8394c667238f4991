//! Captures made to hurt whoever opens them: more stations, names, nonces and interfaces than there is
//! memory for, in blocks that lie about their lengths. Each takes a bounded time and place.

mod common;

use common::{PASSPHRASE, Plan, management};
use slyfi_capture::{CaptureReader, Engine, Input, Key, Options, Outcome, Packet, decrypt_inputs};
use slyfi_ciphers::handshake::Suite;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Held by tests that measure memory: it is the whole process's.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most memory that this process ever had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn address(n: u32) -> [u8; 6] {
    let [a, b, c, d] = n.to_be_bytes();
    [2, 7, a, b, c, d]
}

fn with_ends(frame: &[u8], receiver: [u8; 6], transmitter: [u8; 6]) -> Vec<u8> {
    let mut f = frame.to_vec();
    f[4..10].copy_from_slice(&receiver);
    f[10..16].copy_from_slice(&transmitter);
    f
}

/// A million of each, in a full run; enough to pass every bound otherwise.
fn many() -> u32 {
    if std::env::var_os("SLYFI_FULL").is_some() { 1_000_000 } else { 150_000 }
}

#[test]
fn a_million_transmitters_do_not_fill_the_memory_and_the_real_one_is_still_followed() {
    let _alone = alone();
    let plan = Plan::new(Suite::VERSION_2, 2, 2, 4);
    let real: Vec<Vec<u8>> = plan.association().into_iter().chain(plan.handshake()).collect();
    let (message_1, message_2) = (&real[3], &real[4]);
    let protected = plan.data(9);
    let before = peak();
    let mut engine = Engine::new(&[plan.key()]);
    let mut told = 0;
    let mut look = |frame: &[u8]| -> bool {
        told += 1;
        matches!(engine.observe(0, told, 0, frame, false), Outcome::Opened(_))
    };
    for n in 0..many() {
        // A protected frame, an announced network, half a handshake, an association.
        look(&with_ends(&protected[0].0, plan.ap, address(n)));
        let mut beacon = with_ends(&real[0], [0xff; 6], address(n));
        beacon[16..22].copy_from_slice(&address(n));
        look(&beacon);
        look(&with_ends(message_1, address(n), plan.ap));
        if n % 8 == 0 {
            let mut request = with_ends(&real[1], address(n), address(n + 1));
            request[16..22].copy_from_slice(&address(n));
            look(&request);
            look(&with_ends(message_2, plan.ap, address(n)));
        }
    }
    for frame in &real {
        look(frame);
    }
    for (frame, _) in &protected {
        assert!(look(frame), "the real network, which came last, is not followed");
    }
    let report = engine.into_report(Vec::new());
    assert!(report.transmitters.len() <= 50_001, "{}", report.transmitters.len());
    let (total, opened) = report.totals();
    assert_eq!((total, opened), (u64::from(many()) + 3, 3), "all are counted");
    assert!(report.transmitters["others"].protected > 0);
    let grown = (peak() - before) / 1024;
    assert!(grown < 400, "{grown} MiB");
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test may look at the clock")]
fn forged_names_and_nonces_cost_little_time_and_hide_nothing() {
    let plan = Plan::new(Suite::VERSION_2, 2, 2, 4);
    let phrase: Key = format!("wpa-pwd:{PASSPHRASE}").parse().unwrap();
    let real: Vec<Vec<u8>> = plan.association().into_iter().chain(plan.handshake()).collect();
    let mut engine = Engine::new(&[phrase]);
    let start = Instant::now();
    // A forger announces a new name a thousand times, and a new nonce ten thousand times.
    for n in 0..1000u32 {
        let body = [&[0; 12][..], &[0, 4], &n.to_be_bytes()].concat();
        engine.observe(0, 1, 0, &management(0x80, [0xff; 6], plan.ap, plan.ap, &body), false);
    }
    for n in 0..10_000u32 {
        for (message, at) in [(3, 32 + 17), (4, 32 + 17), (5, 32 + 17)] {
            let mut forged = real[message].clone();
            forged[at..at + 4].copy_from_slice(&n.to_be_bytes());
            engine.observe(0, 1, 0, &forged, false);
        }
    }
    for frame in &real {
        engine.observe(0, 1, 0, frame, false);
    }
    for (frame, payload) in plan.data(9) {
        let Outcome::Opened(opened) = engine.observe(0, 1, 0, &frame, false) else {
            panic!("the real handshake is not followed");
        };
        assert_eq!(opened.payload, payload);
    }
    // An unoptimised build on a busy machine takes some ten seconds.
    assert!(start.elapsed() < Duration::from_secs(120), "{:?}", start.elapsed());
}

fn read_all(bytes: Vec<u8>) -> (u64, bool) {
    let mut reader = CaptureReader::new(Path::new("memory"), std::io::Cursor::new(bytes)).unwrap();
    let mut packet = Packet::default();
    while reader.read(&mut packet).unwrap() {}
    (packet.number, reader.is_cut())
}

/// A pcapng block of this type and body, its lengths right.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut padded = body.to_vec();
    padded.resize(body.len().next_multiple_of(4), 0);
    let len = (padded.len() as u32 + 12).to_le_bytes();
    [&kind.to_le_bytes()[..], &len, &padded, &len].concat()
}

fn section() -> Vec<u8> {
    let body = [0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255];
    block(0x0a0d_0d0a, &body)
}

fn interface(options: &[u8]) -> Vec<u8> {
    block(1, &[&[105, 0, 0, 0, 0, 0, 4, 0][..], options].concat())
}

fn packet(frame: &[u8], claimed: u32) -> Vec<u8> {
    let head = [[0; 4], [0; 4], [0; 4], claimed.to_le_bytes(), claimed.to_le_bytes()].concat();
    block(6, &[&head[..], frame].concat())
}

#[test]
fn absurd_blocks_and_options_of_pcapng_end_the_file_or_are_passed_over() {
    let _alone = alone();
    let frame = [0x08; 24];
    let good = packet(&frame, 24);
    let whole = [section(), interface(&[]), good.clone()].concat();
    assert_eq!(read_all(whole.clone()), (1, false));
    // Options that run past their block, of length 65535, without an end, with an absurd resolution.
    for options in [
        &[9, 0, 255, 255][..],
        &[9, 0, 1, 0, 0xff, 0, 0, 0],
        &[9, 0, 1, 0, 0x7f, 0, 0, 0],
        &[14, 0, 8, 0, 255, 255, 255, 255, 255, 255, 255, 127],
        &[9, 0, 0, 0],
        &[1, 0, 3, 0, 1, 2, 3],
    ] {
        let (read, _) = read_all([section(), interface(options), good.clone()].concat());
        assert!(read <= 1, "{options:?}");
    }
    // A packet that claims more than its block has, one of an interface that is not there, a block of
    // an unknown kind, one of length zero, and a section inside the section.
    for claimed in [25, 1000, u32::MAX] {
        let (read, _) = read_all([section(), interface(&[]), packet(&frame, claimed)].concat());
        assert!(read <= 1);
    }
    assert_eq!(read_all([section(), good.clone()].concat()), (0, false));
    let odd = [section(), interface(&[]), block(0x7777, &[1; 40]), good.clone()].concat();
    assert_eq!(read_all(odd), (1, false));
    let none = [&whole[..], &[6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
    assert_eq!(read_all(none), (1, true));
    assert_eq!(read_all([whole.clone(), whole.clone()].concat()), (2, false));
    // A block that claims 4 GiB, and a million interfaces.
    let huge = [&whole[..], &[6, 0, 0, 0, 0xf0, 0xff, 0xff, 0xff], &[0; 64]].concat();
    let before = peak();
    assert_eq!(read_all(huge), (1, true));
    let mut crowd = section();
    let one = interface(&[]);
    (0..100_000).for_each(|_| crowd.extend(&one));
    crowd.extend(&good);
    assert_eq!(read_all(crowd), (1, false));
    assert!((peak() - before) / 1024 < 200, "{} KiB", peak() - before);
}

#[test]
fn every_cut_and_every_single_change_of_a_small_capture_is_read_to_an_end() {
    let plan = Plan::new(Suite::VERSION_2, 2, 2, 4);
    let (data, key) = (plan.data(9), [plan.key()]);
    let sent: Vec<&Vec<u8>> = data.iter().map(|(_, p)| p).collect();
    let frames: Vec<Vec<u8>> =
        plan.handshake().into_iter().chain(data.iter().map(|d| d.0.clone())).collect();
    let path = common::write("every", &frames);
    let whole = std::fs::read(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    let open = |bytes: &[u8]| {
        let mut inputs = [Input::bytes(Path::new("memory"), bytes)];
        let mut sink = common::Collect::default();
        let report = decrypt_inputs(&mut inputs, &key, Options::default(), &mut sink, &mut |_| {});
        (report.is_ok(), sink.0)
    };
    assert_eq!(open(&whole).1.len(), 3);
    for len in 0..whole.len() {
        let (read, opened) = open(&whole[..len]);
        assert_eq!(read, len >= 24, "cut at {len}");
        assert!(opened.iter().all(|(_, p)| sent.contains(&p)), "cut at {len}");
    }
    for at in 0..whole.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= change;
            let opened = open(&bytes).1;
            assert!(opened.iter().all(|(_, p)| sent.contains(&p)), "byte {at} changed");
        }
    }
}
