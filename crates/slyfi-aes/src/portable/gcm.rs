use aes_gcm::aead::{AeadInOut, KeyInit, Nonce, Tag};
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use zeroize::Zeroizing;

use crate::gcm::KeySize;
use crate::key_words::KeyWords;
use crate::{Block, Mismatch};

/// GCM encryption in place (SP 800-38D §7.1).
pub(crate) fn seal(
    keys: &KeyWords<15>,
    size: KeySize,
    nonce: &[u8; 12],
    aad: &[u8],
    data: &mut [u8],
) -> Block {
    match size {
        KeySize::Aes128 => seal_with(&aes_128(keys), nonce, aad, data),
        KeySize::Aes256 => seal_with(&aes_256(keys), nonce, aad, data),
    }
}

/// GCM decryption in place (SP 800-38D §7.2); the tag is checked before anything is written.
pub(crate) fn open(
    keys: &KeyWords<15>,
    size: KeySize,
    nonce: &[u8; 12],
    aad: &[u8],
    data: &mut [u8],
    tag: &Block,
) -> Result<(), Mismatch> {
    match size {
        KeySize::Aes128 => open_with(&aes_128(keys), nonce, aad, data, tag),
        KeySize::Aes256 => open_with(&aes_256(keys), nonce, aad, data, tag),
    }
}

fn aes_128(keys: &KeyWords<15>) -> Aes128Gcm {
    Aes128Gcm::new(&keys.bytes(0).into())
}

fn aes_256(keys: &KeyWords<15>) -> Aes256Gcm {
    let mut key = Zeroizing::new([0; 32]);
    key[..16].copy_from_slice(&keys.bytes(0));
    key[16..].copy_from_slice(&keys.bytes(1));
    Aes256Gcm::new((&*key).into())
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
