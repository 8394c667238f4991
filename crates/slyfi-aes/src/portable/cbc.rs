use aes::Aes128;
use cbc::cipher::{Array, BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};

use crate::Block;

/// CBC encryption of whole blocks (SP 800-38A §6.2).
pub(crate) fn encrypt(key: &[u8; 16], iv: &Block, blocks: &mut [Block]) {
    cbc::Encryptor::<Aes128>::new(key.into(), iv.into())
        .encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
}

/// CBC decryption of whole blocks (SP 800-38A §6.2).
pub(crate) fn decrypt(key: &[u8; 16], iv: &Block, blocks: &mut [Block]) {
    cbc::Decryptor::<Aes128>::new(key.into(), iv.into())
        .decrypt_blocks(Array::cast_slice_from_core_mut(blocks));
}
