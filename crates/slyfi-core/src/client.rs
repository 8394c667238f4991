//! The client: finds a network that it is paired with, links to it, and stays (slyfi-2008 Figure 1).
//!
//! ```text
//!                probe              authentication            association
//!   Idle ---> Probing ---------> Authenticating ---------> Associating ---------> Linked
//!     ^          |  \ announcement ^      |  \ handed over ^     |                   |
//!     |          v   `-------------'      v   `------------'     v                   |
//!     '------ Pausing <-------------------+----------------------+                   |
//!                ^                                                                   |
//!                '------- silence, loss beyond w, keys used up, dismissal -----------'
//! ```
//!
//! A set-up can run beside a link that is up: to move to a better access point, or to make new keys
//! before the old ones are used up. The old link serves until the new one is there.
//!
//! | file | what |
//! |---|---|
//! | `setup` | probes, authentications, and when to try again |
//! | `linked` | association, data, broadcasts, control messages, the end of a link |

mod config;
mod linked;
mod setup;

pub use config::ClientConfig;

use crate::ap::carrier_body;
use crate::directory::{Directory, Duplicate, Side};
use crate::group::GroupReceiver;
use crate::outbox::Outbox;
use crate::pairing::Pairing;
use crate::pool::PacketPool;
use crate::session::SessionConfig;
use crate::shroud::Window;
use crate::sizes::Sizes;
use crate::table::{AddressTable, Entry};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::IpAddr;
use linked::{Established, Roaming};
use setup::Setup;
use slyfi_base::event::{NoLink, Unlinked};
use slyfi_base::reason::DropCounters;
use slyfi_base::{
    ApiMisuse, Command, DropReason, Duration, Event, Instant, Link, MacAddress, Now, Output,
    Refused, RxMeta, SecureRandom,
};
use slyfi_wire::carrier;

/// A client's machine.
pub struct ClientLink<R> {
    config: ClientConfig,
    sizes: Sizes,
    /// The address that the host has now.
    host_mac: MacAddress,
    /// The address that it came with: what networks are asked for that know no other.
    own_mac: MacAddress,
    /// The pairing of the last link: its network knows `host_mac` and `bound`, others must not.
    known_to: Option<[u8; 8]>,
    rng: R,
    now: Now,
    table: AddressTable,
    directory: Directory,
    pool: PacketPool,
    out: Outbox,
    drops: DropCounters,
    /// Whether the host wants a link.
    wanted: bool,
    setup: Setup,
    link: Option<Box<Established>>,
    group: GroupReceiver,
    group_heard: Instant,
    roaming: Option<Roaming>,
    bound: Vec<IpAddr>,
    pause: Duration,
    /// When new keys may be asked for again, after an attempt that failed.
    renew_at: Instant,
    /// Whether an announcement was followed that has led nowhere yet.
    has_heeded: bool,
    leaving_until: Option<Instant>,
    scratch: Vec<u8>,
}

/// How many pairings' turns one call handles before it yields.
const TURN_BUDGET: usize = 512;

impl<R: SecureRandom> ClientLink<R> {
    /// Makes a client whose host has the address `host_mac`; it does nothing before
    /// [`Command::Connect`].
    pub fn new(config: ClientConfig, host_mac: MacAddress, mut rng: R, now: Now) -> Self {
        let sizes = Sizes::new(config.policy, config.max_body);
        ClientLink {
            table: AddressTable::new(&mut rng),
            directory: Directory::new(Side::Client),
            pool: PacketPool::new(config.packets, sizes.max_body()),
            out: Outbox::default(),
            drops: DropCounters::default(),
            wanted: false,
            setup: Setup::Idle,
            link: None,
            group: GroupReceiver::default(),
            group_heard: now.mono,
            roaming: None,
            bound: Vec::new(),
            pause: config.pause,
            renew_at: now.mono,
            has_heeded: false,
            leaving_until: None,
            scratch: Vec::new(),
            config,
            sizes,
            host_mac,
            own_mac: host_mac,
            known_to: None,
            rng,
            now,
        }
    }

