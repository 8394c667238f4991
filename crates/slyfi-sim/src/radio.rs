//! Radios on a simulated medium, for code that wants the [`Radio`] contract rather than a `Link`.

use crate::medium::{Medium, OnAir, Verdict};
use crate::{Fcs, NodeId, SimRng, dcf};
use slyfi_base::{
    Capabilities, Duration, Instant, Mhz, Radio, RadioChange, RadioConfig, RxMeta, TxMeta,
};
use slyfi_wire::carrier;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Frames that wait for the channel before a radio says that it has no room.
const QUEUE: u64 = 64;

/// One of several radios around a medium, all used from one thread.
///
/// The channel carries one frame at a time; a frame begins when the one before has ended, and
/// arrives at its end. There is no contention here ([`crate::Air`] has it), only loss, damage,
/// repetition and delay by the [`Medium`], and radios hear each other on one frequency only.
#[derive(Clone)]
pub struct SimRadio {
    id: NodeId,
    shared: Rc<RefCell<Shared>>,
}

struct Shared {
    medium: Medium,
    free_at: Instant,
    waiting: Vec<Instant>,
    radios: Vec<State>,
    next: u64,
}

#[derive(Default)]
struct State {
    up: bool,
    frequency: Option<Mhz>,
    /// By arrival, then order of sending.
    inbox: BTreeMap<(Instant, u64), (RxMeta, Vec<u8>)>,
}

/// A radio was used against its contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SimRadioError {
    /// It is down: [`Radio::initialize`] comes first.
    Down,
    /// The frame is empty, too long, or at a rate that 802.11a does not have.
    NotSendable,
}

impl std::fmt::Display for SimRadioError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SimRadioError::Down => "the radio is down",
            SimRadioError::NotSendable => "no radio of 802.11a can send this frame",
        })
    }
}

impl std::error::Error for SimRadioError {}

impl SimRadio {
    /// Makes `n` radios around one medium.
    pub fn around(seed: u64, n: usize) -> Vec<SimRadio> {
        let mut medium = Medium::new(SimRng::new(seed).split("radio", 0));
        let mut radios = Vec::new();
        for _ in 0..n {
            medium.add_node();
            radios.push(State::default());
        }
        let shared =
            Shared { medium, free_at: Instant::ZERO, waiting: Vec::new(), radios, next: 0 };
        let shared = Rc::new(RefCell::new(shared));
        (0..n).map(|i| SimRadio { id: NodeId(i as u16), shared: shared.clone() }).collect()
    }

    /// Makes two radios that hear each other.
    pub fn pair(seed: u64) -> (SimRadio, SimRadio) {
        let mut both = Self::around(seed, 2);
        // expect: two were made.
        let b = both.pop().expect("two radios");
        (both.pop().expect("two radios"), b)
    }

    /// Returns the name under which the medium knows this radio.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Changes the medium that this radio shares with the others.
    pub fn with_medium<R>(&self, change: impl FnOnce(&mut Medium) -> R) -> R {
        change(&mut self.shared.borrow_mut().medium)
    }

    /// Returns when the next frame arrives at this radio, so that a loop knows when to read.
    pub fn next_arrival(&self) -> Option<Instant> {
        let shared = self.shared.borrow();
        shared.radios[self.id.index()].inbox.keys().next().map(|(at, _)| *at)
    }
}

impl Shared {
    fn send(&mut self, from: NodeId, now: Instant, meta: TxMeta, frame: &[u8]) {
        let begin = self.free_at.max(now);
        let end = begin + dcf::airtime(frame.len(), meta.rate) + Duration::from_micros(dcf::DIFS);
        self.free_at = end;
        self.waiting.push(end);
        let frequency = self.radios[from.index()].frequency;
        for i in 0..self.radios.len() {
            let to = NodeId(i as u16);
            let there = &self.radios[i];
            if to == from || !there.up || there.frequency != frequency {
                continue;
            }
            let Some(signal) = self.medium.signal(from, to, end) else { continue };
            let on_air = OnAir { at: end, from, to, rate: meta.rate, bytes: frame };
            let verdict = self.medium.verdict(&on_air);
            let mut rx = RxMeta { signal: Some(signal), rate: Some(meta.rate), bad_fcs: false };
            match verdict {
                Verdict::Drop => {}
                Verdict::Deliver { delay } => self.put(to, end + delay, rx, frame.to_vec()),
                Verdict::Duplicate { delay, gap } => {
                    self.put(to, end + delay, rx, frame.to_vec());
                    self.put(to, end + delay + gap, rx, frame.to_vec());
                }
                Verdict::Corrupt { bits, fcs, delay } => {
                    let mut frame = frame.to_vec();
                    self.medium.flip_bits(&mut frame, bits);
                    rx.bad_fcs = fcs == Fcs::Fails;
                    self.put(to, end + delay, rx, frame);
                }
            }
        }
    }

    fn put(&mut self, to: NodeId, at: Instant, meta: RxMeta, frame: Vec<u8>) {
        self.next += 1;
        self.radios[to.index()].inbox.insert((at, self.next), (meta, frame));
    }
}

