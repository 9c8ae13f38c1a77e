//! Warnings about the values of a summary, as data. Each needs evidence of an effect and a size that matters; no value
//! is removed because of one.

use std::fmt;

use crate::observations::Observations;
use crate::summary::autocorrelation::autocorrelation;
use crate::summary::components::Components;
use crate::summary::interval::NEEDED_FOR_INTERVAL;
use crate::summary::modes::{Modes, modes};
use crate::summary::trend::mann_kendall;

/// A trend is believed below this probability of chance.
const DRIFT_P: f64 = 0.01;
/// Effects below this fraction of the median are negligible: half of the narrowest interval that a suite asks for (1
/// %).
const NEGLIGIBLE: f64 = 0.005;
/// Above this robust coefficient of variation a single number describes the values poorly.
const HIGH_SPREAD: f64 = 0.05;
/// A value this many interquartile ranges beyond a quartile is an outlier: Tukey's outer fence ("Exploratory Data
/// Analysis", 1977).
const OUTER_FENCE: f64 = 3.0;
/// The fewest values with usable quartiles.
const NEEDED_FOR_FENCES: usize = 5;
/// The first value stands apart if it is this many robust standard deviations from the median of the rest.
const FIRST_APART: f64 = 5.0;

/// A correlation of successive values is believed below this probability of chance.
const CORRELATED_P: f64 = 0.01;
/// Weaker correlations are negligible: at 0.3 an interval is too narrow by a quarter.
const CORRELATED: f64 = 0.3;
/// The largest ratio that is reported of groups that differ.
const MOST_APART: f64 = 1000.0;

/// A property of the values that the median and its interval do not show.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// No 95 % interval of the median exists for so few values.
    TooFew {
        /// The number of values.
        n: usize,
        /// The number needed.
        needed: usize,
    },
    /// The values rise or fall with time: throttling, burst credits, a cache or disk that fills up.
    Drifting {
        /// Last third less first third as a fraction of the median; positive for a rise.
        change: f64,
        /// The probability of such a trend by chance (Mann-Kendall, two-sided).
        p: f64,
    },
    /// The values form two separate groups: the median lies in one of them or between both.
    Bimodal(Modes),
    /// The first value stands apart from the rest: something was cold, lazily allocated, or had burst credit.
    FirstApart {
        /// First value / median of the others.
        ratio: f64,
    },
    /// The values scatter too widely for one number to describe them.
    HighSpread {
        /// Their robust coefficient of variation.
        cv_robust: f64,
    },
    /// Some values lie far from the rest. They are kept.
    Outliers {
        /// Their indices from 0, in the order of measurement.
        indices: Vec<usize>,
    },
    /// Each value resembles the one before it, so that fewer are independent.
    Autocorrelated {
        /// The correlation of ranks at a distance of one.
        r: f64,
        /// The probability of such a correlation by chance, two-sided.
        p: f64,
    },
    /// Groups of values (process runs) differ by more than the values within them, so that a group is one draw.
    GroupsDiffer {
        /// Spread between groups over spread within, at most 1000.
        ratio: f64,
        /// The probability of such differences by chance.
        p: f64,
        /// The number of groups.
        groups: usize,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew { n, needed } => {
                let repetitions = if *n == 1 { "repetition is" } else { "repetitions are" };
                write!(f, "{n} {repetitions} too few for a 95 % interval of the median ({needed} are needed)")
            }
            Self::Drifting { change, p } => {
                let way = if *change < 0.0 { "fall" } else { "rise" };
                write!(f, "the values {way} by {:.1} % during the run (p = {p:.1e})", 100.0 * change.abs())
            }
            Self::Bimodal(Modes { low, high, n_low }) => {
                let apart = 100.0 * (high - low) / low.abs().max(high.abs());
                write!(f, "the values form two groups {apart:.0} % apart, {n_low} of them in the lower one")
            }
            Self::FirstApart { ratio } => write!(f, "the first repetition is {ratio:.2} x the median of the others"),
            Self::HighSpread { cv_robust } => write!(f, "the values scatter by {:.0} %", 100.0 * cv_robust),
            Self::Outliers { indices } => match indices.len() {
                1 => f.write_str("1 repetition lies far from the others; it is kept"),
                count => write!(f, "{count} repetitions lie far from the others; they are kept"),
            },
            Self::Autocorrelated { r, p } => {
                write!(f, "each value resembles the one before it (correlation {r:.2}, p = {p:.1e})")
            }
            Self::GroupsDiffer { ratio, p, groups } if *ratio < MOST_APART => {
                write!(
                    f,
                    "{groups} process runs differ {ratio:.1} times as much as the samples within one (p = {p:.1e})"
                )
            }
            Self::GroupsDiffer { p, groups, .. } => {
                write!(f, "{groups} process runs differ while the samples within one are alike (p = {p:.1e})")
            }
        }
    }
}

