//! The operating system's generator.

use slyfi_base::SecureRandom;

/// `getrandom(2)`, without a buffer.
///
/// Unbuffered on purpose: there is nothing to wipe, and nothing that a fork could hand out twice.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsRandom;

impl SecureRandom for OsRandom {
    /// Fills `out`; waits for the kernel's generator to be seeded (early boot), and ends the process
    /// if there is none.
    fn fill(&mut self, out: &mut [u8]) {
        let mut filled = 0;
        while filled < out.len() {
            let rest = &mut out[filled..];
            // SAFETY: the pointer is to `rest.len()` writable bytes.
            let n = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
            if n > 0 {
                filled += n.cast_unsigned();
            } else if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
                // The contract: keys, addresses and nonces are made from these bytes. A panic could
                // be caught on the way, so it is no panic.
                eprintln!("the system gives no random numbers (getrandom): stopping");
                std::process::abort();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_every_byte_of_any_length() {
        for len in [0, 1, 15, 16, 256, 257, 5_000] {
            // A byte that is left zero in all of 16 draws was never written (p = 2^-128 each).
            let mut seen = vec![0u8; len];
            for _ in 0..16 {
                let mut out = vec![0; len];
                OsRandom.fill(&mut out);
                seen.iter_mut().zip(out).for_each(|(s, o)| *s |= o);
            }
            assert!(seen.iter().all(|b| *b != 0), "length {len}");
        }
    }

    #[test]
    fn two_draws_differ() {
        let (mut a, mut b) = ([0; 32], [0; 32]);
        OsRandom.fill(&mut a);
        OsRandom.fill(&mut b);
        assert_ne!(a, b);
        assert!(OsRandom.below(7) < 7);
    }
}
