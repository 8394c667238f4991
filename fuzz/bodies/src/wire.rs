//! The parsers of `slyfi-wire`: nothing panics, and what parses is written and read back as it was.

use crate::Choices;
use slyfi_base::MacAddress;
use slyfi_wire::announcement::Announcement;
use slyfi_wire::arp::ArpRepr;
use slyfi_wire::carrier::{self, CarrierError};
use slyfi_wire::element::Elements;
use slyfi_wire::ethernet::EthernetFrame;
use slyfi_wire::ieee80211::MacHeader;
use slyfi_wire::ip::IpPacket;
use slyfi_wire::message::{BackhaulMessage, Control, GroupMessage, LinkHeader, TrystMessage};
use slyfi_wire::ndp::NeighborRepr;
use slyfi_wire::pcapng::{Direction, Interface, LinkType, Packet, Resolution, Section};
use slyfi_wire::radiotap::{Radiotap, RxRepr};
use slyfi_wire::slyfi_frame::{ShroudFrame, TrystFrame};
use slyfi_wire::{NoSpace, llc};

/// Writes into exactly `len` bytes, and checks that one byte less is refused.
fn emitted(len: usize, emit: impl Fn(&mut [u8]) -> Result<usize, NoSpace>) -> Vec<u8> {
    let mut out = vec![0xa5; len];
    assert_eq!(emit(&mut out), Ok(len), "an exact buffer suffices");
    if let Some(short) = len.checked_sub(1) {
        assert!(emit(&mut vec![0; short]).is_err(), "a short buffer is refused");
    }
    out
}

/// Radiotap headers, as captures and monitor interfaces bring them.
pub fn radiotap(input: &[u8]) {
    let Ok(packet) = Radiotap::new_checked(input) else { return };
    let info = *packet.info();
    let after = input.len() - packet.header_len();
    // The frame check sequence is not part of the frame.
    let fcs = if info.has_fcs() { after.min(4) } else { 0 };
    assert_eq!(packet.frame().len() + fcs, after);
    assert_eq!(info.meta().bad_fcs, info.is_bad_fcs());
    let repr = RxRepr {
        tsft: info.tsft,
        flags: info.flags.unwrap_or(0),
        rate: info.rate,
        channel: info.channel,
        signal: info.signal,
    };
    let mut bytes = emitted(repr.buffer_len(), |b| repr.emit(b));
    assert!(bytes.len() <= RxRepr::MAX_LEN);
    bytes.extend_from_slice(&input[packet.header_len()..]);
    let again = Radiotap::new_checked(&bytes).expect("what was written is read");
    assert_eq!(again.frame(), packet.frame());
    let read = again.info();
    assert_eq!((read.tsft, read.rate, read.channel), (repr.tsft, repr.rate, repr.channel));
    assert_eq!((read.flags, read.signal), (Some(repr.flags), repr.signal));
}

/// 802.11 frames: header, elements, announcement, carrier, and the two bodies behind it.
pub fn ieee80211(input: &[u8]) {
    if let Ok(mac) = MacHeader::new_checked(input) {
        let _ = (mac.addr2(), mac.addr3(), mac.addr4(), mac.sequence(), mac.qos_control());
        let _ = (mac.destination(), mac.source(), mac.bssid(), mac.ht_control(), mac.duration());
        assert_eq!(mac.header_len() + mac.body().len(), input.len());
        let bytes = emitted(mac.repr().buffer_len(), |b| mac.repr().emit(b));
        let again = MacHeader::new_checked(&bytes).expect("what was written is read");
        assert_eq!(again.repr(), mac.repr());
        for fixed in [0, 12] {
            elements(mac.body().get(fixed..).unwrap_or(&[]));
        }
    }
    elements(input);
    if let Ok(announcement) = Announcement::parse(input) {
        let bytes = emitted(announcement.buffer_len(), |b| announcement.emit(b));
        assert_eq!(Announcement::parse(&bytes), Ok(announcement));
    }
    let view = carrier::view(input);
    assert_eq!(carrier::address(input).is_some(), view.is_ok());
    assert_eq!(carrier::body(input).is_ok(), view.is_ok());
    let constant = carrier::verify_constant(input);
    assert_eq!(constant.is_ok(), view.is_ok_and(|v| v.rewritten.is_none()));
    if let Err(CarrierError::Rewritten { offset }) = constant {
        assert_ne!(input[usize::from(offset)], carrier::HEADER[usize::from(offset)]);
    }
    for body in [carrier::body(input).ok(), Some(input)].into_iter().flatten() {
        if let Ok(tryst) = TrystFrame::new_checked(body) {
            for n in 0..10 {
                assert_eq!(tryst.header(n).is_some(), n < tryst.max_recipients());
                let _ = tryst.ctext(n);
            }
        }
        if let Ok(shroud) = ShroudFrame::new_checked(body) {
            let len = shroud.authenticated().len() + shroud.ctext().emac.len();
            assert_eq!(len, body.len());
        }
    }
}

fn elements(bytes: &[u8]) {
    let mut at = 0;
    let list = Elements::new(bytes);
    for element in list.clone().map_while(Result::ok) {
        let written = emitted(element.buffer_len(), |b| element.emit(b));
        assert_eq!(bytes.get(at..at + written.len()), Some(&written[..]), "elements are lossless");
        at += written.len();
    }
    let _ = (list.ssid(), list.find_vendor([2, b'S', b'L']));
}

