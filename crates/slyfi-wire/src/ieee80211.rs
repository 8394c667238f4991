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

/// The frame control field, first octet in the low byte (§9.2.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct FrameControl(pub u16);

/// The type of a frame (§9.2.4.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    /// Management.
    Management,
    /// Control.
    Control,
    /// Data.
    Data,
    /// Extension.
    Extension,
}

/// Management subtypes (§9.2.4.1.3, type 0).
pub mod management {
    /// Association Request.
    pub const ASSOCIATION_REQUEST: u8 = 0;
    /// Association Response.
    pub const ASSOCIATION_RESPONSE: u8 = 1;
    /// Reassociation Request.
    pub const REASSOCIATION_REQUEST: u8 = 2;
    /// Reassociation Response.
    pub const REASSOCIATION_RESPONSE: u8 = 3;
    /// Probe Request.
    pub const PROBE_REQUEST: u8 = 4;
    /// Probe Response.
    pub const PROBE_RESPONSE: u8 = 5;
    /// Beacon.
    pub const BEACON: u8 = 8;
    /// ATIM.
    pub const ATIM: u8 = 9;
    /// Disassociation.
    pub const DISASSOCIATION: u8 = 10;
    /// Authentication.
    pub const AUTHENTICATION: u8 = 11;
    /// Deauthentication.
    pub const DEAUTHENTICATION: u8 = 12;
    /// Action.
    pub const ACTION: u8 = 13;
    /// Action No Ack.
    pub const ACTION_NO_ACK: u8 = 14;
}

/// Control subtypes (§9.2.4.1.3, type 1).
pub mod control {
    /// Control Wrapper.
    pub const WRAPPER: u8 = 7;
    /// Block Ack Request.
    pub const BLOCK_ACK_REQUEST: u8 = 8;
    /// Block Ack.
    pub const BLOCK_ACK: u8 = 9;
    /// PS-Poll.
    pub const PS_POLL: u8 = 10;
    /// Request to send.
    pub const RTS: u8 = 11;
    /// Clear to send.
    pub const CTS: u8 = 12;
    /// Acknowledgement.
    pub const ACK: u8 = 13;
    /// CF-End.
    pub const CF_END: u8 = 14;
}

/// Data subtypes (§9.2.4.1.3, type 2): bit 2 says "no data", bit 3 says "QoS".
pub mod data {
    /// Data.
    pub const DATA: u8 = 0;
    /// Null: no data.
    pub const NULL: u8 = 4;
    /// QoS Data.
    pub const QOS_DATA: u8 = 8;
    /// QoS Null.
    pub const QOS_NULL: u8 = 12;
}

