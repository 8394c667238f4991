//! The service end to end, in one process: enrolment to login, what an operator sees, restarts,
//! floods of junk.

mod common;

use std::num::NonZeroUsize;

use common::service::{Direct, HOUR, NOW, World};
use slyfi_base::SecureRandom;
use slyfi_tracedge::audit::OwnRow;
use slyfi_tracedge::files::EpochFiles;
use slyfi_tracedge::keys::SecretKey;
use slyfi_tracedge::pieces::Work;
use slyfi_tracedge::random::SeededRandom;
use slyfi_tracedge::service::store::Store;
use slyfi_tracedge::service::{Connection, Request, Service};
use slyfi_tracedge::subscriber::{self, Seen, SubscriberError, Which};

#[test]
fn from_an_invitation_to_a_login_and_out_again() {
    let mut world = World::new("life", 200);
    let (mine, other) = (world.subscribe(), world.subscribe());
    assert_ne!(mine.receipt.index, other.receipt.index);
    let secret = world.publish(NOW);
    let mut seen = Seen::default();
    let (key, _) = world.login(&mine, &mut seen, NOW + 10);
    assert_eq!(&key, secret.key());
    // The next epoch's key, ahead of time.
    let next = world.publish(NOW + 20);
    let id = world.id();
    let mut way = Direct::new(&world.service, NOW + 30, &mut world.rng);
    let head = subscriber::head(&mut way, &id, &mut seen, Which::Next, NOW + 30).unwrap();
    let fetched = subscriber::fetch(&mut way, &head, &mine, 0, &mut world.rng).unwrap();
    let OwnRow::Opened(fetched) = fetched.own else { panic!("{:?}", fetched.own) };
    assert_eq!(fetched.key(), next.key());
    // Too early to log on with it.
    let early = subscriber::prove(&mut way, 1, fetched.key(), &mut world.rng);
    assert!(matches!(early, Err(SubscriberError::Refused)), "{early:?}");
    let later = NOW + HOUR + 5;
    let mut way = Direct::new(&world.service, later, &mut world.rng);
    assert!(subscriber::prove(&mut way, 1, fetched.key(), &mut world.rng).is_ok());
    // Revoked: the epoch after that is without him, and with the other.
    world.service.with_store(|store| store.revoke(mine.receipt.index)).unwrap();
    world.publish(later);
    let later = NOW + 2 * HOUR + 400;
    world.service.retire(later).unwrap();
    let mut way = Direct::new(&world.service, later, &mut world.rng);
    let head = subscriber::head(&mut way, &id, &mut seen, Which::Current, later).unwrap();
    let conclusion = subscriber::fetch(&mut way, &head, &mine, 1, &mut world.rng).unwrap();
    assert!(matches!(conclusion.own, OwnRow::Failed { revoked: true, .. }), "{conclusion:?}");
    let old = subscriber::prove(&mut way, 1, fetched.key(), &mut world.rng);
    assert!(matches!(old, Err(SubscriberError::Refused)), "an old key is worth nothing");
    world.login(&other, &mut Seen::default(), later);
    // What is over was opened in the log.
    let opened = world.service.with_store(|store| store.leaves()).unwrap().len();
    assert_eq!(opened, 5, "three heads, two openings");
}

#[test]
fn a_thousand_logins_look_the_same_whoever_logs_in() {
    let mut world = World::new("thousand", 100);
    let people: Vec<_> = (0..40).map(|_| world.subscribe()).collect();
    world.publish(NOW);
    let before = std::fs::read(world.dir.store()).unwrap();
    let mut views = Vec::new();
    let logins = if std::env::var_os("SLYFI_FULL").is_some() { 1_000 } else { 120 };
    for i in 0..logins {
        let mine = &people[i % people.len()];
        let (_, mut view) = world.login(mine, &mut Seen::default(), NOW + i as u64 % 60);
        // A round's queries go out in an order that is drawn anew: as a set they are the same.
        view.0.sort();
        views.push(view);
    }
    assert!(views.iter().all(|view| view == &views[0]), "somebody's login looks different");
    // Nothing was written, and what is counted are numbers of logins.
    assert_eq!(std::fs::read(world.dir.store()).unwrap(), before);
    let counted = format!("{:?}", world.service.counters());
    assert!(counted.contains(&format!("logins: {logins}")), "{counted}");
    assert!(format!("{:?}", world.service).len() < 100, "the service prints its id only");
}

#[test]
fn the_order_of_queries_does_not_tell_which_is_the_logins() {
    let mut world = World::new("order", 100);
    let mine = world.subscribe();
    world.publish(NOW);
    let mut table_first = 0;
    for _ in 0..60 {
        let (_, view) = world.login(&mine, &mut Seen::default(), NOW);
        let queries = view.0.iter().filter(|(path, len, ..)| *len > 0 && path.contains("/epoch/"));
        table_first += u32::from(queries.clone().next().unwrap().0.ends_with("table"));
        assert_eq!(queries.count(), 4);
    }
    // Two of the four are the table's; all first or none first has probability 2^-59.
    assert!((1..60).contains(&table_first), "{table_first}");
}

