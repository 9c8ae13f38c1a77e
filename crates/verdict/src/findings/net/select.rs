//! Which rows of a network a rule is about.

use model::document::{NetConditions, Row};
use model::experiment::{LOOPBACK, NetParams, Params};
use model::io::NetMode;
use model::sample::MetricName;

use super::super::figure::{Figure, most, rate};

pub(super) fn net(row: &Row) -> Option<&NetParams> {
    if let Params::Net(params) = &row.params { Some(params) } else { None }
}

pub(super) fn conditions(row: &Row) -> Option<&NetConditions> {
    row.conditions.net.as_ref()
}

pub(super) fn is_inside(row: &Row) -> bool {
    net(row).is_some_and(|params| params.path == LOOPBACK)
}

pub(super) fn latency(row: &Row) -> Option<Figure> {
    Figure::of(row, MetricName::Latency)
}

pub(super) fn of_mode<'a>(rows: &'a [&'a Row], mode: NetMode) -> impl Iterator<Item = &'a Row> {
    rows.iter().copied().filter(move |row| net(row).is_some_and(|params| params.mode == mode))
}

/// The fastest of these rows.
pub(super) fn fastest<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<(Figure, &'a Row)> {
    most(rows.filter_map(|row| Some((rate(row)?, row))))
}
