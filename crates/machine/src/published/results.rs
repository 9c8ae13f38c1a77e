//! Published benchmark results of whole machine types.

use crate::published::table::{Published, Table};

pub(super) const TABLE: Table = Table::new(include_str!("../../data/results.tsv"));

/// A published result with its conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedResult {
    /// `stream_triad`, `stream_triad_minimum`, `hpl_rmax`, `hpl_rpeak`, `nvme_read` or `nvme_write`.
    pub what: String,
    /// The lowest value, in the unit.
    pub low: Option<Published>,
    /// The highest value, in the unit.
    pub high: Option<Published>,
    /// `B/s` or `flop/s`.
    pub unit: String,
    /// How it was measured.
    pub conditions: String,
}

/// The published results of a machine type.
pub fn published_results(machine_type: &str) -> Vec<PublishedResult> {
    let text = |cell: Option<&str>| cell.unwrap_or_default().to_owned();
    let rows = TABLE.find(machine_type).into_iter().map(|row| PublishedResult {
        what: text(row.cell("what")),
        low: row.number("low", 1.0),
        high: row.number("high", 1.0),
        unit: text(row.cell("unit")),
        conditions: text(row.cell("conditions")),
    });
    rows.collect()
}