    /// Takes a pairing from the key store, or one made from an invite; returns its number.
    ///
    /// # Errors
    /// [`Duplicate`].
    pub fn add_pairing(&mut self, now: Now, pairing: Pairing) -> Result<u32, Duplicate> {
        self.advance_clock(now);
        self.directory.insert(pairing, now.wall, &mut self.table)
    }

    /// Voids a pairing; a link or a set-up that stands on it ends at once, without a word to the
    /// access point.
    ///
    /// Returns its id, for the key store, or `None` if there is no such pairing.
    pub fn remove_pairing(&mut self, now: Now, pairing: u32) -> Option<[u8; 8]> {
        self.advance_clock(now);
        let removed = self.directory.remove(pairing, &mut self.table)?;
        if let Some(roaming) = self.roaming.take_if(|r| r.home == pairing) {
            self.directory.remove(roaming.index, &mut self.table);
        }
        let in_setup = match &self.setup {
            Setup::Authenticating { pairing: of, .. } => *of == pairing,
            Setup::Associating { candidate, .. } => candidate.home == pairing,
            _ => false,
        };
        if in_setup {
            self.give_up(NoLink::Refused);
        }
        if self.link.as_ref().is_some_and(|l| l.home == pairing) {
            self.unlink(Unlinked::Left);
        }
        Some(*removed.id())
    }

    /// Returns the pairing with this number.
    pub fn pairing(&self, pairing: u32) -> Option<&Pairing> {
        self.directory.get(pairing)
    }

    /// Returns whether data can flow.
    pub fn is_linked(&self) -> bool {
        self.link.as_ref().is_some_and(|l| l.is_member)
    }

    /// Returns the pseudonym of this session, once there is one.
    pub fn pseudonym(&self) -> Option<MacAddress> {
        self.is_linked().then_some(self.host_mac)
    }

    /// Returns the longest Ethernet payload that every frame can carry, in bytes.
    pub fn mtu(&self) -> usize {
        crate::session_mtu(self.sizes)
    }

    /// Returns how many addresses are listened for: those of pairings, sessions and the group. It
    /// is bounded by their number, whatever comes from the air.
    pub fn live_addresses(&self) -> usize {
        self.table.len()
    }

    /// Returns how many packet buffers are free; with no session and no output left, all are.
    pub fn free_packets(&self) -> usize {
        self.pool.free()
    }

    fn window(&self) -> Window {
        Window { ahead: self.config.window, late: self.config.late }
    }

    fn session_config(&self) -> SessionConfig {
        SessionConfig {
            window: u64::from(self.config.window),
            keeps_order: self.config.keeps_order,
            ping_after: Some(self.config.keep_alive),
            dead_after: self.config.dead_after,
            cover: self.config.cover,
        }
    }

    fn advance_clock(&mut self, now: Now) {
        debug_assert!(now.mono >= self.now.mono, "monotonic time went back");
        self.now = now;
    }

