//! A first-class ear: hears what is in its range, counts what can be linked, writes a capture.

use crate::capture::CaptureWriter;
use crate::linkability::Linkability;
use slyfi_base::{RxMeta, UnixTime};
use std::io::{self, Write};

/// A passive node. Damaged frames are written to the capture, marked, and counted nowhere else.
#[derive(Debug, Default)]
pub struct Sniffer {
    capture: Option<CaptureWriter>,
    linkability: Linkability,
}

impl Sniffer {
    /// Makes a sniffer that only counts.
    pub fn new() -> Self {
        Sniffer::default()
    }

    /// Writes all that is heard to `out` as radiotap pcapng; time stamps are true civil time.
    pub fn with_capture(self, out: impl Write + 'static) -> Self {
        Sniffer { capture: Some(CaptureWriter::new(Box::new(out), "air")), ..self }
    }

    /// Returns what an outsider can tell from what was heard.
    pub fn linkability(&self) -> &Linkability {
        &self.linkability
    }

    pub(crate) fn hear(&mut self, at: UnixTime, meta: RxMeta, frame: &[u8]) -> io::Result<()> {
        if !meta.bad_fcs {
            self.linkability.add(frame);
        }
        match &mut self.capture {
            Some(capture) => capture.received(at, meta, frame),
            None => Ok(()),
        }
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.capture.as_mut().map_or(Ok(()), CaptureWriter::flush)
    }
}
