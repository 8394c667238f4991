//! All rows at once: one random linear combination (docs/tracedge.md §7.3).

use core::fmt;

use curve25519_dalek::ristretto::CompressedRistretto;
use curve25519_dalek::traits::{Identity, VartimeMultiscalarMul};
use curve25519_dalek::{RistrettoPoint, Scalar};
use slyfi_base::SecureRandom;
use zeroize::Zeroizing;

use crate::directory::KEY_BYTES;
use crate::epoch::{EpochSecret, ROW_BYTES};
use crate::keys::PublicKey;
use crate::merkle::sha256;
use crate::pieces::Work;
use crate::random::SeededRandom;

/// Rows of a piece: enough for the multi-scalar multiplication to be at its best, few enough for
/// its points (160 bytes each) to stay in the second-level cache.
const ROWS_PER_PIECE: usize = 8_192;

/// Why a whole table did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WholeError {
    /// Table and directory have different numbers of rows, or none.
    Length,
    /// The directory holds no key for this row.
    NotAKey(u64),
    /// These rows are not what K and their keys give.
    WrongRows(Vec<u64>),
    /// The progress callback asked to stop.
    Stopped,
}

impl fmt::Display for WholeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WholeError::Length => f.write_str("table and directory do not have the same rows"),
            WholeError::NotAKey(row) => write!(f, "row {row} of the directory holds no key"),
            WholeError::WrongRows(rows) => {
                let first = rows.first().copied().unwrap_or_default();
                write!(f, "{} rows are not what K gives, the first is {first}", rows.len())
            }
            WholeError::Stopped => f.write_str("the audit was stopped"),
        }
    }
}

impl std::error::Error for WholeError {}

/// Secret coefficients, and the sum of a directory's keys under them: what an auditor keeps from
/// epoch to epoch, so that the next audit needs only the rows.
///
/// # Security
/// The coefficients stay secret. An operator that knew them could make wrong rows cancel out; from
/// an audit's outcome it learns nothing about them.
#[derive(Clone)]
pub struct KeySum {
    seed: Zeroizing<[u8; 32]>,
    rows: u64,
    sum: RistrettoPoint,
}

impl fmt::Debug for KeySum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySum {{ rows: {}, secrets: <hidden> }}", self.rows)
    }
}

/// Coefficients of piece `piece`: 128 random bits each.
fn coefficients(seed: &[u8; 32], piece: u64, rows: usize) -> Vec<Scalar> {
    let mut rng = SeededRandom::new(sha256(&[seed, &piece.to_le_bytes()]));
    let mut bytes = vec![0; rows * 16];
    rng.fill(&mut bytes);
    let scalar = |low: &[u8; 16]| {
        let mut wide = [0; 32];
        wide[..16].copy_from_slice(low);
        // Below 2^128, so below ℓ: reduction does not change it.
        Scalar::from_bytes_mod_order(wide)
    };
    bytes.as_chunks().0.iter().map(scalar).collect()
}

fn piece_of(list: &[[u8; 32]], piece: u64) -> &[[u8; 32]] {
    let first = piece as usize * ROWS_PER_PIECE;
    &list[first..list.len().min(first + ROWS_PER_PIECE)]
}

fn pieces(rows: u64) -> u64 {
    rows.div_ceil(ROWS_PER_PIECE as u64)
}

/// Σ z_i·X_i over one piece; the place of what is no element, if there is such.
fn combine(z: &[Scalar], encodings: &[[u8; 32]]) -> Result<RistrettoPoint, usize> {
    let mut points = Vec::with_capacity(encodings.len());
    for (at, bytes) in encodings.iter().enumerate() {
        points.push(CompressedRistretto(*bytes).decompress().ok_or(at)?);
    }
    Ok(RistrettoPoint::vartime_multiscalar_mul(z, &points))
}

impl KeySum {
    /// Draws coefficients and sums the list `keys`.
    ///
    /// # Errors
    /// [`WholeError`] if the list is none, or it was told to stop.
    pub fn new(
        keys: &[u8],
        rng: &mut dyn SecureRandom,
        work: &Work<'_>,
    ) -> Result<Self, WholeError> {
        let (keys, rest) = keys.as_chunks::<KEY_BYTES>();
        if keys.is_empty() || !rest.is_empty() {
            return Err(WholeError::Length);
        }
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill(&mut *seed);
        let rows = keys.len() as u64;
        let sums = work
            .run(pieces(rows), |piece| {
                let keys = piece_of(keys, piece);
                combine(&coefficients(&seed, piece, keys.len()), keys)
                    .map_err(|at| piece * ROWS_PER_PIECE as u64 + at as u64)
            })
            .ok_or(WholeError::Stopped)?;
        let mut sum = RistrettoPoint::identity();
        for piece in sums {
            sum += piece.map_err(WholeError::NotAKey)?;
        }
        Ok(KeySum { seed, rows, sum })
    }

