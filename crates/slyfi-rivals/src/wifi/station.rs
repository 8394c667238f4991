//! The station.

mod data;

use super::MAX_PACKET;
use super::card::{Card, DuplicateFilter};
use super::config::StationConfig;
use super::frames::{Bss, Management, OPEN_SYSTEM, Wish, reason, status};
use super::outbox::{Outbox, Unsent};
use super::protection::{Open, Protection};
use slyfi_base::event::{NoLink, Phase, Unlinked};
use slyfi_base::reason::DropCounters;
use slyfi_base::{
    ApiMisuse, Command, DropReason, Duration, Event, Instant, Link, LinkId, MacAddress, Now,
    Output, Refused, RxMeta, SecureRandom,
};
use slyfi_wire::ethernet::EthernetFrame;
use slyfi_wire::ieee80211::Type;

/// The only link of a station.
const LINK: LinkId = LinkId(0);

/// Ordinary 802.11 has no pairings; events that name one say 0.
pub(super) const NO_PAIRING: u32 = 0;

/// A request that waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting {
    /// How often it was sent.
    tries: u8,
    /// When it is sent again, or given up.
    until: Instant,
}

/// An access point that answered a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ApRef {
    bssid: MacAddress,
    /// Which of the configured networks.
    network: usize,
}

impl ApRef {
    fn ssid(self, config: &StationConfig) -> &[u8] {
        config.networks.get(self.network).map_or(&[], |s| s.as_bytes())
    }
}

/// A link that is up.
#[derive(Clone, Copy, Debug)]
struct Session {
    ap: ApRef,
    last_heard: Instant,
    last_sent: Instant,
    last_asked: Instant,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Idle,
    Pausing { until: Instant },
    Probing(Waiting),
    Authenticating(ApRef, Waiting),
    Associating(ApRef, Waiting),
    Securing(ApRef, Waiting),
    Linked(Session),
}

/// A station of ordinary 802.11.
#[derive(Debug)]
pub struct Station<R, P> {
    config: StationConfig,
    rng: R,
    card: Card,
    protection: P,
    state: State,
    /// Set-ups that failed in a row.
    failures: u32,
    filter: DuplicateFilter,
    outbox: Outbox,
    drops: DropCounters,
}

impl<R: SecureRandom> Station<R, Open> {
    /// Returns a station without encryption that waits for [`Command::Connect`].
    pub fn new(config: StationConfig, rng: R) -> Self {
        Self::protected(config, Open::default(), rng)
    }
}

impl<R: SecureRandom, P: Protection> Station<R, P> {
    /// Returns a station that waits for [`Command::Connect`].
    pub fn protected(config: StationConfig, protection: P, mut rng: R) -> Self {
        let card = Card::new(config.mac, config.data_rate, &mut rng);
        Station {
            protection,
            config,
            rng,
            card,
            state: State::Idle,
            failures: 0,
            filter: DuplicateFilter::default(),
            outbox: Outbox::default(),
            drops: DropCounters::default(),
        }
    }

    /// Returns whether data can flow.
    pub const fn is_linked(&self) -> bool {
        matches!(self.state, State::Linked(_))
    }

    /// Returns the protection.
    pub const fn protection(&self) -> &P {
        &self.protection
    }

    /// Returns the protection, to restore what it was.
    pub const fn protection_mut(&mut self) -> &mut P {
        &mut self.protection
    }

    fn waiting(&self, now: Now, tries: u8, wait: Duration) -> Waiting {
        Waiting { tries, until: now.mono + wait }
    }

    // Set-up, in the order of its phases.

    fn start_probing(&mut self, now: Now) {
        self.outbox.event(Event::Phase(Phase::Probing));
        self.filter = DuplicateFilter::default();
        self.probe(now, 1);
    }

    fn probe(&mut self, now: Now, tries: u8) {
        self.state = State::Probing(self.waiting(now, tries, self.config.timers.probe_wait));
        for network in &self.config.networks {
            let body = Management::ProbeRequest { ssid: network.as_bytes() };
            let all = MacAddress::BROADCAST;
            self.card.manage(&mut self.outbox, all, all, body);
        }
    }

