//! How key data is encrypted in EAPOL-Key frames (IEEE 802.11-2020 §12.7.2, Table 12-10).

use super::MicAlgorithm;
use crate::danger::rc4::Rc4;
use aes_kw::{KeyInit, KwAes128, KwAes256};
use slyfi_base::Undecryptable;

/// Opens key data wrapped with NIST AES key wrap (RFC 3394) into `out`; returns its length, eight less.
///
/// # Errors
/// [`Undecryptable`] when the integrity check fails, the length is no multiple of eight or below 16,
/// `kek` is neither 16 nor 32 bytes, or `out` is too short.
pub fn aes_unwrap(kek: &[u8], wrapped: &[u8], out: &mut [u8]) -> Result<usize, Undecryptable> {
    if wrapped.len() < 16 {
        return Err(Undecryptable);
    }
    let len = wrapped.len() - 8;
    let out = out.get_mut(..len).ok_or(Undecryptable)?;
    let opened = match kek.len() {
        16 => KwAes128::new_from_slice(kek).map(|kw| kw.unwrap_key(wrapped, out).is_ok()),
        _ => KwAes256::new_from_slice(kek).map(|kw| kw.unwrap_key(wrapped, out).is_ok()),
    };
    if opened.is_ok_and(|ok| ok) { Ok(len) } else { Err(Undecryptable) }
}

/// Wraps `data` (a multiple of eight bytes, at least 16) into `out`; returns its length, eight more.
///
/// `None` for other lengths, a `kek` of neither 16 nor 32 bytes, or a short `out`.
pub fn aes_wrap(kek: &[u8], data: &[u8], out: &mut [u8]) -> Option<usize> {
    if data.len() < 16 {
        return None;
    }
    match kek.len() {
        16 => KwAes128::new_from_slice(kek).ok()?.wrap_key(data, out).ok().map(<[u8]>::len),
        _ => KwAes256::new_from_slice(kek).ok()?.wrap_key(data, out).ok().map(<[u8]>::len),
    }
}

/// Encrypts or decrypts key data with RC4 under IV ‖ KEK, the first 256 bytes of keystream discarded
/// (key descriptor version 1). Nothing checks the result but the frame's integrity code.
pub fn rc4_in_place(kek: &[u8], iv: &[u8; 16], data: &mut [u8]) {
    let mut rc4 = Rc4::new(&[iv, kek]);
    rc4.skip(256);
    rc4.apply(data);
}

/// Opens the encrypted key data of an EAPOL-Key frame whose integrity code verified, by the
/// algorithm that goes with `mic`; returns its length in `out`.
///
/// # Errors
/// [`Undecryptable`] as [`aes_unwrap`]; RC4 only when `out` is too short.
pub fn open_key_data(
    mic: MicAlgorithm,
    kek: &[u8],
    iv: &[u8; 16],
    data: &[u8],
    out: &mut [u8],
) -> Result<usize, Undecryptable> {
    if mic == MicAlgorithm::HmacMd5 {
        let out = out.get_mut(..data.len()).ok_or(Undecryptable)?;
        out.copy_from_slice(data);
        rc4_in_place(kek, iv, out);
        return Ok(data.len());
    }
    aes_unwrap(kek, data, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3394 §4.1 and §4.6.
    const KEY: [u8; 32] = [
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
        25, 26, 27, 28, 29, 30, 31,
    ];
    const DATA: [u8; 16] = [
        0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee,
        0xff,
    ];
    const WRAPPED_128: [u8; 24] = [
        0x1f, 0xa6, 0x8b, 0x0a, 0x81, 0x12, 0xb4, 0x47, 0xae, 0xf3, 0x4b, 0xd8, 0xfb, 0x5a, 0x7b,
        0x82, 0x9d, 0x3e, 0x86, 0x23, 0x71, 0xd2, 0xcf, 0xe5,
    ];
    const WRAPPED_256: [u8; 24] = [
        0x64, 0xe8, 0xc3, 0xf9, 0xce, 0x0f, 0x5b, 0xa2, 0x63, 0xe9, 0x77, 0x79, 0x05, 0x81, 0x8a,
        0x2a, 0x93, 0xc8, 0x19, 0x1e, 0x7d, 0x6e, 0x8a, 0xe7,
    ];

    #[test]
    fn the_vectors_of_rfc_3394_hold_both_ways() {
        for (kek, wrapped) in [(&KEY[..16], WRAPPED_128), (&KEY[..], WRAPPED_256)] {
            let mut out = [0; 24];
            assert_eq!(aes_wrap(kek, &DATA, &mut out), Some(24));
            assert_eq!(out, wrapped);
            assert_eq!(aes_unwrap(kek, &wrapped, &mut out), Ok(16));
            assert_eq!(out[..16], DATA);
        }
    }

    #[test]
    fn damaged_wraps_and_wrong_keys_are_refused() {
        let mut out = [0; 24];
        for i in 0..24 {
            let mut bad = WRAPPED_128;
            bad[i] ^= 0x10;
            assert_eq!(aes_unwrap(&KEY[..16], &bad, &mut out), Err(Undecryptable));
        }
        assert_eq!(aes_unwrap(&KEY[1..17], &WRAPPED_128, &mut out), Err(Undecryptable));
        for n in 0..24 {
            assert_eq!(aes_unwrap(&KEY[..16], &WRAPPED_128[..n], &mut out), Err(Undecryptable));
        }
        assert_eq!(aes_unwrap(&KEY[..20], &WRAPPED_128, &mut out), Err(Undecryptable));
        assert_eq!(aes_unwrap(&KEY[..16], &WRAPPED_128, &mut out[..15]), Err(Undecryptable));
    }

    #[test]
    fn rc4_key_data_is_its_own_inverse() {
        let mut data = DATA;
        rc4_in_place(&KEY[..16], &[9; 16], &mut data);
        assert_ne!(data, DATA);
        let mut out = [0; 16];
        let opened = open_key_data(MicAlgorithm::HmacMd5, &KEY[..16], &[9; 16], &data, &mut out);
        assert_eq!((opened, out), (Ok(16), DATA));
    }
}
