//! The client half.

use std::sync::Arc;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use slyfi_base::SecureRandom;
use zeroize::{Zeroize, Zeroizing};

use crate::error::{IndexOutOfRange, SetupError, WireError};
use crate::lwe::bits::{check_padding, pack, unpack};
use crate::lwe::expand::{LANE, PublicMatrix};
use crate::lwe::gauss;
use crate::lwe::layout::{ANSWER_BITS, Layout, N};
use crate::retrieved::Retrieved;
use crate::scheme::{Client, Query, QueryState, Sizes};
use crate::select::{copy_row, is_within};
use crate::setup::{SchemeId, Setup};
use crate::wire::{self, HEADER};

/// A client of one table: its setup and its hint.
pub struct LweClient {
    setup: Setup,
    layout: Layout,
    sizes: Sizes,
    public: PublicMatrix,
    hint: Arc<[u8]>,
}

impl LweClient {
    pub(super) fn new(setup: &Setup, hint: Option<&[u8]>) -> Result<Self, SetupError> {
        if setup.scheme != SchemeId::Lwe {
            return Err(SetupError::Scheme(setup.scheme.code()));
        }
        let layout = Layout::new(setup.shape, setup.layout)?;
        let sizes = layout.sizes();
        setup.check_hint(hint)?;
        let hint = hint.ok_or(SetupError::HintMissing)?;
        if hint.len() != sizes.hint {
            let (expected, got) = (sizes.hint as u64, hint.len() as u64);
            return Err(SetupError::HintLength { expected, got });
        }
        let public = PublicMatrix::new(setup.seed);
        Ok(LweClient { setup: *setup, layout, sizes, public, hint: hint.into() })
    }

    /// `A·s` for all columns.
    fn samples(&self, secret: &[u32]) -> Vec<u32> {
        let mut samples = vec![0u32; self.layout.columns.next_multiple_of(LANE)];
        // A part of a lane's rows at a time, so that they stay in the first-level cache.
        let mut entries = [[0u32; LANE]; 64];
        for (lane, samples) in samples.as_chunks_mut::<LANE>().0.iter_mut().enumerate() {
            for (part, secret) in secret.chunks(entries.len()).enumerate() {
                self.public.fill(lane, part * entries.len(), &mut entries);
                pulp::Arch::new().dispatch(|| accumulate(samples, &entries, secret));
            }
        }
        samples.truncate(self.layout.columns);
        samples
    }

    /// `H·s` for all rows.
    fn pad(&self, secret: &[u32]) -> Zeroizing<Vec<u32>> {
        let mut words = [0u32; N];
        let rows = self.hint.chunks_exact(self.layout.hint_row_bytes());
        let mut pad = Zeroizing::new(vec![0u32; self.layout.width]);
        for (pad, row) in pad.iter_mut().zip(rows) {
            unpack(row, self.layout.hint_bits(), &mut words);
            let sum = pulp::Arch::new().dispatch(|| dot(&words, secret));
            *pad = sum << self.layout.hint_drop;
        }
        pad
    }
}

#[inline(always)]
fn accumulate(samples: &mut [u32; LANE], entries: &[[u32; LANE]], secret: &[u32]) {
    let mut sums = *samples;
    for (row, s) in entries.iter().zip(secret) {
        for (sum, entry) in sums.iter_mut().zip(row) {
            *sum = sum.wrapping_add(entry.wrapping_mul(*s));
        }
    }
    *samples = sums;
}

#[inline(always)]
fn dot(a: &[u32; N], b: &[u32]) -> u32 {
    a.iter().zip(b).fold(0u32, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(*b)))
}

impl Client for LweClient {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn query(&self, index: u64, rng: &mut dyn SecureRandom) -> Result<Query, IndexOutOfRange> {
        let rows = self.layout.shape().rows();
        if index >= rows {
            return Err(IndexOutOfRange { rows });
        }
        let (bytes, state) = self.encrypt(index, rng);
        Ok(Query { bytes, state: Box::new(state) })
    }
}

impl LweClient {
    /// A query for a row that the table has.
    fn encrypt(&self, index: u64, rng: &mut dyn SecureRandom) -> (Vec<u8>, LweState) {
        let mut seed = Zeroizing::new([0u8; 32]);
        rng.fill(&mut seed[..]);
        let mut rng = ChaCha20Rng::from_seed(*seed);
        let mut secret = Zeroizing::new(vec![0u32; N]);
        gauss::fill(&mut rng, &mut secret);
        let mut errors = Zeroizing::new(vec![0u32; self.layout.columns]);
        gauss::fill(&mut rng, &mut errors);
        let mut dither = Zeroizing::new(vec![0u8; self.layout.columns.div_ceil(8)]);
        rng.fill_bytes(&mut dither);

        let mut samples = Zeroizing::new(self.samples(&secret));
        let per_column = self.layout.per_column as u64;
        let mut first = 0;
        let drop = self.layout.query_drop;
        for (c, (sample, error)) in samples.iter_mut().zip(errors.iter()).enumerate() {
            let start = c as u64 * per_column;
            let wanted = is_within(index, start, per_column);
            first |= start & wanted.wrapping_neg();
            let unit = (wanted as u32) << 24;
            // Half of the last bit that stays, so that dropping the others rounds; a tie goes either
            // way with equal probability, so that rounding has no bias.
            let tie = u32::from(dither[c / 8] >> (c % 8) & 1);
            let half = ((1u32 << drop) >> 1).wrapping_sub(tie & u32::from(drop > 0));
            let word = sample.wrapping_add(*error).wrapping_add(unit).wrapping_add(half);
            *sample = word >> drop;
        }
        let mut bytes = wire::frame(SchemeId::Lwe, self.sizes.query - HEADER);
        pack(samples.iter().copied(), self.layout.query_bits(), &mut bytes[HEADER..]);
        let pad = self.pad(&secret);
        (bytes, LweState { layout: self.layout, index, first, pad })
    }
}

