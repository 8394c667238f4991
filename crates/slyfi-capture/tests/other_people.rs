//! Other people's captures open to the bytes that tshark gives, frame by frame.

mod common;

use common::{captures, open_all, tshark};
use slyfi_capture::Key;
use std::path::Path;

/// A capture, its keys, how many frames tshark 4.0 opens and how many we do.
struct Case {
    file: &'static str,
    keys: &'static [(&'static str, &'static str)],
    theirs: usize,
    ours: usize,
}

const fn case(
    file: &'static str,
    keys: &'static [(&'static str, &'static str)],
    theirs: usize,
    ours: usize,
) -> Case {
    Case { file, keys, theirs, ours }
}

const EAP_TLS: &str = "a5001e18e0b3f792278825bc3abff72d7021d7c157b600470ef730e2490835d4";
const SAE: &str = "ecbfe709d6151eaba6a4fd9cba94fbb570c1fc4c15506fad3185b4a0a0cfda9a";
const SUITE_B: &str = "fc738f5b63ba93ebf0a45d42c5a0b1b5064649fa98f59bc062c2944de3780fe276088c95daaf672deb6780051aa13563";

/// Where ours is more than theirs: keys that come later in the file, four addresses, a Prism header.
const CASES: &[Case] = &[
    case("wireshark/wep.pcapng", &[("wep", "1234567890")], 10, 11),
    case("wireshark/wpa-Induction.pcap", &[("wpa-pwd", "Induction:Coherer")], 203, 279),
    case("wireshark/wpa-eap-tls.pcap", &[("wpa-psk", EAP_TLS)], 29, 29),
    case("wireshark/wpa-test-decode.pcap", &[("wpa-pwd", "test0815")], 756, 934),
    case("wireshark/wpa-test-decode-mgmt.pcap", &[("wpa-pwd", "12345678")], 3, 3),
    case("wireshark/wpa-test-decode-tdls.pcap", &[("wpa-pwd", "12345678")], 8, 8),
    case("wireshark/wpa1-gtk-rekey.pcapng", &[("wpa-pwd", "12345678")], 22, 22),
    case(
        "wireshark/wpa1-gtk-rekey.pcapng",
        &[
            ("tk", "d0e57d224c1bb8806089d8c23154074c"),
            ("tk", "6eaf63f4ad7997ced353723de3029f4d"),
            ("tk", "fb42811bcb59b7845376246454fbdab7"),
        ],
        1,
        20,
    ),
    case("wireshark/wpa2-psk-mfp.pcapng", &[("wpa-pwd", "12345678")], 9, 9),
    case("wireshark/wpa-ccmp-256.pcapng", &[("wpa-pwd", "12345678")], 14, 14),
    case(
        "wireshark/wpa-ccmp-256.pcapng",
        &[("tk", "4e6abbcf9dc0943936700b6825952218f58a47dfdf51dbb8ce9b02fd7d2d9e40")],
        1,
        8,
    ),
    case("wireshark/wpa-gcmp.pcapng", &[("wpa-pwd", "12345678")], 15, 15),
    case("wireshark/wpa3-sae.pcapng", &[("wpa-psk", SAE)], 10, 10),
    case("wireshark/wpa3-suiteb-192.pcapng", &[("wpa-psk", SUITE_B)], 3, 3),
    case("aircrack-ng/wep_64_ptw.cap", &[("wep", "1f1f1f1f1f")], 30_630, 30_630),
    case("aircrack-ng/wpa.cap", &[("wpa-pwd", "biscotte:test")], 0, 2),
    case("aircrack-ng/wpa-psk-linksys.cap", &[("wpa-pwd", "dictionary:linksys")], 59, 59),
    case("aircrack-ng/n-02.cap", &[("wpa-pwd", "bo$$password:Neheb")], 20, 86),
    case("fragattacks/linux-plain-fromap.pcapng", &[("wpa-pwd", "abcdefgh:testnetwork")], 38, 38),
    case(
        "fragattacks/ping_I_E_E___inc_pn_2-fromap.pcapng",
        &[("wpa-pwd", "abcdefgh:testnetwork")],
        44,
        44,
    ),
    case("aircrack-ng/capture_wds-01.cap", &[("wpa-pwd", "12345678:test1")], 0, 46),
];

