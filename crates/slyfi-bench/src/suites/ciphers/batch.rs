//! CCM on many messages at once, a key each.

use std::hint::black_box;

use slyfi_aes::{
    Block, CcmHead, CcmKey, CcmOpen, CcmSeal, Mismatch, ccm_open_batch, ccm_seal_batch,
};
use slyfi_ciphers::ccm::{Ccm, Parameters};

use super::{AAD, NONCE, PAYLOAD};
use crate::harness::Contest;
use crate::peers;
use crate::report::{Bar, Row};

/// Messages in a batch.
const BATCH: usize = 16;

/// Measures everything.
pub fn run(rounds: u32) -> Vec<Row> {
    vec![
        // Ours checks its lengths too, so the bar is against the peer that does.
        seal(rounds, PAYLOAD, "ipsec-mb", true, Bar::Times(1.2)),
        seal(rounds, PAYLOAD, "ipsec-mb, unchecked", false, Bar::None),
        seal(rounds, 64, "ipsec-mb", true, Bar::None),
        open(rounds, PAYLOAD),
    ]
}

/// One end of sixteen links, and what their messages begin with.
struct Links {
    raw: [[u8; 16]; BATCH],
    keys: [CcmKey; BATCH],
    counter: Block,
    first: [Block; 2],
}

impl Links {
    /// For messages of `len` bytes with an eight-byte tag, as RFC 3610 §2.2 formats them.
    fn new(len: usize) -> Self {
        let raw: [[u8; 16]; BATCH] = std::array::from_fn(|i| [i as u8; 16]);
        let (mut counter, mut b1) = ([0; 16], [0; 16]);
        counter[0] = 1;
        counter[1..14].copy_from_slice(&NONCE);
        let mut b0 = counter;
        b0[0] = 0x59;
        b0[14..].copy_from_slice(&(len as u16).to_be_bytes());
        b1[..2].copy_from_slice(&(AAD.len() as u16).to_be_bytes());
        b1[2..].copy_from_slice(&AAD[..14]);
        let keys = raw.each_ref().map(CcmKey::new_128);
        Self { raw, keys, counter, first: [b0, b1] }
    }

    fn head(&self) -> CcmHead<'_> {
        CcmHead { counter: self.counter, first: &self.first, rest: &AAD[14..] }
    }

    /// What each message of ones is sealed to alone.
    fn sealed(&self, len: usize) -> [(Vec<u8>, [u8; 8]); BATCH] {
        self.raw.each_ref().map(|key| {
            let (mut data, mut tag) = (vec![1; len], [0; 8]);
            let key = Ccm::new(key, Parameters::CCMP_128).expect("a key of AES-128");
            key.seal_in_place(&NONCE, &AAD, &mut data, &mut tag).expect("a message CCM allows");
            (data, tag)
        })
    }

    fn seal_all(&self, messages: &mut [Vec<u8>; BATCH]) -> [Block; BATCH] {
        let mut messages = messages.iter_mut();
        let mut jobs: [_; BATCH] = std::array::from_fn(|i| {
            let data = messages.next().expect("as many messages as links");
            CcmSeal { key: &self.keys[i], head: self.head(), data, tag: [0; 16] }
        });
        ccm_seal_batch(&mut jobs);
        jobs.map(|job| job.tag)
    }

    /// Opens one message of each link; whether all tags verified.
    fn open_all(&self, tags: &[[u8; 8]; BATCH], messages: &mut [Vec<u8>; BATCH]) -> bool {
        let mut messages = messages.iter_mut();
        let mut jobs: [_; BATCH] = std::array::from_fn(|i| {
            let data = messages.next().expect("as many messages as links");
            let (key, tag, result) = (&self.keys[i], &tags[i][..], Err(Mismatch));
            CcmOpen { key, head: self.head(), data, tag, result }
        });
        ccm_open_batch(&mut jobs);
        jobs.iter().all(|job| job.result.is_ok())
    }
}

fn seal(rounds: u32, len: usize, peer: &str, checked: bool, bar: Bar) -> Row {
    let links = Links::new(len);
    let sealed = links.sealed(len);
    let mut messages = [(); BATCH].map(|()| vec![1; len]);
    let tags = links.seal_all(&mut messages);
    for (i, (data, tag)) in sealed.iter().enumerate() {
        assert_eq!((&messages[i], &tags[i][..8]), (data, &tag[..]), "message {i}");
    }

    let mut contest = Contest::default();
    let ours = &links;
    contest.enter("slyfi-aes", move || {
        black_box(ours.seal_all(&mut messages));
    });
    match peers::ipsec_mb_ccm(links.raw.each_ref(), NONCE, AAD, checked) {
        Some(mut seal) => {
            let mut messages = [(); BATCH].map(|()| vec![1; len]);
            let tags = seal(&mut messages);
            for (i, (data, tag)) in sealed.iter().enumerate() {
                assert_eq!((&messages[i], &tags[i]), (data, tag), "{peer}, message {i}");
            }
            contest.enter(peer, move || {
                black_box(seal(black_box(&mut messages)));
            });
        }
        None => {
            contest.miss(peer, "not in this build (feature `peers`, libipsec-mb-dev)");
        }
    }
    let outcome = contest.run(rounds, BATCH as u32);
    Row::new(&format!("seal 16 x {len} B of 16 keys, AES-128-CCM, per message"), bar, outcome)
}

fn open(rounds: u32, len: usize) -> Row {
    let links = &Links::new(len);
    let sealed = &links.sealed(len);
    let tags = &sealed.each_ref().map(|(_, tag)| *tag);

    // Opening changes the data, so each round starts with a copy of it, for everybody alike.
    let mut contest = Contest::default();
    let mut messages = sealed.each_ref().map(|(data, _)| data.clone());
    contest.enter("slyfi-aes", move || {
        for (message, (data, _)) in messages.iter_mut().zip(sealed) {
            message.copy_from_slice(data);
        }
        assert!(black_box(links.open_all(tags, &mut messages)));
    });
    let mut twins = links.raw.each_ref().map(peers::ccm::rust_crypto_open);
    let mut messages = sealed.each_ref().map(|(data, _)| data.clone());
    contest.enter("RustCrypto", move || {
        for (i, (message, (data, tag))) in messages.iter_mut().zip(sealed).enumerate() {
            message.copy_from_slice(data);
            assert!(black_box(twins[i](&NONCE, &AAD, message, tag)));
        }
    });
    let outcome = contest.run(rounds, BATCH as u32);
    let what = format!("open 16 x {len} B of 16 keys, AES-128-CCM, per message");
    Row::new(&what, Bar::None, outcome)
}
