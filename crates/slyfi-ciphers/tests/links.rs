//! The halves behind the contract: numbers, replays, key identifiers, fragments, countermeasures.

mod common;

use common::qos_header;
use slyfi_base::{Duration, Exhausted, Instant, LinkCipher, OpenHalf, SealHalf, Undecryptable};
use slyfi_ciphers::ccmp::{Ccmp128, Ccmp128Key, Ccmp256, Ccmp256Key};
use slyfi_ciphers::danger::tkip::countermeasures::Consequence;
use slyfi_ciphers::danger::tkip::{Tkip, TkipKey};
use slyfi_ciphers::danger::wep::{Wep, WepKey};
use slyfi_ciphers::gcmp::{Gcmp, GcmpKey};
use slyfi_ciphers::replay::ReplayCounters;
use slyfi_ciphers::{KeyId, PacketNumber};

fn seal<S: SealHalf>(half: &mut S, headroom: usize, header: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut buf = vec![0; headroom + payload.len() + 20];
    buf[headroom..headroom + payload.len()].copy_from_slice(payload);
    let len = half.seal(header, &mut buf, payload.len()).unwrap();
    buf.truncate(len);
    buf
}

fn open<O: OpenHalf>(half: &mut O, header: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Undecryptable> {
    let mut buf = sealed.to_vec();
    let opened = half.open(header, &mut buf)?;
    Ok(opened.payload(&buf).to_vec())
}

/// What every cipher with a packet number must do.
fn counts_and_refuses_replays<C: LinkCipher>(cipher: C, other_key_id: C) {
    let headroom = C::OVERHEAD.headroom;
    let (mut tx, mut rx) = cipher.split();
    let (_, mut wrong_id) = other_key_id.split();
    let h = |tid, sequence| qos_header(tid, sequence);

    let first = seal(&mut tx, headroom, &h(5, 1), b"first");
    let second = seal(&mut tx, headroom, &h(5, 2), b"second");
    assert_eq!(first.len(), headroom + 5 + C::OVERHEAD.tailroom);
    assert_eq!(open(&mut wrong_id, &h(5, 1), &first), Err(Undecryptable), "another key identifier");
    assert_eq!(open(&mut rx, &h(5, 1), &first).as_deref(), Ok(&b"first"[..]));
    assert_eq!(open(&mut rx, &h(5, 1), &first), Err(Undecryptable), "a replay");
    assert_eq!(open(&mut rx, &h(5, 2), &second).as_deref(), Ok(&b"second"[..]));

    // Another TID counts alone: an older number is new there, and only once.
    let late = seal(&mut tx, headroom, &h(1, 3), b"late");
    let early = seal(&mut tx, headroom, &h(6, 4), b"early");
    assert!(open(&mut rx, &h(6, 4), &early).is_ok());
    assert!(open(&mut rx, &h(1, 3), &late).is_ok());
    assert_eq!(open(&mut rx, &h(1, 3), &late), Err(Undecryptable));

    // A damaged frame does not move the counter.
    let good = seal(&mut tx, headroom, &h(5, 5), b"good");
    let mut bad = good.clone();
    *bad.last_mut().unwrap() ^= 1;
    assert_eq!(open(&mut rx, &h(5, 5), &bad), Err(Undecryptable));
    assert!(open(&mut rx, &h(5, 5), &good).is_ok());

    // Not protected, or a fragment.
    let frame = seal(&mut tx, headroom, &h(5, 6), b"frame");
    let mut clear = h(5, 6);
    clear[1] &= !0x40;
    assert_eq!(open(&mut rx, &clear, &frame), Err(Undecryptable));
    for (byte, bit) in [(1, 0x04), (22, 0x01)] {
        let mut fragment = h(5, 6);
        fragment[byte] |= bit;
        assert_eq!(open(&mut rx, &fragment, &frame), Err(Undecryptable));
    }
    assert!(open(&mut rx, &h(5, 6), &frame).is_ok());

    // No room: nothing is sealed and no number spent.
    assert_eq!(tx.seal(&h(5, 7), &mut [0; 10], 5), Err(Exhausted));
    assert_eq!(tx.seal(&[0x88], &mut [0; 100], 5), Err(Exhausted));
}

#[test]
fn ccmp_and_gcmp_count_and_refuse_replays() {
    let id = |n| KeyId::new(n).unwrap();
    let k = Ccmp128Key::new(&[1; 16]);
    counts_and_refuses_replays(Ccmp128::new(k.clone(), id(0)), Ccmp128::new(k, id(3)));
    let k = Ccmp256Key::new(&[2; 32]);
    counts_and_refuses_replays(Ccmp256::new(k.clone(), id(3)), Ccmp256::new(k, id(1)));
    for k in [GcmpKey::new_128(&[3; 16]), GcmpKey::new_256(&[4; 32])] {
        counts_and_refuses_replays(Gcmp::new(k.clone(), id(2)), Gcmp::new(k, id(0)));
    }
}

#[test]
fn tkip_counts_and_refuses_replays() {
    let k = TkipKey::new(&core::array::from_fn(|i| i as u8));
    let id = |n| KeyId::new(n).unwrap();
    counts_and_refuses_replays(Tkip::new(k.clone(), id(1)), Tkip::new(k, id(2)));
}

#[test]
fn a_key_ends_with_its_last_number() {
    let last = PacketNumber::new(PacketNumber::MAX.get() - 1).unwrap();
    let key = Ccmp128Key::new(&[1; 16]);
    let (mut tx, mut rx) =
        Ccmp128::resumed(key, KeyId::PAIRWISE, last, ReplayCounters::starting_at(last)).split();
    let frame = seal(&mut tx, 8, &qos_header(0, 1), b"the last one");
    assert_eq!(tx.last_number(), PacketNumber::MAX);
    assert!(open(&mut rx, &qos_header(0, 1), &frame).is_ok());
    assert_eq!(tx.seal(&qos_header(0, 2), &mut [0; 100], 5), Err(Exhausted));

    let key = TkipKey::new(&[7; 32]);
    let (tx, _) = Tkip::new(key, KeyId::PAIRWISE).split();
    let mut tx = tx.resumed(PacketNumber::MAX);
    assert_eq!(tx.seal(&qos_header(0, 2), &mut [0; 100], 5), Err(Exhausted));
}

#[test]
fn tkip_goes_on_over_the_edge_of_phase_1() {
    let key = TkipKey::new(&core::array::from_fn(|i| i as u8 ^ 0x5a));
    let (tx, mut rx) = Tkip::new(key, KeyId::PAIRWISE).split();
    let mut tx = tx.resumed(PacketNumber::new(0x1_fffe).unwrap());
    for sequence in 0..4 {
        let frame = seal(&mut tx, 8, &qos_header(0, sequence), b"over the edge");
        assert!(open(&mut rx, &qos_header(0, sequence), &frame).is_ok(), "{sequence}");
    }
}

#[test]
fn wep_goes_round_and_replays_pass() {
    let wep = Wep::new(WepKey::new(b"fiveB").unwrap(), KeyId::new(2).unwrap(), 0x00ff_ffff);
    let (mut tx, mut rx) = wep.split();
    let h = qos_header(0, 1);
    let last = seal(&mut tx, 4, &h, b"same payload");
    let first = seal(&mut tx, 4, &h, b"same payload");
    assert_eq!((&last[..4], &first[..4]), (&[0xff, 0xff, 0xff, 0x80][..], &[0, 0, 0, 0x80][..]));
    for _ in 0..3 {
        assert_eq!(open(&mut rx, &h, &last).as_deref(), Ok(&b"same payload"[..]));
    }
    let mut bad = first.clone();
    bad[3] = 0x40;
    assert_eq!(open(&mut rx, &h, &bad), Err(Undecryptable), "another key identifier");
    assert!(WepKey::new(b"sixsix").is_none());
}

/// Flips payload bits under the ICV, which is linear: only Michael can see it.
fn flip_under_icv(sealed: &mut [u8], at: usize) {
    let body = sealed.len() - 4;
    let mut delta = vec![0u8; body - 8];
    delta[at] = 1;
    let zeros = vec![0u8; body - 8];
    let change = slyfi_ciphers::crc32::crc32(&delta) ^ slyfi_ciphers::crc32::crc32(&zeros);
    sealed[8 + at] ^= 1;
    for (byte, c) in sealed[body..].iter_mut().zip(change.to_le_bytes()) {
        *byte ^= c;
    }
}

#[test]
fn two_michael_failures_in_a_minute_shut_tkip_down() {
    let key = TkipKey::new(&core::array::from_fn(|i| i as u8));
    let (mut tx, mut rx) = Tkip::new(key, KeyId::PAIRWISE).split();
    let start = Instant::from_micros(1_000_000_000);
    let forged = |tx: &mut _| {
        let mut frame = seal(tx, 8, &qos_header(0, 1), b"hello");
        flip_under_icv(&mut frame, 0);
        frame
    };
    rx.advance_to(start);
    let frame = forged(&mut tx);
    assert_eq!(open(&mut rx, &qos_header(0, 1), &frame), Err(Undecryptable));
    assert_eq!(rx.take_consequence(), Some(Consequence::Report));
    assert_eq!(rx.take_consequence(), None);
    let good = seal(&mut tx, 8, &qos_header(0, 2), b"hello");
    assert!(open(&mut rx, &qos_header(0, 2), &good).is_ok());

    rx.advance_to(start + Duration::from_secs(59));
    let frame = forged(&mut tx);
    assert_eq!(open(&mut rx, &qos_header(0, 1), &frame), Err(Undecryptable));
    let until = start + Duration::from_secs(119);
    assert_eq!(rx.take_consequence(), Some(Consequence::ShutDown { until }));
    let good = seal(&mut tx, 8, &qos_header(0, 3), b"hello");
    assert_eq!(open(&mut rx, &qos_header(0, 3), &good), Err(Undecryptable));
    rx.advance_to(until);
    assert!(open(&mut rx, &qos_header(0, 3), &good).is_ok());
}

#[test]
fn a_wrong_icv_is_noise_and_no_michael_failure() {
    let key = TkipKey::new(&core::array::from_fn(|i| i as u8));
    let (mut tx, mut rx) = Tkip::new(key, KeyId::PAIRWISE).split();
    for _ in 0..5 {
        let mut frame = seal(&mut tx, 8, &qos_header(0, 1), b"hello");
        frame[9] ^= 1;
        assert_eq!(open(&mut rx, &qos_header(0, 1), &frame), Err(Undecryptable));
        assert_eq!(rx.take_consequence(), None);
    }
}