#[test]
fn a_restart_serves_the_same_head_and_a_damaged_table_is_not_served() {
    let mut world = World::new("restart", 100);
    let mine = world.subscribe();
    let secret = world.publish(NOW);
    let World { dir, files, service, mut rng } = world;
    drop(service);
    let restarted = |files: &EpochFiles| {
        let store = Store::open(&dir.store()).unwrap();
        let service = Service::new(store, NonZeroUsize::new(1).unwrap()).unwrap();
        let failed = service.resume(files, NOW, &Work::quiet()).unwrap();
        (service, failed)
    };
    let (service, failed) = restarted(&files);
    assert!(failed.is_empty(), "{failed:?}");
    let mut way = Direct::new(&service, NOW, &mut rng);
    let (id, mut seen) = (service.keys().id(), Seen::default());
    let head = subscriber::head(&mut way, &id, &mut seen, Which::Current, NOW).unwrap();
    let conclusion = subscriber::fetch(&mut way, &head, &mine, 1, &mut rng).unwrap();
    let OwnRow::Opened(opened) = conclusion.own else { panic!("{:?}", conclusion.own) };
    assert_eq!(opened.key(), secret.key());
    drop(service);
    // One byte of the table changed on the disk.
    let table = files.table(0);
    let mut bytes = std::fs::read(&table).unwrap();
    bytes[99] ^= 1;
    slyfi_tracedge::files::write_whole(&table, |file| std::io::Write::write_all(file, &bytes))
        .unwrap();
    let (service, failed) = restarted(&files);
    assert_eq!(failed.len(), 1, "it says which epoch it does not serve");
    let mut way = Direct::new(&service, NOW, &mut rng);
    let none = subscriber::head(&mut way, &id, &mut seen, Which::Current, NOW);
    assert!(matches!(none, Err(SubscriberError::NoEpoch)), "{none:?}");
}

#[test]
fn a_flood_of_junk_costs_nothing_and_honest_logins_go_on() {
    let mut world = World::new("junk", 100);
    let mine = world.subscribe();
    world.publish(NOW);
    let flood = if std::env::var_os("SLYFI_FULL").is_some() { 1_000_000 } else { 50_000 };
    let mut connection = Connection::default();
    let mut rng = SeededRandom::new([8; 32]);
    let mut body = vec![0; 700];
    for i in 0..flood {
        rng.fill(&mut body[..32]);
        let (method, path) = [
            ("POST", "/v1/epoch/0/table"),
            ("POST", "/v1/login/finish"),
            ("GET", "/v1/epoch/9/top"),
            ("POST", "/v1/epoch/0/directory"),
        ][i % 4];
        let body = &body[..i % 700];
        let request = Request { method, path, body };
        let response = world.service.handle(&mut connection, request, b"", NOW, &mut rng);
        assert!(matches!(response.status, 400 | 403 | 404), "{}", response.status);
        assert!(response.body.is_empty());
    }
    // Junk that looks like an enrolment costs a curve operation each.
    let request = Request { method: "POST", path: "/v1/enrol", body: &body[..144.min(body.len())] };
    let response = world.service.handle(&mut connection, request, b"", NOW, &mut rng);
    assert_eq!(response.status, 400);
    world.login(&mine, &mut Seen::default(), NOW);
}

#[test]
fn an_invitation_serves_once_and_a_key_too() {
    let mut world = World::new("invitation", 3);
    let id = world.id();
    let rng = &mut SeededRandom::new([9; 32]);
    let invitation = world.service.with_store(|store| store.invite(NOW + 5, rng)).unwrap();
    let mut attempt = |invitation: &[u8; 16], secret: &SecretKey, now: u64| {
        let secret = SecretKey::decode(&*secret.encode()).unwrap();
        let mut way = Direct::new(&world.service, now, &mut world.rng);
        subscriber::subscribe(&mut way, &id, invitation, secret, rng).map(|s| s.receipt.index)
    };
    let (one, other) = (
        SecretKey::generate(&mut SeededRandom::new([1; 32])),
        SecretKey::generate(&mut SeededRandom::new([2; 32])),
    );
    assert!(attempt(&[0; 16], &one, NOW).is_err(), "nobody was given this one");
    assert!(attempt(&invitation, &one, NOW + 6).is_err(), "it has expired");
    assert!(attempt(&invitation, &one, NOW).is_ok());
    assert!(attempt(&invitation, &other, NOW).is_err(), "it is spent");
    let rng = &mut SeededRandom::new([10; 32]);
    let again = world.service.with_store(|store| store.invite(NOW + 5, rng)).unwrap();
    let mut way = Direct::new(&world.service, NOW, &mut world.rng);
    let same = subscriber::subscribe(&mut way, &id, &again, one, rng);
    assert!(matches!(same, Err(SubscriberError::Status(403))), "the key has a row");
}

#[test]
fn a_login_is_over_after_its_deadline_and_its_share_serves_once() {
    let mut world = World::new("deadline", 20);
    let _ = world.subscribe();
    let secret = world.publish(NOW);
    let mut connection = Connection::default();
    let mut rng = SeededRandom::new([11; 32]);
    let mut attempt = |wait: u64, times: u32| {
        let begin = Request { method: "POST", path: "/v1/login/begin", body: &[] };
        let x1 = world.service.handle(&mut connection, begin, b"", NOW, &mut rng).body;
        let x1 = x1.try_into().unwrap();
        let login =
            slyfi_tracedge::login::ClientLogin::begin(&x1, 0, secret.key(), &mut rng).unwrap();
        let message = login.message().encode();
        let finish = Request { method: "POST", path: "/v1/login/finish", body: &message };
        let mut last = 0;
        for _ in 0..times {
            last = world.service.handle(&mut connection, finish, b"", NOW + wait, &mut rng).status;
        }
        last
    };
    assert_eq!(attempt(10, 1), 200);
    assert_eq!(attempt(11, 1), 403);
    assert_eq!(attempt(0, 2), 403, "the second time");
}