    /// Follows a change of the directory: the key of row `index` was `old` and is `new`.
    ///
    /// # Errors
    /// [`WholeError::NotAKey`] if either is no key, [`WholeError::Length`] if there is no such row.
    pub fn replace(
        &mut self,
        index: u64,
        old: &[u8; KEY_BYTES],
        new: &[u8; KEY_BYTES],
    ) -> Result<(), WholeError> {
        if index >= self.rows {
            return Err(WholeError::Length);
        }
        let decode = |key| PublicKey::decode(key).map_err(|_| WholeError::NotAKey(index));
        let piece = index / ROWS_PER_PIECE as u64;
        let at = (index % ROWS_PER_PIECE as u64) as usize;
        let z = coefficients(&self.seed, piece, at + 1)[at];
        self.sum += (decode(new)?.point() - decode(old)?.point()) * z;
        Ok(())
    }

    /// Checks a whole table against K. `keys` is read only to find wrong rows, if there are any.
    ///
    /// A table with a wrong row passes with probability at most 2⁻¹²⁸.
    ///
    /// # Errors
    /// [`WholeError`]: the wrong rows, if there are some.
    pub fn check(
        &self,
        secret: &EpochSecret,
        table: &[u8],
        keys: &[u8],
        work: &Work<'_>,
    ) -> Result<(), WholeError> {
        let (rows, rest) = table.as_chunks::<ROW_BYTES>();
        let (keys, keys_rest) = keys.as_chunks::<KEY_BYTES>();
        let whole = rest.is_empty() && keys_rest.is_empty() && rows.len() == keys.len();
        if !whole || rows.len() as u64 != self.rows {
            return Err(WholeError::Length);
        }
        let sums = work
            .run(pieces(self.rows), |piece| {
                let rows = piece_of(rows, piece);
                let z = coefficients(&self.seed, piece, rows.len());
                (combine(&z, rows).ok(), z.iter().sum::<Scalar>())
            })
            .ok_or(WholeError::Stopped)?;
        let mut left = Some(RistrettoPoint::identity());
        let mut weight = Scalar::ZERO;
        for (piece, z) in sums {
            left = left.zip(piece).map(|(all, piece)| all + piece);
            weight += z;
        }
        let right = secret.message() * weight + self.sum * secret.ephemeral();
        if left == Some(right) {
            return Ok(());
        }
        let wrong = wrong_rows(secret, rows, keys, work)?;
        // The sum says that there is one; if none is found, the directory is not the summed one.
        if wrong.is_empty() { Err(WholeError::Length) } else { Err(WholeError::WrongRows(wrong)) }
    }
}

