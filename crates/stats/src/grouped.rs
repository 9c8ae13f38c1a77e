//! The interval of a median whose values come in groups that differ: the units are then the groups.
//!
//! With at least six groups it lies between two of their medians, as that of single values lies between two values.
//! Fewer groups have no 95 % interval, however many values each holds: what is returned is the whole range of the values
//! with the confidence that the groups give it, 1 - 2 / 2^groups (75 % for three).

use crate::components::{Groups, components};
use crate::interval::{Interval, NEEDED_FOR_INTERVAL, NOMINAL_CONFIDENCE, Units, median_ranks};
use crate::{Components, Observations, Unusable};

/// The interval of the median of values in groups, and how the groups differ.
///
/// Where groups do not differ (see [`Components::differ`]), or there are none to speak of, it is that of the values
/// ([`Interval::of_median`]). `None` below 6 values. It holds the median of all values and lies within their range.
pub fn grouped_interval(observations: &Observations, groups: &[u32]) -> (Option<Interval>, Option<Components>) {
    let found = components(observations.in_order(), groups);
    let plain = Interval::of_median(observations, NOMINAL_CONFIDENCE);
    if !found.is_some_and(|found| found.differ()) || plain.is_none() {
        return (plain, found);
    }
    let of_groups = Groups::of(observations.in_order(), groups).map(|groups| among_groups(observations, &groups));
    (of_groups.or(plain), found)
}

/// Widened to the nearest values, and to the median of all, which the medians of groups need not surround.
fn among_groups(observations: &Observations, groups: &Groups) -> Interval {
    let mut medians = groups.medians();
    medians.sort_by(f64::total_cmp);
    let sorted = observations.sorted();
    let n = sorted.len();
    let (low, high, confidence) = match median_ranks(medians.len(), NOMINAL_CONFIDENCE) {
        Some(ranks) if medians.len() >= NEEDED_FOR_INTERVAL => {
            (medians[ranks.low - 1], medians[ranks.high - 1], ranks.confidence)
        }
        _ => (observations.min(), observations.max(), 1.0 - 2.0 * 0.5_f64.powf(medians.len() as f64)),
    };
    let (low, high) = (low.min(observations.median()), high.max(observations.median()));
    let at_most = sorted.partition_point(|value| *value <= low).max(1);
    let below = sorted.partition_point(|value| *value < high).min(n - 1);
    Interval {
        low: sorted[at_most - 1],
        high: sorted[below],
        ranks: [at_most, below + 1],
        confidence,
        units: Units::Groups { n: medians.len() },
    }
}

/// Checks values and their groups against each other.
pub(crate) fn check(values: &[f64], groups: &[u32]) -> Result<(), Unusable> {
    if values.len() == groups.len() {
        Ok(())
    } else {
        Err(Unusable::GroupsMissing { values: values.len(), groups: groups.len() })
    }
}
