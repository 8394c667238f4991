//! IPv6 neighbour discovery: solicitations and advertisements (RFC 4861 §4.3, §4.4, §4.6.1).
//!
//! # Layout
//! ```text
//!   IPv6 header 40 (next header 58, hop limit 255)
//!   | type 1 (135 or 136) | code 1 = 0 | checksum 2 | flags 4 | target 16 | options
//! ```
//! The one option of interest is the link-layer address: `1 (source) or 2 (target) | 1 | MAC 6`.

use crate::{Malformed, NoSpace, Reader, Writer};
use core::net::Ipv6Addr;
use slyfi_base::MacAddress;

const IPV6_LEN: usize = 40;
const ICMPV6: u8 = 58;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// Type, code, checksum, flags, target.
const FIXED_LEN: usize = 24;
const OPTION_LEN: usize = 8;
const SOURCE_ADDRESS: u8 = 1;
const TARGET_ADDRESS: u8 = 2;
/// No router has forwarded the packet (RFC 4861 §7.1).
const HOP_LIMIT: u8 = 255;

const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// Returns the solicited-node multicast address of `target` (RFC 4291 §2.7.1).
pub const fn solicited_node(target: Ipv6Addr) -> Ipv6Addr {
    let o = target.octets();
    let (high, low) = (0xff00 | o[13] as u16, (o[14] as u16) << 8 | o[15] as u16);
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, high, low)
}

/// Returns the Ethernet address of an IPv6 multicast address (RFC 2464 §7).
pub const fn multicast_mac(address: Ipv6Addr) -> MacAddress {
    let o = address.octets();
    MacAddress([0x33, 0x33, o[12], o[13], o[14], o[15]])
}

/// What a neighbour discovery packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// "Who has the target?"
    Solicitation,
    /// "The target is at the link-layer address."
    Advertisement {
        /// The sender routes.
        router: bool,
        /// It answers a solicitation.
        solicited: bool,
        /// It replaces what the receiver believed.
        overrides: bool,
    },
}

/// A neighbour solicitation or advertisement with its IPv6 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighborRepr {
    /// The sender; unspecified in duplicate address detection.
    pub source: Ipv6Addr,
    /// The receiver, often a multicast address.
    pub destination: Ipv6Addr,
    /// The address in question.
    pub target: Ipv6Addr,
    /// Which message.
    pub body: Body,
    /// The link-layer address option: the source's in a solicitation, the target's in an
    /// advertisement.
    pub link_layer: Option<MacAddress>,
}

impl NeighborRepr {
    /// The longest packet that [`NeighborRepr::emit`] writes.
    pub const MAX_LEN: usize = IPV6_LEN + FIXED_LEN + OPTION_LEN;

    /// Parses an IPv6 packet and validates it as RFC 4861 §7.1.1 and §7.1.2 ask.
    ///
    /// # Errors
    /// [`Malformed::Value`] when it is some other packet or breaks a rule of those sections,
    /// [`Malformed::Truncated`] when it is cut short, [`Malformed::Checksum`].
    pub fn parse(packet: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(packet);
        if r.u8()? >> 4 != 6 {
            return Err(Malformed::Value { offset: 0 });
        }
        r.take(3)?;
        let length = usize::from(r.u16_be()?);
        // Extension headers before neighbour discovery are legal but not made by anyone; what is
        // not validated is not answered.
        if r.u8()? != ICMPV6 {
            return Err(Malformed::Value { offset: 6 });
        }
        if r.u8()? != HOP_LIMIT {
            return Err(Malformed::Value { offset: 7 });
        }
        let source = Ipv6Addr::from(r.array::<16>()?);
        let destination = Ipv6Addr::from(r.array::<16>()?);
        let icmp = r.take(length)?;
        if length < FIXED_LEN {
            return Err(Malformed::Value { offset: 4 });
        }
        let mut r = Reader::new(icmp);
        let kind = r.u8()?;
        if !matches!(kind, SOLICITATION | ADVERTISEMENT) {
            return Err(Malformed::Value { offset: IPV6_LEN });
        }
        if checksum(source, destination, icmp) != 0 {
            return Err(Malformed::Checksum);
        }
        if r.u8()? != 0 {
            return Err(Malformed::Value { offset: IPV6_LEN + 1 });
        }
        r.u16_be()?;
        let flags = r.u32_be()?;
        let target = Ipv6Addr::from(r.array::<16>()?);
        let wanted = if kind == SOLICITATION { SOURCE_ADDRESS } else { TARGET_ADDRESS };
        let link_layer = link_layer_option(wanted, r)?;
        let body = if kind == SOLICITATION {
            Body::Solicitation
        } else {
            Body::Advertisement {
                router: flags & 1 << 31 != 0,
                solicited: flags & 1 << 30 != 0,
                overrides: flags & 1 << 29 != 0,
            }
        };
        let repr = NeighborRepr { source, destination, target, body, link_layer };
        repr.validate()?;
        Ok(repr)
    }

