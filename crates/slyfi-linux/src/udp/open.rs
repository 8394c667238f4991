//! The sockets of the UDP air.

use crate::air::MAX_FRAME;
use crate::bpf::{self, Step, Verdict, load};
use crate::error::RadioError;
use crate::netinfo::Interface;
use crate::socket::{self, RawAddress};
use slyfi_wire::radiotap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// `IPV6_MULTICAST_ALL` of `linux/in6.h`.
const IPV6_MULTICAST_ALL: libc::c_int = 29;

/// Looks up an interface's index.
pub(super) fn interface_index(name: &str) -> Result<u32, RadioError> {
    Interface::by_name(name).map(|i| i.index).map_err(|source| match source.raw_os_error() {
        Some(libc::ENODEV | libc::ENXIO) => {
            RadioError::NoSuchInterface { interface: name.to_owned() }
        }
        _ => RadioError::Os { call: "facts about the interface", source },
    })
}

/// Opens a UDP socket of the address's family.
pub(super) fn open_socket(like: SocketAddr) -> Result<OwnedFd, RadioError> {
    let domain = if like.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let fd = socket::open(domain, libc::SOCK_DGRAM, 0).map_err(RadioError::os("socket"))?;
    if like.is_ipv6() {
        set(&fd, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, "IPV6_V6ONLY", &1)?;
    }
    Ok(fd)
}

/// Sets an integer option.
fn set(
    fd: &OwnedFd,
    level: libc::c_int,
    name: libc::c_int,
    call: &'static str,
    value: &libc::c_int,
) -> Result<(), RadioError> {
    socket::set_option(fd.as_fd(), level, name, value).map_err(RadioError::os(call))
}

/// Opens the socket that hears a group.
pub(super) fn multicast_receiver(
    group: SocketAddr,
    index: Option<u32>,
) -> Result<OwnedFd, RadioError> {
    if !group.ip().is_multicast() {
        let reason = "the group of the UDP air is no multicast address: use one of 239.0.0.0/8 or \
                      ff02::/16, or list unicast peers instead";
        return Err(RadioError::BadAddress { reason });
    }
    let fd = open_socket(group)?;
    // Several processes share the group; each gets its own copy of every datagram.
    set(&fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, "SO_REUSEADDR", &1)?;
    socket::enlarge_receive_buffer(fd.as_fd(), 4 << 20).map_err(RadioError::os("SO_RCVBUF"))?;
    socket::bind(fd.as_fd(), &RawAddress::from(with_scope(group, index)))
        .map_err(RadioError::os("bind to the multicast group"))?;
    // Only what this socket joined, on the interface it joined on: not what others of this machine
    // joined elsewhere (ip(7), IP_MULTICAST_ALL).
    let index = index.unwrap_or(0);
    let joined = match group.ip() {
        IpAddr::V4(ip) => {
            set(&fd, libc::IPPROTO_IP, libc::IP_MULTICAST_ALL, "IP_MULTICAST_ALL", &0)?;
            let membership = ip_mreqn(ip, index);
            socket::set_option(fd.as_fd(), libc::IPPROTO_IP, libc::IP_ADD_MEMBERSHIP, &membership)
        }
        IpAddr::V6(ip) => {
            set(&fd, libc::IPPROTO_IPV6, IPV6_MULTICAST_ALL, "IPV6_MULTICAST_ALL", &0)?;
            let membership = libc::ipv6_mreq {
                ipv6mr_multiaddr: libc::in6_addr { s6_addr: ip.octets() },
                ipv6mr_interface: index,
            };
            let (level, name) = (libc::IPPROTO_IPV6, libc::IPV6_ADD_MEMBERSHIP);
            socket::set_option(fd.as_fd(), level, name, &membership)
        }
    };
    joined.map_err(no_interface("join the multicast group"))?;
    Ok(fd)
}

/// Opens the socket that sends to a group.
pub(super) fn multicast_transmitter(
    group: SocketAddr,
    index: Option<u32>,
    hops: u8,
) -> Result<OwnedFd, RadioError> {
    let fd = open_socket(group)?;
    let hops = libc::c_int::from(hops);
    match group.ip() {
        IpAddr::V4(_) => {
            if let Some(index) = index {
                let via = ip_mreqn(Ipv4Addr::UNSPECIFIED, index);
                socket::set_option(fd.as_fd(), libc::IPPROTO_IP, libc::IP_MULTICAST_IF, &via)
                    .map_err(RadioError::os("IP_MULTICAST_IF"))?;
            }
            set(&fd, libc::IPPROTO_IP, libc::IP_MULTICAST_TTL, "IP_MULTICAST_TTL", &hops)?;
            set(&fd, libc::IPPROTO_IP, libc::IP_MULTICAST_LOOP, "IP_MULTICAST_LOOP", &1)?;
        }
        IpAddr::V6(_) => {
            let level = libc::IPPROTO_IPV6;
            if let Some(index) = index {
                let via = index.cast_signed();
                set(&fd, level, libc::IPV6_MULTICAST_IF, "IPV6_MULTICAST_IF", &via)?;
            }
            set(&fd, level, libc::IPV6_MULTICAST_HOPS, "IPV6_MULTICAST_HOPS", &hops)?;
            set(&fd, level, libc::IPV6_MULTICAST_LOOP, "IPV6_MULTICAST_LOOP", &1)?;
        }
    }
    // Connected, so that the own address is known: it tells the own datagrams that come back.
    socket::connect(fd.as_fd(), &RawAddress::from(with_scope(group, index)))
        .map_err(no_interface("connect to the multicast group"))?;
    Ok(fd)
}

