use super::{HEADER_LEN, MAX_RECIPIENTS, NONCE, TrystKeys, packet_key};
use crate::keys::Key128;
use crate::pairing::sha1_128;
use crate::sizes::{LENGTH_LEN, Sizes, TAG_LEN};
use crate::suite::Suite;
use crate::table::Address;
use slyfi_aes::{CbcCmacKey, Cmac, encrypt_blocks_with};
use slyfi_base::SecureRandom;

/// One recipient of a Tryst message.
#[derive(Clone, Copy, Debug)]
pub struct Recipient<'a> {
    /// The keys of the direction and day.
    pub keys: &'a TrystKeys,
    /// The address of the class and interval, made with those keys.
    pub address: &'a Address,
}

/// Why nothing was sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SealError {
    /// No recipient, or more than [`MAX_RECIPIENTS`].
    Recipients,
    /// The payload does not fit the longest body.
    TooLong,
    /// The output buffer is shorter than the body.
    BufferTooSmall {
        /// Bytes needed.
        needed: usize,
    },
}

/// Seals `payload` for the recipients into `out`, from the (first) address on; returns the body's
/// length. The packet key kp comes from `rng`.
///
/// # Errors
/// [`SealError`]; nothing of `out` is to be sent then.
pub fn seal<R: SecureRandom + ?Sized>(
    suite: Suite,
    sizes: Sizes,
    recipients: &[Recipient<'_>],
    payload: &[u8],
    rng: &mut R,
    out: &mut [u8],
) -> Result<usize, SealError> {
    seal_with(suite, sizes, recipients, payload, &Key128::random(rng), out)
}

/// [`seal`] with the packet key chosen by the caller, as test vectors do.
///
/// # Security
/// `kp` must be uniformly random and never used before: the ctext has a constant IV or nonce.
///
/// # Errors
/// [`SealError`]; nothing of `out` is to be sent then.
pub fn seal_with(
    suite: Suite,
    sizes: Sizes,
    recipients: &[Recipient<'_>],
    payload: &[u8],
    kp: &Key128,
    out: &mut [u8],
) -> Result<usize, SealError> {
    if recipients.is_empty() || recipients.len() > MAX_RECIPIENTS {
        return Err(SealError::Recipients);
    }
    let len = sizes.tryst_len(suite, recipients.len(), payload.len()).ok_or(SealError::TooLong)?;
    let body = out.get_mut(..len).ok_or(SealError::BufferTooSmall { needed: len })?;

    let (headers, ctext) = body.split_at_mut(recipients.len() * HEADER_LEN);
    let (etxt, tag) = ctext.split_at_mut(ctext.len() - TAG_LEN);
    for (to, header) in recipients.iter().zip(headers.chunks_exact_mut(HEADER_LEN)) {
        let mut wrapped = [*kp.as_bytes()];
        encrypt_blocks_with(to.keys.enc.as_bytes(), &mut wrapped);
        header[..16].copy_from_slice(to.address);
        header[16..32].copy_from_slice(&wrapped[0]);
        let mac = Cmac::new(to.keys.mac.as_bytes()).mac(&[&header[..32]]);
        header[32..].copy_from_slice(&mac);
    }
    let computed = match suite {
        Suite::S2008 => {
            let padding = etxt.len() - payload.len();
            etxt[..payload.len()].copy_from_slice(payload);
            etxt[payload.len()..].fill(padding as u8);
            let kp2 = sha1_128(kp);
            CbcCmacKey::new(kp.as_bytes(), kp2.as_bytes()).seal_in_place(&[0; 16], None, etxt)
        }
        Suite::Aead { key, .. } => {
            let (length, text) = etxt.split_at_mut(LENGTH_LEN);
            length.copy_from_slice(&(payload.len() as u16).to_be_bytes());
            text[..payload.len()].copy_from_slice(payload);
            text[payload.len()..].fill(0);
            packet_key(key, kp).seal_in_place(&NONCE, headers, etxt)
        }
    };
    tag.copy_from_slice(&computed);
    Ok(len)
}
