//! The simulation: nodes around one channel, and the clock that moves them.

mod drive;
mod error;
mod inspect;
mod transmit;

pub use error::RunError;

use crate::adversary::Adversary;
use crate::channel::{Channel, TxId};
use crate::clock::NodeClock;
use crate::dcf::Contention;
use crate::disk::{Disk, Record};
use crate::host::Host;
use crate::medium::{LinkQuality, Medium};
use crate::node::{AnyLink, Happened, NodeConfig, NodeId, NodeStats, Recorded};
use crate::referee::Referee;
use crate::rng::SimRng;
use crate::schedule::{Schedule, Turn};
use crate::sniffer::Sniffer;
use slyfi_base::{Command, Duration, Instant, Now, RxMeta, TxMeta, UnixTime};
use std::collections::VecDeque;
use std::rc::Rc;

/// Outputs of one machine, or wake-ups at one microsecond, after which it is called stuck.
const PATIENCE: u32 = 100_000;

/// A simulated air with everything on it.
pub struct Air {
    seed: u64,
    epoch: UnixTime,
    now: Instant,
    schedule: Schedule<Happening>,
    nodes: Vec<Node>,
    channel: Channel,
    medium: Medium,
    referee: Referee,
    record: Vec<Recorded>,
    rng: SimRng,
    backhaul: Backhaul,
    backhaul_rng: SimRng,
    digest: u64,
    frames: u64,
    failure: Option<RunError>,
    scratch: Vec<u8>,
}

/// Where in its output a machine is killed ([`Air::crash_at`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPoint {
    /// Right before the n-th record from now is durable (1 is the next).
    BeforePersist(u32),
    /// Right after the n-th record is durable, before anything that follows it.
    AfterPersist(u32),
    /// Right after the n-th frame was handed to the radio.
    AfterTransmit(u32),
}

/// The wire between the access points of a network.
#[derive(Clone, Copy, Debug)]
struct Backhaul {
    delay: Duration,
    loss: f64,
}

/// What happens at an instant.
pub(crate) enum Happening {
    /// A node's backoff is over.
    Begin(NodeId, u64),
    /// A transmission ends.
    End(TxId),
    /// A radio answers a frame (or an attacker sends) without asking the channel.
    Force(NodeId, Outgoing),
    /// Noise begins at a node.
    Noise(NodeId, Duration),
    /// No acknowledgement came.
    AckTimeout(NodeId, u64),
    /// A frame reaches a machine behind its end.
    Arrive(NodeId, RxMeta, Rc<[u8]>),
    /// A timer of a node.
    Wake(NodeId, u64),
    /// A message from another access point.
    Message(NodeId, Rc<[u8]>),
    /// The test does something.
    Script(Box<dyn FnOnce(&mut Air)>),
}

/// A frame that a node wants on the air.
pub(crate) struct Outgoing {
    pub(crate) frame: Rc<[u8]>,
    pub(crate) meta: TxMeta,
    /// What the sender's wall clock said when it was composed.
    pub(crate) composed: UnixTime,
}

/// What kind of node it is.
pub(crate) enum Role {
    /// A machine and its host; the machine is gone after a crash.
    Party { link: Option<Box<dyn AnyLink>>, host: Box<dyn Host>, held: Option<Vec<u8>> },
    /// Hears and writes.
    Sniffer(Box<Sniffer>),
    /// Hears and misuses.
    Adversary(Box<dyn Adversary>),
}

pub(crate) struct Node {
    pub(crate) config: NodeConfig,
    pub(crate) clock: NodeClock,
    pub(crate) role: Role,
    pub(crate) disk: Disk,
    pub(crate) stats: NodeStats,
    pub(crate) key_log: Vec<Vec<u8>>,
    pub(crate) crash: Option<CrashPoint>,
    pub(crate) rng: SimRng,
    /// When the machine and the host (or the attacker) want to be woken, on the node's clock.
    pub(crate) link_at: Option<Instant>,
    pub(crate) host_at: Option<Instant>,
    pub(crate) wake_at: Option<Instant>,
    pub(crate) wake: u64,
    pub(crate) woken: (Instant, u32),
    // The radio.
    pub(crate) queue: VecDeque<Outgoing>,
    pub(crate) contention: Contention,
    pub(crate) begin: u64,
    pub(crate) begin_at: Option<Instant>,
    pub(crate) awaiting: Option<u64>,
    pub(crate) attempts: u8,
    /// Transmitter and sequence control of the last frames acknowledged (10.3.2.14).
    pub(crate) last_acked: Vec<([u8; 6], [u8; 2])>,
}

impl Air {
    /// Makes an empty air whose clocks begin at 2008-06-17T00:00:00Z, the day of the paper.
    pub fn new(seed: u64) -> Self {
        let rng = SimRng::new(seed);
        Air {
            seed,
            epoch: UnixTime::from_secs(1_213_660_800),
            now: Instant::ZERO,
            schedule: Schedule::new(),
            nodes: Vec::new(),
            channel: Channel::new(),
            medium: Medium::new(rng.split("medium", 0)),
            referee: Referee::new(rng.split("referee", 0).next_u64()),
            record: Vec::new(),
            backhaul: Backhaul { delay: Duration::from_millis(1), loss: 0.0 },
            backhaul_rng: rng.split("backhaul", 0),
            rng,
            digest: 0,
            frames: 0,
            failure: None,
            scratch: vec![0; 4096],
        }
    }

