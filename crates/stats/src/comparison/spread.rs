//! The ratio of the spreads of two quantities measured in turn: Qn of their logarithms (P. J. Rousseeuw and C. Croux,
//! "Alternatives to the Median Absolute Deviation", Journal of the American Statistical Association 88, 1993), which resists
//! as many outliers as the median absolute deviation and needs 45 % as many values for the same precision. What both sides
//! share is subtracted first, so that a host that slows down does not make both sides look alike.

use crate::comparison::ratio::expanded_interval;
use crate::observations::{have_ratios, median};
use crate::random::Random;
use crate::summary::interval::NEEDED_FOR_INTERVAL;

/// Resamples of a bootstrap: for 6 pairs the bounds leave 9 on each side.
const RESAMPLES: usize = 4_000;
/// The seed of every bootstrap, so that the same pairs give the same interval.
const SEED: u64 = 0x7370_7265_6164;

/// Pairs on either side of one that, with itself, give the level that both sides share. The median of seven adds an
/// eighth of a side's variance to both, and follows changes that last longer than a few pairs.
const SUCCESSIVE: usize = 3;

/// The limit of the upper end of the interval of [`SpreadVerdict::NotAbove`]. 20 pairs give the ratio of two spreads to
/// a factor of about 2, 40 pairs to 1.5 (simulated, normal noise): equal sides could not meet a limit nearer to 1.
const NOT_ABOVE_UPPER_BOUND: f64 = 1.5;

/// The ratio of the spreads of two alternating measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpreadRatio {
    /// Pairs.
    pub n: usize,
    /// The relative spread of the firsts over that of the seconds.
    pub ratio: f64,
    /// Its 95 % interval, which contains the ratio; `None` below 6 pairs. The upper end is infinite where the seconds
    /// may not vary at all.
    pub interval: Option<[f64; 2]>,
}

/// How the spread of the first side compares with that of the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpreadVerdict {
    /// The whole interval is above 1.
    Above,
    /// The ratio is at most 1, and the interval ends by 1.5.
    NotAbove,
    /// Neither, or too few pairs for an interval.
    CannotTell,
}

impl SpreadRatio {
    /// The verdict.
    pub fn verdict(&self) -> SpreadVerdict {
        match self.interval {
            Some([low, _]) if low > 1.0 => SpreadVerdict::Above,
            Some([_, high]) if self.ratio <= 1.0 && high <= NOT_ABOVE_UPPER_BOUND => SpreadVerdict::NotAbove,
            _ => SpreadVerdict::CannotTell,
        }
    }
}

/// The ratio of the spread of the firsts to that of the seconds, over pairs in the order of measurement; `None` without
/// pairs, for a value that is not a positive number, and for seconds that do not vary.
pub fn spread_ratio(pairs: &[(f64, f64)]) -> Option<SpreadRatio> {
    if !have_ratios(pairs) {
        return None;
    }
    let n = pairs.len();
    let [firsts, seconds] = without_what_is_shared(pairs).map(|side| Distances::new(&side));
    let alike = vec![1.0; n];
    let second = Some(seconds.spread(&alike)).filter(|spread| *spread > 0.0)?;
    let ratio = firsts.spread(&alike) / second;
    let interval = (n >= NEEDED_FOR_INTERVAL).then(|| bootstrap(&firsts, &seconds, n, ratio));
    Some(SpreadRatio { n, ratio, interval })
}

/// The logarithms of both sides less their common level.
fn without_what_is_shared(pairs: &[(f64, f64)]) -> [Vec<f64>; 2] {
    let logs = |side: fn(&(f64, f64)) -> f64| pairs.iter().map(|pair| side(pair).ln()).collect::<Vec<f64>>();
    let (firsts, seconds) = (logs(|pair| pair.0), logs(|pair| pair.1));
    let middles: Vec<f64> = firsts.iter().zip(&seconds).map(|(first, second)| f64::midpoint(*first, *second)).collect();
    let level = |index: usize| {
        let near = index.saturating_sub(SUCCESSIVE)..(index + SUCCESSIVE + 1).min(middles.len());
        median(&middles[near])
    };
    let levels: Vec<f64> = (0..middles.len()).map(level).collect();
    [firsts, seconds].map(|side| side.iter().zip(&levels).map(|(value, level)| value - level).collect())
}

/// The distances between any two values of a side, in ascending order, with the indices of both values: the order
/// statistic of a resample is then found by counting.
struct Distances {
    n: usize,
    ascending: Vec<(f64, usize, usize)>,
}

impl Distances {
    fn new(values: &[f64]) -> Self {
        let of = |a: usize| (0..a).map(move |b| ((values[a] - values[b]).abs(), a, b));
        let mut ascending: Vec<_> = (0..values.len()).flat_map(of).collect();
        ascending.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { n: values.len(), ascending }
    }

    /// Qn without its constants, of weighted values: the smallest distance up to which the distances have the same
    /// share of all weight as the order statistic has of their number.
    fn spread(&self, weights: &[f64]) -> f64 {
        let two_of = |count: usize| (count * (count - 1)) as f64 / 2.0;
        let (sum, squares) = weights.iter().fold((0.0, 0.0), |(sum, squares), w| (sum + w, squares + w * w));
        let share = two_of(self.n / 2 + 1) / two_of(self.n);
        // Slightly less, so that rounding of the sum does not select the next distance.
        let wanted = share * f64::midpoint(sum * sum, -squares) * (1.0 - 1e-9);
        let mut seen = 0.0;
        for &(distance, a, b) in &self.ascending {
            seen += weights[a] * weights[b];
            if seen >= wanted {
                return distance;
            }
        }
        0.0
    }
}

