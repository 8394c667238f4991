//! An access point and its siblings: messages of anybody, and of one who has the shared key.

use crate::Choices;
use crate::host::{Host, Said};
use crate::network::{self, START, Seeded, ap_config, start};
use hkdf::Hkdf;
use sha2::Sha256;
use slyfi_aes::GcmKey;
use slyfi_base::link::RecordKind;
use slyfi_base::{Duration, MacAddress};
use slyfi_core::ap::ApConfig;
use slyfi_core::backhaul::BackhaulKey;
use slyfi_core::pairing::{Kind, Pairing, Terms};
use slyfi_core::suite::Suite;
use slyfi_wire::message::BackhaulMessage;

const SHARED: [u8; 32] = [0x42; 32];

/// A sibling by the layout of `slyfi_core::backhaul`, made without its code.
struct Sibling {
    salt: [u8; 16],
    key: GcmKey,
    counter: u64,
}

impl Sibling {
    fn new(salt: [u8; 16]) -> Self {
        let mut key = [0; 32];
        let expanded =
            Hkdf::<Sha256>::new(Some(&salt), &SHARED).expand(b"slyfi backhaul", &mut key);
        expanded.expect("one block");
        Sibling { salt, key: GcmKey::new_256(&key), counter: 0 }
    }

    fn seal(&mut self, time: u64, message: &[u8]) -> Vec<u8> {
        self.counter += 1;
        let counter = self.counter.to_be_bytes();
        let head = [&self.salt[..], &counter].concat();
        let mut text = [&time.to_be_bytes()[..], message].concat();
        let nonce: [u8; 12] = core::array::from_fn(|i| if i < 4 { 0 } else { counter[i - 4] });
        let tag = self.key.seal_in_place(&nonce, &head, &mut text);
        [head, text, tag.to_vec()].concat()
    }
}

/// Plays the scenario that `input` describes.
///
/// # Panics
/// When a message without the key, or an old one, has an effect; or one with it does harm.
pub fn run(input: &[u8]) {
    let mut c = Choices::new(input);
    let backhaul = Some(BackhaulKey::new(SHARED));
    let config = ApConfig { backhaul, ..ap_config(Suite::AEAD, c.byte()) };
    let own = network::pairing(Suite::AEAD, 1, Kind::Member);
    let ap = network::access_point(config, &[own], 1, start());
    let mut ap = Host::new(ap, start(), false);
    ap.settle();
    let mut siblings = [Sibling::new([1; 16]), Sibling::new([2; 16])];
    let mut heard: Vec<Vec<u8>> = Vec::new();
    let mut taken = 0;
    while !c.is_empty() {
        let which = c.below(2);
        let now = ap.now.wall.as_micros();
        match c.below(8) {
            0 => assert_eq!(ap.backhaul(c.run()), Said::default(), "junk has no effect"),
            1 => {
                if let Some(old) = heard.get(c.below(heard.len())) {
                    let said = ap.backhaul(old);
                    assert_eq!(said, Said::default(), "an old message has no effect");
                }
            }
            2 => {
                let mut bad = siblings[which].seal(now, c.run());
                let at = c.below(bad.len());
                bad[at] ^= c.byte().max(1);
                assert_eq!(ap.backhaul(&bad), Said::default(), "a damaged message has no effect");
            }
            3 => {
                ap.pass(Duration::from_secs(u64::from(c.short())));
            }
            4 => {
                let sealed = siblings[which].seal(c.long(), c.run());
                check(&ap.backhaul(&sealed));
            }
            _ => {
                let message = message(&mut c);
                let sealed = siblings[which].seal(now, &message);
                check(&ap.backhaul(&sealed));
                heard.push(sealed);
                taken += 1;
            }
        }
        let (pairings, addresses) = (ap.link.pairings(), ap.link.live_addresses());
        assert!(pairings <= 1 + taken, "{pairings} pairings of {taken} messages");
        assert!(addresses <= pairings * 2 * (2 * (16 + 2) + 1), "{addresses} addresses");
        assert_eq!(ap.link.sessions().count(), 0, "a sibling makes no session");
    }
}

/// What siblings say concerns the store, never the air or the host.
fn check(said: &Said) {
    assert!(said.frames.is_empty() && said.packets.is_empty() && said.backhaul.is_empty());
    let kinds = [RecordKind::Pairing, RecordKind::PairingRevoked];
    assert!(said.records.iter().all(|(kind, _)| kinds.contains(kind)));
}

fn message(c: &mut Choices<'_>) -> Vec<u8> {
    let id = [c.byte() % 4; 8];
    let kind = c.below(6);
    let pairing = stored(c);
    let probe = [&[c.byte()], &pairing[..]].concat();
    let message = match kind {
        0 => BackhaulMessage::Handover {
            session: id,
            pairing: c.array(),
            pseudonym: MacAddress(c.array()),
            secret: [c.byte(); 32],
            probe: &probe,
        },
        1 => BackhaulMessage::Ended { session: id },
        2 => BackhaulMessage::Moved { session: id },
        3 => BackhaulMessage::Paired { pairing: &pairing },
        4 => match Pairing::decode(&pairing) {
            Ok(p) => BackhaulMessage::Revoked { pairing: *p.id() },
            Err(_) => BackhaulMessage::Revoked { pairing: id },
        },
        _ => return c.run().to_vec(),
    };
    let mut out = vec![0; message.buffer_len()];
    message.emit(&mut out).expect("an exact buffer");
    out
}

/// A stored pairing: legal terms, or any bytes.
fn stored(c: &mut Choices<'_>) -> Vec<u8> {
    if c.below(4) == 0 {
        return c.run().to_vec();
    }
    let terms = Terms {
        network: network::name(),
        suite: network::suite(c.below(3)),
        // Some weeks at most: each day costs hashes, and many days only cost time here.
        t0: START.shifted(i64::from(c.word() as i32) * 1_000),
        interval: Duration::from_secs(u64::from(c.short()) + 1),
        skew: c.byte() % 17,
        kind: Kind::Member,
    };
    let seed = 50 + u64::from(c.byte() % 4);
    match Pairing::generate(&terms, &mut Seeded(seed)) {
        Ok(p) => p.encode().to_vec(),
        Err(_) => Vec::new(),
    }
}
