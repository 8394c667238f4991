//! An operator with subscribers: the table that everything is measured on, and what making and checking
//! it took.

use super::clock::{core_seconds, timed};
use crate::LabError;
use crate::scratch::Scratch;
use slyfi_tracedge::audit::{KeySum, Subscription};
use slyfi_tracedge::enrol::Receipt;
use slyfi_tracedge::epoch::{Epoch, EpochKey, EpochSecret, ROW_BYTES};
use slyfi_tracedge::keys::{OperatorKeys, SecretKey};
use slyfi_tracedge::merkle::BlockTree;
use slyfi_tracedge::operator::{PublishError, Schemes, Serving, build_table};
use slyfi_tracedge::pieces::{Progress, Work};
use slyfi_tracedge::random::SeededRandom;
use slyfi_tracedge::service::Service;
use slyfi_tracedge::service::store::Store;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Mutex;

/// When it is, Unix seconds.
pub const NOW: u64 = 1_800_000_000;
const HOUR: u64 = 3_600;
/// Different subscribers; the rows are theirs in turn, since what a row costs does not depend on whose
/// it is.
const OWNERS: usize = 4_096;
/// The operator is the same in every run.
const SEED: [u8; 32] = *b"slyfi lab: an operator's secrets";

/// What making and checking a table took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Creation {
    /// Rows, none of them vacant.
    pub rows: u64,
    /// Threads.
    pub workers: usize,
    /// Making the rows and the tree over them, seconds of the wall clock.
    pub build_s: f64,
    /// The same, seconds of all cores.
    pub build_core_s: f64,
    /// Summing the keys for the audit, once for a directory, seconds of all cores.
    pub key_sum_core_s: f64,
    /// Checking every row, seconds of the wall clock.
    pub audit_s: f64,
    /// The same, seconds of all cores.
    pub audit_core_s: f64,
    /// Making one row by itself, as an auditor of single rows does, microseconds.
    pub row_us: f64,
}

/// An operator's world.
pub struct World {
    keys: OperatorKeys,
    owners: Vec<SecretKey>,
    directory: Vec<u8>,
    secret: EpochSecret,
    table: Vec<u8>,
    tree: BlockTree,
    workers: NonZeroUsize,
    /// What it took.
    pub creation: Creation,
}

fn failed(what: &str) -> impl Fn(&dyn std::fmt::Display) -> LabError {
    let what = what.to_owned();
    move |e| LabError::Measurement(format!("{what}: {e}"))
}

/// The operator's store, in a directory of its own.
fn store(rows: u64) -> Result<(Scratch, Store), LabError> {
    let scratch = Scratch::new()?;
    let path = scratch.path().join("operator.redb");
    let store = Store::create(&path, rows, HOUR, &mut SeededRandom::new(SEED));
    let store = store.map_err(|e| failed("the operator's store")(&e))?;
    Ok((scratch, store))
}

/// Work that tells how far it is.
fn work<'a>(
    workers: NonZeroUsize,
    progress: &'a (dyn Fn(Progress) -> ControlFlow<()> + Sync),
) -> Work<'a> {
    Work { workers, progress }
}

/// Runs `job` on another thread and passes on how far it is: progress comes from many threads, and
/// `say` is for one.
fn telling<T: Send>(
    say: &mut dyn FnMut(&str),
    what: &str,
    workers: NonZeroUsize,
    job: impl FnOnce(&Work<'_>) -> T + Send,
) -> T {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let job = scope.spawn(move || {
            let progress = |p: Progress| {
                if p.total < 100 || p.done.is_multiple_of(p.total / 100) {
                    // Whoever listened has gone only when this thread is to end anyway.
                    let _ = tell.send(100 * p.done / p.total.max(1));
                }
                ControlFlow::Continue(())
            };
            let out = job(&work(workers, &progress));
            drop(tell);
            out
        });
        for percent in told {
            say(&format!("{what}, {percent} %"));
        }
        job.join().unwrap_or_else(|e| std::panic::resume_unwind(e))
    })
}

