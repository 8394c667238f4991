use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::places::Source;

/// The right to occupy a worker thread, which few have at a time.
///
/// Who has to wait waits behind others of his own source; the sources come one after the other. So
/// whoever asks a lot keeps himself waiting, not others.
pub struct Turns(Mutex<State>);

struct State {
    free: usize,
    waiting: BTreeMap<Source, VecDeque<oneshot::Sender<Turn>>>,
    /// Whose turn it was.
    last: Option<Source>,
}

impl State {
    /// Who comes next, if anybody waits.
    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        let after = self.last.and_then(|last| {
            self.waiting.range((Excluded(last), Unbounded)).next().map(|(source, _)| *source)
        });
        let source = after.or_else(|| self.waiting.keys().next().copied())?;
        self.last = Some(source);
        let queue = self.waiting.get_mut(&source)?;
        let first = queue.pop_front();
        if queue.is_empty() {
            self.waiting.remove(&source);
        }
        first
    }
}

impl Turns {
    /// For `workers` at a time.
    pub fn new(workers: usize) -> Arc<Self> {
        let state = State { free: workers, waiting: BTreeMap::new(), last: None };
        Arc::new(Turns(Mutex::new(state)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn. Who stops waiting loses nothing but his place in the queue.
    pub async fn take(self: &Arc<Self>, source: Source) -> Option<Turn> {
        let wait = {
            let mut state = self.state();
            if state.free > 0 {
                state.free -= 1;
                return Some(Turn(Some(Arc::clone(self))));
            }
            let (tell, wait) = oneshot::channel();
            let queue = state.waiting.entry(source).or_default();
            // Those who went away: there are never more of them than of those who came.
            queue.retain(|waiting| !waiting.is_closed());
            queue.push_back(tell);
            wait
        };
        wait.await.ok()
    }
}

/// A turn; the next has his when it is dropped.
pub struct Turn(Option<Arc<Turns>>);

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(turns) = self.0.take() else { return };
        loop {
            let mut state = turns.state();
            let Some(next) = state.next() else {
                state.free += 1;
                return;
            };
            drop(state);
            match next.send(Turn(Some(Arc::clone(&turns)))) {
                Ok(()) => return,
                // He went away.
                Err(mut back) => back.0 = None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn source(last: u8) -> Source {
        Source::of([192, 0, 2, last].into())
    }

    #[test]
    fn sources_take_turns_whatever_one_of_them_asks_for() {
        let turns = Turns::new(1);
        let cx = &mut Context::from_waker(Waker::noop());
        let Poll::Ready(Some(mut held)) = pin!(turns.take(source(1))).poll(cx) else { panic!() };
        let order = [1, 1, 1, 1, 2, 3, 2];
        let mut waiting: Vec<_> =
            order.iter().map(|n| (*n, Box::pin(turns.take(source(*n))))).collect();
        assert!(waiting.iter_mut().all(|(_, wait)| wait.as_mut().poll(cx).is_pending()));
        // One of them goes away.
        drop(waiting.remove(3));
        let mut served = Vec::new();
        while !waiting.is_empty() {
            drop(held);
            let ready = waiting.iter_mut().enumerate().find_map(|(at, (_, wait))| {
                match wait.as_mut().poll(cx) {
                    Poll::Ready(turn) => Some((at, turn.unwrap())),
                    Poll::Pending => None,
                }
            });
            let (at, turn) = ready.expect("one of them has the turn");
            served.push(waiting.remove(at).0);
            held = turn;
        }
        assert_eq!(served, [1, 2, 3, 1, 2, 1]);
        drop(held);
        assert_eq!(turns.state().free, 1);
    }

    #[test]
    fn a_turn_that_nobody_came_for_is_not_lost() {
        let turns = Turns::new(1);
        let cx = &mut Context::from_waker(Waker::noop());
        let Poll::Ready(Some(held)) = pin!(turns.take(source(1))).poll(cx) else { panic!() };
        let mut late = Box::pin(turns.take(source(2)));
        assert!(late.as_mut().poll(cx).is_pending());
        // He has it, and goes without having looked.
        drop(held);
        drop(late);
        assert_eq!(turns.state().free, 1);
        assert!(turns.state().waiting.is_empty());
    }
}
