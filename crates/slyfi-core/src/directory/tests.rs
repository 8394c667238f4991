use super::*;
use crate::pairing::{Kind, NetworkName, Terms};
use crate::suite::Suite;
use crate::table::Entry;
use crate::testing::TestRandom;
use proptest::prelude::*;
use slyfi_base::{Duration, SecureRandom};
use std::vec::Vec;

const T0: u64 = 1_700_000_000;
const DAY: u64 = 86_400;

fn terms(suite: Suite, t0: u64, interval: u64, skew: u8) -> Terms {
    let network = NetworkName::new(b"home").unwrap();
    let mut terms = Terms::new(network, suite, UnixTime::from_secs(t0), Kind::Member);
    terms.interval = Duration::from_secs(interval);
    terms.skew = skew;
    terms
}

/// A directory, its table, and copies of the pairings as they were on day 0.
struct Node {
    directory: Directory,
    table: AddressTable,
    pairings: Vec<(u32, Pairing)>,
}

impl Node {
    fn new(side: Side) -> Self {
        let table = AddressTable::new(&mut TestRandom::new(1));
        Node { directory: Directory::new(side), table, pairings: Vec::new() }
    }

    fn insert(&mut self, pairing: &Pairing, wall: u64) -> u32 {
        let wall = UnixTime::from_secs(wall);
        let index = self.directory.insert(pairing.clone(), wall, &mut self.table).unwrap();
        self.pairings.push((index, pairing.clone()));
        index
    }

    fn turn(&mut self, wall: u64) -> Turn {
        let turn = self.directory.turn(UnixTime::from_secs(wall), &mut self.table, usize::MAX);
        assert!(!turn.more);
        turn
    }

    /// What the table has for the addresses of a pairing in an interval.
    fn has(&self, pairing: &Pairing, interval: u64) -> [Option<Entry>; 2] {
        let keys = pairing.tryst_keys(self.directory.side().receives(), interval).unwrap();
        Class::ALL.map(|class| self.table.lookup(&tryst::address(&keys.addr, class, interval)))
    }

    /// Checks the whole table against the definition: `[i−k, i+k]`, less what lies before T0 or before
    /// the day that was reached.
    fn check(&self, wall: u64) {
        let wall = UnixTime::from_secs(wall);
        let mut live = 0;
        for (index, original) in &self.pairings {
            let (i, k) = (original.interval_at(wall), i64::from(original.skew()));
            let day = self.directory.get(*index).unwrap().day();
            for interval in i - k - 3..=i + k + 3 {
                let Ok(n) = u64::try_from(interval) else { continue };
                let inside = (interval - i).abs() <= k && original.day_of(n) >= u64::from(day);
                let interval = n as u32;
                let expected = Class::ALL.map(|class| {
                    inside.then_some(Entry::Tryst { pairing: *index, class, interval })
                });
                assert_eq!(self.has(original, n), expected, "interval {n} at {i}, k {k}");
                live += 2 * usize::from(inside);
            }
        }
        assert_eq!(self.table.len(), live);
    }
}

fn pairing(seed: u64, terms: &Terms) -> Pairing {
    Pairing::generate(terms, &mut TestRandom::new(seed)).unwrap()
}

#[test]
fn what_a_client_sends_an_access_point_waits_for_and_the_other_way_round() {
    for suite in Suite::ALL {
        let pairing = pairing(3, &terms(suite, T0, 300, 1));
        let wall = T0 + 5 * DAY + 77;
        let (mut client, mut ap) = (Node::new(Side::Client), Node::new(Side::AccessPoint));
        client.insert(&pairing, wall);
        ap.insert(&pairing, wall);
        for (sender, receiver) in [(&client, &ap), (&ap, &client)] {
            for class in Class::ALL {
                let now = UnixTime::from_secs(wall);
                let (address, keys) = sender.directory.sending(0, class, now).unwrap();
                let entry = receiver.table.lookup(&address);
                let Some(Entry::Tryst { pairing: 0, class: found, interval }) = entry else {
                    panic!("{suite}: {entry:?}")
                };
                assert_eq!(found, class);
                let interval = receiver.directory.resolve(0, interval, now).unwrap();
                assert_eq!(receiver.directory.receiving(0, interval), Ok(keys));
                // Its own direction means nothing to the sender: an echo is foreign.
                assert_eq!(sender.table.lookup(&address), None);
            }
        }
    }
}

