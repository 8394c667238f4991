//! The same operations in plain Rust, so that the arithmetic is tested on every machine, and the
//! unit itself where it is.

use super::unit::{LANES, Mask, Unit};

/// The lowest 52 bits.
const LOW_52: u64 = (1 << 52) - 1;

/// No vector unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

fn each(f: impl FnMut(usize) -> u64) -> [u64; LANES] {
    core::array::from_fn(f)
}

fn product(a: u64, b: u64) -> u128 {
    u128::from(a & LOW_52) * u128::from(b & LOW_52)
}

impl Unit for Portable {
    type Vector = [u64; LANES];

    fn splat(self, n: u64) -> [u64; LANES] {
        [n; LANES]
    }

    fn load(self, words: [u64; LANES]) -> [u64; LANES] {
        words
    }

    fn store(self, v: [u64; LANES]) -> [u64; LANES] {
        v
    }

    fn add(self, a: [u64; LANES], b: [u64; LANES]) -> [u64; LANES] {
        each(|i| a[i].wrapping_add(b[i]))
    }

    fn sub(self, a: [u64; LANES], b: [u64; LANES]) -> [u64; LANES] {
        each(|i| a[i].wrapping_sub(b[i]))
    }

    fn and(self, a: [u64; LANES], b: [u64; LANES]) -> [u64; LANES] {
        each(|i| a[i] & b[i])
    }

    fn or(self, a: [u64; LANES], b: [u64; LANES]) -> [u64; LANES] {
        each(|i| a[i] | b[i])
    }

    fn shl<const N: u32>(self, v: [u64; LANES]) -> [u64; LANES] {
        each(|i| v[i] << N)
    }

    fn shr<const N: u32>(self, v: [u64; LANES]) -> [u64; LANES] {
        each(|i| v[i] >> N)
    }

    fn madd_low(self, sum: [u64; LANES], a: [u64; LANES], b: [u64; LANES]) -> [u64; LANES] {
        each(|i| sum[i].wrapping_add(product(a[i], b[i]) as u64 & LOW_52))
    }

    fn madd_high(self, sum: [u64; LANES], a: [u64; LANES], b: [u64; LANES]) -> [u64; LANES] {
        each(|i| sum[i].wrapping_add((product(a[i], b[i]) >> 52) as u64))
    }

    fn select(self, mask: Mask, a: [u64; LANES], b: [u64; LANES]) -> [u64; LANES] {
        each(|i| if mask >> i & 1 == 1 { b[i] } else { a[i] })
    }

    fn equal(self, a: [u64; LANES], b: [u64; LANES]) -> Mask {
        (0..LANES).fold(0, |mask, i| mask | u8::from(a[i] == b[i]) << i)
    }

    fn run<R>(self, f: impl FnOnce() -> R) -> R {
        f()
    }
}
