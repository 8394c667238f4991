//! The `udp` air: 802.11 frames in UDP datagrams, to a multicast group or to fixed peers.
//!
//! Each datagram is radiotap | 802.11 frame, as on a monitor interface, so that a capture of it can
//! be turned into one of the air.
//!
//! # Security
//! The IP and UDP headers tell who sends. This air is for trying SlyFi out and for tests, on
//! loopback or a LAN; it hides nothing from those who see the datagrams.

use crate::air::{
    AirCounters, AirSocket, Discard, MAX_FRAME, READ_LIMIT, RX_SLOT, TX_SLOT, TxFlags,
    unwrap_radiotap,
};
use crate::batch::{Flush, RxBatch, TxQueue};
use crate::error::RadioError;
use crate::netinfo::Interface;
use crate::socket::{self, RawAddress};
use slyfi_base::{Capabilities, Instant, Radio, RadioChange, RadioConfig, RxMeta, TxMeta};
use slyfi_wire::radiotap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The group that UDP airs share unless told otherwise: administratively scoped (RFC 2365 §6), the
/// last octets "SLY".
pub const DEFAULT_GROUP: SocketAddr =
    SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(239, b'S', b'L', b'Y'), 5789));

/// `IPV6_MULTICAST_ALL` of `linux/in6.h`.
const IPV6_MULTICAST_ALL: libc::c_int = 29;

/// The index of the drop counter in what `SO_MEMINFO` gives (`linux/sock_diag.h`,
/// `SK_MEMINFO_DROPS`).
const MEMINFO_DROPS: usize = 8;

/// Who hears whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UdpAir {
    /// Everyone in a group hears everyone, several processes of one machine included.
    Multicast {
        /// The group and its port.
        group: SocketAddr,
        /// The interface to send and listen on: `lo` keeps it on this machine (IPv4 only: Linux has
        /// no IPv6 multicast there); `None` leaves it to the routing table.
        interface: Option<String>,
        /// How many routers a datagram may pass, plus one (TTL, hop limit): 0 does not leave the
        /// machine, 1 does not leave the LAN.
        hops: u8,
    },
    /// Each frame goes to every peer, and only peers are heard.
    Unicast {
        /// Own address and port.
        bind: SocketAddr,
        /// The peers' addresses and ports, which have to be the ones they are bound to.
        peers: Vec<SocketAddr>,
    },
}

/// What UDP radio to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpConfig {
    /// Who hears whom.
    pub air: UdpAir,
    /// The longest frame in bytes; `None` takes what the path carries without IP fragments.
    pub max_frame: Option<usize>,
}

impl Default for UdpConfig {
    /// The default group, on this machine only.
    fn default() -> Self {
        UdpConfig {
            air: UdpAir::Multicast {
                group: DEFAULT_GROUP,
                interface: Some("lo".to_owned()),
                hops: 1,
            },
            max_frame: None,
        }
    }
}

/// A [`Radio`] over UDP.
pub struct UdpRadio {
    receiver: OwnedFd,
    /// For multicast a socket of its own, whose port tells own datagrams from others'.
    transmitter: Option<OwnedFd>,
    own: SocketAddr,
    /// Empty for multicast. Sorted.
    peers: Vec<SocketAddr>,
    destinations: Vec<RawAddress>,
    max_frame: usize,
    is_up: bool,
    rx: Box<RxBatch>,
    tx: TxQueue,
    counters: AirCounters,
}

impl UdpRadio {
    /// Opens the sockets. Needs no rights.
    ///
    /// # Errors
    /// [`RadioError`], whose text says what to do.
    pub fn open(config: &UdpConfig) -> Result<Self, RadioError> {
        match &config.air {
            UdpAir::Multicast { group, interface, hops } => {
                let index = match interface {
                    Some(name) => Some(interface_index(name)?),
                    None => None,
                };
                let receiver = multicast_receiver(*group, index)?;
                let transmitter = multicast_transmitter(*group, index, *hops)?;
                let own = own_address(transmitter.as_fd())?;
                let path = path_frame(transmitter.as_fd(), *group);
                Ok(Self::new(config, receiver, Some(transmitter), own, Vec::new(), path))
            }
            UdpAir::Unicast { bind, peers } => {
                let receiver = unicast_socket(*bind, peers)?;
                let own = own_address(receiver.as_fd())?;
                let mut path = MAX_FRAME;
                for peer in peers {
                    let probe = open_socket(*peer)?;
                    // A peer that has no route now may have one later; it limits nothing.
                    if socket::connect(probe.as_fd(), &RawAddress::from(*peer)).is_ok() {
                        path = path.min(path_frame(probe.as_fd(), *peer));
                    }
                }
                Ok(Self::new(config, receiver, None, own, peers.clone(), path))
            }
        }
    }

