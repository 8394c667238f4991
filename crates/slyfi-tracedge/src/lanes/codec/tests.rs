use curve25519_dalek::RistrettoPoint;
use curve25519_dalek::ristretto::CompressedRistretto;

use super::*;
use crate::lanes::tests::{Rfc, elements, on_each_unit};

/// Decodes and encodes again.
fn round<U: Unit>(u: U, encodings: &[[u8; 32]]) -> (Mask, [[u8; 32]; LANES]) {
    u.run(
        #[inline(always)]
        || {
            let (valid, point) = decode(u, encodings);
            (valid, encode(u, &point))
        },
    )
}

#[test]
fn elements_come_back_as_they_went() {
    fn run<U: Unit>(u: U, elements: &[[u8; 32]]) {
        for eight in elements.as_chunks::<LANES>().0 {
            assert_eq!(round(u, eight), (Mask::MAX, *eight));
        }
    }
    on_each_unit!(run, &elements(1, 2_000));
}

#[test]
fn the_rfcs_elements_come_back_as_they_went() {
    fn run<U: Unit>(u: U, rfc: &Rfc) {
        assert_eq!((rfc.multiples.len(), rfc.derived.len()), (16, 8));
        let all = [&rfc.multiples[..], &rfc.derived].concat();
        for eight in all.as_chunks::<LANES>().0 {
            assert_eq!(round(u, eight), (Mask::MAX, *eight));
        }
    }
    on_each_unit!(run, &Rfc::read());
}

#[test]
fn rejects_the_rfcs_invalid_encodings_in_exactly_the_lane_where_they_stand() {
    fn run<U: Unit>(u: U, rfc: &Rfc) {
        assert_eq!(rfc.invalid.len(), 29);
        let good: [_; LANES] = elements(2, LANES).try_into().unwrap();
        for (i, invalid) in rfc.invalid.iter().enumerate() {
            assert!(CompressedRistretto(*invalid).decompress().is_none());
            for lane in [i % LANES, (i + 3) % LANES] {
                let mut eight = good;
                eight[lane] = *invalid;
                let (valid, back) = round(u, &eight);
                assert_eq!(valid, !(1 << lane), "{i} in lane {lane}");
                for other in (0..LANES).filter(|other| *other != lane) {
                    assert_eq!(back[other], good[other]);
                }
            }
        }
        // All lanes at once.
        for eight in rfc.invalid.as_chunks::<LANES>().0 {
            assert_eq!(round(u, eight).0, 0);
        }
    }
    on_each_unit!(run, &Rfc::read());
}

#[test]
fn takes_exactly_what_dalek_takes() {
    fn run<U: Unit>(u: U, all: &[[u8; 32]]) {
        let (mut taken, mut refused) = (0, 0);
        for eight in all.as_chunks::<LANES>().0 {
            let (valid, back) = round(u, eight);
            for (i, bytes) in eight.iter().enumerate() {
                let is = valid >> i & 1 == 1;
                assert_eq!(is, CompressedRistretto(*bytes).decompress().is_some(), "{bytes:02x?}");
                if is {
                    assert_eq!(&back[i], bytes);
                    taken += 1;
                } else {
                    refused += 1;
                }
            }
        }
        // Both are many, or the test would say nothing.
        assert!(taken > 100 && refused > 1_000, "{taken} taken, {refused} refused");
    }
    // Random strings, of which one in sixteen is an encoding; small numbers and numbers around p.
    let mut all: Vec<[u8; 32]> =
        (0..4_000u32).map(|i| crate::merkle::sha256(&[&i.to_le_bytes()])).collect();
    for i in 0..=255 {
        let mut small = [0; 32];
        small[0] = i;
        all.push(small);
        let mut high = [0xff; 32];
        (high[0], high[31]) = (i, 0x7f);
        all.push(high);
        high[31] = 0xff;
        all.push(high);
        // s = √−1 and its neighbours, at which 1 + s² is zero.
        let mut root = [0; 32];
        for (bytes, word) in root.as_chunks_mut::<8>().0.iter_mut().zip(SQRT_M1_WORDS) {
            *bytes = word.to_le_bytes();
        }
        root[0] = root[0].wrapping_add(i);
        all.push(root);
    }
    on_each_unit!(run, &all);
}

/// SQRT_M1 in RFC 9496's hexadecimal, as words.
const SQRT_M1_WORDS: [u64; 4] =
    [0xc4ee_1b27_4a0e_a0b0, 0x2f43_1806_ad2f_e478, 0x2b4d_0099_3dfb_d7a7, 0x2b83_2480_4fc1_df0b];

#[test]
fn a_begun_eight_is_filled_up_with_zero() {
    fn run<U: Unit>(u: U) {
        let elements = elements(3, 3);
        let (valid, back) = round(u, &elements);
        assert_eq!(valid, 0b111);
        assert_eq!(back[..3], elements);
        assert_eq!(back[3..], [[0; 32]; 5]);
    }
    on_each_unit!(run);
}

#[test]
fn all_points_of_a_coset_are_encoded_alike() {
    // An element is a set of four points of the curve; decoding gives one of them, and adding a point
    // of order 4 the others: (x, y) becomes (−x, −y) and (±i·y, ±i·x).
    fn run<U: Unit>(u: U) {
        let eight: [_; LANES] = elements(4, LANES).try_into().unwrap();
        let (_, point) = decode(u, &eight);
        let i = Fe::constant(u, SQRT_M1);
        let Extended { x, y, z, t } = point;
        let negative = Extended { x: x.negated(0xff), y: y.negated(0xff), z, t };
        assert_eq!(encode(u, &negative), eight);
        let turned = Extended { x: y * i, y: x * i, z, t: t.negated(0xff) };
        assert_eq!(encode(u, &turned), eight);
        // Scaled coordinates, as sums have them.
        let by = Fe::small(u, 12_345);
        let scaled = Extended { x: x * by, y: y * by, z: z * by, t: t * by };
        assert_eq!(encode(u, &scaled), eight);
        // But −P is another element.
        let other = Extended { x: x.negated(0xff), y, z, t: t.negated(0xff) };
        let minus = eight.map(|bytes| {
            let point = CompressedRistretto(bytes).decompress().unwrap();
            (-point).compress().to_bytes()
        });
        assert_eq!(encode(u, &other), minus);
        assert!(minus.iter().zip(&eight).all(|(a, b)| a != b));
    }
    on_each_unit!(run);
}

#[test]
fn the_points_of_order_four_are_zero() {
    fn run<U: Unit>(u: U) {
        let [zero, one] = [0, 1].map(|n| Fe::small(u, n));
        let i = Fe::constant(u, SQRT_M1);
        for (x, y) in [(zero, one), (zero, one.negated(0xff)), (i, zero), (i.negated(0xff), zero)] {
            assert_eq!(encode(u, &Extended { x, y, z: one, t: zero }), [[0; 32]; LANES]);
        }
        let generator = RistrettoPoint::mul_base(&1u8.into()).compress().to_bytes();
        assert_ne!(round(u, &[generator]).1[0], [0; 32]);
    }
    on_each_unit!(run);
}
