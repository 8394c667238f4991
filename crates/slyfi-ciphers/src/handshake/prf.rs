//! The pseudo-random functions of key derivation (IEEE 802.11-2020 §12.7.1.2, §12.7.1.6.2).

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};

/// Which function derives keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kdf {
    /// PRF-n: HMAC-SHA-1 over `label | 0 | context | counter`.
    PrfSha1,
    /// KDF-SHA-256-n: HMAC over `counter (2, LE) | label | context | n in bits (2, LE)`.
    Sha256,
    /// KDF-SHA-384-n.
    Sha384,
    /// KDF-SHA-512-n.
    Sha512,
}

impl Kdf {
    /// Fills `out` with key material. The length of `out` is part of the derivation for all but
    /// [`Kdf::PrfSha1`].
    pub fn derive(self, key: &[u8], label: &str, context: &[&[u8]], out: &mut [u8]) {
        match self {
            Kdf::PrfSha1 => {
                for (i, chunk) in out.chunks_mut(20).enumerate() {
                    let parts = [label.as_bytes(), &[0]];
                    hmac::<Hmac<Sha1>>(key, &[&parts, context, &[&[i as u8]]], chunk);
                }
            }
            Kdf::Sha256 => counter_mode::<Hmac<Sha256>>(32, key, label, context, out),
            Kdf::Sha384 => counter_mode::<Hmac<Sha384>>(48, key, label, context, out),
            Kdf::Sha512 => counter_mode::<Hmac<Sha512>>(64, key, label, context, out),
        }
    }

    /// Returns the hash's length in bytes.
    pub const fn hash_len(self) -> usize {
        match self {
            Kdf::PrfSha1 => 20,
            Kdf::Sha256 => 32,
            Kdf::Sha384 => 48,
            Kdf::Sha512 => 64,
        }
    }
}

fn counter_mode<M: KeyInit + Mac>(
    block: usize,
    key: &[u8],
    label: &str,
    context: &[&[u8]],
    out: &mut [u8],
) {
    let bits = (out.len() as u16).wrapping_mul(8).to_le_bytes();
    for (i, chunk) in out.chunks_mut(block).enumerate() {
        let counter = (i as u16 + 1).to_le_bytes();
        hmac::<M>(key, &[&[&counter, label.as_bytes()], context, &[&bits]], chunk);
    }
}

/// HMAC over groups of parts, truncated to `out`.
pub(crate) fn hmac<M: KeyInit + Mac>(key: &[u8], groups: &[&[&[u8]]], out: &mut [u8]) {
    let mut mac = <M as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length");
    groups.iter().copied().flatten().for_each(|part| mac.update(part));
    let full = mac.finalize().into_bytes();
    for (o, f) in out.iter_mut().zip(full) {
        *o = f;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prf_vector_of_the_annex_holds() {
        // IEEE 802.11-2020 Annex J.3.2, case 1.
        let mut out = [0; 64];
        Kdf::PrfSha1.derive(&[0x0b; 20], "prefix", &[b"Hi ", b"There"], &mut out);
        assert_eq!(out[..8], [0xbc, 0xd4, 0xc6, 0x50, 0xb3, 0x0b, 0x96, 0x84]);
        assert_eq!(out[56..], [0x24, 0x2e, 0xdb, 0x83, 0x73, 0x69, 0x83, 0x56, 0xcf, 0x5a][2..]);
    }

    #[test]
    fn the_kdfs_agree_with_an_independent_implementation() {
        // Python's hmac module: key 00…1f, context 00…4b, 88 bytes.
        let key: [u8; 32] = core::array::from_fn(|i| i as u8);
        let context: [u8; 76] = core::array::from_fn(|i| i as u8);
        for (kdf, first, last) in [
            (Kdf::Sha256, [0xb4, 0x63, 0xc4, 0x98], [0xdc, 0x0b, 0xac, 0x52]),
            (Kdf::Sha384, [0x1b, 0x54, 0x4e, 0x5b], [0xb5, 0xeb, 0x15, 0x52]),
            (Kdf::Sha512, [0x8f, 0xa3, 0xaa, 0xaa], [0xaf, 0x8d, 0x6d, 0xf0]),
        ] {
            let mut out = [0; 88];
            kdf.derive(&key, "Pairwise key expansion", &[&context], &mut out);
            assert_eq!((&out[..4], &out[84..]), (&first[..], &last[..]), "{kdf:?}");
            let mut shorter = [0; 80];
            kdf.derive(&key, "Pairwise key expansion", &[&context], &mut shorter);
            assert_ne!(out[..80], shorter, "the length takes part");
        }
    }
}
