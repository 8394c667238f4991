//! The two machines of a pre-shared key against each other, over an air that loses, repeats, holds
//! back and damages, and against somebody who forges.

use slyfi_base::{Duration, Instant, SecureRandom};
use slyfi_ciphers::handshake::{
    Authenticator, CipherSuite, EapolKey, GivenUp, GroupKey, KeyBytes, KeyInfo, Message,
    OwnElement, Packet, Profile, Progress, Refusal, Supplicant,
};
use slyfi_ciphers::{KeyId, PacketNumber};

const AP: [u8; 6] = [2, 0, 0, 0, 0, 0xaa];
const STA: [u8; 6] = [2, 0, 0, 0, 1, 1];
const CIPHERS: [CipherSuite; 5] = [
    CipherSuite::Tkip,
    CipherSuite::Ccmp128,
    CipherSuite::Ccmp256,
    CipherSuite::Gcmp128,
    CipherSuite::Gcmp256,
];
const ORDER: [Message; 4] = [Message::M1, Message::M2, Message::M3, Message::M4];

struct Rng(u64);

impl SecureRandom for Rng {
    fn fill(&mut self, out: &mut [u8]) {
        for b in out {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            *b = (self.0 >> 56) as u8;
        }
    }
}

/// Some key for a passphrase: what PBKDF2 makes of it is tested elsewhere, and takes long.
fn pmk(passphrase: &[u8]) -> KeyBytes {
    KeyBytes::new(&core::array::from_fn::<u8, 32, _>(|i| passphrase[i % passphrase.len()])).unwrap()
}

fn group(profile: Profile, id: u8, sequence: u64) -> GroupKey {
    GroupKey {
        key_id: KeyId::new(id).unwrap(),
        key: KeyBytes::new(&[0x40 + id; 32][..profile.cipher().key_len()]).unwrap(),
        sequence: PacketNumber::new(sequence).unwrap(),
    }
}

fn message(packet: &[u8]) -> Message {
    EapolKey::new_checked(packet, 16).unwrap().message().unwrap()
}

/// What arrives of the n-th packet on the air.
type Tamper<'a> = &'a mut dyn FnMut(usize, &[u8]) -> Vec<Vec<u8>>;

/// Both machines, what they installed, and the time.
struct Pair {
    ap: Authenticator,
    station: Supplicant,
    group: GroupKey,
    rng: Rng,
    now: Instant,
    /// Pairwise keys that each side has installed, in order.
    ap_keys: Vec<KeyBytes>,
    station_keys: Vec<KeyBytes>,
    station_groups: Vec<GroupKey>,
    /// How many times the access point heard that its group key arrived.
    confirmed: usize,
    /// Everything sent, in order.
    air: Vec<Vec<u8>>,
}

impl Pair {
    fn with(cipher: CipherSuite, ap_passphrase: &[u8], station_passphrase: &[u8]) -> Self {
        let profile = Profile::new(cipher).unwrap();
        let mut rng = Rng(7);
        let element = OwnElement::from(profile);
        let station = Supplicant::new(profile, pmk(station_passphrase), AP, STA, element, &mut rng);
        let ap = Authenticator::new(profile, pmk(ap_passphrase), AP, STA, element);
        Pair {
            ap,
            station,
            group: group(profile, 1, 0x0102_0304_0506),
            rng,
            now: Instant::ZERO,
            ap_keys: vec![],
            station_keys: vec![],
            station_groups: vec![],
            confirmed: 0,
            air: vec![],
        }
    }

    fn new(cipher: CipherSuite) -> Self {
        Self::with(cipher, b"correct horse", b"correct horse")
    }

    /// Hands a packet to the station; returns its answer.
    fn tell_station(&mut self, packet: &[u8]) -> Result<Packet, Refusal> {
        let answer = self.station.handle(packet, &mut self.rng)?;
        self.station_keys.extend(answer.pairwise);
        self.station_groups.extend(answer.group);
        Ok(answer.packet)
    }

