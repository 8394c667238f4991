//! EAPOL-Key frames (IEEE 802.11-2020 §12.7.2; the EAPOL header is 802.1X's).
//!
//! # Layout (big-endian)
//! `version 1 | 3 | length 2 || type 1 | information 2 | key length 2 | replay counter 8 | nonce 32 |
//! IV 16 | RSC 8 | reserved 8 | MIC 16, 24 or 32 | data length 2 | data`

use slyfi_wire::{Malformed, NoSpace, Reader, Writer};

/// The EtherType of EAPOL.
pub const ETHER_TYPE: u16 = 0x888e;

/// EAPOL packet type: EAPOL-Key.
const PACKET_TYPE_KEY: u8 = 3;

/// Bytes up to the MIC, the EAPOL header included.
const BEFORE_MIC: usize = 81;

/// Key descriptor type of RSN.
pub const DESCRIPTOR_RSN: u8 = 2;
/// Key descriptor type of WPA.
pub const DESCRIPTOR_WPA: u8 = 254;

/// The key information field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct KeyInfo(pub u16);

impl KeyInfo {
    /// Pairwise (and not group) key.
    pub const PAIRWISE: u16 = 0x0008;
    /// Install the key.
    pub const INSTALL: u16 = 0x0040;
    /// An answer is expected.
    pub const ACK: u16 = 0x0080;
    /// The MIC field is in use.
    pub const MIC: u16 = 0x0100;
    /// The initial exchange is complete.
    pub const SECURE: u16 = 0x0200;
    /// The supplicant found a Michael failure.
    pub const ERROR: u16 = 0x0400;
    /// The supplicant asks for a handshake.
    pub const REQUEST: u16 = 0x0800;
    /// The key data is encrypted.
    pub const ENCRYPTED: u16 = 0x1000;

    /// Returns the key descriptor version, 0 to 7.
    pub const fn version(self) -> u8 {
        (self.0 & 7) as u8
    }

    /// Returns WPA's key index, 0 to 3.
    pub const fn key_index(self) -> u8 {
        (self.0 >> 4 & 3) as u8
    }

    /// Returns whether all bits of `mask` are set.
    pub const fn has(self, mask: u16) -> bool {
        self.0 & mask == mask
    }
}

/// Which message of which handshake a frame is (§12.7.6, §12.7.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Message {
    /// 4-way: the authenticator's nonce.
    M1,
    /// 4-way: the supplicant's nonce, proven.
    M2,
    /// 4-way: the authenticator proves itself and sends the group key.
    M3,
    /// 4-way: done.
    M4,
    /// Group: a new group key.
    Group1,
    /// Group: done.
    Group2,
    /// The supplicant asks or reports.
    Request,
}

/// A checked view of an EAPOL-Key frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EapolKey<'a> {
    frame: &'a [u8],
    mic_len: usize,
    /// Key descriptor type: [`DESCRIPTOR_RSN`] or [`DESCRIPTOR_WPA`].
    pub descriptor: u8,
    /// Key information.
    pub info: KeyInfo,
    /// Key length.
    pub key_length: u16,
    /// Replay counter.
    pub replay_counter: u64,
    /// Nonce.
    pub nonce: &'a [u8; 32],
    /// IV of RC4 key data.
    pub iv: &'a [u8; 16],
    /// Receive sequence counter of the group key, least significant byte first.
    pub rsc: [u8; 8],
    /// The integrity code.
    pub mic: &'a [u8],
    /// Key data.
    pub data: &'a [u8],
}

