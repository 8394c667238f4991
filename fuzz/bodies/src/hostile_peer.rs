//! A capture written by somebody who has the keys: valid integrity codes and seals around anything.
//!
//! The parsers behind the codes (key data, group keys, what stands inside protected frames) are reached
//! by no random bytes.

use crate::Choices;
use slyfi_capture::{Engine, Key, Outcome};
use slyfi_ciphers::ccmp::{Ccmp128Key, Ccmp256Key};
use slyfi_ciphers::danger::tkip::TkipKey;
use slyfi_ciphers::gcmp::GcmpKey;
use slyfi_ciphers::handshake::eapol::{DESCRIPTOR_RSN, DESCRIPTOR_WPA, EapolKeyRepr};
use slyfi_ciphers::handshake::ft::{Domain, pmk_r1};
use slyfi_ciphers::handshake::ptk::Exchange;
use slyfi_ciphers::handshake::wrap::{aes_wrap, rc4_in_place};
use slyfi_ciphers::handshake::{KeyInfo, MicAlgorithm, Ptk, Suite};
use slyfi_ciphers::{KeyId, PacketKey, PacketNumber};
use std::collections::HashSet;
use std::sync::LazyLock;

/// The PSK of `correct horse battery` in the network `made by hand`, as a key is written.
pub const PMK: &str = "wpa-psk:d0c6bcb861833f5f5adb5c9cbd4f57e1c702ad340bdcee720bbbbd114e5d964c";
const SSID: &[u8] = b"made by hand";
const AP: [u8; 6] = [2, 0, 0, 0, 0, 0];
const STATION: [u8; 6] = [2, 0, 0, 0, 2, 0];
const R0_HOLDER: &[u8] = b"holder";
const MOBILITY_DOMAIN: [u8; 2] = [0xa1, 0xb2];

static KEYS: LazyLock<[Key; 1]> = LazyLock::new(|| [PMK.parse().expect("it is a key")]);

/// The peer, and what it has sealed so far.
struct Peer {
    suite: Suite,
    cipher: u8,
    pmk: Vec<u8>,
    anonce: [u8; 32],
    snonce: [u8; 32],
    number: u64,
    sealed: HashSet<Vec<u8>>,
}

/// Plays the input as a list of frames, twice, as the opening of files does.
///
/// # Panics
/// When something opens that was never sealed, or the frames are not accounted for.
pub fn run(input: &[u8]) {
    let mut c = Choices::new(input);
    let version = c.byte() & 3;
    let candidates = Suite::candidates(version);
    let suite = candidates[c.below(candidates.len())];
    let Key::Pmk(pmk) = &KEYS[0] else { unreachable!("it is a PMK") };
    let mut peer = Peer {
        suite,
        cipher: [2, 4, 8, 9, 10][c.below(5)],
        pmk: pmk.as_bytes().to_vec(),
        anonce: [0xa1; 32],
        snonce: [0x51; 32],
        number: 0,
        sealed: HashSet::new(),
    };
    let mut frames = Vec::new();
    while !c.is_empty() && frames.len() < 200 {
        frames.push(peer.frame(&mut c, version, &frames));
    }
    let mut engine = Engine::new(&KEYS[..]);
    for _ in 0..2 {
        for (n, frame) in frames.iter().enumerate() {
            if let Outcome::Opened(opened) = engine.observe(0, n as u64, 0, frame, false) {
                // Michael covers whole payloads: of a fragment only the checksum is checked.
                let checked = !opened.cipher.contains("not checked");
                assert!(!checked || peer.sealed.contains(opened.payload), "it was never sealed");
            }
        }
        assert!(engine.knowledge() <= 8 * frames.len(), "it knows more than it was shown");
        engine.start_over();
    }
    let report = engine.into_report(Vec::new());
    assert_eq!(report.totals(), (0, 0), "it starts over");
    assert!(report.handshakes.len() <= frames.len());
}

fn management(subtype: u8, to: [u8; 6], from: [u8; 6], body: &[u8]) -> Vec<u8> {
    [&[subtype << 4, 0, 0, 0][..], &to, &from, &AP, &[0x10, 0], body].concat()
}

fn data(up: bool, body: &[u8]) -> Vec<u8> {
    let (to, from, ds) = if up { (AP, STATION, 1) } else { (STATION, AP, 2) };
    [&[0x08, ds, 0, 0][..], &to, &from, &AP, &[0x30, 0], body].concat()
}

