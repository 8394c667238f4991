//! The first parts of the answer's ciphertexts: the table times the public polynomials.
//!
//! In a query the ciphertexts of the columns `κd … κd+d−1` are the coefficients of `b_κ = a_κ·s + …`.
//! Byte `r` of the answer sums them, weighted by the bytes `D_(r,j)` as signed
//! numbers, which is the constant coefficient
//! of `Σ_κ τ_(−1)(D_(r,κ)) · b_κ` with `D_(r,κ) = Σ_j D_(r,κd+j)·X^j`, because `X^j` is `X^(−j)` turned
//! round. So `A_r = Σ_κ τ_(−1)(D_(r,κ)) · a_κ`.

use super::parameters::{DEGREE, Layout, RING};
use crate::ring::rns::PRIMES;
use crate::ring::vector::vectorised;
use crate::ring::{Evaluations, Factor};

/// How many rows of the matrix are done side by side.
pub const LANES: usize = 16;

/// How many lazy products, each below 2p < 2^26, may be added up in 32 bits, besides a residue.
const LAZY_SUMS: usize = 60;

/// The public polynomials `a_κ`, divided by the degree: what [`packing`](super::packing) needs.
pub struct Multipliers(Vec<[Vec<Factor>; PRIMES]>);

impl Multipliers {
    /// Of the polynomials `a_κ`.
    pub fn new(polynomials: &[Evaluations]) -> Self {
        let factors = |polynomial: &Evaluations| {
            let parts: [_; PRIMES] = core::array::from_fn(|prime| {
                let modulus = RING.transforms()[prime].modulus();
                let inverse = modulus.invert(DEGREE as u32);
                let values = polynomial.by_prime()[prime].iter();
                values.map(|v| modulus.factor(modulus.mul(*v, inverse))).collect()
            });
            parts
        };
        Multipliers(polynomials.iter().map(factors).collect())
    }
}

/// What a thread needs for [`values`].
pub struct Scratch {
    bytes: Vec<[u8; LANES]>,
    work: Vec<u32>,
    sums: Vec<u32>,
}

impl Scratch {
    /// Room for [`LANES`] rows.
    pub fn new() -> Self {
        Scratch {
            bytes: vec![[0; LANES]; DEGREE],
            work: vec![0; DEGREE * LANES],
            sums: vec![0; PRIMES * DEGREE * LANES],
        }
    }
}

/// The values of `A_r/d` for the [`LANES`] rows from `first` on: for each prime and point of the
/// transform, the rows side by side.
pub fn values(
    table: &[u8],
    layout: &Layout,
    multipliers: &Multipliers,
    first: usize,
    scratch: &mut Scratch,
) -> Vec<u32> {
    let Scratch { bytes, work, sums } = scratch;
    let rows = layout.column_bytes.saturating_sub(first).min(LANES);
    sums.fill(0);
    for (number, factors) in multipliers.0.iter().enumerate() {
        let columns = (layout.columns - number * DEGREE).min(DEGREE);
        for (j, bytes) in bytes[..columns].iter_mut().enumerate() {
            *bytes = lanes(layout.column(table, number * DEGREE + j), first);
        }
        for (prime, factors) in factors.iter().enumerate() {
            let transform = &RING.transforms()[prime];
            let modulus = transform.modulus();
            let sums = &mut sums[prime * DEGREE * LANES..][..DEGREE * LANES];
            let reduce = number % LAZY_SUMS == LAZY_SUMS - 1;
            vectorised(
                #[inline(always)]
                || {
                    for (work, bytes) in work.chunks_exact_mut(LANES).zip(&bytes[..columns]) {
                        for (work, byte) in work.iter_mut().zip(bytes) {
                            let byte = i32::from(*byte as i8);
                            *work =
                                (byte as u32).wrapping_add((byte >> 31) as u32 & modulus.prime());
                        }
                    }
                    // Columns that the table does not have weigh nothing.
                    work[columns * LANES..].fill(0);
                    transform.forward_inline(work, LANES);
                    // τ_(−1) takes the value at ψ^u from ψ^(−u), which is at the mirrored position.
                    let mirrored = work.chunks_exact(LANES).rev();
                    for ((sums, work), factor) in
                        sums.chunks_exact_mut(LANES).zip(mirrored).zip(factors)
                    {
                        for (sum, work) in sums.iter_mut().zip(work) {
                            *sum += modulus.mul_lazy(*work, *factor);
                        }
                    }
                    if reduce {
                        let one = modulus.factor(1);
                        for sum in sums.iter_mut() {
                            *sum = modulus.once(modulus.mul_lazy(*sum, one));
                        }
                    }
                },
            );
        }
    }
    let mut out = vec![0; sums.len()];
    for (prime, transform) in RING.transforms().iter().enumerate() {
        let part = prime * DEGREE * LANES..(prime + 1) * DEGREE * LANES;
        for (out, sum) in out[part.clone()].iter_mut().zip(&sums[part]) {
            *out = transform.modulus().reduce(u64::from(*sum));
        }
    }
    // Rows beyond a column's end are no rows.
    for out in out.chunks_exact_mut(LANES) {
        out[rows..].fill(0);
    }
    out
}

/// [`LANES`] bytes of a column; 0 where it ends.
fn lanes(column: &[u8], first: usize) -> [u8; LANES] {
    let rest = column.get(first..).unwrap_or(&[]);
    match rest.first_chunk() {
        Some(bytes) => *bytes,
        None => core::array::from_fn(|i| rest.get(i).copied().unwrap_or(0)),
    }
}
