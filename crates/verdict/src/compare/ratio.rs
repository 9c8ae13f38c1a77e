//! Ratios of a new value to a base: which change counts, and its direction.

use model::comparison::{Change, Direction};
use model::unit::Better;

/// The least relative change that is called one, however quiet the machine is.
pub(crate) const THRESHOLD: f64 = 0.02;

/// The direction of a ratio of new to base.
pub(crate) fn direction(ratio: f64, better: Better) -> Direction {
    if (ratio > 1.0) == (better == Better::Higher) { Direction::Better } else { Direction::Worse }
}

/// The verdict of `stats` in the document's words.
pub(crate) const fn change(verdict: stats::ChangeVerdict) -> Change {
    match verdict {
        stats::ChangeVerdict::Changed => Change::Changed,
        stats::ChangeVerdict::Same => Change::Same,
        stats::ChangeVerdict::Inconclusive => Change::Inconclusive,
    }
}

/// Whether a whole interval of ratios lies beyond a relative change.
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
