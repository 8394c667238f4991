//! All rows at once: one random linear combination (docs/tracedge.md §7.3).

use core::fmt;

use curve25519_dalek::{RistrettoPoint, Scalar};
use slyfi_base::SecureRandom;
use zeroize::Zeroizing;

use crate::directory::KEY_BYTES;
use crate::epoch::{EpochSecret, ROW_BYTES};
use crate::keys::PublicKey;
use crate::lanes::{Backend, Coefficient, LANES, RowMaker};
use crate::merkle::sha256;
use crate::pieces::Work;
use crate::random::SeededRandom;

/// Rows of a piece: enough for the sums' buckets to cost little beside it (one bucket for 16 rows),
/// few enough for a piece to take milliseconds.
const ROWS_PER_PIECE: usize = 32_768;

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

/// Secret coefficients, and the sums of a directory's keys under them: what an auditor keeps from
/// epoch to epoch, so that the next audit needs only the rows.
///
/// The rows of a piece are summed in eight lanes, each on its own: row i in lane i mod 8. The lanes have
/// the same coefficients, and each has its own equation.
///
/// # Security
/// The coefficients stay secret. An operator that knew them could make wrong rows cancel out; from
/// an audit's outcome it learns nothing about them.
#[derive(Clone)]
pub struct KeySum {
    backend: Backend,
    seed: Zeroizing<[u8; 32]>,
    rows: u64,
    pieces: Vec<[RistrettoPoint; LANES]>,
}

impl fmt::Debug for KeySum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySum {{ rows: {}, secrets: <hidden> }}", self.rows)
    }
}

/// Coefficients of piece `piece`, the first `count`: 128 random bits each.
fn coefficients(seed: &[u8; 32], piece: u64, count: usize) -> Vec<Coefficient> {
    let mut rng = SeededRandom::new(sha256(&[seed, &piece.to_le_bytes()]));
    let mut bytes = vec![0; count * 16];
    rng.fill(&mut bytes);
    let signed = |bytes: &[u8; 16]| Coefficient(bytes.map(u8::cast_signed));
    bytes.as_chunks().0.iter().map(signed).collect()
}

/// For each lane, the sum of the coefficients of its rows.
fn weights(coefficients: &[Coefficient], rows: usize) -> [Scalar; LANES] {
    let whole = rows / LANES;
    let all: Scalar = coefficients[..whole].iter().map(Coefficient::scalar).sum();
    let last = coefficients.get(whole).map_or(Scalar::ZERO, Coefficient::scalar);
    core::array::from_fn(|lane| if lane < rows % LANES { all + last } else { all })
}

fn piece_of(list: &[[u8; 32]], piece: u64) -> &[[u8; 32]] {
    let first = piece as usize * ROWS_PER_PIECE;
    &list[first..list.len().min(first + ROWS_PER_PIECE)]
}

fn pieces(rows: u64) -> u64 {
    rows.div_ceil(ROWS_PER_PIECE as u64)
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
        Self::new_with(Backend::detect(), keys, rng, work)
    }

    /// [`KeySum::new`] on a back end of the caller's choice, on which its checks will run too.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// If this machine does not have the back end.
    pub fn new_with(
        backend: Backend,
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
                let z = coefficients(&seed, piece, keys.len().div_ceil(LANES));
                let first = piece * ROWS_PER_PIECE as u64;
                backend.sums(&z, keys).map_err(|at| WholeError::NotAKey(first + at as u64))
            })
            .ok_or(WholeError::Stopped)?;
        let pieces = sums.into_iter().collect::<Result<_, _>>()?;
        Ok(KeySum { backend, seed, rows, pieces })
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
        let z = coefficients(&self.seed, piece, at / LANES + 1)[at / LANES].scalar();
        let change = (decode(new)?.point() - decode(old)?.point()) * z;
        self.pieces[piece as usize][at % LANES] += change;
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
        let passed = work
            .run(pieces(self.rows), |piece| self.piece_passes(secret, piece, piece_of(rows, piece)))
            .ok_or(WholeError::Stopped)?;
        let failed: Vec<u64> = (0..).zip(passed).filter(|p| !p.1).map(|p| p.0).collect();
        if failed.is_empty() {
            return Ok(());
        }
        let wrong = wrong_rows(&RowMaker::new(self.backend, secret), rows, keys, &failed, work)?;
        // A sum says that there is one; if none is found, the directory is not the summed one.
        if wrong.is_empty() { Err(WholeError::Length) } else { Err(WholeError::WrongRows(wrong)) }
    }

    /// Whether the equation of each lane of a piece holds.
    fn piece_passes(&self, secret: &EpochSecret, piece: u64, rows: &[[u8; ROW_BYTES]]) -> bool {
        let z = coefficients(&self.seed, piece, rows.len().div_ceil(LANES));
        let Ok(left) = self.backend.sums(&z, rows) else { return false };
        let weights = weights(&z, rows.len());
        let keys = &self.pieces[piece as usize];
        (0..LANES).all(|lane| {
            left[lane] == secret.message() * weights[lane] + keys[lane] * secret.ephemeral()
        })
    }
}

