//! CCMP-128 and CCMP-256 (IEEE 802.11-2020 §12.5.3): CCM on 802.11 frames.
//!
//! # Layout
//! `PN0 PN1 0 key-id PN2 PN3 PN4 PN5 | payload | MIC (8 or 16)`; the nonce is `flags 1 | A2 6 | PN 6`
//! with the priority in the low four bits of the flags and bit 4 set for management frames.

use crate::aad::{Aad, priority};
use crate::ccm::{Ccm, FirstBlocks, Parameters};
use crate::packet::{
    Frames, HEADER_LEN, KeyId, PacketCipher, PacketKey, PacketNumber, PacketOpenFrame,
    PacketOpened, PacketSealFrame, emit_header, parse_header,
};
use slyfi_aes::{CcmHead, CcmOpen, CcmSeal, Mismatch, ccm_open_batch, ccm_seal_batch};
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
        CcmpKey(Ccm::new(tk, parameters::<8>()).expect("AES-128 takes sixteen bytes"))
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
        CcmpKey(Ccm::new(tk, parameters::<16>()).expect("AES-256 takes thirty-two bytes"))
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
        let (aad, nonce) = covered(header, number)?;
        let (front, data, tag) = parts::<MIC>(buf, len)?;
        self.0.seal_in_place(&nonce, aad.as_bytes(), data, tag).ok()?;
        front.copy_from_slice(&emit_header(number, key_id));
        Some(HEADER_LEN + len + MIC)
    }

    fn open_any(&self, header: &[u8], buf: &mut [u8]) -> Result<PacketOpened, Undecryptable> {
        let (number, key_id) = parse_header(buf).ok_or(Undecryptable)?;
        let (aad, nonce) = covered(header, number).ok_or(Undecryptable)?;
        let len = buf.len().checked_sub(HEADER_LEN + MIC).ok_or(Undecryptable)?;
        let (_, data, tag) = parts::<MIC>(buf, len).ok_or(Undecryptable)?;
        self.0.open_in_place(&nonce, aad.as_bytes(), data, tag)?;
        Ok(PacketOpened { opened: Opened::mint(HEADER_LEN, len), number, key_id })
    }

    fn seals(header: &[u8], room: usize, len: usize) -> bool {
        let total = len.checked_add(HEADER_LEN + MIC);
        total.is_some_and(|total| total <= room)
            && len as u64 <= parameters::<MIC>().max_len()
            && covered(header, PacketNumber::default()).is_some()
    }

    fn seal_side_by_side(frames: &mut Frames<PacketSealFrame<'_, Self>>) {
        let starts: Frames<_> =
            frames.iter().map(|f| Start::new::<MIC>(f.header, f.number, f.len)).collect();
        let (mut jobs, mut rest) = (Frames::new(), Frames::new());
        for (f, start) in frames.iter_mut().zip(&starts) {
            f.sealed = None;
            let (Some(start), Some((front, data, tag))) = (start, parts::<MIC>(f.buf, f.len))
            else {
                continue;
            };
            front.copy_from_slice(&emit_header(f.number, f.key_id));
            jobs.push(CcmSeal { key: f.key.0.key(), head: start.head(), data, tag: [0; 16] });
            rest.push((tag, &mut f.sealed, HEADER_LEN + f.len + MIC));
        }
        ccm_seal_batch(&mut jobs);
        for (job, (tag, sealed, total)) in jobs.iter().zip(rest) {
            for (byte, value) in tag.iter_mut().zip(&job.tag) {
                *byte = *value;
            }
            *sealed = Some(total);
        }
    }

    fn open_side_by_side(frames: &mut Frames<PacketOpenFrame<'_, Self>>) {
        let start = |f: &PacketOpenFrame<'_, Self>| {
            let (number, _) = parse_header(f.buf)?;
            Start::new::<MIC>(f.header, number, f.buf.len().checked_sub(HEADER_LEN + MIC)?)
        };
        let starts: Frames<_> = frames.iter().map(start).collect();
        let (mut jobs, mut rest) = (Frames::new(), Frames::new());
        for (f, start) in frames.iter_mut().zip(&starts) {
            f.opened = Err(Undecryptable);
            let len = f.buf.len().saturating_sub(HEADER_LEN + MIC);
            let (Some(start), Some((front, data, tag))) = (start, parts::<MIC>(f.buf, len)) else {
                continue;
            };
            let (key, head, result) = (f.key.0.key(), start.head(), Err(Mismatch));
            jobs.push(CcmOpen { key, head, data, tag, result });
            rest.push((front, &mut f.opened));
        }
        ccm_open_batch(&mut jobs);
        for (job, (front, opened)) in jobs.iter().zip(rest) {
            if let (Ok(()), Some((number, key_id))) = (job.result, parse_header(front)) {
                let payload = Opened::mint(HEADER_LEN, job.data.len());
                *opened = Ok(PacketOpened { opened: payload, number, key_id });
            }
        }
    }
}

/// What the MIC of a frame covers beside its payload, and its nonce; `None` for a header that is
/// neither of data nor of management.
fn covered(header: &[u8], number: PacketNumber) -> Option<(Aad, [u8; 13])> {
    let mac = MacHeader::new_checked(header).ok()?;
    Some((Aad::new(&mac)?, nonce(&mac, number)?))
}

/// The CCMP header, the payload of `len` bytes and the MIC; `None` when there is no room for them.
fn parts<const MIC: usize>(
    buf: &mut [u8],
    len: usize,
) -> Option<(&mut [u8], &mut [u8], &mut [u8])> {
    let total = len.checked_add(HEADER_LEN + MIC)?;
    let (front, rest) = buf.get_mut(..total)?.split_at_mut(HEADER_LEN);
    let (data, tag) = rest.split_at_mut(len);
    Some((front, data, tag))
}

/// The CCM parameters of CCMP with a MIC of `MIC` bytes.
const fn parameters<const MIC: usize>() -> Parameters {
    if MIC == 16 { Parameters::CCMP_256 } else { Parameters::CCMP_128 }
}

/// What one frame of a batch begins with.
struct Start {
    blocks: FirstBlocks,
    aad: Aad,
    /// How much of the associated data is in the blocks.
    used: usize,
}

impl Start {
    /// For a payload of `len` bytes; `None` when it is too long or the header is of the wrong kind.
    fn new<const MIC: usize>(header: &[u8], number: PacketNumber, len: usize) -> Option<Self> {
        if len as u64 > parameters::<MIC>().max_len() {
            return None;
        }
        let (aad, nonce) = covered(header, number)?;
        let (blocks, rest) = FirstBlocks::new(parameters::<MIC>(), &nonce, aad.as_bytes(), len);
        let used = aad.as_bytes().len() - rest.len();
        Some(Start { blocks, aad, used })
    }

    fn head(&self) -> CcmHead<'_> {
        self.blocks.head(self.aad.as_bytes().get(self.used..).unwrap_or_default())
    }
}