impl Peer {
    fn frame(&mut self, c: &mut Choices<'_>, version: u8, before: &[Vec<u8>]) -> Vec<u8> {
        match c.below(13) {
            0 => c.run().to_vec(),
            1 => {
                let ssid = [&[0; 12][..], &[0, SSID.len() as u8], SSID, c.run()].concat();
                management(8, [0xff; 6], AP, &ssid)
            }
            2 => management([0, 1, 2, 3][c.below(4)], AP, STATION, &self.elements(c)),
            3 => {
                let body = [&[2, 0, c.byte() & 3, 0, 0, 0][..], &self.elements(c)].concat();
                let up = c.is();
                let (to, from) = if up { (AP, STATION) } else { (STATION, AP) };
                management(11, to, from, &body)
            }
            4 | 5 => {
                let up = c.is();
                data(up, &self.eapol(c, version))
            }
            6 => {
                let body = self.eapol(c, version);
                self.seal(c, &body)
            }
            7 => {
                // Something of TDLS or an action frame.
                let kind = [&[2, 12, 1, 0, 0, 1, 0, 0][..], &[2, 12, 2, 0, 0, 1], &[2]][c.below(3)];
                let body = [&slyfi_wire::llc::header(0x890d)[..], kind, c.run()].concat();
                self.seal(c, &body)
            }
            8 => {
                let (up, length) = (c.is(), c.run());
                let body = [&slyfi_wire::llc::header(0x888e)[..], length].concat();
                data(up, &body)
            }
            9 => {
                let (category, body) = ([6, 10, c.byte()][c.below(3)], c.run());
                let body = [&[category][..], body].concat();
                if c.is() {
                    management(13, AP, STATION, &body)
                } else {
                    self.seal_management(c, &body)
                }
            }
            10 => {
                // A fragment of a frame that came before.
                let mut frame = c_pick(c, before).unwrap_or_default();
                if let Some(flags) = frame.get_mut(1) {
                    *flags |= u8::from(c.is()) << 2;
                }
                if let Some(sequence) = frame.get_mut(22) {
                    *sequence = *sequence & 0xf0 | c.byte() & 15;
                }
                frame
            }
            11 => {
                let mut frame = c_pick(c, before).unwrap_or_default();
                let len = frame.len().max(1);
                if let Some(byte) = frame.get_mut(usize::from(c.short()) % len) {
                    *byte ^= c.byte();
                }
                frame
            }
            _ => {
                let body = c.run();
                self.seal(c, body)
            }
        }
    }

    /// Fixed fields and elements of an association, or anything.
    fn elements(&self, c: &mut Choices<'_>) -> Vec<u8> {
        let mut out = c.take(c.clone().below(12)).to_vec();
        out.extend([0, SSID.len() as u8]);
        out.extend(SSID);
        let rsn = [
            1,
            0,
            0,
            0x0f,
            0xac,
            self.cipher,
            1,
            0,
            0,
            0x0f,
            0xac,
            self.cipher,
            1,
            0,
            0,
            0x0f,
            0xac,
            c.byte() & 31,
            0,
            0,
        ];
        out.extend([48, rsn.len() as u8]);
        out.extend(rsn);
        if self.suite.is_ft || c.is() {
            out.extend(self.transition(c));
        }
        out.extend(c.run());
        out
    }

    fn transition(&self, c: &mut Choices<'_>) -> Vec<u8> {
        let mut d = vec![0, 0];
        d.extend(vec![0; self.suite.mic.tag_len()]);
        d.extend(if c.is() { self.anonce } else { [0; 32] });
        d.extend(if c.is() { self.snonce } else { [0; 32] });
        d.extend([1, 6]);
        d.extend(AP);
        d.extend([3, R0_HOLDER.len() as u8]);
        d.extend(R0_HOLDER);
        d.extend(c.run());
        d.truncate(255);
        let [low, high] = MOBILITY_DOMAIN;
        [&[54, 3, low, high, 0][..], &[55, d.len() as u8], &d].concat()
    }

    fn ptk(&self) -> Ptk {
        let tk_len = if matches!(self.cipher, 4 | 8) { 16 } else { 32 };
        let exchange = Exchange {
            authenticator: AP,
            supplicant: STATION,
            anonce: &self.anonce,
            snonce: &self.snonce,
        };
        let domain = Domain {
            ssid: SSID,
            mobility_domain: MOBILITY_DOMAIN,
            r0_holder: R0_HOLDER,
            r1_holder: AP,
            station: STATION,
        };
        if self.suite.is_ft {
            let r1 = pmk_r1(self.suite.kdf, &self.pmk, &domain);
            return Ptk::derive(self.suite, r1.as_bytes(), &exchange, tk_len);
        }
        Ptk::derive(self.suite, &self.pmk, &exchange, tk_len)
    }

