//! The key hierarchy and the element of fast BSS transition (IEEE 802.11-2020 §12.7.1.6, §9.4.2.47).

use super::{Kdf, KeyBytes, MicAlgorithm};
use slyfi_wire::element::{Element, Elements};
use slyfi_wire::{Malformed, Reader};

/// Element identifier of the Mobility Domain element (§9.4.2.46).
pub const MOBILITY_DOMAIN: u8 = 54;
/// Element identifier of the Fast BSS Transition element.
pub const FAST_TRANSITION: u8 = 55;

/// Who holds the keys of a mobility domain, and for whom.
#[derive(Clone, Copy, Debug)]
pub struct Domain<'a> {
    /// The SSID.
    pub ssid: &'a [u8],
    /// The mobility domain identifier.
    pub mobility_domain: [u8; 2],
    /// R0KH-ID, 1 to 48 bytes.
    pub r0_holder: &'a [u8],
    /// R1KH-ID.
    pub r1_holder: [u8; 6],
    /// The station (S0KH-ID and S1KH-ID).
    pub station: [u8; 6],
}

/// Derives PMK-R1 from the first-level secret (§12.7.1.6.3, §12.7.1.6.4): the PSK, the MSK part for
/// 802.1X, or SAE's PMK.
pub fn pmk_r1(kdf: Kdf, xxkey: &[u8], domain: &Domain<'_>) -> KeyBytes {
    let Domain { ssid, mobility_domain, r0_holder, r1_holder, station } = domain;
    let key_len = kdf.hash_len();
    let mut r0_data = [0; 64 + 16];
    let (r0, _) = r0_data.split_at_mut(key_len + 16);
    let lengths = [[ssid.len() as u8], [r0_holder.len() as u8]];
    let [ssid_len, r0_len] = &lengths;
    let context: [&[u8]; 6] = [ssid_len, ssid, mobility_domain, r0_len, r0_holder, station];
    kdf.derive(xxkey, "FT-R0", &context, r0);
    let mut r1 = KeyBytes::zeros(key_len);
    let pmk_r0 = r0.get(..key_len).unwrap_or(r0);
    kdf.derive(pmk_r0, "FT-R1", &[r1_holder, station], r1.as_mut_bytes());
    zeroize::Zeroize::zeroize(&mut r0_data);
    r1
}

/// A view of a Fast BSS Transition element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastTransition<'a> {
    /// How many elements the integrity code covers.
    pub element_count: u8,
    /// The integrity code.
    pub mic: &'a [u8],
    /// The authenticator's nonce.
    pub anonce: &'a [u8; 32],
    /// The supplicant's nonce.
    pub snonce: &'a [u8; 32],
    subelements: &'a [u8],
}

/// A group key inside an FT element, still wrapped with the KEK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrappedGroupKey<'a> {
    /// Key identifier.
    pub key_id: u16,
    /// The length of the key inside.
    pub len: usize,
    /// The key, padded and wrapped.
    pub wrapped: &'a [u8],
}

impl<'a> FastTransition<'a> {
    /// Reads the element's contents, whose integrity code has `mic_len` bytes.
    ///
    /// # Errors
    /// [`Malformed`] when it is shorter than its fixed fields.
    pub fn parse(data: &'a [u8], mic_len: usize) -> Result<Self, Malformed> {
        let mut r = Reader::new(data);
        r.u8()?;
        let element_count = r.u8()?;
        let mic = r.take(mic_len)?;
        let short = Malformed::Truncated { needed: 66 + mic_len, actual: data.len() };
        let anonce = r.take(32)?.first_chunk().ok_or(short)?;
        let snonce = r.take(32)?.first_chunk().ok_or(short)?;
        Ok(FastTransition { element_count, mic, anonce, snonce, subelements: r.rest() })
    }

    fn find(&self, id: u8) -> Option<&'a [u8]> {
        Elements::new(self.subelements).find(id)
    }

    /// Returns R1KH-ID.
    pub fn r1_holder(&self) -> Option<[u8; 6]> {
        self.find(1)?.try_into().ok()
    }

    /// Returns R0KH-ID.
    pub fn r0_holder(&self) -> Option<&'a [u8]> {
        self.find(3).filter(|id| (1..=48).contains(&id.len()))
    }

    /// Returns the group key.
    pub fn gtk(&self) -> Option<WrappedGroupKey<'a>> {
        let mut r = Reader::new(self.find(2)?);
        let info = r.u16_le().ok()?;
        let len = usize::from(r.u8().ok()?);
        r.take(8).ok()?;
        Some(WrappedGroupKey { key_id: info & 3, len, wrapped: r.rest() })
    }

    /// Returns the integrity group key.
    pub fn igtk(&self) -> Option<WrappedGroupKey<'a>> {
        let mut r = Reader::new(self.find(4)?);
        let key_id = r.u16_le().ok()?;
        r.take(6).ok()?;
        let len = usize::from(r.u8().ok()?);
        Some(WrappedGroupKey { key_id, len, wrapped: r.rest() })
    }
}

/// Element identifiers of the first element of a resource container (§9.4.2.49) and of RSNXE.
const RESOURCE_DATA: u8 = 57;
const RSN_EXTENSION: u8 = 244;

/// What the integrity code of a reassociation frame covers (§13.8.4, §13.8.5).
#[derive(Clone, Copy, Debug)]
pub struct Reassociation<'a> {
    /// The station.
    pub station: [u8; 6],
    /// The access point it moves to.
    pub access_point: [u8; 6],
    /// 5 in the request, 6 in the response.
    pub sequence: u8,
    /// The RSN element.
    pub rsn: Element<'a>,
    /// The Mobility Domain element.
    pub mobility_domain: Element<'a>,
    /// The Fast BSS Transition element, the code inside.
    pub fast_transition: Element<'a>,
    /// The resource container, or nothing.
    pub resources: &'a [u8],
    /// The RSN Extension element, if the frame has one.
    pub rsn_extension: Option<Element<'a>>,
}

