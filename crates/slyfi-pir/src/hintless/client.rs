//! The client half.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use slyfi_base::SecureRandom;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::{Zeroize, Zeroizing};

use super::packing::make_key;
use super::parameters::{
    ANSWER_A_BITS, ANSWER_B_BITS, BLOCK_BYTES, DEGREE, KEY_BYTES, Layout, PLAIN_BITS, RESIDUE_BITS,
    RING,
};
use super::public;
use super::rounding::Rounding;
use crate::error::{IndexOutOfRange, WireError};
use crate::lwe::bits::{pack, unpack};
use crate::lwe::gauss;
use crate::retrieved::Retrieved;
use crate::ring::Evaluations;
use crate::scheme::{Client, Query, QueryState};
use crate::select::copy_row;
use crate::setup::{SchemeId, Setup};
use crate::wire;

/// What a subscriber has of a table: its setup and the public polynomials.
pub struct HintlessClient {
    setup: Setup,
    layout: Layout,
    polynomials: Vec<Evaluations>,
    rotation: Evaluations,
    conjugation: Evaluations,
}

impl HintlessClient {
    pub(super) fn new(setup: Setup, layout: Layout) -> Self {
        HintlessClient {
            polynomials: public::query_polynomials(&setup.seed, layout.polynomials()),
            rotation: public::rotation(&setup.seed),
            conjugation: public::conjugation(&setup.seed),
            setup,
            layout,
        }
    }
}

impl Client for HintlessClient {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn query(&self, index: u64, rng: &mut dyn SecureRandom) -> Result<Query, IndexOutOfRange> {
        let (bytes, state) = self.ask(index, rng)?;
        Ok(Query { bytes, state: Box::new(state) })
    }
}

impl HintlessClient {
    /// A query for row `index`, and what opens its answer.
    fn ask(
        &self,
        index: u64,
        rng: &mut dyn SecureRandom,
    ) -> Result<(Vec<u8>, State), IndexOutOfRange> {
        let rows = self.setup.shape.rows();
        if index >= rows {
            return Err(IndexOutOfRange { rows });
        }
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill(&mut *seed);
        let mut random = ChaCha20Rng::from_seed(*seed);
        let mut secret = Zeroizing::new(vec![0; DEGREE]);
        let mut error = Zeroizing::new(vec![0; DEGREE]);
        sample(&mut random, &mut secret);

        let mut bytes = wire::frame(SchemeId::Hintless, self.layout.sizes().query - wire::HEADER);
        let (rotation, rest) = bytes[wire::HEADER..].split_at_mut(KEY_BYTES);
        let (conjugation, words_out) = rest.split_at_mut(KEY_BYTES);
        for (public, g, out) in
            [(&self.rotation, 5, rotation), (&self.conjugation, 2 * DEGREE - 1, conjugation)]
        {
            sample(&mut random, &mut error);
            let key = make_key(&RING, public, &secret, &error, g);
            let values = key.by_prime().concat();
            pack(values, RESIDUE_BITS, out);
        }

        let secret = RING.from_small(&secret);
        // The index divided by the rows of a column, without a division, whose time depends on it.
        let column = (1..=self.layout.columns as u64)
            .map(|j| 1 ^ index.wrapping_sub(j * self.layout.rows_per_column) >> 63)
            .sum::<u64>();
        let rounding = Rounding::new(RING.modulus(), self.layout.query_bits);
        let q = RING.modulus();
        let one = (q + (1 << (PLAIN_BITS - 1))) >> PLAIN_BITS;
        let mut words = Vec::with_capacity(self.polynomials.len() * DEGREE);
        let mut integers = Zeroizing::new(vec![0; DEGREE]);
        for (number, public) in self.polynomials.iter().enumerate() {
            sample(&mut random, &mut error);
            let mut product = RING.multiply(public, &secret);
            RING.write_integers(&mut product, &mut integers);
            for (j, (x, e)) in integers.iter().zip(error.iter()).enumerate() {
                let here = ((number * DEGREE + j) as u64).ct_eq(&column);
                let message = u64::conditional_select(&0, &one, here);
                // Below 2q + 2^6 in all, and positive: the error is added with q.
                let sum = (x + message + q).wrapping_add_signed(i64::from(*e));
                let sum = sum.min(sum.wrapping_sub(q));
                words.push(rounding.round(sum.min(sum.wrapping_sub(q))));
            }
        }
        words.truncate(self.layout.columns);
        pack(words, self.layout.query_bits, words_out);
        let state = State {
            secret,
            index,
            column,
            layout: self.layout,
            rows,
            row_bytes: self.setup.shape.row_bytes(),
        };
        Ok((bytes, state))
    }
}

/// What opens the answer.
struct State {
    secret: Evaluations,
    index: u64,
    column: u64,
    layout: Layout,
    rows: u64,
    row_bytes: usize,
}

impl Drop for State {
    fn drop(&mut self) {
        self.index.zeroize();
        self.column.zeroize();
    }
}

