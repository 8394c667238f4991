//! Libraries to compare with. Without the feature `peers` only RustCrypto is in the build, and the
//! suites report the others as not measured.

pub mod cbc;
pub mod ccm;
pub mod gcm;
#[cfg(has_ipsec_mb)]
mod ipsec_mb;
pub mod rc4;
mod rust_crypto;

pub use rust_crypto::{RustCrypto, rust_crypto_many};

/// Why a peer is missing.
pub const WITHOUT: &str = "built without the feature `peers`";

/// Encryption key, MAC key and initialisation vector.
pub type LinkKeys<'a> = (&'a [u8; 16], &'a [u8; 16], &'a [u8; 16]);

/// ipsec-mb sealing one frame of each link: 16 bytes that are only authenticated, then whole blocks.
/// Returns the tags. `checked` says whether the library validates the jobs.
pub fn ipsec_mb<const N: usize>(
    links: [LinkKeys<'_>; N],
    checked: bool,
) -> Option<impl FnMut(&mut [Vec<u8>; N]) -> [[u8; 16]; N] + use<N>> {
    #[cfg(has_ipsec_mb)]
    {
        let mut manager = ipsec_mb::IpsecMb::new(checked)?;
        for (i, (enc, mac, iv)) in links.into_iter().enumerate() {
            manager.link(i, enc, mac, iv);
        }
        Some(move |frames: &mut [Vec<u8>; N]| manager.seal(frames))
    }
    #[cfg(not(has_ipsec_mb))]
    {
        let _ = (links, checked);
        None::<fn(&mut [Vec<u8>; N]) -> [[u8; 16]; N]>
    }
}

/// ipsec-mb sealing one message of each key with AES-128-CCM, as [`ccm`] has it, all under one nonce and
/// associated data. Returns the tags.
pub fn ipsec_mb_ccm<const N: usize>(
    keys: [&[u8; 16]; N],
    nonce: [u8; 13],
    aad: [u8; 22],
    checked: bool,
) -> Option<impl FnMut(&mut [Vec<u8>; N]) -> [[u8; 8]; N] + use<N>> {
    #[cfg(has_ipsec_mb)]
    {
        let mut manager = ipsec_mb::IpsecMb::new(checked)?;
        for (i, key) in keys.into_iter().enumerate() {
            manager.link(i, key, key, &[0; 16]);
        }
        Some(move |messages: &mut [Vec<u8>; N]| manager.ccm_seal(&nonce, &aad, messages))
    }
    #[cfg(not(has_ipsec_mb))]
    {
        let _ = (keys, nonce, aad, checked);
        None::<fn(&mut [Vec<u8>; N]) -> [[u8; 8]; N]>
    }
}
