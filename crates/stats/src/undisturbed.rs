//! The value of a machine without interference, from samples that were cut into time slices.
//!
//! Interference only slows, so times of the same work have a hard lower edge and a long upper tail, and the lower edge is
//! the robust estimate (J. Chen & J. Revels, "Robust benchmarking in noisy environments", 2016; slices of fixed time:
//! M. Sottile & R. Minnich, "Analysis of microbenchmarks for performance tuning of clusters", 2004). The extreme value itself
//! would report the luckiest slice. So a sample's value is the median of its slices in which no thread lost time, and that
//! of several samples is the median of those near the quartile on the better side. Interference without gaps (a slower
//! clock, a busy SMT sibling) may hit up to three samples of four; on a quiet machine nearly all samples are near, and the
//! value is their median (the idea of a reweighted estimate: P. Rousseeuw & A. Leroy, "Robust regression and outlier
//! detection", 1987).

use crate::observations::Observations;
use crate::summary::{Better, summarise};

/// The fewest slices without lost time that give a sample a value.
pub(crate) const NEEDED_SLICES: usize = 8;
/// The share of samples that are at least as good as the quartile that the others must be near to.
const BETTER_SHARE: f64 = 0.25;
/// Samples worse than the quartile by at most this share of it are near: more than samples of a quiet machine differ.
const NEAR_SHARE: f64 = 0.03;
/// So are those worse by at most this many times the distance from the best sample to the quartile, on machines that vary more:
/// of a normal distribution nineteen samples of twenty.
const NEAR_DISTANCES: f64 = 3.0;

/// A value without interference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Undisturbed {
    /// The estimate.
    pub value: f64,
    /// Its 95 % interval from order statistics; `None` below 6 samples that are near the better quartile.
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
    let quartile = quantile(&best_first, BETTER_SHARE);
    let reach = (NEAR_SHARE * quartile.abs()).max(NEAR_DISTANCES * (best_first[0] - quartile).abs());
    let worse_by = |value: &f64| if better == Better::Higher { quartile - value } else { value - quartile };
    let near: Vec<f64> = best_first.into_iter().filter(|value| worse_by(value) <= reach).collect();
    let summary = summarise(&near)?;
    Some(Undisturbed { value: summary.median, interval: summary.interval.map(|interval| interval.bounds) })
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
    fn samples_near_the_better_quartile_by_hand() {
        // The quartile is 100.25; 98 and 99 are within 3 % of it, 60 and 70 are not.
        let rates = [60.0, 98.0, 99.0, 100.0, 101.0, 70.0, 100.5];
        assert_eq!(undisturbed(&rates, Better::Higher).unwrap(), Undisturbed { value: 100.0, interval: None });
        let times = rates.map(|rate| 200.0 - rate);
        assert_eq!(undisturbed(&times, Better::Lower).unwrap().value, 100.0);
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
    fn on_a_quiet_machine_the_estimate_is_the_median_whatever_the_spread() {
        let mut random = Random::new(6);
        for spread in [0.1, 1.0, 10.0] {
            let errors = (0..1000).map(|_| {
                let samples: Vec<f64> = (0..12).map(|_| 100.0 + spread * random.normal()).collect();
                (undisturbed(&samples, Better::Higher).unwrap().value - 100.0) / spread
            });
            let bias = errors.sum::<f64>() / 1000.0;
            assert!(bias.abs() < 0.2, "{spread}: {bias} standard deviations");
        }
    }
}
