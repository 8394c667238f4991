//! Becoming a member, being one, and ceasing to be one.

use super::ApLink;
use super::members::{Member, Stage};
use crate::binding::Owner;
use crate::group::SECRET_LEN;
use crate::keylog;
use crate::pairing::{DAY_S, Kind, Pairing, Terms};
use crate::pool::Packet;
use crate::session::{PacketKind, Received};
use crate::shroud::Opened;
use alloc::vec;
use alloc::vec::Vec;
use slyfi_base::event::Unlinked;
use slyfi_base::link::RecordKind;
use slyfi_base::{
    ApiMisuse, DropReason, Duration, Event, LinkId, MacAddress, SecureRandom, UnixTime,
};
use slyfi_wire::message::{AssocStatus, BackhaulMessage, Control, DataHeader, GroupKey, SessionId};
use zeroize::Zeroizing;

/// How long a dismissed member's last messages may take.
const LEAVE_PATIENCE: Duration = Duration::from_millis(500);

/// How long an invite's session may take.
const INVITE_PATIENCE: Duration = Duration::from_secs(10);

impl<R: SecureRandom> ApLink<R> {
    /// Takes a verified Shroud frame of a session.
    pub(super) fn on_shroud(
        &mut self,
        slot: u32,
        opened: Opened,
        body: &[u8],
    ) -> Result<(), DropReason> {
        let now = self.now.mono;
        let member = self.members.get_mut(slot).ok_or(DropReason::Foreign)?;
        // One address, one frame: what was accepted once is gone from the table.
        if !member.session.receiver.accept(opened.number, &mut self.table) {
            return Err(DropReason::Replayed);
        }
        let received = member.session.on_message(now, body, opened.message, &mut self.pool);
        while let Some(tag) = member.session.next_acknowledged() {
            member.group_epoch = member.group_epoch.max(tag);
        }
        let result = match received {
            Ok(Received::Nothing) => Ok(()),
            Ok(Received::InOrder(kind, range)) => {
                let payload = body.get(range).ok_or(DropReason::Malformed)?;
                let first = self.on_packet(slot, kind, payload);
                if first == Err(DropReason::NoRoom)
                    && let Some(member) = self.members.get_mut(slot)
                {
                    member.session.undo_in_order();
                }
                self.on_held_packets(slot);
                first
            }
            Err(reason) => Err(reason),
        };
        self.check_group_key();
        self.members.reschedule(slot, now);
        result
    }

    /// Reads packets that had come early and are in their turn now.
    fn on_held_packets(&mut self, slot: u32) {
        loop {
            let Some(member) = self.members.get_mut(slot) else { return };
            let Some((kind, packet)) = member.session.next_held() else { return };
            let mut payload = core::mem::take(&mut self.scratch);
            payload.clear();
            payload.extend_from_slice(self.pool.bytes(&packet));
            self.pool.give(packet);
            if let Err(reason) = self.on_packet(slot, kind, &payload) {
                self.drops.count(reason);
            }
            self.scratch = payload;
        }
    }

    fn on_packet(&mut self, slot: u32, kind: PacketKind, payload: &[u8]) -> Result<(), DropReason> {
        match kind {
            PacketKind::Data(header) => self.on_member_data(slot, &header, payload),
            PacketKind::Control { .. } => {
                let control = Control::parse(payload).map_err(|_| DropReason::Malformed)?;
                self.on_control(slot, &control)
            }
        }
    }

    fn on_control(&mut self, slot: u32, control: &Control<'_>) -> Result<(), DropReason> {
        let stage = self.members.get(slot).ok_or(DropReason::Foreign)?.stage;
        match (control, stage) {
            (Control::AssocRequest { pseudonym, .. }, Stage::Authenticated { .. }) => {
                self.on_association(slot, *pseudonym)
            }
            // It came again because its answer found no room.
            (Control::AssocRequest { .. }, Stage::Linked) => {
                let pseudonym = self.members.get(slot).map(|m| m.pseudonym).unwrap_or_default();
                self.respond_association(slot, AssocStatus::Accepted, pseudonym)
            }
            (Control::AssocRequest { .. }, Stage::EnrolOnly) => {
                self.respond_association(slot, AssocStatus::EnrolOnly, MacAddress::default())
            }
            (Control::Bind(address), Stage::Linked) => self
                .bindings
                .bind(*address, Owner::Member(slot))
                .map_err(|_| DropReason::NoRoom)
                .or(Ok(())),
            (Control::Unbind(address), Stage::Linked) => {
                self.bindings.unbind(*address, Owner::Member(slot));
                Ok(())
            }
            (Control::Resync, Stage::Linked) => {
                self.queue_group_key(slot);
                Ok(())
            }
            (Control::Leave, _) => {
                self.acknowledge_at_once(slot);
                self.drop_member(slot, Unlinked::Left);
                Ok(())
            }
            (Control::EnrolRequest { random }, Stage::EnrolOnly) => self.on_enrolment(slot, random),
            _ => Err(DropReason::Unexpected),
        }
    }

