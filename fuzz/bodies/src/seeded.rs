//! Randomness that a scenario replays.

use slyfi_base::SecureRandom;

/// SplitMix64 behind the contract of a secure source: a scenario replays exactly.
#[derive(Clone, Debug)]
pub(crate) struct Seeded(pub(crate) u64);

impl SecureRandom for Seeded {
    fn fill(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^= z >> 31;
            chunk.copy_from_slice(&z.to_le_bytes()[..chunk.len()]);
        }
    }
}
