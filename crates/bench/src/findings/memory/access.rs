//! Findings about how memory is accessed: many misses at a time, under load, through the cache or past it, with wider
//! vectors, by threads that are not alike, on another node.

use model::document::{Finding, Row};
use model::experiment::{Area, MemoryParams};
use model::isa::{Isa, MemoryOp, MemoryPattern, Pages};
use model::peak::{Peak, PeakInput, PeakKind};
use model::sample::{MetricName, Sample};
use model::unit::Unit;
use model::warning::WarningCode;

use super::super::figure::{Against, Figure, is_quiet, rate};
use super::super::names::{named, operation};
use super::super::rules::Code;
use super::super::words::{bytes, count, joined, percent, plain, threads, time, times};
use super::{DRAM, idle, is_idle_chase, is_stream, latency, memory, stands_for_memory};

/// Bytes that one miss fetches: the cache line of every x86-64 processor (Intel SDM vol. 1, 11.1; AMD APM vol. 2, 7.6).
const LINE_BYTES: f64 = 64.0;

/// Counts of chains that a curve of misses needs.
const LEAST_CHAINS: usize = 3;

/// A knee is at least this far below the line from the first to the last point, as a share of both their ranges: less is
/// a curve that bends all along.
const LEAST_BEND: f64 = 0.1;

/// A fastest thread this much ahead of the slowest is worth a sentence, in the median over the samples.
const UNEVEN: f64 = 1.1;

/// The same in every sample.
const ALWAYS_UNEVEN: f64 = 1.05;

/// Samples that it needs.
const UNEVEN_SAMPLES: usize = 3;

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

/// How many misses one core has in flight, and what its loads can fetch with them.
pub(super) fn parallel_misses(rows: &[&Row]) -> Option<Finding> {
    let (row, idle) = idle(rows.iter().copied(), Pages::Huge2M)?;
    let found = chains(rows.iter().copied());
    let most =
        found.iter().reduce(|best, other| if other.loads_per_second > best.loads_per_second { other } else { best })?;
    (found.len() >= LEAST_CHAINS && most.count > 1).then_some(())?;
    let fields = [
        ("lines", plain(most.loads_per_second * idle.median)),
        ("rate", count(most.loads_per_second)),
        ("latency", time(idle.median)),
        ("bytes", bytes(most.loads_per_second * LINE_BYTES)),
    ];
    Some(Code::ParallelMisses.tell(Area::Memory, &fields, &[row, most.row]))
}

/// The ceiling that one core's misses in flight put on what it can fetch; `None` where they were not measured.
pub(crate) fn core_ceiling(rows: &[Row]) -> Option<Peak> {
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

/// Streams in pairs that differ in one thing, on the most threads that have any such pair.
fn on_most_threads<'a>(pairs: Vec<(&'a Row, &'a Row)>) -> (u32, Vec<(&'a Row, &'a Row)>) {
    let most = pairs.iter().map(|(row, _)| row.params.threads()).max().unwrap_or(0);
    (most, pairs.into_iter().filter(|(row, _)| row.params.threads() == most).collect())
}

/// What each pair gains, where it differs: words and evidence.
fn gains<'a>(pairs: &[(&'a Row, &'a Row)], counts: fn(f64) -> bool) -> (Vec<String>, Vec<&'a Row>) {
    let mut told = Vec::new();
    let mut evidence = Vec::new();
    for (one, other) in pairs {
        let gain = rate(other).zip(rate(one)).and_then(|(other, one)| other.differs(one));
        if let (Some(gain), Some(params)) = (gain.filter(|gain| counts(*gain)), memory(one)) {
            told.push(format!("{} {}", operation(params.op), times(gain)));
            evidence.extend([*one, *other]);
        }
    }
    (told, evidence)
}

