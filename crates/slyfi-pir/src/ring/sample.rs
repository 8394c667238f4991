//! Uniform polynomials from a public seed.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

use super::rns::{Evaluations, Ring};

/// The polynomial number `number` of those that `seed` and `label` stand for.
///
/// ChaCha20 under the key SHA-256(label ‖ seed ‖ number), words cut to the prime's length and those
/// not below the prime skipped. The values are drawn, not the coefficients: the transform is a
/// bijection, so either are uniform.
pub fn uniform(ring: &Ring, label: &str, seed: &[u8; 32], number: u64) -> Evaluations {
    let key = Sha256::new()
        .chain_update((label.len() as u64).to_le_bytes())
        .chain_update(label)
        .chain_update(seed)
        .chain_update(number.to_le_bytes())
        .finalize();
    let mut words = ChaCha20Rng::from_seed(key.into());
    let mut values = Vec::with_capacity(2 * ring.degree());
    for transform in ring.transforms() {
        let prime = transform.modulus().prime();
        let mask = prime.next_power_of_two() - 1;
        let below = core::iter::repeat_with(|| words.next_u32() & mask).filter(|x| *x < prime);
        values.extend(below.take(ring.degree()));
    }
    ring.evaluations(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_a_function_of_label_seed_and_number() {
        let ring = Ring::new(64, [33_550_337, 33_538_049]);
        let draw =
            |label, seed, number| uniform(&ring, label, &[seed; 32], number).by_prime().concat();
        let one = draw("a", 1, 1);
        assert_eq!(one, draw("a", 1, 1));
        for other in [draw("b", 1, 1), draw("a", 2, 1), draw("a", 1, 2)] {
            assert!(one.iter().zip(&other).filter(|(x, y)| x == y).count() < 3);
        }
    }

    #[test]
    fn fills_the_range_evenly() {
        let ring = Ring::new(2048, [12_289, 40_961]);
        for number in 0..4 {
            let drawn = uniform(&ring, "even", &[7; 32], number);
            for (values, transform) in drawn.by_prime().into_iter().zip(ring.transforms()) {
                let prime = f64::from(transform.modulus().prime());
                let mean = values.iter().map(|v| f64::from(*v) / prime).sum::<f64>() / 2048.0;
                let square =
                    values.iter().map(|v| (f64::from(*v) / prime - 0.5).powi(2)).sum::<f64>()
                        / 2048.0;
                // Six standard deviations of 2,048 uniform numbers: √(1/12)/√2048 and √(1/180)/√2048.
                assert!((mean - 0.5).abs() < 0.038, "mean {mean}");
                assert!((square - 1.0 / 12.0).abs() < 0.0099, "variance {square}");
            }
        }
    }
}
