//! The power goes at every single operation of the store's disk: what comes back is the state before
//! or the state after, whole, and nobody loses a row or a key.

mod common;

use common::disk::{SimDisk, Unsynced};
use common::service::{HOUR, NOW, World};
use slyfi_tracedge::audit::OwnRow;
use slyfi_tracedge::enrol::Request;
use slyfi_tracedge::epoch::EpochKey;
use slyfi_tracedge::head::SignedHead;
use slyfi_tracedge::keys::SecretKey;
use slyfi_tracedge::log::{self, Entry};
use slyfi_tracedge::pieces::Work;
use slyfi_tracedge::random::SeededRandom;
use slyfi_tracedge::service::Service;
use slyfi_tracedge::service::api::Route;
use slyfi_tracedge::service::store::{Store, StoreError};
use slyfi_tracedge::subscriber::{self, Seen, Transport, Which};
use std::io::ErrorKind;
use std::num::NonZeroUsize;

/// An operator with an epoch, and what it is about to do.
struct Scene {
    world: World,
    /// The disk as it is while the operator runs.
    bytes: Vec<u8>,
    next: (SignedHead, EpochKey),
    request: Request,
    row: u64,
    mine: slyfi_tracedge::audit::Subscription,
}

impl Scene {
    fn new(name: &str) -> Self {
        let disk = SimDisk::default();
        let mut world = World::on(name, 60, disk.opener());
        let (mine, leaves) = (world.subscribe(), world.subscribe());
        world.publish(NOW);
        let invitation = world.invite(NOW + HOUR);
        let key = SecretKey::generate(&mut world.rng);
        let request = Request::new(&key, &world.id(), &invitation, &mut world.rng);
        let (secret, serving) = world.build(NOW).unwrap();
        let next = (serving.head().clone(), secret.key().clone());
        let bytes = disk.bytes();
        Scene { world, bytes, next, request, row: leaves.receipt.index, mine }
    }
}

type Operation = fn(&mut Store, &Scene) -> Result<(), StoreError>;

fn publish(store: &mut Store, scene: &Scene) -> Result<(), StoreError> {
    store.record_epoch(&scene.next.0, &scene.next.1).map(|_| ())
}

fn retire(store: &mut Store, _: &Scene) -> Result<(), StoreError> {
    store.open_over(NOW + HOUR + 300)
}

fn enrol(store: &mut Store, scene: &Scene) -> Result<(), StoreError> {
    store.enrol(&scene.request, NOW, &mut SeededRandom::new([1; 32])).map(|_| ())
}

fn revoke(store: &mut Store, scene: &Scene) -> Result<(), StoreError> {
    store.revoke(scene.row)
}

const OPERATIONS: [(&str, Operation); 4] =
    [("publish", publish), ("retire", retire), ("enrol", enrol), ("revoke", revoke)];

/// All that a store holds and that must not mix.
#[derive(Debug, PartialEq, Eq)]
struct Held {
    epochs: Vec<(Vec<u8>, EpochKey)>,
    unopened: usize,
    log: Vec<Vec<u8>>,
    directory: Vec<u8>,
}

impl Held {
    fn of(store: &Store) -> Result<Self, StoreError> {
        let epochs = store.epochs()?;
        let mut log = Vec::new();
        while let Some(entry) = store.log_entry(log.len() as u64)? {
            log.push(entry);
        }
        assert_eq!(store.leaves()?.len(), log.len());
        for recorded in &epochs {
            let head = recorded.head.head();
            assert!(log::opens(&head.epoch, &head.commitment, &recorded.key), "another K");
            let entry = Entry::decode(&log[recorded.entry as usize]).unwrap();
            assert_eq!(entry, Entry::Head(Box::new(head.clone())), "another head in the log");
        }
        let epochs = epochs.into_iter().map(|r| (r.head.encode(), r.key)).collect();
        let (unopened, directory) = (store.unopened()?.len(), store.directory()?);
        Ok(Held { epochs, unopened, log, directory })
    }
}