    /// A key message with a right integrity code and any contents.
    fn eapol(&mut self, c: &mut Choices<'_>, version: u8) -> Vec<u8> {
        const BITS: [u16; 8] = [0x0088, 0x0108, 0x13c8, 0x0308, 0x1380, 0x0300, 0x0900, 0x13c0];
        if c.byte() == 0 {
            (self.anonce, self.snonce) = (c.array(), c.array());
        }
        let ptk = self.ptk();
        let bits = match c.below(10) {
            n @ 0..8 => BITS[n],
            _ => c.short() & !7,
        };
        let mut inner = match c.below(4) {
            0 => self.elements(c),
            1 => {
                let key = c.run();
                [&[0xdd, key.len().min(240) as u8 + 6, 0, 0x0f, 0xac, 1, c.byte(), 0][..], key]
                    .concat()
            }
            2 => {
                let key = c.run();
                [&[0xdd, key.len().min(240) as u8 + 12, 0, 0x0f, 0xac, 9, 4, 0][..], &[0; 6], key]
                    .concat()
            }
            _ => c.run().to_vec(),
        };
        let iv = [0x1f; 16];
        if bits & KeyInfo::ENCRYPTED != 0 {
            if self.suite.mic == MicAlgorithm::HmacMd5 {
                rc4_in_place(ptk.kek.as_bytes(), &iv, &mut inner);
            } else {
                inner.resize(inner.len().next_multiple_of(8).max(16), 0);
                let mut out = vec![0; inner.len() + 8];
                aes_wrap(ptk.kek.as_bytes(), &inner, &mut out).expect("a multiple of eight");
                inner = out;
            }
        }
        let repr = EapolKeyRepr {
            version: 2,
            descriptor: if c.below(4) == 1 { DESCRIPTOR_WPA } else { DESCRIPTOR_RSN },
            info: KeyInfo(bits | u16::from(version)),
            key_length: u16::from(c.byte()),
            replay_counter: c.long(),
            nonce: if bits & KeyInfo::ACK != 0 { self.anonce } else { self.snonce },
            iv,
            rsc: c.array(),
            mic_len: self.suite.mic.tag_len(),
            data: &inner,
        };
        let mut buf = vec![0; repr.buffer_len()];
        repr.emit(&mut buf).expect("an exact buffer");
        if bits & KeyInfo::MIC != 0 {
            EapolKeyRepr::prove(&mut buf, self.suite.mic, ptk.kck.as_bytes());
        }
        [&slyfi_wire::llc::header(0x888e)[..], &buf].concat()
    }

    fn seal(&mut self, c: &mut Choices<'_>, payload: &[u8]) -> Vec<u8> {
        let up = c.is();
        let mut header = data(up, &[]);
        header[1] |= 0x40;
        self.seal_under(header, payload)
    }

    fn seal_management(&mut self, c: &mut Choices<'_>, payload: &[u8]) -> Vec<u8> {
        let (to, from) = if c.is() { (AP, STATION) } else { (STATION, AP) };
        let mut header = management(13, to, from, &[]);
        header[1] |= 0x40;
        self.seal_under(header, payload)
    }

    fn seal_under(&mut self, header: Vec<u8>, payload: &[u8]) -> Vec<u8> {
        let ptk = self.ptk();
        let tk = ptk.tk.as_bytes();
        let len = payload.len();
        self.number += 1;
        let (n, id) = (PacketNumber::new(self.number).expect("few frames"), KeyId::PAIRWISE);
        let mut buf = [&[0; 8][..], payload, &[0; 16]].concat();
        let half = || tk.first_chunk().expect("sixteen bytes");
        let full = || tk.first_chunk().expect("thirty-two bytes");
        let sealed = match self.cipher {
            2 => {
                let key = TkipKey::new(full());
                let transmitter = header[10..16].try_into().expect("six bytes");
                key.seal_at(&key.phase1(transmitter, n), n, id, &header, &mut buf, len)
            }
            4 => Ccmp128Key::new(half()).seal_at(n, id, &header, &mut buf, len),
            8 => GcmpKey::new_128(half()).seal_at(n, id, &header, &mut buf, len),
            9 => GcmpKey::new_256(full()).seal_at(n, id, &header, &mut buf, len),
            _ => Ccmp256Key::new(full()).seal_at(n, id, &header, &mut buf, len),
        };
        if let Some(sealed) = sealed {
            buf.truncate(sealed);
            self.sealed.insert(payload.to_vec());
        }
        [header, buf].concat()
    }
}

fn c_pick(c: &mut Choices<'_>, before: &[Vec<u8>]) -> Option<Vec<u8>> {
    before.get(c.below(before.len())).cloned()
}
