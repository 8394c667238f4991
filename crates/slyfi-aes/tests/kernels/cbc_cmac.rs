//! One frame of CBC and CMAC: SP 800-38A answers, and every kernel against the portable twin.

use crate::support::{Noise, backends, hex, hex_array};
use slyfi_aes::{Backend, Block, CbcCmacKey, Cmac, Mismatch};

#[test]
fn sp_800_38a_f_2_1_and_the_cmac_of_its_ciphertext() {
    let key = hex_array("2b7e151628aed2a6abf7158809cf4f3c");
    let iv = hex_array("000102030405060708090a0b0c0d0e0f");
    let plain = hex("6bc1bee2 2e409f96 e93d7e11 7393172a ae2d8a57 1e03ac9c 9eb76fac 45af8e51 \
         30c81c46 a35ce411 e5fbc119 1a0a52ef f69f2445 df4f9b17 ad2b417b e66c3710");
    let cipher = hex("7649abac 8119b246 cee98e9b 12e9197d 5086cb9b 507219ee 95db113a 917678b2 \
         73bed6b8 e3c1743b 7116e69e 22229516 3ff1caa1 681fac09 120eca30 7586e1a7");
    let mac_key = [0x5a; 16];
    for backend in backends() {
        let pair = CbcCmacKey::on(backend, &key, &mac_key);
        let cmac = Cmac::on(Backend::Portable, &mac_key);
        for prefix in [None, Some([7; 16])] {
            let mut data = plain.clone();
            let tag = pair.seal_in_place(&iv, prefix.as_ref(), &mut data);
            assert_eq!(data, cipher, "{backend}");
            let prefix_part = prefix.as_ref().map_or(&[][..], |prefix| prefix);
            assert_eq!(tag, cmac.mac(&[prefix_part, &cipher]), "{backend}");
            assert_eq!(pair.open_in_place(&iv, prefix.as_ref(), &mut data, &tag), Ok(()));
            assert_eq!(data, plain, "{backend}");
        }
    }
}

#[test]
fn every_length_to_2304_at_every_alignment_equals_the_portable_twin() {
    let mut noise = Noise(1);
    for backend in backends() {
        for blocks in 0..=144 {
            let (key, mac): ([u8; 16], [u8; 16]) = (noise.array(), noise.array());
            let iv: Block = noise.array();
            let prefix = (noise.below(2) == 0).then(|| noise.array::<16>());
            let plain = noise.bytes(16 * blocks);
            let mut expected = plain.clone();
            let twin = CbcCmacKey::on(Backend::Portable, &key, &mac);
            let expected_tag = twin.seal_in_place(&iv, prefix.as_ref(), &mut expected);

            let ours = CbcCmacKey::on(backend, &key, &mac);
            let offset = noise.below(64);
            let mut buffer = vec![0xa5; offset + plain.len() + 64];
            let data = &mut buffer[offset..][..plain.len()];
            data.copy_from_slice(&plain);
            let tag = ours.seal_in_place(&iv, prefix.as_ref(), data);
            assert_eq!((&*data, tag), (&expected[..], expected_tag), "{backend}, {blocks} blocks");
            assert_eq!(ours.open_in_place(&iv, prefix.as_ref(), data, &tag), Ok(()));
            assert_eq!(data, plain, "{backend}, {blocks} blocks");
            let (before, after) = (&buffer[..offset], &buffer[offset + plain.len()..]);
            assert!(before.iter().chain(after).all(|byte| *byte == 0xa5), "{backend}: outside");
        }
    }
}

#[test]
fn any_wrong_bit_is_a_mismatch_and_leaves_the_data_alone() {
    let mut noise = Noise(2);
    for backend in backends() {
        let key = CbcCmacKey::on(backend, &noise.array(), &noise.array());
        let (iv, prefix) = (noise.array(), noise.array());
        let mut sealed = noise.bytes(80);
        let tag = key.seal_in_place(&iv, Some(&prefix), &mut sealed);
        let refused = |prefix: &Block, data: &[u8], tag: &Block| {
            let mut copy = data.to_vec();
            assert_eq!(key.open_in_place(&iv, Some(prefix), &mut copy, tag), Err(Mismatch));
            assert_eq!(copy, data, "{backend}");
        };
        let flip = |bytes: &mut [u8], bit: usize| bytes[bit / 8] ^= 1 << (bit % 8);
        for bit in 0..8 * 16 {
            let (mut wrong_tag, mut wrong_prefix) = (tag, prefix);
            flip(&mut wrong_tag, bit);
            flip(&mut wrong_prefix, bit);
            refused(&prefix, &sealed, &wrong_tag);
            refused(&wrong_prefix, &sealed, &tag);
        }
        for bit in 0..8 * sealed.len() {
            let mut wrong = sealed.clone();
            flip(&mut wrong, bit);
            refused(&prefix, &wrong, &tag);
        }
        for len in 0..sealed.len() {
            refused(&prefix, &sealed[..len], &tag);
        }
    }
}

#[test]
#[should_panic(expected = "CBC seals whole blocks")]
fn sealing_a_part_of_a_block_is_a_mistake_of_the_caller() {
    CbcCmacKey::new(&[0; 16], &[1; 16]).seal_in_place(&[0; 16], None, &mut [0; 17]);
}

#[test]
fn the_encryption_key_is_the_one_that_encrypts() {
    let key = CbcCmacKey::new(&[3; 16], &[4; 16]);
    let (mut block, mut data) = ([9; 16], [9; 16]);
    key.encrypt_key().encrypt_block(&mut block);
    key.seal_in_place(&[0; 16], None, &mut data);
    assert_eq!(block, data);
}