    fn new(
        config: &UdpConfig,
        receiver: OwnedFd,
        transmitter: Option<OwnedFd>,
        own: SocketAddr,
        peers: Vec<SocketAddr>,
        path: usize,
    ) -> Self {
        let destinations: Vec<_> = peers.iter().copied().map(RawAddress::from).collect();
        // As the kernel will report them: without flow label.
        let mut peers: Vec<_> = destinations.iter().filter_map(|p| p.to_ip()).collect();
        peers.sort_unstable();
        UdpRadio {
            receiver,
            transmitter,
            own,
            peers,
            destinations,
            max_frame: config.max_frame.unwrap_or(path).min(MAX_FRAME),
            is_up: false,
            rx: Box::new(RxBatch::new(RX_SLOT)),
            tx: TxQueue::new(TX_SLOT),
            counters: AirCounters::default(),
        }
    }

    /// Returns the address that this radio sends from.
    pub fn local_address(&self) -> SocketAddr {
        self.own
    }

    /// Decides about one datagram's sender.
    fn admit(&self, from: Option<SocketAddr>) -> Result<(), Discard> {
        match from {
            Some(from) if from == self.own => Err(Discard::Echo),
            Some(_) if self.transmitter.is_some() => Ok(()),
            Some(from) if self.peers.binary_search(&from).is_ok() => Ok(()),
            _ => Err(Discard::Foreign),
        }
    }

    fn forget_queues(&mut self) {
        self.tx.clear();
        self.rx.drain(self.receiver.as_fd());
    }
}

/// Looks up an interface's index.
fn interface_index(name: &str) -> Result<u32, RadioError> {
    Interface::by_name(name).map(|i| i.index).map_err(|source| match source.raw_os_error() {
        Some(libc::ENODEV | libc::ENXIO) => {
            RadioError::NoSuchInterface { interface: name.to_owned() }
        }
        _ => RadioError::Os { call: "facts about the interface", source },
    })
}

