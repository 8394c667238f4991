//! Packing: from one ciphertext for each byte to one for `d` bytes.
//!
//! For byte `r` of a block the server has a polynomial `A_r`, which depends on the table and public
//! polynomials only, and from the query a number `b_r` with `b_r = ct(A_r·s) + Δm_r + e_r`; `ct` is
//! the constant coefficient, `s` the client's secret. The constant coefficient is `1/d` of the sum
//! over all `d` automorphisms, `ct(f) = 1/d · Σ_g τ_g(f)`, and so
//!
//! ```text
//!   B = Σ_r b_r X^r = Σ_g Â_g · τ_g(s) + Δ·M + E      with   Â_g = 1/d · Σ_r X^r · τ_g(A_r)
//! ```
//!
//! is a ciphertext of the whole block `M`, under `d` secrets `τ_g(s)`. Key switches merge them. The
//! numbers `g` are `±5^j`. The key `y = w·s + e + B·τ_5(s)`, turned by `τ_g`, leads from `τ_(5g)(s)` to
//! `τ_g(s)`: write `Â_(5g) = digit·B + rest`, then
//!
//! ```text
//!   Â_(5g)·τ_(5g)(s) = digit·τ_g(y) − digit·τ_g(w)·τ_g(s)  − digit·τ_g(e) + rest·τ_(5g)(s)
//! ```
//!
//! so `digit·τ_g(w)` is taken from `Â_g`, `digit·τ_g(y)` from `B`, and the last two terms are noise.
//! From `5^(d/2−1)` down to `1` this leaves `s`; from `−5^(d/2−1)` down to `−1` it leaves `τ_(−1)(s)`,
//! which a second key leads to `s`. Both keys come fresh with every query.
//!
//! `w` is public, and all `Â` and digits depend on `w` and the table alone: [`Packing::chain`] finds
//! the `d − 1` digits of each block ahead of time. What is left for a query is
//! `B − Σ_g digit_g · τ_g(y)`, in the transformed domain and in [`GaloisOrder`] a sum of products of
//! the digits with rotations of one vector: [`accumulate`].
//!
//! All `Â_g` together are one two-dimensional transform. At the point ψ^u, `Â_g` is
//! `1/d · Σ_r ψ^(ur) · A_r(ψ^(ug))`: the transform over `r` of the values of all `A_r` at one point
//! `ψ^(ug)`, read at the point `ψ^u`. [`Columns`] are these transforms.

use pulp::bytemuck::{cast_slice, cast_slice_mut};
use zeroize::Zeroizing;

use super::parameters::BASE_BITS;
use crate::error::PrepareError;
use crate::kernel::Pages;
use crate::ring::galois::automorphism;
use crate::ring::rns::PRIMES;
use crate::ring::vector::vectorised;
use crate::ring::{Evaluations, GaloisOrder, Ring};

/// How many points are summed side by side.
const TILE: usize = 32;

/// The transforms, over the bytes of a block, of the values of all `A_r` at each point: one column
/// for each prime and point, in the transform's order, several columns in a chunk.
pub struct Columns<'a> {
    /// The ring.
    pub ring: &'a Ring,
    /// The columns, [`Columns::CHUNK`] in each.
    pub chunks: &'a [Vec<u32>],
}

impl Columns<'_> {
    /// How many columns are in a chunk.
    pub const CHUNK: usize = 32;

    /// `Â_g` for `g = ±5^turn`, its points in Galois order.
    fn diagonal(&self, order: &GaloisOrder, turn: usize, negative: bool) -> Vec<u32> {
        let (degree, half) = (self.ring.degree(), order.half());
        let mut out = Vec::with_capacity(PRIMES * degree);
        for prime in 0..PRIMES {
            for side in 0..2 {
                let other = if negative { 1 - side } else { side };
                for i in 0..half {
                    let column = order.positions()[other * half + (i + turn) % half];
                    let point = order.positions()[side * half + i];
                    let column = prime * degree + column;
                    let chunk = &self.chunks[column / Self::CHUNK];
                    out.push(chunk[column % Self::CHUNK * degree + point]);
                }
            }
        }
        out
    }
}

/// The values of a key in Galois order, both halves twice over, so that each rotation is a run.
pub struct Turning {
    values: Vec<u32>,
    half: usize,
}

impl Turning {
    /// Of a key's values.
    pub fn new(order: &GaloisOrder, key: &Evaluations) -> Self {
        let half = order.half();
        let mut values = Vec::with_capacity(4 * PRIMES * half);
        for sorted in sorted(order, key).chunks_exact(half) {
            values.extend_from_slice(sorted);
            values.extend_from_slice(sorted);
        }
        Turning { values, half }
    }

    /// The values from point `start` of a half on.
    #[inline(always)]
    fn from(&self, prime: usize, side: usize, start: usize) -> &[u32] {
        let base = (2 * prime + side) * 2 * self.half;
        &self.values[base + start..base + 2 * self.half]
    }
}

