use super::*;
use crate::testing::TempDir;
use slyfi_base::{Duration, SecureRandom};
use slyfi_core::invite::Invite;
use slyfi_core::pairing::{NetworkName, Terms};
use slyfi_core::suite::Suite;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

/// Counts up: enough to tell keys apart and to find them in a file again.
struct Counting(u8);

impl SecureRandom for Counting {
    fn fill(&mut self, out: &mut [u8]) {
        for b in out {
            self.0 = self.0.wrapping_mul(5).wrapping_add(113);
            *b = self.0;
        }
    }
}

const NOW: UnixTime = UnixTime::from_secs(1_800_000_000);

fn pairing(seed: u8) -> Pairing {
    let name = NetworkName::new(b"home").unwrap();
    let terms = Terms::new(name, Suite::AEAD, NOW, Kind::Member);
    Pairing::generate(&terms, &mut Counting(seed)).unwrap()
}

fn invite(seed: u8) -> Pairing {
    let name = NetworkName::new(b"home").unwrap();
    let life = Duration::from_secs(600);
    Invite::new(Suite::AEAD, name, NOW, life, &mut Counting(seed)).unwrap().pairing()
}

fn add(store: &mut Store, label: &str, pairing: &Pairing) {
    store.commit(&[Change::Pairing { label, made: NOW, pairing }]).unwrap();
}

fn contains(dir: &Path, needle: &[u8]) -> bool {
    fs::read_dir(dir).unwrap().any(|entry| {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        bytes.windows(needle.len()).any(|w| w == needle)
    })
}

#[test]
fn what_is_committed_is_there_after_opening_again() {
    let dir = TempDir::new("store");
    let at = dir.path().join("keys");
    let mut store = Store::open(&at, Missing::Create).unwrap();
    add(&mut store, "laptop", &pairing(1));
    let invited = invite(2);
    store.commit(&[Change::Invite { label: "phone", made: NOW, pairing: &invited }]).unwrap();
    let until = Some(NOW + Duration::from_secs(60));
    let record = Change::Record { kind: RecordKind::Replay, until, bytes: b"seen" };
    store.commit(&[record]).unwrap();
    drop(store);

    let store = Store::open(&at, Missing::Refuse).unwrap();
    let pairings = store.pairings().unwrap();
    assert_eq!(pairings.len(), 1);
    assert_eq!((&pairings[0].label[..], pairings[0].made), ("laptop", NOW));
    assert_eq!(pairings[0].pairing, pairing(1));
    let invites = store.invites().unwrap();
    assert_eq!((&invites[0].label[..], &invites[0].pairing), ("phone", &invited));
    assert_eq!(store.records(RecordKind::Replay, NOW).unwrap(), [b"seen"]);
    assert!(store.records(RecordKind::InviteSpent, NOW).unwrap().is_empty());
}

#[test]
fn records_are_forgotten_when_their_time_has_passed_and_not_before() {
    let dir = TempDir::new("store");
    let mut store = Store::open(dir.path().join("keys").as_path(), Missing::Create).unwrap();
    let until = Some(NOW + Duration::from_secs(60));
    store
        .commit(&[
            Change::Record { kind: RecordKind::Replay, until, bytes: b"short" },
            Change::Record { kind: RecordKind::Replay, until: None, bytes: b"for ever" },
        ])
        .unwrap();
    let of = |store: &Store, s| {
        store.records(RecordKind::Replay, NOW + Duration::from_secs(s)).unwrap().len()
    };
    assert_eq!((of(&store, 60), of(&store, 61)), (2, 1));
    store.prune(NOW + Duration::from_secs(60)).unwrap();
    assert_eq!(of(&store, 0), 2);
    store.prune(NOW + Duration::from_secs(61)).unwrap();
    assert_eq!(of(&store, 0), 1);
}

