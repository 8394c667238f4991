//! A link that is up, or about to be: association, data, broadcasts, and its end.

use super::ClientLink;
use super::setup::Setup;
use crate::ap::handover_probing_keys;
use crate::binding::MAX_PER_OWNER;
use crate::group::GroupReceiver;
use crate::keylog;
use crate::keys::Key256;
use crate::neighbour;
use crate::outbox::Delivery;
use crate::pairing::{Kind, Pairing};
use crate::pool::PacketPool;
use crate::session::{PacketKind, Received, Session};
use crate::suite::Suite;
use alloc::boxed::Box;
use alloc::vec;
use core::net::IpAddr;
use slyfi_base::event::{NoLink, Phase, Unlinked};
use slyfi_base::link::RecordKind;
use slyfi_base::{
    ApiMisuse, DropReason, Duration, Event, LinkId, MacAddress, Refused, SecureRandom,
};
use slyfi_wire::carrier;
use slyfi_wire::ethernet::{self, EthernetFrame};
use slyfi_wire::message::{
    AccessPointId, AssocStatus, Control, DataHeader, GroupKey, GroupMessage,
};
use zeroize::Zeroizing;

/// A session of this client.
pub(super) struct Established {
    /// 0 or 1: which of the two slots its addresses stand for.
    pub(super) slot: u32,
    /// The pairing that it stands on, also when it was handed over.
    pub(super) home: u32,
    pub(super) access_point: AccessPointId,
    pub(super) session: Session,
    pub(super) roam: Key256,
    pub(super) is_member: bool,
    pub(super) is_exhausted: bool,
    /// Whether its association still waits for the old link to settle.
    pub(super) is_held: bool,
    /// The access point's address on the network, once associated.
    host: MacAddress,
}

/// What lets the session move to another access point of the network.
pub(super) struct Roaming {
    /// The place of the probing keys in the directory.
    pub(super) index: u32,
    pub(super) secret: Key256,
    pub(super) suite: Suite,
    pub(super) home: u32,
}

/// Silence of the broadcasts after which the access point is asked where they stand.
pub(super) const GROUP_PATIENCE: Duration = Duration::from_secs(20);

/// How long taking leave may take.
const LEAVE_PATIENCE: Duration = Duration::from_millis(500);

/// How full the queue may be before the host is told to wait.
const HOST_QUEUE: usize = 48;

/// Packets that are kept free of the host's traffic, for receiving and for control.
const RESERVE: usize = 64;

impl Established {
    pub(super) fn new(
        slot: u32,
        home: u32,
        access_point: AccessPointId,
        session: Session,
        roam: Key256,
    ) -> Self {
        Established {
            slot,
            home,
            access_point,
            session,
            roam,
            is_member: false,
            is_exhausted: false,
            is_held: false,
            host: MacAddress::default(),
        }
    }

    /// Queues a control message; false if there is no room.
    pub(super) fn queue_control(&mut self, control: &Control<'_>, pool: &mut PacketPool) -> bool {
        let mut bytes = Zeroizing::new(vec![0; control.buffer_len()]);
        if control.emit(&mut bytes).is_err() {
            return false;
        }
        let Some(packet) = pool.take(&[&bytes]) else { return false };
        match self.session.queue(PacketKind::Control { tag: 0 }, packet) {
            Ok(()) => true,
            Err(full) => {
                pool.give(full.0);
                false
            }
        }
    }
}

impl<R: SecureRandom> ClientLink<R> {
    /// The session whose addresses stand for `slot`.
    fn session_in(&mut self, slot: u32) -> Option<&mut Established> {
        let candidate = match &mut self.setup {
            Setup::Associating { candidate, .. } if candidate.slot == slot => Some(candidate),
            _ => None,
        };
        let link = self.link.as_mut().filter(|l| l.slot == slot);
        candidate.or(link).map(Box::as_mut)
    }

    fn queue_control(&mut self, control: &Control<'_>) -> bool {
        match &mut self.link {
            Some(link) => link.queue_control(control, &mut self.pool),
            None => false,
        }
    }

