//! The factor between the values of two samples: the estimate of Hodges & Lehmann (Annals of Mathematical Statistics
//! 34, 1963) on logarithms, which is the median of all quotients new / base. Two of the sorted quotients bound its interval,
//! at the ranks that the distribution of the test of Mann and Whitney gives (E. L. Lehmann, "Nonparametrics", 1975, section
//! 2.6): exact for any continuous distribution that both sides share but for the factor.

use crate::comparison::mann_whitney::{COUNTED_UP_TO, probabilities};
use crate::distributions::normal_beyond;
use crate::observations::{is_divisible, sorted};
use crate::summary::interval::{NOMINAL_CONFIDENCE, lower_rank};

/// The factor between two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// New / base: the median of all quotients (the geometric mean of two middle ones).
    pub ratio: f64,
    /// Its interval of at least 95 %; `None` for 3 + 3 values or fewer.
    pub interval: Option<[f64; 2]>,
    /// The actual confidence of the interval.
    pub confidence: Option<f64>,
}

/// Estimates new / base; `None` if a side is empty or a value is not a positive number between 10^-150 and 10^150.
pub fn shift_ratio(base: &[f64], new: &[f64]) -> Option<Shift> {
    if [base, new].iter().any(|side| side.is_empty() || !side.iter().all(|value| is_divisible(*value))) {
        return None;
    }
    let (base, new) = (sorted(base), sorted(new));
    let quotients = Quotients { base: &base, new: &new };
    let count = base.len().saturating_mul(new.len());
    let (low, high) = (quotients.at(count.div_ceil(2)), quotients.at(count / 2 + 1));
    let rank = bounding_rank(base.len(), new.len());
    Some(Shift {
        ratio: if count % 2 == 1 { low } else { low.sqrt() * high.sqrt() }.clamp(low, high),
        interval: rank.map(|(rank, _)| [quotients.at(rank), quotients.at(count + 1 - rank)]),
        confidence: rank.map(|(_, confidence)| confidence),
    })
}

/// The largest rank from below whose order statistic, with its mirror image, contains the factor with the nominal
/// confidence, and the actual confidence: with the k-th, P(U < k) is lost on each side.
fn bounding_rank(n: usize, m: usize) -> Option<(usize, f64)> {
    if n.saturating_mul(m) > COUNTED_UP_TO {
        return Some((approximate_rank(n as f64, m as f64), NOMINAL_CONFIDENCE));
    }
    let (rank, missed) = lower_rank(probabilities(n, m));
    (rank > 0).then_some((rank, 1.0 - 2.0 * missed))
}

/// The same rank from the normal approximation with its correction for continuity.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 1 and at most half of the pairs")]
fn approximate_rank(n: f64, m: f64) -> usize {
    let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
    (n * m / 2.0 + 0.5 - normal_beyond((1.0 - NOMINAL_CONFIDENCE) / 2.0) * deviation).floor().max(1.0) as usize
}

/// All quotients of two ascending samples, never written out: the k-th smallest is found by counting.
struct Quotients<'a> {
    base: &'a [f64],
    new: &'a [f64],
}

impl Quotients<'_> {
    /// The quotient of this rank, counted from 1. Positive doubles sort as their bits do, so 64 halvings find it
    /// exactly.
    fn at(&self, rank: usize) -> f64 {
        let (mut low, mut high) = (0_u64, f64::MAX.to_bits());
        while low < high {
            let middle = low.midpoint(high);
            if self.at_most(f64::from_bits(middle)) >= rank { high = middle } else { low = middle + 1 }
        }
        f64::from_bits(high)
    }

    /// The number of quotients up to `limit`.
    fn at_most(&self, limit: f64) -> usize {
        let (mut count, mut above) = (0, self.base.len());
        // The larger the new value, the fewer of the bases are large enough, all of them at the upper end.
        let mut first_large_enough = 0;
        for new in self.new {
            while first_large_enough < self.base.len() && new / self.base[first_large_enough] > limit {
                first_large_enough += 1;
                above -= 1;
            }
            count += above;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_and_four_by_hand() {
        let base = [1.0, 1.0, 1.0, 1.0];
        let shift = shift_ratio(&base, &[2.0, 4.0, 8.0, 16.0]).unwrap();
        // The middle two of 16 quotients are 4 and 8; the only interval is the whole range, with 1 - 2 / 70.
        assert!((shift.ratio - 32.0_f64.sqrt()).abs() < 1e-12, "{shift:?}");
        assert_eq!(shift.interval, Some([2.0, 16.0]));
        assert!((shift.confidence.unwrap() - (1.0 - 2.0 / 70.0)).abs() < 1e-12);
    }

    #[test]
    fn three_and_three_have_no_interval() {
        let shift = shift_ratio(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]).unwrap();
        assert_eq!((shift.ratio, shift.interval, shift.confidence), (2.0, None, None));
    }

    #[test]
    fn selection_is_what_sorting_finds() {
        let base: Vec<f64> = (1..=7).map(|i| f64::from(i * i % 11) + 0.5).collect();
        let new: Vec<f64> = (1..=9).map(|i| f64::from(i * 7 % 13) + 0.25).collect();
        let mut all: Vec<f64> = new.iter().flat_map(|new| base.iter().map(move |base| new / base)).collect();
        all.sort_by(f64::total_cmp);
        let (base, new) = (sorted(&base), sorted(&new));
        let quotients = Quotients { base: &base, new: &new };
        let found: Vec<f64> = (1..=all.len()).map(|rank| quotients.at(rank)).collect();
        assert_eq!(found, all);
    }

    #[test]
    fn a_change_of_sides_inverts_it() {
        let (a, b) = ([3.0, 5.0, 4.0, 4.5, 3.5], [6.0, 8.0, 7.0, 9.0, 7.5, 5.5]);
        let (one, other) = (shift_ratio(&a, &b).unwrap(), shift_ratio(&b, &a).unwrap());
        assert!((one.ratio * other.ratio - 1.0).abs() < 1e-12);
        let ([low, high], [inverse_low, inverse_high]) = (one.interval.unwrap(), other.interval.unwrap());
        assert!((low * inverse_high - 1.0).abs() < 1e-12 && (high * inverse_low - 1.0).abs() < 1e-12);
    }

    #[test]
    fn many_values_take_the_approximation_and_little_time() {
        let base: Vec<f64> = (0..20_000).map(|i| 100.0 + f64::from(i % 97)).collect();
        let shift = shift_ratio(&base, &base).unwrap();
        let [low, high] = shift.interval.unwrap();
        assert!(low <= 1.0 && high >= 1.0 && high - low < 0.02, "{shift:?}");
        let (counted, approximate) = (bounding_rank(100, 100).unwrap().0, approximate_rank(100.0, 100.0));
        assert!(counted.abs_diff(approximate) <= 2, "{counted} {approximate}");
    }

    #[test]
    fn what_cannot_be_divided_is_refused() {
        assert_eq!(shift_ratio(&[], &[1.0]), None);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e200] {
            assert_eq!(shift_ratio(&[1.0], &[1.0, bad]), None);
        }
    }
}
