//! One machine and the host that drives it by the contract of [`Link`].

use slyfi_base::link::RecordKind;
use slyfi_base::{
    ApiMisuse, Command, Duration, Event, Instant, Link, LinkId, Now, Output, Refused, RxMeta,
};
use std::collections::BTreeSet;

/// What a machine said between one input and its rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Said {
    pub(crate) frames: Vec<Vec<u8>>,
    pub(crate) packets: Vec<Vec<u8>>,
    pub(crate) records: Vec<(RecordKind, Vec<u8>)>,
    pub(crate) backhaul: Vec<Vec<u8>>,
    pub(crate) events: Vec<Event>,
}

impl Said {
    pub(crate) fn add(&mut self, later: Said) {
        self.frames.extend(later.frames);
        self.packets.extend(later.packets);
        self.records.extend(later.records);
        self.backhaul.extend(later.backhaul);
        self.events.extend(later.events);
    }
}

/// A machine, its clocks, and which of its links are up.
pub(crate) struct Host<L> {
    pub(crate) link: L,
    pub(crate) now: Now,
    timeout: Option<Instant>,
    buf: Vec<u8>,
    up: BTreeSet<LinkId>,
    is_client: bool,
}

/// The most outputs that one input may cause.
const MOST_OUTPUTS: usize = 4_000;

/// The most time-outs that may fall on one instant.
const MOST_TIMEOUTS: usize = 400;

impl<L: Link> Host<L> {
    pub(crate) fn new(link: L, now: Now, is_client: bool) -> Self {
        Host {
            link,
            now,
            timeout: Some(now.mono),
            buf: vec![0; 64],
            up: BTreeSet::new(),
            is_client,
        }
    }

    /// Whether any link is up, as the events tell it.
    pub(crate) fn is_up(&self) -> bool {
        !self.up.is_empty()
    }

    pub(crate) fn frame(&mut self, bytes: &[u8]) -> Said {
        let mut bytes = bytes.to_vec();
        self.link.handle_frame(self.now, RxMeta::default(), &mut bytes);
        self.drain()
    }

    pub(crate) fn frames(&mut self, frames: &[Vec<u8>]) -> Said {
        let mut frames = frames.to_vec();
        let mut batch: Vec<(RxMeta, &mut [u8])> =
            frames.iter_mut().map(|f| (RxMeta::default(), f.as_mut_slice())).collect();
        self.link.handle_frames(self.now, &mut batch);
        self.drain()
    }

    pub(crate) fn packet(&mut self, bytes: &[u8]) -> (Result<(), Refused>, Said) {
        let taken = self.link.handle_packet(self.now, bytes);
        (taken, self.drain())
    }

    pub(crate) fn backhaul(&mut self, bytes: &[u8]) -> Said {
        self.link.handle_backhaul(self.now, bytes);
        self.drain()
    }

    pub(crate) fn command(&mut self, command: Command) -> (Result<(), ApiMisuse>, Said) {
        let done = self.link.handle_command(self.now, command);
        (done, self.drain())
    }

    /// How many frames and packets were dropped so far.
    pub(crate) fn dropped(&self) -> u64 {
        self.link.drops().iter().map(|(_, n)| n).sum()
    }

    /// How long until the machine wants to be called; `None` if only an input matters.
    pub(crate) fn wait(&self) -> Option<Duration> {
        self.timeout.map(|t| t.saturating_since(self.now.mono))
    }

    /// Lets `d` go by on both clocks and calls what has become due.
    pub(crate) fn pass(&mut self, d: Duration) -> Said {
        self.now = self.now.later(d);
        self.settle()
    }

    /// Moves civil time alone.
    pub(crate) fn set_wall(&mut self, wall: slyfi_base::UnixTime) -> Said {
        self.now.wall = wall;
        self.settle()
    }

    /// Calls what is due.
    ///
    /// # Panics
    /// When that never ends: time would stand still.
    pub(crate) fn settle(&mut self) -> Said {
        let mut said = self.drain();
        for calls in 0.. {
            assert!(calls < MOST_TIMEOUTS, "time stands still at {:?}", self.now);
            if self.timeout.is_none_or(|t| t > self.now.mono) {
                break;
            }
            self.link.handle_timeout(self.now);
            said.add(self.drain());
        }
        said
    }

    fn drain(&mut self) -> Said {
        let mut said = Said::default();
        for outputs in 0.. {
            assert!(outputs < MOST_OUTPUTS, "the machine never comes to rest");
            match self.link.poll_output(&mut self.buf) {
                Output::Transmit(_, frame) => said.frames.push(frame.to_vec()),
                Output::Deliver(packet) => {
                    assert!(packet.len() >= 14, "the host is given whole Ethernet frames");
                    said.packets.push(packet.to_vec());
                }
                Output::Persist(p) => said.records.push((p.kind, p.bytes.reveal().to_vec())),
                Output::Backhaul(message) => said.backhaul.push(message.to_vec()),
                Output::KeyLog(_) => panic!("nobody asked for a key log"),
                Output::Event(event) => said.events.push(event),
                Output::BufferTooSmall { needed } => {
                    assert!(needed > self.buf.len() && needed < 1 << 16, "asks for what it has");
                    self.buf.resize(needed, 0);
                }
                Output::Failed(error) => panic!("the machine failed: {error:?}"),
                Output::Timeout(at) => {
                    self.timeout = at;
                    break;
                }
            }
        }
        said.events.iter().for_each(|e| self.note(e));
        said
    }

    /// Links come up and go down in turns.
    fn note(&mut self, event: &Event) {
        // A client has one link at a time, and keeps it when it moves to another slot.
        let key = |link: &LinkId| if self.is_client { LinkId(0) } else { *link };
        match event {
            Event::Linked { link, .. } => {
                assert!(self.up.insert(key(link)), "a link that is up comes up");
            }
            Event::Unlinked { link, .. } => {
                assert!(self.up.remove(&key(link)), "a link that is down goes down");
            }
            Event::Roamed => assert!(self.is_up(), "only a link that is up moves"),
            _ => {}
        }
    }
}
