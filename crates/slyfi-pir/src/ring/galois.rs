//! The automorphisms `τ_g: f(X) → f(X^g)`, `g` odd.

use super::ntt::Ntt;

/// The points of a transform in the order in which automorphisms turn them.
///
/// The odd numbers modulo `2d` are `±5^i`, `i < d/2`. With the values at `ψ^(5^i)` in one half of a
/// vector and those at `ψ^(−5^i)` in the other, `τ_(5^j)` rotates both halves by `j`, and `τ_(−1)`
/// exchanges them: `τ_g f` at ψ^u is `f` at ψ^(ug).
pub struct GaloisOrder {
    positions: Vec<usize>,
}

impl GaloisOrder {
    /// The order of the points of `transform`; it is the same for every prime of this degree.
    pub fn new(transform: &Ntt) -> Self {
        let order = 2 * transform.degree() as u32;
        let half = transform.degree() / 2;
        let powers: Vec<u32> =
            core::iter::successors(Some(1), |g| Some(g * 5 % order)).take(half).collect();
        let negative = powers.iter().map(|g| order - g);
        let positions = powers.iter().copied().chain(negative).map(|g| transform.position(g));
        GaloisOrder { positions: positions.collect() }
    }

    /// Half the degree: the length of either half.
    pub fn half(&self) -> usize {
        self.positions.len() / 2
    }

    /// Where each point is in the transform's order: first those of 5^i, then those of −5^i.
    pub fn positions(&self) -> &[usize] {
        &self.positions
    }

    /// `values`, in the transform's order, into this one.
    ///
    /// # Panics
    /// If either is not as long as the degree.
    pub fn sort(&self, values: &[u32], into: &mut [u32]) {
        assert_eq!(values.len(), into.len());
        assert_eq!(into.len(), self.positions.len());
        for (into, position) in into.iter_mut().zip(&self.positions) {
            *into = values[*position];
        }
    }

    /// `values`, in this order, into the transform's.
    ///
    /// # Panics
    /// If either is not as long as the degree.
    pub fn unsort(&self, values: &[u32], into: &mut [u32]) {
        assert_eq!(values.len(), into.len());
        assert_eq!(values.len(), self.positions.len());
        for (value, position) in values.iter().zip(&self.positions) {
            into[*position] = *value;
        }
    }
}

/// `τ_g f` on coefficients, by the definition. `g` is odd and below `2d`.
pub fn automorphism(f: &[i32], g: usize) -> Vec<i32> {
    let d = f.len();
    let mut image = vec![0; d];
    for (i, c) in f.iter().enumerate() {
        let power = i * g % (2 * d);
        // X^d = −1.
        image[power % d] = if power < d { *c } else { -c };
    }
    image
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::Modulus;

    fn sorted(transform: &Ntt, order: &GaloisOrder, f: &[i32]) -> Vec<u32> {
        let modulus = transform.modulus();
        let mut values: Vec<u32> = f.iter().map(|c| modulus.reduce_signed(i64::from(*c))).collect();
        transform.forward(&mut values, 1);
        let mut out = vec![0; f.len()];
        order.sort(&values, &mut out);
        let mut back = vec![0; f.len()];
        order.unsort(&out, &mut back);
        assert_eq!(back, values);
        out
    }

    #[test]
    fn automorphisms_rotate_the_halves_and_exchange_them() {
        let transform = Ntt::new(Modulus::new(12_289), 32);
        let order = GaloisOrder::new(&transform);
        let half = order.half();
        let f: Vec<i32> = (0..32).map(|i| 7 * i * i - 300).collect();
        let values = sorted(&transform, &order, &f);
        let mut power = 1;
        for j in 0..half {
            for (g, exchanged) in [(power, false), (64 - power, true)] {
                let image = sorted(&transform, &order, &automorphism(&f, g));
                for (i, value) in image.iter().enumerate() {
                    let from = (i + j) % half + if (i < half) == exchanged { half } else { 0 };
                    assert_eq!(*value, values[from], "g = {g}, point {i}");
                }
            }
            power = power * 5 % 64;
        }
    }
}
