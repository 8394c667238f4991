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

/// How many rows of the matrix are done together: those of a cache line of a column.
pub const ROWS: usize = 64;

/// How many of them are transformed side by side.
const LANES: usize = 16;

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
    bytes: Vec<[u8; ROWS]>,
    work: Vec<u32>,
    sums: Vec<u32>,
}

impl Scratch {
    /// Room for [`ROWS`] rows.
    pub fn new() -> Self {
        Scratch {
            bytes: vec![[0; ROWS]; DEGREE],
            work: vec![0; DEGREE * LANES],
            sums: vec![0; PRIMES * DEGREE * ROWS],
        }
    }
}

/// The values of `A_r/d` for the [`ROWS`] rows from `first` on: for each prime and point of the
/// transform, the rows side by side.
pub fn values(
    table: &[u8],
    layout: &Layout,
    multipliers: &Multipliers,
    first: usize,
    scratch: &mut Scratch,
) -> Vec<u32> {
    let Scratch { bytes, work, sums } = scratch;
    sums.fill(0);
    for (number, factors) in multipliers.0.iter().enumerate() {
        let columns = (layout.columns - number * DEGREE).min(DEGREE);
        for (j, bytes) in bytes[..columns].iter_mut().enumerate() {
            *bytes = line(layout.column(table, number * DEGREE + j), first);
        }
        let reduce = number % LAZY_SUMS == LAZY_SUMS - 1;
        for (prime, factors) in factors.iter().enumerate() {
            let sums = &mut sums[prime * DEGREE * ROWS..][..DEGREE * ROWS];
            for lanes in 0..ROWS / LANES {
                add_products(prime, &bytes[..columns], lanes, factors, work, sums);
            }
            if reduce {
                reduce_all(prime, sums);
            }
        }
    }
    for (prime, sums) in sums.chunks_exact_mut(DEGREE * ROWS).enumerate() {
        reduce_all(prime, sums);
    }
    let mut out = sums.clone();
    // Rows beyond a column's end are no rows.
    let rows = layout.column_bytes.saturating_sub(first).min(ROWS);
    for out in out.chunks_exact_mut(ROWS) {
        out[rows..].fill(0);
    }
    out
}

/// Adds to `sums`, at every point, the product of one public polynomial and the rows' polynomials of
/// the columns `bytes`, for one run of [`LANES`] rows.
fn add_products(
    prime: usize,
    bytes: &[[u8; ROWS]],
    lanes: usize,
    factors: &[Factor],
    work: &mut [u32],
    sums: &mut [u32],
) {
    let transform = &RING.transforms()[prime];
    let modulus = transform.modulus();
    let lanes = lanes * LANES;
    vectorised(
        #[inline(always)]
        || {
            for (work, bytes) in work.chunks_exact_mut(LANES).zip(bytes) {
                for (work, byte) in work.iter_mut().zip(&bytes[lanes..lanes + LANES]) {
                    let byte = i32::from(*byte as i8);
                    *work = (byte as u32).wrapping_add((byte >> 31) as u32 & modulus.prime());
                }
            }
        },
    );
    // Columns that the table does not have weigh nothing.
    work[bytes.len() * LANES..].fill(0);
    transform.forward(work, LANES);
    // τ_(−1) takes the value at ψ^u from ψ^(−u), which is at the mirrored position.
    let mirrored = work.chunks_exact(LANES).rev();
    transform.add_products(&mut sums[lanes..], ROWS, mirrored, factors);
}

/// Reduces sums of lazy products.
fn reduce_all(prime: usize, sums: &mut [u32]) {
    let modulus = RING.transforms()[prime].modulus();
    let one = modulus.factor(1);
    vectorised(
        #[inline(always)]
        || {
            for sum in sums.iter_mut() {
                *sum = modulus.once(modulus.mul_lazy(*sum, one));
            }
        },
    );
}

/// [`ROWS`] bytes of a column; 0 where it ends.
fn line(column: &[u8], first: usize) -> [u8; ROWS] {
    let rest = column.get(first..).unwrap_or(&[]);
    match rest.first_chunk() {
        Some(bytes) => *bytes,
        None => core::array::from_fn(|i| rest.get(i).copied().unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hintless::public;
    use crate::ring::Evaluations;
    use crate::shape::Shape;

    /// `A_r` by its definition: integers, no transform.
    fn definition(table: &[u8], layout: &Layout, publics: &[Evaluations], r: usize) -> Vec<u64> {
        let q = i128::from(RING.modulus());
        let mut sum = vec![0i128; DEGREE];
        for (number, public) in publics.iter().enumerate() {
            let public = RING.into_integers(public.clone());
            for j in 0..DEGREE.min(layout.columns - number * DEGREE) {
                let column = layout.column(table, number * DEGREE + j);
                let byte = i128::from(column.get(r).copied().unwrap_or(0) as i8);
                // byte · X^(−j) · a: the coefficients of a, j places down, negated below zero.
                for (i, sum) in sum.iter_mut().enumerate() {
                    let from = i128::from(public[(i + j) % DEGREE]);
                    *sum += if i + j < DEGREE { byte * from } else { -byte * from };
                }
            }
        }
        sum.into_iter().map(|x| x.rem_euclid(q) as u64).collect()
    }

    #[test]
    fn first_parts_are_the_tables_products_with_the_public_polynomials() {
        // 2,100 columns: one polynomial, and a bit of another; the last column is short.
        let shape = Shape::new(62_990, 67).expect("a shape");
        let layout = Layout::new(shape, 1).expect("a layout");
        assert_eq!((layout.columns, layout.column_bytes), (2100, 2010));
        let table: Vec<u8> =
            (0..shape.table_bytes() as u64).map(|i| ((i * i * 31) >> 7) as u8).collect();
        let publics = public::query_polynomials(&[5; 32], layout.polynomials());
        let multipliers = Multipliers::new(&publics);
        let mut scratch = Scratch::new();
        for first in [0, 1984] {
            let got = values(&table, &layout, &multipliers, first, &mut scratch);
            for lane in [0, 25, 26, 63] {
                let values = got.iter().skip(lane).step_by(ROWS).copied().collect();
                let mut values = RING.evaluations(values);
                RING.scale(&mut values, DEGREE as u32);
                let expected = if first + lane < layout.column_bytes {
                    definition(&table, &layout, &publics, first + lane)
                } else {
                    vec![0; DEGREE]
                };
                assert_eq!(RING.into_integers(values), expected, "row {}", first + lane);
            }
        }
    }
}
