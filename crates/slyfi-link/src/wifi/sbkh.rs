//! SBKH behind [`Protection`]: a stream of keystream for each station and direction, positions that a
//! crash does not set back, and the questions by which two ends find each other again.

use crate::config::Role;
use slyfi_base::{
    DropReason, Duration, Exhausted, Instant, LinkCipher, MacAddress, Now, Opened, Overhead,
    UnixTime,
};
use slyfi_ciphers::danger::sbkh::{
    BaseKeys, Direction, Endpoint, KeySchedule, Parameters, Position, Received, Sbkh, SbkhOpen,
    SbkhSeal, Ssc,
};
use slyfi_ciphers::handshake::KeyBytes;
use slyfi_rivals::wifi::{Effect, GroupDelivery, Protection, Unfit};
use std::collections::{BTreeMap, VecDeque};

/// How many epochs are made durable as used at once. A restart skips what is left of them, and a
/// receiver follows jumps of sixteen.
const BLOCK: u16 = 4;

/// How soon an end that has lost the other may ask again: every question costs an epoch of 4096, and
/// frames that were on their way when the first was asked are no new loss.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// The most stations whose positions are known. None is ever forgotten: its keystream would begin again.
const MAX_STATIONS: usize = 4096;

/// What makes an end.
#[derive(Clone, Debug)]
pub struct SbkhSettings {
    /// Which end.
    pub role: Role,
    /// The address of this end's card.
    pub own: MacAddress,
    /// The secret of the network, 32 bytes, from which base key pairs are made.
    pub master: KeyBytes,
    /// How long a base key pair is in use (the paper's Time Duration).
    pub hop: Duration,
}

/// How far both directions of a pair of nodes were used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Places {
    /// Own direction: durable before use.
    reserved: Option<Position>,
    /// The peer's direction.
    accepted: Option<Position>,
}

#[derive(Debug)]
struct Session {
    endpoint: Endpoint,
    /// When the next question may be asked.
    ask_from: Instant,
}

/// SBKH with a base key pair for each station, made from one secret (`docs/sbkh.md`).
///
/// Frames to a group go to each member under its own key: the paper leaves groups to future work. The
/// airs here report no acknowledgements, so every frame counts as acknowledged, which is the "hardware
/// acknowledgements" case of the model: a loss is found by its receiver.
///
/// # Security
/// Broken; see `docs/sbkh.md` §4.
#[derive(Debug)]
pub struct SbkhGuard {
    settings: SbkhSettings,
    parameters: Parameters,
    places: BTreeMap<MacAddress, Places>,
    sessions: BTreeMap<MacAddress, Session>,
    effects: VecDeque<Effect>,
    asked: u64,
}

impl SbkhGuard {
    /// Makes an end; `None` for a Time Duration of zero or a secret of another length.
    pub fn new(settings: SbkhSettings) -> Option<Self> {
        // Epochs of 256 KiB: a base key pair serves 1 GiB. Jumps stay at 4 MiB of keystream.
        let parameters = Parameters::new(Parameters::PAPER_I_OFFSET, 1 << 18, 16)?;
        let usable = settings.hop > Duration::ZERO && settings.master.as_bytes().len() == 32;
        usable.then(|| SbkhGuard {
            settings,
            parameters,
            places: BTreeMap::new(),
            sessions: BTreeMap::new(),
            effects: VecDeque::new(),
            asked: 0,
        })
    }

    fn keys(&self, peer: MacAddress) -> Option<BaseKeys> {
        let SbkhSettings { role, own, master, hop } = &self.settings;
        let (station, access_point) = match role {
            Role::Client => (own.0, peer.0),
            Role::AccessPoint => (peer.0, own.0),
        };
        let start = UnixTime::from_secs(0);
        let master = master.as_bytes().try_into().ok()?;
        KeySchedule::new(master, station, access_point, start, *hop).map(BaseKeys::Scheduled)
    }

    const fn direction(&self) -> Direction {
        match self.settings.role {
            Role::Client => Direction::Uplink,
            Role::AccessPoint => Direction::Downlink,
        }
    }

    /// Returns the sealing half behind everything that may have been used.
    fn seal_half(&self, keys: &BaseKeys, places: Places, now: Now) -> Option<SbkhSeal> {
        let before_this_hop =
            Position { hop: keys.hop_at(now.wall).saturating_sub(1), epoch: Ssc::LAST };
        let used = places.reserved.unwrap_or(before_this_hop);
        let direction = self.direction();
        SbkhSeal::resumed(keys.clone(), self.parameters, direction, used, now.wall)
    }

