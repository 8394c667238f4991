//! The operator's service: from a request to a response, without sockets, threads or a clock.
//!
//! A server hands in bytes and the time, and sends what comes back. Nothing here keeps, logs or counts
//! anything that depends on who asks: a [`Connection`] holds the share of a login that is under way,
//! and goes away with it.

pub mod api;
mod clock;
pub mod disk;
mod error;
mod passes;
pub mod store;

use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use slyfi_base::{Now, SecureRandom};
use slyfi_pir::{Accelerator, AcceleratorError, registry};

use crate::answer::Database;
use crate::enrol::Request as EnrolRequest;
use crate::epoch::EpochKey;
use crate::files::{EpochFiles, Mapped};
use crate::head::CLOCK_SKEW;
use crate::keys::OperatorKeys;
use crate::log::TreeHead;
use crate::login::{LOGIN_DEADLINE, ServerLogin};
use crate::merkle::{Hash, log};
use crate::operator::Serving;
use crate::recent;
use api::{Response, Route};
pub use clock::ClockError;
use clock::Watch;
pub(crate) use error::mend_io;
pub use passes::BATCH;
use passes::Passes;
use store::{Store, StoreError};

/// An epoch that is served now.
struct Active {
    serving: Serving,
    key: EpochKey,
    /// Which entry of the log its head is.
    entry: u64,
    /// Its files, for those who download them whole; held so that they are not swept away.
    files: Option<Mapped>,
}

impl Active {
    /// The length of a query of a database, bytes.
    fn query_len(&self, database: Database) -> usize {
        let setup = database.setup(self.serving.head().head());
        registry::sizes(setup.scheme, setup.shape, setup.layout).map_or(0, |sizes| sizes.query)
    }
}

/// What was done, as numbers that say nothing about anybody.
#[derive(Debug, Default)]
pub struct Counters {
    /// Queries answered.
    pub answers: AtomicU64,
    /// Logins that proved K.
    pub logins: AtomicU64,
    /// Logins that did not.
    pub refused: AtomicU64,
    /// Requests that made no sense.
    pub junk: AtomicU64,
    /// Requests turned away because too many queries were being answered.
    pub busy: AtomicU64,
}

/// The service.
pub struct Service {
    keys: OperatorKeys,
    store: Mutex<Store>,
    active: RwLock<Vec<Arc<Active>>>,
    counters: Counters,
    answering: AtomicUsize,
    most_answering: usize,
    passes: Passes<(u64, Database), Option<Vec<u8>>>,
    log: RwLock<Arc<Log>>,
    /// When the log was signed last, and what that gave: who asks in the same second gets the same.
    signed: Mutex<Option<(u64, u64, Vec<u8>)>>,
    watch: Mutex<Watch>,
    /// The clock leapt: nothing is signed with its time.
    leapt: AtomicBool,
    accelerator: Option<Box<dyn Accelerator>>,
}

impl core::fmt::Debug for Service {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Service {{ operator: {} }}", self.keys.id())
    }
}

/// The log as it is in the store: whoever asks for it does not make the disk busy, and is answered
/// when the disk is full.
struct Log {
    leaves: Vec<Hash>,
    /// The last entries, more of them than anybody asks for.
    last: Vec<Vec<u8>>,
    /// When the first epoch whose key is not in it is over for everybody.
    overdue: Option<u64>,
}

impl Log {
    fn read(store: &Store) -> Result<Self, StoreError> {
        let leaves = store.leaves()?;
        let size = leaves.len() as u64;
        let entry = |at| store.log_entry(at)?.ok_or(StoreError::Damaged("log"));
        let last =
            (size.saturating_sub(2 * recent::RECENT)..size).map(entry).collect::<Result<_, _>>()?;
        let unopened = store.unopened()?;
        let overdue =
            unopened.first().map(|r| r.head.head().epoch.not_after.saturating_add(2 * CLOCK_SKEW));
        Ok(Log { leaves, last, overdue })
    }

