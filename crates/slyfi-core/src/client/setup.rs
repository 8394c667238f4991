//! Setting a link up: probes, authentications, and when to try again.

use super::ClientLink;
use super::linked::Established;
use crate::agreement::{Offer, SessionSecrets};
use crate::ap::handover_secrets;
use crate::keylog;
use crate::pairing::{Kind, Pairing};
use crate::session::Session;
use crate::shroud::{Limits, ShroudReceiver, ShroudSender, Slot};
use crate::suite::Suite;
use crate::tryst::{self, Class, MAX_RECIPIENTS, Recipient};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use slyfi_base::event::{NoLink, Phase};
use slyfi_base::link::RecordKind;
use slyfi_base::{ApiMisuse, Dbm, DropReason, Duration, Event, Instant, RxMeta, SecureRandom};
use slyfi_wire::announcement::Announcement;
use slyfi_wire::carrier;
use slyfi_wire::message::{AccessPointId, AuthStatus, Control, RequestId, TrystMessage};

/// How far a set-up has come.
pub(super) enum Setup {
    Idle,
    Pausing {
        until: Instant,
    },
    Probing {
        request: RequestId,
        retry: Retry,
        best: Option<Found>,
        decide_at: Option<Instant>,
    },
    Authenticating {
        pairing: u32,
        access_point: AccessPointId,
        request: RequestId,
        offer: Option<Offer>,
        retry: Retry,
    },
    Associating {
        candidate: Box<Established>,
        /// The association waits until the old link has settled, at most until then, so that what is
        /// in flight there is not lost.
        hold_until: Instant,
        until: Instant,
    },
}

/// When an unanswered request goes again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retry {
    at: Instant,
    pause: Duration,
    left: u8,
}

/// An access point that answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pairing: u32,
    access_point: AccessPointId,
    signal: Option<Dbm>,
    load: u8,
}

/// The longest pause between two requests (slyfi-2008 §5.3 repeats them once a second).
const MAX_RETRY: Duration = Duration::from_millis(1_000);

/// How long an association waits for the old link's packets in flight.
const SETTLING_PATIENCE: Duration = Duration::from_millis(100);

/// How long the association may take: it has retransmissions of its own.
const ASSOCIATION_PATIENCE: Duration = Duration::from_secs(3);

impl Retry {
    fn first<R: SecureRandom>(now: Instant, pause: Duration, tries: u8, rng: &mut R) -> Self {
        Retry { at: now + give_or_take(pause, rng), pause, left: tries.saturating_sub(1) }
    }

    /// Counts a try; false when none is left.
    fn again<R: SecureRandom>(&mut self, now: Instant, rng: &mut R) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        self.pause = self.pause.saturating_mul(2).min(MAX_RETRY);
        self.at = now + give_or_take(self.pause, rng);
        true
    }
}

/// Returns the pause give or take a quarter. Clients that lost their access point at the same moment
/// would otherwise ask at the same moments again, and collide each time.
fn give_or_take<R: SecureRandom>(pause: Duration, rng: &mut R) -> Duration {
    let us = pause.as_micros();
    Duration::from_micros(us - us / 4 + rng.below(us / 2 + 1))
}

impl Setup {
    pub(super) fn timeout_at(&self) -> Option<Instant> {
        match self {
            Setup::Idle => None,
            Setup::Pausing { until } => Some(*until),
            Setup::Probing { retry, decide_at, .. } => {
                Some(decide_at.map_or(retry.at, |d| d.min(retry.at)))
            }
            Setup::Authenticating { retry, .. } => Some(retry.at),
            Setup::Associating { candidate, hold_until, until } => {
                // While it is held it sends nothing, so its own timers mean nothing yet.
                let at =
                    if candidate.is_held { *hold_until } else { candidate.session.next_timeout() };
                Some(at.min(*until))
            }
        }
    }
}

impl<R: SecureRandom> ClientLink<R> {
    fn phase(&mut self, phase: Phase) {
        // Beside a link that is up, a set-up is nobody's business.
        if self.link.is_none() {
            self.out.event(Event::Phase(phase));
        }
    }

    /// Begins to look for a network.
    pub(super) fn start_setup(&mut self) {
        let mut request = [0; 8];
        self.rng.fill(&mut request);
        let retry =
            Retry::first(self.now.mono, self.config.retry, self.config.tries, &mut self.rng);
        self.setup = Setup::Probing { request, retry, best: None, decide_at: None };
        self.phase(Phase::Probing);
        self.send_probes(request);
    }

