//! Numbers modulo a prime of at most 26 bits.

/// A prime modulus below 2^26.
///
/// 26 bits in a 32-bit word leave room to add without reducing: a transform over 2^22 points stays
/// below 2^32 ([`Ntt::forward`](crate::ring::Ntt::forward)), and 2^12 products of residues below
/// 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modulus {
    prime: u32,
    /// ⌊2^64 / prime⌋, for [`Modulus::reduce`].
    reciprocal: u64,
}

impl Modulus {
    /// The largest number of bits that a prime may have.
    pub const MAX_BITS: u32 = 26;

    /// The modulus `prime`.
    ///
    /// # Panics
    /// If `prime` is not a prime, is 2, or has more than 26 bits: moduli are constants of a scheme.
    pub fn new(prime: u32) -> Self {
        assert!(prime > 2 && prime < 1 << Self::MAX_BITS, "a modulus has at most 26 bits");
        assert!(is_prime(prime), "a modulus is a prime");
        // ⌊(2^64 − 1) / p⌋ = ⌊2^64 / p⌋, because no odd p above 1 divides 2^64.
        Modulus { prime, reciprocal: u64::MAX / u64::from(prime) }
    }

    /// The prime itself.
    #[inline(always)]
    pub const fn prime(self) -> u32 {
        self.prime
    }

    /// `x` modulo the prime.
    ///
    /// Barrett's reduction: the quotient estimated from the reciprocal is at most one too small.
    #[inline(always)]
    pub const fn reduce(self, x: u64) -> u32 {
        let quotient = ((x as u128 * self.reciprocal as u128) >> 64) as u64;
        let rest = x.wrapping_sub(quotient.wrapping_mul(self.prime as u64)) as u32;
        self.once(rest)
    }

    /// `x` modulo the prime, for `x` below twice the prime, without a branch.
    #[inline(always)]
    pub const fn once(self, x: u32) -> u32 {
        // Where x is below p the difference wraps round to something larger than x.
        let less = x.wrapping_sub(self.prime);
        if less < x { less } else { x }
    }

    /// The residue of a signed number.
    #[inline(always)]
    pub const fn reduce_signed(self, x: i64) -> u32 {
        // A multiple of the prime that is at least 2^62 makes the sum non-negative for |x| < 2^62.
        let offset = self.prime as u64 * ((1 << 62) / self.prime as u64 + 1);
        self.reduce(offset.wrapping_add_signed(x))
    }

    /// `a + b` of residues.
    #[inline(always)]
    pub const fn add(self, a: u32, b: u32) -> u32 {
        self.once(a + b)
    }

    /// `a − b` of residues.
    #[inline(always)]
    pub const fn sub(self, a: u32, b: u32) -> u32 {
        self.once(a + self.prime - b)
    }

    /// `a · b` of residues.
    #[inline(always)]
    pub const fn mul(self, a: u32, b: u32) -> u32 {
        self.reduce(a as u64 * b as u64)
    }

    /// `base` to the power `exponent`; its time depends on the exponent.
    pub const fn pow(self, base: u32, mut exponent: u32) -> u32 {
        let (mut square, mut power) = (base, 1);
        while exponent != 0 {
            if exponent & 1 == 1 {
                power = self.mul(power, square);
            }
            square = self.mul(square, square);
            exponent >>= 1;
        }
        power
    }

    /// The inverse of a residue other than 0 (Fermat).
    pub const fn invert(self, a: u32) -> u32 {
        self.pow(a, self.prime - 2)
    }

    /// A primitive root of unity of order `order`, a power of two that divides `prime − 1`.
    ///
    /// The smallest candidate base decides, so everybody arrives at the same root.
    ///
    /// # Panics
    /// If `order` is not a power of two or does not divide `prime − 1`.
    pub fn root_of_unity(self, order: u32) -> u32 {
        assert!(order.is_power_of_two() && order > 1, "the order is a power of two");
        assert!((self.prime - 1).is_multiple_of(order), "the order divides p − 1");
        (2..self.prime)
            .map(|base| self.pow(base, (self.prime - 1) / order))
            // Of order exactly `order`, a power of two, if and only if half of it gives −1.
            .find(|root| self.pow(*root, order / 2) == self.prime - 1)
            .expect("the multiplicative group of a prime field is cyclic")
    }

    /// Makes `w` quick to multiply by.
    #[inline(always)]
    pub const fn factor(self, w: u32) -> Factor {
        Factor { value: w, quotient: (((w as u64) << 32) / self.prime as u64) as u32 }
    }

    /// `x · w`, below twice the prime, for any 32-bit `x`.
    ///
    /// Shoup's multiplication: `⌊x·⌊w·2³²/p⌋ / 2³²⌋` is the quotient of `x·w` by `p` or one less,
    /// so the low 32 bits of the difference are the remainder or the remainder plus `p`.
    #[inline(always)]
    pub const fn mul_lazy(self, x: u32, w: Factor) -> u32 {
        let quotient = ((x as u64 * w.quotient as u64) >> 32) as u32;
        x.wrapping_mul(w.value).wrapping_sub(quotient.wrapping_mul(self.prime))
    }
}

/// A residue to multiply by, with its quotient `⌊value · 2³² / p⌋`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    /// The residue.
    pub value: u32,
    /// Its quotient.
    pub quotient: u32,
}

/// Trial division: there are at most 2^13 candidates.
fn is_prime(n: u32) -> bool {
    n >= 2 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PRIMES: [u32; 4] = [3, 12_289, 33_550_337, 67_104_769];

    #[test]
    fn tells_primes() {
        let primes: Vec<u32> = (0..60).filter(|n| is_prime(*n)).collect();
        assert_eq!(primes, [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59]);
        assert!(!is_prime(4093 * 4099));
    }

    #[test]
    #[should_panic(expected = "a modulus is a prime")]
    fn refuses_a_composite_modulus() {
        Modulus::new(4093 * 4099);
    }

    #[test]
    fn roots_have_their_order_and_no_smaller_one() {
        let modulus = Modulus::new(12_289);
        for log in 1..=12 {
            let root = modulus.root_of_unity(1 << log);
            assert_eq!(modulus.pow(root, 1 << log), 1);
            assert_ne!(modulus.pow(root, 1 << (log - 1)), 1);
        }
    }

    proptest! {
        #[test]
        fn agrees_with_wide_integers(pick in 0..4usize, x: u64, y: u64, z: i64, any: u32) {
            let modulus = Modulus::new(PRIMES[pick]);
            let p = u64::from(modulus.prime());
            let (a, b) = ((x % p) as u32, (y % p) as u32);
            prop_assert_eq!(u64::from(modulus.reduce(x)), x % p);
            let z = z >> 2;
            prop_assert_eq!(i64::from(modulus.reduce_signed(z)), z.rem_euclid(p as i64));
            prop_assert_eq!(u64::from(modulus.add(a, b)), (u64::from(a) + u64::from(b)) % p);
            prop_assert_eq!(u64::from(modulus.sub(a, b)), (u64::from(a) + p - u64::from(b)) % p);
            prop_assert_eq!(u64::from(modulus.mul(a, b)), u64::from(a) * u64::from(b) % p);
            if a != 0 {
                prop_assert_eq!(modulus.mul(a, modulus.invert(a)), 1);
            }
            let lazy = modulus.mul_lazy(any, modulus.factor(b));
            prop_assert!(u64::from(lazy) < 2 * p);
            prop_assert_eq!(u64::from(lazy) % p, u64::from(any) * u64::from(b) % p);
        }
    }
}