    /// The entries that are read of this log when it had `size`; `None` if that is long ago.
    fn recent(&self, size: u64) -> Option<&[Vec<u8>]> {
        let first = (self.leaves.len() - self.last.len()) as u64;
        let range = recent::range(size);
        let at = |n: u64| usize::try_from(n.checked_sub(first)?).ok();
        self.last.get(at(range.start)?..at(range.end)?)
    }
}

/// A file or a hint of an epoch, which stays as long as this does.
pub struct Download {
    active: Arc<Active>,
    /// Of which database, and whether it is the hint.
    what: (Database, bool),
}

impl Download {
    fn bytes(&self) -> Option<&[u8]> {
        match self.what {
            (database, true) => self.active.serving.hint(database),
            (Database::Table, false) => Some(&self.active.files.as_ref()?.table),
            (Database::Directory, false) => Some(&self.active.files.as_ref()?.keys),
        }
    }
}

impl AsRef<[u8]> for Download {
    fn as_ref(&self) -> &[u8] {
        self.bytes().unwrap_or_default()
    }
}

impl core::fmt::Debug for Download {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Download {{ {} bytes }}", self.as_ref().len())
    }
}

/// What a connection keeps between two requests: a login that has begun, or nothing.
#[derive(Debug, Default)]
pub struct Connection {
    login: Option<(ServerLogin, u64)>,
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// `GET` or `POST`.
    pub method: &'a str,
    /// The path, without the query part, which no route has.
    pub path: &'a str,
    /// The body.
    pub body: &'a [u8],
}

