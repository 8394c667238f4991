//! The steps of a transform, whole vectors at a time.
//!
//! The compiler does not find these vectors by itself: 32-bit numbers have no instruction for the upper
//! half of their product.

use pulp::Simd;

use super::modulus::{Factor, Modulus};

/// Factors for one column each: the residues, and their quotients.
pub(super) struct FactorRow {
    values: Vec<u32>,
    quotients: Vec<u32>,
}

impl FactorRow {
    pub(super) fn new(factors: impl Iterator<Item = Factor>) -> Self {
        let (values, quotients) = factors.map(|f| (f.value, f.quotient)).unzip();
        FactorRow { values, quotients }
    }
}

/// A vector unit, and a modulus spread out for it.
#[derive(Clone, Copy)]
pub(super) struct Lanes<S: Simd> {
    simd: S,
    modulus: Modulus,
    prime: S::u32s,
    double: S::u32s,
}

/// The steps of either direction: two numbers and a root become two numbers.
pub(super) trait Step<S: Simd> {
    fn lanes(lanes: Lanes<S>, x: S::u32s, y: S::u32s, w: (S::u32s, S::u32s)) -> (S::u32s, S::u32s);
    fn one(modulus: Modulus, x: u32, y: u32, w: Factor) -> (u32, u32);
}

/// Cooley and Tukey's: adds at most 2p to what was there, and takes any `y`.
pub(super) struct Forward;

/// Gentleman and Sande's: keeps numbers below 2p.
pub(super) struct Inverse;

impl<S: Simd> Step<S> for Forward {
    #[inline(always)]
    fn lanes(lanes: Lanes<S>, x: S::u32s, y: S::u32s, w: (S::u32s, S::u32s)) -> (S::u32s, S::u32s) {
        let simd = lanes.simd;
        let v = lanes.mul_lazy(y, w);
        (simd.add_u32s(x, v), simd.sub_u32s(simd.add_u32s(x, lanes.double), v))
    }

    #[inline(always)]
    fn one(modulus: Modulus, x: u32, y: u32, w: Factor) -> (u32, u32) {
        let v = modulus.mul_lazy(y, w);
        (x + v, x + 2 * modulus.prime() - v)
    }
}

impl<S: Simd> Step<S> for Inverse {
    #[inline(always)]
    fn lanes(lanes: Lanes<S>, x: S::u32s, y: S::u32s, w: (S::u32s, S::u32s)) -> (S::u32s, S::u32s) {
        let simd = lanes.simd;
        let sum = simd.add_u32s(x, y);
        let difference = simd.sub_u32s(simd.add_u32s(x, lanes.double), y);
        (simd.min_u32s(sum, simd.sub_u32s(sum, lanes.double)), lanes.mul_lazy(difference, w))
    }

    #[inline(always)]
    fn one(modulus: Modulus, x: u32, y: u32, w: Factor) -> (u32, u32) {
        let double = 2 * modulus.prime();
        let sum = x + y;
        (sum.min(sum.wrapping_sub(double)), modulus.mul_lazy(x + double - y, w))
    }
}

impl<S: Simd> Lanes<S> {
    #[inline(always)]
    pub(super) fn new(simd: S, modulus: Modulus) -> Self {
        let prime = simd.splat_u32s(modulus.prime());
        Lanes { simd, modulus, prime, double: simd.add_u32s(prime, prime) }
    }

    /// [`Modulus::mul_lazy`].
    #[inline(always)]
    fn mul_lazy(self, x: S::u32s, (value, quotient): (S::u32s, S::u32s)) -> S::u32s {
        let (_, multiple) = self.simd.widening_mul_u32s(x, quotient);
        let product = self.simd.mul_u32s(x, value);
        self.simd.sub_u32s(product, self.simd.mul_u32s(multiple, self.prime))
    }

    /// The steps of one layer in one block: as many pairs as roots.
    #[inline(always)]
    pub(super) fn layer<T: Step<S>>(self, block: &mut [u32], roots: &[Factor]) {
        let pair = block.len() / roots.len();
        for (pair, root) in block.chunks_exact_mut(pair).zip(roots) {
            self.halves::<T>(pair, *root);
        }
    }

    /// Steps of the first half of `pair` with the second, all with one root.
    #[inline(always)]
    fn halves<T: Step<S>>(self, pair: &mut [u32], root: Factor) {
        let (low, high) = pair.split_at_mut(pair.len() / 2);
        let root_lanes = (self.simd.splat_u32s(root.value), self.simd.splat_u32s(root.quotient));
        let (low, low_rest) = S::as_mut_simd_u32s(low);
        let (high, high_rest) = S::as_mut_simd_u32s(high);
        for (x, y) in low.iter_mut().zip(high) {
            (*x, *y) = T::lanes(self, *x, *y, root_lanes);
        }
        for (x, y) in low_rest.iter_mut().zip(high_rest) {
            (*x, *y) = T::one(self.modulus, *x, *y, root);
        }
    }

    /// Steps of the rows in the first half of `pair` with those in the second, a root for each
    /// column. The number of columns is a multiple of every vector's length.
    #[inline(always)]
    pub(super) fn columns<T: Step<S>>(self, pair: &mut [u32], roots: &FactorRow) {
        let (low, high) = pair.split_at_mut(pair.len() / 2);
        let columns = roots.values.len();
        let values = S::as_simd_u32s(&roots.values).0;
        let quotients = S::as_simd_u32s(&roots.quotients).0;
        for (low, high) in low.chunks_exact_mut(columns).zip(high.chunks_exact_mut(columns)) {
            let rows = S::as_mut_simd_u32s(low).0.iter_mut().zip(S::as_mut_simd_u32s(high).0);
            for ((x, y), root) in rows.zip(values.iter().copied().zip(quotients.iter().copied())) {
                (*x, *y) = T::lanes(self, *x, *y, root);
            }
        }
    }

    /// Multiplies everything by `factor` and reduces it.
    #[inline(always)]
    pub(super) fn scale(self, data: &mut [u32], factor: Factor) {
        let lanes = (self.simd.splat_u32s(factor.value), self.simd.splat_u32s(factor.quotient));
        let (whole, rest) = S::as_mut_simd_u32s(data);
        for x in whole {
            let lazy = self.mul_lazy(*x, lanes);
            *x = self.simd.min_u32s(lazy, self.simd.sub_u32s(lazy, self.prime));
        }
        for x in rest {
            *x = self.modulus.once(self.modulus.mul_lazy(*x, factor));
        }
    }

    /// Adds the lazy products of `data` with `factor` to `sums`, which are as long.
    #[inline(always)]
    pub(super) fn add_products(self, sums: &mut [u32], data: &[u32], factor: Factor) {
        let lanes = (self.simd.splat_u32s(factor.value), self.simd.splat_u32s(factor.quotient));
        let (sums, sums_rest) = S::as_mut_simd_u32s(sums);
        let (data, data_rest) = S::as_simd_u32s(data);
        for (sum, x) in sums.iter_mut().zip(data) {
            *sum = self.simd.add_u32s(*sum, self.mul_lazy(*x, lanes));
        }
        for (sum, x) in sums_rest.iter_mut().zip(data_rest) {
            *sum += self.modulus.mul_lazy(*x, factor);
        }
    }
}
