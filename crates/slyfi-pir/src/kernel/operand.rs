//! A vector laid out for products.

use zeroize::Zeroize;

use crate::kernel::matrix::LANE;

/// The low and the high halves of as many words as the kernels take at a time.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Halves {
    pub(super) low: [i16; LANE],
    pub(super) high: [i16; LANE],
}

/// A vector of words, each split into `low + 2¹⁶·high` with both halves signed.
#[derive(Clone)]
pub struct Operand {
    lanes: Vec<Halves>,
    words: usize,
}

impl Operand {
    /// Lays out `words`.
    pub fn new(words: &[u32]) -> Self {
        let mut operand = Self::zero(words.len());
        for (at, lane) in words.chunks(LANE).enumerate() {
            operand.set_lane(at, lane);
        }
        operand
    }

    /// A vector of `words` zeros.
    pub fn zero(words: usize) -> Self {
        let zero = Halves { low: [0; LANE], high: [0; LANE] };
        Operand { lanes: vec![zero; words.div_ceil(LANE)], words }
    }

    /// Sets the words from `32·at` on: 32 of them, or what is left of the vector.
    ///
    /// # Panics
    /// If the vector has no such lane: a fault of the caller's.
    pub fn set_lane(&mut self, at: usize, words: &[u32]) {
        let lane = &mut self.lanes[at];
        for ((low, high), word) in lane.low.iter_mut().zip(&mut lane.high).zip(words) {
            *low = *word as i16;
            // The borrow of a negative low half; modulo 2¹⁶ the high half may wrap.
            *high = (word.wrapping_sub(i32::from(*low) as u32) >> 16) as i16;
        }
    }

    /// The number of words.
    pub fn words(&self) -> usize {
        self.words
    }

    /// The words that it was made of, in their order: what an accelerator takes.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let halves = self.lanes.iter().flat_map(|lane| lane.low.iter().zip(&lane.high));
        // Sign-extended: the borrow of a negative low half is taken back.
        let word = |(low, high): (&i16, &i16)| {
            (i32::from(*low) as u32).wrapping_add((i32::from(*high) as u32) << 16)
        };
        halves.map(word).take(self.words)
    }

    #[inline(always)]
    pub(super) fn lanes(&self) -> &[Halves] {
        &self.lanes
    }
}

impl Zeroize for Operand {
    fn zeroize(&mut self) {
        for lane in &mut self.lanes {
            lane.low.zeroize();
            lane.high.zeroize();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_words_back() {
        let words = [0, 1, 0x7fff, 0x8000, 0xffff, 0x8000_8000, 0x7fff_8000, u32::MAX];
        for count in [0, 1, 31, 32, 33, 100] {
            let words: Vec<u32> = words.into_iter().cycle().take(count).collect();
            assert_eq!(Operand::new(&words).iter().collect::<Vec<_>>(), words);
        }
    }
}
