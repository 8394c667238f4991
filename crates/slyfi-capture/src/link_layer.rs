//! From a captured packet to the 802.11 frame in it: radiotap, Prism, AVS and PPI headers, padding, and the
//! frame check sequence.

use slyfi_ciphers::crc32::crc32;
use slyfi_wire::Reader;
use slyfi_wire::ieee80211::FrameControl;
use slyfi_wire::radiotap::Radiotap;
use std::borrow::Cow;

/// Link type: Ethernet.
pub const ETHERNET: i32 = 1;
/// Link type: an 802.11 frame.
pub const IEEE80211: i32 = 105;
/// Link type: Linux "cooked", where the kernel has taken the 802.11 header off.
pub const LINUX_SLL: i32 = 113;
/// Link type: a Prism (or AVS) header before the frame.
pub const PRISM: i32 = 119;
/// Link type: a radiotap header before the frame.
pub const RADIOTAP: i32 = 127;
/// Link type: an AVS header before the frame.
pub const AVS: i32 = 163;
/// Link type: a PPI header before the frame.
pub const PPI: i32 = 192;
/// Link type: Linux "cooked", version 2.
pub const LINUX_SLL2: i32 = 276;

/// What a packet holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents<'a> {
    /// An 802.11 frame without frame check sequence.
    Frame {
        /// Its bytes.
        frame: Cow<'a, [u8]>,
        /// Whether the radio, or the sequence itself, says that it is damaged.
        bad_fcs: bool,
    },
    /// Ethernet or Linux "cooked": what an operating system gives after it has opened the frames.
    NotWireless,
    /// A header that cannot be read, or a link type that is not known here.
    Unreadable,
}

/// Takes everything before and after the frame away.
pub fn contents(link_type: i32, packet: &[u8]) -> Contents<'_> {
    match link_type {
        IEEE80211 => without_fcs(packet),
        RADIOTAP => radiotap(packet),
        PRISM | AVS => match packet.get(prism_len(packet)..) {
            Some(frame) if !packet.is_empty() => without_fcs(frame),
            _ => Contents::Unreadable,
        },
        PPI => ppi(packet).unwrap_or(Contents::Unreadable),
        ETHERNET | LINUX_SLL | LINUX_SLL2 => Contents::NotWireless,
        _ => Contents::Unreadable,
    }
}

fn radiotap(packet: &[u8]) -> Contents<'_> {
    let Ok(view) = Radiotap::new_checked(packet) else { return Contents::Unreadable };
    let info = view.info();
    let bad_fcs = info.is_bad_fcs();
    let frame = if info.flags.is_some() {
        view.frame()
    } else {
        // Without a Flags field nobody says whether the sequence is there.
        match without_fcs(view.frame()) {
            Contents::Frame { frame: Cow::Borrowed(frame), .. } => frame,
            _ => view.frame(),
        }
    };
    let frame = if info.has_data_pad() { unpadded(frame) } else { Cow::Borrowed(frame) };
    Contents::Frame { frame, bad_fcs }
}

/// A PPI header (CACE Technologies' "PPI Header format" 1.0.7, little-endian): `version 1 | flags 1 |
/// length 2 | link type 4`, then fields of `type 2 | length 2 | data`.
fn ppi(packet: &[u8]) -> Option<Contents<'_>> {
    /// The field that tells about the frame check sequence, and its bits.
    const COMMON: u16 = 2;
    const HAS_FCS: u16 = 1;
    const BAD_FCS: u16 = 4;
    let mut r = Reader::new(packet);
    let (_version, flags, len) = (r.u8().ok()?, r.u8().ok()?, usize::from(r.u16_le().ok()?));
    let inner = i32::try_from(r.u32_le().ok()?).ok()?;
    let mut fields = Reader::new(packet.get(8..len)?);
    let mut fcs = None;
    while let (Ok(kind), Ok(len)) = (fields.u16_le(), fields.u16_le()) {
        let Ok(data) = fields.take(usize::from(len)) else { break };
        if kind == COMMON {
            fcs = data.get(8..10).and_then(|b| b.try_into().ok()).map(u16::from_le_bytes);
        }
        if flags & 1 == 1 {
            let _ = fields.take(usize::from(len).next_multiple_of(4) - usize::from(len));
        }
    }
    let frame = packet.get(len..)?;
    match (inner, fcs) {
        (IEEE80211, Some(bits)) if bits & HAS_FCS != 0 => {
            let (frame, _) = frame.split_last_chunk::<4>()?;
            Some(Contents::Frame { frame: Cow::Borrowed(frame), bad_fcs: bits & BAD_FCS != 0 })
        }
        (IEEE80211, _) => Some(without_fcs(frame)),
        (RADIOTAP, _) => Some(radiotap(frame)),
        _ => None,
    }
}

/// Removes the padding that some drivers put between header and body.
fn unpadded(frame: &[u8]) -> Cow<'_, [u8]> {
    let Some(fc) = frame.first_chunk::<2>() else { return Cow::Borrowed(frame) };
    let header = FrameControl(u16::from_le_bytes(*fc)).header_len();
    let body = header.next_multiple_of(4);
    match (frame.get(..header), frame.get(body..)) {
        (Some(h), Some(b)) if body > header => Cow::Owned([h, b].concat()),
        _ => Cow::Borrowed(frame),
    }
}

