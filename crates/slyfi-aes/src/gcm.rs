use core::fmt;

use crate::backend::on_backend;
use crate::key_words::KeyWords;
#[cfg(target_arch = "x86_64")]
use crate::x86;
use crate::{Backend, Block, EncryptKey, Mismatch, backend, portable};

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
    keys: KeyWords<15>,
    /// H¹⁷ to H¹; zeros on the portable backend.
    powers: KeyWords<17>,
    size: KeySize,
    backend: Backend,
}

/// Which AES is under the GCM.
#[derive(Clone, Copy)]
pub(crate) enum KeySize {
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
        let mut keys = KeyWords::raw(key);
        let schedule = EncryptKey::with_backend(backend, key).keys;
        keys.0[..11].copy_from_slice(&schedule.0);
        Self::with_schedule(backend, KeySize::Aes128, keys)
    }

    fn with_backend_256(backend: Backend, key: &[u8; 32]) -> Self {
        let keys = on_backend!(
            backend,
            KeyWords::raw(key),
            x86::keys::expand_256(key),
            x86::keys::expand_256(key),
        );
        Self::with_schedule(backend, KeySize::Aes256, keys)
    }

    fn with_schedule(backend: Backend, size: KeySize, keys: KeyWords<15>) -> Self {
        let powers = on_backend!(
            backend,
            KeyWords([0; 17]),
            x86::aes_ni::gcm::powers(&keys, size),
            x86::aes_ni::gcm::powers(&keys, size),
        );
        Self { keys, powers, size, backend }
    }

    /// Encrypts `data` in place and returns the tag of `aad` and the ciphertext (SP 800-38D §7.1).
    ///
    /// # Panics
    /// If `data` or `aad` is longer than GCM allows (64 GiB, 2 EiB).
    pub fn seal_in_place(&self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> Block {
        assert!(allowed(aad, data), "longer than SP 800-38D §5.2.1.1 allows");
        let Self { keys, powers, size, backend } = self;
        match size {
            KeySize::Aes128 => on_backend!(
                backend,
                portable::gcm::seal(keys, *size, nonce, aad, data),
                x86::aes_ni::gcm::seal::<10>(keys, powers, nonce, aad, data),
                x86::vaes_512::gcm::seal::<10>(keys, powers, nonce, aad, data),
            ),
            KeySize::Aes256 => on_backend!(
                backend,
                portable::gcm::seal(keys, *size, nonce, aad, data),
                x86::aes_ni::gcm::seal::<14>(keys, powers, nonce, aad, data),
                x86::vaes_512::gcm::seal::<14>(keys, powers, nonce, aad, data),
            ),
        }
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
        let Self { keys, powers, size, backend } = self;
        match size {
            KeySize::Aes128 => on_backend!(
                backend,
                portable::gcm::open(keys, *size, nonce, aad, data, tag),
                x86::aes_ni::gcm::open::<10>(keys, powers, nonce, aad, data, tag),
                x86::vaes_512::gcm::open::<10>(keys, powers, nonce, aad, data, tag),
            ),
            KeySize::Aes256 => on_backend!(
                backend,
                portable::gcm::open(keys, *size, nonce, aad, data, tag),
                x86::aes_ni::gcm::open::<14>(keys, powers, nonce, aad, data, tag),
                x86::vaes_512::gcm::open::<14>(keys, powers, nonce, aad, data, tag),
            ),
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
