//! Parse and emit are each other's inverse, and no bytes make a parser panic.

use proptest::prelude::*;
use slyfi_base::{Dbm, MacAddress, Rate};
use slyfi_wire::announcement::Announcement;
use slyfi_wire::arp::{ArpRepr, Operation};
use slyfi_wire::element::{Element, Elements};
use slyfi_wire::ethernet::{EthernetFrame, EthernetRepr};
use slyfi_wire::ieee80211::{
    FrameControl, HeaderRepr, MacHeader, QosControl, SequenceControl, Type,
};
use slyfi_wire::ip::IpPacket;
use slyfi_wire::ndp::{Body, NeighborRepr};
use slyfi_wire::radiotap::{Channel, Radiotap, RxRepr};
use slyfi_wire::slyfi_frame::{ShroudFrame, TrystFrame};
use slyfi_wire::{Malformed, carrier, llc, ndp};

fn mac() -> impl Strategy<Value = MacAddress> {
    any::<[u8; 6]>().prop_map(MacAddress)
}

fn unicast() -> impl Strategy<Value = MacAddress> {
    any::<[u8; 6]>().prop_map(MacAddress::local)
}

prop_compose! {
    /// Any header of version 0; fields that its frame control rules out are zero.
    fn header()(
        fc in any::<u16>(), duration: u16, addr1 in mac(), addr2 in mac(), addr3 in mac(),
        addr4 in mac(), sequence: u16, qos: u16, ht_control: u32,
    ) -> HeaderRepr {
        let frame_control = FrameControl(fc & !3);
        let len = frame_control.header_len();
        let zero = MacAddress::default();
        HeaderRepr {
            frame_control,
            duration,
            addr1,
            addr2: if len >= 16 { addr2 } else { zero },
            addr3: if len >= 24 { addr3 } else { zero },
            sequence: SequenceControl(if len >= 24 { sequence } else { 0 }),
            addr4: if frame_control.has_addr4() { addr4 } else { zero },
            qos_control: QosControl(if frame_control.has_qos_control() { qos } else { 0 }),
            ht_control: if frame_control.has_ht_control() { ht_control } else { 0 },
        }
    }
}

prop_compose! {
    fn rx_repr()(
        tsft: Option<u64>, flags in 0u8..16, rate: Option<u8>, channel: Option<(u16, u16)>,
        signal: Option<i8>,
    ) -> RxRepr {
        RxRepr {
            tsft,
            flags,
            rate: rate.map(Rate),
            channel: channel.map(|(frequency, flags)| Channel { frequency, flags }),
            signal: signal.map(Dbm),
        }
    }
}

prop_compose! {
    /// Any neighbour discovery message that the RFC lets be sent.
    fn neighbor()(
        source: [u8; 16], destination: [u8; 16], target: [u8; 16], link_layer in proptest::option::of(unicast()),
        advertisement: Option<(bool, bool, bool)>,
    ) -> NeighborRepr {
        let (mut source, mut target) = (source, target);
        source[0] &= 0x7f;
        source[15] |= 1;
        target[0] &= 0x7f;
        let destination: std::net::Ipv6Addr = destination.into();
        let body = match advertisement {
            None => Body::Solicitation,
            Some((router, solicited, overrides)) => Body::Advertisement {
                router,
                solicited: solicited && !destination.is_multicast(),
                overrides,
            },
        };
        NeighborRepr { source: source.into(), destination, target: target.into(), body, link_layer }
    }
}