    fn open_half(&self, keys: BaseKeys, places: Places, now: Now) -> SbkhOpen {
        let direction = self.direction().other();
        match places.accepted {
            Some(accepted) => {
                SbkhOpen::resumed(keys, self.parameters, direction, accepted, now.wall)
            }
            None => {
                let mut open = SbkhOpen::new(keys, self.parameters, direction);
                open.advance_to(now.wall);
                open
            }
        }
    }

    /// Makes the epochs that the next two frames can be in durable as used.
    fn reserve(&mut self, now: Now, peer: MacAddress) {
        let Some(keys) = self.keys(peer) else { return };
        let Some(session) = self.sessions.get_mut(&peer) else { return };
        let seal = session.endpoint.seal_half();
        seal.advance_to(now.wall);
        let at = seal.position();
        let due = keys.hop_at(now.wall).max(at.hop);
        let epoch = if due > at.hop { 0 } else { at.epoch };
        let needed = Position { hop: due, epoch: epoch.saturating_add(2).min(Ssc::LAST) };
        let places = self.places.entry(peer).or_default();
        if places.reserved.is_some_and(|reserved| reserved >= needed) {
            seal.reserve(needed);
            return;
        }
        let reserved = Position { hop: due, epoch: epoch.saturating_add(BLOCK).min(Ssc::LAST) };
        places.reserved = Some(reserved);
        seal.reserve(reserved);
        self.effects.push_back(Effect::Persist(record(b'S', peer, reserved)));
    }

    fn ask_if_lost(&mut self, now: Now, peer: MacAddress) {
        let Some(session) = self.sessions.get_mut(&peer) else { return };
        if session.endpoint.wants_to_ask() && now.mono >= session.ask_from {
            session.ask_from = now.mono + ASK_AGAIN;
            self.asked += 1;
            self.reserve(now, peer);
            self.effects.push_back(Effect::Ask(peer));
        }
    }
}

/// Returns what is made durable of a position.
fn record(kind: u8, peer: MacAddress, at: Position) -> Vec<u8> {
    [&[b'B', kind][..], &peer.0, &at.hop.to_be_bytes(), &at.epoch.to_be_bytes()].concat()
}

impl Protection for SbkhGuard {
    fn is_private(&self) -> bool {
        true
    }

    fn rsn(&self) -> Option<&[u8]> {
        None
    }

    fn overhead(&self) -> Overhead {
        Sbkh::OVERHEAD
    }

    fn group_delivery(&self) -> GroupDelivery {
        GroupDelivery::Each
    }

    fn consider(&mut self, _: Now, peer: MacAddress, rsn: Option<&[u8]>) -> Result<(), Unfit> {
        if rsn.is_some() {
            return Err(Unfit::Suites);
        }
        let room = self.places.len() < MAX_STATIONS || self.places.contains_key(&peer);
        if room { Ok(()) } else { Err(Unfit::Busy) }
    }

    fn begin(&mut self, now: Now, peer: MacAddress) {
        let Some(keys) = self.keys(peer) else { return };
        let places = self.places.get(&peer).copied().unwrap_or_default();
        // Without an epoch left under this base key, the next hop's association works again.
        let Some(seal) = self.seal_half(&keys, places, now) else { return };
        let endpoint = Endpoint::new(seal, self.open_half(keys, places, now));
        self.sessions.insert(peer, Session { endpoint, ask_from: now.mono });
        self.effects.push_back(Effect::Ready(peer));
        self.ask_if_lost(now, peer);
    }

    fn end(&mut self, _: Now, peer: MacAddress) {
        self.sessions.remove(&peer);
    }

    fn prepare(&mut self, now: Now, to: MacAddress) {
        self.reserve(now, to);
    }

    fn seal(
        &mut self,
        _: Now,
        to: MacAddress,
        header: &[u8],
        buf: &mut [u8],
        len: usize,
    ) -> Result<usize, Exhausted> {
        let endpoint = &mut self.sessions.get_mut(&to).ok_or(Exhausted)?.endpoint;
        let sealed = match len {
            0 => endpoint.ask(header, buf)?,
            _ => endpoint.seal(header, buf, len)?,
        };
        endpoint.on_acknowledged();
        Ok(sealed)
    }

