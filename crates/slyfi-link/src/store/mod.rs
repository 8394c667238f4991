//! The key store: pairings, invites and the records that must outlive a crash.
//!
//! # Layout
//! One redb file, `keys.redb`, mode 0600, in a directory of mode 0700:
//!
//! | table | key | value |
//! |---|---|---|
//! | `meta` | name | `version` → 1 |
//! | `pairings` | id (8 bytes) | label, made at (s), [`Pairing::encode`] |
//! | `invites` | id (8 bytes) | label, made at (s), [`Pairing::encode`] |
//! | `records` | kind, bytes | when it may be forgotten (µs since 1970, all ones: never) |
//! | `counters` | name (8 bytes) | how far a static key's numbers may have been used |
//!
//! # Security
//! redb never writes over a page that a reader may need, so pages with old keys stay in the file
//! until they are used again. Where keys have to go (a day turned, an invite was spent, a pairing
//! was revoked) [`Store::scrub`] writes a new file and overwrites the old one with zeros. What the
//! file system, a journal or the medium keep besides is beyond a program's reach.

mod files;
mod verify;

use crate::error::{Error, ErrorKind, Result};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use slyfi_base::UnixTime;
use slyfi_base::link::RecordKind;
use slyfi_core::pairing::{Kind, Pairing};
use std::fmt;
use std::path::{Path, PathBuf};

const META: TableDefinition<&str, u64> = TableDefinition::new("meta");
const PAIRINGS: TableDefinition<PairingKey, (&str, u64, &[u8])> = TableDefinition::new("pairings");
const INVITES: TableDefinition<PairingKey, (&str, u64, &[u8])> = TableDefinition::new("invites");
const RECORDS: TableDefinition<(u8, &[u8]), u64> = TableDefinition::new("records");
const COUNTERS: TableDefinition<[u8; 8], &[u8]> = TableDefinition::new("counters");

const VERSION: u64 = 1;

/// What a pairing is found by: its random id, which both ends have and the air never shows.
pub type PairingKey = [u8; 8];

/// The id of a pairing as people see and type it: sixteen hexadecimal digits, or fewer to begin.
pub fn show_id(id: &PairingKey) -> String {
    id.iter().map(|b| format!("{b:02x}")).collect()
}

/// A pairing in the store.
#[derive(Clone, Debug)]
pub struct StoredPairing {
    /// What the user calls the other end.
    pub label: String,
    /// When it was made.
    pub made: UnixTime,
    /// The pairing.
    pub pairing: Pairing,
}

/// An invite in the store: open until it is spent or expires, and gone then.
#[derive(Clone, Debug)]
pub struct StoredInvite {
    /// What the user will call the other end.
    pub label: String,
    /// When it was made.
    pub made: UnixTime,
    /// The one-time pairing behind it.
    pub pairing: Pairing,
}

impl StoredInvite {
    /// Returns when it expires.
    pub fn expires(&self) -> UnixTime {
        match self.pairing.kind() {
            Kind::Invite { expires } => expires,
            Kind::Member => UnixTime::from_secs(0),
        }
    }
}

/// One change; a slice of them is one transaction.
#[derive(Debug)]
pub enum Change<'a> {
    /// Keep a pairing, in place of one with the same id.
    Pairing {
        /// What the user calls the other end.
        label: &'a str,
        /// When it was made.
        made: UnixTime,
        /// The pairing.
        pairing: &'a Pairing,
    },
    /// Forget a pairing.
    Forget(PairingKey),
    /// Keep an invite.
    Invite {
        /// What the user will call the other end.
        label: &'a str,
        /// When it was made.
        made: UnixTime,
        /// The one-time pairing behind it.
        pairing: &'a Pairing,
    },
    /// Forget an invite that was used; the machine's own record says that it is spent.
    Spend(PairingKey),
    /// Keep a machine's record.
    Record {
        /// What it is.
        kind: RecordKind,
        /// When it may be forgotten.
        until: Option<UnixTime>,
        /// The record.
        bytes: &'a [u8],
    },
}

/// What to do when there is no store yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Make an empty one.
    Create,
    /// Say so.
    Refuse,
}