    pub(super) fn on_shroud(
        &mut self,
        slot: u32,
        low: u32,
        body: &mut [u8],
    ) -> Result<(), DropReason> {
        let now = self.now.mono;
        let established = self.session_in(slot).ok_or(DropReason::Foreign)?;
        let opened = established
            .session
            .receiver
            .open(low, body)
            .map_err(|_| DropReason::ShroudUnverified)?;
        // Borrowed anew field by field: the table and the pool are not the session's.
        let candidate = match &mut self.setup {
            Setup::Associating { candidate, .. } if candidate.slot == slot => Some(candidate),
            _ => None,
        };
        let established = candidate
            .or(self.link.as_mut().filter(|l| l.slot == slot))
            .ok_or(DropReason::Foreign)?;
        if !established.session.receiver.accept(opened.number, &mut self.table) {
            return Err(DropReason::Replayed);
        }
        let received = established.session.on_message(now, body, opened.message, &mut self.pool)?;
        let Received::InOrder(kind, range) = received else { return Ok(()) };
        let payload = body.get(range).ok_or(DropReason::Malformed)?;
        let first = self.on_packet(slot, kind, payload);
        if first == Err(DropReason::NoRoom)
            && let Some(established) = self.session_in(slot)
        {
            established.session.undo_in_order();
        }
        loop {
            let held = self.session_in(slot).and_then(|e| e.session.next_held());
            let Some((kind, packet)) = held else { break };
            let mut payload = core::mem::take(&mut self.scratch);
            payload.clear();
            payload.extend_from_slice(self.pool.bytes(&packet));
            self.pool.give(packet);
            if let Err(reason) = self.on_packet(slot, kind, &payload) {
                self.drops.count(reason);
            }
            self.scratch = payload;
        }
        first
    }

    fn on_packet(&mut self, slot: u32, kind: PacketKind, payload: &[u8]) -> Result<(), DropReason> {
        match kind {
            PacketKind::Data(header) => {
                let link = self.link.as_ref().filter(|l| l.is_member && l.slot == slot);
                let host = link.ok_or(DropReason::Unexpected)?.host;
                let destination = header.destination.unwrap_or(self.host_mac);
                let source = header.source.unwrap_or(host);
                self.deliver(destination, source, header.ether_type, payload)
            }
            PacketKind::Control { .. } => {
                let control = Control::parse(payload).map_err(|_| DropReason::Malformed)?;
                self.on_control(slot, &control)
            }
        }
    }

    fn deliver(
        &mut self,
        destination: MacAddress,
        source: MacAddress,
        ether_type: u16,
        payload: &[u8],
    ) -> Result<(), DropReason> {
        let packet = self.pool.take(&[payload]).ok_or(DropReason::NoRoom)?;
        let delivery = Delivery::new(destination, source, ether_type, packet);
        self.out.deliver(delivery, &mut self.pool);
        Ok(())
    }

    fn on_control(&mut self, slot: u32, control: &Control<'_>) -> Result<(), DropReason> {
        let is_candidate =
            matches!(&self.setup, Setup::Associating { candidate, .. } if candidate.slot == slot);
        match control {
            Control::AssocResponse {
                status,
                pseudonym,
                access_point,
                group,
                since,
                roaming,
                ..
            } if is_candidate => match status {
                AssocStatus::Accepted => {
                    self.on_accepted(*pseudonym, *access_point, group, *since, *roaming)
                }
                AssocStatus::Full => {
                    self.give_up(NoLink::Full);
                    Ok(())
                }
                AssocStatus::EnrolOnly => self.ask_to_enrol(),
            },
            Control::EnrolResponse { pairing } if is_candidate => self.on_enrolled(pairing),
            Control::Rekey(key) if !is_candidate => self.on_group_key(key),
            Control::Leave if !is_candidate => {
                self.acknowledge_at_once(slot);
                self.unlink(Unlinked::Dismissed);
                Ok(())
            }
            _ => Err(DropReason::Unexpected),
        }
    }

