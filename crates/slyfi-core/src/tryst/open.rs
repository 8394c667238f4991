use super::{HEADER_LEN, MAX_RECIPIENTS, NONCE, TrystKeys, packet_key};
use crate::keys::Key128;
use crate::pairing::sha1_128;
use crate::sizes::{TAG_LEN, unpad_2008, unpad_aead};
use crate::suite::Suite;
use core::ops::Range;
use slyfi_aes::{CbcCmacKey, Cmac, DecryptKey};

/// A body did not verify. Opaque: it does not tell which check failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unverified;

/// A Tryst message that verified.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Opened {
    /// Where the payload lies in the body.
    pub payload: Range<usize>,
    /// The tag of the header that was opened: what the replay cache goes by.
    pub header_mac: [u8; TAG_LEN],
    /// How many headers the body has.
    pub recipients: usize,
}

/// Opens, in place, the body whose header number `header_index` is addressed to `keys`.
///
/// Nothing is decrypted before the header's tag verifies. Where the ctext begins is found by
/// verifying its tag at each possible count of headers, at most 8 (slyfi-2008 §4.1).
///
/// # Errors
/// [`Unverified`]; the body is unchanged then.
pub fn open(
    suite: Suite,
    keys: &TrystKeys,
    body: &mut [u8],
    header_index: usize,
) -> Result<Opened, Unverified> {
    let (header_mac, kp) = open_header(keys, body, header_index)?;
    let opener = match suite {
        Suite::S2008 => Opener::S2008(CbcCmacKey::new(kp.as_bytes(), sha1_128(&kp).as_bytes())),
        Suite::Aead { key, .. } => Opener::Aead(packet_key(key, &kp)),
    };
    for recipients in header_index + 1..=MAX_RECIPIENTS {
        let start = recipients * HEADER_LEN;
        let Some((headers, ctext)) = body.split_at_mut_checked(start) else { break };
        let Some((etxt, tag)) = ctext.split_last_chunk_mut::<TAG_LEN>() else { break };
        let text = match &opener {
            Opener::S2008(key) => {
                if key.open_in_place(&[0; 16], None, etxt, tag).is_err() {
                    continue;
                }
                unpad_2008(etxt)
            }
            Opener::Aead(key) => {
                if key.open_in_place(&NONCE, headers, etxt, tag).is_err() {
                    continue;
                }
                unpad_aead(etxt)
            }
        };
        let text = text.ok_or(Unverified)?;
        let payload = start + text.start..start + text.end;
        return Ok(Opened { payload, header_mac, recipients });
    }
    Err(Unverified)
}

enum Opener {
    S2008(CbcCmacKey),
    Aead(slyfi_aes::GcmKey),
}

/// Verifies the header and unwraps kp.
fn open_header(
    keys: &TrystKeys,
    body: &[u8],
    header_index: usize,
) -> Result<([u8; TAG_LEN], Key128), Unverified> {
    if header_index >= MAX_RECIPIENTS {
        return Err(Unverified);
    }
    let (s, rest) = body
        .get(header_index * HEADER_LEN..)
        .and_then(|b| b.split_first_chunk::<32>())
        .ok_or(Unverified)?;
    let mac: &[u8; TAG_LEN] = rest.first_chunk().ok_or(Unverified)?;
    Cmac::new(keys.mac.as_bytes()).verify(&[s], mac).map_err(|_| Unverified)?;
    let mut kp = [0; 16];
    kp.copy_from_slice(&s[16..]);
    DecryptKey::new(keys.enc.as_bytes()).decrypt_block(&mut kp);
    Ok((*mac, Key128::new(kp)))
}
