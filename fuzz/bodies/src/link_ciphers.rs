//! Every link cipher's `open`: what somebody sealed opens once, and nothing else does.

use crate::Choices;
use slyfi_base::{LinkCipher, OpenHalf, SealHalf};
use slyfi_ciphers::bip::{self, BipSuite};
use slyfi_ciphers::ccmp::{Ccmp128, Ccmp128Key, Ccmp256, Ccmp256Key};
use slyfi_ciphers::danger::open::Open;
use slyfi_ciphers::danger::tkip::{Tkip, TkipKey, open_mpdu};
use slyfi_ciphers::danger::wep::{Wep, WepKey};
use slyfi_ciphers::gcmp::{Gcmp, GcmpKey};
use slyfi_ciphers::{KeyId, PacketKey, PacketNumber};
use slyfi_wire::ieee80211::MacHeader;
use std::collections::HashMap;

/// Draws a cipher, a key and a history of frames.
///
/// # Panics
/// When a frame does not come back, comes back twice, or was never sealed.
pub fn run(input: &[u8]) {
    let mut c = Choices::new(input);
    let key: [u8; 32] = c.array();
    let half: [u8; 16] = core::array::from_fn(|i| key[i]);
    let id = KeyId::new(c.byte() & 3).expect("two bits");
    match c.below(12) {
        0 => history(&mut c, Ccmp128::new(Ccmp128Key::new(&half), id)),
        1 => history(&mut c, Ccmp256::new(Ccmp256Key::new(&key), id)),
        2 => history(&mut c, Gcmp::new(GcmpKey::new_128(&half), id)),
        3 => history(&mut c, Gcmp::new(GcmpKey::new_256(&key), id)),
        4 => history(&mut c, Tkip::new(TkipKey::new(&key), id)),
        5 => single(&mut c, &Ccmp128Key::new(&half), id),
        6 => single(&mut c, &Ccmp256Key::new(&key), id),
        7 => single(&mut c, &GcmpKey::new_128(&half), id),
        8 => single(&mut c, &GcmpKey::new_256(&key), id),
        9 => tkip(&mut c, &key, &half, id),
        10 => wep(&mut c, &key, id),
        _ => integrity(&mut c, &key),
    }
}

/// A header as a sender would make it, or any bytes at all.
fn header(c: &mut Choices<'_>) -> Vec<u8> {
    match c.below(4) {
        0 => c.run().to_vec(),
        // QoS data with and without a fourth address, other data, robust management.
        kind => {
            let control = [[0x88, 0x41], [0x88, 0x43], [0x08, 0x42], [0xd0, 0x40]][kind & 3];
            let mut h =
                [&control[..], &[0, 0], &c.array::<6>(), &c.array::<6>(), &c.array::<6>()].concat();
            h.extend((u16::from(c.byte()) << 4).to_le_bytes());
            match kind & 3 {
                0 => h.extend([c.byte() & 15, 0]),
                1 => {
                    h.extend(c.array::<6>());
                    h.extend([c.byte() & 15, 0]);
                }
                _ => {}
            }
            h
        }
    }
}

/// Several frames under counting halves, delivered in any order, more than once, or spoiled.
fn history<C: LinkCipher>(c: &mut Choices<'_>, cipher: C) {
    let (mut seal, mut open) = cipher.split();
    let room = C::OVERHEAD;
    let mut sent: Vec<(Vec<u8>, Vec<u8>, Vec<u8>)> = Vec::new();
    let mut newest: HashMap<Vec<u8>, usize> = HashMap::new();
    while !c.is_empty() {
        if sent.is_empty() || c.is() {
            let (h, payload) = (header(c), c.run());
            let mut buf = vec![0; room.headroom + payload.len() + room.tailroom];
            buf[room.headroom..room.headroom + payload.len()].copy_from_slice(payload);
            if let Ok(len) = seal.seal(&h, &mut buf, payload.len()) {
                buf.truncate(len);
                sent.push((h, buf, payload.to_vec()));
            }
            continue;
        }
        let index = c.below(sent.len());
        let (h, sealed, payload) = &sent[index];
        let mut buf = sealed.clone();
        if c.is() {
            spoil(c, &mut buf);
            assert!(open.open(h, &mut buf).is_err(), "a spoiled frame opened");
            continue;
        }
        let mac = MacHeader::new_checked(h).expect("it was sealed");
        // A frame opens if it is whole, protected, and the newest of its lane.
        let fc = mac.frame_control();
        let fragment = fc.has_more_fragments() || mac.sequence().is_none_or(|s| s.fragment() != 0);
        let tid = mac.qos_control().map_or(0, |q| q.tid());
        let lane = if fc.carries_data() || fc.kind() == slyfi_wire::ieee80211::Type::Data {
            vec![tid]
        } else {
            vec![16]
        };
        let is_new = newest.get(&lane).is_none_or(|n| index > *n);
        match open.open(h, &mut buf) {
            Ok(opened) => {
                assert!(fc.is_protected() && !fragment && is_new, "it should not have opened");
                assert_eq!(opened.payload(&buf), payload.as_slice());
                newest.insert(lane, index);
            }
            Err(_) => assert!(!fc.is_protected() || fragment || !is_new, "it should have opened"),
        }
    }
}

