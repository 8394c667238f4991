//! Captures out: opened frames as pcapng with a comment each, and plain pcap.

use crate::engine::Opened;
use slyfi_wire::NoSpace;
use slyfi_wire::pcapng::{Interface, LinkType, Packet, Resolution, Section};
use std::io::{self, Write};

/// Where opened frames go.
pub trait Sink {
    /// Takes one.
    ///
    /// # Errors
    /// When it cannot be stored.
    fn opened(&mut self, frame: &Opened<'_>) -> io::Result<()>;
}

/// For those who want only the report.
impl Sink for () {
    fn opened(&mut self, _: &Opened<'_>) -> io::Result<()> {
        Ok(())
    }
}

/// Writes opened frames as 802.11 frames (link type 105) with the Protected bit cleared, the cipher's
/// header and trailer gone, and a comment that says where each came from.
#[derive(Debug)]
pub struct PcapngSink<W> {
    out: W,
    block: Vec<u8>,
    begun: bool,
}

impl<W: Write> PcapngSink<W> {
    /// Writes to `out`. The first bytes are written with the first frame or by
    /// [`PcapngSink::finish`].
    pub const fn new(out: W) -> Self {
        PcapngSink { out, block: Vec::new(), begun: false }
    }

    /// Completes the file (one without frames is still a capture) and returns the writer.
    ///
    /// # Errors
    /// When writing fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.begin()?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn begin(&mut self) -> io::Result<()> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        let section = Section { application: Some("slyfi"), comment: None };
        let len = section.buffer_len();
        self.write(len, |buf| section.emit(buf))?;
        let interface = Interface {
            link_type: LinkType::Ieee80211,
            resolution: Resolution::Nanos,
            snap_len: 0,
            name: None,
            description: Some("opened frames"),
        };
        let len = interface.buffer_len();
        self.write(len, |buf| interface.emit(buf))
    }

    fn write(
        &mut self,
        len: usize,
        emit: impl FnOnce(&mut [u8]) -> Result<usize, NoSpace>,
    ) -> io::Result<()> {
        self.block.clear();
        self.block.resize(len, 0);
        emit(&mut self.block).map_err(|_| io::Error::other("a block was longer than it said"))?;
        self.out.write_all(&self.block)
    }
}

impl<W: Write> Sink for PcapngSink<W> {
    fn opened(&mut self, frame: &Opened<'_>) -> io::Result<()> {
        self.begin()?;
        let comment = format!(
            "file {} frame {}: {}, key id {}, number {}",
            frame.file + 1,
            frame.packet,
            frame.cipher,
            frame.key_id,
            frame.number
        );
        let packet = Packet {
            interface: 0,
            timestamp: frame.timestamp,
            parts: &[frame.header, frame.payload],
            direction: None,
            comment: Some(&comment),
        };
        let len = packet.buffer_len();
        self.write(len, |buf| packet.emit(buf))
    }
}

/// Writes a plain pcap file with nanosecond time stamps.
#[derive(Debug)]
pub struct PcapWriter<W> {
    out: W,
}

impl<W: Write> PcapWriter<W> {
    /// Writes the file header.
    ///
    /// # Errors
    /// When writing fails.
    pub fn new(mut out: W, link_type: u16) -> io::Result<Self> {
        let mut header = [0; 24];
        header[..4].copy_from_slice(&0xa1b2_3c4d_u32.to_le_bytes());
        (header[4], header[6]) = (2, 4);
        header[16..20].copy_from_slice(&0x0004_0000_u32.to_le_bytes());
        header[20..22].copy_from_slice(&link_type.to_le_bytes());
        out.write_all(&header)?;
        Ok(PcapWriter { out })
    }

    /// Writes one packet; `timestamp` in nanoseconds since 1970.
    ///
    /// # Errors
    /// When writing fails, or the packet is longer than 256 KiB or later than 2106.
    pub fn packet(&mut self, timestamp: u64, data: &[u8]) -> io::Result<()> {
        let seconds = u32::try_from(timestamp / 1_000_000_000)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "later than pcap can say"))?;
        let len = u32::try_from(data.len())
            .ok()
            .filter(|n| *n <= 0x0004_0000)
            .ok_or(io::Error::new(io::ErrorKind::InvalidInput, "longer than the snap length"))?;
        let nanos = (timestamp % 1_000_000_000) as u32;
        for word in [seconds, nanos, len, len] {
            self.out.write_all(&word.to_le_bytes())?;
        }
        self.out.write_all(data)
    }

    /// Returns the writer.
    ///
    /// # Errors
    /// When the last bytes cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}