/// The warnings about these values, in a fixed order.
pub(crate) fn warnings(observations: &Observations) -> Vec<Warning> {
    let found = [
        too_few(observations),
        drifting(observations),
        bimodal(observations),
        first_apart(observations),
        high_spread(observations),
        outliers(observations),
        autocorrelated(observations),
    ];
    found.into_iter().flatten().collect()
}

fn too_few(observations: &Observations) -> Option<Warning> {
    let n = observations.n();
    (n < NEEDED_FOR_INTERVAL).then_some(Warning::TooFew { n, needed: NEEDED_FOR_INTERVAL })
}

fn drifting(observations: &Observations) -> Option<Warning> {
    let trend = mann_kendall(observations.in_order())?;
    let change = trend.change / observations.median().abs();
    (trend.p < DRIFT_P && matters(change)).then_some(Warning::Drifting { change, p: trend.p })
}

fn bimodal(observations: &Observations) -> Option<Warning> {
    let found = modes(observations)?;
    matters((found.high - found.low) / observations.median()).then_some(Warning::Bimodal(found))
}

fn first_apart(observations: &Observations) -> Option<Warning> {
    let (first, rest) = observations.in_order().split_first()?;
    let rest = Observations::new(rest).filter(|rest| rest.n() >= NEEDED_FOR_FENCES)?;
    let (centre, outside) = (rest.median(), *first < rest.min() || *first > rest.max());
    let ratio = first / centre;
    let far = ((first - centre) / centre).abs() > FIRST_APART * rest.cv_robust()?;
    (outside && far && matters(ratio - 1.0)).then_some(Warning::FirstApart { ratio })
}

fn high_spread(observations: &Observations) -> Option<Warning> {
    let cv_robust = observations.cv_robust()?;
    (cv_robust > HIGH_SPREAD).then_some(Warning::HighSpread { cv_robust })
}

fn outliers(observations: &Observations) -> Option<Warning> {
    if observations.n() < NEEDED_FOR_FENCES {
        return None;
    }
    let (lower, upper) = (observations.percentile(25.0)?, observations.percentile(75.0)?);
    let margin = OUTER_FENCE * (upper - lower);
    let median = observations.median();
    let outside = |value: f64| value < lower - margin || value > upper + margin;
    let values = observations.in_order().iter().enumerate();
    let indices: Vec<usize> = values
        .filter(|&(_, &value)| outside(value) && matters((value - median) / median))
        .map(|(index, _)| index)
        .collect();
    (!indices.is_empty()).then_some(Warning::Outliers { indices })
}

fn autocorrelated(observations: &Observations) -> Option<Warning> {
    if drifting(observations).is_some() {
        // A trend is a correlation too, and has been reported.
        return None;
    }
    let found = autocorrelation(observations.in_order())?;
    // A correlation within a negligible spread does no harm.
    let spread = observations.cv_robust()?;
    (found.r >= CORRELATED && found.p < CORRELATED_P && matters(spread))
        .then_some(Warning::Autocorrelated { r: found.r, p: found.p })
}

/// The warning about groups that differ.
pub(crate) fn groups_differ(found: &Components) -> Warning {
    Warning::GroupsDiffer {
        ratio: found.ratio().unwrap_or(MOST_APART).min(MOST_APART),
        p: found.p,
        groups: found.groups,
    }
}