macro_rules! flag {
    ($(#[$doc:meta])* $is:ident, $with:ident, $mask:literal) => {
        $(#[$doc])*
        pub const fn $is(self) -> bool {
            self.0 & $mask != 0
        }

        /// Sets or clears the bit of the same name.
        #[must_use]
        pub const fn $with(self, on: bool) -> Self {
            FrameControl(if on { self.0 | $mask } else { self.0 & !$mask })
        }
    };
}

impl FrameControl {
    /// Returns the field of a frame of this type and subtype (4 bits), version 0, no flags.
    pub const fn new(kind: Type, subtype: u8) -> Self {
        FrameControl((kind as u16) << 2 | ((subtype & 0x0f) as u16) << 4)
    }

    /// Returns the protocol version; only 0 exists for these layouts (1 is S1G's PV1).
    pub const fn version(self) -> u8 {
        (self.0 & 3) as u8
    }

    /// Returns the type.
    pub const fn kind(self) -> Type {
        match self.0 >> 2 & 3 {
            0 => Type::Management,
            1 => Type::Control,
            2 => Type::Data,
            _ => Type::Extension,
        }
    }

    /// Returns the subtype, 0 to 15.
    pub const fn subtype(self) -> u8 {
        (self.0 >> 4 & 0x0f) as u8
    }

    flag!(
        /// Returns whether the frame goes to the distribution system.
        is_to_ds, with_to_ds, 0x0100
    );
    flag!(
        /// Returns whether the frame comes from the distribution system.
        is_from_ds, with_from_ds, 0x0200
    );
    flag!(
        /// Returns whether more fragments follow.
        has_more_fragments, with_more_fragments, 0x0400
    );
    flag!(
        /// Returns whether this is a retransmission.
        is_retry, with_retry, 0x0800
    );
    flag!(
        /// Returns whether the sender goes into power save.
        is_power_management, with_power_management, 0x1000
    );
    flag!(
        /// Returns whether the access point holds more frames for the station.
        has_more_data, with_more_data, 0x2000
    );
    flag!(
        /// Returns whether the body is encrypted.
        is_protected, with_protected, 0x4000
    );
    flag!(
        /// Returns the +HTC (formerly Order) bit.
        has_order, with_order, 0x8000
    );

    /// Returns whether the header has a fourth address.
    pub const fn has_addr4(self) -> bool {
        matches!(self.kind(), Type::Data) && self.is_to_ds() && self.is_from_ds()
    }

    /// Returns whether the header has a QoS control field.
    pub const fn has_qos_control(self) -> bool {
        matches!(self.kind(), Type::Data) && self.subtype() & 8 != 0
    }

    /// Returns whether the header has an HT control field: +HTC in QoS data and management
    /// (§9.2.4.1.10).
    pub const fn has_ht_control(self) -> bool {
        self.has_order() && (self.has_qos_control() || matches!(self.kind(), Type::Management))
    }

    /// Returns whether a data frame carries data (and is not some kind of Null).
    pub const fn carries_data(self) -> bool {
        matches!(self.kind(), Type::Data) && self.subtype() & 4 == 0
    }

    /// Returns the length in bytes of the header that this field begins.
    pub const fn header_len(self) -> usize {
        match self.kind() {
            Type::Management => 24 + if self.has_ht_control() { 4 } else { 0 },
            Type::Control => match self.subtype() {
                control::CTS | control::ACK => 10,
                _ => 16,
            },
            Type::Data => {
                24 + if self.has_addr4() { 6 } else { 0 }
                    + if self.has_qos_control() { 2 } else { 0 }
                    + if self.has_ht_control() { 4 } else { 0 }
            }
            Type::Extension => 10,
        }
    }
}

/// The sequence control field (§9.2.4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct SequenceControl(pub u16);

impl SequenceControl {
    /// Returns the field for a sequence number (12 bits) and a fragment number (4 bits).
    pub const fn new(sequence: u16, fragment: u8) -> Self {
        SequenceControl(sequence << 4 | (fragment & 0x0f) as u16)
    }

    /// Returns the sequence number, 0 to 4095.
    pub const fn sequence(self) -> u16 {
        self.0 >> 4
    }

    /// Returns the fragment number, 0 to 15.
    pub const fn fragment(self) -> u8 {
        (self.0 & 0x0f) as u8
    }
}

/// The QoS control field (§9.2.4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct QosControl(pub u16);

impl QosControl {
    /// Returns the traffic identifier, 0 to 15.
    pub const fn tid(self) -> u8 {
        (self.0 & 0x0f) as u8
    }

    /// Returns the acknowledgement policy, 0 to 3.
    pub const fn ack_policy(self) -> u8 {
        (self.0 >> 5 & 3) as u8
    }

    /// Returns whether the body is an A-MSDU.
    pub const fn is_amsdu(self) -> bool {
        self.0 & 0x80 != 0
    }

    /// Returns whether a mesh control field begins the body (meaningful in a mesh BSS only).
    pub const fn has_mesh_control(self) -> bool {
        self.0 & 0x100 != 0
    }
}

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
mod tests {
    use super::*;

    const ADDRESSES: [MacAddress; 4] = [
        MacAddress([2, 0, 0, 0, 0, 1]),
        MacAddress([2, 0, 0, 0, 0, 2]),
        MacAddress([2, 0, 0, 0, 0, 3]),
        MacAddress([2, 0, 0, 0, 0, 4]),
    ];

    fn data(to_ds: bool, from_ds: bool) -> ([u8; HeaderRepr::MAX_LEN], usize) {
        let [addr1, addr2, addr3, addr4] = ADDRESSES;
        let frame_control =
            FrameControl::new(Type::Data, data::DATA).with_to_ds(to_ds).with_from_ds(from_ds);
        let repr = HeaderRepr { frame_control, addr1, addr2, addr3, addr4, ..Default::default() };
        let mut bytes = [0; HeaderRepr::MAX_LEN];
        let len = repr.emit(&mut bytes).unwrap();
        (bytes, len)
    }

    #[test]
    fn the_ds_bits_decide_whose_each_address_is() {
        let [a1, a2, a3, a4] = ADDRESSES.map(Some);
        for (to, from, destination, source, bssid) in [
            (false, false, a1, a2, a3),
            (true, false, a3, a2, a1),
            (false, true, a1, a3, a2),
            (true, true, a3, a4, None),
        ] {
            let (bytes, len) = data(to, from);
            let h = MacHeader::new_checked(&bytes[..len]).unwrap();
            assert_eq!((h.destination(), h.source(), h.bssid()), (destination, source, bssid));
            assert_eq!(h.addr4().is_some(), to && from);
        }
    }

    #[test]
    fn header_lengths_follow_the_frame_control_field() {
        let order = |fc: FrameControl| fc.with_order(true).header_len();
        let plain = FrameControl::new(Type::Data, data::DATA);
        let qos = FrameControl::new(Type::Data, data::QOS_DATA);
        let both = |fc: FrameControl| fc.with_to_ds(true).with_from_ds(true);
        assert_eq!((plain.header_len(), qos.header_len()), (24, 26));
        assert_eq!((both(plain).header_len(), both(qos).header_len()), (30, 32));
        assert_eq!((order(plain), order(qos), order(both(qos))), (24, 30, HeaderRepr::MAX_LEN));
        let action = FrameControl::new(Type::Management, management::ACTION);
        assert_eq!((action.header_len(), order(action)), (24, 28));
        let control = |subtype| FrameControl::new(Type::Control, subtype).header_len();
        assert_eq!((control(control::ACK), control(control::CTS)), (10, 10));
        assert_eq!((control(control::RTS), control(control::PS_POLL)), (16, 16));
    }

    #[test]
    fn acknowledgements_have_one_address_and_no_sequence_number() {
        let bytes = [0xd4, 0, 0, 0, 2, 0, 0, 0, 0, 1];
        let h = MacHeader::new_checked(&bytes).unwrap();
        assert_eq!((h.frame_control().kind(), h.frame_control().subtype()), (Type::Control, 13));
        assert_eq!(h.addr1(), ADDRESSES[0]);
        assert_eq!((h.addr2(), h.addr3(), h.sequence(), h.bssid()), (None, None, None, None));
        assert_eq!(
            MacHeader::new_checked(&bytes[..9]),
            Err(Malformed::Truncated { needed: 10, actual: 9 })
        );
    }

    #[test]
    fn a_control_wrapper_has_no_transmitter_address() {
        let mut bytes = [0; 16];
        bytes[0] = 0x74;
        assert_eq!(MacHeader::new_checked(&bytes).unwrap().addr2(), None);
        bytes[0] = 0xb4;
        assert!(MacHeader::new_checked(&bytes).unwrap().addr2().is_some());
    }

    #[test]
    fn other_protocol_versions_are_refused() {
        let mut bytes = [0; 40];
        for version in 1..4 {
            bytes[0] = version;
            assert_eq!(MacHeader::new_checked(&bytes), Err(Malformed::Value { offset: 0 }));
        }
        bytes[0] = 0;
        assert!(MacHeader::new_checked(&bytes).is_ok());
    }

    #[test]
    fn flags_are_set_and_cleared_alone() {
        let fc = FrameControl::new(Type::Data, data::QOS_NULL);
        assert!(!fc.carries_data() && fc.has_qos_control());
        let retry = fc.with_retry(true);
        assert!(retry.is_retry() && !retry.is_protected() && !retry.has_more_fragments());
        assert_eq!(retry.with_retry(false), fc);
        assert_eq!(retry.subtype(), data::QOS_NULL);
    }

    #[test]
    fn sequence_and_qos_fields_are_cut_where_the_standard_cuts_them() {
        let s = SequenceControl::new(4095, 15);
        assert_eq!((s.sequence(), s.fragment(), s.0), (4095, 15, 0xffff));
        let q = QosControl(0x01e5);
        assert_eq!(
            (q.tid(), q.ack_policy(), q.is_amsdu(), q.has_mesh_control()),
            (5, 3, true, true)
        );
        let none = QosControl(0);
        assert!(!none.is_amsdu() && !none.has_mesh_control());
    }
}