/// Takes the frame check sequence off if the last four bytes are one.
fn without_fcs(frame: &[u8]) -> Contents<'_> {
    let frame = match frame.split_last_chunk::<4>() {
        Some((rest, fcs)) if !rest.is_empty() && crc32(rest).to_le_bytes() == *fcs => rest,
        _ => frame,
    };
    Contents::Frame { frame: Cow::Borrowed(frame), bad_fcs: false }
}

/// Bytes of a Prism or AVS header. Prism: message code and length, in the byte order of the machine
/// that captured. AVS: a magic and the length, big-endian.
fn prism_len(packet: &[u8]) -> usize {
    let word =
        |at: usize| packet.get(at..).and_then(|b| b.first_chunk::<4>()).copied().unwrap_or([0; 4]);
    let (first, len) = (word(0), word(4));
    let len = if first[..3] == [0x80, 0x21, 0x10] || first[0] == 0 {
        u32::from_be_bytes(len)
    } else {
        u32::from_le_bytes(len)
    };
    len as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(c: Contents<'_>) -> Vec<u8> {
        match c {
            Contents::Frame { frame, .. } => frame.into_owned(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_frame_check_sequence_is_taken_off_where_there_is_one() {
        let body = [0x08, 0, 1, 2, 3, 4, 5];
        let mut with = body.to_vec();
        with.extend(crc32(&body).to_le_bytes());
        assert_eq!(frame(contents(IEEE80211, &with)), body);
        with[0] ^= 1;
        assert_eq!(frame(contents(IEEE80211, &with)), with);
        assert_eq!(frame(contents(IEEE80211, &body)), body);
    }

    #[test]
    fn prism_headers_of_both_byte_orders_are_skipped() {
        for (code, len) in [([0x44, 0, 0, 0], [144, 0, 0, 0]), ([0, 0, 0, 0x44], [0, 0, 0, 144])] {
            let mut packet = [code, len].concat();
            packet.resize(144, 9);
            packet.extend([0x08, 0, 7]);
            assert_eq!(frame(contents(PRISM, &packet)), [0x08, 0, 7]);
            assert_eq!(contents(PRISM, &packet[..100]), Contents::Unreadable);
        }
        let mut avs = vec![0x80, 0x21, 0x10, 1, 0, 0, 0, 64];
        avs.resize(64, 0);
        avs.extend([0x08, 0]);
        assert_eq!(frame(contents(AVS, &avs)), [0x08, 0]);
        assert_eq!(contents(PRISM, &[]), Contents::Unreadable);
    }

    #[test]
    fn padding_between_header_and_body_is_removed() {
        // Flags: data pad. QoS data has a header of 26 bytes.
        let mut packet = vec![0, 0, 9, 0, 2, 0, 0, 0, 0x20];
        let mut qos = vec![0x88, 0];
        qos.resize(26, 1);
        packet.extend(&qos);
        packet.extend([0xee, 0xee, 5, 6]);
        assert_eq!(frame(contents(RADIOTAP, &packet)), [&qos[..], &[5, 6]].concat());
    }

    #[test]
    fn ppi_headers_tell_about_the_frame_check_sequence() {
        let packet = |flags: u8, bits: u8, inner: u8| {
            // A field of three bytes, aligned or not, before the one that counts.
            let mut p = vec![0, flags, 0, 0, inner, 0, 0, 0, 9, 0, 3, 0, 1, 2, 3];
            p.extend(vec![0; usize::from(flags & 1)]);
            p.extend([2, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, bits, 0]);
            p.extend([0; 10]);
            p[2] = p.len() as u8;
            p.extend([0x08, 0, 7, 8, 9, 10]);
            p
        };
        for flags in [0, 1] {
            assert_eq!(frame(contents(PPI, &packet(flags, 0, 105))), [0x08, 0, 7, 8, 9, 10]);
            assert_eq!(frame(contents(PPI, &packet(flags, 1, 105))), [0x08, 0]);
            let damaged = packet(flags, 5, 105);
            let bad = contents(PPI, &damaged);
            assert!(matches!(bad, Contents::Frame { bad_fcs: true, .. }));
        }
        assert_eq!(contents(PPI, &packet(0, 0, 1)), Contents::Unreadable, "Ethernet inside");
        let whole = packet(0, 1, 105);
        for n in 0..whole.len() - 6 {
            assert_eq!(contents(PPI, &whole[..n]), Contents::Unreadable);
        }
    }

    #[test]
    fn what_is_not_wireless_says_so() {
        assert_eq!(contents(ETHERNET, &[0; 60]), Contents::NotWireless);
        assert_eq!(contents(LINUX_SLL, &[0; 60]), Contents::NotWireless);
        assert_eq!(contents(LINUX_SLL2, &[0; 60]), Contents::NotWireless);
        assert_eq!(contents(9999, &[0; 60]), Contents::Unreadable);
        assert_eq!(contents(RADIOTAP, &[1, 2, 3]), Contents::Unreadable);
    }
}
