use super::*;
use crate::testing::TestRandom;
use proptest::prelude::*;

#[test]
fn both_sides_agree_in_every_suite_and_never_twice_on_the_same() {
    let mut rng = TestRandom::new(1);
    for suite in Suite::ALL {
        let mut before = None;
        for _ in 0..2 {
            let offer = Offer::new(suite, &mut rng);
            let (theirs, response) = answer(suite, offer.request_bytes(), &mut rng).unwrap();
            let ours = offer.finish(&response).unwrap();
            assert_eq!(ours, theirs);
            assert_eq!((ours.up.suite(), ours.down.suite()), (suite, suite));
            assert_ne!(ours.up.as_bytes(), ours.down.as_bytes());
            assert_ne!(ours.roam, ours.export);
            assert_ne!(Some(&ours), before.as_ref());
            before = Some(ours);
        }
    }
}

#[test]
fn halves_are_as_long_as_documented() {
    let mut rng = TestRandom::new(2);
    let expected = [(64, 0), (64, 64), (64, 64), (1248, 1152), (1248, 1152)];
    for (suite, expected) in Suite::ALL.into_iter().zip(expected) {
        let offer = Offer::new(suite, &mut rng);
        let (_, response) = answer(suite, offer.request_bytes(), &mut rng).unwrap();
        assert_eq!((offer.request_bytes().len(), response.len()), expected);
    }
}

#[test]
fn points_of_small_order_are_refused_on_both_sides() {
    let mut rng = TestRandom::new(3);
    // RFC 7748 §6.1: zero, one, and the point of order eight that is most quoted.
    let eight = [
        0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4,
        0x6a, 0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49,
        0xb8, 0x00,
    ];
    let mut one = [0; 32];
    one[0] = 1;
    for point in [[0; 32], one, eight] {
        let mut half = [7; 64];
        half[32..].copy_from_slice(&point);
        assert_eq!(answer(Suite::AEAD, &half, &mut rng).err(), Some(Unusable));
        let offer = Offer::new(Suite::AEAD, &mut rng);
        assert_eq!(offer.finish(&half), Err(Unusable));
    }
    // The control: the same randoms with a true point.
    let mut half = [7; 64];
    half[32..].copy_from_slice(&Offer::new(Suite::AEAD, &mut rng).request_bytes()[32..64]);
    assert!(answer(Suite::AEAD, &half, &mut rng).is_ok());
}

#[test]
fn an_answer_to_another_request_agrees_on_nothing() {
    let mut rng = TestRandom::new(4);
    for suite in Suite::ALL.into_iter().filter(|s| s.is_aead()) {
        let (a, b) = (Offer::new(suite, &mut rng), Offer::new(suite, &mut rng));
        let (theirs, response) = answer(suite, a.request_bytes(), &mut rng).unwrap();
        let ours = b.finish(&response).unwrap();
        assert_ne!(ours.up, theirs.up);
        assert_ne!(ours.down, theirs.down);
    }
}

#[test]
fn a_changed_random_changes_every_secret() {
    let mut rng = TestRandom::new(5);
    let offer = Offer::new(Suite::AEAD, &mut rng);
    let (theirs, response) = answer(Suite::AEAD, offer.request_bytes(), &mut rng).unwrap();
    let mut changed = response.to_vec();
    changed[0] ^= 1;
    let ours = offer.finish(&changed).unwrap();
    assert_ne!(ours.up, theirs.up);
    assert_ne!(ours.down, theirs.down);
    assert_ne!(ours.roam, theirs.roam);
    assert_ne!(ours.export, theirs.export);
}

#[test]
fn an_answer_in_suite_2008_is_empty_or_refused() {
    let mut rng = TestRandom::new(6);
    let offer = Offer::new(Suite::S2008, &mut rng);
    assert_eq!(offer.finish(&[0]), Err(Unusable));
    assert_eq!(answer(Suite::S2008, &[0; 63], &mut rng).err(), Some(Unusable));
}

#[test]
fn roaming_secrets_differ_by_place_and_move() {
    let roam = Key256::new([9; 32]);
    let derive = |suite, salt: &[u8], generation| roam::derive(suite, &roam, salt, generation);
    let first = derive(Suite::AEAD, b"one", 1);
    assert_eq!(first, derive(Suite::AEAD, b"one", 1));
    assert_ne!(first.0.as_bytes(), first.1.as_bytes());
    for other in [
        derive(Suite::AEAD, b"two", 1),
        derive(Suite::AEAD, b"one", 2),
        derive(Suite::S2008, b"one", 1),
    ] {
        assert_ne!(first.0.as_bytes(), other.0.as_bytes());
        assert_ne!(first.1.as_bytes(), other.1.as_bytes());
    }
}

#[test]
fn neither_offers_nor_secrets_print() {
    let mut rng = TestRandom::new(7);
    let offer = Offer::new(Suite::S2008, &mut rng);
    let (secrets, response) = answer(Suite::AEAD, &[5; 64], &mut rng).unwrap();
    assert_eq!(std::format!("{offer:?}"), "Offer(<hidden>)");
    assert_eq!(std::format!("{response:?}"), "Bytes(<64 hidden>)");
    let shown = std::format!("{secrets:?}");
    assert!(shown.contains("roam: Key256(<hidden>)"), "{shown}");
}

proptest! {
    #[test]
    fn junk_never_panics(suite in 0..Suite::ALL.len(), junk in prop::collection::vec(any::<u8>(), 0..1300)) {
        let (suite, mut rng) = (Suite::ALL[suite], TestRandom::new(8));
        let _ = answer(suite, &junk, &mut rng);
        let _ = Offer::new(suite, &mut rng).finish(&junk);
    }

    /// Of the right length, so that everything but the points and keys is taken.
    #[test]
    fn junk_of_the_right_length_never_panics(seed: u64, len in prop::sample::select(std::vec![64_usize, 1248, 1152])) {
        let mut junk = std::vec![0; len];
        let mut rng = TestRandom::new(seed);
        rng.fill(&mut junk);
        for suite in Suite::ALL {
            let _ = answer(suite, &junk, &mut rng);
            let _ = Offer::new(suite, &mut rng).finish(&junk);
        }
    }
}
