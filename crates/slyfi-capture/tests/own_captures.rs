//! Captures made with hostapd and wpa_supplicant (`vectors/captures/make.py`): every protected frame
//! opens, to what tshark gives where tshark opens it, and to the pings that were sent.

mod common;

use common::{Collect, open_all, tshark};
use slyfi_capture::{Input, Key, Options, Packet, PcapWriter, decrypt_inputs};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How many frames each capture has that are protected, and how many of them tshark 4.0 opens. It has
/// no SHA-512, no FILS, and no key for: a group key in WPA's AES-wrapped or RSN's RC4-encrypted key
/// data or under a 256-bit KEK, one that a station gets when it wakes up, and four addresses; behind
/// RSNXE it finds no FT key.
const CASES: &[(&str, u64, usize)] = &[
    ("ccmp-256", 36, 35),
    ("extended-key-id", 47, 47),
    ("fils-sha256", 47, 0),
    ("fils-sha384", 43, 0),
    ("fragments-tkip", 57, 57),
    ("ft-psk-over-ds", 76, 76),
    ("ft-sae", 94, 94),
    ("gcmp-256", 48, 47),
    ("mixed", 89, 84),
    ("ocv", 86, 40),
    ("owe-21", 20, 0),
    ("rsn-tkip", 33, 19),
    ("sae", 31, 31),
    ("suite-b-192", 32, 19),
    ("tdls", 65, 65),
    ("two-networks", 34, 34),
    ("wds-tkip", 28, 2),
    ("wep-104-shared", 21, 21),
    ("wnm-sleep", 34, 30),
    ("wpa-ccmp", 32, 20),
];

/// What each ping carries (`ping -p`).
const PATTERN: &[u8] = b"slyfslyfslyfslyf";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/captures")
}

fn capture(name: &str) -> PathBuf {
    folder().join(format!("{name}.pcap"))
}

