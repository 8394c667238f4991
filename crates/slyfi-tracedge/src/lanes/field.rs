//! Eight elements of the field of 2²⁵⁵ − 19 elements, one in each lane.

use core::ops::{Add, Mul, Sub};

use zeroize::Zeroize;

use super::unit::{LANES, Mask, Unit, apart};

mod root;

/// Five limbs of 51 bits.
const LIMBS: usize = 5;
const LIMB_MASK: u64 = (1 << 51) - 1;

/// Eight elements: five vectors of limbs, the lowest first.
///
/// Every limb is below 2⁵², which is what the multiplier takes; an element has several such forms.
#[derive(Clone, Copy)]
pub(super) struct Fe<U: Unit> {
    limbs: [U::Vector; LIMBS],
    unit: U,
}

/// A sum that is too wide for the multiplier: limbs below 2⁶³.
///
/// An element below 2⁵² and a difference below 2⁵³ + 2⁵² are far from that, so sums of the few terms
/// that formulas have need no care.
#[derive(Clone, Copy)]
pub(super) struct Wide<U: Unit>(Fe<U>);

/// An element as RFC 9496 §4.1 has its constants: the limbs of a number below p.
pub(super) type Constant = [u64; LIMBS];

/// −1.
pub(super) const MINUS_ONE: Constant = [LIMB_MASK - 19, LIMB_MASK, LIMB_MASK, LIMB_MASK, LIMB_MASK];
/// √−1, the one that is not negative (RFC 9496 §4.1, SQRT_M1).
pub(super) const SQRT_M1: Constant = [
    0x6_1b27_4a0e_a0b0,
    0x0_d5a5_fc8f_189d,
    0x7_ef5e_9cbd_0c60,
    0x7_8595_a680_4c9e,
    0x2_b832_4804_fc1d,
];
/// −√−1.
const MINUS_SQRT_M1: Constant = [
    0x1_e4d8_b5f1_5f3d,
    0x7_2a5a_0370_e762,
    0x0_10a1_6342_f39f,
    0x0_7a6a_597f_b361,
    0x5_47cd_b7fb_03e2,
];
/// d of the curve −x² + y² = 1 + d·x²·y² (RFC 9496 §4.1, D).
pub(super) const D: Constant = [
    0x3_4dca_1359_78a3,
    0x1_a828_3b15_6ebd,
    0x5_e7a2_6001_c029,
    0x7_39c6_63a0_3cbb,
    0x5_2036_cee2_b6ff,
];
/// 2·d.
pub(super) const D2: Constant = [
    0x6_9b94_26b2_f159,
    0x3_5050_762a_dd7a,
    0x3_cf44_c003_8052,
    0x6_738c_c740_7977,
    0x2_406d_9dc5_6dff,
];
/// 1/√(−1 − d) (RFC 9496 §4.1, INVSQRT_A_MINUS_D).
pub(super) const INVSQRT_A_MINUS_D: Constant = [
    0x0_fdaa_805d_40ea,
    0x2_eb48_2e57_d339,
    0x0_0761_0274_bc58,
    0x6_510b_613d_c8ff,
    0x7_86c8_905c_faff,
];

impl<U: Unit> Fe<U> {
    /// The same in all lanes.
    #[inline(always)]
    pub(super) fn constant(unit: U, limbs: Constant) -> Self {
        let mut all = [unit.splat(0); LIMBS];
        for k in 0..LIMBS {
            all[k] = unit.splat(limbs[k]);
        }
        Fe { limbs: all, unit }
    }

    /// A number below 2⁵¹ in all lanes.
    #[inline(always)]
    pub(super) fn small(unit: U, n: u64) -> Self {
        Self::constant(unit, [n, 0, 0, 0, 0])
    }

    /// From numbers below 2²⁵⁵, each of four little-endian words.
    #[inline(always)]
    pub(super) fn from_words(unit: U, words: [[u64; LANES]; 4]) -> Self {
        let u = unit;
        let mask = u.splat(LIMB_MASK);
        let [a, b, c, d] = [u.load(words[0]), u.load(words[1]), u.load(words[2]), u.load(words[3])];
        let limbs = [
            u.and(a, mask),
            u.and(u.or(u.shr::<51>(a), u.shl::<13>(b)), mask),
            u.and(u.or(u.shr::<38>(b), u.shl::<26>(c)), mask),
            u.and(u.or(u.shr::<25>(c), u.shl::<39>(d)), mask),
            u.shr::<12>(d),
        ];
        Fe { limbs, unit }
    }

