//! What an operator keeps: its keys, who has which row (a key, never a name), epochs, the log.

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use redb::{
    Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, StorageError, TableDefinition,
};
use slyfi_base::SecureRandom;

use super::clock::ClockError;
use super::disk::{self, OpenDisk, Watched};
pub use super::error::StoreError;
use crate::enrol::{Receipt, Request};
use crate::epoch::{Epoch, EpochKey};
use crate::files::sync_dir;
use crate::head::{CLOCK_SKEW, SignedHead};
use crate::keys::{OperatorKeys, PublicKey};
use crate::log::Entry;
use crate::merkle::{Hash, leaf_hash, sha256};

const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
/// Row → key (32) ‖ until (8) ‖ first epoch (8) ‖ whether it is subscribed (1).
const ROWS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("rows");
/// Key → row: keys that are or were somebody's.
const KEYS: TableDefinition<'_, &[u8], u64> = TableDefinition::new("keys");
/// Invitation → until when.
const INVITATIONS: TableDefinition<'_, &[u8], u64> = TableDefinition::new("invitations");
/// Hash of a spent invitation and the key that it was spent on → until when the invitation was good.
///
/// Whoever asked and got no answer asks again, and gets the row that he has.
const SPENT: TableDefinition<'_, &[u8], u64> = TableDefinition::new("spent");
/// Epoch → entry of the log (8) ‖ K (16) ‖ signed head.
const EPOCHS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("epochs");
/// Number → entry of the log.
const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");

/// How long a receipt holds, seconds: a year.
const TERM: u64 = 365 * 86_400;
/// How far the clock may go back over a restart, seconds. With what the store does not know of the last
/// [`CLOCK_NOTED`] it stays below [`CLOCK_SKEW`], which all who judge the log allow for.
const CLOCK_BACK: u64 = CLOCK_SKEW / 2;
/// How often the time is written down, seconds.
const CLOCK_NOTED: u64 = 60;

/// An epoch that was published.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Its head.
    pub head: SignedHead,
    /// Its K.
    pub key: EpochKey,
    /// Which entry of the log its head is.
    pub entry: u64,
}

/// The operator's store: one file, transactions.
pub struct Store {
    /// `None` only after the disk failed, as long as it cannot be opened again.
    database: Option<Database>,
    /// Why there is none.
    trouble: Option<std::io::ErrorKind>,
    open: OpenDisk,
    failed: Arc<AtomicBool>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store")
    }
}

impl Store {
    /// Makes a new one for `rows` rows and epochs of `epoch_s` seconds, readable by its owner only.
    ///
    /// # Errors
    /// [`StoreError`]; an operator that is there already is not overwritten.
    pub fn create(
        path: &Path,
        rows: u64,
        epoch_s: u64,
        rng: &mut dyn SecureRandom,
    ) -> Result<Self, StoreError> {
        if rows == 0 || rows > slyfi_pir::Shape::MAX_ROWS || epoch_s < 2 * CLOCK_SKEW {
            let why = "a table has 1 to 2^32 rows, and an epoch takes ten minutes at least";
            return Err(StoreError::Refused(why));
        }
        std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(StorageError::Io)?;
        // Keys that were made must not go with the name of their file.
        sync_dir(path).map_err(StorageError::Io)?;
        Self::create_on(disk::file(path), rows, epoch_s, rng)
    }