impl Radio for SimRadio {
    type Error = SimRadioError;

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            max_frame: carrier::MAX_FRAME,
            injects: true,
            sets_channel: true,
            keeps_order: false,
        }
    }

    fn initialize(&mut self, _now: Instant, config: &RadioConfig) -> Result<(), SimRadioError> {
        let state = &mut self.shared.borrow_mut().radios[self.id.index()];
        state.up = true;
        state.frequency = config.frequency.or(state.frequency);
        Ok(())
    }

    fn reset(&mut self, _now: Instant) -> Result<(), SimRadioError> {
        let state = &mut self.shared.borrow_mut().radios[self.id.index()];
        state.up = true;
        state.inbox.clear();
        Ok(())
    }

    fn configure(&mut self, _now: Instant, change: RadioChange) -> Result<(), SimRadioError> {
        let state = &mut self.shared.borrow_mut().radios[self.id.index()];
        if !state.up {
            return Err(SimRadioError::Down);
        }
        if let RadioChange::Frequency(f) = change {
            state.frequency = Some(f);
        }
        Ok(())
    }

    fn read(
        &mut self,
        now: Instant,
        buf: &mut [u8],
    ) -> Result<Option<(RxMeta, usize)>, SimRadioError> {
        let state = &mut self.shared.borrow_mut().radios[self.id.index()];
        if !state.up {
            return Err(SimRadioError::Down);
        }
        while let Some(entry) = state.inbox.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let (meta, frame) = entry.remove();
            if let Some(room) = buf.get_mut(..frame.len()) {
                room.copy_from_slice(&frame);
                return Ok(Some((meta, frame.len())));
            }
        }
        Ok(None)
    }

    fn write(&mut self, now: Instant, meta: TxMeta, frame: &[u8]) -> Result<bool, SimRadioError> {
        let mut shared = self.shared.borrow_mut();
        if !shared.radios[self.id.index()].up {
            return Err(SimRadioError::Down);
        }
        if frame.is_empty() || frame.len() > carrier::MAX_FRAME || !dcf::RATES.contains(&meta.rate)
        {
            return Err(SimRadioError::NotSendable);
        }
        shared.waiting.retain(|end| *end > now);
        if shared.waiting.len() as u64 >= QUEUE {
            return Ok(false);
        }
        shared.send(self.id, now, meta, frame);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkQuality;

    fn us(us: u64) -> Instant {
        Instant::from_micros(us)
    }

    fn up() -> (SimRadio, SimRadio) {
        let (mut a, mut b) = SimRadio::pair(1);
        for r in [&mut a, &mut b] {
            r.initialize(us(0), &RadioConfig::default()).unwrap();
        }
        (a, b)
    }

    #[test]
    fn a_frame_arrives_at_its_end_and_never_at_its_sender() {
        let (mut a, mut b) = up();
        let mut buf = [0; 100];
        assert!(a.write(us(0), TxMeta::default(), b"hello").unwrap());
        let end = b.next_arrival().unwrap();
        assert_eq!(end.as_micros(), 34 + dcf::airtime(5, slyfi_base::Rate::BASE).as_micros());
        assert_eq!(b.read(us(end.as_micros() - 1), &mut buf).unwrap(), None);
        let (meta, len) = b.read(end, &mut buf).unwrap().unwrap();
        assert_eq!((&buf[..len], meta.bad_fcs), (&b"hello"[..], false));
        assert_eq!(a.read(us(1_000_000), &mut buf).unwrap(), None);
        assert_eq!(b.read(us(1_000_000), &mut buf).unwrap(), None);
    }

    #[test]
    fn a_full_queue_has_no_room_until_the_air_is_free() {
        let (mut a, _b) = up();
        let room = (0..200).filter(|_| a.write(us(0), TxMeta::default(), &[1; 500]).unwrap());
        assert_eq!(room.count() as u64, QUEUE);
        assert!(a.write(us(1_000_000), TxMeta::default(), &[1; 500]).unwrap());
    }

    #[test]
    fn misuse_is_refused_and_the_medium_and_the_channel_are_obeyed() {
        let (mut a, mut b) = SimRadio::pair(1);
        let mut buf = [0; 100];
        assert_eq!(a.write(us(0), TxMeta::default(), b"x"), Err(SimRadioError::Down));
        assert_eq!(a.read(us(0), &mut buf), Err(SimRadioError::Down));
        let config = RadioConfig { frequency: Some(Mhz(5180)), power: None };
        a.initialize(us(0), &config).unwrap();
        b.initialize(us(0), &config).unwrap();
        assert_eq!(a.write(us(0), TxMeta::default(), b""), Err(SimRadioError::NotSendable));
        let odd = TxMeta { rate: slyfi_base::Rate(13) };
        assert_eq!(a.write(us(0), odd, b"x"), Err(SimRadioError::NotSendable));
        a.configure(us(0), RadioChange::Frequency(Mhz(5200))).unwrap();
        a.write(us(0), TxMeta::default(), b"unheard").unwrap();
        a.configure(us(0), RadioChange::Frequency(Mhz(5180))).unwrap();
        a.with_medium(|m| m.set(a.id(), b.id(), LinkQuality::lossy(1.0)));
        a.write(us(0), TxMeta::default(), b"lost").unwrap();
        a.with_medium(|m| m.set(a.id(), b.id(), LinkQuality::PERFECT));
        a.write(us(0), TxMeta::default(), b"heard").unwrap();
        let (_, len) = b.read(us(1_000_000), &mut buf).unwrap().unwrap();
        assert_eq!(&buf[..len], b"heard");
        assert_eq!(b.read(us(1_000_000), &mut buf), Ok(None));
        b.reset(us(0)).unwrap();
    }
}
