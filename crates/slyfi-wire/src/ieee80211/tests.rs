use super::*;

const ADDRESSES: [MacAddress; 4] = [
    MacAddress([2, 0, 0, 0, 0, 1]),
    MacAddress([2, 0, 0, 0, 0, 2]),
    MacAddress([2, 0, 0, 0, 0, 3]),
    MacAddress([2, 0, 0, 0, 0, 4]),
];

fn data(to_ds: bool, from_ds: bool) -> ([u8; HeaderRepr::MAX_LEN], usize) {
    let [addr1, addr2, addr3, addr4] = ADDRESSES;
    let frame_control =
        FrameControl::new(Type::Data, data::DATA).with_to_ds(to_ds).with_from_ds(from_ds);
    let repr = HeaderRepr { frame_control, addr1, addr2, addr3, addr4, ..Default::default() };
    let mut bytes = [0; HeaderRepr::MAX_LEN];
    let len = repr.emit(&mut bytes).unwrap();
    (bytes, len)
}

#[test]
fn the_ds_bits_decide_whose_each_address_is() {
    let [a1, a2, a3, a4] = ADDRESSES.map(Some);
    for (to, from, destination, source, bssid) in [
        (false, false, a1, a2, a3),
        (true, false, a3, a2, a1),
        (false, true, a1, a3, a2),
        (true, true, a3, a4, None),
    ] {
        let (bytes, len) = data(to, from);
        let h = MacHeader::new_checked(&bytes[..len]).unwrap();
        assert_eq!((h.destination(), h.source(), h.bssid()), (destination, source, bssid));
        assert_eq!(h.addr4().is_some(), to && from);
    }
}

#[test]
fn header_lengths_follow_the_frame_control_field() {
    let order = |fc: FrameControl| fc.with_order(true).header_len();
    let plain = FrameControl::new(Type::Data, data::DATA);
    let qos = FrameControl::new(Type::Data, data::QOS_DATA);
    let both = |fc: FrameControl| fc.with_to_ds(true).with_from_ds(true);
    assert_eq!((plain.header_len(), qos.header_len()), (24, 26));
    assert_eq!((both(plain).header_len(), both(qos).header_len()), (30, 32));
    assert_eq!((order(plain), order(qos), order(both(qos))), (24, 30, HeaderRepr::MAX_LEN));
    let action = FrameControl::new(Type::Management, management::ACTION);
    assert_eq!((action.header_len(), order(action)), (24, 28));
    let control = |subtype| FrameControl::new(Type::Control, subtype).header_len();
    assert_eq!((control(control::ACK), control(control::CTS)), (10, 10));
    assert_eq!((control(control::RTS), control(control::PS_POLL)), (16, 16));
}

#[test]
fn acknowledgements_have_one_address_and_no_sequence_number() {
    let bytes = [0xd4, 0, 0, 0, 2, 0, 0, 0, 0, 1];
    let h = MacHeader::new_checked(&bytes).unwrap();
    assert_eq!((h.frame_control().kind(), h.frame_control().subtype()), (Type::Control, 13));
    assert_eq!(h.addr1(), ADDRESSES[0]);
    assert_eq!((h.addr2(), h.addr3(), h.sequence(), h.bssid()), (None, None, None, None));
    assert_eq!(
        MacHeader::new_checked(&bytes[..9]),
        Err(Malformed::Truncated { needed: 10, actual: 9 })
    );
}

#[test]
fn a_control_wrapper_has_no_transmitter_address() {
    let mut bytes = [0; 16];
    bytes[0] = 0x74;
    assert_eq!(MacHeader::new_checked(&bytes).unwrap().addr2(), None);
    bytes[0] = 0xb4;
    assert!(MacHeader::new_checked(&bytes).unwrap().addr2().is_some());
}

#[test]
fn other_protocol_versions_are_refused() {
    let mut bytes = [0; 40];
    for version in 1..4 {
        bytes[0] = version;
        assert_eq!(MacHeader::new_checked(&bytes), Err(Malformed::Value { offset: 0 }));
    }
    bytes[0] = 0;
    assert!(MacHeader::new_checked(&bytes).is_ok());
}

#[test]
fn flags_are_set_and_cleared_alone() {
    let fc = FrameControl::new(Type::Data, data::QOS_NULL);
    assert!(!fc.carries_data() && fc.has_qos_control());
    let retry = fc.with_retry(true);
    assert!(retry.is_retry() && !retry.is_protected() && !retry.has_more_fragments());
    assert_eq!(retry.with_retry(false), fc);
    assert_eq!(retry.subtype(), data::QOS_NULL);
}

#[test]
fn sequence_and_qos_fields_are_cut_where_the_standard_cuts_them() {
    let s = SequenceControl::new(4095, 15);
    assert_eq!((s.sequence(), s.fragment(), s.0), (4095, 15, 0xffff));
    let q = QosControl(0x01e5);
    assert_eq!((q.tid(), q.ack_policy(), q.is_amsdu(), q.has_mesh_control()), (5, 3, true, true));
    let none = QosControl(0);
    assert!(!none.is_amsdu() && !none.has_mesh_control());
}
