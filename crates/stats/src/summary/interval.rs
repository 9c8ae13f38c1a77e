//! The exact confidence interval of a median, from two order statistics: the number of n independent values below the true
//! median is binomial with p = 1/2, whatever their distribution (W. R. Thompson, Annals of Mathematical Statistics 7, 1936;
//! David & Nagaraja, "Order Statistics", 3rd ed. 2003, section 7.1). A stop rule that checks the interval repeatedly costs
//! some confidence, for which the excess of whole ranks compensates (a test simulates it).

use crate::observations::Observations;

/// The confidence of every interval, at least.
pub const NOMINAL_CONFIDENCE: f64 = 0.95;

/// The fewest values for which a 95 % interval of the median exists: with 5, the whole range has only 93.75 %.
pub const NEEDED_FOR_INTERVAL: usize = 6;

/// A confidence interval of a median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The bounds, which are two of the values.
    pub bounds: [f64; 2],
    /// The probability that the interval contains the true median: at least the nominal one, except for fewer than 6
    /// groups.
    pub confidence: f64,
}

impl Interval {
    /// The interval of the median; `None` for too few values.
    pub fn of_median(observations: &Observations) -> Option<Self> {
        let (rank, confidence) = median_ranks(observations.n())?;
        Some(Self { bounds: symmetric(observations.sorted(), rank), confidence })
    }

    /// Half the width as a fraction of |centre|; `None` for a centre of 0.
    pub fn relative_half_width(&self, centre: f64) -> Option<f64> {
        let [low, high] = self.bounds;
        let half_width = (high / 2.0 - low / 2.0) / centre.abs();
        half_width.is_finite().then_some(half_width)
    }
}

/// The values of this rank from below and from above.
pub(crate) fn symmetric(sorted: &[f64], rank: usize) -> [f64; 2] {
    [sorted[rank - 1], sorted[sorted.len() - rank]]
}

/// The highest rank that with its mirror image encloses the median of `n` values with at least the nominal confidence, and
/// the actual confidence; `None` if `n` is too small.
pub(crate) fn median_ranks(n: usize) -> Option<(usize, f64)> {
    let (rank, missed) = lower_rank(binomial_lower_half(n));
    (rank > 0).then_some((rank, 1.0 - 2.0 * missed))
}

/// How many of the lowest probabilities together may be missed on one side, and their sum.
pub(crate) fn lower_rank(probabilities: impl IntoIterator<Item = f64>) -> (usize, f64) {
    let (mut rank, mut missed) = (0, 0.0);
    for probability in probabilities {
        if missed + probability > (1.0 - NOMINAL_CONFIDENCE) / 2.0 {
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
            (6, 1, 1.0 - 2.0 / 64.0),
            (7, 1, 1.0 - 2.0 / 128.0),
            (8, 1, 1.0 - 2.0 / 256.0),
            (9, 2, 1.0 - 20.0 / 512.0),
            (10, 2, 1.0 - 22.0 / 1024.0),
            (12, 3, 1.0 - 2.0 * (1.0 + 12.0 + 66.0) / 4096.0),
            (15, 4, 1.0 - 2.0 * (1.0 + 15.0 + 105.0 + 455.0) / 32768.0),
            (20, 6, 0.958_610_534_667_968_8),
            (30, 10, 0.957_226_054_742_932_3),
            (50, 18, 0.967_160_862_435_731_5),
        ];
        for (n, expected, confidence) in table {
            let (rank, found) = median_ranks(n).unwrap();
            assert_eq!(rank, expected, "n = {n}");
            assert!((found - confidence).abs() < 1e-12, "n = {n}: {found}");
        }
        // (n - 1.96 √n) / 2 = 49 690.1 for n = 100 000 (Hoefler & Belli, SC'15, section 3.1.3)
        let (rank, confidence) = median_ranks(100_000).unwrap();
        assert!((49_688..=49_692).contains(&rank) && (0.95..0.951).contains(&confidence), "{rank} {confidence}");
    }

    #[test]
    fn no_interval_below_six_values() {
        for n in 0..NEEDED_FOR_INTERVAL {
            assert_eq!(median_ranks(n), None, "n = {n}");
        }
    }

    #[test]
    fn bounds_are_order_statistics() {
        let o = Observations::new(&[9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0]).unwrap();
        let interval = Interval::of_median(&o).unwrap();
        assert_eq!(interval.bounds, [2.0, 8.0]);
        assert_eq!(interval.relative_half_width(5.0), Some(0.6));
        assert_eq!(interval.relative_half_width(-5.0), Some(0.6));
        assert_eq!(interval.relative_half_width(0.0), None);
    }
}
