use core::fmt;

use crate::schedule::RoundKeys;
use crate::{Backend, Block, Mismatch, backend, portable};

/// An AES-CMAC key (RFC 4493, SP 800-38B). Zeroised on drop.
#[derive(Clone)]
pub struct Cmac {
    keys: RoundKeys<11>,
    backend: Backend,
}

impl Cmac {
    /// Expands `key` and derives the first subkey (RFC 4493 §2.3).
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

    /// The tag of the parts in a row, as if they were one message (RFC 4493 §2.4).
    pub fn mac(&self, parts: &[&[u8]]) -> Block {
        portable::mac::cmac(&self.keys.bytes(0), parts)
    }

    /// Compares the tag of the parts with `tag` in constant time (RFC 4493 §2.5).
    ///
    /// # Errors
    /// [`Mismatch`] if they differ.
    pub fn verify(&self, parts: &[&[u8]], tag: &Block) -> Result<(), Mismatch> {
        Mismatch::unless_equal(&self.mac(parts), tag)
    }
}

impl fmt::Debug for Cmac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cmac(..)")
    }
}
