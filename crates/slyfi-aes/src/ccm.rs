use core::fmt;
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use crate::backend::on_backend;
use crate::key_words::KeyWords;
#[cfg(target_arch = "x86_64")]
use crate::x86;
use crate::{Backend, Block, EncryptKey, Mismatch, backend, portable};

/// An AES key of any size for CCM (RFC 3610, SP 800-38C). Zeroised on drop.
///
/// CBC-MAC is a serial chain, bound by the latency of a round and not by the number of rounds. The
/// counter blocks are no chain at all, so they run in its gaps and both together take the time of
/// the chain.
///
/// The caller formats the first blocks, [`CcmHead`], so tag and length field may have any size.
///
/// A counter block must never be used twice with one key: whoever sees two such messages learns the
/// XOR of their plaintexts.
#[derive(Clone)]
pub struct CcmKey {
    /// The schedule of AES-256; AES-128 uses the first eleven, AES-192 the first thirteen.
    pub(crate) keys: KeyWords<15>,
    pub(crate) size: KeySize,
    pub(crate) backend: Backend,
}

/// Which AES it is (FIPS 197 §5).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeySize {
    Aes128,
    Aes192,
    Aes256,
}

/// What the two chains of a message begin with.
#[derive(Clone, Copy)]
pub struct CcmHead<'a> {
    /// A₀ (RFC 3610 §2.3): block i of the data, from 1, is encrypted with A₀ + i, the tag with A₀.
    ///
    /// Only the last eight bytes are counted in, and the caller sees to it that they do not come
    /// round: with the message's length field at the end of the block they do not.
    pub counter: Block,
    /// What is authenticated first: B₀ and, if there is associated data, the block that its length
    /// begins (RFC 3610 §2.2).
    pub first: &'a [Block],
    /// The rest of the associated data, which counts as padded with zeros to whole blocks.
    pub rest: &'a [u8],
}

impl CcmHead<'_> {
    /// Block `i` of what is authenticated before the data; `None` behind the last.
    pub(crate) fn block(&self, i: usize) -> Option<Block> {
        if let Some(block) = self.first.get(i) {
            return Some(*block);
        }
        let bytes = self.rest.chunks(16).nth(i - self.first.len())?;
        let mut block = [0; 16];
        block[..bytes.len()].copy_from_slice(bytes);
        Some(block)
    }
}

impl CcmKey {
    /// An AES-128 key.
    pub fn new_128(key: &[u8; 16]) -> Self {
        Self::with_backend(backend(), KeySize::Aes128, key)
    }

    /// An AES-192 key.
    pub fn new_192(key: &[u8; 24]) -> Self {
        Self::with_backend(backend(), KeySize::Aes192, key)
    }

    /// An AES-256 key.
    pub fn new_256(key: &[u8; 32]) -> Self {
        Self::with_backend(backend(), KeySize::Aes256, key)
    }

    /// A key of 16, 24 or 32 bytes on a backend of the caller's choice, for tests and measurements.
    #[doc(hidden)]
    pub fn on(backend: Backend, key: &[u8]) -> Self {
        assert!(backend.is_available(), "this machine has no {backend}");
        let size = match key.len() {
            16 => KeySize::Aes128,
            24 => KeySize::Aes192,
            32 => KeySize::Aes256,
            other => panic!("AES has no keys of {other} bytes"),
        };
        Self::with_backend(backend, size, key)
    }

    /// `key` has the length of `size`.
    fn with_backend(backend: Backend, size: KeySize, key: &[u8]) -> Self {
        let keys = on_backend!(
            backend,
            KeyWords::raw(key),
            expand(backend, size, key),
            expand(backend, size, key),
        );
        Self { keys, size, backend }
    }

    /// Encrypts `data` in place and returns the whole tag, of which the caller sends the first M
    /// bytes (RFC 3610 §2.2, §2.3).
    pub fn seal_in_place(&self, head: &CcmHead<'_>, data: &mut [u8]) -> Block {
        match self.size {
            KeySize::Aes128 => self.run::<10, true>(head, data),
            KeySize::Aes192 => self.run::<12, true>(head, data),
            KeySize::Aes256 => self.run::<14, true>(head, data),
        }
    }

    /// Decrypts `data` in place and compares the first bytes of the tag with `tag` in constant time
    /// (RFC 3610 §2.5).
    ///
    /// CCM authenticates the plaintext, so it cannot be verified before it is decrypted.
    ///
    /// # Errors
    /// [`Mismatch`] if the tag does not verify, or is shorter or longer than a tag of CCM, 4 to 16
    /// bytes; `data` is zeroed then, so that nothing unverified can be used.
    pub fn open_in_place(
        &self,
        head: &CcmHead<'_>,
        data: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Mismatch> {
        let computed = match self.size {
            KeySize::Aes128 => self.run::<10, false>(head, data),
            KeySize::Aes192 => self.run::<12, false>(head, data),
            KeySize::Aes256 => self.run::<14, false>(head, data),
        };
        verify(&computed, data, tag)
    }

    /// Takes both chains through the message, with AES of `R` rounds.
    fn run<const R: usize, const SEALS: bool>(&self, head: &CcmHead<'_>, data: &mut [u8]) -> Block {
        on_backend!(
            self.backend,
            portable::ccm::run::<SEALS>(&self.keys, self.size, head, data),
            x86::aes_ni::ccm::run::<R, SEALS>(&self.keys, head, data),
            x86::aes_ni::ccm::run::<R, SEALS>(&self.keys, head, data),
        )
    }
}

/// The schedule of a key on a backend that has AES instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "aes,sse4.1")]
fn expand(backend: Backend, size: KeySize, key: &[u8]) -> KeyWords<15> {
    let mut keys = KeyWords::raw(&[]);
    match size {
        KeySize::Aes128 => {
            let key = key.try_into().expect("the size is the key's");
            let schedule = EncryptKey::with_backend(backend, key).keys;
            keys.0[..11].copy_from_slice(&schedule.0);
        }
        KeySize::Aes192 => {
            keys = x86::keys::expand_192(key.try_into().expect("the size is the key's"));
        }
        KeySize::Aes256 => {
            keys = x86::keys::expand_256(key.try_into().expect("the size is the key's"));
        }
    }
    keys
}

/// Compares the received tag with as much of the computed one; zeroes the data of a forgery.
pub(crate) fn verify(computed: &Block, data: &mut [u8], tag: &[u8]) -> Result<(), Mismatch> {
    let equal = computed.get(..tag.len()).is_some_and(|computed| computed.ct_eq(tag).into());
    if equal && tag.len() >= 4 {
        return Ok(());
    }
    data.zeroize();
    Err(Mismatch)
}

impl fmt::Debug for CcmKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CcmKey(..)")
    }
}

impl fmt::Debug for CcmHead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CcmHead(..)")
    }
}
