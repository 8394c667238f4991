//! What retrieval with one scheme costs on one table: client, server, wire, a whole login.

use super::clock::{Millis, Rounds, timed};
use super::gpu::{self, OnGpu};
use super::login::{Latency, latency};
use super::world::World;
use crate::LabError;
use slyfi_base::SecureRandom;
use slyfi_pir::{Client, SchemeId, Sizes};
use slyfi_tracedge::answer::Database;
use slyfi_tracedge::login::{ClientLogin, ServerLogin};
use slyfi_tracedge::operator::{Schemes, Serving};
use slyfi_tracedge::random::SeededRandom;
use slyfi_tracedge::registry;
use std::num::NonZeroUsize;

/// Queries that are answered in one pass over the table.
pub const BATCH: usize = 8;
/// From here on an answer of `ntru-2015` takes seconds, and is measured once.
const NTRU_ONCE: u64 = 200_000;

/// How much is done for a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Queries, answers and extractions, one after another.
    pub rounds: usize,
    /// How long a server is saturated, seconds at least.
    pub saturate_s: f64,
    /// Logins over the shaped link.
    pub logins: usize,
}

impl Effort {
    /// To see that it works.
    pub const QUICK: Effort = Effort { rounds: 3, saturate_s: 0.2, logins: 1 };
    /// To quote.
    pub const FULL: Effort = Effort { rounds: 15, saturate_s: 3.0, logins: 3 };
}

/// What came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// The scheme.
    pub scheme: SchemeId,
    /// Rows of the table.
    pub rows: u64,
    /// Lengths of what travels.
    pub sizes: Sizes,
    /// Preparing retrieval from table and directory, seconds of the wall clock, all threads.
    pub prepare_s: f64,
    /// Memory of what was prepared, table and directory, bytes.
    pub memory: u64,
    /// Making a query.
    pub query: Millis,
    /// Opening an answer.
    pub extract: Millis,
    /// Answering and signing one query on one thread.
    pub answer: Millis,
    /// One of a batch, on one thread; `None` where there is no batched kernel.
    pub batched: Option<Millis>,
    /// One query of the directory, which an audited row needs besides, on one thread.
    pub directory_answer: Millis,
    /// Answers a second of so many threads, one query at a time each.
    pub threads: Vec<(usize, f64)>,
    /// Logins a second, all threads, batches: answer, signature and both ends of the proof of K.
    pub logins_per_s: f64,
    /// A login over the shaped link.
    pub latency: Latency,
    /// Answers with a GPU, or why there are none.
    pub gpu: Result<OnGpu, String>,
}

impl Costs {
    /// Ciphertexts of a query and an answer of `ntru-2015`: the length says so.
    pub fn ciphertexts(&self) -> Option<(usize, usize)> {
        const CIPHERTEXT: usize = 4 * slyfi_pir::danger::ntru_2015::N;
        let whole = self.scheme == SchemeId::Ntru2015;
        whole.then_some((self.sizes.query / CIPHERTEXT, self.sizes.answer / CIPHERTEXT))
    }

    /// Answers a second of one thread.
    pub fn answers_per_s(&self, threads: usize) -> Option<f64> {
        self.threads.iter().find(|(n, _)| *n == threads).map(|(_, rate)| *rate)
    }
}

/// The schemes of a table and its directory. `ntru-2015` has no rows as long as the directory's.
fn schemes(scheme: SchemeId) -> Schemes {
    match scheme {
        SchemeId::Ntru2015 => Schemes { table: scheme, directory: SchemeId::Hintless },
        _ => Schemes::both(scheme),
    }
}

fn failed(scheme: SchemeId) -> impl Fn(&dyn std::fmt::Display) -> LabError {
    move |e| LabError::Measurement(format!("{}: {e}", scheme.name()))
}

/// A server and a client of it.
struct Pair<'a> {
    world: &'a World,
    serving: &'a Serving,
    client: &'a dyn Client,
    scheme: SchemeId,
    database: Database,
}

impl Pair<'_> {
    fn query(&self, seed: u64) -> Result<(u64, Vec<u8>), LabError> {
        let rng = &mut seeded(seed);
        let index = rng.below(self.client.setup().shape.rows());
        let query = self.client.query(index, rng).map_err(|e| failed(self.scheme)(&e))?;
        Ok((index, query.bytes))
    }

    fn answer(&self, query: &[u8]) -> Result<Vec<u8>, LabError> {
        let signed = self.serving.answer(self.world.keys(), self.database, query);
        Ok(signed.map_err(|e| failed(self.scheme)(&e))?.answer)
    }
}

