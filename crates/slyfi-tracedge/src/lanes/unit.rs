//! What the arithmetic needs of a vector unit.

use zeroize::Zeroize;

/// Eight lanes of 64 bits.
pub(crate) const LANES: usize = 8;

/// One bit for each lane, lane 0 the lowest.
pub(super) type Mask = u8;

/// A vector unit that is there: each operation is done in all lanes. None takes longer for one
/// operand than for another.
pub(super) trait Unit: Copy {
    /// Eight words.
    type Vector: Copy + Zeroize;

    /// `n` in each lane.
    fn splat(self, n: u64) -> Self::Vector;
    /// From memory.
    fn load(self, words: [u64; LANES]) -> Self::Vector;
    /// To memory.
    fn store(self, v: Self::Vector) -> [u64; LANES];
    /// a + b modulo 2⁶⁴.
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// a − b modulo 2⁶⁴.
    fn sub(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Bitwise.
    fn and(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Bitwise.
    fn or(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// v·2ᴺ modulo 2⁶⁴.
    fn shl<const N: u32>(self, v: Self::Vector) -> Self::Vector;
    /// ⌊v/2ᴺ⌋.
    fn shr<const N: u32>(self, v: Self::Vector) -> Self::Vector;
    /// sum + (a·b mod 2⁵²), where of `a` and `b` the lowest 52 bits are taken.
    fn madd_low(self, sum: Self::Vector, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// sum + ⌊a·b/2⁵²⌋, where of `a` and `b` the lowest 52 bits are taken.
    fn madd_high(self, sum: Self::Vector, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `b` in the lanes of `mask`, `a` in the others.
    fn select(self, mask: Mask, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// The lanes in which a = b.
    fn equal(self, a: Self::Vector, b: Self::Vector) -> Mask;
    /// Runs `f`, compiled for the unit. Everything above must be inlined into such an `f`.
    fn run<R>(self, f: impl FnOnce() -> R) -> R;
}

/// Runs `f` in a function of its own in builds for tests, where inlining everything into everything
/// would take minutes to compile; in place in builds that are to be fast.
#[cfg(debug_assertions)]
#[inline(never)]
pub(super) fn apart<U: Unit, R>(u: U, f: impl FnOnce() -> R) -> R {
    u.run(f)
}

/// Runs `f` in place.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub(super) fn apart<U: Unit, R>(_: U, f: impl FnOnce() -> R) -> R {
    f()
}
