use core::fmt;

use crate::backend::on_backend;
use crate::key_words::KeyWords;
#[cfg(target_arch = "x86_64")]
use crate::x86;
use crate::{Backend, Block, backend, portable};

/// An expanded AES-128 key that decrypts (FIPS 197 §5.3.5, the equivalent inverse cipher). Zeroised
/// on drop.
#[derive(Clone)]
pub struct DecryptKey {
    keys: KeyWords<11>,
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
        let keys = on_backend!(
            backend,
            KeyWords::raw(key),
            x86::keys::inverse(&x86::keys::expand_128(key)),
            x86::keys::inverse(&x86::keys::expand_128(key)),
        );
        Self { keys, backend }
    }

    /// Decrypts one block in place.
    pub fn decrypt_block(&self, block: &mut Block) {
        on_backend!(
            self.backend,
            portable::block::decrypt(&self.keys.bytes(0), block),
            x86::aes_ni::ecb::decrypt_block(&self.keys, block),
            x86::aes_ni::ecb::decrypt_block(&self.keys, block),
        );
    }
}

impl fmt::Debug for DecryptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DecryptKey(..)")
    }
}
