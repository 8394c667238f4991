//! WEP-40 and WEP-104 (IEEE 802.11-2020 §12.3.2): RC4 under IV ‖ key, CRC-32 inside.
//!
//! # Layout
//! `IV 3 | key-id 1 | payload | ICV 4`, the payload and the ICV under the keystream.
//!
//! # Security
//! Broken. 2²⁴ IVs are soon used up, and with an IV the keystream repeats; the ICV is linear; frames
//! can be replayed for ever; and the first bytes of many keystreams give the key away.

use crate::crc32::crc32;
use crate::danger::rc4::Rc4;
use crate::packet::{EXT_IV, KeyId};
use slyfi_base::{Exhausted, LinkCipher, OpenHalf, Opened, Overhead, SealHalf, Undecryptable};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Bytes of the IV field: the IV and the key identifier octet.
pub const HEADER_LEN: usize = 4;
/// Bytes of the integrity check value.
pub const ICV_LEN: usize = 4;

/// The longest key that WEP products took; the standard has 5 and 13.
const MAX_KEY: usize = 16;

/// A WEP key. Zeroised on drop.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct WepKey {
    bytes: [u8; MAX_KEY],
    len: usize,
}

impl core::fmt::Debug for WepKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("WepKey(..)")
    }
}

impl WepKey {
    /// Returns the key of these bytes: 5 (WEP-40), 13 (WEP-104), or 16 as some vendors had it;
    /// `None` for other lengths.
    pub fn new(key: &[u8]) -> Option<Self> {
        if !matches!(key.len(), 5 | 13 | 16) {
            return None;
        }
        let mut bytes = [0; MAX_KEY];
        bytes.get_mut(..key.len())?.copy_from_slice(key);
        Some(WepKey { bytes, len: key.len() })
    }

    fn keystream(&self, iv: [u8; 3]) -> Rc4 {
        Rc4::new(&[&iv, self.bytes.get(..self.len).unwrap_or(&self.bytes)])
    }

    /// Seals the payload at `buf[4..4 + len]` under `iv`; `None` when `buf` is too short.
    pub fn seal_at(&self, iv: [u8; 3], key_id: KeyId, buf: &mut [u8], len: usize) -> Option<usize> {
        let total = len.checked_add(HEADER_LEN + ICV_LEN)?;
        let (front, rest) = buf.get_mut(..total)?.split_at_mut(HEADER_LEN);
        let [a, b, c] = iv;
        front.copy_from_slice(&[a, b, c, key_id.octet()]);
        seal_stream(&mut self.keystream(iv), rest);
        Some(total)
    }

    /// Opens a frame body under whatever IV and key identifier it has.
    ///
    /// # Errors
    /// [`Undecryptable`] when it is too short, has the Ext IV bit (then it is not WEP) or the ICV is
    /// wrong.
    pub fn open_any(&self, buf: &mut [u8]) -> Result<(KeyId, Opened), Undecryptable> {
        let (front, rest) = buf.split_first_chunk_mut::<HEADER_LEN>().ok_or(Undecryptable)?;
        let [a, b, c, octet] = *front;
        if octet & EXT_IV != 0 {
            return Err(Undecryptable);
        }
        let len = open_stream(&mut self.keystream([a, b, c]), rest)?;
        Ok((KeyId::of_octet(octet), Opened::mint(HEADER_LEN, len)))
    }
}

/// Puts the ICV of `data` (all but the last four bytes) behind it and encrypts both.
pub(crate) fn seal_stream(keystream: &mut Rc4, data: &mut [u8]) {
    if let Some((payload, icv)) = data.split_last_chunk_mut::<ICV_LEN>() {
        *icv = crc32(payload).to_le_bytes();
    }
    keystream.apply(data);
}

/// Decrypts payload and ICV and returns the payload's length if the ICV is right.
pub(crate) fn open_stream(keystream: &mut Rc4, data: &mut [u8]) -> Result<usize, Undecryptable> {
    keystream.apply(data);
    let (payload, icv) = data.split_last_chunk::<ICV_LEN>().ok_or(Undecryptable)?;
    if crc32(payload).to_le_bytes().ct_eq(icv).into() {
        Ok(payload.len())
    } else {
        Err(Undecryptable)
    }
}

/// WEP as a link cipher.
#[derive(Clone, Debug)]
pub struct Wep {
    key: WepKey,
    key_id: KeyId,
    next_iv: u32,
}

impl Wep {
    /// IVs count up from `first_iv` (its low 24 bits).
    pub const fn new(key: WepKey, key_id: KeyId, first_iv: u32) -> Self {
        Wep { key, key_id, next_iv: first_iv & 0x00ff_ffff }
    }
}

impl LinkCipher for Wep {
    const OVERHEAD: Overhead = Overhead { headroom: HEADER_LEN, tailroom: ICV_LEN };
    type Seal = WepSeal;
    type Open = WepOpen;

    fn split(self) -> (WepSeal, WepOpen) {
        (WepSeal(self.clone()), WepOpen { key: self.key, key_id: self.key_id })
    }
}

/// The sending half. It does what the field does: after 2²⁴ frames it starts over, under the same
/// keystreams.
#[derive(Clone, Debug)]
pub struct WepSeal(Wep);

impl SealHalf for WepSeal {
    /// [`Exhausted`] only when `buf` has no room: WEP knows no end of a key.
    fn seal(&mut self, _header: &[u8], buf: &mut [u8], len: usize) -> Result<usize, Exhausted> {
        let Wep { key, key_id, next_iv } = &mut self.0;
        let [iv0, iv1, iv2, _] = next_iv.to_le_bytes();
        let sealed = key.seal_at([iv0, iv1, iv2], *key_id, buf, len).ok_or(Exhausted)?;
        *next_iv = (*next_iv + 1) & 0x00ff_ffff;
        Ok(sealed)
    }
}

/// The receiving half: one key and its identifier, no replay counter.
#[derive(Clone, Debug)]
pub struct WepOpen {
    key: WepKey,
    key_id: KeyId,
}

impl OpenHalf for WepOpen {
    fn open(&mut self, header: &[u8], buf: &mut [u8]) -> Result<Opened, Undecryptable> {
        crate::packet::protected_whole(header)?;
        let (key_id, opened) = self.key.open_any(buf)?;
        if key_id == self.key_id { Ok(opened) } else { Err(Undecryptable) }
    }
}
