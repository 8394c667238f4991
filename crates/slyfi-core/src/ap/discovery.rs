//! Probes and authentications: what an access point does for someone it has no session with.

use super::members::{Member, Stage};
use super::{ApLink, handover};
use crate::agreement::{self, SessionSecrets};
use crate::keylog;
use crate::pairing::Kind;
use crate::replay::{ReplayRecord, ReplayRefused};
use crate::session::Session;
use crate::shroud::{Limits, ShroudReceiver, ShroudSender, Slot};
use crate::tryst::{self, Class, Recipient};
use alloc::vec;
use alloc::vec::Vec;
use slyfi_base::event::Unlinked;
use slyfi_base::link::RecordKind;
use slyfi_base::{DropReason, Duration, Event, Instant, RxMeta, SecureRandom};
use slyfi_wire::carrier;
use slyfi_wire::message::{AuthStatus, RequestId, TrystMessage};
use zeroize::Zeroizing;

/// A reply that waits for its random moment (slyfi-2008 §4.1, side-channel attacks).
///
/// It is sealed when it leaves: its interval may end while it waits, and with it its address.
pub(super) struct Reply {
    pub(super) due: Instant,
    index: u32,
    pairing: [u8; 8],
    class: Class,
    payload: Zeroizing<Vec<u8>>,
}

/// The most replies that wait; more than that many keyed clients at once is not a network.
const MAX_REPLIES: usize = 1_024;

/// How long a session without association is kept.
const ASSOCIATION_PATIENCE: Duration = Duration::from_secs(5);

impl<R: SecureRandom> ApLink<R> {
    /// Opens a client's message; returns the interval of its address, too.
    ///
    /// A recording costs no cryptography, nor does one with another body behind its header.
    fn open_request(
        &self,
        index: u32,
        interval_low: u32,
        header: usize,
        body: &mut [u8],
    ) -> Result<(u64, tryst::Opened), DropReason> {
        let pairing = self.directory.get(index).ok_or(DropReason::Foreign)?;
        if header_mac(body, header).is_some_and(|m| self.replay.knows(pairing.id(), m)) {
            return Err(DropReason::Replayed);
        }
        let wall = self.now.wall;
        let interval =
            self.directory.resolve(index, interval_low, wall).ok_or(DropReason::Foreign)?;
        let keys =
            self.directory.receiving(index, interval).map_err(|_| DropReason::TrystUnverified)?;
        let opened = tryst::open(pairing.suite(), &keys, body, header)
            .map_err(|_| DropReason::TrystUnverified)?;
        Ok((interval, opened))
    }

    pub(super) fn on_tryst(
        &mut self,
        meta: RxMeta,
        index: u32,
        class: Class,
        interval_low: u32,
        header: usize,
        body: &mut [u8],
    ) -> Result<(), DropReason> {
        let (interval, opened) = self.open_request(index, interval_low, header, body)?;
        let wall = self.now.wall;
        let pairing = self.directory.get(index).ok_or(DropReason::Foreign)?;
        let payload = body.get(opened.payload.clone()).ok_or(DropReason::Malformed)?;
        let message = TrystMessage::parse(payload).map_err(|_| DropReason::Malformed)?;

        // From here on the sender is known. A message that came before changes nothing, and draws
        // no reply; one that is new is remembered for as long as its address lives, and the host
        // makes that durable before the reply leaves.
        let record = ReplayRecord {
            pairing: *pairing.id(),
            header_mac: opened.header_mac,
            expires: pairing.expires(interval),
        };
        let expires = record.expires;
        let record = self.replay.admit(record, wall).map_err(|refused| match refused {
            ReplayRefused::Replayed => DropReason::Replayed,
            ReplayRefused::Full => DropReason::ReplayCacheFull,
        })?;
        self.out.record(RecordKind::Replay, Some(expires), record.encode().to_vec().into());

        match (class, message) {
            (Class::Probe, TrystMessage::ProbeRequest { request, .. }) => {
                self.on_probe(meta, index, request)
            }
            (
                Class::Authentication,
                TrystMessage::AuthRequest { request, access_point, agreement, .. },
            ) => {
                if access_point != self.id {
                    return Err(DropReason::Unexpected);
                }
                self.on_authentication(index, request, agreement)
            }
            _ => Err(DropReason::Unexpected),
        }
    }

