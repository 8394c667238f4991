//! An authenticator and a supplicant on hostile air: messages lost, kept, repeated, spoiled and forged,
//! by somebody without the key, or by a subscriber of the same passphrase.

use crate::Choices;
use crate::seeded::Seeded;
use slyfi_base::{Duration, Instant};
use slyfi_ciphers::handshake::eapol::{DESCRIPTOR_RSN, EapolKeyRepr, KeyInfo};
use slyfi_ciphers::handshake::ptk::Exchange;
use slyfi_ciphers::handshake::wrap::{aes_wrap, rc4_in_place};
use slyfi_ciphers::handshake::{
    Authenticator, CipherSuite, EapolKey, GivenUp, GroupKey, KeyBytes, Message, MicAlgorithm,
    OwnElement, Profile, Progress, Ptk, Supplicant,
};
use slyfi_ciphers::{KeyId, PacketNumber};

const AP: [u8; 6] = [2, 0, 0, 0, 0, 1];
const STATION: [u8; 6] = [2, 0, 0, 0, 0, 2];
/// How many packets of each direction the adversary keeps.
const MAX_KEPT: usize = 64;
/// 5 tries, from 100 ms on twice as long each time: no message is waited for longer.
const LONGEST: Duration = Duration::from_millis(3_100);

/// One association, and what the adversary saw of it.
struct Scene {
    profile: Profile,
    pmk: KeyBytes,
    rng: Seeded,
    now: Instant,
    authenticator: Authenticator,
    supplicant: Supplicant,
    group: GroupKey,
    groups_made: u8,
    to_station: Vec<Vec<u8>>,
    to_ap: Vec<Vec<u8>>,
    /// Pairwise keys as each side put them in use.
    at_station: Vec<KeyBytes>,
    at_ap: Vec<KeyBytes>,
    /// Group keys as the station put them in use.
    groups: Vec<KeyBytes>,
    /// The nonces of the access point's handshakes, in their order.
    anonces: Vec<[u8; 32]>,
    last_counter: u64,
    last_request: u64,
    given_up: bool,
    /// Whether the adversary has forged with the key.
    insider: bool,
}

/// Plays the scenario that `input` describes.
///
/// # Panics
/// When a key is put in use twice, the ends disagree without an insider, a replay counter goes back,
/// a message is waited for without end, or undisturbed ends do not come to one key.
pub fn run(input: &[u8]) {
    let mut c = Choices::new(input);
    let ciphers = [
        CipherSuite::Ccmp128,
        CipherSuite::Tkip,
        CipherSuite::Gcmp256,
        CipherSuite::Ccmp256,
        CipherSuite::Gcmp128,
    ];
    let profile = Profile::new(ciphers[c.below(ciphers.len())]).expect("one with a handshake");
    let same_key = c.byte() % 8 != 0;
    let mut scene = Scene::new(profile, same_key);
    scene.begin();
    while !c.is_empty() {
        scene.act(&mut c);
    }
    if same_key && !scene.insider {
        scene.settle();
    }
    let keyed = !scene.at_ap.is_empty() || !scene.at_station.is_empty();
    assert!(same_key || scene.insider || !keyed, "keyed, and the passphrases differ");
}

fn group_key(profile: Profile, n: u8) -> GroupKey {
    GroupKey {
        key_id: KeyId::new(1 + n % 2).expect("1 or 2"),
        key: KeyBytes::new(&vec![n ^ 0x5a; profile.cipher().key_len()]).expect("at most 32"),
        sequence: PacketNumber::new(u64::from(n)).unwrap_or_default(),
    }
}

impl Scene {
    fn new(profile: Profile, same_key: bool) -> Self {
        let pmk = KeyBytes::new(&[7; 32]).expect("32 bytes");
        let other = KeyBytes::new(&[if same_key { 7 } else { 8 }; 32]).expect("32 bytes");
        let mut rng = Seeded(1);
        let own = OwnElement::from(profile);
        Scene {
            authenticator: Authenticator::new(profile, pmk.clone(), AP, STATION, own),
            supplicant: Supplicant::new(profile, other, AP, STATION, own, &mut rng),
            profile,
            pmk,
            rng,
            now: Instant::from_micros(1_000_000),
            group: group_key(profile, 1),
            groups_made: 1,
            to_station: Vec::new(),
            to_ap: Vec::new(),
            at_station: Vec::new(),
            at_ap: Vec::new(),
            groups: Vec::new(),
            anonces: Vec::new(),
            last_counter: 0,
            last_request: 0,
            given_up: false,
            insider: false,
        }
    }

