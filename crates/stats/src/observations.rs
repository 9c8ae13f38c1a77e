//! Checked observations and their order statistics.

/// Larger values are refused, so that no sum or difference of up to 10^8 of them overflows.
const LARGEST: f64 = 1e300;

/// Factor from the median absolute deviation to the standard deviation of normal data: 1 / Φ⁻¹(3/4).
pub const MAD_TO_SIGMA: f64 = 1.4826;

/// At least one finite number, in the order of measurement and sorted.
#[derive(Clone, Debug, PartialEq)]
pub struct Observations {
    in_order: Vec<f64>,
    sorted: Vec<f64>,
}

impl Observations {
    /// The values, which are in the order of measurement; `None` without values, and for one that is NaN, infinite or
    /// beyond 10^300.
    pub fn new(values: &[f64]) -> Option<Self> {
        let usable = !values.is_empty() && values.iter().all(|value| value.abs() <= LARGEST);
        usable.then(|| Self { in_order: values.to_vec(), sorted: sorted(values) })
    }

    /// The number of values, never 0.
    pub fn n(&self) -> usize {
        self.sorted.len()
    }

    /// The values in the order of measurement.
    pub fn in_order(&self) -> &[f64] {
        &self.in_order
    }

    /// The values in ascending order.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// The smallest value.
    pub fn min(&self) -> f64 {
        self.sorted[0]
    }

    /// The largest value.
    pub fn max(&self) -> f64 {
        self.sorted[self.n() - 1]
    }

    /// The middle value, or the mean of the two middle ones.
    pub fn median(&self) -> f64 {
        median_of_sorted(&self.sorted)
    }

    /// The arithmetic mean, summed as deviations from the median: exact for constant data, the same in every order.
    pub fn mean(&self) -> f64 {
        let centre = self.median();
        let deviations: f64 = self.sorted.iter().map(|value| value - centre).sum();
        centre + deviations / self.n() as f64
    }

    /// The sample standard deviation (divisor n - 1); `None` for a single value.
    ///
    /// Two-pass with the correction of Chan, Golub & `LeVeque` (The American Statistician 37, 1983), on deviations
    /// scaled by the largest, so that no square overflows or vanishes.
    pub fn stddev(&self) -> Option<f64> {
        if self.n() < 2 {
            return None;
        }
        let mean = self.mean();
        let scale = (self.max() - mean).max(mean - self.min());
        if scale <= 0.0 {
            return Some(0.0);
        }
        let n = self.n() as f64;
        let (mut sum, mut squares) = (0.0, 0.0);
        for value in &self.sorted {
            let deviation = (value - mean) / scale;
            sum += deviation;
            squares += deviation * deviation;
        }
        Some(scale * ((squares - sum * sum / n) / (n - 1.0)).max(0.0).sqrt())
    }

    /// The median absolute deviation from the median, unscaled.
    pub fn mad(&self) -> f64 {
        let centre = self.median();
        median(&self.sorted.iter().map(|value| (value - centre).abs()).collect::<Vec<_>>())
    }

    /// Standard deviation / |mean|; `None` for a single value and for a mean of 0.
    pub fn cv(&self) -> Option<f64> {
        ratio(self.stddev()?, self.mean())
    }

    /// 1.4826 MAD / |median|, which equals [`cv`](Self::cv) for normal data and resists outliers; `None` for a single
    /// value and for a median of 0.
    pub fn cv_robust(&self) -> Option<f64> {
        ratio(MAD_TO_SIGMA * self.mad(), self.median()).filter(|_| self.n() > 1)
    }

    /// The `percent`-th percentile, interpolated linearly at rank 1 + (n - 1) percent / 100: definition 7 of Hyndman &
    /// Fan (The American Statistician 50, 1996), the default of R and `NumPy`. `None` outside 0 to 100.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        if !(0.0..=100.0).contains(&percent) {
            return None;
        }
        let rank = (self.n() - 1) as f64 * (percent / 100.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 <= rank <= n - 1")]
        let below = rank.floor() as usize;
        let above = (below + 1).min(self.n() - 1);
        let (low, high) = (self.sorted[below], self.sorted[above]);
        Some((low + (high - low) * (rank - rank.floor())).clamp(low, high))
    }
}

