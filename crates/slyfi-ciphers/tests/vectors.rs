//! Other people's frames: the standard's, and OpenSSL's with every field in use. Each has twins that
//! must fail.

mod common;

use common::{hex, made};
use slyfi_ciphers::bip::{self, BipSuite};
use slyfi_ciphers::ccmp::{Ccmp128Key, Ccmp256Key};
use slyfi_ciphers::danger::tkip::TkipKey;
use slyfi_ciphers::danger::wep::WepKey;
use slyfi_ciphers::gcmp::GcmpKey;
use slyfi_ciphers::{KeyId, PacketKey, PacketNumber};

/// One temporal key of any cipher, for tests that go through all of them.
enum AnyKey {
    Ccmp128(Box<Ccmp128Key>),
    Ccmp256(Box<Ccmp256Key>),
    Gcmp(Box<GcmpKey>),
    Tkip(Box<TkipKey>),
    Wep(Box<WepKey>),
}

impl AnyKey {
    fn new(cipher: &str, key: &[u8]) -> Self {
        match cipher {
            "ccmp128" => AnyKey::Ccmp128(Ccmp128Key::new(key.try_into().unwrap()).into()),
            "ccmp256" => AnyKey::Ccmp256(Ccmp256Key::new(key.try_into().unwrap()).into()),
            "gcmp128" => AnyKey::Gcmp(GcmpKey::new_128(key.try_into().unwrap()).into()),
            "gcmp256" => AnyKey::Gcmp(GcmpKey::new_256(key.try_into().unwrap()).into()),
            "tkip" => AnyKey::Tkip(TkipKey::new(key.try_into().unwrap()).into()),
            "wep40" | "wep104" => AnyKey::Wep(WepKey::new(key).unwrap().into()),
            other => panic!("no cipher {other}"),
        }
    }

    fn seal(&self, n: u64, id: u8, header: &[u8], payload: &[u8]) -> Vec<u8> {
        let (number, key_id) = (PacketNumber::new(n).unwrap(), KeyId::new(id).unwrap());
        let headroom = if matches!(self, AnyKey::Wep(_)) { 4 } else { 8 };
        let mut buf = vec![0; headroom + payload.len() + 16];
        buf[headroom..headroom + payload.len()].copy_from_slice(payload);
        let len = payload.len();
        let sealed = match self {
            AnyKey::Ccmp128(k) => k.seal_at(number, key_id, header, &mut buf, len),
            AnyKey::Ccmp256(k) => k.seal_at(number, key_id, header, &mut buf, len),
            AnyKey::Gcmp(k) => k.seal_at(number, key_id, header, &mut buf, len),
            AnyKey::Tkip(k) => {
                let ttak = k.phase1(header[10..16].try_into().unwrap(), number);
                k.seal_at(&ttak, number, key_id, header, &mut buf, len)
            }
            AnyKey::Wep(k) => {
                let [a, b, c, ..] = n.to_le_bytes();
                k.seal_at([a, b, c], key_id, &mut buf, len)
            }
        };
        buf.truncate(sealed.unwrap());
        buf
    }

    /// Number, key identifier and payload, or nothing.
    fn open(&self, header: &[u8], sealed: &[u8]) -> Option<(u64, u8, Vec<u8>)> {
        let mut buf = sealed.to_vec();
        let packet = match self {
            AnyKey::Ccmp128(k) => k.open_any(header, &mut buf).ok()?,
            AnyKey::Ccmp256(k) => k.open_any(header, &mut buf).ok()?,
            AnyKey::Gcmp(k) => k.open_any(header, &mut buf).ok()?,
            AnyKey::Tkip(k) => k.open_any(header, &mut buf).ok()?,
            AnyKey::Wep(k) => {
                let [a, b, c] = *buf.first_chunk()?;
                let n = u64::from(u32::from_le_bytes([a, b, c, 0]));
                let (id, opened) = k.open_any(&mut buf).ok()?;
                return Some((n, id.get(), opened.payload(&buf).to_vec()));
            }
        };
        let payload = packet.opened.payload(&buf).to_vec();
        Some((packet.number.get(), packet.key_id.get(), payload))
    }
}

#[test]
fn seals_byte_for_byte_what_openssl_seals() {
    for (i, f) in made().frames.iter().enumerate() {
        let key = AnyKey::new(&f.cipher, &hex(&f.key));
        let (header, payload) = (hex(&f.header), hex(&f.payload));
        let sealed = key.seal(f.number, f.key_id, &header, &payload);
        assert_eq!(sealed, hex(&f.sealed), "frame {i}, {}", f.cipher);
        let opened = key.open(&header, &sealed);
        assert_eq!(opened, Some((f.number, f.key_id, payload)), "frame {i}, {}", f.cipher);
    }
}

