//! Randomness that can be made again.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use slyfi_base::SecureRandom;

/// ChaCha20 from a seed: what a query is made from, so that index and seed together prove what it
/// asked for (docs/tracedge.md §6).
pub struct SeededRandom(ChaCha20Rng);

impl SeededRandom {
    /// Starts from `seed`.
    pub fn new(seed: [u8; 32]) -> Self {
        SeededRandom(ChaCha20Rng::from_seed(seed))
    }
}

impl SecureRandom for SeededRandom {
    fn fill(&mut self, out: &mut [u8]) {
        self.0.fill_bytes(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_equal_bytes() {
        let draw = |seed: u8| {
            let mut out = [0; 40];
            SeededRandom::new([seed; 32]).fill(&mut out);
            out
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
