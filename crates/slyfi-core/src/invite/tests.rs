use super::*;
use crate::testing::TestRandom;
use proptest::prelude::*;

const NOW: UnixTime = UnixTime::from_secs(1_760_000_000);

fn invite(name: &[u8]) -> Invite {
    let network = NetworkName::new(name).unwrap();
    let lifetime = Duration::from_secs(3600);
    Invite::new(Suite::AEAD, network, NOW, lifetime, &mut TestRandom::new(1)).unwrap()
}

#[test]
fn url_comes_back_in_either_case_and_with_spaces_around() {
    for len in 1..=32 {
        let invite = invite(&[0xc3; 32][..len]);
        let url = invite.to_url();
        assert_eq!(Invite::from_url(&url, NOW), Ok(invite.clone()));
        let lower = std::format!("  {}\n", url.to_lowercase());
        assert_eq!(Invite::from_url(&lower, NOW), Ok(invite));
    }
}

/// ISO/IEC 18004 table 5: digits, capital letters, space and `$%*+-./:` take 5.5 bits each.
#[test]
fn url_has_only_characters_of_the_qr_codes_alphanumeric_mode() {
    let url = invite(b"home").to_url();
    assert!(
        url.bytes()
            .all(|c| c.is_ascii_digit() || c.is_ascii_uppercase() || b" $%*+-./:".contains(&c))
    );
    assert!(url.len() < 80, "{}", url.len());
}

#[test]
fn each_way_of_being_wrong_has_its_own_error() {
    let invite = invite(b"home");
    let url = invite.to_url();
    let error = |url: &str| Invite::from_url(url, NOW).unwrap_err();
    assert_eq!(error(""), InviteError::NotAnInvite);
    assert_eq!(error("https://example.org/"), InviteError::NotAnInvite);
    assert_eq!(error("SLYFI://JOIN"), InviteError::NotAnInvite);
    assert_eq!(error("ŚLYFI://JOIN/ABCDEF"), InviteError::NotAnInvite);
    assert_eq!(error(URL_PREFIX), InviteError::Damaged);
    assert_eq!(error(&url[..url.len() - 1]), InviteError::Damaged);
    assert_eq!(error(&std::format!("{}A", url.as_str())), InviteError::Damaged);
    assert_eq!(error(&url.replace('A', "1")), InviteError::Damaged);
    assert_eq!(error(&std::format!("{URL_PREFIX}{}", "A".repeat(5000))), InviteError::Damaged);
    let expired = Invite::from_url(&url, invite.expires());
    assert_eq!(expired, Err(InviteError::Expired));

    // A sound URL of version 2.
    let mut bytes = invite.encode();
    bytes[0] = 2;
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum);
    let mut newer = String::from(URL_PREFIX);
    base32::encode(&bytes, &mut newer);
    assert_eq!(error(&newer), InviteError::UnknownVersion);
}

#[test]
fn pairing_of_the_longest_invite_works_for_a_clock_that_is_behind() {
    let network = NetworkName::new(b"home").unwrap();
    let invite =
        Invite::new(Suite::AEAD, network, NOW, MAX_LIFETIME, &mut TestRandom::new(2)).unwrap();
    let pairing = invite.pairing();
    assert!(pairing.interval_at(NOW.shifted(-3_600_000_000)) > 0);
    assert_eq!(pairing.kind(), Kind::Invite { expires: invite.expires() });
    assert_eq!(pairing, Invite::from_url(&invite.to_url(), NOW).unwrap().pairing());
}

#[test]
fn invites_of_one_network_share_no_keys() {
    let mut rng = TestRandom::new(3);
    let mut make = || {
        let network = NetworkName::new(b"home").unwrap();
        Invite::new(Suite::AEAD, network, NOW, MAX_LIFETIME, &mut rng).unwrap().pairing()
    };
    let (a, b) = (make(), make());
    assert_ne!(a.id(), b.id());
    for direction in [crate::pairing::Direction::Up, crate::pairing::Direction::Down] {
        assert_ne!(a.tryst_keys(direction, 1), b.tryst_keys(direction, 1));
    }
}

#[test]
fn terms_that_make_no_sense_make_no_invite() {
    let make = |suite, lifetime| {
        let network = NetworkName::new(b"home").unwrap();
        Invite::new(suite, network, NOW, lifetime, &mut TestRandom::new(4)).is_ok()
    };
    assert!(make(Suite::AEAD, MAX_LIFETIME));
    assert!(!make(Suite::AEAD, MAX_LIFETIME + Duration::from_secs(1)));
    assert!(!make(Suite::AEAD, Duration::ZERO));
    assert!(!make(Suite::S2008, MAX_LIFETIME), "its keys would not be ratcheted");
}

#[test]
fn the_secret_never_prints() {
    let shown = std::format!("{:?}", invite(b"home"));
    assert!(shown.contains("secret: Key128(<hidden>)") && !shown.contains("home"), "{shown}");
}

proptest! {
    #[test]
    fn junk_never_panics(text: String, rest in "[A-Z2-7a-z]{0,120}", bytes: Vec<u8>) {
        let _ = Invite::from_url(&text, NOW);
        let _ = Invite::from_url(&std::format!("{URL_PREFIX}{rest}"), NOW);
        if let Some(invite) = Invite::decode(&bytes) {
            prop_assert_eq!(&invite.encode()[..], &bytes[..]);
        }
    }

    #[test]
    fn base32_has_one_form(bytes in prop::collection::vec(any::<u8>(), 0..60), text in "[A-Z2-7]{0,40}") {
        let mut encoded = String::new();
        base32::encode(&bytes, &mut encoded);
        prop_assert_eq!(base32::decode(&encoded, 60).map(|d| d.to_vec()), Some(bytes));
        if let Some(decoded) = base32::decode(&text, 60) {
            let mut again = String::new();
            base32::encode(&decoded, &mut again);
            prop_assert_eq!(again, text);
        }
    }
}