#[test]
fn refuses_each_of_them_with_one_bit_changed_or_a_byte_missing() {
    for (i, f) in made().frames.iter().enumerate() {
        let key = AnyKey::new(&f.cipher, &hex(&f.key));
        let (header, sealed) = (hex(&f.header), hex(&f.sealed));
        let number_len = if f.cipher.starts_with("wep") { 4 } else { 8 };
        for bit in [0, number_len * 8, sealed.len() * 4, sealed.len() * 8 - 1] {
            let mut bad = sealed.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(key.open(&header, &bad), None, "frame {i}, {}, bit {bit}", f.cipher);
        }
        for n in [0, 3, number_len, sealed.len() - 1] {
            assert_eq!(key.open(&header, &sealed[..n]), None, "frame {i} cut to {n}");
        }
        let mut other = hex(&f.key);
        other[0] ^= 1;
        let wrong = AnyKey::new(&f.cipher, &other);
        assert_eq!(wrong.open(&header, &sealed), None, "frame {i}, wrong key");
    }
}

#[test]
fn refuses_frames_whose_covered_header_fields_changed() {
    for (i, f) in made().frames.iter().enumerate() {
        let key = AnyKey::new(&f.cipher, &hex(&f.key));
        let (header, sealed) = (hex(&f.header), hex(&f.sealed));
        let mut moved = header.clone();
        // A transmitter with another last octet.
        moved[15] ^= 1;
        let covered = !f.cipher.starts_with("wep");
        assert_eq!(key.open(&moved, &sealed).is_none(), covered, "frame {i}, {}", f.cipher);
        let mut retried = header.clone();
        retried[1] ^= 0x08;
        assert!(key.open(&retried, &sealed).is_some(), "frame {i}: Retry is not covered");
    }
}

/// IEEE 802.11i-2004 Annex H / 802.11-2020 Annex J.6.4: temporal key, plain MPDU, sealed MPDU. The
/// other four of that series set Order in QoS frames, which since 802.11n means an HT control field
/// that they do not have.
const CCMP: [(&str, &str, &str); 4] = [
    (
        "c97c1f67ce371185514a8a19f2bdd52f",
        "0848c32c0fd2e128a57c5030f1844408abaea5b8fcba8033f8ba1a55d02f85ae967bb62fb6cda8eb7e78a050",
        "0848c32c0fd2e128a57c5030f1844408abaea5b8fcba80330ce70020769703b5f3d0a2fe9a3dbf2342a643e43246e80c3c04d0197845ce0b16f97623",
    ),
    (
        "8f7a053fa577a5597529272097a603d5",
        "38c06a51ea100c846850eec1762c88deaf2ee9f46a07e0cc83a0634b5ed7627eb9df225e05740342de194117",
        "38c06a51ea100c846850eec1762c88deaf2ee9f46a07e0ccea9700a0bacbf331814b6965d05bf2b2ed38d4beb069fe82714a610b542fbf8da06aa4ae",
    ),
    (
        "f71eea4e1f58804b9717230ad0614641",
        "8852e11f5af28430fdabbff943b9f9a6ab1d98c7fe7350713d6aabfda22d3a0bfc9cc1fc079363c2fca143e6eb1d",
        "8852e11f5af28430fdabbff943b9f9a6ab1d98c7fe7350713d6a89890060a4ec816b9a709b60a39d40b1dfb612e18b5f114badb6cc86309a8d5c466bbb71",
    ),
    (
        "1bdb34980e038124a1db1a892bec366a",
        "187981469b50f4fd56f6efec9520169183570c4ccdee20a098beca86f4b38da20cfdf24724c58eb835665339",
        "187981469b50f4fd56f6efec9520169183570c4ccdee20a023e700e07340ec5e12c537ebf3ab584ef1fef9a1f3547a8c13b3225a2d0957ecfabe95b9",
    ),
];

#[test]
fn the_ccmp_mpdus_of_the_standard_hold() {
    for (tk, plain, sealed) in CCMP {
        let (plain, sealed) = (hex(plain), hex(sealed));
        let header = if plain[0] & 0x80 == 0 { 24 } else { 26 };
        let key = AnyKey::new("ccmp128", &hex(tk));
        let (number, key_id, payload) = key.open(&sealed[..header], &sealed[header..]).unwrap();
        assert_eq!(payload, plain[header..]);
        assert_eq!(key.seal(number, key_id, &plain[..header], &payload), sealed[header..]);
    }
}

