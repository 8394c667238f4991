//! Made-up networks of every suite and cipher: opened by us, and by tshark as a witness.

mod common;

use common::{AP, PASSPHRASE, Plan, SSID, STATION, management, open_all, tshark, write};
use slyfi_capture::{Key, Options, decrypt};
use slyfi_ciphers::handshake::ft::Reassociation;
use slyfi_ciphers::handshake::wrap::aes_wrap;
use slyfi_ciphers::handshake::{MicAlgorithm, Suite};

fn ft(version: u8, mic: MicAlgorithm) -> Suite {
    *Suite::candidates(version).iter().find(|s| s.is_ft && s.mic == mic).unwrap()
}

/// A capture of association, handshake and data, and the payloads it should open to.
fn session(plan: &Plan) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let mut frames = plan.association();
    frames.extend(plan.handshake());
    let data = plan.data((1 << 33) + 7);
    frames.extend(data.iter().map(|(f, _)| f.clone()));
    (frames, data.into_iter().map(|(_, p)| p).collect())
}

fn with_pmk(mut plan: Plan, len: usize) -> Plan {
    plan.pmk = (0..len).map(|i| (i * 5 + 1) as u8).collect();
    plan
}

/// Name, plan, and how many of the three data frames tshark 4.0 opens too: it knows no SHA-512, no FT
/// over SAE, and finds no group key in WPA's AES-wrapped, in RSN's RC4-encrypted, nor under a
/// 256-bit key encryption key.
fn plans() -> Vec<(&'static str, Plan, usize)> {
    let mut extended = Plan::new(Suite::VERSION_2, 2, 2, 4);
    extended.key_id = 1;
    vec![
        ("wpa-tkip", Plan::new(Suite::VERSION_1, 0, 1, 2), 3),
        ("wpa-ccmp", Plan::new(Suite::VERSION_2, 0, 2, 4), 2),
        ("rsn-tkip", Plan::new(Suite::VERSION_1, 2, 1, 2), 2),
        ("rsn-ccmp", Plan::new(Suite::VERSION_2, 2, 2, 4), 3),
        ("rsn-gcmp", Plan::new(Suite::VERSION_2, 2, 2, 8), 3),
        ("rsn-gcmp-256", Plan::new(Suite::VERSION_2, 2, 2, 9), 3),
        ("rsn-ccmp-256", Plan::new(Suite::VERSION_2, 2, 2, 10), 3),
        ("extended-key-id", extended, 3),
        ("psk-sha256", Plan::new(Suite::CMAC, 6, 3, 4), 3),
        ("psk-sha256-gcmp-256", Plan::new(Suite::CMAC, 6, 3, 9), 3),
        ("sae", with_pmk(Plan::new(Suite::CMAC, 8, 0, 4), 32), 3),
        ("owe-19", with_pmk(Plan::new(Suite::SHA_256, 18, 0, 4), 32), 3),
        ("owe-20", with_pmk(Plan::new(Suite::SHA_384, 18, 0, 9), 48), 0),
        ("owe-21", with_pmk(Plan::new(Suite::SHA_512, 18, 0, 9), 64), 0),
        ("suite-b", with_pmk(Plan::new(Suite::SHA_256, 11, 0, 8), 32), 3),
        ("suite-b-192", with_pmk(Plan::new(Suite::SHA_384, 12, 0, 9), 48), 2),
        ("ft-psk", Plan::new(ft(3, MicAlgorithm::AesCmac), 4, 3, 4), 3),
        ("ft-sae", with_pmk(Plan::new(ft(0, MicAlgorithm::AesCmac), 9, 0, 4), 32), 0),
        ("ft-8021x-sha384", with_pmk(Plan::new(ft(0, MicAlgorithm::HmacSha384), 13, 0, 9), 48), 0),
    ]
}