    fn tell_ap(&mut self, packet: &[u8]) -> Result<(), Refusal> {
        match self.ap.handle(self.now, packet, &self.group, &mut self.rng)? {
            Progress::Keyed(key) => self.ap_keys.push(key),
            Progress::GroupConfirmed => self.confirmed += 1,
            Progress::Going | Progress::MichaelFailure => {}
        }
        Ok(())
    }

    /// Runs until nothing is to be done; `tamper` makes of every packet what arrives of it.
    fn run(&mut self, tamper: Tamper<'_>) -> Result<(), GivenUp> {
        loop {
            while let Some(packet) = self.ap.poll() {
                self.air.push(packet.as_bytes().to_vec());
                for arrived in tamper(self.air.len() - 1, packet.as_bytes()) {
                    let Ok(answer) = self.tell_station(&arrived) else { continue };
                    self.air.push(answer.as_bytes().to_vec());
                    for arrived in tamper(self.air.len() - 1, answer.as_bytes()) {
                        let _ = self.tell_ap(&arrived);
                    }
                }
            }
            let Some(at) = self.ap.next_timeout() else { return Ok(()) };
            self.now = at;
            self.ap.handle_timeout(self.now, &self.group, &mut self.rng)?;
        }
    }

    fn shake(&mut self, tamper: Tamper<'_>) -> Result<(), GivenUp> {
        self.ap.begin(self.now, &mut self.rng);
        self.run(tamper)
    }

    fn shaken(cipher: CipherSuite) -> Self {
        let mut pair = Self::new(cipher);
        pair.shake(&mut |_, p| vec![p.to_vec()]).unwrap();
        pair
    }

    fn assert_equal_and_once(&self, what: &str) {
        assert_eq!(self.ap_keys.len(), 1, "{what}: the access point");
        assert_eq!(self.station_keys, self.ap_keys, "{what}: the station");
        assert_eq!(self.station_groups.len(), 1, "{what}: the group key");
        assert_eq!(self.station_groups[0], self.group, "{what}");
    }
}

#[test]
fn both_sides_install_one_key_in_four_messages() {
    for cipher in CIPHERS {
        let pair = Pair::shaken(cipher);
        assert!(pair.air.iter().map(|p| message(p)).eq(ORDER), "{cipher:?}");
        pair.assert_equal_and_once(cipher.name());
        assert_eq!(pair.ap_keys[0].as_bytes().len(), cipher.key_len());
        assert!(pair.station.is_keyed() && !pair.ap.is_busy());
        let version = if cipher == CipherSuite::Tkip { 1 } else { 2 };
        for packet in &pair.air {
            assert_eq!(EapolKey::new_checked(packet, 16).unwrap().info.version(), version);
        }
        let key = pair.group.key.as_bytes();
        assert!(!pair.air.iter().any(|p| p.windows(key.len()).any(|w| w == key)), "wrapped");
    }
}

#[test]
fn every_handshake_has_keys_of_its_own() {
    let mut pair = Pair::shaken(CipherSuite::Ccmp128);
    pair.shake(&mut |_, p| vec![p.to_vec()]).unwrap();
    assert_eq!(pair.station_keys, pair.ap_keys);
    assert_eq!(pair.ap_keys.len(), 2);
    assert_ne!(pair.ap_keys[0], pair.ap_keys[1]);
    assert_eq!(pair.station_groups.len(), 1, "the group key is the same and stays where it is");
}

#[test]
fn any_one_message_may_be_lost() {
    for cipher in [CipherSuite::Tkip, CipherSuite::Gcmp128] {
        for lost in ORDER {
            let (mut pair, mut gone) = (Pair::new(cipher), false);
            let mut lose = |_: usize, p: &[u8]| {
                if !gone && message(p) == lost {
                    gone = true;
                    return vec![];
                }
                vec![p.to_vec()]
            };
            assert_eq!(pair.shake(&mut lose), Ok(()), "{lost:?}");
            pair.assert_equal_and_once(&format!("{lost:?} lost"));
            assert!(pair.now > Instant::ZERO, "it took a retransmission");
        }
    }
}

