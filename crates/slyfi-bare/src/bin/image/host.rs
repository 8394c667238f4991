//! The IP host behind a SlyFi station: one address, answers to echo requests, UDP echo (RFC 862).

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use slyfi_bare::ethernet;
use slyfi_base::MacAddress;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::udp;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpCidr};

/// RFC 862.
const ECHO: u16 = 7;

/// The host.
pub struct Host {
    pub port: Port,
    interface: Interface,
    sockets: SocketSet<'static>,
    echo: SocketHandle,
    /// Datagrams that were sent back.
    pub echoed: u64,
}

impl Host {
    /// Makes a host whose packets have `mtu` bytes at most after their Ethernet header.
    pub fn new(mac: MacAddress, address: (Ipv4Addr, u8), mtu: usize, now: Instant) -> Self {
        let mut port = Port { mtu, inbound: VecDeque::new(), outbound: VecDeque::new() };
        let config = Config::new(EthernetAddress(mac.0).into());
        let mut interface = Interface::new(config, &mut port, now);
        interface.update_ip_addrs(|list| {
            let address = IpCidr::new(address.0.into(), address.1);
            list.push(address).expect("there is room for one address");
        });
        let buffer = || {
            udp::PacketBuffer::new(
                vec![udp::PacketMetadata::EMPTY; 32].leak() as &mut [_],
                vec![0_u8; 64 << 10].leak() as &mut [_],
            )
        };
        let mut socket = udp::Socket::new(buffer(), buffer());
        socket.bind(ECHO).expect("the port is not 0");
        let mut sockets =
            SocketSet::new(vec![smoltcp::iface::SocketStorage::EMPTY].leak() as &mut [_]);
        let echo = sockets.add(socket);
        Host { port, interface, sockets, echo, echoed: 0 }
    }

    /// Takes the address that the network knows this host by.
    pub fn set_mac(&mut self, mac: MacAddress) {
        self.interface.set_hardware_addr(HardwareAddress::Ethernet(EthernetAddress(mac.0)));
    }

    /// Does everything that can be done now.
    pub fn turn(&mut self, now: Instant) {
        self.interface.poll(now, &mut self.port, &mut self.sockets);
        let socket = self.sockets.get_mut::<udp::Socket<'_>>(self.echo);
        while socket.can_send() {
            let Ok((datagram, meta)) = socket.recv() else { break };
            let copy = datagram.to_vec();
            // A full buffer loses an echo, as UDP may.
            self.echoed += u64::from(socket.send_slice(&copy, meta.endpoint).is_ok());
        }
    }
}

/// The host's end of the link.
pub struct Port {
    mtu: usize,
    /// Packets for the host.
    pub inbound: VecDeque<Vec<u8>>,
    /// Packets of the host.
    pub outbound: VecDeque<Vec<u8>>,
}

/// Packets that wait in one direction at most.
const QUEUE: usize = 64;

impl Device for Port {
    type RxToken<'a> = In;
    type TxToken<'a> = Out<'a>;

    fn receive(&mut self, _: Instant) -> Option<(In, Out<'_>)> {
        let packet = self.inbound.pop_front()?;
        Some((In(packet), Out(self)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Out<'_>> {
        (self.outbound.len() < QUEUE).then_some(Out(self))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = ethernet::HEADER_LEN + self.mtu;
        capabilities
    }
}

pub struct In(Vec<u8>);

impl RxToken for In {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

pub struct Out<'a>(&'a mut Port);

impl TxToken for Out<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        // An answer to a packet comes without asking for room; beyond twice the queue it is lost.
        if self.0.outbound.len() < 2 * QUEUE {
            self.0.outbound.push_back(packet);
        }
        result
    }
}
