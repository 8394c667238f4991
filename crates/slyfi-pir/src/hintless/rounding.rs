//! From a large modulus to a power of two and back: the same fraction of both.

/// `x ↦ ⌊x · 2^bits / q⌉ mod 2^bits`.
#[derive(Clone, Copy)]
pub struct Rounding {
    /// ⌊2^(64 + bits) / q⌉.
    factor: u64,
    mask: u32,
}

impl Rounding {
    /// From modulo `q` to modulo 2^`bits`, at most 2^32; `q` has at least 2^`bits` values.
    pub fn new(q: u64, bits: u32) -> Self {
        assert!(bits <= 32 && q >> bits != 0, "rounding makes numbers smaller");
        let (scale, q) = (1u128 << (64 + bits), u128::from(q));
        Rounding { factor: ((scale + q / 2) / q) as u64, mask: ((1u64 << bits) - 1) as u32 }
    }

    /// Rounds `x`, below q. What has to be secret may be: this is one multiplication.
    #[inline(always)]
    pub fn round(self, x: u64) -> u32 {
        // The factor's error of 1/2 moves the result by x/2^65, less than 2^-15 for q < 2^50.
        let scaled = u128::from(x) * u128::from(self.factor) + (1 << 63);
        (scaled >> 64) as u32 & self.mask
    }
}

/// `⌊x · q / 2^32⌋`, for a large q.
#[inline(always)]
pub fn lift(x: u32, q: u64) -> u64 {
    ((u128::from(x) * u128::from(q)) >> 32) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const Q: u64 = 33_550_337 * 33_538_049;

    proptest! {
        #[test]
        fn rounds_to_the_nearest(x in 0..Q, bits in 1..33u32) {
            let exact = x as f64 / Q as f64 * 2f64.powi(bits as i32);
            let rounded = f64::from(Rounding::new(Q, bits).round(x));
            let off = (exact - rounded).abs();
            prop_assert!(off.min(2f64.powi(bits as i32) - off) <= 0.5 + 1e-4);
        }

        #[test]
        fn lifting_is_undone_by_rounding(x: u32, bits in 1..33u32) {
            let x = x >> (32 - bits);
            prop_assert_eq!(Rounding::new(Q, bits).round(lift(x << (32 - bits), Q)), x);
        }
    }

    #[test]
    fn the_top_wraps_round_to_zero() {
        assert_eq!(Rounding::new(Q, 12).round(Q - 1), 0);
    }
}