#[test]
fn a_message_that_is_always_lost_ends_the_handshake() {
    for lost in ORDER {
        let mut pair = Pair::new(CipherSuite::Ccmp128);
        let mut lose =
            |_: usize, p: &[u8]| if message(p) == lost { vec![] } else { vec![p.to_vec()] };
        assert_eq!(pair.shake(&mut lose), Err(GivenUp::Silence), "{lost:?}");
        assert!(pair.ap_keys.is_empty());
        assert!(pair.now < Instant::ZERO + Duration::from_secs(10), "it does not take for ever");
        assert!(pair.station_keys.len() <= 1, "answered again, installed once");
    }
}

#[test]
fn any_one_message_may_come_twice_or_damaged_first() {
    for (at, told) in ORDER.into_iter().enumerate() {
        let mut pair = Pair::new(CipherSuite::Ccmp128);
        let mut twice = |_: usize, p: &[u8]| {
            if message(p) == told { vec![p.to_vec(), p.to_vec()] } else { vec![p.to_vec()] }
        };
        pair.shake(&mut twice).unwrap();
        pair.assert_equal_and_once(&format!("{told:?} twice"));

        // Every octet of the message in turn, and then the message as it was.
        let length = Pair::shaken(CipherSuite::Ccmp128).air[at].len();
        for octet in 0..length {
            let mut pair = Pair::new(CipherSuite::Ccmp128);
            let mut damage = |_: usize, p: &[u8]| {
                let mut bad = p.to_vec();
                if message(p) == told {
                    bad[octet] ^= 0x04;
                }
                vec![bad, p.to_vec()]
            };
            // A damaged nonce of message 1 is heard, for nothing there is proven: the time-out mends.
            assert_eq!(pair.shake(&mut damage), Ok(()), "{told:?} octet {octet}");
            pair.assert_equal_and_once(&format!("{told:?} octet {octet}"));
        }
    }
}

#[test]
fn answers_that_come_late_or_overtake_one_another_lead_to_one_key() {
    for overtaken in [false, true] {
        let mut pair = Pair::new(CipherSuite::Ccmp128);
        pair.ap.begin(pair.now, &mut pair.rng);
        let first = pair.ap.poll().unwrap();
        pair.now = pair.ap.next_timeout().unwrap();
        pair.ap.handle_timeout(pair.now, &pair.group, &mut pair.rng).unwrap();
        let second = pair.ap.poll().unwrap();
        // Both copies of message 1 are answered; either answer counts, the other comes too late.
        let mut answers = [first, second].map(|m| pair.tell_station(m.as_bytes()).unwrap());
        if overtaken {
            answers.reverse();
        }
        assert_eq!(pair.tell_ap(answers[0].as_bytes()), Ok(()), "{overtaken}");
        assert_eq!(pair.tell_ap(answers[1].as_bytes()), Err(Refusal::Unexpected));
        pair.run(&mut |_, p| vec![p.to_vec()]).unwrap();
        pair.assert_equal_and_once("late");
    }
}

#[test]
fn a_message_3_that_comes_again_is_answered_and_installs_nothing() {
    // KRACK: message 4 is stopped, so message 3 comes again with a new replay counter.
    let mut pair = Pair::new(CipherSuite::Ccmp128);
    let mut stopped = 0;
    let mut stop = |_: usize, p: &[u8]| {
        if message(p) == Message::M4 && stopped < 3 {
            stopped += 1;
            return vec![];
        }
        vec![p.to_vec()]
    };
    pair.shake(&mut stop).unwrap();
    let threes: Vec<_> = pair.air.iter().filter(|p| message(p) == Message::M3).collect();
    assert_eq!(threes.len(), 4, "it was sent four times, each under its own counter");
    pair.assert_equal_and_once("message 4 stopped");
}

