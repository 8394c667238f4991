//! The negacyclic number-theoretic transform modulo one prime.

use pulp::{Simd, WithSimd};
use zeroize::Zeroizing;

use super::butterfly::{FactorRow, Forward, Inverse, Lanes};
use super::modulus::{Factor, Modulus};

/// The transform of `Z_p[X]/(X^d + 1)`: a polynomial's values at the odd powers of a root ψ of order
/// `2d`. Sums and products of polynomials are those of their values.
///
/// Position `i` of a transformed polynomial is its value at `ψ^(2·rev(i) + 1)`, `rev` reversing the
/// `log d` bits ([`Ntt::exponent`]): the order in which a transform without sorting leaves them.
pub struct Ntt {
    modulus: Modulus,
    log_degree: u32,
    /// ψ^rev(i) at i.
    roots: Vec<Factor>,
    /// ψ^−rev(i) at i.
    inverse_roots: Vec<Factor>,
    /// 1/d.
    inverse_degree: Factor,
    /// The roots of the last layers, in the order in which [`Turned`] needs them.
    turned: Option<Turned>,
}

/// The number of elements whose butterflies with each other are the last layers.
const GROUP: usize = 16;

/// The layers within groups of [`GROUP`] neighbours are shorter than a vector. They are done with the
/// polynomial turned, all first elements of a group side by side, then all second ones: then a
/// butterfly takes whole rows, and its root is another for each column.
struct Turned {
    /// For each such layer and place of a butterfly in its group, the roots of all groups.
    roots: Vec<FactorRow>,
    inverse_roots: Vec<FactorRow>,
}

impl Ntt {
    /// The transform of degree `degree` modulo `modulus`.
    ///
    /// # Panics
    /// If `degree` is not a power of two from 2 to 2^16, or `2 · degree` does not divide `p − 1`.
    pub fn new(modulus: Modulus, degree: usize) -> Self {
        assert!(degree.is_power_of_two() && (2..=1 << 16).contains(&degree), "2 to 2^16, 2^n");
        let log_degree = degree.trailing_zeros();
        let root = modulus.root_of_unity(2 * degree as u32);
        let powers = |base| {
            let mut table = vec![modulus.factor(1); degree];
            let mut power = 1;
            for i in 0..degree as u32 {
                table[reverse(i, log_degree) as usize] = modulus.factor(power);
                power = modulus.mul(power, base);
            }
            table
        };
        let roots = powers(root);
        let inverse_roots = powers(modulus.invert(root));
        let groups = degree / GROUP;
        let turn = |roots: &[Factor]| {
            let layers = log_degree - GROUP.trailing_zeros()..log_degree;
            let rows = layers.flat_map(|layer| {
                let places = (1 << layer) / groups;
                (0..places).map(move |place| {
                    FactorRow::new((0..groups).map(|g| roots[(1 << layer) + g * places + place]))
                })
            });
            rows.collect()
        };
        // Only where there are groups enough to fill vectors.
        let turned = (groups >= GROUP)
            .then(|| Turned { roots: turn(&roots), inverse_roots: turn(&inverse_roots) });
        let inverse_degree = modulus.factor(modulus.invert(degree as u32));
        Ntt { modulus, log_degree, roots, inverse_roots, inverse_degree, turned }
    }

    /// The modulus.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// The degree `d`.
    pub fn degree(&self) -> usize {
        1 << self.log_degree
    }

    /// `2·rev(i) + 1`: position `i` holds the value at this power of ψ.
    pub fn exponent(&self, position: usize) -> u32 {
        2 * reverse(position as u32, self.log_degree) + 1
    }

    /// Where the value at ψ^`exponent` is, `exponent` odd and below `2d`.
    pub fn position(&self, exponent: u32) -> usize {
        reverse(exponent / 2, self.log_degree) as usize
    }

    /// Transforms `width` polynomials at once, coefficient `i` of all of them side by side at
    /// `data[i · width ..]`; in: residues, out: residues.
    ///
    /// # Panics
    /// If `data` is not `degree · width` long.
    pub fn forward(&self, data: &mut [u32], width: usize) {
        assert_eq!(data.len(), self.degree() * width, "a transform takes whole polynomials");
        pulp::Arch::new().dispatch(ForwardRun { ntt: self, data, width });
    }

    /// Undoes [`Ntt::forward`]; in: numbers below twice the prime, out: residues.
    ///
    /// # Panics
    /// As there.
    pub fn inverse(&self, data: &mut [u32], width: usize) {
        assert_eq!(data.len(), self.degree() * width, "a transform takes whole polynomials");
        pulp::Arch::new().dispatch(InverseRun { ntt: self, data, width });
    }