/// The open key store; the file stays locked against other processes while this lives.
pub struct Store {
    db: Database,
    dir: PathBuf,
    /// Whether the file holds pages with keys that should be gone.
    stale_keys: bool,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store in `dir`.
    ///
    /// A damaged file is never written: the store is first opened and read in full with all writes
    /// (redb's crash repair among them) kept in memory.
    ///
    /// # Errors
    /// [`ErrorKind::Store`]: missing, damaged, readable by others, or in use.
    pub fn open(dir: &Path, missing: Missing) -> Result<Store> {
        let path = files::store_path(dir);
        if !path.try_exists().map_err(|e| store_io(&path, &e))? {
            if missing == Missing::Refuse {
                return Err(Error::new(
                    ErrorKind::Store,
                    format!("there is no key store in {}", dir.display()),
                    "pair first (`slyfi pair` on the access point, `slyfi join URL` on a client), \
                     or name another directory with --store",
                ));
            }
            files::make_dir(dir)?;
            files::install_new(dir, &|db| fill_new(db).map_err(|e| damaged(&path, &e)))?;
        }
        files::check_permissions(dir)?;
        let lock = files::lock(&path)?;
        verify::verify(&path, &check_contents)?;
        drop(lock);
        let db = Database::open(&path).map_err(|e| open_error(&path, &e))?;
        add_counters(&db).map_err(|e| damaged(&path, &e))?;
        files::clean_up(dir)?;
        Ok(Store { db, dir: dir.to_owned(), stale_keys: false })
    }

    /// Returns the directory the store lies in.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Gives the store to another user, who goes on writing it after privileges are dropped.
    ///
    /// # Errors
    /// [`ErrorKind::Privileges`] when the system refuses.
    pub fn give_to(&self, uid: u32, gid: u32) -> Result<()> {
        files::give_to(&self.dir, uid, gid)
    }

    /// Returns all pairings, in the order of their ids.
    ///
    /// # Errors
    /// [`ErrorKind::Store`].
    pub fn pairings(&self) -> Result<Vec<StoredPairing>> {
        self.with(|db| {
            let table = db.begin_read()?.open_table(PAIRINGS)?;
            table.iter()?.map(|entry| Ok(stored_pairing(entry?.1.value())?)).collect()
        })
    }

    /// Returns all invites, in the order of their ids.
    ///
    /// # Errors
    /// [`ErrorKind::Store`].
    pub fn invites(&self) -> Result<Vec<StoredInvite>> {
        self.with(|db| {
            let table = db.begin_read()?.open_table(INVITES)?;
            table.iter()?.map(|entry| Ok(stored_invite(entry?.1.value())?)).collect()
        })
    }

    /// Returns the records of `kind` that may not be forgotten yet.
    ///
    /// # Errors
    /// [`ErrorKind::Store`].
    pub fn records(&self, kind: RecordKind, wall: UnixTime) -> Result<Vec<Vec<u8>>> {
        if kind == RecordKind::Counter {
            return self.counters();
        }
        self.with(|db| {
            let table = db.begin_read()?.open_table(RECORDS)?;
            let mut found = Vec::new();
            for entry in table.iter()? {
                let (key, until) = entry?;
                let (of, bytes) = key.value();
                if of == kind_byte(kind) && until.value() >= wall.as_micros() {
                    found.push(bytes.to_vec());
                }
            }
            Ok(found)
        })
    }

    /// Returns all counters, each name and value in one.
    fn counters(&self) -> Result<Vec<Vec<u8>>> {
        self.with(|db| {
            let table = db.begin_read()?.open_table(COUNTERS)?;
            let whole =
                |(name, value): (redb::AccessGuard<'_, [u8; 8]>, redb::AccessGuard<'_, &[u8]>)| {
                    [&name.value()[..], value.value()].concat()
                };
            table.iter()?.map(|entry| Ok(whole(entry?))).collect()
        })
    }

