//! Whether each value resembles the one before it, as where a disturbance lasts longer than one repetition: then fewer
//! values are independent, and intervals are too narrow. The ratio of von Neumann on ranks, with its approximation by a
//! beta distribution (R. Bartels, Journal of the American Statistical Association 77, 1982). Ranks, since one outlier would
//! hide or feign a correlation of values.

use crate::distributions::beta_below;
use crate::observations::Observations;
use crate::ranks::mid_ranks;

/// The fewest values for which the approximation holds (a test simulates it).
const NEEDED: usize = 8;

/// The correlation of successive values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Autocorrelation {
    /// The correlation of ranks at a distance of one, as 1 less half of von Neumann's ratio: 0 for independent values,
    /// towards 1 where successive values resemble each other, negative where they alternate.
    pub(crate) r: f64,
    /// The probability of a correlation at least as strong, of either sign, by chance.
    pub(crate) p: f64,
}

/// The correlation of values, in the order of measurement, with those before them; `None` for fewer than 8 values, for
/// constant values, and for a value that is not finite.
pub(crate) fn autocorrelation(values: &[f64]) -> Option<Autocorrelation> {
    let n = Observations::new(values)?.n();
    if n < NEEDED {
        return None;
    }
    let ranks = mid_ranks(values);
    let count = n as f64;
    let mean = f64::midpoint(count, 1.0);
    let squares: f64 = ranks.iter().map(|rank| (rank - mean).powi(2)).sum();
    let steps: f64 = ranks.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    let ratio = steps / squares;
    if !ratio.is_finite() {
        return None;
    }
    // Ratio / 4 is approximately a symmetric beta variable with the variance of the ratio (Bartels, section 3).
    let shape = 5.0 * count * (count + 1.0) * (count - 1.0).powi(2)
        / (2.0 * (count - 2.0) * (5.0 * count * count - 2.0 * count - 9.0))
        - 0.5;
    let nearer = (ratio / 4.0).min(1.0 - ratio / 4.0);
    Some(Autocorrelation { r: 1.0 - ratio / 2.0, p: (2.0 * beta_below(nearer, shape, shape)).min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn alternating_values_have_a_negative_one() {
        let found = autocorrelation(&[1.0, 9.0, 2.0, 8.0, 3.0, 7.0, 1.5, 8.5, 2.5, 7.5]).unwrap();
        assert!(found.r < -0.5 && found.p < 0.05, "{found:?}");
    }

    #[test]
    fn chance_is_as_often_as_it_says() {
        let mut random = Random::new(21);
        for n in [8, 10, 20, 60] {
            let mut below = |level: f64| {
                let mut falls = || {
                    let values: Vec<f64> = (0..n).map(|_| random.unit()).collect();
                    autocorrelation(&values).unwrap().p < level
                };
                (0..10_000).filter(|_| falls()).count() as f64 / 10_000.0
            };
            // Three standard errors of 10 000 trials: 0.0065 and 0.003; the statistic of 8 values has few steps.
            let (five, one) = (below(0.05), below(0.01));
            assert!((five - 0.05).abs() < 0.008 && (one - 0.01).abs() < 0.004, "n = {n}: {five} {one}");
        }
    }

    #[test]
    fn a_strong_correlation_is_found() {
        let mut random = Random::new(22);
        let mut found = 0;
        for _ in 0..200 {
            let mut state = 0.0;
            let values: Vec<f64> = (0..30)
                .map(|_| {
                    state = 0.9 * state + random.unit() - 0.5;
                    state
                })
                .collect();
            found += usize::from(autocorrelation(&values).is_some_and(|found| found.r > 0.3 && found.p < 0.01));
        }
        assert!(found > 180, "{found} of 200");
    }

    #[test]
    fn none_for_too_few_constant_and_non_finite_values() {
        assert_eq!(autocorrelation(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), None);
        assert_eq!(autocorrelation(&[5.0; 20]), None);
        assert_eq!(autocorrelation(&[f64::NAN; 20]), None);
    }
}
