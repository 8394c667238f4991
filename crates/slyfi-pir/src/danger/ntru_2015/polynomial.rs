//! Polynomials modulo X⁴³⁹ − 1.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::Rng;
use zeroize::Zeroize;

/// The degree (Table 2).
pub const N: usize = 439;

/// A polynomial with coefficients modulo 2³², which every modulus here divides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Polynomial(pub [u32; N]);

impl Polynomial {
    /// The polynomial 0.
    pub const ZERO: Polynomial = Polynomial([0; N]);

    /// The constant `value`.
    pub fn constant(value: u32) -> Self {
        let mut out = Self::ZERO;
        out.0[0] = value;
        out
    }

    /// Adds `other`.
    pub fn add(&mut self, other: &Polynomial) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a = a.wrapping_add(*b);
        }
    }

    /// The product with any other, by the schoolbook.
    pub fn times(&self, other: &Polynomial) -> Polynomial {
        let doubled = Doubled::new(other);
        let mut out = Self::ZERO;
        pulp::Arch::new().dispatch(|| {
            for (shift, factor) in self.0.iter().enumerate() {
                for (sum, b) in out.0.iter_mut().zip(doubled.shifted(shift)) {
                    *sum = sum.wrapping_add(factor.wrapping_mul(*b));
                }
            }
        });
        out
    }

    /// The inverse modulo 2³² of a polynomial that has one modulo 2; `None` of any other.
    pub fn inverse(&self) -> Option<Polynomial> {
        // 2 has order 73 modulo 439, so modulo 2 the ring's units have orders that divide 2⁷³ − 1,
        // and the inverse is the power 2⁷³ − 2 = 2 + 4 + … + 2⁷². Squaring modulo 2 only moves
        // coefficients.
        let odd = |p: &Polynomial| Polynomial(p.0.map(|c| c & 1));
        let mut square = odd(self);
        let mut inverse = Self::constant(1);
        for _ in 1..73 {
            let mut next = Self::ZERO;
            for (i, c) in square.0.iter().enumerate() {
                next.0[2 * i % N] = *c;
            }
            square = next;
            inverse = odd(&inverse.times(&square));
        }
        // Newton doubles the bits: 1, 2, 4, 8, 16, 32.
        for _ in 0..5 {
            let mut correction = self.times(&inverse);
            for c in &mut correction.0 {
                *c = c.wrapping_neg();
            }
            correction.add(&Self::constant(2));
            inverse = inverse.times(&correction);
        }
        (self.times(&inverse) == Self::constant(1)).then_some(inverse)
    }
}

impl Zeroize for Polynomial {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

/// Coefficients that are summed side by side.
pub(super) const PART: usize = 112;
/// How many such parts a polynomial has; the last is nine coefficients too long.
pub(super) const PARTS: usize = N.div_ceil(PART);

/// A polynomial written twice, so that its product with any power of X is a slice; and zeros, so that
/// its last part is too.
#[derive(Clone)]
pub(super) struct Doubled([u32; N + PARTS * PART]);

impl Doubled {
    pub(super) fn new(p: &Polynomial) -> Self {
        let mut out = [0; N + PARTS * PART];
        out[..N].copy_from_slice(&p.0);
        out[N..2 * N].copy_from_slice(&p.0);
        Doubled(out)
    }

    /// The product with X^`shift`, `shift` < N.
    #[inline(always)]
    pub(super) fn shifted(&self, shift: usize) -> &[u32; N] {
        // A slice of length N: the array's bound is above 2N and `shift` is below N.
        self.0[N - shift..].first_chunk().unwrap_or(&[0; N])
    }

