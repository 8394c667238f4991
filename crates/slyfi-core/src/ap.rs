//! The access point: many members, one air, one host (slyfi-2008 Figure 1, §3.5).
//!
//! ```text
//!                    probe (Tryst)                authentication (Tryst)
//!   unknown client ----------------> answered ------------------------> Authenticated
//!                                                                          |  association (Shroud)
//!                              leave, silence, loss beyond w, dismissal    v
//!   gone <------------------------------------------------------------- Linked | EnrolOnly
//! ```
//!
//! | file | what |
//! |---|---|
//! | `discovery` | probes, authentications, replies, the clock diagnosis |
//! | `membership` | association, leaving, enrolment, control messages |
//! | `forwarding` | data between members, the host and everyone; ARP and neighbour discovery |
//! | `broadcast` | the group key, broadcasts, time beacons, the clear announcement |
//! | `handover` | the backhaul: sessions that come from and go to other access points |
//! | `egress` | what goes on the air next, sealed in batches |

mod broadcast;
mod config;
mod discovery;
mod egress;
mod forwarding;
mod handover;
mod members;
mod membership;

pub use config::ApConfig;
pub(crate) use handover::{probing_keys as handover_probing_keys, secrets as handover_secrets};
pub use members::SessionInfo;

use crate::backhaul::Backhaul;
use crate::binding::{Bindings, Owner};
use crate::directory::{Directory, Side};
use crate::group::GroupSender;
use crate::outbox::Outbox;
use crate::pairing::Pairing;
use crate::pool::PacketPool;
use crate::replay::{ReplayBounds, ReplayCache, ReplayRecord};
use crate::session::SessionConfig;
use crate::shroud::{ShroudOpen, Unverified, Window, open_batch};
use crate::sizes::Sizes;
use crate::table::{AddressTable, Entry};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use egress::Egress;
use members::Members;
use slyfi_base::event::Unlinked;
use slyfi_base::link::RecordKind;
use slyfi_base::reason::DropCounters;
use slyfi_base::{
    ApiMisuse, Command, DropReason, Event, Instant, Link, MacAddress, Now, Output, Refused, RxMeta,
    SecureRandom,
};
use slyfi_wire::carrier::{self, CarrierError};
use slyfi_wire::message::AccessPointId;

/// An access point's machine.
pub struct ApLink<R> {
    config: ApConfig,
    sizes: Sizes,
    host_mac: MacAddress,
    rng: R,
    now: Now,
    /// Random for each run: names this access point, and salts the sessions that move here.
    id: AccessPointId,
    table: AddressTable,
    directory: Directory,
    replay: ReplayCache,
    pool: PacketPool,
    out: Outbox,
    drops: DropCounters,
    members: Members,
    bindings: Bindings,
    group: GroupSender,
    replies: Vec<discovery::Reply>,
    egress: Egress,
    backhaul: Option<Backhaul>,
    /// Sessions of other access points that may come here, by the place of their probing keys.
    visitors: BTreeMap<u32, handover::Visitor>,
    /// When visitors that did not come are looked for.
    visitors_at: Instant,
    /// Invites that have made their pairing.
    spent: BTreeSet<[u8; 8]>,
    /// Pairings that are void, and stay so whatever a sibling still says of them.
    revoked: BTreeSet<[u8; 8]>,
    beacon_at: Option<Instant>,
    announce_at: Option<Instant>,
    /// A buffer for packets that had to wait for their turn.
    scratch: Vec<u8>,
}

/// The pairing cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PairingRefused {
    /// A pairing with this id is here.
    Known {
        /// Its number.
        index: u32,
    },
    /// It was voided.
    Revoked,
}

/// How many pairings' turns one call handles before it yields: about a quarter of a millisecond.
const TURN_BUDGET: usize = 512;

impl<R: SecureRandom> ApLink<R> {
    /// Starts an access point whose host has the address `host_mac`.
    pub fn new(config: ApConfig, host_mac: MacAddress, mut rng: R, now: Now) -> Self {
        let sizes = Sizes::new(config.policy, config.max_body);
        let mut id = [0; 8];
        rng.fill(&mut id);
        let mut table = AddressTable::new(&mut rng);
        let mut directory = Directory::new(Side::AccessPoint);
        // Never refused: the directory is empty.
        let _ = directory.set_diagnosis(config.diagnose, &mut table);
        ApLink {
            table,
            replay: ReplayCache::new(ReplayBounds::default()),
            pool: PacketPool::new(config.packets, sizes.max_body()),
            group: GroupSender::new(config.suite, sizes, &mut rng),
            backhaul: config.backhaul.as_ref().map(|k| Backhaul::new(k, &mut rng)),
            egress: Egress::new(sizes.max_body()),
            beacon_at: config.time_beacon.map(|d| now.mono + d),
            announce_at: config.announce.as_ref().map(|(_, d)| now.mono + *d),
            directory,
            out: Outbox::default(),
            drops: DropCounters::default(),
            members: Members::default(),
            bindings: Bindings::default(),
            replies: Vec::new(),
            visitors: BTreeMap::new(),
            visitors_at: now.mono,
            spent: BTreeSet::new(),
            revoked: BTreeSet::new(),
            scratch: Vec::new(),
            config,
            sizes,
            host_mac,
            rng,
            now,
            id,
        }
    }

