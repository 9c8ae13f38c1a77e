//! Values of a row that every table shows.

use model::document::{Row, Status};
use model::sample::{Metric, MetricName};
use model::warning::Grade;

use crate::style::Tone;
use areas::label::table_rules;

/// The figure that a row stands for.
pub(super) fn headline(row: &Row) -> Option<&Metric> {
    row.metrics.first().filter(|_| row.status == Status::Ok)
}

/// What 99 % of a measured row's requests or round trips took at most, in seconds; `None` where they were not timed one
/// by one.
pub(super) fn p99(row: &Row) -> Option<f64> {
    let timed = table_rules(row.area).requests && row.status == Status::Ok;
    let latency = row.metric(MetricName::Latency).filter(|_| timed)?;
    latency.summary.percentiles.map(|percentiles| percentiles.p99)
}

/// The colour of a grade.
pub(super) const fn grade_tone(grade: Grade) -> Tone {
    match grade {
        Grade::A => Tone::Good,
        Grade::B => Tone::Fair,
        Grade::C => Tone::Bad,
    }
}
