//! The daemon's event loop: the only place where clock, socket and randomness meet the machine.
//!
//! ```text
//!   host port ──packets──┐                       ┌── Persist ──> store (durable, then:)
//!   radio ──────frames───┤──> machine ──outputs──┼── Transmit ─> radio
//!   backhaul ───messages─┤    (sans-IO)          ├── Deliver ──> host port
//!   control ────commands─┘                       └── Event ────> log, status
//! ```
//!
//! | file | what |
//! |---|---|
//! | `mod` | the loop |
//! | `drain` | what the machine wants done, in its order |
//! | `events` | what its events mean to people |
//! | `requests` | the control socket's requests |
//! | `setup` | everything from a configuration to a daemon that can run |

mod drain;
mod events;
mod requests;
mod setup;

pub use setup::{Options, Setup, assemble, make_machine, open};

use crate::backhaul::BackhaulSocket;
use crate::config::Role;
use crate::control::Server;
use crate::error::{Error, ErrorKind, Result};
use crate::host_port::HostPort;
use crate::keylog::KeyLog;
use crate::logging::Logger;
use crate::machine::Machine;
use crate::metrics::Counters;
use crate::pcap::Capture;
use crate::store::Store;
use drain::Outgoing;
use events::Progress;
use slyfi_base::{Command, Duration, Instant, Now, Refused, RxMeta};
use slyfi_linux::{AirSocket, Clock, Flush, Interest, Poll, Ready, Signal, Signals, Token, Waker};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::path::Path;

const RADIO: Token = Token(0);
const RADIO_TX: Token = Token(1);
const HOST: Token = Token(2);
const SIGNALS: Token = Token(3);
const WAKER: Token = Token(4);
const CONTROL: Token = Token(5);
const BACKHAUL: Token = Token(6);
const FIRST_CONNECTION: u64 = 16;

/// Frames that the machine gets at once; it opens them as one batch.
const BATCH: usize = 32;

/// Packets of the host that are read before everything else has its turn.
const PACKETS: usize = 64;

/// Room for a frame, a packet or a message of the backhaul, in bytes.
const SLOT: usize = 4096;

/// How long a daemon that leaves goes on to say its goodbyes.
const FAREWELL: Duration = Duration::from_millis(1_000);

/// How often the slow things are looked at: addresses of the interface, keys to be erased.
const TICK: Duration = Duration::from_secs(1);

/// How long `ENOBUFS` of a driver keeps the transmitter waiting; it never says when it is over.
const TX_RETRY: Duration = Duration::from_millis(1);

/// How a daemon ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was told to.
    Left,
    /// A pairing was made, and that was all it was for.
    Paired,
}

/// Everything a daemon is made of; [`setup::open`] makes it from a configuration.
pub struct Daemon {
    pub(crate) machine: Machine,
    pub(crate) radio: Box<dyn AirSocket>,
    pub(crate) host: Box<dyn HostPort>,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) poll: Poll,
    pub(crate) control: Option<Server>,
    pub(crate) backhaul: Option<BackhaulSocket>,
    pub(crate) signals: Option<Signals>,
    pub(crate) waker: Waker,
    pub(crate) capture: Option<Capture>,
    pub(crate) key_log: Option<KeyLog>,
    pub(crate) log: Logger,
    pub(crate) setup: Setup,
    pub(crate) counters: Counters,
    pub(crate) outgoing: Outgoing,
    pub(crate) progress: Progress,
    /// Addresses of the host that the machine knows of.
    bound: BTreeSet<IpAddr>,
    frames: Vec<[u8; SLOT]>,
    /// A packet of the host that the link had no room for yet.
    held: Option<Vec<u8>>,
    started: Instant,
    next_tick: Instant,
    next_prune: Instant,
    leaving_until: Option<Instant>,
    pub(crate) ends_with: Option<Outcome>,
}

impl Daemon {
    /// Runs until the daemon is told to leave, or cannot go on.
    ///
    /// # Errors
    /// The store, the radio or the interface failed, or no link came up in the time given.
    pub fn run(&mut self) -> Result<Outcome> {
        self.start()?;
        loop {
            let now = self.tick()?;
            if let Some(outcome) = self.finished(now)? {
                return Ok(outcome);
            }
            let deadline = self.deadline();
            let ready: Vec<Ready> =
                self.poll.wait(now.mono, deadline).map_err(poll_error)?.to_vec();
            let now = self.now();
            if self.outgoing.timeout.is_some_and(|at| at <= now.mono) {
                self.machine.link().handle_timeout(now);
                self.drain(now)?;
            }
            for Ready { token, writable, .. } in ready {
                match token {
                    RADIO => self.on_radio(now)?,
                    RADIO_TX => {}
                    HOST => self.on_host(now)?,
                    SIGNALS => self.on_signals(now)?,
                    WAKER => self.on_waker(now)?,
                    CONTROL => self.on_listener()?,
                    BACKHAUL => self.on_backhaul(now)?,
                    Token(n) => self.on_connection(now, n - FIRST_CONNECTION, writable)?,
                }
            }
            self.retry_held(now)?;
            self.flush(now)?;
        }
    }

