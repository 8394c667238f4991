//! CCM from its specification (RFC 3610; also NIST SP 800-38C): CTR encryption and CBC-MAC under one
//! key, in one pass over the data (the loop is `slyfi-aes`'s; what it is given is written here).
//!
//! ```text
//!   B0 = flags | nonce (15−L) | length (L)        CBC-MAC over B0, the associated data, the message
//!   Ai = flags | nonce (15−L) | i (L)             CTR: A0 covers the tag, A1… the message
//! ```

use slyfi_aes::{Block, CcmHead, CcmKey};
use slyfi_base::Undecryptable;

/// The two sizes that a use of CCM fixes (RFC 3610 §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    m: u8,
    l: u8,
}

impl Parameters {
    /// CCMP-128: an eight-byte tag (IEEE 802.11-2020 §12.5.3.1).
    pub const CCMP_128: Parameters = Parameters { m: 8, l: 2 };
    /// CCMP-256: a sixteen-byte tag (the same clause).
    pub const CCMP_256: Parameters = Parameters { m: 16, l: 2 };

    /// Returns the parameters for a tag of `m` bytes (4, 6, … 16) and a length field of `l` bytes
    /// (2 to 8); `None` for values that RFC 3610 §2 does not allow.
    pub const fn new(m: u8, l: u8) -> Option<Self> {
        if m.is_multiple_of(2) && 4 <= m && m <= 16 && 2 <= l && l <= 8 {
            Some(Parameters { m, l })
        } else {
            None
        }
    }

    /// Returns the tag's length M in bytes.
    pub const fn tag_len(self) -> usize {
        self.m as usize
    }

    /// Returns the nonce's length, 15 − L bytes.
    pub const fn nonce_len(self) -> usize {
        15 - self.l as usize
    }

    /// Returns the most bytes that one message may have: 2^(8L) − 1.
    pub const fn max_len(self) -> u64 {
        if self.l == 8 { u64::MAX } else { (1 << (8 * self.l)) - 1 }
    }
}

/// A caller handed in a nonce, tag or message of a length that the parameters do not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadLength;

/// A CCM key over AES of any size.
#[derive(Clone, Debug)]
pub struct Ccm {
    key: CcmKey,
    parameters: Parameters,
}

impl Ccm {
    /// Expands `key`, AES-128, AES-192 or AES-256 by its length; `None` for a length that AES has not.
    pub fn new(key: &[u8], parameters: Parameters) -> Option<Self> {
        let key = if let Ok(key) = key.try_into() {
            CcmKey::new_128(key)
        } else if let Ok(key) = key.try_into() {
            CcmKey::new_192(key)
        } else {
            CcmKey::new_256(key.try_into().ok()?)
        };
        Some(Ccm { key, parameters })
    }

    /// Takes a key that is expanded already, which may be on a backend of the caller's choice: for
    /// tests and measurements.
    #[doc(hidden)]
    pub const fn with_key(key: CcmKey, parameters: Parameters) -> Self {
        Ccm { key, parameters }
    }

    /// Returns the parameters.
    pub const fn parameters(&self) -> Parameters {
        self.parameters
    }

    /// Encrypts `data` in place and writes the tag of it and of `aad` (RFC 3610 §2.2, §2.3).
    ///
    /// # Errors
    /// [`BadLength`] when `nonce` has not 15 − L bytes, `tag` not M, or `data` more than 2^(8L) − 1.
    ///
    /// # Security
    /// A nonce must never be used twice under one key.
    pub fn seal_in_place(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &mut [u8],
    ) -> Result<(), BadLength> {
        self.check(nonce, data, tag)?;
        let (blocks, rest) = FirstBlocks::new(self.parameters, nonce, aad, data.len());
        let full = self.key.seal_in_place(&blocks.head(rest), data);
        tag.copy_from_slice(full.get(..tag.len()).unwrap_or(&full));
        Ok(())
    }