    /// The numbers below p, each of four little-endian words.
    #[inline(always)]
    pub(super) fn to_words(self) -> [[u64; LANES]; 4] {
        let (u, [a, b, c, d, e]) = (self.unit, self.canonical());
        [
            u.store(u.or(a, u.shl::<51>(b))),
            u.store(u.or(u.shr::<13>(b), u.shl::<38>(c))),
            u.store(u.or(u.shr::<26>(c), u.shl::<25>(d))),
            u.store(u.or(u.shr::<39>(d), u.shl::<12>(e))),
        ]
    }

    /// The limbs of the number below p.
    #[inline(always)]
    fn canonical(self) -> [U::Vector; LIMBS] {
        apart(
            self.unit,
            #[inline(always)]
            || self.canonical_here(),
        )
    }

    #[inline(always)]
    fn canonical_here(self) -> [U::Vector; LIMBS] {
        let (u, mask) = (self.unit, self.unit.splat(LIMB_MASK));
        // Limbs at most 2⁵¹ + 18: below 2p, so p has to be subtracted at most once.
        let mut x = Wide(self).carry().limbs;
        // Whether x ≥ p is whether x + 19 ≥ 2²⁵⁵.
        let mut over = u.shr::<51>(u.add(x[0], u.splat(19)));
        for limb in &x[1..] {
            over = u.shr::<51>(u.add(*limb, over));
        }
        // x − p = x + 19 − 2²⁵⁵; the last mask takes 2²⁵⁵ off.
        x[0] = u.madd_low(x[0], over, u.splat(19));
        for k in 0..LIMBS - 1 {
            x[k + 1] = u.add(x[k + 1], u.shr::<51>(x[k]));
            x[k] = u.and(x[k], mask);
        }
        x[4] = u.and(x[4], mask);
        x
    }

    /// Where the element is negative: odd (RFC 9496 §4.1).
    #[inline(always)]
    pub(super) fn negative(self) -> Mask {
        let (u, one) = (self.unit, self.unit.splat(1));
        u.equal(u.and(self.canonical()[0], one), one)
    }

    /// Where the element is zero.
    #[inline(always)]
    pub(super) fn zero(self) -> Mask {
        self.equals([0; LIMBS])
    }

    /// Where the element is `constant`.
    #[inline(always)]
    fn equals(self, constant: Constant) -> Mask {
        Self::same(self.unit, self.canonical(), constant)
    }

    #[inline(always)]
    fn same(u: U, canonical: [U::Vector; LIMBS], constant: Constant) -> Mask {
        let mut mask = Mask::MAX;
        for k in 0..LIMBS {
            mask &= u.equal(canonical[k], u.splat(constant[k]));
        }
        mask
    }

    /// `b` in the lanes of `mask`, `a` in the others.
    #[inline(always)]
    pub(super) fn select(mask: Mask, a: Self, b: Self) -> Self {
        let mut out = a;
        for k in 0..LIMBS {
            out.limbs[k] = a.unit.select(mask, a.limbs[k], b.limbs[k]);
        }
        out
    }

    /// −a in the lanes of `mask`, a in the others.
    #[inline(always)]
    pub(super) fn negated(self, mask: Mask) -> Self {
        let minus = (Self::small(self.unit, 0) - self).carry();
        Self::select(mask, self, minus)
    }

    /// The one of a and −a that is not negative.
    #[inline(always)]
    pub(super) fn absolute(self) -> Self {
        self.negated(self.negative())
    }

    /// a².
    ///
    /// A product of two different limbs counts twice, and a high half, which starts at bit 52 instead
    /// of 51, twice again: 30 multiplications where a product has 50.
    #[inline(always)]
    pub(super) fn square(self) -> Self {
        apart(
            self.unit,
            #[inline(always)]
            || self.square_here(),
        )
    }

    #[inline(always)]
    fn square_here(self) -> Self {
        let (u, a) = (self.unit, self.limbs);
        let zero = u.splat(0);
        let (mut once, mut twice, mut four) = ([zero; 10], [zero; 10], [zero; 10]);
        for i in 0..LIMBS {
            for j in i + 1..LIMBS {
                four[i + j + 1] = u.madd_high(four[i + j + 1], a[i], a[j]);
            }
        }
        for k in 2..=8 {
            twice[k] = u.shl::<1>(four[k]);
        }
        for i in 0..LIMBS {
            once[2 * i] = u.madd_low(once[2 * i], a[i], a[i]);
            twice[2 * i + 1] = u.madd_high(twice[2 * i + 1], a[i], a[i]);
            for j in i + 1..LIMBS {
                twice[i + j] = u.madd_low(twice[i + j], a[i], a[j]);
            }
        }
        let mut columns = once;
        for k in 1..10 {
            columns[k] = u.add(once[k], u.shl::<1>(twice[k]));
        }
        Self::fold(u, columns)
    }

