//! CCMP-128 and CCMP-256 (IEEE 802.11-2020 §12.5.3): CCM on 802.11 frames.
//!
//! # Layout
//! `PN0 PN1 0 key-id PN2 PN3 PN4 PN5 | payload | MIC (8 or 16)`; the nonce is `flags 1 | A2 6 | PN 6`
//! with the priority in the low four bits of the flags and bit 4 set for management frames.

use crate::aad::{Aad, priority};
use crate::ccm::{Ccm, Parameters};
use crate::packet::{
    HEADER_LEN, KeyId, PacketCipher, PacketKey, PacketNumber, PacketOpened, emit_header,
    parse_header,
};
use slyfi_base::{Opened, Overhead, Undecryptable};
use slyfi_wire::ieee80211::{MacHeader, Type};

/// A CCMP temporal key with a MIC of `MIC` bytes: 8 over AES-128, 16 over AES-256.
#[derive(Clone, Debug)]
pub struct CcmpKey<const MIC: usize>(Ccm);

/// A CCMP-128 temporal key.
pub type Ccmp128Key = CcmpKey<8>;
/// A CCMP-256 temporal key.
pub type Ccmp256Key = CcmpKey<16>;
/// CCMP-128 as a link cipher.
pub type Ccmp128 = PacketCipher<Ccmp128Key>;
/// CCMP-256 as a link cipher.
pub type Ccmp256 = PacketCipher<Ccmp256Key>;

impl Ccmp128Key {
    /// Expands a temporal key.
    pub fn new(tk: &[u8; 16]) -> Self {
        CcmpKey(Ccm::new(tk, Parameters::CCMP_128).expect("AES-128 takes sixteen bytes"))
    }

    /// Takes an AES-128 key that is expanded already: for measurements of one backend.
    #[doc(hidden)]
    pub const fn with_key(key: slyfi_aes::CcmKey) -> Self {
        CcmpKey(Ccm::with_key(key, Parameters::CCMP_128))
    }
}

impl Ccmp256Key {
    /// Expands a temporal key.
    pub fn new(tk: &[u8; 32]) -> Self {
        CcmpKey(Ccm::new(tk, Parameters::CCMP_256).expect("AES-256 takes thirty-two bytes"))
    }
}

/// The nonce of §12.5.3.3.4.
fn nonce(header: &MacHeader<'_>, number: PacketNumber) -> Option<[u8; 13]> {
    let management = header.frame_control().kind() == Type::Management;
    let [a, b, c, d, e, f] = header.addr2()?.0;
    let [p5, p4, p3, p2, p1, p0] = number.to_be_bytes();
    let flags = priority(header) | u8::from(management) << 4;
    Some([flags, a, b, c, d, e, f, p5, p4, p3, p2, p1, p0])
}

impl<const MIC: usize> PacketKey for CcmpKey<MIC> {
    const OVERHEAD: Overhead = Overhead { headroom: HEADER_LEN, tailroom: MIC };

    fn seal_at(
        &self,
        number: PacketNumber,
        key_id: KeyId,
        header: &[u8],
        buf: &mut [u8],
        len: usize,
    ) -> Option<usize> {
        let mac = MacHeader::new_checked(header).ok()?;
        let (aad, nonce) = (Aad::new(&mac)?, nonce(&mac, number)?);
        let total = len.checked_add(HEADER_LEN + MIC)?;
        let (front, rest) = buf.get_mut(..total)?.split_at_mut(HEADER_LEN);
        let (data, tag) = rest.split_at_mut(len);
        self.0.seal_in_place(&nonce, aad.as_bytes(), data, tag).ok()?;
        front.copy_from_slice(&emit_header(number, key_id));
        Some(total)
    }

    fn open_any(&self, header: &[u8], buf: &mut [u8]) -> Result<PacketOpened, Undecryptable> {
        let mac = MacHeader::new_checked(header).map_err(|_| Undecryptable)?;
        let (number, key_id) = parse_header(buf).ok_or(Undecryptable)?;
        let aad = Aad::new(&mac).ok_or(Undecryptable)?;
        let nonce = nonce(&mac, number).ok_or(Undecryptable)?;
        let len = buf.len().checked_sub(HEADER_LEN + MIC).ok_or(Undecryptable)?;
        let (data, tag) = buf.get_mut(HEADER_LEN..).ok_or(Undecryptable)?.split_at_mut(len);
        self.0.open_in_place(&nonce, aad.as_bytes(), data, tag)?;
        Ok(PacketOpened { opened: Opened::mint(HEADER_LEN, len), number, key_id })
    }
}
