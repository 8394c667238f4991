//! Echo between hosts, below IP: round-trip times of the link alone.

use super::{Host, HostOutput};
use slyfi_base::{Duration, Event, Instant, MacAddress, Now};
use std::collections::VecDeque;

/// EtherType of the echoes: Local Experimental 2 (IEEE Std 802-2014 §9.2.4).
const ETHER_TYPE: [u8; 2] = [0x88, 0xb6];
const MARKER: &[u8; 16] = b"echo plain text!";
/// Ethernet header, kind, number, marker.
const LEN: usize = 14 + 1 + 8 + 16;

/// A host that answers echoes, and sends some if told to.
#[derive(Debug)]
pub struct PingHost {
    mac: MacAddress,
    target: Option<MacAddress>,
    interval: Duration,
    count: u64,
    linked: bool,
    next_at: Instant,
    sent: Vec<Instant>,
    round_trips: Vec<Duration>,
    answers: VecDeque<Vec<u8>>,
    size: usize,
}

impl PingHost {
    /// Makes a host that only answers.
    pub fn new(mac: MacAddress) -> Self {
        PingHost {
            mac,
            target: None,
            interval: Duration::from_secs(1),
            count: 0,
            linked: false,
            next_at: Instant::ZERO,
            sent: Vec::new(),
            round_trips: Vec::new(),
            answers: VecDeque::new(),
            size: 64,
        }
    }

    /// Sends `count` echoes of `size` bytes to `target`, one each `interval`, once the link stands.
    pub fn with_target(
        self,
        target: MacAddress,
        count: u64,
        size: usize,
        interval: Duration,
    ) -> Self {
        PingHost { target: Some(target), count, size: size.max(LEN), interval, ..self }
    }

    /// Begins without waiting for an event of the machine.
    pub fn started(self) -> Self {
        PingHost { linked: true, ..self }
    }

    /// Returns how many echoes were sent.
    pub fn sent(&self) -> u64 {
        self.sent.len() as u64
    }

    /// Returns the round-trip times of those that were answered, in the order of the answers.
    pub fn round_trips(&self) -> &[Duration] {
        &self.round_trips
    }

    fn packet(&self, to: [u8; 6], kind: u8, number: u64, size: usize) -> Vec<u8> {
        let mut p = vec![0; size];
        p[..6].copy_from_slice(&to);
        p[6..12].copy_from_slice(&self.mac.0);
        p[12..14].copy_from_slice(&ETHER_TYPE);
        p[14] = kind;
        p[15..23].copy_from_slice(&number.to_be_bytes());
        p[23..LEN].copy_from_slice(MARKER);
        p
    }
}

impl Host for PingHost {
    fn handle_packet(&mut self, now: Now, packet: &[u8]) {
        if packet.len() < LEN || packet[12..14] != ETHER_TYPE || packet[23..LEN] != *MARKER {
            return;
        }
        let (mut source, mut number) = ([0; 6], [0; 8]);
        source.copy_from_slice(&packet[6..12]);
        number.copy_from_slice(&packet[15..23]);
        let number = u64::from_be_bytes(number);
        if packet[14] == 0 {
            let answer = self.packet(source, 1, number, packet.len());
            self.answers.push_back(answer);
        } else if let Some(sent) = self.sent.get(number as usize) {
            self.round_trips.push(now.mono.saturating_since(*sent));
        }
    }

    fn handle_event(&mut self, now: Now, event: Event) {
        if let Event::Linked { .. } | Event::Phase(slyfi_base::event::Phase::Linked) = event {
            self.linked = true;
            self.next_at = self.next_at.max(now.mono);
        }
    }

    fn poll_output(&mut self, now: Now) -> HostOutput {
        if let Some(p) = self.answers.pop_front() {
            return HostOutput::Send(p);
        }
        let Some(target) = self.target.filter(|_| self.linked && self.sent() < self.count) else {
            return HostOutput::Timeout(None);
        };
        if self.next_at > now.mono {
            return HostOutput::Timeout(Some(self.next_at));
        }
        let p = self.packet(target.0, 0, self.sent(), self.size);
        self.sent.push(now.mono);
        self.next_at = now.mono + self.interval;
        HostOutput::Send(p)
    }

    fn markers(&self) -> Vec<Vec<u8>> {
        vec![MARKER.to_vec()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slyfi_base::UnixTime;

    #[test]
    fn echoes_are_answered_and_timed() {
        let (a, b) = (MacAddress([2, 0, 0, 0, 0, 1]), MacAddress([2, 0, 0, 0, 0, 2]));
        let now = |us| Now { mono: Instant::from_micros(us), wall: UnixTime::from_micros(us) };
        let mut one = PingHost::new(a).started().with_target(b, 1, 100, Duration::from_millis(1));
        let mut two = PingHost::new(b);
        let HostOutput::Send(p) = one.poll_output(now(10)) else { panic!() };
        assert_eq!(p.len(), 100);
        two.handle_packet(now(20), &p);
        let HostOutput::Send(q) = two.poll_output(now(20)) else { panic!() };
        one.handle_packet(now(35), &q);
        assert_eq!(one.round_trips(), [Duration::from_micros(25)]);
        assert_eq!(one.poll_output(now(5000)), HostOutput::Timeout(None));
        assert_eq!(two.poll_output(now(5000)), HostOutput::Timeout(None));
    }
}