fn keys(case: &Case) -> Vec<Key> {
    case.keys.iter().map(|(kind, value)| format!("{kind}:{value}").parse().unwrap()).collect()
}

#[test]
fn every_frame_that_tshark_opens_opens_to_the_same_bytes() {
    let Some(root) = captures() else { return };
    let mut compared = 0;
    for case in CASES {
        let path = root.join(case.file);
        let (ours, report) = open_all(&path, &keys(case));
        assert_eq!(ours.len(), case.ours, "{}\n{report}", case.file);
        let wanted: Vec<(&str, String)> =
            case.keys.iter().map(|(k, v)| (*k, (*v).to_string())).collect();
        let Some(theirs) = tshark(&path, &wanted) else { return };
        assert!(theirs.len() >= case.theirs, "{}: tshark opens {}", case.file, theirs.len());
        for (number, bytes) in &theirs {
            let mine = ours.iter().find(|(n, _)| n == number).map(|(_, b)| b);
            assert_eq!(mine, Some(bytes), "{} frame {number}", case.file);
            compared += 1;
        }
    }
    assert!(compared > 31_000, "{compared} frames compared");
}

#[test]
fn wrong_keys_open_nothing() {
    let Some(root) = captures() else { return };
    let wrong: Vec<Key> =
        ["wpa-pwd:not the passphrase", "wep:0102030405", "tk:000102030405060708090a0b0c0d0e0f"]
            .iter()
            .map(|k| k.parse().unwrap())
            .collect();
    for case in CASES {
        let (opened, report) = open_all(&root.join(case.file), &wrong);
        assert_eq!(opened, [], "{}\n{report}", case.file);
        let (protected, opened) = report.totals();
        let refused: u64 = report.transmitters.values().flat_map(|t| t.refused.values()).sum();
        assert_eq!((opened, refused), (0, protected), "{}: every refusal is counted", case.file);
    }
}

#[test]
fn captures_cut_short_or_reversed_open_only_what_the_whole_one_opens() {
    let Some(root) = captures() else { return };
    for case in CASES.iter().filter(|c| c.ours < 1000) {
        let path = root.join(case.file);
        let whole = open_all(&path, &keys(case)).0;
        let bytes = std::fs::read(&path).unwrap();
        let cut = std::env::temp_dir().join(format!("slyfi-cut-{}", std::process::id()));
        for part in [3, 5, 7] {
            std::fs::write(&cut, &bytes[..bytes.len() * part / 8]).unwrap();
            let (opened, _) = open_all(&cut, &keys(case));
            assert!(opened.iter().all(|o| whole.contains(o)), "{} cut", case.file);
        }
        std::fs::remove_file(&cut).unwrap();
        let reversed = reversed(&path);
        let (opened, _) = open_all(&reversed, &keys(case));
        std::fs::remove_file(&reversed).unwrap();
        assert!(
            opened.iter().all(|(_, p)| whole.iter().any(|(_, w)| w == p)),
            "{} reversed",
            case.file
        );
        assert!(opened.len() * 2 >= whole.len(), "{} reversed: {}", case.file, opened.len());
    }
}

/// The frames of a capture in reverse, without capture headers.
fn reversed(path: &Path) -> std::path::PathBuf {
    let mut reader = slyfi_capture::CaptureReader::open(path).unwrap();
    let (mut packet, mut frames) = (slyfi_capture::Packet::default(), Vec::new());
    while reader.read(&mut packet).unwrap() {
        if let slyfi_capture::link_layer::Contents::Frame { frame, .. } =
            slyfi_capture::link_layer::contents(packet.link_type, &packet.data)
        {
            frames.push(frame.into_owned());
        }
    }
    frames.reverse();
    common::write("reversed", &frames)
}

#[test]
fn every_capture_is_read_to_its_end() {
    let Some(root) = captures() else { return };
    let mut files = 0;
    for folder in std::fs::read_dir(&root).unwrap().flatten().filter(|e| e.path().is_dir()) {
        for file in std::fs::read_dir(folder.path()).unwrap().flatten() {
            let path = file.path();
            let capture = path.extension().is_some_and(|e| e != "csv");
            if capture {
                let report = open_all(&path, &[]).1;
                assert!(report.files[0].packets > 0, "{}", path.display());
                files += 1;
            }
        }
    }
    assert!(files > 40, "{files} files");
}
