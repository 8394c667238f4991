//! How long frames are: the size policy of suite `aead`, and the paper's padding of suite `2008`.
//!
//! # Layout
//! Suite `2008` pads a message with PKCS5 (slyfi-2008 Table 2) to whole blocks; there is no policy.
//! Suite `aead` encrypts `len (2 bytes, big-endian) ‖ message ‖ zeros`; the zeros bring the whole
//! body (address, for Tryst all headers, ciphertext and tag) to the length of a class:
//!
//! | policy | body lengths |
//! |---|---|
//! | none | any: no zeros at all |
//! | buckets | 128, 256, 512, 1024, max |
//! | constant | max |
//!
//! `max` is [`Sizes::max_body`], the same on every frame of a node.

use crate::suite::Suite;
use crate::table::ADDRESS_LEN;
use crate::tryst::{HEADER_LEN, MAX_RECIPIENTS};
use core::ops::Range;

/// Bytes of the length in front of an encrypted message of suite `aead`.
pub(crate) const LENGTH_LEN: usize = 2;

/// Bytes of a tag, in both suites.
pub const TAG_LEN: usize = 16;

/// The body lengths of [`SizePolicy::Buckets`] below the longest.
pub const BUCKETS: [usize; 4] = [128, 256, 512, 1024];

/// The longest body, in bytes, unless a configuration says otherwise: an Ethernet payload of 1500
/// bytes, its message header and the overhead of either suite fit.
pub const DEFAULT_MAX_BODY: usize = 1600;

/// The smallest permitted [`Sizes::max_body`]: less than this carries no set-up.
pub const MIN_MAX_BODY: usize = 256;

/// What is done so that lengths tell less. Suite `aead` only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SizePolicy {
    /// Nothing: a frame is as long as its message makes it.
    None,
    /// A few classes.
    #[default]
    Buckets,
    /// All frames are as long as the longest.
    Constant,
}

/// A size policy and the longest body. A matter of the sender: a receiver takes any length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    policy: SizePolicy,
    max_body: u16,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes::new(SizePolicy::default(), DEFAULT_MAX_BODY)
    }
}

impl Sizes {
    /// Sets the policy and the longest body in bytes, kept within [`MIN_MAX_BODY`] and what the
    /// carrier takes.
    pub const fn new(policy: SizePolicy, max_body: usize) -> Self {
        let max_body = match max_body {
            ..MIN_MAX_BODY => MIN_MAX_BODY,
            slyfi_wire::carrier::MAX_BODY.. => slyfi_wire::carrier::MAX_BODY,
            n => n,
        };
        Sizes { policy, max_body: max_body as u16 }
    }

    /// Returns the policy.
    pub const fn policy(self) -> SizePolicy {
        self.policy
    }

    /// Returns the longest body in bytes.
    pub const fn max_body(self) -> usize {
        self.max_body as usize
    }

    /// Returns the length of a Shroud body with a message of `message_len` bytes, or `None` if the
    /// message is too long.
    pub fn sealed_len(self, suite: Suite, message_len: usize) -> Option<usize> {
        self.body_len(suite, ADDRESS_LEN, message_len)
    }

    /// Returns the length of a Tryst body to `recipients` with a payload of `payload_len` bytes, or
    /// `None` if there are too many or the payload is too long.
    pub fn tryst_len(self, suite: Suite, recipients: usize, payload_len: usize) -> Option<usize> {
        if recipients == 0 || recipients > MAX_RECIPIENTS {
            return None;
        }
        self.body_len(suite, recipients * HEADER_LEN, payload_len)
    }

    /// Returns the longest message that a Shroud body can carry, in bytes.
    pub fn max_message(self, suite: Suite) -> usize {
        let room = self.max_body() - ADDRESS_LEN - TAG_LEN;
        match suite {
            // At least one byte of the last block is padding.
            Suite::S2008 => (room / 16 * 16).saturating_sub(1),
            Suite::Aead { .. } => room - LENGTH_LEN,
        }
    }

