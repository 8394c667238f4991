//! The station's side of the handshakes (IEEE 802.11-2020 §12.7.6, §12.7.7).

use super::eapol::{EapolKey, KeyInfo, Message};
use super::kde::{Kde, kdes};
use super::message::{KeyData, Packet, Parts, Refusal, compose, read, verify};
use super::profile::OwnElement;
use super::ptk::Exchange;
use super::{GroupKey, KeyBytes, Profile, Ptk};
use crate::packet::{KeyId, PacketNumber};
use slyfi_base::SecureRandom;

/// What a message of the access point asks for, in this order: send the answer under the keys that
/// are in use, then put the new ones in use.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Answer {
    /// To be sent.
    pub packet: Packet,
    /// A new pairwise temporal key; its numbers begin at 1. `None` when there is none, and when the
    /// message only came again.
    pub pairwise: Option<KeyBytes>,
    /// A new group key, likewise.
    pub group: Option<GroupKey>,
}

/// A station's handshakes with one access point, over one association.
///
/// It starts nothing and has no time-outs: it answers.
///
/// # Security
/// A key is handed out once. A message 3 that comes again is answered again and installs nothing, so
/// nobody can set its numbers back by stopping message 4 (the key reinstallation attacks of 2017).
/// Message 1 proves nothing, so nothing depends on it: the nonce of this side stays the same until a
/// message 3 has verified, and the key is derived from the nonces in that.
#[derive(Debug)]
pub struct Supplicant {
    profile: Profile,
    pmk: KeyBytes,
    authenticator: [u8; 6],
    supplicant: [u8; 6],
    own: OwnElement,
    offered: OwnElement,
    snonce: [u8; 32],
    /// The highest replay counter of a message that verified.
    heard: Option<u64>,
    ptk: Option<Ptk>,
    /// Group keys by identifier, the ones that were handed out.
    groups: [Option<KeyBytes>; 4],
    requests: u64,
}

impl Supplicant {
    /// A station that has associated. `offered` is the element of the access point's beacons or probe
    /// responses; what this side asked for is the profile's own element.
    pub fn new(
        profile: Profile,
        pmk: KeyBytes,
        authenticator: [u8; 6],
        supplicant: [u8; 6],
        offered: OwnElement,
        rng: &mut dyn SecureRandom,
    ) -> Self {
        let mut snonce = [0; 32];
        rng.fill(&mut snonce);
        Supplicant {
            profile,
            pmk,
            authenticator,
            supplicant,
            own: profile.into(),
            offered,
            snonce,
            heard: None,
            ptk: None,
            groups: [const { None }; 4],
            requests: 0,
        }
    }

    /// Returns whether a 4-way handshake has been completed.
    pub const fn is_keyed(&self) -> bool {
        self.ptk.is_some()
    }

    /// Takes an EAPOL packet of the access point.
    ///
    /// # Errors
    /// [`Refusal`]: it has no effect.
    pub fn handle(&mut self, packet: &[u8], rng: &mut dyn SecureRandom) -> Result<Answer, Refusal> {
        let frame = read(self.profile, packet)?;
        if self.heard.is_some_and(|heard| frame.replay_counter <= heard) {
            return Err(Refusal::Replayed);
        }
        match frame.message() {
            Some(Message::M1) => self.on_m1(&frame, rng),
            Some(Message::M3) => self.on_m3(&frame, rng),
            Some(Message::Group1) => self.on_group1(&frame, rng),
            _ => Err(Refusal::Unexpected),
        }
    }

    /// Makes a report of a Michael failure (§12.5.2.4.2); `None` before there is a key to prove it.
    pub fn report_michael_failure(
        &mut self,
        pairwise: bool,
        rng: &mut dyn SecureRandom,
    ) -> Option<Packet> {
        let ptk = self.ptk.as_ref()?;
        self.requests += 1;
        let kind = if pairwise { KeyInfo::PAIRWISE } else { 0 };
        let info = KeyInfo::REQUEST | KeyInfo::ERROR | KeyInfo::MIC | KeyInfo::SECURE | kind;
        let parts = Parts { info, replay_counter: self.requests, ..Parts::default() };
        compose(self.profile, Some(ptk), &parts, rng)
    }

    fn ptk(&self, anonce: &[u8; 32]) -> Ptk {
        let exchange = Exchange {
            authenticator: self.authenticator,
            supplicant: self.supplicant,
            anonce,
            snonce: &self.snonce,
        };
        let tk_len = self.profile.cipher().key_len();
        Ptk::derive(self.profile.suite(), self.pmk.as_bytes(), &exchange, tk_len)
    }