impl<'a> Reassociation<'a> {
    /// Finds what is covered among the elements of a frame; `None` when one that must be is missing.
    pub fn parse(
        station: [u8; 6],
        access_point: [u8; 6],
        sequence: u8,
        elements: &'a [u8],
    ) -> Option<Self> {
        let find = |id| Elements::new(elements).map_while(Result::ok).find(|e| e.id == id);
        let fast_transition = find(FAST_TRANSITION)?;
        let rsn_extension = find(RSN_EXTENSION);
        // The element says how many are covered: three, RSNXE, and the container has the rest.
        let count = usize::from(*fast_transition.data.get(1)?);
        let rest = count.saturating_sub(3 + usize::from(rsn_extension.is_some()));
        Some(Reassociation {
            station,
            access_point,
            sequence,
            rsn: find(super::rsn::ELEMENT)?,
            mobility_domain: find(MOBILITY_DOMAIN)?,
            fast_transition,
            resources: resources(elements, rest),
            rsn_extension,
        })
    }

    /// Returns whether the code is right.
    pub fn verify(&self, mic: MicAlgorithm, kck: &[u8]) -> bool {
        self.verify_inner(mic, kck).unwrap_or(false)
    }

    fn verify_inner(&self, mic: MicAlgorithm, kck: &[u8]) -> Option<bool> {
        let Reassociation { station, access_point, sequence, .. } = self;
        let ft = FastTransition::parse(self.fast_transition.data, mic.tag_len()).ok()?;
        let (control, rest) = self.fast_transition.data.split_at_checked(2)?;
        let zeros = [0; 32];
        let extension = self.rsn_extension.unwrap_or(Element { id: RSN_EXTENSION, data: &[] });
        let heads = [self.rsn, self.mobility_domain, self.fast_transition, extension].map(head);
        let [rsn, domain, transition, extension_head] = &heads;
        let extension_head: &[u8] = if self.rsn_extension.is_some() { extension_head } else { &[] };
        let parts: [&[u8]; 14] = [
            station,
            access_point,
            core::slice::from_ref(sequence),
            rsn,
            self.rsn.data,
            domain,
            self.mobility_domain.data,
            transition,
            control,
            zeros.get(..mic.tag_len())?,
            rest.get(mic.tag_len()..)?,
            self.resources,
            extension_head,
            extension.data,
        ];
        Some(mic.verify(kck, &parts, ft.mic))
    }
}

/// The two octets before an element's contents.
pub(super) fn head(e: Element<'_>) -> [u8; 2] {
    [e.id, u8::try_from(e.data.len()).unwrap_or(u8::MAX)]
}

/// The bytes of `count` elements from the first of a resource container on.
fn resources(elements: &[u8], count: usize) -> &[u8] {
    let (mut at, mut start, mut left) = (0, None, count);
    for e in Elements::new(elements).map_while(Result::ok) {
        if start.is_none() && e.id == RESOURCE_DATA {
            start = Some(at);
        }
        if start.is_some() {
            if left == 0 {
                break;
            }
            left -= 1;
        }
        at += e.buffer_len();
    }
    start.and_then(|s| elements.get(s..at)).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request with a resource container and RSNXE between other elements.
    fn request(mic: MicAlgorithm, kck: &[u8], station: [u8; 6], ap: [u8; 6]) -> [u8; 140] {
        let mut b = [0; 140];
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            b[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&[0, 2, b'h', b'i', 48, 2, 1, 0, 54, 3, 1, 2, 0]);
        put(&[55, 82, 0, 6]);
        put(&[0; 16]);
        put(&[7; 64]);
        put(&[57, 4, 1, 1, 1, 0, 221, 3, 1, 2, 3, 244, 1, 0x20, 127, 1, 4]);
        let frame = Reassociation::parse(station, ap, 5, &b).unwrap();
        assert_eq!(frame.resources, [57, 4, 1, 1, 1, 0, 221, 3, 1, 2, 3]);
        let covered: [&[u8]; 9] = [
            &station,
            &ap,
            &[5],
            &[48, 2, 1, 0],
            &[54, 3, 1, 2, 0],
            &b[13..97],
            &[57, 4, 1, 1, 1, 0],
            &[221, 3, 1, 2, 3],
            &[244, 1, 0x20],
        ];
        let code = mic.compute(kck, &covered).unwrap();
        b[17..33].copy_from_slice(&code[..16]);
        b
    }

    #[test]
    fn the_code_covers_the_resource_container_and_rsnxe() {
        let (mic, kck) = (MicAlgorithm::AesCmac, [9; 16]);
        let (station, ap) = ([1; 6], [2; 6]);
        let good = request(mic, &kck, station, ap);
        let verify =
            |b: &[u8]| Reassociation::parse(station, ap, 5, b).is_some_and(|f| f.verify(mic, &kck));
        assert!(verify(&good));
        // From the RSN element to RSNXE everything is covered, the SSID before it is not.
        for at in [6, 10, 20, 40, 99, 105, 110] {
            let mut bad = good;
            bad[at] ^= 1;
            assert!(!verify(&bad), "byte {at}");
        }
        let mut other = good;
        other[2] ^= 1;
        assert!(verify(&other), "the SSID is not covered");
        assert!(!Reassociation::parse(station, ap, 6, &good).unwrap().verify(mic, &kck));
    }
}
