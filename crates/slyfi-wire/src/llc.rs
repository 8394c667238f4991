//! LLC/SNAP: what stands before an EtherType in an 802.11 data body.
//!
//! # Layout
//! `AA AA 03 | 00 00 00 | EtherType 2 (big-endian)` (RFC 1042). For the two EtherTypes of the
//! bridge-tunnel encapsulation the middle three octets are `00 00 F8` (IEEE 802.1H); both are
//! understood for every EtherType.

use crate::{Malformed, Reader};

/// Bytes before the payload.
pub const HEADER_LEN: usize = 8;

/// EtherType of IPv4.
pub const IPV4: u16 = 0x0800;
/// EtherType of ARP.
pub const ARP: u16 = 0x0806;
/// EtherType of IPv6.
pub const IPV6: u16 = 0x86dd;
/// EtherType of EAPOL (IEEE 802.1X).
pub const EAPOL: u16 = 0x888e;
/// EtherType of AppleTalk's ARP, which 802.1H tunnels.
pub const APPLETALK_ARP: u16 = 0x80f3;
/// EtherType of IPX, which 802.1H tunnels.
pub const IPX: u16 = 0x8137;

const RFC_1042: [u8; 6] = [0xaa, 0xaa, 0x03, 0x00, 0x00, 0x00];
const BRIDGE_TUNNEL: [u8; 6] = [0xaa, 0xaa, 0x03, 0x00, 0x00, 0xf8];

/// Returns the header for an EtherType.
pub const fn header(ethertype: u16) -> [u8; HEADER_LEN] {
    let [a, b, c, d, e, f] = match ethertype {
        APPLETALK_ARP | IPX => BRIDGE_TUNNEL,
        _ => RFC_1042,
    };
    let [hi, lo] = ethertype.to_be_bytes();
    [a, b, c, d, e, f, hi, lo]
}

/// Splits a data body into its EtherType and payload.
///
/// # Errors
/// [`Malformed::Truncated`] when the header is not all there; [`Malformed::Value`] for another LLC
/// header (spanning tree, for instance).
pub fn parse(body: &[u8]) -> Result<(u16, &[u8]), Malformed> {
    let mut r = Reader::new(body);
    let snap: [u8; 6] = r.array()?;
    let ethertype = r.u16_be()?;
    if snap != RFC_1042 && snap != BRIDGE_TUNNEL {
        return Err(Malformed::Value { offset: 0 });
    }
    Ok((ethertype, r.rest()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_carries_every_ethertype() {
        for ethertype in 0..=u16::MAX {
            assert_eq!(parse(&header(ethertype)), Ok((ethertype, &[][..])));
        }
        assert_eq!(header(IPV4), [0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
        assert_eq!(header(IPX), [0xaa, 0xaa, 3, 0, 0, 0xf8, 0x81, 0x37]);
    }

    #[test]
    fn other_llc_headers_and_cut_ones_are_refused() {
        assert_eq!(parse(&[0x42, 0x42, 3, 0, 0, 0, 0, 0]), Err(Malformed::Value { offset: 0 }));
        for len in 0..HEADER_LEN {
            assert!(matches!(parse(&header(IPV4)[..len]), Err(Malformed::Truncated { .. })));
        }
    }
}
