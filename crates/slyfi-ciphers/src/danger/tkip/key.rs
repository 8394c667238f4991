//! A TKIP temporal key on single frames: mixing, Michael, RC4, ICV.

use super::michael::{self, MichaelKey, michael};
use super::mixing::{Ttak, phase1, phase2};
use crate::aad::priority;
use crate::danger::rc4::Rc4;
use crate::danger::wep::{ICV_LEN, open_stream, seal_stream};
use crate::packet::{EXT_IV, HEADER_LEN, KeyId, PacketNumber, PacketOpened};
use slyfi_base::{Opened, Overhead};
use slyfi_wire::ieee80211::MacHeader;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Bytes of the Michael code.
pub const MIC_LEN: usize = 8;

/// Why a TKIP frame was refused. The first two look alike from outside; the third counts for the
/// countermeasures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Too short, no Ext IV, or not a data header.
    Malformed,
    /// The ICV was wrong: another key, or noise.
    Icv,
    /// The ICV was right and Michael was not: an attack.
    Michael,
}

/// A 256-bit TKIP temporal key (IEEE 802.11-2020 §12.7.1.3: bits 0–127 for the mixing, 128–191 Michael
/// from the authenticator, 192–255 Michael from the supplicant). Zeroised on drop.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct TkipKey {
    tk: [u8; 16],
    from_authenticator: MichaelKey,
    from_supplicant: MichaelKey,
}

impl core::fmt::Debug for TkipKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("TkipKey(..)")
    }
}

impl TkipKey {
    /// Room around the payload.
    pub const OVERHEAD: Overhead = Overhead { headroom: HEADER_LEN, tailroom: MIC_LEN + ICV_LEN };

    /// Takes the three parts of a temporal key.
    pub fn new(tk: &[u8; 32]) -> Self {
        let part = |at: usize| MichaelKey::new(core::array::from_fn(|i| tk[at + i]));
        TkipKey {
            tk: core::array::from_fn(|i| tk[i]),
            from_authenticator: part(16),
            from_supplicant: part(24),
        }
    }

    /// Returns whether `mic` is the code of the parts. A frame with four addresses does not tell which of
    /// its ends is the authenticator, so it may be under either key.
    fn is_right(&self, header: &MacHeader<'_>, parts: &[&[u8]], mic: &[u8; MIC_LEN]) -> bool {
        let right = |key| michael(key, parts).ct_eq(mic);
        if header.addr4().is_some() {
            return (right(&self.from_authenticator) | right(&self.from_supplicant)).into();
        }
        right(self.michael_key(header)).into()
    }

    /// The Michael key of a frame's direction. What comes from the distribution system comes from the
    /// authenticator; frames between stations take the supplicant's.
    fn michael_key(&self, header: &MacHeader<'_>) -> &MichaelKey {
        if header.frame_control().is_from_ds() {
            &self.from_authenticator
        } else {
            &self.from_supplicant
        }
    }

    /// Computes phase 1 for a transmitter and number; it holds for all numbers with the same upper 32
    /// bits.
    pub fn phase1(&self, transmitter: [u8; 6], number: PacketNumber) -> Ttak {
        phase1(&self.tk, &transmitter, number)
    }

    /// Seals the payload at `buf[8..8 + len]`; `None` when `header` is no data header, the payload is
    /// a fragment (Michael covers whole payloads), or `buf` is too short.
    pub fn seal_at(
        &self,
        ttak: &Ttak,
        number: PacketNumber,
        key_id: KeyId,
        header: &[u8],
        buf: &mut [u8],
        len: usize,
    ) -> Option<usize> {
        let mac = MacHeader::new_checked(header).ok()?;
        let pseudo = pseudo_header(&mac)?;
        if is_fragment(&mac) {
            return None;
        }
        let total = len.checked_add(HEADER_LEN + MIC_LEN + ICV_LEN)?;
        let (front, rest) = buf.get_mut(..total)?.split_at_mut(HEADER_LEN);
        let (payload, trailer) = rest.split_at_mut(len);
        let mic = michael(self.michael_key(&mac), &[&pseudo, payload]);
        trailer.get_mut(..MIC_LEN)?.copy_from_slice(&mic);
        let mut seed = phase2(&self.tk, ttak, number);
        let [s0, s1, s2, ..] = seed;
        let [t5, t4, t3, t2, _, _] = number.to_be_bytes();
        front.copy_from_slice(&[s0, s1, s2, EXT_IV | key_id.octet(), t2, t3, t4, t5]);
        seal_stream(&mut Rc4::new(&[&seed]), rest);
        seed.zeroize();
        Some(total)
    }

