//! The access point.

use super::MAX_PACKET;
use super::card::{Card, Ds, DuplicateFilter};
use super::config::ApConfig;
use super::frames::{Bss, Management, OPEN_SYSTEM, decapsulate, ethernet, reason, status};
use super::outbox::Outbox;
use super::station::NO_PAIRING;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use slyfi_base::event::Unlinked;
use slyfi_base::reason::DropCounters;
use slyfi_base::{
    ApiMisuse, Command, DropReason, Duration, Event, Instant, Link, LinkId, MacAddress, Now,
    Output, Refused, RxMeta, SecureRandom,
};
use slyfi_wire::ethernet::{EthernetFrame, EthernetRepr};
use slyfi_wire::ieee80211::{MacHeader, Type};

/// The highest association identifier (IEEE 802.11-2020 §9.4.1.8).
const MAX_AID: u16 = 2007;

/// The interval named in probe responses of an access point that sends no beacons.
const DEFAULT_BEACON_INTERVAL: u16 = 100;

/// A station that has associated.
#[derive(Clone, Copy, Debug)]
struct Association {
    aid: u16,
    link: LinkId,
    /// Whether anything came after the association: until then a second request means that the
    /// answer was lost.
    used: bool,
}

/// A station that has authenticated, and perhaps associated.
#[derive(Clone, Copy, Debug)]
struct Member {
    association: Option<Association>,
    last_heard: Instant,
    filter: DuplicateFilter,
}

/// An access point of ordinary 802.11 without encryption.
#[derive(Debug)]
pub struct OpenAp {
    config: ApConfig,
    card: Card,
    /// Ordered, so that runs are repeatable.
    members: BTreeMap<MacAddress, Member>,
    next_link: u32,
    next_beacon: Option<Instant>,
    /// No member's silence ends before this instant; spares a walk over all of them per call.
    next_silence: Option<Instant>,
    outbox: Outbox,
    drops: DropCounters,
}

impl OpenAp {
    /// Returns an access point that is up; its first beacon is due at `now`.
    pub fn new(now: Now, config: ApConfig, rng: &mut impl SecureRandom) -> Self {
        OpenAp {
            card: Card::new(config.mac, config.data_rate, rng),
            next_beacon: config.beacon_interval.map(|_| now.mono),
            config,
            members: BTreeMap::new(),
            next_link: 0,
            next_silence: None,
            outbox: Outbox::default(),
            drops: DropCounters::default(),
        }
    }

    /// Returns how many stations are associated.
    pub fn associated(&self) -> usize {
        self.members.values().filter(|m| m.association.is_some()).count()
    }

    fn manage(&mut self, to: MacAddress, body: Management<'_>) {
        let bssid = self.card.mac();
        self.card.manage(&mut self.outbox, to, bssid, body);
    }

    // Frames from the air.

    fn receive(&mut self, now: Now, meta: RxMeta, frame: &[u8]) -> Result<(), DropReason> {
        let header = self.card.receive(meta, frame)?;
        let fc = header.frame_control();
        let Some(from) = header.addr2() else {
            return Err(DropReason::Foreign);
        };
        if let Some(member) = self.members.get_mut(&from) {
            member.last_heard = now.mono;
            if !header.addr1().is_group() && member.filter.is_duplicate(&header) {
                return Err(DropReason::Duplicate);
            }
        }
        if fc.kind() == Type::Data {
            return self.receive_data(from, &header);
        }
        let body = Management::parse(fc.subtype(), header.body());
        match body.map_err(|_| DropReason::Malformed)? {
            Some(Management::ProbeRequest { ssid }) => self.on_probe_request(now, from, ssid),
            // Everything else is for one access point only.
            Some(_) if header.bssid() != Some(self.card.mac()) => Err(DropReason::Foreign),
            Some(Management::Authentication { algorithm, transaction, .. }) => {
                self.on_authentication(now, from, algorithm, transaction)
            }
            Some(Management::AssociationRequest { ssid }) => {
                self.on_association_request(from, ssid)
            }
            Some(Management::Deauthentication { .. }) => match self.members.remove(&from) {
                Some(member) => {
                    self.unlinked(member.association, Unlinked::Left);
                    Ok(())
                }
                None => Err(DropReason::Unexpected),
            },
            Some(Management::Disassociation { .. }) => match self.disassociate(from) {
                Some(association) => {
                    self.unlinked(Some(association), Unlinked::Left);
                    Ok(())
                }
                None => Err(DropReason::Unexpected),
            },
            Some(_) | None => Err(DropReason::Unexpected),
        }
    }

    fn on_probe_request(
        &mut self,
        now: Now,
        from: MacAddress,
        ssid: &[u8],
    ) -> Result<(), DropReason> {
        // The empty name asks everyone.
        if !ssid.is_empty() && ssid != self.config.ssid.as_bytes() {
            return Err(DropReason::Foreign);
        }
        let body = Management::ProbeResponse(bss(&self.config, now));
        let bssid = self.card.mac();
        self.card.manage(&mut self.outbox, from, bssid, body);
        Ok(())
    }