#[test]
fn an_expired_invite_goes_and_an_open_one_stays() {
    let dir = TempDir::new("store");
    let mut store = Store::open(dir.path().join("keys").as_path(), Missing::Create).unwrap();
    let invited = invite(2);
    store.commit(&[Change::Invite { label: "", made: NOW, pairing: &invited }]).unwrap();
    store.prune(NOW + Duration::from_secs(599)).unwrap();
    assert_eq!(store.invites().unwrap().len(), 1);
    store.prune(NOW + Duration::from_secs(600)).unwrap();
    assert!(store.invites().unwrap().is_empty());
}

#[test]
fn scrubbing_leaves_no_old_key_in_any_file() {
    let dir = TempDir::new("store");
    let mut store = Store::open(dir.path().join("keys").as_path(), Missing::Create).unwrap();
    let (gone, kept) = (pairing(1), pairing(2));
    add(&mut store, "gone", &gone);
    add(&mut store, "kept", &kept);
    store.commit(&[Change::Forget(*gone.id())]).unwrap();
    let key = |p: &Pairing| p.encode()[p.encode().len() - 32..].to_vec();
    // The control: without scrubbing, the page with the forgotten key is still there.
    assert!(contains(store.dir(), &key(&gone)));
    store.scrub_if_due().unwrap();
    assert!(!contains(store.dir(), &key(&gone)));
    assert!(contains(store.dir(), &key(&kept)));
    assert_eq!(store.pairings().unwrap()[0].pairing, kept);
    // And the store goes on working in its new file.
    add(&mut store, "new", &pairing(3));
    let at = store.dir().to_owned();
    drop(store);
    assert_eq!(Store::open(&at, Missing::Refuse).unwrap().pairings().unwrap().len(), 2);
}

#[test]
fn a_turned_day_advances_every_pairing_and_erases_the_old_keys() {
    let dir = TempDir::new("store");
    let mut store = Store::open(dir.path().join("keys").as_path(), Missing::Create).unwrap();
    let old = pairing(1);
    add(&mut store, "laptop", &old);
    assert_eq!(store.turn_day(NOW + Duration::from_secs(3600)).unwrap(), 0);
    assert_eq!(store.pairings().unwrap()[0].pairing, old);
    let tomorrow = NOW + Duration::from_secs(86_400 + 3600);
    assert_eq!(store.turn_day(tomorrow).unwrap(), 1);
    let new = &store.pairings().unwrap()[0].pairing;
    assert_eq!((new.day(), new.id()), (1, old.id()));
    let bytes = old.encode();
    assert!(!contains(store.dir(), &bytes[bytes.len() - 32..]));
}

#[test]
fn a_store_that_others_can_read_is_refused_with_the_mend() {
    let dir = TempDir::new("store");
    let at = dir.path().join("keys");
    drop(Store::open(&at, Missing::Create).unwrap());
    assert_eq!(fs::metadata(&at).unwrap().mode() & 0o777, 0o700);
    let file = at.join("keys.redb");
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    for (path, loose, mend) in [(&file, 0o640, "chmod 600"), (&at, 0o755, "chmod 700")] {
        let tight = fs::metadata(path).unwrap().permissions();
        fs::set_permissions(path, fs::Permissions::from_mode(loose)).unwrap();
        let e = Store::open(&at, Missing::Refuse).unwrap_err();
        assert_eq!(e.kind, ErrorKind::Store);
        assert!(e.mend.starts_with(mend), "{e}");
        fs::set_permissions(path, tight).unwrap();
        assert!(Store::open(&at, Missing::Refuse).is_ok());
    }
}

#[test]
fn a_missing_store_is_only_made_when_asked() {
    let dir = TempDir::new("store");
    let at = dir.path().join("a/b/keys");
    let e = Store::open(&at, Missing::Refuse).unwrap_err();
    assert_eq!(e.kind, ErrorKind::Store);
    assert!(!at.exists());
    assert!(Store::open(&at, Missing::Create).is_ok());
}

#[test]
fn a_store_in_use_is_refused_and_not_called_damaged() {
    let dir = TempDir::new("store");
    let at = dir.path().join("keys");
    let _open = Store::open(&at, Missing::Create).unwrap();
    let e = Store::open(&at, Missing::Refuse).unwrap_err();
    assert!(e.cause.contains("in use"), "{e}");
}