/// Whether a value can be part of a quotient without leaving the range of numbers.
pub(crate) fn is_divisible(value: f64) -> bool {
    (1e-150..=1e150).contains(&value)
}

/// The median of sorted values, at least one.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { sorted[middle - 1].midpoint(sorted[middle]) }
}

/// The median of at least one value.
pub(crate) fn median(values: &[f64]) -> f64 {
    median_of_sorted(&sorted(values))
}

/// The values in ascending order.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Whether there are pairs, and each of them has a ratio.
pub(crate) fn have_ratios(pairs: &[(f64, f64)]) -> bool {
    !pairs.is_empty() && pairs.iter().all(|pair| is_divisible(pair.0) && is_divisible(pair.1))
}

/// A spread as a fraction of a centre; `None` where the centre is 0 or nearly so.
fn ratio(spread: f64, centre: f64) -> Option<f64> {
    let quotient = spread / centre.abs();
    quotient.is_finite().then_some(quotient)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observe(values: &[f64]) -> Observations {
        Observations::new(values).unwrap()
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{found} is not {expected}");
    }

    #[test]
    fn hand_computed_values() {
        let o = observe(&[4.0, 1.0, 3.0, 2.0, 10.0]);
        close(o.median(), 3.0);
        close(o.mean(), 4.0);
        // deviations 0, -3, -1, -2, 6: squares 50, over n - 1 = 4
        close(o.stddev().unwrap(), 12.5_f64.sqrt());
        // absolute deviations from 3 sorted: 0, 1, 1, 2, 7
        close(o.mad(), 1.0);
        close(o.cv().unwrap(), 12.5_f64.sqrt() / 4.0);
        close(o.cv_robust().unwrap(), 1.4826 / 3.0);
        assert_eq!((o.min(), o.max()), (1.0, 10.0));
        assert_eq!(o.in_order(), [4.0, 1.0, 3.0, 2.0, 10.0]);
        close(observe(&[1.0, 2.0, 3.0, 10.0]).median(), 2.5);
    }

    #[test]
    fn percentiles_are_numpys() {
        // numpy.percentile([15, 20, 35, 40, 50], [0, 5, 30, 40, 50, 100]) = 15, 16, 23, 29, 35, 50
        let o = observe(&[35.0, 20.0, 15.0, 50.0, 40.0]);
        for (percent, expected) in [(0.0, 15.0), (5.0, 16.0), (30.0, 23.0), (40.0, 29.0), (50.0, 35.0), (100.0, 50.0)] {
            close(o.percentile(percent).unwrap(), expected);
        }
        for outside in [-0.1, 100.1, f64::NAN, f64::INFINITY] {
            assert_eq!(o.percentile(outside), None);
        }
    }

    #[test]
    fn extremes_of_magnitude_neither_overflow_nor_vanish() {
        // Σx² - (Σx)²/n loses every digit at 10^9 (Chan et al. 1983); the true deviation of 4, 7, 13, 16 is √30.
        close(observe(&[1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]).stddev().unwrap(), 30.0_f64.sqrt());
        let large = observe(&[1e300, -1e300, 1e300]);
        assert!(large.stddev().unwrap().is_finite() && large.mean().is_finite() && large.mad().is_finite());
        let small = observe(&[1e-200, 3e-200]);
        close(small.stddev().unwrap() / 1e-200, 2.0_f64.sqrt());
    }

    #[test]
    fn one_value_has_no_spread_and_a_centre_of_zero_no_relative_one() {
        let o = observe(&[7.0]);
        assert_eq!((o.median(), o.mean(), o.mad()), (7.0, 7.0, 0.0));
        assert_eq!((o.stddev(), o.cv(), o.cv_robust()), (None, None, None));
        assert_eq!(o.percentile(99.0), Some(7.0));
        let o = observe(&[-1.0, 0.0, 1.0]);
        assert_eq!((o.cv(), o.cv_robust()), (None, None));
        let zeros = observe(&[0.0, 0.0]);
        assert_eq!((zeros.stddev(), zeros.cv(), zeros.cv_robust()), (Some(0.0), None, None));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        assert_eq!(Observations::new(&[]), None);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e301] {
            assert_eq!(Observations::new(&[1.0, bad]), None);
        }
    }
}