    /// The rules that bind several fields.
    fn validate(&self) -> Result<(), Malformed> {
        if self.target.is_multicast() {
            return Err(Malformed::Value { offset: IPV6_LEN + 8 });
        }
        match self.body {
            Body::Solicitation if self.source.is_unspecified() => {
                if self.destination != solicited_node(self.target) {
                    return Err(Malformed::Value { offset: 24 });
                }
                if self.link_layer.is_some() {
                    return Err(Malformed::Value { offset: IPV6_LEN + FIXED_LEN });
                }
            }
            Body::Solicitation => {}
            Body::Advertisement { solicited, .. } => {
                if solicited && self.destination.is_multicast() {
                    return Err(Malformed::Value { offset: IPV6_LEN + 4 });
                }
            }
        }
        Ok(())
    }

    /// Returns whether this is duplicate address detection: the sender asks whether it may take the
    /// target (RFC 4862 §5.4).
    pub fn is_duplicate_address_detection(&self) -> bool {
        self.body == Body::Solicitation && self.source.is_unspecified()
    }

    /// Returns the advertisement that answers a solicitation for a target which `mac` has; `None`
    /// if this is no solicitation.
    ///
    /// Duplicate address detection is answered to all nodes, unsolicited (RFC 4861 §7.2.4). The
    /// override flag is set: the answer comes from the one place that knows the binding, which its
    /// owner made known itself, and must replace that of an earlier session.
    pub fn answer(&self, mac: MacAddress) -> Option<NeighborRepr> {
        if self.body != Body::Solicitation {
            return None;
        }
        let dad = self.is_duplicate_address_detection();
        Some(NeighborRepr {
            source: self.target,
            destination: if dad { ALL_NODES } else { self.source },
            target: self.target,
            body: Body::Advertisement { router: false, solicited: !dad, overrides: true },
            link_layer: Some(mac),
        })
    }

    /// Returns the packet's length in bytes, IPv6 header included.
    pub const fn buffer_len(&self) -> usize {
        IPV6_LEN + FIXED_LEN + if self.link_layer.is_some() { OPTION_LEN } else { 0 }
    }

    /// Writes the packet, IPv6 header included and checksum computed, and returns its length.
    ///
    /// # Errors
    /// [`NoSpace`] when `buf` is shorter than [`NeighborRepr::buffer_len`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, NoSpace> {
        let len = self.buffer_len();
        let (kind, flags, option) = match self.body {
            Body::Solicitation => (SOLICITATION, 0, SOURCE_ADDRESS),
            Body::Advertisement { router, solicited, overrides } => {
                let flags = u32::from(router) << 31
                    | u32::from(solicited) << 30
                    | u32::from(overrides) << 29;
                (ADVERTISEMENT, flags, TARGET_ADDRESS)
            }
        };
        let mut icmp = [0; FIXED_LEN + OPTION_LEN];
        let mut w = Writer::new(&mut icmp, len - IPV6_LEN)?;
        w.u8(kind);
        w.u8(0);
        w.u16_be(0);
        w.u32_be(flags);
        w.put(&self.target.octets());
        if let Some(mac) = self.link_layer {
            w.put(&[option, 1]);
            w.put(&mac.0);
        }
        let icmp_len = w.finish();
        let sum = checksum(self.source, self.destination, icmp.get(..icmp_len).unwrap_or(&icmp));
        if let Some(field) = icmp.get_mut(2..4) {
            field.copy_from_slice(&sum.to_be_bytes());
        }

