//! Which rows of memory a rule is about.

use model::document::Row;
use model::experiment::MemoryParams;
use model::isa::{MemoryPattern, Pages};
use model::sample::MetricName;

use super::super::figure::Figure;
use super::levels::{memory, stands_for_memory};

/// A quiet row's latency.
pub(super) fn latency(row: &Row) -> Option<Figure> {
    Figure::of(row, MetricName::Latency)
}

/// Whether a row streams through memory in order, and in no special way.
pub(super) fn is_stream(row: &Row) -> bool {
    memory(row).is_some_and(|params| {
        let special = params.block.is_some() || params.placement.is_some() || params.nodes.is_some();
        params.pattern == MemoryPattern::Sequential && !special && stands_for_memory(row)
    })
}

/// Whether a row is a chase of one thread through all of memory; what it varies is the caller's.
pub(super) fn is_idle_chase(params: &MemoryParams) -> bool {
    params.pattern == MemoryPattern::Chase
        && params.threads == 1
        && params.background.is_none()
        && params.nodes.is_none()
        && params.placement.is_none()
}

/// The idle latency of memory: one chain through the whole buffer.
pub(super) fn idle<'a>(rows: impl IntoIterator<Item = &'a Row>, pages: Pages) -> Option<(&'a Row, Figure)> {
    let wanted = |row: &&Row| {
        memory(row).is_some_and(|params| {
            is_idle_chase(params) && params.chains.unwrap_or(1) == 1 && params.pages == pages && params.group.is_none()
        }) && stands_for_memory(row)
    };
    let row = rows.into_iter().find(wanted)?;
    Some((row, latency(row)?))
}