#[test]
fn recorded_messages_are_refused_and_a_machine_without_memory_would_take_them() {
    let mut pair = Pair::shaken(CipherSuite::Ccmp128);
    for at in [0, 2] {
        let recorded = pair.air[at].clone();
        assert_eq!(pair.tell_station(&recorded), Err(Refusal::Replayed), "{at}");
    }
    for at in [1, 3] {
        let recorded = pair.air[at].clone();
        assert_eq!(pair.tell_ap(&recorded), Err(Refusal::Unexpected), "{at}");
    }
    pair.assert_equal_and_once("replays");
    // The twin: a station that has forgotten (restarted) answers a recorded message 1, but with
    // another nonce, so the recorded message 3 does not verify.
    let profile = Profile::new(CipherSuite::Ccmp128).unwrap();
    let mut forgetful =
        Supplicant::new(profile, pmk(b"correct horse"), AP, STA, profile.into(), &mut Rng(99));
    assert!(forgetful.handle(&pair.air[0], &mut Rng(1)).is_ok());
    assert_eq!(forgetful.handle(&pair.air[2], &mut Rng(1)), Err(Refusal::Unverified));
}

#[test]
fn another_passphrase_fails_as_such_and_gives_no_key() {
    for cipher in [CipherSuite::Tkip, CipherSuite::Ccmp128] {
        let mut pair = Pair::with(cipher, b"correct horse", b"battery staple");
        assert_eq!(pair.shake(&mut |_, p| vec![p.to_vec()]), Err(GivenUp::WrongKey));
        assert!(pair.ap_keys.is_empty() && pair.station_keys.is_empty());
        assert!(!pair.air.iter().any(|p| message(p) == Message::M3), "no group key leaves");
    }
}

#[test]
fn forged_first_messages_do_not_disturb_a_handshake() {
    let mut pair = Pair::new(CipherSuite::Ccmp128);
    pair.ap.begin(pair.now, &mut pair.rng);
    let first = pair.ap.poll().unwrap();
    let answer = pair.tell_station(first.as_bytes()).unwrap();
    // Somebody sends message 1 with another nonce and the highest counter between 2 and 3.
    let mut forged = first.as_bytes().to_vec();
    forged[9..17].copy_from_slice(&u64::MAX.to_be_bytes());
    forged[17..49].copy_from_slice(&[0x66; 32]);
    assert!(pair.tell_station(&forged).is_ok(), "nothing tells it from a true one");
    pair.tell_ap(answer.as_bytes()).unwrap();
    pair.run(&mut |_, p| vec![p.to_vec()]).unwrap();
    pair.assert_equal_and_once("forged message 1");
}

#[test]
fn suites_changed_on_their_way_are_found_out_by_the_handshake() {
    let profile = Profile::new(CipherSuite::Ccmp128).unwrap();
    let mut changed = profile.element();
    changed[20] = 0x80;
    let changed = profile.accept(&changed[2..]).unwrap();
    // The access point was asked for something else than the station says it asked for.
    let mut pair = Pair::new(CipherSuite::Ccmp128);
    pair.ap = Authenticator::new(profile, pmk(b"correct horse"), AP, STA, changed);
    assert!(pair.shake(&mut |_, p| vec![p.to_vec()]).is_err());
    assert!(pair.ap_keys.is_empty() && pair.station_keys.is_empty());
    // The station saw another element in the beacon than message 3 says.
    let mut pair = Pair::new(CipherSuite::Ccmp128);
    let own = pmk(b"correct horse");
    pair.station = Supplicant::new(profile, own, AP, STA, changed, &mut Rng(3));
    assert!(pair.shake(&mut |_, p| vec![p.to_vec()]).is_err());
    assert!(pair.ap_keys.is_empty() && pair.station_keys.is_empty());
}

