//! Randomness of a pairing that two sides make together.

use crate::kdf;
use crate::keys::Key256;
use slyfi_base::SecureRandom;
use zeroize::Zeroizing;

/// A source seeded by the session (which both ends made), the client's random part and the access
/// point's: the pairing's keys are good if any of the three is.
///
/// # Layout
/// `seed = HKDF(salt client random ‖ access point random, export, info "slyfi enrol", 32)`; block n
/// of the stream is `HKDF-Expand(seed, "slyfi enrol" ‖ n (8 bytes, big-endian), 32)`.
pub(crate) struct EnrolRandom {
    seed: Zeroizing<[u8; 32]>,
    block: u64,
}

impl EnrolRandom {
    pub(crate) fn new<R: SecureRandom>(export: &Key256, client: &[u8; 32], rng: &mut R) -> Self {
        let mut salt = Zeroizing::new([0; 64]);
        salt[..32].copy_from_slice(client);
        rng.fill(&mut salt[32..]);
        let mut seed = Zeroizing::new([0; 32]);
        kdf::derive(&salt[..], export.as_bytes(), b"slyfi enrol", &mut seed[..]);
        EnrolRandom { seed, block: 0 }
    }
}

impl SecureRandom for EnrolRandom {
    fn fill(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(32) {
            let mut block = Zeroizing::new([0; 32]);
            kdf::expand(&self.seed, b"slyfi enrol", &self.block.to_be_bytes(), &mut block[..]);
            self.block += 1;
            chunk.copy_from_slice(&block[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestRandom;

    fn stream(export: u8, client: u8, seed: u64) -> [u8; 80] {
        let mut r =
            EnrolRandom::new(&Key256::new([export; 32]), &[client; 32], &mut TestRandom::new(seed));
        let mut out = [0; 80];
        r.fill(&mut out);
        out
    }

    #[test]
    fn every_part_changes_the_stream_and_nothing_else_does() {
        let base = stream(1, 2, 3);
        assert_eq!(base, stream(1, 2, 3));
        assert_ne!(base, stream(9, 2, 3));
        assert_ne!(base, stream(1, 9, 3));
        assert_ne!(base, stream(1, 2, 9));
        assert_ne!(base[..32], base[32..64]);
    }
}