/// The expanded percentile interval, as of [`ratio`](crate::ratio()), of a Bayesian bootstrap (D. B. Rubin, The Annals of
/// Statistics 9, 1981), which weights the pairs: a pair drawn twice has no distance from itself (simulated: intervals 1.5
/// times as wide).
fn bootstrap(firsts: &Distances, seconds: &Distances, n: usize, point: f64) -> [f64; 2] {
    let mut random = Random::new(SEED);
    let mut weights = vec![0.0; n];
    let mut resampled = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        // Exponential deviates: in proportion to the gaps between sorted uniform numbers.
        weights.fill_with(|| -(1.0 - random.unit()).ln());
        let (first, second) = (firsts.spread(&weights), seconds.spread(&weights));
        // If a resample leaves both sides without spread, they are alike.
        resampled.push(if second > 0.0 || first > 0.0 { first / second } else { 1.0 });
    }
    expanded_interval(resampled, n, point)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_the_order_statistic_of_the_distances() {
        // Distances of 1, 2, 4, 8: 1, 2, 3, 4, 6, 7; h = 3, so the third.
        let distances = Distances::new(&[1.0, 8.0, 4.0, 2.0]);
        assert_eq!(distances.spread(&[1.0; 4]), 3.0);
        assert_eq!(distances.spread(&[7.0; 4]), 3.0, "only their shares count");
        // Of the weight, 9 is that of 1 and 8, and at most 3 that of each other pair: the half is reached at their
        // distance.
        assert_eq!(distances.spread(&[3.0, 3.0, 0.1, 0.1]), 7.0);
        assert_eq!(Distances::new(&[5.0, 5.0, 5.0, 9.0]).spread(&[1.0; 4]), 0.0, "half of them are alike");
    }

    #[test]
    fn what_both_sides_share_is_taken_out() {
        // Ours varies by twice as much as theirs, around what the host does.
        let wave = [0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5];
        let pair = |i: usize, drift: f64| {
            let host = f64::exp(drift * i as f64 / 40.0);
            let (ours, theirs) = (wave[i % 7], wave[(i + 3) % 7]);
            (3.0 * host * f64::exp(0.02 * ours), host * f64::exp(0.01 * theirs))
        };
        let ratio_of = |drift: f64| {
            let pairs: Vec<(f64, f64)> = (0..42).map(|i| pair(i, drift)).collect();
            spread_ratio(&pairs).unwrap().ratio
        };
        // On a host that slows down threefold, both sides would scatter alike if the drift stayed in.
        for drift in [0.0, 1.0] {
            let ratio = ratio_of(drift);
            assert!((1.6..=2.4).contains(&ratio), "drift {drift}: {ratio}");
        }
    }

    #[test]
    fn which_side_and_which_units_make_no_difference() {
        let pairs: Vec<(f64, f64)> =
            (0..12).map(|i| (10.0 + f64::from(i * i % 7), 20.0 + f64::from(i * 3 % 5))).collect();
        let of = |change: fn(&(f64, f64)) -> (f64, f64)| {
            spread_ratio(&pairs.iter().map(change).collect::<Vec<_>>()).unwrap().ratio
        };
        let plain = of(|pair| *pair);
        assert!((of(|pair| (pair.1, pair.0)) * plain - 1.0).abs() < 1e-12);
        assert!((of(|pair| (1e-9 * pair.0, 1e6 * pair.1)) / plain - 1.0).abs() < 1e-9, "scales cancel");
        assert!((of(|pair| (1.0 / pair.0, 1.0 / pair.1)) / plain - 1.0).abs() < 1e-9, "times scatter like rates");
        assert_eq!(spread_ratio(&pairs), spread_ratio(&pairs), "the same pairs give the same interval");
    }

    #[test]
    fn what_has_no_ratio_is_refused() {
        assert_eq!(spread_ratio(&[]), None);
        assert_eq!(spread_ratio(&[(1.0, 2.0), (0.0, 2.0)]), None);
        assert_eq!(spread_ratio(&[(1.0, f64::NAN)]), None);
        assert_eq!(spread_ratio(&[(3.0, 2.0); 8]), None);
        let few = spread_ratio(&[(1.0, 2.0), (1.1, 2.3), (1.2, 1.9), (0.9, 2.0), (1.0, 2.2)]).unwrap();
        assert_eq!((few.n, few.interval, few.verdict()), (5, None, SpreadVerdict::CannotTell));
    }

    #[test]
    fn verdicts_by_their_thresholds() {
        for (ratio, interval, verdict) in [
            (1.50, Some([1.001, 2.0]), SpreadVerdict::Above),
            (1.50, Some([1.0, 2.0]), SpreadVerdict::CannotTell),
            (1.00, Some([0.6, 1.5]), SpreadVerdict::NotAbove),
            (1.00, Some([0.6, 1.501]), SpreadVerdict::CannotTell),
            (1.01, Some([0.9, 1.2]), SpreadVerdict::CannotTell),
            (0.10, Some([0.05, 0.2]), SpreadVerdict::NotAbove),
            (0.10, None, SpreadVerdict::CannotTell),
        ] {
            assert_eq!(SpreadRatio { n: 20, ratio, interval }.verdict(), verdict, "{ratio} {interval:?}");
        }
    }
}