    /// The candidate is the link now.
    fn on_accepted(
        &mut self,
        pseudonym: MacAddress,
        host: MacAddress,
        group: &GroupKey<'_>,
        since: u64,
        roaming: bool,
    ) -> Result<(), DropReason> {
        if !GroupReceiver::is_usable(group) || !pseudonym.is_unicast() {
            self.give_up(NoLink::Refused);
            return Err(DropReason::Malformed);
        }
        let Setup::Associating { mut candidate, .. } =
            core::mem::replace(&mut self.setup, Setup::Idle)
        else {
            return Err(DropReason::Unexpected);
        };
        candidate.is_member = true;
        candidate.host = host;
        let had_link = self.link.is_some();
        if let Some(mut old) = self.link.take() {
            // What has not been sent yet goes over the new link.
            while let Some((kind, packet)) = old.session.take_waiting() {
                let kept = match kind {
                    PacketKind::Data(_) => candidate.session.queue(kind, packet),
                    PacketKind::Control { .. } => Err(crate::session::QueueFull(packet)),
                };
                if let Err(full) = kept {
                    self.pool.give(full.0);
                }
            }
            self.discard(old);
        }
        let link = LinkId(candidate.slot);
        let (home, suite) = (candidate.home, candidate.session.sender.suite());
        let roam = candidate.roam.clone();
        self.link = Some(candidate);
        self.pause = self.config.pause;
        self.has_heeded = false;
        let known_to = self.directory.get(home).map(|p| *p.id());
        if self.known_to.is_some() && self.known_to != known_to {
            // What one network has given the host is no business of the next.
            self.bound.clear();
        }
        self.known_to = known_to;
        self.group.clear(&mut self.table);
        self.on_group_key(group)?;
        self.replace_roaming(roaming, roam, home, suite, since);
        if pseudonym != self.host_mac {
            self.host_mac = pseudonym;
            self.out.event(Event::Pseudonym(pseudonym));
        }
        if had_link {
            self.out.event(Event::Roamed);
        } else {
            self.out.event(Event::Phase(Phase::Linked));
            self.out.event(Event::Linked { link, pairing: home });
        }
        for address in self.bound.clone() {
            self.queue_control(&Control::Bind(address));
        }
        if !self.wanted {
            self.leave();
        }
        Ok(())
    }

    /// Puts the probing keys of this session in the place of the last one's.
    fn replace_roaming(
        &mut self,
        roaming: bool,
        secret: Key256,
        home: u32,
        suite: Suite,
        since: u64,
    ) {
        if let Some(old) = self.roaming.take() {
            self.directory.remove(old.index, &mut self.table);
        }
        let Some(pairing) = self.directory.get(home).filter(|_| roaming) else { return };
        let keys = handover_probing_keys(
            &secret,
            pairing.network(),
            since,
            pairing.interval(),
            pairing.skew(),
        );
        if let Some(keys) = keys
            && let Ok(index) = self.directory.insert(keys, self.now.wall, &mut self.table)
        {
            self.roaming = Some(Roaming { index, secret, suite, home });
        }
    }

    fn on_group_key(&mut self, key: &GroupKey<'_>) -> Result<(), DropReason> {
        if self.config.key_log {
            self.out.key_log(keylog::group_line(key.epoch, key.secret));
        }
        self.group_heard = self.now.mono;
        let window = self.window();
        if self.group.take(self.now.mono, key, window, &mut self.table) {
            Ok(())
        } else {
            Err(DropReason::Malformed)
        }
    }

    /// Asks for a pairing, over an invite's session.
    fn ask_to_enrol(&mut self) -> Result<(), DropReason> {
        let mut random = [0; 32];
        self.rng.fill(&mut random);
        let Setup::Associating { candidate, .. } = &mut self.setup else {
            return Err(DropReason::Unexpected);
        };
        let request = Control::EnrolRequest { random };
        candidate.queue_control(&request, &mut self.pool).then_some(()).ok_or(DropReason::NoRoom)
    }

