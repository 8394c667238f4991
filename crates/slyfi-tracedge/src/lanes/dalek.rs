//! The same with `curve25519-dalek`: for machines without the vector unit, and to be compared with.

use curve25519_dalek::RistrettoPoint;
use curve25519_dalek::ristretto::CompressedRistretto;
use curve25519_dalek::traits::VartimeMultiscalarMul;

use super::LANES;
use super::sums::Coefficient;
use crate::epoch::EpochSecret;

fn decode(encodings: &[[u8; 32]]) -> Result<Vec<RistrettoPoint>, usize> {
    let decode =
        |(at, bytes): (usize, &[u8; 32])| CompressedRistretto(*bytes).decompress().ok_or(at);
    encodings.iter().enumerate().map(decode).collect()
}

/// As [`super::ladder::rows`].
pub(super) fn rows(
    secret: &EpochSecret,
    keys: &[[u8; 32]],
    out: &mut [[u8; 32]],
) -> Result<(), usize> {
    let halves: Vec<_> = decode(keys)?.iter().map(|key| secret.half_row(key)).collect();
    for (out, row) in out.iter_mut().zip(RistrettoPoint::double_and_compress_batch(&halves)) {
        *out = row.to_bytes();
    }
    Ok(())
}

/// As [`super::sums::sums`].
pub(super) fn sums(
    coefficients: &[Coefficient],
    encodings: &[[u8; 32]],
) -> Result<[RistrettoPoint; LANES], usize> {
    let points = decode(encodings)?;
    let coefficients: Vec<_> = coefficients.iter().map(Coefficient::scalar).collect();
    Ok(core::array::from_fn(|lane| {
        let points: Vec<_> = points.iter().skip(lane).step_by(LANES).collect();
        RistrettoPoint::vartime_multiscalar_mul(&coefficients[..points.len()], points)
    }))
}