        let mut w = Writer::new(buf, len)?;
        w.u32_be(0x6000_0000);
        // At most 32.
        w.u16_be(icmp_len as u16);
        w.u8(ICMPV6);
        w.u8(HOP_LIMIT);
        w.put(&self.source.octets());
        w.put(&self.destination.octets());
        w.put(icmp.get(..icmp_len).unwrap_or(&icmp));
        Ok(w.finish())
    }
}

/// Walks the options and returns the wanted link-layer address. Unknown options are skipped; one of
/// length zero spoils the packet (RFC 4861 §4.6).
fn link_layer_option(wanted: u8, mut r: Reader<'_>) -> Result<Option<MacAddress>, Malformed> {
    let mut found = None;
    while !r.is_empty() {
        let offset = IPV6_LEN + r.position();
        let (kind, units) = (r.u8()?, usize::from(r.u8()?));
        if units == 0 {
            return Err(Malformed::Value { offset: offset + 1 });
        }
        let data = r.take(units * 8 - 2)?;
        if kind == wanted && found.is_none() {
            let mac = MacAddress(data.try_into().map_err(|_| Malformed::Value { offset })?);
            if mac.is_group() {
                return Err(Malformed::Value { offset });
            }
            found = Some(mac);
        }
    }
    Ok(found)
}

