//! What two ends of a pre-shared-key network agree on, and the RSN element that says so
//! (IEEE 802.11-2020 §9.4.2.24).

use super::kde::MAX_KEY_DATA;
use super::{AkmSuite, CipherSuite, RsnElement, Suite};
use slyfi_wire::element::{Element, Elements};

/// Element identifier of the RSN element.
pub const RSN: u8 = 48;

/// The longest RSN element that is kept, identifier and length included.
pub const MAX_ELEMENT: usize = MAX_KEY_DATA / 2;

/// The cipher of pairwise and group frames under a pre-shared key (AKM 00-0F-AC:2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    cipher: CipherSuite,
}

impl Profile {
    /// Returns the profile of a cipher; `None` for WEP, which has no handshake.
    pub const fn new(cipher: CipherSuite) -> Option<Self> {
        match cipher {
            CipherSuite::Wep40 | CipherSuite::Wep104 => None,
            _ => Some(Profile { cipher }),
        }
    }

    /// Returns the cipher.
    pub const fn cipher(self) -> CipherSuite {
        self.cipher
    }

    /// Returns how its handshake derives and proves keys.
    pub const fn suite(self) -> Suite {
        let is_tkip = matches!(self.cipher, CipherSuite::Tkip);
        Suite::of(AkmSuite::Psk, is_tkip, 32)
    }

    /// Returns the key descriptor version (Table 12-10).
    pub(crate) const fn version(self) -> u16 {
        match self.cipher {
            CipherSuite::Tkip => 1,
            _ => 2,
        }
    }

    /// Returns the whole element: this cipher for groups and pairs, PSK, no capabilities (no
    /// management frame protection, one replay counter, no pre-authentication).
    pub const fn element(self) -> [u8; 22] {
        let kind = match self.cipher {
            CipherSuite::Wep40 => 1,
            CipherSuite::Tkip => 2,
            CipherSuite::Ccmp128 => 4,
            CipherSuite::Wep104 => 5,
            CipherSuite::Gcmp128 => 8,
            CipherSuite::Gcmp256 => 9,
            CipherSuite::Ccmp256 => 10,
        };
        [
            RSN, 20, 1, 0, 0x00, 0x0f, 0xac, kind, 1, 0, 0x00, 0x0f, 0xac, kind, 1, 0, 0x00, 0x0f,
            0xac, 2, 0, 0,
        ]
    }

    /// Keeps an RSN element, given by its contents, if it says this profile.
    ///
    /// An access point that offers several suites is taken when this one's come first in each list.
    pub fn accept(self, data: &[u8]) -> Option<OwnElement> {
        let said = RsnElement::parse_rsn(data).ok()?;
        let same = said.group == Some(self.cipher)
            && said.pairwise == Some(self.cipher)
            && said.akm == Some(AkmSuite::Psk);
        if same { OwnElement::new(data) } else { None }
    }
}

/// A copy of an RSN element, byte for byte: a handshake proves that it was not changed on its way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OwnElement {
    bytes: [u8; MAX_ELEMENT],
    len: usize,
}

impl OwnElement {
    fn new(data: &[u8]) -> Option<Self> {
        let mut bytes = [0; MAX_ELEMENT];
        let len = Element { id: RSN, data }.emit(&mut bytes).ok()?;
        Some(OwnElement { bytes, len })
    }

    /// Returns it, identifier and length included.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&self.bytes)
    }

    /// Returns whether `data` contains this very element and no other RSN element before it.
    pub(crate) fn is_in(&self, data: &[u8]) -> bool {
        Elements::new(data).find(RSN) == self.as_bytes().get(2..)
    }
}

impl core::fmt::Debug for OwnElement {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "OwnElement({:02x?})", self.as_bytes())
    }
}

impl From<Profile> for OwnElement {
    fn from(profile: Profile) -> Self {
        let element = profile.element();
        let mut bytes = [0; MAX_ELEMENT];
        for (to, from) in bytes.iter_mut().zip(element) {
            *to = from;
        }
        OwnElement { bytes, len: element.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_finds_itself_and_no_other() {
        for cipher in [
            CipherSuite::Tkip,
            CipherSuite::Ccmp128,
            CipherSuite::Ccmp256,
            CipherSuite::Gcmp128,
            CipherSuite::Gcmp256,
        ] {
            let profile = Profile::new(cipher).unwrap();
            let found = profile.accept(&profile.element()[2..]).unwrap();
            assert_eq!(found.as_bytes(), profile.element());
            assert_eq!(found, OwnElement::from(profile));
            for other in [CipherSuite::Tkip, CipherSuite::Ccmp128] {
                let other = Profile::new(other).unwrap();
                assert_eq!(other.accept(&profile.element()[2..]).is_some(), other == profile);
            }
        }
        assert!(Profile::new(CipherSuite::Wep104).is_none());
        assert!(Profile::new(CipherSuite::Ccmp128).unwrap().accept(&[1]).is_none());
    }

    #[test]
    fn only_the_very_same_element_is_recognised() {
        let profile = Profile::new(CipherSuite::Ccmp128).unwrap();
        let own = OwnElement::from(profile);
        let mut data = profile.element();
        assert!(own.is_in(&data));
        data[20] = 0x80;
        assert!(!own.is_in(&data), "another capability");
        assert!(!own.is_in(&[]));
    }
}
