//! EAPOL-Key frames as a handshake sends and reads them: composed, proven, wrapped, in one buffer.

use super::eapol::{DESCRIPTOR_RSN, EapolKey, EapolKeyRepr, KeyInfo};
use super::kde::{MAX_KEY_DATA, emit_gtk};
use super::wrap::{aes_wrap, open_key_data, rc4_in_place};
use super::{GroupKey, MicAlgorithm, Profile, Ptk};
use slyfi_base::SecureRandom;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The longest EAPOL-Key frame that is sent: 99 bytes around the key data and its wrapping.
const MAX_PACKET: usize = 99 + MAX_KEY_DATA + 8;

/// An EAPOL packet to be sent, without Ethernet or LLC header.
#[derive(Clone, PartialEq, Eq)]
pub struct Packet {
    bytes: [u8; MAX_PACKET],
    len: usize,
}

impl Packet {
    /// Returns the packet.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&self.bytes)
    }
}

impl core::fmt::Debug for Packet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Packet({} bytes)", self.len)
    }
}

/// Why a received EAPOL-Key frame had no effect. Nothing of it is told to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No EAPOL-Key frame of this profile.
    Malformed,
    /// Not the message that is waited for.
    Unexpected,
    /// A replay counter that was used, or was never sent.
    Replayed,
    /// The integrity code is wrong: another key, or another sender.
    Unverified,
    /// Verified, but it names other suites than were agreed on: somebody changed them on their way.
    OtherElement,
}

/// What is different from message to message.
#[derive(Default)]
pub(crate) struct Parts<'a> {
    pub info: u16,
    pub replay_counter: u64,
    pub nonce: [u8; 32],
    pub rsc: [u8; 8],
    pub key_length: u16,
    pub data: &'a [u8],
}

/// Composes a frame; with `ptk` it is proven, and its data wrapped where `info` says encrypted.
///
/// `None` only when the data do not fit, which the callers' constants exclude.
pub(crate) fn compose(
    profile: Profile,
    ptk: Option<&Ptk>,
    parts: &Parts<'_>,
    rng: &mut dyn SecureRandom,
) -> Option<Packet> {
    let mic = profile.suite().mic;
    let mut iv = [0; 16];
    let mut wrapped = [0; MAX_KEY_DATA + 8];
    let data = match ptk {
        Some(ptk) if parts.info & KeyInfo::ENCRYPTED != 0 => {
            wrap(mic, ptk, &mut iv, parts.data, &mut wrapped, rng)?
        }
        _ => parts.data,
    };
    let repr = EapolKeyRepr {
        // 802.1X-2004, which 802.11 cites.
        version: 2,
        descriptor: DESCRIPTOR_RSN,
        info: KeyInfo(parts.info | profile.version()),
        key_length: parts.key_length,
        replay_counter: parts.replay_counter,
        nonce: parts.nonce,
        iv,
        rsc: parts.rsc,
        mic_len: mic.tag_len(),
        data,
    };
    let mut packet = Packet { bytes: [0; MAX_PACKET], len: 0 };
    packet.len = repr.emit(&mut packet.bytes).ok()?;
    if let Some(ptk) = ptk {
        EapolKeyRepr::prove(packet.bytes.get_mut(..packet.len)?, mic, ptk.kck.as_bytes())?;
    }
    Some(packet)
}

/// Encrypts key data (§12.7.2: RC4 as they are for version 1, AES key wrap after padding else).
fn wrap<'b>(
    mic: MicAlgorithm,
    ptk: &Ptk,
    iv: &mut [u8; 16],
    data: &[u8],
    out: &'b mut [u8; MAX_KEY_DATA + 8],
    rng: &mut dyn SecureRandom,
) -> Option<&'b [u8]> {
    let kek = ptk.kek.as_bytes();
    if mic == MicAlgorithm::HmacMd5 {
        rng.fill(iv);
        let room = out.get_mut(..data.len())?;
        room.copy_from_slice(data);
        rc4_in_place(kek, iv, room);
        return Some(room);
    }
    let mut padded = [0; MAX_KEY_DATA];
    padded.get_mut(..data.len())?.copy_from_slice(data);
    let mut len = data.len();
    if !len.is_multiple_of(8) || len < 16 {
        *padded.get_mut(len)? = 0xdd;
        len = (len + 1).next_multiple_of(8).max(16);
    }
    let wrapped = aes_wrap(kek, padded.get(..len)?, out);
    padded.zeroize();
    out.get(..wrapped?)
}

/// Puts an element and a group key together, as key data.
pub(crate) fn key_data<'b>(
    element: &[u8],
    group: &GroupKey,
    out: &'b mut [u8; MAX_KEY_DATA],
) -> Option<&'b [u8]> {
    out.get_mut(..element.len())?.copy_from_slice(element);
    let len = emit_gtk(group.key_id.get(), group.key.as_bytes(), out.get_mut(element.len()..)?)?;
    out.get(..element.len() + len)
}

/// Opened key data. Zeroised on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct KeyData {
    bytes: [u8; 512],
    len: usize,
}

impl KeyData {
    /// Opens the key data of a frame that verified.
    pub fn open(profile: Profile, ptk: &Ptk, frame: &EapolKey<'_>) -> Result<Self, Refusal> {
        let mut data = KeyData { bytes: [0; 512], len: 0 };
        data.len = if frame.info.has(KeyInfo::ENCRYPTED) {
            let (mic, kek) = (profile.suite().mic, ptk.kek.as_bytes());
            open_key_data(mic, kek, frame.iv, frame.data, &mut data.bytes)
                .map_err(|_| Refusal::Malformed)?
        } else {
            let room = data.bytes.get_mut(..frame.data.len()).ok_or(Refusal::Malformed)?;
            room.copy_from_slice(frame.data);
            frame.data.len()
        };
        Ok(data)
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&self.bytes)
    }
}

/// Looks at a packet as a frame of this profile.
pub(crate) fn read(profile: Profile, packet: &[u8]) -> Result<EapolKey<'_>, Refusal> {
    let mic_len = profile.suite().mic.tag_len();
    let frame = EapolKey::new_checked(packet, mic_len).map_err(|_| Refusal::Malformed)?;
    let known =
        frame.descriptor == DESCRIPTOR_RSN && u16::from(frame.info.version()) == profile.version();
    if known { Ok(frame) } else { Err(Refusal::Malformed) }
}

/// Checks a frame's integrity code, in constant time.
pub(crate) fn verify(profile: Profile, ptk: &Ptk, frame: &EapolKey<'_>) -> Result<(), Refusal> {
    let mic = profile.suite().mic;
    if mic.verify(ptk.kck.as_bytes(), &frame.parts_without_mic(), frame.mic) {
        Ok(())
    } else {
        Err(Refusal::Unverified)
    }
}
