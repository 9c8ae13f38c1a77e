//! What every table shows of a row.

use model::document::{Row, Status};
use model::sample::{Metric, MetricName};
use model::warning::Confidence;

use crate::style::Tone;
use areas::label::table_rules;

/// The first metric of a measured row.
pub(super) fn headline(row: &Row) -> Option<&Metric> {
    row.metrics.first().filter(|_| row.status == Status::Ok)
}

/// The 99th percentile of the latency in seconds, where requests or round trips were timed one by one.
pub(super) fn p99(row: &Row) -> Option<f64> {
    let timed = table_rules(row.area).requests && row.status == Status::Ok;
    let latency = row.metric(MetricName::Latency).filter(|_| timed)?;
    latency.summary.percentiles.map(|percentiles| percentiles.p99)
}

pub(super) const fn confidence_tone(confidence: Confidence) -> Tone {
    match confidence {
        Confidence::High => Tone::Good,
        Confidence::Fair => Tone::Fair,
        Confidence::Low => Tone::Bad,
    }
}
