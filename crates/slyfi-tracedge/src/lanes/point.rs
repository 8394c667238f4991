//! Eight points of the curve −x² + y² = 1 + d·x²·y², one in each lane.
//!
//! Formulas: H. Hisil, K. Wong, G. Carter, E. Dawson, *Twisted Edwards Curves Revisited*, ASIACRYPT
//! 2008, §3.1 and §3.3. They are complete, for −1 is a square and d is none: no operand is special.

use zeroize::Zeroize;

use super::field::{D2, Fe, Wide};
use super::unit::{Mask, Unit};

/// x = X/Z, y = Y/Z, x·y = T/Z.
#[derive(Clone, Copy)]
pub(super) struct Extended<U: Unit> {
    pub(super) x: Fe<U>,
    pub(super) y: Fe<U>,
    pub(super) z: Fe<U>,
    pub(super) t: Fe<U>,
}

/// x = X/Z, y = Y/Z: enough to double.
#[derive(Clone, Copy)]
pub(super) struct Projective<U: Unit> {
    x: Fe<U>,
    y: Fe<U>,
    z: Fe<U>,
}

/// A sum before its last four multiplications: X = E·F, Y = G·H, Z = F·G, T = E·H.
pub(super) struct Completed<U: Unit> {
    e: Fe<U>,
    f: Fe<U>,
    g: Fe<U>,
    h: Fe<U>,
}

/// What is added: Y + X, Y − X, 2d·T, 2Z.
#[derive(Clone, Copy)]
pub(super) struct Cached<U: Unit> {
    affine: CachedAffine<U>,
    z2: Fe<U>,
}

/// What is added, of a point with Z = 1: y + x, y − x, 2d·x·y.
#[derive(Clone, Copy)]
pub(super) struct CachedAffine<U: Unit> {
    plus: Fe<U>,
    minus: Fe<U>,
    t2d: Fe<U>,
}

impl<U: Unit> Extended<U> {
    /// Zero.
    #[inline(always)]
    pub(super) fn identity(u: U) -> Self {
        let [zero, one] = [Fe::small(u, 0), Fe::small(u, 1)];
        Extended { x: zero, y: one, z: one, t: zero }
    }

    /// For adding it.
    #[inline(always)]
    pub(super) fn cached(&self, u: U) -> Cached<U> {
        Cached { affine: self.cached_affine(u), z2: (self.z + self.z).carry() }
    }

    /// For adding it, if Z is 1.
    #[inline(always)]
    pub(super) fn cached_affine(&self, u: U) -> CachedAffine<U> {
        CachedAffine {
            plus: (self.y + self.x).carry(),
            minus: (self.y - self.x).carry(),
            t2d: self.t * Fe::constant(u, D2),
        }
    }

    /// Self + other; self − other in the lanes of `negative`.
    #[inline(always)]
    pub(super) fn add(&self, other: &Cached<U>, negative: Mask) -> Completed<U> {
        let d = self.z * other.z2;
        self.add_with(&other.affine, Wide::from(d), negative)
    }

    /// Self + other; self − other in the lanes of `negative`.
    #[inline(always)]
    pub(super) fn add_affine(&self, other: &CachedAffine<U>, negative: Mask) -> Completed<U> {
        self.add_with(other, self.z + self.z, negative)
    }

    #[inline(always)]
    fn add_with(&self, other: &CachedAffine<U>, d: Wide<U>, negative: Mask) -> Completed<U> {
        // −(x, y) = (−x, y): plus and minus change places, and C its sign, so F and G do too.
        let plus = Fe::select(negative, other.plus, other.minus);
        let minus = Fe::select(negative, other.minus, other.plus);
        let a = (self.y - self.x).carry() * minus;
        let b = (self.y + self.x).carry() * plus;
        let c = self.t * other.t2d;
        let (f, g) = ((d - c).carry(), (d + c).carry());
        Completed {
            e: (b - a).carry(),
            f: Fe::select(negative, f, g),
            g: Fe::select(negative, g, f),
            h: (b + a).carry(),
        }
    }

    /// Without T.
    #[inline(always)]
    pub(super) fn projective(&self) -> Projective<U> {
        Projective { x: self.x, y: self.y, z: self.z }
    }
}

impl<U: Unit> Projective<U> {
    /// 2·self.
    ///
    /// In the paper's names A = X², B = Y², C = 2Z², D = −A; E is 2XY at once, and F and H have the
    /// other sign, which changes the sign of all four coordinates.
    #[inline(always)]
    pub(super) fn double(&self) -> Completed<U> {
        let (a, b, c) = (self.x.square(), self.y.square(), self.z.square());
        let e = self.x * self.y;
        Completed {
            e: (e + e).carry(),
            f: (c + c + a - b).carry(),
            g: (b - a).carry(),
            h: (a + b).carry(),
        }
    }
}

impl<U: Unit> Completed<U> {
    /// With T, for an addition.
    #[inline(always)]
    pub(super) fn extended(&self) -> Extended<U> {
        let Projective { x, y, z } = self.projective();
        Extended { x, y, z, t: self.e * self.h }
    }

    /// Without, for a doubling.
    #[inline(always)]
    pub(super) fn projective(&self) -> Projective<U> {
        Projective { x: self.e * self.f, y: self.g * self.h, z: self.f * self.g }
    }
}

impl<U: Unit> Cached<U> {
    /// Zero.
    #[inline(always)]
    pub(super) fn identity(u: U) -> Self {
        Extended::identity(u).cached(u)
    }

    /// `b` in the lanes of `mask`, `a` in the others.
    #[inline(always)]
    pub(super) fn select(mask: Mask, a: &Self, b: &Self) -> Self {
        let field = |a, b| Fe::select(mask, a, b);
        Cached {
            affine: CachedAffine {
                plus: field(a.affine.plus, b.affine.plus),
                minus: field(a.affine.minus, b.affine.minus),
                t2d: field(a.affine.t2d, b.affine.t2d),
            },
            z2: field(a.z2, b.z2),
        }
    }
}

impl<U: Unit> Zeroize for Cached<U> {
    fn zeroize(&mut self) {
        let Cached { affine: CachedAffine { plus, minus, t2d }, z2 } = self;
        [plus, minus, t2d, z2].into_iter().for_each(Zeroize::zeroize);
    }
}
