//! Whole captures: any bytes as a pcap or pcapng file, opened with keys of every kind.

use slyfi_capture::{CaptureError, Input, Key, Opened, Options, PcapngSink, Sink, decrypt_inputs};
use std::path::Path;
use std::sync::LazyLock;

/// The keys of `vectors/captures`, and some that open nothing. Passphrases are not among them: each
/// name of a network would cost a key derivation.
static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    [
        "wep:0b1c2d3e4f",
        "wep:0b1c2d3e4f5061728394a5b6c7",
        crate::hostile_peer::PMK,
        "wpa-psk:202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f",
        "tk:000102030405060708090a0b0c0d0e0f",
        "tk:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
    ]
    .iter()
    .map(|k| k.parse().expect("it is a key"))
    .collect()
});

/// Counts what was opened, and writes it as a user would.
struct Counted {
    frames: u64,
    bytes: usize,
    out: PcapngSink<Vec<u8>>,
}

impl Sink for Counted {
    fn opened(&mut self, frame: &Opened<'_>) -> std::io::Result<()> {
        self.frames += 1;
        self.bytes += frame.payload.len();
        assert!(frame.header.get(1).is_some_and(|flags| flags & 0x40 == 0), "still protected");
        self.out.opened(frame)
    }
}

/// Opens the input with every key.
///
/// # Panics
/// When the report and what came out do not agree, or what was written is no capture.
pub fn run(input: &[u8]) {
    let name = Path::new("memory");
    let open = |bytes: &[u8], options, sink: &mut dyn Sink| {
        let mut inputs = [Input::bytes(name, bytes)];
        decrypt_inputs(&mut inputs, &KEYS, options, sink, &mut |_| {})
    };
    let mut sink = Counted { frames: 0, bytes: 0, out: PcapngSink::new(Vec::new()) };
    let report = match open(input, Options::default(), &mut sink) {
        Ok(report) => report,
        Err(CaptureError::NotACapture { .. }) => return,
        Err(other) => panic!("{other}"),
    };
    let (protected, opened) = report.totals();
    let verified: u64 = report.transmitters.values().filter_map(|t| t.by_cipher.get("BIP")).sum();
    let refused: u64 = report.transmitters.values().flat_map(|t| t.refused.values()).sum();
    assert_eq!(opened + refused, protected, "every protected frame is accounted for");
    assert_eq!(sink.frames + verified, opened);
    assert!(sink.bytes <= input.len(), "more came out than went in");
    assert!(report.files[0].frames <= report.files[0].packets);
    assert!(!report.to_json().is_empty() && !report.to_string().is_empty());
    let written = sink.out.finish().expect("memory does not fail");
    let again = open(&written, Options { single_pass: true }, &mut ()).expect("it is a capture");
    assert_eq!(again.files[0].packets, sink.frames);
    assert!(!again.files[0].is_cut);
}
