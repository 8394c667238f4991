use super::*;
use crate::epoch::{Epoch, EpochKey};
use crate::keys::{OperatorId, SecretKey};
use crate::table;
use core::num::NonZeroUsize;
use curve25519_dalek::ristretto::CompressedRistretto;
use std::sync::Mutex;

struct World {
    secret: EpochSecret,
    keys: Vec<u8>,
    table: Vec<u8>,
}

fn world(rows: usize, epoch: u64) -> World {
    let rng = &mut SeededRandom::new([1; 32]);
    let owners: Vec<_> = (0..rows.min(50)).map(|_| SecretKey::generate(rng)).collect();
    let key = |i: usize| owners[i % owners.len()].public().as_bytes();
    let keys: Vec<u8> = (0..rows).flat_map(|i| *key(i)).collect();
    let operator = OperatorId([1; 32]);
    let epoch = Epoch { operator, number: epoch, not_before: 1, not_after: 2 };
    let secret = EpochSecret::derive(&epoch, EpochKey::generate(rng));
    let sink = Mutex::new(Vec::new());
    table::build(&secret, &keys, owners[0].public(), &sink, &Work::quiet()).unwrap();
    World { secret, keys, table: sink.into_inner().unwrap() }
}

fn back_ends() -> impl Iterator<Item = Backend> {
    Backend::ALL.into_iter().filter(|backend| backend.is_available())
}

#[test]
fn an_honest_table_passes_and_a_single_wrong_row_is_found() {
    let rows = ROWS_PER_PIECE + 100;
    let World { secret, keys, table } = world(rows, 3);
    let rng = &mut SeededRandom::new([2; 32]);
    let work = Work { workers: NonZeroUsize::new(2).unwrap(), ..Work::quiet() };
    let sum = KeySum::new(&keys, rng, &work).unwrap();
    assert_eq!(sum.check(&secret, &table, &keys, &work), Ok(()));
    for row in [0, ROWS_PER_PIECE - 1, rows - 1] {
        // Another subscriber's row: an element, and a right row, in the wrong place.
        let mut wrong = table.clone();
        let other = table[((row + 1) % rows) * 32..][..32].to_vec();
        wrong[row * 32..][..32].copy_from_slice(&other);
        let found = sum.check(&secret, &wrong, &keys, &work);
        assert_eq!(found, Err(WholeError::WrongRows(vec![row as u64])));
        // Not even an element.
        wrong[row * 32..][..32].fill(0xff);
        let found = sum.check(&secret, &wrong, &keys, &work);
        assert_eq!(found, Err(WholeError::WrongRows(vec![row as u64])));
    }
    // Wrong rows of several pieces are named in order.
    let mut wrong = table.clone();
    for row in [5, rows - 2] {
        wrong[row * 32..][..32].fill(0);
    }
    let found = sum.check(&secret, &wrong, &keys, &work);
    assert_eq!(found, Err(WholeError::WrongRows(vec![5, rows as u64 - 2])));
}

#[test]
fn a_wrong_row_is_seen_wherever_it_stands_in_ten_thousand() {
    let rows = 10_000;
    let World { secret, keys, table } = world(rows, 3);
    // Odd steps: every lane.
    let step = if std::env::var_os("SLYFI_FULL").is_some() { 7 } else { 509 };
    for backend in back_ends() {
        let rng = &mut SeededRandom::new([2; 32]);
        let sum = KeySum::new_with(backend, &keys, rng, &Work::quiet()).unwrap();
        let (table, _) = table.as_chunks::<32>();
        assert!(sum.piece_passes(&secret, 0, table));
        let ends = (0..8).chain(rows - 9..rows);
        for row in ends.chain((0..rows).step_by(step)) {
            let mut wrong = table.to_vec();
            wrong[row] = table[(row + 1) % rows];
            assert!(!sum.piece_passes(&secret, 0, &wrong), "{row} on {}", backend.name());
        }
    }
}

#[test]
fn rows_that_change_places_are_found_on_every_back_end() {
    // All sums of rows stay the same, in and across lanes: only the coefficients tell.
    let World { secret, keys, table } = world(100, 3);
    for backend in back_ends() {
        let rng = &mut SeededRandom::new([7; 32]);
        let sum = KeySum::new_with(backend, &keys, rng, &Work::quiet()).unwrap();
        assert_eq!(sum.check(&secret, &table, &keys, &Work::quiet()), Ok(()));
        for (one, other) in [(0, 1), (0, 8), (41, 97), (98, 99)] {
            let (mut wrong, (rows, _)) = (table.clone(), table.as_chunks::<32>());
            wrong[one * 32..][..32].copy_from_slice(&rows[other]);
            wrong[other * 32..][..32].copy_from_slice(&rows[one]);
            let found = sum.check(&secret, &wrong, &keys, &Work::quiet());
            let both = vec![one as u64, other as u64];
            assert_eq!(found, Err(WholeError::WrongRows(both)), "{}", backend.name());
        }
    }
}