impl<'a> EapolKey<'a> {
    /// Looks at an EAPOL packet whose integrity code has `mic_len` bytes: 16, 24 or 32, or 0 where
    /// AES-SIV stands for it (FILS). Bytes behind its length are ignored.
    ///
    /// # Errors
    /// [`Malformed::Truncated`] when fields are missing; [`Malformed::Value`] when it is no EAPOL-Key
    /// frame of a known descriptor; [`Malformed::Trailing`] when the data does not end where the frame
    /// does, which is how a wrong `mic_len` shows.
    pub fn new_checked(packet: &'a [u8], mic_len: usize) -> Result<Self, Malformed> {
        let mut r = Reader::new(packet);
        r.u8()?;
        if r.u8()? != PACKET_TYPE_KEY {
            return Err(Malformed::Value { offset: 1 });
        }
        let end = 4 + usize::from(r.u16_be()?);
        let frame =
            packet.get(..end).ok_or(Malformed::Truncated { needed: end, actual: packet.len() })?;
        let mut r = Reader::new(frame);
        r.take(4)?;
        let descriptor = r.u8()?;
        if descriptor != DESCRIPTOR_RSN && descriptor != DESCRIPTOR_WPA {
            return Err(Malformed::Value { offset: 4 });
        }
        let info = KeyInfo(r.u16_be()?);
        let (key_length, replay_counter) = (r.u16_be()?, r.u64_be()?);
        let short = Malformed::Truncated { needed: BEFORE_MIC, actual: frame.len() };
        let nonce = r.take(32)?.first_chunk().ok_or(short)?;
        let iv = r.take(16)?.first_chunk().ok_or(short)?;
        let rsc = r.array()?;
        r.take(8)?;
        let mic = r.take(mic_len)?;
        let len = usize::from(r.u16_be()?);
        let data = r.take(len)?;
        if mic_len == 0 {
            // hostapd 2.10 counts padding here that it does not send as data.
            r.rest();
        }
        r.finish()?;
        Ok(EapolKey {
            frame,
            mic_len,
            descriptor,
            info,
            key_length,
            replay_counter,
            nonce,
            iv,
            rsc,
            mic,
            data,
        })
    }

    /// Returns the frame in three parts with a zero MIC: what the integrity code covers.
    pub fn parts_without_mic(&self) -> [&'a [u8]; 3] {
        const ZEROS: &[u8; 32] = &[0; 32];
        let (before, rest) = self.frame.split_at_checked(BEFORE_MIC).unwrap_or((self.frame, &[]));
        let zeros = ZEROS.get(..self.mic_len).unwrap_or(ZEROS);
        [before, zeros, rest.get(self.mic_len..).unwrap_or(&[])]
    }

    /// Returns which message it is; `None` for combinations of bits that no handshake has.
    pub fn message(&self) -> Option<Message> {
        let i = self.info;
        if i.has(KeyInfo::REQUEST) {
            return Some(Message::Request);
        }
        match (i.has(KeyInfo::PAIRWISE), i.has(KeyInfo::ACK), i.has(KeyInfo::MIC)) {
            (true, true, false) => Some(Message::M1),
            (true, true, true) => Some(Message::M3),
            // Message 2 carries the supplicant's element, message 4 nothing. The Secure bit does not
            // tell them apart: WPA never sets it in either, a rekey sets it in both.
            (true, false, true) if !self.data.is_empty() => Some(Message::M2),
            (true, false, true) => Some(Message::M4),
            (false, true, true) => Some(Message::Group1),
            (false, false, true) => Some(Message::Group2),
            (_, _, false) => None,
        }
    }
}

/// The meaning of an EAPOL-Key frame, to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EapolKeyRepr<'a> {
    /// EAPOL version, 1 to 3.
    pub version: u8,
    /// Key descriptor type.
    pub descriptor: u8,
    /// Key information.
    pub info: KeyInfo,
    /// Key length.
    pub key_length: u16,
    /// Replay counter.
    pub replay_counter: u64,
    /// Nonce.
    pub nonce: [u8; 32],
    /// IV of RC4 key data.
    pub iv: [u8; 16],
    /// Receive sequence counter.
    pub rsc: [u8; 8],
    /// Length of the integrity code: 16, 24 or 32.
    pub mic_len: usize,
    /// Key data, wrapped already where it has to be.
    pub data: &'a [u8],
}

