//! What the RSN and WPA elements say (IEEE 802.11-2020 §9.4.2.24; WPA is the vendor element before it).

use super::AkmSuite;
use slyfi_wire::{Malformed, Reader};

/// Element identifier of the RSN element.
pub(super) const ELEMENT: u8 = slyfi_wire::element::RSN;

/// The organisation of the standard's own suites.
const STANDARD: [u8; 3] = [0x00, 0x0f, 0xac];
/// The organisation of WPA's suites and of its element.
pub const WPA: [u8; 3] = [0x00, 0x50, 0xf2];
/// The organisation of the Wi-Fi Alliance (DPP).
const ALLIANCE: [u8; 3] = [0x50, 0x6f, 0x9a];

/// A suite selector: organisation and type.
pub(crate) type Selector = ([u8; 3], u8);

/// Which cipher protects frames (§9.4.2.24.2, Table 9-149).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CipherSuite {
    /// WEP-40.
    Wep40,
    /// TKIP.
    Tkip,
    /// CCMP-128.
    Ccmp128,
    /// WEP-104.
    Wep104,
    /// GCMP-128.
    Gcmp128,
    /// GCMP-256.
    Gcmp256,
    /// CCMP-256.
    Ccmp256,
}

impl CipherSuite {
    fn from_selector((organisation, kind): Selector) -> Option<Self> {
        if organisation != STANDARD && organisation != WPA {
            return None;
        }
        match kind {
            1 => Some(CipherSuite::Wep40),
            2 => Some(CipherSuite::Tkip),
            4 => Some(CipherSuite::Ccmp128),
            5 => Some(CipherSuite::Wep104),
            8 => Some(CipherSuite::Gcmp128),
            9 => Some(CipherSuite::Gcmp256),
            10 => Some(CipherSuite::Ccmp256),
            _ => None,
        }
    }

    /// Returns the length of its temporal key in bytes.
    pub const fn key_len(self) -> usize {
        match self {
            CipherSuite::Wep40 => 5,
            CipherSuite::Wep104 => 13,
            CipherSuite::Ccmp128 | CipherSuite::Gcmp128 => 16,
            CipherSuite::Tkip | CipherSuite::Ccmp256 | CipherSuite::Gcmp256 => 32,
        }
    }

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            CipherSuite::Wep40 => "WEP-40",
            CipherSuite::Tkip => "TKIP",
            CipherSuite::Ccmp128 => "CCMP-128",
            CipherSuite::Wep104 => "WEP-104",
            CipherSuite::Gcmp128 => "GCMP-128",
            CipherSuite::Gcmp256 => "GCMP-256",
            CipherSuite::Ccmp256 => "CCMP-256",
        }
    }
}

/// The first of each kind of suite in an RSN or WPA element. In a station's element (association
/// request, message 2) these are what was chosen; in an access point's there may be more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RsnElement {
    /// The group cipher.
    pub group: Option<CipherSuite>,
    /// The pairwise cipher.
    pub pairwise: Option<CipherSuite>,
    /// Authentication and key management.
    pub akm: Option<AkmSuite>,
    /// The type of the group management cipher, if it says one.
    pub group_management: Option<u8>,
    /// Whether the element is the older WPA one.
    pub is_wpa: bool,
}

impl RsnElement {
    /// Reads the contents of an RSN element (past identifier and length). Fields left out at the end
    /// are `None`, as the standard allows.
    ///
    /// # Errors
    /// [`Malformed`] when the version is not 1 or a list runs past the end.
    pub fn parse_rsn(data: &[u8]) -> Result<Self, Malformed> {
        Self::parse(data, false)
    }

    /// Reads the contents of a WPA vendor element, past organisation and type.
    ///
    /// # Errors
    /// As [`RsnElement::parse_rsn`].
    pub fn parse_wpa(data: &[u8]) -> Result<Self, Malformed> {
        Self::parse(data, true)
    }

    fn parse(data: &[u8], is_wpa: bool) -> Result<Self, Malformed> {
        let mut r = Reader::new(data);
        if r.u16_le()? != 1 {
            return Err(Malformed::Value { offset: 0 });
        }
        let mut element = RsnElement { is_wpa, ..RsnElement::default() };
        if r.is_empty() {
            return Ok(element);
        }
        element.group = CipherSuite::from_selector(selector(&mut r)?);
        element.pairwise = first(&mut r)?.and_then(CipherSuite::from_selector);
        element.akm = first(&mut r)?.and_then(AkmSuite::from_selector);
        if is_wpa || r.remaining() < 2 {
            return Ok(element);
        }
        r.u16_le()?;
        if r.remaining() < 2 {
            return Ok(element);
        }
        let pmkids = usize::from(r.u16_le()?);
        r.take(16 * pmkids)?;
        if r.remaining() >= 4 {
            let (organisation, kind) = selector(&mut r)?;
            element.group_management = (organisation == STANDARD).then_some(kind);
        }
        Ok(element)
    }
}

fn selector(r: &mut Reader<'_>) -> Result<Selector, Malformed> {
    Ok((r.array()?, r.u8()?))
}

/// Reads a list of suites and returns its first.
fn first(r: &mut Reader<'_>) -> Result<Option<Selector>, Malformed> {
    if r.is_empty() {
        return Ok(None);
    }
    let count = r.u16_le()?;
    let mut found = None;
    for _ in 0..count {
        let s = selector(r)?;
        found = found.or(Some(s));
    }
    Ok(found)
}

impl AkmSuite {
    pub(crate) fn from_selector((organisation, kind): Selector) -> Option<Self> {
        match organisation {
            STANDARD => AkmSuite::from_type(kind),
            WPA if kind == 1 || kind == 2 => AkmSuite::from_type(kind),
            ALLIANCE if kind == 2 => Some(AkmSuite::Dpp),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_station_s_choice_is_read_with_all_that_may_follow() {
        let mut data = [0; 20 + 2 + 16 + 4];
        data[..22].copy_from_slice(&[
            1, 0, 0, 0x0f, 0xac, 4, 1, 0, 0, 0x0f, 0xac, 10, 1, 0, 0, 0x0f, 0xac, 6, 0x80, 0, 1, 0,
        ]);
        data[38..].copy_from_slice(&[0, 0x0f, 0xac, 6]);
        let e = RsnElement::parse_rsn(&data).unwrap();
        assert_eq!(e.group, Some(CipherSuite::Ccmp128));
        assert_eq!(e.pairwise, Some(CipherSuite::Ccmp256));
        assert_eq!(e.akm, Some(AkmSuite::PskSha256));
        assert_eq!(e.group_management, Some(6));
        assert_eq!(RsnElement::parse_rsn(&data[..6]).unwrap().pairwise, None);
        assert!(RsnElement::parse_rsn(&data[..30]).is_err());
        data[0] = 2;
        assert!(RsnElement::parse_rsn(&data).is_err());
    }

    #[test]
    fn the_wpa_element_has_its_own_organisation() {
        let data = [1, 0, 0, 0x50, 0xf2, 2, 1, 0, 0, 0x50, 0xf2, 2, 1, 0, 0, 0x50, 0xf2, 2];
        let e = RsnElement::parse_wpa(&data).unwrap();
        assert!(e.is_wpa);
        assert_eq!((e.pairwise, e.akm), (Some(CipherSuite::Tkip), Some(AkmSuite::Psk)));
    }
}
