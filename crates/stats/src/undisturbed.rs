//! The value of a machine without interference, from samples that were cut into time slices.
//!
//! Interference only slows, so times of the same work have a hard lower edge and a long upper tail, and the lower edge is
//! the robust estimate (J. Chen & J. Revels, "Robust benchmarking in noisy environments", 2016; slices of fixed time:
//! M. Sottile & R. Minnich, "Analysis of microbenchmarks for performance tuning of clusters", 2004). The extreme value itself
//! would report the luckiest slice. So a sample's value is the median of its slices in which no thread lost time, and that
//! of several samples is the quartile on the better side: it holds where interference without gaps (a slower clock, a busy
//! SMT sibling) hits up to three samples of four, and differs from the median by 0.67 standard deviations on a quiet machine.

use crate::observations::Observations;
use crate::summary::Better;

/// The fewest slices without lost time that give a sample a value.
pub(crate) const NEEDED_SLICES: usize = 8;
/// The share of samples that are at least as good as the estimate.
const BETTER_SHARE: f64 = 0.25;
/// Confidence of the interval.
const CONFIDENCE: f64 = 0.95;
/// The fewest samples that have an interval.
const NEEDED_SAMPLES: usize = 6;

/// A value without interference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Undisturbed {
    /// The estimate.
    pub value: f64,
    /// Its 95 % interval from order statistics, at its better end at most the best sample; `None` below 6 samples.
    pub interval: Option<[f64; 2]>,
}

/// A sample's value: the median of its slices; `None` with fewer than 8.
pub fn of_slices(slices: &[f64]) -> Option<f64> {
    let enough = slices.len() >= NEEDED_SLICES;
    Observations::new(slices).filter(|_| enough).map(|found| found.median())
}

/// The value without interference of these samples' values; `None` without one.
pub fn undisturbed(samples: &[f64], better: Better) -> Option<Undisturbed> {
    let observations = Observations::new(samples)?;
    let mut best_first = observations.sorted().to_vec();
    if better == Better::Higher {
        best_first.reverse();
    }
    let n = best_first.len();
    let value = quantile(&best_first, BETTER_SHARE);
    let interval = (n >= NEEDED_SAMPLES).then(|| {
        let [near, far] = ranks(n);
        let ends = [best_first[near], best_first[far]];
        [ends[0].min(ends[1]), ends[0].max(ends[1])]
    });
    Some(Undisturbed { value, interval })
}

/// The quantile of ordered values, interpolated.
fn quantile(ordered: &[f64], share: f64) -> f64 {
    let at = share * (ordered.len() - 1) as f64;
    let below = at.floor();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index of the slice")]
    let index = below as usize;
    let next = ordered[(index + 1).min(ordered.len() - 1)];
    ordered[index] + (at - below) * (next - ordered[index])
}

/// Indices of the ordered values between which the quartile lies: the number of values better than it is binomial.
fn ranks(n: usize) -> [usize; 2] {
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let mut probability = (1.0 - BETTER_SHARE).powi(i32::try_from(n).unwrap_or(i32::MAX));
    let (mut sum, mut near, mut far) = (0.0, 0, n - 1);
    for count in 0..n {
        // `sum` is the probability of fewer than `count` better values.
        if sum <= tail {
            near = count.saturating_sub(1);
        }
        if sum >= 1.0 - tail {
            far = count.saturating_sub(1).min(n - 1);
            break;
        }
        sum += probability;
        probability *= (n - count) as f64 / (count + 1) as f64 * BETTER_SHARE / (1.0 - BETTER_SHARE);
    }
    [near, far.max(near)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn slices_have_their_median_and_few_have_none() {
        assert_eq!(of_slices(&[3.0; 7]), None);
        assert_eq!(of_slices(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 100.0]), Some(5.0));
    }

    #[test]
    fn the_better_quartile_by_hand() {
        let rates = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(undisturbed(&rates, Better::Higher).unwrap(), Undisturbed { value: 4.0, interval: None });
        assert_eq!(undisturbed(&rates, Better::Lower).unwrap().value, 2.0);
        assert_eq!(undisturbed(&[7.0], Better::Higher).unwrap().value, 7.0);
        assert_eq!(undisturbed(&[], Better::Higher), None);
    }

    #[test]
    fn two_slow_samples_of_three_leave_the_estimate_where_it_is() {
        let mut random = Random::new(5);
        let quiet: Vec<f64> = (0..30).map(|_| 100.0 + 0.3 * random.normal()).collect();
        let slowed: Vec<f64> =
            quiet.iter().enumerate().map(|(i, value)| if i % 3 == 0 { *value } else { 0.6 * value }).collect();
        let [alone, among] = [quiet, slowed].map(|samples| undisturbed(&samples, Better::Higher).unwrap().value);
        assert!((alone / among - 1.0).abs() < 0.01, "{alone} {among}");
    }

    #[test]
    fn the_interval_covers_the_quartile_of_the_distribution() {
        let mut random = Random::new(6);
        // The upper quartile of a normal distribution.
        let truth = 0.674_489_750_196_082;
        for n in [13, 30, 100] {
            let covers = (0..2000).filter(|_| {
                let samples: Vec<f64> = (0..n).map(|_| random.normal()).collect();
                let [low, high] = undisturbed(&samples, Better::Higher).unwrap().interval.unwrap();
                low <= truth && truth <= high
            });
            let share = covers.count() as f64 / 2000.0;
            assert!(share > 0.935, "{n}: {share}");
        }
    }
}