/// Recomputes all rows of `pieces` and returns those that differ.
fn wrong_rows(
    maker: &RowMaker<'_>,
    rows: &[[u8; ROW_BYTES]],
    keys: &[[u8; KEY_BYTES]],
    pieces: &[u64],
    work: &Work<'_>,
) -> Result<Vec<u64>, WholeError> {
    let found = work
        .run(pieces.len() as u64, |i| {
            let piece = pieces[i as usize];
            let first = piece * ROWS_PER_PIECE as u64;
            let right = maker
                .rows(piece_of(keys, piece))
                .map_err(|at| WholeError::NotAKey(first + at as u64))?;
            let pairs = (first..).zip(piece_of(rows, piece).iter().zip(right));
            let wrong = pairs.filter(|(_, (is, should))| *is != should);
            Ok(wrong.map(|(row, _)| row).collect::<Vec<_>>())
        })
        .ok_or(WholeError::Stopped)?;
    let mut wrong = Vec::new();
    for piece in found {
        wrong.extend(piece?);
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
    use curve25519_dalek::ristretto::CompressedRistretto;
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

    fn back_ends() -> impl Iterator<Item = Backend> {
        Backend::ALL.into_iter().filter(|backend| backend.is_available())
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
        // Wrong rows of several pieces are named in order.
        let mut wrong = table.clone();
        for row in [5, rows - 2] {
            wrong[row * 32..][..32].fill(0);
        }
        let found = sum.check(&secret, &wrong, &keys, &work);
        assert_eq!(found, Err(WholeError::WrongRows(vec![5, rows as u64 - 2])));
    }

    #[test]
    fn a_wrong_row_is_seen_wherever_it_stands_in_ten_thousand() {
        let rows = 10_000;
        let World { secret, keys, table } = world(rows, 3);
        let full = std::env::var_os("SLYFI_FULL").is_some();
        for backend in back_ends() {
            let rng = &mut SeededRandom::new([2; 32]);
            let sum = KeySum::new_with(backend, &keys, rng, &Work::quiet()).unwrap();
            let (table, _) = table.as_chunks::<32>();
            assert!(sum.piece_passes(&secret, 0, table));
            // Every lane, the ends, and every 509th; all with `SLYFI_FULL`.
            let ends = (0..8).chain(rows - 9..rows);
            let places: Vec<usize> = if full {
                (0..rows).collect()
            } else {
                ends.chain((0..rows).step_by(509)).collect()
            };
            for row in places {
                let mut wrong = table.to_vec();
                wrong[row] = table[(row + 1) % rows];
                assert!(!sum.piece_passes(&secret, 0, &wrong), "{row} on {}", backend.name());
            }
        }
    }

    #[test]
    fn rows_that_change_places_are_found_on_every_back_end() {
        // All sums of rows stay the same, in and across lanes: only the coefficients tell.
        let World { secret, keys, table } = world(100, 3);
        for backend in back_ends() {
            let rng = &mut SeededRandom::new([7; 32]);
            let sum = KeySum::new_with(backend, &keys, rng, &Work::quiet()).unwrap();
            assert_eq!(sum.check(&secret, &table, &keys, &Work::quiet()), Ok(()));
            for (one, other) in [(0, 1), (0, 8), (41, 97), (98, 99)] {
                let (mut wrong, (rows, _)) = (table.clone(), table.as_chunks::<32>());
                wrong[one * 32..][..32].copy_from_slice(&rows[other]);
                wrong[other * 32..][..32].copy_from_slice(&rows[one]);
                let found = sum.check(&secret, &wrong, &keys, &Work::quiet());
                let both = vec![one as u64, other as u64];
                assert_eq!(found, Err(WholeError::WrongRows(both)), "{}", backend.name());
            }
        }
    }

    #[test]
    fn back_ends_sum_alike() {
        let World { secret, keys, table } = world(1_003, 3);
        let sums: Vec<_> = back_ends()
            .map(|backend| {
                let rng = &mut SeededRandom::new([8; 32]);
                KeySum::new_with(backend, &keys, rng, &Work::quiet()).unwrap()
            })
            .collect();
        assert!(sums.iter().all(|sum| sum.pieces == sums[0].pieces));
        // One's sums serve the other's check, and its failure.
        let mut wrong = table.clone();
        wrong[1_002 * 32..].fill(0);
        for backend in back_ends() {
            let mut sum = sums[0].clone();
            sum.backend = backend;
            assert_eq!(sum.check(&secret, &table, &keys, &Work::quiet()), Ok(()));
            let found = sum.check(&secret, &wrong, &keys, &Work::quiet());
            assert_eq!(found, Err(WholeError::WrongRows(vec![1_002])));
        }
    }

    #[test]
    fn says_which_row_of_the_directory_holds_no_key() {
        let World { keys, .. } = world(300, 3);
        for backend in back_ends() {
            let mut keys = keys.clone();
            keys[123 * 32..][..32].fill(0xff);
            let rng = &mut SeededRandom::new([9; 32]);
            let sum = KeySum::new_with(backend, &keys, rng, &Work::quiet());
            assert_eq!(sum.unwrap_err(), WholeError::NotAKey(123));
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