    fn authenticate(&mut self, now: Now, ap: ApRef, tries: u8) {
        let wait = self.waiting(now, tries, self.config.timers.answer_wait);
        self.state = State::Authenticating(ap, wait);
        let body = Management::Authentication {
            algorithm: OPEN_SYSTEM,
            transaction: 1,
            status: status::SUCCESS,
        };
        self.card.manage(&mut self.outbox, ap.bssid, ap.bssid, body);
    }

    fn associate(&mut self, now: Now, ap: ApRef, tries: u8) {
        let wait = self.waiting(now, tries, self.config.timers.answer_wait);
        self.state = State::Associating(ap, wait);
        let body = Management::AssociationRequest(Wish {
            privacy: self.protection.is_private(),
            ssid: ap.ssid(&self.config),
            rsn: self.protection.rsn(),
        });
        self.card.manage(&mut self.outbox, ap.bssid, ap.bssid, body);
    }

    /// Associated: data flow when the protection says so.
    fn secure(&mut self, now: Now, ap: ApRef) {
        let wait = self.waiting(now, 1, self.config.timers.secure_wait);
        self.state = State::Securing(ap, wait);
        self.protection.begin(now, ap.bssid);
        self.follow(now);
    }

    fn linked(&mut self, now: Now, ap: ApRef) {
        self.failures = 0;
        let at = now.mono;
        self.state = State::Linked(Session { ap, last_heard: at, last_sent: at, last_asked: at });
        self.outbox.event(Event::Phase(Phase::Linked));
        self.outbox.event(Event::Linked { link: LINK, pairing: NO_PAIRING });
    }

    fn fail(&mut self, now: Now, why: NoLink) {
        self.forget_keys(now);
        let t = self.config.timers;
        let doubled = t.retry_pause.saturating_mul(1 << self.failures.min(30));
        let pause = doubled.min(t.retry_pause_max);
        // Stations that lost the same access point must not come back all at once.
        let jitter = Duration::from_micros(self.rng.below(pause.as_micros() / 4 + 1));
        self.failures = self.failures.saturating_add(1);
        let retry_in = pause + jitter;
        self.state = State::Pausing { until: now.mono + retry_in };
        self.outbox.event(Event::NoLink { why, retry_in });
    }

    fn forget_keys(&mut self, now: Now) {
        if let State::Securing(ap, _) | State::Linked(Session { ap, .. }) = self.state {
            self.protection.end(now, ap.bssid);
        }
    }

    fn lose(&mut self, now: Now, why: Unlinked) {
        self.forget_keys(now);
        self.outbox.event(Event::Unlinked { link: LINK, why });
        self.start_probing(now);
    }

    // Frames from the air.

    fn receive(&mut self, now: Now, meta: RxMeta, frame: &mut [u8]) -> Result<(), DropReason> {
        let header = self.card.receive(meta, frame, self.protection.is_private())?;
        let fc = header.frame_control();
        let (Some(from), Some(bssid)) = (header.addr2(), header.bssid()) else {
            return Err(DropReason::Foreign);
        };
        if from != bssid {
            // Another station's frame, or of a network without access point.
            return Err(DropReason::Foreign);
        }
        let probing = matches!(self.state, State::Probing(_));
        let current = self.current_ap();
        if !probing && current.is_none_or(|ap| ap.bssid != from) {
            return Err(DropReason::Foreign);
        }
        if !probing && !header.addr1().is_group() && self.filter.is_duplicate(&header) {
            return Err(DropReason::Duplicate);
        }
        if let State::Linked(session) = &mut self.state {
            session.last_heard = now.mono;
        }
        if fc.kind() == Type::Data {
            let header_len = header.header_len();
            return self.receive_data(now, from, frame, header_len);
        }
        let body = Management::parse(fc.subtype(), header.body());
        match body.map_err(|_| DropReason::Malformed)? {
            Some(body) => self.receive_management(now, from, body),
            None => Err(DropReason::Unexpected),
        }
    }

    fn current_ap(&self) -> Option<ApRef> {
        match self.state {
            State::Authenticating(ap, _) | State::Associating(ap, _) | State::Securing(ap, _) => {
                Some(ap)
            }
            State::Linked(session) => Some(session.ap),
            State::Idle | State::Pausing { .. } | State::Probing(_) => None,
        }
    }

