//! A station's TKIP, CCMP or GCMP behind [`Protection`]: the supplicant and the keys it yields.

use super::drop_reason;
use super::halves::{OpenKey, SealKey, halves, overhead};
use slyfi_base::event::Unlinked;
use slyfi_base::{DropReason, Event, Exhausted, MacAddress, Now, Opened, Overhead, SecureRandom};
use slyfi_ciphers::danger::tkip::Countermeasures;
use slyfi_ciphers::danger::tkip::countermeasures::{Consequence, PERIOD};
use slyfi_ciphers::handshake::{GroupKey, KeyBytes, OwnElement, Profile, Supplicant};
use slyfi_ciphers::{KeyId, PacketNumber};
use slyfi_rivals::wifi::{Effect, Protection, Unfit, reason};
use slyfi_wire::ieee80211::MacHeader;
use std::collections::VecDeque;

/// Keys with one access point.
#[derive(Debug)]
struct Session {
    access_point: MacAddress,
    supplicant: Supplicant,
    keys: Option<(SealKey, OpenKey)>,
    /// Whether the access point was heard under the pairwise key. Before, it may not have it yet, and
    /// sends its handshake in the clear; after, nothing in the clear counts.
    confirmed: bool,
    groups: [Option<OpenKey>; 4],
}

/// A station with a pre-shared key.
#[derive(Debug)]
pub struct RsnStation<R> {
    profile: Profile,
    element: [u8; 22],
    pmk: KeyBytes,
    own: MacAddress,
    rng: R,
    offered: Option<(MacAddress, OwnElement)>,
    session: Option<Session>,
    /// A pairwise key that goes into use when the last message of its handshake has been sealed.
    next: Option<KeyBytes>,
    countermeasures: Countermeasures,
    effects: VecDeque<Effect>,
    handshakes: u64,
    michael_failures: u64,
    shut_downs: u64,
}

impl<R: SecureRandom> RsnStation<R> {
    /// Makes a station whose card has the address `own`.
    pub fn new(profile: Profile, pmk: KeyBytes, own: MacAddress, rng: R) -> Self {
        RsnStation {
            profile,
            element: profile.element(),
            pmk,
            own,
            rng,
            offered: None,
            session: None,
            next: None,
            countermeasures: Countermeasures::default(),
            effects: VecDeque::new(),
            handshakes: 0,
            michael_failures: 0,
            shut_downs: 0,
        }
    }

    fn install_pairwise(&mut self, key: &KeyBytes) {
        let cipher = self.profile.cipher();
        if let Some(session) = &mut self.session {
            session.keys = halves(cipher, key, KeyId::PAIRWISE, PacketNumber::default());
            session.confirmed = false;
        }
    }

    fn install_group(&mut self, group: &GroupKey) {
        let made = halves(self.profile.cipher(), &group.key, group.key_id, group.sequence);
        let place = usize::from(group.key_id.get());
        if let (Some(session), Some((_, open))) = (&mut self.session, made)
            && let Some(place) = session.groups.get_mut(place)
        {
            *place = Some(open);
        }
    }

    /// A frame's Michael code was wrong: the access point is told; the second time within a minute
    /// everything stops for a minute (IEEE 802.11-2020 §12.5.2.4).
    fn on_michael_failure(&mut self, now: Now, pairwise: bool) {
        self.michael_failures += 1;
        let Some(session) = &mut self.session else { return };
        let peer = session.access_point;
        if let Some(report) = session.supplicant.report_michael_failure(pairwise, &mut self.rng) {
            let packet = report.as_bytes().to_vec();
            self.effects.push_back(Effect::Handshake { to: peer, packet, sealed: true });
        }
        if let Consequence::ShutDown { .. } = self.countermeasures.on_failure(now.mono) {
            self.shut_downs += 1;
            self.effects.push_back(Effect::Event(Event::ShutDown { pause: PERIOD }));
            let why = Unlinked::Countermeasures;
            self.effects.push_back(Effect::Part { peer, reason: reason::MICHAEL, why });
        }
    }
}

impl<R: SecureRandom + std::fmt::Debug> Protection for RsnStation<R> {
    fn is_private(&self) -> bool {
        true
    }

    fn rsn(&self) -> Option<&[u8]> {
        self.element.get(2..)
    }