    /// Reads the number and key identifier in front of a body.
    pub fn parse_header(body: &[u8]) -> Option<(PacketNumber, KeyId)> {
        let [t1, seed1, t0, octet, t2, t3, t4, t5] = *body.first_chunk::<HEADER_LEN>()?;
        // The second octet is a function of the first (§12.5.2.2); CCMP has PN1 there.
        let tkip = octet & EXT_IV != 0 && seed1 == (t1 | 0x20) & 0x7f;
        tkip.then_some((
            PacketNumber::from_le_bytes([t0, t1, t2, t3, t4, t5]),
            KeyId::of_octet(octet),
        ))
    }

    /// Opens `buf` in place, whatever its number and key identifier. Of a fragment the ICV is checked
    /// and Michael is not: its code comes with the last fragment and covers them all.
    ///
    /// # Errors
    /// [`Refused`]; the contents of `buf` are undefined then.
    pub fn open_any(&self, header: &[u8], buf: &mut [u8]) -> Result<PacketOpened, Refused> {
        let mac = MacHeader::new_checked(header).map_err(|_| Refused::Malformed)?;
        let pseudo = pseudo_header(&mac).ok_or(Refused::Malformed)?;
        let mut packet = open_mpdu(&self.tk, header, buf)?;
        if is_fragment(&mac) {
            return Ok(packet);
        }
        let (payload, mic) =
            packet.opened.payload(buf).split_last_chunk::<MIC_LEN>().ok_or(Refused::Malformed)?;
        if !self.is_right(&mac, &[&pseudo, payload], mic) {
            return Err(Refused::Michael);
        }
        packet.opened = Opened::mint(HEADER_LEN, payload.len());
        Ok(packet)
    }

    /// Returns whether a payload put together from fragments ends with its Michael code. `header` is that
    /// of any of them.
    pub fn proves_whole(&self, header: &[u8], whole: &[u8]) -> bool {
        let Ok(mac) = MacHeader::new_checked(header) else { return false };
        let (Some(pseudo), Some((payload, mic))) =
            (pseudo_header(&mac), whole.split_last_chunk::<MIC_LEN>())
        else {
            return false;
        };
        self.is_right(&mac, &[&pseudo, payload], mic)
    }
}

/// Opens the MPDU layer alone: mixing, RC4, ICV. What it yields ends with the Michael code (of a
/// fragment, with whatever part of payload and code it carried).
///
/// # Errors
/// [`Refused::Malformed`] or [`Refused::Icv`].
///
/// # Security
/// The ICV finds wrong keys and noise. It proves nothing about the sender.
pub fn open_mpdu(tk: &[u8; 16], header: &[u8], buf: &mut [u8]) -> Result<PacketOpened, Refused> {
    let mac = MacHeader::new_checked(header).map_err(|_| Refused::Malformed)?;
    let (number, key_id) = TkipKey::parse_header(buf).ok_or(Refused::Malformed)?;
    let transmitter = mac.addr2().ok_or(Refused::Malformed)?;
    let mut seed = phase2(tk, &phase1(tk, &transmitter.0, number), number);
    let rest = buf.get_mut(HEADER_LEN..).ok_or(Refused::Malformed)?;
    let opened = open_stream(&mut Rc4::new(&[&seed]), rest);
    seed.zeroize();
    let len = opened.map_err(|_| Refused::Icv)?;
    Ok(PacketOpened { opened: Opened::mint(HEADER_LEN, len), number, key_id })
}

fn pseudo_header(mac: &MacHeader<'_>) -> Option<[u8; 16]> {
    if !mac.frame_control().carries_data() {
        return None;
    }
    Some(michael::header(mac.destination()?.0, mac.source()?.0, priority(mac)))
}

fn is_fragment(mac: &MacHeader<'_>) -> bool {
    mac.frame_control().has_more_fragments() || mac.sequence().is_none_or(|s| s.fragment() != 0)
}