/// The Internet checksum over pseudo-header and message (RFC 4443 §2.3); zero over a correct one.
fn checksum(source: Ipv6Addr, destination: Ipv6Addr, icmp: &[u8]) -> u16 {
    let mut sum = u64::from(ICMPV6) + icmp.len() as u64;
    let mut add = |bytes: &[u8]| {
        for pair in bytes.chunks(2) {
            let high = pair.first().copied().unwrap_or(0);
            let low = pair.get(1).copied().unwrap_or(0);
            sum += u64::from(u16::from_be_bytes([high, low]));
        }
    };
    add(&source.octets());
    add(&destination.octets());
    add(icmp);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    // Below 2^16 after folding.
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0x1234, 0x56ff, 0xfe78, 0x9abc);
    const ASKER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 7);
    const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);

    fn solicitation() -> NeighborRepr {
        NeighborRepr {
            source: ASKER,
            destination: solicited_node(TARGET),
            target: TARGET,
            body: Body::Solicitation,
            link_layer: Some(MacAddress([2, 0, 0, 0, 0, 7])),
        }
    }

    fn detection() -> NeighborRepr {
        NeighborRepr { source: Ipv6Addr::UNSPECIFIED, link_layer: None, ..solicitation() }
    }

    fn bytes(r: &NeighborRepr) -> ([u8; NeighborRepr::MAX_LEN], usize) {
        let mut b = [0; NeighborRepr::MAX_LEN];
        let n = r.emit(&mut b).unwrap();
        (b, n)
    }

    /// Recomputes the checksum after a change, so that only the change can be the fault.
    fn fix(b: &mut [u8]) {
        let (src, dst): ([u8; 16], [u8; 16]) =
            (b[8..24].try_into().unwrap(), b[24..40].try_into().unwrap());
        b[42..44].copy_from_slice(&[0, 0]);
        let sum = checksum(src.into(), dst.into(), &b[40..]);
        b[42..44].copy_from_slice(&sum.to_be_bytes());
    }

    #[test]
    fn group_addresses_are_those_of_the_rfcs() {
        // RFC 4291 section 2.7.1's own example.
        let target: Ipv6Addr = "4037::01:800:200e:8c6c".parse().unwrap();
        let group: Ipv6Addr = "ff02::1:ff0e:8c6c".parse().unwrap();
        assert_eq!(solicited_node(target), group);
        assert_eq!(multicast_mac(group), MacAddress([0x33, 0x33, 0xff, 0x0e, 0x8c, 0x6c]));
    }

    #[test]
    fn a_known_packet_has_its_known_checksum() {
        // Checksum computed apart from this code: one's-complement sum over the pseudo-header.
        let (b, n) = bytes(&detection());
        assert_eq!(n, 64);
        let words = b[8..40].chunks(2).chain(b[40..64].chunks(2));
        let sum: u32 = words.map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum::<u32>() + 24 + 58;
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }

    #[test]
    fn a_solicitation_is_answered_to_its_sender() {
        let a = solicitation().answer(MAC).unwrap();
        assert_eq!((a.source, a.destination, a.target), (TARGET, ASKER, TARGET));
        assert_eq!(a.link_layer, Some(MAC));
        let (b, n) = bytes(&a);
        assert_eq!(NeighborRepr::parse(&b[..n]), Ok(a));
        assert_eq!(a.answer(MAC), None);
    }

    #[test]
    fn duplicate_address_detection_is_answered_to_all_nodes() {
        assert!(detection().is_duplicate_address_detection());
        assert!(!solicitation().is_duplicate_address_detection());
        let a = detection().answer(MAC).unwrap();
        assert_eq!(a.destination, ALL_NODES);
        assert!(matches!(a.body, Body::Advertisement { solicited: false, .. }));
        let (b, n) = bytes(&a);
        assert_eq!(NeighborRepr::parse(&b[..n]), Ok(a));
    }

    #[test]
    fn every_flipped_bit_after_the_fixed_ipv6_fields_is_noticed() {
        let (b, n) = bytes(&solicitation());
        for bit in 4 * 8..n * 8 {
            let mut bad = b;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(NeighborRepr::parse(&bad[..n]).is_err(), "bit {bit}");
        }
        for len in 0..n {
            assert!(matches!(NeighborRepr::parse(&b[..len]), Err(Malformed::Truncated { .. })));
        }
    }

    #[test]
    fn packets_that_break_a_rule_are_refused_although_their_checksum_holds() {
        let (good, n) = bytes(&solicitation());
        let broken = |change: &dyn Fn(&mut [u8])| {
            let mut b = good;
            change(&mut b);
            fix(&mut b[..n]);
            NeighborRepr::parse(&b[..n])
        };
        assert_eq!(broken(&|_| {}), Ok(solicitation()));
        let value = |offset| Err(Malformed::Value { offset });
        assert_eq!(broken(&|b| b[7] = 254), value(7), "hop limit");
        assert_eq!(broken(&|b| b[41] = 1), value(41), "code");
        assert_eq!(broken(&|b| b[40] = 133), value(40), "router solicitation");
        assert_eq!(broken(&|b| b[48] = 0xff), value(48), "multicast target");
        assert_eq!(broken(&|b| b[65] = 0), value(65), "option of length zero");
        assert_eq!(broken(&|b| b[66] |= 1), value(64), "group link-layer address");
        assert_eq!(broken(&|b| b[8..24].fill(0)), value(64), "detection with an option");

        let (b, n) = bytes(&NeighborRepr { destination: ALL_NODES, ..detection() });
        assert_eq!(NeighborRepr::parse(&b[..n]), value(24), "detection not to the group");
        let solicited = NeighborRepr {
            destination: ALL_NODES,
            body: Body::Advertisement { router: false, solicited: true, overrides: false },
            ..solicitation()
        };
        let (b, n) = bytes(&solicited);
        assert_eq!(NeighborRepr::parse(&b[..n]), value(44), "solicited, but to a group");
    }
}