/// The host's side: Ethernet, LLC, ARP, neighbour discovery, IP.
pub fn packets(input: &[u8]) {
    if let Ok(frame) = EthernetFrame::new_checked(input) {
        let repr = frame.repr();
        let bytes = emitted(repr.buffer_len(), |b| repr.emit(b));
        assert_eq!(bytes, input[..bytes.len()]);
        payload(frame.payload());
    }
    if let Ok((ether_type, rest)) = llc::parse(input) {
        assert_eq!(llc::parse(&llc::header(ether_type)), Ok((ether_type, &[][..])));
        payload(rest);
    }
    payload(input);
}

fn payload(bytes: &[u8]) {
    if let Ok(arp) = ArpRepr::parse(bytes) {
        let written = emitted(arp.buffer_len(), |b| arp.emit(b));
        assert_eq!(ArpRepr::parse(&written), Ok(arp));
        let _ = (arp.is_probe(), arp.is_announcement(), arp.answer(arp.sender_mac));
    }
    if let Ok(neighbor) = NeighborRepr::parse(bytes) {
        let written = emitted(neighbor.buffer_len(), |b| neighbor.emit(b));
        assert!(written.len() <= NeighborRepr::MAX_LEN);
        assert_eq!(NeighborRepr::parse(&written), Ok(neighbor));
        if let Some(answer) = neighbor.answer(ANSWERING) {
            let written = emitted(answer.buffer_len(), |b| answer.emit(b));
            assert_eq!(NeighborRepr::parse(&written), Ok(answer), "an answer is a legal packet");
        }
        let _ = neighbor.is_duplicate_address_detection();
    }
    if let Ok(ip) = IpPacket::new_checked(bytes) {
        let _ = (ip.source(), ip.destination(), ip.protocol(), ip.flow_hash());
    }
}

/// Whose address answers to solicitations give.
const ANSWERING: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

/// Every message inside Tryst, Shroud, the broadcasts and the backhaul: each is its own only
/// encoding.
pub fn messages(input: &[u8]) {
    let Some((kind, bytes)) = input.split_first() else { return };
    match kind % 5 {
        0 => {
            let Ok(message) = TrystMessage::parse(bytes) else { return };
            assert_eq!(emitted(message.buffer_len(), |b| message.emit(b)), bytes);
        }
        1 => {
            let Ok((header, data, rest)) = LinkHeader::parse(bytes) else { return };
            let len = header.buffer_len(data.as_ref());
            let mut written = emitted(len, |b| header.emit(data.as_ref(), b));
            written.extend_from_slice(rest);
            // A selective acknowledgement of nothing is legal, and not sent.
            let again = LinkHeader::parse(&written).expect("what was written is read");
            assert_eq!(again, (header, data, rest));
        }
        2 => {
            let Ok(message) = Control::parse(bytes) else { return };
            assert_eq!(emitted(message.buffer_len(), |b| message.emit(b)), bytes);
        }
        3 => {
            let Ok(message) = GroupMessage::parse(bytes) else { return };
            assert_eq!(emitted(message.buffer_len(), |b| message.emit(b)), bytes);
        }
        _ => {
            let Ok(message) = BackhaulMessage::parse(bytes) else { return };
            assert_eq!(emitted(message.buffer_len(), |b| message.emit(b)), bytes);
        }
    }
}

/// Blocks of pcapng: framed as the format asks, whatever the texts and packets are.
pub fn pcapng(input: &[u8]) {
    let mut c = Choices::new(input);
    let text = |c: &mut Choices<'_>| {
        c.is().then(|| String::from_utf8_lossy(c.run()).repeat(1 + c.below(300)))
    };
    let (application, comment) = (text(&mut c), text(&mut c));
    let section = Section { application: application.as_deref(), comment: comment.as_deref() };
    block(&emitted(section.buffer_len(), |b| section.emit(b)));
    let (name, description) = (text(&mut c), text(&mut c));
    let interface = Interface {
        link_type: [LinkType::Ethernet, LinkType::Ieee80211, LinkType::Radiotap][c.below(3)],
        resolution: [Resolution::Micros, Resolution::Nanos][c.below(2)],
        snap_len: c.word(),
        name: name.as_deref(),
        description: description.as_deref(),
    };
    block(&emitted(interface.buffer_len(), |b| interface.emit(b)));
    let comment = text(&mut c);
    let (first, second) = (c.run(), c.run());
    let packet = Packet {
        interface: c.word(),
        timestamp: c.long(),
        parts: &[first, second, c.rest()],
        direction: [None, Some(Direction::Inbound), Some(Direction::Outbound)][first.len() % 3],
        comment: comment.as_deref(),
    };
    let bytes = emitted(packet.buffer_len(), |b| packet.emit(b));
    block(&bytes);
    let data: Vec<u8> = packet.parts.concat();
    assert_eq!(bytes.get(28..28 + data.len()), Some(&data[..]));
}

/// Checks a block's framing: both lengths, and options that end where the block does.
fn block(bytes: &[u8]) {
    let word =
        |at: usize| bytes[at..].first_chunk().map(|b| u32::from_le_bytes(*b)).expect("a word");
    let len = u32::try_from(bytes.len()).expect("short blocks");
    assert_eq!(len % 4, 0);
    assert_eq!((word(4), word(bytes.len() - 4)), (len, len));
    let mut at = match word(0) {
        0x0a0d_0d0a => 24,
        1 => 16,
        _ => 28 + (word(20) as usize).next_multiple_of(4),
    };
    loop {
        let (code, length) = (word(at) & 0xffff, word(at) >> 16);
        at += 4 + (length as usize).next_multiple_of(4);
        if code == 0 {
            break;
        }
    }
    assert_eq!(at, bytes.len() - 4, "options end before the closing length");
}