/// Whether an effect, as a fraction of the median, is large enough to report; relative to a median of 0 it is not.
fn matters(fraction: f64) -> bool {
    fraction.is_finite() && fraction.abs() > NEGLIGIBLE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kinds of warning that the values raise.
    fn kinds(values: &[f64]) -> Vec<&'static str> {
        let kind = |warning: &Warning| match warning {
            Warning::TooFew { .. } => "too few",
            Warning::Drifting { .. } => "drifting",
            Warning::Bimodal(_) => "bimodal",
            Warning::FirstApart { .. } => "first apart",
            Warning::HighSpread { .. } => "high spread",
            Warning::Outliers { .. } => "outliers",
            Warning::Autocorrelated { .. } => "autocorrelated",
            Warning::GroupsDiffer { .. } => "groups differ",
        };
        warnings(&Observations::new(values).unwrap()).iter().map(kind).collect()
    }

    const CALM: [f64; 10] = [100.0, 100.3, 99.8, 100.1, 99.9, 100.2, 99.7, 100.0, 100.1, 99.9];

    #[test]
    fn calm_values_raise_nothing() {
        assert_eq!(kinds(&CALM), [""; 0]);
        assert_eq!(kinds(&[5.0; 10]), [""; 0]);
    }

    #[test]
    fn few_values() {
        assert_eq!(kinds(&[1.0]), ["too few"]);
        assert_eq!(kinds(&CALM[..5]), ["too few"]);
        assert_eq!(kinds(&CALM[..6]), [""; 0]);
    }

    #[test]
    fn a_fall_of_ten_percent() {
        let falling: Vec<f64> = (0..10).map(|i| 100.0 - f64::from(i)).collect();
        assert_eq!(kinds(&falling), ["drifting"]);
        let text = warnings(&Observations::new(&falling).unwrap())[0].to_string();
        assert_eq!(text, "the values fall by 6.3 % during the run (p = 5.5e-7)");
    }

    #[test]
    fn effects_too_small_to_matter_and_a_median_of_zero_raise_nothing() {
        let falling: Vec<f64> = (0..10).map(|i| 100.0 - 0.01 * f64::from(i)).collect();
        assert_eq!(kinds(&falling), [""; 0]);
        assert_eq!(kinds(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), [""; 0]);
    }

    #[test]
    fn two_groups() {
        let values = [67.0, 78.9, 67.2, 79.0, 66.8, 78.8, 67.1, 79.1, 78.7, 67.3];
        assert_eq!(kinds(&values), ["bimodal", "high spread"]);
    }

    #[test]
    fn a_slow_first_one_is_also_an_outlier() {
        let mut values = CALM.to_vec();
        values.insert(0, 80.0);
        assert_eq!(kinds(&values), ["first apart", "outliers"]);
    }

    #[test]
    fn an_outlier_in_the_middle_is_named_by_its_index() {
        let mut values = CALM.to_vec();
        values[4] = 60.0;
        let found = warnings(&Observations::new(&values).unwrap());
        assert_eq!(found, [Warning::Outliers { indices: vec![4] }]);
        assert_eq!(found[0].to_string(), "1 repetition lies far from the others; it is kept");
    }

    #[test]
    fn a_disturbance_that_lasts_is_a_correlation() {
        // Slow for a while in the middle: no trend, and no two groups apart.
        let values: Vec<f64> =
            (0..24).map(|i| 100.0 + 3.0 * (f64::from(i) * 0.7).sin() + 0.1 * f64::from(i % 3)).collect();
        assert_eq!(kinds(&values), ["autocorrelated"]);
        let text = warnings(&Observations::new(&values).unwrap())[0].to_string();
        assert!(text.starts_with("each value resembles the one before it (correlation 0."), "{text}");
        let quiet: Vec<f64> = values.iter().map(|value| 100.0 + (value - 100.0) / 1000.0).collect();
        assert_eq!(kinds(&quiet), [""; 0], "too small to matter");
    }
}
