use aes::Aes128;
use cbc::cipher::{Array, BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};

use super::mac::cmac;
use crate::{Block, CbcCmacKey, Mismatch};

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

/// CMAC of prefix and ciphertext; CBC decryption (SP 800-38A §6.2) if it is equal to `received`.
pub(crate) fn open(
    key: &CbcCmacKey,
    iv: &Block,
    mac_prefix: Option<&Block>,
    blocks: &mut [Block],
    received: &Block,
) -> Result<(), Mismatch> {
    Mismatch::unless_equal(&tag(key, mac_prefix, blocks), received)?;
    cbc::Decryptor::<Aes128>::new(&key.encrypt.keys.bytes(0).into(), iv.into())
        .decrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    Ok(())
}

fn tag(key: &CbcCmacKey, mac_prefix: Option<&Block>, ciphertext: &[Block]) -> Block {
    let prefix = mac_prefix.map_or(&[][..], |prefix| prefix);
    cmac(&key.mac.bytes(0), &[prefix, ciphertext.as_flattened()])
}