impl World {
    /// Makes the table of an epoch of `rows` rows, and audits all of it.
    ///
    /// # Errors
    /// [`LabError`].
    pub fn make(rows: u64, say: &mut dyn FnMut(&str)) -> Result<Self, LabError> {
        let workers = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let (_scratch, store) = store(rows)?;
        let keys = store.keys().map_err(|e| failed("the operator's keys")(&e))?;
        let rng = &mut SeededRandom::new([1; 32]);
        let owners: Vec<_> = (0..OWNERS).map(|_| SecretKey::generate(rng)).collect();
        let mut directory = Vec::with_capacity(rows as usize * ROW_BYTES);
        for row in 0..rows as usize {
            directory.extend_from_slice(owners[row % OWNERS].public().as_bytes());
        }
        let epoch =
            Epoch { operator: keys.id(), number: 1, not_before: NOW - 60, not_after: NOW + HOUR };
        let secret = EpochSecret::derive(&epoch, EpochKey::generate(rng));
        let sink = Mutex::new(vec![0; directory.len()]);

        let cores = core_seconds();
        let (tree, build_s) = timed(|| {
            telling(say, &format!("table of {rows} rows"), workers, |work| {
                build_table(&keys, &secret, &directory, &sink, work)
            })
        });
        let tree = tree.map_err(|e| failed("the table")(&e))?;
        let build_core_s = core_seconds() - cores;
        let table = sink.into_inner().map_err(|e| failed("the table")(&e))?;

        let cores = core_seconds();
        let sum = telling(say, &format!("sum of {rows} keys"), workers, |work| {
            KeySum::new(&directory, &mut SeededRandom::new([2; 32]), work)
        });
        let sum = sum.map_err(|e| failed("the audit")(&e))?;
        let key_sum_core_s = core_seconds() - cores;
        let cores = core_seconds();
        let (audited, audit_s) = timed(|| {
            telling(say, &format!("audit of {rows} rows"), workers, |work| {
                sum.check(&secret, &table, &directory, work)
            })
        });
        audited.map_err(|e| failed("the audit")(&e))?;
        let audit_core_s = core_seconds() - cores;

        let singles = 200;
        let (right, singles_s) = timed(|| {
            (0..singles).all(|i| secret.row(owners[i % OWNERS].public()) == row_of(&table, i))
        });
        if !right {
            return Err(failed("the table")(&"a row is not what its key gives"));
        }
        let creation = Creation {
            rows,
            workers: workers.get(),
            build_s,
            build_core_s,
            key_sum_core_s,
            audit_s,
            audit_core_s,
            row_us: singles_s * 1e6 / singles as f64,
        };
        Ok(World { keys, owners, directory, secret, table, tree, workers, creation })
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.creation.rows
    }

    /// How many threads there are.
    pub fn workers(&self) -> NonZeroUsize {
        self.workers
    }

    /// A row.
    pub fn row(&self, index: u64) -> [u8; ROW_BYTES] {
        row_of(&self.table, index as usize)
    }

    /// All rows.
    #[cfg(feature = "gpu")]
    pub fn table(&self) -> &[u8] {
        &self.table
    }

    /// The operator's keys.
    pub fn keys(&self) -> &OperatorKeys {
        &self.keys
    }

    /// K and what follows from it.
    pub fn secret(&self) -> &EpochSecret {
        &self.secret
    }

    /// A subscriber.
    ///
    /// # Errors
    /// [`LabError`] if a key does not outlive its encoding.
    pub fn subscriber(&self, row: u64) -> Result<Subscription, LabError> {
        let owner = &self.owners[row as usize % OWNERS];
        let secret = SecretKey::decode(&*owner.encode()).map_err(|e| failed("a key")(&e))?;
        let receipt = Receipt::sign(&self.keys, row, secret.public(), 0, NOW + HOUR);
        Ok(Subscription { receipt, secret })
    }

    /// Prepares retrieval and signs the head.
    ///
    /// # Errors
    /// [`LabError`].
    pub fn serve(&self, schemes: Schemes, say: &mut dyn FnMut(&str)) -> Result<Serving, LabError> {
        let what = format!("{}: preparing {} rows", schemes.table.name(), self.rows());
        let prepared: Result<Serving, PublishError> = telling(say, &what, self.workers, |work| {
            let World { keys, secret, directory, table, tree, .. } = self;
            Serving::prepare(keys, secret, directory, table, tree, schemes, work)
        });
        prepared.map_err(|e| failed(&what)(&e))
    }

    /// The service with this epoch. Its store goes with what is returned beside it.
    ///
    /// # Errors
    /// [`LabError`].
    pub fn service(&self, serving: Serving) -> Result<(Scratch, Service), LabError> {
        let (scratch, store) = store(self.rows())?;
        let at_once = NonZeroUsize::new(64).unwrap_or(NonZeroUsize::MIN);
        let service = Service::new(store, at_once).map_err(|e| failed("the service")(&e))?;
        let published = service.publish(serving, self.secret.key().clone(), None);
        published.map_err(|e| failed("the service")(&e))?;
        Ok((scratch, service))
    }
}

fn row_of(table: &[u8], index: usize) -> [u8; ROW_BYTES] {
    table[index * ROW_BYTES..].first_chunk().copied().unwrap_or_default()
}
