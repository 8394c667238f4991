//! Sessions that move between the access points of one network (slyfi-2008 §3.5, roaming).
//!
//! ```text
//!   client            access point A               access point B
//!     |== association ==>|                              |
//!     |                  |-- Handover(secret, keys) --->|      in advance, over the backhaul
//!     |-- probe, under the session's probing keys ----->|
//!     |<------------------------------ probe response --|      B makes the new session's keys
//!     |== association, under those keys ===============>|
//!     |                  |<-------------------- Moved --|      A lets the old session go
//! ```
//!
//! The keys of the new session come from the handed-over secret, from B's identity (random for each
//! of its runs) and from the client's request (random, and never accepted twice): no crash, replay or
//! return to the same access point can make the same keys again, so no transmission number has to be
//! carried over.
//!
//! The paper suggests a probing key that all members share. Here it is shared by the access points
//! and one member: it dies with the session, and a member that was dismissed cannot follow the others.

use super::ApLink;
use crate::agreement::{SessionSecrets, roam};
use crate::backhaul::Backhaul;
use crate::kdf;
use crate::keys::Key256;
use crate::pairing::{Kind, NetworkName, Pairing, Terms};
use crate::suite::Suite;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use slyfi_base::event::Unlinked;
use slyfi_base::link::RecordKind;
use slyfi_base::{Duration, Instant, SecureRandom, UnixTime};
use slyfi_wire::message::{AccessPointId, BackhaulMessage, RequestId, SessionId};

/// A session of another access point that may come here.
pub(super) struct Visitor {
    pub(super) session: SessionId,
    pub(super) pairing: [u8; 8],
    pub(super) secret: Key256,
    pub(super) suite: Suite,
    pub(super) until: Instant,
    /// The requests that have made session keys. A probe that goes again names the same request, and
    /// the same keys with numbers from one would repeat addresses and nonces.
    pub(super) requests: BTreeSet<RequestId>,
}

/// How long a visitor is expected.
const EXPECTED: Duration = Duration::from_secs(3_600);

/// How often visitors that did not come are looked for.
const VISITORS_PERIOD: Duration = Duration::from_secs(60);

/// The most visitors that are expected.
const MAX_VISITORS: usize = 4_096;

/// The secrets of a session that moves to the access point `to`.
pub(crate) fn secrets(
    suite: Suite,
    secret: &Key256,
    to: AccessPointId,
    request: RequestId,
) -> SessionSecrets {
    let mut salt = [0; 16];
    salt[..8].copy_from_slice(&to);
    salt[8..].copy_from_slice(&request);
    let (up, down) = roam::derive(suite, secret, &salt, 0);
    let derived = |label: &[u8]| {
        let mut key = Key256::new([0; 32]);
        kdf::expand(secret.as_bytes(), label, &salt, key.as_mut());
        key
    };
    SessionSecrets {
        up,
        down,
        roam: derived(b"slyfi roam next"),
        export: derived(b"slyfi roam export"),
    }
}

/// The keys under which the member of a session probes for other access points: an ordinary pairing
/// of suite `aead`, made from the session's roaming secret.
pub(crate) fn probing_keys(
    secret: &Key256,
    network: &NetworkName,
    since: u64,
    interval: Duration,
    skew: u8,
) -> Option<Pairing> {
    let key = |label: &[u8]| {
        let mut key = Key256::new([0; 32]);
        kdf::expand(secret.as_bytes(), label, &[], key.as_mut());
        key
    };
    // As of a stored pairing: the arithmetic on times must not saturate.
    if since > i64::MAX as u64 / 1_000_000 {
        return None;
    }
    let mut id = [0; 8];
    kdf::expand(secret.as_bytes(), b"slyfi roam id", &[], &mut id);
    // As for any pairing, T0 lies before the clock of a peer that is behind.
    let back = interval.as_secs().saturating_mul(u64::from(skew) + 1);
    let terms = Terms {
        network: network.clone(),
        suite: Suite::AEAD,
        t0: UnixTime::from_secs(since.saturating_sub(back)),
        interval,
        skew,
        kind: Kind::Member,
    };
    let (up, down) = (key(b"slyfi roam up"), key(b"slyfi roam down"));
    Pairing::from_day_secrets(&terms, id, &up, &down).ok()
}

impl<R: SecureRandom> ApLink<R> {
    pub(super) fn tell_siblings(&mut self, message: &BackhaulMessage<'_>) {
        if let Some(backhaul) = &mut self.backhaul {
            let sealed = backhaul.seal(self.now.wall, message);
            self.out.backhaul(sealed);
        }
    }