    /// Adds to each row of `sums` the product of a row of `data` and the row's factor, below 2p each;
    /// rows are `width` long in `data` and `stride` in `sums`.
    pub(crate) fn add_products<'d>(
        &self,
        sums: &mut [u32],
        stride: usize,
        data: impl Iterator<Item = &'d [u32]>,
        factors: &[Factor],
    ) {
        struct Products<'a, I> {
            modulus: Modulus,
            sums: &'a mut [u32],
            stride: usize,
            data: I,
            factors: &'a [Factor],
        }

        impl<'d, I: Iterator<Item = &'d [u32]>> WithSimd for Products<'_, I> {
            type Output = ();

            #[inline(always)]
            fn with_simd<S: Simd>(self, simd: S) {
                let lanes = Lanes::new(simd, self.modulus);
                let sums = self.sums.chunks_mut(self.stride);
                for ((sums, row), factor) in sums.zip(self.data).zip(self.factors) {
                    lanes.add_products(&mut sums[..row.len()], row, *factor);
                }
            }
        }

        let modulus = self.modulus;
        pulp::Arch::new().dispatch(Products { modulus, sums, stride, data, factors });
    }

    /// How many layers go over everything, until each block of what is left fits in the first-level
    /// cache through all its layers; and after which layer the polynomial is turned.
    #[inline(always)]
    fn layers(&self, width: usize) -> (u32, u32) {
        let bytes = 4 * self.degree() * width;
        let outer = (0..self.log_degree).find(|layer| bytes >> layer <= 32 * 1024);
        let turned = if width == 1 && self.turned.is_some() { GROUP.trailing_zeros() } else { 0 };
        let inner = self.log_degree - turned;
        (outer.unwrap_or(self.log_degree).min(inner), inner)
    }
}

/// [`Ntt::forward`], for a vector unit.
///
/// Nothing is reduced on the way: each layer adds at most 2p, so after at most 16 layers everything is
/// below 33p < 2^32.
struct ForwardRun<'a> {
    ntt: &'a Ntt,
    data: &'a mut [u32],
    width: usize,
}

impl WithSimd for ForwardRun<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let ForwardRun { ntt, data, width } = self;
        let lanes = Lanes::new(simd, ntt.modulus);
        let (outer, inner) = ntt.layers(width);
        for layer in 0..outer {
            lanes.layer::<Forward>(data, &ntt.roots[1 << layer..2 << layer]);
        }
        for (number, block) in data.chunks_exact_mut(data.len() >> outer).enumerate() {
            for layer in outer..inner {
                let count = 1 << (layer - outer);
                lanes.layer::<Forward>(block, &ntt.roots[(1 << layer) + number * count..][..count]);
            }
        }
        if let Some(turned) = ntt.turned.as_ref().filter(|_| inner < ntt.log_degree) {
            let mut rows = turn(data, data.len() / GROUP);
            let mut roots = &turned.roots[..];
            for places in [1, 2, 4, 8] {
                let (these, after) = roots.split_at(places);
                roots = after;
                for (block, roots) in rows.chunks_exact_mut(data.len() / places).zip(these) {
                    lanes.columns::<Forward>(block, roots);
                }
            }
            data.copy_from_slice(&turn(&rows, GROUP));
        }
        lanes.scale(data, ntt.modulus.factor(1));
    }
}

/// [`Ntt::inverse`], for a vector unit. Everything is kept below 2p.
struct InverseRun<'a> {
    ntt: &'a Ntt,
    data: &'a mut [u32],
    width: usize,
}

impl WithSimd for InverseRun<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let InverseRun { ntt, data, width } = self;
        let lanes = Lanes::new(simd, ntt.modulus);
        let (outer, inner) = ntt.layers(width);
        if let Some(turned) = ntt.turned.as_ref().filter(|_| inner < ntt.log_degree) {
            let mut rows = turn(data, data.len() / GROUP);
            let mut roots = &turned.inverse_roots[..];
            for places in [8, 4, 2, 1] {
                let (before, these) = roots.split_at(roots.len() - places);
                roots = before;
                for (block, roots) in rows.chunks_exact_mut(data.len() / places).zip(these) {
                    lanes.columns::<Inverse>(block, roots);
                }
            }
            data.copy_from_slice(&turn(&rows, GROUP));
        }
        for (number, block) in data.chunks_exact_mut(data.len() >> outer).enumerate() {
            for layer in (outer..inner).rev() {
                let count = 1 << (layer - outer);
                let roots = &ntt.inverse_roots[(1 << layer) + number * count..][..count];
                lanes.layer::<Inverse>(block, roots);
            }
        }
        for layer in (0..outer).rev() {
            lanes.layer::<Inverse>(data, &ntt.inverse_roots[1 << layer..2 << layer]);
        }
        lanes.scale(data, ntt.inverse_degree);
    }
}

