//! The exact confidence interval of a median, from two order statistics.
//!
//! The number of n independent values below the true median is binomial with p = 1/2, whatever their distribution. So
//! the interval between the l-th smallest and the l-th largest contains the median unless fewer than l values fell on
//! one side of it, which has a countable probability (W. R. Thompson, Annals of Mathematical Statistics 7, 1936; David
//! & Nagaraja, "Order Statistics", 3rd ed. 2003, section 7.1). Ranks are whole, so the confidence is at least the
//! nominal one and seldom equal.
//!
//! The count assumes a fixed number of values. A stop rule that checks the interval repeatedly costs some confidence,
//! for which the excess of whole ranks compensates (a test simulates it).

use crate::observations::Observations;

/// The default confidence.
pub const NOMINAL_CONFIDENCE: f64 = 0.95;

/// The fewest values for which a 95 % interval of the median exists: with 5, the whole range has only 93.75 %.
pub const NEEDED_FOR_INTERVAL: usize = 6;

/// Which order statistics bound an interval of the median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranks {
    /// Rank of the lower bound, counted from 1 in ascending order.
    pub low: usize,
    /// Rank of the upper bound: n + 1 - `low`.
    pub high: usize,
    /// The probability that the two enclose the true median.
    pub confidence: f64,
}

/// What is one draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// Every value.
    Values,
    /// Every group of values, since groups differ by more than the values within them.
    Groups {
        /// The number of groups.
        n: usize,
    },
}

/// A confidence interval of a median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower bound, which is one of the values.
    pub low: f64,
    /// The upper bound, which is one of the values.
    pub high: f64,
    /// The ranks of the bounds among the sorted values, from 1.
    pub ranks: [usize; 2],
    /// The probability that the interval contains the true median: at least the nominal one, except for fewer than 6
    /// groups.
    pub confidence: f64,
    /// What is one draw.
    pub units: Units,
}

impl Interval {
    /// The interval of the median at a nominal confidence; `None` for too few values.
    pub fn of_median(observations: &Observations, confidence: f64) -> Option<Self> {
        let ranks = median_ranks(observations.n(), confidence)?;
        let sorted = observations.sorted();
        Some(Self {
            low: sorted[ranks.low - 1],
            high: sorted[ranks.high - 1],
            ranks: [ranks.low, ranks.high],
            confidence: ranks.confidence,
            units: Units::Values,
        })
    }

    /// Both bounds, as documents store them.
    pub fn bounds(&self) -> [f64; 2] {
        [self.low, self.high]
    }

    /// Half the width as a fraction of |centre|; `None` for a centre of 0.
    pub fn relative_half_width(&self, centre: f64) -> Option<f64> {
        let half_width = (self.high / 2.0 - self.low / 2.0) / centre.abs();
        half_width.is_finite().then_some(half_width)
    }
}

/// The narrowest symmetric ranks whose interval contains the median of `n` values with at least `confidence`; `None` if
/// `n` is too small or `confidence` is not between 0 and 1.
pub fn median_ranks(n: usize, confidence: f64) -> Option<Ranks> {
    if n == 0 || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let allowed = (1.0 - confidence) / 2.0;
    let (low, missed) = lower_rank(binomial_lower_half(n), allowed);
    (low > 0).then(|| Ranks { low, high: n + 1 - low, confidence: 1.0 - 2.0 * missed })
}

/// How many of the lowest probabilities together stay within `allowed`, and their sum.
pub(crate) fn lower_rank(probabilities: impl IntoIterator<Item = f64>, allowed: f64) -> (usize, f64) {
    let (mut rank, mut missed) = (0, 0.0);
    for probability in probabilities {
        if missed + probability > allowed {
            break;
        }
        missed += probability;
        rank += 1;
    }
    (rank, missed)
}

/// The probabilities of 0, 1, … (n - 1) / 2 heads in n tosses, built from the middle as ratios of adjacent ones and then
/// normalised, so that nothing overflows for large n.
fn binomial_lower_half(n: usize) -> Vec<f64> {
    let middle = n / 2;
    let mut weights = vec![0.0; middle + 1];
    weights[middle] = 1.0;
    for k in (0..middle).rev() {
        // C(n, k) = C(n, k + 1) (k + 1) / (n - k)
        weights[k] = weights[k + 1] * (k + 1) as f64 / (n - k) as f64;
    }
    let below: f64 = weights[..middle].iter().sum();
    let centre = if n.is_multiple_of(2) { 1.0 } else { 2.0 };
    let total = 2.0 * below + centre;
    if n.is_multiple_of(2) {
        weights.pop();
    }
    weights.iter().map(|weight| weight / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_their_actual_confidence() {
        // Counted by hand from C(n, k) / 2^n: for n = 9 the tail is (1 + 9) / 512, so 1 - 20/512 = 96.09 %.
        let table = [
            (6, 1, 6, 1.0 - 2.0 / 64.0),
            (7, 1, 7, 1.0 - 2.0 / 128.0),
            (8, 1, 8, 1.0 - 2.0 / 256.0),
            (9, 2, 8, 1.0 - 20.0 / 512.0),
            (10, 2, 9, 1.0 - 22.0 / 1024.0),
            (12, 3, 10, 1.0 - 2.0 * (1.0 + 12.0 + 66.0) / 4096.0),
            (15, 4, 12, 1.0 - 2.0 * (1.0 + 15.0 + 105.0 + 455.0) / 32768.0),
            (20, 6, 15, 0.958_610_534_667_968_8),
            (30, 10, 21, 0.957_226_054_742_932_3),
            (50, 18, 33, 0.967_160_862_435_731_5),
        ];
        for (n, low, high, confidence) in table {
            let ranks = median_ranks(n, NOMINAL_CONFIDENCE).unwrap();
            assert_eq!((ranks.low, ranks.high), (low, high), "n = {n}");
            assert!((ranks.confidence - confidence).abs() < 1e-12, "n = {n}: {}", ranks.confidence);
        }
    }

    #[test]
    fn no_interval_below_six_values() {
        for n in 0..NEEDED_FOR_INTERVAL {
            assert_eq!(median_ranks(n, NOMINAL_CONFIDENCE), None, "n = {n}");
        }
        assert!((median_ranks(5, 0.93).unwrap().confidence - 0.9375).abs() < 1e-15);
        assert!(median_ranks(NEEDED_FOR_INTERVAL, NOMINAL_CONFIDENCE).is_some());
    }

    #[test]
    fn a_confidence_that_is_none_gives_no_interval() {
        for confidence in [0.0, 1.0, -1.0, f64::NAN] {
            assert_eq!(median_ranks(100, confidence), None);
        }
    }

    #[test]
    fn large_counts_meet_the_normal_approximation() {
        // (n - 1.96 √n) / 2 = 49 690.1 for n = 100 000 (Hoefler & Belli, SC'15, section 3.1.3)
        let ranks = median_ranks(100_000, NOMINAL_CONFIDENCE).unwrap();
        assert!((49_688..=49_692).contains(&ranks.low), "{ranks:?}");
        assert!((0.95..0.951).contains(&ranks.confidence), "{ranks:?}");
    }

    #[test]
    fn bounds_are_order_statistics() {
        let o = Observations::new(&[9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0]).unwrap();
        let interval = Interval::of_median(&o, NOMINAL_CONFIDENCE).unwrap();
        assert_eq!(interval.bounds(), [2.0, 8.0]);
        assert_eq!(interval.relative_half_width(5.0), Some(0.6));
        assert_eq!(interval.relative_half_width(-5.0), Some(0.6));
        assert_eq!(interval.relative_half_width(0.0), None);
    }
}
