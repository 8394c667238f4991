//! The 802.11 MAC header (IEEE 802.11-2020 §9.2; all integers little-endian).
//!
//! # Layout
//! ```text
//!   management  FC 2 | duration 2 | addr1 6 | addr2 6 | addr3 6 | seq 2 [| HT control 4 if +HTC]
//!   data        FC 2 | duration 2 | addr1 6 | addr2 6 | addr3 6 | seq 2
//!               [| addr4 6 if ToDS and FromDS] [| QoS control 2 if QoS] [| HT control 4 if QoS and +HTC]
//!   control     FC 2 | duration 2 | addr1 6 [| addr2 6]       (ACK and CTS have one address)
//!   extension   FC 2 | duration 2 | addr1 6                   (DMG Beacon, the fixed part)
//! ```

use crate::{Malformed, NoSpace, Reader, Writer};
use slyfi_base::MacAddress;

mod fields;

pub use fields::{FrameControl, QosControl, SequenceControl, Type, control, data, management};

/// A checked view of a MAC header and the body behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacHeader<'a> {
    repr: HeaderRepr,
    bytes: &'a [u8],
    body: &'a [u8],
}

impl<'a> MacHeader<'a> {
    /// Looks at a frame (frame check sequence removed).
    ///
    /// # Errors
    /// [`Malformed::Truncated`] when the header is not all there; [`Malformed::Value`] for another
    /// protocol version.
    pub fn new_checked(frame: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(frame);
        let frame_control = FrameControl(r.u16_le()?);
        if frame_control.version() != 0 {
            return Err(Malformed::Value { offset: 0 });
        }
        let len = frame_control.header_len();
        let (bytes, body) = frame
            .split_at_checked(len)
            .ok_or(Malformed::Truncated { needed: len, actual: frame.len() })?;
        let mut r = Reader::new(bytes);
        r.take(2)?;
        let mut repr = HeaderRepr { frame_control, duration: r.u16_le()?, ..HeaderRepr::default() };
        repr.addr1 = MacAddress(r.array()?);
        if len >= 16 {
            repr.addr2 = MacAddress(r.array()?);
        }
        if len >= 24 {
            repr.addr3 = MacAddress(r.array()?);
            repr.sequence = SequenceControl(r.u16_le()?);
        }
        if frame_control.has_addr4() {
            repr.addr4 = MacAddress(r.array()?);
        }
        if frame_control.has_qos_control() {
            repr.qos_control = QosControl(r.u16_le()?);
        }
        if frame_control.has_ht_control() {
            repr.ht_control = r.u32_le()?;
        }
        Ok(MacHeader { repr, bytes, body })
    }

    /// Returns the header's meaning.
    pub const fn repr(&self) -> &HeaderRepr {
        &self.repr
    }

    /// Returns the frame control field.
    pub const fn frame_control(&self) -> FrameControl {
        self.repr.frame_control
    }

    /// Returns the duration, or the association identifier of a PS-Poll.
    pub const fn duration(&self) -> u16 {
        self.repr.duration
    }

    /// Returns address 1: the receiver.
    pub const fn addr1(&self) -> MacAddress {
        self.repr.addr1
    }

    /// Returns address 2, the transmitter; `None` in ACK, CTS and extension frames. The second
    /// field of a Control Wrapper is no address either.
    pub fn addr2(&self) -> Option<MacAddress> {
        let fc = self.frame_control();
        let wrapper = fc.kind() == Type::Control && fc.subtype() == control::WRAPPER;
        (self.bytes.len() >= 16 && !wrapper).then_some(self.repr.addr2)
    }

    /// Returns address 3 of management and data frames.
    pub fn addr3(&self) -> Option<MacAddress> {
        (self.bytes.len() >= 24).then_some(self.repr.addr3)
    }

    /// Returns address 4 of frames with both DS bits.
    pub fn addr4(&self) -> Option<MacAddress> {
        self.frame_control().has_addr4().then_some(self.repr.addr4)
    }

    /// Returns the sequence control field of management and data frames.
    pub fn sequence(&self) -> Option<SequenceControl> {
        (self.bytes.len() >= 24).then_some(self.repr.sequence)
    }

    /// Returns the QoS control field of QoS data frames.
    pub fn qos_control(&self) -> Option<QosControl> {
        self.frame_control().has_qos_control().then_some(self.repr.qos_control)
    }

