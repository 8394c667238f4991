//! The bricks of handshakes: EAPOL-Key frames, elements, key data, wrapped keys, FT, FILS and TDLS.

use crate::Choices;
use slyfi_ciphers::handshake::eapol::EapolKeyRepr;
use slyfi_ciphers::handshake::fils::{self, Association};
use slyfi_ciphers::handshake::ft::{self, FastTransition};
use slyfi_ciphers::handshake::kde::{Kde, kdes};
use slyfi_ciphers::handshake::ptk::Exchange;
use slyfi_ciphers::handshake::tdls::{DirectLink, tpk};
use slyfi_ciphers::handshake::wrap::{aes_unwrap, aes_wrap, open_key_data};
use slyfi_ciphers::handshake::{EapolKey, Kdf, KeyBytes, MicAlgorithm, Ptk, RsnElement, Suite};
use slyfi_wire::element::Element;

/// Draws one brick and gives it the rest of the input.
///
/// # Panics
/// When what was read is not written as it was, what was wrapped does not come back, or a spoiled
/// code or wrap is taken.
pub fn run(input: &[u8]) {
    let mut c = Choices::new(input);
    match c.below(8) {
        0 => eapol(c.rest()),
        1 => elements(c.rest()),
        2 => fast_transition(&mut c),
        3 => key_data(c.rest()),
        4 => wrap(&mut c),
        5 => derive(&mut c),
        6 => initial_set_up(&mut c),
        _ => direct_link(&mut c),
    }
}

fn eapol(bytes: &[u8]) {
    for mic_len in [16, 24, 32] {
        let Ok(key) = EapolKey::new_checked(bytes, mic_len) else { continue };
        let parts = key.parts_without_mic();
        let end = 4 + usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
        assert_eq!(parts.iter().map(|p| p.len()).sum::<usize>(), end);
        let repr = EapolKeyRepr {
            version: bytes[0],
            descriptor: key.descriptor,
            info: key.info,
            key_length: key.key_length,
            replay_counter: key.replay_counter,
            nonce: *key.nonce,
            iv: *key.iv,
            rsc: key.rsc,
            mic_len,
            data: key.data,
        };
        let mut out = vec![0xa5; repr.buffer_len()];
        assert_eq!(repr.emit(&mut out), Ok(end), "an exact buffer suffices");
        assert!(repr.emit(&mut vec![0; end - 1]).is_err(), "a short one is refused");
        let again = EapolKey::new_checked(&out, mic_len).expect("what was written is read");
        assert_eq!(again.message(), key.message());
        assert_eq!((again.nonce, again.data, again.rsc), (key.nonce, key.data, key.rsc));
        assert!(again.mic.iter().all(|b| *b == 0));
        for mic in [MicAlgorithm::HmacMd5, MicAlgorithm::AesCmac, MicAlgorithm::HmacSha384] {
            if mic.tag_len() == mic_len {
                assert!(!mic.verify(&[7; 16], &parts, key.mic), "a code was guessed");
                EapolKeyRepr::prove(&mut out, mic, &[7; 16]).expect("there is room for it");
                let proven = EapolKey::new_checked(&out, mic_len).expect("only the code changed");
                assert!(mic.verify(&[7; 16], &proven.parts_without_mic(), proven.mic));
            }
        }
        for suite in Suite::candidates(key.info.version()) {
            let mut out = vec![0; key.data.len()];
            let _ = open_key_data(suite.mic, &[1; 16], key.iv, key.data, &mut out);
        }
    }
}

fn elements(bytes: &[u8]) {
    for parsed in [RsnElement::parse_rsn(bytes), RsnElement::parse_wpa(bytes)] {
        // More behind an element does not take anything of it back.
        if let (Ok(e), Ok(longer)) = (parsed, RsnElement::parse_rsn(&[bytes, &[0]].concat())) {
            assert!(e.is_wpa || e.akm == longer.akm);
        }
    }
}

