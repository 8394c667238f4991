//! The suites: which cryptography stands behind a pairing.

use core::fmt;

/// The cryptography of a pairing. Both ends know it from the pairing; it is never on the air.
///
/// # Layout
/// One byte where a pairing is stored: `0x01` is `2008`; `0x10 | key | kem << 1` is `aead`, with
/// `key` 0 for AES-128 and 1 for AES-256, `kem` 0 for X25519 and 1 for X25519 with ML-KEM-768.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Suite {
    /// The paper's own (slyfi-2008 §3.3, §3.4): AES-128-CBC, AES-CMAC, SHA1-128.
    S2008,
    /// AES-GCM, separate address keys, an ephemeral agreement and a ratchet over every key.
    Aead {
        /// Size of the AES-GCM keys.
        key: KeySize,
        /// The ephemeral agreement.
        kem: Kem,
    },
}

/// Size of the AES-GCM keys of suite `aead`. Addresses and Tryst headers are AES-128 in either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeySize {
    /// 128 bits.
    Aes128,
    /// 256 bits.
    Aes256,
}

/// The ephemeral agreement of suite `aead`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kem {
    /// X25519 (RFC 7748).
    X25519,
    /// X25519 and ML-KEM-768 (FIPS 203), both mixed in: as strong as the stronger.
    X25519MlKem768,
}

impl Suite {
    /// The default: AES-128-GCM with X25519.
    pub const AEAD: Suite = Suite::Aead { key: KeySize::Aes128, kem: Kem::X25519 };

    /// Every suite.
    pub const ALL: [Suite; 5] = [
        Suite::S2008,
        Suite::AEAD,
        Suite::Aead { key: KeySize::Aes256, kem: Kem::X25519 },
        Suite::Aead { key: KeySize::Aes128, kem: Kem::X25519MlKem768 },
        Suite::Aead { key: KeySize::Aes256, kem: Kem::X25519MlKem768 },
    ];

    /// Returns the suite's byte.
    pub const fn to_byte(self) -> u8 {
        match self {
            Suite::S2008 => 0x01,
            Suite::Aead { key, kem } => 0x10 | key as u8 | (kem as u8) << 1,
        }
    }

    /// Returns the suite that has the byte, if there is one.
    pub fn from_byte(byte: u8) -> Option<Suite> {
        Suite::ALL.into_iter().find(|s| s.to_byte() == byte)
    }

    /// Returns the suite's name as it is written in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Suite::S2008 => "2008",
            Suite::Aead { key: KeySize::Aes128, kem: Kem::X25519 } => "aead",
            Suite::Aead { key: KeySize::Aes256, kem: Kem::X25519 } => "aead-256",
            Suite::Aead { key: KeySize::Aes128, kem: Kem::X25519MlKem768 } => "aead-mlkem",
            Suite::Aead { key: KeySize::Aes256, kem: Kem::X25519MlKem768 } => "aead-256-mlkem",
        }
    }

    /// Returns the suite that has the name, if there is one.
    pub fn from_name(name: &str) -> Option<Suite> {
        Suite::ALL.into_iter().find(|s| s.name() == name)
    }

    /// Returns whether this is one of the `aead` suites.
    pub const fn is_aead(self) -> bool {
        matches!(self, Suite::Aead { .. })
    }

    /// Returns where in a Shroud frame's body the caller puts the message before sealing.
    ///
    /// Suite `2008`: after the address. Suite `aead`: after the address and the encrypted length.
    pub const fn message_offset(self) -> usize {
        match self {
            Suite::S2008 => crate::table::ADDRESS_LEN,
            Suite::Aead { .. } => crate::table::ADDRESS_LEN + 2,
        }
    }
}

impl Default for Suite {
    fn default() -> Self {
        Suite::AEAD
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_and_name_bring_every_suite_back() {
        for s in Suite::ALL {
            assert_eq!(Suite::from_byte(s.to_byte()), Some(s));
            assert_eq!(Suite::from_name(s.name()), Some(s));
        }
        let known = (0..=255).filter(|b| Suite::from_byte(*b).is_some()).count();
        assert_eq!(known, Suite::ALL.len());
        assert_eq!(Suite::from_name("AEAD"), None);
    }
}
