//! Whether one of two samples tends to larger values than the other: the test of Mann & Whitney (Annals of Mathematical
//! Statistics 18, 1947), two-sided. Without ties and for moderate sizes the distribution of U is counted, so that 4 + 4
//! values can be judged. Otherwise it is approximated by the normal one, corrected for ties and continuity.

use crate::distributions::normal_tail;
use crate::observations::Observations;
use crate::ranks::{mid_ranks, tie_correction, tie_sizes};

/// Up to this number of pairs the distribution is counted: 100 + 100 takes a millisecond.
pub(crate) const COUNTED_UP_TO: usize = 10_000;

/// The outcome of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// Pairs with the larger value in the first sample; a pair of equal values counts one half.
    pub u: f64,
    /// The probability of a difference at least as clear as this, in either direction, between equal distributions.
    pub p: f64,
}

/// Tests whether the two samples come from one distribution; `None` where one is empty or has a value that is not finite.
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<MannWhitney> {
    Observations::new(first)?;
    Observations::new(second)?;
    let (n, m) = (first.len(), second.len());
    let all: Vec<f64> = first.iter().chain(second).copied().collect();
    let of_first: f64 = mid_ranks(&all)[..n].iter().sum();
    let u = of_first - (n * (n + 1)) as f64 / 2.0;
    let least = u.min((n * m) as f64 - u);
    let ties = tie_sizes(&all);
    let probability = if ties.is_empty() && n.saturating_mul(m) <= COUNTED_UP_TO {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number of pairs")]
        let at_most: f64 = probabilities(n, m)[..=least as usize].iter().sum();
        2.0 * at_most
    } else {
        approximate_p(n as f64, m as f64, least, &ties)
    };
    Some(MannWhitney { u, p: probability.min(1.0) })
}

/// The probabilities of U = 0, 1, … up to half of `n m`; the other half is the mirror image. The number of orders with
/// a given U is a coefficient of the Gaussian binomial of n + m over n, the product of (1 - x^(m+i)) / (1 - x^i) for i
/// = 1 … n.
pub(crate) fn probabilities(n: usize, m: usize) -> Vec<f64> {
    let (fewer, more) = (n.min(m), n.max(m));
    let half = n * m / 2;
    let mut counts = vec![0.0; half + 1];
    counts[0] = 1.0;
    let mut orders = 1.0;
    for i in 1..=fewer {
        let factor = more + i;
        for u in (factor..=half).rev() {
            counts[u] -= counts[u - factor];
        }
        for u in i..=half {
            counts[u] += counts[u - i];
        }
        orders *= factor as f64 / i as f64;
    }
    counts.iter().map(|count| count / orders).collect()
}

/// Two-sided, from the smaller U.
fn approximate_p(n: f64, m: f64, least: f64, ties: &[f64]) -> f64 {
    let all = n + m;
    let variance = n * m / 12.0 * (all + 1.0 - tie_correction(ties) / (all * (all - 1.0)));
    let beyond = n * m / 2.0 - least - 0.5;
    // All values are equal or nearly so.
    if variance <= 0.0 || beyond <= 0.0 { 1.0 } else { 2.0 * normal_tail(beyond / variance.sqrt()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    #[test]
    fn separate_samples_counted_by_hand() {
        // Of C(8, 4) = 70 orders, two separate four from four.
        let test = mann_whitney(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]).unwrap();
        assert_eq!(test.u, 0.0);
        close(test.p, 2.0 / 70.0);
        let mirrored = mann_whitney(&[5.0, 6.0, 7.0, 8.0], &[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!((mirrored.u, mirrored.p), (16.0, test.p));
    }

    #[test]
    fn counts_of_three_and_two() {
        // U of 2 + 3 values takes 0 … 6 in 1, 1, 2, 2, 2, 1, 1 of 10 orders.
        let expected = [0.1, 0.1, 0.2, 0.2];
        for (found, expected) in probabilities(2, 3).into_iter().zip(expected) {
            close(found, expected);
        }
        assert_eq!(probabilities(3, 2), probabilities(2, 3));
    }

    #[test]
    fn values_all_alike_differ_in_nothing() {
        assert_eq!(mann_whitney(&[1.0; 5], &[1.0; 5]).unwrap(), MannWhitney { u: 12.5, p: 1.0 });
        assert_eq!(mann_whitney(&[1.0], &[1.0]).unwrap().p, 1.0);
    }

    #[test]
    fn what_is_no_sample_is_refused() {
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[1.0], &[2.0, f64::NAN]), None);
    }
}