/// The values of a polynomial in Galois order, one prime after the other.
fn sorted(order: &GaloisOrder, polynomial: &Evaluations) -> Vec<u32> {
    let mut out = vec![0; PRIMES * 2 * order.half()];
    for (values, out) in
        polynomial.by_prime().into_iter().zip(out.chunks_exact_mut(2 * order.half()))
    {
        order.sort(values, out);
    }
    out
}

/// The public halves `w` of both keys.
pub struct Packing<'a> {
    ring: &'a Ring,
    order: &'a GaloisOrder,
    rotation: Turning,
    conjugation: Vec<u32>,
}

/// What half of the automorphisms leaves behind: the digits, and what multiplies `τ_(±1)(s)`.
pub struct Chain {
    /// Words; by prime, half, tile, turn, point in the tile.
    digits: Pages,
    rest: Vec<u32>,
}

/// What a block's packing needs at each query.
pub struct Block {
    chains: [Pages; 2],
    conjugation: Vec<u32>,
}

impl<'a> Packing<'a> {
    /// With the public halves of the key for `τ_5` and the key for `τ_(−1)`.
    pub fn new(
        ring: &'a Ring,
        order: &'a GaloisOrder,
        rotation: &Evaluations,
        conjugation: &Evaluations,
    ) -> Self {
        let conjugation = sorted(order, conjugation);
        Packing { ring, order, rotation: Turning::new(order, rotation), conjugation }
    }

    /// Merges `τ_(±5^j)(s)`, all j, into `τ_(±1)(s)`.
    ///
    /// # Errors
    /// [`PrepareError::Memory`] if there is not enough for the digits.
    pub fn chain(&self, columns: &Columns<'_>, negative: bool) -> Result<Chain, PrepareError> {
        let (half, degree) = (self.order.half(), self.ring.degree());
        let steps = half - 1;
        let mut pages = Pages::zeroed(4 * PRIMES * degree * steps)?;
        let digits: &mut [u32] = cast_slice_mut(pages.bytes_mut());
        let mut scratch = Scratch::new(self.ring);
        let mut rest = columns.diagonal(self.order, half - 1, negative);
        for turn in (0..steps).rev() {
            let digit = self.digit(&rest, &mut scratch);
            for (run, tile) in digit.chunks_exact(TILE).zip(digits.chunks_exact_mut(TILE * steps)) {
                tile[turn * TILE..][..TILE].copy_from_slice(run);
            }
            rest = columns.diagonal(self.order, turn, negative);
            let parts = rest.chunks_exact_mut(half).zip(digit.chunks_exact(half)).enumerate();
            for (part, (rest, digit)) in parts {
                let (prime, side) = (part / 2, part % 2);
                let modulus = self.ring.transforms()[prime].modulus();
                let other = if negative { 1 - side } else { side };
                let key = self.rotation.from(prime, other, turn);
                for ((rest, digit), w) in rest.iter_mut().zip(digit).zip(key) {
                    *rest = modulus.sub(*rest, modulus.mul(*digit, *w));
                }
            }
        }
        Ok(Chain { digits: pages, rest })
    }

    /// Puts the two halves together: the block's tables, and the first part of its ciphertext,
    /// which is the same for every query.
    pub fn finish(&self, positive: Chain, negative: Chain) -> (Block, Vec<u64>) {
        let mut scratch = Scratch::new(self.ring);
        let conjugation = self.digit(&negative.rest, &mut scratch);
        let mut rest = positive.rest;
        let degree = self.ring.degree();
        for (at, rest) in rest.iter_mut().enumerate() {
            let modulus = self.ring.transforms()[at / degree].modulus();
            let product = modulus.mul(conjugation[at], self.conjugation[at]);
            *rest = modulus.sub(*rest, product);
        }
        let a = self.ring.into_integers(self.unsorted(&rest));
        (Block { chains: [positive.digits, negative.digits], conjugation }, a)
    }

    /// The digit of a polynomial: its coefficients divided by the base, to the nearest.
    fn digit(&self, values: &[u32], scratch: &mut Scratch) -> Vec<u32> {
        let q = self.ring.modulus() as i64;
        let mut polynomial = self.unsorted(values);
        self.ring.write_integers(&mut polynomial, &mut scratch.integers);
        for (small, x) in scratch.small.iter_mut().zip(&scratch.integers) {
            let x = *x as i64;
            let centred = if x > q / 2 { x - q } else { x };
            *small = ((centred + (1 << (BASE_BITS - 1))) >> BASE_BITS) as i32;
        }
        self.ring.write_small(&scratch.small, &mut polynomial);
        sorted(self.order, &polynomial)
    }

    fn unsorted(&self, values: &[u32]) -> Evaluations {
        unsorted(self.ring, self.order, values)
    }
}

fn unsorted(ring: &Ring, order: &GaloisOrder, values: &[u32]) -> Evaluations {
    let mut out = vec![0; values.len()];
    let parts = values.chunks_exact(ring.degree()).zip(out.chunks_exact_mut(ring.degree()));
    for (values, out) in parts {
        order.unsort(values, out);
    }
    ring.evaluations(out)
}

