//! The classic attacks on WEP and TKIP, each as a claim that the cipher fails.

mod common;

use common::qos_header;
use slyfi_base::{LinkCipher, OpenHalf, SealHalf};
use slyfi_ciphers::KeyId;
use slyfi_ciphers::crc32::crc32;
use slyfi_ciphers::danger::tkip::{MichaelKey, Tkip, TkipKey, michael};
use slyfi_ciphers::danger::wep::{Wep, WepKey};

fn seal<S: SealHalf>(half: &mut S, headroom: usize, header: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut buf = vec![0; headroom + payload.len() + 20];
    buf[headroom..headroom + payload.len()].copy_from_slice(payload);
    let len = half.seal(header, &mut buf, payload.len()).unwrap();
    buf.truncate(len);
    buf
}

fn wep(first_iv: u32) -> Wep {
    Wep::new(WepKey::new(b"thirteenBytes").unwrap(), KeyId::PAIRWISE, first_iv)
}

#[test]
fn wep_bits_can_be_flipped_and_the_checksum_corrected_without_the_key() {
    let (mut tx, mut rx) = wep(9).split();
    let header = qos_header(0, 1);
    let mut frame = seal(&mut tx, 4, &header, b"pay 100 to alice");
    let want = b"pay 999 to mallo";
    let delta: Vec<u8> = b"pay 100 to alice".iter().zip(want).map(|(a, b)| a ^ b).collect();
    let patch = crc32(&delta) ^ crc32(&[0; 16]);
    for (byte, d) in frame[4..].iter_mut().zip(delta.iter().chain(&patch.to_le_bytes())) {
        *byte ^= d;
    }
    assert_eq!(rx.open(&header, &mut frame).unwrap().payload(&frame), want);

    // The twin without the patch is refused, so it is the linearity that did it.
    let mut frame = seal(&mut tx, 4, &header, b"pay 100 to alice");
    frame[4] ^= 1;
    assert!(rx.open(&header, &mut frame).is_err());
}

#[test]
fn wep_keystream_repeats_with_its_iv_and_one_known_frame_opens_the_rest() {
    let (header, known) = (qos_header(0, 1), [0x41; 64]);
    let (mut tx, mut rx) = wep(1234).split();
    let first = seal(&mut tx, 4, &header, &known);
    // A card that starts over at the same IV after a reset.
    let (mut again, _) = wep(1234).split();
    let secret = seal(&mut again, 4, &header, b"the second frame's secret");
    let stream: Vec<u8> = first[4..68].iter().zip(known).map(|(c, p)| c ^ p).collect();
    let opened: Vec<u8> = secret[4..].iter().zip(&stream).map(|(c, s)| c ^ s).collect();
    assert_eq!(&opened[..25], b"the second frame's secret");

    // And forges: any payload of that length, accepted by the real receiver.
    let payload = b"injected without a key";
    let mut forged = first[..4].to_vec();
    let icv = crc32(payload).to_le_bytes();
    forged.extend(payload.iter().chain(&icv).zip(&stream).map(|(p, s)| p ^ s));
    assert_eq!(rx.open(&header, &mut forged).unwrap().payload(&forged), payload);
}

#[test]
fn tkip_michael_key_falls_out_of_one_known_payload() {
    let tk: [u8; 32] = core::array::from_fn(|i| (i * 7) as u8);
    let header = qos_header(2, 1);
    let payload = b"a payload that the attacker knows, and so the code inside";
    // What an attacker has who learned payload and code of one frame (by chopping bytes off it, say).
    let pseudo = michael::header([2, 0, 0, 0, 0, 3], [2, 0, 0, 0, 0, 2], 2);
    let to_ap = MichaelKey::new(tk[24..].try_into().unwrap());
    let mic = slyfi_ciphers::danger::tkip::michael(&to_ap, &[&pseudo, payload]);
    let recovered = MichaelKey::recover(&[&pseudo, payload], mic).unwrap();
    assert_eq!(recovered.to_bytes(), tk[24..]);

    // The code is the one that TKIP really sends: the frame opens, so it was right.
    let (mut tx, mut rx) = Tkip::new(TkipKey::new(&tk), KeyId::PAIRWISE).split();
    let mut frame = seal(&mut tx, 8, &header, payload);
    assert!(rx.open(&header, &mut frame).is_ok());

    // With it any payload for these ends gets a valid code; a code under another key does not match.
    let other = slyfi_ciphers::danger::tkip::michael(&recovered, &[&pseudo, b"forged"]);
    assert_eq!(other, slyfi_ciphers::danger::tkip::michael(&to_ap, &[&pseudo, b"forged"]));
    let wrong = MichaelKey::new([1; 8]);
    assert_ne!(other, slyfi_ciphers::danger::tkip::michael(&wrong, &[&pseudo, b"forged"]));
}

#[test]
fn tkip_michael_does_not_cover_the_end_of_the_frame_header() {
    // Sequence number, duration and Retry may change; what it covers may not.
    let tk: [u8; 32] = core::array::from_fn(|i| (i * 7) as u8);
    let (mut tx, mut rx) = Tkip::new(TkipKey::new(&tk), KeyId::PAIRWISE).split();
    let frame = seal(&mut tx, 8, &qos_header(2, 1), b"payload");
    let mut moved = qos_header(2, 1);
    moved[20] ^= 1;
    assert!(rx.open(&moved, &mut frame.clone()).is_err(), "the destination is covered");
    let mut renumbered = qos_header(2, 99);
    renumbered[2] = 0x3a;
    assert!(rx.open(&renumbered, &mut frame.clone()).is_ok());
}
