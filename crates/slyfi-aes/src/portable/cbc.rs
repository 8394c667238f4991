use aes::Aes128;
use cbc::cipher::{Array, BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};

use super::mac::cmac;
use crate::{Block, CbcCmacKey};

/// CBC encryption of whole blocks (SP 800-38A §6.2), then CMAC of prefix and ciphertext.
pub(crate) fn seal(
    key: &CbcCmacKey,
    iv: &Block,
    mac_prefix: Option<&Block>,
    blocks: &mut [Block],
) -> Block {
    cbc::Encryptor::<Aes128>::new(&key.encrypt.keys.bytes(0).into(), iv.into())
        .encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    tag(key, mac_prefix, blocks)
}

/// CBC decryption of whole blocks (SP 800-38A §6.2).
pub(crate) fn decrypt(key: &CbcCmacKey, iv: &Block, blocks: &mut [Block]) {
    cbc::Decryptor::<Aes128>::new(&key.encrypt.keys.bytes(0).into(), iv.into())
        .decrypt_blocks(Array::cast_slice_from_core_mut(blocks));
}

/// CMAC of prefix and ciphertext.
pub(crate) fn tag(key: &CbcCmacKey, mac_prefix: Option<&Block>, ciphertext: &[Block]) -> Block {
    let prefix = mac_prefix.map_or(&[][..], |prefix| prefix);
    cmac(&key.mac.cipher.keys.bytes(0), &[prefix, ciphertext.as_flattened()])
}
