//! A host with a real IP stack, so that what runs over the air is what runs over any network.

mod apps;
mod wire;

pub use apps::{FetchReport, PingReport};

use super::{Host, HostOutput};
use apps::{Datagrams, Fetch, Ping, Serve};
use slyfi_base::{Command, Duration, Event, Instant, MacAddress, Now};
use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpCidr};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use wire::Wire;

/// Ethernet header and 1500 bytes: what an ordinary interface carries.
const MTU: usize = 1514;
/// When the stack wants to be polled at once and does nothing, it is asked again after this.
const PAUSE: Duration = Duration::from_micros(200);

/// A host with IPv4, IPv6, TCP, UDP and ICMP (smoltcp), and small applications on it.
///
/// Its applications begin when the machine says that the link stands; addresses are bound then too
/// (slyfi-2008 §3.5: the client informs the access point).
pub struct IpHost {
    wire: Wire,
    stack: Interface,
    sockets: SocketSet<'static>,
    addresses: Vec<IpAddr>,
    commands: VecDeque<Command>,
    linked: bool,
    serve: Vec<Serve>,
    fetch: Vec<Fetch>,
    pings: Vec<Ping>,
    datagrams: Vec<Datagrams>,
    markers: Vec<Vec<u8>>,
}

impl IpHost {
    /// Makes a host; each address comes with the length of its prefix. At most 4 addresses.
    ///
    /// # Panics
    /// With more than 4 addresses, or a `mac` that is no unicast address.
    pub fn new(mac: MacAddress, addresses: &[(IpAddr, u8)]) -> Self {
        let mut config = Config::new(HardwareAddress::Ethernet(EthernetAddress(mac.0)));
        // Only ports and sequence numbers follow from it; different hosts should differ.
        config.random_seed = mac.0.iter().fold(1, |s, b| s << 8 | u64::from(*b));
        let mut wire = Wire::new(MTU);
        let mut stack = Interface::new(config, &mut wire, smoltcp::time::Instant::ZERO);
        stack.update_ip_addrs(|list| {
            for &(ip, prefix) in addresses {
                // expect: documented under Panics.
                list.push(IpCidr::new(ip.into(), prefix)).expect("at most 4 addresses");
            }
        });
        IpHost {
            wire,
            stack,
            sockets: SocketSet::new(Vec::new()),
            addresses: addresses.iter().map(|(ip, _)| *ip).collect(),
            commands: VecDeque::new(),
            linked: false,
            serve: Vec::new(),
            fetch: Vec::new(),
            pings: Vec::new(),
            datagrams: Vec::new(),
            markers: Vec::new(),
        }
    }

    /// Begins without waiting for an event of the machine (hosts of access points).
    pub fn started(mut self) -> Self {
        self.start();
        self
    }

    /// Limits packets to `mtu` bytes, Ethernet header included.
    pub fn with_mtu(mut self, mtu: usize) -> Self {
        self.wire.mtu = mtu;
        self
    }

    /// Serves `content` to whoever connects to `port`, eight at a time.
    pub fn with_file(mut self, port: u16, content: &[u8]) -> Self {
        if let Some(marker) = content.get(..32) {
            self.markers.push(marker.to_vec());
        }
        for _ in 0..8 {
            self.serve.push(Serve::new(&mut self.sockets, port, content));
        }
        self
    }

    /// Fetches what `server` serves.
    pub fn with_fetch(mut self, server: SocketAddr) -> Self {
        self.add_fetch(server);
        self
    }

    /// Fetches what `server` serves, from now on.
    pub fn add_fetch(&mut self, server: SocketAddr) {
        let port = 49_152 + self.fetch.len() as u16;
        self.fetch.push(Fetch::new(&mut self.sockets, server, port));
    }

    /// Sends `count` echo requests of `size` bytes to `target`, one each `interval`.
    pub fn with_ping(
        mut self,
        target: IpAddr,
        count: u16,
        size: usize,
        interval: Duration,
    ) -> Self {
        self.add_ping(target, count, size, interval);
        self
    }

