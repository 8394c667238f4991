//! Making the table of an epoch (docs/tracedge.md §4).

use std::io;
use std::sync::Mutex;

use crate::directory::KEY_BYTES;
use crate::epoch::{EpochSecret, ROW_BYTES};
use crate::head::ROWS_PER_LEAF;
use crate::keys::PublicKey;
use crate::lanes::{Backend, RowMaker};
use crate::merkle::{BlockTree, leaf_hash};
use crate::pieces::Work;

/// The rows of a piece of work: whole leaves of the tree, small enough to stay in cache, large
/// enough that compressing them in a batch pays.
const ROWS_PER_PIECE: usize = 16 * ROWS_PER_LEAF;

/// Where rows go as they are made, from several threads and in any order.
pub trait RowSink: Sync {
    /// Puts `rows` at row `first`.
    ///
    /// # Errors
    /// What the system said.
    fn put(&self, first: u64, rows: &[u8]) -> io::Result<()>;
}

/// A file.
impl RowSink for std::fs::File {
    fn put(&self, first: u64, rows: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(self, rows, first * ROW_BYTES as u64)
    }
}

/// Memory.
impl RowSink for Mutex<Vec<u8>> {
    fn put(&self, first: u64, rows: &[u8]) -> io::Result<()> {
        let mut all = self.lock().map_err(|_| io::Error::other("a thread that held it died"))?;
        let first = first as usize * ROW_BYTES;
        if all.len() < first + rows.len() {
            all.resize(first + rows.len(), 0);
        }
        all[first..first + rows.len()].copy_from_slice(rows);
        Ok(())
    }
}

/// Why a table was not made.
#[derive(Debug)]
pub enum BuildError {
    /// What the directory holds for this row is no key: the store is damaged.
    NotAKey(u64),
    /// The directory is no whole number of keys, or empty.
    Length,
    /// The rows could not be put where they belong.
    Io(io::Error),
    /// The progress callback asked to stop.
    Stopped,
}

impl core::fmt::Display for BuildError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            BuildError::NotAKey(row) => write!(f, "row {row} of the directory holds no key"),
            BuildError::Length => f.write_str("the directory is no whole number of keys"),
            BuildError::Io(e) => write!(f, "the table could not be written: {e}"),
            BuildError::Stopped => f.write_str("building the table was stopped"),
        }
    }
}

impl std::error::Error for BuildError {}

/// Makes the rows for the list `keys`, puts them into `sink`, and returns the tree over them.
///
/// # Security
/// Constant time in K. Which rows are vacant shows in the time, and in the table.
///
/// # Errors
/// [`BuildError`]; what is in the sink then is no table.
pub fn build(
    secret: &EpochSecret,
    keys: &[u8],
    vacant: &PublicKey,
    sink: &dyn RowSink,
    work: &Work<'_>,
) -> Result<BlockTree, BuildError> {
    build_with(Backend::detect(), secret, keys, vacant, sink, work)
}

/// [`build`] on a back end of the caller's choice. All make the same rows.
///
/// # Errors
/// As there.
///
/// # Panics
/// If this machine does not have the back end.
pub fn build_with(
    backend: Backend,
    secret: &EpochSecret,
    keys: &[u8],
    vacant: &PublicKey,
    sink: &dyn RowSink,
    work: &Work<'_>,
) -> Result<BlockTree, BuildError> {
    let (keys, rest) = keys.as_chunks::<KEY_BYTES>();
    if keys.is_empty() || !rest.is_empty() {
        return Err(BuildError::Length);
    }
    let vacant_row = secret.row(vacant);
    let maker = RowMaker::new(backend, secret);
    let pieces = keys.len().div_ceil(ROWS_PER_PIECE) as u64;
    let leaves = work
        .run(pieces, |piece| {
            let first = piece as usize * ROWS_PER_PIECE;
            let keys = &keys[first..keys.len().min(first + ROWS_PER_PIECE)];
            let rows = piece_of_rows(&maker, keys, vacant.as_bytes(), &vacant_row)
                .map_err(|at| BuildError::NotAKey((first + at) as u64))?;
            sink.put(first as u64, &rows).map_err(BuildError::Io)?;
            Ok(rows.chunks(ROWS_PER_LEAF * ROW_BYTES).map(leaf_hash).collect::<Vec<_>>())
        })
        .ok_or(BuildError::Stopped)?;
    let mut all = Vec::with_capacity(keys.len().div_ceil(ROWS_PER_LEAF));
    for leaves in leaves {
        all.extend(leaves?);
    }
    Ok(BlockTree::new(all))
}

/// The rows for some keys; the place of what is no key, if there is such.
fn piece_of_rows(
    maker: &RowMaker<'_>,
    keys: &[[u8; KEY_BYTES]],
    vacant: &[u8; KEY_BYTES],
    vacant_row: &[u8; ROW_BYTES],
) -> Result<Vec<u8>, usize> {
    let mut rows = vacant_row.repeat(keys.len());
    let places: Vec<_> = (0..keys.len()).filter(|at| &keys[*at] != vacant).collect();
    let taken: Vec<_> = places.iter().map(|at| keys[*at]).collect();
    let made = maker.rows(&taken).map_err(|at| places[at])?;
    let (out, _) = rows.as_chunks_mut::<ROW_BYTES>();
    for (at, row) in places.into_iter().zip(made) {
        out[at] = row;
    }
    Ok(rows)
}

