//! Messages under the broadcast key (slyfi-2008 §3.5).

use crate::{Malformed, NoSpace, Reader, Writer};
use slyfi_base::MacAddress;

/// A message from the access point to all members.
///
/// # Layout
/// ```text
///   0  1 data:        destination 6, source 6, EtherType 2, Ethernet payload
///   0  2 time beacon: the access point's civil time, 8, microseconds since 1970
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupMessage<'a> {
    /// A broadcast or multicast Ethernet frame.
    Data {
        /// The group address.
        destination: MacAddress,
        /// Who sent it: a member's pseudonym or the access point.
        source: MacAddress,
        /// EtherType or 802.3 length.
        ether_type: u16,
        /// The Ethernet payload.
        payload: &'a [u8],
    },
    /// The access point's clock (slyfi-2008 §3.5, time synchronization).
    Time {
        /// Civil time in microseconds since 1970.
        time: u64,
    },
}

impl<'a> GroupMessage<'a> {
    /// What a data message has before the payload, in bytes.
    pub const DATA_HEADER_LEN: usize = 15;

    /// Parses a whole group payload.
    ///
    /// # Errors
    /// [`Malformed`] when it is not exactly one message.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        match r.u8()? {
            1 => Ok(GroupMessage::Data {
                destination: MacAddress(r.array()?),
                source: MacAddress(r.array()?),
                ether_type: r.u16_be()?,
                payload: r.rest(),
            }),
            2 => {
                let time = r.u64_be()?;
                r.finish()?;
                Ok(GroupMessage::Time { time })
            }
            _ => Err(Malformed::Value { offset: 0 }),
        }
    }

    /// Returns the length of the message, in bytes.
    pub const fn buffer_len(&self) -> usize {
        match self {
            GroupMessage::Data { payload, .. } => Self::DATA_HEADER_LEN + payload.len(),
            GroupMessage::Time { .. } => 9,
        }
    }

    /// Writes the message and returns its length.
    ///
    /// # Errors
    /// [`NoSpace`] when `out` is too small.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, NoSpace> {
        let mut w = Writer::new(out, self.buffer_len())?;
        match *self {
            GroupMessage::Data { destination, source, ether_type, payload } => {
                w.u8(1);
                w.put(&destination.0);
                w.put(&source.0);
                w.u16_be(ether_type);
                w.put(payload);
            }
            GroupMessage::Time { time } => {
                w.u8(2);
                w.u64_be(time);
            }
        }
        Ok(w.finish())
    }
}
