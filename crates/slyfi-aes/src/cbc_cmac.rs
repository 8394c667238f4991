use core::fmt;

use crate::backend::on_backend;
use crate::mac_key::MacKey;
#[cfg(target_arch = "x86_64")]
use crate::x86;
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
    pub(crate) mac: MacKey,
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
        Self {
            encrypt: EncryptKey::with_backend(backend, encrypt),
            mac: MacKey::with_backend(backend, mac),
        }
    }

    /// Encrypts `data` in place (CBC, SP 800-38A §6.2) and returns the tag of `mac_prefix`, if there
    /// is one, and the ciphertext.
    ///
    /// # Panics
    /// If `data` is not a whole number of blocks: padding belongs to the caller.
    pub fn seal_in_place(&self, iv: &Block, mac_prefix: Option<&Block>, data: &mut [u8]) -> Block {
        let blocks = whole_blocks(data);
        on_backend!(
            self.backend(),
            portable::cbc::seal(self, iv, mac_prefix, blocks),
            x86::chain::seal(self, iv, mac_prefix, blocks),
            x86::chain::seal(self, iv, mac_prefix, blocks),
        )
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
        Mismatch::unless_equal(&self.tag(mac_prefix, blocks), tag)?;
        self.decrypt(iv, blocks);
        Ok(())
    }

    /// The CMAC of prefix and ciphertext.
    pub(crate) fn tag(&self, mac_prefix: Option<&Block>, blocks: &[Block]) -> Block {
        on_backend!(
            self.backend(),
            portable::cbc::tag(self, mac_prefix, blocks),
            x86::chain::tag(&self.mac, mac_prefix, blocks),
            x86::chain::tag(&self.mac, mac_prefix, blocks),
        )
    }

    /// CBC decryption, once the tag has been verified.
    pub(crate) fn decrypt(&self, iv: &Block, blocks: &mut [Block]) {
        on_backend!(
            self.backend(),
            portable::cbc::decrypt(self, iv, blocks),
            x86::aes_ni::cbc::decrypt(&self.encrypt.keys, iv, blocks),
            x86::vaes_512::cbc::decrypt(&self.encrypt.keys, iv, blocks),
        );
    }

    pub(crate) fn backend(&self) -> Backend {
        self.encrypt.backend
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
