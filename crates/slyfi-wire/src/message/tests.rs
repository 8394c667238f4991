//! Every message comes back as it went, and nothing else is a message.

extern crate std;

use super::*;
use core::net::IpAddr;
use proptest::prelude::*;
use slyfi_base::MacAddress;
use std::vec;
use std::vec::Vec;

fn tryst(m: &TrystMessage<'_>) -> Vec<u8> {
    let mut out = vec![0; m.buffer_len()];
    assert_eq!(m.emit(&mut out), Ok(out.len()));
    assert!(m.emit(&mut out[1..]).is_err(), "a short buffer is refused");
    out
}

fn control(m: &Control<'_>) -> Vec<u8> {
    let mut out = vec![0; m.buffer_len()];
    assert_eq!(m.emit(&mut out), Ok(out.len()));
    out
}

fn samples_of_control() -> Vec<Control<'static>> {
    let group = GroupKey { epoch: 0x0102_0304, next: 1 << 40, secret: &[9; 48] };
    vec![
        Control::AssocRequest { pseudonym: MacAddress([2, 3, 4, 5, 6, 7]), mtu: 1_400 },
        Control::AssocResponse {
            status: AssocStatus::EnrolOnly,
            pseudonym: MacAddress([2, 3, 4, 5, 6, 7]),
            access_point: MacAddress([6, 9, 8, 7, 6, 5]),
            mtu: 1_500,
            group,
            since: 1_700_000_001,
            roaming: true,
        },
        Control::Rekey(group),
        Control::Bind(IpAddr::from([10, 1, 2, 3])),
        Control::Unbind(IpAddr::from([0xfe80, 0, 0, 0, 1, 2, 3, 4])),
        Control::Leave,
        Control::EnrolRequest { random: [7; 32] },
        Control::EnrolResponse { pairing: &[5; 99] },
        Control::Resync,
    ]
}

#[test]
fn control_messages_come_back_and_their_truncations_do_not() {
    for m in samples_of_control() {
        let bytes = control(&m);
        assert_eq!(Control::parse(&bytes), Ok(m));
        for cut in 0..bytes.len() {
            assert!(Control::parse(&bytes[..cut]).is_err(), "{m:?} cut to {cut}");
        }
        let mut long = bytes.clone();
        long.push(0);
        assert!(Control::parse(&long).is_err(), "{m:?} with a byte too many");
    }
}

#[test]
fn backhaul_messages_come_back_and_their_truncations_do_not() {
    for m in [
        BackhaulMessage::Handover {
            session: [1; 8],
            pairing: [2; 8],
            pseudonym: MacAddress([3; 6]),
            secret: [4; 32],
            probe: &[5; 70],
        },
        BackhaulMessage::Ended { session: [6; 8] },
        BackhaulMessage::Moved { session: [7; 8] },
        BackhaulMessage::Paired { pairing: &[8; 99] },
        BackhaulMessage::Revoked { pairing: [9; 8] },
    ] {
        let mut bytes = vec![0; m.buffer_len()];
        assert_eq!(m.emit(&mut bytes), Ok(bytes.len()));
        assert_eq!(BackhaulMessage::parse(&bytes), Ok(m));
        for cut in 0..bytes.len() {
            assert!(BackhaulMessage::parse(&bytes[..cut]).is_err(), "{m:?} cut to {cut}");
        }
    }
}

#[test]
fn unknown_codes_are_no_messages() {
    assert!(Control::parse(&[0]).is_err());
    assert!(Control::parse(&[10]).is_err());
    assert!(GroupMessage::parse(&[3, 0, 0, 0, 0, 0, 0, 0, 0]).is_err());
    let mut auth = tryst(&TrystMessage::AuthResponse {
        request: [1; 8],
        time: 2,
        access_point: [3; 8],
        status: AuthStatus::InviteSpent,
        agreement: &[4; 5],
    });
    assert!(TrystMessage::parse(&auth).is_ok());
    auth[25] = 3;
    assert!(TrystMessage::parse(&auth).is_err());
    auth[0] = 5;
    assert!(TrystMessage::parse(&auth).is_err());
}

#[test]
fn a_flag_that_the_kind_does_not_have_is_refused() {
    let header = LinkHeader { kind: LinkKind::Ping, heard: 1, next: 2, selective: 0 };
    let mut out = [0; LinkHeader::MAX_LEN];
    let len = header.emit(None, &mut out).unwrap();
    assert!(LinkHeader::parse(&out[..len]).is_ok());
    for flag in [0x10, 0x20, 0x80] {
        let mut bad = out;
        bad[0] |= flag;
        assert!(LinkHeader::parse(&bad[..len]).is_err(), "flag {flag:#x}");
    }
    assert!(LinkHeader::parse(&out[..=len]).is_err(), "a ping has no contents");
}

fn mac() -> impl Strategy<Value = MacAddress> {
    any::<[u8; 6]>().prop_map(MacAddress)
}

proptest! {
    #[test]
    fn tryst_messages_come_back(
        kind in 0..4,
        request: [u8; 8],
        time: u64,
        access_point: [u8; 8],
        load: u8,
        agreement in proptest::collection::vec(any::<u8>(), 0..1300),
    ) {
        let m = match kind {
            0 => TrystMessage::ProbeRequest { request, time },
            1 => TrystMessage::ProbeResponse { request, time, access_point, load },
            2 => TrystMessage::AuthRequest { request, time, access_point, agreement: &agreement },
            _ => TrystMessage::AuthResponse {
                request, time, access_point, status: AuthStatus::Full, agreement: &agreement,
            },
        };
        let bytes = tryst(&m);
        prop_assert_eq!(TrystMessage::parse(&bytes), Ok(m));
        prop_assert!(TrystMessage::parse(&bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn link_headers_come_back(
        heard: u32,
        next: u16,
        selective: u64,
        sequence: u16,
        destination in proptest::option::of(mac()),
        source in proptest::option::of(mac()),
        ether_type: u16,
        payload in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let data = DataHeader { destination, source, ether_type };
        let header = LinkHeader { kind: LinkKind::Data { sequence }, heard, next, selective };
        let mut out = vec![0; header.buffer_len(Some(&data))];
        prop_assert_eq!(header.emit(Some(&data), &mut out), Ok(out.len()));
        out.extend_from_slice(&payload);
        let (h, d, rest) = LinkHeader::parse(&out).unwrap();
        prop_assert_eq!((h, d, rest), (header, Some(data), &payload[..]));
    }

    #[test]
    fn group_messages_come_back(
        destination in mac(),
        source in mac(),
        ether_type: u16,
        time: u64,
        payload in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        for m in [
            GroupMessage::Data { destination, source, ether_type, payload: &payload },
            GroupMessage::Time { time },
        ] {
            let mut out = vec![0; m.buffer_len()];
            prop_assert_eq!(m.emit(&mut out), Ok(out.len()));
            prop_assert_eq!(GroupMessage::parse(&out), Ok(m));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = TrystMessage::parse(&bytes);
        let _ = LinkHeader::parse(&bytes);
        let _ = Control::parse(&bytes);
        let _ = GroupMessage::parse(&bytes);
        let _ = BackhaulMessage::parse(&bytes);
    }
}