    /// Sends echo requests from now on, as [`IpHost::with_ping`].
    pub fn add_ping(&mut self, target: IpAddr, count: u16, size: usize, interval: Duration) {
        let ident = 0x5100 + self.pings.len() as u16;
        self.pings.push(Ping::new(&mut self.sockets, target, count, size, interval, ident));
    }

    /// Listens to UDP datagrams at `port`, also those to a multicast group.
    ///
    /// # Panics
    /// When the stack has no room for another group.
    pub fn with_listener(mut self, port: u16, group: Option<IpAddr>) -> Self {
        if let Some(group) = group {
            // expect: documented under Panics.
            self.stack.join_multicast_group(group).expect("room for a group");
        }
        self.datagrams.push(Datagrams::new(&mut self.sockets, port));
        self
    }

    /// Sends `payload` to `to` (an address or a group) once, from the first listener's port.
    /// Returns whether there was room for it.
    pub fn send_datagram(&mut self, to: SocketAddr, payload: &[u8]) -> bool {
        self.datagrams.first().is_some_and(|d| d.send(&mut self.sockets, to, payload))
    }

    /// Returns the datagrams that listeners got: from where, and what.
    pub fn datagrams(&self) -> impl Iterator<Item = &(SocketAddr, Vec<u8>)> {
        self.datagrams.iter().flat_map(|d| &d.received)
    }

    /// Returns what became of the fetches, in the order they were added.
    pub fn fetches(&self) -> impl Iterator<Item = &FetchReport> {
        self.fetch.iter().map(|f| &f.report)
    }

    /// Returns what became of the pings, in the order they were added.
    pub fn pings(&self) -> impl Iterator<Item = &PingReport> {
        self.pings.iter().map(|p| &p.report)
    }

    /// Returns whether all fetches have ended and all pings were answered or given up.
    pub fn is_done(&self) -> bool {
        self.fetch.iter().all(|f| f.report.is_over()) && self.pings.iter().all(Ping::is_over)
    }

    fn start(&mut self) {
        self.linked = true;
        self.commands = self.addresses.iter().map(|ip| Command::Bind(*ip)).collect();
    }

    /// Lets applications and stack do what they can now; returns when they want to go on.
    fn turn(&mut self, now: Instant) -> Option<Instant> {
        let t = stack_time(now);
        self.stack.poll(t, &mut self.wire, &mut self.sockets);
        let mut next = None;
        let mut at = |t: Option<Instant>| next = earlier(next, t);
        if self.linked {
            for fetch in &mut self.fetch {
                fetch.turn(&mut self.sockets, self.stack.context(), now);
            }
            for ping in &mut self.pings {
                at(ping.turn(&mut self.sockets, &mut self.stack, now));
            }
        }
        for serve in &mut self.serve {
            serve.turn(&mut self.sockets);
        }
        for datagrams in &mut self.datagrams {
            datagrams.turn(&mut self.sockets);
        }
        self.stack.poll(t, &mut self.wire, &mut self.sockets);
        let stack = self.stack.poll_at(t, &self.sockets);
        let stack = stack.map(|s| Instant::from_micros(s.total_micros().max(0).cast_unsigned()));
        at(stack.map(|s| s.max(now + PAUSE)));
        next
    }
}

impl Host for IpHost {
    fn handle_packet(&mut self, _now: Now, packet: &[u8]) {
        self.wire.received.push_back(packet.to_vec());
    }

    fn handle_event(&mut self, _now: Now, event: Event) {
        if let Event::Linked { .. } | Event::Phase(slyfi_base::event::Phase::Linked) = event {
            self.start();
        }
    }

    fn poll_output(&mut self, now: Now) -> HostOutput {
        if let Some(command) = self.commands.pop_front() {
            return HostOutput::Command(command);
        }
        let mut next = None;
        if self.wire.sent.is_empty() {
            next = self.turn(now.mono);
        }
        match self.wire.sent.pop_front() {
            Some(packet) => HostOutput::Send(packet),
            None => HostOutput::Timeout(next),
        }
    }

    fn markers(&self) -> Vec<Vec<u8>> {
        self.markers.clone()
    }
}