    /// Looks for a better access point of the network.
    pub(super) fn roam(&mut self) -> Result<(), ApiMisuse> {
        if !self.is_linked() || !matches!(self.setup, Setup::Idle) {
            return Err(ApiMisuse::WrongState);
        }
        self.start_setup();
        Ok(())
    }

    /// Makes new session keys with the present access point.
    pub(super) fn renew(&mut self) {
        if let Some(link) = &self.link {
            self.authenticate(link.home, link.access_point);
        }
    }

    /// Sends one scoped probe to every eight networks (slyfi-2008 §4.1, scoped broadcast).
    ///
    /// Beside a link only its own network is looked for: what waits for it must not go to another.
    fn send_probes(&mut self, request: RequestId) {
        let wall = self.now.wall;
        let handed_over = self.roaming.as_ref().map(|r| r.index);
        let only = self.link.as_ref().map(|l| handed_over.unwrap_or(l.home));
        let mut targets: Vec<(Suite, u32)> = self
            .directory
            .iter()
            .filter(|(index, p)| {
                let is_open = !matches!(p.kind(), Kind::Invite { expires } if expires <= wall);
                is_open && only.is_none_or(|o| o == *index)
            })
            .map(|(index, p)| (p.suite(), index))
            .collect();
        // One suite to a frame; the handed-over session first, because a receiver takes the first
        // header that it knows.
        targets.sort_by_key(|(suite, index)| (*suite, handed_over != Some(*index), *index));
        let message = TrystMessage::ProbeRequest { request, time: wall.as_micros() };
        let mut rest = targets.as_slice();
        while let Some((suite, _)) = rest.first() {
            let same = rest.iter().take_while(|(s, _)| s == suite).count();
            let mut take = same.min(MAX_RECIPIENTS);
            // Small frames hold fewer headers.
            while take > 1 && self.sizes.tryst_len(*suite, take, message.buffer_len()).is_none() {
                take -= 1;
            }
            let (now, later) = rest.split_at(take);
            let indices: Vec<u32> = now.iter().map(|(_, index)| *index).collect();
            self.send_tryst(*suite, &indices, Class::Probe, &message);
            rest = later;
        }
    }

    fn send_tryst(&mut self, suite: Suite, to: &[u32], class: Class, message: &TrystMessage<'_>) {
        let keys: Vec<_> = to
            .iter()
            .filter_map(|index| self.directory.sending(*index, class, self.now.wall).ok())
            .collect();
        if keys.is_empty() {
            return;
        }
        let recipients: Vec<Recipient<'_>> =
            keys.iter().map(|(address, keys)| Recipient { keys, address }).collect();
        // Of suite `2008` it has session keys.
        let mut payload = zeroize::Zeroizing::new(vec![0; message.buffer_len()]);
        if message.emit(&mut payload).is_err() {
            return;
        }
        let mut frame = vec![0; carrier::HEADER_LEN + self.sizes.max_body()];
        let Ok(body) = carrier::emit(&mut frame) else { return };
        let sealed = tryst::seal(suite, self.sizes, &recipients, &payload, &mut self.rng, body);
        if let Ok(len) = sealed {
            frame.truncate(carrier::HEADER_LEN + len);
            self.out.frame(frame);
        }
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
        let wall = self.now.wall;
        let interval =
            self.directory.resolve(index, interval_low, wall).ok_or(DropReason::Foreign)?;
        let keys =
            self.directory.receiving(index, interval).map_err(|_| DropReason::TrystUnverified)?;
        let suite = self.directory.get(index).map(Pairing::suite).ok_or(DropReason::Foreign)?;
        let opened =
            tryst::open(suite, &keys, body, header).map_err(|_| DropReason::TrystUnverified)?;
        let payload = body.get(opened.payload).ok_or(DropReason::Malformed)?;
        let message = TrystMessage::parse(payload).map_err(|_| DropReason::Malformed)?;
        // Replays change nothing here: an answer counts only for the one request that is open.
        match (class, message) {
            (Class::Probe, TrystMessage::ProbeResponse { request, time, access_point, load }) => {
                let found = Found { pairing: index, access_point, signal: meta.signal, load };
                self.on_probe_response(request, time, found)
            }
            (
                Class::Authentication,
                TrystMessage::AuthResponse { request, time, access_point, status, agreement },
            ) => self.on_auth_response(index, request, time, access_point, status, agreement),
            _ => Err(DropReason::Unexpected),
        }
    }

    fn note_clock(&mut self, time: u64) {
        let theirs = slyfi_base::UnixTime::from_micros(time);
        self.out.event(Event::ClockOffset(theirs.offset_from(self.now.wall)));
    }

