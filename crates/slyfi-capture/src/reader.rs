//! Streaming pcap and pcapng, in every byte order and time resolution.

use crate::CaptureError;
use crate::unpack::{self, Damage, Looked};
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{Block, PcapBlockOwned, PcapError, PcapHeader};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The first buffer, and the most it grows to for a block that does not fit.
const BUFFER: usize = 1 << 16;
const MAX_BUFFER: usize = 1 << 26;
/// The most interfaces of one section; packets of further ones have no meaning.
const MAX_INTERFACES: usize = 4096;

/// One captured packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Its number in the file, from 1.
    pub number: u64,
    /// What it begins with (the registry of link-layer header types).
    pub link_type: i32,
    /// Nanoseconds since 1970-01-01T00:00:00Z; zero where the file has no time.
    pub timestamp: u64,
    /// How long it was on the air; more than `data` when the capture cut it.
    pub original_len: usize,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// An interface of the present pcapng section.
#[derive(Clone, Copy)]
struct Interface {
    link_type: i32,
    snap_len: u32,
    units_per_second: u64,
    offset_seconds: i64,
}

/// Reads packets one after the other.
pub struct CaptureReader {
    path: PathBuf,
    blocks: Box<dyn PcapReaderIterator + Send>,
    /// Of a pcap file: its link type and the nanoseconds in its time stamps' unit.
    legacy: Option<(i32, u64)>,
    interfaces: Vec<Interface>,
    number: u64,
    is_cut: bool,
    /// Of the compression around it.
    damage: Damage,
    capacity: usize,
}

impl CaptureReader {
    /// Opens a file.
    ///
    /// # Errors
    /// Those of [`CaptureReader::new`].
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let file = File::open(path)
            .map_err(|source| CaptureError::Read { path: path.to_owned(), source })?;
        CaptureReader::new(path, file)
    }

    /// Reads from anything, also through gzip; errors call it `name`.
    ///
    /// # Errors
    /// [`CaptureError::Read`], [`CaptureError::NotACapture`] and [`CaptureError::Compressed`].
    pub fn new(name: &Path, stream: impl Read + Send + 'static) -> Result<Self, CaptureError> {
        let failed = |source| CaptureError::Read { path: name.to_owned(), source };
        let (stream, damage) = match unpack::look(stream).map_err(failed)? {
            Looked::Stream(stream, damage) => (stream, damage),
            Looked::Other(with) => {
                return Err(CaptureError::Compressed { path: name.to_owned(), with });
            }
        };
        let stream = unpack::with_first_block(stream).map_err(failed)?;
        let blocks = pcap_parser::create_reader(BUFFER, stream).map_err(|e| match e {
            PcapError::ReadError => failed(std::io::Error::other("reading failed")),
            _ => CaptureError::NotACapture { path: name.to_owned() },
        })?;
        Ok(CaptureReader {
            path: name.to_owned(),
            blocks,
            legacy: None,
            interfaces: Vec::new(),
            number: 0,
            is_cut: false,
            damage,
            capacity: BUFFER,
        })
    }

    /// Returns whether the file ended in the middle of a block, or with one that makes no sense.
    pub fn is_cut(&self) -> bool {
        self.is_cut || self.damage.is_there()
    }

    /// Reads the next packet into `packet`; `false` at the end. Damage ends the file there, as a
    /// capture that was cut off does; [`CaptureReader::is_cut`] tells.
    ///
    /// # Errors
    /// [`CaptureError::Read`] when the file cannot be read.
    pub fn read(&mut self, packet: &mut Packet) -> Result<bool, CaptureError> {
        loop {
            let step = match self.blocks.next() {
                Ok((len, block)) => {
                    let found = match block {
                        PcapBlockOwned::LegacyHeader(header) => {
                            self.legacy = Some(legacy(&header));
                            false
                        }
                        PcapBlockOwned::Legacy(b) => {
                            let (link_type, unit) = self.legacy.unwrap_or((-1, 1_000));
                            let seconds = u64::from(b.ts_sec) * 1_000_000_000;
                            packet.timestamp = seconds + u64::from(b.ts_usec) * unit;
                            fill(packet, link_type, b.origlen, b.data);
                            true
                        }
                        PcapBlockOwned::NG(block) => {
                            next_generation(&mut self.interfaces, &block, packet)
                        }
                    };
                    Step::Block { len, found }
                }
                Err(PcapError::Incomplete(_)) => Step::More,
                Err(PcapError::Eof) => Step::End,
                Err(PcapError::ReadError) => Step::Failed,
                Err(_) => Step::Damage,
            };
            match step {
                Step::Block { len, found } => {
                    self.blocks.consume(len);
                    if found {
                        self.number += 1;
                        packet.number = self.number;
                        return Ok(true);
                    }
                }
                Step::More => {
                    if !self.refill()? {
                        // Bytes that are no whole block are left, or nothing is.
                        self.is_cut = !self.blocks.data().is_empty();
                        return Ok(false);
                    }
                }
                Step::End => return Ok(false),
                Step::Damage => {
                    self.is_cut = true;
                    return Ok(false);
                }
                Step::Failed => return Err(self.failed()),
            }
        }
    }

    fn failed(&self) -> CaptureError {
        CaptureError::Read {
            path: self.path.clone(),
            source: std::io::Error::other("reading failed"),
        }
    }

    /// Gets more bytes, in a larger buffer if need be; `false` when there are none.
    fn refill(&mut self) -> Result<bool, CaptureError> {
        let before = self.blocks.data().len();
        let full = match self.blocks.refill() {
            Ok(()) => self.blocks.data().len() == before,
            Err(PcapError::BufferTooSmall) => true,
            Err(PcapError::ReadError) => return Err(self.failed()),
            Err(_) => return Ok(false),
        };
        if !full {
            return Ok(true);
        }
        if self.blocks.reader_exhausted() || self.capacity >= MAX_BUFFER {
            return Ok(false);
        }
        self.capacity *= 2;
        Ok(self.blocks.grow(self.capacity))
    }
}

