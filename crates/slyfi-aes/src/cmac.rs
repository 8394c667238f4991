use core::fmt;

use crate::backend::on_backend;
use crate::mac_key::MacKey;
#[cfg(target_arch = "x86_64")]
use crate::x86;
use crate::{Backend, Block, Mismatch, backend, portable};

/// An AES-CMAC key (RFC 4493, SP 800-38B). Zeroised on drop.
#[derive(Clone)]
pub struct Cmac {
    key: MacKey,
}

impl Cmac {
    /// Expands `key` and derives the first subkey (RFC 4493 §2.3).
    pub fn new(key: &[u8; 16]) -> Self {
        Self { key: MacKey::with_backend(backend(), key) }
    }

    /// The same on a backend of the caller's choice, for tests and measurements.
    #[doc(hidden)]
    pub fn on(backend: Backend, key: &[u8; 16]) -> Self {
        assert!(backend.is_available(), "this machine has no {backend}");
        Self { key: MacKey::with_backend(backend, key) }
    }

    /// The tag of the parts in a row, as if they were one message (RFC 4493 §2.4).
    pub fn mac(&self, parts: &[&[u8]]) -> Block {
        on_backend!(
            self.key.cipher.backend,
            portable::mac::cmac(&self.key.cipher.keys.bytes(0), parts),
            x86::chain::cmac(&self.key, parts),
            x86::chain::cmac(&self.key, parts),
        )
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
