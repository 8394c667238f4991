//! An access point's TKIP, CCMP or GCMP behind [`Protection`]: an authenticator for each member and the
//! group key.

use super::drop_reason;
use super::halves::{OpenKey, SealKey, halves, overhead};
use slyfi_base::event::Unlinked;
use slyfi_base::{
    DropReason, Duration, Event, Exhausted, Instant, MacAddress, Now, Opened, Overhead,
    SecureRandom,
};
use slyfi_ciphers::danger::tkip::Countermeasures;
use slyfi_ciphers::danger::tkip::countermeasures::{Consequence, PERIOD};
use slyfi_ciphers::handshake::{
    Authenticator, GivenUp, GroupKey, KeyBytes, OwnElement, Profile, Progress,
};
use slyfi_ciphers::{KeyId, PacketNumber};
use slyfi_rivals::wifi::{Effect, Protection, Unfit, reason};
use std::collections::{BTreeMap, VecDeque};

/// When keys are replaced.
#[derive(Clone, Copy, Debug)]
pub struct RsnSettings {
    /// How often the group key is replaced besides when a member leaves.
    pub group_rekey: Option<Duration>,
    /// After how many frames a key is spent. A pairwise key's member has to associate anew, a group
    /// key is replaced.
    pub spent_after: PacketNumber,
}

impl Default for RsnSettings {
    fn default() -> Self {
        RsnSettings {
            group_rekey: Some(Duration::from_secs(3600)),
            // Room for what is sent while a new group key is on its way.
            spent_after: PacketNumber::new(PacketNumber::MAX.get() - (1 << 32)).unwrap_or_default(),
        }
    }
}

#[derive(Debug)]
struct Member {
    authenticator: Authenticator,
    keys: Option<(SealKey, OpenKey)>,
    /// Whether it has yet to confirm the next group key.
    lacks_group: bool,
}

/// The group key in use and the one on its way.
#[derive(Debug)]
struct Group {
    current: GroupKey,
    seal: SealKey,
    next: Option<GroupKey>,
    /// Another one is due when that one is in use: somebody who has it left.
    again: bool,
    epoch: u32,
    due: Option<Instant>,
}

/// An access point with a pre-shared key.
#[derive(Debug)]
pub struct RsnAccessPoint<R> {
    profile: Profile,
    element: [u8; 22],
    pmk: KeyBytes,
    own: MacAddress,
    settings: RsnSettings,
    rng: R,
    members: BTreeMap<MacAddress, Member>,
    /// What the station that associates now asked for.
    asked: Option<(MacAddress, OwnElement)>,
    group: Group,
    countermeasures: Countermeasures,
    effects: VecDeque<Effect>,
    due: Option<Instant>,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    handshakes: u64,
    failed: u64,
    wrong_key: u64,
    group_rekeys: u64,
    michael_failures: u64,
    shut_downs: u64,
}

impl<R: SecureRandom> RsnAccessPoint<R> {
    /// Makes an access point whose card has the address `own`.
    pub fn new(
        profile: Profile,
        pmk: KeyBytes,
        own: MacAddress,
        settings: RsnSettings,
        now: Now,
        mut rng: R,
    ) -> Self {
        let current = new_group_key(profile, 1, &mut rng);
        let group = Group {
            seal: seal_of(profile, &current),
            current,
            next: None,
            again: false,
            epoch: 0,
            due: settings.group_rekey.map(|every| now.mono + every),
        };
        let mut access_point = RsnAccessPoint {
            profile,
            element: profile.element(),
            pmk,
            own,
            settings,
            rng,
            members: BTreeMap::new(),
            asked: None,
            group,
            countermeasures: Countermeasures::default(),
            effects: VecDeque::new(),
            due: None,
            counts: Counts::default(),
        };
        access_point.reschedule();
        access_point
    }

    /// Takes the message that a member's machine has, if any, to be sent.
    fn pump(&mut self, peer: MacAddress) {
        let Some(member) = self.members.get_mut(&peer) else { return };
        if let Some(packet) = member.authenticator.poll() {
            let (packet, sealed) = (packet.as_bytes().to_vec(), member.keys.is_some());
            self.effects.push_back(Effect::Handshake { to: peer, packet, sealed });
        }
        self.reschedule();
    }

    fn reschedule(&mut self) {
        let members = self.members.values().filter_map(|m| m.authenticator.next_timeout());
        self.due = members.chain(self.group.due).min();
    }

