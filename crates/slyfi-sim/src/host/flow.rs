//! Numbered, checkable packets between hosts: the proof that what was sent is what was delivered.

use super::{Host, HostOutput};
use crate::SimRng;
use slyfi_base::{Duration, Event, Instant, MacAddress, Now, Refused};
use std::collections::{BTreeMap, VecDeque};

/// EtherType of the flows: Local Experimental 1 (IEEE Std 802-2014 §9.2.4).
const ETHER_TYPE: [u8; 2] = [0x88, 0xb5];
/// Ethernet header, flow, number.
const HEADER: usize = 14 + 4 + 8;
/// How long a refused packet waits before it is tried again.
const RETRY: Duration = Duration::from_millis(50);
/// Known plaintext in every packet, for the referee.
const MARKER: &[u8; 16] = b"flow plain text!";

/// A host that sends flows and checks what it receives of others'.
///
/// Every byte of a packet follows from its flow and number, so the receiver knows what it should
/// have been and needs no checksum to tell.
#[derive(Debug)]
pub struct FlowHost {
    mac: MacAddress,
    flows: Vec<Flow>,
    linked: bool,
    /// Packets to be tried again; order within a flow is kept because the flow stops meanwhile.
    refused: VecDeque<(usize, Vec<u8>)>,
    retry_at: Option<Instant>,
    reports: BTreeMap<u32, FlowReport>,
}

#[derive(Debug)]
struct Flow {
    id: u32,
    to: MacAddress,
    sizes: (usize, usize),
    interval: Duration,
    next_at: Instant,
    next: u64,
    count: u64,
    waits: bool,
}

/// What was received of one flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowReport {
    /// Different packets received.
    pub received: u64,
    /// Packets received again.
    pub duplicates: u64,
    /// Packets with a lower number than one received before.
    pub out_of_order: u64,
    /// Packets that are not what was sent.
    pub damaged: u64,
    /// Payload bytes received, Ethernet headers included.
    pub bytes: u64,
    /// When the first came (this host's clock).
    pub first_at: Option<Instant>,
    /// When the last came.
    pub last_at: Option<Instant>,
    highest: Option<u64>,
    seen: Vec<u64>,
}

impl FlowReport {
    /// Returns how many numbers below the highest never came.
    pub fn gaps(&self) -> u64 {
        self.highest.map_or(0, |h| h + 1 - self.received)
    }

    /// Returns whether nothing came twice, out of order or changed.
    pub fn is_exact(&self) -> bool {
        self.duplicates == 0 && self.out_of_order == 0 && self.damaged == 0
    }

    /// Returns whether exactly the numbers `0..count` came, each once, in order and unchanged.
    pub fn is_complete(&self, count: u64) -> bool {
        self.is_exact() && self.received == count && self.gaps() == 0
    }

    fn take(&mut self, now: Now, number: u64, len: usize) {
        let (word, bit) = ((number / 64) as usize, 1u64 << (number % 64));
        if self.seen.len() <= word {
            self.seen.resize(word + 1, 0);
        }
        if self.seen[word] & bit != 0 {
            self.duplicates += 1;
            return;
        }
        self.seen[word] |= bit;
        if self.highest.is_some_and(|h| number < h) {
            self.out_of_order += 1;
        }
        self.highest = self.highest.max(Some(number));
        self.received += 1;
        self.bytes += len as u64;
        self.first_at.get_or_insert(now.mono);
        self.last_at = Some(now.mono);
    }
}

impl FlowHost {
    /// Makes a host with this address that only listens.
    pub fn new(mac: MacAddress) -> Self {
        FlowHost {
            mac,
            flows: Vec::new(),
            linked: false,
            refused: VecDeque::new(),
            retry_at: None,
            reports: BTreeMap::new(),
        }
    }

    /// Adds a flow of `count` packets of `sizes.0..=sizes.1` bytes, one each `interval` on average
    /// (zero: as fast as they are taken), beginning when the link stands.
    pub fn with_flow(
        mut self,
        id: u32,
        to: MacAddress,
        count: u64,
        sizes: (usize, usize),
        interval: Duration,
    ) -> Self {
        self.add_flow(id, to, count, sizes, interval);
        self
    }