fn stack_time(now: Instant) -> smoltcp::time::Instant {
    smoltcp::time::Instant::from_micros(now.as_micros().cast_signed())
}

fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slyfi_base::UnixTime;

    fn now(us: u64) -> Now {
        Now { mono: Instant::from_micros(us), wall: UnixTime::from_micros(us) }
    }

    /// Joins two hosts by a cable that loses packets with probability `lose`, until both are done.
    fn run(a: &mut IpHost, b: &mut IpHost, lose: f64, seconds: u64) {
        let mut rng = crate::SimRng::new(4);
        for ms in 0..seconds * 1000 {
            let now = now(ms * 1000);
            for _ in 0..200 {
                let mut quiet = true;
                quiet &= !carry(a, b, now, &mut rng, lose);
                quiet &= !carry(b, a, now, &mut rng, lose);
                if quiet {
                    break;
                }
            }
            if a.is_done() && b.is_done() {
                return;
            }
        }
    }

    fn carry(
        from: &mut IpHost,
        to: &mut IpHost,
        now: Now,
        rng: &mut crate::SimRng,
        lose: f64,
    ) -> bool {
        match from.poll_output(now) {
            HostOutput::Send(p) => {
                if !rng.chance(lose) {
                    to.handle_packet(now, &p);
                }
                true
            }
            HostOutput::Command(_) => true,
            HostOutput::Timeout(_) => false,
        }
    }

    fn hosts(v6: bool) -> (IpHost, IpHost, IpAddr) {
        let ip = |n: u8| -> IpAddr {
            if v6 {
                format!("fe80::{n}").parse().unwrap()
            } else {
                format!("10.0.0.{n}").parse().unwrap()
            }
        };
        let prefix = if v6 { 64 } else { 24 };
        let host = |n| IpHost::new(MacAddress([2, 0, 0, 0, 0, n]), &[(ip(n), prefix)]).started();
        (host(1), host(2), ip(1))
    }

    #[test]
    fn a_file_is_fetched_whole_over_a_lossy_cable_and_pings_are_answered() {
        for v6 in [false, true] {
            let content: Vec<u8> = (0..200_000u32).map(|i| (i * 7 / 8) as u8).collect();
            let (a, b, server) = hosts(v6);
            let mut a = a.with_file(80, &content);
            let mut b = b.with_fetch(SocketAddr::new(server, 80)).with_ping(
                server,
                5,
                100,
                Duration::from_millis(10),
            );
            run(&mut a, &mut b, 0.04, 300);
            let fetched = b.fetches().next().unwrap();
            let whole = fetched.content() == Some(&content[..]);
            assert!(whole, "IPv6: {v6}, {} bytes", fetched.received.len());
            let ping = b.pings().next().unwrap();
            assert!(ping.sent == 5 && ping.round_trips.len() >= 3, "{ping:?}");
        }
    }

    #[test]
    fn a_server_that_is_not_there_is_told() {
        let (mut a, b, server) = hosts(false);
        let mut b = b.with_fetch(SocketAddr::new(server, 81));
        run(&mut a, &mut b, 0.0, 60);
        let fetch = b.fetches().next().unwrap();
        assert!(fetch.is_over() && fetch.content().is_none());
    }

    #[test]
    fn multicast_reaches_the_members() {
        let (a, b, _) = hosts(false);
        let group: IpAddr = "224.0.0.251".parse().unwrap();
        let mut a = a.with_listener(5353, Some(group));
        let mut b = b.with_listener(5353, Some(group));
        assert!(b.send_datagram(SocketAddr::new(group, 5353), b"who is there"));
        let mut rng = crate::SimRng::new(1);
        for ms in 0..100 {
            while carry(&mut b, &mut a, now(ms * 1000), &mut rng, 0.0) {}
            while carry(&mut a, &mut b, now(ms * 1000), &mut rng, 0.0) {}
        }
        assert_eq!(a.datagrams().map(|(_, p)| p.as_slice()).collect::<Vec<_>>(), [b"who is there"]);
    }
}