    fn receive_management(
        &mut self,
        now: Now,
        from: MacAddress,
        body: Management<'_>,
    ) -> Result<(), DropReason> {
        match (self.state, body) {
            (State::Probing(_), Management::ProbeResponse(bss)) => {
                self.on_probe_response(now, from, bss)
            }
            (
                State::Authenticating(ap, _),
                Management::Authentication { algorithm: OPEN_SYSTEM, transaction: 2, status },
            ) => {
                match status {
                    status::SUCCESS => {
                        self.outbox.event(Event::Phase(Phase::Associating));
                        self.associate(now, ap, 1);
                    }
                    status::NO_MORE_STATIONS => self.fail(now, NoLink::Full),
                    _ => self.fail(now, NoLink::NoAuthentication),
                }
                Ok(())
            }
            (State::Associating(ap, _), Management::AssociationResponse { status, .. }) => {
                match status {
                    status::SUCCESS => self.secure(now, ap),
                    status::NO_MORE_STATIONS => self.fail(now, NoLink::Full),
                    _ => self.fail(now, NoLink::Refused),
                }
                Ok(())
            }
            // Signs of life: the sender was noted before.
            (
                State::Linked(_) | State::Securing(..),
                Management::Beacon(_) | Management::ProbeResponse(_),
            ) => Ok(()),
            (
                State::Securing(..),
                Management::Deauthentication { reason: code }
                | Management::Disassociation { reason: code },
            ) => {
                let keys = code == reason::FOUR_WAY_TIMEOUT;
                self.fail(now, if keys { NoLink::KeyNotProven } else { NoLink::Refused });
                Ok(())
            }
            (
                State::Linked(_),
                Management::Deauthentication { .. } | Management::Disassociation { .. },
            ) => {
                self.lose(now, Unlinked::Dismissed);
                Ok(())
            }
            (
                State::Authenticating(..) | State::Associating(..),
                Management::Deauthentication { .. } | Management::Disassociation { .. },
            ) => {
                self.fail(now, NoLink::Refused);
                Ok(())
            }
            _ => Err(DropReason::Unexpected),
        }
    }

    fn on_probe_response(
        &mut self,
        now: Now,
        bssid: MacAddress,
        bss: Bss<'_>,
    ) -> Result<(), DropReason> {
        let network = self.config.networks.iter().position(|s| s.as_bytes() == bss.ssid);
        let network = network.ok_or(DropReason::Foreign)?;
        if bss.privacy != self.protection.is_private()
            || self.protection.consider(now, bssid, bss.rsn).is_err()
        {
            return Err(DropReason::Unexpected);
        }
        self.outbox.event(Event::Phase(Phase::Authenticating));
        self.authenticate(now, ApRef { bssid, network }, 1);
        Ok(())
    }

    // Time.

    fn next_timeout(&self) -> Option<Instant> {
        self.next_own_timeout().into_iter().chain(self.protection.next_timeout()).min()
    }

    fn next_own_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Idle => None,
            State::Pausing { until } => Some(until),
            State::Probing(w)
            | State::Authenticating(_, w)
            | State::Associating(_, w)
            | State::Securing(_, w) => Some(w.until),
            State::Linked(s) => {
                let t = self.config.timers;
                let ask = s.last_heard.max(s.last_asked) + t.keep_alive;
                Some((s.last_sent + t.keep_alive).min(ask).min(s.last_heard + t.silence))
            }
        }
    }

    fn on_timeout(&mut self, now: Now) {
        let last = |w: Waiting| w.tries >= self.config.timers.tries;
        match self.state {
            State::Idle => {}
            State::Pausing { .. } => self.start_probing(now),
            State::Probing(w) if last(w) => self.fail(now, NoLink::NoAnswer),
            State::Probing(w) => self.probe(now, w.tries + 1),
            State::Authenticating(_, w) if last(w) => self.fail(now, NoLink::NoAuthentication),
            State::Authenticating(ap, w) => self.authenticate(now, ap, w.tries + 1),
            State::Associating(_, w) if last(w) => self.fail(now, NoLink::Refused),
            State::Associating(ap, w) => self.associate(now, ap, w.tries + 1),
            State::Securing(ap, _) => {
                let body = Management::Deauthentication { reason: reason::FOUR_WAY_TIMEOUT };
                self.card.manage(&mut self.outbox, ap.bssid, ap.bssid, body);
                self.fail(now, NoLink::KeyNotProven);
            }
            State::Linked(session) => self.on_link_timeout(now, session),
        }
    }

    fn on_link_timeout(&mut self, now: Now, mut session: Session) {
        let t = self.config.timers;
        if now.mono >= session.last_heard + t.silence {
            return self.lose(now, Unlinked::Silent);
        }
        let bssid = session.ap.bssid;
        if now.mono >= session.last_heard.max(session.last_asked) + t.keep_alive {
            // The radio does not tell whether a Null frame was acknowledged; a probe is answered.
            session.last_asked = now.mono;
            session.last_sent = now.mono;
            let body = Management::ProbeRequest { ssid: session.ap.ssid(&self.config) };
            self.card.manage(&mut self.outbox, bssid, bssid, body);
        } else if now.mono >= session.last_sent + t.keep_alive {
            session.last_sent = now.mono;
            self.card.null(&mut self.outbox, bssid);
        }
        self.state = State::Linked(session);
    }
}

