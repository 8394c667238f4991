//! Randomness as an argument.

/// A source of cryptographically secure random bytes, handed in by the host.
///
/// The machines reach for no other entropy. The daemon passes the operating system's generator, the
/// simulator a seeded one.
pub trait SecureRandom {
    /// Fills `out` with random bytes.
    ///
    /// # Security
    /// An implementation that cannot deliver must not return: keys, addresses and nonces are made
    /// from these bytes, so a host without entropy has to stop instead.
    fn fill(&mut self, out: &mut [u8]);

    /// Returns a uniform value below `bound` (zero if `bound` is zero).
    fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        // Rejection keeps it uniform; the expected number of rounds is below two.
        let limit = u64::MAX - u64::MAX % bound;
        loop {
            let mut b = [0u8; 8];
            self.fill(&mut b);
            let v = u64::from_le_bytes(b);
            if v < limit {
                return v % bound;
            }
        }
    }
}

impl<R: SecureRandom + ?Sized> SecureRandom for &mut R {
    fn fill(&mut self, out: &mut [u8]) {
        (**self).fill(out);
    }
}
