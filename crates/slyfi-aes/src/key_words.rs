use zeroize::{Zeroize, Zeroizing};

/// `N` words of key material, each the sixteen bytes of a vector in memory order and aligned as the
/// kernels load them: 11 round keys of AES-128, 15 of AES-256 (FIPS 197 §5.2), or 17 powers of a
/// GHASH key. Zeroised on drop.
///
/// The first one or two round keys *are* the raw key (§5.2 again), and the portable backend fills in
/// nothing else: it hands the raw key to the RustCrypto ciphers, whose own schedules are four times
/// this size.
#[derive(Clone)]
#[repr(transparent)]
pub(crate) struct KeyWords<const N: usize>(pub(crate) [u128; N]);

impl<const N: usize> KeyWords<N> {
    /// A schedule that holds only the raw key, for the portable backend.
    pub(crate) fn raw(key: &[u8]) -> Self {
        let mut words = [0; N];
        for (word, bytes) in words.iter_mut().zip(key.chunks(16)) {
            let mut block = Zeroizing::new([0; 16]);
            block[..bytes.len()].copy_from_slice(bytes);
            *word = u128::from_ne_bytes(*block);
        }
        Self(words)
    }

    /// Word `i` as bytes.
    pub(crate) fn bytes(&self, i: usize) -> [u8; 16] {
        self.0[i].to_ne_bytes()
    }
}

impl<const N: usize> Drop for KeyWords<N> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}
