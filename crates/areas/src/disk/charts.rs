//! Charts of disks: depth, threads, blocks, the slowest requests, and the share of the page cache.

use model::document::{Document, Row};
use model::experiment::{Area, DiskParams};
use model::io::{DiskCache, DiskEngine, DiskPattern};
use model::number::Notation;
use model::sample::MetricName;
use model::unit::Unit;

use super::label::params;
use crate::chart::builders::{Over, PEAK, at_best_block, kinds, percentiles, ratios, side_by_side, tools};
use crate::chart::measured::{Curve, Measured, by_key, curves, names, uncrowded};
use crate::chart::{Chart, ChartAxis, Reading};
use crate::label::Axis;

const REQUESTS: ChartAxis = ChartAxis::new("Requests completed", Reading::Auto(Notation::Iops));
const THROUGHPUT: ChartAxis = ChartAxis::auto("Throughput", Unit::BytePerSecond);

const IOPS_OVER_DEPTH: Over = Over {
    area: Area::Disk,
    name: "disk-iops-over-depth",
    title: "How many requests in flight does the disk need?",
    about: "Random requests completed per second by the requests in flight, for each workload.",
    x: ChartAxis::new("Requests in flight per thread", Reading::Counts),
    y: REQUESTS,
    places: Axis::Depth,
    limit: PEAK,
};
const IOPS_OVER_THREADS: Over = Over {
    name: "disk-iops-over-threads",
    title: "Do more threads complete more requests?",
    about: "Random requests completed per second by threads, each workload at its best block.",
    x: ChartAxis::THREADS,
    places: Axis::Threads,
    ..IOPS_OVER_DEPTH
};
const THROUGHPUT_OVER_THREADS: Over = Over {
    name: "disk-throughput-over-threads",
    title: "Does disk throughput grow with threads?",
    about: "Bytes per second by threads, each workload at its best block.",
    y: THROUGHPUT,
    ..IOPS_OVER_THREADS
};
const THROUGHPUT_OVER_BLOCKS: Over = Over {
    name: "disk-throughput-over-blocks",
    title: "Which block does the disk need?",
    about: "Bytes per second over the size of blocks, both on logarithmic axes, a panel for each workload and a line \
            for each number of threads.",
    x: ChartAxis::new("Block", Reading::Sizes),
    y: ChartAxis::log("Throughput", Unit::BytePerSecond),
    ..IOPS_OVER_THREADS
};
const CACHES: [&str; 3] = [
    "disk-caches",
    "How much of it is the page cache?",
    "Bytes per second of the same requests past the page cache, through it when it was empty, and from it.",
];

pub(crate) fn charts(document: &Document) -> Vec<Chart> {
    let of_device = |metric| {
        let mut all = Measured::all(document, Area::Disk, metric);
        all.retain(|measured| {
            params(measured.row).is_some_and(|own| own.bypasses_cache() && own.load_percent.is_none())
        });
        all
    };
    let rates = of_device(MetricName::Throughput);
    let requests = of_device(MetricName::Iops);
    let times = of_device(MetricName::Latency);
    let (random, sequential) = (only(&requests, true), only(&rates, false));
    let waits = only(&times, true);
    let tails = of_smallest_block(&uncrowded(&waits));
    let charts = [
        IOPS_OVER_DEPTH.medians(over_depth(&random)),
        IOPS_OVER_THREADS.medians(at_best_block(&random)),
        THROUGHPUT_OVER_THREADS.medians(at_best_block(&sequential)),
        THROUGHPUT_OVER_BLOCKS.blocks(&rates),
        Some(percentiles(Area::Disk, "disk-latency-percentiles", "How slow are the slowest requests?", &tails)),
        Some(caches(document)),
    ];
    let tools = tools(document, Area::Disk, ["disk-tools", "disk-tools-latency"]);
    charts.into_iter().flatten().chain(tools).collect()
}

fn only<'a>(all: &[Measured<'a>], random: bool) -> Vec<Measured<'a>> {
    let is_random = |row: &Row| params(row).is_some_and(|params| params.pattern == DiskPattern::Random);
    all.iter().filter(|measured| is_random(measured.row) == random).copied().collect()
}

fn of_smallest_block<'a>(all: &[Measured<'a>]) -> Vec<Measured<'a>> {
    let block = |measured: &Measured<'_>| params(measured.row).map(|params| params.block);
    let least = all.iter().filter_map(block).min();
    let mut finest: Vec<Measured<'a>> = all.iter().filter(|measured| block(measured) == least).copied().collect();
    finest.sort_by_key(|measured| (measured.threads(), params(measured.row).map(|params| params.depth)));
    finest
}

fn over_depth<'a>(all: &[Measured<'a>]) -> Vec<Curve<'a>> {
    curves(all, 2, |row| {
        let params = params(row)?;
        Some((format!("{:?}", DiskParams { depth: 0, size: 0, ..params.clone() }), f64::from(params.depth)))
    })
}

fn caches(document: &Document) -> Chart {
    let all = Measured::all(document, Area::Disk, MetricName::Throughput);
    // Requests through a cache and past it differ in more than the cache; what the program asks for is the same.
    let key = |(_, measured): &(usize, Measured<'_>)| {
        let own = params(measured.row).filter(|own| own.engine != DiskEngine::Null && own.load_percent.is_none())?;
        Some((own.pattern, own.op, own.block, own.depth, own.threads, own.sync, own.layout))
    };
    let state = |measured: &Measured<'_>| {
        let own = params(measured.row).map(|params| params.cache);
        DiskCache::ALL.iter().position(|state| Some(*state) == own).unwrap_or(0)
    };
    let groups = by_key(all.into_iter().map(|measured| (state(&measured), measured)), key).into_iter();
    let differ = |group: &Vec<(usize, Measured<'_>)>| group.iter().any(|(state, _)| *state != group[0].0);
    let groups: Vec<_> = groups.map(|(_, group)| group).filter(differ).take(12).collect();
    let rows: Vec<&Row> = groups.iter().map(|group| group[0].1.row).collect();
    let labels = names(&rows, Axis::Depth);
    let of = |state: usize| ratios(&groups, &labels, [0, state]);
    let found: Vec<String> = [(1, "cold"), (2, "warm")]
        .iter()
        .filter_map(|(state, name)| Some(format!("{name} page cache {}", of(*state)?)))
        .collect();
    let observation = (!found.is_empty()).then(|| format!("Relative to direct I/O: {}.", found.join("; ")));
    let kinds = kinds(&["direct I/O", "cold page cache", "warm page cache"]);
    let axis = THROUGHPUT;
    let body = side_by_side(axis, kinds, &groups, labels);
    Chart::new(Area::Disk, CACHES, body).observed(observation)
}
