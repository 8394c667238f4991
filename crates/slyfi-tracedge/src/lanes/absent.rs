//! In the place of the vector unit on processors that do not have its kind.

use super::unit::{LANES, Mask, Unit};

/// A unit that is never there.
#[derive(Clone, Copy)]
pub(super) struct Ifma(core::convert::Infallible);

impl Ifma {
    pub(super) fn try_new() -> Option<Self> {
        None
    }
}

type Vector = [u64; LANES];

impl Unit for Ifma {
    type Vector = Vector;

    fn splat(self, _: u64) -> Vector {
        match self.0 {}
    }

    fn load(self, _: Vector) -> Vector {
        match self.0 {}
    }

    fn store(self, _: Vector) -> Vector {
        match self.0 {}
    }

    fn add(self, _: Vector, _: Vector) -> Vector {
        match self.0 {}
    }

    fn sub(self, _: Vector, _: Vector) -> Vector {
        match self.0 {}
    }

    fn and(self, _: Vector, _: Vector) -> Vector {
        match self.0 {}
    }

    fn or(self, _: Vector, _: Vector) -> Vector {
        match self.0 {}
    }

    fn shl<const N: u32>(self, _: Vector) -> Vector {
        match self.0 {}
    }

    fn shr<const N: u32>(self, _: Vector) -> Vector {
        match self.0 {}
    }

    fn madd_low(self, _: Vector, _: Vector, _: Vector) -> Vector {
        match self.0 {}
    }

    fn madd_high(self, _: Vector, _: Vector, _: Vector) -> Vector {
        match self.0 {}
    }

    fn select(self, _: Mask, _: Vector, _: Vector) -> Vector {
        match self.0 {}
    }

    fn equal(self, _: Vector, _: Vector) -> Mask {
        match self.0 {}
    }

    fn run<R>(self, _: impl FnOnce() -> R) -> R {
        match self.0 {}
    }
}
