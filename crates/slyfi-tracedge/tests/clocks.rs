//! Wrong clocks, and subscribers and operators who were away for long.

mod common;

use common::service::{Direct, HOUR, NOW, World};
use slyfi_base::{Instant, Now, UnixTime};
use slyfi_tracedge::audit::OwnRow;
use slyfi_tracedge::evidence::{Aids, Evidence};
use slyfi_tracedge::head::{CLOCK_SKEW, HeadError};
use slyfi_tracedge::keys::SecretKey;
use slyfi_tracedge::log::{LogError, TreeHead};
use slyfi_tracedge::random::SeededRandom;
use slyfi_tracedge::service::ClockError;
use slyfi_tracedge::service::api::Route;
use slyfi_tracedge::service::store::StoreError;
use slyfi_tracedge::subscriber::{self, Seen, SubscriberError, Transport, Which};

fn clocks(wall: u64, mono: u64) -> Now {
    let us = |s: u64| s * 1_000_000;
    Now { wall: UnixTime::from_micros(us(wall)), mono: Instant::from_micros(us(mono)) }
}

/// The operator's clock stays at `operator`; the subscriber believes that it is `own`.
fn head_with_clocks(
    world: &mut World,
    seen: &mut Seen,
    operator: u64,
    own: u64,
) -> Result<u64, String> {
    let id = world.id();
    let mut way = world.way(operator);
    let head = subscriber::head(&mut way, &id, seen, Which::Current, own);
    head.map(|head| head.head().epoch.number).map_err(|e| e.to_string())
}

#[test]
fn clocks_may_be_five_minutes_apart_and_no_more() {
    let mut world = World::new("apart", 30);
    world.subscribe();
    world.publish(NOW);
    let middle = NOW + HOUR / 2;
    for (own, good) in [
        (middle, true),
        (middle - CLOCK_SKEW, true),
        (middle + CLOCK_SKEW, true),
        (middle - CLOCK_SKEW - 1, false),
        (middle + CLOCK_SKEW + 1, false),
        (0, false),
        (u64::MAX, false),
    ] {
        let head = head_with_clocks(&mut world, &mut Seen::default(), middle, own);
        assert_eq!(head.is_ok(), good, "{own}: {head:?}");
        if let Err(text) = head {
            assert!(text.contains("clock"), "{text}");
        }
    }
    // At the edges of an epoch the same holds, on both sides.
    for (own, want) in [
        (NOW - CLOCK_SKEW, None),
        (NOW - CLOCK_SKEW - 1, Some(HeadError::NotYet)),
        (NOW + HOUR + CLOCK_SKEW - 1, None),
        (NOW + HOUR + CLOCK_SKEW, Some(HeadError::Over)),
    ] {
        // What was signed before is forgotten: it was signed later.
        (world, _) = world.restart(NOW).unwrap();
        let operator = own.clamp(NOW, NOW + HOUR);
        let id = world.id();
        let mut way = world.way(operator);
        let head = subscriber::head(&mut way, &id, &mut Seen::default(), Which::Current, own);
        match want {
            None => assert!(head.is_ok(), "{own}: {head:?}"),
            Some(want) => {
                assert!(matches!(head, Err(SubscriberError::Head(e)) if e == want), "{head:?}");
            }
        }
    }
}

#[test]
fn a_login_is_judged_by_the_operators_clock_alone() {
    let mut world = World::new("login", 30);
    world.subscribe();
    let now = world.publish(NOW);
    let next = world.publish(NOW + 10);
    let mut prove = |epoch: u64, key, at: u64| {
        let mut way = world.way(at);
        subscriber::prove(&mut way, epoch, key, &mut SeededRandom::new([1; 32])).is_ok()
    };
    assert!(prove(0, now.key(), NOW));
    assert!(!prove(1, next.key(), NOW + HOUR - CLOCK_SKEW - 1));
    assert!(prove(1, next.key(), NOW + HOUR - CLOCK_SKEW));
    assert!(prove(0, now.key(), NOW + HOUR + CLOCK_SKEW - 1));
    world.service.retire(NOW + HOUR + CLOCK_SKEW).unwrap();
    let mut way = world.way(NOW + HOUR + CLOCK_SKEW);
    let over = subscriber::prove(&mut way, 0, now.key(), &mut SeededRandom::new([2; 32]));
    assert!(matches!(over, Err(SubscriberError::Refused)), "{over:?}");
}

