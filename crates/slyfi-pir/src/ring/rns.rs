//! The ring: residues modulo two primes side by side, and the way back to integers.

use zeroize::Zeroizing;

use super::modulus::Factor;
use super::modulus::Modulus;
use super::ntt::Ntt;
use super::vector::vectorised;

/// How many primes `q` is the product of.
pub const PRIMES: usize = 2;

/// `Z_q[X]/(X^d + 1)`, `q` the product of two primes.
pub struct Ring {
    transforms: [Ntt; PRIMES],
    /// 1/p₀ modulo p₁, for Garner's way back.
    inverse: Factor,
}

/// A polynomial as its values modulo each prime: `d` residues modulo the first, then `d` modulo the
/// second, in the order of [`Ntt`]. Erased when dropped: it may be a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Evaluations(Zeroizing<Vec<u32>>);

impl Ring {
    /// The ring of degree `degree` modulo the product of `primes`.
    ///
    /// # Panics
    /// If the primes are equal, the first is twice the second or more, or [`Modulus::new`] or [`Ntt::new`] refuse.
    pub fn new(degree: usize, primes: [u32; PRIMES]) -> Self {
        assert_ne!(primes[0], primes[1], "two different primes");
        assert!(primes[0] < 2 * primes[1], "primes of about a length");
        let transforms = primes.map(|prime| Ntt::new(Modulus::new(prime), degree));
        let second = transforms[1].modulus();
        let inverse = second.invert(second.reduce(u64::from(primes[0])));
        Ring { inverse: second.factor(inverse), transforms }
    }

    /// The degree `d`.
    pub fn degree(&self) -> usize {
        self.transforms[0].degree()
    }

    /// The modulus `q`.
    pub fn modulus(&self) -> u64 {
        self.transforms.iter().map(|t| u64::from(t.modulus().prime())).product()
    }

    /// The transforms, one for each prime.
    pub fn transforms(&self) -> &[Ntt; PRIMES] {
        &self.transforms
    }

    /// The polynomial without coefficients.
    pub fn zero(&self) -> Evaluations {
        Evaluations(Zeroizing::new(vec![0; PRIMES * self.degree()]))
    }

    /// A polynomial given by its values.
    ///
    /// # Panics
    /// If there are not [`PRIMES`] times `d` of them, or they are not reduced.
    pub fn evaluations(&self, values: Vec<u32>) -> Evaluations {
        assert_eq!(values.len(), PRIMES * self.degree(), "one value for each point and prime");
        let values = Evaluations(Zeroizing::new(values));
        for (values, transform) in values.by_prime().into_iter().zip(&self.transforms) {
            assert!(values.iter().all(|v| *v < transform.modulus().prime()), "values are residues");
        }
        values
    }

    /// A polynomial with small coefficients.
    ///
    /// # Panics
    /// If there are not `d` of them; in debug builds, if one's absolute value is not below both primes.
    pub fn from_small(&self, coefficients: &[i32]) -> Evaluations {
        let mut values = self.zero();
        self.write_small(coefficients, &mut values);
        values
    }

    /// [`Ring::from_small`] into a polynomial that is there already.
    ///
    /// # Panics
    /// As there.
    pub fn write_small(&self, coefficients: &[i32], into: &mut Evaluations) {
        assert_eq!(coefficients.len(), self.degree(), "one coefficient for each power");
        for (values, transform) in into.by_prime_mut().into_iter().zip(&self.transforms) {
            let prime = transform.modulus().prime();
            debug_assert!(coefficients.iter().all(|c| c.unsigned_abs() < prime));
            vectorised(
                #[inline(always)]
                || {
                    for (value, c) in values.iter_mut().zip(coefficients) {
                        // The sign bit, spread out, adds the prime to negative numbers.
                        *value = (*c as u32).wrapping_add((*c >> 31) as u32 & prime);
                    }
                },
            );
            transform.forward(values, 1);
        }
    }

    /// A polynomial with coefficients below `q`.
    ///
    /// # Panics
    /// If there are not `d` of them.
    pub fn from_integers(&self, coefficients: &[u64]) -> Evaluations {
        assert_eq!(coefficients.len(), self.degree(), "one coefficient for each power");
        let mut values = self.zero();
        for (values, transform) in values.by_prime_mut().into_iter().zip(&self.transforms) {
            for (value, c) in values.iter_mut().zip(coefficients) {
                *value = transform.modulus().reduce(*c);
            }
            transform.forward(values, 1);
        }
        values
    }

    /// The coefficients, each below `q`.
    pub fn into_integers(&self, mut values: Evaluations) -> Vec<u64> {
        let mut out = vec![0; self.degree()];
        self.write_integers(&mut values, &mut out);
        out
    }

