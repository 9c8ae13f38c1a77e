//! When enough repetitions have been made: a pure rule over the values so far.
//!
//! The rule keeps no state: whether the interval was narrow at the last check too is recomputed from the values without
//! the last one. It knows no clock: running out of time is the runner's to find and to record.

use std::fmt;

use crate::steady::{STEADY_ROUNDS, Steadiness, steadiness};
use crate::summary::interval::NEEDED_FOR_INTERVAL;
use crate::summary::summarise;

/// How many repetitions to make.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StopRule {
    /// Exactly so many.
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

/// Repeats until the relative half-width of the median's 95 % interval is at most the target on two consecutive checks,
/// one after each repetition from the n-th minimum on (Hoefler & Belli, SC'15, section 4.2.2, who check as often where
/// runs are dear). Two in a row, since looking often would otherwise stop on the first lucky interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adaptive {
    n_min: usize,
    n_max: usize,
    target: f64,
}

/// Why the repetitions ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StopReason {
    /// The number that was asked for has been made.
    Repetitions {
        /// How many.
        n: usize,
    },
    /// The interval is narrow enough.
    Narrow {
        /// Its relative half-width.
        half_width: f64,
        /// What was aimed at.
        target: f64,
    },
    /// The most repetitions that the rule allows have been made and the interval is still wider than the target.
    Maximum {
        /// How many.
        n: usize,
        /// The interval's relative half-width, where it has one.
        half_width: Option<f64>,
        /// What was aimed at.
        target: f64,
    },
    /// The last five are steady.
    Steady {
        /// How many repetitions there are in all.
        n: usize,
        /// How steady the last five are.
        found: Steadiness,
    },
    /// The most repetitions have been made, and the last five are not steady.
    NotSteady {
        /// How many.
        n: usize,
        /// How far the last five are from it; `None` where there are fewer.
        found: Option<Steadiness>,
    },
    /// The time ran out. Never returned by [`StopRule::check`]: the owner of the clock makes it with
    /// [`StopRule::out_of_time`].
    OutOfTime {
        /// How many repetitions were made.
        n: usize,
        /// The interval's relative half-width, where it has one.
        half_width: Option<f64>,
    },
}

/// Why a rule for repetitions makes no sense.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UnusableRule {
    /// Fewer than 6 repetitions have no interval to look at.
    MinimumTooSmall {
        /// The minimum that was asked for.
        n_min: usize,
    },
    /// The maximum is below the minimum.
    MaximumBelowMinimum {
        /// The minimum that was asked for.
        n_min: usize,
        /// The maximum that was asked for.
        n_max: usize,
    },
    /// The target is not a positive number.
    TargetNotPositive {
        /// The target that was asked for.
        target: f64,
    },
}

impl Adaptive {
    /// A rule of at least `n_min` and at most `n_max` repetitions with this target for the relative half-width.
    pub fn new(n_min: usize, n_max: usize, target: f64) -> Result<Self, UnusableRule> {
        if n_min < NEEDED_FOR_INTERVAL {
            return Err(UnusableRule::MinimumTooSmall { n_min });
        }
        if n_max < n_min {
            return Err(UnusableRule::MaximumBelowMinimum { n_min, n_max });
        }
        if !(target > 0.0 && target.is_finite()) {
            return Err(UnusableRule::TargetNotPositive { target });
        }
        Ok(Self { n_min, n_max, target })
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
    /// Whether to stop after these values, which stand in the order of measurement, and why; `None` to go on.
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

    /// The reason to record when time ran out after these values, for whatever rule.
    pub fn out_of_time(values: &[f64]) -> StopReason {
        StopReason::OutOfTime { n: values.len(), half_width: half_width(values) }
    }

    /// What a plan must allow for: the fewest repetitions after which the rule can be content, and all of them where it
    /// depends on what is measured and not on noise.
    pub fn at_least(&self) -> usize {
        match self {
            Self::Fixed { n } => *n,
            Self::Adaptive(adaptive) => adaptive.n_max.min(adaptive.n_min + 1),
            Self::Steady { most } => *most,
        }
    }

    /// The most repetitions that the rule makes.
    pub fn at_most(&self) -> usize {
        match self {
            Self::Fixed { n } => *n,
            Self::Adaptive(adaptive) => adaptive.n_max,
            Self::Steady { most } => *most,
        }
    }
}

/// The relative half-width of the interval of these values, if they have one.
fn half_width(values: &[f64]) -> Option<f64> {
    summarise(values).ok()?.relative_half_width()
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

impl fmt::Display for UnusableRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MinimumTooSmall { n_min } => {
                write!(f, "at least {NEEDED_FOR_INTERVAL} repetitions are needed for an interval, not {n_min}")
            }
            Self::MaximumBelowMinimum { n_min, n_max } => {
                write!(f, "the most repetitions ({n_max}) are fewer than the fewest ({n_min})")
            }
            Self::TargetNotPositive { target } => write!(f, "the interval's target must be positive, not {target}"),
        }
    }
}

