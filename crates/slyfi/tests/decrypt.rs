//! `slyfi decrypt` as a user meets it.

use serde_json::Value;
use slyfi_capture::{CaptureReader, Packet, PcapWriter};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Two WEP-104 frames under key identifier 2, made with Python's own RC4 and zlib's CRC-32.
const FRAMES: [&str; 2] = [
    "08412c0002000000000a02000000000b02000000000c3070\
     7a01fe80b919d0dc0e1a13ae9ad93d4c087f48831f8e02a19c0ae43e0e49c3c46d32",
    "08412c0002000000000a02000000000b02000000000c3070\
     7b01fe80155b4bff9998dead860622b3c830dfec04ae8b80ab513c917b3497cf2e11",
];
const KEY: &str = "wep:a1b2c3d4e5f60718293a4b5c6d";
const PAYLOAD: &str = "aaaa0300000008006120646174616772616d2c206e6561726c79";

struct TempDir(PathBuf);

impl TempDir {
    /// A directory of its own for a test, removed at the end.
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("slyfi-decrypt-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        TempDir(dir)
    }

    fn join(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// A capture of the two frames.
    fn capture(&self) -> String {
        let path = self.join("in.pcap");
        fs::write(&path, capture()).unwrap();
        path
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |b: &u8| char::from(*b).to_digit(16).unwrap() as u8;
    text.as_bytes().chunks(2).map(|p| digit(&p[0]) << 4 | digit(&p[1])).collect()
}

fn capture() -> Vec<u8> {
    let mut w = PcapWriter::new(Vec::new(), 105).unwrap();
    for (i, frame) in FRAMES.iter().enumerate() {
        w.packet(1_700_000_000_000_000_000 + i as u64, &unhex(frame)).unwrap();
    }
    w.finish().unwrap()
}

fn decrypt(args: &[&str], stdin: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slyfi"));
    command.arg("decrypt").args(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Who refuses its arguments reads nothing.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    child.wait_with_output().unwrap()
}

fn ok(args: &[&str]) -> String {
    let out = decrypt(args, &[]);
    let err = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && err.is_empty(), "{args:?}: {err}");
    String::from_utf8(out.stdout).unwrap()
}

/// Runs what must fail: returns its one line.
fn fails(code: i32, args: &[&str], stdin: &[u8]) -> String {
    let out = decrypt(args, stdin);
    let err = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(code), "{args:?}: {err}");
    assert!(out.stdout.is_empty(), "{args:?} printed something");
    assert!(err.starts_with("slyfi: error: ") && err.lines().count() == 1, "{args:?}: {err}");
    err
}

fn packets(path: &str) -> Vec<Vec<u8>> {
    let mut reader = CaptureReader::open(Path::new(path)).unwrap();
    let (mut packet, mut found) = (Packet::default(), Vec::new());
    while reader.read(&mut packet).unwrap() {
        found.push(packet.data.clone());
    }
    assert!(!reader.is_cut());
    found
}

/// The frames without protection: flags without the Protected bit, the payload behind the header.
fn opened() -> Vec<Vec<u8>> {
    let clear = |frame: &&str| {
        let mut header = unhex(&frame[..48]);
        header[1] &= !0x40;
        [header, unhex(PAYLOAD)].concat()
    };
    FRAMES.iter().map(clear).collect()
}

#[test]
fn frames_open_and_are_written_for_their_owner_alone() {
    let dir = TempDir::new("open");
    let (input, out) = (dir.capture(), dir.join("out.pcapng"));
    let shown = ok(&[&input, "--key", KEY, "--out", &out]);
    for word in ["02:00:00:00:00:0b", "WEP 2", "2 of 2 protected frames opened", &out[..]] {
        assert!(shown.contains(word), "{word} is not in:\n{shown}");
    }
    assert_eq!(packets(&out), opened());
    assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(&dir.0).unwrap().count(), 2, "nothing else stays behind");
}

