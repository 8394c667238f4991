//! Bodies of the management frames (IEEE 802.11-2020 §9.3.3) and of data frames.

use alloc::vec::Vec;
use slyfi_wire::element::{Element, Elements, RATES_A, SSID, SUPPORTED_RATES};
use slyfi_wire::ethernet::{EthernetRepr, MIN_ETHERTYPE};
use slyfi_wire::ieee80211::management as subtype;
use slyfi_wire::{Malformed, Reader, Writer, llc};

/// Capability information (§9.4.1.4): infrastructure.
const ESS: u16 = 0x0001;
/// Capability information: data is encrypted.
const PRIVACY: u16 = 0x0010;

/// Element identifier of the RSN element (§9.4.2.24).
const RSN: u8 = 48;

/// The EtherType of EAPOL, which carries key handshakes.
pub(super) const EAPOL: u16 = 0x888e;

/// Authentication algorithm 0: open system (§9.4.1.1).
pub(super) const OPEN_SYSTEM: u16 = 0;

/// Status codes (§9.4.1.9).
pub(super) mod status {
    pub(in super::super) const SUCCESS: u16 = 0;
    pub(in super::super) const UNSPECIFIED: u16 = 1;
    pub(in super::super) const ALGORITHM_NOT_SUPPORTED: u16 = 13;
    pub(in super::super) const OUT_OF_SEQUENCE: u16 = 14;
    pub(in super::super) const NO_MORE_STATIONS: u16 = 17;
    pub(in super::super) const INVALID_ELEMENT: u16 = 40;
}

/// Reason codes (§9.4.1.7).
pub(super) mod reason {
    pub(in super::super) use super::super::reason::{FOUR_WAY_TIMEOUT, UNSPECIFIED};

    pub(in super::super) const SENDER_LEAVES: u16 = 3;
    pub(in super::super) const INACTIVITY: u16 = 4;
    pub(in super::super) const NOT_AUTHENTICATED: u16 = 6;
    pub(in super::super) const NOT_ASSOCIATED: u16 = 7;
}

