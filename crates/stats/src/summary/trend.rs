//! Whether values rise or fall with time: the rank test of Mann (Econometrica 13, 1945) and Kendall. It assumes that
//! successive values are otherwise unrelated, as repetitions in separate processes are and bursts inside one are not.

use crate::distributions::normal_tail;
use crate::observations::median;
use crate::ranks::tie_sizes;

/// Up to here, and without ties, the probability is counted over all orders; beyond, the normal approximation errs by
/// less than a tenth of it where it matters (p from 0.005), on the side of caution.
const COUNTED_UP_TO: usize = 50;

/// The outcome of a test for a trend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Trend {
    /// The probability of a trend at least as clear, in either direction, if every order is equally likely.
    pub(crate) p: f64,
    /// Kendall's S: pairs that rise with time less pairs that fall.
    pub(crate) s: f64,
    /// Median of the last third less median of the first third, in the unit of the values.
    pub(crate) change: f64,
}

/// Tests for a trend over the order of the values, which are finite; `None` for fewer than three.
pub(crate) fn mann_kendall(values: &[f64]) -> Option<Trend> {
    let n = values.len();
    if n < 3 {
        return None;
    }
    let ties = tie_sizes(values);
    let count = n as f64;
    let pairs = count * (count - 1.0) / 2.0;
    let tied_pairs: f64 = ties.iter().map(|t| t * (t - 1.0) / 2.0).sum();
    let falling = falling_pairs(&mut values.to_vec());
    let s = pairs - tied_pairs - 2.0 * falling;
    let p = if ties.is_empty() && n <= COUNTED_UP_TO { counted_p(n, s) } else { approximate_p(count, &ties, s) };
    Some(Trend { p, s, change: change(values) })
}

/// The number of pairs in falling order, counted while merging halves; leaves the values sorted.
fn falling_pairs(values: &mut [f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let (left, right) = values.split_at_mut(values.len() / 2);
    let mut count = falling_pairs(left) + falling_pairs(right);
    let mut passed = 0;
    for value in &*left {
        passed += right[passed..].iter().take_while(|later| *later < value).count();
        count += passed as f64;
    }
    values.sort_by(f64::total_cmp);
    count
}

/// Two-sided, from the exact distribution of the number of falling pairs over all n! orders (Kendall, "Rank Correlation
/// Methods", 1948): the k-th value falls behind 0 to k - 1 of the earlier ones, each equally likely. Summed from the
/// lower tail, where every step adds more than it subtracts, so that the smallest probabilities keep their digits.
fn counted_p(n: usize, s: f64) -> f64 {
    let most = n * (n - 1) / 2;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number of pairs")]
    let at_most = ((most as f64 - s.abs()) / 2.0) as usize;
    let mut probabilities = vec![0.0; at_most + 1];
    probabilities[0] = 1.0;
    for k in 2..=n {
        let before = probabilities.clone();
        let mut window: f64 = 0.0;
        for (falling, probability) in probabilities.iter_mut().enumerate() {
            window += before[falling];
            if falling >= k {
                window -= before[falling - k];
            }
            *probability = window.max(0.0) / k as f64;
        }
    }
    (2.0 * probabilities.iter().sum::<f64>()).min(1.0)
}

/// Two-sided, from the normal approximation with the variance corrected for ties and S for continuity (Kendall 1948).
fn approximate_p(n: f64, ties: &[f64], s: f64) -> f64 {
    let term = |t: f64| t * (t - 1.0) * (2.0 * t + 5.0);
    let variance = (term(n) - ties.iter().copied().map(term).sum::<f64>()) / 18.0;
    if variance <= 0.0 {
        return 1.0;
    }
    (2.0 * normal_tail((s.abs() - 1.0).max(0.0) / variance.sqrt())).min(1.0)
}

/// The median of the last third less that of the first.
fn change(values: &[f64]) -> f64 {
    let third = values.len().div_ceil(3);
    median(&values[values.len() - third..]) - median(&values[..third])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12 * expected.abs().max(1e-3), "{found} is not {expected}");
    }

    #[test]
    fn orders_counted_by_hand() {
        let trend = mann_kendall(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        close(trend.p, 2.0 / 720.0);
        close(trend.s, 15.0);
        close(trend.change, 4.0);
        // 1 2 4 3: one falling pair of 6, S = 4. Of 24 orders 1 + 3 have at most one falling pair and as many at most
        // one rising pair: 8 / 24.
        let trend = mann_kendall(&[1.0, 2.0, 4.0, 3.0]).unwrap();
        close(trend.s, 4.0);
        close(trend.p, 8.0 / 24.0);
    }

    #[test]
    fn ties_take_the_approximation() {
        // S = 14 (one tied pair), variance (6·5·17 - 2·1·9) / 18 = 82/3, z = 13 / √27.33 = 2.486 590
        let trend = mann_kendall(&[1.0, 2.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        close(trend.s, 14.0);
        assert!((trend.p - 0.012_897).abs() < 2e-6, "{}", trend.p);
    }

    #[test]
    fn many_values_take_little_time() {
        let values: Vec<f64> = (0..200_000).map(f64::from).collect();
        let trend = mann_kendall(&values).unwrap();
        close(trend.s, 200_000.0 * 199_999.0 / 2.0);
        assert!(trend.p < 1e-300);
    }

    #[test]
    fn no_trend_in_two_and_in_constant_values() {
        assert_eq!(mann_kendall(&[1.0, 2.0]), None);
        let trend = mann_kendall(&[2.0; 12]).unwrap();
        assert_eq!((trend.p, trend.s, trend.change), (1.0, 0.0, 0.0));
    }
}