#[test]
fn the_ccmp_256_and_gcmp_mpdus_of_the_standard_hold() {
    // Annex J.6.4 and J.11.1 (CCMP-256, GCMP-128 with TID 3, GCMP-256).
    let payload: Vec<u8> = (0..40).collect();
    let tk = "c97c1f67ce371185514a8a19f2bdd52f000102030405060708090a0b0c0d0e0f";
    let header = hex("88480b000fd2e128a57c5030f18444085030f184440880330300");
    for (cipher, tk, sealed) in [
        (
            "gcmp128",
            &tk[..32],
            "60e9700cc4d40ac6d288b201c38f5bf08b807442640a1596e5dbdad41d1f3623f45d7a12db7afb23def619c2a374b6df66ffa53b6c69d79e",
        ),
        (
            "gcmp256",
            tk,
            "658343c8b14447d9211defd46ad89c710c6fc33333236e3997b9176a5a8be779b21266555e70ad79114316859095473d5b1bd596b3dea3bf",
        ),
    ] {
        let key = AnyKey::new(cipher, &hex(tk));
        let out = key.seal(0x0089_5f5f_2b08, 0, &header, &payload);
        let mut expected = hex("082b00205f5f8900");
        expected.extend(hex(sealed));
        assert_eq!(out, expected, "{cipher}");
        assert_eq!(key.open(&header, &out), Some((0x0089_5f5f_2b08, 0, payload.clone())));
    }
    let key = AnyKey::new("ccmp256", &hex(tk));
    let header = hex("0848c32c0fd2e128a57c5030f1844408abaea5b8fcba8033");
    let payload = hex("f8ba1a55d02f85ae967bb62fb6cda8eb7e78a050");
    assert_eq!(
        key.seal(0xb503_9776_e70c, 0, &header, &payload),
        hex(
            "0ce70020769703b56d155d8832668256d6a92b78e11d8e54495dd17480aa56c9492e882b97642f80d50fe97b"
        )
    );
}

#[test]
fn the_protected_deauthentication_of_the_standard_holds() {
    // Annex J.9.2: the management bit takes part in the nonce.
    let key = AnyKey::new("ccmp128", &hex("66ed21042f9f26d7115706e40414cf2e"));
    let header = hex("c04000000200000001000200000000000200000000006000");
    let sealed = key.seal(1, 0, &header, &[2, 0]);
    assert_eq!(sealed, hex("01000020000000001d07cafd0409bb8bafef"));
    let mut as_data = header;
    as_data[0] = 0x08;
    assert_eq!(key.open(&as_data, &sealed), None);
}

#[test]
fn the_tkip_mpdu_of_the_standard_has_its_michael_code() {
    // Annex J.6.3: temporal key, header, ICMP payload; Michael code 6881a3f3d648d03c.
    let tk = hex("1234567890123456789012345678901234567890123456789012345678901234");
    let header = hex("08422c00020304050608020304050607020304050607d002");
    let mut payload = hex(
        "aaaa03000000080045000054000040004001a555c0a80a02c0a80a0108003ab000000000cd4c050000000000",
    );
    payload.extend(0x08..=0x37);
    let key = AnyKey::new("tkip", &tk);
    let sealed = key.seal(1, 0, &header, &payload);
    assert_eq!(sealed[..8], hex("0020012000000000"));
    assert_eq!(key.open(&header, &sealed).unwrap().2, payload);
    let michael = slyfi_ciphers::danger::tkip::MichaelKey::new(tk[16..24].try_into().unwrap());
    let pseudo = slyfi_ciphers::danger::tkip::michael::header(
        header[4..10].try_into().unwrap(),
        header[16..22].try_into().unwrap(),
        0,
    );
    let mic = slyfi_ciphers::danger::tkip::michael(&michael, &[&pseudo, &payload]);
    assert_eq!(mic.to_vec(), hex("6881a3f3d648d03c"));
}

#[test]
fn the_management_mic_elements_of_the_standard_hold() {
    // Annex J.9.1, key identifier 4, packet number 4.
    let frame = "c0000000ffffffffffff020000000000020000000000090002004c";
    let key = "4ea9543e09cf2b1eca66ffc58bdecbcf000102030405060708090a0b0c0d0e0f";
    for (suite, key_len, tail) in [
        (BipSuite::Gmac128, 16, "1804000400000000003ed862fb0f3338dd3386c897e2ed053d"),
        (BipSuite::Gmac256, 32, "18040004000000000023be59dcc7022ee383627ebb1017ddfc"),
    ] {
        let mut bytes = hex(&(frame.to_string() + tail));
        let igtk = &hex(key)[..key_len];
        let v = bip::verify(suite, igtk, &bytes).unwrap();
        assert_eq!((v.key_id, v.number.get(), v.body_len), (4, 4, 2));
        assert!(bip::has_management_mic(&bytes[24..]));
        bytes[25] ^= 1;
        assert!(bip::verify(suite, igtk, &bytes).is_err());
        bytes[25] ^= 1;
        bytes[1] |= 0x08;
        assert!(bip::verify(suite, igtk, &bytes).is_ok(), "Retry is not covered");
        bytes[4] = 2;
        assert!(bip::verify(suite, igtk, &bytes).is_err(), "not a group address");
    }
}
