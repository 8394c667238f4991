//! The only randomness of a simulation: one seed, split by purpose.

use slyfi_base::SecureRandom;

/// A seeded generator (xoshiro256++ by Blackman and Vigna, state filled by SplitMix64).
///
/// Splitting by purpose keeps the streams apart: one more draw for the loss of a frame does not move
/// anyone's backoff.
///
/// # Security
/// Predictable by design. It implements [`SecureRandom`] so that machines can run in a simulation;
/// nothing that leaves the simulation may be keyed from it.
#[derive(Clone, Debug)]
pub struct SimRng([u64; 4]);

impl SimRng {
    /// Makes the generator of a whole run.
    pub fn new(seed: u64) -> Self {
        let mut s = seed;
        SimRng([splitmix(&mut s), splitmix(&mut s), splitmix(&mut s), splitmix(&mut s)])
    }

    /// Returns an independent generator for `purpose` and `index`; `self` does not move.
    pub fn split(&self, purpose: &str, index: u64) -> Self {
        // FNV-1a over the label, then SplitMix over everything: enough to part streams.
        let mut h = 0xcbf2_9ce4_8422_2325_u64;
        for b in purpose.bytes() {
            h = (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mut s = h ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut out = [0; 4];
        for (o, mine) in out.iter_mut().zip(self.0) {
            *o = splitmix(&mut s) ^ mine;
            s ^= mine;
        }
        SimRng(out)
    }

    /// Returns the next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Returns a uniform value in `0..bound` (zero if `bound` is zero).
    pub fn below(&mut self, bound: u64) -> u64 {
        // Lemire's multiply-shift; its bias (bound / 2^64) is far below what a run can see.
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns `true` with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        // The scaling by a power of two is exact, so every platform draws the same.
        p > 0.0 && (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64) < p
    }

    /// Fills `out`.
    pub fn fill_bytes(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            let v = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&v[..chunk.len()]);
        }
    }
}

impl SecureRandom for SimRng {
    fn fill(&mut self, out: &mut [u8]) {
        self.fill_bytes(out);
    }
}

fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_same_stream_and_other_seed_another() {
        let draw = |seed| {
            let mut r = SimRng::new(seed);
            [r.next_u64(), r.next_u64(), r.next_u64()]
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn splits_by_purpose_and_by_index_are_apart() {
        let root = SimRng::new(1);
        let first = |purpose, i| root.split(purpose, i).next_u64();
        assert_eq!(first("loss", 0), first("loss", 0));
        assert_ne!(first("loss", 0), first("loss", 1));
        assert_ne!(first("loss", 0), first("backoff", 0));
    }

    #[test]
    fn chances_and_bounds_are_kept() {
        let mut r = SimRng::new(3);
        let hits = (0..100_000).filter(|_| r.chance(0.3)).count();
        assert!((29_300..30_700).contains(&hits), "{hits}");
        assert!(!(0..1000).any(|_| r.chance(0.0)));
        assert!((0..1000).all(|_| r.chance(1.0)));
        assert!((0..1000).all(|_| r.below(16) < 16));
        assert_eq!(r.below(0), 0);
    }
}