proptest! {
    #[test]
    fn mac_headers_come_back(header in header(), body in proptest::collection::vec(any::<u8>(), 0..40)) {
        let mut bytes = vec![0; header.buffer_len()];
        prop_assert_eq!(header.emit(&mut bytes), Ok(bytes.len()));
        prop_assert!(bytes.len() <= HeaderRepr::MAX_LEN);
        let len = bytes.len();
        bytes.extend(&body);
        let view = MacHeader::new_checked(&bytes).unwrap();
        prop_assert_eq!(view.repr(), &header);
        prop_assert_eq!(view.bytes(), &bytes[..len]);
        prop_assert_eq!(view.body(), &body[..]);
        for cut in 0..len {
            prop_assert!(MacHeader::new_checked(&bytes[..cut]).is_err());
            prop_assert!(header.emit(&mut vec![0; cut]).is_err());
        }
    }

    #[test]
    fn headers_that_parse_emit_the_same_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        if let Ok(view) = MacHeader::new_checked(&bytes) {
            let mut again = [0; HeaderRepr::MAX_LEN];
            let len = view.repr().emit(&mut again).unwrap();
            prop_assert_eq!(&again[..len], view.bytes());
            // Whose frame it is never depends on fields that the header does not have.
            let is_data = view.frame_control().kind() == Type::Data;
            prop_assert_eq!(view.addr4().is_some(), is_data && view.bssid().is_none());
            prop_assert!(view.destination().is_some());
        }
    }

    #[test]
    fn capture_headers_come_back(repr in rx_repr(), frame in proptest::collection::vec(any::<u8>(), 0..40)) {
        let mut bytes = vec![0; repr.buffer_len()];
        prop_assert_eq!(repr.emit(&mut bytes), Ok(bytes.len()));
        prop_assert!(bytes.len() <= RxRepr::MAX_LEN);
        prop_assert!(repr.emit(&mut vec![0; bytes.len() - 1]).is_err());
        let len = bytes.len();
        bytes.extend(&frame);
        let r = Radiotap::new_checked(&bytes).unwrap();
        let i = r.info();
        prop_assert!(i.complete && !i.is_own_echo());
        let again = RxRepr {
            tsft: i.tsft,
            flags: i.flags.unwrap(),
            rate: i.rate,
            channel: i.channel,
            signal: i.signal,
        };
        prop_assert_eq!(again, repr);
        prop_assert_eq!(r.frame(), &frame[..]);
        for cut in 0..len {
            prop_assert!(Radiotap::new_checked(&bytes[..cut]).is_err());
        }
    }

    #[test]
    fn neighbor_messages_come_back(repr in neighbor()) {
        let mut bytes = vec![0; repr.buffer_len()];
        prop_assert_eq!(repr.emit(&mut bytes), Ok(bytes.len()));
        prop_assert_eq!(NeighborRepr::parse(&bytes), Ok(repr));
        for cut in 0..bytes.len() {
            prop_assert!(NeighborRepr::parse(&bytes[..cut]).is_err());
            prop_assert!(repr.emit(&mut vec![0; cut]).is_err());
        }
    }

    #[test]
    fn arp_packets_come_back(
        reply: bool, sender_mac in unicast(), target_mac in mac(), ips: [[u8; 4]; 2],
    ) {
        let operation = if reply { Operation::Reply } else { Operation::Request };
        let [sender_ip, target_ip] = ips.map(Into::into);
        let repr = ArpRepr { operation, sender_mac, sender_ip, target_mac, target_ip };
        let mut bytes = vec![0; repr.buffer_len()];
        prop_assert_eq!(repr.emit(&mut bytes), Ok(bytes.len()));
        prop_assert_eq!(ArpRepr::parse(&bytes), Ok(repr));
    }

    #[test]
    fn announcements_come_back(
        bssid in unicast(), sequence in 0u16..4096, timestamp: u64, interval: u16, ap_id: [u8; 8],
        ssid in proptest::collection::vec(any::<u8>(), 0..=32),
    ) {
        let a = Announcement { bssid, sequence, timestamp, interval, ssid: &ssid, ap_id };
        let mut bytes = vec![0; a.buffer_len()];
        prop_assert_eq!(a.emit(&mut bytes), Ok(bytes.len()));
        prop_assert_eq!(Announcement::parse(&bytes), Ok(a));
        for cut in 0..bytes.len() {
            prop_assert!(Announcement::parse(&bytes[..cut]).is_err());
            prop_assert!(a.emit(&mut vec![0; cut]).is_err());
        }
        bytes[0] = 0x50;
        prop_assert_eq!(Announcement::parse(&bytes), Err(Malformed::Value { offset: 0 }));
    }

    #[test]
    fn elements_come_back(list in proptest::collection::vec((any::<u8>(), proptest::collection::vec(any::<u8>(), 0..300)), 0..6)) {
        let mut bytes = Vec::new();
        for (id, data) in &list {
            let e = Element { id: *id, data };
            let mut out = vec![0; e.buffer_len()];
            prop_assert_eq!(e.emit(&mut out), Ok(out.len()));
            bytes.extend(out);
        }
        let back: Vec<_> = Elements::new(&bytes).map(|e| e.map(|e| (e.id, e.data.to_vec()))).collect();
        let sent = list.into_iter().map(|(id, mut data)| {
            data.truncate(255);
            Ok((id, data))
        });
        prop_assert_eq!(back, sent.collect::<Vec<_>>());
    }

    #[test]
    fn ethernet_headers_come_back(destination in mac(), source in mac(), ethertype: u16) {
        let repr = EthernetRepr { destination, source, ethertype };
        let mut bytes = vec![0; repr.buffer_len()];
        prop_assert_eq!(repr.emit(&mut bytes), Ok(14));
        prop_assert_eq!(EthernetFrame::new_checked(&bytes).unwrap().repr(), repr);
        prop_assert!(EthernetFrame::new_checked(&bytes[..13]).is_err());
    }

    #[test]
    fn no_bytes_make_a_parser_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        // What is parsed is always inside what was given; results are used so that nothing is
        // optimised away.
        if let Ok(r) = Radiotap::new_checked(&bytes) {
            prop_assert!(r.header_len() + r.frame().len() <= bytes.len());
        }
        for e in Elements::new(&bytes).flatten() {
            prop_assert!(e.data.len() <= bytes.len());
        }
        if let Ok(t) = TrystFrame::new_checked(&bytes) {
            for n in 0..12 {
                prop_assert_eq!(t.ctext(n).is_some(), (1..=t.max_recipients()).contains(&n));
                prop_assert_eq!(t.header(n).is_some(), n < t.max_recipients());
            }
        }
        prop_assert_eq!(ShroudFrame::new_checked(&bytes).is_ok(), bytes.len() >= 32);
        prop_assert_eq!(EthernetFrame::new_checked(&bytes).is_ok(), bytes.len() >= 14);
        prop_assert!(NeighborRepr::parse(&bytes).is_err());
        let _ = (ArpRepr::parse(&bytes).is_ok(), IpPacket::new_checked(&bytes).map(|p| p.flow_hash()));
        let _ = (llc::parse(&bytes).is_ok(), Announcement::parse(&bytes).is_ok());
        prop_assert_eq!(carrier::address(&bytes).is_some(), carrier::body_mut(&mut bytes).is_ok());
    }

    #[test]
    fn radiotap_with_any_fields_never_panics_and_keeps_the_frame(
        words in proptest::collection::vec(any::<u32>(), 1..5),
        fields in proptest::collection::vec(any::<u8>(), 0..200),
        frame in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut bytes = vec![0; 4];
        let last = words.len() - 1;
        for (n, w) in words.iter().enumerate() {
            let w = if n == last { w & !(1 << 31) } else { w | 1 << 31 };
            bytes.extend(w.to_le_bytes());
        }
        bytes.extend(&fields);
        let len = bytes.len();
        bytes[2..4].copy_from_slice(&(len as u16).to_le_bytes());
        bytes.extend(&frame);
        if let Ok(r) = Radiotap::new_checked(&bytes) {
            let fcs = if r.info().has_fcs() { 4 } else { 0 };
            prop_assert_eq!(r.frame(), &frame[..frame.len() - fcs]);
        }
    }

    #[test]
    fn solicited_node_groups_have_ethernet_groups(target: [u8; 16]) {
        let group = ndp::solicited_node(target.into());
        prop_assert!(group.is_multicast());
        prop_assert!(ndp::multicast_mac(group).is_group());
        prop_assert_eq!(&group.octets()[13..], &target[13..]);
    }
}
