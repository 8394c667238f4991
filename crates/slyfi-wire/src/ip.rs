//! As much of IPv4 and IPv6 as a link needs: whose packet it is and which flow it belongs to.

use crate::{Malformed, Reader};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// A checked view of an IP packet's addresses and flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpPacket {
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    ports: [u8; 4],
}

impl IpPacket {
    /// Looks at an IPv4 or IPv6 packet.
    ///
    /// # Errors
    /// [`Malformed::Truncated`] when the IP header is not all there, [`Malformed::Value`] for
    /// another version or a header length below 20.
    pub fn new_checked(packet: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(packet);
        let first = r.u8()?;
        match first >> 4 {
            4 => Self::v4(r, usize::from(first & 0x0f) * 4),
            6 => Self::v6(r),
            _ => Err(Malformed::Value { offset: 0 }),
        }
    }

    fn v4(mut r: Reader<'_>, header_len: usize) -> Result<Self, Malformed> {
        let options = header_len.checked_sub(20).ok_or(Malformed::Value { offset: 0 })?;
        r.take(5)?;
        // More fragments, or not the first one: the ports are not in every fragment, so the flow
        // goes without them in all.
        let is_fragment = r.u16_be()? & 0x3fff != 0;
        r.u8()?;
        let protocol = r.u8()?;
        r.u16_be()?;
        let source = IpAddr::V4(Ipv4Addr::from(r.array::<4>()?));
        let destination = IpAddr::V4(Ipv4Addr::from(r.array::<4>()?));
        r.take(options)?;
        let ports = if is_fragment { [0; 4] } else { ports(protocol, &mut r) };
        Ok(IpPacket { source, destination, protocol, ports })
    }

    fn v6(mut r: Reader<'_>) -> Result<Self, Malformed> {
        r.take(5)?;
        // Extension headers, where there are any, stand for the protocol: good enough for a flow.
        let protocol = r.u8()?;
        r.u8()?;
        let source = IpAddr::V6(Ipv6Addr::from(r.array::<16>()?));
        let destination = IpAddr::V6(Ipv6Addr::from(r.array::<16>()?));
        let ports = ports(protocol, &mut r);
        Ok(IpPacket { source, destination, protocol, ports })
    }

    /// Returns the source.
    pub const fn source(&self) -> IpAddr {
        self.source
    }

    /// Returns the destination.
    pub const fn destination(&self) -> IpAddr {
        self.destination
    }

    /// Returns IPv4's protocol or IPv6's next header.
    pub const fn protocol(&self) -> u8 {
        self.protocol
    }

    /// Returns a number that is the same for all packets of one flow (addresses, protocol, ports).
    ///
    /// FNV-1a: fast and spread well enough for queues, but easily steered by whoever chooses the
    /// ports. Nothing that must resist that may depend on it.
    pub fn flow_hash(&self) -> u32 {
        let mut h = Fnv1a::new();
        for address in [self.source, self.destination] {
            match address {
                IpAddr::V4(a) => h.add(&a.octets()),
                IpAddr::V6(a) => h.add(&a.octets()),
            }
        }
        h.add(&[self.protocol]);
        h.add(&self.ports);
        h.0
    }
}

/// Source and destination port, zero where there are none.
fn ports(protocol: u8, r: &mut Reader<'_>) -> [u8; 4] {
    if matches!(protocol, TCP | UDP) { r.array().unwrap_or([0; 4]) } else { [0; 4] }
}

struct Fnv1a(u32);

impl Fnv1a {
    const fn new() -> Self {
        Fnv1a(0x811c_9dc5)
    }

    fn add(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u32::from(*b)).wrapping_mul(0x0100_0193);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(protocol: u8, fragment: u16, ports: [u8; 4]) -> [u8; 24] {
        let mut p = [0; 24];
        p[0] = 0x45;
        p[6..8].copy_from_slice(&fragment.to_be_bytes());
        p[9] = protocol;
        p[12..16].copy_from_slice(&[10, 0, 0, 1]);
        p[16..20].copy_from_slice(&[10, 0, 0, 2]);
        p[20..].copy_from_slice(&ports);
        p
    }

    fn hash(p: &[u8]) -> u32 {
        IpPacket::new_checked(p).unwrap().flow_hash()
    }

    #[test]
    fn addresses_of_both_versions_are_read() {
        let p = IpPacket::new_checked(&v4(UDP, 0, [1, 2, 3, 4])).unwrap();
        assert_eq!(p.source(), IpAddr::from([10, 0, 0, 1]));
        assert_eq!(p.destination(), IpAddr::from([10, 0, 0, 2]));
        let mut six = [0; 44];
        six[0] = 0x60;
        six[6] = TCP;
        six[8..24].copy_from_slice(&Ipv6Addr::LOCALHOST.octets());
        let p = IpPacket::new_checked(&six).unwrap();
        assert_eq!(p.source(), IpAddr::V6(Ipv6Addr::LOCALHOST));
        assert_eq!((p.destination(), p.protocol()), (IpAddr::V6(Ipv6Addr::UNSPECIFIED), TCP));
    }

    #[test]
    fn a_flow_is_told_by_its_ports_except_in_fragments() {
        let (a, b) = ([1, 2, 3, 4], [1, 2, 3, 5]);
        assert_eq!(
            hash(&v4(TCP, 0, a)),
            hash(&v4(TCP, 0x4000, a)),
            "don't-fragment is no fragment"
        );
        assert_ne!(hash(&v4(TCP, 0, a)), hash(&v4(TCP, 0, b)));
        assert_ne!(hash(&v4(TCP, 0, a)), hash(&v4(UDP, 0, a)));
        assert_eq!(hash(&v4(TCP, 0x2000, a)), hash(&v4(TCP, 0x0001, b)));
        assert_eq!(hash(&v4(1, 0, a)), hash(&v4(1, 0, b)), "ICMP has no ports");
    }

    #[test]
    fn cut_headers_and_other_versions_are_refused() {
        let p = v4(TCP, 0, [0; 4]);
        for len in 0..20 {
            assert!(matches!(IpPacket::new_checked(&p[..len]), Err(Malformed::Truncated { .. })));
        }
        assert!(IpPacket::new_checked(&p[..20]).is_ok());
        for first in [0x44, 0x55, 0x00, 0xf5] {
            let mut bad = p;
            bad[0] = first;
            assert_eq!(IpPacket::new_checked(&bad), Err(Malformed::Value { offset: 0 }));
        }
        let mut long = p;
        long[0] = 0x4f;
        assert!(matches!(
            IpPacket::new_checked(&long),
            Err(Malformed::Truncated { needed: 60, .. })
        ));
    }
}
