//! A key whose length a negotiation decides.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// At most 64 bytes of key. Zeroised on drop; `Debug` shows only the length.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct KeyBytes {
    bytes: [u8; KeyBytes::MAX],
    len: usize,
}

impl KeyBytes {
    /// The longest key: a PMK made with SHA-512.
    pub const MAX: usize = 64;

    /// Copies `key`; `None` when it is longer than [`KeyBytes::MAX`].
    pub fn new(key: &[u8]) -> Option<Self> {
        let mut bytes = [0; Self::MAX];
        bytes.get_mut(..key.len())?.copy_from_slice(key);
        Some(KeyBytes { bytes, len: key.len() })
    }

    /// Returns `len` zero bytes (at most [`KeyBytes::MAX`]), to be filled in.
    pub(crate) fn zeros(len: usize) -> Self {
        KeyBytes { bytes: [0; Self::MAX], len: len.min(Self::MAX) }
    }

    /// Returns the key.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&self.bytes)
    }

    pub(crate) fn as_mut_bytes(&mut self) -> &mut [u8] {
        let len = self.len;
        self.bytes.get_mut(..len).unwrap_or_default()
    }
}

/// Compares in constant time (for a given length).
impl PartialEq for KeyBytes {
    fn eq(&self, other: &Self) -> bool {
        use subtle::ConstantTimeEq;
        self.as_bytes().ct_eq(other.as_bytes()).into()
    }
}

impl Eq for KeyBytes {}

impl core::fmt::Debug for KeyBytes {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "KeyBytes(<{} bytes>)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_length_and_longer_ones_are_refused() {
        assert_eq!(KeyBytes::new(&[7; 48]).unwrap().as_bytes(), [7; 48]);
        assert!(KeyBytes::new(&[7; 65]).is_none());
        assert_ne!(KeyBytes::new(&[7; 16]), KeyBytes::new(&[7; 17]));
        assert_eq!(KeyBytes::new(&[7; 16]), KeyBytes::new(&[7; 16]));
    }
}