    /// Decrypts `data` in place and compares the tag in constant time (RFC 3610 §2.5).
    ///
    /// # Errors
    /// [`Undecryptable`] when the tag does not verify or a length is not allowed; if it was the tag,
    /// `data` is zeroed, so that nothing unverified can be used.
    pub fn open_in_place(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Undecryptable> {
        self.check(nonce, data, tag).map_err(|BadLength| Undecryptable)?;
        let (blocks, rest) = FirstBlocks::new(self.parameters, nonce, aad, data.len());
        self.key.open_in_place(&blocks.head(rest), data, tag).map_err(|_| Undecryptable)
    }

    /// Returns the key of the kernel, for batches.
    pub(crate) const fn key(&self) -> &CcmKey {
        &self.key
    }

    fn check(&self, nonce: &[u8], data: &[u8], tag: &[u8]) -> Result<(), BadLength> {
        let p = self.parameters;
        let fits = nonce.len() == p.nonce_len()
            && tag.len() == p.tag_len()
            && data.len() as u64 <= p.max_len();
        if fits { Ok(()) } else { Err(BadLength) }
    }
}

/// The blocks of one message that are not its data: A0, B0 and, if there is associated data, B1, in
/// which its length stands.
#[derive(Clone, Copy)]
pub(crate) struct FirstBlocks {
    a0: Block,
    b: [Block; 2],
    has_aad: bool,
}

impl FirstBlocks {
    /// Formats them (RFC 3610 §2.2, §2.3) for a message of `len` bytes; also returns the associated
    /// data that did not fit in. The lengths must be those of the parameters.
    pub(crate) fn new<'a>(
        p: Parameters,
        nonce: &[u8],
        aad: &'a [u8],
        len: usize,
    ) -> (Self, &'a [u8]) {
        let mut a0 = [0; 16];
        for (byte, value) in a0.iter_mut().zip([p.l - 1].iter().chain(nonce)) {
            *byte = *value;
        }
        let has_aad = !aad.is_empty();
        let flags = u128::from(u8::from(has_aad) << 6 | ((p.m - 2) / 2) << 3);
        // The counter of A0 is zero, so the length goes where zeros are.
        let b0 = u128::from_be_bytes(a0) | flags << 120 | len as u128;
        let (prefix, used) = encoded_length(aad.len() as u64);
        let (front, rest) = aad.split_at(aad.len().min(16 - used));
        let mut b1 = [0; 16];
        for (byte, value) in b1.iter_mut().zip(prefix.iter().take(used).chain(front)) {
            *byte = *value;
        }
        (FirstBlocks { a0, b: [b0.to_be_bytes(), b1], has_aad }, rest)
    }

    /// The same as the kernel takes it, with the rest of the associated data.
    pub(crate) fn head<'a>(&'a self, rest: &'a [u8]) -> CcmHead<'a> {
        let [b0, _] = &self.b;
        let first = if self.has_aad { &self.b[..] } else { core::slice::from_ref(b0) };
        CcmHead { counter: self.a0, first, rest }
    }
}

/// The length of the associated data as it stands before it, and how many bytes that takes.
const fn encoded_length(n: u64) -> ([u8; 10], usize) {
    let [a, b, c, d, e, f, g, h] = n.to_be_bytes();
    if n < 0xff00 {
        ([g, h, 0, 0, 0, 0, 0, 0, 0, 0], 2)
    } else if n < 1 << 32 {
        ([0xff, 0xfe, e, f, g, h, 0, 0, 0, 0], 6)
    } else {
        ([0xff, 0xff, a, b, c, d, e, f, g, h], 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_sizes_of_the_rfc_are_parameters() {
        let legal = |m, l| Parameters::new(m, l).is_some();
        for m in 0..=20 {
            for l in 0..=10 {
                assert_eq!(
                    legal(m, l),
                    [4, 6, 8, 10, 12, 14, 16].contains(&m) && (2..=8).contains(&l)
                );
            }
        }
        assert_eq!(Parameters::CCMP_128.nonce_len(), 13);
        assert_eq!(Parameters::CCMP_128.max_len(), 65_535);
    }

    #[test]
    fn the_three_length_encodings_begin_where_the_rfc_says() {
        assert_eq!(encoded_length(0xfeff), ([0xfe, 0xff, 0, 0, 0, 0, 0, 0, 0, 0], 2));
        assert_eq!(encoded_length(0xff00), ([0xff, 0xfe, 0, 0, 0xff, 0, 0, 0, 0, 0], 6));
        assert_eq!(encoded_length(1 << 32), ([0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 0], 10));
    }

    #[test]
    fn messages_longer_than_the_length_field_are_refused() {
        let ccm = Ccm::new(&[7; 16], Parameters::CCMP_128).unwrap();
        let (mut long, mut tag) = ([0; 65_536], [0; 8]);
        assert_eq!(ccm.seal_in_place(&[0; 13], &[], &mut long, &mut tag), Err(BadLength));
        assert_eq!(ccm.seal_in_place(&[0; 13], &[], &mut long[1..], &mut tag), Ok(()));
        assert_eq!(ccm.seal_in_place(&[0; 12], &[], &mut [], &mut tag), Err(BadLength));
        assert_eq!(ccm.seal_in_place(&[0; 13], &[], &mut [], &mut [0; 6]), Err(BadLength));
    }
}
