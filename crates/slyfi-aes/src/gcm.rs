use core::fmt;

use crate::schedule::RoundKeys;
use crate::{Backend, Block, Mismatch, backend, portable};

/// Most bytes in one message: the 32-bit block counter starts at 2 and must not come round
/// (SP 800-38D §5.2.1.1: 2³⁹ − 256 bits).
const MAX_DATA: u64 = (1 << 36) - 32;

/// Most bytes of associated data (SP 800-38D §5.2.1.1: 2⁶⁴ − 1 bits).
const MAX_AAD: u64 = (1 << 61) - 1;

/// An AES-GCM key (SP 800-38D), 96-bit nonce and 128-bit tag. Zeroised on drop.
///
/// A nonce must never be used twice with one key: whoever sees two such messages learns the XOR of
/// their plaintexts and can forge tags (SP 800-38D §8).
#[derive(Clone)]
pub struct GcmKey {
    /// The schedule of AES-256, of which AES-128 uses the first eleven.
    pub(crate) keys: RoundKeys<15>,
    size: KeySize,
    backend: Backend,
}

#[derive(Clone, Copy)]
enum KeySize {
    Aes128,
    Aes256,
}

impl GcmKey {
    /// An AES-128-GCM key.
    pub fn new_128(key: &[u8; 16]) -> Self {
        Self::with_backend_128(backend(), key)
    }

    /// An AES-256-GCM key.
    pub fn new_256(key: &[u8; 32]) -> Self {
        Self::with_backend_256(backend(), key)
    }

    /// [`new_128`](Self::new_128) on a backend of the caller's choice, for tests and measurements.
    #[doc(hidden)]
    pub fn on_128(backend: Backend, key: &[u8; 16]) -> Self {
        assert!(backend.is_available(), "this machine has no {backend}");
        Self::with_backend_128(backend, key)
    }

    /// [`new_256`](Self::new_256) on a backend of the caller's choice, for tests and measurements.
    #[doc(hidden)]
    pub fn on_256(backend: Backend, key: &[u8; 32]) -> Self {
        assert!(backend.is_available(), "this machine has no {backend}");
        Self::with_backend_256(backend, key)
    }

    fn with_backend_128(backend: Backend, key: &[u8; 16]) -> Self {
        Self { keys: RoundKeys::raw(key), size: KeySize::Aes128, backend }
    }

    fn with_backend_256(backend: Backend, key: &[u8; 32]) -> Self {
        Self { keys: RoundKeys::raw(key), size: KeySize::Aes256, backend }
    }

    /// Encrypts `data` in place and returns the tag of `aad` and the ciphertext (SP 800-38D §7.1).
    ///
    /// # Panics
    /// If `data` or `aad` is longer than GCM allows (64 GiB, 2 EiB).
    pub fn seal_in_place(&self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> Block {
        assert!(allowed(aad, data), "longer than SP 800-38D §5.2.1.1 allows");
        self.with_raw_key(|key| portable::gcm::seal(key, nonce, aad, data))
    }

    /// Verifies `tag` in constant time and only then decrypts `data` in place (SP 800-38D §7.2).
    ///
    /// # Errors
    /// [`Mismatch`] if the tag does not verify or the lengths are beyond what GCM allows; `data` is
    /// untouched then.
    pub fn open_in_place(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        data: &mut [u8],
        tag: &Block,
    ) -> Result<(), Mismatch> {
        if !allowed(aad, data) {
            return Err(Mismatch);
        }
        self.with_raw_key(|key| portable::gcm::open(key, nonce, aad, data, tag))
    }

    fn with_raw_key<T>(&self, f: impl FnOnce(&[u8]) -> T) -> T {
        let key = zeroize::Zeroizing::new([self.keys.bytes(0), self.keys.bytes(1)]);
        match self.size {
            KeySize::Aes128 => f(&key[0]),
            KeySize::Aes256 => f(key.as_flattened()),
        }
    }
}

fn allowed(aad: &[u8], data: &[u8]) -> bool {
    data.len() as u64 <= MAX_DATA && aad.len() as u64 <= MAX_AAD
}

impl fmt::Debug for GcmKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GcmKey(..)")
    }
}