fn texts() -> BTreeMap<String, Vec<String>> {
    let text = std::fs::read_to_string(folder().join("keys.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn keys(name: &str) -> Vec<Key> {
    texts()[name].iter().map(|k| k.parse().unwrap()).collect()
}

/// The packets of a capture, with the time stamp of each.
fn packets(name: &str) -> Vec<(u64, Vec<u8>)> {
    let mut reader = slyfi_capture::CaptureReader::open(&capture(name)).unwrap();
    let (mut packet, mut out) = (Packet::default(), Vec::new());
    while reader.read(&mut packet).unwrap() {
        out.push((packet.timestamp, packet.data.clone()));
    }
    out
}

/// Opens these packets of a capture; what comes out is numbered as in the whole.
fn open_some(
    name: &str,
    keys: &[Key],
    kept: &[usize],
    all: &[(u64, Vec<u8>)],
) -> Vec<(u64, Vec<u8>)> {
    let mut w = PcapWriter::new(Vec::new(), 127).unwrap();
    for i in kept {
        w.packet(all[*i].0, &all[*i].1).unwrap();
    }
    let mut inputs = [Input::bytes(Path::new(name), w.finish().unwrap())];
    let mut sink = Collect::default();
    decrypt_inputs(&mut inputs, keys, Options::default(), &mut sink, &mut |_| {}).unwrap();
    sink.0.into_iter().map(|(n, p)| (kept[n as usize - 1] as u64 + 1, p)).collect()
}

#[test]
fn every_protected_frame_opens() {
    assert_eq!(texts().len(), CASES.len(), "every capture is a case");
    for (name, protected, _) in CASES {
        let (opened, report) = open_all(&capture(name), &keys(name));
        assert_eq!(report.totals(), (*protected, *protected), "{name}\n{report}");
        let pings = opened.iter().filter(|(_, p)| p.windows(16).any(|w| w == PATTERN)).count();
        assert!(pings >= 6, "{name}: {pings} frames with a ping's pattern");
        assert!(report.handshakes.iter().all(|h| h.missing.is_none()), "{name}\n{report}");
        // The same without the keys, and with another's.
        for wrong in ["wpa-pwd:not the passphrase", "wep:0102030405"] {
            let (opened, report) = open_all(&capture(name), &[wrong.parse().unwrap()]);
            assert_eq!((opened.len(), report.totals()), (0, (*protected, 0)), "{name}");
        }
    }
}

#[test]
fn what_tshark_opens_is_the_same() {
    for (name, _, known) in CASES.iter().filter(|c| c.2 > 0) {
        let (ours, _) = open_all(&capture(name), &keys(name));
        let split = |k: &String| {
            let (kind, value) = k.split_once(':').unwrap();
            (
                if kind == "wep" {
                    "wep"
                } else if kind == "wpa-pwd" {
                    "wpa-pwd"
                } else {
                    "wpa-psk"
                },
                value.to_string(),
            )
        };
        let given: Vec<(&str, String)> = texts()[*name].iter().map(split).collect();
        let Some(theirs) = tshark(&capture(name), &given) else { return };
        assert!(theirs.len() >= *known, "{name}: tshark opens {}", theirs.len());
        let all = packets(name);
        for (number, bytes) in &theirs {
            let mine = &ours
                .iter()
                .find(|(n, _)| n == number)
                .unwrap_or_else(|| panic!("{name} {number}"))
                .1;
            let frame = &all[*number as usize - 1].1;
            let frame = &frame[usize::from(u16::from_le_bytes([frame[2], frame[3]]))..];
            let fragment = frame[1] & 4 != 0;
            if *name == "fragments-tkip" && fragment {
                // tshark cuts a Michael code off every fragment; there is one behind the last.
                assert_eq!(mine[..mine.len() - 8], *bytes, "{name} {number}");
            } else {
                assert_eq!(mine, bytes, "{name} {number}");
            }
        }
    }
}

#[test]
fn fragments_together_are_the_packet_that_was_sent() {
    let (opened, _) = open_all(&capture("fragments-tkip"), &keys("fragments-tkip"));
    let all = packets("fragments-tkip");
    let (mut whole, mut found) = (Vec::new(), 0);
    for (number, payload) in opened {
        let packet = &all[number as usize - 1].1;
        let frame = &packet[usize::from(u16::from_le_bytes([packet[2], packet[3]]))..];
        let (more, fragment) = (frame[1] & 4 != 0, frame[22] & 15);
        if fragment == 0 {
            whole.clear();
        }
        whole.extend(payload);
        if fragment > 0 && !more && whole[6..8] == [8, 0] {
            let len = usize::from(u16::from_be_bytes([whole[10], whole[11]]));
            assert_eq!(whole.len(), 8 + len, "SNAP and an IP packet, nothing more");
            found += 1;
        }
    }
    assert!(found >= 6, "{found} packets in fragments");
}

#[test]
fn any_lost_frame_loses_at_most_what_it_alone_could_open() {
    for name in ["mixed", "ft-psk-over-ds", "wnm-sleep"] {
        let (keys, all) = (keys(name), packets(name));
        let every: Vec<usize> = (0..all.len()).collect();
        let whole = open_some(name, &keys, &every, &all);
        for lost in (0..all.len()).step_by(3) {
            let kept: Vec<usize> = every.iter().copied().filter(|i| *i != lost).collect();
            let opened = open_some(name, &keys, &kept, &all);
            assert!(opened.iter().all(|o| whole.contains(o)), "{name} without frame {}", lost + 1);
        }
    }
}

#[test]
fn the_first_or_the_last_message_of_a_handshake_is_not_needed() {
    let name = "two-networks";
    let (keys, all) = (keys(name), packets(name));
    let every: Vec<usize> = (0..all.len()).collect();
    let whole = open_some(name, &keys, &every, &all);
    // Key information: pairwise; acknowledgement without integrity code, and the reverse without data.
    let is = |packet: &[u8], bits: [u8; 2], len: usize| {
        let at = packet.windows(8).position(|w| w == [0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0x8e]);
        at.is_some_and(|at| packet[at + 13..at + 15] == bits && packet.len() - at - 8 == len)
    };
    for (which, bits) in [("first", [0, 0x8a]), ("last", [3, 0x0a])] {
        let kept: Vec<usize> = every
            .iter()
            .copied()
            .filter(|i| ![99, 121].iter().any(|len| is(&all[*i].1, bits, *len)))
            .collect();
        assert!(kept.len() < every.len(), "there is a {which} message");
        assert_eq!(open_some(name, &keys, &kept, &all).len(), whole.len(), "without the {which}");
    }
}