    /// Adds a flow to a running host, as [`FlowHost::with_flow`].
    pub fn add_flow(
        &mut self,
        id: u32,
        to: MacAddress,
        count: u64,
        sizes: (usize, usize),
        interval: Duration,
    ) {
        let sizes = (sizes.0.max(HEADER + MARKER.len()), sizes.1.max(HEADER + MARKER.len()));
        let next_at = Instant::ZERO;
        self.flows.push(Flow { id, to, sizes, interval, next_at, next: 0, count, waits: false });
    }

    /// Lets the flows begin without waiting for an event of the machine (hosts of access points,
    /// machines without set-up).
    pub fn started(self) -> Self {
        FlowHost { linked: true, ..self }
    }

    /// Points a flow at another address (a new pseudonym).
    pub fn redirect(&mut self, id: u32, to: MacAddress) {
        for f in self.flows.iter_mut().filter(|f| f.id == id) {
            f.to = to;
        }
    }

    /// Ends all flows where they are; refused packets are forgotten.
    pub fn stop(&mut self) {
        self.flows.clear();
        self.refused.clear();
    }

    /// Returns how many packets of a flow were given to the machine.
    pub fn sent(&self, id: u32) -> u64 {
        self.flows.iter().filter(|f| f.id == id).map(|f| f.next - u64::from(f.waits)).sum()
    }

    /// Returns whether all flows have given all their packets to the machine.
    pub fn is_done(&self) -> bool {
        self.refused.is_empty() && self.flows.iter().all(|f| f.next == f.count)
    }

    /// Returns what was received of a flow.
    pub fn report(&self, id: u32) -> FlowReport {
        self.reports.get(&id).cloned().unwrap_or_default()
    }

    /// Returns the reports of all flows that anything was received of.
    pub fn reports(&self) -> impl Iterator<Item = (u32, &FlowReport)> {
        self.reports.iter().map(|(id, r)| (*id, r))
    }
}

/// Writes packet `number` of `flow` behind its addresses.
fn payload(flow: u32, number: u64, out: &mut [u8]) {
    let (head, body) = out.split_at_mut(HEADER - 14);
    head[..4].copy_from_slice(&flow.to_be_bytes());
    head[4..].copy_from_slice(&number.to_be_bytes());
    let (marker, rest) = body.split_at_mut(MARKER.len());
    marker.copy_from_slice(MARKER);
    SimRng::new(u64::from(flow) << 40 ^ number).fill_bytes(rest);
}

impl Flow {
    /// The interval, give or take an eighth: hosts whose flows begin together would otherwise offer
    /// their packets at the same microsecond for ever, and collide each time.
    fn pause(&self) -> Duration {
        let us = self.interval.as_micros();
        let mut rng = SimRng::new(u64::from(self.id)).split("pause", self.next);
        Duration::from_micros(us - us / 8 + rng.below(us / 4 + 1))
    }

    fn packet(&mut self, from: MacAddress) -> Vec<u8> {
        let span = (self.sizes.1 - self.sizes.0 + 1) as u64;
        let mut sizes = SimRng::new(u64::from(self.id)).split("size", self.next);
        let len = self.sizes.0 + sizes.below(span) as usize;
        let mut p = vec![0; len];
        p[..6].copy_from_slice(&self.to.0);
        p[6..12].copy_from_slice(&from.0);
        p[12..14].copy_from_slice(&ETHER_TYPE);
        payload(self.id, self.next, &mut p[14..]);
        self.next += 1;
        p
    }
}

impl Host for FlowHost {
    fn handle_packet(&mut self, now: Now, packet: &[u8]) {
        let Some((flow, number)) = parse(packet) else { return };
        let report = self.reports.entry(flow).or_default();
        let mut want = vec![0; packet.len() - 14];
        payload(flow, number, &mut want);
        // A number this high was never sent; it must not size the table of those seen.
        if want != packet[14..] || number >= 1 << 32 {
            report.damaged += 1;
        } else {
            report.take(now, number, packet.len());
        }
    }

    fn handle_event(&mut self, _now: Now, event: Event) {
        match event {
            Event::Linked { .. } => {
                self.linked = true;
                self.retry_at = None;
            }
            Event::Phase(slyfi_base::event::Phase::Linked) => self.linked = true,
            _ => {}
        }
    }

    fn handle_refused(&mut self, now: Now, packet: &[u8], _why: Refused) {
        // Foreign packets are not ours to retry; a flow's own packet names it.
        let Some((id, _)) = parse(packet) else { return };
        if let Some(i) = self.flows.iter().position(|f| f.id == id) {
            self.flows[i].waits = true;
            self.refused.push_back((i, packet.to_vec()));
            self.retry_at = Some(now.mono + RETRY);
        }
    }