    /// Sets what the right wall clock shows at the start. Only before the first node.
    pub fn with_epoch(mut self, epoch: UnixTime) -> Self {
        self.epoch = epoch;
        self
    }

    /// Lets a frame survive an overlap in which it is `db` decibels stronger.
    pub fn with_capture(mut self, db: u8) -> Self {
        self.channel.capture = Some(db);
        self
    }

    /// Sets the delay and the loss of messages between access points.
    pub fn with_backhaul(mut self, delay: Duration, loss: f64) -> Self {
        self.backhaul = Backhaul { delay, loss };
        self
    }

    /// Returns the seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns a generator of the run for `purpose`: what a machine is given as its entropy.
    pub fn rng(&self, purpose: &str, index: u64) -> SimRng {
        self.rng.split(purpose, index)
    }

    /// Returns the true time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns what a right clock shows.
    pub fn wall(&self) -> UnixTime {
        self.epoch + self.now.saturating_since(Instant::ZERO)
    }

    /// Returns what the clocks of a node show.
    pub fn now_of(&self, node: NodeId) -> Now {
        self.nodes[node.index()].clock.now(self.now)
    }

    /// Adds a machine with its host.
    pub fn add_node(
        &mut self,
        config: NodeConfig,
        link: Box<dyn AnyLink>,
        host: Box<dyn Host>,
    ) -> NodeId {
        for marker in host.markers() {
            self.referee.forbid("payload", &marker);
        }
        for (what, bytes) in &config.secrets {
            self.referee.forbid(what, bytes);
        }
        self.add(config, Role::Party { link: Some(link), host, held: None })
    }

    /// Adds a sniffer that hears everything; give its links a quality to make it miss some.
    pub fn add_sniffer(&mut self, config: NodeConfig, sniffer: Sniffer) -> NodeId {
        let id = self.add(config.with_bad_fcs(), Role::Sniffer(Box::new(sniffer)));
        self.medium.set_receiver(id, LinkQuality::PERFECT);
        id
    }

    /// Adds an attacker that hears everything.
    pub fn add_adversary(&mut self, config: NodeConfig, adversary: Box<dyn Adversary>) -> NodeId {
        let id = self.add(config, Role::Adversary(adversary));
        self.medium.set_receiver(id, LinkQuality::PERFECT);
        id
    }

    fn add(&mut self, config: NodeConfig, role: Role) -> NodeId {
        // expect: a scenario with 65536 nodes is a mistake of its writer.
        let id = NodeId(u16::try_from(self.nodes.len()).expect("at most 65535 nodes"));
        self.medium.add_node();
        let clock = NodeClock::new(self.epoch, config.clock_offset, config.clock_ppm);
        self.nodes.push(Node {
            clock,
            role,
            disk: Disk::default(),
            stats: NodeStats::default(),
            key_log: Vec::new(),
            crash: None,
            rng: self.rng.split("node", u64::from(id.0)),
            link_at: None,
            host_at: None,
            wake_at: None,
            wake: 0,
            woken: (Instant::ZERO, 0),
            queue: VecDeque::new(),
            contention: Contention::new(self.now),
            begin: 0,
            begin_at: None,
            awaiting: None,
            attempts: 0,
            last_acked: Vec::new(),
            config,
        });
        self.settle(id);
        id
    }

    /// Gives a command to a machine.
    ///
    /// # Errors
    /// What the machine says; [`slyfi_base::ApiMisuse::WrongState`] if it has crashed.
    pub fn command(&mut self, node: NodeId, c: Command) -> Result<(), slyfi_base::ApiMisuse> {
        let now = self.now_of(node);
        let Role::Party { link: Some(link), .. } = &mut self.nodes[node.index()].role else {
            return Err(slyfi_base::ApiMisuse::WrongState);
        };
        let result = link.handle_command(now, c);
        self.settle(node);
        result
    }

    /// Gives a packet to a machine as if its host had sent it.
    ///
    /// # Errors
    /// What the machine says; [`slyfi_base::Refused::NotLinked`] if it has crashed.
    pub fn send_packet(&mut self, node: NodeId, packet: &[u8]) -> Result<(), slyfi_base::Refused> {
        let now = self.now_of(node);
        let Role::Party { link: Some(link), .. } = &mut self.nodes[node.index()].role else {
            return Err(slyfi_base::Refused::NotLinked);
        };
        let result = link.handle_packet(now, packet);
        self.settle(node);
        result
    }

    /// Does something at the true time `at`.
    pub fn at(&mut self, at: Instant, script: impl FnOnce(&mut Air) + 'static) {
        self.schedule.add(at.max(self.now), Turn::Second, Happening::Script(Box::new(script)));
    }

