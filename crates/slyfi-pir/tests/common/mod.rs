//! What the tests of all schemes share.

use slyfi_base::SecureRandom;

/// A seeded generator, so that a failing test fails again.
pub struct Seeded(pub u64);

impl SecureRandom for Seeded {
    fn fill(&mut self, out: &mut [u8]) {
        for byte in out {
            // SplitMix64: every seed gives another sequence, which is all a test needs.
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            *byte = (z >> 56) as u8;
        }
    }
}

/// A table of random bytes.
pub fn table(bytes: usize, seed: u64) -> Vec<u8> {
    let mut table = vec![0; bytes];
    Seeded(seed).fill(&mut table);
    table
}
