//! GCM: answers of its specification, and every kernel against the portable twin.

use crate::support::{Noise, backends, hex, hex_array};
use slyfi_aes::{
    Backend, Block, GcmKey, GcmOpen, GcmSeal, Mismatch, gcm_open_batch, gcm_seal_batch,
};

/// McGrew and Viega, "The Galois/Counter Mode of Operation", appendix B, which SP 800-38D refers to
/// for examples: test cases 1 to 4 and 13 to 16. Key, nonce, associated data, plaintext, ciphertext,
/// tag.
const ANSWERS: [[&str; 6]; 8] = [
    [
        "00000000000000000000000000000000",
        "000000000000000000000000",
        "",
        "",
        "",
        "58e2fccefa7e3061367f1d57a4e7455a",
    ],
    [
        "00000000000000000000000000000000",
        "000000000000000000000000",
        "",
        "00000000000000000000000000000000",
        "0388dace60b6a392f328c2b971b2fe78",
        "ab6e47d42cec13bdf53a67b21257bddf",
    ],
    [
        "feffe9928665731c6d6a8f9467308308",
        "cafebabefacedbaddecaf888",
        "",
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
         1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255",
        "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e\
         21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985",
        "4d5c2af327cd64a62cf35abd2ba6fab4",
    ],
    [
        "feffe9928665731c6d6a8f9467308308",
        "cafebabefacedbaddecaf888",
        "feedfacedeadbeeffeedfacedeadbeefabaddad2",
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
         1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
        "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e\
         21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
        "5bc94fbc3221a5db94fae95ae7121a47",
    ],
    [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "000000000000000000000000",
        "",
        "",
        "",
        "530f8afbc74536b9a963b4f1c4cb738b",
    ],
    [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "000000000000000000000000",
        "",
        "00000000000000000000000000000000",
        "cea7403d4d606b6e074ec5d3baf39d18",
        "d0d1c8a799996bf0265b98b5d48ab919",
    ],
    [
        "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
        "cafebabefacedbaddecaf888",
        "",
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
         1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255",
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa\
         8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad",
        "b094dac5d93471bdec1a502270e3cc6c",
    ],
    [
        "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
        "cafebabefacedbaddecaf888",
        "feedfacedeadbeeffeedfacedeadbeefabaddad2",
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
         1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa\
         8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
        "76fc6ece0f4e1768cddf8853bb2d551b",
    ],
];

fn key_on(backend: Backend, key: &[u8]) -> GcmKey {
    match key.try_into() {
        Ok(key) => GcmKey::on_128(backend, key),
        Err(_) => GcmKey::on_256(backend, key.try_into().expect("16 or 32 bytes")),
    }
}

#[test]
fn the_answers_of_the_specification() {
    for backend in backends() {
        for (i, [key, nonce, aad, plain, cipher, tag]) in ANSWERS.into_iter().enumerate() {
            let key = key_on(backend, &hex(key));
            let (nonce, aad, plain) = (hex_array(nonce), hex(aad), hex(plain));
            let mut data = plain.clone();
            let computed = key.seal_in_place(&nonce, &aad, &mut data);
            assert_eq!((&data, computed), (&hex(cipher), hex_array(tag)), "{backend}, answer {i}");
            assert_eq!(key.open_in_place(&nonce, &aad, &mut data, &computed), Ok(()));
            assert_eq!(data, plain, "{backend}, answer {i}");
        }
    }
}

#[test]
fn every_length_to_2304_at_every_alignment_equals_the_portable_twin() {
    let mut noise = Noise(1);
    for backend in backends() {
        for len in 0..=2304 {
            let key = noise.bytes(if len % 3 == 0 { 32 } else { 16 });
            let nonce = noise.array();
            let aad_len = if len % 2 == 0 { 16 } else { noise.below(600) };
            let aad = noise.bytes(aad_len);
            let plain = noise.bytes(len);
            let mut expected = plain.clone();
            let twin = key_on(Backend::Portable, &key);
            let expected_tag = twin.seal_in_place(&nonce, &aad, &mut expected);

            let ours = key_on(backend, &key);
            let offset = noise.below(64);
            let mut buffer = vec![0xa5; offset + len + 64];
            let data = &mut buffer[offset..][..len];
            data.copy_from_slice(&plain);
            let tag = ours.seal_in_place(&nonce, &aad, data);
            assert_eq!((&*data, tag), (&expected[..], expected_tag), "{backend}, {len}, {aad_len}");
            assert_eq!(ours.open_in_place(&nonce, &aad, data, &tag), Ok(()), "{backend}, {len}");
            assert_eq!(data, plain, "{backend}, {len} bytes");
            let outside = buffer[..offset].iter().chain(&buffer[offset + len..]);
            assert!(outside.into_iter().all(|byte| *byte == 0xa5), "{backend}, {len}: outside");
        }
    }
}