struct Scratch {
    integers: Vec<u64>,
    small: Vec<i32>,
}

impl Scratch {
    fn new(ring: &Ring) -> Self {
        Scratch { integers: vec![0; ring.degree()], small: vec![0; ring.degree()] }
    }
}

/// The secret halves of both keys, as the server uses them.
pub struct Keys {
    rotation: Turning,
    conjugation: Vec<u32>,
}

impl Keys {
    /// Of the two keys `y` that came with a query.
    pub fn new(order: &GaloisOrder, rotation: &Evaluations, conjugation: &Evaluations) -> Self {
        Keys { rotation: Turning::new(order, rotation), conjugation: sorted(order, conjugation) }
    }
}

/// The key `y = w·s + e + B·τ_g(s)` for the public half `w`.
pub fn make_key(
    ring: &Ring,
    public: &Evaluations,
    secret: &[i32],
    error: &[i32],
    g: usize,
) -> Evaluations {
    let mut key = ring.from_small(&Zeroizing::new(automorphism(secret, g)));
    ring.scale(&mut key, 1 << BASE_BITS);
    ring.add(&mut key, &ring.from_small(error));
    ring.multiply_add(&mut key, public, &ring.from_small(secret));
    key
}

/// `Σ_g digit_g · τ_g(y)` for each of the keys: the coefficients of what `B` loses.
pub fn accumulate(ring: &Ring, order: &GaloisOrder, block: &Block, keys: &[Keys]) -> Vec<Vec<u64>> {
    let mut totals = Vec::with_capacity(keys.len());
    // As many together as the registers hold sums of.
    for together in keys.chunks(4) {
        match together {
            [a] => totals.extend(products(ring, order, block, [a])),
            [a, b] => totals.extend(products(ring, order, block, [a, b])),
            [a, b, c] => totals.extend(products(ring, order, block, [a, b, c])),
            [a, b, c, d] => totals.extend(products(ring, order, block, [a, b, c, d])),
            _ => unreachable!("a chunk of four has one to four"),
        }
    }
    totals.into_iter().map(|total| ring.into_integers(unsorted(ring, order, &total))).collect()
}

/// What [`accumulate`] sums, as values in Galois order, for keys that share a pass over the digits.
fn products<const Q: usize>(
    ring: &Ring,
    order: &GaloisOrder,
    block: &Block,
    keys: [&Keys; Q],
) -> [Vec<u32>; Q] {
    let (half, degree) = (order.half(), ring.degree());
    let steps = half - 1;
    let mut totals = [(); Q].map(|()| vec![0u32; PRIMES * degree]);
    for at in (0..PRIMES * degree).step_by(TILE) {
        let (prime, side, start) = (at / degree, at % degree / half, at % half);
        let run = at * steps..(at + TILE) * steps;
        // 2·(d/2 − 1) + 1 products below 2^50 each stay below 2^62.
        let mut sums = keys.map(|keys| {
            let mut sums = [0u64; TILE];
            let products = block.conjugation[at..].iter().zip(&keys.conjugation[at..]);
            for (sum, (digit, key)) in sums.iter_mut().zip(products) {
                *sum = u64::from(*digit) * u64::from(*key);
            }
            sums
        });
        for (digits, side) in block.chains.iter().zip([side, 1 - side]) {
            let keys = keys.map(|keys| keys.rotation.from(prime, side, start));
            let digits: &[u32] = cast_slice(digits.bytes());
            let digits = digits[run.clone()].as_chunks::<TILE>().0;
            vectorised(
                #[inline(always)]
                || sum_tile(digits, keys, &mut sums),
            );
        }
        let modulus = ring.transforms()[prime].modulus();
        for (total, sums) in totals.iter_mut().zip(&sums) {
            for (total, sum) in total[at..].iter_mut().zip(sums) {
                *total = modulus.reduce(*sum);
            }
        }
    }
    totals
}

/// Adds the products of one tile's digits with the keys, which turn by one point from digit to digit.
#[inline(always)]
fn sum_tile<const Q: usize>(
    digits: &[[u32; TILE]],
    keys: [&[u32]; Q],
    sums: &mut [[u64; TILE]; Q],
) {
    let mut local = *sums;
    for (turn, digit) in digits.iter().enumerate() {
        for (sums, keys) in local.iter_mut().zip(&keys) {
            let key = &keys[turn..turn + TILE];
            for ((sum, digit), key) in sums.iter_mut().zip(digit).zip(key) {
                *sum += u64::from(*digit) * u64::from(*key);
            }
        }
    }
    *sums = local;
}

impl Block {
    /// The memory it takes, bytes.
    pub fn memory_bytes(&self) -> usize {
        let chains: usize = self.chains.iter().map(|chain| chain.bytes().len()).sum();
        chains + 4 * self.conjugation.len()
    }
}

#[cfg(test)]
mod tests;