fn seeded(seed: u64) -> SeededRandom {
    let mut bytes = [0x51; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    SeededRandom::new(bytes)
}

/// Measures a scheme on a world's table.
///
/// # Errors
/// [`LabError`], also if a row comes out wrong.
pub fn measure(
    world: &World,
    scheme: SchemeId,
    effort: Effort,
    say: &mut dyn FnMut(&str),
) -> Result<Costs, LabError> {
    let name = scheme.name();
    let slow = scheme == SchemeId::Ntru2015 && world.rows() >= NTRU_ONCE;
    let (serving, prepare_s) = timed(|| world.serve(schemes(scheme), say));
    let serving = serving?;
    let memory = serving.memory_bytes() as u64;
    let client = |database: Database| {
        let setup = database.setup(serving.head().head());
        registry::client(setup, serving.hint(database)).map_err(|e| failed(scheme)(&e))
    };
    let (table, directory) = (client(Database::Table)?, client(Database::Directory)?);
    let sizes = table.setup().sizes().map_err(|e| failed(scheme)(&e))?;
    let pair = |database, client| Pair { world, serving: &serving, client, scheme, database };
    let pair_of_table = pair(Database::Table, &*table);

    say(&format!("{name}, {} rows: one query at a time", world.rows()));
    let (query, answer, extract) = one_at_a_time(&pair_of_table, effort.rounds, slow)?;
    let pair_of_directory = pair(Database::Directory, &*directory);
    let mut directory_answers = Rounds::default();
    for round in 0..effort.rounds.min(5) as u64 {
        let (_, query) = pair_of_directory.query(round)?;
        directory_answers.time(|| pair_of_directory.answer(&query))?;
    }
    let batched = if scheme == SchemeId::Ntru2015 {
        None
    } else {
        Some(batches(&pair_of_table, effort.rounds)?)
    };
    let mut threads = Vec::new();
    for count in thread_counts(world.workers()) {
        say(&format!("{name}, {} rows: {count} threads", world.rows()));
        let rate = if slow && count == 1 {
            1e3 / answer.wall
        } else {
            saturated(&pair_of_table, count, 1, effort.saturate_s, false)?
        };
        threads.push((count, rate));
    }
    say(&format!("{name}, {} rows: saturated", world.rows()));
    let all = world.workers().get();
    let logins_per_s = match threads.last() {
        // A login's proof is nothing beside seconds for an answer.
        Some((count, rate)) if slow && *count == all => *rate,
        _ => {
            let batch = if batched.is_some() { BATCH } else { 1 };
            saturated(&pair_of_table, all, batch, effort.saturate_s, true)?
        }
    };
    let none = || failed(scheme)(&"nothing was measured");
    let directory_answer = directory_answers.medians().ok_or_else(none)?;
    let gpu = gpu::measure(world, scheme, effort.rounds);
    say(&format!("{name}, {} rows: logging on over 10 Mb/s", world.rows()));
    let logins = if slow { 1 } else { effort.logins };
    let latency = latency(world, serving, &*table, logins)?;
    Ok(Costs {
        scheme,
        rows: world.rows(),
        sizes,
        prepare_s,
        memory,
        query,
        extract,
        answer,
        batched,
        directory_answer,
        threads,
        logins_per_s,
        latency,
        gpu,
    })
}

/// 1, 2, and as many as there are.
fn thread_counts(all: NonZeroUsize) -> Vec<usize> {
    let mut counts = vec![1, 2, all.get()];
    counts.dedup();
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// Query, answer, extraction, and what comes out is the row.
fn one_at_a_time(
    pair: &Pair<'_>,
    rounds: usize,
    slow: bool,
) -> Result<(Millis, Millis, Millis), LabError> {
    let wrong = failed(pair.scheme);
    let (mut queries, mut answers, mut extracts) =
        (Rounds::default(), Rounds::default(), Rounds::default());
    let mut kept: Option<(u64, Vec<u8>)> = None;
    for round in 0..rounds as u64 {
        // Where an answer takes seconds there is one, and the same query is made and opened again:
        // equal randomness makes equal queries.
        let seed = if slow { 0 } else { round };
        let index = seeded(seed ^ 0xab).below(pair.client.setup().shape.rows());
        let query = queries.time(|| pair.client.query(index, &mut seeded(seed)));
        let query = query.map_err(|e| wrong(&e))?;
        let answer = match kept.take().filter(|(of, _)| slow && *of == index) {
            Some((_, answer)) => answer,
            None => answers.time(|| pair.answer(&query.bytes))?,
        };
        let found = extracts.time(|| query.state.extract(&answer)).map_err(|e| wrong(&e))?;
        if found.row() != pair.world.row(index) {
            return Err(wrong(&format!("row {index} came out wrong")));
        }
        kept = Some((index, answer));
    }
    let medians = queries.medians().zip(answers.medians()).zip(extracts.medians());
    let ((query, answer), extract) = medians.ok_or_else(|| wrong(&"nothing was measured"))?;
    Ok((query, answer, extract))
}

/// One of a batch.
fn batches(pair: &Pair<'_>, rounds: usize) -> Result<Millis, LabError> {
    let wrong = failed(pair.scheme);
    let queries = (0..BATCH as u64).map(|seed| Ok(pair.query(seed)?.1));
    let queries = queries.collect::<Result<Vec<_>, LabError>>()?;
    let queries: Vec<&[u8]> = queries.iter().map(|q| &q[..]).collect();
    let mut taken = Rounds::default();
    for _ in 0..rounds {
        let answers =
            taken.time(|| pair.serving.answer_batch(pair.world.keys(), Database::Table, &queries));
        if let Some(e) = answers.into_iter().find_map(Result::err) {
            return Err(wrong(&e));
        }
    }
    let taken = taken.medians().ok_or_else(|| wrong(&"nothing was measured"))?;
    Ok(taken.each(BATCH))
}

/// Answers a second when so many threads answer batches of `batch` for `seconds` at least. With
/// `login` each is followed by the proof of K, both ends of it on the same threads.
fn saturated(
    pair: &Pair<'_>,
    threads: usize,
    batch: usize,
    seconds: f64,
    login: bool,
) -> Result<f64, LabError> {
    let queries = (0..(threads * batch) as u64).map(|seed| Ok(pair.query(seed)?.1));
    let queries = queries.collect::<Result<Vec<_>, LabError>>()?;
    let begun = std::time::Instant::now();
    let work = |queries: &[Vec<u8>], seed: u64| -> Result<usize, LabError> {
        let rng = &mut seeded(seed);
        let queries: Vec<&[u8]> = queries.iter().map(|q| &q[..]).collect();
        let mut done = 0;
        while done == 0 || begun.elapsed().as_secs_f64() < seconds {
            let answers = pair.serving.answer_batch(pair.world.keys(), pair.database, &queries);
            for answer in answers {
                answer.map_err(|e| failed(pair.scheme)(&e))?;
                if login {
                    prove(pair.world, rng)?;
                }
                done += 1;
            }
        }
        Ok(done)
    };
    let done = std::thread::scope(|scope| {
        let shares = queries.chunks(batch).zip(0..);
        let threads: Vec<_> =
            shares.map(|(queries, seed)| scope.spawn(move || work(queries, seed))).collect();
        let join = |t: std::thread::ScopedJoinHandle<'_, Result<usize, LabError>>| {
            t.join().unwrap_or_else(|e| std::panic::resume_unwind(e))
        };
        threads.into_iter().map(join).sum::<Result<usize, LabError>>()
    })?;
    Ok(done as f64 / begun.elapsed().as_secs_f64())
}

/// The mutual proof of K, both ends.
fn prove(world: &World, rng: &mut SeededRandom) -> Result<(), LabError> {
    let refused = |e: slyfi_tracedge::login::Refused| LabError::Measurement(e.to_string());
    let (epoch, key) = (world.secret().epoch().number, world.secret().key());
    let server = ServerLogin::begin(rng);
    let client = ClientLogin::begin(server.share(), epoch, key, rng).map_err(refused)?;
    let known = |number| (number == epoch).then(|| key.clone());
    let (proof, _) = server.finish(&client.message().encode(), known, b"").map_err(refused)?;
    client.finish(&proof, b"").map_err(refused)?;
    Ok(())
}
