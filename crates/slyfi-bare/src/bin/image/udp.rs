//! The exchange's datagrams over smoltcp: buffers are made once, and no packet allocates.

use crate::clock::Clock;
use crate::nic::Nic;
use alloc::vec;
use core::net::Ipv4Addr;
use slyfi_bare::exchange::{self, Datagrams};
use slyfi_base::Duration;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet, SocketStorage};
use smoltcp::phy::Device;
use smoltcp::socket::udp;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpCidr, IpEndpoint};

/// Bytes and packets that wait to be taken: two bursts of the paper's, as a Linux socket with large
/// buffers holds.
const BYTES: usize = 3 << 20;
const PACKETS: usize = 2048;

/// Room for what waits to be sent: one datagram, as `send` ends when the card has it, and as much
/// again, because a datagram does not go around the end of the buffer.
const SENDING: usize = 2 * 2048;

/// How long one datagram may wait for the card or for its neighbour's address.
const PATIENCE_NS: u64 = 30_000_000_000;

/// A device that can say when everything has left.
pub trait Drained: Device {
    /// Returns whether everything sent has left.
    fn is_drained(&mut self) -> bool;
}

impl Drained for Nic {
    fn is_drained(&mut self) -> bool {
        Nic::is_drained(self)
    }
}

/// One UDP socket on one card.
pub struct Udp<D> {
    device: D,
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    clock: Clock,
    peer: IpEndpoint,
    last_sender: IpEndpoint,
    waited: u64,
}

/// Why a datagram cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UdpError {
    /// It has nowhere to go.
    NoRoute,
    /// It is longer than a packet.
    TooLong,
    /// The card took nothing, or the neighbour did not tell its address.
    Stuck,
}

/// Where a socket is and where it sends.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Own address and prefix.
    pub address: (Ipv4Addr, u8),
    /// Own port.
    pub port: u16,
    /// Whom it sends to first.
    pub peer: (Ipv4Addr, u16),
}

impl<D: Drained> Udp<D> {
    /// Makes the socket; everything that is ever allocated for it is allocated here.
    pub fn new(mut device: D, mac: [u8; 6], place: Place, mut clock: Clock) -> Self {
        let now = instant(&mut clock);
        let config = Config::new(EthernetAddress(mac).into());
        let mut interface = Interface::new(config, &mut device, now);
        let (address, prefix) = place.address;
        interface.update_ip_addrs(|list| {
            list.push(IpCidr::new(address.into(), prefix)).expect("there is room for one address");
        });
        let buffer = |packets: usize, bytes: usize| {
            udp::PacketBuffer::new(
                vec![udp::PacketMetadata::EMPTY; packets].leak() as &mut [_],
                vec![0_u8; bytes].leak() as &mut [_],
            )
        };
        let mut socket = udp::Socket::new(buffer(PACKETS, BYTES), buffer(4, SENDING));
        socket.bind(place.port).expect("the port is not 0");
        let mut sockets = SocketSet::new(vec![SocketStorage::EMPTY].leak() as &mut [_]);
        let socket = sockets.add(socket);
        let peer = IpEndpoint::from(place.peer);
        Udp { device, interface, sockets, socket, clock, peer, last_sender: peer, waited: 0 }
    }

    /// Lets a packet in, if there is one, and answers what the network asks by itself.
    pub fn poll_in(&mut self) {
        let now = instant(&mut self.clock);
        self.interface.poll_ingress_single(now, &mut self.device, &mut self.sockets);
    }

    /// Lets a packet out, if one waits.
    pub fn poll_out(&mut self) {
        let now = instant(&mut self.clock);
        self.interface.poll_egress(now, &mut self.device, &mut self.sockets);
    }

    /// Queues a datagram and lets it out if that can be at once.
    ///
    /// # Errors
    /// [`UdpError`].
    pub fn offer(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), UdpError> {
        let socket = self.sockets.get_mut::<udp::Socket<'_>>(self.socket);
        let write = |out: &mut [u8]| {
            fill(out);
            out.len()
        };
        match socket.send_with(len, self.peer, write) {
            Ok(_) => {}
            Err(udp::SendError::Unaddressable) => return Err(UdpError::NoRoute),
            Err(udp::SendError::BufferFull) => return Err(UdpError::TooLong),
        }
        self.poll_out();
        Ok(())
    }

    /// Takes a datagram that has come.
    pub fn take(&mut self, buf: &mut [u8]) -> Option<usize> {
        let socket = self.sockets.get_mut::<udp::Socket<'_>>(self.socket);
        let (datagram, meta) = socket.recv().ok()?;
        let len = datagram.len().min(buf.len());
        buf[..len].copy_from_slice(&datagram[..len]);
        self.last_sender = meta.endpoint;
        Some(len)
    }

    /// Fails when the card has taken nothing for too long since `begin`.
    fn patience(&mut self, begin: u64) -> Result<(), UdpError> {
        match exchange::Clock::nanos(&mut self.clock) - begin {
            0..PATIENCE_NS => Ok(()),
            _ => Err(UdpError::Stuck),
        }
    }

    fn queued(&mut self) -> usize {
        self.sockets.get_mut::<udp::Socket<'_>>(self.socket).send_queue()
    }
}

impl<D: Drained> Datagrams for Udp<D> {
    type Error = UdpError;

    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), UdpError> {
        self.offer(len, fill)?;
        if self.queued() > 0 {
            // No room on the card, or the neighbour's address is not known yet.
            let begin = exchange::Clock::nanos(&mut self.clock);
            while self.queued() > 0 {
                self.poll_in();
                self.poll_out();
                self.patience(begin)?;
            }
            self.waited += exchange::Clock::nanos(&mut self.clock) - begin;
        }
        Ok(())
    }

    fn waited_nanos(&self) -> u64 {
        self.waited
    }

    fn receive(&mut self, buf: &mut [u8], patience: Duration) -> Result<Option<usize>, UdpError> {
        let begin = exchange::Clock::nanos(&mut self.clock);
        loop {
            if let Some(len) = self.take(buf) {
                return Ok(Some(len));
            }
            self.poll_in();
            self.poll_out();
            let waited = exchange::Clock::nanos(&mut self.clock) - begin;
            if waited / 1000 >= patience.as_micros() {
                return Ok(None);
            }
        }
    }

    fn answer_sender(&mut self) {
        self.peer = self.last_sender;
    }

    fn flush(&mut self) -> Result<(), UdpError> {
        let begin = exchange::Clock::nanos(&mut self.clock);
        while !self.device.is_drained() {
            self.poll_in();
            self.patience(begin)?;
        }
        Ok(())
    }
}

pub fn instant(clock: &mut Clock) -> Instant {
    Instant::from_micros((exchange::Clock::nanos(clock) / 1000) as i64)
}