    fn on_authentication(
        &mut self,
        now: Now,
        from: MacAddress,
        algorithm: u16,
        transaction: u16,
    ) -> Result<(), DropReason> {
        if transaction == 2 {
            // An answer; this side never asks.
            return Err(DropReason::Unexpected);
        }
        let known = self.members.contains_key(&from);
        let room = usize::from(self.config.max_members.min(MAX_AID));
        let status = if algorithm != OPEN_SYSTEM {
            status::ALGORITHM_NOT_SUPPORTED
        } else if transaction != 1 {
            status::OUT_OF_SEQUENCE
        } else if !known && self.members.len() >= room {
            status::NO_MORE_STATIONS
        } else {
            status::SUCCESS
        };
        if status == status::SUCCESS {
            // A station that authenticates anew has forgotten its association (§11.3.4.3).
            let former = self.disassociate(from);
            self.unlinked(former, Unlinked::Replaced);
            if !known {
                let filter = DuplicateFilter::default();
                let member = Member { association: None, last_heard: now.mono, filter };
                self.members.insert(from, member);
                self.expect_silence(now.mono);
            }
        }
        self.manage(from, Management::Authentication { algorithm, transaction: 2, status });
        Ok(())
    }

    fn on_association_request(&mut self, from: MacAddress, ssid: &[u8]) -> Result<(), DropReason> {
        let Some(member) = self.members.get(&from) else {
            self.reject(from, reason::NOT_AUTHENTICATED);
            return Err(DropReason::Unexpected);
        };
        if ssid != self.config.ssid.as_bytes() {
            let body = Management::AssociationResponse { status: status::UNSPECIFIED, aid: 0 };
            self.manage(from, body);
            return Err(DropReason::Unexpected);
        }
        let answered = member.association.filter(|a| !a.used);
        let aid = match answered {
            // The answer was lost: say it again.
            Some(association) => association.aid,
            None => {
                let former = self.disassociate(from);
                self.unlinked(former, Unlinked::Replaced);
                let Some(aid) = self.free_aid() else {
                    let status = status::NO_MORE_STATIONS;
                    self.manage(from, Management::AssociationResponse { status, aid: 0 });
                    return Err(DropReason::NoRoom);
                };
                let link = LinkId(self.next_link);
                self.next_link = self.next_link.wrapping_add(1);
                if let Some(member) = self.members.get_mut(&from) {
                    member.association = Some(Association { aid, link, used: false });
                }
                self.outbox.event(Event::Linked { link, pairing: NO_PAIRING });
                aid
            }
        };
        self.manage(from, Management::AssociationResponse { status: status::SUCCESS, aid });
        Ok(())
    }

    /// The lowest association identifier that no member has.
    fn free_aid(&self) -> Option<u16> {
        let mut taken = [false; MAX_AID as usize + 1];
        for aid in self.members.values().filter_map(|m| m.association.map(|a| a.aid)) {
            if let Some(t) = taken.get_mut(usize::from(aid)) {
                *t = true;
            }
        }
        (1..=MAX_AID).find(|aid| taken.get(usize::from(*aid)) == Some(&false))
    }

    fn receive_data(&mut self, from: MacAddress, header: &MacHeader<'_>) -> Result<(), DropReason> {
        let fc = header.frame_control();
        if !fc.is_to_ds() || fc.is_from_ds() || header.addr1() != self.card.mac() {
            return Err(DropReason::Foreign);
        }
        let Some(association) = self.members.get_mut(&from).and_then(|m| m.association.as_mut())
        else {
            // Tells a station that this access point has forgotten it, after a restart for one.
            self.reject(from, reason::NOT_ASSOCIATED);
            return Err(DropReason::Unexpected);
        };
        association.used = true;
        if !fc.carries_data() {
            return Ok(());
        }
        let packet = decapsulate(header.body()).ok_or(DropReason::Malformed)?;
        let destination = header.destination().ok_or(DropReason::Malformed)?;
        let (relays, delivers) = if destination.is_group() {
            (true, true)
        } else {
            let relays = destination != from && self.is_associated(destination);
            (relays, !relays && destination != from)
        };
        let mut kept = true;
        if relays {
            kept = self.card.data(&mut self.outbox, Ds::From, destination, from, packet);
        }
        if delivers {
            let repr = EthernetRepr { destination, source: from, ethertype: packet.0 };
            kept &= self.outbox.deliver(|out| ethernet(out, repr, packet.1));
        }
        if kept { Ok(()) } else { Err(DropReason::NoRoom) }
    }

    fn is_associated(&self, mac: MacAddress) -> bool {
        self.members.get(&mac).is_some_and(|m| m.association.is_some())
    }

    // The end of a membership.