#[test]
fn a_damaged_store_is_one_clear_line_and_stays_as_it_is() {
    let dir = TempDir::new("store");
    let at = dir.path().join("keys");
    let mut store = Store::open(&at, Missing::Create).unwrap();
    for seed in 0..40 {
        add(&mut store, "peer", &pairing(seed));
    }
    drop(store);
    let file = at.join("keys.redb");
    let sound = fs::read(&file).unwrap();
    let mut cases: Vec<Vec<u8>> =
        vec![Vec::new(), sound[..sound.len() / 2].to_vec(), vec![0; 4096]];
    cases.push(b"not a database at all".to_vec());
    // Whole pages of noise, in turn, over everything that is in use.
    let pages = (0..sound.len()).step_by(4096).filter(|at| sound[*at..][..4096] != [0; 4096]);
    for page in pages.collect::<Vec<_>>() {
        let mut bytes = sound.clone();
        Counting(page as u8).fill(&mut bytes[page..page + 4096]);
        cases.push(bytes);
    }
    let mut refused = 0;
    for (i, bytes) in cases.iter().enumerate() {
        fs::write(&file, bytes).unwrap();
        match Store::open(&at, Missing::Refuse) {
            Err(e) => {
                assert_eq!(e.kind, ErrorKind::Store, "case {i}");
                assert!(!e.to_string().contains('\n') && e.cause.contains("damaged"), "{i}: {e}");
                assert_eq!(&fs::read(&file).unwrap(), bytes, "case {i} was written to");
                refused += 1;
            }
            // Noise in a free page or in the older of two headers does no harm.
            Ok(store) => assert_eq!(store.pairings().unwrap().len(), 40, "case {i}"),
        }
    }
    assert!(refused >= 6, "only {refused} of {} cases", cases.len());
    fs::write(&file, &sound).unwrap();
    assert_eq!(Store::open(&at, Missing::Refuse).unwrap().pairings().unwrap().len(), 40);
}

#[test]
fn what_a_crash_in_a_rewrite_leaves_behind_is_cleaned_up() {
    let dir = TempDir::new("store");
    let at = dir.path().join("keys");
    let mut store = Store::open(&at, Missing::Create).unwrap();
    add(&mut store, "laptop", &pairing(1));
    drop(store);
    // Between link and rename: the old name is the store itself, and must not be overwritten.
    fs::hard_link(at.join("keys.redb"), at.join("keys.redb.old")).unwrap();
    fs::write(at.join("keys.redb.new"), b"half-written").unwrap();
    let store = Store::open(&at, Missing::Refuse).unwrap();
    assert_eq!(store.pairings().unwrap().len(), 1);
    drop(store);
    // After the rename: the old name is the old store.
    fs::write(at.join("keys.redb.old"), b"old keys").unwrap();
    drop(Store::open(&at, Missing::Refuse).unwrap());
    let names: Vec<_> = fs::read_dir(&at).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["keys.redb"]);
}

#[test]
fn of_each_counter_only_the_last_value_is_kept_also_in_a_store_from_before_counters() {
    let dir = TempDir::new("store");
    let at = dir.path().join("keys");
    let record = |bytes| Change::Record { kind: RecordKind::Counter, until: None, bytes };
    let counters = |store: &Store| store.records(RecordKind::Counter, NOW).unwrap();
    let mut store = Store::open(&at, Missing::Create).unwrap();
    store.commit(&[record(b"counter11"), record(b"counter22")]).unwrap();
    store.commit(&[record(b"counter19")]).unwrap();
    let kept = [b"counter19".to_vec(), b"counter22".to_vec()];
    assert_eq!(counters(&store), kept);
    store.scrub().unwrap();
    drop(store);
    let store = Store::open(&at, Missing::Refuse).unwrap();
    assert_eq!(counters(&store), kept);
    store
        .with(|db| {
            let tx = db.begin_write()?;
            tx.delete_table(COUNTERS)?;
            Ok(tx.commit()?)
        })
        .unwrap();
    drop(store);
    let store = Store::open(&at, Missing::Refuse).unwrap();
    assert!(counters(&store).is_empty());
}
