//! The `packet` air: 802.11 frames by AF_PACKET, on a monitor interface or inside Ethernet.
//!
//! ```text
//!   monitor interface (ARPHRD 803)            radiotap | 802.11 frame
//!   Ethernet-like (veth, bridge, wire)        Ethernet | radiotap | 802.11 frame
//!     broadcast | ADDRESS_OF_ALL | 0x88B5
//! ```
//!
//! # Security
//! On an Ethernet-like interface the host may have things of its own to say, under the card's
//! address (neighbour discovery, router solicitations): give it no IP addresses and switch IPv6 off
//! there. A monitor interface carries nothing of the host's.
//!
//! Just after an interface has come up the kernel drops what it is given to send until it has
//! noticed the carrier, without a word: a loss like others on the air.

use crate::air::{
    AirCounters, AirSocket, Discard, ETHERNET_HEADER_LEN, MAX_FRAME, READ_LIMIT, RX_SLOT, TX_SLOT,
    TxFlags, Unwrapped, unwrap_radiotap,
};
use crate::batch::{Flush, RxBatch, TxQueue};
use crate::error::RadioError;
use crate::netinfo::{Interface, hardware};
use crate::socket::{self, RawAddress};
use slyfi_base::{Capabilities, Instant, MacAddress, Radio, RadioChange, RadioConfig};
use slyfi_base::{RxMeta, TxMeta};
use slyfi_wire::carrier::ADDRESS_OF_ALL;
use slyfi_wire::radiotap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

mod filter;
mod ring;

pub use filter::Accept;
use ring::Ring;

/// The EtherType of SlyFi inside Ethernet: IEEE Std 802-2014 §9.2.4, Local Experimental 1.
pub const ETHERTYPE: u16 = 0x88b5;

/// The Ethernet source of every frame, for all senders: locally administered, never a card's own.
pub const SOURCE: [u8; 6] = ADDRESS_OF_ALL;

/// How frames come out of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReceivePath {
    /// A shared ring; plain messages if the kernel refuses one (no memory).
    #[default]
    Ring,
    /// Messages, a batch a system call.
    Messages,
}

/// Whether sent frames pass the interface's queueing discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Queueing {
    /// They do, and are seen by captures on the sending machine.
    #[default]
    Discipline,
    /// `PACKET_QDISC_BYPASS`: straight to the driver, faster, dropped when its queue is full.
    Bypass,
}

/// What packet radio to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketConfig {
    /// The interface, up already: Ethernet-like, or in monitor mode.
    pub interface: String,
    /// Which frames the kernel lets through.
    pub accept: Accept,
    /// How they come out of the kernel.
    pub receive: ReceivePath,
    /// How sent frames go to the driver.
    pub queueing: Queueing,
}

impl PacketConfig {
    /// The defaults, on this interface.
    pub fn on(interface: &str) -> Self {
        PacketConfig {
            interface: interface.to_owned(),
            accept: Accept::default(),
            receive: ReceivePath::default(),
            queueing: Queueing::default(),
        }
    }
}

/// What an interface puts in front of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkLayer {
    Ethernet,
    Monitor,
}

/// A packet as the socket gives it.
#[derive(Clone, Copy)]
struct Received<'a> {
    bytes: &'a [u8],
    is_outgoing: bool,
    is_truncated: bool,
}

enum Receiver {
    Ring(Ring),
    Messages(Box<RxBatch>),
}

/// A [`Radio`] on a network interface.
///
/// Opening it needs CAP_NET_RAW; everything after that, `reset` included, needs no rights.
pub struct PacketRadio {
    // Before the socket: the mapping goes first.
    receiver: Receiver,
    socket: OwnedFd,
    interface: Interface,
    layer: LinkLayer,
    is_up: bool,
    tx: TxQueue,
    counters: AirCounters,
}