#[test]
fn a_clock_that_is_set_back_a_little_accuses_nobody() {
    let mut world = World::new("back", 30);
    world.subscribe();
    world.publish(NOW);
    let (mut seen, later) = (Seen::default(), NOW + 1_000);
    assert_eq!(head_with_clocks(&mut world, &mut seen, later, later), Ok(0));
    // Three steps back while it runs: what it signs does not go back.
    for back in [1, 100, CLOCK_SKEW] {
        let now = later - back;
        assert_eq!(head_with_clocks(&mut world, &mut seen, now, now), Ok(0), "{back}");
        assert_eq!(seen.tree_head.unwrap().time, later);
    }
    // Over a restart it forgets what it signed last; those who saw it bear with it.
    let (mut world, failed) = world.restart(later - CLOCK_SKEW).unwrap();
    assert_eq!(failed, 0);
    let now = later - CLOCK_SKEW;
    assert_eq!(head_with_clocks(&mut world, &mut seen, now, now), Ok(0));
    // A log that is older by more was put back.
    let mut old = Seen { tree_head: Some(tree_head(&mut world, now)), ..Seen::default() };
    let (mut world, _) = world.restart(now - CLOCK_SKEW - 1).unwrap();
    let own = now - CLOCK_SKEW - 1;
    let refused = head_with_clocks(&mut world, &mut old, own, own).unwrap_err();
    assert_eq!(refused, LogError::OlderThanSeen.to_string());
}

fn tree_head(world: &mut World, now: u64) -> TreeHead {
    let (status, bytes) = world.way(now).call(Route::LogHead, &[]).unwrap();
    assert_eq!(status, 200);
    TreeHead::decode(&bytes).unwrap()
}

#[test]
fn what_was_signed_with_a_clock_a_little_ahead_is_no_evidence_against_an_honest_operator() {
    for (ahead, framed) in [(150, false), (HOUR, false), (HOUR + CLOCK_SKEW, true)] {
        let mut world = World::new(&format!("framed-{ahead}"), 30);
        let id = world.id();
        // The log is signed, the clock set back, and an epoch begun.
        let signed = tree_head(&mut world, NOW + ahead);
        let leaves = world.service.with_store(|store| store.leaves()).unwrap();
        world.publish(NOW);
        let head = world.service.with_store(|store| store.epochs()).unwrap().pop().unwrap().head;
        let evidence = Evidence::Unlogged { head, tree_head: signed, leaves };
        // The last shows that it would be evidence, and so why such a leap is not signed.
        assert_eq!(evidence.verify(&id, &Aids::default()).is_ok(), framed, "{ahead}");
    }
}

#[test]
fn after_a_leap_nothing_is_signed_until_the_clock_has_gone_on() {
    let mut world = World::new("leap", 30);
    let mine = world.subscribe();
    world.publish(NOW);
    world.service.watch_clock(clocks(NOW, 50)).unwrap();
    world.login(&mine, &mut Seen::default(), NOW);
    let year = 365 * 86_400;
    let leapt = world.service.watch_clock(clocks(NOW + year, 70)).unwrap_err();
    assert!(matches!(leapt, StoreError::Clock(ClockError::Leapt(_))), "{leapt:?}");
    let text = format!("{leapt}; {}", leapt.mend());
    assert!(text.contains("leapt by 31535980 s; set the clock"), "{text}");
    let busy = world.way(NOW + year).call(Route::LogHead, &[]);
    assert_eq!(busy, Ok((503, Vec::new())));
    // Set right again: as if nothing had been.
    world.service.watch_clock(clocks(NOW + 40, 90)).unwrap();
    world.login(&mine, &mut Seen::default(), NOW + 40);
    // Or it was right to leap, and goes on for five minutes.
    let (wall, mono) = (NOW + 3_000, 110);
    assert!(world.service.watch_clock(clocks(wall, mono)).is_err());
    assert!(world.service.watch_clock(clocks(wall + CLOCK_SKEW, mono + CLOCK_SKEW)).is_ok());
    world.login(&mine, &mut Seen::default(), wall + CLOCK_SKEW);
}

