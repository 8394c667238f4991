//! A radio that tells what is done with it.

use slyfi_base::{Capabilities, Instant, Radio, RadioChange, RadioConfig, RxMeta, TxMeta};

/// What was done with a radio.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Trace<'a> {
    /// It was brought up.
    Initialized(&'a RadioConfig),
    /// It was reset.
    Reset,
    /// It was changed.
    Configured(RadioChange),
    /// It received a frame.
    Received(RxMeta, &'a [u8]),
    /// It took a frame to send.
    Sent(TxMeta, &'a [u8]),
    /// It had no room for a frame.
    NoRoom(TxMeta, &'a [u8]),
    /// It failed.
    Failed,
}

/// Any radio, and a function that is told of every call that did something.
///
/// # Security
/// The frames handed to the function hold what is on the air: SlyFi's addresses are in them. What
/// is done with them is the function's affair.
pub struct Traced<R, F> {
    inner: R,
    tell: F,
}

impl<R, F> Traced<R, F>
where
    R: Radio,
    F: FnMut(Instant, Trace<'_>),
{
    /// Wraps a radio.
    pub fn new(inner: R, tell: F) -> Self {
        Traced { inner, tell }
    }

    /// Returns the wrapped radio.
    pub fn into_inner(self) -> R {
        self.inner
    }

    fn done<T>(
        &mut self,
        now: Instant,
        result: Result<T, R::Error>,
        trace: Trace<'_>,
    ) -> Result<T, R::Error> {
        (self.tell)(now, if result.is_ok() { trace } else { Trace::Failed });
        result
    }
}

impl<R, F> Radio for Traced<R, F>
where
    R: Radio,
    F: FnMut(Instant, Trace<'_>),
{
    type Error = R::Error;

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn initialize(&mut self, now: Instant, config: &RadioConfig) -> Result<(), R::Error> {
        let result = self.inner.initialize(now, config);
        self.done(now, result, Trace::Initialized(config))
    }

    fn reset(&mut self, now: Instant) -> Result<(), R::Error> {
        let result = self.inner.reset(now);
        self.done(now, result, Trace::Reset)
    }

    fn configure(&mut self, now: Instant, change: RadioChange) -> Result<(), R::Error> {
        let result = self.inner.configure(now, change);
        self.done(now, result, Trace::Configured(change))
    }

    fn read(&mut self, now: Instant, buf: &mut [u8]) -> Result<Option<(RxMeta, usize)>, R::Error> {
        let result = self.inner.read(now, buf);
        match &result {
            Ok(Some((meta, len))) => {
                (self.tell)(now, Trace::Received(*meta, buf.get(..*len).unwrap_or(&[])));
            }
            Ok(None) => {}
            Err(_) => (self.tell)(now, Trace::Failed),
        }
        result
    }

    fn write(&mut self, now: Instant, meta: TxMeta, frame: &[u8]) -> Result<bool, R::Error> {
        let result = self.inner.write(now, meta, frame);
        let trace = match result {
            Ok(false) => Trace::NoRoom(meta, frame),
            _ => Trace::Sent(meta, frame),
        };
        self.done(now, result, trace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimRadio;

    #[test]
    fn every_call_that_did_something_is_told() {
        let (a, mut b) = SimRadio::pair(1);
        let mut told = Vec::new();
        let mut a = Traced::new(a, |_, t: Trace<'_>| told.push(format!("{t:?}")));
        let (t0, t1) = (Instant::ZERO, Instant::from_micros(1_000_000));
        assert!(a.write(t0, TxMeta::default(), b"x").is_err());
        a.initialize(t0, &RadioConfig::default()).unwrap();
        b.initialize(t0, &RadioConfig::default()).unwrap();
        b.write(t0, TxMeta::default(), b"x").unwrap();
        let mut buf = [0; 9];
        assert!(a.read(t1, &mut buf).unwrap().is_some());
        assert!(a.read(t1, &mut buf).unwrap().is_none());
        a.write(t1, TxMeta::default(), b"x").unwrap();
        a.reset(t1).unwrap();
        drop(a);
        let kinds: Vec<&str> = told.iter().filter_map(|t| t.split('(').next()).collect();
        assert_eq!(kinds, ["Failed", "Initialized", "Received", "Sent", "Reset"]);
    }
}