/// Gives its place back when it is dropped.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl Service {
    /// Serves what is in `store`, with so many `passes` over databases at a time. Up to [`BATCH`] queries
    /// share a pass. At most [`Service::most_answering`] queries are under way; others are told to come
    /// back, so a flood of them costs no memory.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read.
    pub fn new(store: Store, passes: NonZeroUsize) -> Result<Self, StoreError> {
        Ok(Service {
            keys: store.keys()?,
            log: RwLock::new(Arc::new(Log::read(&store)?)),
            store: Mutex::new(store),
            active: RwLock::new(Vec::new()),
            counters: Counters::default(),
            answering: AtomicUsize::new(0),
            most_answering: passes.get().saturating_mul(BATCH),
            passes: Passes::new(passes),
            signed: Mutex::new(None),
            watch: Mutex::default(),
            leapt: AtomicBool::new(false),
            accelerator: None,
        })
    }

    /// Has an accelerator compute the retrieval's products, for all epochs that are served from now on.
    pub fn with_accelerator(mut self, accelerator: Box<dyn Accelerator>) -> Self {
        self.accelerator = Some(accelerator);
        self
    }

    /// The epochs that the processor serves although there is an accelerator, and why.
    pub fn accelerator_faults(&self) -> Vec<(u64, AcceleratorError)> {
        let number = |active: &Active| active.serving.head().head().epoch.number;
        let fault =
            |active: &Arc<Active>| Some((number(active), active.serving.accelerator_fault()?));
        self.active().iter().filter_map(fault).collect()
    }

    /// How many queries can be under way, those included that wait for a pass. Each occupies its thread.
    pub fn most_answering(&self) -> usize {
        self.most_answering
    }

    /// The operator's keys.
    pub fn keys(&self) -> &OperatorKeys {
        &self.keys
    }

    /// What was done so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Does something with the store, which is opened again first if its disk has failed.
    pub fn with_store<T>(&self, run: impl FnOnce(&mut Store) -> T) -> T {
        // Transactions are whole or not at all, so a thread that died here left nothing half done.
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        // If it cannot be opened, whatever is done with it next says so.
        let _ = store.recover();
        run(&mut store)
    }

    /// Has a look at the clocks, and writes the time down once a minute; to be called now and then, and
    /// before an epoch is built. After a leap of the civil clock nothing is signed with its time until
    /// it has gone on for as long as clocks may be apart.
    ///
    /// # Errors
    /// [`StoreError::Clock`], or if the store fails.
    pub fn watch_clock(&self, now: Now) -> Result<(), StoreError> {
        let looked = self.watch.lock().unwrap_or_else(PoisonError::into_inner).look(now);
        self.leapt.store(looked.is_err(), Ordering::Release);
        looked?;
        let now = now.wall.as_micros() / 1_000_000;
        self.with_store(|store| store.note_clock(now))
    }

    fn active(&self) -> Vec<Arc<Active>> {
        self.active.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Publishes an epoch that was built: records its head and K and appends the head to the log, then
    /// serves it beside what is served.
    ///
    /// # Errors
    /// [`StoreError`]; it is served then only if it was recorded.
    pub fn publish(
        &self,
        serving: Serving,
        key: EpochKey,
        files: Option<Mapped>,
    ) -> Result<(), StoreError> {
        let recorded = self.with_store(|store| store.record_epoch(serving.head(), &key));
        // A disk that failed may have kept it all the same: then it is published.
        let kept = |store: &mut Store| {
            let all = store.unopened().ok()?;
            all.into_iter().find(|kept| kept.head == *serving.head()).map(|kept| kept.entry)
        };
        let entry = recorded.or_else(|e| self.with_store(kept).ok_or(e))?;
        // If the log cannot be read now, `retire` reads it.
        let read = self.read_log();
        self.serve(serving, key, entry, files);
        read
    }

    fn read_log(&self) -> Result<(), StoreError> {
        let log = Arc::new(self.with_store(|store| Log::read(store))?);
        *self.log.write().unwrap_or_else(PoisonError::into_inner) = log;
        Ok(())
    }

    /// Serves the epochs that were published before a restart and are not over. An epoch whose key was
    /// published is over, whatever the clock says.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read, or the clock is behind. Epochs whose files are damaged are not served, and
    /// are returned with the reason.
    pub fn resume(
        &self,
        files: &EpochFiles,
        now: u64,
        work: &crate::pieces::Work<'_>,
    ) -> Result<Vec<(u64, crate::operator::PublishError)>, StoreError> {
        let mut failed = Vec::new();
        let unopened = self.with_store(|store| {
            store.check_clock(now)?;
            store.unopened()
        })?;
        for recorded in unopened {
            let epoch = recorded.head.head().epoch;
            if now >= epoch.not_after.saturating_add(CLOCK_SKEW) {
                continue;
            }
            let again = files.map(epoch.number).map_err(crate::operator::PublishError::Table);
            let again = again.and_then(|mapped| {
                let head = recorded.head.clone();
                Ok((Serving::resume(head, &mapped.keys, &mapped.table, work)?, mapped))
            });
            match again {
                Ok((serving, mapped)) => {
                    self.serve(serving, recorded.key.clone(), recorded.entry, Some(mapped));
                }
                Err(e) => failed.push((epoch.number, e)),
            }
        }
        Ok(failed)
    }

    fn serve(&self, mut serving: Serving, key: EpochKey, entry: u64, files: Option<Mapped>) {
        if let Some(accelerator) = &self.accelerator {
            serving.accelerate(&**accelerator);
        }
        let active = Arc::new(Active { serving, key, entry, files });
        self.active.write().unwrap_or_else(PoisonError::into_inner).push(active);
    }

    /// Stops serving epochs that are over, and publishes their keys in the log.
    ///
    /// # Errors
    /// [`StoreError`], also if the clock is behind.
    pub fn retire(&self, now: u64) -> Result<(), StoreError> {
        self.with_store(|store| store.check_clock(now))?;
        let over = |active: &Arc<Active>| {
            now >= active.serving.head().head().epoch.not_after.saturating_add(CLOCK_SKEW)
        };
        self.active.write().unwrap_or_else(PoisonError::into_inner).retain(|a| !over(a));
        self.with_store(|store| store.open_over(now))?;
        self.read_log()
    }

    /// The longest body that a request may have, bytes: a server reads no more. Routes that take no
    /// body, and those that are none, have 0.
    pub fn longest_body(&self, method: &str, path: &str) -> usize {
        match Route::parse(method, path) {
            Some(Route::Retrieve { epoch, database }) => {
                self.find(epoch).map_or(0, |active| active.query_len(database))
            }
            Some(Route::Enrol | Route::LoginFinish) => api::SMALL_BODY,
            _ => 0,
        }
    }

    /// What a request is for a whole file or a hint, if it is: these may be large, and need not be copied.
    /// [`Service::handle`] answers the same.
    pub fn download(&self, method: &str, path: &str) -> Option<Download> {
        let (epoch, what) = match Route::parse(method, path)? {
            Route::Whole { epoch, database } => (epoch, (database, false)),
            Route::Hint { epoch, database } => (epoch, (database, true)),
            _ => return None,
        };
        let download = Download { active: self.find(epoch)?, what };
        download.bytes().is_some().then_some(download)
    }

    /// Answers one request.
    pub fn handle(
        &self,
        connection: &mut Connection,
        request: Request<'_>,
        binding: &[u8],
        now: u64,
        rng: &mut dyn SecureRandom,
    ) -> Response {
        let response = match Route::parse(request.method, request.path) {
            Some(route) => self.route(connection, route, request.body, binding, now, rng),
            None => Response::NOT_FOUND,
        };
        if matches!(response.status, 400 | 404) {
            self.counters.junk.fetch_add(1, Ordering::Relaxed);
        }
        response
    }

    fn route(
        &self,
        connection: &mut Connection,
        route: Route,
        body: &[u8],
        binding: &[u8],
        now: u64,
        rng: &mut dyn SecureRandom,
    ) -> Response {
        match route {
            Route::Epochs => {
                let encode = |a: &Arc<Active>| {
                    [&a.entry.to_le_bytes()[..], &a.serving.head().encode()].concat()
                };
                Response::ok(self.active().iter().flat_map(encode).collect())
            }
            Route::LogHead => self.log_head(now),
            Route::LogLeaves => self.log(|leaves| Some(leaves.as_flattened().to_vec())),
            Route::LogRecent { size } => self.log_recent(size),
            Route::LogInclusion { index, size } => self.log(|leaves| {
                let leaves = leaves.get(..usize::try_from(size).ok()?)?;
                let index = usize::try_from(index).ok().filter(|i| *i < leaves.len())?;
                Some(log::inclusion(leaves, index).as_flattened().to_vec())
            }),
            Route::LogConsistency { old, size } => self.log(|leaves| {
                let leaves = leaves.get(..usize::try_from(size).ok()?)?;
                let old = usize::try_from(old).ok().filter(|n| (1..=leaves.len()).contains(n))?;
                Some(log::consistency(leaves, old).as_flattened().to_vec())
            }),
            Route::LogEntry { index } => match self.with_store(|store| store.log_entry(index)) {
                Ok(Some(entry)) => Response::ok(entry),
                Ok(None) => Response::NOT_FOUND,
                Err(_) => Response::FAILED,
            },
            Route::Top { epoch } => {
                self.of_epoch(epoch, |active| Some(active.serving.top().encode()))
            }
            Route::Hint { epoch, database } => {
                self.of_epoch(epoch, |active| active.serving.hint(database).map(<[u8]>::to_vec))
            }
            Route::Whole { epoch, database } => self.of_epoch(epoch, |active| {
                let files = active.files.as_ref()?;
                Some(match database {
                    Database::Table => files.table.to_vec(),
                    Database::Directory => files.keys.to_vec(),
                })
            }),
            Route::Retrieve { epoch, database } => self.retrieve(epoch, database, body),
            Route::Enrol => self.enrol(body, now, rng),
            Route::LoginBegin => {
                let login = ServerLogin::begin(rng);
                let share = login.share().to_vec();
                connection.login = Some((login, now.saturating_add(LOGIN_DEADLINE)));
                Response::ok(share)
            }
            Route::LoginFinish => self.login(connection, body, binding, now),
        }
    }

    fn read(&self) -> Arc<Log> {
        Arc::clone(&self.log.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn log(&self, run: impl FnOnce(&[Hash]) -> Option<Vec<u8>>) -> Response {
        run(&self.read().leaves).map_or(Response::NOT_FOUND, Response::ok)
    }

    fn log_head(&self, now: u64) -> Response {
        if self.leapt.load(Ordering::Acquire) {
            return Response::BUSY;
        }
        let mut signed = self.signed.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken after the lock: the log does not become shorter, nor its time earlier.
        let log = self.read();
        let (size, last) =
            (log.leaves.len() as u64, signed.as_ref().map_or(0, |(_, time, _)| *time));
        // A clock that was set back a little must not look like a log that went back.
        let time = now.max(last);
        // With keys missing that should be in it (the disk is full, or `retire` comes only now) the log
        // would accuse the operator.
        if log.overdue.is_some_and(|overdue| time >= overdue) {
            return Response::BUSY;
        }
        if let Some((_, _, bytes)) = signed.as_ref().filter(|s| (s.0, s.1) == (size, time)) {
            return Response::ok(bytes.clone());
        }
        let bytes = TreeHead::sign(&self.keys, &log.leaves, time).encode();
        *signed = Some((size, time, bytes.clone()));
        Response::ok(bytes)
    }

    fn log_recent(&self, size: u64) -> Response {
        let log = self.read();
        log.recent(size).map_or(Response::NOT_FOUND, |last| Response::ok(recent::encode(last)))
    }

    fn find(&self, epoch: u64) -> Option<Arc<Active>> {
        self.active().into_iter().find(|a| a.serving.head().head().epoch.number == epoch)
    }

    fn of_epoch(&self, epoch: u64, run: impl FnOnce(&Active) -> Option<Vec<u8>>) -> Response {
        let found = self.find(epoch).and_then(|active| run(&active));
        found.map_or(Response::NOT_FOUND, Response::ok)
    }

    fn retrieve(&self, epoch: u64, database: Database, query: &[u8]) -> Response {
        let Some(active) = self.find(epoch) else { return Response::NOT_FOUND };
        // Junk waits for no pass.
        if query.len() != active.query_len(database) {
            return Response::BAD_REQUEST;
        }
        // A place first: whoever does not get one has cost nothing but this.
        let place = Place(&self.answering);
        if self.answering.fetch_add(1, Ordering::Acquire) >= self.most_answering {
            drop(place);
            self.counters.busy.fetch_add(1, Ordering::Relaxed);
            return Response::BUSY;
        }
        let pass = |queries: &[&[u8]]| {
            let answers = active.serving.answer_batch(&self.keys, database, queries);
            answers.into_iter().map(|signed| Some(signed.ok()?.encode())).collect()
        };
        match self.passes.answer((epoch, database), query, pass) {
            Some(Some(signed)) => {
                self.counters.answers.fetch_add(1, Ordering::Relaxed);
                Response::ok(signed)
            }
            Some(None) => Response::BAD_REQUEST,
            None => Response::FAILED,
        }
    }

    fn enrol(&self, body: &[u8], now: u64, rng: &mut dyn SecureRandom) -> Response {
        let Ok(request) = EnrolRequest::decode(body, &self.keys.id()) else {
            return Response::BAD_REQUEST;
        };
        match self.with_store(|store| store.enrol(&request, now, rng)) {
            Ok(receipt) => Response::ok(receipt.encode()),
            Err(StoreError::Refused(_)) => Response::FORBIDDEN,
            Err(_) => Response::FAILED,
        }
    }

    fn login(
        &self,
        connection: &mut Connection,
        message: &[u8],
        binding: &[u8],
        now: u64,
    ) -> Response {
        // x1 is taken out whatever comes of it: it serves once.
        let begun = connection.login.take().filter(|(_, deadline)| now <= *deadline);
        let key = |number| {
            let active = self.find(number)?;
            let epoch = active.serving.head().head().epoch;
            let early = now.saturating_add(CLOCK_SKEW) < epoch.not_before;
            (!early).then(|| active.key.clone())
        };
        match begun.map(|(login, _)| login.finish(message, key, binding)) {
            Some(Ok((proof, _session))) => {
                self.counters.logins.fetch_add(1, Ordering::Relaxed);
                Response::ok(proof.to_vec())
            }
            Some(Err(_)) | None => {
                self.counters.refused.fetch_add(1, Ordering::Relaxed);
                Response::FORBIDDEN
            }
        }
    }
}
