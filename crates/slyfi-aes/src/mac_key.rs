use zeroize::Zeroize;

use crate::backend::on_backend;
use crate::encrypt::EncryptKey;
#[cfg(target_arch = "x86_64")]
use crate::x86;
use crate::{Backend, Block};

/// A CMAC key: the cipher and the first subkey (RFC 4493 §2.3).
///
/// The second subkey is only ever needed where a message ends inside a block, and is one doubling
/// away, so it is not stored.
#[derive(Clone)]
pub(crate) struct MacKey {
    pub(crate) cipher: EncryptKey,
    /// In memory order, as the round keys are.
    k1: u128,
}

impl MacKey {
    pub(crate) fn with_backend(backend: Backend, key: &[u8; 16]) -> Self {
        let cipher = EncryptKey::with_backend(backend, key);
        let mut zero = [0; 16];
        // The portable backend derives its own.
        on_backend!(
            backend,
            (),
            x86::aes_ni::ecb::encrypt_block(&cipher.keys, &mut zero),
            x86::aes_ni::ecb::encrypt_block(&cipher.keys, &mut zero),
        );
        Self { cipher, k1: u128::from_ne_bytes(double(zero)) }
    }

    /// XORed into a last block that is whole.
    pub(crate) fn k1(&self) -> Block {
        self.k1.to_ne_bytes()
    }

    /// XORed into a last block that was padded.
    pub(crate) fn k2(&self) -> Block {
        double(self.k1())
    }
}

impl Drop for MacKey {
    fn drop(&mut self) {
        self.k1.zeroize();
    }
}

/// Multiplies by x in GF(2¹²⁸) as CMAC has it (RFC 4493 §2.3), in constant time.
fn double(block: Block) -> Block {
    let value = u128::from_be_bytes(block);
    ((value << 1) ^ ((value >> 127) * 0x87)).to_be_bytes()
}
