//! Sums Σ z_j·X_j, eight of them at a time with the same z_j: Pippenger's method.
//!
//! Lane i sums elements i, i + 8, i + 16, …; that all lanes have the same coefficients means that the
//! same bucket is meant in each, and that it is loaded and stored like any vector.

use curve25519_dalek::ristretto::CompressedRistretto;
use curve25519_dalek::{RistrettoPoint, Scalar};

use super::codec::{decode, encode};
use super::point::{CachedAffine, Extended};
use super::unit::{LANES, Mask, Unit};

/// A coefficient Σ bₖ·256ᵏ, the bytes signed: 2¹²⁸ numbers, as different modulo ℓ as the bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coefficient(pub(crate) [i8; DIGITS]);

const DIGITS: usize = 16;

/// One for each magnitude of a digit but zero.
const BUCKETS: usize = 128;

/// How many vectors of elements are decoded before they are added: half a megabyte, which is as
/// far away as the second-level cache; so are the 160 KiB of a digit's buckets.
const BATCH: usize = 512;

impl Coefficient {
    /// The number.
    pub(crate) fn scalar(&self) -> Scalar {
        let (mut bytes, mut borrowed) = ([0; 32], [0; 32]);
        for (k, digit) in self.0.iter().enumerate() {
            bytes[k] = digit.cast_unsigned();
            borrowed[k + 1] = u8::from(*digit < 0);
        }
        // Both far below ℓ.
        Scalar::from_bytes_mod_order(bytes) - Scalar::from_bytes_mod_order(borrowed)
    }
}

/// The eight sums; the place of what is no element, if there is such.
///
/// # Panics
/// If there are not as many coefficients as eights of elements, begun ones included.
pub(super) fn sums<U: Unit>(
    u: U,
    coefficients: &[Coefficient],
    encodings: &[[u8; 32]],
) -> Result<[RistrettoPoint; LANES], usize> {
    assert_eq!(coefficients.len(), encodings.len().div_ceil(LANES), "a coefficient for each eight");
    let mut buckets = vec![Extended::identity(u); DIGITS * BUCKETS];
    let mut elements = Vec::with_capacity(coefficients.len().min(BATCH));
    let batches = coefficients.chunks(BATCH).zip(encodings.chunks(BATCH * LANES));
    for (batch, (coefficients, encodings)) in batches.enumerate() {
        elements.clear();
        for (at, eight) in encodings.chunks(LANES).enumerate() {
            let (valid, element) = cached(u, eight);
            let place = valid.trailing_ones() as usize;
            if place < eight.len() {
                return Err((batch * BATCH + at) * LANES + place);
            }
            elements.push(element);
        }
        for (digit, buckets) in buckets.chunks_mut(BUCKETS).enumerate() {
            distribute(u, digit, coefficients, &elements, buckets);
        }
    }
    let encodings = total(u, &buckets);
    Ok(encodings.map(|sum| {
        // What was encoded a line above decodes.
        CompressedRistretto(sum).decompress().expect("an encoding")
    }))
}

fn cached<U: Unit>(u: U, encodings: &[[u8; 32]]) -> (Mask, CachedAffine<U>) {
    u.run(
        #[inline(always)]
        || {
            let (valid, point) = decode(u, encodings);
            (valid, point.cached_affine(u))
        },
    )
}

/// Adds each element to the bucket of its coefficient's digit.
fn distribute<U: Unit>(
    u: U,
    digit: usize,
    coefficients: &[Coefficient],
    elements: &[CachedAffine<U>],
    buckets: &mut [Extended<U>],
) {
    u.run(
        #[inline(always)]
        || {
            for (coefficient, element) in coefficients.iter().zip(elements) {
                let digit = coefficient.0[digit];
                let Some(bucket) = usize::from(digit.unsigned_abs()).checked_sub(1) else {
                    continue;
                };
                let negative = (digit >> 7).cast_unsigned();
                buckets[bucket] = buckets[bucket].add_affine(element, negative).extended();
            }
        },
    );
}

/// Σ 256ᵏ · Σ m·bucket(k, m).
fn total<U: Unit>(u: U, buckets: &[Extended<U>]) -> [[u8; 32]; LANES] {
    u.run(
        #[inline(always)]
        || {
            let mut total = Extended::identity(u);
            for buckets in buckets.chunks(BUCKETS).rev() {
                for _ in 0..8 {
                    total = total.projective().double().extended();
                }
                // A bucket is in as many of the running sums as its magnitude says.
                let mut running = Extended::identity(u);
                for bucket in buckets.iter().rev() {
                    running = running.add(&bucket.cached(u), 0).extended();
                    total = total.add(&running.cached(u), 0).extended();
                }
            }
            encode(u, &total)
        },
    )
}

#[cfg(test)]
mod tests;
