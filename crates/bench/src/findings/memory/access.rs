//! Findings about how memory is accessed: many misses at a time, under load, through the cache or past it, with wider
//! vectors, by threads that are not alike, on another node.

use model::document::{Finding, Row};
use model::experiment::MemoryParams;
use model::isa::{Isa, MemoryOp, MemoryPattern, Pages};
use model::peak::{Peak, PeakInput, PeakKind};
use model::sample::{MetricName, Sample};
use model::unit::Unit;
use model::warning::WarningCode;

use super::{
    DRAM, basis, finding, gigabytes, idle, is_idle_chase, is_stream, joined, median, memory, nanoseconds, quoted,
    stands_for_memory,
};

/// Bytes that one miss fetches: the cache line of every x86-64 processor (Intel SDM vol. 1, 11.1; AMD APM vol. 2, 7.6).
const LINE_BYTES: f64 = 64.0;

/// More chains that add less than this no longer help.
const STILL_GROWS: f64 = 1.05;

/// A knee is at least this far below the line from the first to the last point, as a share of both their ranges: less is
/// a curve that bends all along.
const LEAST_BEND: f64 = 0.1;

/// A fastest thread this much ahead of the slowest is worth a sentence.
const UNEVEN: f64 = 1.1;

/// What is closer to 1 than this is no difference.
const DIFFERS: f64 = 0.03;

/// What a row does, in words, its instruction set and threads left out.
pub(super) fn words(row: &Row) -> String {
    let Some(params) = memory(row) else { return row.id.clone() };
    let (op, detail) = match params.op.name().strip_suffix("_nt") {
        Some(op) => (op, ", non-temporal"),
        None => (params.op.name(), ""),
    };
    let order = if params.pattern == MemoryPattern::Random { "random " } else { "" };
    format!("{order}{}{detail}", op.replace("mix_", "mix ").replace('_', if op.starts_with("mix") { ":" } else { " " }))
}

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
        Some(_) => median(row, MetricName::Throughput),
        None => median(row, MetricName::Latency).map(|seconds| 1.0 / seconds),
    }
}

/// One thread's chases with large pages by their number of chains, the single one first.
fn chains(rows: &[Row]) -> Vec<Chains<'_>> {
    let wanted =
        |params: &MemoryParams| is_idle_chase(params) && params.pages == Pages::Huge2M && params.group.is_none();
    let mut found: Vec<Chains<'_>> = rows
        .iter()
        .filter(|row| stands_for_memory(row))
        .filter_map(|row| {
            let params = memory(row).filter(|params| wanted(params))?;
            Some(Chains { row, count: params.chains.unwrap_or(1), loads_per_second: loads_per_second(row)? })
        })
        .collect();
    found.sort_by_key(|chains| chains.count);
    found
}

/// How many misses one core has in flight, and from how many chains on it has no more.
pub(super) fn parallel_misses(rows: &[Row]) -> Option<Finding> {
    let (row, latency) = idle(rows, Pages::Huge2M, None)?;
    let found = chains(rows);
    let most =
        found.iter().reduce(|best, other| if other.loads_per_second > best.loads_per_second { other } else { best })?;
    let enough = found.iter().find(|chains| chains.loads_per_second * STILL_GROWS >= most.loads_per_second)?;
    if found.len() < 3 || most.count < 2 {
        return None;
    }
    let lines = most.loads_per_second * latency;
    let last = found.last()?;
    let stops = if enough.count == last.count {
        format!("and with {} chains, the most that were tried, it still grew", last.count)
    } else {
        format!("and more than {} chains bring less than {:.0} % more", enough.count, 100.0 * (STILL_GROWS - 1.0))
    };
    let text = format!(
        "One core makes {:.0} million independent loads a second at most, which at an idle latency of {} is {lines:.1} \
         lines in flight; {stops}. Lines x {LINE_BYTES} B / latency = {} is what its loads can fetch without prefetching.",
        most.loads_per_second / 1e6,
        quoted(row)?,
        gigabytes(most.loads_per_second * LINE_BYTES)
    );
    Some(finding("parallel_misses", text, &[row, enough.row, most.row]))
}