impl EapolKeyRepr<'_> {
    /// Returns the frame's length in bytes.
    pub const fn buffer_len(&self) -> usize {
        BEFORE_MIC + self.mic_len + 2 + self.data.len()
    }

    /// Writes the frame with a zero MIC; [`EapolKeyRepr::prove`] puts it in.
    ///
    /// # Errors
    /// [`NoSpace`] when `buf` is too short.
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, NoSpace> {
        let len = self.buffer_len();
        let mut w = Writer::new(buf, len)?;
        w.u8(self.version);
        w.u8(PACKET_TYPE_KEY);
        w.u16_be((len - 4) as u16);
        w.u8(self.descriptor);
        w.u16_be(self.info.0);
        w.u16_be(self.key_length);
        w.u64_be(self.replay_counter);
        w.put(&self.nonce);
        w.put(&self.iv);
        w.put(&self.rsc);
        w.put(&[0; 8]);
        w.put([0; 32].get(..self.mic_len).unwrap_or(&[]));
        w.u16_be(self.data.len() as u16);
        w.put(self.data);
        Ok(w.finish())
    }

    /// Computes the integrity code of an emitted frame and writes it into its place, whatever stood
    /// there.
    pub fn prove(frame: &mut [u8], mic: super::MicAlgorithm, kck: &[u8]) -> Option<()> {
        let end = BEFORE_MIC + mic.tag_len();
        frame.get_mut(BEFORE_MIC..end)?.fill(0);
        let full = mic.compute(kck, &[frame])?;
        frame.get_mut(BEFORE_MIC..end)?.copy_from_slice(full.get(..mic.tag_len())?);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::MicAlgorithm;
    use super::*;

    fn repr(data: &[u8], mic_len: usize) -> EapolKeyRepr<'_> {
        EapolKeyRepr {
            version: 2,
            descriptor: DESCRIPTOR_RSN,
            info: KeyInfo(2 | KeyInfo::PAIRWISE | KeyInfo::MIC),
            key_length: 16,
            replay_counter: 0x0102_0304_0506_0708,
            nonce: [7; 32],
            iv: [8; 16],
            rsc: [1, 2, 3, 4, 5, 6, 0, 0],
            mic_len,
            data,
        }
    }

    #[test]
    fn frames_are_read_as_they_were_written_and_prove_themselves() {
        for mic in [MicAlgorithm::AesCmac, MicAlgorithm::HmacSha384, MicAlgorithm::HmacSha512] {
            let r = repr(&[48, 2, 1, 0], mic.tag_len());
            let mut buf = [0; 200];
            let len = r.emit(&mut buf).unwrap();
            // A second time gives the same.
            EapolKeyRepr::prove(&mut buf[..len], mic, &[3; 16]).unwrap();
            EapolKeyRepr::prove(&mut buf[..len], mic, &[3; 16]).unwrap();
            let view = EapolKey::new_checked(&buf[..len + 5], mic.tag_len()).unwrap();
            assert_eq!(view.replay_counter, r.replay_counter);
            assert_eq!((view.nonce, view.iv, view.rsc), (&r.nonce, &r.iv, r.rsc));
            assert_eq!(view.message(), Some(Message::M2));
            assert!(mic.verify(&[3; 16], &view.parts_without_mic(), view.mic));
            assert!(!mic.verify(&[4; 16], &view.parts_without_mic(), view.mic));
        }
    }

    #[test]
    fn a_wrong_mic_length_a_cut_frame_and_another_packet_type_are_refused() {
        let mut buf = [0; 200];
        let len = repr(&[48, 2, 1, 0], 16).emit(&mut buf).unwrap();
        assert!(EapolKey::new_checked(&buf[..len], 16).is_ok());
        assert!(EapolKey::new_checked(&buf[..len], 24).is_err());
        for n in 0..len {
            assert!(EapolKey::new_checked(&buf[..n], 16).is_err());
        }
        buf[1] = 0;
        assert_eq!(EapolKey::new_checked(&buf[..len], 16), Err(Malformed::Value { offset: 1 }));
    }

    #[test]
    fn messages_are_told_apart_by_their_bits() {
        let message = |bits: u16, data: &[u8]| {
            let mut buf = [0; 200];
            let r = EapolKeyRepr { info: KeyInfo(bits), ..repr(data, 16) };
            let len = r.emit(&mut buf).unwrap();
            EapolKey::new_checked(&buf[..len], 16).unwrap().message()
        };
        let (p, a, m) = (KeyInfo::PAIRWISE, KeyInfo::ACK, KeyInfo::MIC);
        assert_eq!(message(p | a, &[]), Some(Message::M1));
        assert_eq!(message(p | m, &[1]), Some(Message::M2));
        assert_eq!(message(p | a | m, &[1]), Some(Message::M3));
        assert_eq!(message(p | m, &[]), Some(Message::M4));
        assert_eq!(message(a | m, &[1]), Some(Message::Group1));
        assert_eq!(message(m, &[]), Some(Message::Group2));
        assert_eq!(message(m | KeyInfo::REQUEST, &[]), Some(Message::Request));
        assert_eq!(message(p, &[]), None);
    }
}
