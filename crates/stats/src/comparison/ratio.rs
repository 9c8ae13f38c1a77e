//! The ratio of two quantities measured in turn: the one estimator for every comparison of alternating runs. The interval is
//! a bootstrap over *pairs*, whose halves ran back to back: resampling them apart would mistake the drift of the machine
//! for the spread of the ratio. Signs or ranks of the pairs' own ratios would bound the median of the ratios, which differs
//! from the ratio of the medians as soon as the two sides are skewed differently (simulated coverage: 0.77).

use crate::distributions::{normal_tail, student_quantile};
use crate::observations::have_ratios;
use crate::random::Random;
use crate::summary::Better;
use crate::summary::interval::{NEEDED_FOR_INTERVAL, NOMINAL_CONFIDENCE};

/// Resamples of a bootstrap: for 6 pairs the bounds leave 24 on each side.
const RESAMPLES: usize = 10_000;
/// The seed of every bootstrap, so that the same pairs give the same interval.
const SEED: u64 = 0x7261_7469_6f73;

/// The least worse end of the interval of [`RatioVerdict::AtLeast`]: an allowance of 5 % for interference.
const AT_LEAST_WORSE_BOUND: f64 = 0.95;

/// The ratio of two alternating measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Pairs.
    pub n: usize,
    /// The median of the firsts over the median of the seconds.
    pub ratio: f64,
    /// Its 95 % interval, which contains the ratio; `None` below 6 pairs.
    pub interval: Option<[f64; 2]>,
    /// Half of the interval's width over the ratio.
    pub half_width: Option<f64>,
}

/// How the first side compares with the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RatioVerdict {
    /// The point is at least 1 and the interval's worse end at least 0.95.
    AtLeast,
    /// The whole interval is below 1.
    Below,
    /// Neither, or too few pairs for an interval.
    Inconclusive,
}

impl Ratio {
    /// The verdict, so that more is better for the first side: for costs, the inverse is judged.
    pub fn verdict(&self, better: Better) -> RatioVerdict {
        let Some([low, high]) = self.interval else { return RatioVerdict::Inconclusive };
        let (point, worse, best) = match better {
            Better::Higher => (self.ratio, low, high),
            Better::Lower => (1.0 / self.ratio, 1.0 / high, 1.0 / low),
        };
        if best < 1.0 {
            RatioVerdict::Below
        } else if point >= 1.0 && worse >= AT_LEAST_WORSE_BOUND {
            RatioVerdict::AtLeast
        } else {
            RatioVerdict::Inconclusive
        }
    }
}

/// The ratio of firsts to seconds over pairs that were measured in turn; `None` without pairs, and for a value that is not
/// a positive number between 10^-150 and 10^150.
pub fn ratio(pairs: &[(f64, f64)]) -> Option<Ratio> {
    if !have_ratios(pairs) {
        return None;
    }
    let n = pairs.len();
    let sides = Sides::new(pairs);
    let ratio = sides.ratio(&vec![1; n]);
    let interval = (n >= NEEDED_FOR_INTERVAL).then(|| bootstrap(&sides, ratio));
    Some(Ratio { n, ratio, interval, half_width: interval.map(|[low, high]| (high - low) / 2.0 / ratio) })
}

/// The expanded percentile interval of a bootstrap over the pairs.
fn bootstrap(sides: &Sides, point: f64) -> [f64; 2] {
    let mut random = Random::new(SEED);
    let n = sides.firsts.len();
    let mut times_drawn = vec![0; n];
    let mut resampled = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        times_drawn.fill(0);
        for _ in 0..n {
            // A number below n is an index: the conversion cannot fail.
            times_drawn[usize::try_from(random.below(n as u64)).unwrap_or(0)] += 1;
        }
        resampled.push(sides.ratio(&times_drawn));
    }
    expanded_interval(resampled, n, point)
}

/// The expanded percentile interval of resampled ratios of `n` pairs, widened to its point if that lies outside.
fn expanded_interval(mut resampled: Vec<f64>, n: usize, point: f64) -> [f64; 2] {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the resamples")]
    let outside = (expanded_tail(n) * resampled.len() as f64) as usize;
    let last = resampled.len() - 1 - outside;
    let mut ranked = |rank: usize| *resampled.select_nth_unstable_by(rank, f64::total_cmp).1;
    [ranked(outside).min(point), ranked(last).max(point)]
}

/// Both sides of the pairs in ascending order, each value with the index of its pair: the median of a resample is then
/// found by counting, without sorting it.
struct Sides {
    firsts: Vec<(f64, usize)>,
    seconds: Vec<(f64, usize)>,
}

impl Sides {
    fn new(pairs: &[(f64, f64)]) -> Self {
        let ascending = |side: fn(&(f64, f64)) -> f64| {
            let mut values: Vec<_> = pairs.iter().map(side).enumerate().map(|(index, value)| (value, index)).collect();
            values.sort_by(|a, b| a.0.total_cmp(&b.0));
            values
        };
        Self { firsts: ascending(|pair| pair.0), seconds: ascending(|pair| pair.1) }
    }

    /// The ratio of the medians where each pair was drawn this number of times.
    fn ratio(&self, times: &[u32]) -> f64 {
        median(&self.firsts, times) / median(&self.seconds, times)
    }
}