    /// Takes commands on a control socket at `path`.
    ///
    /// # Errors
    /// As [`Server::bind`].
    pub fn listen(&mut self, path: &Path) -> Result<()> {
        self.control = Some(Server::bind(path)?);
        Ok(())
    }

    /// Returns a bell that makes the daemon leave, for other threads.
    pub fn stopper(&self) -> Waker {
        self.waker.clone()
    }

    pub(crate) fn now(&self) -> Now {
        let now = self.clock.now();
        self.log.set_time(now.wall);
        now
    }

    /// Hands everything that was stored to the machine and begins.
    fn start(&mut self) -> Result<()> {
        let now = self.now();
        (self.started, self.next_tick) = (now.mono, now.mono);
        self.progress.started = now.mono;
        self.next_prune = now.mono + Duration::from_secs(3600);
        self.store.prune(now.wall)?;
        self.store.turn_day(now.wall)?;
        self.restore(now)?;
        self.radio
            .initialize(now.mono, &slyfi_base::RadioConfig::default())
            .map_err(radio_error)?;
        self.watch()?;
        self.bind_addresses(now)?;
        if self.machine.role() == Role::Client {
            self.command(now, Command::Connect)?;
        }
        self.machine.link().handle_timeout(now);
        self.drain(now)
    }

    fn watch(&self) -> Result<()> {
        let add = |fd, token| self.poll.add(fd, token, Interest::Read).map_err(poll_error);
        add(self.radio.receiver(), RADIO)?;
        add(self.host.fd(), HOST)?;
        add(self.waker.as_fd(), WAKER)?;
        if let Some(signals) = &self.signals {
            add(signals.as_fd(), SIGNALS)?;
        }
        if let Some(control) = &self.control {
            add(control.listener(), CONTROL)?;
        }
        if let Some(backhaul) = &self.backhaul {
            add(backhaul.fd(), BACKHAUL)?;
        }
        Ok(())
    }

    /// Does what is due once a second; returns the time.
    fn tick(&mut self) -> Result<Now> {
        let now = self.now();
        if now.mono < self.next_tick {
            return Ok(now);
        }
        self.next_tick = now.mono + TICK;
        self.bind_addresses(now)?;
        if now.mono >= self.next_prune {
            self.next_prune = now.mono + Duration::from_secs(3600);
            self.store.prune(now.wall)?;
        }
        self.store.scrub_if_due()?;
        self.hint_at_silence(now);
        if let Some(capture) = &mut self.capture
            && let Err(e) = capture.flush()
        {
            warn!(self.log, "the capture ends here: {e}");
            self.capture = None;
        }
        Ok(now)
    }