fn fast_transition(c: &mut Choices<'_>) {
    let mic =
        [MicAlgorithm::AesCmac, MicAlgorithm::HmacSha384, MicAlgorithm::HmacSha512][c.below(3)];
    let kck: [u8; 32] = c.array();
    let kck = if mic == MicAlgorithm::AesCmac { &kck[..16] } else { &kck[..24] };
    let (station, access_point, sequence) = (c.array(), c.array(), c.byte());
    let (rsn, domain) = (c.run(), c.run());
    let (at, bit) = (usize::from(c.short()), c.byte() & 7);
    let data = c.rest();
    let Ok(element) = FastTransition::parse(data, mic.tag_len()) else { return };
    for group in [element.gtk(), element.igtk()].into_iter().flatten() {
        let mut out = [0; 256];
        let wrong = aes_unwrap(&[3; 16], group.wrapped, &mut out);
        assert!(wrong.is_err(), "a wrap was guessed");
    }
    assert!(element.r0_holder().is_none_or(|id| (1..=48).contains(&id.len())));
    let _ = element.r1_holder();
    let parsed = ft::Reassociation::parse(station, access_point, sequence, data);
    assert!(!parsed.is_some_and(|f| f.verify(mic, kck)), "a code was guessed");
    let frame = |fte| ft::Reassociation {
        station,
        access_point,
        sequence,
        rsn: Element { id: 48, data: rsn },
        mobility_domain: Element { id: ft::MOBILITY_DOMAIN, data: domain },
        fast_transition: Element { id: ft::FAST_TRANSITION, data: fte },
        resources: &[],
        rsn_extension: None,
    };
    assert!(!frame(data).verify(mic, kck), "a code was guessed");
    // Prove it as a station would, and spoil it.
    let mut clear = data.to_vec();
    clear[2..2 + mic.tag_len()].fill(0);
    let len = |b: &[u8]| u8::try_from(b.len()).unwrap_or(u8::MAX);
    let heads =
        [[48, len(rsn)], [ft::MOBILITY_DOMAIN, len(domain)], [ft::FAST_TRANSITION, len(&clear)]];
    let parts: [&[u8]; 9] = [
        &station,
        &access_point,
        &[sequence],
        &heads[0],
        rsn,
        &heads[1],
        domain,
        &heads[2],
        &clear,
    ];
    let code = mic.compute(kck, &parts).expect("the key has the right length");
    let mut proven = clear.clone();
    proven[2..2 + mic.tag_len()].copy_from_slice(&code[..mic.tag_len()]);
    assert!(frame(&proven).verify(mic, kck));
    let mut spoiled = proven.clone();
    spoiled[at % proven.len()] ^= 1 << bit;
    assert!(!frame(&spoiled).verify(mic, kck), "a spoiled element");
}

fn key_data(bytes: &[u8]) {
    let mut total = 0;
    for kde in kdes(bytes) {
        total += 1;
        match kde {
            Kde::Gtk { key_id, key } => {
                assert!(key_id < 4 && key.as_bytes().len() <= KeyBytes::MAX);
            }
            Kde::Igtk { key, .. } => assert!(key.as_bytes().len() <= KeyBytes::MAX),
            Kde::KeyId(id) => assert!(id < 4),
            _ => {}
        }
    }
    assert!(total * 2 <= bytes.len(), "each item takes at least two bytes");
}

fn wrap(c: &mut Choices<'_>) {
    let kek: [u8; 32] = c.array();
    let kek = [&kek[..16], &kek[..], &kek[..24]][c.below(3)];
    let (at, bit) = (usize::from(c.short()), c.byte() & 7);
    let data = c.rest();
    let mut out = vec![0; data.len() + 8];
    assert!(aes_unwrap(kek, data, &mut out).is_err(), "a wrap was guessed");
    let wrapped = aes_wrap(kek, data, &mut out);
    let legal = kek.len() != 24 && data.len() >= 16 && data.len().is_multiple_of(8);
    assert_eq!(wrapped, legal.then_some(data.len() + 8));
    if legal {
        let mut back = vec![0; data.len()];
        assert_eq!(aes_unwrap(kek, &out, &mut back), Ok(data.len()));
        assert_eq!(back, data);
        let at = at % out.len();
        out[at] ^= 1 << bit;
        assert!(aes_unwrap(kek, &out, &mut back).is_err(), "a spoiled wrap");
    }
}

