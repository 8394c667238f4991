//! What the air does to a frame on its way from one node to another.

use crate::{NodeId, SimRng};
use slyfi_base::{Dbm, Duration, Instant, Rate};
use std::collections::VecDeque;

/// The medium: a quality for every directed link, and scripted rules that go first.
pub struct Medium {
    default: LinkQuality,
    nodes: usize,
    /// `[to]`: quality of everything that this node hears, where it differs from the default.
    receivers: Vec<Option<LinkQuality>>,
    /// `[from * nodes + to]`
    links: Vec<LinkState>,
    rules: Vec<(RuleId, Rule)>,
    next_rule: u64,
    rng: SimRng,
}

/// How good a directed link is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkQuality {
    /// Strength at the receiver; `None` is out of range: neither heard nor sensed.
    pub signal: Option<Dbm>,
    /// How frames are lost.
    pub loss: Loss,
    /// How frames are damaged.
    pub corruption: Corruption,
    /// Probability that the receiver's side sees a frame twice.
    pub duplicate: f64,
    /// Probability that a frame is held back.
    pub reorder: f64,
    /// The longest that a frame is held back, so that later ones overtake it.
    pub reorder_by: Duration,
    /// A constant delay between the air and the machine.
    pub delay: Duration,
}

impl LinkQuality {
    /// In range and nothing lost.
    pub const PERFECT: LinkQuality = LinkQuality {
        signal: Some(Dbm(-50)),
        loss: Loss::None,
        corruption: Corruption { chance: 0.0, bits: 1, fcs: Fcs::Fails },
        duplicate: 0.0,
        reorder: 0.0,
        reorder_by: Duration::from_millis(5),
        delay: Duration::ZERO,
    };

    /// Out of range.
    pub const UNHEARD: LinkQuality = LinkQuality { signal: None, ..LinkQuality::PERFECT };

    /// In range, each frame lost with probability `p`, independently.
    pub const fn lossy(p: f64) -> Self {
        LinkQuality { loss: Loss::Independent(p), ..LinkQuality::PERFECT }
    }
}

/// How frames are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Not at all.
    None,
    /// Each with this probability, independently.
    Independent(f64),
    /// In bursts: the two-state chain of Gilbert and Elliott, one step a frame.
    Bursty {
        /// Probability of turning bad before a frame.
        worsen: f64,
        /// Probability of turning good before a frame.
        recover: f64,
        /// Probability of loss while good.
        good: f64,
        /// Probability of loss while bad.
        bad: f64,
    },
    /// For spans of time, whether anything is sent or not: good and bad spans of random length
    /// (uniform between nothing and twice the mean) take turns, and nothing is heard in bad ones.
    Outages {
        /// Mean length of the good spans.
        good: Duration,
        /// Mean length of the bad spans.
        bad: Duration,
    },
}

/// How frames are damaged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corruption {
    /// Probability that a frame is damaged.
    pub chance: f64,
    /// Bits flipped in a damaged frame.
    pub bits: u32,
    /// What the frame check sequence says.
    pub fcs: Fcs,
}

/// What the frame check sequence of a damaged frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fcs {
    /// Nature: the radio notices.
    Fails,
    /// An adversary (or bad luck) made it right again.
    Passes,
}

/// A frame on its way to one receiver.
#[derive(Clone, Copy, Debug)]
pub struct OnAir<'a> {
    /// True time at which it ends.
    pub at: Instant,
    /// Who sent it.
    pub from: NodeId,
    /// Who may receive it.
    pub to: NodeId,
    /// The rate it is sent at.
    pub rate: Rate,
    /// The frame.
    pub bytes: &'a [u8],
}

/// What becomes of a frame at one receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It arrives after a delay.
    Deliver {
        /// Delay behind the end of the frame.
        delay: Duration,
    },
    /// It arrives with bits flipped at random places.
    Corrupt {
        /// How many.
        bits: u32,
        /// Whether the radio notices.
        fcs: Fcs,
        /// Delay behind the end of the frame.
        delay: Duration,
    },
    /// It arrives twice.
    Duplicate {
        /// Delay of the first behind the end of the frame.
        delay: Duration,
        /// Delay of the second behind the first.
        gap: Duration,
    },
    /// It is not received.
    Drop,
}

