//! The integrity codes of EAPOL-Key frames and FT elements (IEEE 802.11-2020 §12.7.2, Table 12-10).

use super::prf::hmac;
use hmac::Hmac;
use subtle::ConstantTimeEq;

/// Which algorithm makes the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MicAlgorithm {
    /// HMAC-MD5, key descriptor version 1 (TKIP).
    HmacMd5,
    /// HMAC-SHA-1, truncated to 128 bits, version 2.
    HmacSha1,
    /// AES-128-CMAC, version 3 and SAE.
    AesCmac,
    /// HMAC-SHA-256, truncated to 128 bits (Suite B, OWE).
    HmacSha256,
    /// HMAC-SHA-384, truncated to 192 bits.
    HmacSha384,
    /// HMAC-SHA-512, truncated to 256 bits.
    HmacSha512,
}

impl MicAlgorithm {
    /// Returns the code's length in bytes.
    pub const fn tag_len(self) -> usize {
        match self {
            MicAlgorithm::HmacSha384 => 24,
            MicAlgorithm::HmacSha512 => 32,
            _ => 16,
        }
    }

    /// Writes the code of the parts in a row; the first [`MicAlgorithm::tag_len`] bytes of the result
    /// count. `None` when the key has not the length that the algorithm needs.
    pub fn compute(self, kck: &[u8], parts: &[&[u8]]) -> Option<[u8; 32]> {
        let mut out = [0; 32];
        let (mic, _) = out.split_at_mut(self.tag_len());
        match self {
            MicAlgorithm::HmacMd5 => hmac::<Hmac<md5::Md5>>(kck, &[parts], mic),
            MicAlgorithm::HmacSha1 => hmac::<Hmac<sha1::Sha1>>(kck, &[parts], mic),
            MicAlgorithm::HmacSha256 => hmac::<Hmac<sha2::Sha256>>(kck, &[parts], mic),
            MicAlgorithm::HmacSha384 => hmac::<Hmac<sha2::Sha384>>(kck, &[parts], mic),
            MicAlgorithm::HmacSha512 => hmac::<Hmac<sha2::Sha512>>(kck, &[parts], mic),
            MicAlgorithm::AesCmac => {
                mic.copy_from_slice(&slyfi_aes::Cmac::new(kck.try_into().ok()?).mac(parts));
            }
        }
        Some(out)
    }

    /// Returns whether `mic` is the code of the parts, compared in constant time.
    pub fn verify(self, kck: &[u8], parts: &[&[u8]], mic: &[u8]) -> bool {
        self.compute(kck, parts)
            .and_then(|full| Some(full.get(..self.tag_len())?.ct_eq(mic).into()))
            .unwrap_or(false)
    }
}