enum Step {
    Block { len: usize, found: bool },
    More,
    End,
    Damage,
    Failed,
}

/// Link type and nanoseconds per unit. The upper bits of the link type field say something about the
/// frame check sequence, which is found out by looking.
fn legacy(header: &PcapHeader) -> (i32, u64) {
    let unit = if header.is_nanosecond_precision() { 1 } else { 1_000 };
    (header.network.0 & 0xffff, unit)
}

fn fill(packet: &mut Packet, link_type: i32, original_len: u32, data: &[u8]) {
    packet.link_type = link_type;
    packet.original_len = original_len as usize;
    packet.data.clear();
    packet.data.extend_from_slice(data);
}

fn next_generation(
    interfaces: &mut Vec<Interface>,
    block: &Block<'_>,
    packet: &mut Packet,
) -> bool {
    match block {
        Block::SectionHeader(_) => interfaces.clear(),
        Block::InterfaceDescription(i) if interfaces.len() < MAX_INTERFACES => {
            interfaces.push(Interface {
                link_type: i.linktype.0,
                snap_len: i.snaplen,
                units_per_second: i.ts_resolution().filter(|r| *r > 0).unwrap_or(1_000_000),
                offset_seconds: i.if_tsoffset,
            });
        }
        Block::EnhancedPacket(b) => {
            // A packet of an interface that was never described has no meaning.
            let Some(interface) = interfaces.get(b.if_id as usize) else { return false };
            let units = u128::from(b.ts_high) << 32 | u128::from(b.ts_low);
            let nanos = units * 1_000_000_000 / u128::from(interface.units_per_second);
            let offset = interface.offset_seconds.saturating_mul(1_000_000_000);
            packet.timestamp =
                u64::try_from(nanos).unwrap_or(u64::MAX).saturating_add_signed(offset);
            let data = b.data.get(..b.caplen as usize).unwrap_or(b.data);
            fill(packet, interface.link_type, b.origlen, data);
            return true;
        }
        Block::SimplePacket(b) => {
            let Some(interface) = interfaces.first() else { return false };
            let limit = if interface.snap_len == 0 { u32::MAX } else { interface.snap_len };
            let data = b.data.get(..b.origlen.min(limit) as usize).unwrap_or(b.data);
            packet.timestamp = 0;
            fill(packet, interface.link_type, b.origlen, data);
            return true;
        }
        _ => {}
    }
    false
}
