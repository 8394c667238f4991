//! Recorded captures against the parsers, with two other readers' findings as the measure.

mod common;

use common::{Captured, captures, read_packets};
use slyfi_wire::announcement::Announcement;
use slyfi_wire::element::Elements;
use slyfi_wire::ieee80211::{MacHeader, Type};
use slyfi_wire::radiotap::Radiotap;
use slyfi_wire::{Malformed, carrier};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const RADIOTAP: i32 = 127;
const IEEE80211: i32 = 105;

/// The 802.11 frame of a packet, if its header makes sense.
fn frame_of(packet: &Captured) -> Option<&[u8]> {
    match packet.link_type {
        IEEE80211 => Some(&packet.data),
        RADIOTAP => Radiotap::new_checked(&packet.data).ok().map(|r| r.frame()),
        _ => None,
    }
}

/// The lines of the captures' index: what another program counted in each file.
struct IndexLine {
    file: String,
    frames: usize,
    transmitters: usize,
    by_type: [usize; 3],
    protected: usize,
}

fn index(text: &str) -> Vec<IndexLine> {
    let lines = text.lines().skip(1).map(|l| l.split('\t').collect::<Vec<_>>());
    lines
        .filter(|f| matches!(f[4], "ieee-802-11-radiotap" | "ieee-802-11"))
        .map(|f| {
            let types: Vec<usize> = f[7].split('/').map(|n| n.parse().unwrap()).collect();
            IndexLine {
                file: f[0].into(),
                frames: f[5].parse().unwrap(),
                transmitters: f[6].parse().unwrap(),
                by_type: types.try_into().unwrap(),
                protected: f[8].parse().unwrap(),
            }
        })
        .collect()
}

#[test]
fn counts_in_recorded_captures_are_those_of_their_index() {
    let Some(dir) = captures() else { return };
    let lines = index(&std::fs::read_to_string(dir.join("INDEX.tsv")).unwrap());
    assert!(lines.len() > 40);
    for line in lines {
        let packets = read_packets(&std::fs::read(dir.join(&line.file)).unwrap());
        assert_eq!(packets.len(), line.frames, "{}", line.file);
        let (mut by_type, mut protected, mut transmitters) = ([0; 3], 0, BTreeSet::new());
        for mac in packets.iter().filter_map(frame_of).map(MacHeader::new_checked) {
            let Ok(mac) = mac else { continue };
            let fc = mac.frame_control();
            match fc.kind() {
                Type::Management => by_type[0] += 1,
                Type::Control => by_type[1] += 1,
                Type::Data => by_type[2] += 1,
                Type::Extension => {}
            }
            protected += usize::from(fc.is_protected());
            transmitters.extend(mac.addr2());
        }
        let counted = (by_type, protected, transmitters.len());
        assert_eq!(counted, (line.by_type, line.protected, line.transmitters), "{}", line.file);
    }
}

/// The fields that are compared, in the order of `ours`.
const FIELDS: [&str; 9] = [
    "radiotap.length",
    "radiotap.mactime",
    "radiotap.flags",
    "radiotap.datarate",
    "radiotap.channel.freq",
    "radiotap.dbm_antsignal",
    "radiotap.dbm_antnoise",
    "radiotap.antenna",
    "radiotap.txflags",
];

fn text<T: ToString>(value: Option<T>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

fn ours(r: &Radiotap<'_>) -> [String; 9] {
    let i = r.info();
    [
        r.header_len().to_string(),
        text(i.tsft),
        text(i.flags.map(|v| format!("{v:#04x}"))),
        text(i.rate.map(|v| f32::from(v.0) / 2.0)),
        text(i.channel.map(|c| c.frequency)),
        text(i.signal.map(|v| v.0)),
        text(i.noise.map(|v| v.0)),
        text(i.antenna),
        text(i.tx_flags.map(|v| format!("{v:#06x}"))),
    ]
}

/// What tshark reads in each packet of a file.
fn theirs(file: &Path) -> Vec<[String; 9]> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-T", "fields", "-E", "occurrence=f", "-r"]).arg(file);
    for f in ["radiotap.present.rate"].iter().chain(&FIELDS) {
        tshark.args(["-e", f]);
    }
    let out = String::from_utf8(tshark.output().unwrap().stdout).unwrap();
    let line = |line: &str| {
        let (has_rate, fields) = line.split_once('\t').unwrap();
        let fields: Vec<_> = fields.split('\t').map(str::to_owned).collect();
        let mut fields: [String; 9] = fields.try_into().unwrap();
        // It also computes a rate where an HT or VHT field implies one.
        if !matches!(has_rate, "1" | "True") {
            fields[3].clear();
        }
        fields
    };
    out.lines().map(line).collect()
}

#[test]
fn radiotap_of_recorded_captures_reads_as_tshark_reads_it() {
    let Some(dir) = captures() else { return };
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("SKIPPED: no tshark");
        return;
    }
    let mut compared = 0;
    for folder in ["wireshark", "tcpdump", "fragattacks", "aircrack-ng", "chrissanders"] {
        for entry in std::fs::read_dir(dir.join(folder)).unwrap() {
            let file = entry.unwrap().path();
            let packets = read_packets(&std::fs::read(&file).unwrap());
            if packets.first().is_none_or(|p| p.link_type != RADIOTAP) {
                continue;
            }
            let theirs = theirs(&file);
            assert_eq!(theirs.len(), packets.len(), "{}", file.display());
            for (n, (theirs, packet)) in theirs.iter().zip(&packets).enumerate() {
                let n = n + 1;
                match Radiotap::new_checked(&packet.data) {
                    Ok(r) => assert_eq!(&ours(&r), theirs, "{} #{n}", file.display()),
                    // Only fuzzed files have another version; tshark reads on regardless.
                    Err(why) => {
                        assert_eq!(why, Malformed::Value { offset: 0 }, "{} #{n}", file.display());
                        assert_ne!(packet.data[0], 0);
                    }
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 6000, "{compared}");
}

#[test]
fn no_recorded_frame_and_no_truncation_of_one_makes_a_parser_panic() {
    let Some(dir) = captures() else { return };
    for folder in ["wireshark", "tcpdump", "fragattacks", "chrissanders"] {
        for entry in std::fs::read_dir(dir.join(folder)).unwrap() {
            let packets = read_packets(&std::fs::read(entry.unwrap().path()).unwrap());
            for p in packets.iter().take(60) {
                for len in 0..=p.data.len() {
                    let cut = &p.data[..len];
                    let frame = Radiotap::new_checked(cut).map_or(cut, |r| r.frame());
                    if let Ok(mac) = MacHeader::new_checked(frame) {
                        let damaged = Elements::new(mac.body()).filter(Result::is_err).count();
                        assert!(damaged <= 1);
                        assert_eq!(mac.header_len() + mac.body().len(), frame.len());
                    }
                    assert!(Announcement::parse(frame).is_err(), "nobody announced SlyFi in 2007");
                    assert_eq!(carrier::address(frame), None);
                }
            }
        }
    }
}
