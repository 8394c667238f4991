use super::*;
use crate::testing::TestRandom;
use proptest::prelude::*;

fn terms(suite: Suite) -> Terms {
    let network = NetworkName::new(b"home").unwrap();
    Terms::new(network, suite, UnixTime::from_secs(1_700_000_000), Kind::Member)
}

fn pairing(suite: Suite) -> Pairing {
    Pairing::generate(&terms(suite), &mut TestRandom::new(1)).unwrap()
}

#[test]
fn intervals_count_from_t0_and_are_negative_before() {
    let p = pairing(Suite::AEAD);
    let at = |s: u64| p.interval_at(UnixTime::from_secs(s));
    assert_eq!([at(1_700_000_000), at(1_700_000_299), at(1_700_000_300)], [0, 0, 1]);
    assert_eq!([at(1_699_999_999), at(1_699_999_700), at(1_699_999_699)], [-1, -1, -2]);
    assert_eq!(p.begins(3), UnixTime::from_secs(1_700_000_900));
    // Interval 3 is in the window [i−1, i+1] until interval 5 begins.
    assert_eq!(p.expires(3), p.begins(5));
}

#[test]
fn advancing_by_days_or_at_once_ends_at_the_same_keys() {
    for suite in Suite::ALL {
        let (mut steps, mut once) = (pairing(suite), pairing(suite));
        for day in 1..=30 {
            assert_eq!(steps.advance(day), Ok(true));
            assert_eq!(steps.advance(day), Ok(false));
        }
        assert_eq!(once.advance(30), Ok(true));
        assert_eq!(steps, once);
        assert_eq!(once.advance(29), Ok(false), "a day that has passed stays passed");
        assert_eq!(once.day(), 30);
    }
}

#[test]
fn an_advanced_pairing_has_none_of_the_old_address_keys() {
    for suite in Suite::ALL {
        let old = pairing(suite);
        let mut new = old.clone();
        new.advance(1).unwrap();
        for direction in [Direction::Up, Direction::Down] {
            let (a, b) = (old.tryst_keys(direction, 0).unwrap(), new.tryst_keys(direction, 288));
            let b = b.unwrap();
            assert_ne!(a.addr, b.addr);
            // The paper ratchets the address key only (§4.1); suite aead all of them.
            assert_eq!(a.enc == b.enc, !suite.is_aead());
            assert_eq!(a.mac == b.mac, !suite.is_aead());
            let stored = new.encode();
            let held = |key: &crate::keys::Key128| stored.windows(16).any(|w| w == key.as_bytes());
            assert!(!held(&a.addr));
            assert_eq!(new.tryst_keys(direction, 287), Err(NoKeys::Erased));
        }
    }
}

#[test]
fn no_more_than_a_century_is_computed() {
    let mut p = pairing(Suite::S2008);
    let interval = |day: u64| day * 288;
    assert!(p.tryst_keys(Direction::Up, interval(MAX_DAYS.into())).is_ok());
    let beyond = interval(u64::from(MAX_DAYS) + 1);
    assert_eq!(p.tryst_keys(Direction::Up, beyond), Err(NoKeys::TooFarAhead));
    assert_eq!(p.tryst_keys(Direction::Up, u64::MAX), Err(NoKeys::TooFarAhead));
    assert_eq!(p.advance(MAX_DAYS + 1), Err(NoKeys::TooFarAhead));
    assert_eq!(p.day(), 0);
}

#[test]
fn directions_and_pairings_have_keys_of_their_own() {
    for suite in Suite::ALL {
        let p = pairing(suite);
        assert_ne!(p.tryst_keys(Direction::Up, 0), p.tryst_keys(Direction::Down, 0));
        let other = Pairing::generate(&terms(suite), &mut TestRandom::new(2)).unwrap();
        assert_ne!(p.tryst_keys(Direction::Up, 0), other.tryst_keys(Direction::Up, 0));
    }
}

#[test]
fn terms_out_of_range_make_no_pairing() {
    let make = |f: fn(&mut Terms)| {
        let mut terms = terms(Suite::AEAD);
        f(&mut terms);
        Pairing::generate(&terms, &mut TestRandom::new(1)).map(|_| ())
    };
    assert_eq!(make(|_| ()), Ok(()));
    assert_eq!(make(|t| t.interval = Duration::ZERO), Err(OutOfRange));
    assert_eq!(make(|t| t.interval = Duration::from_millis(1500)), Err(OutOfRange));
    assert_eq!(make(|t| t.interval = Duration::from_secs(86_400)), Ok(()));
    assert_eq!(make(|t| t.interval = Duration::from_secs(86_401)), Err(OutOfRange));
    assert_eq!(make(|t| t.interval = Duration::from_secs(1 << 33)), Err(OutOfRange));
    assert_eq!(make(|t| t.skew = MAX_SKEW), Ok(()));
    assert_eq!(make(|t| t.skew = MAX_SKEW + 1), Err(OutOfRange));
    assert!(NetworkName::new(b"").is_none());
    assert!(NetworkName::new(&[b'x'; 33]).is_none());
}

#[test]
fn stored_form_brings_every_suite_and_kind_back() {
    for suite in Suite::ALL {
        for kind in [Kind::Member, Kind::Invite { expires: UnixTime::from_secs(1_800_000_000) }] {
            let terms = Terms { kind, ..terms(suite) };
            let mut p = Pairing::generate(&terms, &mut TestRandom::new(3)).unwrap();
            p.advance(12).unwrap();
            let bytes = p.encode();
            assert_eq!(Pairing::decode(&bytes), Ok(p));
            for len in 0..bytes.len() {
                assert_eq!(Pairing::decode(&bytes[..len]), Err(Damaged));
            }
            let mut other_version = bytes.to_vec();
            other_version[0] = 2;
            assert_eq!(Pairing::decode(&other_version), Err(Damaged));
        }
    }
}

#[test]
fn neither_names_nor_keys_print() {
    let shown = std::format!("{:?}", pairing(Suite::AEAD));
    assert!(
        shown.contains("NetworkName(<hidden>)") && shown.contains("Key256(<hidden>)"),
        "{shown}"
    );
    assert!(!shown.contains("home"));
}

proptest! {
    #[test]
    fn decoding_never_panics_and_takes_only_what_encoding_writes(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        junk in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = Pairing::decode(&junk);
        let mut bytes = pairing(Suite::S2008).encode().to_vec();
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(p) = Pairing::decode(&bytes) {
            prop_assert_eq!(&p.encode()[..], &bytes[..]);
            // Whatever the times are, the arithmetic on them holds.
            let _ = p.interval_at(UnixTime::from_micros(u64::MAX));
            let _ = p.expires(u64::MAX);
            let _ = p.due_day(UnixTime::from_micros(u64::MAX));
        }
    }
}
