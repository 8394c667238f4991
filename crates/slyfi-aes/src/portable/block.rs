use aes::Aes128;
use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};

use crate::Block;

/// ECB encryption of each block.
pub(crate) fn encrypt(key: &[u8; 16], blocks: &mut [Block]) {
    Aes128::new(&Array(*key)).encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
}

/// Decryption of one block.
pub(crate) fn decrypt(key: &[u8; 16], block: &mut Block) {
    Aes128::new(&Array(*key)).decrypt_block(block.into());
}
