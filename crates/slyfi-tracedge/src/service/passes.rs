use core::num::NonZeroUsize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How many queries one pass over a database answers at most. The kernels share one reading of the
/// table among so many (docs/pir.md, "The kernels").
pub const BATCH: usize = 8;

/// Passes over databases: a few at a time, each answering whoever waits for the same database.
///
/// A query that comes while there is room is answered at once, alone. While there is none, queries wait
/// in the order in which they came; the first of them then takes those with it that ask the same
/// database. So a lone query waits for nobody, and the more there are, the less each costs.
pub struct Passes<K, A> {
    at_once: usize,
    state: Mutex<State<K, A>>,
    changed: Condvar,
}

struct State<K, A> {
    running: usize,
    /// The next ticket.
    next: u64,
    waiting: VecDeque<Waiting<K>>,
    /// Answers that nobody has fetched yet, by ticket; `None` of a pass that failed.
    done: BTreeMap<u64, Option<A>>,
}

struct Waiting<K> {
    ticket: u64,
    database: K,
    query: Vec<u8>,
}

impl<K: Copy + Eq, A> Passes<K, A> {
    /// For `at_once` passes at a time.
    pub fn new(at_once: NonZeroUsize) -> Self {
        let state = State { running: 0, next: 0, waiting: VecDeque::new(), done: BTreeMap::new() };
        Passes { at_once: at_once.get(), state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State<K, A>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a query answered, on this thread or on another that waits here: `run` gets at most
    /// [`BATCH`] queries of `database` and returns as many answers, in their order.
    ///
    /// `None` if the pass panicked. How many wait is for the caller to bound.
    pub fn answer(&self, database: K, query: &[u8], run: impl Fn(&[&[u8]]) -> Vec<A>) -> Option<A> {
        let mut state = self.state();
        if state.running < self.at_once && state.waiting.is_empty() {
            state.running += 1;
            drop(state);
            let mut pass = Pass { passes: self, tickets: Vec::new(), answers: Vec::new() };
            pass.answers = run(&[query]);
            return pass.answers.pop();
        }
        let ticket = state.next;
        state.next += 1;
        state.waiting.push_back(Waiting { ticket, database, query: query.to_vec() });
        loop {
            if let Some(answer) = state.done.remove(&ticket) {
                return answer;
            }
            let first = state.waiting.front().is_some_and(|w| w.ticket == ticket);
            if first && state.running < self.at_once {
                let batch = state.take_batch(database);
                state.running += 1;
                drop(state);
                self.run(&batch, &run);
                state = self.state();
                continue;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn run(&self, batch: &[Waiting<K>], run: &impl Fn(&[&[u8]]) -> Vec<A>) {
        let tickets = batch.iter().map(|w| w.ticket).collect();
        let mut pass = Pass { passes: self, tickets, answers: Vec::new() };
        let queries: Vec<&[u8]> = batch.iter().map(|w| &w.query[..]).collect();
        pass.answers = run(&queries);
    }
}

impl<K: Copy + Eq, A> State<K, A> {
    /// Takes the queries of `database` that have waited longest.
    fn take_batch(&mut self, database: K) -> Vec<Waiting<K>> {
        let mut batch = Vec::with_capacity(BATCH);
        let mut others = VecDeque::with_capacity(self.waiting.len());
        for waiting in self.waiting.drain(..) {
            if waiting.database == database && batch.len() < BATCH {
                batch.push(waiting);
            } else {
                others.push_back(waiting);
            }
        }
        self.waiting = others;
        batch
    }
}

/// A pass under way. However it ends, whoever waits for it is told, and the next can begin.
struct Pass<'a, K: Copy + Eq, A> {
    passes: &'a Passes<K, A>,
    tickets: Vec<u64>,
    answers: Vec<A>,
}

impl<K: Copy + Eq, A> Drop for Pass<'_, K, A> {
    fn drop(&mut self) {
        let mut state = self.passes.state();
        state.running -= 1;
        let mut answers = self.answers.drain(..);
        for ticket in self.tickets.drain(..) {
            state.done.insert(ticket, answers.next());
        }
        drop(state);
        self.passes.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicUsize, Ordering};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc;
    use std::thread;

    fn passes(at_once: usize) -> Passes<u8, Vec<u8>> {
        Passes::new(NonZeroUsize::new(at_once).unwrap())
    }

    fn echo(queries: &[&[u8]]) -> Vec<Vec<u8>> {
        queries.iter().map(|q| q.to_vec()).collect()
    }

    /// Holds one pass until `count` queries wait, of the databases that `of` gives.
    fn gathered(
        passes: &Passes<u8, Vec<u8>>,
        count: usize,
        of: impl Fn(usize) -> u8 + Sync,
    ) -> Vec<Vec<usize>> {
        let sizes = Mutex::new(vec![Vec::new(); 256]);
        let (begun, has_begun) = mpsc::channel();
        let (go, may_go) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let held = Mutex::new(may_go);
            scope.spawn(move || {
                passes.answer(0, b"first", |queries| {
                    begun.send(()).unwrap();
                    held.lock().unwrap().recv().unwrap();
                    echo(queries)
                })
            });
            has_begun.recv().unwrap();
            for n in 0..count {
                let (sizes, database) = (&sizes, of(n));
                scope.spawn(move || {
                    let query = [database, n as u8];
                    let answer = passes.answer(database, &query, |queries| {
                        sizes.lock().unwrap()[usize::from(database)].push(queries.len());
                        assert!(queries.iter().all(|q| q[0] == database));
                        echo(queries)
                    });
                    assert_eq!(answer.unwrap(), query);
                });
            }
            while passes.state().waiting.len() < count {
                thread::yield_now();
            }
            go.send(()).unwrap();
        });
        let state = passes.state();
        assert!(state.running == 0 && state.waiting.is_empty() && state.done.is_empty());
        sizes.into_inner().unwrap()
    }

    #[test]
    fn those_who_wait_share_passes_and_each_gets_his_own_answer() {
        let sizes = gathered(&passes(1), 20, |_| 7);
        assert_eq!(sizes[7], [8, 8, 4]);
    }

    #[test]
    fn queries_of_different_databases_share_no_pass() {
        let sizes = gathered(&passes(1), 12, |n| 1 + n as u8 % 2);
        assert_eq!((&sizes[1][..], &sizes[2][..]), (&[6][..], &[6][..]));
    }

    #[test]
    fn a_lone_query_waits_for_nobody_and_passes_at_once_are_few() {
        let passes = passes(2);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for n in 0..64u8 {
                let (passes, now, most) = (&passes, &now, &most);
                scope.spawn(move || {
                    let answer = passes.answer(n % 3, &[n], |queries| {
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        thread::yield_now();
                        now.fetch_sub(1, Ordering::SeqCst);
                        echo(queries)
                    });
                    assert_eq!(answer.unwrap(), [n]);
                });
            }
        });
        assert!((1..=2).contains(&most.into_inner()));
        assert_eq!(passes.answer(0, b"alone", echo).unwrap(), b"alone");
    }

    #[test]
    fn a_pass_that_panics_fails_its_queries_and_no_others() {
        let passes = passes(1);
        let panics = |_: &[&[u8]]| -> Vec<Vec<u8>> { panic!("on purpose") };
        let failed = catch_unwind(AssertUnwindSafe(|| passes.answer(0, b"a", panics)));
        assert!(failed.is_err());
        assert_eq!(passes.answer(0, b"b", echo).unwrap(), b"b");
        // Fewer answers than queries: who is left out is told, not kept waiting.
        assert_eq!(passes.answer(0, b"c", |_| Vec::new()), None);
        assert_eq!(passes.state().running, 0);
    }
}