/// Opens the one socket of a radio with peers.
pub(super) fn unicast_socket(
    bind: SocketAddr,
    peers: &[SocketAddr],
) -> Result<OwnedFd, RadioError> {
    let bad = |reason| Err(RadioError::BadAddress { reason });
    if peers.is_empty() {
        return bad("the UDP air has no peers: list at least one address and port");
    }
    for peer in peers {
        if peer.is_ipv4() != bind.is_ipv4() {
            return bad("a peer of the UDP air is of another IP version than the own address");
        }
        if peer.port() == 0 || peer.ip().is_unspecified() {
            return bad("a peer of the UDP air has no address or no port");
        }
        if peer.ip().is_multicast() {
            return bad("a peer of the UDP air is a multicast address: name it as the group");
        }
    }
    let fd = open_socket(bind)?;
    socket::enlarge_receive_buffer(fd.as_fd(), 4 << 20).map_err(RadioError::os("SO_RCVBUF"))?;
    socket::bind(fd.as_fd(), &RawAddress::from(bind))
        .map_err(RadioError::os("bind of the UDP air's own address"))?;
    Ok(fd)
}

/// Names what is missing when there is no way to a group.
fn no_interface(call: &'static str) -> impl FnOnce(io::Error) -> RadioError {
    move |source| match source.raw_os_error() {
        Some(libc::ENODEV | libc::ENETUNREACH | libc::EADDRNOTAVAIL) => RadioError::BadAddress {
            reason: "no interface leads to the multicast group: name one that is up in the \
                     configuration (with an IPv4 group, `lo` keeps the air on this machine)",
        },
        _ => RadioError::Os { call, source },
    }
}

fn ip_mreqn(group: Ipv4Addr, index: u32) -> libc::ip_mreqn {
    libc::ip_mreqn {
        imr_multiaddr: libc::in_addr { s_addr: u32::from(group).to_be() },
        imr_address: libc::in_addr { s_addr: 0 },
        imr_ifindex: index.cast_signed(),
    }
}

/// Puts the interface into an IPv6 group address, which is ambiguous without.
fn with_scope(mut group: SocketAddr, index: Option<u32>) -> SocketAddr {
    if let (SocketAddr::V6(v6), Some(index)) = (&mut group, index) {
        v6.set_scope_id(index);
    }
    group
}

/// Returns the address that a bound or connected socket sends from.
pub(super) fn own_address(fd: BorrowedFd<'_>) -> Result<SocketAddr, RadioError> {
    let address = socket::local_address(fd).map_err(RadioError::os("getsockname"))?;
    address.to_ip().ok_or(RadioError::BadAddress { reason: "the UDP socket has no IP address" })
}

/// Returns the longest frame that a connected socket's path carries without IP fragments.
pub(super) fn path_frame(fd: BorrowedFd<'_>, to: SocketAddr) -> usize {
    // IPv4 without options and UDP; IPv6 and UDP (RFC 791, 8200, 768).
    let (level, name, headers) = match to {
        SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MTU, 20 + 8),
        SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_MTU, 40 + 8),
    };
    // Ethernet's, if the kernel does not know.
    let mtu = socket::option::<libc::c_int>(fd, level, name).unwrap_or(1500).max(0) as usize;
    mtu.saturating_sub(headers + radiotap::TX_HEADER_LEN).min(MAX_FRAME)
}

/// Has the kernel drop what comes from `own`: a multicast comes back to its sender, and would wake
/// it and fill its receive buffer.
pub(super) fn ignore_echoes(fd: BorrowedFd<'_>, own: SocketAddr) -> io::Result<()> {
    // On a UDP socket the packet begins with the UDP header, whose first field is the source port;
    // SKF_NET_OFF is where the IP header begins, with the source at 12 (RFC 791) or 8 (RFC 8200).
    let ip_header = libc::SKF_NET_OFF.cast_unsigned();
    let mut steps = vec![load(libc::BPF_H, 0), Step::Equal(own.port().into())];
    let (octets, source) = match own.ip() {
        IpAddr::V4(ip) => (ip.octets().to_vec(), 12),
        IpAddr::V6(ip) => (ip.octets().to_vec(), 8),
    };
    for (word, offset) in octets.as_chunks::<4>().0.iter().zip((source..).step_by(4)) {
        let value = u32::from_be_bytes(*word);
        steps.extend([load(libc::BPF_W, ip_header.wrapping_add(offset)), Step::Equal(value)]);
    }
    bpf::attach(fd, &steps, Verdict::Drop)
}