/// Opens a UDP socket of the address's family.
fn open_socket(like: SocketAddr) -> Result<OwnedFd, RadioError> {
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

fn multicast_receiver(group: SocketAddr, index: Option<u32>) -> Result<OwnedFd, RadioError> {
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

fn multicast_transmitter(
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

fn unicast_socket(bind: SocketAddr, peers: &[SocketAddr]) -> Result<OwnedFd, RadioError> {
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

fn own_address(fd: BorrowedFd<'_>) -> Result<SocketAddr, RadioError> {
    let address = socket::local_address(fd).map_err(RadioError::os("getsockname"))?;
    address.to_ip().ok_or(RadioError::BadAddress { reason: "the UDP socket has no IP address" })
}

/// Returns the longest frame that a connected socket's path carries without IP fragments.
fn path_frame(fd: BorrowedFd<'_>, to: SocketAddr) -> usize {
    // IPv4 without options and UDP; IPv6 and UDP (RFC 791, 8200, 768).
    let (level, name, headers) = match to {
        SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MTU, 20 + 8),
        SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_MTU, 40 + 8),
    };
    // Ethernet's, if the kernel does not know.
    let mtu = socket::option::<libc::c_int>(fd, level, name).unwrap_or(1500).max(0) as usize;
    mtu.saturating_sub(headers + radiotap::TX_HEADER_LEN).min(MAX_FRAME)
}

/// Errors that mean that this datagram is lost, as datagrams get lost in networks, and no more: no
/// route now, a firewall, a peer that is not running.
fn is_loss(code: libc::c_int) -> bool {
    matches!(
        code,
        libc::ENETUNREACH
            | libc::EHOSTUNREACH
            | libc::ENETDOWN
            | libc::EADDRNOTAVAIL
            | libc::ECONNREFUSED
            | libc::EPERM
    )
}

impl Radio for UdpRadio {
    type Error = RadioError;

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            max_frame: self.max_frame,
            injects: true,
            sets_channel: false,
            keeps_order: false,
        }
    }

    fn initialize(&mut self, _now: Instant, config: &RadioConfig) -> Result<(), RadioError> {
        if config.frequency.is_some() {
            return Err(RadioError::NoSuchSetting { setting: "channel" });
        }
        if config.power.is_some() {
            return Err(RadioError::NoSuchSetting { setting: "transmit power" });
        }
        // What came in between opening and now was not for a radio that was down.
        self.forget_queues();
        self.is_up = true;
        Ok(())
    }

    fn reset(&mut self, _now: Instant) -> Result<(), RadioError> {
        self.forget_queues();
        self.is_up = true;
        Ok(())
    }

    fn configure(&mut self, _now: Instant, change: RadioChange) -> Result<(), RadioError> {
        let setting = match change {
            RadioChange::Frequency(_) => "channel",
            RadioChange::Power(_) => "transmit power",
            _ => "radio",
        };
        Err(RadioError::NoSuchSetting { setting })
    }

    fn read(
        &mut self,
        _now: Instant,
        buf: &mut [u8],
    ) -> Result<Option<(RxMeta, usize)>, RadioError> {
        if !self.is_up {
            return Err(RadioError::NotInitialized);
        }
        for _ in 0..READ_LIMIT {
            let (from, unwrapped) = match self.rx.next(self.receiver.as_fd()) {
                Ok(None) => return Ok(None),
                Ok(Some(d)) if d.truncated => (d.from.to_ip(), Err(Discard::TooLong)),
                Ok(Some(d)) => {
                    (d.from.to_ip(), unwrap_radiotap(d.bytes, TxFlags::AreTheSenders, buf))
                }
                // A message about an earlier datagram of ours, not about this air.
                Err(e) if e.raw_os_error().is_some_and(is_loss) => continue,
                Err(source) => return Err(RadioError::Os { call: "recvmmsg", source }),
            };
            match self.admit(from).and(unwrapped) {
                Ok(frame) => {
                    self.counters.received += 1;
                    return Ok(Some(frame));
                }
                Err(why) => self.counters.count(why),
            }
        }
        Ok(None)
    }

    fn write(&mut self, _now: Instant, meta: TxMeta, frame: &[u8]) -> Result<bool, RadioError> {
        if !self.is_up {
            return Err(RadioError::NotInitialized);
        }
        let limit = self.max_frame;
        if frame.len() > limit {
            return Err(RadioError::FrameTooLong { actual: frame.len(), limit });
        }
        let radiotap = radiotap::tx_header(meta.rate);
        if self.tx.push([&[], &radiotap, frame]) {
            return Ok(true);
        }
        self.flush()?;
        Ok(self.tx.push([&[], &radiotap, frame]))
    }
}

impl AirSocket for UdpRadio {
    fn receiver(&self) -> BorrowedFd<'_> {
        self.receiver.as_fd()
    }

    fn transmitter(&self) -> BorrowedFd<'_> {
        self.transmitter.as_ref().unwrap_or(&self.receiver).as_fd()
    }

    fn flush(&mut self) -> Result<Flush, RadioError> {
        let fd = self.transmitter.as_ref().unwrap_or(&self.receiver).as_fd();
        self.tx.flush(fd, &self.destinations, is_loss).map_err(RadioError::os("sendmmsg"))
    }

    fn counters(&mut self) -> AirCounters {
        let info =
            socket::option::<[u32; 9]>(self.receiver.as_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO);
        AirCounters {
            sent: self.tx.sent,
            lost: self.tx.lost,
            overrun: info.map_or(0, |i| i[MEMINFO_DROPS].into()),
            ..self.counters
        }
    }
}