    fn on_m1(
        &mut self,
        frame: &EapolKey<'_>,
        rng: &mut dyn SecureRandom,
    ) -> Result<Answer, Refusal> {
        let ptk = self.ptk(frame.nonce);
        let parts = Parts {
            info: KeyInfo::PAIRWISE | KeyInfo::MIC,
            replay_counter: frame.replay_counter,
            nonce: self.snonce,
            data: self.own.as_bytes(),
            ..Parts::default()
        };
        let packet = compose(self.profile, Some(&ptk), &parts, rng).ok_or(Refusal::Malformed)?;
        Ok(Answer { packet, pairwise: None, group: None })
    }

    fn on_m3(
        &mut self,
        frame: &EapolKey<'_>,
        rng: &mut dyn SecureRandom,
    ) -> Result<Answer, Refusal> {
        if !frame.info.has(KeyInfo::INSTALL | KeyInfo::SECURE | KeyInfo::ENCRYPTED) {
            return Err(Refusal::Malformed);
        }
        // The last handshake's message again, or this one's: the integrity code tells.
        let again = self.ptk.clone().filter(|ptk| verify(self.profile, ptk, frame).is_ok());
        let is_new = again.is_none();
        let ptk = match again {
            Some(ptk) => ptk,
            None => {
                let ptk = self.ptk(frame.nonce);
                verify(self.profile, &ptk, frame)?;
                ptk
            }
        };
        let data = KeyData::open(self.profile, &ptk, frame)?;
        if !self.offered.is_in(data.as_bytes()) {
            return Err(Refusal::OtherElement);
        }
        let group = self.group_key(frame, &data)?;
        let info = KeyInfo::PAIRWISE | KeyInfo::MIC | KeyInfo::SECURE;
        let packet = self.acknowledge(&ptk, frame, info, rng)?;
        self.heard = Some(frame.replay_counter);
        let pairwise = is_new.then(|| ptk.tk.clone());
        if is_new {
            rng.fill(&mut self.snonce);
            self.ptk = Some(ptk);
        }
        Ok(Answer { packet, pairwise, group: self.take_group(group) })
    }

    fn on_group1(
        &mut self,
        frame: &EapolKey<'_>,
        rng: &mut dyn SecureRandom,
    ) -> Result<Answer, Refusal> {
        let ptk = self.ptk.clone().ok_or(Refusal::Unexpected)?;
        if !frame.info.has(KeyInfo::SECURE | KeyInfo::ENCRYPTED) {
            return Err(Refusal::Malformed);
        }
        verify(self.profile, &ptk, frame)?;
        let data = KeyData::open(self.profile, &ptk, frame)?;
        let group = self.group_key(frame, &data)?;
        let packet = self.acknowledge(&ptk, frame, KeyInfo::MIC | KeyInfo::SECURE, rng)?;
        self.heard = Some(frame.replay_counter);
        Ok(Answer { packet, pairwise: None, group: self.take_group(group) })
    }

    fn acknowledge(
        &self,
        ptk: &Ptk,
        frame: &EapolKey<'_>,
        info: u16,
        rng: &mut dyn SecureRandom,
    ) -> Result<Packet, Refusal> {
        let parts = Parts { info, replay_counter: frame.replay_counter, ..Parts::default() };
        compose(self.profile, Some(ptk), &parts, rng).ok_or(Refusal::Malformed)
    }

    fn group_key(&self, frame: &EapolKey<'_>, data: &KeyData) -> Result<GroupKey, Refusal> {
        let found = kdes(data.as_bytes()).find_map(|kde| match kde {
            Kde::Gtk { key_id, key } => Some((key_id, key)),
            _ => None,
        });
        let (key_id, key) = found.ok_or(Refusal::Malformed)?;
        let right_length = key.as_bytes().len() == self.profile.cipher().key_len();
        // Identifier 0 is the pairwise key's.
        let key_id = KeyId::new(key_id).filter(|id| *id != KeyId::PAIRWISE && right_length);
        let [a, b, c, d, e, f, _, _] = frame.rsc;
        let sequence = PacketNumber::from_le_bytes([a, b, c, d, e, f]);
        Ok(GroupKey { key_id: key_id.ok_or(Refusal::Malformed)?, key, sequence })
    }

    /// Hands a group key out unless it is one that was: its counter must not go back.
    fn take_group(&mut self, group: GroupKey) -> Option<GroupKey> {
        if self.groups.iter().flatten().any(|known| *known == group.key) {
            return None;
        }
        if let Some(place) = self.groups.get_mut(usize::from(group.key_id.get())) {
            *place = Some(group.key.clone());
        }
        Some(group)
    }
}
