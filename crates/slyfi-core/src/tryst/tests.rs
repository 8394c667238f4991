use super::*;
use crate::sizes::{SizePolicy, Sizes};
use crate::suite::Suite;
use crate::testing::TestRandom;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::vec;
use std::vec::Vec;

fn keys(rng: &mut TestRandom) -> TrystKeys {
    TrystKeys { addr: Key128::random(rng), enc: Key128::random(rng), mac: Key128::random(rng) }
}

fn sealed(suite: Suite, to: &[TrystKeys], payload: &[u8], rng: &mut TestRandom) -> Vec<u8> {
    let addresses: Vec<_> = to.iter().map(|k| address(&k.addr, Class::Probe, 77)).collect();
    let recipients: Vec<_> =
        to.iter().zip(&addresses).map(|(keys, address)| Recipient { keys, address }).collect();
    let mut out = vec![0; 2300];
    let len = seal(suite, Sizes::default(), &recipients, payload, rng, &mut out).unwrap();
    out.truncate(len);
    out
}

#[test]
fn every_recipient_opens_a_scoped_broadcast_of_any_size() {
    let mut rng = TestRandom::new(1);
    for suite in Suite::ALL {
        for count in 1..=MAX_RECIPIENTS {
            let to: Vec<_> = (0..count).map(|_| keys(&mut rng)).collect();
            for len in [0, 1, 15, 16, 17, 300] {
                let payload = vec![len as u8; len];
                let body = sealed(suite, &to, &payload, &mut rng);
                let mut macs = BTreeSet::new();
                for (j, keys) in to.iter().enumerate() {
                    let mut body = body.clone();
                    let opened = open(suite, keys, &mut body, j).unwrap();
                    assert_eq!(opened.recipients, count);
                    assert_eq!(body[opened.payload], payload);
                    assert!(macs.insert(opened.header_mac));
                }
            }
        }
    }
}

#[test]
fn a_header_opens_only_in_its_place_and_for_its_recipient() {
    let mut rng = TestRandom::new(2);
    for suite in Suite::ALL {
        let to: Vec<_> = (0..3).map(|_| keys(&mut rng)).collect();
        let body = sealed(suite, &to, b"probe", &mut rng);
        for (j, keys) in to.iter().enumerate() {
            for place in 0..12 {
                let opened = open(suite, keys, &mut body.clone(), place);
                assert_eq!(opened.is_ok(), place == j, "{suite} {j} {place}");
            }
        }
        // Headers change places: nothing that suite 2008 could see, but aead binds them.
        let mut swapped = body.clone();
        swapped[..96].rotate_left(48);
        assert_eq!(open(suite, &to[0], &mut swapped, 1).is_ok(), !suite.is_aead());
    }
}

#[test]
fn a_header_moved_to_another_ctext_does_not_open() {
    let mut rng = TestRandom::new(3);
    for suite in Suite::ALL {
        let to = [keys(&mut rng)];
        let mut first = sealed(suite, &to, b"first", &mut rng);
        let second = sealed(suite, &to, b"second", &mut rng);
        first[..48].copy_from_slice(&second[..48]);
        assert_eq!(open(suite, &to[0], &mut first, 0), Err(Unverified));
    }
}

#[test]
fn a_refused_body_is_left_as_it_was() {
    let mut rng = TestRandom::new(4);
    for suite in Suite::ALL {
        let to = [keys(&mut rng), keys(&mut rng)];
        let body = sealed(suite, &to, b"probe", &mut rng);
        for at in [20, 40, body.len() - 1] {
            let mut damaged = body.clone();
            damaged[at] ^= 4;
            let before = damaged.clone();
            assert_eq!(open(suite, &to[0], &mut damaged, 0), Err(Unverified));
            assert_eq!(damaged, before);
        }
    }
}

#[test]
fn two_seals_of_one_payload_share_only_the_address() {
    let mut rng = TestRandom::new(5);
    for suite in Suite::ALL {
        let to = [keys(&mut rng)];
        let mut runs = BTreeSet::new();
        for _ in 0..6 {
            let body = sealed(suite, &to, &[0; 200], &mut rng);
            for run in body[16..].windows(8) {
                assert!(runs.insert(run.to_vec()), "{suite}");
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_not_sealed() {
    let mut rng = TestRandom::new(6);
    let keys = keys(&mut rng);
    let address = [1; 16];
    let to = |n: usize| vec![Recipient { keys: &keys, address: &address }; n];
    let sizes = Sizes::new(SizePolicy::Buckets, 300);
    let mut out = vec![0; 300];
    let mut seal = |n, payload: &[u8], out: &mut [u8]| {
        seal(Suite::AEAD, sizes, &to(n), payload, &mut rng, out)
    };
    assert_eq!(seal(0, b"x", &mut out), Err(SealError::Recipients));
    assert_eq!(seal(9, b"x", &mut out), Err(SealError::Recipients));
    assert_eq!(seal(1, &[0; 300 - 48 - 18 + 1], &mut out), Err(SealError::TooLong));
    assert_eq!(seal(6, b"x", &mut out), Err(SealError::TooLong));
    assert_eq!(seal(1, &[0; 90], &mut out[..255]), Err(SealError::BufferTooSmall { needed: 256 }));
    assert_eq!(seal(1, &[0; 90], &mut out), Ok(256));
    assert_eq!(seal(1, &[0; 300 - 48 - 18], &mut out), Ok(300));
}

#[test]
fn a_packet_of_one_suite_does_not_open_under_another() {
    let mut rng = TestRandom::new(7);
    let to = [keys(&mut rng)];
    let differ = |a: Suite, b: Suite| match (a, b) {
        // The agreement takes no part in Tryst itself.
        (Suite::Aead { key: a, .. }, Suite::Aead { key: b, .. }) => a != b,
        (a, b) => a != b,
    };
    for a in Suite::ALL {
        let body = sealed(a, &to, b"suites are not negotiated", &mut rng);
        for b in Suite::ALL {
            assert_eq!(open(b, &to[0], &mut body.clone(), 0).is_err(), differ(a, b), "{a} {b}");
        }
    }
}

#[test]
fn the_probe_block_is_the_papers_own() {
    assert_eq!(Class::Probe.block(0x0102_0304), 0x0102_0304_u128.to_be_bytes());
    let mut expected = [0; 16];
    expected[0] = 1;
    expected[15] = 9;
    assert_eq!(Class::Authentication.block(9), expected);
    assert_eq!(Class::Authentication.block(u64::MAX)[..8], [1, 0, 0, 0, 0, 0, 0, 0]);
}

proptest! {
    #[test]
    fn opening_junk_never_panics_and_never_succeeds(
        suite in 0..Suite::ALL.len(),
        header in 0..20_usize,
        mut body in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let keys = keys(&mut TestRandom::new(8));
        prop_assert_eq!(open(Suite::ALL[suite], &keys, &mut body, header), Err(Unverified));
    }

    /// Behind a header that is right, anything.
    #[test]
    fn junk_behind_a_true_header_never_panics_and_never_succeeds(
        suite in 0..Suite::ALL.len(),
        junk in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let mut rng = TestRandom::new(9);
        let (suite, to) = (Suite::ALL[suite], [keys(&mut rng)]);
        let mut body = sealed(suite, &to, b"probe", &mut rng);
        body.truncate(48);
        body.extend_from_slice(&junk);
        prop_assert_eq!(open(suite, &to[0], &mut body, 0), Err(Unverified));
    }
}
