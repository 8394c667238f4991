//! CCM against RFC 3610, OpenSSL and the RustCrypto `ccm` crate.

mod common;

use aes::Aes128;
use ccm::aead::{AeadInOut, KeyInit};
use ccm::consts::{U4, U6, U7, U8, U9, U10, U11, U12, U13, U14, U16};
use common::{hex, made};
use proptest::prelude::*;
use slyfi_base::Undecryptable;
use slyfi_ciphers::ccm::{Ccm, Parameters};

type Sealed = (Vec<u8>, Vec<u8>);

fn seal(key: &[u8], p: Parameters, nonce: &[u8], aad: &[u8], data: &[u8]) -> Sealed {
    let (mut out, mut tag) = (data.to_vec(), vec![0; p.tag_len()]);
    Ccm::new(key, p).unwrap().seal_in_place(nonce, aad, &mut out, &mut tag).unwrap();
    (out, tag)
}

#[test]
fn the_first_packet_vector_of_the_rfc_holds() {
    let key: Vec<u8> = (0xc0..=0xcf).collect();
    let aad: Vec<u8> = (0..8).collect();
    let data: Vec<u8> = (8..=0x1e).collect();
    let p = Parameters::new(8, 2).unwrap();
    let (out, tag) = seal(&key, p, &hex("00000003020100a0a1a2a3a4a5"), &aad, &data);
    assert_eq!(
        [out, tag].concat(),
        hex("588c979a61c663d2f066d0c2c0f989806d5f6b61dac38417e8d12cfdf926e0")
    );
}

#[test]
fn every_legal_m_and_l_agrees_with_openssl_for_every_key_size() {
    let vectors = made().ccm;
    assert_eq!(vectors.len(), 7 * 7 * 3);
    for (i, v) in vectors.iter().enumerate() {
        let p = Parameters::new(v.m, v.l).unwrap();
        let (key, nonce, aad) = (hex(&v.key), hex(&v.nonce), hex(&v.aad));
        let (out, tag) = seal(&key, p, &nonce, &aad, &hex(&v.data));
        assert_eq!([out, tag].concat(), hex(&v.sealed), "vector {i}: M {}, L {}", v.m, v.l);
    }
}

/// The same message sealed by the RustCrypto crate.
fn peer(m: u8, nonce_len: usize, key: &[u8], nonce: &[u8], aad: &[u8], data: &[u8]) -> Sealed {
    macro_rules! sizes {
        ($($m:literal $tag:ty),*; $($n:literal $nonce:ty),*) => {
            sizes!(@tags [$(($m, $tag))*] [$(($n, $nonce))*])
        };
        (@tags [$(($m:literal, $tag:ty))*] $nonces:tt) => {
            match m { $($m => sizes!(@nonces $tag, $nonces),)* _ => unreachable!() }
        };
        (@nonces $tag:ty, [$(($n:literal, $nonce:ty))*]) => {
            match nonce_len { $($n => {
                let cipher = ccm::Ccm::<Aes128, $tag, $nonce>::new_from_slice(key).unwrap();
                let mut out = data.to_vec();
                let nonce: &ccm::Nonce<$nonce> = nonce.try_into().unwrap();
                let tag = cipher
                    .encrypt_inout_detached(nonce, aad, out.as_mut_slice().into())
                    .unwrap();
                (out, tag.to_vec())
            })* _ => unreachable!() }
        };
    }
    sizes!(4 U4, 6 U6, 8 U8, 10 U10, 12 U12, 14 U14, 16 U16;
           7 U7, 8 U8, 9 U9, 10 U10, 11 U11, 12 U12, 13 U13)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn agrees_with_the_rustcrypto_crate_and_opens_what_it_seals(
        half_m in 2u8..=8,
        l in 2u8..=8,
        key in prop::array::uniform16(any::<u8>()),
        nonce in prop::array::uniform13(any::<u8>()),
        aad in prop::collection::vec(any::<u8>(), 0..80),
        data in prop::collection::vec(any::<u8>(), 0..300),
        flip in any::<prop::sample::Index>(),
    ) {
        let p = Parameters::new(2 * half_m, l).unwrap();
        let nonce = &nonce[..p.nonce_len()];
        let (out, tag) = seal(&key, p, nonce, &aad, &data);
        prop_assert_eq!(&(out.clone(), tag.clone()), &peer(2 * half_m, nonce.len(), &key, nonce, &aad, &data));
        let ccm = Ccm::new(&key, p).unwrap();
        let mut opened = out.clone();
        prop_assert_eq!(ccm.open_in_place(nonce, &aad, &mut opened, &tag), Ok(()));
        prop_assert_eq!(&opened, &data);
        // Twins: one bit of the whole changed.
        let mut whole = [out, tag].concat();
        let at = flip.index(whole.len());
        whole[at] ^= 1;
        let (bad, tag) = whole.split_at_mut(data.len());
        prop_assert_eq!(ccm.open_in_place(nonce, &aad, bad, tag), Err(Undecryptable));
        prop_assert!(bad.iter().all(|b| *b == 0), "nothing unverified is left");
    }
}

#[test]
fn long_associated_data_takes_the_longer_length_encoding() {
    // 0xff00 bytes and more (RFC 3610 §2.2); the peer implements the same rule.
    for len in [0xfeff, 0xff00, 70_000] {
        let aad: Vec<u8> = (0..len).map(|i| i as u8).collect();
        let p = Parameters::new(12, 3).unwrap();
        let ours = seal(&[5; 16], p, &[6; 12], &aad, b"payload");
        assert_eq!(ours, peer(12, 12, &[5; 16], &[6; 12], &aad, b"payload"));
    }
}
