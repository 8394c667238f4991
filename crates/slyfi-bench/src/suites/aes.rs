//! `slyfi-aes` against the fastest libraries at the same work on the same bytes.
//!
//! Every contestant's result is compared with ours before it is timed.

use std::hint::black_box;

use slyfi_aes::{
    Block, CbcCmacKey, CbcCmacOpen, CbcCmacSeal, EncryptKey, GcmKey, Mismatch,
    encrypt_blocks_with_many, open_batch, seal_batch,
};

use crate::harness::Contest;
use crate::peers;
use crate::report::{Bar, Row};

/// A full Ethernet payload.
const PAYLOAD: usize = 1500;

/// The same, padded to whole blocks.
const PADDED: usize = 1504;

/// Frames in a batch.
const BATCH: usize = 16;

/// Measures everything.
pub fn run(rounds: u32) -> Vec<Row> {
    vec![
        gcm_seal(rounds),
        cbc_cmac_seal_one(rounds),
        // Ours checks its lengths too, so the bar is against the peer that does.
        cbc_cmac_seal_batch(rounds, "ipsec-mb", true, Bar::Times(1.5)),
        cbc_cmac_seal_batch(rounds, "ipsec-mb, unchecked", false, Bar::None),
        cbc_cmac_open_one(rounds),
        cbc_cmac_open_batch(rounds),
        address_keys(rounds),
        address_window(rounds),
    ]
}

fn gcm_seal(rounds: u32) -> Row {
    let (key, nonce, aad) = ([7; 16], [3; 12], [5; 16]);
    let ours = GcmKey::new_128(&key);
    let mut expected = vec![1; PAYLOAD];
    let tag = ours.seal_in_place(&nonce, &aad, &mut expected);

    let mut contest = Contest::default();
    let mut data = vec![1; PAYLOAD];
    contest.enter("slyfi-aes", move || {
        black_box(ours.seal_in_place(black_box(&nonce), &aad, &mut data));
    });
    for peer in peers::gcm::all(&key) {
        let (name, mut seal) = match peer {
            Ok(peer) => peer,
            Err(name) => {
                contest.miss(name, peers::WITHOUT);
                continue;
            }
        };
        let mut data = vec![1; PAYLOAD];
        assert_eq!((seal(&nonce, &aad, &mut data), &data), (tag, &expected), "{name}");
        contest.enter(name, move || {
            black_box(seal(black_box(&nonce), &aad, &mut data));
        });
    }
    Row::new("seal 1500 B, AES-128-GCM, 16 B of AAD", Bar::Times(0.95), contest.run(rounds, 1))
}

fn cbc_cmac_seal_one(rounds: u32) -> Row {
    let link = Link::new(0);
    let mut expected = vec![1; PADDED];
    link.key.seal_in_place(&link.iv, Some(&link.iv), &mut expected);

    let mut contest = Contest::default();
    let mut data = vec![1; PADDED];
    let Link { key, iv, enc, .. } = link;
    contest.enter("slyfi-aes", move || {
        black_box(key.seal_in_place(black_box(&iv), Some(&iv), &mut data));
    });
    match peers::cbc::openssl(&enc) {
        Some(mut encrypt) => {
            let (input, mut output) = (vec![1; PADDED], vec![0; PADDED + 16]);
            encrypt(&iv, &input, &mut output);
            assert_eq!(output[..PADDED], expected, "OpenSSL");
            contest.enter("OpenSSL, CBC alone", move || {
                encrypt(black_box(&iv), &input, black_box(&mut output));
            });
        }
        None => {
            contest.miss("OpenSSL", peers::WITHOUT);
        }
    }
    Row::new("seal 1504 B, CBC and CMAC", Bar::Times(1.0), contest.run(rounds, 1))
}

fn cbc_cmac_seal_batch(rounds: u32, peer: &str, checked: bool, bar: Bar) -> Row {
    let links = &Link::batch();
    let mut frames = [(); BATCH].map(|()| vec![1; PADDED]);
    let expected = seal_all(links, &mut frames);
    let expected_frames = frames.clone();

    let mut contest = Contest::default();
    contest.enter("slyfi-aes", move || {
        black_box(seal_all(links, &mut frames));
    });
    let keys = links.each_ref().map(|link| (&link.enc, &link.mac, &link.iv));
    match peers::ipsec_mb(keys, checked) {
        Some(mut seal) => {
            let mut frames = links.each_ref().map(|link| [&link.iv[..], &[1; PADDED]].concat());
            assert_eq!(seal(&mut frames), expected, "{peer}");
            for (frame, expected) in frames.iter().zip(&expected_frames) {
                assert_eq!(frame[16..], expected[..], "{peer}");
            }
            contest.enter(peer, move || {
                black_box(seal(&mut frames));
            });
        }
        None => {
            contest.miss(peer, "not in this build (feature `peers`, libipsec-mb-dev)");
        }
    }
    let outcome = contest.run(rounds, BATCH as u32);
    Row::new("seal 16 x 1504 B of 16 links, per frame", bar, outcome)
}

