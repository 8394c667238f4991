//! The protections by name.

use crate::error::{Error, ErrorKind};
use slyfi_ciphers::handshake::{CipherSuite, Profile};
use std::fmt;
use std::str::FromStr;

/// A protection of ordinary 802.11.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cipher {
    /// None at all.
    Open,
    /// WEP-40 or WEP-104. Broken.
    Wep,
    /// State Based Key Hop. Broken.
    Sbkh,
    /// TKIP, the cipher of WPA 1.0. Broken.
    Tkip,
    /// CCMP-128, the cipher of WPA 2.0.
    Ccmp,
    /// CCMP-256.
    Ccmp256,
    /// GCMP-128.
    Gcmp,
    /// GCMP-256.
    Gcmp256,
}

impl Cipher {
    /// Every protection.
    pub const ALL: [Cipher; 8] = [
        Cipher::Open,
        Cipher::Wep,
        Cipher::Sbkh,
        Cipher::Tkip,
        Cipher::Ccmp,
        Cipher::Ccmp256,
        Cipher::Gcmp,
        Cipher::Gcmp256,
    ];

    /// Returns the name that the command line and the configuration use.
    pub const fn name(self) -> &'static str {
        match self {
            Cipher::Open => "open",
            Cipher::Wep => "wep",
            Cipher::Sbkh => "sbkh",
            Cipher::Tkip => "tkip",
            Cipher::Ccmp => "ccmp",
            Cipher::Ccmp256 => "ccmp-256",
            Cipher::Gcmp => "gcmp",
            Cipher::Gcmp256 => "gcmp-256",
        }
    }

    /// Returns whether it does not protect: it is here to be measured.
    pub const fn is_broken(self) -> bool {
        matches!(self, Cipher::Open | Cipher::Wep | Cipher::Sbkh | Cipher::Tkip)
    }

    /// Returns the name with the warning that belongs to it.
    pub fn described(self) -> String {
        match self {
            Cipher::Open => "open (no protection; for comparison)".to_owned(),
            other if other.is_broken() => format!("{} (broken; for comparison)", other.name()),
            other => other.name().to_owned(),
        }
    }

    /// Returns the profile of its handshake, if it has one.
    pub const fn profile(self) -> Option<Profile> {
        match self {
            Cipher::Open | Cipher::Wep | Cipher::Sbkh => None,
            Cipher::Tkip => Profile::new(CipherSuite::Tkip),
            Cipher::Ccmp => Profile::new(CipherSuite::Ccmp128),
            Cipher::Ccmp256 => Profile::new(CipherSuite::Ccmp256),
            Cipher::Gcmp => Profile::new(CipherSuite::Gcmp128),
            Cipher::Gcmp256 => Profile::new(CipherSuite::Gcmp256),
        }
    }

    /// Returns the failure of a secret that is none for this cipher.
    pub(super) fn wrong_secret(self) -> Error {
        let needs = match self {
            Cipher::Open => "nothing is secret on an open network",
            Cipher::Wep => "WEP needs a key of 10, 26 or 32 hexadecimal digits",
            Cipher::Sbkh => "SBKH needs a key of 64 hexadecimal digits",
            _ => "this cipher needs a passphrase of 8 to 63 characters (or 64 hexadecimal digits)",
        };
        let mend = match self {
            Cipher::Open => "leave --key-file and --passphrase-file out",
            Cipher::Wep | Cipher::Sbkh => "give it with --key-file FILE, or in SLYFI_KEY",
            _ => "give it with --passphrase-file FILE, or in SLYFI_PASSPHRASE",
        };
        Error::new(ErrorKind::Usage, needs, mend)
    }
}

impl FromStr for Cipher {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        Cipher::ALL.into_iter().find(|c| c.name() == s).ok_or_else(|| {
            let names: Vec<_> = Cipher::ALL.iter().map(|c| c.name()).collect();
            format!("unknown cipher `{s}`, expected one of {}", names.join(", "))
        })
    }
}

impl fmt::Display for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_broken_ones_say_so() {
        for cipher in Cipher::ALL {
            assert_eq!(cipher.name().parse(), Ok(cipher));
            let described = cipher.described();
            assert!(described.starts_with(cipher.name()));
            assert_eq!(described.contains("for comparison"), cipher.is_broken());
        }
        assert!("wpa".parse::<Cipher>().unwrap_err().contains("ccmp"));
    }
}
