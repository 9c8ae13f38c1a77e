//! The summary of a list of repetitions. It is derived; the samples are stored.

pub(crate) mod autocorrelation;
pub(crate) mod components;
pub(crate) mod grouped;
pub(crate) mod interval;
pub(crate) mod modes;
pub(crate) mod trend;
pub(crate) mod warning;

use crate::observations::Observations;
use crate::summary::components::Components;
use crate::summary::grouped::grouped_interval;
use crate::summary::interval::Interval;
use crate::summary::warning::{Warning, groups_differ, warnings};

/// Which of two values is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Rates: more is better.
    Higher,
    /// Costs: less is better.
    Lower,
}

/// Centre, spread and reliability of repeated measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The number of values.
    pub n: usize,
    /// The middle value.
    pub median: f64,
    /// The exact 95 % interval of the median; `None` below 6 values. With fewer than 6 groups as units it is the whole
    /// range at a lower confidence.
    pub interval: Option<Interval>,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The sample standard deviation (n - 1); `None` for one value.
    pub stddev: Option<f64>,
    /// The median absolute deviation, unscaled.
    pub mad: f64,
    /// Standard deviation / |mean|; `None` for one value or a mean of 0.
    pub cv: Option<f64>,
    /// 1.4826 MAD / |median|; `None` for one value or a median of 0.
    pub cv_robust: Option<f64>,
    /// Warnings about the values.
    pub warnings: Vec<Warning>,
}

impl Summary {
    /// Half the width of the interval as a fraction of the median.
    pub fn relative_half_width(&self) -> Option<f64> {
        self.interval?.relative_half_width(self.median)
    }
}

impl From<&Observations> for Summary {
    fn from(observations: &Observations) -> Self {
        Self {
            n: observations.n(),
            median: observations.median(),
            interval: Interval::of_median(observations),
            min: observations.min(),
            max: observations.max(),
            mean: observations.mean(),
            stddev: observations.stddev(),
            mad: observations.mad(),
            cv: observations.cv(),
            cv_robust: observations.cv_robust(),
            warnings: warnings(observations),
        }
    }
}

/// Summarises values in the order of measurement; `None` where they are not [`Observations`].
pub fn summarise(values: &[f64]) -> Option<Summary> {
    Some(Summary::from(&Observations::new(values)?))
}

/// Summarises values in the order of measurement, each of which belongs to a group such as its process run.
///
/// Where groups differ by more than the values within them, the interval's units are groups and a warning reports it
/// instead of the autocorrelation that follows from it. Otherwise it is [`summarise`]. `None` also where the numbers of
/// values and groups differ.
pub fn summarise_grouped(values: &[f64], groups: &[u32]) -> Option<Summary> {
    let observations = Observations::new(values).filter(|_| values.len() == groups.len())?;
    let (interval, components) = grouped_interval(&observations, groups);
    let mut summary = Summary { interval, ..Summary::from(&observations) };
    if let Some(differ) = components.filter(Components::differ) {
        summary.warnings.retain(|warning| !matches!(warning, Warning::Autocorrelated { .. }));
        summary.warnings.push(groups_differ(&differ));
    }
    Some(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_computed_summary() {
        let summary = summarise(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((summary.n, summary.median, summary.mean), (8, 4.5, 5.0));
        assert!((summary.stddev.unwrap() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-15);
        assert_eq!(summary.mad, 0.5);
        assert_eq!(summary.interval.unwrap().bounds, [2.0, 9.0]);
        assert_eq!(summary.relative_half_width(), Some(3.5 / 4.5));
    }

    #[test]
    fn one_value() {
        let summary = summarise(&[3.0]).unwrap();
        assert_eq!((summary.n, summary.median, summary.stddev, summary.interval), (1, 3.0, None, None));
        assert_eq!(summary.warnings, [Warning::TooFew { n: 1, needed: 6 }]);
        assert_eq!(summary.relative_half_width(), None);
    }

    #[test]
    fn launches_that_differ_are_the_units_and_said_once() {
        let values: Vec<f64> = (0..30).map(|i| 100.0 + f64::from(i / 3 % 4) + 0.01 * f64::from(i % 3)).collect();
        let launches: Vec<u32> = (0..30).map(|i| i / 3).collect();
        let grouped = summarise_grouped(&values, &launches).unwrap();
        assert!((grouped.interval.unwrap().confidence - (1.0 - 22.0 / 1024.0)).abs() < 1e-12, "that of ten values");
        let differ = |warning: &&Warning| matches!(warning, Warning::GroupsDiffer { groups: 10, .. });
        assert_eq!(grouped.warnings.iter().filter(differ).count(), 1, "{:?}", grouped.warnings);
        let text = grouped.warnings.iter().find(differ).unwrap().to_string();
        assert!(text.starts_with("10 process runs differ 1") && text.contains("times as much"), "{text}");
        let plain = summarise(&values).unwrap();
        assert!(!plain.warnings.iter().any(|warning| differ(&warning)));
        assert_eq!((grouped.median, grouped.mean), (plain.median, plain.mean));
    }

    #[test]
    fn launches_that_are_alike_change_nothing() {
        let values = [1.0, 5.0, 9.0, 2.0, 6.0, 7.0, 3.0, 4.0, 8.0];
        assert_eq!(summarise_grouped(&values, &[1, 1, 1, 2, 2, 2, 3, 3, 3]), summarise(&values));
        assert_eq!(summarise_grouped(&values, &[1, 2, 3, 4, 5, 6, 7, 8, 9]), summarise(&values));
    }

    #[test]
    fn unusable_values_and_groups_have_no_summary() {
        assert_eq!(summarise_grouped(&[1.0, 2.0], &[1]), None);
        assert_eq!([summarise(&[]), summarise(&[f64::NAN])], [None, None]);
    }
}