    /// [`Ring::into_integers`] into a buffer, leaving something else behind in `values`.
    ///
    /// # Panics
    /// If the buffer is not `d` long.
    pub fn write_integers(&self, values: &mut Evaluations, out: &mut [u64]) {
        assert_eq!(out.len(), self.degree(), "one coefficient for each power");
        let [first, second] = values.by_prime_mut();
        let [p0, p1] = [&self.transforms[0], &self.transforms[1]].map(Ntt::modulus);
        self.transforms[0].inverse(first, 1);
        self.transforms[1].inverse(second, 1);
        vectorised(
            #[inline(always)]
            || {
                for ((out, a), b) in out.iter_mut().zip(first.iter()).zip(second.iter()) {
                    // Garner: a + p₀·((b − a)/p₀ mod p₁). p₁'s multiple keeps the difference positive.
                    let difference = *b + 2 * p1.prime() - *a;
                    let factor = p1.once(p1.mul_lazy(difference, self.inverse));
                    *out = u64::from(*a) + u64::from(p0.prime()) * u64::from(factor);
                }
            },
        );
    }

    /// `sum += a · b`.
    pub fn multiply_add(&self, sum: &mut Evaluations, a: &Evaluations, b: &Evaluations) {
        let (parts, a, b) = (sum.by_prime_mut().into_iter(), a.by_prime(), b.by_prime());
        for (((sum, a), b), transform) in parts.zip(a).zip(b).zip(&self.transforms) {
            let modulus = transform.modulus();
            vectorised(
                #[inline(always)]
                || {
                    for ((sum, a), b) in sum.iter_mut().zip(a).zip(b) {
                        *sum = modulus.reduce(u64::from(*a) * u64::from(*b) + u64::from(*sum));
                    }
                },
            );
        }
    }

    /// `a · b`.
    pub fn multiply(&self, a: &Evaluations, b: &Evaluations) -> Evaluations {
        let mut product = self.zero();
        self.multiply_add(&mut product, a, b);
        product
    }

    /// `sum += a`.
    pub fn add(&self, sum: &mut Evaluations, a: &Evaluations) {
        let parts = sum.by_prime_mut().into_iter().zip(a.by_prime());
        for ((sum, a), transform) in parts.zip(&self.transforms) {
            for (sum, a) in sum.iter_mut().zip(a) {
                *sum = transform.modulus().add(*sum, *a);
            }
        }
    }

    /// `a` times a number below both primes.
    pub fn scale(&self, a: &mut Evaluations, by: u32) {
        for (values, transform) in a.by_prime_mut().into_iter().zip(&self.transforms) {
            let modulus = transform.modulus();
            let factor = modulus.factor(modulus.reduce(u64::from(by)));
            for value in values {
                *value = modulus.once(modulus.mul_lazy(*value, factor));
            }
        }
    }
}

impl Evaluations {
    /// The values modulo each prime.
    pub fn by_prime(&self) -> [&[u32]; PRIMES] {
        let (first, second) = self.0.split_at(self.0.len() / PRIMES);
        [first, second]
    }

    /// The values modulo each prime, to be changed; they have to stay residues.
    pub(crate) fn by_prime_mut(&mut self) -> [&mut [u32]; PRIMES] {
        let half = self.0.len() / PRIMES;
        let (first, second) = self.0.split_at_mut(half);
        [first, second]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PRIMES_25: [u32; 2] = [33_550_337, 33_538_049];

    #[test]
    #[should_panic(expected = "two different primes")]
    fn refuses_the_same_prime_twice() {
        Ring::new(8, [12_289, 12_289]);
    }

    #[test]
    #[should_panic(expected = "values are residues")]
    fn refuses_values_that_are_not_residues() {
        Ring::new(2, PRIMES_25).evaluations(vec![0, 0, 0, 33_538_049]);
    }

    proptest! {
        #[test]
        fn integers_come_back(seed in prop::collection::vec(any::<u64>(), 64)) {
            let ring = Ring::new(64, PRIMES_25);
            let integers: Vec<u64> = seed.iter().map(|x| x % ring.modulus()).collect();
            prop_assert_eq!(ring.into_integers(ring.from_integers(&integers)), integers);
        }

        #[test]
        fn small_numbers_are_their_residues(small in prop::collection::vec(-33_538_048..33_538_049i32, 32)) {
            let ring = Ring::new(32, PRIMES_25);
            let q = ring.modulus() as i64;
            let integers: Vec<u64> =
                small.iter().map(|x| i64::from(*x).rem_euclid(q) as u64).collect();
            prop_assert_eq!(ring.into_integers(ring.from_small(&small)), integers);
        }

        #[test]
        fn multiplies_like_integers(a in prop::collection::vec(any::<u64>(), 16), b in prop::collection::vec(any::<u64>(), 16)) {
            let ring = Ring::new(16, PRIMES_25);
            let q = u128::from(ring.modulus());
            let (a, b): (Vec<u64>, Vec<u64>) =
                a.iter().zip(&b).map(|(a, b)| (a % ring.modulus(), b % ring.modulus())).unzip();
            let mut expected = vec![0; 16];
            for (i, x) in a.iter().enumerate() {
                for (j, y) in b.iter().enumerate() {
                    let term = u128::from(*x) * u128::from(*y) % q;
                    let signed = if i + j < 16 { term } else { q - term };
                    expected[(i + j) % 16] = (expected[(i + j) % 16] + signed) % q;
                }
            }
            let product = ring.multiply(&ring.from_integers(&a), &ring.from_integers(&b));
            let product: Vec<u128> = ring.into_integers(product).into_iter().map(u128::from).collect();
            prop_assert_eq!(product, expected);
        }
    }
}
