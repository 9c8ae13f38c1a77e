//! Whether something changed, from the interval of a ratio. Thresholds are symmetric in logarithms: 1/1.1 and 1.1 are
//! equally far from no change.

/// The significance level of a whole table of tests; p-values are corrected before.
pub const LEVEL: f64 = 0.05;
/// [`needed`] does not suggest more samples than this.
const MOST_NEEDED: f64 = 10_000.0;
/// The fewest samples of each side that can be judged: 3 + 3 have no p below 0.05.
pub const NEEDED_FOR_CHANGE: usize = 4;

/// The verdict on a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeVerdict {
    /// The whole interval lies beyond the threshold.
    Changed,
    /// The whole interval lies within the threshold.
    Same,
    /// Neither.
    Inconclusive,
}

/// The verdict from the interval of a ratio.
///
/// Changed: the whole interval lies outside of 1 / (1 + t) … 1 + t, where t is `threshold + allowance`, and `p` is
/// below 0.05. Same: the whole interval lies within 1 / (1 + threshold) … 1 + threshold. Inconclusive: anything else,
/// NaN included.
pub fn judge_change(interval: Option<[f64; 2]>, p: Option<f64>, threshold: f64, allowance: f64) -> ChangeVerdict {
    let Some([low, high]) = interval.filter(|[low, high]| *low > 0.0 && low <= high) else {
        return ChangeVerdict::Inconclusive;
    };
    let (within, beyond) = (1.0 + threshold.max(0.0), 1.0 + threshold.max(0.0) + allowance.max(0.0));
    let outside = low > beyond || high < 1.0 / beyond;
    if outside && p.is_some_and(|p| p < LEVEL) {
        ChangeVerdict::Changed
    } else if low >= 1.0 / within && high <= within {
        ChangeVerdict::Same
    } else {
        ChangeVerdict::Inconclusive
    }
}

/// About how many more samples of each side narrow the interval of a ratio, now from `n` of each, enough for a verdict;
/// at least 1. `None` for more than 10 000, such as for a ratio on the threshold.
///
/// Half of the width falls with the root of the number; the ratio is assumed to stay in the middle of the interval.
/// Without an interval, the number that is missing for one. If a change must exceed an allowance too, pass the sum as
/// the threshold.
pub fn needed(n: usize, interval: Option<[f64; 2]>, threshold: f64) -> Option<u32> {
    let Some([low, high]) = interval else {
        return Some(u32::try_from(NEEDED_FOR_CHANGE.saturating_sub(n).max(1)).unwrap_or(1));
    };
    let (low, high, limit) = (low.ln(), high.ln(), threshold.ln_1p());
    let (centre, half_width) = (f64::midpoint(low, high), (high - low) / 2.0);
    let room = (centre.abs() - limit).abs();
    let more = n as f64 * ((half_width / room).powi(2) - 1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 10 000")]
    (more <= MOST_NEEDED).then(|| more.round().max(1.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ChangeVerdict::{Changed, Inconclusive, Same};

    #[test]
    fn three_answers() {
        for (interval, p, threshold, allowance, expected) in [
            ([1.05, 1.10], 0.01, 0.02, 0.0, Changed),
            ([0.90, 0.95], 0.01, 0.02, 0.0, Changed),
            ([0.90, 0.95], 0.05, 0.02, 0.0, Inconclusive),
            ([1.05, 1.10], 0.01, 0.02, 0.04, Inconclusive),
            ([0.99, 1.01], 0.01, 0.02, 0.04, Same),
            ([0.99, 1.01], 0.90, 0.02, 0.0, Same),
            ([0.99, 1.03], 0.01, 0.02, 0.0, Inconclusive),
            // 1 / 1.25 = 0.8 is as far as 1.25.
            ([0.80, 1.25], 0.01, 0.25, 0.0, Same),
            ([0.79, 1.25], 0.01, 0.25, 0.0, Inconclusive),
            ([0.70, 0.79], 0.01, 0.25, 0.0, Changed),
            ([0.70, 0.80], 0.01, 0.25, 0.0, Inconclusive),
        ] {
            let found = judge_change(Some(interval), Some(p), threshold, allowance);
            assert_eq!(found, expected, "{interval:?} p {p} threshold {threshold} + {allowance}");
        }
    }

    #[test]
    fn what_is_unknown_is_inconclusive() {
        assert_eq!(judge_change(None, Some(0.001), 0.02, 0.0), Inconclusive);
        assert_eq!(judge_change(Some([2.0, 3.0]), None, 0.02, 0.0), Inconclusive);
        for bad in [[f64::NAN, 1.0], [1.0, f64::NAN], [-1.0, 1.0], [2.0, 1.0]] {
            assert_eq!(judge_change(Some(bad), Some(0.001), 0.02, 0.0), Inconclusive, "{bad:?}");
        }
        assert_eq!(judge_change(Some([2.0, 3.0]), Some(0.001), f64::NAN, 0.0), Changed, "no threshold is one of 0");
    }

    #[test]
    fn more_samples_by_hand() {
        // Centre 0, half of the width 4 %, room 2 %: four times as many, so 3 n more.
        let interval = [-0.04_f64, 0.04].map(f64::exp);
        assert_eq!(needed(10, Some(interval), 0.02_f64.exp_m1()), Some(30));
        // Centre 5 %, half of the width 6 %, room 3 %: the same.
        let interval = [-0.01_f64, 0.11].map(f64::exp);
        assert_eq!(needed(10, Some(interval), 0.02_f64.exp_m1()), Some(30));
    }

    #[test]
    fn no_number_helps_on_the_threshold() {
        let interval = [0.0_f64, 0.04].map(f64::exp);
        assert_eq!(needed(10, Some(interval), 0.02_f64.exp_m1()), None);
        assert_eq!(needed(10, Some([f64::NAN, 1.0]), 0.02), None);
    }

    #[test]
    fn at_least_one_and_what_an_interval_lacks() {
        assert_eq!(needed(9, Some([1.10, 1.11]), 0.02), Some(1));
        assert_eq!((needed(1, None, 0.02), needed(3, None, 0.02), needed(9, None, 0.02)), (Some(3), Some(1), Some(1)));
    }
}
