//! When a benchmark has enough samples: a pure rule over the values so far, without state and without a clock.

use std::fmt;

use crate::observations::Observations;
use crate::steady::{STEADY_ROUNDS, Steadiness, steadiness};
use crate::summary::interval::{Interval, NEEDED_FOR_INTERVAL};

/// How many repetitions to make.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StopRule {
    /// Exactly `n`.
    Fixed {
        /// The number of repetitions.
        n: usize,
    },
    /// Until the interval of the median is narrow enough.
    Adaptive(Adaptive),
    /// Until the last five are steady, see [`steadiness`].
    Steady {
        /// The most repetitions.
        most: usize,
    },
}

/// Repeats until the relative half-width of the median's 95 % interval meets the target on two consecutive checks, one
/// after each repetition from the minimum on (Hoefler & Belli, SC'15, section 4.2.2). Two, since frequent checks would
/// otherwise stop at the first lucky interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adaptive {
    n_min: usize,
    n_max: usize,
    target: f64,
}

/// Why the repetitions ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StopReason {
    /// The requested number has been made.
    Repetitions {
        /// The number of repetitions.
        n: usize,
    },
    /// The interval is narrow enough.
    Narrow {
        /// Its relative half-width.
        half_width: f64,
        /// The target.
        target: f64,
    },
    /// The maximum is reached and the interval is still wider than the target.
    Maximum {
        /// The number of repetitions.
        n: usize,
        /// The interval's relative half-width, where it has one.
        half_width: Option<f64>,
        /// The target.
        target: f64,
    },
    /// The last five are steady.
    Steady {
        /// The number of repetitions.
        n: usize,
        /// How steady the last five are.
        found: Steadiness,
    },
    /// The maximum is reached and the last five are not steady.
    NotSteady {
        /// The number of repetitions.
        n: usize,
        /// How far the last five are from steady; `None` for fewer.
        found: Option<Steadiness>,
    },
    /// The time ran out. Made by [`StopRule::out_of_time`], never by [`StopRule::check`].
    OutOfTime {
        /// The number of repetitions.
        n: usize,
        /// The interval's relative half-width, where it has one.
        half_width: Option<f64>,
    },
}

impl Adaptive {
    /// A rule of `n_min` to `n_max` repetitions with this target for the relative half-width; `None` if the minimum is
    /// too small for an interval (6) or above the maximum, or the target is not a positive number.
    pub fn new(n_min: usize, n_max: usize, target: f64) -> Option<Self> {
        let is_usable = (NEEDED_FOR_INTERVAL..=n_max).contains(&n_min) && target > 0.0 && target.is_finite();
        is_usable.then_some(Self { n_min, n_max, target })
    }

    fn check(&self, values: &[f64]) -> Option<StopReason> {
        let n = values.len();
        if n < self.n_min {
            return None;
        }
        let half_width = half_width(values);
        let narrow = half_width.filter(|width| *width <= self.target);
        if let Some(half_width) = narrow
            && n > self.n_min
            && self::half_width(&values[..n - 1]).is_some_and(|before| before <= self.target)
        {
            return Some(StopReason::Narrow { half_width, target: self.target });
        }
        (n >= self.n_max).then_some(match narrow {
            Some(half_width) => StopReason::Narrow { half_width, target: self.target },
            None => StopReason::Maximum { n, half_width, target: self.target },
        })
    }
}

impl StopRule {
    /// The reason to stop after these values, in the order of measurement; `None` to continue.
    pub fn check(&self, values: &[f64]) -> Option<StopReason> {
        match self {
            Self::Fixed { n } => (values.len() >= *n).then_some(StopReason::Repetitions { n: values.len() }),
            Self::Adaptive(adaptive) => adaptive.check(values),
            Self::Steady { most } => {
                let (n, found) = (values.len(), steadiness(values));
                match found.filter(Steadiness::is_steady) {
                    Some(found) => Some(StopReason::Steady { n, found }),
                    None => (n >= *most).then_some(StopReason::NotSteady { n, found }),
                }
            }
        }
    }

    /// The reason to record when time ran out after these values.
    pub fn out_of_time(values: &[f64]) -> StopReason {
        StopReason::OutOfTime { n: values.len(), half_width: half_width(values) }
    }

    /// The repetitions that a plan must allow for: the fewest after which the rule can stop, or all of them where the
    /// number depends on the device and not on noise.
    pub fn at_least(&self) -> usize {
        match self {
            Self::Adaptive(adaptive) => adaptive.n_max.min(adaptive.n_min + 1),
            Self::Fixed { .. } | Self::Steady { .. } => self.at_most(),
        }
    }

    /// The maximum number of repetitions.
    pub fn at_most(&self) -> usize {
        match self {
            Self::Fixed { n } | Self::Steady { most: n } => *n,
            Self::Adaptive(adaptive) => adaptive.n_max,
        }
    }
}

