//! Keys: fixed-size secrets that zeroise themselves and never print.

use core::fmt;
use slyfi_base::SecureRandom;
use subtle::{Choice, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop};

macro_rules! key {
    ($(#[$doc:meta])* $name:ident, $len:literal) => {
        $(#[$doc])*
        #[derive(Clone, Zeroize, ZeroizeOnDrop)]
        pub struct $name([u8; $len]);

        impl $name {
            /// Length in bytes.
            pub const LEN: usize = $len;

            /// Takes the bytes as a key. The caller's copy, if it keeps one, is the caller's to erase.
            pub const fn new(bytes: [u8; $len]) -> Self {
                $name(bytes)
            }

            /// Takes the bytes of a slice, if it has the key's length.
            pub fn from_slice(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map($name)
            }

            /// Makes a random key.
            pub fn random<R: SecureRandom + ?Sized>(rng: &mut R) -> Self {
                let mut key = $name([0; $len]);
                rng.fill(&mut key.0);
                key
            }

            /// Returns the bytes.
            pub const fn as_bytes(&self) -> &[u8; $len] {
                &self.0
            }

            pub(crate) fn as_mut(&mut self) -> &mut [u8; $len] {
                &mut self.0
            }
        }

        impl ConstantTimeEq for $name {
            fn ct_eq(&self, other: &Self) -> Choice {
                self.0.ct_eq(&other.0)
            }
        }

        /// In constant time.
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.ct_eq(other).into()
            }
        }

        impl Eq for $name {}

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(<hidden>)"))
            }
        }
    };
}

key!(
    /// A 128-bit key.
    Key128,
    16
);
key!(
    /// A 256-bit key or secret.
    Key256,
    32
);

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    #[test]
    fn keys_never_print_their_bytes() {
        assert_eq!(format!("{:?}", Key128::new([0xab; 16])), "Key128(<hidden>)");
        assert_eq!(format!("{:?}", Key256::new([0xab; 32])), "Key256(<hidden>)");
    }

    #[test]
    fn keys_that_differ_in_one_bit_are_unequal() {
        let a = Key128::new([7; 16]);
        for byte in 0..16 {
            let mut b = a.clone();
            assert_eq!(a, b);
            b.as_mut()[byte] ^= 0x80;
            assert_ne!(a, b);
        }
        assert!(Key128::from_slice(&[0; 15]).is_none());
    }
}