    fn begin(&mut self) {
        if !self.given_up {
            self.authenticator.begin(self.now, &mut self.rng);
            self.drain();
        }
    }

    /// Takes what the access point wants sent.
    fn drain(&mut self) {
        let Some(packet) = self.authenticator.poll() else { return };
        assert!(self.authenticator.poll().is_none(), "one message at a time");
        let frame = self.frame(packet.as_bytes());
        assert!(frame.replay_counter > self.last_counter, "a replay counter comes again");
        let (counter, nonce, message) = (frame.replay_counter, *frame.nonce, frame.message());
        assert!(
            matches!(message, Some(Message::M1 | Message::M3 | Message::Group1)),
            "an access point sends {message:?}"
        );
        self.last_counter = counter;
        if message == Some(Message::M1) && self.anonces.last() != Some(&nonce) {
            assert!(!self.anonces.contains(&nonce), "an access point's nonce comes again");
            self.anonces.push(nonce);
        }
        keep(&mut self.to_station, packet.as_bytes().to_vec());
    }

    fn frame<'a>(&self, packet: &'a [u8]) -> EapolKey<'a> {
        EapolKey::new_checked(packet, self.profile.suite().mic.tag_len()).expect("what was sent")
    }

    fn deliver_to_station(&mut self, packet: &[u8]) {
        let was_keyed = self.supplicant.is_keyed();
        let Ok(answer) = self.supplicant.handle(packet, &mut self.rng) else {
            assert_eq!(self.supplicant.is_keyed(), was_keyed, "refused, and keyed");
            return;
        };
        let asked = self.frame(packet);
        let reply = self.frame(answer.packet.as_bytes());
        assert_eq!(reply.replay_counter, asked.replay_counter, "answers another message");
        assert!(
            matches!(reply.message(), Some(Message::M2 | Message::M4 | Message::Group2)),
            "a station sends {:?}",
            reply.message()
        );
        assert!(asked.message() != Some(Message::M1) || answer.pairwise.is_none());
        if let Some(key) = answer.pairwise {
            assert!(
                !self.at_station.contains(&key),
                "the station puts a pairwise key in use again"
            );
            self.at_station.push(key);
        }
        if let Some(group) = answer.group {
            // Who has the key may send whatever group keys he likes.
            let again = self.groups.contains(&group.key) && !self.insider;
            assert!(!again, "the station puts a group key in use again");
            assert!(self.supplicant.is_keyed() && group.key_id != KeyId::PAIRWISE);
            self.groups.push(group.key);
        }
        keep(&mut self.to_ap, answer.packet.as_bytes().to_vec());
    }

    fn deliver_to_ap(&mut self, packet: &[u8]) {
        let progress = self.authenticator.handle(self.now, packet, &self.group, &mut self.rng);
        match progress {
            Ok(Progress::Keyed(key)) => {
                assert!(!self.at_ap.contains(&key), "the access point puts a key in use again");
                let agreed = self.at_station.last() == Some(&key);
                assert!(agreed || self.insider, "keyed, and the station is not");
                self.at_ap.push(key);
            }
            Ok(Progress::GroupConfirmed) => {
                let has = self.groups.contains(&self.group.key);
                assert!(has || self.insider, "confirmed, and the station does not have it");
            }
            Ok(Progress::MichaelFailure) => {
                let counter = self.frame(packet).replay_counter;
                assert!(counter > self.last_request, "a report counts twice");
                self.last_request = counter;
            }
            Ok(Progress::Going) => assert!(self.authenticator.is_busy()),
            Err(_) => {}
        }
        self.drain();
    }

    fn pass(&mut self, d: Duration) {
        self.now = self.now + d;
        let due = self.authenticator.next_timeout();
        match self.authenticator.handle_timeout(self.now, &self.group, &mut self.rng) {
            Ok(()) => self.drain(),
            Err(GivenUp::Silence | GivenUp::WrongKey) => {
                assert!(!self.authenticator.is_busy() && due.is_some());
                self.given_up = true;
            }
        }
        let at = self.authenticator.next_timeout();
        assert!(at.is_none_or(|at| at > self.now && at <= self.now + LONGEST), "waits for {at:?}");
        assert_eq!(at.is_some(), self.authenticator.is_busy(), "waits for nothing");
    }

    /// The association ends and a new one begins, with machines of their own.
    fn associate(&mut self) {
        let fresh = Scene::new(self.profile, true);
        self.authenticator = fresh.authenticator;
        let (pmk, own) = (self.pmk.clone(), OwnElement::from(self.profile));
        self.supplicant = Supplicant::new(self.profile, pmk, AP, STATION, own, &mut self.rng);
        (self.last_counter, self.last_request, self.given_up) = (0, 0, false);
        self.groups.clear();
        self.begin();
    }

    fn new_group(&mut self) {
        self.groups_made = self.groups_made.wrapping_add(1);
        // Every group key is a new one; past 256 the game is over.
        if self.groups_made != 0 && !self.authenticator.is_busy() && !self.given_up {
            let group = group_key(self.profile, self.groups_made);
            if self.authenticator.send_group(self.now, &group, &mut self.rng) {
                self.group = group;
                self.drain();
            }
        }
    }

    fn act(&mut self, c: &mut Choices<'_>) {
        let to_ap = c.is();
        let kept = if to_ap { &self.to_ap } else { &self.to_station };
        match c.below(14) {
            // The newest arrives; any arrives; any arrives spoiled.
            0..=2 => {
                if let Some(packet) = kept.last().cloned() {
                    self.deliver(to_ap, &packet);
                }
            }
            3 => {
                if let Some(packet) = kept.get(c.below(kept.len())).cloned() {
                    self.deliver(to_ap, &packet);
                }
            }
            4 => {
                if let Some(mut packet) = kept.get(c.below(kept.len())).cloned() {
                    for _ in 0..1 + c.below(3) {
                        let at = usize::from(c.byte()) % packet.len();
                        packet[at] = c.byte();
                    }
                    self.deliver(to_ap, &packet);
                }
            }
            5 => self.deliver(to_ap, c.run()),
            6 => {
                let wait = self.authenticator.next_timeout();
                let wait = wait.map_or(Duration::ZERO, |at| at.saturating_since(self.now));
                self.pass(wait);
            }
            7 => self.pass(Duration::from_millis(c.short().into())),
            8 => self.begin(),
            9 => self.new_group(),
            10 => {
                if let Some(report) = self.supplicant.report_michael_failure(c.is(), &mut self.rng)
                {
                    keep(&mut self.to_ap, report.as_bytes().to_vec());
                }
            }
            11 => {
                if c.byte() % 4 == 0 && !self.at_station.is_empty() {
                    self.associate();
                }
            }
            _ => self.forge(c, to_ap),
        }
    }

    fn deliver(&mut self, to_ap: bool, packet: &[u8]) {
        if to_ap { self.deliver_to_ap(packet) } else { self.deliver_to_station(packet) }
    }

    /// A message of any bits, nonce, counter and data; some with a right code, as a subscriber can
    /// make who heard the nonces.
    fn forge(&mut self, c: &mut Choices<'_>, to_ap: bool) {
        let mic = self.profile.suite().mic;
        let kinds = [
            KeyInfo::PAIRWISE | KeyInfo::ACK,
            KeyInfo::PAIRWISE | KeyInfo::MIC,
            KeyInfo::PAIRWISE
                | KeyInfo::INSTALL
                | KeyInfo::ACK
                | KeyInfo::MIC
                | KeyInfo::SECURE
                | KeyInfo::ENCRYPTED,
            KeyInfo::PAIRWISE | KeyInfo::MIC | KeyInfo::SECURE,
            KeyInfo::ACK | KeyInfo::MIC | KeyInfo::SECURE | KeyInfo::ENCRYPTED,
            KeyInfo::MIC | KeyInfo::SECURE,
            KeyInfo::REQUEST | KeyInfo::ERROR | KeyInfo::MIC | KeyInfo::SECURE,
        ];
        let version = if mic == MicAlgorithm::HmacMd5 { 1 } else { 2 };
        let info = match c.below(kinds.len() + 1) {
            n if n < kinds.len() => kinds[n] | version,
            _ => c.short(),
        };
        let newest = |kept: &[Vec<u8>]| kept.last().map_or(0, |p| counter_of(p));
        let replay_counter = match c.below(4) {
            0 => newest(&self.to_station),
            1 => newest(&self.to_station) + u64::from(c.byte()),
            2 => c.long(),
            _ => newest(&self.to_ap),
        };
        // Nonces that were on the air, or a new one.
        let snonces = self.to_ap.iter().filter_map(|p| nonce_of(p)).collect::<Vec<_>>();
        let own = [c.byte(); 32];
        let any = c.below(snonces.len());
        let snonce = *snonces.get(any).unwrap_or(&own);
        let anonce = *self.anonces.get(c.below(self.anonces.len() + 1)).unwrap_or(&own);
        let exchange =
            Exchange { authenticator: AP, supplicant: STATION, anonce: &anonce, snonce: &snonce };
        let tk_len = self.profile.cipher().key_len();
        let ptk = Ptk::derive(self.profile.suite(), self.pmk.as_bytes(), &exchange, tk_len);
        let (keyed, iv) = (c.is(), [c.byte(); 16]);
        let plain = self.data(c);
        let data = if info & KeyInfo::ENCRYPTED != 0 && keyed {
            wrapped(mic, &ptk, &iv, &plain)
        } else {
            plain
        };
        let repr = EapolKeyRepr {
            version: 2,
            descriptor: if c.byte() % 16 == 1 { c.byte() } else { DESCRIPTOR_RSN },
            info: KeyInfo(info),
            key_length: c.short(),
            replay_counter,
            nonce: if to_ap { snonce } else { anonce },
            iv,
            rsc: c.array(),
            mic_len: mic.tag_len(),
            data: &data,
        };
        let mut packet = vec![0; repr.buffer_len()];
        repr.emit(&mut packet).expect("an exact buffer");
        if keyed {
            self.insider = true;
            EapolKeyRepr::prove(&mut packet, mic, ptk.kck.as_bytes()).expect("there is room");
        }
        self.deliver(to_ap, &packet);
    }

    /// Key data: the right element and a group key of any kind, or anything.
    fn data(&self, c: &mut Choices<'_>) -> Vec<u8> {
        if c.is() {
            return c.run().to_vec();
        }
        let mut data = Vec::new();
        if c.byte() % 4 != 0 {
            data.extend_from_slice(&self.profile.element());
        }
        let key = vec![c.byte(); self.profile.cipher().key_len() ^ usize::from(c.byte() % 16 == 1)];
        let head = [0xdd, key.len() as u8 + 6, 0x00, 0x0f, 0xac, 1, c.byte(), 0];
        data.extend_from_slice(&head);
        data.extend_from_slice(&key);
        if c.byte() % 4 == 1 {
            data.extend_from_slice(c.run());
        }
        data
    }

    /// The air is good again: both ends come to one key, and the station to the group key.
    fn settle(&mut self) {
        if self.given_up {
            self.associate();
        } else {
            self.begin();
        }
        let (station, ap) = (self.at_station.len(), self.at_ap.len());
        for _ in 0..12 {
            if let Some(packet) = self.to_station.pop() {
                self.to_station.clear();
                self.to_ap.clear();
                self.deliver_to_station(&packet);
            }
            if let Some(packet) = self.to_ap.pop() {
                self.to_ap.clear();
                self.deliver_to_ap(&packet);
            }
        }
        assert!(!self.authenticator.is_busy(), "the handshake comes to no end");
        assert_eq!(self.at_station.len(), station + 1, "the station is not keyed");
        assert_eq!(self.at_ap.len(), ap + 1, "the access point is not keyed");
        assert_eq!(self.at_ap.last(), self.at_station.last());
        assert!(self.groups.contains(&self.group.key), "the station lacks the group key");
    }
}