impl std::error::Error for UnusableRule {}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(n_min: usize, n_max: usize, target: f64) -> StopRule {
        StopRule::Adaptive(Adaptive::new(n_min, n_max, target).unwrap())
    }

    /// Feeds values one by one, as a runner does; the number taken and the reason.
    fn feed(rule: StopRule, values: &[f64]) -> (usize, StopReason) {
        (1..=values.len()).find_map(|n| Some((n, rule.check(&values[..n])?))).expect("the rule stops within the values")
    }

    #[test]
    fn a_fixed_number_is_exact() {
        assert_eq!(feed(StopRule::Fixed { n: 3 }, &[1.0, 9.0, 5.0, 2.0]), (3, StopReason::Repetitions { n: 3 }));
    }

    #[test]
    fn steady_values_stop_at_the_second_check() {
        let (n, reason) = feed(rule(10, 30, 0.01), &[5.0; 30]);
        assert_eq!((n, reason), (11, StopReason::Narrow { half_width: 0.0, target: 0.01 }));
    }

    #[test]
    fn rounds_end_with_five_steady_ones_or_at_the_most() {
        let rule = StopRule::Steady { most: 8 };
        assert_eq!((rule.at_least(), rule.at_most()), (8, 8));
        let (n, reason) = feed(rule, &[9.0, 7.0, 5.0, 5.0, 5.1, 4.9, 5.0, 5.0]);
        let sentence = "steady after 7 rounds: the last five range over 4.0 % of their mean and drift by 0.8 %";
        assert_eq!((n, reason.to_string().as_str()), (7, sentence));
        let (n, reason) = feed(rule, &[9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0]);
        assert!(matches!(reason, StopReason::NotSteady { n: 8, found: Some(_) }) && n == 8, "{reason:?}");
        let sentence =
            "8 rounds without a steady state: the last five range over 100.0 % of their mean and drift by 100.0 %";
        assert_eq!(reason.to_string(), sentence);
        let (_, reason) = feed(StopRule::Steady { most: 3 }, &[5.0; 3]);
        assert_eq!(reason.to_string(), "3 rounds, of which 5 are needed for a steady state");
    }

    #[test]
    fn one_narrow_interval_is_not_enough() {
        // n = 6 and 7 take the whole range. Wide at 6 because of the first value; at 9 ranks 2 to 8 leave it out.
        let values = [10.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        assert_eq!(feed(rule(6, 30, 0.01), &values).0, 10);
    }

    #[test]
    fn wild_values_stop_at_the_maximum_and_say_how_wide() {
        let values: Vec<f64> = (0..20).map(|i| 1.0 + f64::from(i % 5)).collect();
        let (n, reason) = feed(rule(6, 12, 0.01), &values);
        assert_eq!(n, 12);
        assert!(matches!(reason, StopReason::Maximum { half_width: Some(width), .. } if width > 0.1), "{reason:?}");
    }

    #[test]
    fn equal_minimum_and_maximum_stop_there_with_the_truth() {
        assert_eq!(feed(rule(6, 6, 0.01), &[5.0; 6]).1, StopReason::Narrow { half_width: 0.0, target: 0.01 });
    }

    #[test]
    fn time_that_ran_out_is_recorded_with_what_there_is() {
        assert_eq!(StopRule::out_of_time(&[1.0]), StopReason::OutOfTime { n: 1, half_width: None });
        assert_eq!(StopRule::out_of_time(&[1.0; 9]).to_string(), "time ran out after 9 (interval ±0.0 %)");
    }

    #[test]
    fn rules_that_make_no_sense_are_refused() {
        assert_eq!(Adaptive::new(5, 30, 0.01), Err(UnusableRule::MinimumTooSmall { n_min: 5 }));
        assert_eq!(Adaptive::new(10, 9, 0.01), Err(UnusableRule::MaximumBelowMinimum { n_min: 10, n_max: 9 }));
        for target in [0.0, -0.01, f64::INFINITY] {
            assert_eq!(Adaptive::new(10, 30, target), Err(UnusableRule::TargetNotPositive { target }));
        }
        assert!(Adaptive::new(10, 30, f64::NAN).is_err());
    }

    #[test]
    fn bounds_for_the_plan() {
        assert_eq!((rule(10, 30, 0.01).at_least(), rule(10, 30, 0.01).at_most()), (11, 30));
        assert_eq!((StopRule::Fixed { n: 7 }.at_least(), StopRule::Fixed { n: 7 }.at_most()), (7, 7));
    }

    #[test]
    fn a_value_that_is_no_number_never_counts_as_narrow() {
        let mut values = vec![5.0; 12];
        values[3] = f64::NAN;
        assert_eq!(rule(6, 30, 0.01).check(&values), None);
    }
}
