//! Whether values fall into two separate groups, as they do when a placement or a clock has two states.
//!
//! A rule of thumb and no test: the largest gap between neighbours is more than five times the median gap, a fifth of
//! the values lie on either side of it, and it is half as wide again as either group. Without the last clause it would
//! see two groups in 16 to 59 % of single-humped samples of ten to thirty values. With it, of eight values it does in 2
//! % of normal and 6 % of exponential samples, of twelve in 0.1 % and 1 %; two states twelve standard deviations apart
//! it sees in more than 90 % (simulated; the tests hold it there).

use crate::observations::{Observations, median_of_sorted};

/// The fewest values in which two groups can be told from chance.
const NEEDED: usize = 8;
/// How many times the median gap the gap between the groups must exceed.
const GAPS: f64 = 5.0;
/// How many times the range of either group the gap between them must exceed.
const RANGES: f64 = 1.5;
/// One in how many values must lie in the smaller group.
const ONE_IN: usize = 5;

/// Two groups of values and how far apart they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// The median of the lower group.
    pub low: f64,
    /// The median of the upper group.
    pub high: f64,
    /// How many values are in the lower group; the others are in the upper.
    pub n_low: usize,
}

/// The two groups that the values fall into, if they do.
pub fn modes(observations: &Observations) -> Option<Modes> {
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
    fn two_exact_values_are_two_groups() {
        assert!(find(&[1.0, 1.0, 2.0, 2.0, 1.0, 2.0, 1.0, 2.0]).is_some());
    }

    #[test]
    fn one_outlier_is_not_a_group() {
        assert_eq!(find(&[1.0, 1.1, 1.2, 1.0, 1.1, 1.2, 1.0, 1.1, 1.2, 50.0]), None);
    }

    #[test]
    fn constant_values_are_one_group() {
        assert_eq!(find(&[3.0; 20]), None);
    }

    #[test]
    fn seven_values_are_too_few() {
        assert_eq!(find(&[1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0]), None);
    }

    /// How often two groups are seen in 2000 samples of `n` values.
    fn alarms(n: usize, mut draw: impl FnMut() -> f64) -> f64 {
        let seen = (0..2000).filter(|_| find(&(0..n).map(|_| draw()).collect::<Vec<_>>()).is_some());
        seen.count() as f64 / 2000.0
    }

    /// A normal variable, by the method of Box & Muller (1958).
    fn normal(random: &mut Random) -> f64 {
        let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * random.unit()).cos()
    }

    #[test]
    fn single_humped_samples_seldom_raise_it() {
        let mut random = Random::new(3);
        assert!(alarms(8, || normal(&mut random)) < 0.03);
        assert!(alarms(8, || -(1.0 - random.unit()).ln()) < 0.08);
        assert!(alarms(12, || normal(&mut random)) < 0.004);
        assert!(alarms(12, || -(1.0 - random.unit()).ln()) < 0.02);
    }

    #[test]
    fn two_states_twelve_deviations_apart_are_seen() {
        let mut random = Random::new(4);
        let share = alarms(10, || {
            let state = if random.unit() < 0.5 { 12.0 } else { 0.0 };
            state + normal(&mut random)
        });
        assert!(share > 0.95, "{share}");
    }
}
