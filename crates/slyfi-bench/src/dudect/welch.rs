/// Places to crop at: all but the slowest part, more and more of it.
const CROPS: u32 = 20;

/// Measurements of a class below which a crop says nothing.
const FEWEST: f64 = 500.0;

/// Welch's t of the two classes, of largest absolute value over all crops. Positive if the random
/// class (`true`) is the slower one.
pub fn largest_t(times: &[(bool, f64)]) -> f64 {
    let mut sorted: Vec<f64> = times.iter().map(|(_, time)| *time).collect();
    sorted.sort_by(f64::total_cmp);
    let mut largest = 0.0_f64;
    for crop in 1..=CROPS {
        // As dudect spaces them: dense near the whole.
        let part = 1.0 - 0.5_f64.powf(10.0 * f64::from(crop) / f64::from(CROPS));
        let last = (part * sorted.len() as f64) as usize;
        let Some(limit) = sorted.get(last) else { continue };
        let (mut fixed, mut random) = (Class::default(), Class::default());
        for (is_random, time) in times.iter().filter(|(_, time)| time <= limit) {
            if *is_random { random.add(*time) } else { fixed.add(*time) }
        }
        let t = random.t_over(&fixed);
        if t.abs() > largest.abs() {
            largest = t;
        }
    }
    largest
}

/// Mean and variance of one class, kept up by Welford's method.
#[derive(Default)]
struct Class {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Class {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let before = value - self.mean;
        self.mean += before / self.count;
        self.squares += before * (value - self.mean);
    }

    /// Welch's t: zero if either class is too small, or if all values are the same.
    fn t_over(&self, other: &Self) -> f64 {
        if self.count < FEWEST || other.count < FEWEST {
            return 0.0;
        }
        let error = |class: &Self| class.squares / (class.count - 1.0) / class.count;
        let deviation = (error(self) + error(other)).sqrt();
        if deviation > 0.0 { (self.mean - other.mean) / deviation } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times that jump about in a fixed pattern, the random class later by `more`.
    fn times(more: f64) -> Vec<(bool, f64)> {
        (0..20_000_u32)
            .map(|i| {
                let is_random = i.wrapping_mul(2_654_435_761) >> 16 & 1 == 1;
                let jitter = f64::from(i.wrapping_mul(40_503) >> 7 & 63);
                let outlier = if i % 97 == 0 { 50_000.0 } else { 0.0 };
                let time = 1_000.0 + jitter + outlier;
                (is_random, if is_random { time + more } else { time })
            })
            .collect()
    }

    #[test]
    fn a_difference_is_seen_through_jitter_and_outliers() {
        assert!(largest_t(&times(0.0)).abs() < 5.0, "{}", largest_t(&times(0.0)));
        assert!(largest_t(&times(5.0)) > 10.0, "{}", largest_t(&times(5.0)));
        assert!(largest_t(&times(-5.0)) < -10.0);
    }

    #[test]
    fn t_of_a_small_sample_is_welch_s() {
        // Two samples repeated 300 times each: means 2 and 4, variances 2/3 and 8/3 of n values.
        let (mut a, mut b) = (Class::default(), Class::default());
        for _ in 0..300 {
            [1.0, 2.0, 3.0].into_iter().for_each(|v| a.add(v));
            [2.0, 4.0, 6.0].into_iter().for_each(|v| b.add(v));
        }
        let n = 900.0_f64;
        let (va, vb) = (2.0 / 3.0 * n / (n - 1.0), 8.0 / 3.0 * n / (n - 1.0));
        let expected = 2.0 / (va / n + vb / n).sqrt();
        assert!((b.t_over(&a) - expected).abs() < 1e-9);
        assert_eq!(Class::default().t_over(&a), 0.0);
    }
}
