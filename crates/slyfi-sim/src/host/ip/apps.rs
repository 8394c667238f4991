//! The applications of an [`super::IpHost`].

use slyfi_base::{Duration, Instant};
use smoltcp::iface::{Context, Interface, SocketHandle, SocketSet};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::socket::{icmp, tcp, udp};
use smoltcp::wire::{Icmpv4Packet, Icmpv4Repr, Icmpv6Packet, Icmpv6Repr, IpAddress};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

/// Bytes of a TCP buffer.
const TCP_BUFFER: usize = 65_535;
/// How long an echo request waits for its answer.
const PING_PATIENCE: Duration = Duration::from_secs(5);
/// Neither side waits longer than this for the other.
const TCP_TIMEOUT: smoltcp::time::Duration = smoltcp::time::Duration::from_secs(60);

fn tcp_socket(sockets: &mut SocketSet<'static>) -> SocketHandle {
    let buffer = || tcp::SocketBuffer::new(vec![0; TCP_BUFFER]);
    let mut socket = tcp::Socket::new(buffer(), buffer());
    socket.set_timeout(Some(TCP_TIMEOUT));
    sockets.add(socket)
}

/// Sends a file to whoever connects: its length in 8 bytes, then its bytes.
///
/// The length is there because the stack may never take a FIN that came out of order; who fetches
/// must not depend on it.
pub(super) struct Serve {
    handle: SocketHandle,
    port: u16,
    content: Rc<[u8]>,
    at: usize,
}

impl Serve {
    pub(super) fn new(sockets: &mut SocketSet<'static>, port: u16, content: &[u8]) -> Self {
        let length = (content.len() as u64).to_be_bytes();
        let content = [&length[..], content].concat().into();
        Serve { handle: tcp_socket(sockets), port, content, at: 0 }
    }

    pub(super) fn turn(&mut self, sockets: &mut SocketSet<'static>) {
        let socket = sockets.get_mut::<tcp::Socket<'_>>(self.handle);
        if !socket.is_open() {
            self.at = 0;
            // Only a port of 0 or an open socket is refused here.
            let _ = socket.listen(self.port);
        }
        if socket.may_send() && self.at < self.content.len() && socket.can_send() {
            self.at += socket.send_slice(&self.content[self.at..]).unwrap_or(0);
        }
        // Whoever fetched has closed, or has gone silent and the socket times out.
        if socket.state() == tcp::State::CloseWait {
            socket.close();
        }
    }
}

/// Fetches a file.
pub(super) struct Fetch {
    handle: SocketHandle,
    server: SocketAddr,
    port: u16,
    pub(super) report: FetchReport,
}

/// What became of a fetch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchReport {
    /// When the connection was asked for (this host's clock).
    pub begun_at: Option<Instant>,
    /// When it had ended, well or not.
    pub ended_at: Option<Instant>,
    /// What was received: the length and the content.
    pub received: Vec<u8>,
}

impl FetchReport {
    /// Returns whether it has ended, well or not.
    pub fn is_over(&self) -> bool {
        self.ended_at.is_some()
    }

    /// Returns the content if all of it was received.
    pub fn content(&self) -> Option<&[u8]> {
        let (length, content) = self.received.split_first_chunk()?;
        (content.len() as u64 == u64::from_be_bytes(*length)).then_some(content)
    }

    /// Returns how long it took.
    pub fn took(&self) -> Option<Duration> {
        Some(self.ended_at?.saturating_since(self.begun_at?))
    }
}

impl Fetch {
    pub(super) fn new(sockets: &mut SocketSet<'static>, server: SocketAddr, port: u16) -> Self {
        Fetch { handle: tcp_socket(sockets), server, port, report: FetchReport::default() }
    }

    pub(super) fn turn(
        &mut self,
        sockets: &mut SocketSet<'static>,
        context: &mut Context,
        now: Instant,
    ) {
        let socket = sockets.get_mut::<tcp::Socket<'_>>(self.handle);
        let report = &mut self.report;
        if report.is_over() {
            return;
        }
        if report.begun_at.is_none() {
            report.begun_at = Some(now);
            if socket.connect(context, self.server, self.port).is_err() {
                report.ended_at = Some(now);
            }
            return;
        }
        while socket.can_recv() {
            let taken = socket.recv(|bytes| {
                report.received.extend_from_slice(bytes);
                (bytes.len(), bytes.len())
            });
            if matches!(taken, Ok(0) | Err(_)) {
                break;
            }
        }
        if report.content().is_some() {
            report.ended_at = Some(now);
            socket.close();
        } else if !socket.is_open() {
            report.ended_at = Some(now);
        }
    }
}

/// Sends echo requests.
pub(super) struct Ping {
    handle: SocketHandle,
    target: IpAddr,
    count: u16,
    size: usize,
    interval: Duration,
    ident: u16,
    next_at: Option<Instant>,
    sent_at: Vec<Instant>,
    answered: Vec<bool>,
    over: bool,
    pub(super) report: PingReport,
}

/// What became of echo requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PingReport {
    /// How many were sent.
    pub sent: u64,
    /// Round-trip times of those that were answered, in the order of the answers.
    pub round_trips: Vec<Duration>,
    /// Answers to requests that were answered before.
    pub duplicates: u64,
}

