use core::fmt;

use crate::schedule::RoundKeys;
use crate::{Backend, Block, backend, portable};

/// An expanded AES-128 key that decrypts (FIPS 197 §5.3.5, the equivalent inverse cipher). Zeroised
/// on drop.
#[derive(Clone)]
pub struct DecryptKey {
    keys: RoundKeys<11>,
    backend: Backend,
}

impl DecryptKey {
    /// Expands `key` and turns its schedule round (FIPS 197 §5.2, §5.3.5).
    pub fn new(key: &[u8; 16]) -> Self {
        Self::with_backend(backend(), key)
    }

    /// The same on a backend of the caller's choice, for tests and measurements.
    #[doc(hidden)]
    pub fn on(backend: Backend, key: &[u8; 16]) -> Self {
        assert!(backend.is_available(), "this machine has no {backend}");
        Self::with_backend(backend, key)
    }

    fn with_backend(backend: Backend, key: &[u8; 16]) -> Self {
        Self { keys: RoundKeys::raw(key), backend }
    }

    /// Decrypts one block in place.
    pub fn decrypt_block(&self, block: &mut Block) {
        portable::block::decrypt(&self.keys.bytes(0), block);
    }
}

impl fmt::Debug for DecryptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DecryptKey(..)")
    }
}
