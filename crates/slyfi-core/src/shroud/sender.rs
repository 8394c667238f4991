use super::secret::DirectionKeys;
use super::{DirectionSecret, nonce};
use crate::sizes::{LENGTH_LEN, Sizes, TAG_LEN};
use crate::suite::Suite;
use crate::table::ADDRESS_LEN;
use core::fmt;

/// The sending end of one direction: every seal uses up a transmission number.
pub struct ShroudSender {
    suite: Suite,
    pub(super) keys: DirectionKeys,
    sizes: Sizes,
    next: u64,
    sealed: u64,
    limits: Limits,
}

/// How many transmissions one secret may make.
///
/// 2³² frames of a hundred blocks leave an attacker an advantage of about 2⁻⁵⁰ against either suite
/// (birthday bound on 2³⁹ blocks of AES); the soft limit is where a new session should begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// After this many, [`ShroudSender::is_worn`] says so.
    pub soft: u64,
    /// After this many, nothing is sealed any more.
    pub hard: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { soft: 1 << 31, hard: 1 << 32 }
    }
}

/// Why nothing was sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealError {
    /// The secret has made all the transmissions it may.
    Exhausted,
    /// The message does not fit the longest body, or the body's buffer is too short for it. No
    /// number was used up.
    TooLong,
}

impl ShroudSender {
    /// Makes the sending end; its first transmission has number 1.
    pub fn new(secret: &DirectionSecret, sizes: Sizes) -> Self {
        ShroudSender {
            suite: secret.suite(),
            keys: secret.expand(),
            sizes,
            next: 1,
            sealed: 0,
            limits: Limits::default(),
        }
    }

    /// Sets other limits. They can be lowered below the default, not raised above it.
    pub fn set_limits(&mut self, limits: Limits) {
        let most = Limits::default();
        self.limits = Limits { soft: limits.soft.min(most.soft), hard: limits.hard.min(most.hard) };
    }

    /// Returns the suite.
    pub const fn suite(&self) -> Suite {
        self.suite
    }

    /// Returns the sizes of its frames.
    pub const fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Returns the number of the next transmission.
    pub const fn next_number(&self) -> u64 {
        self.next
    }

    /// Returns whether the soft limit is reached and a new session should replace this one.
    pub const fn is_worn(&self) -> bool {
        self.sealed >= self.limits.soft
    }

    /// Returns the longest message, in bytes.
    pub fn max_message(&self) -> usize {
        self.sizes.max_message(self.suite)
    }

    /// Skips to transmission `number`, if it lies ahead: what is between is never sent.
    pub fn skip_to(&mut self, number: u64) {
        self.next = self.next.max(number);
    }

    /// Seals the message at `body[suite.message_offset()..][..message_len]` in place; returns the
    /// length of the body. The number is used up even if the frame is never sent.
    ///
    /// # Errors
    /// [`SealError`].
    pub fn seal(&mut self, body: &mut [u8], message_len: usize) -> Result<usize, SealError> {
        let begun = self.begin(body, message_len)?;
        let (address, text, tag) = begun.parts(body);
        let computed = match &self.keys {
            DirectionKeys::S2008(key) => key.seal_in_place(address, Some(address), text),
            DirectionKeys::Aead { gcm, .. } => {
                gcm.seal_in_place(&nonce(begun.number), address, text)
            }
        };
        *tag = computed;
        Ok(begun.len)
    }

    /// Takes a number and prepares the body up to the encryption.
    pub(super) fn begin(
        &mut self,
        body: &mut [u8],
        message_len: usize,
    ) -> Result<Begun, SealError> {
        let len = self.sizes.sealed_len(self.suite, message_len).ok_or(SealError::TooLong)?;
        let body = body.get_mut(..len).ok_or(SealError::TooLong)?;
        if self.sealed >= self.limits.hard || self.next == u64::MAX {
            return Err(SealError::Exhausted);
        }
        let number = self.next;
        self.next += 1;
        self.sealed += 1;
        let (address, rest) = body.split_at_mut(ADDRESS_LEN);
        address.copy_from_slice(&self.keys.address(number));
        let text_len = rest.len() - TAG_LEN;
        let text = &mut rest[..text_len];
        match self.suite {
            Suite::S2008 => text[message_len..].fill((text_len - message_len) as u8),
            Suite::Aead { .. } => {
                text[..LENGTH_LEN].copy_from_slice(&(message_len as u16).to_be_bytes());
                text[LENGTH_LEN + message_len..].fill(0);
            }
        }
        Ok(Begun { number, len })
    }
}

impl fmt::Debug for ShroudSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShroudSender")
            .field("suite", &self.suite)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

/// A body that is addressed and padded but not yet encrypted.
#[derive(Clone, Copy)]
pub(super) struct Begun {
    pub(super) number: u64,
    pub(super) len: usize,
}

impl Begun {
    pub(super) fn parts<'b>(
        &self,
        body: &'b mut [u8],
    ) -> (&'b [u8; ADDRESS_LEN], &'b mut [u8], &'b mut [u8; TAG_LEN]) {
        // `begin` checked that the body has room for an address and a tag.
        let (address, rest) = body[..self.len].split_first_chunk_mut().expect("begun bodies");
        let (text, tag) = rest.split_last_chunk_mut().expect("begun bodies");
        (address, text, tag)
    }
}
