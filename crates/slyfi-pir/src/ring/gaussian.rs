//! The discrete Gaussian, in constant time.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::Rng;
use zeroize::Zeroize;

/// The standard deviation of secrets and errors, in tenths: σ = 6.4, as YPIR and SimplePIR take it.
pub const SIGMA_TENTHS: u32 = 64;

/// `⌊2⁶³ · P(|x| ≥ k)⌉` for k = 1, 2, …, x of the discrete Gaussian with σ = 6.4.
///
/// Computed with 60 decimal digits; beyond the last, 2⁶³ · P rounds to nothing. Each sample is within
/// 2⁻⁵⁷ of the distribution.
const TAILS: [u64; 59] = [
    0x78056a5fcdaf06d4,
    0x6841cfac6014173c,
    0x590f5262912d10b1,
    0x4ac330099d75b088,
    0x3da2d1bf878ed362,
    0x31e01338ca812850,
    0x2797a365ee235cab,
    0x1ed17c78bd52c545,
    0x178328da6db786e1,
    0x1193564aba04319e,
    0x0cde1ea388334d98,
    0x09396f43a6a5a1e5,
    0x0679102b5b136f6c,
    0x0471f21cab93027a,
    0x02fc9639b8820aa8,
    0x01f6895b9826186e,
    0x01430bf8412ce110,
    0x00cb12477ced3d00,
    0x007ccfa58b046e4d,
    0x004afe30f36dc00d,
    0x002c0b85ea942189,
    0x001948871cdd1df4,
    0x000e2f033d660354,
    0x0007c67adf12d116,
    0x00042a2bea1826e7,
    0x00022df54e062664,
    0x00011d442be816cd,
    0x00008e7a1d2b87ab,
    0x0000458302803665,
    0x0000212035511b04,
    0x00000f6b2e7ec642,
    0x00000702664fbfd9,
    0x0000031cadd80071,
    0x000001596e745750,
    0x0000009243a0c3c9,
    0x0000003c7a5222fe,
    0x000000186b2d6cec,
    0x00000009a092bd71,
    0x00000003b4c659b3,
    0x0000000164a0874b,
    0x0000000082e21e0c,
    0x000000002ee61bdb,
    0x00000000106849ad,
    0x00000000059aa5d4,
    0x0000000001de66bf,
    0x00000000009bbe8d,
    0x0000000000317fc5,
    0x00000000000f5bb3,
    0x000000000004a6e6,
    0x0000000000016023,
    0x00000000000065a5,
    0x0000000000001ca4,
    0x00000000000007e1,
    0x000000000000021e,
    0x000000000000008e,
    0x0000000000000024,
    0x0000000000000009,
    0x0000000000000002,
    0x0000000000000001,
];

/// How many samples are drawn side by side.
const BATCH: usize = 64;

/// Fills `out` with samples.
///
/// # Security
/// Every sample is compared with the whole table, whatever it is. The random words are erased.
pub fn sample(random: &mut ChaCha20Rng, out: &mut [i32]) {
    let mut words = [0u64; BATCH];
    for out in out.chunks_mut(BATCH) {
        words.fill_with(|| random.next_u64());
        pulp::Arch::new().dispatch(|| {
            let mut magnitudes = [0i64; BATCH];
            for tail in &TAILS {
                for (magnitude, word) in magnitudes.iter_mut().zip(&words) {
                    // The lowest bit is kept for the sign. Both sides are below 2^63, so the
                    // difference's top bit is the comparison.
                    *magnitude += ((word >> 1).wrapping_sub(*tail) >> 63) as i64;
                }
            }
            for ((out, magnitude), word) in out.iter_mut().zip(&magnitudes).zip(&words) {
                let sign = -((word & 1) as i64);
                *out = ((magnitude ^ sign) - sign) as i32;
            }
            magnitudes.zeroize();
        });
    }
    words.zeroize();
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::rand_core::SeedableRng;

    #[test]
    fn the_table_is_the_distribution() {
        let sigma = f64::from(SIGMA_TENTHS) / 10.0;
        let weight = |k: i32| (-f64::from(k * k) / (2.0 * sigma * sigma)).exp();
        let total: f64 = (-80..=80).map(weight).sum();
        for (i, tail) in TAILS.iter().enumerate() {
            let expected = 2.0 * (i as i32 + 1..=80).map(weight).sum::<f64>() / total;
            let got = *tail as f64 / 2f64.powi(63);
            assert!((got - expected).abs() < 1e-15 + 2f64.powi(-63), "k = {}", i + 1);
        }
    }

    #[test]
    fn samples_have_its_moments() {
        let mut samples = vec![0; 200_000];
        sample(&mut ChaCha20Rng::from_seed([1; 32]), &mut samples);
        let n = samples.len() as f64;
        let mean = samples.iter().map(|x| f64::from(*x)).sum::<f64>() / n;
        let variance = samples.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / n;
        // Six standard deviations of the estimators: σ/√n and σ²·√(2/n).
        assert!(mean.abs() < 6.0 * 6.4 / n.sqrt(), "mean {mean}");
        assert!((variance - 40.96).abs() < 6.0 * 40.96 * (2.0 / n).sqrt(), "variance {variance}");
        let zeros = samples.iter().filter(|x| **x == 0).count() as f64 / n;
        assert!((zeros - 1.0 / 16.0424).abs() < 0.004, "share of zeros {zeros}");
    }
}