    fn on_association(&mut self, slot: u32, wished: MacAddress) -> Result<(), DropReason> {
        let now = self.now.mono;
        let member = self.members.get(slot).ok_or(DropReason::Foreign)?;
        let (index, pairing_id) = (member.pairing, member.pairing_id);
        let is_invite =
            self.directory.get(index).is_some_and(|p| matches!(p.kind(), Kind::Invite { .. }));
        if is_invite {
            // As a member, its holder has one session: one URL must not take every place.
            let asks =
                |s: u32, m: &Member| s != slot && m.pairing == index && m.stage == Stage::EnrolOnly;
            let older: Vec<u32> =
                self.members.iter().filter(|(s, m)| asks(*s, m)).map(|(s, _)| s).collect();
            for old in older {
                self.drop_member(old, Unlinked::Replaced);
            }
            if let Some(member) = self.members.get_mut(slot) {
                member.stage = Stage::EnrolOnly;
                member.since = now;
            }
            return self.respond_association(slot, AssocStatus::EnrolOnly, MacAddress::default());
        }

        // A client has one session: what its last one still had to send goes over this one.
        let older: Vec<u32> = self
            .members
            .iter()
            .filter(|(s, m)| *s != slot && m.pairing_id == pairing_id)
            .map(|(s, _)| s)
            .collect();
        let mut waiting = Vec::new();
        for old in older {
            self.take_queue(old, &mut waiting);
            self.drop_member(old, Unlinked::Replaced);
        }

        let pseudonym = self.name_member(slot, wished);
        let visitor = self.visitors.get(&index).map(|v| v.session);
        if let Some(member) = self.members.get_mut(slot) {
            member.stage = Stage::Linked;
            member.since = now;
        }
        let pairing = self.directory.by_id(&pairing_id).unwrap_or(index);
        self.out.event(Event::Linked { link: LinkId(slot), pairing });
        // The response goes first: data that came before it would be of no link yet.
        let responded = self.respond_association(slot, AssocStatus::Accepted, pseudonym);
        self.give_queue(responded.is_ok().then_some(slot), waiting);
        if let Some(session) = visitor {
            self.tell_siblings(&BackhaulMessage::Moved { session });
            self.end_visit(index);
        }
        self.offer_handover(slot);
        responded
    }

    /// Gives a member the pseudonym that it wished for, or a random one if that is taken.
    fn name_member(&mut self, slot: u32, wished: MacAddress) -> MacAddress {
        let mut pseudonym = wished;
        loop {
            // Hosts beyond the access point's have registered addresses, which nobody gets here.
            let is_local = pseudonym == MacAddress::local(pseudonym.0);
            let usable = is_local && pseudonym.is_unicast() && pseudonym != self.host_mac;
            if usable && self.members.name(slot, pseudonym) {
                return pseudonym;
            }
            let mut bytes = [0; 6];
            self.rng.fill(&mut bytes);
            pseudonym = MacAddress::local(bytes);
        }
    }

    fn respond_association(
        &mut self,
        slot: u32,
        status: AssocStatus,
        pseudonym: MacAddress,
    ) -> Result<(), DropReason> {
        let accepted = status == AssocStatus::Accepted;
        let secret = self.group.secret_bytes();
        let nothing = Zeroizing::new([0; SECRET_LEN]);
        let epoch = self.group.epoch();
        let response = Control::AssocResponse {
            status,
            pseudonym,
            access_point: self.host_mac,
            mtu: self.mtu() as u16,
            group: GroupKey {
                epoch: if accepted { epoch } else { 0 },
                next: self.group.sender.next_number(),
                secret: if accepted { &secret[..] } else { &nothing[..] },
            },
            since: self.now.wall.as_secs(),
            roaming: self.backhaul.is_some(),
        };
        if accepted && self.config.key_log {
            self.out.key_log(keylog::group_line(epoch, &secret[..]));
        }
        if let Some(member) = self.members.get_mut(slot)
            && accepted
        {
            member.group_sent = epoch;
        }
        let tag = if accepted { epoch } else { 0 };
        self.send_control(slot, &response, tag).then_some(()).ok_or(DropReason::NoRoom)
    }

