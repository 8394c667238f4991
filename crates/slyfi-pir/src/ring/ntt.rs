//! The negacyclic number-theoretic transform modulo one prime.

use super::modulus::{Factor, Modulus};
use super::vector::vectorised;

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
        Ntt {
            modulus,
            log_degree,
            roots: powers(root),
            inverse_roots: powers(modulus.invert(root)),
            inverse_degree: modulus.factor(modulus.invert(degree as u32)),
        }
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
    /// With a width of 16 every step is whole vectors; with a width of 1 the last four are not.
    ///
    /// # Panics
    /// If `data` is not `degree · width` long.
    pub fn forward(&self, data: &mut [u32], width: usize) {
        vectorised(
            #[inline(always)]
            || self.forward_inline(data, width),
        );
    }

    /// [`Ntt::forward`] for callers that run inside a dispatch already.
    #[inline(always)]
    pub(crate) fn forward_inline(&self, data: &mut [u32], width: usize) {
        assert_eq!(data.len(), self.degree() * width, "a transform takes whole polynomials");
        let modulus = self.modulus;
        // Cooley and Tukey's butterflies. Nothing is reduced on the way: each layer adds at most 2p,
        // so after at most 16 layers everything is below 33p < 2^32.
        let double = 2 * modulus.prime();
        let butterflies = |block: &mut [u32], roots: &[Factor]| {
            let pair = block.len() / roots.len();
            for (pair, root) in block.chunks_exact_mut(pair).zip(roots) {
                let (low, high) = pair.split_at_mut(pair.len() / 2);
                for (x, y) in low.iter_mut().zip(high) {
                    let (u, v) = (*x, modulus.mul_lazy(*y, *root));
                    *x = u + v;
                    *y = u + double - v;
                }
            }
        };
        let outer = self.outer_layers(width);
        for layer in 0..outer {
            butterflies(data, &self.roots[1 << layer..2 << layer]);
        }
        for (number, block) in data.chunks_exact_mut(data.len() >> outer).enumerate() {
            for layer in outer..self.log_degree {
                let count = 1 << (layer - outer);
                butterflies(block, &self.roots[(1 << layer) + number * count..][..count]);
            }
        }
        let one = modulus.factor(1);
        for x in data {
            *x = modulus.once(modulus.mul_lazy(*x, one));
        }
    }

    /// How many layers go over everything before each block of what is left fits, through all its
    /// layers, in the first-level cache.
    #[inline(always)]
    fn outer_layers(&self, width: usize) -> u32 {
        let bytes = 4 * self.degree() * width;
        (0..self.log_degree).find(|layer| bytes >> layer <= 32 * 1024).unwrap_or(self.log_degree)
    }

    /// Undoes [`Ntt::forward`]; in: numbers below twice the prime, out: residues.
    ///
    /// # Panics
    /// As there.
    pub fn inverse(&self, data: &mut [u32], width: usize) {
        vectorised(
            #[inline(always)]
            || self.inverse_inline(data, width),
        );
    }

    /// [`Ntt::inverse`] for callers that run inside a dispatch already.
    #[inline(always)]
    pub(crate) fn inverse_inline(&self, data: &mut [u32], width: usize) {
        assert_eq!(data.len(), self.degree() * width, "a transform takes whole polynomials");
        let modulus = self.modulus;
        // Gentleman and Sande's butterflies, everything kept below 2p.
        let double = 2 * modulus.prime();
        let butterflies = |block: &mut [u32], roots: &[Factor]| {
            let pair = block.len() / roots.len();
            for (pair, root) in block.chunks_exact_mut(pair).zip(roots) {
                let (low, high) = pair.split_at_mut(pair.len() / 2);
                for (x, y) in low.iter_mut().zip(high) {
                    let (u, v) = (*x, *y);
                    let sum = u + v;
                    *x = sum.min(sum.wrapping_sub(double));
                    *y = modulus.mul_lazy(u + double - v, *root);
                }
            }
        };
        let outer = self.outer_layers(width);
        for (number, block) in data.chunks_exact_mut(data.len() >> outer).enumerate() {
            for layer in (outer..self.log_degree).rev() {
                let count = 1 << (layer - outer);
                butterflies(block, &self.inverse_roots[(1 << layer) + number * count..][..count]);
            }
        }
        for layer in (0..outer).rev() {
            butterflies(data, &self.inverse_roots[1 << layer..2 << layer]);
        }
        for x in data {
            *x = modulus.once(modulus.mul_lazy(*x, self.inverse_degree));
        }
    }
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
