//! Findings about how memory is accessed: under load, and on another node. And how much one core can fetch.

use model::document::{Finding, Row};
use model::experiment::{Area, MemoryParams};
use model::isa::{MemoryOp, MemoryPattern, Pages};
use model::peak::{Peak, PeakInput, PeakKind};
use model::sample::MetricName;
use model::unit::Unit;

use super::super::figure::{Against, Figure, is_quiet, rate};
use super::super::rules::Code;
use super::super::words::{bytes, percent, time, times};
use super::levels::{DRAM, memory, stands_for_memory};
use super::select::{idle, is_idle_chase, is_stream, latency};

/// Bytes that one miss fetches: the cache line of every x86-64 processor (Intel SDM vol. 1, 11.1; AMD APM vol. 2, 7.6).
const LINE_BYTES: f64 = 64.0;

/// Counts of chains that a curve of misses needs.
const LEAST_CHAINS: usize = 3;

/// A knee is at least this far below the line from the first to the last point, as a share of both their ranges: less is
/// a curve that bends all along.
const LEAST_BEND: f64 = 0.1;

/// A chase of several chains: how many, and the loads that it makes per second.
struct Chains<'a> {
    row: &'a Row,
    count: u32,
    loads_per_second: f64,
}

/// Loads per second: of several chains their rate, of a single one as many as fit into a second after each other.
fn loads_per_second(row: &Row) -> Option<f64> {
    let rate = row.metric(MetricName::Throughput).filter(|metric| metric.unit == Unit::OpPerSecond);
    match rate {
        Some(_) => Figure::of(row, MetricName::Throughput).map(|figure| figure.median),
        None => latency(row).map(|figure| 1.0 / figure.median),
    }
}

/// One thread's chases with large pages by their number of chains, the single one first.
fn chains<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<Chains<'a>> {
    let wanted =
        |params: &MemoryParams| is_idle_chase(params) && params.pages == Pages::Huge2M && params.group.is_none();
    let mut found: Vec<Chains<'_>> = rows
        .into_iter()
        .filter(|row| stands_for_memory(row))
        .filter_map(|row| {
            let params = memory(row).filter(|params| wanted(params))?;
            Some(Chains { row, count: params.chains.unwrap_or(1), loads_per_second: loads_per_second(row)? })
        })
        .collect();
    found.sort_by_key(|chains| chains.count);
    found
}

/// The ceiling that one core's misses in flight put on what it can fetch; `None` where they were not measured.
pub(super) fn core_ceiling(rows: &[Row]) -> Option<Peak> {
    let (row, idle) = idle(rows.iter().filter(|row| is_quiet(row)), Pages::Huge2M)?;
    let latency = idle.median;
    let found = chains(rows);
    let most = found.iter().map(|chains| chains.loads_per_second).fold(0.0, f64::max);
    if found.len() < LEAST_CHAINS {
        return None;
    }
    let lines = most * latency;
    let input = |name: &str, value: f64, source: String| PeakInput { name: name.to_owned(), value, source };
    let source = |rows: &[Chains<'_>]| rows.iter().map(|one| one.row.id.as_str()).collect::<Vec<_>>().join(", ");
    Some(Peak {
        kind: PeakKind::MeasuredCeiling,
        value: lines * LINE_BYTES / latency,
        formula: format!("{lines:.1} lines in flight x {LINE_BYTES} B / {}", time(latency)),
        inputs: vec![
            input("lines_in_flight", lines, format!("measured: the most of {}", source(&found))),
            input("line_bytes", LINE_BYTES, "the cache line of x86-64".to_owned()),
            input("latency_seconds", latency, format!("measured: {}", row.id)),
        ],
        uncertainty: None,
    })
}

/// One point of a loaded chase: what the others moved, and what a load took meanwhile.
struct Loaded<'a> {
    row: &'a Row,
    bytes_per_second: f64,
    latency: Figure,
}

