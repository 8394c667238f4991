//! What an operator keeps: its keys, who has which row (a key, never a name), epochs, the log.

use core::fmt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition};
use slyfi_base::SecureRandom;

use crate::enrol::{Receipt, Request};
use crate::epoch::{Epoch, EpochKey};
use crate::head::{CLOCK_SKEW, SignedHead};
use crate::keys::{OperatorKeys, PublicKey};
use crate::log::Entry;
use crate::merkle::{Hash, leaf_hash};

const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
/// Row → key (32) ‖ until (8) ‖ whether it is subscribed (1).
const ROWS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("rows");
/// Key → row: keys that are or were somebody's.
const KEYS: TableDefinition<'_, &[u8], u64> = TableDefinition::new("keys");
/// Invitation → until when.
const INVITATIONS: TableDefinition<'_, &[u8], u64> = TableDefinition::new("invitations");
/// Epoch → entry of the log (8) ‖ K (16) ‖ signed head.
const EPOCHS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("epochs");
/// Number → entry of the log.
const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");

/// How long a receipt holds, seconds: a year.
const TERM: u64 = 365 * 86_400;

/// Why the store does not do something.
#[derive(Debug)]
pub enum StoreError {
    /// The database failed.
    Database(Box<redb::Error>),
    /// What is in it is not what was put there.
    Damaged(&'static str),
    /// It will not.
    Refused(&'static str),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Database(e) => write!(f, "the operator's store: {e}"),
            StoreError::Damaged(what) => write!(f, "the operator's store is damaged: {what}"),
            StoreError::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for StoreError {}

impl<E: Into<redb::Error>> From<E> for StoreError {
    fn from(e: E) -> Self {
        StoreError::Database(Box::new(e.into()))
    }
}

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
    database: Database,
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
            .map_err(redb::StorageError::Io)?;
        let database = Database::create(path)?;
        let write = database.begin_write()?;
        {
            let mut meta = write.open_table(META)?;
            meta.insert("operator", &OperatorKeys::generate(rng).encode()[..])?;
            meta.insert("rows", &rows.to_le_bytes()[..])?;
            meta.insert("epoch_s", &epoch_s.to_le_bytes()[..])?;
            meta.insert("opened", &0u64.to_le_bytes()[..])?;
            // Tables exist from the beginning, so that readers need not ask whether they do.
            write.open_table(ROWS)?;
            write.open_table(KEYS)?;
            write.open_table(INVITATIONS)?;
            write.open_table(EPOCHS)?;
            write.open_table(LOG)?;
        }
        write.commit()?;
        Ok(Store { database })
    }

    /// Opens one.
    ///
    /// # Errors
    /// [`StoreError`], also if another process has it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let store = Store { database: Database::open(path)? };
        store.keys()?;
        Ok(store)
    }

    fn meta(&self, name: &'static str) -> Result<Vec<u8>, StoreError> {
        let table = self.database.begin_read()?.open_table(META)?;
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
        let table = self.database.begin_read()?.open_table(ROWS)?;
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
        let write = self.database.begin_write()?;
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
        let first_epoch = self.last_epoch()?.map_or(0, |epoch| epoch.number + 1);
        let write = self.database.begin_write()?;
        let receipt = {
            let mut invitations = write.open_table(INVITATIONS)?;
            let until = invitations.remove(&request.invitation[..])?.map(|until| until.value());
            if until.is_none_or(|until| until < now) {
                return Err(StoreError::Refused("the invitation is spent, expired or wrong"));
            }
            let mut taken = write.open_table(KEYS)?;
            let key = request.key.as_bytes();
            if key == keys.vacant().public().as_bytes() || taken.get(&key[..])?.is_some() {
                return Err(StoreError::Refused("the key is or was somebody's"));
            }
            let mut table = write.open_table(ROWS)?;
            let index = vacant_row(&table, rows, now, rng)?;
            let until = now.saturating_add(TERM);
            taken.insert(&key[..], index)?;
            table.insert(index, &[&key[..], &until.to_le_bytes(), &[1]].concat()[..])?;
            Receipt::sign(&keys, index, &request.key, first_epoch, until)
        };
        write.commit()?;
        Ok(receipt)
    }

    /// Makes row `index` vacant from the next epoch on. Nobody else gets it before the receipt of
    /// whoever had it has ended.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if it is nobody's.
    pub fn revoke(&mut self, index: u64) -> Result<(), StoreError> {
        let write = self.database.begin_write()?;
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
        let table = self.database.begin_read()?.open_table(KEYS)?;
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
        let table = self.database.begin_read()?.open_table(ROWS)?;
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

    /// The epoch that comes next: it begins when the last one ends, or now.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn next_epoch(&self, now: u64) -> Result<Epoch, StoreError> {
        let last = self.last_epoch()?;
        let number = last.map_or(0, |epoch| epoch.number + 1);
        let not_before = last.map_or(now, |epoch| epoch.not_after.max(now));
        let not_after = not_before.saturating_add(self.meta_number("epoch_s")?);
        Ok(Epoch { operator: self.keys()?.id(), number, not_before, not_after })
    }

    fn last_epoch(&self) -> Result<Option<Epoch>, StoreError> {
        let table = self.database.begin_read()?.open_table(EPOCHS)?;
        let last = table.last()?.map(|(_, bytes)| decode_epoch(bytes.value())).transpose()?;
        Ok(last.map(|recorded| recorded.head.head().epoch))
    }

    /// All epochs that were published.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn epochs(&self) -> Result<Vec<Recorded>, StoreError> {
        let table = self.database.begin_read()?.open_table(EPOCHS)?;
        table.iter()?.map(|epoch| decode_epoch(epoch?.1.value())).collect()
    }

    /// Records an epoch and appends its head to the log, both or neither. Returns the entry's number.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if there is one of this number already: no epoch has two heads.
    pub fn record_epoch(&mut self, head: &SignedHead, key: &EpochKey) -> Result<u64, StoreError> {
        let write = self.database.begin_write()?;
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

    /// Appends to the log the keys of epochs that are over and were not opened yet.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn open_over(&mut self, now: u64) -> Result<(), StoreError> {
        let opened = self.meta_number("opened")?;
        let over: Vec<_> = self
            .epochs()?
            .into_iter()
            .map(|recorded| (recorded.head.head().epoch, recorded.key))
            .filter(|(epoch, _)| epoch.number >= opened)
            .filter(|(epoch, _)| now >= epoch.not_after.saturating_add(CLOCK_SKEW))
            .collect();
        let Some((last, _)) = over.last() else { return Ok(()) };
        let next = last.number + 1;
        let write = self.database.begin_write()?;
        {
            let mut log = write.open_table(LOG)?;
            for (epoch, key) in over {
                let entry = Entry::Opening { epoch: epoch.number, key };
                let at = log.len()?;
                log.insert(at, &entry.encode()[..])?;
            }
            write.open_table(META)?.insert("opened", &next.to_le_bytes()[..])?;
        }
        write.commit()?;
        Ok(())
    }

    /// An entry of the log.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn log_entry(&self, index: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let table = self.database.begin_read()?.open_table(LOG)?;
        let entry = table.get(index)?.map(|entry| entry.value().to_vec());
        Ok(entry)
    }

    /// The leaf hashes of the log.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn leaves(&self) -> Result<Vec<Hash>, StoreError> {
        let table = self.database.begin_read()?.open_table(LOG)?;
        table.iter()?.map(|entry| Ok(leaf_hash(entry?.1.value()))).collect()
    }
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
            row.last() == Some(&0) && until.is_some_and(|until| until < now)
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
