//! A radio that writes a capture of what goes through it.

use crate::capture::CaptureWriter;
use slyfi_base::{
    Capabilities, Duration, Instant, Radio, RadioChange, RadioConfig, RxMeta, TxMeta, UnixTime,
};
use std::io::{self, Write};

/// Any radio, with both directions written as radiotap pcapng.
///
/// A capture that cannot be written does not stop the radio: the first error is kept and writing
/// ends; [`PcapTap::finish`] tells.
#[derive(Debug)]
pub struct PcapTap<R> {
    inner: R,
    epoch: UnixTime,
    capture: CaptureWriter,
    error: Option<io::Error>,
}

impl<R: Radio> PcapTap<R> {
    /// Wraps a radio; `epoch` is the civil time at [`Instant::ZERO`].
    pub fn new(inner: R, out: impl Write + 'static, epoch: UnixTime) -> Self {
        let capture = CaptureWriter::new(Box::new(out), "radio");
        PcapTap { inner, epoch, capture, error: None }
    }

    /// Ends the capture and returns the radio.
    ///
    /// # Errors
    /// The first error of writing.
    pub fn finish(mut self) -> io::Result<R> {
        match self.error {
            Some(error) => Err(error),
            None => self.capture.flush().map(|()| self.inner),
        }
    }

    fn write_capture(
        &mut self,
        now: Instant,
        write: impl FnOnce(&mut CaptureWriter, UnixTime) -> io::Result<()>,
    ) {
        if self.error.is_none() {
            let at = self.epoch + Duration::from_micros(now.as_micros());
            self.error = write(&mut self.capture, at).err();
        }
    }
}

impl<R: Radio> Radio for PcapTap<R> {
    type Error = R::Error;

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn initialize(&mut self, now: Instant, config: &RadioConfig) -> Result<(), R::Error> {
        self.inner.initialize(now, config)
    }

    fn reset(&mut self, now: Instant) -> Result<(), R::Error> {
        self.inner.reset(now)
    }

    fn configure(&mut self, now: Instant, change: RadioChange) -> Result<(), R::Error> {
        self.inner.configure(now, change)
    }

    fn read(&mut self, now: Instant, buf: &mut [u8]) -> Result<Option<(RxMeta, usize)>, R::Error> {
        let result = self.inner.read(now, buf)?;
        if let Some((meta, len)) = result
            && let Some(frame) = buf.get(..len)
        {
            self.write_capture(now, |c, at| c.received(at, meta, frame));
        }
        Ok(result)
    }

    fn write(&mut self, now: Instant, meta: TxMeta, frame: &[u8]) -> Result<bool, R::Error> {
        let taken = self.inner.write(now, meta, frame)?;
        if taken {
            self.write_capture(now, |c, at| c.sent(at, meta, frame));
        }
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimRadio;
    use crate::capture::SharedBuffer;
    use slyfi_wire::radiotap::Radiotap;

    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn exchange(out: impl Write + 'static) -> io::Result<SimRadio> {
        let (a, mut b) = SimRadio::pair(1);
        let t0 = Instant::ZERO;
        let mut a = PcapTap::new(a, out, UnixTime::from_secs(1000));
        a.initialize(t0, &RadioConfig::default()).unwrap();
        b.initialize(t0, &RadioConfig::default()).unwrap();
        a.write(t0, TxMeta::default(), b"sent frame").unwrap();
        b.write(t0, TxMeta::default(), b"received frame").unwrap();
        let mut buf = [0; 99];
        let got = a.read(Instant::from_micros(1_000_000), &mut buf).unwrap();
        assert!(got.is_some(), "the radio works whatever the capture does");
        a.finish()
    }

    #[test]
    fn both_directions_are_in_the_capture() {
        let file = SharedBuffer::default();
        exchange(file.clone()).unwrap();
        let bytes = file.bytes();
        // Enhanced packet blocks hold a radiotap header at offset 28.
        let (mut at, mut frames) = (0, Vec::new());
        while at < bytes.len() {
            let word = |o| u32::from_le_bytes(bytes[at + o..at + o + 4].try_into().unwrap());
            let len = word(4) as usize;
            if word(0) == 6 {
                let data = &bytes[at + 28..at + 28 + word(20) as usize];
                frames.push(Radiotap::new_checked(data).unwrap().frame().to_vec());
            }
            at += len;
        }
        assert_eq!(frames, [&b"sent frame"[..], b"received frame"]);
    }

    #[test]
    fn a_full_disk_is_told_at_the_end() {
        assert_eq!(exchange(Full).err().map(|e| e.kind()), Some(io::ErrorKind::StorageFull));
    }
}