    /// Makes `changes` durable, all or none; on return they are on the medium.
    ///
    /// # Errors
    /// [`ErrorKind::Store`]; nothing is changed then.
    pub fn commit(&mut self, changes: &[Change<'_>]) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        self.with(|db| {
            // redb's default durability is `Immediate`: `commit` returns after fsync.
            let tx = db.begin_write()?;
            {
                let mut pairings = tx.open_table(PAIRINGS)?;
                let mut invites = tx.open_table(INVITES)?;
                let mut records = tx.open_table(RECORDS)?;
                let mut counters = tx.open_table(COUNTERS)?;
                for change in changes {
                    match *change {
                        Change::Pairing { label, made, pairing } => {
                            let bytes = pairing.encode();
                            let value = (label, made.as_secs(), &bytes[..]);
                            pairings.insert(pairing.id(), value)?;
                        }
                        Change::Forget(id) => {
                            pairings.remove(id)?;
                        }
                        Change::Invite { label, made, pairing } => {
                            let bytes = pairing.encode();
                            let value = (label, made.as_secs(), &bytes[..]);
                            invites.insert(pairing.id(), value)?;
                        }
                        Change::Spend(id) => {
                            invites.remove(id)?;
                        }
                        Change::Record { kind: RecordKind::Counter, bytes, .. } => {
                            // Shorter ones name nothing; no machine makes them.
                            if let Some((name, value)) = bytes.split_first_chunk() {
                                counters.insert(*name, value)?;
                            }
                        }
                        Change::Record { kind, until, bytes } => {
                            let until = until.map_or(u64::MAX, UnixTime::as_micros);
                            records.insert((kind_byte(kind), bytes), until)?;
                        }
                    }
                }
            }
            tx.commit()?;
            Ok(())
        })?;
        self.stale_keys |=
            changes.iter().any(|c| matches!(c, Change::Forget(_) | Change::Spend(_)));
        Ok(())
    }

    /// Forgets records whose time has passed and invites that have expired.
    ///
    /// # Errors
    /// [`ErrorKind::Store`].
    pub fn prune(&mut self, wall: UnixTime) -> Result<()> {
        let expired: Vec<_> = self
            .invites()?
            .into_iter()
            .filter(|invite| invite.expires() <= wall)
            .map(|invite| *invite.pairing.id())
            .collect();
        self.with(|db| {
            let tx = db.begin_write()?;
            {
                tx.open_table(RECORDS)?.retain(|_, until| until >= wall.as_micros())?;
                let mut invites = tx.open_table(INVITES)?;
                for id in &expired {
                    invites.remove(id)?;
                }
            }
            tx.commit()?;
            Ok(())
        })?;
        self.stale_keys |= !expired.is_empty();
        Ok(())
    }

    /// Advances the keys of every pairing to the day that `wall` allows and erases the old ones.
    /// Returns how many pairings changed.
    ///
    /// # Errors
    /// [`ErrorKind::Store`]; the old file stays in place then.
    pub fn turn_day(&mut self, wall: UnixTime) -> Result<usize> {
        let mut advanced = Vec::new();
        for mut stored in self.pairings()? {
            // A clock a century ahead is refused by `advance`; such a pairing waits for a sane one.
            if stored.pairing.advance(stored.pairing.due_day(wall)) == Ok(true) {
                advanced.push(stored);
            }
        }
        let changes: Vec<_> = advanced
            .iter()
            .map(|s| Change::Pairing { label: &s.label, made: s.made, pairing: &s.pairing })
            .collect();
        self.commit(&changes)?;
        self.stale_keys |= !advanced.is_empty();
        self.scrub_if_due()?;
        Ok(advanced.len())
    }

    /// Runs [`Store::scrub`] if keys were forgotten since the last time.
    ///
    /// # Errors
    /// As [`Store::scrub`].
    pub fn scrub_if_due(&mut self) -> Result<()> {
        if self.stale_keys { self.scrub() } else { Ok(()) }
    }

    /// Writes everything into a new file, puts it in the old one's place and overwrites the old one.
    ///
    /// # Errors
    /// [`ErrorKind::Store`]; the old file stays in place then.
    pub fn scrub(&mut self) -> Result<()> {
        let path = files::store_path(&self.dir);
        let old = &self.db;
        let copied =
            files::install_new(&self.dir, &|new| copy(old, new).map_err(|e| damaged(&path, &e)))?;
        // Dropping the old database writes its last state into the old file: before overwriting.
        self.db = copied;
        files::clean_up(&self.dir)?;
        self.stale_keys = false;
        Ok(())
    }

    fn with<T>(&self, f: impl FnOnce(&Database) -> Result<T, redb::Error>) -> Result<T> {
        f(&self.db).map_err(|e| damaged(&files::store_path(&self.dir), &e))
    }
}

/// Makes the tables, so that readers find them.
fn fill_new(db: &Database) -> Result<(), redb::Error> {
    let tx = db.begin_write()?;
    tx.open_table(META)?.insert("version", VERSION)?;
    tx.open_table(PAIRINGS)?;
    tx.open_table(INVITES)?;
    tx.open_table(RECORDS)?;
    tx.open_table(COUNTERS)?;
    tx.commit()?;
    Ok(())
}

/// Gives a store that was made before there were counters its table of them.
fn add_counters(db: &Database) -> Result<(), redb::Error> {
    match db.begin_read()?.open_table(COUNTERS) {
        Ok(_) => return Ok(()),
        Err(redb::TableError::TableDoesNotExist(_)) => {}
        Err(e) => return Err(e.into()),
    }
    let tx = db.begin_write()?;
    tx.open_table(COUNTERS)?;
    tx.commit()?;
    Ok(())
}

