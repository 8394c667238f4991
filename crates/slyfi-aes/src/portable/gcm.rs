use aes_gcm::aead::{AeadInOut, KeyInit, Nonce, Tag};
use aes_gcm::{Aes128Gcm, Aes256Gcm};

use crate::{Block, Mismatch};

/// GCM encryption in place (SP 800-38D §7.1); a key of 16 or of 32 bytes.
pub(crate) fn seal(key: &[u8], nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> Block {
    match key.try_into() {
        Ok(key) => seal_with(&Aes128Gcm::new(key), nonce, aad, data),
        Err(_) => seal_with(&aes_256(key), nonce, aad, data),
    }
}

/// GCM decryption in place (SP 800-38D §7.2); the tag is checked before anything is written.
pub(crate) fn open(
    key: &[u8],
    nonce: &[u8; 12],
    aad: &[u8],
    data: &mut [u8],
    tag: &Block,
) -> Result<(), Mismatch> {
    match key.try_into() {
        Ok(key) => open_with(&Aes128Gcm::new(key), nonce, aad, data, tag),
        Err(_) => open_with(&aes_256(key), nonce, aad, data, tag),
    }
}

fn aes_256(key: &[u8]) -> Aes256Gcm {
    Aes256Gcm::new(key.try_into().expect("a GCM key has 16 or 32 bytes"))
}

fn seal_with<A: AeadInOut>(cipher: &A, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> Block {
    let nonce = Nonce::<A>::try_from(&nonce[..]).expect("both ciphers take 12 bytes");
    let tag = cipher
        .encrypt_inout_detached(&nonce, aad, data.into())
        .expect("the caller has checked the length against SP 800-38D §5.2.1.1");
    tag[..].try_into().expect("both ciphers give 16 bytes")
}

fn open_with<A: AeadInOut>(
    cipher: &A,
    nonce: &[u8; 12],
    aad: &[u8],
    data: &mut [u8],
    tag: &Block,
) -> Result<(), Mismatch> {
    let nonce = Nonce::<A>::try_from(&nonce[..]).expect("both ciphers take 12 bytes");
    let tag = Tag::<A>::try_from(&tag[..]).expect("both ciphers take 16 bytes");
    cipher.decrypt_inout_detached(&nonce, aad, data.into(), &tag).map_err(|_| Mismatch)
}