fn derive(c: &mut Choices<'_>) {
    let suite = Suite::candidates(c.byte() & 7).get(c.below(8));
    let Some(suite) = suite else { return };
    let (authenticator, supplicant) = (c.array(), c.array());
    let (anonce, snonce): ([u8; 32], [u8; 32]) = (c.array(), c.array());
    let tk_len = c.below(64);
    let domain = ft::Domain {
        ssid: c.run(),
        mobility_domain: c.array(),
        r0_holder: c.run(),
        r1_holder: c.array(),
        station: supplicant,
    };
    let pmk = c.rest();
    let exchange = Exchange { authenticator, supplicant, anonce: &anonce, snonce: &snonce };
    let ptk = Ptk::derive(*suite, pmk, &exchange, tk_len);
    assert_eq!(ptk.kck.as_bytes().len(), suite.kck_len);
    assert_eq!(ptk.kek.as_bytes().len(), suite.kek_len);
    assert_eq!(ptk.tk.as_bytes().len(), tk_len.min(32));
    if suite.is_ft {
        assert_eq!(ft::pmk_r1(suite.kdf, pmk, &domain).as_bytes().len(), suite.kdf.hash_len());
    } else {
        // Both ends come to the same key, whoever asks.
        let other = Exchange {
            authenticator: supplicant,
            supplicant: authenticator,
            anonce: &snonce,
            snonce: &anonce,
        };
        assert_eq!(Ptk::derive(*suite, pmk, &other, tk_len), ptk);
    }
    if suite.kdf == Kdf::PrfSha1 && tk_len < 32 {
        let longer = Ptk::derive(*suite, pmk, &exchange, 32);
        assert_eq!(longer.tk.as_bytes()[..tk_len], *ptk.tk.as_bytes(), "a prefix of the longer");
    }
}

/// FILS, whose seals are only opened here: none is guessed, and every length is borne.
fn initial_set_up(c: &mut Choices<'_>) {
    let (snonce, anonce) = (c.array(), c.array());
    let association = Association {
        station: c.array(),
        access_point: c.array(),
        snonce: &snonce,
        anonce: &anonce,
    };
    let suite = fils::SUITES[c.below(2)];
    let (tk_len, fixed, from_station) = (c.below(64), c.below(16), c.is());
    let ptk = association.ptk(suite, &[7; 32], tk_len);
    assert_eq!(ptk.kek.as_bytes().len(), suite.kek_len);
    assert_eq!(ptk.tk.as_bytes().len(), tk_len.min(32));
    let body = c.rest();
    let mut out = vec![0; body.len()];
    assert!(association.open(from_station, body, fixed, &ptk.kek, &mut out).is_err());
    let _ = (fils::nonce(body), fils::delivered(body));
    if let Ok(key) = EapolKey::new_checked(body, 0) {
        assert!(fils::open_key_data(&key, &ptk.kek, &mut out).is_err(), "a seal was guessed");
    }
}

fn direct_link(c: &mut Choices<'_>) {
    let (initiator, responder, bssid) = (c.array(), c.array(), c.array());
    let (snonce, anonce): ([u8; 32], [u8; 32]) = (c.array(), c.array());
    let link = DirectLink { initiator, responder, bssid, snonce: &snonce, anonce: &anonce };
    let (kck, tk) = tpk(&link);
    assert_eq!((kck.as_bytes().len(), tk.as_bytes().len()), (16, 16));
    let swapped = DirectLink {
        initiator: responder,
        responder: initiator,
        bssid,
        snonce: &anonce,
        anonce: &snonce,
    };
    assert_eq!(tpk(&swapped), (kck, tk), "both ends come to the same key");
}