/// The ceiling that one core's misses in flight put on what it can fetch; `None` where they were not measured.
pub(crate) fn core_ceiling(rows: &[Row]) -> Option<Peak> {
    let (row, latency) = idle(rows, Pages::Huge2M, None)?;
    let found = chains(rows);
    let most = found.iter().map(|chains| chains.loads_per_second).fold(0.0, f64::max);
    if found.len() < 3 {
        return None;
    }
    let lines = most * latency;
    let input = |name: &str, value: f64, source: String| PeakInput { name: name.to_owned(), value, source };
    let source = |rows: &[Chains<'_>]| rows.iter().map(|one| one.row.id.as_str()).collect::<Vec<_>>().join(", ");
    Some(Peak {
        kind: PeakKind::MeasuredCeiling,
        value: lines * LINE_BYTES / latency,
        formula: format!("{lines:.1} lines in flight x {LINE_BYTES} B / {}", nanoseconds(latency)),
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
    seconds: f64,
}

/// Latency under load: idle, at half and four fifths of the most bandwidth, at the most, and where it bends.
pub(super) fn under_load(rows: &[Row]) -> Option<Finding> {
    let mut points: Vec<Loaded<'_>> = rows
        .iter()
        .filter(|row| memory(row).is_some_and(|params| params.background.is_some() && params.nodes.is_none()))
        .filter_map(|row| {
            let seconds = median(row, MetricName::Latency)?;
            Some(Loaded { row, bytes_per_second: median(row, MetricName::Throughput)?, seconds })
        })
        .collect();
    points.sort_by(|a, b| a.bytes_per_second.total_cmp(&b.bytes_per_second));
    let (first, most) = (points.first()?, points.last()?);
    if points.len() < 3 || most.bytes_per_second <= first.bytes_per_second {
        return None;
    }
    let at = |share: f64| {
        let wanted = share * most.bytes_per_second;
        let seconds = between(&points, wanted)?;
        Some(format!("{} at {} ({:.0} %)", nanoseconds(seconds), gigabytes(wanted), 100.0 * share))
    };
    let idle = idle(rows, Pages::Huge2M, None).and_then(|(row, _)| Some((row, format!("{} idle", quoted(row)?))));
    let told = [idle.as_ref().map(|(_, words)| words.clone()), at(0.5), at(0.8)];
    let basis = most.row.metric(MetricName::Latency).map(basis).unwrap_or_default();
    let end = format!("{} at {}, the most ({basis})", nanoseconds(most.seconds), gigabytes(most.bytes_per_second));
    let told: Vec<String> = told.into_iter().flatten().chain([end]).collect();
    let knee = knee(&points).map_or_else(String::new, |knee| {
        format!(" It bends at {}, where a load takes {}.", gigabytes(knee.bytes_per_second), nanoseconds(knee.seconds))
    });
    let op = memory(most.row)?.background?.op;
    let text = format!("A load while {} other threads {op}: {}.{knee}", most.row.params.threads() - 1, told.join(", "));
    let text = text.replace("1 other threads read", "1 other thread reads");
    let evidence: Vec<&Row> = idle.iter().map(|(row, _)| *row).chain(points.iter().map(|point| point.row)).collect();
    Some(finding("loaded_latency", text, &evidence))
}

/// The latency at a bandwidth between two points of the curve, on the line between them.
fn between(points: &[Loaded<'_>], bytes_per_second: f64) -> Option<f64> {
    let pair = points
        .windows(2)
        .find(|pair| (pair[0].bytes_per_second..=pair[1].bytes_per_second).contains(&bytes_per_second))?;
    let span = pair[1].bytes_per_second - pair[0].bytes_per_second;
    let share = if span > 0.0 { (bytes_per_second - pair[0].bytes_per_second) / span } else { 0.0 };
    Some(pair[0].seconds + share * (pair[1].seconds - pair[0].seconds))
}

/// Where the curve bends: the point farthest below the line from its first point to its last, in units of their distance.
fn knee<'a, 'b>(points: &'b [Loaded<'a>]) -> Option<&'b Loaded<'a>> {
    let (first, last) = (points.first()?, points.last()?);
    let (wide, high) = (last.bytes_per_second - first.bytes_per_second, last.seconds - first.seconds);
    let below = |point: &Loaded<'_>| {
        (point.bytes_per_second - first.bytes_per_second) / wide - (point.seconds - first.seconds) / high
    };
    let inner = points.get(1..points.len() - 1).filter(|_| wide > 0.0 && high > 0.0)?;
    let farthest = inner.iter().max_by(|a, b| below(a).total_cmp(&below(b)))?;
    (below(farthest) >= LEAST_BEND).then_some(farthest)
}

/// The stream of an operation on the most threads that both it and another have, with the usual vectors.
fn pair(rows: &[Row], one: MemoryOp, other: MemoryOp) -> Option<(&Row, &Row, f64)> {
    let of =
        |op: MemoryOp| rows.iter().filter(move |row| is_stream(row) && memory(row).is_some_and(|own| own.op == op));
    let found = of(one).filter_map(|first| {
        let params = memory(first)?;
        let alike = |row: &&Row| {
            memory(row).is_some_and(|own| {
                MemoryParams { op: own.op, level: None, ..params.clone() }
                    == MemoryParams { level: None, ..own.clone() }
            })
        };
        let second = of(other).find(alike)?;
        let ratio = median(second, MetricName::Throughput)? / median(first, MetricName::Throughput)?;
        Some((first, second, ratio))
    });
    found.max_by_key(|(row, _, _)| row.params.threads())
}

/// What stores through the cache read before they write, as the rates show it.
pub(super) fn write_allocate(rows: &[Row]) -> Option<Finding> {
    let found: Vec<(&Row, &Row, f64)> = [
        (MemoryOp::Write, MemoryOp::WriteNt),
        (MemoryOp::Copy, MemoryOp::CopyNt),
        (MemoryOp::Triad, MemoryOp::TriadNt),
    ]
    .into_iter()
    .filter_map(|(cached, past)| pair(rows, cached, past))
    .collect();
    let threads = found.first()?.0.params.threads();
    let told: Vec<String> = found
        .iter()
        .filter(|(row, _, _)| row.params.threads() == threads)
        .map(|(row, _, ratio)| format!("{} {ratio:.2}x", words(row)))
        .collect();
    let gains = found.iter().filter(|(_, _, ratio)| *ratio > 1.0 + DIFFERS).count();
    let meaning = if gains == found.len() {
        "stores through the cache read each line before they write it (write-allocate), traffic that no figure counts; if \
         the memory were the only limit, leaving it out would bring 2x, 1.5x and 1.33x"
    } else if gains == 0 {
        "either the processor saves that read by itself, or something before the memory is the limit"
    } else {
        "where it is more than 1x, stores through the cache read each line before they write it (write-allocate)"
    };
    let with = if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
    let text = format!("Past the cache (non-temporal stores) with {with}: {}; {meaning}.", joined(&told));
    let evidence: Vec<&Row> = found.iter().flat_map(|(one, other, _)| [*one, *other]).collect();
    Some(finding("write_allocate", text, &evidence))
}

/// Whether 512-bit vectors move more than 256-bit ones.
pub(super) fn wider_vectors(rows: &[Row]) -> Option<Finding> {
    let is = |row: &Row, isa: Isa| is_stream(row) && memory(row).is_some_and(|params| params.isa == isa);
    let found: Vec<(&Row, &Row, f64)> = rows
        .iter()
        .filter(|row| is(row, Isa::Avx512))
        .filter_map(|wide| {
            let params = memory(wide)?;
            let alike = |row: &&Row| {
                memory(row)
                    .is_some_and(|own| (own.op, own.threads, own.pages) == (params.op, params.threads, params.pages))
            };
            let narrow = rows.iter().filter(|row| is(row, Isa::Avx2)).find(alike)?;
            let ratio = median(wide, MetricName::Throughput)? / median(narrow, MetricName::Throughput)?;
            Some((narrow, wide, ratio))
        })
        .collect();
    let threads = found.iter().map(|(row, _, _)| row.params.threads()).max()?;
    let told: Vec<String> = found
        .iter()
        .filter(|(row, _, _)| row.params.threads() == threads)
        .map(|(row, _, ratio)| format!("{} {ratio:.2}x", words(row)))
        .collect();
    let text = format!("512-bit vectors against 256-bit ones with {threads} threads: {}.", joined(&told));
    let text = text.replace("with 1 threads", "with 1 thread");
    let evidence: Vec<&Row> = found.iter().flat_map(|(narrow, wide, _)| [*narrow, *wide]).collect();
    Some(finding("wider_vectors", text, &evidence))
}

/// The fastest thread's rate over the slowest's, as a median over the samples.
fn unevenness(row: &Row) -> Option<f64> {
    let metric = row.metric(MetricName::Throughput).filter(|_| median(row, MetricName::Throughput).is_some())?;
    let ratio = |sample: &Sample| {
        let rates = || sample.per_thread.iter().map(|share| share.work / share.seconds);
        let (slowest, fastest) = (rates().reduce(f64::min)?, rates().reduce(f64::max)?);
        (sample.per_thread.len() > 1 && slowest > 0.0).then_some(fastest / slowest)
    };
    let ratios: Vec<f64> = metric.samples.iter().filter_map(ratio).collect();
    stats::summarise(&ratios).ok().map(|summary| summary.median)
}

/// Threads that should have been alike and were not.
pub(super) fn uneven_threads(rows: &[Row]) -> Option<Finding> {
    let oversubscribed =
        |row: &Row| row.warnings.iter().any(|warning| warning.code == WarningCode::Oversubscribed.name());
    let alike = |row: &&Row| is_stream(row) && !oversubscribed(row);
    let found: Vec<(&Row, f64)> = rows
        .iter()
        .filter(alike)
        .filter_map(|row| Some((row, unevenness(row)?)))
        .filter(|(_, by)| *by >= UNEVEN)
        .collect();
    let (row, by) = found.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let n = row.metric(MetricName::Throughput)?.summary.n;
    let others = match found.len() {
        1 => String::new(),
        several => format!(", the most of {several} rows that differ by {:.0} % or more", 100.0 * (UNEVEN - 1.0)),
    };
    let text = format!(
        "The threads of {} did not go alike: of {} the fastest did {by:.2} times what the slowest did (n={n}){others}.",
        words(row),
        row.params.threads()
    );
    Some(finding("uneven_threads", text, &found.iter().map(|(row, _)| *row).collect::<Vec<_>>()))
}

/// What another node's memory costs against the own.
pub(super) fn other_nodes(rows: &[Row]) -> Vec<Finding> {
    let of_op = |op: MemoryOp| rows.iter().filter(move |row| memory(row).is_some_and(|params| params.op == op));
    let compare = |op: MemoryOp, name: MetricName, what: &str, told: fn(f64) -> String| {
        let figures = || of_op(op).filter_map(|row| Some((row, memory(row)?.nodes.as_deref()?, median(row, name)?)));
        let is_local = |nodes: &str| nodes.split_once('-').is_some_and(|(threads, memory)| threads == memory);
        let own: Vec<(&Row, f64)> =
            figures().filter(|(_, nodes, _)| is_local(nodes)).map(|(row, _, value)| (row, value)).collect();
        let other: Vec<(&Row, f64)> =
            figures().filter(|(_, nodes, _)| !is_local(nodes)).map(|(row, _, value)| (row, value)).collect();
        let middle = |of: &[(&Row, f64)]| {
            let values: Vec<f64> = of.iter().map(|(_, value)| *value).collect();
            stats::summarise(&values).ok().map(|summary| summary.median)
        };
        let (near, far) = (middle(&own)?, middle(&other)?);
        let text = format!(
            "{what} on another node's memory is {:.2} times that on the own: {} against {} (medians of {} and {} pairs of \
             nodes).",
            far / near,
            told(far),
            told(near),
            other.len(),
            own.len()
        );
        let evidence: Vec<&Row> = own.iter().chain(&other).map(|(row, _)| *row).collect();
        Some(finding("remote_memory", text, &evidence))
    };
    let latency = compare(MemoryOp::Load, MetricName::Latency, "Latency", nanoseconds);
    let reading = compare(MemoryOp::Read, MetricName::Throughput, "The read rate", gigabytes);
    latency.into_iter().chain(reading).collect()
}

/// Whether a row reads memory, not a cache, on one thread: what the ceiling of one core is about.
pub(crate) fn reads_memory_alone(row: &Row) -> bool {
    let one_thread =
        |params: &MemoryParams| (params.op, params.threads, params.level.as_deref()) == (MemoryOp::Read, 1, Some(DRAM));
    is_stream(row) && memory(row).is_some_and(one_thread)
}
