//! Recording and sending again, at once, later or elsewhere.

use super::{Adversary, Attack};
use slyfi_base::{Duration, Instant, Now, RxMeta, TxMeta};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// What a replayer does with what it hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// Sends each frame again after a delay.
    After(Duration),
    /// Keeps everything; sends all of it from an instant of its clock on.
    AllAt(Instant),
    /// Keeps everything and sends nothing: the ear of a pair ([`Replayer::elsewhere`]).
    Record,
}

/// Frames, when they were heard, and how they are sent again.
type Tape = VecDeque<(Instant, Vec<u8>, TxMeta)>;

/// Records every frame that it hears and replays it.
#[derive(Debug)]
pub struct Replayer {
    replay: Replay,
    tape: Rc<RefCell<Tape>>,
    sent: u64,
    /// Its own frames come back from another replayer; once is enough.
    limit: usize,
}

impl Replayer {
    /// Makes a replayer that keeps at most a million frames.
    pub fn new(replay: Replay) -> Self {
        Replayer { replay, tape: Rc::default(), sent: 0, limit: 1_000_000 }
    }

    /// Makes the mouth of a pair: it sends elsewhere what `self` hears here, from `at` on (the
    /// wormhole of slyfi-2008 §4.1's side-channel attack).
    pub fn elsewhere(&self, at: Instant) -> Replayer {
        Replayer { replay: Replay::AllAt(at), tape: self.tape.clone(), sent: 0, limit: 0 }
    }

    /// Returns how many frames wait to be sent.
    pub fn recorded(&self) -> usize {
        self.tape.borrow().len()
    }

    /// Returns how many frames were handed to the radio.
    pub fn sent(&self) -> u64 {
        self.sent
    }
}

impl Adversary for Replayer {
    fn hear(&mut self, now: Now, meta: RxMeta, frame: &[u8]) {
        let mut tape = self.tape.borrow_mut();
        // The mouth of a pair only speaks; a replay that has begun is not replayed again.
        let over = matches!(self.replay, Replay::AllAt(at) if now.mono >= at);
        if meta.bad_fcs || over || tape.len() >= self.limit {
            return;
        }
        let rate = meta.rate.unwrap_or(slyfi_base::Rate::BASE);
        tape.push_back((now.mono, frame.to_vec(), TxMeta { rate }));
    }

    fn poll_attack(&mut self, now: Now, room: usize) -> Attack {
        let mut tape = self.tape.borrow_mut();
        let due = match self.replay {
            Replay::Record => return Attack::Wait(None),
            Replay::AllAt(at) => at,
            Replay::After(delay) => match tape.front() {
                Some((heard, ..)) => *heard + delay,
                None => return Attack::Wait(None),
            },
        };
        if due > now.mono {
            return Attack::Wait(Some(due));
        }
        if room == 0 {
            return Attack::Wait(Some(now.mono + Duration::from_millis(1)));
        }
        match tape.pop_front() {
            Some((_, frame, meta)) => {
                self.sent += 1;
                Attack::Send { frame, meta }
            }
            // The ear may still add to the tape.
            None if self.limit == 0 => Attack::Wait(Some(now.mono + Duration::from_millis(10))),
            None => Attack::Wait(None),
        }
    }
}