    fn on_probe_response(
        &mut self,
        answered: RequestId,
        time: u64,
        found: Found,
    ) -> Result<(), DropReason> {
        let present = self.link.as_ref().map(|l| l.access_point);
        let collect = self.config.collect;
        let now = self.now.mono;
        let Setup::Probing { request, best, decide_at, .. } = &mut self.setup else {
            return Err(DropReason::Unexpected);
        };
        // A renewal comes back to the same access point by its pairing, a move must not.
        if *request != answered || present == Some(found.access_point) {
            return Err(DropReason::Unexpected);
        }
        if best.is_none_or(|b| is_better(&found, &b)) {
            *best = Some(found);
        }
        if decide_at.is_none() {
            *decide_at = Some(now + collect);
        }
        let is_decided = decide_at.is_some_and(|t| t <= now);
        self.note_clock(time);
        if is_decided {
            self.decide();
        }
        Ok(())
    }

    /// Goes on with the best access point that answered.
    fn decide(&mut self) {
        let Setup::Probing { request, best: Some(found), .. } = &self.setup else { return };
        let (request, found) = (*request, *found);
        match &self.roaming {
            Some(roaming) if roaming.index == found.pairing => {
                let secrets =
                    handover_secrets(roaming.suite, &roaming.secret, found.access_point, request);
                let home = roaming.home;
                self.associate(home, found.access_point, &secrets);
            }
            _ => self.authenticate(found.pairing, found.access_point),
        }
    }

    fn authenticate(&mut self, pairing: u32, access_point: AccessPointId) {
        let retry =
            Retry::first(self.now.mono, self.config.retry, self.config.tries, &mut self.rng);
        self.setup =
            Setup::Authenticating { pairing, access_point, request: [0; 8], offer: None, retry };
        self.phase(Phase::Authenticating);
        self.send_authentication();
    }

    /// Sends an authentication, with an offer of its own each time: the access point keeps only the
    /// newest session, so only the newest answer counts.
    fn send_authentication(&mut self) {
        let Setup::Authenticating { pairing, access_point, request, offer, .. } = &mut self.setup
        else {
            return;
        };
        let Some(suite) = self.directory.get(*pairing).map(Pairing::suite) else { return };
        self.rng.fill(request);
        let fresh = Offer::new(suite, &mut self.rng);
        let agreement = fresh.request_bytes().to_vec();
        let agreement = zeroize::Zeroizing::new(agreement);
        *offer = Some(fresh);
        let (pairing, access_point, request) = (*pairing, *access_point, *request);
        let message = TrystMessage::AuthRequest {
            request,
            time: self.now.wall.as_micros(),
            access_point,
            agreement: &agreement,
        };
        self.send_tryst(suite, &[pairing], Class::Authentication, &message);
    }

    fn on_auth_response(
        &mut self,
        index: u32,
        answered: RequestId,
        time: u64,
        from: AccessPointId,
        status: AuthStatus,
        agreement: &[u8],
    ) -> Result<(), DropReason> {
        let Setup::Authenticating { pairing, access_point, request, offer, .. } = &mut self.setup
        else {
            return Err(DropReason::Unexpected);
        };
        if *pairing != index || *request != answered || *access_point != from {
            return Err(DropReason::Unexpected);
        }
        let offer = offer.take().ok_or(DropReason::Unexpected)?;
        self.note_clock(time);
        match status {
            AuthStatus::Full => self.give_up(NoLink::Full),
            AuthStatus::InviteSpent => {
                // It will never be of use again, and must not be chosen before a pairing that is.
                if let Some(spent) = self.directory.remove(index, &mut self.table) {
                    self.out.record(RecordKind::InviteSpent, None, spent.id().to_vec().into());
                }
                self.give_up(NoLink::InviteSpent);
            }
            AuthStatus::Accepted => {
                let secrets = offer.finish(agreement).map_err(|_| DropReason::Malformed)?;
                self.associate(index, from, &secrets);
            }
        }
        Ok(())
    }