impl PacketRadio {
    /// Opens a socket for the interface. Nothing is received before `initialize`.
    ///
    /// # Errors
    /// [`RadioError`], whose text says what to do.
    ///
    /// # Security
    /// Refuses when an interface has the carrier's transmitter address: mac80211 would number the
    /// frames as that interface's own (`ieee80211_monitor_start_xmit`), and numbers link frames.
    pub fn open(config: &PacketConfig) -> Result<Self, RadioError> {
        let interface = facts(&config.interface)?;
        let layer = match interface.hardware_type {
            hardware::ETHERNET => LinkLayer::Ethernet,
            hardware::RADIOTAP => LinkLayer::Monitor,
            hardware_type => {
                let interface = interface.name;
                return Err(RadioError::UnsupportedInterface { interface, hardware_type });
            }
        };
        refuse_address_clash(&interface, layer)?;
        if !interface.is_up {
            return Err(RadioError::InterfaceDown { interface: interface.name });
        }
        let socket =
            socket::open(libc::AF_PACKET, libc::SOCK_RAW, 0).map_err(|source| {
                match source.raw_os_error() {
                    Some(libc::EPERM | libc::EACCES) => RadioError::NoPermission,
                    _ => RadioError::Os { call: "socket(AF_PACKET)", source },
                }
            })?;
        let fd = socket.as_fd();
        let on: libc::c_int = 1;
        // Not in kernels before 4.20; the filter and `accept` refuse own frames as well.
        let _ = socket::set_option(fd, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &on);
        if config.queueing == Queueing::Bypass {
            socket::set_option(fd, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &on)
                .map_err(RadioError::os("PACKET_QDISC_BYPASS"))?;
        }
        filter::attach(fd, layer, config.accept).map_err(RadioError::os("SO_ATTACH_FILTER"))?;
        let ring = match config.receive {
            ReceivePath::Ring => Ring::new(fd).ok(),
            ReceivePath::Messages => None,
        };
        let receiver = match ring {
            Some(ring) => Receiver::Ring(ring),
            None => {
                socket::enlarge_receive_buffer(fd, 4 << 20).map_err(RadioError::os("SO_RCVBUF"))?;
                Receiver::Messages(Box::new(RxBatch::new(RX_SLOT)))
            }
        };
        Ok(PacketRadio {
            receiver,
            socket,
            interface,
            layer,
            is_up: false,
            tx: TxQueue::new(TX_SLOT),
            counters: AirCounters::default(),
        })
    }

    /// Returns the interface as it was when the radio was opened.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Returns how frames come out of the kernel: whether a ring was had.
    pub fn receive_path(&self) -> ReceivePath {
        match self.receiver {
            Receiver::Ring(_) => ReceivePath::Ring,
            Receiver::Messages(_) => ReceivePath::Messages,
        }
    }

    /// Attaches the socket to the interface, which has to be up.
    fn attach(&mut self) -> Result<(), RadioError> {
        self.is_up = false;
        let found = facts(&self.interface.name)?;
        if !found.is_up {
            return Err(RadioError::InterfaceDown { interface: found.name });
        }
        refuse_address_clash(&found, self.layer)?;
        let fd = self.socket.as_fd();
        // An error kept from the last time the interface went down must not end the new life.
        let _ = socket::take_error(fd);
        let protocol = match self.layer {
            LinkLayer::Ethernet => ETHERTYPE,
            LinkLayer::Monitor => libc::ETH_P_ALL as u16,
        };
        socket::bind(fd, &RawAddress::of_interface(found.index, protocol))
            .map_err(|e| self.error("bind", e))?;
        let promiscuous = libc::packet_mreq {
            mr_ifindex: found.index.cast_signed(),
            mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        socket::set_option(fd, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &promiscuous)
            .map_err(|e| self.error("PACKET_ADD_MEMBERSHIP", e))?;
        self.interface = found;
        self.is_up = true;
        Ok(())
    }

    /// Names the cause of a system error on this interface.
    fn error(&self, call: &'static str, source: io::Error) -> RadioError {
        let interface = self.interface.name.clone();
        match source.raw_os_error() {
            Some(libc::ENETDOWN) => match Interface::by_name(&interface) {
                Err(_) => RadioError::NoSuchInterface { interface },
                Ok(_) => RadioError::InterfaceDown { interface },
            },
            Some(libc::ENODEV | libc::ENXIO) => RadioError::NoSuchInterface { interface },
            _ => RadioError::Os { call, source },
        }
    }

    /// Takes one packet off the receiver; `None` when it has none now.
    fn take(&mut self, out: &mut [u8]) -> Result<Option<Unwrapped>, RadioError> {
        let layer = self.layer;
        let fd = self.socket.as_fd();
        match &mut self.receiver {
            Receiver::Ring(ring) => match ring.take(|p| accept(layer, p, out)) {
                Some(taken) => Ok(Some(taken)),
                // A ring cannot say that the interface went down; the socket can.
                None => match socket::take_error(fd) {
                    Ok(()) => Ok(None),
                    Err(e) => Err(self.error("receive", e)),
                },
            },
            Receiver::Messages(batch) => match batch.next(fd) {
                Ok(None) => Ok(None),
                Ok(Some(d)) => {
                    let is_outgoing = d.from.packet_type() == Some(libc::PACKET_OUTGOING);
                    let packet =
                        Received { bytes: d.bytes, is_outgoing, is_truncated: d.truncated };
                    Ok(Some(accept(layer, packet, out)))
                }
                Err(e) => Err(self.error("recvmmsg", e)),
            },
        }
    }
}

/// Looks an interface up.
fn facts(name: &str) -> Result<Interface, RadioError> {
    Interface::by_name(name).map_err(|source| match source.raw_os_error() {
        Some(libc::ENODEV | libc::ENXIO) => {
            RadioError::NoSuchInterface { interface: name.to_owned() }
        }
        _ => RadioError::Os { call: "facts about the interface", source },
    })
}

/// Refuses the interface, and for a monitor interface any other one, that has the address which
/// all frames carry.
fn refuse_address_clash(interface: &Interface, layer: LinkLayer) -> Result<(), RadioError> {
    let has_it = |i: &Interface| i.mac == Some(MacAddress(ADDRESS_OF_ALL));
    let clash = match layer {
        LinkLayer::Ethernet => has_it(interface).then(|| interface.clone()),
        // Every interface, not only this radio's: which are siblings is not known to a process that
        // sees another network namespace's sysfs, and nobody needs this address.
        LinkLayer::Monitor => Interface::all()
            .map_err(RadioError::os("getifaddrs"))?
            .into_iter()
            .find(has_it)
            .or_else(|| has_it(interface).then(|| interface.clone())),
    };
    match clash {
        Some(found) => Err(RadioError::AddressInUse { interface: found.name }),
        None => Ok(()),
    }
}

/// Decides about one received packet and copies its frame out.
fn accept(layer: LinkLayer, packet: Received<'_>, out: &mut [u8]) -> Unwrapped {
    if packet.is_outgoing {
        return Err(Discard::Echo);
    }
    if packet.is_truncated {
        return Err(Discard::TooLong);
    }
    match layer {
        LinkLayer::Monitor => unwrap_radiotap(packet.bytes, TxFlags::MeanEcho, out),
        LinkLayer::Ethernet => match packet.bytes.split_at_checked(ETHERNET_HEADER_LEN) {
            // The destination may be any: the interface may be part of a switch.
            Some((header, rest)) if header[6..] == ethernet_header()[6..] => {
                unwrap_radiotap(rest, TxFlags::AreTheSenders, out)
            }
            _ => Err(Discard::Foreign),
        },
    }
}

/// The Ethernet header of every frame: nothing in it tells senders apart.
fn ethernet_header() -> [u8; ETHERNET_HEADER_LEN] {
    let mut header = [0xff; ETHERNET_HEADER_LEN];
    header[6..12].copy_from_slice(&SOURCE);
    header[12..].copy_from_slice(&ETHERTYPE.to_be_bytes());
    header
}

impl Radio for PacketRadio {
    type Error = RadioError;