    /// a·b.
    #[inline(always)]
    fn product_here(self, other: Self) -> Self {
        let (u, a, b) = (self.unit, self.limbs, other.limbs);
        let zero = u.splat(0);
        let (mut low, mut high) = ([zero; 10], [zero; 10]);
        for i in 0..LIMBS {
            for j in 0..LIMBS {
                low[i + j] = u.madd_low(low[i + j], a[i], b[j]);
                // Bit 52 of column i + j is bit 1 of the next.
                high[i + j + 1] = u.madd_high(high[i + j + 1], a[i], b[j]);
            }
        }
        let mut columns = low;
        for k in 1..10 {
            columns[k] = u.add(low[k], u.shl::<1>(high[k]));
        }
        Self::fold(u, columns)
    }

    /// From ten columns: 2²⁵⁵ is 19.
    ///
    /// A column has at most 14 products' halves (four low, five high, which count twice), so
    /// 19·14 + 1 times 2⁵²: below 2⁶¹.
    #[inline(always)]
    fn fold(unit: U, columns: [U::Vector; 10]) -> Self {
        let u = unit;
        let mut limbs = [u.splat(0); LIMBS];
        for k in 0..LIMBS {
            let (low, high) = (columns[k], columns[k + LIMBS]);
            let three = u.add(high, u.shl::<1>(high));
            limbs[k] = u.add(u.add(low, three), u.shl::<4>(high));
        }
        Wide(Fe { limbs, unit }).carry()
    }
}

impl<U: Unit> Wide<U> {
    /// Makes it fit the multiplier: each limb's overflow goes to the next, all at once. What is left
    /// is at most 2⁵¹ + 19·2¹².
    #[inline(always)]
    pub(super) fn carry(self) -> Fe<U> {
        apart(
            self.0.unit,
            #[inline(always)]
            || self.carry_here(),
        )
    }

    #[inline(always)]
    fn carry_here(self) -> Fe<U> {
        let (u, x) = (self.0.unit, self.0.limbs);
        let mask = u.splat(LIMB_MASK);
        let mut limbs = x;
        limbs[0] = u.madd_low(u.and(x[0], mask), u.shr::<51>(x[4]), u.splat(19));
        for k in 1..LIMBS {
            limbs[k] = u.add(u.and(x[k], mask), u.shr::<51>(x[k - 1]));
        }
        Fe { limbs, unit: u }
    }
}

impl<U: Unit> From<Fe<U>> for Wide<U> {
    #[inline(always)]
    fn from(element: Fe<U>) -> Self {
        Wide(element)
    }
}

impl<U: Unit> Mul for Fe<U> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        apart(
            self.unit,
            #[inline(always)]
            || self.product_here(other),
        )
    }
}

impl<U: Unit> Add for Fe<U> {
    type Output = Wide<U>;

    #[inline(always)]
    fn add(self, other: Self) -> Wide<U> {
        Wide(self) + other
    }
}

impl<U: Unit> Sub for Fe<U> {
    type Output = Wide<U>;

    #[inline(always)]
    fn sub(self, other: Self) -> Wide<U> {
        Wide(self) - other
    }
}

impl<U: Unit> Add<Fe<U>> for Wide<U> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Fe<U>) -> Self {
        let mut sum = self.0;
        for k in 0..LIMBS {
            sum.limbs[k] = sum.unit.add(sum.limbs[k], other.limbs[k]);
        }
        Wide(sum)
    }
}

impl<U: Unit> Sub<Fe<U>> for Wide<U> {
    type Output = Self;

    /// 4p is added: its limbs, 2⁵³ − 4 but for the lowest, are above whatever is subtracted.
    #[inline(always)]
    fn sub(self, other: Fe<U>) -> Self {
        let (mut difference, u) = (self.0, self.0.unit);
        for k in 0..LIMBS {
            let four_p = if k == 0 { 4 * (LIMB_MASK - 18) } else { 4 * LIMB_MASK };
            let raised = u.add(difference.limbs[k], u.splat(four_p));
            difference.limbs[k] = u.sub(raised, other.limbs[k]);
        }
        Wide(difference)
    }
}

impl<U: Unit> Zeroize for Fe<U> {
    fn zeroize(&mut self) {
        self.limbs.zeroize();
    }
}

#[cfg(test)]
mod tests;
