//! pcapng blocks, written into the caller's buffer (draft-ietf-opsawg-pcapng; little-endian).
//!
//! A capture is one [`Section`], one [`Interface`] or more, then [`Packet`]s. Every block is
//! `type 4 | length 4 | fields | options | length 4`, everything padded to four bytes.

use crate::{NoSpace, Writer};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Block type, length, and length again.
const FRAMING: usize = 12;

/// Option codes.
mod option {
    pub const END: u16 = 0;
    pub const COMMENT: u16 = 1;
    pub const USER_APPLICATION: u16 = 4;
    pub const INTERFACE_NAME: u16 = 2;
    pub const INTERFACE_DESCRIPTION: u16 = 3;
    pub const TIME_RESOLUTION: u16 = 9;
    pub const PACKET_FLAGS: u16 = 2;
}

/// What the packets of an interface begin with (the registry of link-layer header types).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum LinkType {
    /// Ethernet.
    Ethernet = 1,
    /// An 802.11 frame.
    Ieee80211 = 105,
    /// A radiotap header and an 802.11 frame.
    Radiotap = 127,
}

/// The unit of an interface's time stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
}

/// Which way a packet went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Received.
    Inbound,
    /// Sent.
    Outbound,
}

const fn padded(n: usize) -> usize {
    n.next_multiple_of(4)
}

/// A text or byte option's length in the block; longer than 65535 is cut by [`write_option`].
const fn option_len(value: &[u8]) -> usize {
    let n = if value.len() > u16::MAX as usize { u16::MAX as usize } else { value.len() };
    4 + padded(n)
}

const fn text_len(text: Option<&str>) -> usize {
    match text {
        Some(t) => option_len(t.as_bytes()),
        None => 0,
    }
}

fn write_option(w: &mut Writer<'_>, code: u16, value: &[u8]) {
    let len = u16::try_from(value.len()).unwrap_or(u16::MAX);
    w.u16_le(code);
    w.u16_le(len);
    w.put(value.get(..usize::from(len)).unwrap_or(value));
    w.align(4);
}

fn write_text(w: &mut Writer<'_>, code: u16, text: Option<&str>) {
    if let Some(t) = text {
        write_option(w, code, t.as_bytes());
    }
}

fn write_end(w: &mut Writer<'_>) {
    w.u16_le(option::END);
    w.u16_le(0);
}

/// The length field of a block. Blocks longer than 4 GiB do not fit in memory that is handed in as
/// one buffer by any caller here; the value saturates rather than wrap.
fn block_len(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The section header block: the first of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Section<'a> {
    /// The program that writes the file.
    pub application: Option<&'a str>,
    /// A comment on the whole capture.
    pub comment: Option<&'a str>,
}

impl Section<'_> {
    /// Returns the block's length in bytes.
    pub const fn buffer_len(&self) -> usize {
        FRAMING + 16 + text_len(self.application) + text_len(self.comment) + 4
    }

    /// Writes the block and returns its length.
    ///
    /// # Errors
    /// [`NoSpace`] when `buf` is shorter than [`Section::buffer_len`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, NoSpace> {
        let len = self.buffer_len();
        let mut w = Writer::new(buf, len)?;
        w.u32_le(SECTION_HEADER);
        w.u32_le(block_len(len));
        w.u32_le(BYTE_ORDER_MAGIC);
        w.u16_le(1);
        w.u16_le(0);
        // Section length unknown: -1.
        w.u64_le(u64::MAX);
        write_text(&mut w, option::COMMENT, self.comment);
        write_text(&mut w, option::USER_APPLICATION, self.application);
        write_end(&mut w);
        w.u32_le(block_len(len));
        Ok(w.finish())
    }
}

/// An interface description block. Interfaces are numbered from 0 in the order they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface<'a> {
    /// What its packets begin with.
    pub link_type: LinkType,
    /// The unit of its time stamps.
    pub resolution: Resolution,
    /// The most bytes kept of a packet; 0 for no limit.
    pub snap_len: u32,
    /// Its name.
    pub name: Option<&'a str>,
    /// What it is.
    pub description: Option<&'a str>,
}

impl Interface<'_> {
    /// Returns the block's length in bytes.
    pub const fn buffer_len(&self) -> usize {
        FRAMING + 8 + text_len(self.name) + text_len(self.description) + 8 + 4
    }

    /// Writes the block and returns its length.
    ///
    /// # Errors
    /// [`NoSpace`] when `buf` is shorter than [`Interface::buffer_len`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, NoSpace> {
        let len = self.buffer_len();
        let mut w = Writer::new(buf, len)?;
        w.u32_le(INTERFACE_DESCRIPTION);
        w.u32_le(block_len(len));
        w.u16_le(self.link_type as u16);
        w.u16_le(0);
        w.u32_le(self.snap_len);
        write_text(&mut w, option::INTERFACE_NAME, self.name);
        write_text(&mut w, option::INTERFACE_DESCRIPTION, self.description);
        // A negative power of ten.
        let power = match self.resolution {
            Resolution::Micros => 6,
            Resolution::Nanos => 9,
        };
        write_option(&mut w, option::TIME_RESOLUTION, &[power]);
        write_end(&mut w);
        w.u32_le(block_len(len));
        Ok(w.finish())
    }
}

/// An enhanced packet block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Which interface, by its number.
    pub interface: u32,
    /// Time since 1970-01-01T00:00:00Z in the interface's unit.
    pub timestamp: u64,
    /// The packet in pieces (a radiotap header and a frame, say), written one after the other.
    pub parts: &'a [&'a [u8]],
    /// Which way it went, where that has a meaning.
    pub direction: Option<Direction>,
    /// A comment on this packet.
    pub comment: Option<&'a str>,
}

impl Packet<'_> {
    fn data_len(&self) -> usize {
        self.parts.iter().map(|p| p.len()).sum()
    }

    /// Returns the block's length in bytes.
    pub fn buffer_len(&self) -> usize {
        let direction = if self.direction.is_some() { 8 } else { 0 };
        FRAMING + 20 + padded(self.data_len()) + direction + text_len(self.comment) + 4
    }

    /// Writes the block and returns its length.
    ///
    /// # Errors
    /// [`NoSpace`] when `buf` is shorter than [`Packet::buffer_len`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, NoSpace> {
        let len = self.buffer_len();
        let mut w = Writer::new(buf, len)?;
        let data_len = block_len(self.data_len());
        w.u32_le(ENHANCED_PACKET);
        w.u32_le(block_len(len));
        w.u32_le(self.interface);
        // The two halves of the time stamp, high one first.
        w.u32_le((self.timestamp >> 32) as u32);
        w.u32_le((self.timestamp & 0xffff_ffff) as u32);
        w.u32_le(data_len);
        w.u32_le(data_len);
        for part in self.parts {
            w.put(part);
        }
        w.align(4);
        write_text(&mut w, option::COMMENT, self.comment);
        if let Some(direction) = self.direction {
            let flags: u32 = match direction {
                Direction::Inbound => 1,
                Direction::Outbound => 2,
            };
            write_option(&mut w, option::PACKET_FLAGS, &flags.to_le_bytes());
        }
        write_end(&mut w);
        w.u32_le(block_len(len));
        Ok(w.finish())
    }
}