/// The median of ascending values, each as often as its pair was drawn.
fn median(ascending: &[(f64, usize)], times: &[u32]) -> f64 {
    let n = ascending.len();
    // The number of values at or below the lower and the upper of the two middle ones.
    let (lower, upper) = (n.div_ceil(2), n / 2 + 1);
    let (mut seen, mut below_middle) = (0, None);
    for &(value, pair) in ascending {
        seen += times[pair] as usize;
        if seen >= lower && below_middle.is_none() {
            below_middle = Some(value);
        }
        if seen >= upper {
            return below_middle.map_or(value, |below| f64::midpoint(below, value));
        }
    }
    f64::NAN
}

/// The share of resamples outside each bound. Plain percentiles are too narrow for few values (simulated: coverage 0.89 to
/// 0.95 for n = 6), so they are expanded by as much as Student's t of n - 1 degrees of freedom exceeds the normal deviate
/// (T. Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 69, 2015, section 4.3).
fn expanded_tail(n: usize) -> f64 {
    let n_minus_1 = (n - 1) as f64;
    normal_tail((n as f64 / n_minus_1).sqrt() * student_quantile(n_minus_1, NOMINAL_CONFIDENCE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, within: f64) -> bool {
        (a - b).abs() <= within
    }

    #[test]
    fn tails_are_further_out_for_few_pairs() {
        // 2.571 sqrt(6/5) = 2.816 and 2.262 sqrt(10/9) = 2.384 in a table of the normal distribution.
        assert!(close(expanded_tail(6), 0.002_43, 1e-5));
        assert!(close(expanded_tail(10), 0.008_55, 2e-5));
        assert!(close(expanded_tail(100_000), 0.025, 1e-5));
    }

    #[test]
    fn the_point_is_the_ratio_of_the_medians() {
        // The pairs' own ratios are 3, 1/2, 2: their median is another number.
        let result = ratio(&[(3.0, 1.0), (2.0, 4.0), (10.0, 5.0)]).unwrap();
        assert_eq!(result, Ratio { n: 3, ratio: 3.0 / 4.0, interval: None, half_width: None });
    }

    #[test]
    fn a_median_by_counting_is_the_median_of_what_was_drawn() {
        let pairs = [(5.0, 1.0), (1.0, 1.0), (9.0, 1.0), (7.0, 1.0)];
        for (times, expected) in
            [([1, 1, 1, 1], 6.0), ([4, 0, 0, 0], 5.0), ([0, 2, 2, 0], 5.0), ([0, 3, 1, 0], 1.0), ([1, 0, 0, 3], 7.0)]
        {
            assert_eq!(Sides::new(&pairs).ratio(&times), expected, "{times:?}");
        }
        assert_eq!(Sides::new(&pairs[..3]).ratio(&[1, 1, 1]), 5.0);
        assert_eq!(Sides::new(&pairs[..1]).ratio(&[1]), 5.0);
    }

    #[test]
    fn an_interval_needs_six_pairs() {
        let pairs: Vec<(f64, f64)> = (0..6).map(|i| (10.0 + f64::from(i), 10.0)).collect();
        assert_eq!(ratio(&pairs[..5]).unwrap().interval, None);
        let six = ratio(&pairs).unwrap();
        let [low, high] = six.interval.unwrap();
        assert!((1.0..=six.ratio).contains(&low) && (six.ratio..=1.5).contains(&high), "{six:?}");
        assert_eq!(six.half_width, Some((high - low) / 2.0 / six.ratio));
        assert_eq!(ratio(&pairs), ratio(&pairs), "the same pairs give the same interval");
    }

    #[test]
    fn drift_that_both_sides_share_does_not_widen_the_interval() {
        let pairs: Vec<(f64, f64)> = (1..=12).map(|i| (1.1 * f64::from(i), f64::from(i))).collect();
        let [low, high] = ratio(&pairs).unwrap().interval.unwrap();
        assert!(close(low, 1.1, 1e-12) && close(high, 1.1, 1e-12), "{low} {high}");
    }

    #[test]
    fn what_cannot_be_divided_is_refused() {
        assert_eq!(ratio(&[]), None);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e200, 1e-200] {
            assert_eq!(ratio(&[(1.0, 1.0), (bad, 1.0)]), None);
            assert_eq!(ratio(&[(1.0, bad)]), None);
        }
    }

    #[test]
    fn verdicts_by_their_thresholds() {
        let of = |ratio, interval, better| Ratio { n: 9, ratio, interval, half_width: None }.verdict(better);
        for (point, interval, verdict) in [
            (1.00, Some([0.95, 1.2]), RatioVerdict::AtLeast),
            (1.00, Some([0.949, 1.2]), RatioVerdict::Inconclusive),
            (0.999, Some([0.99, 1.2]), RatioVerdict::Inconclusive),
            (0.97, Some([0.95, 0.999]), RatioVerdict::Below),
            (0.97, Some([0.95, 1.0]), RatioVerdict::Inconclusive),
            (2.00, None, RatioVerdict::Inconclusive),
        ] {
            assert_eq!(of(point, interval, Better::Higher), verdict, "{point} {interval:?}");
            let inverse = interval.map(|[low, high]: [f64; 2]| [1.0 / high, 1.0 / low]);
            assert_eq!(of(1.0 / point, inverse, Better::Lower), verdict, "1 / {point} {interval:?}");
        }
    }
}
