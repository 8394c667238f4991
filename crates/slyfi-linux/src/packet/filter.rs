//! The classic BPF program that keeps everything but SlyFi's frames from crossing into the process.

use super::{ETHERTYPE, LinkLayer, SOURCE};
use crate::air::ETHERNET_HEADER_LEN;
use crate::bpf::{self, Step, Verdict, load};
use slyfi_wire::carrier::HEADER;
use std::io;
use std::os::fd::BorrowedFd;

/// Which 802.11 frames pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Accept {
    /// Those with the anonymous carrier. Bytes that a card may rewrite are not looked at.
    #[default]
    Carrier,
    /// All, for the protocols that SlyFi is compared with.
    AnyFrame,
}

/// Returns the tests for an interface of this kind.
fn tests(layer: LinkLayer, accept: Accept) -> Vec<Step> {
    use libc::{BPF_ADD, BPF_ALU, BPF_B, BPF_H, BPF_IND, BPF_K, BPF_LD, BPF_LSH, BPF_MISC, BPF_OR};
    use libc::{BPF_TAX, BPF_W, BPF_X};
    let beyond_radiotap = |width, k| Step::Do { code: BPF_LD | width | BPF_IND, k };
    let u32_of = |b: &[u8], i: usize| u32::from_be_bytes([b[i], b[i + 1], b[i + 2], b[i + 3]]);
    let u16_of = |b: &[u8], i: usize| u32::from(u16::from_be_bytes([b[i], b[i + 1]]));

    // No own transmissions, where PACKET_IGNORE_OUTGOING (4.20) does not exist.
    let packet_type = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE).cast_unsigned();
    let mut steps = vec![load(BPF_B, packet_type), Step::Other(libc::PACKET_OUTGOING.into())];
    let base = match layer {
        LinkLayer::Monitor => 0,
        LinkLayer::Ethernet => {
            steps.extend([
                load(BPF_H, 12),
                Step::Equal(ETHERTYPE.into()),
                load(BPF_W, 6),
                Step::Equal(u32_of(&SOURCE, 0)),
                load(BPF_H, 10),
                Step::Equal(u16_of(&SOURCE, 4)),
            ]);
            ETHERNET_HEADER_LEN as u32
        }
    };
    steps.extend([load(BPF_B, base), Step::Equal(0)]); // radiotap version
    if accept == Accept::Carrier {
        // X = where the 802.11 frame begins; radiotap's length is little-endian.
        let tax = Step::Do { code: BPF_MISC | BPF_TAX, k: 0 };
        steps.extend([
            load(BPF_B, base + 3),
            Step::Do { code: BPF_ALU | BPF_LSH | BPF_K, k: 8 },
            tax,
            load(BPF_B, base + 2),
            Step::Do { code: BPF_ALU | BPF_OR | BPF_X, k: 0 },
            Step::Do { code: BPF_ALU | BPF_ADD | BPF_K, k: base },
            tax,
            beyond_radiotap(BPF_B, 0),
            Step::Equal(HEADER[0].into()),
        ]);
        // The three addresses, then category and organisation.
        for i in [4, 8, 12, 16, 24] {
            let offset = i as u32;
            steps.extend([beyond_radiotap(BPF_W, offset), Step::Equal(u32_of(&HEADER, i))]);
        }
        steps.extend([beyond_radiotap(BPF_H, 20), Step::Equal(u16_of(&HEADER, 20))]);
    }

    steps
}

/// Attaches the filter to a socket.
pub(super) fn attach(fd: BorrowedFd<'_>, layer: LinkLayer, accept: Accept) -> io::Result<()> {
    bpf::attach(fd, &tests(layer, accept), Verdict::Pass)
}

#[cfg(test)]
mod tests {
    use super::super::ethernet_header;
    use super::*;
    use slyfi_base::Rate;
    use slyfi_wire::radiotap::{self, RxRepr};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixDatagram;

