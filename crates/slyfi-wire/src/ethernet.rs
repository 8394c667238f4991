//! The Ethernet header, as the host side of a link has it.
//!
//! # Layout
//! `destination 6 | source 6 | EtherType 2 (big-endian) | payload`

use crate::{Malformed, NoSpace, Reader, Writer};
use slyfi_base::MacAddress;

/// Bytes before the payload.
pub const HEADER_LEN: usize = 14;

/// The least EtherType; below it the field is a length (IEEE 802.3 §3.2.6).
pub const MIN_ETHERTYPE: u16 = 0x0600;

/// A checked view of an Ethernet frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EthernetFrame<'a> {
    header: EthernetRepr,
    payload: &'a [u8],
}

impl<'a> EthernetFrame<'a> {
    /// Looks at a frame (frame check sequence removed).
    ///
    /// # Errors
    /// [`Malformed::Truncated`] when the header is not all there.
    pub fn new_checked(frame: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(frame);
        let header = EthernetRepr {
            destination: MacAddress(r.array()?),
            source: MacAddress(r.array()?),
            ethertype: r.u16_be()?,
        };
        Ok(EthernetFrame { header, payload: r.rest() })
    }

    /// Returns the header.
    pub const fn repr(&self) -> EthernetRepr {
        self.header
    }

    /// Returns the destination.
    pub const fn destination(&self) -> MacAddress {
        self.header.destination
    }

    /// Returns the source.
    pub const fn source(&self) -> MacAddress {
        self.header.source
    }

    /// Returns the EtherType, or a length where it is below [`MIN_ETHERTYPE`].
    pub const fn ethertype(&self) -> u16 {
        self.header.ethertype
    }

    /// Returns what follows the header.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// An Ethernet header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EthernetRepr {
    /// Destination.
    pub destination: MacAddress,
    /// Source.
    pub source: MacAddress,
    /// EtherType.
    pub ethertype: u16,
}

impl EthernetRepr {
    /// Returns [`HEADER_LEN`].
    pub const fn buffer_len(&self) -> usize {
        HEADER_LEN
    }

    /// Writes the header and returns its length.
    ///
    /// # Errors
    /// [`NoSpace`] when `buf` is shorter than [`HEADER_LEN`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, NoSpace> {
        let mut w = Writer::new(buf, HEADER_LEN)?;
        self.write(&mut w);
        Ok(w.finish())
    }

    /// Writes the header as part of a frame.
    pub fn write(&self, w: &mut Writer<'_>) {
        w.put(&self.destination.0);
        w.put(&self.source.0);
        w.u16_be(self.ethertype);
    }
}