#[test]
fn a_clock_behind_the_stores_serves_nothing_and_no_published_key_logs_anybody_on() {
    let mut world = World::new("behind", 30);
    world.subscribe();
    let secret = world.publish(NOW);
    // Started with a clock that is a day ahead, the operator publishes K: it takes the epoch for over.
    world.service.retire(NOW + 86_400).unwrap();
    let leaves = world.service.with_store(|store| store.leaves()).unwrap();
    assert_eq!(leaves.len(), 2, "K is in the log");
    // The clock is set right. Everybody knows K by now.
    let mut way = Direct::new(&world.service, NOW + 60, &mut world.rng);
    let key = secret.key();
    let known = subscriber::prove(&mut way, 0, key, &mut SeededRandom::new([3; 32]));
    assert!(matches!(known, Err(SubscriberError::Refused)), "{known:?}");
    let behind = world.try_publish(NOW + 60).unwrap_err();
    let text = format!("{behind}; {}", behind.mend());
    assert!(text.contains("clock is 86340 s behind what it was; set the clock"), "{text}");
    assert!(world.service.retire(NOW + 60).is_err());
    let dir = world.dir.0.clone();
    let Err(StoreError::Clock(ClockError::Behind(86_340))) = world.restart(NOW + 60) else {
        panic!("a clock that is a day behind was taken")
    };
    assert!(!dir.exists(), "the world is gone with its directory");
}

#[test]
fn an_epoch_whose_key_is_in_the_log_is_over_whatever_the_clock_says() {
    let mut world = World::new("opened", 30);
    world.subscribe();
    let secret = world.publish(NOW);
    let ahead = NOW + HOUR + CLOCK_SKEW;
    world.service.with_store(|store| store.open_over(ahead)).unwrap();
    // Back by as much as is borne with: the epoch would be of now again.
    let (mut world, failed) = world.restart(ahead - 150).unwrap();
    assert_eq!(failed, 0);
    let mut way = world.way(ahead - 150);
    let again = subscriber::prove(&mut way, 0, secret.key(), &mut SeededRandom::new([4; 32]));
    assert!(matches!(again, Err(SubscriberError::Refused)), "{again:?}");
}

#[test]
fn a_subscriber_offline_for_a_week_comes_back_and_a_week_old_operator_is_caught() {
    let mut world = World::new("week", 20);
    let (mine, other) = (world.subscribe(), world.subscribe());
    world.publish(NOW);
    let mut seen = Seen::default();
    let (old, _) = world.login(&mine, &mut seen, NOW + 5);
    let backup = std::fs::read(world.dir.store()).unwrap();
    // A week of epochs, a restart every day, one who leaves in between.
    let mut now = NOW;
    for epoch in 1..=7 * 24 {
        now += HOUR;
        world.publish(now - HOUR / 2);
        world.service.retire(now + CLOCK_SKEW).unwrap();
        world.files.sweep(|kept| kept + 2 > epoch).unwrap();
        if epoch % 24 == 12 {
            (world, _) = world.restart(now + CLOCK_SKEW).unwrap();
        }
    }
    now += CLOCK_SKEW + 1;
    world.service.with_store(|store| store.revoke(other.receipt.index)).unwrap();
    // What he has is worth nothing; what he saw is continued.
    let mut way = world.way(now);
    let stale = subscriber::prove(&mut way, 0, &old, &mut SeededRandom::new([5; 32]));
    assert!(matches!(stale, Err(SubscriberError::Refused)), "{stale:?}");
    assert_eq!(way.view.0.len(), 2);
    let (new, view) = world.login(&mine, &mut seen, now);
    assert_ne!(old, new);
    assert_eq!(seen.epoch, Some(168));
    assert_eq!(seen.tree_head.unwrap().size, 169 + 168);
    // It does not show that he was away.
    let mut daily = Seen::default();
    world.login(&mine, &mut daily, now);
    let (_, again) = world.login(&mine, &mut daily, now);
    let sorted = |mut view: common::service::View| {
        view.0.sort();
        view
    };
    assert_eq!(sorted(view), sorted(again));
    // An operator that puts back a week-old store contradicts itself, and he notices.
    let World { dir, files, service, rng } = world;
    drop(service);
    std::fs::write(dir.store(), &backup).unwrap();
    let store = slyfi_tracedge::service::store::Store::open(&dir.store()).unwrap();
    let service =
        slyfi_tracedge::service::Service::new(store, std::num::NonZeroUsize::MIN).unwrap();
    let mut world = World { dir, files, service, rng };
    world.service.retire(now).unwrap();
    world.publish(now);
    let refused = head_with_clocks(&mut world, &mut seen, now, now).unwrap_err();
    assert_eq!(refused, LogError::OlderThanSeen.to_string());
}

