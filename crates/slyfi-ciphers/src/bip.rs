//! BIP: integrity of group-addressed management frames (IEEE 802.11-2020 §12.5.4), CMAC and GMAC, 128
//! and 256 bits. Nothing is encrypted; a Management MIC element at the end of the body proves it.
//!
//! # Layout
//! `… | 76 | length | key id 2 | IPN 6 | MIC (8 with CMAC-128, else 16)`. The MIC covers
//! `FC (Retry, Power Management, More Data zero) | A1 | A2 | A3` and the body with a zero MIC.

use crate::packet::PacketNumber;
use cmac::{Cmac, KeyInit, Mac};
use slyfi_base::Undecryptable;
use slyfi_wire::ieee80211::{MacHeader, Type};
use subtle::ConstantTimeEq;

/// Element identifier of the Management MIC element (§9.4.2.54).
pub const MANAGEMENT_MIC: u8 = 76;

/// Which algorithm an integrity group key is for (§9.4.2.24.2, suites 6, 11, 12, 13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BipSuite {
    /// BIP-CMAC-128.
    Cmac128,
    /// BIP-GMAC-128.
    Gmac128,
    /// BIP-GMAC-256.
    Gmac256,
    /// BIP-CMAC-256.
    Cmac256,
}

impl BipSuite {
    /// Returns the suite of a selector type under 00-0F-AC, if it is one of these.
    pub const fn from_suite_type(kind: u8) -> Option<Self> {
        match kind {
            6 => Some(BipSuite::Cmac128),
            11 => Some(BipSuite::Gmac128),
            12 => Some(BipSuite::Gmac256),
            13 => Some(BipSuite::Cmac256),
            _ => None,
        }
    }

    const fn mic_len(self) -> usize {
        if matches!(self, BipSuite::Cmac128) { 8 } else { 16 }
    }
}

/// What a frame's Management MIC element says, once it verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Key identifier, 4 or 5 (6 or 7 for beacons).
    pub key_id: u16,
    /// The packet number; a receiver with state refuses those not above its counter.
    pub number: PacketNumber,
    /// How many bytes of the body come before the element.
    pub body_len: usize,
}

/// Bytes of a Management MIC element before the MIC.
const BEFORE_MIC: usize = 10;

/// Returns whether `body` could end with a Management MIC element of either length.
pub fn has_management_mic(body: &[u8]) -> bool {
    [8, 16].into_iter().any(|mic| element(body, mic).is_some())
}

fn element(body: &[u8], mic_len: usize) -> Option<(usize, &[u8])> {
    let start = body.len().checked_sub(BEFORE_MIC + mic_len)?;
    let element = body.get(start..)?;
    let [id, len, ..] = *element else { return None };
    (id == MANAGEMENT_MIC && usize::from(len) == 8 + mic_len).then_some((start, element))
}

/// Checks a group-addressed management frame (without frame check sequence).
///
/// # Errors
/// [`Undecryptable`] when there is no such element, the key has not the suite's length, or the MIC
/// does not verify.
pub fn verify(suite: BipSuite, igtk: &[u8], frame: &[u8]) -> Result<Verified, Undecryptable> {
    let mac = MacHeader::new_checked(frame).map_err(|_| Undecryptable)?;
    if mac.frame_control().kind() != Type::Management || !mac.addr1().is_group() {
        return Err(Undecryptable);
    }
    let (body_len, element) = element(mac.body(), suite.mic_len()).ok_or(Undecryptable)?;
    let (covered, sent) = element.split_at(BEFORE_MIC);
    let ipn: [u8; 6] = covered.get(4..).and_then(|b| b.try_into().ok()).ok_or(Undecryptable)?;
    let number = PacketNumber::from_le_bytes(ipn);
    let before = mac.body().get(..body_len).ok_or(Undecryptable)?;
    let zeros = [0; 16];
    let zero_mic = zeros.get(..sent.len()).ok_or(Undecryptable)?;
    let aad = aad(&mac).ok_or(Undecryptable)?;
    let parts: [&[u8]; 4] = [&aad, before, covered, zero_mic];
    let mic = mic(suite, igtk, &mac, number, parts).ok_or(Undecryptable)?;
    let same = mic.get(..sent.len()).is_some_and(|m| m.ct_eq(sent).into());
    let key_id = u16::from_le_bytes([
        covered.get(2).copied().unwrap_or(0),
        covered.get(3).copied().unwrap_or(0),
    ]);
    if same { Ok(Verified { key_id, number, body_len }) } else { Err(Undecryptable) }
}

fn aad(mac: &MacHeader<'_>) -> Option<[u8; 20]> {
    let fc =
        mac.frame_control().with_retry(false).with_power_management(false).with_more_data(false);
    let mut aad = [0; 20];
    let (a, rest) = aad.split_at_mut(2);
    a.copy_from_slice(&fc.0.to_le_bytes());
    for (place, address) in rest.chunks_mut(6).zip([mac.addr1(), mac.addr2()?, mac.addr3()?]) {
        place.copy_from_slice(&address.0);
    }
    Some(aad)
}

fn mic(
    suite: BipSuite,
    igtk: &[u8],
    mac: &MacHeader<'_>,
    number: PacketNumber,
    parts: [&[u8]; 4],
) -> Option<[u8; 16]> {
    match suite {
        BipSuite::Cmac128 => Some(slyfi_aes::Cmac::new(igtk.try_into().ok()?).mac(&parts)),
        BipSuite::Cmac256 => {
            let mut cmac = Cmac::<aes::Aes256>::new_from_slice(igtk).ok()?;
            parts.iter().for_each(|p| cmac.update(p));
            Some(cmac.finalize().into_bytes().into())
        }
        BipSuite::Gmac128 => {
            gmac(&slyfi_aes::GcmKey::new_128(igtk.try_into().ok()?), mac, number, parts)
        }
        BipSuite::Gmac256 => {
            gmac(&slyfi_aes::GcmKey::new_256(igtk.try_into().ok()?), mac, number, parts)
        }
    }
}

/// The longest management frame body that is checked with GMAC, which takes its input in one piece
/// (§9.2.4.8: an MMPDU has at most 2304 bytes).
const MAX_GMAC_INPUT: usize = 20 + 2304;

fn gmac(
    key: &slyfi_aes::GcmKey,
    mac: &MacHeader<'_>,
    number: PacketNumber,
    parts: [&[u8]; 4],
) -> Option<[u8; 16]> {
    let mut input = [0; MAX_GMAC_INPUT];
    let mut len = 0;
    for part in parts {
        input.get_mut(len..len + part.len())?.copy_from_slice(part);
        len += part.len();
    }
    let mut nonce = [0; 12];
    let (a2, ipn) = nonce.split_at_mut(6);
    a2.copy_from_slice(&mac.addr2()?.0);
    ipn.copy_from_slice(&number.to_be_bytes());
    Some(key.seal_in_place(&nonce, input.get(..len)?, &mut []))
}