    /// Queues a control message; false if there is no room.
    pub(super) fn send_control(&mut self, slot: u32, control: &Control<'_>, tag: u32) -> bool {
        let mut bytes = Zeroizing::new(vec![0; control.buffer_len()]);
        if control.emit(&mut bytes).is_err() {
            return false;
        }
        let Some(packet) = self.pool.take(&[&bytes]) else { return false };
        let Some(member) = self.members.get_mut(slot) else {
            self.pool.give(packet);
            return false;
        };
        if let Err(full) = member.session.queue(PacketKind::Control { tag }, packet) {
            self.pool.give(full.0);
            return false;
        }
        self.members.reschedule(slot, self.now.mono);
        true
    }

    /// Takes the data that a session has not sent yet.
    fn take_queue(&mut self, from: u32, waiting: &mut Vec<(DataHeader, Packet)>) {
        let Some(member) = self.members.get_mut(from) else { return };
        while let Some((kind, packet)) = member.session.take_waiting() {
            match kind {
                PacketKind::Data(header) => waiting.push((header, packet)),
                PacketKind::Control { .. } => self.pool.give(packet),
            }
        }
    }

    fn give_queue(&mut self, to: Option<u32>, waiting: Vec<(DataHeader, Packet)>) {
        for (header, packet) in waiting {
            let kept = match to.and_then(|slot| self.members.get_mut(slot)) {
                Some(member) => member.session.queue(PacketKind::Data(header), packet),
                None => Err(crate::session::QueueFull(packet)),
            };
            if let Err(full) = kept {
                self.pool.give(full.0);
            }
        }
    }

    /// Makes a new pairing for the holder of an invite (docs/protocol.md, pairing by invite).
    fn on_enrolment(&mut self, slot: u32, random: &[u8; 32]) -> Result<(), DropReason> {
        let member = self.members.get(slot).ok_or(DropReason::Foreign)?;
        let (index, export) = (member.pairing, member.export.clone());
        let invite = self.directory.get(index).ok_or(DropReason::Foreign)?;
        let invite_id = *invite.id();
        if matches!(invite.kind(), Kind::Invite { expires } if expires <= self.now.wall) {
            return Err(DropReason::Unexpected);
        }
        // What follows happens once, so the answer must find room.
        if self.pool.free() == 0 {
            return Err(DropReason::NoRoom);
        }
        if !self.spent.insert(invite_id) {
            return Err(DropReason::Replayed);
        }
        let (suite, interval, skew) = (self.config.suite, self.config.interval, self.config.skew);
        // The client may be k intervals behind, and its clock may go wrong by what the diagnosis
        // covers: an interval before T0 does not exist, so such a client would fall silent unheard.
        let intervals = u64::from(skew) + 1 + u64::from(self.config.diagnose);
        let back = interval.as_secs().saturating_mul(intervals);
        let terms = Terms {
            network: invite.network().clone(),
            suite,
            t0: UnixTime::from_secs(self.now.wall.as_secs().saturating_sub(back)),
            interval,
            skew,
            kind: Kind::Member,
        };
        let mut seeded = crate::enrol::EnrolRandom::new(&export, random, &mut self.rng);
        let pairing = Pairing::generate(&terms, &mut seeded).map_err(|_| DropReason::Unexpected)?;
        let bytes = pairing.encode();
        // A day beyond its end, so that a clock set back does not bring it to life again.
        let until = match invite.kind() {
            Kind::Invite { expires } => Some(expires + Duration::from_secs(DAY_S)),
            Kind::Member => None,
        };
        // The pairing first: should the host crash between the two, the invite is good once more.
        self.out.record(RecordKind::Pairing, None, bytes.clone());
        self.out.record(RecordKind::InviteSpent, until, invite_id.to_vec().into());
        let new = self
            .directory
            .insert(pairing, self.now.wall, &mut self.table)
            .map_err(|_| DropReason::Unexpected)?;
        self.out.event(Event::Enrolled { pairing: new });
        self.tell_siblings(&BackhaulMessage::Paired { pairing: &bytes });
        let until = self.now.mono + INVITE_PATIENCE;
        if let Some(member) = self.members.get_mut(slot) {
            member.stage = Stage::Leaving { until };
        }
        let response = Control::EnrolResponse { pairing: &bytes };
        self.send_control(slot, &response, 0).then_some(()).ok_or(DropReason::NoRoom)
    }