impl Ping {
    pub(super) fn new(
        sockets: &mut SocketSet<'static>,
        target: IpAddr,
        count: u16,
        size: usize,
        interval: Duration,
        ident: u16,
    ) -> Self {
        let buffer =
            || icmp::PacketBuffer::new(vec![icmp::PacketMetadata::EMPTY; 8], vec![0; 16_384]);
        let handle = sockets.add(icmp::Socket::new(buffer(), buffer()));
        Ping {
            handle,
            target,
            count,
            size,
            interval,
            ident,
            next_at: None,
            sent_at: Vec::new(),
            answered: Vec::new(),
            over: count == 0,
            report: PingReport::default(),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Sends and receives what it can; returns when it wants to go on.
    pub(super) fn turn(
        &mut self,
        sockets: &mut SocketSet<'static>,
        stack: &mut Interface,
        now: Instant,
    ) -> Option<Instant> {
        let socket = sockets.get_mut::<icmp::Socket<'_>>(self.handle);
        if !socket.is_open() {
            // Only a second bind is refused.
            let _ = socket.bind(icmp::Endpoint::Ident(self.ident));
        }
        while let Ok((bytes, _)) = socket.recv() {
            if let Some(number) = self.number_of_reply(bytes) {
                self.take_reply(usize::from(number), now);
            }
        }
        // One that still waits for the neighbour's address holds the next one back: a burst of them
        // would come before the neighbour knows whom to answer.
        let due = self.next_at.is_none_or(|t| t <= now) && socket.send_queue() == 0;
        if due && self.report.sent < u64::from(self.count) && socket.can_send() {
            let number = self.report.sent as u16;
            if send_echo(socket, stack, self.target, self.ident, number, self.size) {
                self.sent_at.push(now);
                self.answered.push(false);
                self.report.sent += 1;
                self.next_at = Some(now + self.interval);
            }
        }
        let last = self.sent_at.last().map(|t| *t + PING_PATIENCE);
        if self.report.sent == u64::from(self.count) {
            let all = self.answered.iter().all(|a| *a);
            self.over = all || last.is_some_and(|t| t <= now);
            return last.filter(|_| !self.over);
        }
        // Held back: the stack's own timer comes first.
        self.next_at.filter(|t| *t > now)
    }

    fn number_of_reply(&self, bytes: &[u8]) -> Option<u16> {
        let checksums = ChecksumCapabilities::default();
        match self.target {
            IpAddr::V4(_) => {
                let packet = Icmpv4Packet::new_checked(bytes).ok()?;
                match Icmpv4Repr::parse(&packet, &checksums).ok()? {
                    Icmpv4Repr::EchoReply { seq_no, .. } => Some(seq_no),
                    _ => None,
                }
            }
            IpAddr::V6(_) => {
                let packet = Icmpv6Packet::new_checked(bytes).ok()?;
                // The stack verified the checksum, which needs the addresses.
                match packet.msg_type() {
                    smoltcp::wire::Icmpv6Message::EchoReply => Some(packet.echo_seq_no()),
                    _ => None,
                }
            }
        }
    }

    fn take_reply(&mut self, number: usize, now: Instant) {
        match (self.answered.get_mut(number), self.sent_at.get(number)) {
            (Some(answered), Some(_)) if *answered => self.report.duplicates += 1,
            (Some(answered), Some(at)) => {
                *answered = true;
                self.report.round_trips.push(now.saturating_since(*at));
            }
            _ => {}
        }
    }
}

fn send_echo(
    socket: &mut icmp::Socket<'_>,
    stack: &Interface,
    target: IpAddr,
    ident: u16,
    seq_no: u16,
    size: usize,
) -> bool {
    let data = vec![0x70; size];
    match target {
        IpAddr::V4(to) => {
            let echo = Icmpv4Repr::EchoRequest { ident, seq_no, data: &data };
            let Ok(room) = socket.send(echo.buffer_len(), IpAddress::Ipv4(to)) else {
                return false;
            };
            let mut packet = Icmpv4Packet::new_unchecked(room);
            echo.emit(&mut packet, &ChecksumCapabilities::default());
        }
        IpAddr::V6(to) => {
            let echo = Icmpv6Repr::EchoRequest { ident, seq_no, data: &data };
            let from = stack.get_source_address_ipv6(&to);
            let Ok(room) = socket.send(echo.buffer_len(), IpAddress::Ipv6(to)) else {
                return false;
            };
            let mut packet = Icmpv6Packet::new_unchecked(room);
            echo.emit(&from, &to, &mut packet, &ChecksumCapabilities::default());
        }
    }
    true
}

/// Sends and receives datagrams.
pub(super) struct Datagrams {
    handle: SocketHandle,
    port: u16,
    pub(super) received: Vec<(SocketAddr, Vec<u8>)>,
}

impl Datagrams {
    pub(super) fn new(sockets: &mut SocketSet<'static>, port: u16) -> Self {
        let buffer =
            || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; 64], vec![0; 65_536]);
        let mut socket = udp::Socket::new(buffer(), buffer());
        // Only a port of 0 or a second bind is refused.
        let _ = socket.bind(port);
        Datagrams { handle: sockets.add(socket), port, received: Vec::new() }
    }

    pub(super) fn send(
        &self,
        sockets: &mut SocketSet<'static>,
        to: SocketAddr,
        payload: &[u8],
    ) -> bool {
        sockets.get_mut::<udp::Socket<'_>>(self.handle).send_slice(payload, to).is_ok()
    }

    pub(super) fn turn(&mut self, sockets: &mut SocketSet<'static>) {
        let socket = sockets.get_mut::<udp::Socket<'_>>(self.handle);
        if !socket.is_open() {
            let _ = socket.bind(self.port);
        }
        while let Ok((payload, meta)) = socket.recv() {
            let from = SocketAddr::new(meta.endpoint.addr.into(), meta.endpoint.port);
            self.received.push((from, payload.to_vec()));
        }
    }
}
