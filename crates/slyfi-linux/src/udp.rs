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
use crate::socket::{self, RawAddress};
use slyfi_base::{Capabilities, Instant, Radio, RadioChange, RadioConfig, RxMeta, TxMeta};
use slyfi_wire::radiotap;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

mod open;

use open::{
    ignore_echoes, interface_index, multicast_receiver, multicast_transmitter, open_socket,
    own_address, path_frame, unicast_socket,
};

/// The group that UDP airs share unless told otherwise: administratively scoped (RFC 2365 §6), the
/// last octets "SLY".
pub const DEFAULT_GROUP: SocketAddr =
    SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(239, b'S', b'L', b'Y'), 5789));

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
    kernel_drops_echoes: bool,
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
                // An echo that comes through all the same is dropped by `admit`.
                let filtered = ignore_echoes(receiver.as_fd(), own).is_ok();
                let path = path_frame(transmitter.as_fd(), *group);
                let mut radio =
                    Self::new(config, receiver, Some(transmitter), own, Vec::new(), path);
                radio.kernel_drops_echoes = filtered;
                Ok(radio)
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
            kernel_drops_echoes: false,
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
        let mut dropped = info.map_or(0, |i| u64::from(i[MEMINFO_DROPS]));
        if self.kernel_drops_echoes {
            // The kernel counts what the filter drops as well, which is one echo for each datagram
            // sent; one that is still on its way makes the difference too small for a moment.
            dropped = dropped.saturating_sub(self.tx.sent);
        }
        self.counters.overrun = self.counters.overrun.max(dropped);
        AirCounters { sent: self.tx.sent, lost: self.tx.lost, ..self.counters }
    }
}
