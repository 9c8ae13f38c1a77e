//! Statistics of values that may be absent.

/// The median; `None` without a value.
pub fn median(values: &[f64]) -> Option<f64> {
    stats::Observations::new(values).ok().map(|values| values.median())
}

pub(super) fn percentile(values: &[f64], percent: f64) -> Option<f64> {
    stats::Observations::new(values).ok()?.percentile(percent)
}

pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