#[test]
fn every_suite_and_cipher_opens() {
    for (name, plan, _) in plans() {
        let (frames, payloads) = session(&plan);
        let path = write(name, &frames);
        let (opened, report) = open_all(&path, &[plan.key()]);
        let got: Vec<&Vec<u8>> = opened.iter().map(|(_, p)| p).collect();
        assert_eq!(got, payloads.iter().collect::<Vec<_>>(), "{name}\n{report}");
        assert_eq!(report.totals(), (3, 3), "{name}");
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn tshark_opens_the_same_frames_to_the_same_bytes() {
    for (name, plan, known) in plans() {
        if known == 0 {
            continue;
        }
        let (frames, payloads) = session(&plan);
        let path = write(&format!("tshark-{name}"), &frames);
        let hex = plan.pmk.iter().map(|b| format!("{b:02x}")).collect();
        let Some(theirs) = tshark(&path, &[("wpa-psk", hex)]) else { return };
        std::fs::remove_file(path).unwrap();
        let theirs: Vec<Vec<u8>> = theirs.into_iter().map(|(_, p)| p).collect();
        assert_eq!(theirs, payloads[..known], "{name}");
    }
}

#[test]
fn a_wrong_key_a_missing_message_and_no_key_say_what_is_missing() {
    let plan = Plan::new(Suite::VERSION_2, 2, 2, 4);
    let (frames, _) = session(&plan);
    let wrong: Key = "wpa-pwd:wrong horse".parse().unwrap();
    let missing = |frames: &[Vec<u8>], keys: &[Key], name: &str| {
        let path = write(name, frames);
        let (opened, report) = open_all(&path, keys);
        std::fs::remove_file(path).unwrap();
        assert!(opened.is_empty());
        report.handshakes.first().and_then(|h| h.missing)
    };
    assert_eq!(missing(&frames, &[wrong], "wrong"), Some("no given passphrase or PMK proves it"));
    assert_eq!(missing(&frames, &[], "none"), Some("no passphrase or PMK given"));
    let without = |drop: &[usize]| -> Vec<Vec<u8>> {
        frames
            .iter()
            .enumerate()
            .filter(|(i, _)| !drop.contains(i))
            .map(|(_, f)| f.clone())
            .collect()
    };
    let key = [plan.key()];
    let nonce = "no message with the authenticator's nonce";
    assert_eq!(missing(&without(&[3, 5]), &key, "m1"), Some(nonce));
    let nonce = "no message with the supplicant's nonce";
    assert_eq!(missing(&without(&[4]), &key, "m2"), Some(nonce));
    let phrase: Key = format!("wpa-pwd:{PASSPHRASE}").parse().unwrap();
    let name = "the network's name is not in the capture; give it with the passphrase";
    assert_eq!(missing(&without(&[0, 1]), &[phrase], "ssid"), Some(name));
}

#[test]
fn two_messages_are_enough_in_any_combination_and_any_order() {
    let plan = Plan::new(Suite::VERSION_2, 2, 2, 4);
    let (frames, _) = session(&plan);
    let phrase: Key = format!("wpa-pwd:{PASSPHRASE}").parse().unwrap();
    // Frames 3 to 6 are the messages, 7 to 9 the data; the group frame needs message 3.
    for (keep, opens) in [
        (vec![0, 3, 4, 7, 8, 9], 2),
        (vec![0, 4, 5, 7, 8, 9], 3),
        (vec![7, 8, 9, 5, 4, 0], 3),
        (vec![7, 8, 4, 3, 1], 2),
        (vec![0, 3, 5, 7, 8], 0),
        (vec![0, 3, 6, 7, 8], 0),
    ] {
        let chosen: Vec<Vec<u8>> = keep.iter().map(|i| frames[*i].clone()).collect();
        let path = write("order", &chosen);
        let (opened, report) = open_all(&path, std::slice::from_ref(&phrase));
        assert_eq!(opened.len(), opens, "{keep:?}\n{report}");
        let single = Options { single_pass: true };
        let once =
            decrypt(std::slice::from_ref(&path), std::slice::from_ref(&phrase), single, &mut ())
                .unwrap();
        assert!(once.totals().1 <= opens as u64, "a single pass opens no more");
        if keep[0] == 7 && opens > 0 {
            assert_eq!(once.totals().1, 0, "keys came behind the frames");
        }
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_rekey_and_a_second_network_are_kept_apart() {
    let first = Plan::new(Suite::VERSION_2, 2, 2, 4);
    let second = Plan { anonce: [0xa2; 32], snonce: [0x52; 32], ..first.clone() };
    let other = Plan { ap: [2, 0, 0, 0, 0, 0x0c], anonce: [0xa3; 32], ..first.clone() };
    let mut frames = first.association();
    frames.extend(other.association());
    let mut payloads = Vec::new();
    for plan in [&first, &second, &other] {
        frames.extend(plan.handshake());
        for (frame, payload) in plan.data(100) {
            frames.push(frame);
            payloads.push(payload);
        }
    }
    let path = write("rekey", &frames);
    let (opened, report) = open_all(&path, &[first.key()]);
    std::fs::remove_file(path).unwrap();
    assert_eq!(opened.into_iter().map(|(_, p)| p).collect::<Vec<_>>(), payloads);
    let derived: Vec<usize> = report.handshakes.iter().map(|h| h.pairwise_keys).collect();
    assert_eq!(derived, [2, 1]);
}

/// Frames of a station that moves to `plan.ap` by fast transition.
fn roam(plan: &Plan) -> Vec<Vec<u8>> {
    let md = Plan::mobility_domain();
    let rsn = plan.element();
    let zero = [0; 32];
    let auth = |n: u8, ft: Vec<u8>| [&[2, 0, n, 0, 0, 0][..], &rsn, &md, &ft].concat();
    let proven = |sequence: u8, group: &[u8]| {
        let mut ft = plan.ft_element(plan.anonce, plan.snonce, group);
        ft[3] = 3;
        let len = plan.suite.mic.tag_len();
        let elements = [&rsn[..], &md, &ft].concat();
        let frame = Reassociation::parse(STATION, plan.ap, sequence, &elements).unwrap();
        assert!(!frame.verify(plan.suite.mic, plan.ptk().kck.as_bytes()), "no code yet");
        let parts = [&STATION[..], &plan.ap, &[sequence], &rsn, &md, &ft].concat();
        let mic = plan.suite.mic.compute(plan.ptk().kck.as_bytes(), &[&parts]).unwrap();
        ft[4..4 + len].copy_from_slice(&mic[..len]);
        [&rsn[..], &md, &ft].concat()
    };
    let mut wrapped = [0; 24];
    aes_wrap(plan.ptk().kek.as_bytes(), &plan.gtk(), &mut wrapped).unwrap();
    let gtk = [&[2, 35, 1, 0, 16][..], &[0; 8], &wrapped].concat();
    let request =
        [&[0x11, 0, 1, 0][..], &AP, &[0, SSID.len() as u8], SSID, &proven(5, &[])].concat();
    let response = [&[0x11, 0, 0, 0, 1, 0xc0][..], &proven(6, &gtk)].concat();
    let first = auth(1, plan.ft_element(zero, plan.snonce, &[]));
    let second = auth(2, plan.ft_element(plan.anonce, plan.snonce, &[]));
    vec![
        management(0xb0, plan.ap, STATION, plan.ap, &first),
        management(0xb0, STATION, plan.ap, plan.ap, &second),
        management(0x20, plan.ap, STATION, plan.ap, &request),
        management(0x30, STATION, plan.ap, plan.ap, &response),
    ]
}

#[test]
fn a_roaming_station_is_followed_without_a_handshake() {
    let mut plan = Plan::new(ft(3, MicAlgorithm::AesCmac), 4, 3, 4);
    plan.ap = [2, 0, 0, 0, 0, 0x0d];
    let mut frames = vec![plan.association().remove(0)];
    frames.extend(roam(&plan));
    let data = plan.data(5);
    frames.extend(data.iter().map(|(f, _)| f.clone()));
    let path = write("roam", &frames);
    let (opened, report) = open_all(&path, &[plan.key()]);
    let payloads: Vec<Vec<u8>> = data.into_iter().map(|(_, p)| p).collect();
    assert_eq!(opened.iter().map(|(_, p)| p.clone()).collect::<Vec<_>>(), payloads, "{report}");
    let hex = plan.pmk.iter().map(|b| format!("{b:02x}")).collect();
    if let Some(theirs) = tshark(&path, &[("wpa-psk", hex)]) {
        assert_eq!(theirs, opened);
    }
    let wrong: Key = "wpa-pwd:wrong horse".parse().unwrap();
    assert!(open_all(&path, &[wrong]).0.is_empty());
    std::fs::remove_file(path).unwrap();
}

#[test]
fn the_written_capture_reads_back_and_opens_to_nothing_more() {
    let plan = Plan::new(Suite::VERSION_2, 2, 2, 4);
    let (frames, payloads) = session(&plan);
    let path = write("written", &frames);
    let mut sink = slyfi_capture::PcapngSink::new(Vec::new());
    decrypt(std::slice::from_ref(&path), &[plan.key()], Options::default(), &mut sink).unwrap();
    let bytes = sink.finish().unwrap();
    let out = path.with_extension("pcapng");
    std::fs::write(&out, &bytes).unwrap();
    let mut reader = slyfi_capture::CaptureReader::open(&out).unwrap();
    let (mut packet, mut read) = (slyfi_capture::Packet::default(), Vec::new());
    while reader.read(&mut packet).unwrap() {
        assert_eq!(packet.link_type, 105);
        assert_eq!(packet.data[1] & 0x40, 0, "no longer protected");
        assert!(packet.timestamp > 1_700_000_000_000_000_000);
        read.push(packet.data.clone());
    }
    assert!(!reader.is_cut());
    assert_eq!(read.len(), payloads.len());
    for (frame, payload) in read.iter().zip(&payloads) {
        assert!(frame.ends_with(payload));
        assert!([24, 26].contains(&(frame.len() - payload.len())));
    }
    assert!(String::from_utf8_lossy(&bytes).contains("CCMP-128, key id 0, number 8589934599"));
    let (again, report) = open_all(&out, &[plan.key()]);
    assert!(again.is_empty());
    assert_eq!(report.totals(), (0, 0));
    // An empty result is a capture all the same.
    let empty = slyfi_capture::PcapngSink::new(Vec::new()).finish().unwrap();
    std::fs::write(&out, empty).unwrap();
    assert_eq!(open_all(&out, &[]).1.files[0].packets, 0);
    std::fs::remove_file(out).unwrap();
    std::fs::remove_file(path).unwrap();
}