/// `matrix`, of rows `data.len() / rows` long, with rows and columns exchanged. Erased when dropped:
/// it may be a secret's.
#[inline(always)]
fn turn(data: &[u32], rows: usize) -> Zeroizing<Vec<u32>> {
    let columns = data.len() / rows;
    let mut turned = Zeroizing::new(vec![0; data.len()]);
    for (c, out) in turned.chunks_exact_mut(rows).enumerate() {
        for (r, out) in out.iter_mut().enumerate() {
            *out = data[r * columns + c];
        }
    }
    turned
}

/// The low `bits` bits of `i`, reversed.
fn reverse(i: u32, bits: u32) -> u32 {
    i.reverse_bits() >> (u32::BITS - bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The product in `Z_p[X]/(X^d + 1)`, by the definition.
    fn schoolbook(modulus: Modulus, a: &[u32], b: &[u32]) -> Vec<u32> {
        let d = a.len();
        let mut product = vec![0; d];
        for (i, x) in a.iter().enumerate() {
            for (j, y) in b.iter().enumerate() {
                let term = modulus.mul(*x, *y);
                let at = &mut product[(i + j) % d];
                *at = if i + j < d { modulus.add(*at, term) } else { modulus.sub(*at, term) };
            }
        }
        product
    }

    fn product(ntt: &Ntt, a: &[u32], b: &[u32]) -> Vec<u32> {
        let (mut a, mut b) = (a.to_vec(), b.to_vec());
        ntt.forward(&mut a, 1);
        ntt.forward(&mut b, 1);
        for (x, y) in a.iter_mut().zip(&b) {
            *x = ntt.modulus().mul(*x, *y);
        }
        ntt.inverse(&mut a, 1);
        a
    }

    #[test]
    fn positions_hold_the_values_at_their_exponents() {
        let modulus = Modulus::new(12_289);
        let ntt = Ntt::new(modulus, 16);
        let root = modulus.root_of_unity(32);
        let a: Vec<u32> = (0..16).map(|i| i * i + 3).collect();
        let mut values = a.clone();
        ntt.forward(&mut values, 1);
        for (i, value) in values.iter().enumerate() {
            let point = modulus.pow(root, ntt.exponent(i));
            let expected =
                a.iter().rev().fold(0, |sum, c| modulus.add(modulus.mul(sum, point), *c));
            assert_eq!(*value, expected);
            assert_eq!(ntt.position(ntt.exponent(i)), i);
        }
    }

    #[test]
    fn survives_the_largest_residues_at_full_degree() {
        for prime in [33_550_337, 67_104_769] {
            let modulus = Modulus::new(prime);
            let ntt = Ntt::new(modulus, 2048);
            let a = vec![prime - 1; 2048];
            assert_eq!(product(&ntt, &a, &a), schoolbook(modulus, &a, &a));
        }
    }

    proptest! {
        #[test]
        fn multiplies_like_schoolbook(log in 1..9u32, seed in prop::collection::vec(0..12_289u32, 512)) {
            let modulus = Modulus::new(12_289);
            let d = 1 << log;
            let ntt = Ntt::new(modulus, d);
            let (a, b) = (&seed[..d], &seed[256..256 + d]);
            prop_assert_eq!(product(&ntt, a, b), schoolbook(modulus, a, b));
        }

        #[test]
        fn inverse_undoes_forward_at_any_width(log in 1..9u32, width in 1..18usize, seed: u32) {
            let modulus = Modulus::new(33_550_337);
            let d = 1usize << log;
            let ntt = Ntt::new(modulus, d);
            let wide: Vec<u32> = (0..(d * width) as u32)
                .map(|i| modulus.reduce(u64::from(i.wrapping_mul(0x9e37_79b9) ^ seed)))
                .collect();
            let mut data = wide.clone();
            ntt.forward(&mut data, width);
            for lane in 0..width {
                let mut alone: Vec<u32> = wide.iter().skip(lane).step_by(width).copied().collect();
                ntt.forward(&mut alone, 1);
                let beside: Vec<u32> = data.iter().skip(lane).step_by(width).copied().collect();
                prop_assert_eq!(alone, beside);
            }
            ntt.inverse(&mut data, width);
            prop_assert_eq!(data, wide);
        }
    }
}