    /// Part `part` of the product with X^`shift`, `shift` < N.
    #[inline(always)]
    pub(super) fn part(&self, shift: usize, part: usize) -> &[u32; PART] {
        self.0[N - shift + part * PART..].first_chunk().unwrap_or(&[0; PART])
    }
}

/// A polynomial of a few coefficients 1 and as many −1.
pub(super) struct Sparse {
    plus: Vec<usize>,
    minus: Vec<usize>,
}

impl Sparse {
    /// `plus` coefficients 1 and `minus` coefficients −1 at random places.
    pub(super) fn random(rng: &mut ChaCha20Rng, plus: usize, minus: usize) -> Self {
        let mut taken = [false; N];
        let mut places = Vec::with_capacity(plus + minus);
        while places.len() < plus + minus {
            // Rejection keeps it uniform: 9 bits, of which 439 of 512 values count.
            let place = (rng.next_u32() >> 23) as usize;
            if place < N && !taken[place] {
                taken[place] = true;
                places.push(place);
            }
        }
        taken.zeroize();
        let minus = places.split_off(plus);
        Sparse { plus: places, minus }
    }

    /// The product with `p`.
    #[inline(always)]
    fn times(&self, p: &Polynomial) -> Polynomial {
        let doubled = Doubled::new(p);
        let mut out = Polynomial::ZERO;
        for shift in &self.plus {
            for (sum, c) in out.0.iter_mut().zip(doubled.shifted(*shift)) {
                *sum = sum.wrapping_add(*c);
            }
        }
        for shift in &self.minus {
            for (sum, c) in out.0.iter_mut().zip(doubled.shifted(*shift)) {
                *sum = sum.wrapping_sub(*c);
            }
        }
        out
    }

    /// As a polynomial.
    pub(super) fn dense(&self) -> Polynomial {
        self.times(&Polynomial::constant(1))
    }
}

impl Drop for Sparse {
    fn drop(&mut self) {
        self.plus.zeroize();
        self.minus.zeroize();
    }
}

/// A polynomial a·b + c of three sparse ones: multiplying with it costs 44 additions of polynomials.
pub(super) struct Product {
    a: Sparse,
    b: Sparse,
    c: Sparse,
}

impl Product {
    /// A random one of APR2011_439_FAST: 9, 8 and 5 coefficients 1, and as many −1.
    pub(super) fn random(rng: &mut ChaCha20Rng) -> Self {
        Product {
            a: Sparse::random(rng, 9, 9),
            b: Sparse::random(rng, 8, 8),
            c: Sparse::random(rng, 5, 5),
        }
    }

    /// The product with `p`.
    pub(super) fn times(&self, p: &Polynomial) -> Polynomial {
        pulp::Arch::new().dispatch(|| {
            let mut out = self.a.times(&self.b.times(p));
            out.add(&self.c.times(p));
            out
        })
    }
}

#[cfg(test)]
mod tests {
    use chacha20::rand_core::SeedableRng;

    use super::*;

    fn random(rng: &mut ChaCha20Rng) -> Polynomial {
        Polynomial(core::array::from_fn(|_| rng.next_u32()))
    }

    #[test]
    fn sparse_products_are_the_schoolbooks() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let p = random(&mut rng);
        let product = Product::random(&mut rng);
        let mut dense = product.a.dense().times(&product.b.dense());
        dense.add(&product.c.dense());
        assert_eq!(product.times(&p), dense.times(&p));
        let ones = product.a.dense().0.iter().filter(|c| **c == 1).count();
        let minus = product.a.dense().0.iter().filter(|c| **c == u32::MAX).count();
        assert_eq!((ones, minus), (9, 9));
    }

    #[test]
    fn x_to_the_438_times_x_is_one() {
        let (mut x, mut x438) = (Polynomial::ZERO, Polynomial::ZERO);
        x.0[1] = 1;
        x438.0[438] = 1;
        assert_eq!(x.times(&x438), Polynomial::constant(1));
    }

    #[test]
    fn inverses_invert_and_zero_divisors_have_none() {
        let mut rng = ChaCha20Rng::from_seed([2; 32]);
        let mut p = Product::random(&mut rng).times(&Polynomial::constant(3));
        p.add(&Polynomial::constant(1));
        let inverse = p.inverse().expect("1 + 3F is a unit but for a chance of 2^-70");
        assert_eq!(p.times(&inverse), Polynomial::constant(1));
        // 1 − X divides 1 − X⁴³⁹.
        let mut divisor = Polynomial::constant(1);
        divisor.0[1] = u32::MAX;
        assert_eq!(divisor.inverse(), None);
    }
}