impl QueryState for State {
    fn extract(self: Box<Self>, answer: &[u8]) -> Result<Retrieved, WireError> {
        let body = wire::body(SchemeId::Hintless, answer, self.layout.sizes().answer)?;
        let mut column = Zeroizing::new(Vec::with_capacity(self.layout.blocks * DEGREE));
        let mut noise = 0;
        for block in body.chunks_exact(BLOCK_BYTES) {
            noise += self.open(block, &mut column);
        }
        let mean = noise / (self.layout.blocks * DEGREE) as u64;
        if mean > GARBLED {
            return Err(WireError::Garbled);
        }
        let first = self.column * self.layout.rows_per_column;
        let mut row = vec![0; self.row_bytes];
        copy_row(self.index, first, &column[..self.layout.column_bytes], &mut row);
        // The last column may end early.
        let present = self.layout.rows_per_column.min(self.rows - first) as usize;
        let block = column[..present * self.row_bytes].to_vec();
        Ok(Retrieved::new(self.index, first, row, block))
    }
}

/// The mean square of a garbled answer's noise, in units of 2^-20: honest noise has at most
/// (2^20 · 2^-9/9)² = 52,000, noise of any other origin 2^24/12 = 1,400,000.
const GARBLED: u64 = 300_000;

impl State {
    /// Opens a block; returns the sum of the squares of its noise, in units of 2^-20.
    fn open(&self, block: &[u8], column: &mut Vec<u8>) -> u64 {
        let (first, second) = block.split_at(DEGREE * ANSWER_A_BITS as usize / 8);
        let (mut a, mut b) = (vec![0; DEGREE], vec![0; DEGREE]);
        unpack(first, ANSWER_A_BITS, &mut a);
        unpack(second, ANSWER_B_BITS, &mut b);
        let half = 1i32 << (ANSWER_A_BITS - 1);
        let centred: Vec<i32> = a.iter().map(|a| (*a as i32 ^ half) - half).collect();
        // Below 2^19 · 2^11 · 2^6 = 2^36 in absolute value, so modulo q it is the integer itself.
        let product = RING.multiply(&RING.from_small(&centred), &self.secret);
        let product = Zeroizing::new(RING.into_integers(product));
        let q = RING.modulus();
        let mut noise = 0;
        for (b, a) in b.into_iter().zip(product.iter()) {
            // Above q/2 it stands for a − q. All ones where it is, without a branch.
            let negative = ((q / 2).wrapping_sub(*a) as i64 >> 63) as u32;
            let a = (*a as u32).wrapping_sub(q as u32 & negative);
            let value = (b << (ANSWER_A_BITS - ANSWER_B_BITS)).wrapping_sub(a);
            let spacing = ANSWER_A_BITS - PLAIN_BITS;
            let value = value.wrapping_add(1 << (spacing - 1));
            column.push((value >> spacing) as u8);
            let off = i64::from(value & ((1 << spacing) - 1)) - (1 << (spacing - 1));
            noise += (off * off) as u64;
        }
        noise
    }
}

/// Fills `out` with the discrete Gaussian.
fn sample(random: &mut ChaCha20Rng, out: &mut [i32]) {
    let mut words = Zeroizing::new(vec![0; out.len()]);
    gauss::fill(random, &mut words);
    for (out, word) in out.iter_mut().zip(words.iter()) {
        *out = *word as i32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hintless::{Hintless, HintlessServer};
    use crate::prepare::Preparation;
    use crate::scheme::{Scheme, Server};
    use crate::shape::Shape;

    struct Seeded(ChaCha20Rng);

    impl SecureRandom for Seeded {
        fn fill(&mut self, out: &mut [u8]) {
            use chacha20::rand_core::Rng;
            self.0.fill_bytes(out);
        }
    }

    /// The mean square of the noise of `count` answers, over what [`Layout::noise_variance`] says.
    fn noise(server: &HintlessServer, client: &HintlessClient, square: f64, count: u64) -> f64 {
        let mut rng = Seeded(ChaCha20Rng::from_seed([5; 32]));
        let mut sum = 0;
        for index in 0..count {
            let (query, state) = client.ask(index, &mut rng).expect("a row");
            let answer = server.answer(&query).expect("an answer");
            let body = wire::body(SchemeId::Hintless, &answer, answer.len()).expect("a body");
            let mut column = Vec::new();
            sum += body.chunks_exact(BLOCK_BYTES).map(|b| state.open(b, &mut column)).sum::<u64>();
        }
        let bytes = count * (client.layout.blocks * DEGREE) as u64;
        let measured = sum as f64 / bytes as f64 / 4f64.powi(ANSWER_A_BITS as i32);
        measured / client.layout.noise_variance(square)
    }

    #[test]
    fn noise_is_what_the_analysis_says() {
        // As many columns as a query of 23 bits serves, so that its rounding weighs as in a large
        // table; and the bytes that make the most noise.
        let shape = Shape::new(529, 2048).expect("a shape");
        for (byte, square) in [(0x80, 128.0f64.powi(2)), (0x01, 1.0)] {
            let table = vec![byte; shape.table_bytes()];
            let server = Hintless::prepare(shape, 1, &table, &Preparation::quiet([4; 32]))
                .expect("a server");
            let client = Hintless::client(server.setup(), None).expect("a client");
            assert_eq!((client.layout.columns, client.layout.query_bits), (529, 23));
            let ratio = noise(&server, &client, square, 8);
            assert!((0.8..1.25).contains(&ratio), "{ratio} times the variance for {byte}");
        }
    }
}