    /// Returns the group key in use, with the number that new members have to begin behind.
    fn group_in_use(&self) -> GroupKey {
        GroupKey { sequence: self.group.seal.last_number(), ..self.group.current.clone() }
    }

    /// Begins to replace the group key.
    fn rekey_group(&mut self, now: Now) {
        self.group.due = self.settings.group_rekey.map(|every| now.mono + every);
        if self.group.next.is_some() {
            self.group.again = true;
            return self.reschedule();
        }
        // Two identifiers take turns, so that frames under the old key are understood meanwhile.
        let id = if self.group.current.key_id.get() == 1 { 2 } else { 1 };
        self.group.next = Some(new_group_key(self.profile, id, &mut self.rng));
        let members: Vec<MacAddress> = self.members.keys().copied().collect();
        members.into_iter().for_each(|peer| self.give_group(now, peer));
        self.use_group_if_known(now);
    }

    /// Sends the next group key, if there is one, to a member that has pairwise keys.
    fn give_group(&mut self, now: Now, peer: MacAddress) {
        let (Some(next), Some(member)) = (&self.group.next, self.members.get_mut(&peer)) else {
            return;
        };
        if member.keys.is_some() {
            member.lacks_group = member.authenticator.send_group(now.mono, next, &mut self.rng);
            self.pump(peer);
        }
    }

    /// Puts the next group key in use once every member has it.
    fn use_group_if_known(&mut self, now: Now) {
        if self.members.values().any(|m| m.lacks_group) {
            return self.reschedule();
        }
        if let Some(next) = self.group.next.take() {
            self.group.seal = seal_of(self.profile, &next);
            self.group.current = next;
            self.group.epoch = self.group.epoch.wrapping_add(1);
            self.counts.group_rekeys += 1;
            let epoch = self.group.epoch;
            self.effects.push_back(Effect::Event(Event::GroupRekeyed { epoch }));
            if std::mem::take(&mut self.group.again) {
                self.rekey_group(now);
            }
        }
        self.reschedule();
    }

    fn give_up(&mut self, peer: MacAddress, why: GivenUp) {
        let keyed = self.members.get(&peer).is_some_and(|m| m.keys.is_some());
        self.counts.failed += 1;
        if why == GivenUp::WrongKey && !keyed {
            self.counts.wrong_key += 1;
            self.effects.push_back(Effect::Event(Event::KeyNotProven));
        }
        let reason = if keyed { reason::GROUP_TIMEOUT } else { reason::FOUR_WAY_TIMEOUT };
        self.effects.push_back(Effect::Part { peer, reason, why: Unlinked::Silent });
    }

    /// A Michael code was wrong, here or at a member: the second time within a minute everybody is sent
    /// away, and nobody comes back for a minute (IEEE 802.11-2020 §12.5.2.4).
    fn on_michael_failure(&mut self, now: Now) {
        self.counts.michael_failures += 1;
        let Consequence::ShutDown { .. } = self.countermeasures.on_failure(now.mono) else {
            return;
        };
        self.counts.shut_downs += 1;
        self.effects.push_back(Effect::Event(Event::ShutDown { pause: PERIOD }));
        for peer in self.members.keys() {
            let (peer, why) = (*peer, Unlinked::Countermeasures);
            self.effects.push_back(Effect::Part { peer, reason: reason::MICHAEL, why });
        }
    }
}

fn new_group_key(profile: Profile, id: u8, rng: &mut impl SecureRandom) -> GroupKey {
    let mut bytes = zeroize::Zeroizing::new([0; 32]);
    rng.fill(&mut bytes[..]);
    let key = KeyBytes::new(&bytes[..profile.cipher().key_len()]);
    GroupKey {
        key_id: KeyId::new(id).expect("identifiers here are 1 and 2"),
        key: key.expect("no cipher's key is longer than 32 bytes"),
        sequence: PacketNumber::default(),
    }
}

fn seal_of(profile: Profile, group: &GroupKey) -> SealKey {
    let made = halves(profile.cipher(), &group.key, group.key_id, PacketNumber::default());
    made.expect("a profile's key has its cipher's length").0
}

