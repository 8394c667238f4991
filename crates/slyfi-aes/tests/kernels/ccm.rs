//! CCM: every kernel against OpenSSL's answers and against the portable twin.

use crate::support::{Noise, backends};
use slyfi_aes::{Backend, Block, CcmHead, CcmKey, Mismatch};

/// The first blocks of a message (RFC 3610 §2.2, §2.3) with a tag of `m` bytes; associated data below
/// 0xff00 bytes only.
pub struct Message {
    a0: Block,
    first: Vec<Block>,
    rest: Vec<u8>,
}

impl Message {
    pub fn new(m: usize, nonce: &[u8], aad: &[u8], len: usize) -> Self {
        let l = 15 - nonce.len();
        let mut a0 = [0; 16];
        a0[0] = l as u8 - 1;
        a0[1..][..nonce.len()].copy_from_slice(nonce);
        let mut b0 = a0;
        b0[0] |= u8::from(!aad.is_empty()) << 6 | ((m as u8 - 2) / 2) << 3;
        let len = (len as u64).to_be_bytes();
        b0[16 - l..].copy_from_slice(&len[8 - l..]);
        let mut first = vec![b0];
        let mut rest = vec![];
        if !aad.is_empty() {
            let mut encoded = [&(aad.len() as u16).to_be_bytes(), aad].concat();
            if encoded.len() < 16 {
                encoded.resize(16, 0);
            }
            rest = encoded.split_off(16);
            first.push(encoded.try_into().expect("the first sixteen"));
        }
        Self { a0, first, rest }
    }

    pub fn head(&self) -> CcmHead<'_> {
        CcmHead { counter: self.a0, first: &self.first, rest: &self.rest }
    }
}

/// A message of random size and content, its nonce and associated data too.
pub fn message(noise: &mut Noise, len: usize) -> Message {
    let (nonce, aad) = (7 + noise.below(7), [0, 1, 14, 22, 24, 30, 61][noise.below(7)]);
    let (nonce, aad) = (noise.bytes(nonce), noise.bytes(aad));
    Message::new(8, &nonce, &aad, len)
}

#[test]
fn every_length_to_1600_at_every_alignment_equals_the_portable_twin() {
    let mut noise = Noise(1);
    for backend in backends() {
        for len in 0..=1600 {
            let key = noise.bytes([16, 24, 32][len % 3]);
            let message = message(&mut noise, len);
            let plain = noise.bytes(len);
            let mut expected = plain.clone();
            let twin = CcmKey::on(Backend::Portable, &key);
            let expected_tag = twin.seal_in_place(&message.head(), &mut expected);

            let ours = CcmKey::on(backend, &key);
            let offset = noise.below(64);
            let mut buffer = vec![0xa5; offset + len + 64];
            let data = &mut buffer[offset..][..len];
            data.copy_from_slice(&plain);
            let tag = ours.seal_in_place(&message.head(), data);
            assert_eq!((&*data, tag), (&expected[..], expected_tag), "{backend}, {len} bytes");
            let opened = ours.open_in_place(&message.head(), data, &tag[..8]);
            assert_eq!(opened, Ok(()), "{backend}, {len} bytes");
            assert_eq!(data, plain, "{backend}, {len} bytes");
            let outside = buffer[..offset].iter().chain(&buffer[offset + len..]);
            assert!(outside.into_iter().all(|byte| *byte == 0xa5), "{backend}, {len}: outside");
        }
    }
}

#[test]
fn any_wrong_bit_is_a_mismatch_and_leaves_nothing_unverified() {
    let mut noise = Noise(2);
    for backend in backends() {
        for len in [0, 5, 16, 100] {
            let key = CcmKey::on(backend, &noise.bytes(16));
            let (nonce, aad) = (noise.bytes(13), noise.bytes(22));
            let mut sealed = noise.bytes(len);
            let message = Message::new(8, &nonce, &aad, len);
            let tag = key.seal_in_place(&message.head(), &mut sealed);
            let refused = |message: &Message, data: &[u8], tag: &[u8]| {
                let mut copy = data.to_vec();
                assert_eq!(key.open_in_place(&message.head(), &mut copy, tag), Err(Mismatch));
                assert!(copy.iter().all(|byte| *byte == 0), "{backend}");
            };
            let flipped = |bytes: &[u8], bit: usize| {
                let mut bytes = bytes.to_vec();
                bytes[bit / 8] ^= 1 << (bit % 8);
                bytes
            };
            for bit in 0..64 {
                refused(&message, &sealed, &flipped(&tag[..8], bit));
            }
            for bit in 0..8 * nonce.len() {
                refused(&Message::new(8, &flipped(&nonce, bit), &aad, len), &sealed, &tag[..8]);
            }
            for bit in 0..8 * aad.len() {
                refused(&Message::new(8, &nonce, &flipped(&aad, bit), len), &sealed, &tag[..8]);
            }
            for bit in 0..8 * len {
                refused(&message, &flipped(&sealed, bit), &tag[..8]);
            }
        }
    }
}

#[test]
fn tags_of_lengths_that_ccm_has_not_never_verify() {
    for backend in backends() {
        let key = CcmKey::on(backend, &[7; 16]);
        let message = Message::new(16, &[1; 13], &[2; 22], 4);
        let mut sealed = *b"text";
        let tag = key.seal_in_place(&message.head(), &mut sealed);
        let longer = [&tag[..], &[0]].concat();
        for tag in [&tag[..0], &tag[..3], &longer] {
            let mut data = sealed;
            let opened = key.open_in_place(&message.head(), &mut data, tag);
            assert_eq!(opened, Err(Mismatch), "{backend}, {} bytes", tag.len());
        }
        assert_eq!(key.open_in_place(&message.head(), &mut sealed, &tag[..4]), Ok(()));
        assert_eq!(&sealed, b"text");
    }
}

#[test]
fn the_counter_carries_over_its_low_bytes() {
    // 0xfffe blocks counted before the first: three blocks on, the third byte from the end changes.
    for backend in backends() {
        let mut counter = [9; 16];
        counter[13..].copy_from_slice(&[0, 0xff, 0xfe]);
        let head = CcmHead { counter, first: &[], rest: &[] };
        let mut data = [0; 48];
        CcmKey::on(backend, &[3; 16]).seal_in_place(&head, &mut data);
        let key = slyfi_aes::EncryptKey::on(Backend::Portable, &[3; 16]);
        for (i, stream) in data.as_chunks().0.iter().enumerate() {
            let mut expected = (u128::from_be_bytes(counter) + 1 + i as u128).to_be_bytes();
            key.encrypt_block(&mut expected);
            assert_eq!(stream, &expected, "{backend}, block {i}");
        }
    }
}
