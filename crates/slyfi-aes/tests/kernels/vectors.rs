//! Vectors of an independent program (`vectors/make.py`, OpenSSL).

use slyfi_aes::{CbcCmacKey, CbcCmacSeal, CcmKey, Cmac, GcmKey, seal_batch};

use crate::ccm::Message;
use crate::support::{backends, hex};

const VECTORS: &str = include_str!("../../vectors/vectors.txt");

/// The fields of every line of a kind.
fn lines<const N: usize>(kind: &str) -> Vec<[Vec<u8>; N]> {
    let fields = |line: &str| {
        let fields = line.strip_prefix(kind)?.strip_prefix(' ')?;
        let fields: Vec<Vec<u8>> = fields.split(' ').map(hex).collect();
        Some(fields.try_into().expect("as many fields as make.py says"))
    };
    let lines: Vec<_> = VECTORS.lines().filter_map(fields).collect();
    assert!(!lines.is_empty(), "no {kind}");
    lines
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the length that make.py says")
}

#[test]
fn cbc_cmac_frame_by_frame() {
    for backend in backends() {
        for [enc, mac, iv, prefix, plain, sealed, tag] in lines("cbc-cmac") {
            let key = CbcCmacKey::on(backend, &array(&enc), &array(&mac));
            let prefix = (!prefix.is_empty()).then(|| array(&prefix));
            let (iv, tag) = (array(&iv), array(&tag));
            let mut data = plain.clone();
            assert_eq!(key.seal_in_place(&iv, prefix.as_ref(), &mut data), tag, "{backend}");
            assert_eq!(data, sealed, "{backend}");
            assert_eq!(key.open_in_place(&iv, prefix.as_ref(), &mut data, &tag), Ok(()));
            assert_eq!(data, plain, "{backend}");
        }
    }
}

#[test]
fn cbc_cmac_in_one_batch() {
    let lines = lines::<7>("cbc-cmac");
    for backend in backends() {
        let keys: Vec<CbcCmacKey> = lines
            .iter()
            .map(|line| CbcCmacKey::on(backend, &array(&line[0]), &array(&line[1])))
            .collect();
        let mut data: Vec<Vec<u8>> = lines.iter().map(|line| line[4].clone()).collect();
        let mut jobs: Vec<CbcCmacSeal<'_>> = lines
            .iter()
            .zip(keys.iter().zip(&mut data))
            .map(|([_, _, iv, prefix, ..], (key, data))| CbcCmacSeal {
                key,
                iv: array(iv),
                mac_prefix: (!prefix.is_empty()).then(|| array(prefix)),
                data,
                tag: [0; 16],
            })
            .collect();
        seal_batch(&mut jobs);
        for (job, [.., sealed, tag]) in jobs.iter().zip(&lines) {
            assert_eq!((&*job.data, &job.tag[..]), (&sealed[..], &tag[..]), "{backend}");
        }
    }
}

#[test]
fn cmac() {
    for backend in backends() {
        for [key, message, tag] in lines("cmac") {
            let cmac = Cmac::on(backend, &array(&key));
            assert_eq!(cmac.verify(&[&message], &array(&tag)), Ok(()), "{backend}");
        }
    }
}

#[test]
fn gcm() {
    for backend in backends() {
        for [key, nonce, aad, plain, sealed, tag] in lines("gcm") {
            let key = match key.len() {
                16 => GcmKey::on_128(backend, &array(&key)),
                _ => GcmKey::on_256(backend, &array(&key)),
            };
            let (nonce, tag) = (array(&nonce), array(&tag));
            let mut data = plain.clone();
            assert_eq!(key.seal_in_place(&nonce, &aad, &mut data), tag, "{backend}");
            assert_eq!(data, sealed, "{backend}");
            assert_eq!(key.open_in_place(&nonce, &aad, &mut data, &tag), Ok(()), "{backend}");
            assert_eq!(data, plain, "{backend}");
        }
    }
}

#[test]
fn ccm_of_every_key_size() {
    for backend in backends() {
        for [key, nonce, aad, plain, sealed, tag] in lines("ccm") {
            let message = Message::new(tag.len(), &nonce, &aad, plain.len());
            let key = CcmKey::on(backend, &key);
            let mut data = plain.clone();
            let whole = key.seal_in_place(&message.head(), &mut data);
            assert_eq!((&data, &whole[..tag.len()]), (&sealed, &tag[..]), "{backend}");
            assert_eq!(key.open_in_place(&message.head(), &mut data, &tag), Ok(()));
            assert_eq!(data, plain, "{backend}");
        }
    }
}