/// What opens one answer.
struct LweState {
    layout: Layout,
    index: u64,
    /// The first row of the wanted column.
    first: u64,
    /// `H·s`.
    pad: Zeroizing<Vec<u32>>,
}

impl LweState {
    /// The wanted column times 2²⁴, with noise.
    fn noisy(&self, answer: &[u8]) -> Result<Zeroizing<Vec<u32>>, WireError> {
        let layout = &self.layout;
        let body = wire::body(SchemeId::Lwe, answer, layout.sizes().answer)?;
        check_padding(body, layout.width, ANSWER_BITS)?;
        let mut words = Zeroizing::new(vec![0u32; layout.width]);
        unpack(body, ANSWER_BITS, &mut words);
        for (word, pad) in words.iter_mut().zip(self.pad.iter()) {
            *word = (*word << (32 - ANSWER_BITS)).wrapping_sub(*pad);
        }
        Ok(words)
    }
}

impl QueryState for LweState {
    fn extract(self: Box<Self>, answer: &[u8]) -> Result<Retrieved, WireError> {
        let layout = &self.layout;
        let noisy = self.noisy(answer)?;
        let byte = |word: &u32| (word.wrapping_add(1 << 23) >> 24) as u8;
        let mut block: Vec<u8> = noisy.iter().map(byte).collect();
        let row_bytes = layout.shape().row_bytes();
        let mut row = vec![0u8; row_bytes];
        copy_row(self.index, self.first, &block, &mut row);
        // The last column of a table may have fewer rows than the others. Only the length that is
        // handed on depends on it.
        let rows = (layout.shape().rows() - self.first).min(layout.per_column as u64);
        block.truncate(rows as usize * row_bytes);
        Ok(Retrieved::new(self.index, self.first, row, block))
    }
}

impl Drop for LweState {
    fn drop(&mut self) {
        self.index.zeroize();
        self.first.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lwe::Lwe;
    use crate::prepare::Preparation;
    use crate::scheme::{Scheme, Server};
    use crate::shape::Shape;

    struct Counting(u64);

    impl SecureRandom for Counting {
        fn fill(&mut self, out: &mut [u8]) {
            self.0 += 1;
            out.fill(0);
            out[..8].copy_from_slice(&self.0.to_le_bytes());
        }
    }

    #[test]
    fn the_noise_is_as_wide_as_the_formula_says() {
        // Records of ±128 only, where the noise is the widest: its variance is that of the three
        // roundings and the Gaussian, each at its largest.
        let shape = Shape::new(40_000, 8).expect("a shape");
        let table: Vec<u8> = (0..shape.table_bytes()).map(|_| 0x80).collect();
        let server = Lwe::prepare(shape, 20, &table, &Preparation::quiet([5; 32])).expect("one");
        let client = Lwe::client(server.setup(), server.hint()).expect("its own setup");
        let layout = client.layout;
        let mut rng = Counting(0);
        let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
        for _ in 0..40 {
            let (query, state) = client.encrypt(777, &mut rng);
            let answer = server.answer(&query).expect("an honest query");
            let noisy = state.noisy(&answer).expect("an honest answer");
            for word in noisy.iter() {
                let noise = f64::from(word.wrapping_sub(0x80 << 24) as i32);
                sum += noise;
                squares += noise * noise;
                count += 1.0;
            }
        }
        let columns = layout.columns as f64;
        let gaussian = 128f64.powi(2) * 6.4f64.powi(2) * columns;
        let query = 128f64.powi(2) * (4f64.powi(layout.query_drop as i32) + 2.0) / 12.0 * columns;
        let hint = 4f64.powi(layout.hint_drop as i32) / 12.0 * 6.4f64.powi(2) * N as f64;
        let answer = 4f64.powi(16) / 12.0;
        let expected = (gaussian + query + hint + answer).sqrt();
        let deviation = (squares / count).sqrt();
        // A query's noise is nearly the same in every row here: 40 independent samples of most of
        // it, a standard error of 11 %.
        assert!((deviation / expected - 1.0).abs() < 0.45, "{deviation} instead of {expected}");
        assert!((sum / count).abs() < 0.8 * expected, "biased by {}", sum / count);
        // And far from the 2²³ where bytes would come out wrong.
        assert!(8.0 * expected < 2f64.powi(23), "{expected}");
    }
}