    fn on_probe(
        &mut self,
        _meta: RxMeta,
        index: u32,
        request: RequestId,
    ) -> Result<(), DropReason> {
        let most = u64::from(self.config.max_sessions.max(1));
        let load = (self.members.len() as u64 * 255 / most).min(255) as u8;
        if self.visitors.contains_key(&index) {
            self.expect_visitor(index, request)?;
        }
        let message = TrystMessage::ProbeResponse {
            request,
            time: self.now.wall.as_micros(),
            access_point: self.id,
            load,
        };
        self.reply(index, Class::Probe, &message)
    }

    fn on_authentication(
        &mut self,
        index: u32,
        request: RequestId,
        agreement: &[u8],
    ) -> Result<(), DropReason> {
        let pairing = self.directory.get(index).ok_or(DropReason::Foreign)?;
        let refusal = match pairing.kind() {
            Kind::Invite { .. } if self.spent.contains(pairing.id()) => {
                Some(AuthStatus::InviteSpent)
            }
            Kind::Invite { expires } if self.now.wall >= expires => Some(AuthStatus::InviteSpent),
            // Probing keys serve a move and nothing else, also once the visitor has come.
            _ if self.is_visitors(index) => return Err(DropReason::Unexpected),
            _ => None,
        };
        if let Some(status) = refusal {
            return self.answer_authentication(index, request, status, &[]);
        }
        let (suite, pairing_id) = (pairing.suite(), *pairing.id());
        self.drop_waiting(index);
        if self.members.len() >= self.config.max_sessions as usize {
            return self.answer_authentication(index, request, AuthStatus::Full, &[]);
        }
        let (secrets, response) = agreement::answer(suite, agreement, &mut self.rng)
            .map_err(|_| DropReason::Malformed)?;
        self.begin_session(index, pairing_id, &secrets);
        self.answer_authentication(index, request, AuthStatus::Accepted, &response)
    }

    /// Makes a session that waits for its association.
    pub(super) fn begin_session(
        &mut self,
        index: u32,
        pairing_id: [u8; 8],
        secrets: &SessionSecrets,
    ) -> u32 {
        if self.config.key_log {
            self.out.key_log(keylog::session_lines(&pairing_id, secrets));
        }
        let slot = self.members.next_slot();
        let mut sender = ShroudSender::new(&secrets.down, self.sizes);
        sender.set_limits(Limits { soft: self.config.rekey_after, ..Limits::default() });
        let mut receiver = ShroudReceiver::new(&secrets.up, self.window());
        receiver.install(&mut self.table, Slot::Link(slot));
        let session = Session::new(sender, receiver, self.session_config(), self.now.mono);
        let until = self.now.mono + ASSOCIATION_PATIENCE;
        let mut member = Member::new(index, pairing_id, session, Stage::Authenticated { until });
        member.roam = secrets.roam.clone();
        member.export = secrets.export.clone();
        self.rng.fill(&mut member.id);
        let slot = self.members.insert(member);
        self.members.reschedule(slot, self.now.mono);
        slot
    }

    /// Forgets a session of this pairing that still waits for its association: only the newest
    /// does, so a client can hold one place in the table, however often it authenticates.
    pub(super) fn drop_waiting(&mut self, index: u32) {
        let waiting = self
            .members
            .iter()
            .find(|(_, m)| m.pairing == index && matches!(m.stage, Stage::Authenticated { .. }))
            .map(|(slot, _)| slot);
        if let Some(slot) = waiting {
            self.drop_member(slot, Unlinked::Replaced);
        }
    }

    fn answer_authentication(
        &mut self,
        index: u32,
        request: RequestId,
        status: AuthStatus,
        agreement: &[u8],
    ) -> Result<(), DropReason> {
        let message = TrystMessage::AuthResponse {
            request,
            time: self.now.wall.as_micros(),
            access_point: self.id,
            status,
            agreement,
        };
        self.reply(index, Class::Authentication, &message)
    }

    /// Makes a reply that leaves at a random moment soon.
    fn reply(
        &mut self,
        index: u32,
        class: Class,
        message: &TrystMessage<'_>,
    ) -> Result<(), DropReason> {
        if self.replies.len() >= MAX_REPLIES {
            return Err(DropReason::NoRoom);
        }
        let pairing = *self.directory.get(index).ok_or(DropReason::Foreign)?.id();
        let mut payload = Zeroizing::new(vec![0; message.buffer_len()]);
        message.emit(&mut payload).map_err(|_| DropReason::NoRoom)?;
        let jitter = self.rng.below(self.config.reply_jitter.as_micros().saturating_add(1));
        let due = self.now.mono + Duration::from_micros(jitter);
        self.replies.push(Reply { due, index, pairing, class, payload });
        self.release_replies();
        Ok(())
    }

