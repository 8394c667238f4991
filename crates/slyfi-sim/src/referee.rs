//! The privacy referee: watches every run and fails it on what an outsider could hold on to.
//!
//! It knows who really sent a frame, but judges only what anyone can see; what it must know beyond
//! that (which address is a Tryst address, which lengths are allowed) the scenario tells it.

mod addresses;
mod counter;
mod finding;
mod runs;
mod spread;

pub use addresses::{AddressClass, AddressOracle, TrystAllowance};
pub use finding::{Finding, Leak, LeakKind, Place, Scope};

use crate::NodeId;
use addresses::{AddressBook, Use};
use counter::Counters;
use memchr::memmem;
use runs::{Run, Runs};
use slyfi_base::{Instant, Rate, UnixTime};
use slyfi_wire::carrier;
use spread::Spread;
use std::collections::BTreeMap;

/// Findings kept of each kind; the rest is only counted, and the search for more of the kind stops
/// where it costs time.
const KEPT: usize = 16;

/// The referee of a run.
pub struct Referee {
    mode: Mode,
    sizes: Option<SizePolicy>,
    one_rate: bool,
    usual_rate: Option<Rate>,
    secrets: Vec<(&'static str, memmem::Finder<'static>)>,
    addresses: AddressBook,
    networks: BTreeMap<NodeId, u32>,
    runs: Runs,
    spread: Spread,
    counters: Counters,
    frames: u64,
    judged: u64,
    findings: Vec<Finding>,
    counts: BTreeMap<LeakKind, u64>,
    not_carrier: BTreeMap<NodeId, u64>,
}

/// Says whether a length in bytes behind the carrier is allowed.
pub type SizePolicy = Box<dyn Fn(usize) -> bool>;

/// What findings do to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Strict,
    Control,
}

/// A transmitted frame as the referee sees it.
pub(crate) struct Seen<'a> {
    pub(crate) at: Instant,
    pub(crate) composed: UnixTime,
    pub(crate) sender: NodeId,
    pub(crate) network: u32,
    pub(crate) rate: Rate,
    pub(crate) frame: &'a [u8],
}

impl Referee {
    /// Makes a strict referee; `salt` decides which of the many 8-byte runs deep in frames it
    /// remembers, so that different seeds look at different ones.
    pub(crate) fn new(salt: u64) -> Self {
        Referee {
            mode: Mode::Strict,
            sizes: None,
            one_rate: true,
            usual_rate: None,
            secrets: Vec::new(),
            addresses: AddressBook::new(),
            networks: BTreeMap::new(),
            runs: Runs::new(salt),
            spread: Spread::new(),
            counters: Counters::new(),
            frames: 0,
            judged: 0,
            findings: Vec::new(),
            counts: BTreeMap::new(),
            not_carrier: BTreeMap::new(),
        }
    }

    /// Lets the run go on whatever is found: for protocols that are expected to leak.
    pub fn expect_findings(&mut self) {
        self.mode = Mode::Control;
    }

    /// Tells which lengths behind the carrier are allowed; without it every length is.
    pub fn set_sizes(&mut self, policy: impl Fn(usize) -> bool + 'static) {
        self.sizes = Some(Box::new(policy));
    }

    /// Lets frames of a run have different rates (the paper's own setting, §5.2).
    pub fn allow_rates(&mut self) {
        self.one_rate = false;
    }

    /// Tells how long and how often an address may be seen again where no oracle tells which
    /// addresses are Tryst's. The default is the paper's interval of 5 minutes.
    pub fn set_tryst_allowance(&mut self, allowance: TrystAllowance) {
        self.addresses.allowance = allowance;
    }

    /// Hands over the ground truth about addresses.
    pub fn set_oracle(&mut self, oracle: impl AddressOracle + 'static) {
        self.addresses.oracle = Some(Box::new(oracle));
    }