    /// Runs a packet through the kernel's own filter machine, on a socket that needs no rights.
    fn passes(layer: LinkLayer, accept: Accept, packet: &[u8]) -> bool {
        let (tx, rx) = UnixDatagram::pair().unwrap();
        rx.set_nonblocking(true).unwrap();
        attach(rx.as_fd(), layer, accept).unwrap();
        // A refused datagram makes the sender's call fail with EPERM on these sockets, or vanish.
        let _ = tx.send(packet);
        let mut got = vec![0; packet.len() + 1];
        match rx.recv(&mut got) {
            Ok(n) => {
                assert_eq!(&got[..n], packet, "a filter passes the whole packet or nothing");
                true
            }
            Err(e) => {
                assert_eq!(e.kind(), io::ErrorKind::WouldBlock);
                false
            }
        }
    }

    fn packet(layer: LinkLayer, radiotap: &[u8]) -> Vec<u8> {
        let mut p = match layer {
            LinkLayer::Ethernet => ethernet_header().to_vec(),
            LinkLayer::Monitor => Vec::new(),
        };
        p.extend(radiotap);
        p.extend(HEADER);
        p.extend([0x5a; 40]);
        p
    }

    #[test]
    fn the_carrier_passes_behind_a_radiotap_header_of_any_length() {
        let long = RxRepr { tsft: Some(7), rate: Some(Rate::BASE), ..RxRepr::default() };
        let mut long_header = vec![0; long.buffer_len()];
        long.emit(&mut long_header).unwrap();
        // A length above 255 has both its bytes in use.
        let mut huge = vec![0; 300];
        huge[2..4].copy_from_slice(&300u16.to_le_bytes());
        for layer in [LinkLayer::Ethernet, LinkLayer::Monitor] {
            for header in [&radiotap::tx_header(Rate::BASE)[..], &long_header, &huge] {
                assert!(passes(layer, Accept::Carrier, &packet(layer, header)));
            }
        }
    }

    #[test]
    fn every_essential_byte_decides_and_those_of_the_card_do_not() {
        let header = radiotap::tx_header(Rate::BASE);
        for layer in [LinkLayer::Ethernet, LinkLayer::Monitor] {
            let good = packet(layer, &header);
            let frame = good.len() - HEADER.len() - 40;
            for i in 0..good.len() {
                let mut bad = good.clone();
                bad[i] ^= 0x10;
                let passed = passes(layer, Accept::Carrier, &bad);
                let (in_ethernet, in_radiotap) = (i + header.len() < frame, i < frame);
                if in_ethernet {
                    assert_eq!(passed, i < 6, "the destination is broadcast or not: byte {i}");
                } else if in_radiotap {
                    let of_radiotap = i + header.len() - frame;
                    // Version and length decide; pad and fields do not.
                    assert_eq!(passed, !matches!(of_radiotap, 0 | 2 | 3), "byte {of_radiotap}");
                } else {
                    let decides = matches!(i - frame, 0 | 4..=21 | 24..=27);
                    assert_eq!(passed, !decides, "frame byte {}", i - frame);
                }
            }
        }
    }

    #[test]
    fn other_frames_pass_only_when_asked_for() {
        for layer in [LinkLayer::Ethernet, LinkLayer::Monitor] {
            let mut data_frame = packet(layer, &radiotap::tx_header(Rate::BASE));
            let frame = data_frame.len() - HEADER.len() - 40;
            data_frame[frame] = 0x08;
            assert!(!passes(layer, Accept::Carrier, &data_frame));
            assert!(passes(layer, Accept::AnyFrame, &data_frame));
        }
        let mut other = packet(LinkLayer::Ethernet, &radiotap::tx_header(Rate::BASE));
        other[12..14].copy_from_slice(&[0x08, 0x00]);
        assert!(!passes(LinkLayer::Ethernet, Accept::AnyFrame, &other));
    }

    #[test]
    fn short_packets_are_refused() {
        for layer in [LinkLayer::Ethernet, LinkLayer::Monitor] {
            let good = packet(layer, &radiotap::tx_header(Rate::BASE));
            let shortest = good.len() - 40;
            for len in 1..shortest {
                assert!(!passes(layer, Accept::Carrier, &good[..len]), "{len} bytes");
            }
            assert!(passes(layer, Accept::Carrier, &good[..shortest]));
        }
    }
}