#[test]
fn window_follows_the_clock_over_days_whatever_the_interval() {
    for suite in [Suite::S2008, Suite::AEAD] {
        for (interval, skew) in [(300, 1), (7001, 2), (50_000, 3), (86_400, 1), (60, 0)] {
            let mut node = Node::new(Side::AccessPoint);
            node.insert(&pairing(1, &terms(suite, T0, interval, skew)), T0 + 1000);
            node.insert(&pairing(2, &terms(suite, T0 + 113, interval, skew)), T0 + 1000);
            node.check(T0 + 1000);
            let step = (interval / 2).max(700);
            let mut wall = T0 + 1000;
            while wall < T0 + 4 * DAY {
                wall += step;
                let _ = node.turn(wall);
                node.check(wall);
            }
        }
    }
}

#[test]
fn keys_of_a_day_are_erased_when_the_window_has_left_it_and_not_before() {
    for suite in [Suite::S2008, Suite::AEAD] {
        for interval in [300, 7001] {
            let mut node = Node::new(Side::AccessPoint);
            let original = pairing(1, &terms(suite, T0, interval, 1));
            node.insert(&original, T0);
            let first_of_day_1 = DAY.div_ceil(interval);
            // With k = 1 the window still reaches into day 0 during the first interval of day 1.
            let begins = |i: u64| original.begins(i).as_secs();
            let turn = node.turn(begins(first_of_day_1 + 1) - 1);
            assert_eq!(turn.days_turned, 0);
            assert!(node.directory.receiving(0, first_of_day_1 - 1).is_ok());
            assert!(node.directory.receiving(0, first_of_day_1).is_ok());
            node.check(begins(first_of_day_1 + 1) - 1);

            let turn = node.turn(begins(first_of_day_1 + 1));
            assert_eq!(turn, Turn { more: false, days_turned: 1, refused: 0 });
            assert_eq!(node.directory.receiving(0, first_of_day_1 - 1), Err(NoKeys::Erased));
            assert_eq!(node.directory.get(0).unwrap().day(), 1);
            assert_ne!(node.directory.get(0).unwrap().encode(), original.encode());
            node.check(begins(first_of_day_1 + 1));
        }
    }
}

#[test]
fn a_clock_that_went_back_past_an_erased_day_fails_closed_and_says_so() {
    let mut node = Node::new(Side::AccessPoint);
    let original = pairing(1, &terms(Suite::AEAD, T0, 300, 1));
    node.insert(&original, T0 + 10 * DAY + 4000);
    assert_eq!(node.table.len(), 6);
    let turn = node.turn(T0 + 9 * DAY);
    assert_eq!(turn, Turn { more: false, days_turned: 0, refused: 1 });
    assert!(node.table.is_empty());
    let sending = node.directory.sending(0, Class::Probe, UnixTime::from_secs(T0 + 9 * DAY));
    assert_eq!(sending, Err(NoKeys::Erased));
    // Mended, it works again.
    let turn = node.turn(T0 + 10 * DAY + 4000);
    assert_eq!(turn.refused, 0);
    node.check(T0 + 10 * DAY + 4000);
}

#[test]
fn a_clock_that_went_back_within_the_day_is_followed() {
    let mut node = Node::new(Side::Client);
    node.insert(&pairing(1, &terms(Suite::S2008, T0, 300, 2)), T0 + DAY / 2);
    for wall in [T0 + DAY / 4, T0 + DAY / 3, T0 + 1000, T0 + DAY / 2] {
        assert_eq!(node.turn(wall).refused, 0);
        node.check(wall);
    }
}

#[test]
fn a_second_of_jitter_turns_nothing_back() {
    let mut node = Node::new(Side::AccessPoint);
    let original = pairing(1, &terms(Suite::AEAD, T0, 300, 1));
    node.insert(&original, T0 + 599);
    let _ = node.turn(T0 + 600);
    let _ = node.turn(T0 + 599);
    node.check(T0 + 600);
}

#[test]
fn an_absurd_clock_costs_little_and_destroys_nothing() {
    let mut node = Node::new(Side::AccessPoint);
    node.insert(&pairing(1, &terms(Suite::AEAD, T0, 300, 1)), T0);
    let turn = node.turn(T0 + DAY * 1_000_000);
    assert_eq!(turn, Turn { more: false, days_turned: 0, refused: 1 });
    assert!(node.table.is_empty());
    let _ = node.turn(u64::MAX / 2_000_000);
    let _ = node.turn(0);
    let _ = node.turn(T0 + 10);
    node.check(T0 + 10);
}