    /// Kills a machine: its state is gone, its radio's queue is empty, its disk stays.
    pub fn crash(&mut self, node: NodeId) {
        let n = &mut self.nodes[node.index()];
        if let Role::Party { link, held, .. } = &mut n.role {
            *link = None;
            *held = None;
        }
        n.queue.clear();
        n.awaiting = None;
        n.begin += 1;
        n.begin_at = None;
        n.link_at = None;
        n.crash = None;
        self.note(node, Happened::Crashed);
    }

    /// Kills a machine at a point of its output.
    pub fn crash_at(&mut self, node: NodeId, point: CrashPoint) {
        self.nodes[node.index()].crash = Some(point);
    }

    /// Takes back [`Air::crash_at`], if its point has not come.
    pub fn spare(&mut self, node: NodeId) {
        self.nodes[node.index()].crash = None;
    }

    /// Starts a new machine from the records on the node's disk that are still valid.
    pub fn restart(&mut self, node: NodeId, make: impl FnOnce(&[Record], Now) -> Box<dyn AnyLink>) {
        let now = self.now_of(node);
        let n = &mut self.nodes[node.index()];
        let fresh = make(&n.disk.records(now.wall), now);
        if let Role::Party { link, .. } = &mut n.role {
            *link = Some(fresh);
        }
        self.note(node, Happened::Restarted);
        self.settle(node);
    }

    /// Steps the wall clock of a node by `us` microseconds.
    pub fn step_clock(&mut self, node: NodeId, us: i64) {
        self.nodes[node.index()].clock.step(us);
    }

    /// Returns the medium, to change links or add rules.
    pub fn medium(&mut self) -> &mut Medium {
        &mut self.medium
    }

    /// Returns the referee, to tell it about secrets, sizes and addresses.
    pub fn referee(&mut self) -> &mut Referee {
        &mut self.referee
    }

    /// Returns a node's disk.
    pub fn disk(&mut self, node: NodeId) -> &mut Disk {
        &mut self.nodes[node.index()].disk
    }

    /// Writes what the sniffers' captures hold back.
    ///
    /// # Errors
    /// [`RunError::Capture`].
    pub fn flush(&mut self) -> Result<(), RunError> {
        for n in &mut self.nodes {
            if let Role::Sniffer(s) = &mut n.role
                && let Err(error) = s.flush()
            {
                let node = n.config.name.clone();
                return Err(RunError::Capture { node, error: error.to_string() });
            }
        }
        Ok(())
    }

    /// Lets time pass until `end`.
    ///
    /// # Errors
    /// [`RunError`], at once when a machine is at fault, at the end when the referee is not content.
    pub fn run_until(&mut self, end: Instant) -> Result<(), RunError> {
        self.run_while(end, |_| true).map(|_| ())
    }

    /// Lets time pass for `span`, as [`Air::run_until`].
    ///
    /// # Errors
    /// As [`Air::run_until`].
    pub fn run_for(&mut self, span: Duration) -> Result<(), RunError> {
        self.run_until(self.now + span)
    }

    /// Lets time pass until `goal` holds, for `span` at most; returns whether it was reached.
    ///
    /// # Errors
    /// As [`Air::run_until`].
    pub fn run_to(
        &mut self,
        span: Duration,
        mut goal: impl FnMut(&Air) -> bool,
    ) -> Result<bool, RunError> {
        let end = self.now + span;
        self.run_while(end, |air| !goal(air)).map(|ran_out| !ran_out)
    }

    /// Runs while `go_on` holds; returns whether the time ran out first.
    fn run_while(
        &mut self,
        end: Instant,
        mut go_on: impl FnMut(&Air) -> bool,
    ) -> Result<bool, RunError> {
        let mut ran_out = false;
        while go_on(self) {
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            match self.schedule.next_at() {
                Some(at) if at <= end => self.step(),
                _ => {
                    self.now = end;
                    ran_out = go_on(self);
                    break;
                }
            }
        }
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        self.referee.judge();
        if self.referee.is_content() {
            Ok(ran_out)
        } else {
            let findings = self.referee.findings().to_vec();
            Err(RunError::Findings { seed: self.seed, findings })
        }
    }

    fn step(&mut self) {
        let Some((at, what)) = self.schedule.pop() else { return };
        self.now = at;
        match what {
            Happening::Begin(node, n) => self.on_begin(node, n),
            Happening::End(tx) => self.on_end(tx),
            Happening::Force(node, out) => self.force(node, out),
            Happening::Noise(node, span) => self.noise(node, span),
            Happening::AckTimeout(node, n) => self.on_ack_timeout(node, n),
            Happening::Arrive(node, meta, frame) => self.arrive(node, meta, &frame),
            Happening::Wake(node, n) => self.on_wake(node, n),
            Happening::Message(node, bytes) => self.on_message(node, &bytes),
            Happening::Script(script) => script(self),
        }
    }

    pub(crate) fn note(&mut self, node: NodeId, what: Happened) {
        self.record.push(Recorded { at: self.now, node, what });
    }

    pub(crate) fn fail(&mut self, failure: RunError) {
        self.failure.get_or_insert(failure);
    }
}

impl Drop for Air {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the air's seed was {0}; rerun with SLYFI_SEED={0}", self.seed);
        }
    }
}
