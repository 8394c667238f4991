//! ARP and IPv6 neighbour discovery, as far as the link answers them itself (slyfi-2008 §3.5).

use core::net::IpAddr;
use slyfi_base::MacAddress;
use slyfi_wire::arp::{self, ArpRepr, Operation};
use slyfi_wire::llc;
use slyfi_wire::ndp::{self, Body, NeighborRepr};

/// A question "who has this address?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    Arp(ArpRepr),
    Neighbour(NeighborRepr),
}

/// The Ethernet frame that answers a question.
pub(crate) struct Answer {
    pub(crate) destination: MacAddress,
    pub(crate) ether_type: u16,
    bytes: [u8; NeighborRepr::MAX_LEN],
    len: usize,
}

impl Answer {
    pub(crate) fn payload(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&[])
    }
}

impl Question {
    /// Reads an Ethernet payload; `None` if it asks nothing.
    pub(crate) fn parse(ether_type: u16, payload: &[u8]) -> Option<Self> {
        match ether_type {
            llc::ARP => {
                let arp = ArpRepr::parse(payload).ok()?;
                // An announcement has the form of a request, but asks nothing.
                let asks = arp.operation == Operation::Request && !arp.is_announcement();
                asks.then_some(Question::Arp(arp))
            }
            llc::IPV6 => {
                let n = NeighborRepr::parse(payload).ok()?;
                (n.body == Body::Solicitation).then_some(Question::Neighbour(n))
            }
            _ => None,
        }
    }

    /// The address that is asked for.
    pub(crate) fn target(&self) -> IpAddr {
        match self {
            Question::Arp(a) => IpAddr::V4(a.target_ip),
            Question::Neighbour(n) => IpAddr::V6(n.target),
        }
    }

    /// The answer that `owner` has it, for the asker at `asker`.
    pub(crate) fn answer(&self, owner: MacAddress, asker: MacAddress) -> Option<Answer> {
        let mut bytes = [0; NeighborRepr::MAX_LEN];
        let (destination, ether_type, len) = match self {
            Question::Arp(a) => {
                let mut reply = a.answer(owner)?;
                reply.target_mac = asker;
                (asker, llc::ARP, reply.emit(&mut bytes).ok()?)
            }
            Question::Neighbour(n) => {
                let reply = n.answer(owner)?;
                let destination = if reply.destination.is_multicast() {
                    ndp::multicast_mac(reply.destination)
                } else {
                    asker
                };
                (destination, llc::IPV6, reply.emit(&mut bytes).ok()?)
            }
        };
        Some(Answer { destination, ether_type, bytes, len })
    }
}

/// The address that a host's packet shows to be its own, if any: a binding to tell.
pub(crate) fn claimed(ether_type: u16, payload: &[u8]) -> Option<IpAddr> {
    let address = match ether_type {
        llc::ARP if payload.len() >= arp::LEN => {
            let a = ArpRepr::parse(payload).ok()?;
            // A probe (RFC 5227) has no sender address: its target is what the host is about to take.
            IpAddr::V4(if a.is_probe() { a.target_ip } else { a.sender_ip })
        }
        llc::IPV6 => {
            let n = NeighborRepr::parse(payload).ok()?;
            match n.body {
                Body::Solicitation if n.source.is_unspecified() => IpAddr::V6(n.target),
                Body::Solicitation => IpAddr::V6(n.source),
                Body::Advertisement { .. } => IpAddr::V6(n.target),
            }
        }
        _ => return None,
    };
    crate::binding::is_one_host(address).then_some(address)
}

/// The address that a packet tells others to be its sender's: [`claimed`], without the questions of
/// those who are about to take an address and ask first.
pub(crate) fn asserted(ether_type: u16, payload: &[u8]) -> Option<IpAddr> {
    let only_asks = match ether_type {
        llc::ARP => ArpRepr::parse(payload).ok()?.is_probe(),
        llc::IPV6 => {
            let n = NeighborRepr::parse(payload).ok()?;
            n.body == Body::Solicitation && n.source.is_unspecified()
        }
        _ => return None,
    };
    claimed(ether_type, payload).filter(|_| !only_asks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};

    const ASKER: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
    const OWNER: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

    fn arp(sender: [u8; 4], target: [u8; 4]) -> [u8; arp::LEN] {
        let mut out = [0; arp::LEN];
        let repr = ArpRepr {
            operation: Operation::Request,
            sender_mac: ASKER,
            sender_ip: Ipv4Addr::from(sender),
            target_mac: MacAddress::default(),
            target_ip: Ipv4Addr::from(target),
        };
        repr.emit(&mut out).unwrap();
        out
    }

    #[test]
    fn arp_requests_are_questions_and_announcements_are_not() {
        let request = arp([10, 0, 0, 1], [10, 0, 0, 2]);
        let q = Question::parse(llc::ARP, &request).unwrap();
        assert_eq!(q.target(), IpAddr::from([10, 0, 0, 2]));
        let answer = q.answer(OWNER, ASKER).unwrap();
        let reply = ArpRepr::parse(answer.payload()).unwrap();
        assert_eq!((reply.sender_mac, reply.target_mac), (OWNER, ASKER));
        assert_eq!(claimed(llc::ARP, &request), Some(IpAddr::from([10, 0, 0, 1])));

        let announcement = arp([10, 0, 0, 1], [10, 0, 0, 1]);
        assert_eq!(Question::parse(llc::ARP, &announcement), None);
        assert_eq!(claimed(llc::ARP, &announcement), Some(IpAddr::from([10, 0, 0, 1])));
        let probe = arp([0, 0, 0, 0], [10, 0, 0, 7]);
        assert_eq!(claimed(llc::ARP, &probe), Some(IpAddr::from([10, 0, 0, 7])));
    }

    #[test]
    fn solicitations_are_answered_and_detection_goes_to_all_nodes() {
        let target: Ipv6Addr = "fe80::1:2".parse().unwrap();
        for source in ["fe80::9", "::"] {
            let source: Ipv6Addr = source.parse().unwrap();
            let dad = source.is_unspecified();
            let ask = NeighborRepr {
                source,
                destination: ndp::solicited_node(target),
                target,
                body: Body::Solicitation,
                link_layer: (!dad).then_some(ASKER),
            };
            let mut bytes = [0; NeighborRepr::MAX_LEN];
            let len = ask.emit(&mut bytes).unwrap();
            let q = Question::parse(llc::IPV6, &bytes[..len]).unwrap();
            let answer = q.answer(OWNER, ASKER).unwrap();
            assert_eq!(answer.destination.is_group(), dad);
            let reply = NeighborRepr::parse(answer.payload()).unwrap();
            assert_eq!((reply.target, reply.link_layer), (target, Some(OWNER)));
            let own = if dad { target } else { source };
            assert_eq!(claimed(llc::IPV6, &bytes[..len]), Some(IpAddr::V6(own)));
        }
    }

    #[test]
    fn other_packets_ask_and_claim_nothing() {
        assert_eq!(Question::parse(llc::IPV4, &[0x45; 40]), None);
        assert_eq!(claimed(llc::IPV4, &[0x45; 40]), None);
        assert_eq!(Question::parse(llc::ARP, &[0; 27]), None);
        assert_eq!(claimed(llc::IPV6, &[0x60; 80]), None);
    }
}