fn cbc_cmac_open_one(rounds: u32) -> Row {
    let link = Link::new(0);
    let mut sealed = vec![1; PADDED];
    let tag = link.key.seal_in_place(&link.iv, Some(&link.iv), &mut sealed);

    let (link, sealed, tag) = (&link, &sealed, &tag);

    // Opening changes the data, so each round starts with a copy of it, for everybody alike.
    let mut contest = Contest::default();
    let mut data = sealed.clone();
    contest.enter("slyfi-aes", move || {
        data.copy_from_slice(sealed);
        let result = link.key.open_in_place(&link.iv, Some(&link.iv), &mut data, black_box(tag));
        assert!(black_box(result).is_ok());
    });
    let twin = peers::RustCrypto::new(&link.enc, &link.mac);
    let mut data = sealed.clone();
    assert!(twin.open(&link.iv, &link.iv, &mut data, tag));
    assert_eq!(data, [1; PADDED]);
    contest.enter("RustCrypto", move || {
        data.copy_from_slice(sealed);
        assert!(black_box(twin.open(&link.iv, &link.iv, &mut data, black_box(tag))));
    });
    Row::new("open 1504 B, CBC and CMAC", Bar::Times(1.2), contest.run(rounds, 1))
}

fn cbc_cmac_open_batch(rounds: u32) -> Row {
    let links = &Link::batch();
    let mut sealed = [(); BATCH].map(|()| vec![1; PADDED]);
    let tags = &seal_all(links, &mut sealed);
    let sealed = &sealed;

    let mut contest = Contest::default();
    let mut frames = sealed.clone();
    contest.enter("slyfi-aes", move || {
        for (frame, sealed) in frames.iter_mut().zip(sealed) {
            frame.copy_from_slice(sealed);
        }
        assert!(black_box(open_all(links, tags, &mut frames)));
    });
    let twins = links.each_ref().map(|link| peers::RustCrypto::new(&link.enc, &link.mac));
    let mut frames = sealed.clone();
    contest.enter("RustCrypto", move || {
        for (i, (frame, sealed)) in frames.iter_mut().zip(sealed).enumerate() {
            frame.copy_from_slice(sealed);
            let iv = &links[i].iv;
            assert!(black_box(twins[i].open(iv, iv, frame, &tags[i])));
        }
    });
    let outcome = contest.run(rounds, BATCH as u32);
    Row::new("open 16 x 1504 B of 16 links, per frame", Bar::Times(4.0), outcome)
}

/// The AES part of a new interval: two addresses for each of many keys. The whole of an interval may
/// take a microsecond a key.
fn address_keys(rounds: u32) -> Row {
    const KEYS: usize = 1024;
    let keys: &[[u8; 16]] = &(0..KEYS as u128).map(u128::to_le_bytes).collect::<Vec<_>>();
    let mut blocks = vec![[[1; 16]; 2]; KEYS];
    let mut contest = Contest::default();
    contest.enter("slyfi-aes", move || encrypt_blocks_with_many(keys, black_box(&mut blocks)));
    let mut blocks = vec![[[1; 16]; 2]; KEYS];
    contest.enter("RustCrypto", move || peers::rust_crypto_many(keys, black_box(&mut blocks)));
    Row::new(
        "two addresses of a key used once, per key",
        Bar::Nanoseconds(1000.0),
        contest.run(rounds, KEYS as u32),
    )
}

/// The AES part of an association: a window of addresses.
fn address_window(rounds: u32) -> Row {
    const WINDOW: usize = 50;
    let key = EncryptKey::new(&[7; 16]);
    let mut blocks = [[1; 16]; WINDOW];
    let mut contest = Contest::default();
    contest.enter("slyfi-aes", move || key.encrypt_blocks(black_box(&mut blocks)));
    let twin = peers::RustCrypto::new(&[7; 16], &[0; 16]);
    let mut blocks = [[1; 16]; WINDOW];
    contest.enter("RustCrypto", move || twin.encrypt_blocks(black_box(&mut blocks)));
    Row::new("a window of 50 addresses", Bar::None, contest.run(rounds, 1))
}

/// One end of a link of suite `2008`.
struct Link {
    key: CbcCmacKey,
    enc: [u8; 16],
    mac: [u8; 16],
    iv: Block,
}

impl Link {
    fn new(i: u8) -> Self {
        let (enc, mac) = ([i; 16], [0x80 | i; 16]);
        Self { key: CbcCmacKey::new(&enc, &mac), enc, mac, iv: [0x40 | i; 16] }
    }

    fn batch() -> [Self; BATCH] {
        std::array::from_fn(|i| Self::new(i as u8))
    }
}

/// Seals one frame of each link; the tags.
fn seal_all(links: &[Link; BATCH], frames: &mut [Vec<u8>; BATCH]) -> [Block; BATCH] {
    let mut frames = frames.iter_mut();
    let mut jobs: [_; BATCH] = std::array::from_fn(|i| {
        let Link { key, iv, .. } = &links[i];
        let data = frames.next().expect("as many frames as links");
        CbcCmacSeal { key, iv: *iv, mac_prefix: Some(*iv), data, tag: [0; 16] }
    });
    seal_batch(&mut jobs);
    jobs.map(|job| job.tag)
}

/// Opens one frame of each link; whether all tags verified.
fn open_all(links: &[Link; BATCH], tags: &[Block; BATCH], frames: &mut [Vec<u8>; BATCH]) -> bool {
    let mut i = 0;
    let mut jobs = frames.each_mut().map(|frame| {
        let Link { key, iv, .. } = &links[i];
        let tag = tags[i];
        i += 1;
        let result = Err(Mismatch);
        CbcCmacOpen { key, iv: *iv, mac_prefix: Some(*iv), data: frame, tag, result }
    });
    open_batch(&mut jobs);
    jobs.iter().all(|job| job.result.is_ok())
}
