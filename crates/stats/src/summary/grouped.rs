//! The interval of a median whose values come in groups (process runs) that may differ.
//!
//! Where groups clearly differ ([`Components::differ`]) they are the units: the interval lies between two of their medians,
//! or of fewer than six is the range of the values at a lower confidence, 1 - 2 / 2^groups. Elsewhere the order statistics
//! are chosen as if the values of a group were correlated, a little more than the groups suggest: three process runs of
//! three samples show a spread as large as their noise in three cases of ten.

use crate::distributions::fisher_quantile;
use crate::observations::{Observations, sorted};
use crate::summary::components::{Components, Groups, components};
use crate::summary::interval::{Interval, lower_rank, median_ranks, symmetric};

/// The quantile of F that groups of one distribution are assumed to show, chosen by simulation (`examples/coverage.rs`):
/// with the median, few groups of few values miss 95 % by one to two percent; a lower one widens intervals for nothing.
const SUSPICION: f64 = 0.35;
/// For more values, groups that do not clearly differ have the usual interval: the count takes too long.
const COUNTED_UP_TO: usize = 2000;

/// The interval of the median of values in groups, and how the groups differ.
///
/// `None` below 6 values. It contains the median of all values. Its confidence is below the nominal one if groups are
/// few and differ. Without usable groups it is [`Interval::of_median`].
pub fn grouped_interval(observations: &Observations, groups: &[u32]) -> (Option<Interval>, Option<Components>) {
    let found = components(observations.in_order(), groups);
    let plain = Interval::of_median(observations);
    let (Some(components), Some(_), Some(groups)) = (found, plain, Groups::new(observations.in_order(), groups)) else {
        return (plain, found);
    };
    let interval = if components.differ() {
        Some(among_groups(observations, &groups))
    } else {
        among_alike(observations, &groups, &components).or(plain)
    };
    (interval, found)
}

/// Groups as units, widened to the nearest values and to the median of all values, which may lie outside.
fn among_groups(observations: &Observations, groups: &Groups) -> Interval {
    let medians = sorted(&groups.medians());
    let sorted = observations.sorted();
    let ([low, high], confidence) = match median_ranks(medians.len()) {
        Some((rank, confidence)) => (symmetric(&medians, rank), confidence),
        None => ([observations.min(), observations.max()], 1.0 - 2.0 * 0.5_f64.powf(medians.len() as f64)),
    };
    let (low, high) = (low.min(observations.median()), high.max(observations.median()));
    let at_most = sorted.partition_point(|value| *value <= low).max(1);
    let below = sorted.partition_point(|value| *value < high).min(sorted.len() - 1);
    Interval { bounds: [sorted[at_most - 1], sorted[below]], confidence }
}

/// Values as units that are correlated within groups; `None` if the groups suggest no correlation.
fn among_alike(observations: &Observations, groups: &Groups, found: &Components) -> Option<Interval> {
    let sizes = groups.sizes();
    let n = observations.n();
    let correlation = sign_correlation(&sizes, found.h)?;
    if n > COUNTED_UP_TO {
        return None;
    }
    let below = sizes.iter().fold(vec![1.0], |so_far, size| convolve(&so_far, &beta_binomial(*size, correlation)));
    let (rank, missed) = match lower_rank(below.iter().take(n / 2).copied()) {
        (0, _) => (1, below[0]),
        found => found,
    };
    Some(Interval { bounds: symmetric(observations.sorted(), rank), confidence: 1.0 - 2.0 * missed })
}

/// The correlation of two values of one group, as signs about the median (2/pi arcsin of the intraclass correlation, W. F.
/// Sheppard 1899), that the statistic of Kruskal & Wallis suggests.
fn sign_correlation(sizes: &[usize], h: f64) -> Option<f64> {
    let (groups, n) = (sizes.len() as f64, sizes.iter().sum::<usize>() as f64);
    let (between, within) = (groups - 1.0, n - groups);
    if within < 1.0 {
        return None;
    }
    let ratio = (h / between) / ((n - 1.0 - h).max(0.0) / within) / fisher_quantile(SUSPICION, between, within);
    // The equivalent size of equal groups (G. W. Snedecor & W. G. Cochran, "Statistical Methods", 13.7).
    let size = (n - sizes.iter().map(|size| (size * size) as f64).sum::<f64>() / n) / between;
    let intraclass = if ratio.is_finite() { (ratio - 1.0) / (ratio + size - 1.0) } else { 1.0 };
    (intraclass > 0.0).then(|| std::f64::consts::FRAC_2_PI * intraclass.min(1.0).asin())
}