    /// Hands over the replies whose moment has come.
    pub(super) fn release_replies(&mut self) {
        let now = self.now.mono;
        let mut at = 0;
        while let Some(reply) = self.replies.get(at) {
            if reply.due <= now {
                let reply = self.replies.swap_remove(at);
                if let Some(frame) = self.seal_reply(&reply) {
                    self.out.frame(frame);
                }
            } else {
                at += 1;
            }
        }
    }

    /// Seals a reply under the address of now; `None` if the pairing has gone meanwhile.
    fn seal_reply(&mut self, reply: &Reply) -> Option<Vec<u8>> {
        let pairing = self.directory.get(reply.index).filter(|p| *p.id() == reply.pairing)?;
        let (address, keys) =
            self.directory.sending(reply.index, reply.class, self.now.wall).ok()?;
        let mut frame = vec![0; carrier::HEADER_LEN + self.sizes.max_body()];
        let body = carrier::emit(&mut frame).ok()?;
        let to = [Recipient { keys: &keys, address: &address }];
        let (suite, payload) = (pairing.suite(), &reply.payload);
        let len = tryst::seal(suite, self.sizes, &to, payload, &mut self.rng, body).ok()?;
        frame.truncate(carrier::HEADER_LEN + len);
        Some(frame)
    }

    /// A message at an address outside the window: verified, so that nobody else can cause the
    /// event, and never answered, because it may be a recording.
    pub(super) fn on_stray_clock(
        &mut self,
        index: u32,
        class: Class,
        interval_low: u32,
        header: usize,
        body: &mut [u8],
    ) -> Result<(), DropReason> {
        // What was heard in its time is a recording, and tells nothing of any clock.
        let (_, opened) = self.open_request(index, interval_low, header, body)?;
        let wall = self.now.wall;
        let payload = body.get(opened.payload).ok_or(DropReason::Malformed)?;
        if class == Class::Probe
            && TrystMessage::parse(payload).is_ok()
            && let Some(seconds) = self.directory.clock_offset(index, interval_low, wall)
        {
            self.out.event(Event::ClientClockOff { pairing: index, seconds });
        }
        Err(DropReason::TrystOutsideWindow)
    }

    /// Whether these are the probing keys of a session that comes or came from elsewhere.
    fn is_visitors(&self, index: u32) -> bool {
        let came = |m: &Member| {
            m.pairing == index && self.directory.get(index).is_some_and(|p| *p.id() != m.pairing_id)
        };
        self.visitors.contains_key(&index) || self.members.iter().any(|(_, m)| came(m))
    }

    /// Makes ready for a session that comes from another access point.
    fn expect_visitor(&mut self, index: u32, request: RequestId) -> Result<(), DropReason> {
        let visitor = self.visitors.get_mut(&index).ok_or(DropReason::Unexpected)?;
        if visitor.requests.contains(&request) {
            // The answer was lost: the session that the request made serves, as long as it waits.
            let waits = |m: &Member| m.pairing == index && m.request == Some(request);
            let waits = self.members.iter().any(|(_, m)| !m.is_linked() && waits(m));
            return if waits { Ok(()) } else { Err(DropReason::Replayed) };
        }
        if self.members.len() >= self.config.max_sessions as usize {
            return Err(DropReason::NoRoom);
        }
        let secrets = handover::secrets(visitor.suite, &visitor.secret, self.id, request);
        let pairing_id = visitor.pairing;
        visitor.requests.insert(request);
        self.drop_waiting(index);
        let slot = self.begin_session(index, pairing_id, &secrets);
        if let Some(member) = self.members.get_mut(slot) {
            member.request = Some(request);
        }
        Ok(())
    }
}

/// The tag of the header in place `index`: what the replay cache goes by.
fn header_mac(body: &[u8], index: usize) -> Option<&[u8; 16]> {
    let header = body.get(index.checked_mul(tryst::HEADER_LEN)?..)?;
    header.get(..tryst::HEADER_LEN)?.last_chunk()
}
