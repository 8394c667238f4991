//! A vector laid out for products.

use zeroize::Zeroize;

/// The words that [`Operand::set_lane`] sets at a time.
const LANE: usize = 32;

/// Two neighbouring words, as the kernels take them: their low halves, the first one's below, and
/// their high halves.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Halves {
    pub(super) low: i32,
    pub(super) high: i32,
}

impl Halves {
    fn new(words: [u32; 2]) -> Self {
        let low = words.map(|word| word as u16);
        // The borrow of a negative low half; modulo 2¹⁶ the high half may wrap.
        let high = words.map(|word| (word.wrapping_add(0x8000) >> 16) as u16);
        let both = |[first, second]: [u16; 2]| i32::from(first) | i32::from(second) << 16;
        Halves { low: both(low), high: both(high) }
    }

    /// Both halves of both words, signed: `[[low, high], [low, high]]`.
    #[inline(always)]
    pub(super) fn signed(self) -> [[i16; 2]; 2] {
        [[self.low as i16, self.high as i16], [(self.low >> 16) as i16, (self.high >> 16) as i16]]
    }

    /// The words.
    fn words(self) -> [u32; 2] {
        // Sign-extended: the borrow of a negative low half is taken back.
        let word = |[low, high]: [i16; 2]| {
            (i32::from(low) as u32).wrapping_add((i32::from(high) as u32) << 16)
        };
        self.signed().map(word)
    }
}

/// A vector of words, each split into `low + 2¹⁶·high` with both halves signed.
#[derive(Clone)]
pub struct Operand {
    pairs: Vec<Halves>,
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
        Operand { pairs: vec![Halves::default(); words.div_ceil(2)], words }
    }

    /// Sets the words from `32·at` on: 32 of them, or what is left of the vector.
    ///
    /// # Panics
    /// If the vector has no such lane: a fault of the caller's.
    pub fn set_lane(&mut self, at: usize, words: &[u32]) {
        let pairs = &mut self.pairs[at * LANE / 2..][..words.len().div_ceil(2)];
        for (pair, words) in pairs.iter_mut().zip(words.chunks(2)) {
            *pair = Halves::new([words[0], words.get(1).copied().unwrap_or(0)]);
        }
    }

    /// The number of words.
    pub fn words(&self) -> usize {
        self.words
    }

    /// The words that it was made of, in their order: what an accelerator takes.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.pairs.iter().flat_map(|pair| pair.words()).take(self.words)
    }

    /// A pair for each pair of columns.
    #[inline(always)]
    pub(super) fn pairs(&self) -> &[Halves] {
        &self.pairs
    }
}

impl Zeroize for Operand {
    fn zeroize(&mut self) {
        for pair in &mut self.pairs {
            pair.low.zeroize();
            pair.high.zeroize();
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
