//! ARP for IPv4 over Ethernet addresses (RFC 826).
//!
//! # Layout
//! `hardware 2 = 1 | protocol 2 = 0800 | 6 | 4 | operation 2 | sender MAC 6 | sender IP 4 |
//! target MAC 6 | target IP 4`, big-endian, 28 bytes; Ethernet's padding may follow.

use crate::{Malformed, NoSpace, Reader, Writer, llc};
use core::net::Ipv4Addr;
use slyfi_base::MacAddress;

/// Bytes of a packet.
pub const LEN: usize = 28;

const ETHERNET: u16 = 1;

/// The two operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// "Who has the target IP?"
    Request,
    /// "The sender has the sender IP."
    Reply,
}

/// An ARP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArpRepr {
    /// Request or reply.
    pub operation: Operation,
    /// The sender's Ethernet address.
    pub sender_mac: MacAddress,
    /// The sender's IP address; unspecified in a probe (RFC 5227).
    pub sender_ip: Ipv4Addr,
    /// The target's Ethernet address; meaningless in a request.
    pub target_mac: MacAddress,
    /// The IP address in question.
    pub target_ip: Ipv4Addr,
}

impl ArpRepr {
    /// Parses an ARP packet: the payload of an Ethernet frame.
    ///
    /// # Errors
    /// [`Malformed::Truncated`] when it is cut short, [`Malformed::Value`] when it is not about IPv4
    /// over Ethernet, is neither request nor reply, or names a group address as its sender (which
    /// would poison whoever believes it).
    pub fn parse(packet: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(packet);
        for (offset, expected) in [(0, ETHERNET), (2, llc::IPV4), (4, 0x0604)] {
            if r.u16_be()? != expected {
                return Err(Malformed::Value { offset });
            }
        }
        let operation = match r.u16_be()? {
            1 => Operation::Request,
            2 => Operation::Reply,
            _ => return Err(Malformed::Value { offset: 6 }),
        };
        let repr = ArpRepr {
            operation,
            sender_mac: MacAddress(r.array()?),
            sender_ip: Ipv4Addr::from(r.array::<4>()?),
            target_mac: MacAddress(r.array()?),
            target_ip: Ipv4Addr::from(r.array::<4>()?),
        };
        if repr.sender_mac.is_group() {
            return Err(Malformed::Value { offset: 8 });
        }
        Ok(repr)
    }

    /// Returns whether a request only asks whether the address is taken (RFC 5227 §1.1).
    pub fn is_probe(&self) -> bool {
        self.operation == Operation::Request && self.sender_ip.is_unspecified()
    }

    /// Returns whether the packet announces its sender's own address (RFC 5227 §3).
    pub fn is_announcement(&self) -> bool {
        self.sender_ip == self.target_ip && !self.sender_ip.is_unspecified()
    }

    /// Returns the answer to a request for an address that `mac` has; `None` if it is no request.
    pub fn answer(&self, mac: MacAddress) -> Option<ArpRepr> {
        (self.operation == Operation::Request).then_some(ArpRepr {
            operation: Operation::Reply,
            sender_mac: mac,
            sender_ip: self.target_ip,
            target_mac: self.sender_mac,
            target_ip: self.sender_ip,
        })
    }

    /// Returns [`LEN`].
    pub const fn buffer_len(&self) -> usize {
        LEN
    }

    /// Writes the packet and returns its length.
    ///
    /// # Errors
    /// [`NoSpace`] when `buf` is shorter than [`LEN`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, NoSpace> {
        let mut w = Writer::new(buf, LEN)?;
        w.u16_be(ETHERNET);
        w.u16_be(llc::IPV4);
        w.u16_be(0x0604);
        w.u16_be(match self.operation {
            Operation::Request => 1,
            Operation::Reply => 2,
        });
        w.put(&self.sender_mac.0);
        w.put(&self.sender_ip.octets());
        w.put(&self.target_mac.0);
        w.put(&self.target_ip.octets());
        Ok(w.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> ArpRepr {
        ArpRepr {
            operation: Operation::Request,
            sender_mac: MacAddress([2, 0, 0, 0, 0, 7]),
            sender_ip: Ipv4Addr::new(10, 0, 0, 7),
            target_mac: MacAddress::default(),
            target_ip: Ipv4Addr::new(10, 0, 0, 1),
        }
    }

    #[test]
    fn a_request_is_answered_to_its_sender() {
        let mac = MacAddress([2, 0, 0, 0, 0, 1]);
        let reply = request().answer(mac).unwrap();
        assert_eq!(reply.operation, Operation::Reply);
        assert_eq!((reply.sender_mac, reply.sender_ip), (mac, Ipv4Addr::new(10, 0, 0, 1)));
        assert_eq!(
            (reply.target_mac, reply.target_ip),
            (request().sender_mac, request().sender_ip)
        );
        assert_eq!(reply.answer(mac), None);
    }

    #[test]
    fn probes_and_announcements_are_told_apart() {
        let probe = ArpRepr { sender_ip: Ipv4Addr::UNSPECIFIED, ..request() };
        let announcement = ArpRepr { sender_ip: request().target_ip, ..request() };
        assert!(probe.is_probe() && !probe.is_announcement());
        assert!(!announcement.is_probe() && announcement.is_announcement());
        assert!(!request().is_probe() && !request().is_announcement());
    }

    #[test]
    fn packets_about_anything_else_are_refused() {
        let mut bytes = [0; LEN + 18];
        request().emit(&mut bytes).unwrap();
        assert_eq!(ArpRepr::parse(&bytes), Ok(request()), "Ethernet padding is no fault");
        for len in 0..LEN {
            assert!(matches!(ArpRepr::parse(&bytes[..len]), Err(Malformed::Truncated { .. })));
        }
        for offset in [0, 1, 2, 3, 4, 5, 6, 7] {
            let mut bad = bytes;
            bad[offset] ^= 0x80;
            assert!(matches!(ArpRepr::parse(&bad), Err(Malformed::Value { .. })));
        }
        bytes[8] |= 1;
        assert_eq!(ArpRepr::parse(&bytes), Err(Malformed::Value { offset: 8 }));
    }
}
