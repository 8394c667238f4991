use zeroize::Zeroize;

/// The `N` round keys of one AES key (FIPS 197 §5.2), 11 for AES-128 and 15 for AES-256.
///
/// Each word is the sixteen bytes in memory order, aligned as the kernels load them. The first one
/// or two *are* the raw key (§5.2 again), and the portable backend fills in nothing else: it hands
/// the raw key to the RustCrypto ciphers, whose own schedules are four times this size.
#[derive(Clone)]
#[repr(transparent)]
pub(crate) struct RoundKeys<const N: usize>(pub(crate) [u128; N]);

impl<const N: usize> RoundKeys<N> {
    /// A schedule that holds only the raw key, for the portable backend.
    pub(crate) fn raw(key: &[u8]) -> Self {
        let mut words = [0; N];
        for (word, bytes) in words.iter_mut().zip(key.as_chunks().0) {
            *word = u128::from_ne_bytes(*bytes);
        }
        Self(words)
    }

    /// Round key `i` as bytes.
    pub(crate) fn bytes(&self, i: usize) -> [u8; 16] {
        self.0[i].to_ne_bytes()
    }
}

impl<const N: usize> Drop for RoundKeys<N> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}