/// Cuts the power after every number of operations. Returns how many cuts lost what had been
/// acknowledged, or left what cannot be opened.
fn cut_everywhere(scene: &Scene, operation: Operation, lies: bool) -> (u64, u64) {
    let disk = || {
        let disk = SimDisk::holding(&scene.bytes);
        if lies { disk.lying() } else { disk }
    };
    let opened = |disk: &SimDisk| Store::open_on(disk.opener());
    // Before, and after, when nothing happens.
    let quiet = disk();
    let mut store = opened(&quiet).unwrap();
    let (before, start) = (Held::of(&store).unwrap(), quiet.operations());
    operation(&mut store, scene).unwrap();
    let (after, steps) = (Held::of(&store).unwrap(), quiet.operations() - start);
    assert_ne!(before, after);
    let (mut cuts, mut lost) = (0, 0);
    for step in 0..=steps {
        for unsynced in [Unsynced::Lost, Unsynced::Kept, Unsynced::Some(0), Unsynced::Some(1)] {
            let disk = disk();
            let mut store = opened(&disk).unwrap();
            disk.fail_after(step, ErrorKind::Other);
            let done = operation(&mut store, scene);
            // What closing it would still write is not written either.
            drop(store);
            let found = Store::open_on(SimDisk::holding(&disk.after_power_cut(unsynced)).opener())
                .and_then(|store| Held::of(&store));
            cuts += 1;
            match found {
                Ok(held) if held == after => (),
                Ok(held) if held == before && done.is_err() => (),
                _ => lost += 1,
            }
        }
    }
    (cuts, lost)
}

#[test]
fn power_cut_at_any_operation_leaves_the_state_before_or_after() {
    let scene = Scene::new("cut");
    for (name, operation) in OPERATIONS {
        let (cuts, lost) = cut_everywhere(&scene, operation, false);
        assert!(cuts >= 20, "{name}: {cuts} cuts");
        assert_eq!(lost, 0, "{name}: of {cuts} cuts");
    }
}

#[test]
fn a_disk_that_only_says_that_it_has_synced_is_noticed() {
    let scene = Scene::new("lying");
    let (cuts, lost) = cut_everywhere(&scene, publish, true);
    assert!(lost > 0 && lost < cuts, "{lost} of {cuts}");
}

#[test]
fn whoever_was_cut_off_while_enrolling_asks_again_and_has_one_row() {
    let scene = Scene::new("enrolling");
    let subscribers = |store: &Store| store.subscribed().unwrap();
    for step in 0..40 {
        let disk = SimDisk::holding(&scene.bytes);
        let mut store = Store::open_on(disk.opener()).unwrap();
        let before = subscribers(&store);
        disk.fail_after(step, ErrorKind::Other);
        let first = store.enrol(&scene.request, NOW, &mut SeededRandom::new([1; 32]));
        drop(store);
        let left = SimDisk::holding(&disk.after_power_cut(Unsynced::Some(1)));
        let mut store = Store::open_on(left.opener()).unwrap();
        let again = store.enrol(&scene.request, NOW, &mut SeededRandom::new([2; 32])).unwrap();
        assert_eq!(subscribers(&store), before + 1);
        // Whoever got an answer has that row.
        assert!(first.is_err() || first.unwrap() == again);
    }
}

#[test]
fn after_a_cut_the_whole_service_goes_on_with_the_old_or_the_new_epoch() {
    let mut scene = Scene::new("service");
    let (mut old, mut new) = (0, 0);
    for step in 0..16 {
        let disk = SimDisk::holding(&scene.bytes);
        let mut store = Store::open_on(disk.opener()).unwrap();
        disk.fail_after(step, ErrorKind::Other);
        let done = publish(&mut store, &scene);
        drop(store);
        let left = SimDisk::holding(&disk.after_power_cut(Unsynced::Kept));
        let store = Store::open_on(left.opener()).unwrap();
        scene.world.service = Service::new(store, NonZeroUsize::MIN).unwrap();
        let World { files, service, .. } = &scene.world;
        assert!(service.resume(files, NOW, &Work::quiet()).unwrap().is_empty());
        let epochs = service.with_store(|store| store.epochs()).unwrap().len();
        assert!(done.is_err() || epochs == 2);
        *(if epochs == 1 { &mut old } else { &mut new }) += 1;
        // The newest epoch there is, with this subscriber's row in it.
        let (id, mut seen) = (scene.world.id(), Seen::default());
        let rng = &mut SeededRandom::new([3; 32]);
        let mut way = scene.world.way(NOW);
        let head = subscriber::head(&mut way, &id, &mut seen, Which::Next, NOW).unwrap();
        assert_eq!(head.head().epoch.number + 1, epochs as u64);
        let fetched = subscriber::fetch(&mut way, &head, &scene.mine, 0, rng).unwrap();
        let OwnRow::Opened(secret) = fetched.own else { panic!("{:?}", fetched.own) };
        assert_eq!(epochs == 2, secret.key() == &scene.next.1);
    }
    assert!(old > 0 && new > 0, "{old} {new}");
    // An epoch that was built and not recorded is built again, with another K.
    scene.world.service = {
        let store = Store::open_on(SimDisk::holding(&scene.bytes).opener()).unwrap();
        Service::new(store, NonZeroUsize::MIN).unwrap()
    };
    let again = scene.world.publish(NOW);
    assert_eq!(again.epoch().number, 1);
    assert_ne!(again.key(), &scene.next.1);
}