/// The relative half-width of the interval of these values.
fn half_width(values: &[f64]) -> Option<f64> {
    let seen = Observations::new(values)?;
    Interval::of_median(&seen)?.relative_half_width(seen.median())
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |fraction: &f64| 100.0 * fraction;
        let wide = |width: &Option<f64>| match width {
            Some(width) => format!("interval ±{:.1} %", percent(width)),
            None => "no interval".to_owned(),
        };
        match self {
            Self::Repetitions { n } => write!(f, "{n} repetitions as asked"),
            Self::Narrow { half_width, target } => {
                write!(f, "interval ±{:.1} % within ±{:.1} %", percent(half_width), percent(target))
            }
            Self::Maximum { n, half_width, target } => {
                write!(f, "{n} repetitions at most ({}, aim ±{:.1} %)", wide(half_width), percent(target))
            }
            Self::Steady { n, found } => write!(f, "steady after {n} rounds: {found}"),
            Self::NotSteady { n, found: Some(found) } => {
                write!(f, "{n} rounds without a steady state: {found}")
            }
            Self::NotSteady { n, found: None } => {
                write!(f, "{n} rounds, of which {STEADY_ROUNDS} are needed for a steady state")
            }
            Self::OutOfTime { n, half_width } => write!(f, "time ran out after {n} ({})", wide(half_width)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(n_min: usize, n_max: usize, target: f64) -> StopRule {
        StopRule::Adaptive(Adaptive::new(n_min, n_max, target).unwrap())
    }

    /// The number of values taken one by one until the rule stops, and the reason.
    fn feed(rule: StopRule, values: &[f64]) -> (usize, StopReason) {
        (1..=values.len()).find_map(|n| Some((n, rule.check(&values[..n])?))).expect("the rule stops within the values")
    }

    #[test]
    fn each_rule_stops_where_it_should_and_says_why() {
        let steady = StopRule::Steady { most: 8 };
        let wild: Vec<f64> = (0..20).map(|i| 1.0 + f64::from(i % 5)).collect();
        // n = 6 and 7 take the whole range. Wide at 6 because of the first value; at 9 ranks 2 to 8 leave it out.
        let first_apart = [10.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        let range = "the last five range over";
        for (rule, values, expected, words) in [
            (StopRule::Fixed { n: 3 }, &[1.0, 9.0, 5.0, 2.0][..], 3, "3 repetitions as asked".to_owned()),
            (
                steady,
                &[9.0, 7.0, 5.0, 5.0, 5.1, 4.9, 5.0, 5.0],
                7,
                format!("steady after 7 rounds: {range} 4.0 % of their mean and drift by 0.8 %"),
            ),
            (
                steady,
                &[9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0],
                8,
                format!("8 rounds without a steady state: {range} 100.0 % of their mean and drift by 100.0 %"),
            ),
            (StopRule::Steady { most: 3 }, &[5.0; 3], 3, "3 rounds, of which 5 are needed for a steady state".into()),
            (rule(10, 30, 0.01), &[5.0; 30], 11, "interval ±0.0 % within ±1.0 %".into()),
            (rule(6, 6, 0.01), &[5.0; 6], 6, "interval ±0.0 % within ±1.0 %".into()),
            (rule(6, 30, 0.01), &first_apart, 10, "interval ±0.0 % within ±1.0 %".into()),
            (rule(6, 12, 0.01), &wild, 12, "12 repetitions at most (interval ±60.0 %, aim ±1.0 %)".into()),
        ] {
            let (n, reason) = feed(rule, values);
            assert_eq!((n, reason.to_string()), (expected, words), "{rule:?} {values:?}");
        }
        assert_eq!(StopRule::out_of_time(&[1.0]), StopReason::OutOfTime { n: 1, half_width: None });
        assert_eq!(StopRule::out_of_time(&[1.0; 9]).to_string(), "time ran out after 9 (interval ±0.0 %)");
    }

    #[test]
    fn invalid_rules_are_refused() {
        for (n_min, n_max, target) in
            [(5, 30, 0.01), (10, 9, 0.01), (10, 30, 0.0), (10, 30, -0.01), (10, 30, f64::INFINITY), (10, 30, f64::NAN)]
        {
            assert_eq!(Adaptive::new(n_min, n_max, target), None);
        }
    }

    #[test]
    fn bounds_for_the_plan() {
        let bounds = |rule: StopRule| (rule.at_least(), rule.at_most());
        assert_eq!([bounds(rule(10, 30, 0.01)), bounds(StopRule::Fixed { n: 7 })], [(11, 30), (7, 7)]);
        assert_eq!(bounds(StopRule::Steady { most: 8 }), (8, 8));
    }

    #[test]
    fn a_value_that_is_no_number_never_counts_as_narrow() {
        let mut values = vec![5.0; 12];
        values[3] = f64::NAN;
        assert_eq!(rule(6, 30, 0.01).check(&values), None);
    }
}
