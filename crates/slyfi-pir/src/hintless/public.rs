//! What is expanded from the setup's seed.

use super::parameters::RING;
use crate::ring::{Evaluations, sample};

/// The polynomials `a_κ` of the queries.
pub fn query_polynomials(seed: &[u8; 32], count: usize) -> Vec<Evaluations> {
    (0..count as u64)
        .map(|number| sample::uniform(&RING, "slyfi-pir hintless query", seed, number))
        .collect()
}

/// The public half `w` of the key for `τ_5`.
pub fn rotation(seed: &[u8; 32]) -> Evaluations {
    sample::uniform(&RING, "slyfi-pir hintless key", seed, 0)
}

/// The public half `w` of the key for `τ_(−1)`.
pub fn conjugation(seed: &[u8; 32]) -> Evaluations {
    sample::uniform(&RING, "slyfi-pir hintless key", seed, 1)
}