    fn reject(&mut self, station: MacAddress, reason: u16) {
        self.manage(station, Management::Deauthentication { reason });
    }

    fn disassociate(&mut self, station: MacAddress) -> Option<Association> {
        self.members.get_mut(&station)?.association.take()
    }

    fn unlinked(&mut self, association: Option<Association>, why: Unlinked) {
        if let Some(Association { link, .. }) = association {
            self.outbox.event(Event::Unlinked { link, why });
        }
    }

    // Time.

    fn expect_silence(&mut self, last_heard: Instant) {
        let at = last_heard + self.config.timers.silence;
        self.next_silence = Some(self.next_silence.map_or(at, |earlier| earlier.min(at)));
    }

    fn drop_silent(&mut self, now: Now) {
        let limit = self.config.timers.silence;
        let is_silent = |m: &Member| now.mono >= m.last_heard + limit;
        let silent: Vec<MacAddress> =
            self.members.iter().filter(|(_, m)| is_silent(m)).map(|(mac, _)| *mac).collect();
        for station in silent {
            if let Some(member) = self.members.remove(&station) {
                self.unlinked(member.association, Unlinked::Silent);
                self.reject(station, reason::INACTIVITY);
            }
        }
        self.next_silence = self.members.values().map(|m| m.last_heard + limit).min();
    }

    fn beacon(&mut self, now: Now, interval: u16) {
        let body = Management::Beacon(bss(&self.config, now));
        let bssid = self.card.mac();
        self.card.manage(&mut self.outbox, MacAddress::BROADCAST, bssid, body);
        // Beacons that were missed are not made up for.
        self.next_beacon =
            Some(now.mono + Duration::from_micros(u64::from(interval.max(1)) * 1024));
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.next_beacon.into_iter().chain(self.next_silence).min()
    }
}

/// What beacons and probe responses say.
fn bss(config: &ApConfig, now: Now) -> Bss<'_> {
    Bss {
        timestamp: now.mono.as_micros(),
        interval: config.beacon_interval.unwrap_or(DEFAULT_BEACON_INTERVAL),
        privacy: false,
        ssid: config.ssid.as_bytes(),
    }
}

impl Link for OpenAp {
    fn handle_frame(&mut self, now: Now, meta: RxMeta, frame: &mut [u8]) {
        if let Err(reason) = self.receive(now, meta, frame) {
            self.drops.count(reason);
        }
    }

    fn handle_packet(&mut self, _now: Now, packet: &[u8]) -> Result<(), Refused> {
        let frame = EthernetFrame::new_checked(packet).map_err(|_| Refused::TooShort)?;
        if packet.len() > MAX_PACKET {
            return Err(Refused::TooLong { actual: packet.len(), limit: MAX_PACKET });
        }
        let destination = frame.destination();
        if !destination.is_group() && !self.is_associated(destination) {
            return Err(Refused::NoSuchMember);
        }
        // The host's own address, or one behind it.
        let source = frame.source();
        let payload = (frame.ethertype(), frame.payload());
        if self.card.data(&mut self.outbox, Ds::From, destination, source, payload) {
            Ok(())
        } else {
            Err(Refused::QueueFull)
        }
    }

    fn handle_command(&mut self, _now: Now, command: Command) -> Result<(), ApiMisuse> {
        match command {
            Command::Leave => {
                for (_, member) in core::mem::take(&mut self.members) {
                    self.unlinked(member.association, Unlinked::Left);
                }
                self.next_silence = None;
                self.reject(MacAddress::BROADCAST, reason::SENDER_LEAVES);
            }
            Command::Dismiss(link) => {
                let is_it = |m: &Member| m.association.is_some_and(|a| a.link == link);
                let found = self.members.iter().find(|(_, m)| is_it(m)).map(|(mac, _)| *mac);
                let station = found.ok_or(ApiMisuse::NoSuchLink)?;
                let association = self.disassociate(station);
                self.members.remove(&station);
                self.unlinked(association, Unlinked::Dismissed);
                self.reject(station, reason::UNSPECIFIED);
            }
            // ARP and neighbour discovery travel in the clear; nothing has to be bound.
            Command::Bind(_) | Command::Unbind(_) => {}
            _ => return Err(ApiMisuse::WrongRole),
        }
        Ok(())
    }

    fn handle_timeout(&mut self, now: Now) {
        if let Some(interval) = self.config.beacon_interval
            && self.next_beacon.is_some_and(|at| now.mono >= at)
        {
            self.beacon(now, interval);
        }
        if self.next_silence.is_some_and(|at| now.mono >= at) {
            self.drop_silent(now);
        }
    }

    fn poll_output<'b>(&mut self, buf: &'b mut [u8]) -> Output<'b> {
        self.outbox.poll(buf).unwrap_or(Output::Timeout(self.next_timeout()))
    }

    fn drops(&self) -> &DropCounters {
        &self.drops
    }
}
