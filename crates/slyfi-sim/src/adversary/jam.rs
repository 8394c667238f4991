//! Noise by schedule.

use super::{Adversary, Attack};
use slyfi_base::{Duration, Instant, Now, RxMeta};
use std::collections::VecDeque;

/// Fills the air with noise at planned times.
#[derive(Debug)]
pub struct Jammer {
    plan: VecDeque<(Instant, Duration)>,
}

impl Jammer {
    /// Makes a jammer: from each instant of its clock on, noise for the span beside it.
    pub fn new(plan: impl IntoIterator<Item = (Instant, Duration)>) -> Self {
        let mut plan: Vec<_> = plan.into_iter().collect();
        plan.sort();
        Jammer { plan: plan.into() }
    }
}

impl Adversary for Jammer {
    fn hear(&mut self, _now: Now, _meta: RxMeta, _frame: &[u8]) {}

    fn poll_attack(&mut self, now: Now, _room: usize) -> Attack {
        match self.plan.front() {
            Some(&(at, span)) if at <= now.mono => {
                self.plan.pop_front();
                Attack::Noise { span }
            }
            next => Attack::Wait(next.map(|(at, _)| *at)),
        }
    }
}
