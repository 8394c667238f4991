//! The optional clear announcement: an ordinary Beacon that says "a SlyFi access point is here".
//!
//! slyfi-2008 §3.5 leaves beacons to those who want to be found. An announced access point sends an
//! 802.11 Beacon (IEEE 802.11-2020 §9.3.3.2) that any device lists under its SSID, with one vendor
//! element by which a paired client picks the keys of that access point.
//!
//! # Layout
//! `MAC header 24 | timestamp 8 | interval 2 | capabilities 2 | SSID | Supported Rates | vendor`,
//! the vendor element being `221 | 12 | organisation 3 | kind 1 = 1 | access-point id 8`.
//!
//! # Security
//! Everything here is in the clear, and identifies the access point: that is its purpose. Nothing
//! in it is authenticated. A forged announcement makes a client send a confidential authentication
//! that only the paired access point can open.

use crate::carrier::ORGANISATION;
use crate::element::{Element, Elements, MAX_SSID, RATES_A, SSID, SUPPORTED_RATES, VENDOR};
use crate::ieee80211::{HeaderRepr, MacHeader, SequenceControl, Type, management};
use crate::{Malformed, NoSpace, Reader, Writer};
use slyfi_base::MacAddress;

/// Bytes of an access-point id.
pub const AP_ID_LEN: usize = 8;

/// The kind octet of the vendor element, after the organisation.
const KIND_ANNOUNCEMENT: u8 = 1;

/// Capabilities: ESS, and nothing else (§9.4.1.4).
const CAPABILITY_ESS: u16 = 0x0001;

const MAC_LEN: usize = 24;
const FIXED_LEN: usize = 12;
const VENDOR_LEN: usize = 3 + 1 + AP_ID_LEN;

/// A clear announcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announcement<'a> {
    /// The BSSID under which the announcement is made.
    pub bssid: MacAddress,
    /// Sequence number of the sender.
    pub sequence: u16,
    /// The sender's microsecond counter (§11.1.3).
    pub timestamp: u64,
    /// Time between two announcements in time units of 1024 µs.
    pub interval: u16,
    /// The network's name, at most 32 bytes; `emit` cuts what is longer.
    pub ssid: &'a [u8],
    /// Which access point: what a paired client looks up.
    pub ap_id: [u8; AP_ID_LEN],
}

impl<'a> Announcement<'a> {
    /// Parses a frame (frame check sequence removed).
    ///
    /// # Errors
    /// [`Malformed::Value`] when it is no Beacon or carries no announcement;
    /// [`Malformed::Truncated`] when it is cut short.
    pub fn parse(frame: &'a [u8]) -> Result<Self, Malformed> {
        let mac = MacHeader::new_checked(frame)?;
        let fc = mac.frame_control();
        if fc.kind() != Type::Management || fc.subtype() != management::BEACON {
            return Err(Malformed::Value { offset: 0 });
        }
        let mut r = Reader::new(mac.body());
        let (timestamp, interval) = (r.u64_le()?, r.u16_le()?);
        r.u16_le()?;
        let elements = Elements::new(r.rest());
        let missing = Malformed::Value { offset: mac.header_len() + FIXED_LEN };
        let vendor = elements.find_vendor(ORGANISATION).ok_or(missing)?;
        let ap_id = match vendor.split_first() {
            Some((&KIND_ANNOUNCEMENT, id)) => id.try_into().map_err(|_| missing)?,
            _ => return Err(missing),
        };
        Ok(Announcement {
            bssid: mac.repr().addr3,
            sequence: mac.repr().sequence.sequence(),
            timestamp,
            interval,
            ssid: elements.ssid().ok_or(missing)?,
            ap_id,
        })
    }

    fn ssid_element(&self) -> Element<'a> {
        Element { id: SSID, data: self.ssid.get(..MAX_SSID).unwrap_or(self.ssid) }
    }

    /// Returns the frame's length in bytes.
    pub fn buffer_len(&self) -> usize {
        let rates = 2 + RATES_A.len();
        MAC_LEN + FIXED_LEN + self.ssid_element().buffer_len() + rates + 2 + VENDOR_LEN
    }

    /// Writes the frame and returns its length.
    ///
    /// # Errors
    /// [`NoSpace`] when `buf` is shorter than [`Announcement::buffer_len`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, NoSpace> {
        let mut w = Writer::new(buf, self.buffer_len())?;
        let mut header = HeaderRepr::management(
            management::BEACON,
            MacAddress::BROADCAST,
            self.bssid,
            self.bssid,
        );
        header.sequence = SequenceControl::new(self.sequence, 0);
        let mut mac = [0; MAC_LEN];
        header.emit(&mut mac)?;
        w.put(&mac);
        w.u64_le(self.timestamp);
        w.u16_le(self.interval);
        w.u16_le(CAPABILITY_ESS);
        self.ssid_element().write(&mut w);
        Element { id: SUPPORTED_RATES, data: &RATES_A }.write(&mut w);
        let mut vendor = [0; VENDOR_LEN];
        let mut v = Writer::new(&mut vendor, VENDOR_LEN)?;
        v.put(&ORGANISATION);
        v.u8(KIND_ANNOUNCEMENT);
        v.put(&self.ap_id);
        v.finish();
        Element { id: VENDOR, data: &vendor }.write(&mut w);
        Ok(w.finish())
    }
}