#[test]
fn a_wrong_key_opens_nothing_and_says_why() {
    let dir = TempDir::new("wrong");
    let (input, out) = (dir.capture(), dir.join("out.pcapng"));
    let wrong = "wep:a1b2c3d4e5f60718293a4b5c6e";
    let json = ok(&[&input, "--key", wrong, "--out", &out, "--json"]);
    let report: Value = serde_json::from_str(&json).unwrap();
    let transmitter = &report["transmitters"]["02:00:00:00:00:0b"];
    assert_eq!(transmitter["protected"], 2);
    assert_eq!(transmitter["opened"], 0);
    assert_eq!(transmitter["refused"]["not_verified"], 2);
    assert_eq!(packets(&out), Vec::<Vec<u8>>::new(), "a capture without frames is still one");
}

#[test]
fn keys_come_from_files_and_from_standard_input() {
    let dir = TempDir::new("keys");
    let (input, file) = (dir.capture(), dir.join("keys"));
    let text = format!("# home\n\n{KEY}\n");
    fs::write(&file, &text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(ok(&[&input, "--keys", &file]).contains("2 of 2"));
    let out = decrypt(&[&input, "--keys", "-"], text.as_bytes());
    assert!(String::from_utf8(out.stdout).unwrap().contains("2 of 2"));
    // Others may read it: said, not refused, for it may be too late already.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let out = decrypt(&[&input, "--keys", &file], &[]);
    assert!(String::from_utf8(out.stderr).unwrap().contains("chmod 600"));
    assert!(out.status.success());
}

#[test]
fn no_error_shows_a_key() {
    let dir = TempDir::new("secret");
    let (input, file) = (dir.capture(), dir.join("keys"));
    for wrong in ["wpa-pwd:secret1", "wep:5ec2e7", "tk:5ec2e7", "nonsense:secret1", "secret1"] {
        let line = fails(2, &[&input, "--key", KEY, "--key", wrong], &[]);
        assert!(line.contains("number 2") && line.contains("--help"), "{line}");
        assert!(!line.contains("secret1") && !line.contains("5ec2e7"), "{line}");
        fs::write(&file, format!("{KEY}\n{wrong}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let line = fails(2, &[&input, "--keys", &file], &[]);
        assert!(line.contains("line 2") && !line.contains("secret1"), "{line}");
    }
    // Without --key it would be a file that is not there.
    let line = fails(2, &[&input, "wpa-pwd:secret123:home"], &[]);
    assert!(line.contains("no key was given"), "{line}");
    let line = fails(2, &[&input, "wpa-pwd:secret123:home", "--key", KEY], &[]);
    assert!(line.contains("--key before") && !line.contains("secret123"), "{line}");
}

#[test]
fn standard_input_is_a_capture_too_and_standard_output_takes_one() {
    let dir = TempDir::new("stdin");
    for more in [&[][..], &["--single-pass"]] {
        let args = [&["-", "--key", KEY, "--out", "-"], more].concat();
        let out = decrypt(&args, &capture());
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let path = dir.join("piped");
        fs::write(&path, &out.stdout).unwrap();
        assert_eq!(packets(&path), opened());
        let report = String::from_utf8(out.stderr).unwrap();
        assert!(report.contains("standard input: 2 packets"), "{report}");
    }
    assert!(fails(2, &["-", "-", "--key", KEY], &capture()).contains("twice"));
    assert!(fails(2, &["-", "--key", KEY], b"no capture").contains("standard input"));
}

#[test]
fn nothing_is_overwritten_unless_asked_and_an_input_never() {
    let dir = TempDir::new("overwrite");
    let (input, out) = (dir.capture(), dir.join("out.pcapng"));
    let before = fs::read(&input).unwrap();
    for force in [&[][..], &["--force"]] {
        let args = [&[&input[..], "--key", KEY, "--out", &input], force].concat();
        assert!(fails(2, &args, &[]).contains("is an input"));
        assert_eq!(fs::read(&input).unwrap(), before);
    }
    fs::write(&out, "mine").unwrap();
    let args = [&input[..], "--key", KEY, "--out", &out];
    assert!(fails(2, &args, &[]).contains("--force"));
    assert_eq!(fs::read(&out).unwrap(), b"mine");
    // What fails half way leaves the old file.
    let damaged = dir.join("damaged");
    fs::write(&damaged, "no capture").unwrap();
    fails(2, &[&input, &damaged, "--key", KEY, "--out", &out, "--force"], &[]);
    assert_eq!(fs::read(&out).unwrap(), b"mine");
    ok(&[&args[..], &["--force"]].concat());
    assert_eq!(packets(&out), opened());
    assert!(
        fails(2, &[&input, "--key", KEY, "--out", &dir.join("no/such")], &[]).contains("first")
    );
}

#[test]
fn damaged_captures_open_what_is_whole_or_are_named() {
    let dir = TempDir::new("damage");
    let input = dir.join("cut.pcap");
    let whole = capture();
    for (len, count) in [(whole.len() - 1, 1), (24 + 16 + 10, 0), (24, 0)] {
        fs::write(&input, &whole[..len]).unwrap();
        let report: Value = serde_json::from_str(&ok(&[&input, "--key", KEY, "--json"])).unwrap();
        let file = &report["files"][0];
        assert_eq!((&file["packets"], &file["is_cut"]), (&count.into(), &(len > 24).into()));
    }
    fs::write(&input, b"\xfd7zXZ\0 and so on").unwrap();
    let line = fails(2, &[&input, "--key", KEY], &[]);
    assert!(line.contains("xz; unpack it first"), "{line}");
    for garbage in [&b""[..], b"\x1f\x8b\x08 no gzip", &whole[..20]] {
        fs::write(&input, garbage).unwrap();
        let line = fails(2, &[&input, "--key", KEY], &[]);
        assert!(line.contains("cut.pcap") && line.contains("pcap"), "{line}");
    }
    assert!(fails(2, &["/no/such.pcap", "--key", KEY], &[]).contains("/no/such.pcap"));
    assert!(fails(2, &[dir.0.to_str().unwrap(), "--key", KEY], &[]).contains("path of a file"));
}

/// Where other people's captures are, if they are there.
fn captures() -> Option<PathBuf> {
    let path = std::env::var_os("SLYFI_CAPTURES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures"),
        PathBuf::from,
    );
    if path.is_dir() {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none(), "no captures beside the project");
    eprintln!("SKIPPED: no captures beside the project; SLYFI_CAPTURES names their folder");
    None
}

#[test]
fn other_peoples_captures_open_and_tshark_reads_what_is_written() {
    let Some(root) = captures() else { return };
    let dir = TempDir::new("others");
    for (file, key, count) in [
        ("wireshark/wep.pcapng", "wep:12:34:56:78:90", 11),
        ("wireshark/wpa-Induction.pcap", "wpa-pwd:Induction:Coherer", 279),
        ("wireshark/wpa-gcmp.pcapng", "wpa-pwd:12345678", 15),
        ("wireshark/wpa-ccmp-256.pcapng", "wpa-pwd:12345678", 14),
        ("aircrack-ng/n-02.cap", "wpa-pwd:bo$$password:Neheb", 86),
    ] {
        let input = root.join(file).to_str().unwrap().to_owned();
        let out = dir.join(&file.replace('/', "-"));
        let shown = ok(&[&input, "--key", key, "--out", &out]);
        assert_eq!(packets(&out).len(), count, "{file}:\n{shown}");
        if let Ok(tshark) = Command::new("tshark").args(["-r", &out]).output() {
            assert!(tshark.status.success(), "{file}");
            assert_eq!(String::from_utf8_lossy(&tshark.stdout).lines().count(), count, "{file}");
        }
    }
}