/// Changes one bit behind the cipher's header, or cuts the frame, or makes it longer.
fn spoil(c: &mut Choices<'_>, sealed: &mut Vec<u8>) {
    match c.below(4) {
        0 => sealed.truncate(c.below(sealed.len())),
        1 => sealed.push(c.byte()),
        _ => {
            let at = 8 + usize::from(c.short()) % (sealed.len() - 8);
            sealed[at] ^= 1 << (c.byte() & 7);
        }
    }
}

/// One frame under a key alone, at any number; then anything at all.
fn single<K: PacketKey>(c: &mut Choices<'_>, key: &K, id: KeyId) {
    let number = PacketNumber::new(c.long() >> 16).expect("48 bits");
    let (h, payload) = (header(c), c.run());
    let mut buf = vec![0; 8 + payload.len() + K::OVERHEAD.tailroom];
    buf[8..8 + payload.len()].copy_from_slice(payload);
    let before = buf.clone();
    let Some(len) = key.seal_at(number, id, &h, &mut buf, payload.len()) else {
        assert_eq!(buf, before, "nothing is touched");
        return;
    };
    assert_eq!(len, buf.len());
    let mut back = buf.clone();
    let opened = key.open_any(&h, &mut back).expect("what was sealed opens");
    assert_eq!((opened.number, opened.key_id), (number, id));
    assert_eq!(opened.opened.payload(&back), payload);
    // The addresses are covered, whatever the kind of frame.
    let mut other = h.clone();
    other[4 + c.below(18)] ^= c.byte().max(1);
    assert!(key.open_any(&other, &mut buf.clone()).is_err(), "another header");
    let mut bad = buf;
    spoil(c, &mut bad);
    assert!(key.open_any(&h, &mut bad).is_err(), "a spoiled frame");
    let mut any = c.rest().to_vec();
    assert!(key.open_any(&h, &mut any).is_err(), "invented");
}

fn tkip(c: &mut Choices<'_>, key: &[u8; 32], tk: &[u8; 16], id: KeyId) {
    let tkip = TkipKey::new(key);
    let number = PacketNumber::new(c.long() >> 16).expect("48 bits");
    let (h, payload) = (header(c), c.run());
    let mut buf = vec![0; 8 + payload.len() + 12];
    buf[8..8 + payload.len()].copy_from_slice(payload);
    let transmitter = h.get(10..16).and_then(|a| a.try_into().ok()).unwrap_or_default();
    let ttak = tkip.phase1(transmitter, number);
    let sealed = tkip.seal_at(&ttak, number, id, &h, &mut buf, payload.len());
    if sealed.is_some() {
        let mut back = buf.clone();
        let opened = tkip.open_any(&h, &mut back).expect("what was sealed opens");
        assert_eq!(opened.opened.payload(&back), payload);
        let mut back = buf.clone();
        let mpdu = open_mpdu(tk, &h, &mut back).expect("the layer below opens, too");
        assert_eq!(mpdu.opened.payload(&back)[..payload.len()], *payload);
        spoil(c, &mut buf);
        assert!(tkip.open_any(&h, &mut buf).is_err(), "a spoiled frame");
    }
    let mut any = c.rest().to_vec();
    let _ = open_mpdu(tk, &h, &mut any.clone());
    let _ = tkip.open_any(&h, &mut any);
}

/// WEP, whose checksum finds noise and proves nothing: single bits are noise.
fn wep(c: &mut Choices<'_>, key: &[u8; 32], id: KeyId) {
    let len = [5, 13, 16][c.below(3)];
    let key = WepKey::new(&key[..len]).expect("a legal length");
    let h = header(c);
    let (mut seal, mut open) = Wep::new(key.clone(), id, c.word()).split();
    let payload = c.run();
    let mut buf = vec![0; payload.len() + 8];
    buf[4..4 + payload.len()].copy_from_slice(payload);
    assert_eq!(seal.seal(&h, &mut buf, payload.len()), Ok(buf.len()));
    let mut back = buf.clone();
    let (found, opened) = key.open_any(&mut back).expect("what was sealed opens");
    assert_eq!((found, opened.payload(&back)), (id, payload));
    let mut bad = buf;
    let at = 4 + usize::from(c.short()) % (bad.len() - 4);
    bad[at] ^= 1 << (c.byte() & 7);
    assert!(key.open_any(&mut bad).is_err());
    let (_, mut clear) = Open.split();
    let rest = c.rest();
    let _ = open.open(&h, &mut rest.to_vec());
    let _ = clear.open(&h, &mut rest.to_vec());
    let _ = key.open_any(&mut rest.to_vec());
}

/// Management frames with an integrity element.
fn integrity(c: &mut Choices<'_>, key: &[u8; 32]) {
    let suites = [BipSuite::Cmac128, BipSuite::Gmac128, BipSuite::Gmac256, BipSuite::Cmac256];
    let suite = suites[c.below(4)];
    let key_len = [16, 32, 5][c.below(3)];
    let mut frame = vec![0xc0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    frame.extend(c.array::<12>());
    frame.extend([0, 0]);
    frame.extend(c.run());
    let mic = if c.is() { 8 } else { 16 };
    if c.is() {
        frame.extend([76, 8 + mic, 4, 0]);
        frame.extend(c.take(6 + usize::from(mic)));
    }
    let _ = MacHeader::new_checked(&frame).map(|m| bip::has_management_mic(m.body()));
    assert!(bip::verify(suite, &key[..key_len], &frame).is_err(), "invented");
    assert!(bip::verify(suite, &key[..key_len], c.rest()).is_err(), "invented");
}