#[test]
fn an_operator_that_was_off_for_a_week_begins_anew_with_the_same_log_and_rows() {
    let mut world = World::new("off", 30);
    let mine = world.subscribe();
    world.publish(NOW);
    let mut seen = Seen::default();
    world.login(&mine, &mut seen, NOW);
    let later = NOW + 7 * 86_400;
    let (mut world, failed) = world.restart(later).unwrap();
    assert_eq!(failed, 0, "an epoch that is over is no failure");
    // Before it has caught up it signs nothing that would accuse it.
    assert_eq!(world.way(later).call(Route::LogHead, &[]), Ok((503, Vec::new())));
    world.service.retire(later).unwrap();
    let secret = world.publish(later);
    assert_eq!((secret.epoch().number, secret.epoch().not_before), (1, later));
    let (key, _) = world.login(&mine, &mut seen, later);
    assert_eq!(&key, secret.key());
}

#[test]
fn a_receipt_that_was_lost_on_the_way_is_given_again_to_the_same_key_only() {
    let mut world = World::new("lost", 30);
    let (id, invitation) = (world.id(), world.invite(NOW + HOUR));
    let [one, other] = [[1; 32], [2; 32]].map(|s| SecretKey::generate(&mut SeededRandom::new(s)));
    let encoded = one.encode();
    let ask = |world: &mut World, encoded: &[u8], invitation: &[u8; 16], now: u64| {
        let secret = SecretKey::decode(encoded).unwrap();
        let mut way = world.way(now);
        let rng = &mut SeededRandom::new([7; 32]);
        subscriber::subscribe(&mut way, &id, invitation, secret, rng).map(|s| s.receipt)
    };
    let first = ask(&mut world, &*encoded, &invitation, NOW).unwrap();
    // The answer got lost, and an epoch passed. The operator restarts, too.
    world.publish(NOW);
    let (mut world, _) = world.restart(NOW).unwrap();
    assert_eq!(ask(&mut world, &*encoded, &invitation, NOW + HOUR).unwrap(), first);
    // Nobody else gets it, nor with another invitation, nor when the invitation is over.
    assert!(ask(&mut world, &*other.encode(), &invitation, NOW).is_err());
    let another = world.invite(NOW + HOUR);
    assert!(ask(&mut world, &*encoded, &another, NOW).is_err());
    assert!(ask(&mut world, &*encoded, &invitation, NOW + HOUR + 1).is_err());
    // Nor who has left.
    world.service.with_store(|store| store.revoke(first.index)).unwrap();
    assert!(ask(&mut world, &*encoded, &invitation, NOW).is_err());
    let subscribed = world.service.with_store(|store| store.subscribed()).unwrap();
    assert_eq!(subscribed, 0);
}

#[test]
fn who_fetches_ahead_is_told_when_there_is_nothing_yet() {
    let mut world = World::new("ahead", 30);
    let mine = world.subscribe();
    let id = world.id();
    let mut way = world.way(NOW);
    let none = subscriber::head(&mut way, &id, &mut Seen::default(), Which::Next, NOW);
    assert!(matches!(none, Err(SubscriberError::NoEpoch)), "{none:?}");
    world.publish(NOW);
    let next = world.publish(NOW + 1);
    let mut way = world.way(NOW + 2);
    let head = subscriber::head(&mut way, &id, &mut Seen::default(), Which::Next, NOW + 2).unwrap();
    let rng = &mut SeededRandom::new([8; 32]);
    let fetched = subscriber::fetch(&mut way, &head, &mine, 1, rng).unwrap();
    let OwnRow::Opened(secret) = fetched.own else { panic!("{:?}", fetched.own) };
    assert_eq!(secret.key(), next.key());
}