/// The probabilities of 0, 1, … m of m values below the median, where any two agree in it with this correlation.
fn beta_binomial(m: usize, correlation: f64) -> Vec<f64> {
    let shape = (1.0 / correlation - 1.0) / 2.0;
    let m = m as f64;
    let (mut probabilities, mut k) = (vec![1.0], 0.0);
    // The distribution is symmetric: relative weights are enough.
    while k < m {
        let last = probabilities.last().copied().unwrap_or(0.0);
        // With perfect agreement only none and all are possible.
        let next = if shape > 0.0 { last * (m - k) / (k + 1.0) * (shape + k) / (shape + m - k - 1.0) } else { 0.0 };
        probabilities.push(next);
        k += 1.0;
    }
    if shape <= 0.0
        && let Some(all) = probabilities.last_mut()
    {
        *all = 1.0;
    }
    let total: f64 = probabilities.iter().sum();
    probabilities.iter().map(|probability| probability / total).collect()
}

/// The distribution of the sum of two independent counts.
fn convolve(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; a.len() + b.len() - 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            sums[i + j] += x * y;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(values: &[f64], groups: &[u32]) -> Interval {
        grouped_interval(&Observations::new(values).unwrap(), groups).0.unwrap()
    }

    const THREE: [u32; 9] = [1, 1, 1, 2, 2, 2, 3, 3, 3];

    #[test]
    fn three_launches_that_differ_have_the_whole_range_with_three_quarters() {
        let found = interval(&[1.0, 1.1, 1.2, 4.0, 4.1, 4.2, 9.0, 9.1, 9.2], &THREE);
        assert_eq!((found.bounds, found.confidence), ([1.0, 9.2], 0.75));
    }

    #[test]
    fn ten_launches_that_differ_are_ten_values() {
        let values: Vec<f64> = (0..30).map(|i| f64::from(i / 3) + 0.01 * f64::from(i % 3)).collect();
        let groups: Vec<u32> = (0..30).map(|i| i / 3).collect();
        let found = interval(&values, &groups);
        // Ranks 2 and 9 of the medians 0.01 … 9.01.
        assert_eq!(found.bounds, [1.01, 8.01]);
        assert!((found.confidence - (1.0 - 22.0 / 1024.0)).abs() < 1e-12);
    }

    #[test]
    fn launches_that_are_alike_leave_the_usual_interval() {
        let values = [1.0, 5.0, 9.0, 2.0, 6.0, 7.0, 3.0, 4.0, 8.0];
        let plain = Interval::of_median(&Observations::new(&values).unwrap()).unwrap();
        assert_eq!(interval(&values, &THREE), plain);
    }

    #[test]
    fn launches_that_may_differ_widen_it() {
        let values = [1.0, 5.0, 3.0, 2.0, 6.0, 7.0, 9.0, 4.0, 8.0];
        let observations = Observations::new(&values).unwrap();
        let (found, components) = grouped_interval(&observations, &THREE);
        assert!(!components.unwrap().differ(), "{components:?}");
        let found = found.unwrap();
        assert_eq!(found.bounds, [1.0, 9.0]);
        assert!((0.75..0.996).contains(&found.confidence), "{found:?}");
    }

    #[test]
    fn few_values_have_no_interval_and_single_ones_no_groups() {
        let of = |values: &[f64], groups: &[u32]| grouped_interval(&Observations::new(values).unwrap(), groups);
        assert_eq!(of(&[1.0, 1.1, 5.0, 5.1], &[1, 1, 2, 2]).0, None);
        let (interval, components) = of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1, 2, 3, 4, 5, 6]);
        assert_eq!((interval.unwrap().bounds, components), ([1.0, 6.0], None));
    }

    #[test]
    fn counts_of_groups_by_hand() {
        // Correlation 1/3 is a shape of 1: every count is equally likely. 0 is the binomial; 1 is all or nothing.
        for (found, expected) in beta_binomial(3, 1.0 / 3.0).iter().zip([0.25; 4]) {
            assert!((found - expected).abs() < 1e-12);
        }
        assert_eq!(beta_binomial(3, 1.0), [0.5, 0.0, 0.0, 0.5]);
        for (found, expected) in beta_binomial(2, 1e-9).iter().zip([0.25, 0.5, 0.25]) {
            assert!((found - expected).abs() < 1e-6);
        }
        assert_eq!(convolve(&[0.5, 0.5], &[0.5, 0.5]), [0.25, 0.5, 0.25]);
    }
}