#[test]
fn before_t0_nothing_is_sent_but_the_first_interval_is_waited_for() {
    let mut node = Node::new(Side::AccessPoint);
    node.insert(&pairing(1, &terms(Suite::AEAD, T0, 300, 1)), T0 - 100);
    node.check(T0 - 100);
    assert_eq!(node.table.len(), 2);
    let sending = node.directory.sending(0, Class::Probe, UnixTime::from_secs(T0 - 1));
    assert_eq!(sending, Err(NoKeys::BeforeT0));
}

#[test]
fn unknown_pairings_have_no_keys() {
    let node = Node::new(Side::Client);
    assert_eq!(
        node.directory.sending(0, Class::Probe, UnixTime::default()),
        Err(NoKeys::NoPairing)
    );
    assert_eq!(node.directory.receiving(7, 1), Err(NoKeys::NoPairing));
    assert_eq!(node.directory.resolve(7, 1, UnixTime::default()), None);
}

#[test]
fn each_pairing_is_in_once_and_removal_leaves_nothing() {
    let mut node = Node::new(Side::AccessPoint);
    let terms = terms(Suite::AEAD, T0, 300, 1);
    let wall = T0 + 12_345;
    let pairings: Vec<_> = (0..40).map(|seed| pairing(seed, &terms)).collect();
    for p in &pairings {
        node.insert(p, wall);
    }
    let again =
        node.directory.insert(pairings[7].clone(), UnixTime::from_secs(wall), &mut node.table);
    assert_eq!(again, Err(Duplicate { index: 7 }));
    for index in [7, 0, 39, 20] {
        let removed = node.directory.remove(index, &mut node.table).unwrap();
        assert_eq!(removed.id(), pairings[index as usize].id());
        assert_eq!(node.directory.by_id(removed.id()), None);
        assert!(node.directory.remove(index, &mut node.table).is_none());
        node.pairings.retain(|(i, _)| *i != index);
        node.check(wall);
    }
    assert_eq!((node.directory.len(), node.directory.iter().count()), (36, 36));
    let index = node.insert(&pairings[0], wall);
    assert!([7, 0, 39, 20].contains(&index), "places are used again");
    node.check(wall);
}

#[test]
fn turning_in_small_steps_ends_where_one_large_step_does() {
    let (mut small, mut large) = (Node::new(Side::AccessPoint), Node::new(Side::AccessPoint));
    let mut rng = TestRandom::new(9);
    for seed in 0..150 {
        // Many at one second, as when they were made in one go.
        let t0 = T0 + if seed % 3 == 0 { 0 } else { rng.below(60) * 10 };
        let pairing = pairing(seed, &terms(Suite::S2008, t0, 300, 1));
        small.insert(&pairing, T0 + DAY);
        large.insert(&pairing, T0 + DAY);
    }
    for wall in [T0 + DAY + 299, T0 + DAY + 900, T0 + DAY + 850, T0 + 3 * DAY] {
        let mut calls = 0;
        while small.directory.turn(UnixTime::from_secs(wall), &mut small.table, 7).more {
            calls += 1;
        }
        assert!(calls > 5, "{calls}");
        let _ = large.turn(wall);
        small.check(wall);
        large.check(wall);
        assert_eq!(small.directory.next_turn(), large.directory.next_turn());
        assert!(small.directory.next_turn().unwrap() > UnixTime::from_secs(wall));
    }
}

