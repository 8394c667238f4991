//! The discrete Gaussian that hides queries.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::Rng;

/// The standard deviation, as SimplePIR (USENIX Security 2023, §4.2) has it.
pub(crate) const SIGMA: f64 = 6.4;

/// `TAILS[k]` is 2⁶³·P(|X| > k) for X of the discrete Gaussian of standard deviation 6.4, rounded to
/// the nearest, from sums of 60 decimal digits. The largest sample is the table's length, 59.
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

/// Fills `out` with samples, modulo 2³².
///
/// # Security
/// Constant time: every sample is compared with the whole table. The statistical distance from the
/// true distribution is below 2⁻⁵⁷ a sample (59 roundings of 2⁻⁶⁴ each).
pub(crate) fn fill(rng: &mut ChaCha20Rng, out: &mut [u32]) {
    let mut bytes = [0u8; 8 * 64];
    for out in out.chunks_mut(64) {
        rng.fill_bytes(&mut bytes);
        let (draws, _) = bytes.as_chunks::<8>();
        for (sample, draw) in out.iter_mut().zip(draws) {
            let draw = u64::from_le_bytes(*draw);
            let (sign, draw) = (draw >> 63, draw & (u64::MAX >> 1));
            let mut magnitude = 0u64;
            for tail in &TAILS {
                // Both are below 2⁶³, so the top bit of the difference is the comparison.
                magnitude += draw.wrapping_sub(*tail) >> 63;
            }
            let minus = (sign as u32).wrapping_neg();
            *sample = (magnitude as u32 ^ minus).wrapping_sub(minus);
        }
    }
    zeroize::Zeroize::zeroize(&mut bytes);
}

#[cfg(test)]
mod tests {
    use chacha20::rand_core::SeedableRng;

    use super::*;

    #[test]
    fn the_table_is_the_distributions() {
        let weight = |k: usize| (-((k * k) as f64) / (2.0 * SIGMA * SIGMA)).exp();
        let mass: f64 = weight(0) + 2.0 * (1..200).rev().map(weight).sum::<f64>();
        for (k, tail) in TAILS.iter().enumerate() {
            let expected = 2.0 * (k + 1..200).rev().map(weight).sum::<f64>() / mass;
            let got = *tail as f64 / 2f64.powi(63);
            let allowed = expected * 1e-12 + 2f64.powi(-63);
            assert!((got - expected).abs() < allowed, "{k}: {got} instead of {expected}");
        }
    }

    #[test]
    fn samples_have_its_moments() {
        let mut samples = vec![0u32; 1 << 18];
        fill(&mut ChaCha20Rng::from_seed([3; 32]), &mut samples);
        let n = samples.len() as f64;
        let values = || samples.iter().map(|s| f64::from(*s as i32));
        let mean = values().sum::<f64>() / n;
        let variance = values().map(|v| v * v).sum::<f64>() / n;
        let kurtosis = values().map(|v| v.powi(4)).sum::<f64>() / n / variance.powi(2);
        // Five standard errors each.
        assert!(mean.abs() < 5.0 * SIGMA / n.sqrt(), "mean {mean}");
        assert!((variance / SIGMA.powi(2) - 1.0).abs() < 5.0 * (2.0 / n).sqrt(), "{variance}");
        assert!((kurtosis - 3.0).abs() < 5.0 * (24.0 / n).sqrt(), "kurtosis {kurtosis}");
        assert!(values().all(|v| v.abs() <= TAILS.len() as f64));
    }
}