/// The tree over a table that is at hand.
pub fn tree(table: &[u8]) -> BlockTree {
    BlockTree::new(table.chunks(ROWS_PER_LEAF * ROW_BYTES).map(leaf_hash).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::{Epoch, EpochKey};
    use crate::keys::{OperatorId, SecretKey};
    use crate::random::SeededRandom;
    use core::num::NonZeroUsize;

    fn secret() -> EpochSecret {
        let operator = OperatorId([1; 32]);
        let epoch = Epoch { operator, number: 3, not_before: 10, not_after: 20 };
        EpochSecret::derive(&epoch, EpochKey::from_bytes([0x5a; 16]))
    }

    #[test]
    fn rows_are_the_same_one_by_one_and_in_batches_on_threads() {
        let rng = &mut SeededRandom::new([1; 32]);
        let (secret, vacant) = (secret(), SecretKey::generate(rng));
        let owners: Vec<_> = (0..40).map(|_| SecretKey::generate(rng)).collect();
        // Two pieces and a bit, every fifth row vacant.
        let key = |i: usize| {
            if i % 5 == 4 { vacant.public() } else { owners[i % owners.len()].public() }
        };
        let n = 2 * ROWS_PER_PIECE + 17;
        let keys: Vec<u8> = (0..n).flat_map(|i| *key(i).as_bytes()).collect();
        let sink = Mutex::new(Vec::new());
        let workers = NonZeroUsize::new(3).unwrap();
        let work = Work { workers, ..Work::quiet() };
        let built = build(&secret, &keys, vacant.public(), &sink, &work).unwrap();
        let rows = sink.into_inner().unwrap();
        assert_eq!(rows.len(), n * ROW_BYTES);
        for i in [0, 4, 5, 63, 64, ROWS_PER_PIECE, n - 1] {
            assert_eq!(rows[i * ROW_BYTES..][..ROW_BYTES], secret.row(key(i)), "row {i}");
        }
        assert_eq!(built.root(), tree(&rows).root());
    }

    #[test]
    fn every_back_end_makes_the_same_table_byte_for_byte() {
        let rng = &mut SeededRandom::new([4; 32]);
        let (secret, vacant) = (secret(), SecretKey::generate(rng));
        let owners: Vec<_> = (0..300).map(|_| SecretKey::generate(rng)).collect();
        // Vacant rows at irregular places, so that the taken ones fall into every lane.
        let key =
            |i: usize| if i * i % 7 == 2 { vacant.public() } else { owners[i % 300].public() };
        let n = 4 * ROWS_PER_PIECE + 5;
        let keys: Vec<u8> = (0..n).flat_map(|i| *key(i).as_bytes()).collect();
        let make = |backend: Backend| {
            let sink = Mutex::new(Vec::new());
            let work = Work::quiet();
            let tree = build_with(backend, &secret, &keys, vacant.public(), &sink, &work).unwrap();
            (sink.into_inner().unwrap(), tree.root())
        };
        let expected = make(Backend::Dalek);
        assert_eq!(expected.0.len(), n * ROW_BYTES);
        for backend in Backend::ALL.into_iter().filter(|backend| backend.is_available()) {
            assert!(make(backend) == expected, "{}", backend.name());
            // Zero, and what is no element, in any lane, alone and before one another.
            for (at, bytes) in [(3, [0; 32]), (64, [0xff; 32]), (n - 1, [0; 32])] {
                let mut wrong = keys.clone();
                wrong[at * KEY_BYTES..][..KEY_BYTES].copy_from_slice(&bytes);
                wrong[(n - 1) * KEY_BYTES..].fill(0);
                let sink = Mutex::new(Vec::new());
                let work = Work::quiet();
                let e = build_with(backend, &secret, &wrong, vacant.public(), &sink, &work);
                let e = e.unwrap_err();
                assert!(matches!(e, BuildError::NotAKey(row) if row == at as u64), "{e}");
            }
        }
    }

    #[test]
    fn says_which_row_of_a_damaged_directory_holds_no_key() {
        let vacant = SecretKey::generate(&mut SeededRandom::new([2; 32]));
        let mut keys = vacant.public().as_bytes().repeat(100);
        keys[70 * 32..][..32].fill(0);
        let sink = Mutex::new(Vec::new());
        let e = build(&secret(), &keys, vacant.public(), &sink, &Work::quiet()).unwrap_err();
        assert!(matches!(e, BuildError::NotAKey(70)), "{e}");
        let e = build(&secret(), &keys[1..], vacant.public(), &sink, &Work::quiet()).unwrap_err();
        assert!(matches!(e, BuildError::Length), "{e}");
    }

    #[test]
    fn stops_when_told_and_when_the_disk_is_full() {
        struct Full;
        impl RowSink for Full {
            fn put(&self, _: u64, _: &[u8]) -> io::Result<()> {
                Err(io::Error::from(io::ErrorKind::StorageFull))
            }
        }
        let vacant = SecretKey::generate(&mut SeededRandom::new([3; 32]));
        let keys = vacant.public().as_bytes().repeat(3 * ROWS_PER_PIECE);
        let e = build(&secret(), &keys, vacant.public(), &Full, &Work::quiet()).unwrap_err();
        assert!(matches!(e, BuildError::Io(_)), "{e}");
        let work = Work { progress: &|_| core::ops::ControlFlow::Break(()), ..Work::quiet() };
        let sink = Mutex::new(Vec::new());
        let e = build(&secret(), &keys, vacant.public(), &sink, &work).unwrap_err();
        assert!(matches!(e, BuildError::Stopped), "{e}");
    }
}
