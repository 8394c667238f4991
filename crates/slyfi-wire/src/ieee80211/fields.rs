//! The fields of the MAC header that have structure of their own.

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