    /// Makes a new one on an empty disk of any kind.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn create_on(
        open: OpenDisk,
        rows: u64,
        epoch_s: u64,
        rng: &mut dyn SecureRandom,
    ) -> Result<Self, StoreError> {
        let mut store = Store { database: None, trouble: None, open, failed: Arc::default() };
        let database = store.database.insert(open_database(&store.open, &store.failed)?);
        let write = database.begin_write()?;
        {
            let mut meta = write.open_table(META)?;
            meta.insert("operator", &OperatorKeys::generate(rng).encode()[..])?;
            meta.insert("rows", &rows.to_le_bytes()[..])?;
            meta.insert("epoch_s", &epoch_s.to_le_bytes()[..])?;
            meta.insert("opened", &0u64.to_le_bytes()[..])?;
            meta.insert("clock", &0u64.to_le_bytes()[..])?;
            // Tables exist from the beginning, so that readers need not ask whether they do.
            write.open_table(ROWS)?;
            write.open_table(KEYS)?;
            write.open_table(INVITATIONS)?;
            write.open_table(SPENT)?;
            write.open_table(EPOCHS)?;
            write.open_table(LOG)?;
        }
        write.commit()?;
        Ok(store)
    }

    /// Opens one.
    ///
    /// # Errors
    /// [`StoreError`], also if another process has it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_on(disk::file(path))
    }

    /// Opens one on a disk of any kind.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn open_on(open: OpenDisk) -> Result<Self, StoreError> {
        let failed = Arc::default();
        let database = Some(open_database(&open, &failed)?);
        let store = Store { database, trouble: None, open, failed };
        store.keys()?;
        Ok(store)
    }

    /// Opens it again if its disk has failed: nothing is read or written otherwise until then.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be opened; the next call tries again.
    pub fn recover(&mut self) -> Result<(), StoreError> {
        if self.database.is_some() && !self.failed.load(Ordering::Acquire) {
            return Ok(());
        }
        // It has to give up its locks first.
        drop(self.database.take());
        self.failed.store(false, Ordering::Release);
        match open_database(&self.open, &self.failed) {
            Ok(database) => self.database = Some(database),
            Err(e) => {
                if let StoreError::Database(cause) = &e
                    && let redb::Error::Io(cause) = &**cause
                {
                    self.trouble = Some(cause.kind());
                }
                return Err(e);
            }
        }
        Ok(())
    }

    fn database(&self) -> Result<&Database, StoreError> {
        let closed = || {
            let why = self.trouble.map(|kind| StorageError::Io(kind.into()));
            why.unwrap_or(StorageError::DatabaseClosed)
        };
        Ok(self.database.as_ref().ok_or_else(closed)?)
    }

    fn meta(&self, name: &'static str) -> Result<Vec<u8>, StoreError> {
        let table = self.database()?.begin_read()?.open_table(META)?;
        let value = table.get(name)?.ok_or(StoreError::Damaged(name))?;
        Ok(value.value().to_vec())
    }

    fn meta_number(&self, name: &'static str) -> Result<u64, StoreError> {
        let bytes = self.meta(name)?.try_into().map_err(|_| StoreError::Damaged(name))?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// The operator's keys.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn keys(&self) -> Result<OperatorKeys, StoreError> {
        let bytes = zeroize::Zeroizing::new(self.meta("operator")?);
        OperatorKeys::decode(&bytes).map_err(|_| StoreError::Damaged("operator"))
    }

    /// How many rows the table has.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn rows(&self) -> Result<u64, StoreError> {
        self.meta_number("rows")
    }

    /// How many rows are somebody's.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn subscribed(&self) -> Result<u64, StoreError> {
        let table = self.database()?.begin_read()?.open_table(ROWS)?;
        let mut count = 0;
        for row in table.iter()? {
            count += u64::from(row?.1.value().last() == Some(&1));
        }
        Ok(count)
    }

    /// Makes an invitation that is good until `until`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn invite(
        &mut self,
        until: u64,
        rng: &mut dyn SecureRandom,
    ) -> Result<[u8; 16], StoreError> {
        let mut invitation = [0; 16];
        rng.fill(&mut invitation);
        let write = self.database()?.begin_write()?;
        write.open_table(INVITATIONS)?.insert(&invitation[..], until)?;
        write.commit()?;
        Ok(invitation)
    }

    /// Gives a vacant row to whoever shows an invitation; from the next epoch on it is his.
    ///
    /// The row is picked at random: its number says nothing about when he came. A key that is or was
    /// somebody's is not taken, so that a row's public history cannot be made to repeat.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if the invitation is not good, the key is taken, or no row is left.
    pub fn enrol(
        &mut self,
        request: &Request,
        now: u64,
        rng: &mut dyn SecureRandom,
    ) -> Result<Receipt, StoreError> {
        let (keys, rows) = (self.keys()?, self.rows()?);
        if let Some(receipt) = self.enrolled(&keys, request, now)? {
            return Ok(receipt);
        }
        // The epoch that comes may be under way, made for the keys as they were. A receipt that covered it
        // would be proof against an honest operator, if the row was somebody else's until now.
        let first_epoch = self.last_epoch()?.map_or(0, |epoch| epoch.number + 2);
        let write = self.database()?.begin_write()?;
        let receipt = {
            let mut invitations = write.open_table(INVITATIONS)?;
            let good_until = invitations.remove(&request.invitation[..])?.map(|u| u.value());
            let Some(good_until) = good_until.filter(|until| *until >= now) else {
                return Err(StoreError::Refused("the invitation is spent, expired or wrong"));
            };
            let mut taken = write.open_table(KEYS)?;
            let key = request.key.as_bytes();
            if key == keys.vacant().public().as_bytes() || taken.get(&key[..])?.is_some() {
                return Err(StoreError::Refused("the key is or was somebody's"));
            }
            let mut table = write.open_table(ROWS)?;
            let index = vacant_row(&table, rows, now, rng)?;
            let until = now.saturating_add(TERM);
            taken.insert(&key[..], index)?;
            write.open_table(SPENT)?.insert(&spent(request)[..], good_until)?;
            let (until_bytes, first) = (until.to_le_bytes(), first_epoch.to_le_bytes());
            table.insert(index, &[&key[..], &until_bytes, &first, &[1]].concat()[..])?;
            Receipt::sign(&keys, index, &request.key, first_epoch, until)
        };
        write.commit()?;
        Ok(receipt)
    }

    /// The receipt that somebody was given for the same request, as long as its invitation would be
    /// good: the answer may have been lost on the way.
    fn enrolled(
        &self,
        keys: &OperatorKeys,
        request: &Request,
        now: u64,
    ) -> Result<Option<Receipt>, StoreError> {
        let read = self.database()?.begin_read()?;
        let until = read.open_table(SPENT)?.get(&spent(request)[..])?.map(|until| until.value());
        if until.is_none_or(|until| until < now) {
            return Ok(None);
        }
        let Some(index) = self.row_of(&request.key)? else { return Ok(None) };
        let row = read.open_table(ROWS)?.get(index)?.map(|row| row.value().to_vec());
        let row = row.ok_or(StoreError::Damaged("rows"))?;
        let parts = row.split_first_chunk::<32>().and_then(|(key, rest)| {
            let (until, rest) = rest.split_first_chunk::<8>()?;
            let (first, rest) = rest.split_first_chunk::<8>()?;
            Some((key, u64::from_le_bytes(*until), u64::from_le_bytes(*first), rest == [1]))
        });
        let (key, until, first, subscribed) = parts.ok_or(StoreError::Damaged("rows"))?;
        let his = subscribed && key == request.key.as_bytes();
        Ok(his.then(|| Receipt::sign(keys, index, &request.key, first, until)))
    }

    /// Makes row `index` vacant from the next epoch on. Nobody else gets it before the receipt of
    /// whoever had it has ended.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if it is nobody's.
    pub fn revoke(&mut self, index: u64) -> Result<(), StoreError> {
        let write = self.database()?.begin_write()?;
        {
            let mut table = write.open_table(ROWS)?;
            let row = table.get(index)?.map(|row| row.value().to_vec());
            let mut row = row
                .filter(|row| row.last() == Some(&1))
                .ok_or(StoreError::Refused("the row is nobody's"))?;
            let last = row.len() - 1;
            row[last] = 0;
            table.insert(index, &row[..])?;
        }
        write.commit()?;
        Ok(())
    }

    /// The row of a key, for an operator that is asked to revoke it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn row_of(&self, key: &PublicKey) -> Result<Option<u64>, StoreError> {
        let table = self.database()?.begin_read()?.open_table(KEYS)?;
        let row = table.get(&key.as_bytes()[..])?.map(|row| row.value());
        Ok(row)
    }

    /// The list of keys as it is now: what the next epoch is made for.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn directory(&self) -> Result<Vec<u8>, StoreError> {
        let rows = usize::try_from(self.rows()?).map_err(|_| StoreError::Damaged("rows"))?;
        let vacant = *self.keys()?.vacant().public().as_bytes();
        let mut directory = vacant.repeat(rows);
        let table = self.database()?.begin_read()?.open_table(ROWS)?;
        for row in table.iter()? {
            let (index, row) = row?;
            let (index, row) = (index.value() as usize, row.value());
            if row.last() == Some(&1) {
                let (key, place) = (row.get(..32), directory.get_mut(index * 32..(index + 1) * 32));
                let (key, place) = key.zip(place).ok_or(StoreError::Damaged("rows"))?;
                place.copy_from_slice(key);
            }
        }
        Ok(directory)
    }

    /// Refuses a clock that is behind what was written down.
    ///
    /// # Errors
    /// [`StoreError::Clock`].
    pub fn check_clock(&self, now: u64) -> Result<(), StoreError> {
        let noted = self.meta_number("clock")?;
        if now.saturating_add(CLOCK_BACK) < noted {
            return Err(ClockError::Behind(noted - now).into());
        }
        Ok(())
    }

    /// Writes the time down, at most once a minute.
    ///
    /// # Errors
    /// [`StoreError`], also if the clock is behind.
    pub fn note_clock(&mut self, now: u64) -> Result<(), StoreError> {
        self.check_clock(now)?;
        if now < self.meta_number("clock")?.saturating_add(CLOCK_NOTED) {
            return Ok(());
        }
        let write = self.database()?.begin_write()?;
        write.open_table(META)?.insert("clock", &now.to_le_bytes()[..])?;
        write.commit()?;
        Ok(())
    }

    /// The epoch that comes next: it begins when the last one ends, or now.
    ///
    /// # Errors
    /// [`StoreError`], also if the clock is behind.
    pub fn next_epoch(&self, now: u64) -> Result<Epoch, StoreError> {
        self.check_clock(now)?;
        let last = self.last_epoch()?;
        let number = last.map_or(0, |epoch| epoch.number + 1);
        let not_before = last.map_or(now, |epoch| epoch.not_after.max(now));
        let not_after = not_before.saturating_add(self.meta_number("epoch_s")?);
        Ok(Epoch { operator: self.keys()?.id(), number, not_before, not_after })
    }

    fn last_epoch(&self) -> Result<Option<Epoch>, StoreError> {
        let table = self.database()?.begin_read()?.open_table(EPOCHS)?;
        let last = table.last()?.map(|(_, bytes)| decode_epoch(bytes.value())).transpose()?;
        Ok(last.map(|recorded| recorded.head.head().epoch))
    }

    /// The epochs that were published and whose keys were not: all others are over.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn unopened(&self) -> Result<Vec<Recorded>, StoreError> {
        let opened = self.meta_number("opened")?;
        let table = self.database()?.begin_read()?.open_table(EPOCHS)?;
        table.range(opened..)?.map(|epoch| decode_epoch(epoch?.1.value())).collect()
    }

    /// All epochs that were published.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn epochs(&self) -> Result<Vec<Recorded>, StoreError> {
        let table = self.database()?.begin_read()?.open_table(EPOCHS)?;
        table.iter()?.map(|epoch| decode_epoch(epoch?.1.value())).collect()
    }

    /// Records an epoch and appends its head to the log, both or neither. Returns the entry's number.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if there is one of this number already: no epoch has two heads.
    pub fn record_epoch(&mut self, head: &SignedHead, key: &EpochKey) -> Result<u64, StoreError> {
        let write = self.database()?.begin_write()?;
        let entry = {
            let mut epochs = write.open_table(EPOCHS)?;
            let number = head.head().epoch.number;
            if epochs.get(number)?.is_some() {
                return Err(StoreError::Refused("this epoch has a head already"));
            }
            let mut log = write.open_table(LOG)?;
            let entry = log.len()?;
            log.insert(entry, &Entry::Head(Box::new(head.head().clone())).encode()[..])?;
            let record = [&entry.to_le_bytes()[..], key.as_bytes(), &head.encode()].concat();
            epochs.insert(number, &record[..])?;
            entry
        };
        write.commit()?;
        Ok(entry)
    }

    /// Appends to the log the keys of epochs that are over and were not opened yet, forgets what
    /// invitations have expired, and writes the time down.
    ///
    /// # Errors
    /// [`StoreError`], also if the clock is behind.
    pub fn open_over(&mut self, now: u64) -> Result<(), StoreError> {
        self.check_clock(now)?;
        let over: Vec<_> = self
            .unopened()?
            .into_iter()
            .map(|recorded| (recorded.head.head().epoch, recorded.key))
            .filter(|(epoch, _)| now >= epoch.not_after.saturating_add(CLOCK_SKEW))
            .collect();
        let Some((last, _)) = over.last() else { return self.note_clock(now) };
        let next = last.number + 1;
        let write = self.database()?.begin_write()?;
        {
            let mut log = write.open_table(LOG)?;
            for (epoch, key) in over {
                let entry = Entry::Opening { epoch: epoch.number, key };
                let at = log.len()?;
                log.insert(at, &entry.encode()[..])?;
            }
            let mut meta = write.open_table(META)?;
            meta.insert("opened", &next.to_le_bytes()[..])?;
            meta.insert("clock", &now.to_le_bytes()[..])?;
            write.open_table(INVITATIONS)?.retain(|_, until| until >= now)?;
            write.open_table(SPENT)?.retain(|_, until| until >= now)?;
        }
        write.commit()?;
        Ok(())
    }

    /// An entry of the log.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn log_entry(&self, index: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let table = self.database()?.begin_read()?.open_table(LOG)?;
        let entry = table.get(index)?.map(|entry| entry.value().to_vec());
        Ok(entry)
    }

    /// The leaf hashes of the log.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn leaves(&self) -> Result<Vec<Hash>, StoreError> {
        let table = self.database()?.begin_read()?.open_table(LOG)?;
        table.iter()?.map(|entry| Ok(leaf_hash(entry?.1.value()))).collect()
    }
}

