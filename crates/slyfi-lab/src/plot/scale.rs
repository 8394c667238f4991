//! From numbers to places on an axis, and which numbers are written there.

use super::{Axis, Scale};

/// An axis over a range of numbers, `length` wide.
pub struct Range {
    scale: Scale,
    low: f64,
    high: f64,
    length: f64,
    /// The numbers that are written.
    pub ticks: Vec<f64>,
}

impl Range {
    /// The range that holds all of `values`. A linear one begins at zero.
    pub fn over(axis: &Axis, values: &[f64], length: f64) -> Self {
        let most = values.iter().copied().fold(0.0, f64::max);
        match axis.scale {
            Scale::Linear => {
                let step = step(most);
                let count = (most / step).ceil().max(1.0);
                let ticks = (0..=count as u32).map(|i| f64::from(i) * step).collect();
                Range { scale: Scale::Linear, low: 0.0, high: count * step, length, ticks }
            }
            Scale::Doubling => {
                let least = values.iter().copied().filter(|v| *v > 0.0).fold(f64::MAX, f64::min);
                let low = least.min(most.max(1.0)).log2().floor();
                let high = most.max(1.0).log2().ceil().max(low + 1.0);
                let ticks = (low as i32..=high as i32).map(|e| f64::from(e).exp2()).collect();
                Range { scale: Scale::Doubling, low, high, length, ticks }
            }
            Scale::Decades => {
                let least = values.iter().copied().filter(|v| *v > 0.0).fold(f64::MAX, f64::min);
                let least = least.min(most.max(1e-9));
                let marks: Vec<f64> =
                    (-9..=15).flat_map(|e| [1.0, 2.0, 5.0].map(|f| f * 10f64.powi(e))).collect();
                let low = marks.iter().copied().filter(|m| *m <= least).fold(1e-9, f64::max);
                let high = marks.iter().copied().filter(|m| *m >= most).fold(5e15, f64::min);
                let high = high.max(low * 2.0);
                let inside = |m: &f64| *m >= low && *m <= high * 1.000_001;
                let ticks = marks.into_iter().filter(inside).collect();
                let (low, high) = (low.log2(), high.log2());
                Range { scale: Scale::Decades, low, high, length, ticks }
            }
        }
    }

    /// Returns how far from the beginning a number is.
    pub fn place(&self, value: f64) -> f64 {
        let at = match self.scale {
            Scale::Linear => value,
            Scale::Doubling | Scale::Decades => value.max(f64::MIN_POSITIVE).log2(),
        };
        (at - self.low) / (self.high - self.low) * self.length
    }
}

/// A step of 1, 2, 2.5 or 5 times a power of ten that makes four to eight of them.
fn step(most: f64) -> f64 {
    if most <= 0.0 || !most.is_finite() {
        return 1.0;
    }
    let power = 10f64.powf((most / 5.0).log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|f| f * power * 6.0 >= most);
    factor.unwrap_or(10.0) * power
}

/// Writes a tick: whole numbers whole, with thousands set apart.
pub fn label(value: f64) -> String {
    if value.fract().abs() > 1e-9 {
        let text = format!("{value:.3}");
        return text.trim_end_matches('0').to_owned();
    }
    let digits = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_axis_begins_at_zero_and_ends_above_the_most() {
        for most in [0.003, 0.9, 1.0, 7.0, 23.0, 999.0, 12_345.0] {
            let r = Range::over(&Axis::linear("y", "ns"), &[most / 2.0, most], 100.0);
            assert_eq!((r.ticks[0], r.place(0.0)), (0.0, 0.0));
            assert!(r.place(most) > 60.0 && r.place(most) <= 100.0 + 1e-9, "{most}");
            assert!((3..=9).contains(&r.ticks.len()), "{most}: {:?}", r.ticks);
        }
    }

    #[test]
    fn a_doubling_axis_gives_each_doubling_the_same_room() {
        let r = Range::over(&Axis::doubling("x", "bytes"), &[16.0, 200.0, 2048.0], 70.0);
        assert_eq!(r.ticks, [16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0]);
        assert!((r.place(32.0) - 10.0).abs() < 1e-9 && (r.place(2048.0) - 70.0).abs() < 1e-9);
    }

    #[test]
    fn a_decade_axis_is_marked_at_one_two_and_five() {
        let r = Range::over(&Axis::decades("y", "ns"), &[54.0, 17_919.0], 90.0);
        assert_eq!(r.ticks.first(), Some(&50.0));
        assert_eq!(r.ticks.last(), Some(&20_000.0));
        assert!((r.place(50.0)).abs() < 1e-6 && (r.place(20_000.0) - 90.0).abs() < 1e-6);
        assert!((r.place(1_000.0) - 45.0).abs() < 1e-6, "the middle of 50 and 20,000");
    }

    #[test]
    fn nothing_at_all_still_has_axes() {
        assert!(Range::over(&Axis::linear("y", "s"), &[], 10.0).place(0.0).is_finite());
        assert!(Range::over(&Axis::doubling("x", "s"), &[], 10.0).place(1.0).is_finite());
        assert!(Range::over(&Axis::decades("x", "s"), &[], 10.0).place(1.0).is_finite());
    }

    #[test]
    fn ticks_are_read_easily() {
        assert_eq!(label(12_500.0), "12,500");
        assert_eq!(label(0.25), "0.25");
        assert_eq!(label(100.0), "100");
    }
}