    /// Takes the pairing that an invite has brought, and goes on with it.
    fn on_enrolled(&mut self, bytes: &[u8]) -> Result<(), DropReason> {
        let pairing = Pairing::decode(bytes).map_err(|_| DropReason::Malformed)?;
        let Setup::Associating { candidate, .. } = &self.setup else {
            return Err(DropReason::Unexpected);
        };
        // An invite brings one pairing of its own network; a pairing brings none.
        let is_due = self.directory.get(candidate.home).is_some_and(|invite| {
            matches!(invite.kind(), Kind::Invite { .. })
                && pairing.kind() == Kind::Member
                && pairing.network() == invite.network()
        });
        if !is_due {
            return Err(DropReason::Unexpected);
        }
        let slot = candidate.slot;
        self.acknowledge_at_once(slot);
        let Setup::Associating { candidate, .. } = core::mem::replace(&mut self.setup, Setup::Idle)
        else {
            return Err(DropReason::Unexpected);
        };
        let invite = candidate.home;
        self.discard(candidate);
        // The pairing first: a host that crashes between the two has one too many and not one too few.
        // One that is here already is not replaced in the store by whoever knows its id.
        if let Ok(index) = self.directory.insert(pairing, self.now.wall, &mut self.table) {
            self.out.record(RecordKind::Pairing, None, bytes.to_vec().into());
            self.out.event(Event::Enrolled { pairing: index });
        }
        if let Some(spent) = self.directory.remove(invite, &mut self.table) {
            self.out.record(RecordKind::InviteSpent, None, spent.id().to_vec().into());
        }
        if self.wanted {
            self.start_setup();
        }
        Ok(())
    }

    pub(super) fn on_broadcast(
        &mut self,
        epoch: u32,
        low: u32,
        body: &mut [u8],
    ) -> Result<(), DropReason> {
        let receiver = self.group.receiver(epoch).ok_or(DropReason::Foreign)?;
        let opened = receiver.open(low, body).map_err(|_| DropReason::ShroudUnverified)?;
        if !receiver.accept(opened.number, &mut self.table) {
            return Err(DropReason::Replayed);
        }
        self.group_heard = self.now.mono;
        let bytes = body.get(opened.message).ok_or(DropReason::Malformed)?;
        match GroupMessage::parse(bytes).map_err(|_| DropReason::Malformed)? {
            GroupMessage::Time { time } => {
                let theirs = slyfi_base::UnixTime::from_micros(time);
                self.out.event(Event::ClockOffset(theirs.offset_from(self.now.wall)));
                Ok(())
            }
            GroupMessage::Data { destination, source, ether_type, payload } => {
                if source == self.host_mac {
                    return Err(DropReason::Echo);
                }
                if !destination.is_group() {
                    return Err(DropReason::Malformed);
                }
                self.deliver(destination, source, ether_type, payload)
            }
        }
    }

    /// Takes an Ethernet frame from the host.
    pub(super) fn on_host_packet(&mut self, packet: &[u8]) -> Result<(), Refused> {
        let frame = EthernetFrame::new_checked(packet).map_err(|_| Refused::TooShort)?;
        let limit = self.mtu() + ethernet::HEADER_LEN;
        if packet.len() > limit {
            return Err(Refused::TooLong { actual: packet.len(), limit });
        }
        // What the host shows to be its address is told to the access point (slyfi-2008 §3.5).
        if let Some(address) = neighbour::claimed(frame.ethertype(), frame.payload()) {
            // More addresses than one host may have stay unbound.
            let _ = self.bind(address);
        }
        let link = self.link.as_mut().filter(|l| l.is_member).ok_or(Refused::NotLinked)?;
        if link.session.queued() >= HOST_QUEUE || self.pool.free() <= RESERVE {
            return Err(Refused::QueueFull);
        }
        let destination = frame.destination();
        let header = DataHeader {
            destination: (destination != link.host).then_some(destination),
            source: None,
            ether_type: frame.ethertype(),
        };
        let packet = self.pool.take(&[frame.payload()]).ok_or(Refused::QueueFull)?;
        link.session.queue(PacketKind::Data(header), packet).map_err(|full| {
            self.pool.give(full.0);
            Refused::QueueFull
        })
    }

    pub(super) fn bind(&mut self, address: IpAddr) -> Result<(), ApiMisuse> {
        if self.bound.contains(&address) || !crate::binding::is_one_host(address) {
            return Ok(());
        }
        if self.bound.len() >= MAX_PER_OWNER {
            return Err(ApiMisuse::TooManyAddresses);
        }
        self.bound.push(address);
        if self.is_linked() {
            self.queue_control(&Control::Bind(address));
        }
        Ok(())
    }