    /// Tells the siblings of a new member, which may come to them.
    pub(super) fn offer_handover(&mut self, slot: u32) {
        if self.backhaul.is_none() {
            return;
        }
        let Some(member) = self.members.get(slot) else { return };
        let suite = member.session.sender.suite();
        let Some(pairing) = self.directory.get(member.pairing) else { return };
        let probing = probing_keys(
            &member.roam,
            pairing.network(),
            self.now.wall.as_secs(),
            pairing.interval(),
            pairing.skew(),
        );
        let Some(probing) = probing else { return };
        let mut probe = probing.encode();
        // The suite of the session's own keys travels in front.
        probe.insert(0, suite.to_byte());
        let message = BackhaulMessage::Handover {
            session: member.id,
            pairing: member.pairing_id,
            pseudonym: member.pseudonym,
            secret: *member.roam.as_bytes(),
            probe: &probe,
        };
        if let Some(backhaul) = &mut self.backhaul {
            let sealed = backhaul.seal(self.now.wall, &message);
            self.out.backhaul(sealed);
        }
    }

    pub(super) fn on_backhaul(&mut self, message: &[u8]) {
        let wall = self.now.wall;
        let opened = self.backhaul.as_mut().and_then(|b: &mut Backhaul| b.open(wall, message));
        let Some(opened) = opened.map(zeroize::Zeroizing::new) else { return };
        let Ok(message) = BackhaulMessage::parse(&opened) else { return };
        match message {
            BackhaulMessage::Handover { session, pairing, secret, probe, .. } => {
                self.expect(session, pairing, Key256::new(secret), probe);
            }
            BackhaulMessage::Ended { session } => self.stop_expecting(session),
            BackhaulMessage::Moved { session } => {
                self.stop_expecting(session);
                let slot = self.members.iter().find(|(_, m)| m.id == session).map(|(s, _)| s);
                if let Some(slot) = slot {
                    self.drop_member(slot, Unlinked::Moved);
                }
            }
            BackhaulMessage::Paired { pairing: bytes } => {
                // It may have been on its way for longer than the word that it is void.
                if let Ok(pairing) = Pairing::decode(bytes)
                    && !self.revoked.contains(pairing.id())
                    && self.directory.insert(pairing, wall, &mut self.table).is_ok()
                {
                    self.out.record(RecordKind::Pairing, None, bytes.to_vec().into());
                }
            }
            BackhaulMessage::Revoked { pairing: id } => {
                let known = self.directory.by_id(&id);
                self.revoke(id);
                if known.is_some() {
                    self.out.record(RecordKind::PairingRevoked, None, id.to_vec().into());
                }
            }
        }
    }

    fn expect(&mut self, session: SessionId, pairing: [u8; 8], secret: Key256, probe: &[u8]) {
        // A second offer of the same secret must not forget which keys it has made.
        if self.visitors.values().any(|v| v.secret == secret) {
            return;
        }
        self.stop_expecting(session);
        if self.revoked.contains(&pairing) || self.visitors.len() >= MAX_VISITORS {
            return;
        }
        let Some((suite, probe)) = probe.split_first() else { return };
        let (Some(suite), Ok(keys)) = (Suite::from_byte(*suite), Pairing::decode(probe)) else {
            return;
        };
        if let Ok(index) = self.directory.insert(keys, self.now.wall, &mut self.table) {
            let until = self.now.mono + EXPECTED;
            let requests = BTreeSet::new();
            let visitor = Visitor { session, pairing, secret, suite, until, requests };
            self.visitors.insert(index, visitor);
        }
    }

    fn stop_expecting(&mut self, session: SessionId) {
        let index = self.visitors.iter().find(|(_, v)| v.session == session).map(|(i, _)| *i);
        if let Some(index) = index {
            self.end_visit(index);
        }
    }

    /// The visitor is a member now: it is no longer expected, but its probing keys stay known as
    /// those of its session until that ends.
    pub(super) fn end_visit(&mut self, index: u32) {
        self.visitors.remove(&index);
        let in_use = self.members.iter().any(|(_, m)| m.pairing == index);
        if !in_use {
            self.directory.remove(index, &mut self.table);
        }
    }

    pub(super) fn visitor_timeouts(&mut self) {
        let now = self.now.mono;
        if now < self.visitors_at {
            return;
        }
        self.visitors_at = now + VISITORS_PERIOD;
        let over: Vec<u32> =
            self.visitors.iter().filter(|(_, v)| v.until <= now).map(|(i, _)| *i).collect();
        for index in over {
            self.end_visit(index);
        }
    }
}