    /// Takes a pairing from the key store; returns its number.
    ///
    /// # Errors
    /// [`PairingRefused`].
    pub fn add_pairing(&mut self, now: Now, pairing: Pairing) -> Result<u32, PairingRefused> {
        self.advance_clock(now);
        if self.revoked.contains(pairing.id()) {
            return Err(PairingRefused::Revoked);
        }
        self.directory
            .insert(pairing, now.wall, &mut self.table)
            .map_err(|duplicate| PairingRefused::Known { index: duplicate.index })
    }

    /// Voids a pairing and ends its link; the network's other access points are told.
    ///
    /// Returns its id, for the key store, or `None` if there is no such pairing.
    pub fn remove_pairing(&mut self, now: Now, pairing: u32) -> Option<[u8; 8]> {
        self.advance_clock(now);
        let id = *self.directory.get(pairing)?.id();
        self.tell_siblings(&slyfi_wire::message::BackhaulMessage::Revoked { pairing: id });
        self.revoke(id);
        Some(id)
    }

    /// Takes back a record that [`Output::Persist`] asked to keep; unreadable ones are left out.
    ///
    /// Returns whether the record was understood.
    pub fn restore(&mut self, now: Now, kind: RecordKind, bytes: &[u8]) -> bool {
        self.advance_clock(now);
        match kind {
            RecordKind::Replay => match ReplayRecord::decode(bytes) {
                Some(record) => self.replay.restore(record),
                None => return false,
            },
            RecordKind::InviteSpent => match bytes.try_into() {
                Ok(id) => {
                    self.spent.insert(id);
                }
                Err(_) => return false,
            },
            RecordKind::Pairing => {
                return Pairing::decode(bytes).is_ok_and(|p| self.add_pairing(now, p).is_ok());
            }
            RecordKind::PairingRevoked => match bytes.try_into() {
                Ok(id) => self.revoke(id),
                Err(_) => return false,
            },
            // No key of this machine outlives the process with its numbers.
            RecordKind::Counter => return false,
        }
        true
    }

    /// Returns the pairing with this number.
    pub fn pairing(&self, pairing: u32) -> Option<&Pairing> {
        self.directory.get(pairing)
    }

    /// Iterates over the present sessions.
    pub fn sessions(&self) -> impl Iterator<Item = SessionInfo> + '_ {
        self.members.iter().map(|(slot, m)| m.info(slot))
    }

    /// Returns how many pairings are known, invites and expected visitors included.
    pub fn pairings(&self) -> usize {
        self.directory.len()
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
            ping_after: None,
            dead_after: self.config.dead_after,
            cover: self.config.cover,
        }
    }

    /// Every call begins here: the clock goes on, and addresses with it.
    fn advance_clock(&mut self, now: Now) {
        debug_assert!(now.mono >= self.now.mono, "monotonic time went back");
        self.now = now;
    }

    fn turn_intervals(&mut self) {
        let turned = self.directory.turn(self.now.wall, &mut self.table, TURN_BUDGET);
        if turned.days_turned > 0 {
            self.out.event(Event::DayTurned);
        }
    }

    /// Forgets a pairing for good, with all that stands on it: also sessions that came from another
    /// access point or are expected from there, which have probing keys in its place.
    fn revoke(&mut self, id: [u8; 8]) {
        self.revoked.insert(id);
        let index = self.directory.by_id(&id);
        let stands_on_it = |m: &members::Member| m.pairing_id == id || Some(m.pairing) == index;
        let slots: Vec<u32> =
            self.members.iter().filter(|(_, m)| stands_on_it(m)).map(|(s, _)| s).collect();
        for slot in slots {
            self.drop_member(slot, Unlinked::Dismissed);
        }
        let visits: Vec<u32> =
            self.visitors.iter().filter(|(_, v)| v.pairing == id).map(|(i, _)| *i).collect();
        for index in visits {
            self.end_visit(index);
        }
        self.replay.forget_pairing(&id);
        if let Some(index) = self.directory.by_id(&id) {
            self.visitors.remove(&index);
            self.directory.remove(index, &mut self.table);
        }
    }

    fn receive(&mut self, meta: RxMeta, frame: &mut [u8]) -> Result<(), DropReason> {
        if meta.bad_fcs {
            return Err(DropReason::BadFcs);
        }
        let body = carrier_body(frame)?;
        let (index, entry) = self.table.lookup_frame(body).ok_or(DropReason::Foreign)?;
        match entry {
            Entry::Tryst { pairing, class, interval } => {
                self.on_tryst(meta, pairing, class, interval, index, body)
            }
            Entry::Diagnose { pairing, class, interval } => {
                self.on_stray_clock(pairing, class, interval, index, body)
            }
            Entry::Shroud { link, number } => {
                let member = self.members.get(link).ok_or(DropReason::Foreign)?;
                let opened = member
                    .session
                    .receiver
                    .open(number, body)
                    .map_err(|_| DropReason::ShroudUnverified)?;
                self.on_shroud(link, opened, body)
            }
            Entry::Group { .. } => Err(DropReason::Unexpected),
        }
    }

    /// Opens Shroud frames that came together as one batch, then reads all in their order.
    fn receive_batch(&mut self, frames: &mut [(RxMeta, &mut [u8])]) {
        let mut links = Vec::with_capacity(frames.len());
        let mut jobs = Vec::with_capacity(frames.len());
        for (meta, frame) in frames.iter_mut() {
            let shroud = match carrier_body(frame) {
                Ok(body) if !meta.bad_fcs => match self.table.lookup_frame(body) {
                    Some((_, Entry::Shroud { link, number })) => {
                        let member = self.members.get(link);
                        member.map(|m| ((link, m.id), number, &m.session.receiver, body))
                    }
                    _ => None,
                },
                _ => None,
            };
            links.push(shroud.as_ref().map(|(link, ..)| *link));
            if let Some((_, low, receiver, body)) = shroud {
                jobs.push(ShroudOpen { receiver, low, body, opened: Err(Unverified) });
            }
        }
        open_batch(&mut jobs);
        let opened: Vec<_> = jobs.into_iter().map(|j| j.opened).collect();
        let mut opened = opened.into_iter();
        for ((meta, frame), link) in frames.iter_mut().zip(links) {
            let result = match link {
                // Tryst, foreign, or an address that an earlier frame of the batch brings.
                None => self.receive(*meta, frame),
                Some((link, session)) => match (opened.next(), carrier_body(frame)) {
                    // An earlier frame of the batch may have ended the session, and another may have
                    // taken its place: what one member has sealed must not count as the other's.
                    _ if self.members.get(link).is_none_or(|m| m.id != session) => {
                        Err(DropReason::Foreign)
                    }
                    (Some(Ok(opened)), Ok(body)) => self.on_shroud(link, opened, body),
                    _ => Err(DropReason::ShroudUnverified),
                },
            };
            if let Err(reason) = result {
                self.drops.count(reason);
            }
        }
    }
}