fn open_database(open: &OpenDisk, failed: &Arc<AtomicBool>) -> Result<Database, StoreError> {
    let disk = open().map_err(StorageError::Io)?;
    let watched = Watched::new(disk, Arc::clone(failed));
    Ok(Database::builder().create_with_backend(watched)?)
}

/// What stands for a request that got its row.
fn spent(request: &Request) -> Hash {
    sha256(&[b"slyfi-tracedge/1 spent", &request.invitation, request.key.as_bytes()])
}

/// Finds a vacant row: by drawing, and where the table is nearly full by looking from a random place.
fn vacant_row(
    table: &impl ReadableTable<u64, &'static [u8]>,
    rows: u64,
    now: u64,
    rng: &mut dyn SecureRandom,
) -> Result<u64, StoreError> {
    let free = |index| -> Result<bool, StoreError> {
        let row = table.get(index)?;
        Ok(row.is_none_or(|row| {
            let row = row.value();
            let until = row.get(32..40).and_then(|u| u.try_into().ok()).map(u64::from_le_bytes);
            // An epoch that the receipt covers may get its keys a little later than its time.
            let ended = until.is_some_and(|until| until.saturating_add(CLOCK_SKEW) < now);
            row.last() == Some(&0) && ended
        }))
    };
    for _ in 0..64 {
        let index = rng.below(rows);
        if free(index)? {
            return Ok(index);
        }
    }
    let start = rng.below(rows);
    for index in (start..rows).chain(0..start) {
        if free(index)? {
            return Ok(index);
        }
    }
    Err(StoreError::Refused("all rows are taken: the table has to grow"))
}

fn decode_epoch(bytes: &[u8]) -> Result<Recorded, StoreError> {
    let damaged = StoreError::Damaged("epochs");
    let parts = bytes.split_first_chunk::<8>().and_then(|(entry, rest)| {
        let (key, head) = rest.split_first_chunk::<16>()?;
        Some((u64::from_le_bytes(*entry), *key, SignedHead::decode(head).ok()?))
    });
    let (entry, key, head) = parts.ok_or(damaged)?;
    Ok(Recorded { head, key: EpochKey::from_bytes(key), entry })
}