type Predicate = Box<dyn FnMut(&OnAir<'_>) -> bool>;

/// A scripted rule: the first that matches decides.
pub struct Rule {
    from: Option<NodeId>,
    to: Option<NodeId>,
    since: Instant,
    until: Option<Instant>,
    matches: Option<Predicate>,
    remaining: Option<u64>,
    verdict: Verdict,
}

impl Rule {
    /// Makes a rule that gives `verdict` to every frame.
    pub fn new(verdict: Verdict) -> Self {
        Rule {
            from: None,
            to: None,
            since: Instant::ZERO,
            until: None,
            matches: None,
            remaining: None,
            verdict,
        }
    }

    /// Only for frames of `node`.
    pub fn from(self, node: NodeId) -> Self {
        Rule { from: Some(node), ..self }
    }

    /// Only at the receiver `node`.
    pub fn to(self, node: NodeId) -> Self {
        Rule { to: Some(node), ..self }
    }

    /// Only for frames that end in `since..until`.
    pub fn during(self, since: Instant, until: Instant) -> Self {
        Rule { since, until: Some(until), ..self }
    }

    /// Only for frames for which `predicate` holds. It is asked last, once per matching frame.
    pub fn when(self, predicate: impl FnMut(&OnAir<'_>) -> bool + 'static) -> Self {
        Rule { matches: Some(Box::new(predicate)), ..self }
    }

    /// Only for the next `n` frames that match.
    pub fn times(self, n: u64) -> Self {
        Rule { remaining: Some(n), ..self }
    }

    fn judge(&mut self, f: &OnAir<'_>) -> Option<Verdict> {
        let applies = self.from.is_none_or(|n| n == f.from)
            && self.to.is_none_or(|n| n == f.to)
            && f.at >= self.since
            && self.until.is_none_or(|u| f.at < u)
            && self.remaining != Some(0)
            && self.matches.as_mut().is_none_or(|m| m(f));
        if !applies {
            return None;
        }
        if let Some(n) = &mut self.remaining {
            *n -= 1;
        }
        Some(self.verdict)
    }
}

/// Names a rule for [`Medium::remove_rule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleId(u64);

#[derive(Clone, Debug, Default)]
struct LinkState {
    quality: Option<LinkQuality>,
    plan: VecDeque<(Instant, LinkQuality)>,
    bad: bool,
    turns_at: Instant,
    drop_next: u64,
}

impl Medium {
    /// Makes a perfect medium without nodes.
    pub fn new(rng: SimRng) -> Self {
        Medium {
            default: LinkQuality::PERFECT,
            nodes: 0,
            receivers: Vec::new(),
            links: Vec::new(),
            rules: Vec::new(),
            next_rule: 0,
            rng,
        }
    }

    /// Makes room for one more node.
    pub(crate) fn add_node(&mut self) {
        let old = std::mem::take(&mut self.links);
        let n = self.nodes;
        self.nodes = n + 1;
        self.links = vec![LinkState::default(); self.nodes * self.nodes];
        for (i, state) in old.into_iter().enumerate() {
            self.links[i / n * self.nodes + i % n] = state;
        }
        self.receivers.push(None);
    }

    /// Sets the quality of every link that has no own.
    pub fn set_default(&mut self, quality: LinkQuality) {
        self.default = quality;
    }

    /// Sets the quality of all that `to` hears, where the link has no own.
    pub fn set_receiver(&mut self, to: NodeId, quality: LinkQuality) {
        self.receivers[to.index()] = Some(quality);
    }

    /// Sets the quality of one directed link.
    pub fn set(&mut self, from: NodeId, to: NodeId, quality: LinkQuality) {
        let state = self.state(from, to);
        state.quality = Some(quality);
        state.plan.clear();
    }

    /// Sets the quality of both directions.
    pub fn set_both(&mut self, a: NodeId, b: NodeId, quality: LinkQuality) {
        self.set(a, b, quality);
        self.set(b, a, quality);
    }

    /// Plans the quality of both directions over time (someone walks): from each instant on the
    /// quality beside it holds.
    pub fn plan_both(&mut self, a: NodeId, b: NodeId, plan: &[(Instant, LinkQuality)]) {
        for (from, to) in [(a, b), (b, a)] {
            let mut plan: Vec<_> = plan.to_vec();
            plan.sort_by_key(|(at, _)| *at);
            self.state(from, to).plan = plan.into();
        }
    }

    /// Loses the next `n` frames of a directed link.
    pub fn drop_next(&mut self, from: NodeId, to: NodeId, n: u64) {
        self.state(from, to).drop_next = n;
    }

    /// Adds a rule behind those that are there.
    pub fn add_rule(&mut self, rule: Rule) -> RuleId {
        let id = RuleId(self.next_rule);
        self.next_rule += 1;
        self.rules.push((id, rule));
        id
    }

    /// Removes a rule; returns whether it was there.
    pub fn remove_rule(&mut self, id: RuleId) -> bool {
        let before = self.rules.len();
        self.rules.retain(|(i, _)| *i != id);
        self.rules.len() < before
    }

    /// Returns how strong `from` is at `to` now; `None` is out of range.
    pub fn signal(&mut self, from: NodeId, to: NodeId, now: Instant) -> Option<Dbm> {
        self.quality(from, to, now).signal
    }

    /// Returns what becomes of a frame that nothing collided with.
    pub fn verdict(&mut self, f: &OnAir<'_>) -> Verdict {
        for (_, rule) in &mut self.rules {
            if let Some(v) = rule.judge(f) {
                return v;
            }
        }
        let q = self.quality(f.from, f.to, f.at);
        let at = self.at(f.from, f.to);
        let state = &mut self.links[at];
        let rng = &mut self.rng;
        if state.drop_next > 0 {
            state.drop_next -= 1;
            return Verdict::Drop;
        }
        let lost = match q.loss {
            Loss::None => false,
            Loss::Independent(p) => rng.chance(p),
            Loss::Bursty { worsen, recover, good, bad } => {
                let turns = rng.chance(if state.bad { recover } else { worsen });
                state.bad ^= turns;
                rng.chance(if state.bad { bad } else { good })
            }
            Loss::Outages { good, bad } => {
                while state.turns_at <= f.at {
                    // The first span is a good one.
                    state.bad = state.turns_at > Instant::ZERO && !state.bad;
                    let mean = if state.bad { bad } else { good };
                    let span = 1 + rng.below(2 * mean.as_micros());
                    state.turns_at = state.turns_at + Duration::from_micros(span);
                }
                state.bad
            }
        };
        if lost {
            return Verdict::Drop;
        }
        let mut delay = q.delay;
        if rng.chance(q.reorder) {
            delay = delay + Duration::from_micros(1 + rng.below(q.reorder_by.as_micros()));
        }
        if rng.chance(q.corruption.chance) {
            let Corruption { bits, fcs, .. } = q.corruption;
            return Verdict::Corrupt { bits, fcs, delay };
        }
        if rng.chance(q.duplicate) {
            let gap = Duration::from_micros(rng.below(2_000));
            return Verdict::Duplicate { delay, gap };
        }
        Verdict::Deliver { delay }
    }

    /// Flips `bits` bits of `bytes` at random places, no bit twice.
    pub(crate) fn flip_bits(&mut self, bytes: &mut [u8], bits: u32) {
        let total = bytes.len() as u64 * 8;
        let mut flipped = Vec::new();
        while (flipped.len() as u64) < u64::from(bits).min(total) {
            let bit = self.rng.below(total);
            if !flipped.contains(&bit) {
                flipped.push(bit);
                bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
            }
        }
    }

    fn quality(&mut self, from: NodeId, to: NodeId, now: Instant) -> LinkQuality {
        let (default, receiver) = (self.default, self.receivers[to.index()]);
        let state = self.state(from, to);
        while let Some(&(at, quality)) = state.plan.front()
            && at <= now
        {
            state.quality = Some(quality);
            state.plan.pop_front();
        }
        state.quality.or(receiver).unwrap_or(default)
    }

    fn state(&mut self, from: NodeId, to: NodeId) -> &mut LinkState {
        let at = self.at(from, to);
        &mut self.links[at]
    }

    fn at(&self, from: NodeId, to: NodeId) -> usize {
        from.index() * self.nodes + to.index()
    }
}

#[cfg(test)]
mod tests;
