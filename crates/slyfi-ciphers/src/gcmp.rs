//! GCMP-128 and GCMP-256 (IEEE 802.11-2020 §12.5.5): GCM on 802.11 frames.
//!
//! # Layout
//! `PN0 PN1 0 key-id PN2 PN3 PN4 PN5 | payload | MIC 16`; the nonce is `A2 6 | PN 6`, and the
//! associated data is CCMP's.

use crate::aad::Aad;
use crate::packet::{
    HEADER_LEN, KeyId, PacketCipher, PacketKey, PacketNumber, PacketOpened, emit_header,
    parse_header,
};
use slyfi_aes::GcmKey;
use slyfi_base::{Opened, Overhead, Undecryptable};
use slyfi_wire::ieee80211::MacHeader;

/// Bytes of the MIC, whatever the key's size.
const MIC: usize = 16;

/// A GCMP temporal key of either size.
#[derive(Clone, Debug)]
pub struct GcmpKey(GcmKey);

/// GCMP-128 or GCMP-256 as a link cipher.
pub type Gcmp = PacketCipher<GcmpKey>;

impl GcmpKey {
    /// A GCMP-128 temporal key.
    pub fn new_128(tk: &[u8; 16]) -> Self {
        GcmpKey(GcmKey::new_128(tk))
    }

    /// A GCMP-256 temporal key.
    pub fn new_256(tk: &[u8; 32]) -> Self {
        GcmpKey(GcmKey::new_256(tk))
    }
}

/// The nonce of §12.5.5.3.4. The priority is not in it: one counter numbers all of a transmitter's
/// frames.
fn nonce(header: &MacHeader<'_>, number: PacketNumber) -> Option<[u8; 12]> {
    let [a, b, c, d, e, f] = header.addr2()?.0;
    let [p5, p4, p3, p2, p1, p0] = number.to_be_bytes();
    Some([a, b, c, d, e, f, p5, p4, p3, p2, p1, p0])
}

impl PacketKey for GcmpKey {
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
        tag.copy_from_slice(&self.0.seal_in_place(&nonce, aad.as_bytes(), data));
        front.copy_from_slice(&emit_header(number, key_id));
        Some(total)
    }

    fn open_any(&self, header: &[u8], buf: &mut [u8]) -> Result<PacketOpened, Undecryptable> {
        let mac = MacHeader::new_checked(header).map_err(|_| Undecryptable)?;
        let (number, key_id) = parse_header(buf).ok_or(Undecryptable)?;
        let aad = Aad::new(&mac).ok_or(Undecryptable)?;
        let nonce = nonce(&mac, number).ok_or(Undecryptable)?;
        let (rest, tag) = buf.split_last_chunk_mut::<MIC>().ok_or(Undecryptable)?;
        let data = rest.get_mut(HEADER_LEN..).ok_or(Undecryptable)?;
        self.0.open_in_place(&nonce, aad.as_bytes(), data, tag).map_err(|_| Undecryptable)?;
        let opened = Opened::mint(HEADER_LEN, data.len());
        Ok(PacketOpened { opened, number, key_id })
    }
}
