//! AES-SIV (RFC 5297), opening only: what FILS puts around key data and association frames
//! (IEEE 802.11-2020 §12.12.2.7, §12.7.2).

use super::KeyBytes;
use aes::cipher::{BlockCipherEncrypt, KeyInit, consts::U16};
use aes::{Aes128, Aes256};
use cmac::{Cmac, Mac};
use slyfi_base::Undecryptable;
use subtle::ConstantTimeEq;

type Block = [u8; 16];

/// Bytes of the synthetic IV in front of the ciphertext.
pub const IV_LEN: usize = 16;

/// Opens `sealed` (IV and ciphertext) under the associated data into `out`; returns its length.
///
/// # Errors
/// [`Undecryptable`] when it does not verify, `kek` has neither 32 nor 64 bytes, or `out` is too short;
/// `out` is zeroed then.
pub fn open(
    kek: &KeyBytes,
    aad: &[&[u8]],
    sealed: &[u8],
    out: &mut [u8],
) -> Result<usize, Undecryptable> {
    let (mac_key, ctr_key) = kek.as_bytes().split_at(kek.as_bytes().len() / 2);
    let (iv, ciphertext) = sealed.split_first_chunk::<IV_LEN>().ok_or(Undecryptable)?;
    let data = out.get_mut(..ciphertext.len()).ok_or(Undecryptable)?;
    data.copy_from_slice(ciphertext);
    let cipher = Cipher::new(ctr_key).ok_or(Undecryptable)?;
    // The counter is the IV with two bits cleared (§2.5).
    let mut counter = u128::from_be_bytes(*iv) & !(1 << 63 | 1 << 31);
    for block in data.chunks_mut(16) {
        let stream = cipher.encrypt(counter.to_be_bytes());
        block.iter_mut().zip(stream).for_each(|(b, s)| *b ^= s);
        counter = counter.wrapping_add(1);
    }
    let right = s2v(mac_key, aad, data).ok_or(Undecryptable)?;
    if right.ct_eq(iv).into() {
        return Ok(ciphertext.len());
    }
    zeroize::Zeroize::zeroize(data);
    Err(Undecryptable)
}

/// The block cipher, by the key's length.
enum Cipher {
    Aes128(Aes128),
    Aes256(Aes256),
}

impl Cipher {
    fn new(key: &[u8]) -> Option<Self> {
        match key.len() {
            16 => Aes128::new_from_slice(key).ok().map(Cipher::Aes128),
            32 => Aes256::new_from_slice(key).ok().map(Cipher::Aes256),
            _ => None,
        }
    }

    fn encrypt(&self, block: Block) -> Block {
        let mut block = block.into();
        match self {
            Cipher::Aes128(c) => c.encrypt_block(&mut block),
            Cipher::Aes256(c) => c.encrypt_block(&mut block),
        }
        block.into()
    }
}

fn cmac<M: KeyInit + Mac<OutputSize = U16>>(key: &[u8], parts: &[&[u8]]) -> Option<Block> {
    let mut mac = <M as KeyInit>::new_from_slice(key).ok()?;
    parts.iter().for_each(|p| mac.update(p));
    Some(mac.finalize().into_bytes().into())
}

/// S2V (§2.4).
fn s2v(key: &[u8], aad: &[&[u8]], data: &[u8]) -> Option<Block> {
    let mac = |parts: &[&[u8]]| match key.len() {
        16 => cmac::<Cmac<Aes128>>(key, parts),
        _ => cmac::<Cmac<Aes256>>(key, parts),
    };
    let mut d = mac(&[&[0; 16]])?;
    for part in aad {
        d = xor(double(d), mac(&[part])?);
    }
    if let Some((front, end)) = data.split_last_chunk::<16>() {
        return mac(&[front, &xor(*end, d)]);
    }
    let mut padded = [0; 16];
    let (text, rest) = padded.split_at_mut(data.len());
    text.copy_from_slice(data);
    *rest.first_mut()? = 0x80;
    mac(&[&xor(double(d), padded)])
}

fn xor(a: Block, b: Block) -> Block {
    (u128::from_be_bytes(a) ^ u128::from_be_bytes(b)).to_be_bytes()
}

/// Doubles in GF(2¹²⁸), in constant time (§2.3).
fn double(b: Block) -> Block {
    let n = u128::from_be_bytes(b);
    ((n << 1) ^ ((n >> 127) * 0x87)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5297 §A.1.
    const KEY: [u8; 32] = [
        0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0xfa, 0xf9, 0xf8, 0xf7, 0xf6, 0xf5, 0xf4, 0xf3, 0xf2, 0xf1,
        0xf0, 0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd,
        0xfe, 0xff,
    ];
    const AAD: [u8; 24] = [
        0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e,
        0x1f, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27,
    ];
    const TEXT: [u8; 14] =
        [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee];
    const SEALED: [u8; 30] = [
        0x85, 0x63, 0x2d, 0x07, 0xc6, 0xe8, 0xf3, 0x7f, 0x95, 0x0a, 0xcd, 0x32, 0x0a, 0x2e, 0xcc,
        0x93, 0x40, 0xc0, 0x2b, 0x96, 0x90, 0xc4, 0xdc, 0x04, 0xda, 0xef, 0x7f, 0x6a, 0xfe, 0x5c,
    ];

    #[test]
    fn the_deterministic_vector_of_the_rfc_opens_and_damage_does_not() {
        let key = KeyBytes::new(&KEY).unwrap();
        let mut out = [0; 20];
        assert_eq!(open(&key, &[&AAD], &SEALED, &mut out), Ok(14));
        assert_eq!(out[..14], TEXT);
        for at in 0..SEALED.len() {
            let mut bad = SEALED;
            bad[at] ^= 4;
            assert_eq!(open(&key, &[&AAD], &bad, &mut out), Err(Undecryptable));
            assert_eq!(out[..14], [0; 14], "nothing unverified is left");
        }
        for n in 0..SEALED.len() {
            assert!(open(&key, &[&AAD], &SEALED[..n], &mut out).is_err());
        }
        assert!(open(&key, &[&AAD[1..]], &SEALED, &mut out).is_err());
        assert!(open(&key, &[&AAD, &[]], &SEALED, &mut out).is_err());
        assert!(open(&key, &[&AAD], &SEALED, &mut [0; 13]).is_err());
        assert!(open(&KeyBytes::new(&KEY[..16]).unwrap(), &[&AAD], &SEALED, &mut out).is_err());
    }
}
