//! Charts of memory: bandwidth over threads, levels of the caches, latency under load, distances between nodes and cores.

use model::document::{Document, Row};
use model::experiment::{Area, MemoryParams};
use model::isa::{MemoryOp, MemoryPattern};
use model::number::brief::time;
use model::number::{Notation, counted, quantity, size};
use model::sample::MetricName;
use model::unit::{Better, Unit};

use super::findings::{LOAD_BENDS, MEMORY_LEVELS};
use super::label::params;
use crate::chart::builders::{Over, PEAK, is_of_curve, over_threads, tools};
use crate::chart::measured::{Curve, Measured, best, by_key, curves, looks, names};
use crate::chart::observed::{Seen, finding, range};
use crate::chart::{Body, Chart, ChartAxis, Look, Matrix, MatrixCell, Plot, Reading, Series, Zone};
use crate::label::{Axis, Label};

const THROUGHPUT: Over = Over {
    area: Area::Memory,
    name: "memory-throughput-over-threads",
    title: "Does memory bandwidth grow with threads?",
    about: "Bytes per second through all of the memory by threads, for each operation, with the theoretical peak where \
            it is known.",
    x: ChartAxis::THREADS,
    y: ChartAxis::auto("Throughput", Unit::BytePerSecond),
    places: Axis::Threads,
    limit: PEAK,
};
const THROUGHPUT_OVER_BLOCKS: Over = Over {
    name: "memory-throughput-over-blocks",
    title: "Which block size does memory need?",
    about: "Bytes per second over the size of blocks, both on logarithmic axes, a panel for each workload and a line \
            for each number of threads.",
    x: ChartAxis::new("Block", Reading::Sizes),
    y: ChartAxis::log("Throughput", Unit::BytePerSecond),
    ..THROUGHPUT
};
const CHAINS: Over = Over {
    name: "memory-chains",
    title: "How many misses can a core have in flight?",
    about: "Dependent loads per second over the number of independent chains of them in one thread; it levels off \
            where the core can have no more misses in flight.",
    x: ChartAxis::new("Chains", Reading::Counts),
    y: ChartAxis::auto("Loads", Unit::PerSecond),
    ..THROUGHPUT
};

/// Words, vertical axis and unit of a curve over working sets.
type CurveWords = ([&'static str; 3], &'static str, Unit);

const LATENCY_CURVE: CurveWords = (
    [
        "memory-latency-curve",
        "Where do the caches end?",
        "Latency over the working set, both on logarithmic axes, with the levels that were found in the data.",
    ],
    "Latency",
    Unit::Second,
);
const THROUGHPUT_CURVE: CurveWords = (
    [
        "memory-throughput-curve",
        "Which bandwidth does each cache have?",
        "Throughput over the working set, both on logarithmic axes, with the levels that were found in the data.",
    ],
    "Throughput",
    Unit::BytePerSecond,
);

const LOADED: [&str; 3] = [
    "memory-loaded-latency",
    "What does a load cost the latency of memory?",
    "Latency of dependent loads in one thread over the bandwidth of the other threads; each point has another pause \
     between their accesses.",
];

pub(crate) fn charts(document: &Document) -> Vec<Chart> {
    let rates = Measured::all(document, Area::Memory, MetricName::Throughput);
    let times = Measured::all(document, Area::Memory, MetricName::Latency);
    let streams = only(&rates, |own, row| is_plain(own, MemoryPattern::Sequential) && !is_of_curve(row));
    let of_blocks = only(&rates, |own, _| own.block.is_some());
    let chains = curves(&rates, 3, by_chains);
    let enough = best(chains.iter().flat_map(|curve| curve.points.iter().map(|(_, own)| *own)));
    let enough = enough.and_then(|own| params(own.row)?.chains);
    let enough =
        enough.map(|count| format!("No more loads per second with more than {}.", counted(count.into(), "chain")));
    let charts = [
        THROUGHPUT.medians(over_threads(&streams)),
        curve(document, LATENCY_CURVE, &only_better(&times, Better::Lower)),
        curve(document, THROUGHPUT_CURVE, &only_better(&rates, Better::Higher)),
        THROUGHPUT_OVER_BLOCKS.blocks(&of_blocks),
        CHAINS.medians(chains).map(|chart| chart.observed(enough)),
        Some(loaded(document, &times)),
        matrix(CORES, MemoryPattern::Pair, &times),
        matrix(NODE_BANDWIDTH, MemoryPattern::Sequential, &rates),
        matrix(NODE_LATENCY, MemoryPattern::Chase, &times),
    ];
    let tools = tools(document, Area::Memory, ["memory-tools", "memory-tools-latency"]);
    charts.into_iter().flatten().chain(tools).collect()
}

fn only<'a>(all: &[Measured<'a>], holds: impl Fn(&MemoryParams, &Row) -> bool) -> Vec<Measured<'a>> {
    let holds = |row: &Row| params(row).is_some_and(|own| holds(own, row));
    all.iter().filter(|measured| holds(measured.row)).copied().collect()
}