    pub(super) fn unbind(&mut self, address: IpAddr) {
        self.bound.retain(|a| *a != address);
        if self.is_linked() {
            self.queue_control(&Control::Unbind(address));
        }
    }

    /// Takes leave: the access point is told, and given a moment to acknowledge.
    pub(super) fn leave(&mut self) {
        self.wanted = false;
        let ended = core::mem::replace(&mut self.setup, Setup::Idle);
        if let Setup::Associating { candidate, .. } = ended {
            self.discard(candidate);
        }
        if let Some(link) = &mut self.link {
            // A set-up beside it may have made it wait.
            link.session.pause(false);
        }
        if self.queue_control(&Control::Leave) {
            self.leaving_until = Some(self.now.mono + LEAVE_PATIENCE);
        } else {
            self.unlink(Unlinked::Left);
        }
    }

    /// Seals an acknowledgement as a frame of its own, for a session that is about to go.
    fn acknowledge_at_once(&mut self, slot: u32) {
        let now = self.now.mono;
        let mut frame = vec![0; carrier::HEADER_LEN + self.sizes.max_body()];
        let candidate = match &mut self.setup {
            Setup::Associating { candidate, .. } if candidate.slot == slot => Some(candidate),
            _ => None,
        };
        let link = self.link.as_mut().filter(|l| l.slot == slot);
        let Some(established) = candidate.or(link) else { return };
        let session = &mut established.session;
        session.acknowledge_now(now);
        let Ok(body) = carrier::emit(&mut frame) else { return };
        let offset = session.sender.suite().message_offset();
        let Some(out) = body.get_mut(offset..) else { return };
        let Some(len) = session.emit(now, &self.pool, out) else { return };
        if let Ok(len) = session.sender.seal(body, len) {
            frame.truncate(carrier::HEADER_LEN + len);
            self.out.frame(frame);
        }
    }

    /// Forgets a session: its addresses and packets.
    pub(super) fn discard(&mut self, mut established: Box<Established>) {
        established.session.receiver.remove_all(&mut self.table);
        established.session.release(&mut self.pool);
    }

    /// Ends the link; another is looked for at once, if one is wanted.
    pub(super) fn unlink(&mut self, why: Unlinked) {
        self.leaving_until = None;
        let Some(link) = self.link.take() else { return };
        let id = LinkId(link.slot);
        self.discard(link);
        self.group.clear(&mut self.table);
        self.out.event(Event::Unlinked { link: id, why });
        if self.wanted && matches!(self.setup, Setup::Idle) {
            self.start_setup();
        }
    }

    /// Whether the access point has acknowledged that this client leaves.
    pub(super) fn has_left(&self) -> bool {
        self.leaving_until.is_some() && self.link.as_ref().is_some_and(|l| l.session.is_drained())
    }

    /// Whether the link's keys should be replaced now.
    pub(super) fn wants_renewal(&self) -> bool {
        let Some(link) = self.link.as_ref().filter(|l| l.is_member) else { return false };
        let is_worn = link.session.sender.is_worn()
            || link.session.receiver.highest() >= self.config.rekey_after;
        is_worn && matches!(self.setup, Setup::Idle) && self.leaving_until.is_none()
    }

    pub(super) fn link_timeouts(&mut self) {
        let now = self.now.mono;
        let Some(link) = &self.link else { return };
        if self.leaving_until.is_some_and(|t| t <= now) || self.has_left() {
            self.unlink(Unlinked::Left);
            return;
        }
        let over =
            if link.is_exhausted { Some(Unlinked::Exhausted) } else { link.session.is_over(now) };
        if let Some(why) = over {
            self.unlink(why);
            return;
        }
        if self.wants_renewal() && self.renew_at <= now {
            self.renew();
        }
        if self.group_heard + GROUP_PATIENCE <= now {
            self.group_heard = now;
            self.queue_control(&Control::Resync);
        }
    }
}