    fn capabilities(&self) -> Capabilities {
        // A monitor interface's MTU counts from the radiotap header too (`packet_snd` compares the
        // whole packet with it).
        let room = self.interface.mtu.saturating_sub(radiotap::TX_HEADER_LEN);
        Capabilities {
            max_frame: room.min(MAX_FRAME),
            injects: true,
            sets_channel: false,
            keeps_order: true,
        }
    }

    fn initialize(&mut self, _now: Instant, config: &RadioConfig) -> Result<(), RadioError> {
        if config.frequency.is_some() {
            return Err(RadioError::NoSuchSetting { setting: "channel" });
        }
        if config.power.is_some() {
            return Err(RadioError::NoSuchSetting { setting: "transmit power" });
        }
        self.attach()
    }

    fn reset(&mut self, _now: Instant) -> Result<(), RadioError> {
        self.tx.clear();
        // Empty before it is attached anew, and of what was there before.
        match &mut self.receiver {
            Receiver::Ring(ring) => ring.drain(),
            Receiver::Messages(batch) => batch.drain(self.socket.as_fd()),
        }
        self.attach()
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
            match self.take(buf)? {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    self.counters.received += 1;
                    return Ok(Some(frame));
                }
                Some(Err(why)) => self.counters.count(why),
            }
        }
        Ok(None)
    }

    fn write(&mut self, _now: Instant, meta: TxMeta, frame: &[u8]) -> Result<bool, RadioError> {
        if !self.is_up {
            return Err(RadioError::NotInitialized);
        }
        let limit = self.capabilities().max_frame;
        if frame.len() > limit {
            return Err(RadioError::FrameTooLong { actual: frame.len(), limit });
        }
        let ethernet = ethernet_header();
        let ethernet = match self.layer {
            LinkLayer::Ethernet => &ethernet[..],
            LinkLayer::Monitor => &[],
        };
        let radiotap = radiotap::tx_header(meta.rate);
        if self.tx.push([ethernet, &radiotap, frame]) {
            return Ok(true);
        }
        self.flush()?;
        Ok(self.tx.push([ethernet, &radiotap, frame]))
    }
}

impl AirSocket for PacketRadio {
    fn receiver(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn transmitter(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn flush(&mut self) -> Result<Flush, RadioError> {
        // Nothing is a loss here: an interface that refuses a frame refuses all.
        self.tx.flush(self.socket.as_fd(), &[], |_| false).map_err(|e| self.error("sendmmsg", e))
    }

    fn counters(&mut self) -> AirCounters {
        // The kernel's counters begin anew with each reading.
        let statistics = socket::option::<libc::tpacket_stats>(
            self.socket.as_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
        );
        self.counters.overrun += statistics.map_or(0, |s| u64::from(s.tp_drops));
        AirCounters { sent: self.tx.sent, lost: self.tx.lost, ..self.counters }
    }
}
