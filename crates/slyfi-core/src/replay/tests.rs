use super::*;
use proptest::prelude::*;

fn record(pairing: u8, mac: u32, expires: u64) -> ReplayRecord {
    let mut header_mac = [0; 16];
    header_mac[..4].copy_from_slice(&mac.to_be_bytes());
    ReplayRecord { pairing: [pairing; 8], header_mac, expires: UnixTime::from_secs(expires) }
}

fn cache(per_pairing: usize, total: usize) -> ReplayCache {
    ReplayCache::new(ReplayBounds { per_pairing, total })
}

const NOW: UnixTime = UnixTime::from_secs(100);

#[test]
fn admits_once_and_refuses_every_copy() {
    let mut cache = ReplayCache::new(ReplayBounds::default());
    assert_eq!(cache.admit(record(1, 7, 500), NOW), Ok(record(1, 7, 500)));
    for wall in [0, 100, 499, 500, 5000] {
        let again = cache.admit(record(1, 7, 500), UnixTime::from_secs(wall));
        assert_eq!(again, Err(ReplayRefused::Replayed));
    }
    assert!(cache.admit(record(1, 8, 500), NOW).is_ok());
    assert!(cache.admit(record(2, 7, 500), NOW).is_ok(), "another pairing's");
    assert_eq!(cache.len(), 3);
}

#[test]
fn refuses_after_a_restart_what_was_stored_before() {
    let mut first = ReplayCache::new(ReplayBounds::default());
    let stored = first.admit(record(1, 7, 500), NOW).unwrap().encode();
    let mut second = ReplayCache::new(ReplayBounds::default());
    second.restore(ReplayRecord::decode(&stored).unwrap());
    assert_eq!(second.admit(record(1, 7, 500), NOW), Err(ReplayRefused::Replayed));
    // The control: without the stored record it would pass.
    let mut third = ReplayCache::new(ReplayBounds::default());
    assert!(third.admit(record(1, 7, 500), NOW).is_ok());
}

#[test]
fn full_fails_closed_until_records_expire() {
    let mut cache = cache(3, 5);
    for mac in 0..3 {
        assert!(cache.admit(record(1, mac, 200 + u64::from(mac)), NOW).is_ok());
    }
    assert_eq!(cache.admit(record(1, 9, 500), NOW), Err(ReplayRefused::Full));
    assert!(cache.admit(record(2, 1, 500), NOW).is_ok(), "one pairing locks out only itself");
    assert!(cache.admit(record(3, 1, 500), NOW).is_ok());
    assert_eq!(cache.admit(record(4, 1, 500), NOW), Err(ReplayRefused::Full), "in all");
    assert!(cache.admit(record(1, 9, 500), UnixTime::from_secs(201)).is_ok());
    assert_eq!(cache.len(), 4);
}

#[test]
fn a_clock_that_goes_back_revives_nothing_that_was_forgotten() {
    let mut cache = cache(1, 10);
    assert!(cache.admit(record(1, 1, 200), NOW).is_ok());
    assert!(cache.admit(record(1, 2, 400), UnixTime::from_secs(300)).is_ok());
    // The first record is forgotten; its address would be valid again now.
    assert_eq!(cache.admit(record(1, 1, 200), NOW), Err(ReplayRefused::Replayed));
    assert_eq!(cache.admit(record(9, 1, 300), NOW), Err(ReplayRefused::Replayed));
    assert!(cache.admit(record(9, 1, 301), NOW).is_ok());
}

#[test]
fn a_removed_pairing_leaves_room() {
    let mut cache = cache(2, 2);
    assert!(cache.admit(record(1, 1, 500), NOW).is_ok());
    assert!(cache.admit(record(2, 1, 500), NOW).is_ok());
    assert_eq!(cache.admit(record(2, 2, 500), NOW), Err(ReplayRefused::Full));
    cache.forget_pairing(&[1; 8]);
    cache.forget_pairing(&[7; 8]);
    assert!(cache.admit(record(2, 2, 500), NOW).is_ok());
    assert_eq!(cache.len(), 2);
    assert!(!cache.is_empty());
}

proptest! {
    #[test]
    fn stored_form_comes_back_and_junk_never_panics(
        pairing: [u8; 8], header_mac: [u8; 16], s in 0..1_u64 << 40, junk: Vec<u8>,
    ) {
        let record = ReplayRecord { pairing, header_mac, expires: UnixTime::from_secs(s) };
        prop_assert_eq!(ReplayRecord::decode(&record.encode()), Some(record));
        if let Some(r) = ReplayRecord::decode(&junk) {
            prop_assert_eq!(&r.encode()[..], &junk[..]);
        }
        prop_assert!(ReplayRecord::decode(&record.encode()[1..]).is_none());
    }
}
