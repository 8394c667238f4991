use curve25519_dalek::RistrettoPoint;
use curve25519_dalek::ristretto::CompressedRistretto;
use proptest::prelude::*;

use super::*;
use crate::lanes::tests::{Rfc, elements, on_each_unit};

/// ℓ − 1.
fn greatest() -> Scalar {
    -Scalar::ONE
}

fn point(bytes: &[u8; 32]) -> RistrettoPoint {
    CompressedRistretto(*bytes).decompress().unwrap()
}

/// M + r·P by the lanes and by dalek.
fn compare<U: Unit>(u: U, r: &Scalar, message: &[u8; 32], keys: &[[u8; 32]]) {
    let mut rows = vec![[0; 32]; keys.len()];
    super::rows(u, &Digits::of(r), message, keys, &mut rows).unwrap();
    for (key, row) in keys.iter().zip(&rows) {
        assert_eq!(*row, (point(message) + point(key) * r).compress().to_bytes());
    }
}

#[test]
fn digits_are_small_and_make_the_scalar() {
    for scalar in [
        Scalar::ZERO,
        Scalar::ONE,
        greatest(),
        Scalar::from(8u8),
        Scalar::from(0x8888_8888_8888_8888u64),
        Scalar::from(u128::MAX),
        Scalar::from(7u8).invert(),
    ] {
        let digits = Digits::of(&scalar);
        let value = digits.0.iter().rev().fold(Scalar::ZERO, |sum, digit| {
            assert!((-8..=8).contains(digit));
            let magnitude = Scalar::from(digit.unsigned_abs());
            sum * Scalar::from(16u8) + if *digit < 0 { -magnitude } else { magnitude }
        });
        assert_eq!(value, scalar);
    }
}

#[test]
fn thousands_of_rows_are_dalek_s() {
    fn run<U: Unit>(u: U, keys: &[[u8; 32]]) {
        let message = elements(6, 1)[0];
        let r = Scalar::from_bytes_mod_order(crate::merkle::sha256(&[b"r"]));
        compare(u, &r, &message, keys);
        // Every length of a last, begun eight.
        for len in 0..2 * LANES {
            compare(u, &r, &message, &keys[..len]);
        }
    }
    on_each_unit!(run, &elements(5, 2_000));
}

#[test]
fn edges_of_scalars_and_elements_are_no_exception() {
    fn run<U: Unit>(u: U, rfc: &Rfc) {
        // Zero, the generator's multiples, a message that is zero, and sums that come out as zero or as
        // a doubling.
        let mut keys = rfc.multiples.clone();
        keys.extend(elements(7, 4));
        for r in [Scalar::ZERO, Scalar::ONE, greatest(), Scalar::from(8u8), Scalar::from(16u8)] {
            for message in [[0; 32], keys[1], keys[17]] {
                compare(u, &r, &message, &keys);
            }
        }
    }
    on_each_unit!(run, &Rfc::read());
}

#[test]
fn the_generators_multiples_are_the_rfcs() {
    fn run<U: Unit>(u: U, rfc: &Rfc) {
        let zero = [0; 32];
        for (n, expected) in rfc.multiples.iter().enumerate() {
            let digits = Digits::of(&Scalar::from(n as u64));
            let mut rows = [[0; 32]; LANES];
            super::rows(u, &digits, &zero, &[rfc.multiples[1]; LANES], &mut rows).unwrap();
            assert_eq!(rows, [*expected; LANES]);
        }
    }
    on_each_unit!(run, &Rfc::read());
}

#[test]
fn says_which_key_is_none() {
    fn run<U: Unit>(u: U, rfc: &Rfc) {
        let good = elements(8, 27);
        let digits = Digits::of(&Scalar::from(5u8));
        for (at, invalid) in [0, 7, 8, 20, 26].into_iter().zip(rfc.invalid.iter().step_by(6)) {
            let mut keys = good.clone();
            keys[at] = *invalid;
            let mut rows = vec![[0; 32]; keys.len()];
            let made = super::rows(u, &digits, &good[0], &keys, &mut rows);
            assert_eq!(made, Err(at));
            let made = super::rows(u, &digits, &good[0], &good, &mut rows);
            assert_eq!(made, Ok(()));
        }
    }
    on_each_unit!(run, &Rfc::read());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_scalar_key_and_message(
        r in prop::array::uniform32(any::<u8>()),
        seed in any::<u8>(),
        count in 1usize..12,
    ) {
        fn run<U: Unit>(u: U, (r, seed, count): (Scalar, u8, usize)) {
            let all = elements(seed, count + 1);
            compare(u, &r, &all[0], &all[1..]);
        }
        on_each_unit!(run, (Scalar::from_bytes_mod_order(r), seed, count));
    }
}