#[test]
fn any_wrong_bit_is_a_mismatch_and_leaves_the_data_alone() {
    let mut noise = Noise(2);
    for backend in backends() {
        for len in [0, 5, 64, 300] {
            let key = GcmKey::on_128(backend, &noise.array());
            let (nonce, aad): ([u8; 12], [u8; 16]) = (noise.array(), noise.array());
            let mut sealed = noise.bytes(len);
            let tag = key.seal_in_place(&nonce, &aad, &mut sealed);
            let refused = |nonce: &[u8; 12], aad: &[u8], data: &[u8], tag: &Block| {
                let mut copy = data.to_vec();
                assert_eq!(key.open_in_place(nonce, aad, &mut copy, tag), Err(Mismatch));
                assert_eq!(copy, data, "{backend}");
            };
            let flip = |bytes: &mut [u8], bit: usize| bytes[bit / 8] ^= 1 << (bit % 8);
            for bit in 0..8 * 16 {
                let (mut wrong_tag, mut wrong_aad, mut wrong_nonce) = (tag, aad, nonce);
                flip(&mut wrong_tag, bit);
                flip(&mut wrong_aad, bit);
                flip(&mut wrong_nonce, bit % 96);
                refused(&nonce, &aad, &sealed, &wrong_tag);
                refused(&nonce, &wrong_aad, &sealed, &tag);
                refused(&wrong_nonce, &aad, &sealed, &tag);
            }
            for bit in 0..8 * len {
                let mut wrong = sealed.clone();
                flip(&mut wrong, bit);
                refused(&nonce, &aad, &wrong, &tag);
            }
            for len in 0..len {
                refused(&nonce, &aad, &sealed[..len], &tag);
            }
        }
    }
}

#[test]
fn a_batch_gives_what_its_jobs_would_give_alone() {
    let mut noise = Noise(3);
    for backend in backends() {
        let keys: Vec<GcmKey> =
            (0..20).map(|i| key_on(backend, &noise.bytes(16 << (i % 2)))).collect();
        let nonces: Vec<[u8; 12]> = keys.iter().map(|_| noise.array()).collect();
        let plain: Vec<Vec<u8>> = (0..keys.len()).map(|i| noise.bytes(100 * i)).collect();
        let mut data = plain.clone();
        let aad = noise.array::<16>();
        let mut jobs: Vec<GcmSeal<'_>> = data
            .iter_mut()
            .zip(keys.iter().zip(&nonces))
            .map(|(data, (key, nonce))| GcmSeal {
                key,
                nonce: *nonce,
                aad: &aad,
                data,
                tag: [0; 16],
            })
            .collect();
        gcm_seal_batch(&mut jobs);
        let mut tags: Vec<Block> = jobs.iter().map(|job| job.tag).collect();
        for i in 0..keys.len() {
            let mut alone = plain[i].clone();
            let tag = keys[i].seal_in_place(&nonces[i], &aad, &mut alone);
            assert_eq!((&alone, tag), (&data[i], tags[i]), "{backend}, job {i}");
        }

        tags[7][3] ^= 4;
        let sealed = data.clone();
        let mut jobs: Vec<GcmOpen<'_>> = data
            .iter_mut()
            .zip(keys.iter().zip(&nonces).zip(&tags))
            .map(|(data, ((key, nonce), tag))| GcmOpen {
                key,
                nonce: *nonce,
                aad: &aad,
                data,
                tag: *tag,
                result: Err(Mismatch),
            })
            .collect();
        gcm_open_batch(&mut jobs);
        let results: Vec<_> = jobs.iter().map(|job| job.result).collect();
        for (i, result) in results.into_iter().enumerate() {
            let (expected, text) =
                if i == 7 { (Err(Mismatch), &sealed[i]) } else { (Ok(()), &plain[i]) };
            assert_eq!((result, &data[i]), (expected, text), "{backend}, job {i}");
        }
    }
}