#[test]
fn diagnosis_tells_a_clock_that_is_an_hour_off_and_is_never_taken_for_the_window() {
    let terms = terms(Suite::AEAD, T0, 300, 1);
    let pairing = pairing(1, &terms);
    let mut ap = Node::new(Side::AccessPoint);
    let wall = T0 + 2 * DAY + 43_210;
    ap.insert(&pairing, wall);
    ap.directory.set_diagnosis(15, &mut ap.table).unwrap();
    assert_eq!(ap.table.len(), 2 * (3 + 30));
    for step in 0..400 {
        let wall = wall + step * 299;
        let _ = ap.turn(wall);
        for minutes in [-61_i64, -10, 0, 3, 61, 74, 90] {
            let theirs = UnixTime::from_secs(wall.saturating_add_signed(60 * minutes));
            let i = pairing.interval_at(theirs) - pairing.interval_at(UnixTime::from_secs(wall));
            let Ok(interval) = u64::try_from(pairing.interval_at(theirs)) else { continue };
            let erased = pairing.day_of(interval) < u64::from(ap.directory.get(0).unwrap().day());
            match ap.has(&pairing, interval)[0] {
                Some(Entry::Tryst { .. }) => assert!(i.abs() <= 1),
                Some(Entry::Diagnose { pairing: 0, class: Class::Probe, interval }) => {
                    assert!((2..=16).contains(&i.abs()), "{i}");
                    let now = UnixTime::from_secs(wall);
                    assert_eq!(ap.directory.clock_offset(0, interval, now), Some(i * 300));
                }
                None => assert!(i.abs() > 16 || erased, "{minutes} minutes, {i}"),
                Some(other) => panic!("{other:?}"),
            }
        }
    }
    ap.directory.set_diagnosis(0, &mut ap.table).unwrap();
    ap.check(wall + 399 * 299);
}

#[test]
fn diagnosis_ends_when_there_are_too_many_pairings() {
    let terms = terms(Suite::S2008, T0, 300, 1);
    let mut node = Node::new(Side::AccessPoint);
    for seed in 0..MAX_DIAGNOSED as u64 {
        node.insert(&pairing(seed, &terms), T0 + 3000);
    }
    node.directory.set_diagnosis(2, &mut node.table).unwrap();
    assert_eq!(node.table.len(), MAX_DIAGNOSED * 14);
    node.insert(&pairing(u64::MAX, &terms), T0 + 3000);
    assert_eq!(node.table.len(), (MAX_DIAGNOSED + 1) * 6);
    assert_eq!(node.directory.set_diagnosis(2, &mut node.table), Err(TooMany));
}

proptest! {
    /// Clocks, budgets, arrivals and departures in any order: once the turns are through, the table is
    /// what the definition says.
    #[test]
    fn table_is_always_what_the_definition_says(
        steps in prop::collection::vec((0..5_u8, -4000..9000_i64, 1..40_usize, any::<u64>()), 1..40),
    ) {
        let mut node = Node::new(Side::AccessPoint);
        let mut wall = T0 + 3 * DAY;
        for (what, seconds, budget, seed) in steps {
            match what {
                0 => {
                    let t0 = T0 + seed % 3 * 100;
                    let interval = [300, 300, 7001, 86_400][seed as usize % 4];
                    let new = pairing(seed, &terms(Suite::S2008, t0, interval, (seed % 3) as u8));
                    if node.directory.by_id(new.id()).is_none() {
                        node.insert(&new, wall);
                    }
                }
                1 if !node.pairings.is_empty() => {
                    let at = seed as usize % node.pairings.len();
                    let (index, _) = node.pairings.swap_remove(at);
                    prop_assert!(node.directory.remove(index, &mut node.table).is_some());
                }
                _ => wall = wall.saturating_add_signed(seconds),
            }
            let now = UnixTime::from_secs(wall);
            // Now and then the next step comes before this turn is through.
            if seed % 4 == 0 {
                let _ = node.directory.turn(now, &mut node.table, budget);
            } else {
                let mut calls = 0;
                while node.directory.turn(now, &mut node.table, budget).more {
                    calls += 1;
                    prop_assert!(calls < 1000, "each call gets further");
                }
                if what > 1 && !(-2..=0).contains(&seconds) {
                    node.check_allowing_jitter(wall);
                }
            }
        }
        let far = wall + 9 * DAY;
        let _ = node.turn(far);
        node.check(far);
        for (index, _) in core::mem::take(&mut node.pairings) {
            node.directory.remove(index, &mut node.table);
        }
        prop_assert!(node.table.is_empty());
        prop_assert!(node.directory.next_turn().is_none());
    }
}

impl Node {
    /// [`Node::check`], at a second where no bucket is held ahead by jitter.
    fn check_allowing_jitter(&self, wall: u64) {
        let at = |p: &Pairing, s| p.interval_at(UnixTime::from_secs(s));
        if self.pairings.iter().all(|(_, p)| at(p, wall) == at(p, wall + 2)) {
            self.check(wall);
        }
    }
}
