//! Square roots, and the power that finds them.

use super::{Fe, MINUS_ONE, MINUS_SQRT_M1, SQRT_M1};
use crate::lanes::unit::{Mask, Unit};

impl<U: Unit> Fe<U> {
    /// 1/√a and the lanes in which there is one; √(i/a) in the others (RFC 9496 §4.2, SQRT_RATIO_M1
    /// with u = 1; the root's sign is left as it comes). Zero where a is, and there it is none.
    #[inline(never)]
    pub(in crate::lanes) fn invsqrt(self) -> (Mask, Self) {
        // Long enough not to be repeated wherever it is needed.
        self.unit.run(
            #[inline(always)]
            || self.invsqrt_here(),
        )
    }

    #[inline(always)]
    fn invsqrt_here(self) -> (Mask, Self) {
        let (u, a) = (self.unit, self);
        let a3 = a.square() * a;
        let a7 = a3.square() * a;
        let root = a3 * a7.power_p58();
        let check = (a * root.square()).canonical();
        let right = Self::same(u, check, [1, 0, 0, 0, 0]);
        let minus = Self::same(u, check, MINUS_ONE);
        let minus_i = Self::same(u, check, MINUS_SQRT_M1);
        let turned = root * Self::constant(u, SQRT_M1);
        (right | minus, Self::select(minus | minus_i, root, turned))
    }

    /// a^((p − 5)/8) = a^(2²⁵² − 3).
    #[inline(always)]
    fn power_p58(self) -> Self {
        let a2 = self.square();
        let a9 = a2.squared(2) * self;
        let a11 = a9 * a2;
        // ones_n is a^(2ⁿ − 1).
        let ones_5 = a11.square() * a9;
        let ones_10 = ones_5.squared(5) * ones_5;
        let ones_20 = ones_10.squared(10) * ones_10;
        let ones_40 = ones_20.squared(20) * ones_20;
        let ones_50 = ones_40.squared(10) * ones_10;
        let ones_100 = ones_50.squared(50) * ones_50;
        let ones_200 = ones_100.squared(100) * ones_100;
        let ones_250 = ones_200.squared(50) * ones_50;
        ones_250.squared(2) * self
    }

    /// a^(2ⁿ).
    #[inline(always)]
    fn squared(self, n: u32) -> Self {
        let mut a = self;
        for _ in 0..n {
            a = a.square();
        }
        a
    }
}