    /// Seals the acknowledgement of a session that is about to go, as a frame of its own.
    fn acknowledge_at_once(&mut self, slot: u32) {
        let now = self.now.mono;
        let Some(member) = self.members.get_mut(slot) else { return };
        let mut frame = vec![0; slyfi_wire::carrier::HEADER_LEN + self.sizes.max_body()];
        let Ok(body) = slyfi_wire::carrier::emit(&mut frame) else { return };
        let offset = member.session.sender.suite().message_offset();
        member.session.acknowledge_now(now);
        let Some(out) = body.get_mut(offset..) else { return };
        let Some(len) = member.session.emit(now, &self.pool, out) else { return };
        if let Ok(len) = member.session.sender.seal(body, len) {
            frame.truncate(slyfi_wire::carrier::HEADER_LEN + len);
            self.out.frame(frame);
        }
    }

    pub(super) fn dismiss(&mut self, slot: u32) -> Result<(), ApiMisuse> {
        if self.members.get(slot).is_none() {
            return Err(ApiMisuse::NoSuchLink);
        }
        self.send_control(slot, &Control::Leave, 0);
        let until = self.now.mono + LEAVE_PATIENCE;
        if let Some(member) = self.members.get_mut(slot) {
            let (was_linked, id) = (member.is_linked(), member.id);
            member.stage = Stage::Leaving { until };
            if was_linked {
                self.farewell(slot, id, Unlinked::Dismissed);
            }
        }
        self.members.reschedule(slot, self.now.mono);
        Ok(())
    }

    pub(super) fn dismiss_all(&mut self) {
        let slots: Vec<u32> = self.members.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            // The slot is taken, so this cannot fail.
            let _ = self.dismiss(slot);
        }
    }

    /// Ends a session: its addresses, packets and bindings go at once.
    pub(super) fn drop_member(&mut self, slot: u32, why: Unlinked) {
        let Some(mut member) = self.members.remove(slot) else { return };
        member.session.receiver.remove_all(&mut self.table);
        member.session.release(&mut self.pool);
        // The probing keys of a session that came from elsewhere are known for its sake only.
        let came_from_elsewhere =
            self.directory.get(member.pairing).is_some_and(|p| *p.id() != member.pairing_id);
        if came_from_elsewhere && !self.visitors.contains_key(&member.pairing) {
            self.directory.remove(member.pairing, &mut self.table);
        }
        if member.is_linked() {
            self.farewell(slot, member.id, why);
        }
    }

    /// What follows when a member is no longer one.
    fn farewell(&mut self, slot: u32, session: SessionId, why: Unlinked) {
        self.bindings.release(Owner::Member(slot));
        self.out.event(Event::Unlinked { link: LinkId(slot), why });
        if why != Unlinked::Moved {
            self.tell_siblings(&BackhaulMessage::Ended { session });
        }
        self.rekey_group();
    }

    /// Looks after the sessions that are due.
    pub(super) fn member_timeouts(&mut self) {
        let now = self.now.mono;
        for slot in self.members.due(now) {
            let Some(member) = self.members.get(slot) else { continue };
            let over = match member.stage {
                Stage::Authenticated { until } if until <= now => Some(Unlinked::Silent),
                Stage::Leaving { until } if until <= now => Some(Unlinked::Left),
                Stage::Leaving { .. } if member.session.is_drained() => Some(Unlinked::Left),
                _ => member.session.is_over(now),
            };
            match over {
                Some(why) => self.drop_member(slot, why),
                None => {
                    if member.is_linked() && member.group_sent != self.group.epoch() {
                        self.queue_group_key(slot);
                    }
                    self.members.reschedule(slot, now);
                }
            }
        }
        self.check_group_key();
    }
}
