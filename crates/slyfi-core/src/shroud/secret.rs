use crate::kdf;
use crate::keys::{Key128, Key256};
use crate::suite::{KeySize, Suite};
use core::fmt;
use slyfi_aes::{Block, CbcCmacKey, EncryptKey, GcmKey};
use slyfi_base::SecureRandom;
use zeroize::Zeroizing;

/// The secret of one direction of a session, or of an epoch of the group.
#[derive(Clone, PartialEq, Eq)]
pub struct DirectionSecret {
    suite: Suite,
    secret: Key256,
}

impl DirectionSecret {
    /// Length of [`DirectionSecret::as_bytes`].
    pub const LEN: usize = Key256::LEN;

    /// Takes a secret's 32 bytes.
    pub const fn new(suite: Suite, secret: Key256) -> Self {
        DirectionSecret { suite, secret }
    }

    /// Makes a random secret.
    pub fn random<R: SecureRandom + ?Sized>(suite: Suite, rng: &mut R) -> Self {
        DirectionSecret { suite, secret: Key256::random(rng) }
    }

    /// Returns the suite.
    pub const fn suite(&self) -> Suite {
        self.suite
    }

    /// Returns the bytes, for sending them under another key or for the key log.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        self.secret.as_bytes()
    }

    pub(super) fn expand(&self) -> DirectionKeys {
        match self.suite {
            Suite::S2008 => {
                let (enc, mac) = halves(&self.secret);
                DirectionKeys::S2008(CbcCmacKey::new(enc.as_bytes(), mac.as_bytes()))
            }
            Suite::Aead { key, .. } => {
                let secret = self.secret.as_bytes();
                let mut addr = Zeroizing::new([0; 16]);
                kdf::expand(secret, b"slyfi aead shroud addr", &[], &mut *addr);
                let addr = EncryptKey::new(&addr);
                let label = b"slyfi aead shroud gcm";
                let gcm = match key {
                    KeySize::Aes128 => {
                        let mut key = Zeroizing::new([0; 16]);
                        kdf::expand(secret, label, &[], &mut *key);
                        GcmKey::new_128(&key)
                    }
                    KeySize::Aes256 => {
                        let mut key = Zeroizing::new([0; 32]);
                        kdf::expand(secret, label, &[], &mut *key);
                        GcmKey::new_256(&key)
                    }
                };
                DirectionKeys::Aead { addr, gcm }
            }
        }
    }
}

fn halves(secret: &Key256) -> (Key128, Key128) {
    let (mut a, mut b) = (Key128::new([0; 16]), Key128::new([0; 16]));
    a.as_mut().copy_from_slice(&secret.as_bytes()[..16]);
    b.as_mut().copy_from_slice(&secret.as_bytes()[16..]);
    (a, b)
}

impl fmt::Debug for DirectionSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectionSecret").field("suite", &self.suite).finish_non_exhaustive()
    }
}

/// The expanded keys of one direction.
#[expect(
    clippy::large_enum_variant,
    reason = "one for each direction of a link: a box would cost every frame a cache miss"
)]
pub(super) enum DirectionKeys {
    S2008(CbcCmacKey),
    Aead { addr: EncryptKey, gcm: GcmKey },
}

impl DirectionKeys {
    /// Turns blocks of transmission numbers into addresses.
    pub(super) fn addresses(&self, blocks: &mut [Block]) {
        match self {
            DirectionKeys::S2008(keys) => keys.encrypt_key().encrypt_blocks(blocks),
            DirectionKeys::Aead { addr, .. } => addr.encrypt_blocks(blocks),
        }
    }

    pub(super) fn address(&self, number: u64) -> Block {
        let mut block = super::block(number);
        self.addresses(core::slice::from_mut(&mut block));
        block
    }
}
