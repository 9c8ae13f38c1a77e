//! How much one core can fetch from memory: its misses in flight over the idle latency.

use model::document::Row;
use model::experiment::MemoryParams;
use model::isa::{MemoryOp, MemoryPattern, Pages};
use model::machine::Machine;
use model::number::brief::time;
use model::peak::{Peak, PeakInput, PeakKind};
use model::sample::MetricName;
use model::unit::Unit;
use verdict::findings::estimate::{Estimate, is_undisturbed};

use super::label::params as memory;
use super::levels::{DRAM, stands_for_memory};

/// Bytes that one miss fetches where the machine does not report its line: that of every x86-64 processor (Intel SDM vol. 1,
/// 11.1; AMD APM vol. 2, 7.6) and of most Arm cores.
const LINE_BYTES: u32 = 64;
/// The fewest counts of chains that show how many misses are in flight.
const LEAST_CHAINS: usize = 3;

pub(super) fn latency(row: &Row) -> Option<Estimate> {
    Estimate::of_result(row, MetricName::Latency)
}

pub(super) fn is_stream(row: &Row) -> bool {
    memory(row).is_some_and(|params| {
        let special = params.block.is_some() || params.placement.is_some() || params.nodes.is_some();
        params.pattern == MemoryPattern::Sequential && !special && stands_for_memory(row)
    })
}

/// Whether this is a chase of one thread in no special way; chains, pages and groups may vary.
pub(super) fn is_idle_chase(params: &MemoryParams) -> bool {
    params.pattern == MemoryPattern::Chase
        && params.threads == 1
        && params.background.is_none()
        && params.nodes.is_none()
        && params.placement.is_none()
}

/// The result with the idle latency of memory: one chain through the whole buffer.
pub(super) fn idle<'a>(rows: impl IntoIterator<Item = &'a Row>, pages: Pages) -> Option<(&'a Row, Estimate)> {
    let wanted = |row: &&Row| {
        memory(row).is_some_and(|params| {
            is_idle_chase(params) && params.chains.unwrap_or(1) == 1 && params.pages == pages && params.group.is_none()
        }) && stands_for_memory(row)
    };
    let row = rows.into_iter().find(wanted)?;
    Some((row, latency(row)?))
}

/// Loads per second: the rate of several chains, or one over the latency of a single one.
fn loads_per_second(row: &Row) -> Option<f64> {
    let rate = row.metric(MetricName::Throughput).filter(|metric| metric.unit == Unit::OpPerSecond);
    match rate {
        Some(_) => Estimate::of_result(row, MetricName::Throughput).map(|found| found.median),
        None => latency(row).map(|found| 1.0 / found.median),
    }
}

/// One thread's chases with large pages and their loads per second, by their number of chains, the single one first.
fn chains(rows: &[Row]) -> Vec<(&Row, f64)> {
    let wanted =
        |params: &MemoryParams| is_idle_chase(params) && params.pages == Pages::Huge2M && params.group.is_none();
    let wanted = |row: &&Row| stands_for_memory(row) && memory(row).is_some_and(wanted);
    let mut found: Vec<(&Row, f64)> =
        rows.iter().filter(wanted).filter_map(|row| Some((row, loads_per_second(row)?))).collect();
    found.sort_by_key(|(row, _)| memory(row).and_then(|params| params.chains).unwrap_or(1));
    found
}

/// The limit that one core's misses in flight set; `None` if they were not measured.
fn core_ceiling(rows: &[Row], machine: &Machine) -> Option<Peak> {
    let (row, idle) = idle(rows.iter().filter(|row| is_undisturbed(row)), Pages::Huge2M)?;
    let latency = idle.median;
    let found = chains(rows);
    let most = found.iter().map(|(_, loads_per_second)| *loads_per_second).fold(0.0, f64::max);
    if found.len() < LEAST_CHAINS {
        return None;
    }
    let lines = most * latency;
    let known = machine.caches.iter().filter_map(|cache| cache.line_bytes).max();
    let (line_bytes, line_source) =
        known.map_or((LINE_BYTES, "usual cache line"), |bytes| (bytes, "cache line of this machine"));
    let input = |name: &str, value: f64, source: String| PeakInput { name: name.to_owned(), value, source };
    let ids: Vec<&str> = found.iter().map(|(row, _)| row.id.as_str()).collect();
    Some(Peak {
        kind: PeakKind::MeasuredCeiling,
        value: lines * f64::from(line_bytes) / latency,
        formula: format!("{lines:.1} lines in flight x {line_bytes} B / {}", time(latency)),
        inputs: vec![
            input("lines_in_flight", lines, format!("measured: the most of {}", ids.join(", "))),
            input("line_bytes", line_bytes.into(), line_source.to_owned()),
            input("latency_seconds", latency, format!("measured: {}", row.id)),
        ],
        uncertainty: None,
    })
}

fn reads_memory_alone(row: &Row) -> bool {
    let one_thread =
        |params: &MemoryParams| (params.op, params.threads, params.level.as_deref()) == (MemoryOp::Read, 1, Some(DRAM));
    is_stream(row) && memory(row).is_some_and(one_thread)
}

/// Adds the limit of one core's misses in flight to what one thread reads from memory. It carries no efficiency.
pub(super) fn set(rows: &mut [Row], machine: &Machine) {
    let Some(ceiling) = core_ceiling(rows, machine) else { return };
    for row in rows.iter_mut().filter(|row| reads_memory_alone(row)) {
        if let Some(headline) = row.metrics.first_mut() {
            headline.peaks.retain(|peak| peak.kind != ceiling.kind);
            headline.peaks.push(ceiling.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use model::machine::Cache;

    use super::super::findings::tests::{chases, params, plain};
    use super::*;

    #[test]
    fn the_ceiling_of_one_core_is_set_for_what_it_reads_from_memory_alone() {
        let (rows, mut machine) = (chases(), Machine::default());
        let peak = core_ceiling(&rows, &machine).unwrap();
        assert!((peak.value - 1.22e8 * 64.0).abs() < 1.0 && peak.kind == PeakKind::MeasuredCeiling, "{peak:?}");
        assert_eq!(peak.formula, "12.2 lines in flight x 64 B / 100 ns");
        assert!(core_ceiling(&rows[..4], &machine).is_none(), "too few chains");
        machine.caches.push(Cache { line_bytes: Some(128), ..Cache::default() });
        assert_eq!(core_ceiling(&rows, &machine).unwrap().formula, "12.2 lines in flight x 128 B / 100 ns");
        let mut rows = chases();
        let with_level =
            |params: MemoryParams, level: &str| plain(MemoryParams { level: Some(level.into()), ..params }, 9e9);
        rows.push(with_level(params(MemoryOp::Read, 1), "dram"));
        rows.push(with_level(params(MemoryOp::Read, 2), "dram"));
        rows.push(with_level(params(MemoryOp::Copy, 1), "dram"));
        rows.push(with_level(params(MemoryOp::Read, 1), "l3"));
        for _ in 0..2 {
            set(&mut rows, &machine);
        }
        let place = rows.len() - 4;
        assert!((0..rows.len()).filter(|row| !rows[*row].metrics[0].peaks.is_empty()).eq([place]));
        let headline = &rows[place].metrics[0];
        assert_eq!((headline.peaks.len(), headline.peaks[0].kind), (1, PeakKind::MeasuredCeiling));
        assert_eq!(headline.efficiency, None);
        rows.truncate(3);
        rows[0].metrics[0].peaks.clear();
        set(&mut rows, &Machine::default());
        assert!(rows.iter().all(|row| row.metrics[0].peaks.is_empty()), "no chains, no ceiling");
    }
}