    /// Forbids a byte string behind the carrier.
    ///
    /// # Panics
    /// When it is shorter than 6 bytes: random bytes would contain it by chance.
    pub fn forbid(&mut self, what: &'static str, bytes: &[u8]) {
        assert!(bytes.len() >= 6, "{what}: too short to be told from chance");
        let finder = memmem::Finder::new(bytes).into_owned();
        if !self.secrets.iter().any(|(_, f)| f.needle() == bytes) {
            self.secrets.push((what, finder));
        }
    }

    /// Returns the findings, at most 16 of each kind.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns how many findings of a kind there were.
    pub fn count(&self, kind: LeakKind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or(0)
    }

    /// Returns how many frames were judged.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Returns how many different addresses were seen.
    pub fn addresses(&self) -> u64 {
        self.addresses.len()
    }

    /// Judges what only all frames together show, and returns all findings.
    pub fn verdict(&mut self) -> &[Finding] {
        self.judge();
        &self.findings
    }

    pub(crate) fn is_content(&self) -> bool {
        self.mode == Mode::Control || self.findings.is_empty()
    }

    /// Judges the spread of bytes over all frames so far.
    pub(crate) fn judge(&mut self) {
        if self.judged == self.frames {
            return;
        }
        self.judged = self.frames;
        self.findings.retain(|f| f.leak.kind() != LeakKind::StableByte);
        self.counts.remove(&LeakKind::StableByte);
        let mut found = Vec::new();
        self.spread.judge(|finding| found.push(finding));
        for finding in found {
            self.found(finding);
        }
    }

    /// Looks at one transmitted frame.
    pub(crate) fn see(&mut self, seen: &Seen<'_>) {
        let frame = self.frames;
        self.frames += 1;
        let finding = |leak| Finding { at: seen.at, sender: seen.sender, frame, leak };
        let carrier = carrier::HEADER;
        let differs = (0..carrier.len()).find(|&i| seen.frame.get(i) != Some(&carrier[i]));
        let body = match differs {
            None => &seen.frame[carrier.len()..],
            Some(offset) => {
                *self.not_carrier.entry(seen.sender).or_default() += 1;
                self.found(finding(Leak::NotCarrier { offset }));
                seen.frame
            }
        };
        let usual = *self.usual_rate.get_or_insert(seen.rate);
        if self.one_rate && usual != seen.rate {
            self.found(finding(Leak::Rate { rate: seen.rate, usual }));
        }
        if self.sizes.as_ref().is_some_and(|allowed| !allowed(body.len())) {
            self.found(finding(Leak::Size { len: body.len() }));
        }
        let verdict = self.addresses.take(body, seen);
        if let Use::Leak(leak) = &verdict {
            self.found(finding(leak.clone()));
        }
        let tryst_again = matches!(verdict, Use::TrystAgain);
        if !self.is_full(LeakKind::Cleartext) {
            let hit = self.secrets.iter().find_map(|(what, f)| Some((*what, f.find(body)?)));
            if let Some((what, position)) = hit {
                self.found(finding(Leak::Cleartext { what, position }));
            }
        }
        if !self.is_full(LeakKind::RepeatedRun) {
            let from = Run::new(seen.composed, seen.sender);
            let (addresses, networks) = (&mut self.addresses, &mut self.networks);
            networks.insert(seen.sender, seen.network);
            let hit = self.runs.take(body, from, |position, first| {
                let one_network = networks.get(&first.sender()) == Some(&seen.network);
                addresses.may_repeat(body, position, first, &from, one_network)
            });
            if let Some((position, first)) = hit {
                let (first_position, by) = (first.position(), first.sender());
                self.found(finding(Leak::RepeatedRun { position, first_position, by }));
            }
        }
        if !self.is_full(LeakKind::Counter)
            && let Some(position) = self.counters.take(seen.sender, body)
        {
            self.found(finding(Leak::Counter { position }));
        }
        self.spread.take(seen.at, seen.sender, frame, body, tryst_again);
    }

    fn is_full(&self, kind: LeakKind) -> bool {
        self.count(kind) >= KEPT as u64
    }

    fn found(&mut self, finding: Finding) {
        let count = self.counts.entry(finding.leak.kind()).or_default();
        *count += 1;
        if *count <= KEPT as u64 {
            self.findings.push(finding);
        }
    }
}