/// The body past the carrier, or why the frame is none of ours.
pub(crate) fn carrier_body(frame: &mut [u8]) -> Result<&mut [u8], DropReason> {
    carrier::body_mut(frame).map_err(|e| match e {
        CarrierError::BadLength => DropReason::BadLength,
        CarrierError::NotCarrier | CarrierError::Rewritten { .. } => DropReason::NotCarrier,
    })
}

impl<R: SecureRandom> Link for ApLink<R> {
    fn handle_frame(&mut self, now: Now, meta: RxMeta, frame: &mut [u8]) {
        self.advance_clock(now);
        if let Err(reason) = self.receive(meta, frame) {
            self.drops.count(reason);
        }
    }

    fn handle_frames(&mut self, now: Now, frames: &mut [(RxMeta, &mut [u8])]) {
        self.advance_clock(now);
        self.receive_batch(frames);
    }

    fn handle_packet(&mut self, now: Now, packet: &[u8]) -> Result<(), Refused> {
        self.advance_clock(now);
        self.on_host_packet(packet)
    }

    fn handle_backhaul(&mut self, now: Now, message: &[u8]) {
        self.advance_clock(now);
        self.on_backhaul(message);
    }

    fn handle_command(&mut self, now: Now, command: Command) -> Result<(), ApiMisuse> {
        self.advance_clock(now);
        match command {
            Command::Connect | Command::Roam => Err(ApiMisuse::WrongRole),
            Command::Leave => {
                self.dismiss_all();
                Ok(())
            }
            Command::Dismiss(link) => self.dismiss(link.0),
            Command::Bind(address) => {
                self.bindings.bind(address, Owner::Host).map_err(|_| ApiMisuse::TooManyAddresses)
            }
            Command::Unbind(address) => {
                self.bindings.unbind(address, Owner::Host);
                Ok(())
            }
            _ => Err(ApiMisuse::WrongRole),
        }
    }

    fn handle_timeout(&mut self, now: Now) {
        self.advance_clock(now);
        self.turn_intervals();
        self.release_replies();
        self.beacons();
        self.member_timeouts();
        self.visitor_timeouts();
    }

    fn poll_output<'b>(&mut self, buf: &'b mut [u8]) -> Output<'b> {
        if self.out.is_empty() && self.egress.is_empty() {
            self.fill_egress();
        }
        // Ending a session whose keys are used up has things to say first.
        if !self.out.is_empty() {
            return self.out.poll(self.config.rate, &mut self.pool, buf);
        }
        if !self.egress.is_empty() {
            return self.egress.poll(self.config.rate, buf);
        }
        Output::Timeout(self.next_timeout())
    }

    fn drops(&self) -> &DropCounters {
        &self.drops
    }
}