    fn handle_timeout(&mut self, now: Now) {
        if self.retry_at.is_some_and(|t| t <= now.mono) {
            self.retry_at = None;
        }
    }

    fn poll_output(&mut self, now: Now) -> HostOutput {
        if !self.linked {
            return HostOutput::Timeout(None);
        }
        if self.retry_at.is_none()
            && let Some((i, mut packet)) = self.refused.pop_front()
        {
            self.flows[i].waits = false;
            packet[..6].copy_from_slice(&self.flows[i].to.0);
            return HostOutput::Send(packet);
        }
        let mac = self.mac;
        let ready = self.flows.iter_mut().filter(|f| f.next < f.count && !f.waits);
        let Some(flow) = ready.min_by_key(|f| f.next_at) else {
            return HostOutput::Timeout(self.retry_at);
        };
        if flow.next_at > now.mono {
            let at = flow.next_at;
            return HostOutput::Timeout(Some(self.retry_at.map_or(at, |r| r.min(at))));
        }
        flow.next_at = now.mono.max(flow.next_at) + flow.pause();
        HostOutput::Send(flow.packet(mac))
    }

    fn markers(&self) -> Vec<Vec<u8>> {
        vec![MARKER.to_vec()]
    }
}

fn parse(packet: &[u8]) -> Option<(u32, u64)> {
    if packet.get(12..14)? != ETHER_TYPE || packet.len() < HEADER + MARKER.len() {
        return None;
    }
    let flow = u32::from_be_bytes(*packet.get(14..)?.first_chunk()?);
    let number = u64::from_be_bytes(*packet.get(18..)?.first_chunk()?);
    Some((flow, number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slyfi_base::UnixTime;

    const A: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
    const B: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

    fn now(us: u64) -> Now {
        Now { mono: Instant::from_micros(us), wall: UnixTime::from_micros(us) }
    }

    fn packets(n: u64) -> Vec<Vec<u8>> {
        let mut h = FlowHost::new(A).started().with_flow(7, B, n, (60, 90), Duration::ZERO);
        let mut out = Vec::new();
        while let HostOutput::Send(p) = h.poll_output(now(0)) {
            out.push(p);
        }
        assert!(h.is_done());
        out
    }

    fn received(packets: &[&Vec<u8>]) -> FlowReport {
        let mut h = FlowHost::new(B);
        for p in packets {
            h.handle_packet(now(5), p);
        }
        h.report(7)
    }

    #[test]
    fn a_whole_flow_is_complete() {
        let p = packets(200);
        assert!(p.iter().all(|p| (60..=90).contains(&p.len())));
        assert!(received(&p.iter().collect::<Vec<_>>()).is_complete(200));
    }

    #[test]
    fn loss_repetition_disorder_and_damage_each_show() {
        let p = packets(3);
        let r = received(&[&p[0], &p[2]]);
        assert!(r.is_exact() && r.gaps() == 1 && !r.is_complete(3));
        assert_eq!(received(&[&p[0], &p[0]]).duplicates, 1);
        let r = received(&[&p[0], &p[2], &p[1]]);
        assert_eq!((r.out_of_order, r.gaps()), (1, 0));
        for byte in 14 + 4..p[0].len() {
            let mut bad = p[0].clone();
            bad[byte] ^= 0x20;
            assert_eq!(received(&[&bad]).damaged, 1, "byte {byte}");
        }
    }

    #[test]
    fn a_refused_packet_is_sent_again_before_later_ones() {
        let mut h = FlowHost::new(A).started().with_flow(7, B, 2, (60, 60), Duration::ZERO);
        let HostOutput::Send(first) = h.poll_output(now(0)) else { panic!() };
        h.handle_refused(now(0), &first, Refused::NotLinked);
        assert_eq!(h.sent(7), 0);
        let HostOutput::Timeout(Some(at)) = h.poll_output(now(0)) else { panic!() };
        let later = Now { mono: at, ..now(0) };
        h.handle_timeout(later);
        assert_eq!(h.poll_output(later), HostOutput::Send(first));
        assert!(matches!(h.poll_output(later), HostOutput::Send(_)));
        assert!(h.is_done());
    }
}