    /// Begins a session and asks to be taken in.
    fn associate(&mut self, home: u32, access_point: AccessPointId, secrets: &SessionSecrets) {
        if self.config.key_log {
            let pairing_id = self.directory.get(home).map(|p| *p.id()).unwrap_or_default();
            self.out.key_log(keylog::session_lines(&pairing_id, secrets));
        }
        // Two slots: the link that is up, and the one that is being made.
        let slot = self.link.as_ref().map_or(0, |l| 1 - l.slot.min(1));
        let mut sender = ShroudSender::new(&secrets.up, self.sizes);
        sender.set_limits(Limits { soft: self.config.rekey_after, ..Limits::default() });
        let mut receiver = ShroudReceiver::new(&secrets.down, self.window());
        receiver.install(&mut self.table, Slot::Link(slot));
        let mut candidate = Box::new(Established::new(
            slot,
            home,
            access_point,
            Session::new(sender, receiver, self.session_config(), self.now.mono),
            secrets.roam.clone(),
        ));
        let is_known = self.directory.get(home).is_some_and(|p| self.known_to == Some(*p.id()));
        let pseudonym = if is_known { self.host_mac } else { self.own_mac };
        let request = Control::AssocRequest { pseudonym, mtu: self.mtu() as u16 };
        let queued = candidate.queue_control(&request, &mut self.pool);
        let now = self.now.mono;
        if let Some(link) = &mut self.link {
            link.session.pause(true);
            candidate.is_held = true;
        }
        self.setup = Setup::Associating {
            candidate,
            hold_until: now + SETTLING_PATIENCE,
            until: now + ASSOCIATION_PATIENCE,
        };
        self.phase(Phase::Associating);
        if !queued {
            self.give_up(NoLink::Refused);
        }
    }

    /// Ends the set-up; another begins after a pause, if a link is wanted and there is none.
    pub(super) fn give_up(&mut self, why: NoLink) {
        let ended = core::mem::replace(&mut self.setup, Setup::Idle);
        if let Setup::Associating { candidate, .. } = ended {
            self.discard(candidate);
        }
        if let Some(link) = &mut self.link {
            link.session.pause(false);
            // An access point without room says so at once; it must not be asked again at once.
            self.renew_at = self.now.mono + give_or_take(self.config.pause, &mut self.rng);
            return;
        }
        if why == NoLink::NoAnswer {
            self.has_heeded = false;
        }
        if !self.wanted {
            return;
        }
        let retry_in = give_or_take(self.pause, &mut self.rng);
        self.pause = self.pause.saturating_mul(2).min(self.config.pause.saturating_mul(16));
        self.setup = Setup::Pausing { until: self.now.mono + retry_in };
        self.out.event(Event::NoLink { why, retry_in });
    }

    pub(super) fn setup_timeouts(&mut self) {
        let now = self.now.mono;
        match &mut self.setup {
            Setup::Idle => {}
            Setup::Pausing { until } => {
                if *until <= now {
                    self.start_setup();
                }
            }
            Setup::Probing { request, retry, decide_at, .. } => {
                if decide_at.is_some_and(|t| t <= now) {
                    self.decide();
                } else if retry.at <= now {
                    let request = *request;
                    if retry.again(now, &mut self.rng) {
                        self.send_probes(request);
                    } else {
                        self.give_up(NoLink::NoAnswer);
                    }
                }
            }
            Setup::Authenticating { retry, .. } => {
                if retry.at <= now {
                    if retry.again(now, &mut self.rng) {
                        self.send_authentication();
                    } else {
                        self.give_up(NoLink::NoAuthentication);
                    }
                }
            }
            Setup::Associating { candidate, until, .. } => {
                if *until <= now || candidate.session.is_over(now).is_some() {
                    self.give_up(NoLink::Refused);
                }
            }
        }
    }

    /// Takes a clear announcement of a paired network: the authentication follows at once
    /// (slyfi-2008 §2.4), and tells nobody else which network this client cared for, unless they
    /// forged it. One that led nowhere is followed by a search: forgers cannot keep a client from that.
    pub(super) fn heed_announcement(&mut self, frame: &[u8]) -> bool {
        if !self.config.heed_announcements || self.has_heeded {
            return false;
        }
        if !matches!(self.setup, Setup::Probing { .. } | Setup::Pausing { .. })
            || self.link.is_some()
            || frame.starts_with(&carrier::HEADER[..1])
        {
            return false;
        }
        let Ok(announcement) = Announcement::parse(frame) else { return false };
        let index = self
            .directory
            .iter()
            .find(|(_, p)| p.network().as_bytes() == announcement.ssid)
            .map(|(index, _)| index);
        let Some(index) = index else { return false };
        self.has_heeded = true;
        self.authenticate(index, announcement.ap_id);
        true
    }
}

/// Whether `a` is the better access point: the stronger, then the less loaded.
fn is_better(a: &Found, b: &Found) -> bool {
    (a.signal, core::cmp::Reverse(a.load)) > (b.signal, core::cmp::Reverse(b.load))
}
