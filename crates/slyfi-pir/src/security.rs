//! How hard the lattices are: block sizes by the usual estimate.
//!
//! The primal attack (uSVP) with the success condition of Alkim, Ducas, Pöppelmann and Schwabe
//! ("NewHope", USENIX Security 2016, §6.3) under the geometric series assumption: block-wise reduction
//! with block size β finds a secret of `n` coordinates and an error of `m`, both of standard deviation
//! σ, modulo q, when
//!
//! ```text
//!   σ·√β ≤ δ^(2β − d − 1) · q^(m/d)        d = n + m + 1
//!   δ = ((π·β)^(1/β) · β / (2π·e))^(1 / (2(β − 1)))
//! ```
//!
//! It is an estimate to compare parameters with, not a proof; combinatorial and hybrid attacks on
//! sparse ternary secrets, and the sublattice attack on NTRU with a large modulus ("overstretched":
//! Ducas and van Woerden, ASIACRYPT 2021, from q ≈ 0.004·n^2.484 on) only make things worse.

/// What the primal attack needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hardness {
    /// The block size β.
    pub block_size: u32,
    /// log₂ of the classical cost by the Core-SVP method: 0.292·β.
    pub core_svp_log2: f64,
}

/// The block size that breaks secrets of dimension `n` modulo `q` with secret and error of standard
/// deviation `sigma`, the attacker taking as many of `samples` as suit him best.
///
/// The least β of 60 … 2000; 2000 stands for "at least that".
pub fn primal_usvp(n: u32, log2_q: f64, sigma: f64, samples: u32) -> Hardness {
    let breaks = |beta: u32| {
        let beta = f64::from(beta);
        let log2_delta = ((core::f64::consts::PI * beta).log2() / beta
            + (beta / (2.0 * core::f64::consts::PI * core::f64::consts::E)).log2())
            / (2.0 * (beta - 1.0));
        (1..=samples).step_by(4).any(|m| {
            let d = f64::from(n + m) + 1.0;
            let found = sigma.log2() + beta.log2() / 2.0;
            found <= (2.0 * beta - d - 1.0) * log2_delta + f64::from(m) / d * log2_q
        })
    };
    // Monotonous in β: halve.
    let (mut low, mut high) = (60, 2000);
    while low < high {
        let middle = (low + high) / 2;
        if breaks(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Hardness { block_size: low, core_svp_log2: 0.292 * f64::from(low) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_parameters_have_their_published_strength() {
        // Kyber as submitted to NIST's first round (q = 7681, σ² = 2.5, 2, 1.5): classical Core-SVP
        // costs of 2^112, 2^178 and 2^241.
        for (n, variance, expected) in [(512, 2.5f64, 112.0), (768, 2.0, 178.0), (1024, 1.5, 241.0)]
        {
            let kyber = primal_usvp(n, 7681f64.log2(), variance.sqrt(), 2 * n);
            assert!((kyber.core_svp_log2 - expected).abs() < 2.5, "{n}: {kyber:?}");
        }
    }

    #[test]
    fn the_homomorphic_encryption_standards_moduli_have_their_levels() {
        // HomomorphicEncryption.org's standard (2018), secrets like the error (σ = 8/√2π), classical: the
        // largest log₂ q for each level, by the best of three attacks. It counts a call of the sieve
        // as 2^(0.292·β + 16.4), and 8·d of them.
        for (n, log2_q, level) in
            [(1024, 29.0, 128.0), (2048, 56.0, 128.0), (4096, 111.0, 128.0), (2048, 39.0, 192.0)]
        {
            let hardness = primal_usvp(n, log2_q, 8.0 / core::f64::consts::TAU.sqrt(), 4 * n);
            let cost = hardness.core_svp_log2 + 16.4 + f64::from(8 * 2 * n).log2();
            assert!((cost - level).abs() < 6.0, "{n}, {log2_q}: {cost}");
        }
    }

    #[test]
    fn the_schemes_have_what_their_documentation_says() {
        let lwe = primal_usvp(1024, 32.0, 6.4, 4096);
        assert!(lwe.block_size.abs_diff(326) <= 4, "{lwe:?}");
        // f and g of NTRU are both secret: N samples. Ternary with a third of each: σ² = 2/3.
        let ntru = |log2_q| primal_usvp(439, log2_q, (2f64 / 3.0).sqrt(), 439).block_size;
        assert!(ntru(11.0).abs_diff(318) <= 4, "{}", ntru(11.0));
        assert!(ntru(21.0).abs_diff(129) <= 4, "{}", ntru(21.0));
    }
}
