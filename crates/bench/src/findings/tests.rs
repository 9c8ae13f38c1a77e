//! The rules as a whole: that the documented table is this one, and that no finding is false ([`check`]).

use model::sample::Summary;

/// Sets a summary to a value known to one per cent from nine samples.
pub(crate) fn known(summary: &mut Summary, value: f64) {
    let (low, high) = (0.99 * value, 1.01 * value);
    (summary.n, summary.median, summary.ci95, summary.min, summary.max) = (9, value, Some([low, high]), low, high);
}