    /// Returns how it ended, if it has.
    fn finished(&mut self, now: Now) -> Result<Option<Outcome>> {
        if self.leaving_until.is_none() {
            if let Some(failure) = self.no_link_in_time(now) {
                self.leave(now)?;
                self.progress.failure = Some(failure);
            } else if self.ends_with == Some(Outcome::Paired) {
                self.leave(now)?;
            }
        }
        let Some(until) = self.leaving_until else { return Ok(None) };
        let silent = self.outgoing.frames.is_empty() && self.progress.links.is_empty();
        if !silent && now.mono < until {
            return Ok(None);
        }
        self.store.scrub_if_due()?;
        if let Some(capture) = &mut self.capture {
            capture.flush().map_err(|e| Error::system("capture", &e))?;
        }
        match self.progress.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(Some(self.ends_with.unwrap_or(Outcome::Left))),
        }
    }

    /// Begins to take leave.
    pub(crate) fn leave(&mut self, now: Now) -> Result<()> {
        if self.leaving_until.is_none() {
            info!(self.log, "leaving");
            self.leaving_until = Some(now.mono + FAREWELL);
            self.command(now, Command::Leave)?;
        }
        Ok(())
    }

    fn deadline(&self) -> Option<Instant> {
        let retry = self.outgoing.retry_at;
        let farewell = self.leaving_until;
        [self.outgoing.timeout, Some(self.next_tick), retry, farewell].into_iter().flatten().min()
    }

    /// Hands a command to the machine; one that does not fit its state changes nothing.
    pub(crate) fn command(&mut self, now: Now, command: Command) -> Result<()> {
        if let Err(misuse) = self.machine.link().handle_command(now, command) {
            debug!(self.log, "a command was not taken: {misuse:?}");
        }
        self.drain(now)
    }

    fn on_radio(&mut self, now: Now) -> Result<()> {
        let mut metas = [(RxMeta::default(), 0); BATCH];
        let mut count = 0;
        while count < BATCH {
            let slot = &mut self.frames[count];
            let Some((meta, len)) = self.radio.read(now.mono, slot).map_err(radio_error)? else {
                break;
            };
            self.counters.frames_received += 1;
            self.counters.frame_bytes_received += len as u64;
            self.record_received(now, meta, count, len);
            metas[count] = (meta, len);
            count += 1;
        }
        if count == 0 {
            return Ok(());
        }
        let slots = self.frames.iter_mut().zip(&metas[..count]);
        let mut batch: Vec<(RxMeta, &mut [u8])> =
            slots.map(|(slot, (meta, len))| (*meta, &mut slot[..*len])).collect();
        self.machine.link().handle_frames(now, &mut batch);
        self.drain(now)
    }

    /// Reads packets of the host while there is room for what becomes of them.
    fn on_host(&mut self, now: Now) -> Result<()> {
        for _ in 0..PACKETS {
            if self.outgoing.is_congested() || self.held.is_some() {
                break;
            }
            let Some(len) = self.host.read(&mut self.frames[0])? else { break };
            self.counters.packets_from_host += 1;
            let packet = &self.frames[0][..len];
            match self.machine.link().handle_packet(now, packet) {
                Ok(()) => {}
                // A client has one queue, so waiting costs nobody else anything; an access point's
                // other members must not wait for the one whose queue is full.
                Err(Refused::QueueFull) if self.machine.role() == Role::Client => {
                    self.held = Some(packet.to_vec());
                }
                Err(refused) => {
                    self.counters.packets_refused += 1;
                    trace!(self.log, "a packet of {len} bytes was refused: {refused:?}");
                }
            }
            self.drain(now)?;
        }
        Ok(())
    }

    /// Offers the packet that had to wait once more.
    fn retry_held(&mut self, now: Now) -> Result<()> {
        let Some(packet) = self.held.take() else { return Ok(()) };
        match self.machine.link().handle_packet(now, &packet) {
            Err(Refused::QueueFull) => self.held = Some(packet),
            Err(_) => self.counters.packets_refused += 1,
            Ok(()) => {}
        }
        self.drain(now)
    }

    fn on_backhaul(&mut self, now: Now) -> Result<()> {
        for _ in 0..PACKETS {
            let Some(backhaul) = &self.backhaul else { break };
            let Some(len) = backhaul.receive(&mut self.frames[0]) else { break };
            self.counters.backhaul_received += 1;
            self.machine.link().handle_backhaul(now, &self.frames[0][..len]);
            self.drain(now)?;
        }
        Ok(())
    }

    fn on_signals(&mut self, now: Now) -> Result<()> {
        let signals: Vec<Signal> = self.signals.iter().flat_map(Signals::take).collect();
        for signal in signals {
            match signal {
                Signal::Hangup => self.reload(now)?,
                Signal::Interrupt | Signal::Terminate => self.leave(now)?,
            }
        }
        Ok(())
    }

    fn on_waker(&mut self, now: Now) -> Result<()> {
        if self.waker.take() { self.leave(now) } else { Ok(()) }
    }

    /// Sends what is queued. While the transmitter is full, the host's packets stay where they are.
    fn flush(&mut self, now: Now) -> Result<()> {
        self.transmit_queued(now)?;
        let pending = match self.radio.flush().map_err(radio_error)? {
            Flush::Pending => true,
            Flush::Complete => !self.outgoing.frames.is_empty(),
        };
        self.outgoing.retry_at = pending.then(|| now.mono + TX_RETRY);
        let congested = self.outgoing.is_congested() || self.held.is_some();
        if congested != self.outgoing.host_is_paused {
            self.outgoing.host_is_paused = congested;
            let host = self.host.fd();
            let changed = match congested {
                true => self.poll.remove(host),
                false => self.poll.add(host, HOST, Interest::Read),
            };
            changed.map_err(poll_error)?;
        }
        Ok(())
    }

    /// Tells the machine which addresses the host has, so that the network can answer for them.
    fn bind_addresses(&mut self, now: Now) -> Result<()> {
        let present: BTreeSet<IpAddr> = self.host.addresses()?.into_iter().collect();
        let gone: Vec<_> = self.bound.difference(&present).copied().collect();
        let new: Vec<_> = present.difference(&self.bound).copied().collect();
        for ip in gone {
            debug!(self.log, "the host gave {} up", self.log.address(ip));
            self.command(now, Command::Unbind(ip))?;
        }
        for ip in new {
            debug!(self.log, "the host took {}", self.log.address(ip));
            self.command(now, Command::Bind(ip))?;
        }
        self.bound = present;
        Ok(())
    }
}

fn poll_error(e: std::io::Error) -> Error {
    Error::system("epoll", &e)
}

/// Turns an error of the air into one with an exit code. Its text has cause and mend already.
pub(crate) fn radio_error(error: slyfi_linux::RadioError) -> Error {
    use slyfi_linux::RadioError;
    let kind = match error {
        RadioError::NoPermission => ErrorKind::Privileges,
        RadioError::Os { .. } | RadioError::NotInitialized => ErrorKind::System,
        _ => ErrorKind::Usage,
    };
    crate::host_port::split_mend(kind, &error.to_string())
}
