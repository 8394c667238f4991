//! CCM from its specification (RFC 3610; also NIST SP 800-38C): CTR encryption and CBC-MAC under one
//! key, in one pass over the data.
//!
//! ```text
//!   B0 = flags | nonce (15−L) | length (L)        CBC-MAC over B0, the associated data, the message
//!   Ai = flags | nonce (15−L) | i (L)             CTR: A0 covers the tag, A1… the message
//! ```

use aes::cipher::{
    Array, BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser,
    KeyInit, consts::U16,
};
use slyfi_base::Undecryptable;
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

type Block = Array<u8, U16>;

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

/// A CCM key over a block cipher (`aes::Aes128`, `Aes192`, `Aes256`).
#[derive(Clone)]
pub struct Ccm<C> {
    cipher: C,
    parameters: Parameters,
}

impl<C> core::fmt::Debug for Ccm<C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ccm").field("parameters", &self.parameters).finish_non_exhaustive()
    }
}

impl<C: KeyInit + BlockCipherEncrypt<BlockSize = U16>> Ccm<C> {
    /// Expands `key`; `None` when it has not the cipher's key length.
    pub fn new(key: &[u8], parameters: Parameters) -> Option<Self> {
        Some(Ccm { cipher: C::new_from_slice(key).ok()?, parameters })
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
        let full = self.run(Direction::Seal, nonce, aad, data);
        tag.copy_from_slice(full.get(..tag.len()).unwrap_or(&full));
        Ok(())
    }

    /// Decrypts `data` in place and compares the tag in constant time (RFC 3610 §2.5).
    ///
    /// # Errors
    /// [`Undecryptable`] when the tag does not verify or a length is not allowed; `data` is zeroed
    /// then, so that nothing unverified can be used.
    pub fn open_in_place(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Undecryptable> {
        self.check(nonce, data, tag).map_err(|BadLength| Undecryptable)?;
        let full = self.run(Direction::Open, nonce, aad, data);
        if full.get(..tag.len()).is_some_and(|t| t.ct_eq(tag).into()) {
            return Ok(());
        }
        data.zeroize();
        Err(Undecryptable)
    }

    fn check(&self, nonce: &[u8], data: &[u8], tag: &[u8]) -> Result<(), BadLength> {
        let p = self.parameters;
        let fits = nonce.len() == p.nonce_len()
            && tag.len() == p.tag_len()
            && data.len() as u64 <= p.max_len();
        if fits { Ok(()) } else { Err(BadLength) }
    }

    fn run(&self, direction: Direction, nonce: &[u8], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        let p = self.parameters;
        let mut a0 = [0; 16];
        a0[0] = p.l - 1;
        a0[1..1 + nonce.len()].copy_from_slice(nonce);
        let mut b0 = a0;
        b0[0] |= u8::from(!aad.is_empty()) << 6 | ((p.m - 2) / 2) << 3;
        // The counter of A0 is zero, so the length goes where zeros are; `check` saw that it fits.
        let b0 = u128::from_be_bytes(b0) | data.len() as u128;
        let mut tag = [0; 16];
        self.cipher.encrypt_with_backend(Chains {
            direction,
            b0,
            a0: u128::from_be_bytes(a0),
            aad,
            data,
            tag: &mut tag,
        });
        tag
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Seal,
    Open,
}

/// Both chains of one message. It is a closure over the backend so that the key schedule is loaded
/// once and the two blocks of each step, which do not depend on one another, are in flight together:
/// CBC-MAC is a serial chain that leaves the processor idle, and CTR fills the gaps.
struct Chains<'a> {
    direction: Direction,
    b0: u128,
    a0: u128,
    aad: &'a [u8],
    data: &'a mut [u8],
    tag: &'a mut [u8; 16],
}

impl BlockSizeUser for Chains<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Chains<'_> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        let Chains { direction, b0, a0, aad, data, tag } = self;
        let mut mac = Block::from(b0.to_be_bytes());
        backend.encrypt_block_inplace(&mut mac);
        if !aad.is_empty() {
            mac_aad(backend, &mut mac, aad);
        }
        let mut counter = a0;
        let (blocks, rest) = data.as_chunks_mut::<16>();
        for block in blocks {
            counter += 1;
            let mut stream = Block::from(counter.to_be_bytes());
            backend.encrypt_block_inplace(&mut stream);
            let text = u128::from_ne_bytes(*block);
            let other = text ^ u128::from_ne_bytes(stream.into());
            *block = other.to_ne_bytes();
            let plain = if direction == Direction::Seal { text } else { other };
            let chained = u128::from_ne_bytes(mac.into()) ^ plain;
            mac = Block::from(chained.to_ne_bytes());
            backend.encrypt_block_inplace(&mut mac);
        }
        if !rest.is_empty() {
            let mut stream = Block::from((counter + 1).to_be_bytes());
            backend.encrypt_block_inplace(&mut stream);
            for ((byte, s), m) in rest.iter_mut().zip(&stream).zip(&mut mac) {
                let other = *byte ^ s;
                *m ^= if direction == Direction::Seal { *byte } else { other };
                *byte = other;
            }
            backend.encrypt_block_inplace(&mut mac);
        }
        let mut s0 = Block::from(a0.to_be_bytes());
        backend.encrypt_block_inplace(&mut s0);
        for ((t, m), s) in tag.iter_mut().zip(&mac).zip(&s0) {
            *t = m ^ s;
        }
        mac.zeroize();
    }
}

/// Adds the associated data with its length in front, padded with zeros (RFC 3610 §2.2).
#[inline(always)]
fn mac_aad<B: BlockCipherEncBackend<BlockSize = U16>>(backend: &B, mac: &mut Block, aad: &[u8]) {
    let (prefix, used) = encoded_length(aad.len() as u64);
    let (first, rest) = aad.split_at(aad.len().min(16 - used));
    for (m, b) in mac.iter_mut().zip(prefix.iter().take(used).chain(first)) {
        *m ^= b;
    }
    backend.encrypt_block_inplace(mac);
    for block in rest.chunks(16) {
        for (m, b) in mac.iter_mut().zip(block) {
            *m ^= b;
        }
        backend.encrypt_block_inplace(mac);
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
        let ccm = Ccm::<aes::Aes128>::new(&[7; 16], Parameters::CCMP_128).unwrap();
        let (mut long, mut tag) = ([0; 65_536], [0; 8]);
        assert_eq!(ccm.seal_in_place(&[0; 13], &[], &mut long, &mut tag), Err(BadLength));
        assert_eq!(ccm.seal_in_place(&[0; 13], &[], &mut long[1..], &mut tag), Ok(()));
        assert_eq!(ccm.seal_in_place(&[0; 12], &[], &mut [], &mut tag), Err(BadLength));
        assert_eq!(ccm.seal_in_place(&[0; 13], &[], &mut [], &mut [0; 6]), Err(BadLength));
    }
}