/// Recomputes all rows and returns those that differ.
fn wrong_rows(
    secret: &EpochSecret,
    rows: &[[u8; ROW_BYTES]],
    keys: &[[u8; KEY_BYTES]],
    work: &Work<'_>,
) -> Result<Vec<u64>, WholeError> {
    let pieces = work
        .run(pieces(rows.len() as u64), |piece| {
            let (rows, keys) = (piece_of(rows, piece), piece_of(keys, piece));
            let first = piece * ROWS_PER_PIECE as u64;
            let mut halves = Vec::with_capacity(keys.len());
            for (at, key) in keys.iter().enumerate() {
                let key = PublicKey::decode(key).map_err(|_| first + at as u64)?;
                halves.push(secret.half_row(key.point()));
            }
            let right = RistrettoPoint::double_and_compress_batch(&halves);
            let differ = rows
                .iter()
                .zip(right)
                .enumerate()
                .filter(|(_, (is, should))| should.as_bytes() != *is);
            Ok(differ.map(|(at, _)| first + at as u64).collect::<Vec<_>>())
        })
        .ok_or(WholeError::Stopped)?;
    let mut wrong = Vec::new();
    for piece in pieces {
        wrong.extend(piece.map_err(WholeError::NotAKey)?);
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::{Epoch, EpochKey};
    use crate::keys::{OperatorId, SecretKey};
    use crate::table;
    use core::num::NonZeroUsize;
    use std::sync::Mutex;

    struct World {
        secret: EpochSecret,
        keys: Vec<u8>,
        table: Vec<u8>,
    }

    fn world(rows: usize, epoch: u64) -> World {
        let rng = &mut SeededRandom::new([1; 32]);
        let owners: Vec<_> = (0..rows.min(50)).map(|_| SecretKey::generate(rng)).collect();
        let key = |i: usize| owners[i % owners.len()].public().as_bytes();
        let keys: Vec<u8> = (0..rows).flat_map(|i| *key(i)).collect();
        let operator = OperatorId([1; 32]);
        let epoch = Epoch { operator, number: epoch, not_before: 1, not_after: 2 };
        let secret = EpochSecret::derive(&epoch, EpochKey::generate(rng));
        let sink = Mutex::new(Vec::new());
        table::build(&secret, &keys, owners[0].public(), &sink, &Work::quiet()).unwrap();
        World { secret, keys, table: sink.into_inner().unwrap() }
    }

    #[test]
    fn an_honest_table_passes_and_a_single_wrong_row_is_found() {
        let rows = ROWS_PER_PIECE + 100;
        let World { secret, keys, table } = world(rows, 3);
        let rng = &mut SeededRandom::new([2; 32]);
        let work = Work { workers: NonZeroUsize::new(2).unwrap(), ..Work::quiet() };
        let sum = KeySum::new(&keys, rng, &work).unwrap();
        assert_eq!(sum.check(&secret, &table, &keys, &work), Ok(()));
        for row in [0, ROWS_PER_PIECE - 1, rows - 1] {
            // Another subscriber's row: an element, and a right row, in the wrong place.
            let mut wrong = table.clone();
            let other = table[((row + 1) % rows) * 32..][..32].to_vec();
            wrong[row * 32..][..32].copy_from_slice(&other);
            let found = sum.check(&secret, &wrong, &keys, &work);
            assert_eq!(found, Err(WholeError::WrongRows(vec![row as u64])));
            // Not even an element.
            wrong[row * 32..][..32].fill(0xff);
            let found = sum.check(&secret, &wrong, &keys, &work);
            assert_eq!(found, Err(WholeError::WrongRows(vec![row as u64])));
        }
    }

    #[test]
    fn wrong_rows_that_cancel_out_without_coefficients_do_not_cancel_with_them() {
        let World { secret, keys, table } = world(100, 3);
        let sum = KeySum::new(&keys, &mut SeededRandom::new([3; 32]), &Work::quiet()).unwrap();
        let point = |i: usize| {
            CompressedRistretto(table[i * 32..][..32].try_into().unwrap()).decompress().unwrap()
        };
        let mut wrong = table.clone();
        let shift = RistrettoPoint::mul_base(&Scalar::from(5u8));
        wrong[..32].copy_from_slice(&(point(0) + shift).compress().to_bytes());
        wrong[32..64].copy_from_slice(&(point(1) - shift).compress().to_bytes());
        let found = sum.check(&secret, &wrong, &keys, &Work::quiet());
        assert_eq!(found, Err(WholeError::WrongRows(vec![0, 1])));
    }

    #[test]
    fn the_sum_serves_the_next_epoch_and_follows_changes_of_keys() {
        let World { mut keys, .. } = world(300, 3);
        let mut sum = KeySum::new(&keys, &mut SeededRandom::new([4; 32]), &Work::quiet()).unwrap();
        let World { secret, table, .. } = world(300, 4);
        assert_eq!(sum.check(&secret, &table, &keys, &Work::quiet()), Ok(()));
        let new = SecretKey::generate(&mut SeededRandom::new([5; 32]));
        let old: [u8; 32] = keys[250 * 32..][..32].try_into().unwrap();
        sum.replace(250, &old, new.public().as_bytes()).unwrap();
        keys[250 * 32..][..32].copy_from_slice(new.public().as_bytes());
        let sink = Mutex::new(Vec::new());
        table::build(&secret, &keys, new.public(), &sink, &Work::quiet()).unwrap();
        let table = sink.into_inner().unwrap();
        assert_eq!(sum.check(&secret, &table, &keys, &Work::quiet()), Ok(()));
        assert!(sum.replace(300, &old, &old).is_err());
    }

    #[test]
    fn another_k_fails_everywhere() {
        let World { secret, keys, .. } = world(10, 3);
        let World { table, .. } = world(10, 4);
        let sum = KeySum::new(&keys, &mut SeededRandom::new([6; 32]), &Work::quiet()).unwrap();
        let found = sum.check(&secret, &table, &keys, &Work::quiet());
        assert_eq!(found, Err(WholeError::WrongRows((0..10).collect())));
        assert_eq!(
            sum.check(&secret, &table[32..], &keys, &Work::quiet()),
            Err(WholeError::Length)
        );
    }
}
