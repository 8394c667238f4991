//! Arithmetic of the ring `R_q = Z_q[X]/(X^d + 1)`, `d` a power of two, `q` the product of two primes.
//!
//! | module | concept |
//! |---|---|
//! | [`modulus`] | numbers modulo a prime of at most 26 bits |
//! | [`ntt`] | the negacyclic number-theoretic transform modulo one prime |
//! | [`rns`] | the ring: two primes side by side, and back to integers |
//! | [`galois`] | the automorphisms `X → X^g`, which permute evaluations |
//! | [`sample`] | uniform polynomials from a public seed |
//!
//! Nothing here branches or picks an address on the value of a coefficient, with the one exception
//! of rejection sampling from *public* seeds.

mod butterfly;
pub mod galois;
pub mod modulus;
pub mod ntt;
pub mod rns;
pub mod sample;
pub(crate) mod vector;

pub use galois::GaloisOrder;
pub use modulus::{Factor, Modulus};
pub use ntt::Ntt;
pub use rns::{Evaluations, Ring};
