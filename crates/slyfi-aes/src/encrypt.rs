use core::fmt;

use crate::backend::on_backend;
use crate::key_words::KeyWords;
#[cfg(target_arch = "x86_64")]
use crate::x86;
use crate::{Backend, Block, backend, portable};

/// An expanded AES-128 key that encrypts (FIPS 197 §5.1). Zeroised on drop.
#[derive(Clone)]
pub struct EncryptKey {
    pub(crate) keys: KeyWords<11>,
    pub(crate) backend: Backend,
}

impl EncryptKey {
    /// Expands `key` (FIPS 197 §5.2).
    pub fn new(key: &[u8; 16]) -> Self {
        Self::with_backend(backend(), key)
    }

    /// The same on a backend of the caller's choice, for tests and measurements.
    #[doc(hidden)]
    pub fn on(backend: Backend, key: &[u8; 16]) -> Self {
        assert!(backend.is_available(), "this machine has no {backend}");
        Self::with_backend(backend, key)
    }

    pub(crate) fn with_backend(backend: Backend, key: &[u8; 16]) -> Self {
        let keys = on_backend!(
            backend,
            KeyWords::raw(key),
            x86::keys::expand_128(key),
            x86::keys::expand_128(key),
        );
        Self { keys, backend }
    }

    /// Encrypts one block in place.
    pub fn encrypt_block(&self, block: &mut Block) {
        on_backend!(
            self.backend,
            portable::block::encrypt(&self.keys.bytes(0), core::slice::from_mut(block)),
            x86::aes_ni::ecb::encrypt_block(&self.keys, block),
            x86::aes_ni::ecb::encrypt_block(&self.keys, block),
        );
    }

    /// Encrypts each block in place, independently (ECB, SP 800-38A §6.1): the batch of an address
    /// table.
    pub fn encrypt_blocks(&self, blocks: &mut [Block]) {
        on_backend!(
            self.backend,
            portable::block::encrypt(&self.keys.bytes(0), blocks),
            x86::aes_ni::ecb::encrypt_blocks(&self.keys, blocks),
            x86::vaes_512::ecb::encrypt_blocks(&self.keys, blocks),
        );
    }
}

impl fmt::Debug for EncryptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncryptKey(..)")
    }
}