    fn overhead(&self) -> Overhead {
        overhead(self.profile.cipher())
    }

    fn consider(&mut self, now: Now, peer: MacAddress, rsn: Option<&[u8]>) -> Result<(), Unfit> {
        if self.countermeasures.is_shut_down(now.mono) {
            return Err(Unfit::Busy);
        }
        let offered = rsn.and_then(|data| self.profile.accept(data)).ok_or(Unfit::Suites)?;
        self.offered = Some((peer, offered));
        Ok(())
    }

    fn begin(&mut self, _: Now, peer: MacAddress) {
        // Without an offer there is nothing to hold message 3 against; nothing will be keyed.
        let Some((_, offered)) = self.offered.filter(|(from, _)| *from == peer) else { return };
        let (profile, pmk) = (self.profile, self.pmk.clone());
        let supplicant = Supplicant::new(profile, pmk, peer.0, self.own.0, offered, &mut self.rng);
        self.next = None;
        self.session = Some(Session {
            access_point: peer,
            supplicant,
            keys: None,
            confirmed: false,
            groups: [const { None }; 4],
        });
    }

    fn end(&mut self, _: Now, _: MacAddress) {
        (self.session, self.next) = (None, None);
    }

    fn seal(
        &mut self,
        _: Now,
        to: MacAddress,
        header: &[u8],
        buf: &mut [u8],
        len: usize,
    ) -> Result<usize, Exhausted> {
        let session = self.session.as_mut().filter(|s| s.access_point == to).ok_or(Exhausted)?;
        let (seal, _) = session.keys.as_mut().ok_or(Exhausted)?;
        let sealed = seal.seal(header, buf, len);
        if seal.last_number() == PacketNumber::MAX {
            let (reason, why) = (reason::UNSPECIFIED, Unlinked::Exhausted);
            self.effects.push_back(Effect::Part { peer: to, reason, why });
        }
        sealed
    }

    fn open(
        &mut self,
        now: Now,
        from: MacAddress,
        header: &[u8],
        body: &mut [u8],
    ) -> Result<Opened, DropReason> {
        let session = self.session.as_mut().filter(|s| s.access_point == from);
        let session = session.ok_or(DropReason::CipherRefused)?;
        let mac = MacHeader::new_checked(header).map_err(|_| DropReason::Malformed)?;
        let to_group = mac.addr1().is_group();
        let key = if to_group {
            let id = body.get(3).map_or(0, |octet| KeyId::of_octet(*octet).get());
            session.groups.get_mut(usize::from(id)).and_then(Option::as_mut)
        } else {
            session.keys.as_mut().map(|(_, open)| open)
        };
        let key = key.ok_or(DropReason::CipherRefused)?;
        let opened = key.open(now.mono, header, body);
        let failed = key.take_michael_failure();
        session.confirmed |= opened.is_ok() && !to_group;
        if failed {
            self.on_michael_failure(now, !to_group);
        }
        opened
    }

    fn handshake(
        &mut self,
        _: Now,
        from: MacAddress,
        packet: &[u8],
        sealed: bool,
    ) -> Result<(), DropReason> {
        let session = self.session.as_mut().filter(|s| s.access_point == from);
        let session = session.ok_or(DropReason::Unexpected)?;
        if session.confirmed && !sealed {
            return Err(DropReason::Unprotected);
        }
        let answer = session.supplicant.handle(packet, &mut self.rng).map_err(drop_reason)?;
        let packet = answer.packet.as_bytes().to_vec();
        // The answer goes as the question came: an access point that lacks message 4 has no key yet.
        self.effects.push_back(Effect::Handshake { to: from, packet, sealed });
        if let Some(group) = &answer.group {
            self.install_group(group);
        }
        if let Some(key) = answer.pairwise {
            self.handshakes += 1;
            self.next = Some(key);
        }
        Ok(())
    }

    fn poll(&mut self) -> Option<Effect> {
        if let Some(effect) = self.effects.pop_front() {
            return Some(effect);
        }
        // Message 4 is on its way, under the keys before this one.
        let key = self.next.take()?;
        self.install_pairwise(&key);
        self.session.as_ref().map(|session| Effect::Ready(session.access_point))
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("handshakes", self.handshakes),
            ("michael_failures", self.michael_failures),
            ("shut_downs", self.shut_downs),
        ]
    }
}
