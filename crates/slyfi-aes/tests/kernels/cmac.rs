//! CMAC: the answers of RFC 4493, and every kernel against the portable twin.

use crate::support::{Noise, backends, hex, hex_array};
use slyfi_aes::{Backend, Cmac, Mismatch};

#[test]
fn rfc_4493_section_4() {
    let key = hex_array("2b7e151628aed2a6abf7158809cf4f3c");
    let message = hex("6bc1bee2 2e409f96 e93d7e11 7393172a ae2d8a57 1e03ac9c 9eb76fac 45af8e51 \
         30c81c46 a35ce411 e5fbc119 1a0a52ef f69f2445 df4f9b17 ad2b417b e66c3710");
    let answers = [
        (0, "bb1d6929e95937287fa37d129b756746"),
        (16, "070a16b46b4d4144f79bdd9dd04a287c"),
        (40, "dfa66747de9ae63030ca32611497c827"),
        (64, "51f0bebf7e3b9d92fc49741779363cfe"),
    ];
    for backend in backends() {
        let cmac = Cmac::on(backend, &key);
        for (len, tag) in answers {
            assert_eq!(cmac.mac(&[&message[..len]]), hex_array(tag), "{backend}, {len} bytes");
        }
    }
}

#[test]
fn parts_are_one_message_wherever_they_are_cut() {
    let mut noise = Noise(1);
    for backend in backends() {
        for _ in 0..500 {
            let key = noise.array();
            let len = noise.below(130);
            let message = noise.bytes(len);
            let (a, b) = (noise.below(len + 1), noise.below(len + 1));
            let (a, b) = (a.min(b), a.max(b));
            let parts = [&message[..a], &[], &message[a..b], &message[b..]];
            let whole = Cmac::on(Backend::Portable, &key).mac(&[&message]);
            assert_eq!(Cmac::on(backend, &key).mac(&parts), whole, "{backend}, {len}: {a}, {b}");
        }
    }
}

#[test]
fn every_length_to_2304_equals_the_portable_twin() {
    let mut noise = Noise(2);
    let message = noise.bytes(2304);
    for backend in backends() {
        let key = noise.array();
        let (ours, twin) = (Cmac::on(backend, &key), Cmac::on(Backend::Portable, &key));
        for len in 0..=message.len() {
            let at = noise.below(16).min(message.len() - len);
            let message = &message[at..][..len];
            assert_eq!(ours.mac(&[message]), twin.mac(&[message]), "{backend}, {len} bytes");
        }
    }
}

#[test]
fn any_wrong_bit_is_a_mismatch() {
    let mut noise = Noise(3);
    for backend in backends() {
        let cmac = Cmac::on(backend, &noise.array());
        let mut message = noise.bytes(37);
        let mut tag = cmac.mac(&[&message]);
        assert_eq!(cmac.verify(&[&message], &tag), Ok(()));
        for bit in 0..8 * 16 {
            tag[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(cmac.verify(&[&message], &tag), Err(Mismatch), "{backend}");
            tag[bit / 8] ^= 1 << (bit % 8);
        }
        for bit in 0..8 * message.len() {
            message[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(cmac.verify(&[&message], &tag), Err(Mismatch), "{backend}");
            message[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