#[test]
fn a_new_group_key_reaches_the_station_once_whatever_is_lost() {
    for cipher in [CipherSuite::Tkip, CipherSuite::Ccmp128] {
        for lost in [None, Some(Message::Group1), Some(Message::Group2)] {
            let mut pair = Pair::shaken(cipher);
            let new = group(Profile::new(cipher).unwrap(), 2, 0);
            pair.group = new.clone();
            assert!(pair.ap.send_group(pair.now, &new, &mut pair.rng));
            let mut gone = false;
            let mut lose = |_: usize, p: &[u8]| {
                if !gone && Some(message(p)) == lost {
                    gone = true;
                    return vec![];
                }
                vec![p.to_vec()]
            };
            pair.run(&mut lose).unwrap();
            assert_eq!(pair.confirmed, 1, "{lost:?}");
            assert_eq!(pair.station_groups[1..], [new], "{lost:?}");
            let recorded = pair.air[4].clone();
            assert_eq!(pair.tell_station(&recorded), Err(Refusal::Replayed));
            assert_eq!(pair.ap_keys.len(), 1, "pairs keep their keys");
        }
    }
}

#[test]
fn a_group_key_that_came_before_is_not_installed_again() {
    let mut pair = Pair::shaken(CipherSuite::Ccmp128);
    let same = pair.group.clone();
    // Also not under another identifier, nor with a lower counter.
    let renamed = GroupKey { key_id: KeyId::new(2).unwrap(), ..same.clone() };
    let lower = GroupKey { sequence: PacketNumber::default(), ..same };
    for key in [renamed, lower] {
        assert!(pair.ap.send_group(pair.now, &key, &mut pair.rng));
        pair.run(&mut |_, p| vec![p.to_vec()]).unwrap();
        assert_eq!(pair.station_groups.len(), 1);
    }
    assert_eq!(pair.confirmed, 2, "answered all the same");
}

#[test]
fn no_group_key_is_sent_before_there_is_a_key_to_wrap_it_with() {
    let mut pair = Pair::new(CipherSuite::Ccmp128);
    let key = pair.group.clone();
    assert!(!pair.ap.send_group(pair.now, &key, &mut pair.rng));
    pair.ap.begin(pair.now, &mut pair.rng);
    assert!(!pair.ap.send_group(pair.now, &key, &mut pair.rng));
    pair.run(&mut |_, p| vec![p.to_vec()]).unwrap();
    assert!(pair.ap.send_group(pair.now, &key, &mut pair.rng));
}

#[test]
fn michael_failures_are_reported_once_each_and_cannot_be_forged() {
    let mut pair = Pair::shaken(CipherSuite::Tkip);
    let group = pair.group.clone();
    let report = pair.station.report_michael_failure(true, &mut pair.rng).unwrap();
    let info = EapolKey::new_checked(report.as_bytes(), 16).unwrap().info;
    assert!(info.has(KeyInfo::REQUEST | KeyInfo::ERROR | KeyInfo::PAIRWISE));
    let mut forged = report.as_bytes().to_vec();
    forged[80] ^= 1;
    let now = pair.now;
    let mut tell = |packet: &[u8]| pair.ap.handle(now, packet, &group, &mut Rng(5));
    assert_eq!(tell(&forged), Err(Refusal::Unverified));
    assert_eq!(tell(report.as_bytes()), Ok(Progress::MichaelFailure));
    assert_eq!(tell(report.as_bytes()), Err(Refusal::Replayed));
    let mut fresh = Pair::new(CipherSuite::Tkip);
    assert!(fresh.station.report_michael_failure(true, &mut Rng(1)).is_none(), "nothing proves it");
}

#[test]
fn noise_and_other_descriptors_have_no_effect() {
    let mut pair = Pair::shaken(CipherSuite::Ccmp128);
    for at in 0..pair.air.len() {
        let good = pair.air[at].clone();
        for cut in 0..good.len() {
            assert!(
                pair.tell_station(&good[..cut]).is_err() && pair.tell_ap(&good[..cut]).is_err()
            );
        }
        let mut wpa = good;
        wpa[4] = 254;
        assert_eq!(pair.tell_station(&wpa), Err(Refusal::Malformed));
    }
}
