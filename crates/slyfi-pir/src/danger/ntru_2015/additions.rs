//! How many additions a modulus bears: the experiment of Table 3.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use slyfi_base::SecureRandom;

use crate::danger::ntru_2015::key::KeyPair;
use crate::danger::ntru_2015::polynomial::{N, Polynomial};

/// What was observed for a modulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Additions {
    /// log₂ of the modulus.
    pub log2_q: u32,
    /// How often it was tried, a fresh key each time.
    pub repetitions: u64,
    /// The least number of additions of E(0) to E(1) that decrypted, before one that did not; `None`
    /// if none failed within the limit.
    pub least: Option<u64>,
    /// The most additions that were tried in a repetition.
    pub limit: u64,
}

/// Adds E(0) to E(1) and decrypts, again and again until the result is not 1 any more; the least
/// number of additions over all repetitions, at most `limit` in each.
///
/// tracedge-2015 §6 (Table 3) took 10⁸ repetitions for each q of 2¹¹ … 2²¹. An addition takes some
/// 5 µs; that of the last q is 10⁷ additions for a repetition.
pub fn least_additions(
    log2_q: u32,
    repetitions: u64,
    limit: u64,
    rng: &mut dyn SecureRandom,
) -> Additions {
    let mut seed = [0; 32];
    rng.fill(&mut seed);
    let mut rng = ChaCha20Rng::from_seed(seed);
    let mut least: Option<u64> = None;
    for _ in 0..repetitions {
        // No need to go on where another repetition has failed already.
        let limit = least.unwrap_or(limit);
        if let Some(additions) = until_failure(log2_q, limit, &mut rng) {
            least = Some(additions);
        }
    }
    Additions { log2_q, repetitions, least, limit }
}

/// The additions before the first failure, if that is one of the first `limit`.
fn until_failure(log2_q: u32, limit: u64, rng: &mut ChaCha20Rng) -> Option<u64> {
    let key = KeyPair::generate(rng, log2_q);
    let zero = Polynomial::constant(0);
    let mut expected = [0; N];
    expected[0] = 1;
    // Decryption multiplies with f, which is linear: the product of the sum is the sum of products.
    let mut product = key.times_f(&key.encrypt(rng, &Polynomial::constant(1)));
    (0..limit).find(|_| {
        product.add(&key.times_f(&key.encrypt(rng, &zero)));
        key.open(&product) != expected
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counting(u8);

    impl SecureRandom for Counting {
        fn fill(&mut self, out: &mut [u8]) {
            for byte in out {
                self.0 = self.0.wrapping_add(1);
                *byte = self.0;
            }
        }
    }

    #[test]
    fn twice_the_modulus_bears_four_times_the_additions() {
        let of = |log2_q| least_additions(log2_q, 20, 1_000_000, &mut Counting(log2_q as u8)).least;
        let [small, middle, large] = [11, 12, 14].map(of).map(|n| n.expect("below the limit"));
        // Table 3 has 2, 47 and 951 as the least of 10⁸; the noise grows with the root of the
        // additions, so that of a few repetitions is a few times more, in the same proportion.
        assert!((2..200).contains(&small), "{small}");
        assert!((47..800).contains(&middle), "{middle}");
        assert!((951..9000).contains(&large), "{large}");
        assert!((6..40).contains(&(large / middle)), "{large} / {middle}");
    }

    #[test]
    fn a_limit_ends_it() {
        let none = least_additions(21, 1, 20, &mut Counting(0));
        assert_eq!((none.least, none.limit), (None, 20));
    }
}
