use super::*;

/// A header of these present words and fields, with a frame of two bytes behind it.
fn packet<const N: usize>(words: &[u32], fields: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    let mut w = Writer::new(&mut out, N).unwrap();
    let len = 4 + 4 * words.len() + fields.len();
    w.u16_le(0);
    w.u16_le(len as u16);
    words.iter().for_each(|word| w.u32_le(*word));
    w.put(fields);
    w.put(&[0xca, 0xfe]);
    w.finish();
    out
}

#[test]
fn the_transmit_header_is_these_twelve_bytes() {
    let h = tx_header(Rate::PEAK);
    assert_eq!(h, [0, 0, 12, 0, 0x04, 0x80, 0, 0, 108, 0, 0x38, 0]);
    let r = Radiotap::new_checked(&h).unwrap();
    assert_eq!(r.info().rate, Some(Rate::PEAK));
    assert_eq!(r.info().tx_flags, Some(TX_NO_ACK | TX_NO_SEQ | TX_ORDER));
    assert!(r.info().is_own_echo() && r.info().complete);
}

#[test]
fn fields_are_aligned_from_the_start_of_the_header_also_after_more_present_words() {
    // Words end at 12, so the 8-byte counter begins at 16.
    let p = packet::<26>(
        &[1 << bit::MORE | 1 << bit::RADIOTAP_NAMESPACE | 1 << bit::TSFT, 0],
        &[9, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8],
    );
    let r = Radiotap::new_checked(&p).unwrap();
    assert_eq!(r.info().tsft, Some(0x0807_0605_0403_0201));
    assert_eq!(r.frame(), [0xca, 0xfe]);
}

#[test]
fn the_first_of_several_signals_counts() {
    let more = 1 << bit::MORE | 1 << bit::RADIOTAP_NAMESPACE;
    let one = 1 << bit::SIGNAL | 1 << bit::ANTENNA;
    let p = packet::<24>(&[more | 1 << bit::SIGNAL, more | one, one], &[0xd6, 0xd0, 0, 0xcf, 1, 0]);
    let r = Radiotap::new_checked(&p).unwrap();
    assert_eq!((r.info().signal, r.info().antenna), (Some(Dbm(-42)), Some(0)));
    assert!(r.info().complete);
}

#[test]
fn vendor_data_is_skipped_by_its_length_and_its_bits_stand_for_nothing() {
    let p = packet::<32>(
        &[
            1 << bit::MORE | 1 << bit::VENDOR_NAMESPACE | 1 << bit::FLAGS,
            // All of the vendor's bits, then back to radiotap.
            0x1fff_ffff | 1 << bit::RADIOTAP_NAMESPACE | 1 << bit::MORE,
            1 << bit::RATE,
        ],
        &[FLAG_BAD_FCS, 0, 0x00, 0x11, 0x22, 0, 3, 0, 0xee, 0xee, 0xee, 12, 0, 0],
    );
    let r = Radiotap::new_checked(&p).unwrap();
    assert!(r.info().is_bad_fcs() && r.info().complete);
    assert_eq!(r.info().rate, Some(Rate::BASE));
    assert!(r.info().meta().bad_fcs);
}

#[test]
fn words_after_the_first_go_on_counting_where_no_namespace_is_named() {
    // Bit 1 of the second word is field 33, which nobody has defined, not Flags.
    let p = packet::<18>(&[1 << bit::MORE, 1 << bit::FLAGS], &[FLAG_FCS, 0, 0, 0]);
    let r = Radiotap::new_checked(&p).unwrap();
    assert_eq!((r.info().flags, r.info().complete), (None, false));
    assert_eq!(r.frame(), [0xca, 0xfe]);
}

#[test]
fn a_frame_check_sequence_is_removed_and_must_be_there() {
    let p = packet::<11>(&[1 << bit::FLAGS], &[FLAG_FCS]);
    assert!(matches!(Radiotap::new_checked(&p), Err(Malformed::Truncated { needed: 13, .. })));
    let p = packet::<15>(&[1 << bit::FLAGS], &[FLAG_FCS, 1, 2, 3, 4]);
    let mut p = p;
    p[2] = 9;
    assert_eq!(Radiotap::new_checked(&p).unwrap().frame(), [1, 2]);
}

#[test]
fn fields_or_present_words_past_the_header_are_refused() {
    for fields in [&[][..], &[0; 7]] {
        let mut p = [0; 17];
        p[2] = 8 + fields.len() as u8;
        p[4] = 1 << bit::TSFT;
        assert!(matches!(Radiotap::new_checked(&p), Err(Malformed::Truncated { .. })));
    }
    let p = [0, 0, 8, 0, 0, 0, 0, 0x80, 0, 0, 0, 0];
    assert!(matches!(Radiotap::new_checked(&p), Err(Malformed::Truncated { .. })));
    let vendor = [0, 0, 14, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 1, 0, 0];
    assert!(matches!(Radiotap::new_checked(&vendor), Err(Malformed::Truncated { .. })));
}

#[test]
fn other_versions_and_impossible_lengths_are_refused() {
    let p = packet::<10>(&[0], &[]);
    assert!(Radiotap::new_checked(&p).is_ok());
    let with = |at: usize, v: u8| {
        let mut p = p;
        p[at] = v;
        p
    };
    assert_eq!(Radiotap::new_checked(&with(0, 1)), Err(Malformed::Value { offset: 0 }));
    assert_eq!(Radiotap::new_checked(&with(2, 7)), Err(Malformed::Value { offset: 2 }));
    assert_eq!(
        Radiotap::new_checked(&with(2, 11)),
        Err(Malformed::Truncated { needed: 11, actual: 10 })
    );
}