fn keep(kept: &mut Vec<Vec<u8>>, packet: Vec<u8>) {
    if kept.len() == MAX_KEPT {
        kept.remove(0);
    }
    kept.push(packet);
}

fn counter_of(packet: &[u8]) -> u64 {
    packet.get(9..17).and_then(|b| b.try_into().ok()).map_or(0, u64::from_be_bytes)
}

fn nonce_of(packet: &[u8]) -> Option<[u8; 32]> {
    let nonce: [u8; 32] = packet.get(17..49)?.try_into().ok()?;
    (nonce != [0; 32]).then_some(nonce)
}

/// Key data as an access point encrypts them (IEEE 802.11-2020 §12.7.2).
fn wrapped(mic: MicAlgorithm, ptk: &Ptk, iv: &[u8; 16], plain: &[u8]) -> Vec<u8> {
    let kek = ptk.kek.as_bytes();
    let mut data = plain.to_vec();
    if mic == MicAlgorithm::HmacMd5 {
        rc4_in_place(kek, iv, &mut data);
        return data;
    }
    if !data.len().is_multiple_of(8) || data.len() < 16 {
        data.push(0xdd);
        data.resize(data.len().next_multiple_of(8).max(16), 0);
    }
    let mut out = vec![0; data.len() + 8];
    let len = aes_wrap(kek, &data, &mut out).expect("whole blocks");
    out.truncate(len);
    out
}
