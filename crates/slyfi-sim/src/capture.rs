//! Radiotap pcapng: what a sniffer and a tapped radio write.

use slyfi_base::{RxMeta, TxMeta, UnixTime};
use slyfi_wire::pcapng::{Direction, Interface, LinkType, Packet, Resolution, Section};
use slyfi_wire::radiotap::{self, Channel, RxRepr};
use std::io::{self, Write};

/// Channel 36: where the simulated air is.
const CHANNEL: Channel = Channel { frequency: 5180, flags: Channel::A };

/// Writes frames to a pcapng of link type 127, readable by Wireshark.
pub struct CaptureWriter {
    out: Box<dyn Write>,
    buf: Vec<u8>,
    begun: bool,
    name: String,
}

impl std::fmt::Debug for CaptureWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CaptureWriter").field("name", &self.name).finish_non_exhaustive()
    }
}

impl CaptureWriter {
    /// Makes a writer; `name` becomes the name of the interface in the file.
    pub fn new(out: Box<dyn Write>, name: impl Into<String>) -> Self {
        CaptureWriter { out, buf: Vec::new(), begun: false, name: name.into() }
    }

    /// Writes a received frame; `at` is when its last bit came.
    ///
    /// # Errors
    /// What the writer says.
    pub fn received(&mut self, at: UnixTime, meta: RxMeta, frame: &[u8]) -> io::Result<()> {
        let flags = if meta.bad_fcs { radiotap::FLAG_BAD_FCS } else { 0 };
        let (rate, signal) = (meta.rate, meta.signal);
        self.packet(
            at,
            &RxRepr { tsft: None, flags, rate, channel: Some(CHANNEL), signal },
            frame,
            Direction::Inbound,
        )
    }

    /// Writes a sent frame.
    ///
    /// # Errors
    /// What the writer says.
    pub fn sent(&mut self, at: UnixTime, meta: TxMeta, frame: &[u8]) -> io::Result<()> {
        let rate = Some(meta.rate);
        self.packet(
            at,
            &RxRepr { rate, channel: Some(CHANNEL), ..RxRepr::default() },
            frame,
            Direction::Outbound,
        )
    }

    /// Writes what is held back, and the head of the file if there was no frame.
    ///
    /// # Errors
    /// What the writer says.
    pub fn flush(&mut self) -> io::Result<()> {
        self.begin()?;
        self.out.flush()
    }

    fn packet(
        &mut self,
        at: UnixTime,
        header: &RxRepr,
        frame: &[u8],
        direction: Direction,
    ) -> io::Result<()> {
        self.begin()?;
        let mut head = [0; RxRepr::MAX_LEN];
        let len = header.emit(&mut head).map_err(no_space)?;
        let packet = Packet {
            interface: 0,
            timestamp: at.as_micros(),
            parts: &[&head[..len], frame],
            direction: Some(direction),
            comment: None,
        };
        self.buf.resize(packet.buffer_len(), 0);
        let len = packet.emit(&mut self.buf).map_err(no_space)?;
        self.out.write_all(&self.buf[..len])
    }

    fn begin(&mut self) -> io::Result<()> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        let section = Section { application: Some("slyfi-sim"), comment: None };
        self.buf.resize(section.buffer_len(), 0);
        let len = section.emit(&mut self.buf).map_err(no_space)?;
        self.out.write_all(&self.buf[..len])?;
        let interface = Interface {
            link_type: LinkType::Radiotap,
            resolution: Resolution::Micros,
            snap_len: 0,
            name: Some(&self.name),
            description: Some("simulated 802.11a air"),
        };
        self.buf.resize(interface.buffer_len(), 0);
        let len = interface.emit(&mut self.buf).map_err(no_space)?;
        self.out.write_all(&self.buf[..len])
    }
}

fn no_space(e: slyfi_wire::NoSpace) -> io::Error {
    io::Error::other(format!("{e:?}"))
}

/// A growing buffer that several owners can read while a capture is written to it.
#[derive(Clone, Debug, Default)]
pub struct SharedBuffer(std::rc::Rc<std::cell::RefCell<Vec<u8>>>);

impl SharedBuffer {
    /// Returns a copy of what was written so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.borrow().clone()
    }
}

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
