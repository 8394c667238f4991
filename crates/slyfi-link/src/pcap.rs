//! `--pcap FILE`: what this daemon sends and receives, as radiotap pcapng that Wireshark opens.

use crate::error::{Error, Result};
use slyfi_base::{Rate, RxMeta, TxMeta, UnixTime};
use slyfi_wire::pcapng::{Direction, Interface, LinkType, Packet, Resolution, Section};
use slyfi_wire::radiotap::{FLAG_BAD_FCS, RxRepr};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A capture being written. Frames only: a capture never holds keys.
#[derive(Debug)]
pub struct Capture {
    file: BufWriter<File>,
    path: PathBuf,
    block: Vec<u8>,
}

impl Capture {
    /// Makes the file, mode 0600, in place of one that is there.
    ///
    /// # Errors
    /// The system's.
    pub fn create(path: &Path) -> Result<Self> {
        let failed = |e| Error::system(path.display(), &e);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let file = options.open(path).map_err(failed)?;
        let mut capture =
            Capture { file: BufWriter::new(file), path: path.to_owned(), block: Vec::new() };
        let section = Section { application: Some("slyfi"), comment: None };
        let interface = Interface {
            link_type: LinkType::Radiotap,
            resolution: Resolution::Micros,
            snap_len: 0,
            name: None,
            description: Some("SlyFi air"),
        };
        capture.block(section.buffer_len(), |buf| section.emit(buf)).map_err(failed)?;
        capture.block(interface.buffer_len(), |buf| interface.emit(buf)).map_err(failed)?;
        capture.file.flush().map_err(failed)?;
        Ok(capture)
    }

    /// Starts the file anew, for log rotation.
    ///
    /// # Errors
    /// The system's.
    pub fn reopen(&mut self) -> Result<()> {
        *self = Capture::create(&self.path)?;
        Ok(())
    }

    /// Records a frame that was sent.
    ///
    /// # Errors
    /// The system's, a full disk for one.
    pub fn sent(&mut self, wall: UnixTime, meta: TxMeta, frame: &[u8]) -> io::Result<()> {
        let header = RxRepr { rate: Some(meta.rate), ..RxRepr::default() };
        self.packet(wall, &header, frame, Direction::Outbound)
    }

    /// Records a frame that was received.
    ///
    /// # Errors
    /// The system's, a full disk for one.
    pub fn received(&mut self, wall: UnixTime, meta: RxMeta, frame: &[u8]) -> io::Result<()> {
        let flags = if meta.bad_fcs { FLAG_BAD_FCS } else { 0 };
        let rate: Option<Rate> = meta.rate;
        let header = RxRepr { flags, rate, signal: meta.signal, ..RxRepr::default() };
        self.packet(wall, &header, frame, Direction::Inbound)
    }

    /// Hands everything to the system.
    ///
    /// # Errors
    /// The system's.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    fn packet(
        &mut self,
        wall: UnixTime,
        header: &RxRepr,
        frame: &[u8],
        direction: Direction,
    ) -> io::Result<()> {
        let mut radiotap = [0; RxRepr::MAX_LEN];
        let len = header.emit(&mut radiotap).map_err(|_| io::ErrorKind::InvalidInput)?;
        let packet = Packet {
            interface: 0,
            timestamp: wall.as_micros(),
            parts: &[&radiotap[..len], frame],
            direction: Some(direction),
            comment: None,
        };
        self.block(packet.buffer_len(), |buf| packet.emit(buf))
    }

    fn block(
        &mut self,
        len: usize,
        emit: impl FnOnce(&mut [u8]) -> Result<usize, slyfi_wire::NoSpace>,
    ) -> io::Result<()> {
        self.block.clear();
        self.block.resize(len, 0);
        let written = emit(&mut self.block).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.file.write_all(&self.block[..written])
    }
}
