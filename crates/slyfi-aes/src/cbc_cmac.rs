use core::fmt;

use crate::schedule::RoundKeys;
use crate::{Backend, Block, EncryptKey, Mismatch, backend, portable};

/// A pair of AES-128 keys: one encrypts in CBC mode, the other authenticates the ciphertext with
/// CMAC, both in one loop. Zeroised on drop.
///
/// CBC and CMAC are each a serial chain, bound by the latency of a round and not by the number of
/// rounds. The MAC of ciphertext block `i` runs beside the encryption of block `i + 1`, so the two
/// together take the time of one.
///
/// The tag is `CMAC(mac_prefix ‖ ciphertext)`, the order of slyfi-2008 §3.4.
#[derive(Clone)]
pub struct CbcCmacKey {
    pub(crate) encrypt: EncryptKey,
    pub(crate) mac: RoundKeys<11>,
}

impl CbcCmacKey {
    /// Expands the encryption key and the MAC key.
    pub fn new(encrypt: &[u8; 16], mac: &[u8; 16]) -> Self {
        Self::with_backend(backend(), encrypt, mac)
    }

    /// The same on a backend of the caller's choice, for tests and measurements.
    #[doc(hidden)]
    pub fn on(backend: Backend, encrypt: &[u8; 16], mac: &[u8; 16]) -> Self {
        assert!(backend.is_available(), "this machine has no {backend}");
        Self::with_backend(backend, encrypt, mac)
    }

    fn with_backend(backend: Backend, encrypt: &[u8; 16], mac: &[u8; 16]) -> Self {
        Self { encrypt: EncryptKey::with_backend(backend, encrypt), mac: RoundKeys::raw(mac) }
    }

    /// Encrypts `data` in place (CBC, SP 800-38A §6.2) and returns the tag of `mac_prefix`, if there
    /// is one, and the ciphertext.
    ///
    /// # Panics
    /// If `data` is not a whole number of blocks: padding belongs to the caller.
    pub fn seal_in_place(&self, iv: &Block, mac_prefix: Option<&Block>, data: &mut [u8]) -> Block {
        portable::cbc::seal(self, iv, mac_prefix, whole_blocks(data))
    }

    /// Verifies `tag` in constant time and only then decrypts `data` in place.
    ///
    /// # Errors
    /// [`Mismatch`] if the tag does not verify or `data` is not a whole number of blocks; `data` is
    /// untouched then.
    pub fn open_in_place(
        &self,
        iv: &Block,
        mac_prefix: Option<&Block>,
        data: &mut [u8],
        tag: &Block,
    ) -> Result<(), Mismatch> {
        let (blocks, []) = data.as_chunks_mut() else { return Err(Mismatch) };
        portable::cbc::open(self, iv, mac_prefix, blocks, tag)
    }

    /// The encryption key, which also makes the addresses of the suite `2008` (slyfi-2008 §3.4).
    pub fn encrypt_key(&self) -> &EncryptKey {
        &self.encrypt
    }
}

/// The blocks of `data`; panics if a part of one is left.
pub(crate) fn whole_blocks(data: &mut [u8]) -> &mut [Block] {
    let (blocks, rest) = data.as_chunks_mut();
    assert!(rest.is_empty(), "CBC seals whole blocks");
    blocks
}

impl fmt::Debug for CbcCmacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CbcCmacKey(..)")
    }
}