fn only_better<'a>(all: &[Measured<'a>], better: Better) -> Vec<Measured<'a>> {
    all.iter().filter(|measured| measured.metric.better == better).copied().collect()
}

/// Whether nothing but the pattern and the threads was chosen.
pub(crate) fn is_plain(params: &MemoryParams, pattern: MemoryPattern) -> bool {
    params.pattern == pattern && params.block.is_none() && params.placement.is_none() && params.nodes.is_none()
}

/// The working set of a point of a curve, and what it shares with the other points.
fn by_working_set(row: &Row) -> Option<(String, f64)> {
    let params = params(row).filter(|_| is_of_curve(row))?;
    let same = MemoryParams { working_set: 0, level: None, ..params.clone() };
    Some((format!("{same:?}"), params.working_set as f64))
}

/// The number of independent chains of an idle chase, and what it shares with the others.
fn by_chains(row: &Row) -> Option<(String, f64)> {
    let params = params(row).filter(|own| own.pattern == MemoryPattern::Chase && !is_of_curve(row))?;
    let chains = params.chains.filter(|_| params.background.is_none())?;
    Some((format!("{:?}", MemoryParams { chains: None, ..params.clone() }), f64::from(chains)))
}

fn curve(document: &Document, (words, title, unit): CurveWords, all: &[Measured<'_>]) -> Option<Chart> {
    let mut curves = curves(all, 3, by_working_set);
    curves.truncate(6);
    let rows: Vec<&Row> = curves.iter().map(Curve::first).collect();
    let points: Vec<Measured<'_>> = curves.first()?.points.iter().map(|(_, own)| *own).collect();
    let looks = looks(&curves.iter().map(|curve| curve.points[0].1).collect::<Vec<_>>());
    let series = curves.iter().zip(names(&rows, Axis::Threads)).zip(looks).map(|((curve, name), look)| {
        // The working set of the first point is not part of the name.
        let own = params(curve.first()).map(|params| size(params.working_set)).unwrap_or_default();
        let name = name.split(", ").filter(|token| *token != own).collect::<Vec<_>>().join(", ");
        curve.series(name, look)
    });
    let mut plot =
        Plot::single(ChartAxis::new("Working set", Reading::Sizes), ChartAxis::log(title, unit), series.collect());
    plot.panels[0].zones = levels(curves.first()?);
    let found = finding(document, MEMORY_LEVELS.code, &points);
    Some(Chart::new(Area::Memory, words, Body::Plot(plot)).observed(found))
}

/// The stretches of a curve that are in one level: from the first to the last of consecutive points.
fn levels(curve: &Curve<'_>) -> Vec<Zone> {
    let level = |measured: &Measured<'_>| params(measured.row).and_then(|params| params.level.clone());
    let stretches = curve.points.chunk_by(|(_, one), (_, next)| level(one) == level(next)).filter_map(|points| {
        let (first, last) = (points.first()?, points.last()?);
        let zone = Zone { from: first.0, to: last.0, name: level(&first.1)?.to_uppercase() };
        (zone.to > zone.from).then_some(zone)
    });
    stretches.collect()
}

fn loaded(document: &Document, times: &[Measured<'_>]) -> Chart {
    let with_load = times.iter().filter_map(|measured| {
        params(measured.row)?.background?;
        Some((Measured::find(measured.row, MetricName::Throughput)?.value(), *measured))
    });
    let op = |measured: &Measured<'_>| params(measured.row)?.background.map(|load| load.op);
    let groups = by_key(with_load, |(_, measured)| {
        let same = MemoryParams { background: None, ..params(measured.row)?.clone() };
        Some((op(measured), format!("{same:?}")))
    });
    let bandwidth = Notation::Plain(Unit::BytePerSecond);
    let all: Vec<Measured<'_>> = groups.iter().flat_map(|(_, points)| points.iter().map(|(_, own)| *own)).collect();
    let found = finding(document, LOAD_BENDS.code, &all);
    let seen = all.iter().map(|own| Seen { value: own.value(), name: String::new(), is_doubtful: own.is_doubtful() });
    let found = found.or_else(|| Some(format!("{} over the loads.", range(seen, time)?)));
    let series = groups.into_iter().enumerate().map(|(index, (_, mut points))| {
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        let name = op(&points[0].1).map_or_else(String::new, |op| format!("while other threads {op}"));
        let points = points.iter().map(|(at, measured)| measured.point(*at));
        Series::line(name, Look::nth(index, None), points.collect())
    });
    let x = ChartAxis::new("Bandwidth of the other threads", Reading::Linear(bandwidth));
    let y = ChartAxis::new("Latency", Reading::Linear(Notation::Plain(Unit::Second)));
    let body = Body::Plot(Plot::single(x, y, series.collect()));
    Chart::new(Area::Memory, LOADED, body).observed(found)
}

const CORES: [&str; 2] = ["memory-core-to-core", "Which cores are close to each other?"];
const NODE_BANDWIDTH: [&str; 2] =
    ["memory-node-bandwidth", "Which bandwidth does each node have to each node's memory?"];
const NODE_LATENCY: [&str; 2] = ["memory-node-latency", "How far is each node's memory?"];

/// The two ends of a result: `0-1`, `cpu0-cpu1`.
fn ends(row: &Row) -> Option<(u32, u32)> {
    let (from, to) = params(row)?.nodes.as_deref()?.split_once('-')?;
    let number = |text: &str| text.trim_start_matches("cpu").parse().ok();
    Some((number(from)?, number(to)?))
}

/// The matrix of one operation; between cores each result holds in both directions.
fn matrix([name, title]: [&'static str; 2], pattern: MemoryPattern, all: &[Measured<'_>]) -> Option<Chart> {
    let (about, sides) = match pattern {
        MemoryPattern::Pair => ("round trip of a cache line between two CPUs", ["from CPU", "to CPU"]),
        _ => ("CPUs of one node, memory of another", ["CPUs of node", "memory of node"]),
    };
    let op = |measured: &Measured<'_>| -> Option<MemoryOp> { params(measured.row).map(|params| params.op) };
    let own = only(all, |own, row| own.pattern == pattern && ends(row).is_some());
    let first = *own.first()?;
    let unit = first.metric.unit;
    let seen = own.iter().filter_map(|own| {
        let name = ends(own.row).filter(|(from, to)| from != to || pattern != MemoryPattern::Pair)?;
        Some(Seen { value: own.value(), name: format!("{} to {}", name.0, name.1), is_doubtful: own.is_doubtful() })
    });
    let observation = range(seen, |value| quantity(value, first.notation()));
    let observation = observation.map(|text| text + ".");
    let mut cells: Vec<MatrixCell> = Vec::new();
    for measured in own.iter().filter(|own| op(own) == op(&first) && own.metric.unit == unit) {
        let Some((from, to)) = ends(measured.row) else { continue };
        let mark = measured.mark();
        if pattern == MemoryPattern::Pair && from != to {
            cells.push(MatrixCell { from: to, to: from, mark: mark.clone() });
        }
        cells.push(MatrixCell { from, to, mark });
    }
    cells.sort_by_key(|cell| (cell.from, cell.to));
    cells.dedup_by_key(|cell| (cell.from, cell.to));
    let body = Body::Matrix(Matrix { sides, notation: first.notation(), cells });
    let chart = Chart::new(Area::Memory, [name, title, ""], body);
    let mut chart = chart.observed(observation);
    chart.about = format!(
        "A matrix of {} ({about}): a stronger colour is a larger value. Cells have the value where there is room.",
        Label::alone(first.row).what
    );
    Some(chart)
}
