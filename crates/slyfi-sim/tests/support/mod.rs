//! Machines small enough to be right at sight, for testing the air itself.
#![allow(dead_code, reason = "each test file uses its own part")]

use slyfi_base::reason::DropCounters;
use slyfi_base::{
    ApiMisuse, Command, Duration, Instant, Link, Now, Output, Rate, Refused, RxMeta, TxMeta,
};
use slyfi_sim::SimRng;
use slyfi_wire::carrier;
use std::collections::VecDeque;

/// What a [`Toy`] puts on the air for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The carrier and random bytes as long as the packet: what a perfect protocol looks like.
    Random,
    /// The carrier and the packet as it is.
    Clear,
    /// An 802.11 data frame from its own to another address, acknowledged by the hardware.
    Unicast { from: [u8; 6], to: [u8; 6] },
}

/// A machine without a protocol: a packet is a frame.
pub struct Toy {
    format: Format,
    rate: Rate,
    rng: SimRng,
    queue: VecDeque<Vec<u8>>,
    delivered: VecDeque<Vec<u8>>,
    /// Frames received, with the time and what the radio said.
    pub heard: Vec<(Instant, RxMeta, Vec<u8>)>,
    sequence: u16,
    /// Sends a frame of this length whenever it is told, and keeps `backlog` of them waiting.
    saturate: Option<(usize, Duration)>,
    next_at: Instant,
    drops: DropCounters,
}

impl Toy {
    pub fn new(format: Format, rng: SimRng) -> Self {
        Toy {
            format,
            rate: Rate::PEAK,
            rng,
            queue: VecDeque::new(),
            delivered: VecDeque::new(),
            heard: Vec::new(),
            sequence: 0,
            saturate: None,
            next_at: Instant::ZERO,
            drops: DropCounters::default(),
        }
    }

    pub fn at_rate(self, rate: Rate) -> Self {
        Toy { rate, ..self }
    }

    /// Hands the radio a frame of `len` bytes each `interval`.
    pub fn saturating(self, len: usize, interval: Duration) -> Self {
        Toy { saturate: Some((len, interval)), ..self }
    }

    fn frame(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut f = vec![0; carrier::HEADER_LEN];
        f.copy_from_slice(&carrier::HEADER);
        f.extend_from_slice(packet);
        match self.format {
            Format::Random => self.rng.fill_bytes(&mut f[carrier::HEADER_LEN..]),
            Format::Clear => {}
            Format::Unicast { from, to } => {
                f[..4].copy_from_slice(&[0x08, 0x01, 44, 0]);
                f[4..10].copy_from_slice(&to);
                f[10..16].copy_from_slice(&from);
                f[22..24].copy_from_slice(&(self.sequence << 4).to_le_bytes());
                self.sequence = self.sequence.wrapping_add(1);
            }
        }
        f
    }
}

impl Link for Toy {
    fn handle_frame(&mut self, now: Now, meta: RxMeta, frame: &mut [u8]) {
        self.heard.push((now.mono, meta, frame.to_vec()));
        if let Format::Unicast { from, .. } = self.format
            && frame[4..10] != from
        {
            return;
        }
        if !meta.bad_fcs && self.format != Format::Random {
            self.delivered.push_back(frame[carrier::HEADER_LEN..].to_vec());
        }
    }

    fn handle_packet(&mut self, _now: Now, packet: &[u8]) -> Result<(), Refused> {
        let frame = self.frame(packet);
        self.queue.push_back(frame);
        Ok(())
    }

    fn handle_command(&mut self, _now: Now, _command: Command) -> Result<(), ApiMisuse> {
        Err(ApiMisuse::WrongRole)
    }

    fn handle_timeout(&mut self, now: Now) {
        let Some((len, interval)) = self.saturate else { return };
        while self.next_at <= now.mono {
            let packet = vec![0; len - carrier::HEADER_LEN];
            let frame = self.frame(&packet);
            self.queue.push_back(frame);
            self.next_at = self.next_at + interval;
        }
    }

    fn poll_output<'b>(&mut self, buf: &'b mut [u8]) -> Output<'b> {
        if let Some(p) = self.delivered.pop_front() {
            buf[..p.len()].copy_from_slice(&p);
            return Output::Deliver(&buf[..p.len()]);
        }
        if let Some(f) = self.queue.pop_front() {
            buf[..f.len()].copy_from_slice(&f);
            return Output::Transmit(TxMeta { rate: self.rate }, &buf[..f.len()]);
        }
        Output::Timeout(self.saturate.map(|_| self.next_at))
    }

    fn drops(&self) -> &DropCounters {
        &self.drops
    }
}
