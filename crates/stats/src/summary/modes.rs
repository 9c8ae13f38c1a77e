//! Whether values fall into two separate groups, as where a placement or a clock has two states.
//!
//! A heuristic: 2 % of normal and 6 % of exponential samples of eight values have two groups, of twelve 0.1 % and 1 %; two
//! states twelve standard deviations apart are found in more than 90 % (simulated).

use crate::observations::{Observations, median_of_sorted};

/// The fewest values in which two groups differ from chance.
const NEEDED: usize = 8;
/// The gap between the groups is more than this many median gaps.
const GAPS: f64 = 5.0;
/// The gap between the groups is more than this many times the range of either group; without this clause, 16 to 59 % of
/// unimodal samples of ten to thirty values would have two groups.
const RANGES: f64 = 1.5;
/// One value in this many, at least, is in the smaller group.
const ONE_IN: usize = 5;

/// Two groups of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// The median of the lower group.
    pub low: f64,
    /// The median of the upper group.
    pub high: f64,
    /// The number of values in the lower group; the rest are in the upper.
    pub n_low: usize,
}

/// The two groups into which the values fall, if they do.
pub(crate) fn modes(observations: &Observations) -> Option<Modes> {
    let sorted = observations.sorted();
    let n = sorted.len();
    if n < NEEDED {
        return None;
    }
    let gaps: Vec<f64> = sorted.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let fewest = n.div_ceil(ONE_IN);
    let n_low = (fewest..=n - fewest).max_by(|&a, &b| gaps[a - 1].total_cmp(&gaps[b - 1]))?;
    let (lower, upper) = sorted.split_at(n_low);
    let gap = gaps[n_low - 1];
    let mut ranked = gaps;
    ranked.sort_by(f64::total_cmp);
    let stands_out = gap > GAPS * median_of_sorted(&ranked) && gap > RANGES * spread(lower).max(spread(upper));
    stands_out.then(|| Modes { low: median_of_sorted(lower), high: median_of_sorted(upper), n_low })
}

/// Largest less smallest of sorted values.
fn spread(sorted: &[f64]) -> f64 {
    sorted[sorted.len() - 1] - sorted[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn find(values: &[f64]) -> Option<Modes> {
        modes(&Observations::new(values).unwrap())
    }

    #[test]
    fn two_bandwidths_of_one_machine() {
        let found = find(&[67.0, 78.9, 67.2, 79.0, 66.8, 78.8, 67.1, 79.1, 78.7, 67.3]).unwrap();
        assert_eq!((found.low, found.high, found.n_low), (67.1, 78.9, 5));
    }

    #[test]
    fn no_two_groups_in_an_outlier_constant_values_and_seven_values() {
        assert!(find(&[1.0, 1.0, 2.0, 2.0, 1.0, 2.0, 1.0, 2.0]).is_some());
        assert_eq!(find(&[1.0, 1.1, 1.2, 1.0, 1.1, 1.2, 1.0, 1.1, 1.2, 50.0]), None);
        assert_eq!(find(&[3.0; 20]), None);
        assert_eq!(find(&[1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0]), None);
    }

    /// How often two groups are found in 2000 samples of `n` values.
    fn alarms(n: usize, mut draw: impl FnMut() -> f64) -> f64 {
        let seen = (0..2000).filter(|_| find(&(0..n).map(|_| draw()).collect::<Vec<_>>()).is_some());
        seen.count() as f64 / 2000.0
    }

    #[test]
    fn single_humped_samples_seldom_raise_it() {
        let mut random = Random::new(3);
        assert!(alarms(8, || random.normal()) < 0.03);
        assert!(alarms(8, || -(1.0 - random.unit()).ln()) < 0.08);
        assert!(alarms(12, || random.normal()) < 0.004);
        assert!(alarms(12, || -(1.0 - random.unit()).ln()) < 0.02);
    }

    #[test]
    fn two_states_twelve_deviations_apart_are_seen() {
        let mut random = Random::new(4);
        let share = alarms(10, || {
            let state = if random.unit() < 0.5 { 12.0 } else { 0.0 };
            state + random.normal()
        });
        assert!(share > 0.95, "{share}");
    }
}
