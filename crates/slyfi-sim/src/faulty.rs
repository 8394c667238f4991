//! A radio that loses, damages and repeats what it receives.

use crate::SimRng;
use slyfi_base::{Capabilities, Instant, Radio, RadioChange, RadioConfig, RxMeta, TxMeta};
use std::collections::VecDeque;

/// What [`Faulty`] does, as probabilities for each frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// A received frame is lost.
    pub receive_loss: f64,
    /// A frame to be sent is lost.
    pub send_loss: f64,
    /// One bit of a received frame is flipped, and the radio does not notice.
    pub corrupt: f64,
    /// A received frame comes twice.
    pub duplicate: f64,
    /// A received frame changes places with the next one.
    pub swap: f64,
    /// The radio says that it has no room.
    pub no_room: f64,
}

/// Any radio, made worse. Deterministic: the same seed and the same calls give the same faults.
#[derive(Debug)]
pub struct Faulty<R> {
    inner: R,
    faults: Faults,
    rng: SimRng,
    again: VecDeque<(RxMeta, Vec<u8>)>,
    held: Option<(RxMeta, Vec<u8>)>,
}

impl<R: Radio> Faulty<R> {
    /// Wraps a radio.
    pub fn new(inner: R, faults: Faults, rng: SimRng) -> Self {
        Faulty { inner, faults, rng, again: VecDeque::new(), held: None }
    }

    /// Changes the faults.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// Returns the wrapped radio.
    pub fn into_inner(self) -> R {
        self.inner
    }

    fn hand_out(buf: &mut [u8], (meta, frame): (RxMeta, Vec<u8>)) -> Option<(RxMeta, usize)> {
        buf.get_mut(..frame.len())?.copy_from_slice(&frame);
        Some((meta, frame.len()))
    }
}

impl<R: Radio> Radio for Faulty<R> {
    type Error = R::Error;

    fn capabilities(&self) -> Capabilities {
        Capabilities { keeps_order: false, ..self.inner.capabilities() }
    }

    fn initialize(&mut self, now: Instant, config: &RadioConfig) -> Result<(), R::Error> {
        self.inner.initialize(now, config)
    }

    fn reset(&mut self, now: Instant) -> Result<(), R::Error> {
        self.again.clear();
        self.held = None;
        self.inner.reset(now)
    }

    fn configure(&mut self, now: Instant, change: RadioChange) -> Result<(), R::Error> {
        self.inner.configure(now, change)
    }

    fn read(&mut self, now: Instant, buf: &mut [u8]) -> Result<Option<(RxMeta, usize)>, R::Error> {
        while let Some(frame) = self.again.pop_front() {
            if let Some(done) = Self::hand_out(buf, frame) {
                return Ok(Some(done));
            }
        }
        while let Some((meta, len)) = self.inner.read(now, buf)? {
            if self.rng.chance(self.faults.receive_loss) {
                continue;
            }
            if len > 0 && self.rng.chance(self.faults.corrupt) {
                let bit = self.rng.below(len as u64 * 8) as usize;
                buf[bit / 8] ^= 1 << (bit % 8);
            }
            if self.held.is_none() && self.rng.chance(self.faults.swap) {
                self.held = Some((meta, buf[..len].to_vec()));
                continue;
            }
            if self.rng.chance(self.faults.duplicate) {
                self.again.push_back((meta, buf[..len].to_vec()));
            }
            self.again.extend(self.held.take());
            return Ok(Some((meta, len)));
        }
        // Nothing follows that could change places with the frame held back.
        Ok(self.held.take().and_then(|frame| Self::hand_out(buf, frame)))
    }

    fn write(&mut self, now: Instant, meta: TxMeta, frame: &[u8]) -> Result<bool, R::Error> {
        if self.rng.chance(self.faults.no_room) {
            return Ok(false);
        }
        if self.rng.chance(self.faults.send_loss) {
            return Ok(true);
        }
        self.inner.write(now, meta, frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimRadio;

    /// Sends 1000 numbered frames through the faults; returns the numbers received.
    fn through(faults: Faults) -> Vec<u16> {
        let (mut a, b) = SimRadio::pair(1);
        let mut b = Faulty::new(b, faults, SimRng::new(7));
        let mut t = Instant::ZERO;
        a.initialize(t, &RadioConfig::default()).unwrap();
        b.initialize(t, &RadioConfig::default()).unwrap();
        let (mut out, mut buf) = (Vec::new(), [0; 10]);
        for i in 0..1000u16 {
            a.write(t, TxMeta::default(), &i.to_be_bytes()).unwrap();
            t = t + slyfi_base::Duration::from_millis(1);
            // Two frames at a time, so that there is something to change places with.
            if i % 2 == 1 {
                while let Some((_, n)) = b.read(t, &mut buf).unwrap() {
                    assert_eq!(n, 2);
                    out.push(u16::from_be_bytes([buf[0], buf[1]]));
                }
            }
        }
        out
    }

    #[test]
    fn without_faults_everything_arrives_in_order() {
        assert_eq!(through(Faults::default()), (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn each_fault_does_what_it_says_and_no_more() {
        let lost = through(Faults { receive_loss: 0.2, ..Faults::default() });
        assert!((750..850).contains(&lost.len()) && lost.is_sorted());
        let twice = through(Faults { duplicate: 0.2, ..Faults::default() });
        assert!((1150..1250).contains(&twice.len()));
        let mut once = twice.clone();
        once.dedup();
        assert_eq!(once.len(), 1000);
        let mut swapped = through(Faults { swap: 0.3, ..Faults::default() });
        assert!(!swapped.is_sorted());
        swapped.sort_unstable();
        assert_eq!(swapped, (0..1000).collect::<Vec<_>>());
        let damaged = through(Faults { corrupt: 0.2, ..Faults::default() });
        let wrong = damaged.iter().zip(0..1000).filter(|(a, b)| *a != b).count();
        assert!((150..250).contains(&wrong) && damaged.len() == 1000);
    }

    #[test]
    fn sending_fails_as_told() {
        let (a, _b) = SimRadio::pair(1);
        let faults = Faults { no_room: 1.0, ..Faults::default() };
        let mut a = Faulty::new(a, faults, SimRng::new(1));
        a.initialize(Instant::ZERO, &RadioConfig::default()).unwrap();
        assert_eq!(a.write(Instant::ZERO, TxMeta::default(), b"x"), Ok(false));
        a.set_faults(Faults { send_loss: 1.0, ..Faults::default() });
        assert_eq!(a.write(Instant::ZERO, TxMeta::default(), b"x"), Ok(true));
        assert!(_b.next_arrival().is_none());
    }
}
