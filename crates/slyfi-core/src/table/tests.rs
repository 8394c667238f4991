use super::*;
use crate::testing::TestRandom;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::vec::Vec;

fn tryst(pairing: u32, interval: u32) -> Entry {
    Entry::Tryst { pairing, class: Class::Probe, interval }
}

fn random_address(rng: &mut TestRandom) -> Address {
    let mut address = [0; 16];
    rng.fill(&mut address);
    address
}

#[test]
fn packing_brings_every_entry_back() {
    let most = (1 << LOW_BITS) - 1;
    for n in [0, 1, 77, most] {
        for i in [0, 1, u32::MAX] {
            for class in Class::ALL {
                for entry in [
                    Entry::Tryst { pairing: i, class, interval: n },
                    Entry::Diagnose { pairing: i, class, interval: n },
                    Entry::Shroud { link: i, number: n },
                    Entry::Group { epoch: i, number: n },
                ] {
                    assert_eq!(Packed::new(entry).entry(), entry);
                }
            }
        }
    }
}

#[test]
fn nearest_finds_the_number_behind_its_low_bits() {
    let turn = 1_u64 << LOW_BITS;
    for around in [0, 5, turn / 2, turn - 1, turn, 3 * turn + 7, u64::from(u32::MAX) * 977] {
        for away in [0, 1, 50, 4096, turn / 2 - 1] {
            let ahead = around + away;
            assert_eq!(nearest((ahead % turn) as u32, around), ahead);
            if let Some(behind) = around.checked_sub(away) {
                assert_eq!(nearest((behind % turn) as u32, around), behind);
            }
        }
    }
}

#[test]
fn nearest_is_not_fooled_from_further_than_half_a_turn() {
    let turn = 1_u64 << LOW_BITS;
    assert_ne!(nearest(5, turn + 5 + turn / 2), 5);
}

#[test]
fn one_address_for_two_things_corrupts_neither() {
    let mut rng = TestRandom::new(1);
    let mut table = AddressTable::new(&mut rng);
    let address = random_address(&mut rng);
    let (a, b) = (tryst(1, 2), Entry::Shroud { link: 9, number: 4 });
    table.insert(&address, a);
    table.insert(&address, b);
    assert_eq!(table.len(), 2);
    assert!(table.lookup(&address).is_some());
    assert!(table.remove(&address, a));
    assert!(!table.remove(&address, a), "it was in once");
    assert_eq!(table.lookup(&address), Some(b));
    assert!(table.remove(&address, b));
    assert_eq!(table.lookup(&address), None);
    assert!(table.is_empty());
}

#[test]
fn removing_for_something_else_removes_nothing() {
    let mut rng = TestRandom::new(2);
    let mut table = AddressTable::new(&mut rng);
    let address = random_address(&mut rng);
    table.insert(&address, tryst(1, 2));
    assert!(!table.remove(&address, tryst(2, 2)));
    assert!(!table.remove(&address, tryst(1, 3)));
    assert_eq!(table.lookup(&address), Some(tryst(1, 2)));
}

#[test]
fn first_address_can_be_of_any_kind_and_further_ones_of_probes_only() {
    let mut rng = TestRandom::new(3);
    let mut body = [0; 500];
    rng.fill(&mut body);
    let kinds = [
        (Entry::Tryst { pairing: 1, class: Class::Probe, interval: 1 }, true),
        (Entry::Diagnose { pairing: 1, class: Class::Probe, interval: 1 }, true),
        (Entry::Tryst { pairing: 1, class: Class::Authentication, interval: 1 }, false),
        (Entry::Diagnose { pairing: 1, class: Class::Authentication, interval: 1 }, false),
        (Entry::Shroud { link: 1, number: 1 }, false),
        (Entry::Group { epoch: 1, number: 1 }, false),
    ];
    for (entry, scoped) in kinds {
        for j in 0..10 {
            let mut table = AddressTable::new(&mut rng);
            table.insert(body[j * 48..][..16].try_into().unwrap(), entry);
            let expected = (j == 0 || scoped && j < 8).then_some((j, entry));
            assert_eq!(table.lookup_frame(&body), expected, "header {j}");
            // The address must be whole.
            assert_eq!(table.lookup_frame(&body[..j * 48 + 15]), None);
        }
    }
}

#[test]
fn an_address_elsewhere_in_the_frame_is_not_found() {
    let mut rng = TestRandom::new(4);
    let mut body = [0; 500];
    rng.fill(&mut body);
    for at in (0..484).filter(|at| at % 48 != 0) {
        let mut table = AddressTable::new(&mut rng);
        table.insert(body[at..][..16].try_into().unwrap(), tryst(1, 1));
        assert_eq!(table.lookup_frame(&body), None, "at {at}");
    }
}

/// The rules of the array that no single test shows: growing, emptying, shifting back, against a map.
#[test]
fn agrees_with_a_map_while_it_grows_and_empties() {
    let mut rng = TestRandom::new(5);
    let mut table = AddressTable::new(&mut rng);
    let mut model = BTreeMap::new();
    let mut order = Vec::new();
    for round in 0..60_000_u32 {
        // Mostly insertions at first, mostly removals at the end.
        let insert = rng.below(60_000) >= u64::from(round) || order.is_empty();
        if insert {
            let address = random_address(&mut rng);
            table.insert(&address, tryst(round, round));
            model.insert(address, round);
            order.push(address);
        } else {
            let address = order.swap_remove(rng.below(order.len() as u64) as usize);
            let n = model.remove(&address).unwrap();
            assert!(table.remove(&address, tryst(n, n)));
        }
        assert_eq!(table.len(), model.len());
        if round % 997 == 0 {
            for (address, n) in &model {
                assert_eq!(table.lookup(address), Some(tryst(*n, *n)));
            }
            assert_eq!(table.addresses().count(), model.len());
        }
        assert_eq!(table.lookup(&random_address(&mut rng)), None);
    }
}

proptest! {
    /// Few distinct addresses, so that they meet again and again, runs wrap around and close.
    #[test]
    fn agrees_with_a_multimap(ops in prop::collection::vec((any::<bool>(), 0..24_u8, 0..3_u32), 1..400)) {
        let mut table = AddressTable::new(&mut TestRandom::new(6));
        let mut model: Vec<(u8, u32)> = Vec::new();
        for (insert, a, n) in ops {
            let address = [a; 16];
            if insert {
                table.insert(&address, tryst(n, n));
                model.push((a, n));
            } else {
                let at = model.iter().position(|m| *m == (a, n));
                prop_assert_eq!(table.remove(&address, tryst(n, n)), at.is_some());
                at.map(|at| model.swap_remove(at));
            }
            for a in 0..24 {
                match table.lookup(&[a; 16]) {
                    Some(Entry::Tryst { pairing, .. }) => prop_assert!(model.contains(&(a, pairing))),
                    Some(_) => prop_assert!(false),
                    None => prop_assert!(model.iter().all(|m| m.0 != a)),
                }
            }
        }
    }

    #[test]
    fn looking_up_junk_never_panics(body in prop::collection::vec(any::<u8>(), 0..600)) {
        let mut table = AddressTable::new(&mut TestRandom::new(7));
        table.insert(&[0; 16], tryst(0, 0));
        let _ = table.lookup_frame(&body);
    }
}