impl<R: SecureRandom, P: Protection> Link for Station<R, P> {
    fn handle_frame(&mut self, now: Now, meta: RxMeta, frame: &mut [u8]) {
        if let Err(reason) = self.receive(now, meta, frame) {
            self.drops.count(reason);
        }
        self.follow(now);
    }

    fn handle_packet(&mut self, now: Now, packet: &[u8]) -> Result<(), Refused> {
        let frame = EthernetFrame::new_checked(packet).map_err(|_| Refused::TooShort)?;
        if packet.len() > MAX_PACKET {
            return Err(Refused::TooLong { actual: packet.len(), limit: MAX_PACKET });
        }
        let State::Linked(Session { ap, .. }) = self.state else {
            return Err(Refused::NotLinked);
        };
        let payload = (frame.ethertype(), frame.payload());
        let is_private = self.protection.is_private();
        if is_private {
            self.protection.prepare(now, ap.bssid);
            self.follow(now);
        }
        let sent = self.transmit(now, (ap.bssid, frame.destination()), payload, is_private);
        if let State::Linked(session) = &mut self.state {
            session.last_sent = now.mono;
        }
        sent.map_err(|unsent| match unsent {
            Unsent::NoRoom => Refused::QueueFull,
            Unsent::NoKey => Refused::NotLinked,
        })
    }

    fn handle_command(&mut self, now: Now, command: Command) -> Result<(), ApiMisuse> {
        match command {
            Command::Connect => match self.state {
                State::Idle | State::Pausing { .. } => self.start_probing(now),
                // Under way already.
                State::Probing(_)
                | State::Authenticating(..)
                | State::Associating(..)
                | State::Securing(..)
                | State::Linked(_) => {}
            },
            Command::Leave => {
                if let Some(ap) = self.current_ap() {
                    let body = Management::Deauthentication { reason: reason::SENDER_LEAVES };
                    self.card.manage(&mut self.outbox, ap.bssid, ap.bssid, body);
                }
                if self.is_linked() {
                    self.outbox.event(Event::Unlinked { link: LINK, why: Unlinked::Left });
                }
                self.forget_keys(now);
                self.failures = 0;
                self.state = State::Idle;
            }
            // Every host answers ARP and neighbour discovery itself; nothing has to be bound.
            Command::Bind(_) | Command::Unbind(_) => {}
            Command::Dismiss(_) => return Err(ApiMisuse::WrongRole),
            _ => return Err(ApiMisuse::WrongState),
        }
        self.follow(now);
        Ok(())
    }

    fn handle_timeout(&mut self, now: Now) {
        if self.next_own_timeout().is_some_and(|at| now.mono >= at) {
            self.on_timeout(now);
        }
        if self.protection.next_timeout().is_some_and(|at| now.mono >= at) {
            self.protection.handle_timeout(now);
        }
        self.follow(now);
    }

    fn poll_output<'b>(&mut self, buf: &'b mut [u8]) -> Output<'b> {
        self.outbox.poll(buf).unwrap_or(Output::Timeout(self.next_timeout()))
    }

    fn drops(&self) -> &DropCounters {
        &self.drops
    }
}
