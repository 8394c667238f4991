//! Arbitrary bytes: nothing panics, nothing opens, what is sealed opens.

use proptest::prelude::*;
use slyfi_base::{LinkCipher, OpenHalf, SealHalf};
use slyfi_ciphers::bip::{self, BipSuite};
use slyfi_ciphers::ccmp::{Ccmp128, Ccmp128Key, Ccmp256, Ccmp256Key};
use slyfi_ciphers::danger::open::Open;
use slyfi_ciphers::danger::rc4::Rc4;
use slyfi_ciphers::danger::tkip::{Tkip, TkipKey};
use slyfi_ciphers::danger::wep::{Wep, WepKey};
use slyfi_ciphers::gcmp::{Gcmp, GcmpKey};
use slyfi_ciphers::handshake::{EapolKey, MicAlgorithm, RsnElement, ft, kde, wrap};
use slyfi_ciphers::{KeyId, danger};

fn never_opens<C: LinkCipher>(cipher: C, header: &[u8], body: &[u8]) {
    let (_, mut rx) = cipher.split();
    assert!(rx.open(header, &mut body.to_vec()).is_err());
}

fn round_trip<C: LinkCipher>(cipher: C, header: &[u8], payload: &[u8]) {
    let (mut tx, mut rx) = cipher.split();
    let headroom = C::OVERHEAD.headroom;
    let mut buf = vec![0; headroom + payload.len() + C::OVERHEAD.tailroom];
    buf[headroom..headroom + payload.len()].copy_from_slice(payload);
    let len = tx.seal(header, &mut buf, payload.len()).unwrap();
    assert_eq!(len, buf.len());
    assert_eq!(rx.open(header, &mut buf).unwrap().payload(&buf), payload);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn arbitrary_frames_never_panic_and_never_open(
        header in prop::collection::vec(any::<u8>(), 0..40),
        body in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        never_opens(Ccmp128::new(Ccmp128Key::new(&[1; 16]), KeyId::PAIRWISE), &header, &body);
        never_opens(Ccmp256::new(Ccmp256Key::new(&[1; 32]), KeyId::PAIRWISE), &header, &body);
        never_opens(Gcmp::new(GcmpKey::new_128(&[1; 16]), KeyId::PAIRWISE), &header, &body);
        never_opens(Tkip::new(TkipKey::new(&[1; 32]), KeyId::PAIRWISE), &header, &body);
        // WEP's ICV has 32 bits: a chance of 1 in 4 billion for each case.
        never_opens(Wep::new(WepKey::new(&[1; 5]).unwrap(), KeyId::PAIRWISE, 0), &header, &body);
        for suite in [BipSuite::Cmac128, BipSuite::Cmac256, BipSuite::Gmac128, BipSuite::Gmac256] {
            for key in [&[1; 16][..], &[1; 32], &[1; 7]] {
                let frame = [&header[..], &body].concat();
                prop_assert!(bip::verify(suite, key, &frame).is_err());
            }
        }
    }

    #[test]
    fn arbitrary_handshake_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for mic_len in [16, 24, 32] {
            if let Ok(key) = EapolKey::new_checked(&bytes, mic_len) {
                let _ = (key.message(), key.parts_without_mic());
            }
            let _ = ft::FastTransition::parse(&bytes, mic_len)
                .map(|f| (f.gtk().is_some(), f.igtk().is_some(), f.r0_holder().is_some(), f.r1_holder()));
        }
        let _ = (RsnElement::parse_rsn(&bytes), RsnElement::parse_wpa(&bytes), kde::kdes(&bytes).count());
        let mut out = [0; 300];
        prop_assert!(wrap::aes_unwrap(&[1; 16], &bytes, &mut out).is_err());
        let _ = wrap::open_key_data(MicAlgorithm::HmacMd5, &[1; 16], &[2; 16], &bytes, &mut out);
    }

    #[test]
    fn what_is_sealed_opens(
        payload in prop::collection::vec(any::<u8>(), 0..400),
        tid in 0u8..16,
        addresses in prop::array::uniform24(any::<u8>()),
        key in prop::array::uniform32(any::<u8>()),
        id in 0u8..4,
    ) {
        let id = KeyId::new(id).unwrap();
        let half: [u8; 16] = core::array::from_fn(|i| key[i]);
        let mut header = vec![0x88, 0x43, 0, 0];
        header.extend(&addresses[..18]);
        header.extend([0x10, 0x20]);
        header.extend(&addresses[18..]);
        header.extend([tid, 0]);
        round_trip(Ccmp128::new(Ccmp128Key::new(&half), id), &header, &payload);
        round_trip(Ccmp256::new(Ccmp256Key::new(&key), id), &header, &payload);
        round_trip(Gcmp::new(GcmpKey::new_128(&half), id), &header, &payload);
        round_trip(Gcmp::new(GcmpKey::new_256(&key), id), &header, &payload);
        round_trip(Tkip::new(TkipKey::new(&key), id), &header, &payload);
        round_trip(Wep::new(WepKey::new(&key[..13]).unwrap(), id, 7), &header, &payload);
        round_trip(Open, &header, &payload);
    }

    #[test]
    fn rc4_agrees_with_the_rustcrypto_crate(
        key in prop::collection::vec(any::<u8>(), 1..=256),
        mut data in prop::collection::vec(any::<u8>(), 0..600),
        skip in 0usize..1000,
    ) {
        use rc4::{KeyInit, StreamCipher};
        let mut theirs = rc4::Rc4::new_from_slice(&key).unwrap();
        theirs.apply_keystream(&mut vec![0; skip]);
        let mut expected = data.clone();
        theirs.apply_keystream(&mut expected);
        let mut ours = Rc4::new(&[&key]);
        ours.skip(skip as u64);
        ours.apply(&mut data);
        prop_assert_eq!(data, expected);
    }
}

#[test]
fn nothing_prints_a_key() {
    let text = format!(
        "{:?} {:?} {:?} {:?} {:?} {:?}",
        Ccmp128Key::new(&[0xab; 16]),
        GcmpKey::new_256(&[0xab; 32]),
        TkipKey::new(&[0xab; 32]),
        WepKey::new(&[0xab; 13]),
        danger::rc4::Rc4::new(&[&[0xab; 5]]),
        slyfi_ciphers::handshake::KeyBytes::new(&[0xab; 48]),
    );
    assert!(!text.contains("171") && !text.to_lowercase().contains("ab,"), "{text}");
    assert!(text.contains("WepKey(..)") && text.contains("<48 bytes>"));
}
