//! The public matrix A, expanded from a seed.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// How many columns of the table one stream covers: what the kernels take at a time.
pub(super) const LANE: usize = 32;

/// The matrix A, a row of `n` words for each column of the table.
///
/// The rows of 32 neighbouring columns come from one ChaCha8 stream, whose number is that of the
/// first divided by 32: word `32·i + c` of it is entry `i` of row `c`. So a client turns 32 rows at a
/// time into samples, and a server reads any range of entries of all rows.
pub(super) struct PublicMatrix {
    seed: [u8; 32],
}

impl PublicMatrix {
    /// The matrix of `seed`.
    pub(super) fn new(seed: [u8; 32]) -> Self {
        PublicMatrix { seed }
    }

    /// Writes entries `first..` of the rows of lane `lane`: `out[i][c]`.
    pub(super) fn fill(&self, lane: usize, first: usize, out: &mut [[u32; LANE]]) {
        let mut stream = ChaCha8Rng::from_seed(self.seed);
        stream.set_stream(lane as u64);
        stream.set_word_pos((first * LANE) as u128);
        let mut bytes = [0u8; 4 * LANE * 16];
        for part in out.chunks_mut(16) {
            let bytes = &mut bytes[..4 * LANE * part.len()];
            stream.fill_bytes(bytes);
            for (word, four) in part.as_flattened_mut().iter_mut().zip(bytes.as_chunks::<4>().0) {
                *word = u32::from_le_bytes(*four);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_range_is_the_same_as_the_whole() {
        let matrix = PublicMatrix::new([9; 32]);
        let mut whole = vec![[0; LANE]; 100];
        matrix.fill(5, 0, &mut whole);
        for (first, count) in [(0, 1), (1, 17), (33, 40), (99, 1)] {
            let mut part = vec![[0; LANE]; count];
            matrix.fill(5, first, &mut part);
            assert_eq!(part, whole[first..first + count]);
        }
        let mut other = vec![[0; LANE]; 100];
        matrix.fill(6, 0, &mut other);
        assert_ne!(other, whole);
    }
}