/// The body of a management frame, as far as this protocol uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Management<'a> {
    /// A station looks for a network; an empty name means any.
    ProbeRequest { ssid: &'a [u8] },
    /// An access point answers a probe.
    ProbeResponse(Bss<'a>),
    /// An access point makes itself known.
    Beacon(Bss<'a>),
    /// One of the two messages of open-system authentication.
    Authentication { algorithm: u16, transaction: u16, status: u16 },
    /// A station asks to join.
    AssociationRequest(Wish<'a>),
    /// The access point's answer, with the association identifier (1 to 2007).
    AssociationResponse { status: u16, aid: u16, privacy: bool },
    /// An association ends.
    Disassociation { reason: u16 },
    /// An authentication ends, and the association with it.
    Deauthentication { reason: u16 },
}

/// What beacons and probe responses say of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bss<'a> {
    /// The sender's microsecond counter.
    pub(super) timestamp: u64,
    /// Time between beacons in time units.
    pub(super) interval: u16,
    /// Whether data are protected.
    pub(super) privacy: bool,
    /// Its name.
    pub(super) ssid: &'a [u8],
    /// The contents of its RSN element.
    pub(super) rsn: Option<&'a [u8]>,
}

/// What an association request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wish<'a> {
    /// Whether data are to be protected.
    pub(super) privacy: bool,
    /// The network's name.
    pub(super) ssid: &'a [u8],
    /// The contents of the RSN element: the suites that were chosen.
    pub(super) rsn: Option<&'a [u8]>,
}

impl<'a> Management<'a> {
    /// Parses the body of a management frame; `None` for subtypes that this protocol does not use.
    pub(super) fn parse(kind: u8, body: &'a [u8]) -> Result<Option<Self>, Malformed> {
        let mut r = Reader::new(body);
        Ok(Some(match kind {
            subtype::PROBE_REQUEST => Management::ProbeRequest { ssid: ssid(&mut r)? },
            subtype::PROBE_RESPONSE => Management::ProbeResponse(bss(&mut r)?),
            subtype::BEACON => Management::Beacon(bss(&mut r)?),
            subtype::AUTHENTICATION => Management::Authentication {
                algorithm: r.u16_le()?,
                transaction: r.u16_le()?,
                status: r.u16_le()?,
            },
            subtype::ASSOCIATION_REQUEST => {
                // Capabilities and listen interval.
                let (capabilities, _) = (r.u16_le()?, r.u16_le()?);
                let privacy = capabilities & PRIVACY != 0;
                let (ssid, rsn) = network(&mut r)?;
                Management::AssociationRequest(Wish { privacy, ssid, rsn })
            }
            subtype::ASSOCIATION_RESPONSE => {
                let (capabilities, status, aid) = (r.u16_le()?, r.u16_le()?, r.u16_le()?);
                let privacy = capabilities & PRIVACY != 0;
                Management::AssociationResponse { status, aid: aid & 0x3fff, privacy }
            }
            subtype::DISASSOCIATION => Management::Disassociation { reason: r.u16_le()? },
            subtype::DEAUTHENTICATION => Management::Deauthentication { reason: r.u16_le()? },
            _ => return Ok(None),
        }))
    }

    /// Returns the frame's subtype.
    pub(super) const fn subtype(&self) -> u8 {
        match self {
            Management::ProbeRequest { .. } => subtype::PROBE_REQUEST,
            Management::ProbeResponse(_) => subtype::PROBE_RESPONSE,
            Management::Beacon(_) => subtype::BEACON,
            Management::Authentication { .. } => subtype::AUTHENTICATION,
            Management::AssociationRequest(_) => subtype::ASSOCIATION_REQUEST,
            Management::AssociationResponse { .. } => subtype::ASSOCIATION_RESPONSE,
            Management::Disassociation { .. } => subtype::DISASSOCIATION,
            Management::Deauthentication { .. } => subtype::DEAUTHENTICATION,
        }
    }

    /// Appends the body to `out`.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let mut u16s = |values: &[u16]| values.iter().for_each(|v| out.extend(v.to_le_bytes()));
        match *self {
            Management::ProbeRequest { ssid } => named(out, ssid),
            Management::ProbeResponse(bss) | Management::Beacon(bss) => {
                out.extend(bss.timestamp.to_le_bytes());
                out.extend(bss.interval.to_le_bytes());
                out.extend(capabilities(bss.privacy).to_le_bytes());
                named(out, bss.ssid);
                secured(out, bss.rsn);
            }
            Management::Authentication { algorithm, transaction, status } => {
                u16s(&[algorithm, transaction, status]);
            }
            Management::AssociationRequest(wish) => {
                // The listen interval is that of a station that never sleeps.
                u16s(&[capabilities(wish.privacy), 1]);
                named(out, wish.ssid);
                secured(out, wish.rsn);
            }
            Management::AssociationResponse { status, aid, privacy } => {
                u16s(&[capabilities(privacy), status, aid | 0xc000]);
                element(out, SUPPORTED_RATES, &RATES_A);
            }
            Management::Disassociation { reason } | Management::Deauthentication { reason } => {
                u16s(&[reason]);
            }
        }
    }
}

fn ssid<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    Ok(network(r)?.0)
}

/// Reads the elements that say which network it is and how it is protected.
fn network<'a>(r: &mut Reader<'a>) -> Result<(&'a [u8], Option<&'a [u8]>), Malformed> {
    let offset = r.position();
    let elements = Elements::new(r.rest());
    Ok((elements.ssid().ok_or(Malformed::Value { offset })?, elements.find(RSN)))
}

fn bss<'a>(r: &mut Reader<'a>) -> Result<Bss<'a>, Malformed> {
    let (timestamp, interval, capabilities) = (r.u64_le()?, r.u16_le()?, r.u16_le()?);
    let privacy = capabilities & PRIVACY != 0;
    let (ssid, rsn) = network(r)?;
    Ok(Bss { timestamp, interval, privacy, ssid, rsn })
}

const fn capabilities(privacy: bool) -> u16 {
    ESS | if privacy { PRIVACY } else { 0 }
}

fn secured(out: &mut Vec<u8>, rsn: Option<&[u8]>) {
    if let Some(data) = rsn {
        element(out, RSN, data);
    }
}

fn named(out: &mut Vec<u8>, ssid: &[u8]) {
    element(out, SSID, ssid);
    element(out, SUPPORTED_RATES, &RATES_A);
}

fn element(out: &mut Vec<u8>, id: u8, data: &[u8]) {
    let element = Element { id, data };
    append(out, element.buffer_len(), |w| element.write(w));
}

