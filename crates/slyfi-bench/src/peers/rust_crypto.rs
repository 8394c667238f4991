use aes::Aes128;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use cbc::cipher::{BlockModeDecrypt, InnerIvInit};
use cmac::{Cmac, Mac};

/// A link's keys, expanded once as a careful user of the crates would do it.
pub struct RustCrypto {
    cipher: Aes128,
    mac: Cmac<Aes128>,
}

impl RustCrypto {
    /// Expands both keys.
    pub fn new(enc: &[u8; 16], mac: &[u8; 16]) -> Self {
        Self { cipher: Aes128::new(enc.into()), mac: Cmac::new(mac.into()) }
    }

    /// Verifies the CMAC of prefix and data and decrypts the data (CBC); whether it verified.
    pub fn open(&self, iv: &[u8; 16], prefix: &[u8], data: &mut [u8], tag: &[u8; 16]) -> bool {
        let mut mac = self.mac.clone();
        mac.update(prefix);
        mac.update(data);
        if mac.verify(tag.into()).is_err() {
            return false;
        }
        let (blocks, _) = data.as_chunks_mut();
        cbc::Decryptor::inner_iv_init(&self.cipher, iv.into())
            .decrypt_blocks(Array::cast_slice_from_core_mut(blocks));
        true
    }

    /// Encrypts each block.
    pub fn encrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        self.cipher.encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    }
}

/// Encrypts two blocks under each key.
pub fn rust_crypto_many(keys: &[[u8; 16]], blocks: &mut [[[u8; 16]; 2]]) {
    for (key, blocks) in keys.iter().zip(blocks) {
        Aes128::new(key.into()).encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    }
}
