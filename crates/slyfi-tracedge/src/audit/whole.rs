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
                let not_a_key =
                    |at: usize| WholeError::NotAKey(piece * ROWS_PER_PIECE as u64 + at as u64);
                // Zero can be summed, as rows may be, and its row M then fits: K would lie open.
                let zero = keys.iter().position(|key| key == &[0; KEY_BYTES]);
                match (backend.sums(&z, keys), zero) {
                    (Ok(sums), None) => Ok(sums),
                    (Ok(_), Some(zero)) => Err(not_a_key(zero)),
                    (Err(at), zero) => Err(not_a_key(zero.map_or(at, |zero| zero.min(at)))),
                }
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
mod tests;
