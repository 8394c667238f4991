//! The header of every message on a member's link, and of the data in it.

use crate::{Malformed, NoSpace, Reader, Writer};
use slyfi_base::MacAddress;

const KIND_MASK: u8 = 0x0f;
const FLAG_DESTINATION: u8 = 0x10;
const FLAG_SOURCE: u8 = 0x20;
const FLAG_SELECTIVE: u8 = 0x40;

/// What follows a [`LinkHeader`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// Nothing: only the acknowledgement in the header.
    Ack,
    /// A [`DataHeader`] and an Ethernet payload; delivered reliably and in order.
    Data {
        /// Place in the sender's reliable stream.
        sequence: u16,
    },
    /// A [`super::Control`] message; delivered reliably, in order with the data.
    Control {
        /// Place in the sender's reliable stream.
        sequence: u16,
    },
    /// Nothing: asks for an acknowledgement (keep-alive).
    Ping,
    /// Nothing: cover traffic, ignored.
    Cover,
}

/// The start of every Shroud payload between a member and the access point.
///
/// # Layout
/// ```text
///   0      bits 0-3 kind: 0 ack, 1 data, 2 control, 3 ping, 4 cover
///          bit 4 destination present, bit 5 source present (data only), bit 6 selective present
///   1..5   heard: low 32 bits of the highest transmission number received from the peer
///   5..7   next: the sequence that the peer's reliable stream goes on with
///  [7..15  selective: bit n set = next + 1 + n was received]
///  [2      sequence                                          data and control]
///  [6      destination]  [6  source]  [2  EtherType]         data
/// ```
/// The Ethernet addresses are left out whenever the frame's address implies them (slyfi-2008 §3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkHeader {
    /// What follows.
    pub kind: LinkKind,
    /// Low 32 bits of the highest transmission number received; zero if none yet.
    pub heard: u32,
    /// The cumulative acknowledgement: the next sequence that is missing.
    pub next: u16,
    /// The selective acknowledgement: bit n set means that `next + 1 + n` is here. Zero is not sent.
    pub selective: u64,
}

impl LinkHeader {
    /// The longest header, in bytes.
    pub const MAX_LEN: usize = 17;

    /// Parses the header; returns it with the data addresses' flags resolved and what follows.
    ///
    /// # Errors
    /// [`Malformed`] on an unknown kind, a flag that the kind does not have, or a short message.
    pub fn parse(bytes: &[u8]) -> Result<(Self, Option<DataHeader>, &[u8]), Malformed> {
        let mut r = Reader::new(bytes);
        let first = r.u8()?;
        let heard = r.u32_be()?;
        let next = r.u16_be()?;
        let selective = if first & FLAG_SELECTIVE != 0 { r.u64_be()? } else { 0 };
        let kind = match first & KIND_MASK {
            0 => LinkKind::Ack,
            1 => LinkKind::Data { sequence: r.u16_be()? },
            2 => LinkKind::Control { sequence: r.u16_be()? },
            3 => LinkKind::Ping,
            4 => LinkKind::Cover,
            _ => return Err(Malformed::Value { offset: 0 }),
        };
        let header = LinkHeader { kind, heard, next, selective };
        let addresses = first & (FLAG_DESTINATION | FLAG_SOURCE);
        if first & 0x80 != 0 {
            return Err(Malformed::Value { offset: 0 });
        }
        match kind {
            LinkKind::Data { .. } => {
                let destination =
                    if first & FLAG_DESTINATION != 0 { Some(MacAddress(r.array()?)) } else { None };
                let source =
                    if first & FLAG_SOURCE != 0 { Some(MacAddress(r.array()?)) } else { None };
                let ether_type = r.u16_be()?;
                Ok((header, Some(DataHeader { destination, source, ether_type }), r.rest()))
            }
            LinkKind::Control { .. } if addresses == 0 => Ok((header, None, r.rest())),
            LinkKind::Ack | LinkKind::Ping | LinkKind::Cover if addresses == 0 => {
                r.finish()?;
                Ok((header, None, &[]))
            }
            _ => Err(Malformed::Value { offset: 0 }),
        }
    }

    /// Returns the length of the header, and of the data header if the kind has one, in bytes.
    pub fn buffer_len(&self, data: Option<&DataHeader>) -> usize {
        let sequence = match self.kind {
            LinkKind::Data { .. } | LinkKind::Control { .. } => 2,
            LinkKind::Ack | LinkKind::Ping | LinkKind::Cover => 0,
        };
        let selective = if self.selective != 0 { 8 } else { 0 };
        7 + selective + sequence + data.map_or(0, DataHeader::buffer_len)
    }

    /// Writes the header, and the data header if the kind has one; returns their length.
    ///
    /// # Errors
    /// [`NoSpace`] when `out` is too small.
    pub fn emit(&self, data: Option<&DataHeader>, out: &mut [u8]) -> Result<usize, NoSpace> {
        let mut w = Writer::new(out, self.buffer_len(data))?;
        let (code, sequence) = match self.kind {
            LinkKind::Ack => (0, None),
            LinkKind::Data { sequence } => (1, Some(sequence)),
            LinkKind::Control { sequence } => (2, Some(sequence)),
            LinkKind::Ping => (3, None),
            LinkKind::Cover => (4, None),
        };
        let mut first = code;
        if self.selective != 0 {
            first |= FLAG_SELECTIVE;
        }
        if let Some(d) = data {
            if d.destination.is_some() {
                first |= FLAG_DESTINATION;
            }
            if d.source.is_some() {
                first |= FLAG_SOURCE;
            }
        }
        w.u8(first);
        w.u32_be(self.heard);
        w.u16_be(self.next);
        if self.selective != 0 {
            w.u64_be(self.selective);
        }
        if let Some(s) = sequence {
            w.u16_be(s);
        }
        if let Some(d) = data {
            if let Some(a) = d.destination {
                w.put(&a.0);
            }
            if let Some(a) = d.source {
                w.put(&a.0);
            }
            w.u16_be(d.ether_type);
        }
        Ok(w.finish())
    }
}

/// What an Ethernet header shrinks to: only what the link does not imply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataHeader {
    /// Uplink: the destination unless it is the access point. Downlink: only for group frames that
    /// go to one member alone.
    pub destination: Option<MacAddress>,
    /// Downlink: the source unless it is the access point. Never sent uplink.
    pub source: Option<MacAddress>,
    /// EtherType or 802.3 length, as in the Ethernet header.
    pub ether_type: u16,
}

impl DataHeader {
    /// The longest data header, in bytes.
    pub const MAX_LEN: usize = 14;

    /// Returns the length of the data header, in bytes.
    pub fn buffer_len(&self) -> usize {
        2 + 6 * (usize::from(self.destination.is_some()) + usize::from(self.source.is_some()))
    }
}