#[test]
fn back_ends_sum_alike() {
    let World { secret, keys, table } = world(1_003, 3);
    let sums: Vec<_> = back_ends()
        .map(|backend| {
            let rng = &mut SeededRandom::new([8; 32]);
            KeySum::new_with(backend, &keys, rng, &Work::quiet()).unwrap()
        })
        .collect();
    assert!(sums.iter().all(|sum| sum.pieces == sums[0].pieces));
    // One's sums serve the other's check, and its failure.
    let mut wrong = table.clone();
    wrong[1_002 * 32..].fill(0);
    for backend in back_ends() {
        let mut sum = sums[0].clone();
        sum.backend = backend;
        assert_eq!(sum.check(&secret, &table, &keys, &Work::quiet()), Ok(()));
        let found = sum.check(&secret, &wrong, &keys, &Work::quiet());
        assert_eq!(found, Err(WholeError::WrongRows(vec![1_002])));
    }
}

#[test]
fn says_which_row_of_the_directory_holds_no_key() {
    let World { keys, .. } = world(300, 3);
    for backend in back_ends() {
        let mut keys = keys.clone();
        keys[123 * 32..][..32].fill(0xff);
        let rng = &mut SeededRandom::new([9; 32]);
        let sum = KeySum::new_with(backend, &keys, rng, &Work::quiet());
        assert_eq!(sum.unwrap_err(), WholeError::NotAKey(123));
    }
}

#[test]
fn a_zero_key_is_refused_although_its_row_fits_on_every_back_end() {
    let World { secret, mut keys, mut table } = world(300, 3);
    // Under zero the row is M itself, for everybody to read: the equation holds.
    keys[123 * 32..][..32].fill(0);
    table[123 * 32..][..32].copy_from_slice(secret.message().compress().as_bytes());
    for backend in back_ends() {
        let new = |keys: &[u8]| {
            let rng = &mut SeededRandom::new([9; 32]);
            KeySum::new_with(backend, keys, rng, &Work::quiet())
        };
        assert_eq!(new(&keys).unwrap_err(), WholeError::NotAKey(123), "{}", backend.name());
        // The first is named, whichever of the two it is.
        for (no_element, named) in [(7, 7), (200, 123)] {
            let mut keys = keys.clone();
            keys[no_element * 32..][..32].fill(0xff);
            assert_eq!(new(&keys).unwrap_err(), WholeError::NotAKey(named), "{}", backend.name());
        }
        let mut right = keys.clone();
        right[123 * 32..][..32].copy_from_slice(&keys[124 * 32..][..32]);
        let found = new(&right).unwrap().check(&secret, &table, &right, &Work::quiet());
        assert_eq!(found, Err(WholeError::WrongRows(vec![123])), "{}", backend.name());
    }
}

#[test]
fn wrong_rows_that_cancel_out_without_coefficients_do_not_cancel_with_them() {
    let World { secret, keys, table } = world(100, 3);
    let sum = KeySum::new(&keys, &mut SeededRandom::new([3; 32]), &Work::quiet()).unwrap();
    let point = |i: usize| {
        CompressedRistretto(table[i * 32..][..32].try_into().unwrap()).decompress().unwrap()
    };
    let mut wrong = table.clone();
    let shift = RistrettoPoint::mul_base(&Scalar::from(5u8));
    wrong[..32].copy_from_slice(&(point(0) + shift).compress().to_bytes());
    wrong[32..64].copy_from_slice(&(point(1) - shift).compress().to_bytes());
    let found = sum.check(&secret, &wrong, &keys, &Work::quiet());
    assert_eq!(found, Err(WholeError::WrongRows(vec![0, 1])));
}

#[test]
fn the_sum_serves_the_next_epoch_and_follows_changes_of_keys() {
    let World { mut keys, .. } = world(300, 3);
    let mut sum = KeySum::new(&keys, &mut SeededRandom::new([4; 32]), &Work::quiet()).unwrap();
    let World { secret, table, .. } = world(300, 4);
    assert_eq!(sum.check(&secret, &table, &keys, &Work::quiet()), Ok(()));
    let new = SecretKey::generate(&mut SeededRandom::new([5; 32]));
    let old: [u8; 32] = keys[250 * 32..][..32].try_into().unwrap();
    sum.replace(250, &old, new.public().as_bytes()).unwrap();
    keys[250 * 32..][..32].copy_from_slice(new.public().as_bytes());
    let sink = Mutex::new(Vec::new());
    table::build(&secret, &keys, new.public(), &sink, &Work::quiet()).unwrap();
    let table = sink.into_inner().unwrap();
    assert_eq!(sum.check(&secret, &table, &keys, &Work::quiet()), Ok(()));
    assert!(sum.replace(300, &old, &old).is_err());
}

#[test]
fn another_k_fails_everywhere() {
    let World { secret, keys, .. } = world(10, 3);
    let World { table, .. } = world(10, 4);
    let sum = KeySum::new(&keys, &mut SeededRandom::new([6; 32]), &Work::quiet()).unwrap();
    let found = sum.check(&secret, &table, &keys, &Work::quiet());
    assert_eq!(found, Err(WholeError::WrongRows((0..10).collect())));
    assert_eq!(sum.check(&secret, &table[32..], &keys, &Work::quiet()), Err(WholeError::Length));
}