#[test]
fn a_full_disk_is_said_to_be_full_and_used_again_when_there_is_room() {
    let disk = SimDisk::default();
    let mut world = World::on("full", 60, disk.opener());
    let mine = world.subscribe();
    let first = world.publish(NOW);
    let (invitation, key) = (world.invite(NOW + HOUR), SecretKey::generate(&mut world.rng));
    let id = world.id();
    for step in 0..24 {
        disk.fail_after(step, ErrorKind::StorageFull);
        let full = world.try_publish(NOW + step);
        if full.is_ok() {
            // It needs fewer operations than this.
            assert!(step > 3);
            disk.mend();
            break;
        }
        let full = full.unwrap_err();
        let text = format!("{full}; {}", full.mend());
        assert!(text.contains("the disk is full: make room"), "step {step}: {text}");
        // Logins need no room.
        let (k, _) = world.login(&mine, &mut Seen::default(), NOW);
        assert_eq!(&k, first.key());
        // Enrolling does, and takes nobody's invitation.
        let request = Request::new(&key, &id, &invitation, &mut world.rng).encode();
        disk.fail_after(1, ErrorKind::StorageFull);
        let mut way = world.way(NOW);
        assert_eq!(way.call(Route::Enrol, &request), Ok((500, Vec::new())));
        disk.mend();
    }
    // There is room.
    let before = world.service.with_store(|store| store.epochs()).unwrap().len();
    world.publish(NOW + 100);
    assert_eq!(world.service.with_store(|store| store.epochs()).unwrap().len(), before + 1);
    let mut way = world.way(NOW);
    let rng = &mut SeededRandom::new([5; 32]);
    assert!(subscriber::subscribe(&mut way, &id, &invitation, key, rng).is_ok());
}

#[test]
fn what_a_failing_disk_kept_all_the_same_is_served_and_what_it_did_not_is_not() {
    let disk = SimDisk::default();
    let mut world = World::on("ambiguous", 30, disk.opener());
    world.subscribe();
    let (mut kept, mut lost) = (0, 0);
    for step in 0..24 {
        let epochs = |world: &World| world.service.with_store(|store| store.epochs()).unwrap();
        let before = epochs(&world).len();
        disk.fail_once_after(step, ErrorKind::StorageFull);
        // The last of them fails after the record is written.
        let published = world.try_publish(NOW + step);
        disk.mend();
        let recorded = epochs(&world);
        match published {
            Ok(_) => kept += 1,
            Err(_) => lost += 1,
        }
        let (_, served) = world.way(NOW).call(Route::Epochs, &[]).unwrap();
        let served: Vec<_> = served.chunks(8 + SignedHead::LEN).map(|one| &one[8..]).collect();
        let recorded: Vec<_> = recorded.iter().map(|one| one.head.encode()).collect();
        assert_eq!(served, recorded, "step {step}");
        assert!(recorded.len() - before <= 1);
    }
    assert!(kept > 0 && lost > 0, "{kept} {lost}");
}

#[test]
fn a_store_whose_disk_failed_has_to_be_opened_again() {
    let disk = SimDisk::default();
    let rng = &mut SeededRandom::new([6; 32]);
    let mut store = Store::create_on(disk.opener(), 10, HOUR, rng).unwrap();
    disk.fail_after(0, ErrorKind::StorageFull);
    assert!(store.invite(NOW, rng).is_err());
    disk.mend();
    let refused = store.invite(NOW, rng).unwrap_err();
    assert!(refused.mend().contains("disk failed just before"), "{refused}");
    store.recover().unwrap();
    store.invite(NOW, rng).unwrap();
}
