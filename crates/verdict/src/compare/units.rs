//! The independent units of a result: samples, process runs or sessions.
//!
//! Samples of one process share page placement, and process runs of a session the conditions of the hour.

use std::collections::{BTreeMap, BTreeSet};

use model::comparison::{Change, Direction};
use model::sample::{Metric, Sample};
use model::unit::Better;

use super::matching::Pair;
use crate::judge::median;
use crate::samples::values_of;

/// The least sessions on both sides to be the units: with fewer no 95 % interval of a median exists.
const SESSIONS_NEEDED: usize = stats::NEEDED_FOR_INTERVAL;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Units {
    Samples,
    ProcessRuns,
    Sessions,
}

impl Units {
    pub(super) fn of(pair: &Pair<'_>) -> Self {
        let metrics = [pair.base_metric, pair.new_metric];
        let sessions =
            |metric: &Metric| metric.samples.iter().map(|sample| sample.session).collect::<BTreeSet<_>>().len();
        if metrics.iter().all(|metric| sessions(metric) >= SESSIONS_NEEDED) {
            Self::Sessions
        } else if metrics.iter().any(|metric| runs_differ(metric)) {
            Self::ProcessRuns
        } else {
            Self::Samples
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Samples => "samples",
            Self::ProcessRuns => "process runs",
            Self::Sessions => "sessions",
        }
    }

    /// The values of both sides by these units; `None` where a sample has none.
    pub(super) fn values(self, pair: &Pair<'_>, of: impl Fn(&Sample) -> Option<f64> + Copy) -> Option<[Vec<f64>; 2]> {
        Some([self.of_side(pair.base_metric, of)?, self.of_side(pair.new_metric, of)?])
    }

    fn of_side(self, metric: &Metric, of: impl Fn(&Sample) -> Option<f64>) -> Option<Vec<f64>> {
        let key: fn(&Sample) -> u32 = match self {
            Self::Samples => return metric.samples.iter().map(of).collect(),
            Self::ProcessRuns => |sample| sample.launch,
            Self::Sessions => |sample| sample.session,
        };
        let mut groups: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for sample in &metric.samples {
            groups.entry(key(sample)).or_default().push(of(sample)?);
        }
        groups.values().map(|values| median(values)).collect()
    }
}

fn runs_differ(metric: &Metric) -> bool {
    let runs: Vec<u32> = metric.samples.iter().map(|sample| sample.launch).collect();
    stats::components(&values_of(&metric.samples), &runs).is_some_and(|found| found.differ())
}

/// The least relative change that is called one, however quiet the machine is.
pub(crate) const THRESHOLD: f64 = 0.02;

pub(crate) fn direction(ratio: f64, better: Better) -> Direction {
    if (ratio > 1.0) == (better == Better::Higher) { Direction::Better } else { Direction::Worse }
}

pub(crate) const fn change(verdict: stats::ChangeVerdict) -> Change {
    match verdict {
        stats::ChangeVerdict::Changed => Change::Changed,
        stats::ChangeVerdict::Same => Change::Same,
        stats::ChangeVerdict::Inconclusive => Change::Inconclusive,
    }
}

pub(super) fn is_beyond([low, high]: [f64; 2], change: f64) -> bool {
    low > 1.0 + change || high < 1.0 / (1.0 + change)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_is_beyond_on_either_side() {
        assert!(is_beyond([1.06, 1.2], 0.05) && is_beyond([0.8, 0.95], 0.05));
        assert!(!is_beyond([1.04, 1.2], 0.05) && !is_beyond([0.8, 0.953], 0.05) && !is_beyond([0.9, 1.1], 0.0));
    }
}