    fn open(
        &mut self,
        now: Now,
        from: MacAddress,
        header: &[u8],
        body: &mut [u8],
    ) -> Result<Opened, DropReason> {
        let session = self.sessions.get_mut(&from).ok_or(DropReason::CipherRefused)?;
        session.endpoint.open_half().advance_to(now.wall);
        let received = session.endpoint.open(header, body);
        let at = session.endpoint.open_half().position();
        let places = self.places.entry(from).or_default();
        if received.is_ok() && places.accepted.is_none_or(|accepted| accepted < at) {
            places.accepted = Some(at);
            self.effects.push_back(Effect::Persist(record(b'R', from, at)));
        }
        self.ask_if_lost(now, from);
        match received {
            Ok(Received::Payload(opened)) => Ok(opened),
            Ok(Received::Duplicate) => Err(DropReason::Duplicate),
            Ok(Received::ResyncRequest) => Ok(Opened::mint(0, 0)),
            Err(_) => Err(DropReason::CipherRefused),
        }
    }

    fn handshake(&mut self, _: Now, _: MacAddress, _: &[u8], _: bool) -> Result<(), DropReason> {
        Err(DropReason::HandshakeRefused)
    }

    fn poll(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    fn next_timeout(&self) -> Option<Instant> {
        let lost = self.sessions.values().filter(|s| s.endpoint.wants_to_ask());
        lost.map(|s| s.ask_from).min()
    }

    fn handle_timeout(&mut self, now: Now) {
        let peers: Vec<MacAddress> = self.sessions.keys().copied().collect();
        peers.into_iter().for_each(|peer| self.ask_if_lost(now, peer));
    }

    fn restore(&mut self, _: Now, bytes: &[u8]) -> bool {
        let Some((&[b'B', kind, a, b, c, d, e, f], value)) = bytes.split_first_chunk() else {
            return false;
        };
        let (Some(hop), Some(epoch)) = (value.first_chunk(), value.get(4..)) else { return false };
        let Ok(epoch) = epoch.try_into() else { return false };
        let at = Position { hop: u32::from_be_bytes(*hop), epoch: u16::from_be_bytes(epoch) };
        let places = self.places.entry(MacAddress([a, b, c, d, e, f])).or_default();
        match kind {
            b'S' => places.reserved = places.reserved.max(Some(at)),
            b'R' => places.accepted = places.accepted.max(Some(at)),
            _ => return false,
        }
        true
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("resynchronisations_asked", self.asked)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{at, data_header, persisted};
    use super::*;

    const AP: MacAddress = MacAddress([2, 0, 0, 0, 0, 0xaa]);
    const STA: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

    fn master() -> KeyBytes {
        KeyBytes::new(&[7; 32]).unwrap()
    }

    fn guard(role: Role, second: u64) -> SbkhGuard {
        let (own, peer) = if role == Role::Client { (STA, AP) } else { (AP, STA) };
        let hop = Duration::from_secs(300);
        let mut g = SbkhGuard::new(SbkhSettings { role, own, master: master(), hop }).unwrap();
        g.begin(at(second), peer);
        g
    }

    fn seal(g: &mut SbkhGuard, second: u64, to: MacAddress, payload: &[u8]) -> Vec<u8> {
        g.prepare(at(second), to);
        let mut buf = vec![0; payload.len() + 8];
        buf[4..4 + payload.len()].copy_from_slice(payload);
        g.seal(at(second), to, &data_header(to), &mut buf, payload.len()).unwrap();
        buf
    }

    fn open(g: &mut SbkhGuard, second: u64, from: MacAddress, sealed: &[u8]) -> Option<Vec<u8>> {
        let mut buf = sealed.to_vec();
        let header = data_header(g.settings.own);
        let opened = g.open(at(second), from, &header, &mut buf).ok()?;
        Some(opened.payload(&buf).to_vec())
    }

    fn asks(g: &mut SbkhGuard) -> usize {
        std::iter::from_fn(|| g.poll()).filter(|e| matches!(e, Effect::Ask(_))).count()
    }

    #[test]
    fn packets_pass_and_a_lost_one_is_found_and_mended() {
        let (mut ap, mut station) = (guard(Role::AccessPoint, 0), guard(Role::Client, 0));
        for n in 0..50u8 {
            let frame = seal(&mut station, 0, AP, &[n; 40]);
            assert_eq!(open(&mut ap, 0, STA, &frame).unwrap(), [n; 40]);
        }
        assert_eq!(asks(&mut ap), 0);
        let _lost = seal(&mut station, 0, AP, b"lost");
        let next = seal(&mut station, 0, AP, b"next");
        assert_eq!(open(&mut ap, 0, STA, &next), None);
        assert_eq!(asks(&mut ap), 1);
        let question = seal(&mut ap, 0, STA, &[]);
        assert!(open(&mut station, 0, AP, &question).unwrap().is_empty());
        let mended = seal(&mut station, 0, AP, b"mended");
        assert_eq!(open(&mut ap, 0, STA, &mended).unwrap(), b"mended");
    }

    #[test]
    fn questions_are_not_asked_for_every_frame_that_was_on_its_way() {
        let (mut ap, mut station) = (guard(Role::AccessPoint, 0), guard(Role::Client, 0));
        let _lost = seal(&mut station, 0, AP, b"lost");
        let mut asked = 0;
        for _ in 0..30 {
            let frame = seal(&mut station, 0, AP, b"on its way");
            open(&mut ap, 0, STA, &frame);
            let due = asks(&mut ap);
            (0..due).for_each(|_| drop(seal(&mut ap, 0, STA, &[])));
            asked += due;
        }
        assert_eq!(asked, 1);
        assert!(ap.next_timeout().is_some(), "and again when time has passed");
        ap.handle_timeout(at(1));
        assert_eq!(asks(&mut ap), 1);
    }

    #[test]
    fn no_keystream_comes_again_after_a_crash_and_the_peer_follows() {
        let (mut ap, mut station) = (guard(Role::AccessPoint, 0), guard(Role::Client, 0));
        let mut seen = Vec::new();
        for n in 0..10u8 {
            let frame = seal(&mut station, 0, AP, &[n; 40]);
            open(&mut ap, 0, STA, &frame).unwrap();
            seen.push(frame[..3].to_vec());
        }
        let records = persisted(&mut station);
        assert_eq!(records.len(), 1);
        let hop = Duration::from_secs(300);
        let settings = SbkhSettings { role: Role::Client, own: STA, master: master(), hop };
        let mut again = SbkhGuard::new(settings).unwrap();
        assert!(records.iter().all(|r| again.restore(at(1), r)));
        again.begin(at(1), AP);
        for n in 0..10u8 {
            let frame = seal(&mut again, 1, AP, &[n; 40]);
            assert!(!seen.contains(&frame[..3].to_vec()), "a counter was used twice");
            assert_eq!(open(&mut ap, 1, STA, &frame).unwrap(), [n; 40]);
        }
        // The twin: a node that has forgotten begins at the first counter again.
        let mut forgetful = guard(Role::Client, 1);
        assert!(seen.contains(&seal(&mut forgetful, 1, AP, &[0; 40])[..3].to_vec()));
    }

    #[test]
    fn recorded_packets_are_refused_over_a_restart_of_the_receiver() {
        let (mut ap, mut station) = (guard(Role::AccessPoint, 0), guard(Role::Client, 0));
        let recorded: Vec<_> = (0..5).map(|_| seal(&mut station, 0, AP, b"pay")).collect();
        assert!(recorded.iter().all(|f| open(&mut ap, 0, STA, f).is_some()));
        let mut again = guard(Role::AccessPoint, 0);
        again.end(at(0), STA);
        assert!(persisted(&mut ap).iter().all(|r| again.restore(at(0), r)));
        again.begin(at(0), STA);
        assert!(recorded.iter().all(|f| open(&mut again, 0, STA, f).is_none()));
        assert_eq!(asks(&mut again), 1, "it knows that it has lost the station");
        let mut forgetful = guard(Role::AccessPoint, 0);
        assert!(open(&mut forgetful, 0, STA, &recorded[0]).is_some(), "the twin takes it");
    }

    #[test]
    fn base_keys_change_with_the_time_duration() {
        let (mut ap, mut station) = (guard(Role::AccessPoint, 0), guard(Role::Client, 0));
        let first = seal(&mut station, 0, AP, b"payload");
        assert!(open(&mut ap, 0, STA, &first).is_some());
        let later = seal(&mut station, 301, AP, b"payload");
        assert_ne!(first[3], later[3], "the number of the base key");
        assert!(open(&mut ap, 301, STA, &later).is_some());
    }

    #[test]
    fn records_of_other_kinds_are_not_understood() {
        let mut g = guard(Role::Client, 0);
        for bytes in [&b""[..], b"wep iv  \0\0\0\0", b"BX123456\0\0\0\0\0\0", b"BS123456\0\0\0\0"] {
            assert!(!g.restore(at(0), bytes));
        }
    }
}
