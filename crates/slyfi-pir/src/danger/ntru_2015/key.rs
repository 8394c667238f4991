//! Keys, encryption, decryption.

use chacha20::ChaCha20Rng;
use zeroize::Zeroize;

use crate::danger::ntru_2015::polynomial::{N, Polynomial, Product, Sparse};

/// The small modulus, that of plaintexts.
const P: u32 = 3;
/// How many coefficients 1 the polynomial g has; −1 once less (N/3, as NTRUEncrypt's sets have it).
const DG: usize = N / 3;

/// A key pair of APR2011_439_FAST with a modulus of choice.
pub struct KeyPair {
    mask: u32,
    /// F of f = 1 + 3F.
    secret: Product,
    /// h = 3·g/f.
    public: Polynomial,
}

impl KeyPair {
    /// A fresh pair modulo 2^`log2_q`, 8 … 31.
    pub fn generate(rng: &mut ChaCha20Rng, log2_q: u32) -> Self {
        let mask = (1 << log2_q) - 1;
        loop {
            let secret = Product::random(rng);
            let mut f = secret.times(&Polynomial::constant(P));
            f.add(&Polynomial::constant(1));
            let inverse = f.inverse();
            f.zeroize();
            // All but about one in 2⁷⁰ have one.
            if let Some(mut inverse) = inverse {
                let mut g = Sparse::random(rng, DG, DG - 1).dense();
                let public = Polynomial(g.times(&inverse).0.map(|c| c.wrapping_mul(P) & mask));
                inverse.zeroize();
                g.zeroize();
                return KeyPair { mask, secret, public };
            }
        }
    }

    /// E(m) = r·h + m, coefficients below q.
    pub fn encrypt(&self, rng: &mut ChaCha20Rng, message: &Polynomial) -> Polynomial {
        let mut out = Product::random(rng).times(&self.public);
        out.add(message);
        Polynomial(out.0.map(|c| c & self.mask))
    }

    /// The message modulo 3, coefficients 0, 1 and 2.
    pub fn decrypt(&self, ciphertext: &Polynomial) -> [u8; N] {
        self.open(&self.times_f(ciphertext))
    }

    /// f·c = c + 3·F·c, modulo 2³².
    pub(super) fn times_f(&self, ciphertext: &Polynomial) -> Polynomial {
        let product = self.secret.times(ciphertext);
        let mut out = ciphertext.clone();
        for (sum, c) in out.0.iter_mut().zip(&product.0) {
            *sum = sum.wrapping_add(c.wrapping_mul(P));
        }
        out
    }

    /// The message of f·c: its coefficients between −q/2 and q/2, modulo 3.
    pub(super) fn open(&self, product: &Polynomial) -> [u8; N] {
        let half = self.mask / 2 + 1;
        product.0.map(|c| {
            let raised = c.wrapping_add(half) & self.mask;
            // raised − half modulo 3, with half's own remainder made up for.
            ((raised + (P - half % P)) % P) as u8
        })
    }
}

impl Drop for KeyPair {
    fn drop(&mut self) {
        self.public.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use chacha20::rand_core::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn what_is_encrypted_comes_out() {
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        for log2_q in [11, 16, 21] {
            let key = KeyPair::generate(&mut rng, log2_q);
            let message = Polynomial(core::array::from_fn(|_| rng.next_u32() & 1));
            let ciphertext = key.encrypt(&mut rng, &message);
            assert!(ciphertext.0.iter().all(|c| *c < 1 << log2_q));
            assert_eq!(key.decrypt(&ciphertext).map(u32::from), message.0, "2^{log2_q}");
            let other = KeyPair::generate(&mut rng, log2_q);
            assert_ne!(other.decrypt(&ciphertext).map(u32::from), message.0, "2^{log2_q}");
        }
    }

    #[test]
    fn sums_and_products_are_those_of_the_plaintexts() {
        let mut rng = ChaCha20Rng::from_seed([4; 32]);
        let key = KeyPair::generate(&mut rng, 21);
        let one = key.encrypt(&mut rng, &Polynomial::constant(1));
        let zero = key.encrypt(&mut rng, &Polynomial::constant(0));
        let row = Polynomial(core::array::from_fn(|_| rng.next_u32() & 1));
        let other = Polynomial(core::array::from_fn(|_| rng.next_u32() & 1));
        let mut sum = row.times(&one);
        sum.add(&other.times(&zero));
        assert_eq!(key.decrypt(&sum).map(u32::from), row.0);
    }
}