/// Appends `len` bytes to `out`, written by `write`.
pub(super) fn append(out: &mut Vec<u8>, len: usize, write: impl FnOnce(&mut Writer<'_>)) {
    let at = out.len();
    out.resize(at + len, 0);
    if let Some(Ok(mut w)) = out.get_mut(at..).map(|room| Writer::new(room, len)) {
        write(&mut w);
    }
}

/// Appends the body of a data frame: LLC/SNAP for EtherTypes, the packet's own LLC for lengths.
pub(super) fn encapsulate(out: &mut Vec<u8>, ethertype: u16, payload: &[u8]) {
    if ethertype >= MIN_ETHERTYPE {
        out.extend(llc::header(ethertype));
        out.extend(payload);
    } else {
        // An 802.3 length; what is past it is Ethernet's padding.
        out.extend(payload.get(..usize::from(ethertype)).unwrap_or(payload));
    }
}

/// Splits the body of a data frame into EtherType (or length) and payload; `None` for an empty one
/// or one that Ethernet cannot carry.
pub(super) fn decapsulate(body: &[u8]) -> Option<(u16, &[u8])> {
    match llc::parse(body) {
        Ok((ethertype, payload)) if ethertype >= MIN_ETHERTYPE => Some((ethertype, payload)),
        _ => {
            let length = u16::try_from(body.len()).ok()?;
            (1..MIN_ETHERTYPE).contains(&length).then_some((length, body))
        }
    }
}

/// Appends an Ethernet frame to `out`.
pub(super) fn ethernet(out: &mut Vec<u8>, header: EthernetRepr, payload: &[u8]) {
    append(out, header.buffer_len(), |w| header.write(w));
    out.extend(payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    const BSS: Bss<'_> =
        Bss { timestamp: 1 << 40, interval: 100, privacy: false, ssid: b"net", rsn: None };
    const WISH: Wish<'_> = Wish { privacy: false, ssid: b"net", rsn: None };

    #[test]
    fn management_bodies_come_back_and_their_truncations_do_not() {
        for m in [
            Management::ProbeRequest { ssid: b"net" },
            Management::ProbeResponse(BSS),
            Management::Beacon(Bss { privacy: true, ..BSS }),
            Management::Authentication { algorithm: 0, transaction: 2, status: 17 },
            Management::AssociationRequest(WISH),
            Management::AssociationResponse { status: 0, aid: 2007, privacy: true },
            Management::Disassociation { reason: 8 },
            Management::Deauthentication { reason: 3 },
        ] {
            let mut body = Vec::new();
            m.write(&mut body);
            assert_eq!(Management::parse(m.subtype(), &body), Ok(Some(m)));
            // Rates, which nobody reads, are the last ten bytes of those that have elements.
            let read = match m {
                Management::Authentication { .. } => 6,
                Management::Disassociation { .. } | Management::Deauthentication { .. } => 2,
                _ => body.len() - 10,
            };
            for cut in 0..read {
                assert!(Management::parse(m.subtype(), &body[..cut]).is_err(), "{m:?} {cut}");
            }
        }
        assert_eq!(Management::parse(subtype::ACTION, &[]), Ok(None));
    }

    #[test]
    fn the_suites_of_a_protected_network_travel_with_its_name() {
        let rsn = Some(&[1, 0, 0, 0x0f, 0xac, 4][..]);
        for m in [
            Management::ProbeResponse(Bss { privacy: true, rsn, ..BSS }),
            Management::AssociationRequest(Wish { privacy: true, rsn, ..WISH }),
        ] {
            let mut body = Vec::new();
            m.write(&mut body);
            assert_eq!(Management::parse(m.subtype(), &body), Ok(Some(m)));
            assert_eq!(body[body.len() - 8..], [48, 6, 1, 0, 0, 0x0f, 0xac, 4]);
        }
    }

    #[test]
    fn packets_with_ethertype_and_packets_with_length_come_back() {
        for (ethertype, payload) in [(0x0800, &b"ip"[..]), (3, b"\x42\x42\x03")] {
            let mut body = Vec::new();
            encapsulate(&mut body, ethertype, payload);
            assert_eq!(decapsulate(&body), Some((ethertype, payload)));
        }
        let mut body = Vec::new();
        encapsulate(&mut body, 3, b"\x42\x42\x03 and Ethernet's padding");
        assert_eq!(body, b"\x42\x42\x03");
        assert_eq!(decapsulate(&[]), None);
        assert_eq!(decapsulate(&[0x42; 1536]), None, "too long for an 802.3 length");
    }
}
