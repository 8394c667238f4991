//! Damaged captures fail cleanly: no panic, no frame that is not the undamaged one's, no endless loop.

mod common;

use common::{Collect, Plan, open_all, write};
use proptest::prelude::*;
use slyfi_capture::{CaptureError, CaptureReader, Engine, Key, Options, Outcome, decrypt};
use slyfi_ciphers::handshake::Suite;
use std::path::PathBuf;

fn frames() -> (Plan, Vec<Vec<u8>>) {
    let plan = Plan::new(Suite::VERSION_2, 2, 2, 4);
    let mut frames = plan.association();
    frames.extend(plan.handshake());
    frames.extend(plan.data(9).into_iter().map(|(f, _)| f));
    (plan, frames)
}

fn temporary(name: &str, bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("slyfi-damage-{}-{name}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_file_cut_at_any_byte_opens_what_is_whole() {
    let (plan, frames) = frames();
    let path = write("cut", &frames);
    let whole = std::fs::read(&path).unwrap();
    let full = open_all(&path, &[plan.key()]).0;
    for len in (0..whole.len()).step_by(7) {
        let cut = temporary("cut", &whole[..len]);
        let mut sink = Collect::default();
        match decrypt(std::slice::from_ref(&cut), &[plan.key()], Options::default(), &mut sink) {
            Ok(report) => {
                assert!(full.starts_with(&sink.0), "cut at {len}");
                assert!(report.files[0].packets <= frames.len() as u64);
            }
            Err(e) => {
                assert!(matches!(e, CaptureError::NotACapture { .. }) && len < 24, "{len}: {e}")
            }
        }
        std::fs::remove_file(cut).unwrap();
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_cut_file_says_so_and_a_whole_one_does_not() {
    let (_, frames) = frames();
    let path = write("says", &frames);
    let whole = std::fs::read(&path).unwrap();
    assert!(!open_all(&path, &[]).1.files[0].is_cut);
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert!(open_all(&path, &[]).1.files[0].is_cut);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_is_no_capture_is_an_error_that_names_the_file() {
    for bytes in [&b""[..], b"hello", b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"] {
        let path = temporary("none", bytes);
        let error = decrypt(std::slice::from_ref(&path), &[], Options::default(), &mut ()).unwrap_err();
        assert!(error.to_string().contains("slyfi-damage"), "{error}");
        std::fs::remove_file(path).unwrap();
    }
    let gone = decrypt(&[PathBuf::from("/no/such/file")], &[], Options::default(), &mut ());
    assert!(matches!(gone, Err(CaptureError::Read { .. })));
}

#[test]
fn a_block_that_claims_to_be_enormous_ends_the_file() {
    let (_, frames) = frames();
    let path = write("huge", &frames);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[24 + 8..24 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    std::fs::write(&path, &bytes).unwrap();
    let report = open_all(&path, &[]).1;
    assert!(report.files[0].is_cut);
    assert_eq!(report.files[0].packets, 0);
    std::fs::remove_file(path).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn one_damaged_byte_never_yields_a_payload_that_was_not_sent(
        at in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        let (plan, mut frames) = frames();
        let sent: Vec<Vec<u8>> = plan.data(9).into_iter().map(|(_, p)| p).collect();
        let total: usize = frames.iter().map(Vec::len).sum();
        let mut at = at.index(total);
        let frame = frames.iter_mut().find(|f| {
            let inside = at < f.len();
            if !inside {
                at -= f.len();
            }
            inside
        });
        frame.unwrap()[at] ^= 1 << bit;
        let mut engine = Engine::new(&[plan.key()]);
        for pass in 0..2 {
            for (n, frame) in frames.iter().enumerate() {
                if let Outcome::Opened(opened) = engine.observe(0, n as u64, 0, frame, false) {
                    prop_assert!(sent.iter().any(|p| p == opened.payload), "pass {pass}");
                }
            }
            engine.start_over();
        }
    }

    #[test]
    fn arbitrary_frames_never_panic(
        frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..20),
    ) {
        let keys: Vec<Key> = ["wpa-pwd:12345678", "wep:1234567890", "wpa-pwd:12345678:x"]
            .iter().map(|k| k.parse().unwrap()).collect();
        let mut engine = Engine::new(&keys);
        for (n, frame) in frames.iter().enumerate() {
            engine.observe(0, n as u64, 0, frame, n % 2 == 0);
        }
        engine.into_report(Vec::new()).to_json();
    }

    #[test]
    fn handshake_frames_with_arbitrary_tails_never_panic(
        which in 0usize..10,
        keep in 0usize..160,
        tail in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        let (plan, mut frames) = frames();
        let frame = &mut frames[which];
        frame.truncate(keep);
        frame.extend(&tail);
        let mut engine = Engine::new(&[plan.key()]);
        for (n, frame) in frames.iter().enumerate() {
            engine.observe(0, n as u64, 0, frame, false);
        }
    }

    #[test]
    fn arbitrary_files_never_panic(
        magic in prop::sample::select(vec![
            vec![0xd4u8, 0xc3, 0xb2, 0xa1], vec![0xa1, 0xb2, 0x3c, 0x4d], vec![0x0a, 0x0d, 0x0d, 0x0a], vec![]]),
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        name in any::<u32>(),
    ) {
        let path = temporary(&format!("any-{name}"), &[magic, bytes].concat());
        if let Ok(mut reader) = CaptureReader::open(&path) {
            let mut packet = slyfi_capture::Packet::default();
            while reader.read(&mut packet).unwrap() {
                let _ = slyfi_capture::link_layer::contents(packet.link_type, &packet.data);
            }
        }
        std::fs::remove_file(path).unwrap();
    }
}