impl<R: SecureRandom + std::fmt::Debug> Protection for RsnAccessPoint<R> {
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
        let asked = rsn.and_then(|data| self.profile.accept(data)).ok_or(Unfit::Suites)?;
        self.asked = Some((peer, asked));
        Ok(())
    }

    fn begin(&mut self, now: Now, peer: MacAddress) {
        let Some((_, asked)) = self.asked.take().filter(|(from, _)| *from == peer) else { return };
        let (profile, pmk) = (self.profile, self.pmk.clone());
        let mut authenticator = Authenticator::new(profile, pmk, self.own.0, peer.0, asked);
        authenticator.begin(now.mono, &mut self.rng);
        self.members.insert(peer, Member { authenticator, keys: None, lacks_group: false });
        self.pump(peer);
    }

    fn end(&mut self, now: Now, peer: MacAddress) {
        let Some(member) = self.members.remove(&peer) else { return };
        // Who leaves keeps what it has been given; so the others get something else.
        if member.keys.is_some() {
            self.rekey_group(now);
        }
        self.use_group_if_known(now);
    }

    fn prepare(&mut self, now: Now, to: MacAddress) {
        let spent = |seal: &SealKey| seal.last_number() >= self.settings.spent_after;
        if to.is_group() {
            if spent(&self.group.seal) && self.group.next.is_none() {
                self.rekey_group(now);
            }
        } else if self.members.get(&to).and_then(|m| m.keys.as_ref()).is_some_and(|k| spent(&k.0)) {
            let (reason, why) = (reason::UNSPECIFIED, Unlinked::Exhausted);
            self.effects.push_back(Effect::Part { peer: to, reason, why });
        }
    }

    fn seal(
        &mut self,
        _: Now,
        to: MacAddress,
        header: &[u8],
        buf: &mut [u8],
        len: usize,
    ) -> Result<usize, Exhausted> {
        let seal = if to.is_group() {
            &mut self.group.seal
        } else {
            let keys = self.members.get_mut(&to).and_then(|m| m.keys.as_mut());
            &mut keys.ok_or(Exhausted)?.0
        };
        seal.seal(header, buf, len)
    }

    fn open(
        &mut self,
        now: Now,
        from: MacAddress,
        header: &[u8],
        body: &mut [u8],
    ) -> Result<Opened, DropReason> {
        let keys = self.members.get_mut(&from).and_then(|m| m.keys.as_mut());
        let (_, key) = keys.ok_or(DropReason::CipherRefused)?;
        let opened = key.open(now.mono, header, body);
        if key.take_michael_failure() {
            self.on_michael_failure(now);
        }
        opened
    }

    fn handshake(
        &mut self,
        now: Now,
        from: MacAddress,
        packet: &[u8],
        sealed: bool,
    ) -> Result<(), DropReason> {
        let group = self.group_in_use();
        let member = self.members.get_mut(&from).ok_or(DropReason::Unexpected)?;
        if member.keys.is_some() && !sealed {
            return Err(DropReason::Unprotected);
        }
        let progress = member.authenticator.handle(now.mono, packet, &group, &mut self.rng);
        match progress.map_err(drop_reason)? {
            Progress::Going => {}
            Progress::Keyed(key) => {
                let cipher = self.profile.cipher();
                member.keys = halves(cipher, &key, KeyId::PAIRWISE, PacketNumber::default());
                self.counts.handshakes += 1;
                self.effects.push_back(Effect::Ready(from));
                self.give_group(now, from);
            }
            Progress::GroupConfirmed => {
                member.lacks_group = false;
                self.use_group_if_known(now);
            }
            Progress::MichaelFailure => self.on_michael_failure(now),
        }
        self.pump(from);
        Ok(())
    }

    fn poll(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.due
    }

    fn handle_timeout(&mut self, now: Now) {
        let members: Vec<MacAddress> = self.members.keys().copied().collect();
        for peer in members {
            let group = match (&self.group.next, self.members.get(&peer)) {
                (Some(next), Some(member)) if member.lacks_group => next.clone(),
                _ => self.group_in_use(),
            };
            let Some(member) = self.members.get_mut(&peer) else { continue };
            match member.authenticator.handle_timeout(now.mono, &group, &mut self.rng) {
                Ok(()) => self.pump(peer),
                Err(why) => self.give_up(peer, why),
            }
        }
        if self.group.due.is_some_and(|due| now.mono >= due) {
            self.rekey_group(now);
        }
        self.reschedule();
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let Counts { handshakes, failed, wrong_key, group_rekeys, michael_failures, shut_downs } =
            self.counts;
        vec![
            ("handshakes", handshakes),
            ("handshakes_failed", failed),
            ("handshakes_wrong_key", wrong_key),
            ("group_rekeys", group_rekeys),
            ("michael_failures", michael_failures),
            ("shut_downs", shut_downs),
        ]
    }
}