    fn receive(&mut self, meta: RxMeta, frame: &mut [u8]) -> Result<(), DropReason> {
        if meta.bad_fcs {
            return Err(DropReason::BadFcs);
        }
        if self.heed_announcement(frame) {
            return Ok(());
        }
        let body = carrier_body(frame)?;
        let (index, entry) = self.table.lookup_frame(body).ok_or(DropReason::Foreign)?;
        match entry {
            Entry::Tryst { pairing, class, interval } => {
                self.on_tryst(meta, pairing, class, interval, index, body)
            }
            Entry::Diagnose { .. } => Err(DropReason::TrystOutsideWindow),
            Entry::Shroud { link, number } => self.on_shroud(link, number, body),
            Entry::Group { epoch, number } => self.on_broadcast(epoch, number, body),
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        let now = self.now;
        let turn = self.directory.next_turn().map(|at| {
            let until = u64::try_from(at.offset_from(now.wall)).unwrap_or(0);
            now.mono + Duration::from_micros(until)
        });
        [
            turn,
            self.setup.timeout_at(),
            self.link.as_ref().map(|l| l.session.next_timeout()),
            self.is_linked().then_some(self.group_heard + linked::GROUP_PATIENCE),
            self.group.timeout_at(),
            self.leaving_until,
            self.has_left().then_some(now.mono),
            self.wants_renewal().then_some(now.mono.max(self.renew_at)),
            self.link.as_ref().filter(|l| l.is_exhausted).map(|_| now.mono),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Writes the next Shroud frame into `buf`; the new link's go before the old one's.
    fn next_frame(&mut self, buf: &mut [u8]) -> Option<usize> {
        let now = self.now.mono;
        let body = carrier::emit(buf).ok()?;
        let settled = self.link.as_ref().is_none_or(|l| l.session.is_settled());
        let candidate = match &mut self.setup {
            Setup::Associating { candidate, hold_until, .. } => {
                candidate.is_held &= !settled && now < *hold_until;
                (!candidate.is_held).then_some(candidate)
            }
            _ => None,
        };
        for established in candidate.into_iter().chain(self.link.as_mut()) {
            let session = &mut established.session;
            let offset = session.sender.suite().message_offset();
            let Some(len) = session.emit(now, &self.pool, body.get_mut(offset..)?) else {
                continue;
            };
            match session.sender.seal(body, len) {
                Ok(len) => return Some(carrier::HEADER_LEN + len),
                Err(_) => established.is_exhausted = true,
            }
        }
        None
    }
}

impl<R: SecureRandom> Link for ClientLink<R> {
    fn handle_frame(&mut self, now: Now, meta: RxMeta, frame: &mut [u8]) {
        self.advance_clock(now);
        if let Err(reason) = self.receive(meta, frame) {
            self.drops.count(reason);
        }
    }

    fn handle_packet(&mut self, now: Now, packet: &[u8]) -> Result<(), Refused> {
        self.advance_clock(now);
        self.on_host_packet(packet)
    }

    fn handle_command(&mut self, now: Now, command: Command) -> Result<(), ApiMisuse> {
        self.advance_clock(now);
        match command {
            Command::Connect => {
                self.wanted = true;
                if self.leaving_until.is_some() {
                    // The access point may have let go already.
                    self.unlink(Unlinked::Left);
                }
                if self.link.is_none() && matches!(self.setup, Setup::Idle) {
                    self.start_setup();
                }
                Ok(())
            }
            Command::Leave => {
                self.leave();
                Ok(())
            }
            Command::Roam => self.roam(),
            Command::Bind(address) => self.bind(address),
            Command::Unbind(address) => {
                self.unbind(address);
                Ok(())
            }
            Command::Dismiss(_) => Err(ApiMisuse::WrongRole),
            _ => Err(ApiMisuse::WrongRole),
        }
    }

    fn handle_timeout(&mut self, now: Now) {
        self.advance_clock(now);
        let turned = self.directory.turn(now.wall, &mut self.table, TURN_BUDGET);
        if turned.days_turned > 0 {
            self.out.event(Event::DayTurned);
        }
        self.group.on_timeout(now.mono, &mut self.table);
        self.link_timeouts();
        self.setup_timeouts();
    }

    fn poll_output<'b>(&mut self, buf: &'b mut [u8]) -> Output<'b> {
        if !self.out.is_empty() {
            return self.out.poll(self.config.rate, &mut self.pool, buf);
        }
        let needed = carrier::HEADER_LEN + self.sizes.max_body();
        if buf.len() < needed {
            return Output::BufferTooSmall { needed };
        }
        match self.next_frame(buf) {
            Some(len) => Output::Transmit(self.config.rate, &buf[..len]),
            None => Output::Timeout(self.next_timeout()),
        }
    }

    fn drops(&self) -> &DropCounters {
        &self.drops
    }
}
