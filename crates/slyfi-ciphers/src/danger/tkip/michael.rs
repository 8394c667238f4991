//! Michael (IEEE 802.11-2020 §12.5.2.3): the message integrity code of TKIP.
//!
//! # Security
//! Every step can be undone: [`MichaelKey::recover`] takes one payload and its code and returns the
//! key. That is why TKIP only ever sends it encrypted.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// A Michael key: one for each direction. Zeroised on drop.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct MichaelKey {
    l: u32,
    r: u32,
}

impl core::fmt::Debug for MichaelKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("MichaelKey(..)")
    }
}

impl MichaelKey {
    /// Reads the key.
    pub fn new(key: [u8; 8]) -> Self {
        let [a, b, c, d, e, f, g, h] = key;
        MichaelKey { l: u32::from_le_bytes([a, b, c, d]), r: u32::from_le_bytes([e, f, g, h]) }
    }

    /// Returns the key's bytes.
    pub fn to_bytes(&self) -> [u8; 8] {
        join(self.l, self.r)
    }

    /// Computes the key from a message (in any number of parts) and its code: the attack.
    ///
    /// The whole message must fit in 2336 bytes; `None` otherwise.
    pub fn recover(parts: &[&[u8]], mic: [u8; 8]) -> Option<Self> {
        let mut words = [0u32; 584];
        let mut len = 0;
        for word in Words::new(parts) {
            *words.get_mut(len)? = word;
            len += 1;
        }
        let MichaelKey { mut l, mut r } = MichaelKey::new(mic);
        for word in words.get(..len)?.iter().rev() {
            unblock(&mut l, &mut r);
            l ^= word;
        }
        Some(MichaelKey { l, r })
    }
}

/// Returns the code of the parts in a row (§12.5.2.3.3). For frames the first part is the sixteen
/// bytes of [`header`].
pub fn michael(key: &MichaelKey, parts: &[&[u8]]) -> [u8; 8] {
    let (mut l, mut r) = (key.l, key.r);
    for word in Words::new(parts) {
        l ^= word;
        block(&mut l, &mut r);
    }
    join(l, r)
}

/// The pseudo-header that binds a payload to its ends (§12.5.2.3.2): `DA | SA | priority | 0 0 0`.
pub fn header(destination: [u8; 6], source: [u8; 6], priority: u8) -> [u8; 16] {
    let mut h = [0; 16];
    h[..6].copy_from_slice(&destination);
    h[6..12].copy_from_slice(&source);
    h[12] = priority;
    h
}

fn join(l: u32, r: u32) -> [u8; 8] {
    let ([a, b, c, d], [e, f, g, h]) = (l.to_le_bytes(), r.to_le_bytes());
    [a, b, c, d, e, f, g, h]
}

/// Swaps the bytes in each half.
const fn xswap(v: u32) -> u32 {
    (v & 0x00ff_00ff) << 8 | (v >> 8) & 0x00ff_00ff
}

fn block(l: &mut u32, r: &mut u32) {
    *r ^= l.rotate_left(17);
    *l = l.wrapping_add(*r);
    *r ^= xswap(*l);
    *l = l.wrapping_add(*r);
    *r ^= l.rotate_left(3);
    *l = l.wrapping_add(*r);
    *r ^= l.rotate_right(2);
    *l = l.wrapping_add(*r);
}

fn unblock(l: &mut u32, r: &mut u32) {
    *l = l.wrapping_sub(*r);
    *r ^= l.rotate_right(2);
    *l = l.wrapping_sub(*r);
    *r ^= l.rotate_left(3);
    *l = l.wrapping_sub(*r);
    *r ^= xswap(*l);
    *l = l.wrapping_sub(*r);
    *r ^= l.rotate_left(17);
}

/// The message as little-endian words: 0x5a behind it, then four to seven zeros up to a whole word.
struct Words<'a> {
    parts: &'a [&'a [u8]],
    part: usize,
    at: usize,
    total: usize,
    taken: usize,
}

impl<'a> Words<'a> {
    fn new(parts: &'a [&'a [u8]]) -> Self {
        Words { parts, part: 0, at: 0, total: parts.iter().map(|p| p.len()).sum(), taken: 0 }
    }

    fn byte(&mut self) -> u8 {
        let index = self.taken;
        self.taken += 1;
        if index >= self.total {
            return if index == self.total { 0x5a } else { 0 };
        }
        while let Some(part) = self.parts.get(self.part) {
            if let Some(byte) = part.get(self.at) {
                self.at += 1;
                return *byte;
            }
            (self.part, self.at) = (self.part + 1, 0);
        }
        0
    }
}

impl Iterator for Words<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        // 0x5a and at least four zeros, rounded up.
        if self.taken >= (self.total + 5).next_multiple_of(4) {
            return None;
        }
        if let Some(word) =
            self.parts.get(self.part).and_then(|p| p.get(self.at..)?.first_chunk::<4>())
        {
            self.at += 4;
            self.taken += 4;
            return Some(u32::from_le_bytes(*word));
        }
        Some(u32::from_le_bytes(core::array::from_fn(|_| self.byte())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IEEE 802.11-2020 Annex J.5.2: each code is the next key.
    const CHAIN: [(&[u8], [u8; 8]); 6] = [
        (b"", [0x82, 0x92, 0x5c, 0x1c, 0xa1, 0xd1, 0x30, 0xb8]),
        (b"M", [0x43, 0x47, 0x21, 0xca, 0x40, 0x63, 0x9b, 0x3f]),
        (b"Mi", [0xe8, 0xf9, 0xbe, 0xca, 0xe9, 0x7e, 0x5d, 0x29]),
        (b"Mic", [0x90, 0x03, 0x8f, 0xc6, 0xcf, 0x13, 0xc1, 0xdb]),
        (b"Mich", [0xd5, 0x5e, 0x10, 0x05, 0x10, 0x12, 0x89, 0x86]),
        (b"Michael", [0x0a, 0x94, 0x2b, 0x12, 0x4e, 0xca, 0xa5, 0x46]),
    ];

    #[test]
    fn the_chain_of_the_annex_holds_however_the_message_is_cut() {
        let mut key = [0; 8];
        for (message, mic) in CHAIN {
            for cut in 0..=message.len() {
                let (a, b) = message.split_at(cut);
                assert_eq!(
                    michael(&MichaelKey::new(key), &[a, b]),
                    mic,
                    "{message:?} cut at {cut}"
                );
            }
            key = mic;
        }
    }

    #[test]
    fn one_known_message_gives_the_key_away() {
        let mut key = [0; 8];
        for (message, mic) in CHAIN {
            assert_eq!(MichaelKey::recover(&[message], mic).unwrap().to_bytes(), key);
            key = mic;
        }
        assert!(MichaelKey::recover(&[&[0; 2400]], key).is_none());
    }

    #[test]
    fn the_pseudo_header_covers_both_ends_and_the_priority() {
        let h = header([1; 6], [2; 6], 5);
        assert_eq!(h, [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 5, 0, 0, 0]);
    }
}