fn copy(from: &Database, to: &Database) -> Result<(), redb::Error> {
    fill_new(to)?;
    let (from, tx) = (from.begin_read()?, to.begin_write()?);
    {
        let mut pairings = tx.open_table(PAIRINGS)?;
        for entry in from.open_table(PAIRINGS)?.iter()? {
            let (key, value) = entry?;
            pairings.insert(key.value(), value.value())?;
        }
        let mut invites = tx.open_table(INVITES)?;
        for entry in from.open_table(INVITES)?.iter()? {
            let (key, value) = entry?;
            invites.insert(key.value(), value.value())?;
        }
        let mut records = tx.open_table(RECORDS)?;
        for entry in from.open_table(RECORDS)?.iter()? {
            let (key, value) = entry?;
            records.insert(key.value(), value.value())?;
        }
        let mut counters = tx.open_table(COUNTERS)?;
        for entry in from.open_table(COUNTERS)?.iter()? {
            let (name, value) = entry?;
            counters.insert(name.value(), value.value())?;
        }
    }
    tx.commit()?;
    Ok(())
}

/// Reads everything, so that damage shows before anything is written.
fn check_contents(db: &Database) -> Result<(), redb::Error> {
    let tx = db.begin_read()?;
    let version = tx.open_table(META)?.get("version")?.map(|v| v.value());
    if version != Some(VERSION) {
        return Err(corrupted("it was made by another version of slyfi"));
    }
    for entry in tx.open_table(PAIRINGS)?.iter()? {
        stored_pairing(entry?.1.value())?;
    }
    for entry in tx.open_table(INVITES)?.iter()? {
        stored_invite(entry?.1.value())?;
    }
    for entry in tx.open_table(RECORDS)?.iter()? {
        entry?;
    }
    Ok(())
}

fn stored_pairing(value: (&str, u64, &[u8])) -> Result<StoredPairing, redb::StorageError> {
    let (label, made, bytes) = value;
    let pairing = Pairing::decode(bytes).map_err(|_| damaged_pairing())?;
    Ok(StoredPairing { label: label.to_owned(), made: UnixTime::from_secs(made), pairing })
}

fn stored_invite(value: (&str, u64, &[u8])) -> Result<StoredInvite, redb::StorageError> {
    let StoredPairing { label, made, pairing } = stored_pairing(value)?;
    match pairing.kind() {
        Kind::Invite { .. } => Ok(StoredInvite { label, made, pairing }),
        Kind::Member => Err(damaged_pairing()),
    }
}

fn damaged_pairing() -> redb::StorageError {
    redb::StorageError::Corrupted("a pairing in it cannot be read".to_owned())
}

fn corrupted(what: &str) -> redb::Error {
    redb::Error::Corrupted(what.to_owned())
}

/// The byte under which a kind of record is stored.
const fn kind_byte(kind: RecordKind) -> u8 {
    match kind {
        RecordKind::Replay => 0,
        RecordKind::Pairing => 1,
        RecordKind::InviteSpent => 2,
        RecordKind::PairingRevoked => 3,
        // Counters have a table of their own.
        RecordKind::Counter => 4,
    }
}

fn store_io(path: &Path, error: &std::io::Error) -> Error {
    Error { kind: ErrorKind::Store, ..Error::system(path.display(), error) }
}

fn damaged(path: &Path, error: &redb::Error) -> Error {
    match error {
        redb::Error::Io(e) if !is_about_contents(e) => store_io(path, e),
        other => Error::new(
            ErrorKind::Store,
            format!("the key store {} is damaged ({other})", path.display()),
            "restore a copy of it, or move it away and pair again; it was left as it is",
        ),
    }
}

fn open_error(path: &Path, error: &redb::DatabaseError) -> Error {
    match error {
        redb::DatabaseError::DatabaseAlreadyOpen => in_use(path),
        redb::DatabaseError::Storage(redb::StorageError::Io(e)) if !is_about_contents(e) => {
            store_io(path, e)
        }
        other => damaged(path, &redb::Error::Corrupted(other.to_string())),
    }
}

/// redb reports a wrong magic number and a file cut short as I/O errors.
fn is_about_contents(e: &std::io::Error) -> bool {
    matches!(e.kind(), std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof)
}

fn in_use(path: &Path) -> Error {
    Error::new(
        ErrorKind::Store,
        format!("the key store {} is in use by another slyfi process", path.display()),
        "stop that process, or give this one a store of its own with --store DIR",
    )
}

#[cfg(test)]
mod tests;
