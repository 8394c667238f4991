use core::fmt;

use crate::schedule::RoundKeys;
use crate::{Backend, Block, backend, portable};

/// An expanded AES-128 key that encrypts (FIPS 197 §5.1). Zeroised on drop.
#[derive(Clone)]
pub struct EncryptKey {
    pub(crate) keys: RoundKeys<11>,
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
        Self { keys: RoundKeys::raw(key), backend }
    }

    /// Encrypts one block in place.
    pub fn encrypt_block(&self, block: &mut Block) {
        self.encrypt_blocks(core::slice::from_mut(block));
    }

    /// Encrypts each block in place, independently (ECB, SP 800-38A §6.1): the batch of an address
    /// table.
    pub fn encrypt_blocks(&self, blocks: &mut [Block]) {
        portable::block::encrypt(&self.keys.bytes(0), blocks);
    }
}

impl fmt::Debug for EncryptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncryptKey(..)")
    }
}
