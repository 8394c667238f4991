use proptest::prelude::*;
use slyfi_base::SecureRandom;

use super::*;
use crate::lanes::dalek;
use crate::lanes::tests::{Rfc, elements, on_each_unit};
use crate::random::SeededRandom;

fn coefficients(seed: u8, count: usize) -> Vec<Coefficient> {
    let mut rng = SeededRandom::new([seed; 32]);
    let mut draw = || {
        let mut bytes = [0; DIGITS];
        rng.fill(&mut bytes);
        Coefficient(bytes.map(u8::cast_signed))
    };
    (0..count).map(|_| draw()).collect()
}

#[test]
fn a_coefficient_is_its_signed_digits() {
    let of = |place: usize, digit: i8| {
        let mut digits = [0; DIGITS];
        digits[place] = digit;
        Coefficient(digits).scalar()
    };
    assert_eq!(of(0, 0), Scalar::ZERO);
    assert_eq!(of(0, 127), Scalar::from(127u8));
    assert_eq!(of(0, -128), -Scalar::from(128u8));
    assert_eq!(of(15, 1), Scalar::from(1u128 << 120));
    assert_eq!(of(15, -128), -Scalar::from(1u128 << 127));
    assert_eq!(Coefficient([-1; DIGITS]).scalar(), -Scalar::from(u128::MAX / 255));
    assert_eq!(Coefficient([127; DIGITS]).scalar(), Scalar::from(u128::MAX / 255 * 127));
}

#[test]
fn sums_over_several_batches_are_dalek_s() {
    fn run<U: Unit>(u: U, all: &[[u8; 32]]) {
        // All digits, the greatest magnitudes among them; whole and begun batches and eights.
        for count in [1, 7, 8, 9, 100, BATCH * LANES - 1, BATCH * LANES, BATCH * LANES + 9] {
            let mut z = coefficients(1, count.div_ceil(LANES));
            z[0] = Coefficient([-128; DIGITS]);
            z[count / LANES / 2] = Coefficient([127; DIGITS]);
            let expected = dalek::sums(&z, &all[..count]).unwrap();
            assert_eq!(sums(u, &z, &all[..count]).unwrap(), expected, "{count}");
            // Another coefficient anywhere is another sum, in the lanes that it is for.
            z[count / LANES / 3].0[9] ^= 1;
            let other = sums(u, &z, &all[..count]).unwrap();
            assert_ne!(other[0], expected[0]);
        }
    }
    // Distinct, for equal elements would hide a wrong order; few, for they take their time to make.
    let few = elements(2, 600);
    let all: Vec<_> = few.iter().cycle().take(BATCH * LANES + 9).copied().collect();
    on_each_unit!(run, &all);
}

#[test]
fn elements_that_cancel_double_or_vanish_are_no_exception() {
    fn run<U: Unit>(u: U, rfc: &Rfc) {
        let zero = [0; 32];
        let one = rfc.multiples[1];
        let minus_one = (-RistrettoPoint::mul_base(&Scalar::ONE)).compress().to_bytes();
        for eights in [
            vec![[zero; LANES]; 3],
            vec![[one; LANES]; 5],
            vec![[one; LANES], [minus_one; LANES], [zero; LANES]],
        ] {
            let all = eights.as_flattened();
            for digits in [[0; DIGITS], [1; DIGITS], [-128; DIGITS], [77; DIGITS]] {
                // The same bucket every time.
                let z = vec![Coefficient(digits); eights.len()];
                assert_eq!(sums(u, &z, all).unwrap(), dalek::sums(&z, all).unwrap());
            }
        }
    }
    on_each_unit!(run, &Rfc::read());
}

#[test]
fn says_which_element_is_none() {
    fn run<U: Unit>(u: U, rfc: &Rfc) {
        let good: Vec<_> =
            elements(3, 64).iter().cycle().take(BATCH * LANES + 30).copied().collect();
        let z = coefficients(3, good.len().div_ceil(LANES));
        for (i, at) in [0, 9, BATCH * LANES - 1, BATCH * LANES, good.len() - 1].iter().enumerate() {
            let mut wrong = good.clone();
            wrong[*at] = rfc.invalid[i * 7];
            assert_eq!(sums(u, &z, &wrong), Err(*at));
            assert_eq!(dalek::sums(&z, &wrong), Err(*at));
        }
        assert!(sums(u, &z, &good).is_ok());
    }
    on_each_unit!(run, &Rfc::read());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_few_elements(seed in any::<u8>(), count in 1usize..70) {
        fn run<U: Unit>(u: U, (seed, count): (u8, usize)) {
            let z = coefficients(seed, count.div_ceil(LANES));
            let all = elements(seed, count);
            assert_eq!(sums(u, &z, &all).unwrap(), dalek::sums(&z, &all).unwrap());
        }
        on_each_unit!(run, (seed, count));
    }
}