    /// Returns the HT control field of +HTC frames.
    pub fn ht_control(&self) -> Option<u32> {
        self.frame_control().has_ht_control().then_some(self.repr.ht_control)
    }

    /// Returns the final destination (§9.3.2.1, Table 9-30): past the access point in data frames.
    pub fn destination(&self) -> Option<MacAddress> {
        let to_ds = self.frame_control().kind() == Type::Data && self.frame_control().is_to_ds();
        if to_ds { self.addr3() } else { Some(self.addr1()) }
    }

    /// Returns the original source: before the access point in data frames.
    pub fn source(&self) -> Option<MacAddress> {
        let fc = self.frame_control();
        match (fc.kind() == Type::Data && fc.is_from_ds(), fc.is_to_ds()) {
            (false, _) => self.addr2(),
            (true, false) => self.addr3(),
            (true, true) => self.addr4(),
        }
    }

    /// Returns the BSSID of management and data frames; `None` where there is none (both DS bits).
    pub fn bssid(&self) -> Option<MacAddress> {
        let fc = self.frame_control();
        match (fc.kind(), fc.is_to_ds(), fc.is_from_ds()) {
            (Type::Management, ..) | (Type::Data, false, false) => self.addr3(),
            (Type::Data, true, false) => Some(self.addr1()),
            (Type::Data, false, true) => self.addr2(),
            _ => None,
        }
    }

    /// Returns the header's length in bytes.
    pub const fn header_len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the header's bytes.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns what follows the header. In a protected frame that begins with the cipher's header.
    pub const fn body(&self) -> &'a [u8] {
        self.body
    }
}

/// A MAC header. `frame_control` decides which fields exist; the others are not written, and are
/// zero after parsing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HeaderRepr {
    /// Type, subtype and flags.
    pub frame_control: FrameControl,
    /// Microseconds for which the medium stays reserved, or a PS-Poll's association identifier.
    pub duration: u16,
    /// The receiver.
    pub addr1: MacAddress,
    /// The transmitter. In a Control Wrapper: the carried frame control and HT control.
    pub addr2: MacAddress,
    /// BSSID, source or destination, by the DS bits.
    pub addr3: MacAddress,
    /// Sequence and fragment number.
    pub sequence: SequenceControl,
    /// The source in frames with both DS bits.
    pub addr4: MacAddress,
    /// QoS control.
    pub qos_control: QosControl,
    /// HT control (also VHT and HE variants).
    pub ht_control: u32,
}

impl HeaderRepr {
    /// The longest MAC header: four addresses, QoS and HT control.
    pub const MAX_LEN: usize = 36;

    /// Returns the header of a management frame of the given subtype.
    pub const fn management(
        subtype: u8,
        destination: MacAddress,
        source: MacAddress,
        bssid: MacAddress,
    ) -> Self {
        HeaderRepr {
            frame_control: FrameControl::new(Type::Management, subtype),
            duration: 0,
            addr1: destination,
            addr2: source,
            addr3: bssid,
            sequence: SequenceControl(0),
            addr4: MacAddress([0; 6]),
            qos_control: QosControl(0),
            ht_control: 0,
        }
    }

    /// Returns the header's length in bytes.
    pub const fn buffer_len(&self) -> usize {
        self.frame_control.header_len()
    }

    /// Writes the header and returns its length.
    ///
    /// # Errors
    /// [`NoSpace`] when `buf` is shorter than [`HeaderRepr::buffer_len`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, NoSpace> {
        let len = self.buffer_len();
        let mut w = Writer::new(buf, len)?;
        w.u16_le(self.frame_control.0);
        w.u16_le(self.duration);
        w.put(&self.addr1.0);
        if len >= 16 {
            w.put(&self.addr2.0);
        }
        if len >= 24 {
            w.put(&self.addr3.0);
            w.u16_le(self.sequence.0);
        }
        if self.frame_control.has_addr4() {
            w.put(&self.addr4.0);
        }
        if self.frame_control.has_qos_control() {
            w.u16_le(self.qos_control.0);
        }
        if self.frame_control.has_ht_control() {
            w.u32_le(self.ht_control);
        }
        Ok(w.finish())
    }
}

#[cfg(test)]
mod tests;