/// Latency under load: where it starts to climb, or what it comes to.
pub(super) fn under_load(rows: &[&Row]) -> Option<Finding> {
    let is_loaded = |row: &&Row| memory(row).is_some_and(|own| own.background.is_some() && own.nodes.is_none());
    let loaded = || rows.iter().copied().filter(is_loaded);
    // Of several thread counts the most: a curve is of one.
    let most_threads = loaded().map(|row| row.params.threads()).max()?;
    let mut points: Vec<Loaded<'_>> = loaded()
        .filter(|row| row.params.threads() == most_threads)
        .filter_map(|row| Some(Loaded { row, bytes_per_second: rate(row)?.median, latency: latency(row)? }))
        .collect();
    points.sort_by(|a, b| a.bytes_per_second.total_cmp(&b.bytes_per_second));
    let (first, last) = (points.first()?, points.last()?);
    let climbs = points.len() > 2 && last.bytes_per_second > first.bytes_per_second;
    (climbs && last.latency.against(first.latency)? == Against::More).then_some(())?;
    let evidence: Vec<&Row> = points.iter().map(|point| point.row).collect();
    Some(if let Some(knee) = knee(&points) {
        let fields = [
            ("rate", bytes(knee.bytes_per_second)),
            ("share", percent(knee.bytes_per_second / last.bytes_per_second)),
            ("latency", time(knee.latency.median)),
            ("most", time(last.latency.median)),
        ];
        Code::LoadBends.tell(Area::Memory, &fields, &evidence)
    } else {
        let fields = [
            ("least", time(first.latency.median)),
            ("little", bytes(first.bytes_per_second)),
            ("most", time(last.latency.median)),
            ("much", bytes(last.bytes_per_second)),
        ];
        Code::LoadedLatency.tell(Area::Memory, &fields, &evidence)
    })
}

/// Where the curve bends: the point farthest below the line from its first point to its last, in units of their distance,
/// if the last takes longer than it for certain.
fn knee<'a, 'b>(points: &'b [Loaded<'a>]) -> Option<&'b Loaded<'a>> {
    let (first, last) = (points.first()?, points.last()?);
    let (wide, high) = (last.bytes_per_second - first.bytes_per_second, last.latency.median - first.latency.median);
    let below = |point: &Loaded<'_>| {
        (point.bytes_per_second - first.bytes_per_second) / wide - (point.latency.median - first.latency.median) / high
    };
    let inner = points.get(1..points.len() - 1).filter(|_| wide > 0.0 && high > 0.0)?;
    let farthest = inner.iter().max_by(|a, b| below(a).total_cmp(&below(b)))?;
    let climbs = last.latency.against(farthest.latency) == Some(Against::More);
    (climbs && below(farthest) >= LEAST_BEND).then_some(farthest)
}

/// What another node's memory costs against the own.
pub(super) fn other_nodes(rows: &[&Row]) -> Vec<Finding> {
    let compare = |op: MemoryOp, name: MetricName, what: &str, told: fn(f64) -> String| {
        let figures = rows.iter().copied().filter_map(|row| {
            let params = memory(row).filter(|params| params.op == op && params.pattern != MemoryPattern::Pair)?;
            let (threads, memory) = params.nodes.as_deref()?.split_once('-')?;
            Some((row, threads == memory, Figure::of(row, name)?.median))
        });
        let (own, other): (Vec<_>, Vec<_>) = figures.partition(|(_, is_local, _)| *is_local);
        let middle = |of: &[(&Row, bool, f64)]| {
            let values: Vec<f64> = of.iter().map(|(.., value)| *value).collect();
            let middle = stats::summarise(&values).ok()?.median;
            let range = [values.iter().copied().fold(f64::MAX, f64::min), values.iter().copied().fold(0.0, f64::max)];
            Some((middle, range))
        };
        let ((near, [near_low, near_high]), (far, [far_low, far_high])) = (middle(&own)?, middle(&other)?);
        (far_low > near_high || far_high < near_low).then_some(())?;
        let fields =
            [("figure", what.to_owned()), ("factor", times(far / near)), ("far", told(far)), ("near", told(near))];
        let evidence: Vec<&Row> = own.iter().chain(&other).map(|(row, ..)| *row).collect();
        Some(Code::RemoteMemory.tell(Area::Memory, &fields, &evidence))
    };
    let latency = compare(MemoryOp::Load, MetricName::Latency, "Latency", time);
    let reading = compare(MemoryOp::Read, MetricName::Throughput, "The read rate", bytes);
    latency.into_iter().chain(reading).collect()
}

/// Whether a row reads memory, not a cache, on one thread: what the ceiling of one core is about.
fn reads_memory_alone(row: &Row) -> bool {
    let one_thread =
        |params: &MemoryParams| (params.op, params.threads, params.level.as_deref()) == (MemoryOp::Read, 1, Some(DRAM));
    is_stream(row) && memory(row).is_some_and(one_thread)
}

/// Puts the ceiling that one core's misses in flight make beside what one thread reads from memory. It is of other rows,
/// so it is set when all of them are there; it carries no efficiency.
pub fn set_core_ceiling(rows: &mut [Row]) {
    let Some(ceiling) = core_ceiling(rows) else { return };
    for row in rows.iter_mut().filter(|row| reads_memory_alone(row)) {
        if let Some(headline) = row.metrics.first_mut() {
            headline.peaks.retain(|peak| peak.kind != ceiling.kind);
            headline.peaks.push(ceiling.clone());
        }
    }
}
