//! The link ciphers against the fastest libraries, and against one another.
//!
//! Every contestant's result is compared with ours before it is timed.

use std::hint::black_box;

use slyfi_ciphers::ccm::{Ccm, Parameters};
use slyfi_ciphers::danger::rc4::Rc4;

use crate::harness::Contest;
use crate::peers;
use crate::report::{Bar, Row};

mod batch;
mod links;

/// A full Ethernet payload.
const PAYLOAD: usize = 1500;

/// Payloads of control messages and speech.
const SHORT: [usize; 4] = [16, 32, 64, 128];

/// Associated data of CCMP on a frame with three addresses (IEEE 802.11-2020 §12.5.3.3.3).
const AAD: [u8; 22] = [5; 22];

const KEY: [u8; 16] = [7; 16];
const NONCE: [u8; 13] = [3; 13];

/// Measures everything.
pub fn run(rounds: u32) -> Vec<Row> {
    let mut rows = vec![
        ccm_seal(rounds, PAYLOAD, Against::OpenSsl, Bar::Times(1.1)),
        ccm_open(rounds, PAYLOAD, Against::OpenSsl, Bar::Times(1.1)),
        ccm_seal(rounds, PAYLOAD, Against::RustCrypto, Bar::Times(1.6)),
        ccm_open(rounds, PAYLOAD, Against::RustCrypto, Bar::Times(1.6)),
    ];
    for len in SHORT {
        rows.push(ccm_seal(rounds, len, Against::OpenSsl, Bar::Times(1.5)));
        rows.push(ccm_open(rounds, len, Against::OpenSsl, Bar::Times(1.5)));
    }
    rows.extend(batch::run(rounds));
    rows.push(rc4(rounds));
    rows.extend(links::run(rounds));
    rows
}

/// Who else runs: each has a bar of its own.
#[derive(Clone, Copy)]
enum Against {
    OpenSsl,
    RustCrypto,
}

impl Against {
    const fn name(self) -> &'static str {
        match self {
            Self::OpenSsl => "OpenSSL, one-shot",
            Self::RustCrypto => "RustCrypto",
        }
    }
}

fn ours() -> Ccm {
    Ccm::new(&KEY, Parameters::CCMP_128).expect("a key of AES-128")
}

/// What the payload is sealed to.
fn sealed(len: usize) -> (Vec<u8>, [u8; 8]) {
    let (mut data, mut tag) = (vec![1; len], [0; 8]);
    ours().seal_in_place(&NONCE, &AAD, &mut data, &mut tag).expect("a message that CCM allows");
    (data, tag)
}

fn ccm_seal(rounds: u32, len: usize, against: Against, bar: Bar) -> Row {
    let (expected, expected_tag) = sealed(len);
    let mut contest = Contest::default();
    let (key, mut data) = (ours(), vec![1; len]);
    contest.enter("slyfi-ciphers", move || {
        let mut tag = [0; 8];
        let done = key.seal_in_place(black_box(&NONCE), &AAD, &mut data, &mut tag);
        black_box((done, tag)).0.expect("a message that CCM allows");
    });
    let peer = match against {
        Against::OpenSsl => peers::ccm::openssl_seal(&KEY),
        Against::RustCrypto => Some(peers::ccm::rust_crypto_seal(&KEY)),
    };
    match peer {
        Some(mut seal) => {
            let mut data = vec![1; len];
            assert_eq!(seal(&NONCE, &AAD, &mut data), expected_tag, "{}", against.name());
            assert_eq!(data, expected, "{}", against.name());
            contest.enter(against.name(), move || {
                black_box(seal(black_box(&NONCE), &AAD, &mut data));
            });
        }
        None => {
            contest.miss(against.name(), peers::WITHOUT);
        }
    }
    Row::new(&format!("seal {len} B, AES-128-CCM, 22 B of AAD"), bar, contest.run(rounds, 1))
}

fn ccm_open(rounds: u32, len: usize, against: Against, bar: Bar) -> Row {
    let (sealed, tag) = &sealed(len);

    // Opening changes the data, so each round starts with a copy of it, for everybody alike.
    let mut contest = Contest::default();
    let (key, mut data) = (ours(), sealed.clone());
    contest.enter("slyfi-ciphers", move || {
        data.copy_from_slice(sealed);
        let done = key.open_in_place(black_box(&NONCE), &AAD, &mut data, black_box(tag));
        black_box(done).expect("sealed by us");
    });
    let peer = match against {
        Against::OpenSsl => peers::ccm::openssl_open(&KEY),
        Against::RustCrypto => Some(peers::ccm::rust_crypto_open(&KEY)),
    };
    match peer {
        Some(mut open) => {
            let mut data = sealed.clone();
            assert!(open(&NONCE, &AAD, &mut data, tag), "{}", against.name());
            assert_eq!(data, vec![1; len], "{}", against.name());
            contest.enter(against.name(), move || {
                data.copy_from_slice(sealed);
                assert!(black_box(open(black_box(&NONCE), &AAD, &mut data, black_box(tag))));
            });
        }
        None => {
            contest.miss(against.name(), peers::WITHOUT);
        }
    }
    Row::new(&format!("open {len} B, AES-128-CCM, 22 B of AAD"), bar, contest.run(rounds, 1))
}

/// One long stream, as SBKH has it: the key is scheduled before the clock starts.
fn rc4(rounds: u32) -> Row {
    const LEN: usize = 1 << 14;
    let mut contest = Contest::default();
    let (mut stream, mut data) = (Rc4::new(&[&KEY]), vec![0; LEN]);
    let mut expected = vec![0; LEN];
    Rc4::new(&[&KEY]).apply(&mut expected);
    contest.enter("slyfi-ciphers", move || stream.apply(black_box(&mut data)));
    match peers::rc4::openssl(&KEY) {
        Some(mut apply) => {
            let mut data = vec![0; LEN];
            apply(&mut data);
            assert_eq!(data, expected, "OpenSSL");
            contest.enter("OpenSSL", move || apply(black_box(&mut data)));
        }
        None => {
            contest.miss("OpenSSL", "no feature `peers`, or no legacy provider (ossl-modules)");
        }
    }
    Row::new("RC4, 16 KiB of one stream", Bar::Times(0.9), contest.run(rounds, 1))
}