/// What stores through the cache read before they write, as the rates show it.
pub(super) fn write_allocate(rows: &[&Row]) -> Option<Finding> {
    let past = |op: MemoryOp| match op {
        MemoryOp::Write => Some(MemoryOp::WriteNt),
        MemoryOp::Copy => Some(MemoryOp::CopyNt),
        MemoryOp::Triad => Some(MemoryOp::TriadNt),
        _ => None,
    };
    let alike =
        |row: &Row| memory(row).filter(|_| is_stream(row)).map(|own| MemoryParams { level: None, ..own.clone() });
    let pair = |row: &&'_ Row| {
        let params = alike(row)?;
        let wanted = MemoryParams { op: past(params.op)?, ..params };
        rows.iter().copied().find(|other| alike(other).as_ref() == Some(&wanted))
    };
    let pairs = rows.iter().filter_map(|row| Some((*row, pair(row)?))).collect();
    let (most, mut pairs) = on_most_threads(pairs);
    // Each operation once: with the vectors of the first.
    let isa = pairs.first().and_then(|(row, _)| memory(row)).map(|params| params.isa);
    pairs.retain(|(row, _)| memory(row).map(|params| params.isa) == isa);
    let (told, evidence) = gains(&pairs, |gain| gain > 1.0);
    let fields = [("threads", threads(most)), ("gains", joined(&told))];
    (!told.is_empty()).then(|| Code::WriteAllocate.tell(Area::Memory, &fields, &evidence))
}

/// Whether 512-bit vectors move more than 256-bit ones.
pub(super) fn wider_vectors(rows: &[&Row]) -> Option<Finding> {
    let of = |isa: Isa| {
        rows.iter().copied().filter(move |row| is_stream(row) && memory(row).is_some_and(|own| own.isa == isa))
    };
    let common = |row: &Row| memory(row).map(|own| MemoryParams { isa: Isa::Avx2, level: None, ..own.clone() });
    let pairs = of(Isa::Avx2)
        .filter_map(|narrow| Some((narrow, of(Isa::Avx512).find(|wide| common(wide) == common(narrow))?)))
        .collect();
    let (most, pairs) = on_most_threads(pairs);
    let (told, evidence) = gains(&pairs, |_| true);
    let fields = [("threads", threads(most)), ("gains", joined(&told))];
    (!told.is_empty()).then(|| Code::WiderVectors.tell(Area::Memory, &fields, &evidence))
}

/// The fastest thread's rate over the slowest's, as a median over the samples; `None` unless it is so in all of them.
fn unevenness(row: &Row) -> Option<f64> {
    let metric = row.metric(MetricName::Throughput).filter(|_| rate(row).is_some())?;
    let ratio = |sample: &Sample| {
        let rates = || sample.per_thread.iter().map(|share| share.work / share.seconds);
        let (slowest, fastest) = (rates().reduce(f64::min)?, rates().reduce(f64::max)?);
        let known = sample.per_thread.len() > 1 && slowest > 0.0 && fastest.is_finite();
        known.then_some(fastest / slowest)
    };
    let ratios: Vec<f64> = metric.samples.iter().filter_map(ratio).collect();
    let always = ratios.len() >= UNEVEN_SAMPLES && ratios.iter().all(|ratio| *ratio >= ALWAYS_UNEVEN);
    always.then(|| stats::summarise(&ratios).ok().map(|summary| summary.median))?
}

/// Threads that should have been alike and were not: the row where they differ most.
pub(super) fn uneven_threads(rows: &[&Row]) -> Option<Finding> {
    let oversubscribed =
        |row: &Row| row.warnings.iter().any(|warning| warning.code == WarningCode::Oversubscribed.name());
    let alike = rows.iter().copied().filter(|row| is_stream(row) && !oversubscribed(row));
    let found = alike.filter_map(|row| Some((row, unevenness(row).filter(|by| *by >= UNEVEN)?)));
    let (row, by) = found.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let fields = [("what", named(row)), ("factor", times(by))];
    Some(Code::UnevenThreads.tell(Area::Memory, &fields, &[row]))
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
pub(crate) fn reads_memory_alone(row: &Row) -> bool {
    let one_thread =
        |params: &MemoryParams| (params.op, params.threads, params.level.as_deref()) == (MemoryOp::Read, 1, Some(DRAM));
    is_stream(row) && memory(row).is_some_and(one_thread)
}