    /// Returns whether a sender under this policy can have sent a body of this length.
    pub fn allows(self, suite: Suite, body_len: usize) -> bool {
        if body_len > self.max_body() {
            return false;
        }
        match (suite, self.policy) {
            (Suite::S2008, _) => {
                body_len >= ADDRESS_LEN + 16 + TAG_LEN && body_len.is_multiple_of(16)
            }
            (_, SizePolicy::None) => body_len >= ADDRESS_LEN + LENGTH_LEN + TAG_LEN,
            (_, SizePolicy::Buckets) => body_len == self.max_body() || BUCKETS.contains(&body_len),
            (_, SizePolicy::Constant) => body_len == self.max_body(),
        }
    }

    fn body_len(self, suite: Suite, head: usize, message_len: usize) -> Option<usize> {
        let max = self.max_body();
        if message_len > max {
            return None;
        }
        let least = match suite {
            Suite::S2008 => head + (message_len / 16 + 1) * 16 + TAG_LEN,
            Suite::Aead { .. } => head + LENGTH_LEN + message_len + TAG_LEN,
        };
        let len = match (suite, self.policy) {
            (Suite::S2008, _) | (_, SizePolicy::None) => least,
            (_, SizePolicy::Buckets) => {
                BUCKETS.into_iter().find(|b| *b >= least && *b <= max).unwrap_or(max)
            }
            (_, SizePolicy::Constant) => max,
        };
        (least <= max).then_some(len)
    }
}

/// Where the message lies in a decrypted text of suite `2008` (PKCS5).
pub(crate) fn unpad_2008(text: &[u8]) -> Option<Range<usize>> {
    let padding = usize::from(*text.last()?);
    let end = text.len().checked_sub(padding)?;
    let sound =
        (1..=16).contains(&padding) && text[end..].iter().all(|b| usize::from(*b) == padding);
    sound.then_some(0..end)
}

/// Where the message lies in a decrypted text of suite `aead`. What follows it must be zeros, so
/// that a padded frame has one form only.
pub(crate) fn unpad_aead(text: &[u8]) -> Option<Range<usize>> {
    let (len, rest) = text.split_first_chunk()?;
    let len = usize::from(u16::from_be_bytes(*len));
    let zeros = rest.get(len..)?;
    zeros.iter().all(|b| *b == 0).then_some(LENGTH_LEN..LENGTH_LEN + len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sealed_length_is_one_that_the_policy_allows() {
        for policy in [SizePolicy::None, SizePolicy::Buckets, SizePolicy::Constant] {
            for max in [0, 256, 300, 1024, 1500, 1600, 9000] {
                let sizes = Sizes::new(policy, max);
                for suite in Suite::ALL {
                    let longest = sizes.max_message(suite);
                    for n in 0..=longest {
                        let len = sizes.sealed_len(suite, n).unwrap();
                        assert!(sizes.allows(suite, len), "{policy:?} {max} {suite} {n} -> {len}");
                        assert!(len >= suite.message_offset() + n + TAG_LEN);
                    }
                    assert_eq!(sizes.sealed_len(suite, longest + 1), None);
                    assert_eq!(sizes.sealed_len(suite, usize::MAX), None);
                }
            }
        }
    }

    #[test]
    fn tryst_and_shroud_of_suite_aead_fall_in_the_same_classes() {
        let sizes = Sizes::default();
        for recipients in 1..=MAX_RECIPIENTS {
            for n in [0, 1, 100, 700, 1100] {
                let len = sizes.tryst_len(Suite::AEAD, recipients, n).unwrap();
                assert!(BUCKETS.contains(&len) || len == sizes.max_body());
            }
        }
        assert_eq!(sizes.tryst_len(Suite::AEAD, 0, 1), None);
        assert_eq!(sizes.tryst_len(Suite::AEAD, MAX_RECIPIENTS + 1, 1), None);
    }

    #[test]
    fn lengths_outside_the_policy_are_told() {
        let sizes = Sizes::default();
        assert!(!sizes.allows(Suite::AEAD, 129));
        assert!(!sizes.allows(Suite::AEAD, 1616));
        assert!(!Sizes::new(SizePolicy::Constant, 1600).allows(Suite::AEAD, 128));
        assert!(!sizes.allows(Suite::S2008, 49));
        assert!(sizes.allows(Suite::S2008, 48));
    }
}
