//! Disks: what depth and threads bring, which block is enough, how long the slowest requests take, what the cache does.

use model::document::{Document, Row};
use model::experiment::{Area, DiskParams};
use model::io::{DiskCache, DiskEngine, DiskPattern};
use model::sample::MetricName;
use model::unit::Unit;

use super::shared::{
    Over, PEAK, axis_title, by_thread_lines, figure_columns, figures, is_faster, is_finer, kind, one_block, only,
    over_blocks, own, percentiles, samples, sides, widest, with_other_blocks,
};
use crate::chart::dots::{DotLine, Dots};
use crate::chart::drawing::{Chart, Head};
use crate::chart::figure::{Figure, Group, grouped, lines, names};
use crate::chart::plot::Axis;
use crate::chart::scale::Reading;
use crate::chart::svg::Shape;
use areas::disk::label as disk;
use areas::label::Axis as Places;

pub(super) fn charts(document: &Document) -> Vec<Chart> {
    let of = |metric| -> Vec<Figure<'_>> {
        figures(document, Area::Disk, metric).filter(|figure| is_of_device(figure.row)).collect()
    };
    let (rates, requests, times) = (of(MetricName::Throughput), of(MetricName::Iops), of(MetricName::Latency));
    let is_random = |row: &Row| disk::params(row).is_some_and(|params| params.pattern == DiskPattern::Random);
    let (small, order) = (only(&requests, is_random), only(&rates, |row| !is_random(row)));
    let waits = only(&times, is_random);
    let slow: Vec<Figure<'_>> = finest(&waits);
    let headline = widest(order.iter().chain(&small).filter(|figure| is_first(figure)).copied());
    [
        over_depth("disk-iops-over-depth", MetricName::Iops).chart(depths(&small)),
        over_depth("disk-latency-over-depth", MetricName::Latency).chart(depths(&waits)),
        over_threads("disk-iops-over-threads", MetricName::Iops).chart(one_block(by_thread_lines(&small), is_faster)),
        over_threads("disk-throughput-over-threads", MetricName::Throughput)
            .chart(one_block(by_thread_lines(&order), is_faster)),
        over_threads("disk-latency-over-threads", MetricName::Latency)
            .chart(one_block(by_thread_lines(&waits), is_finer)),
        over_blocks(&blocks("disk-throughput-over-blocks", MetricName::Throughput), with_other_blocks(&rates)),
        over_blocks(&blocks("disk-latency-over-blocks", MetricName::Latency), with_other_blocks(&times)),
        percentiles(Area::Disk, "disk-latency-percentiles", "How slow are the slowest requests?", &slow),
        caches(document),
        sides(sides_head("disk-sides-throughput", "Disk throughput beside its limit and other tools"), &firsts(&rates)),
        sides(
            sides_head("disk-sides-iops", "Requests per second beside the limit and other tools"),
            &firsts(&requests),
        ),
        samples(Area::Disk, "disk-samples", &headline),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Whether a row is about a device, past the page cache, as fast as it goes.
fn is_of_device(row: &Row) -> bool {
    disk::params(row).is_some_and(|params| {
        params.engine != DiskEngine::Null && params.load_percent.is_none() && params.cache == DiskCache::Bypassed
    })
}

fn is_first(figure: &Figure<'_>) -> bool {
    figure.row.metrics.first().is_some_and(|first| first.name == figure.metric.name)
}

/// The figures that their rows are about.
fn firsts<'a>(all: &[Figure<'a>]) -> Vec<Figure<'a>> {
    all.iter().filter(|figure| is_first(figure)).copied().collect()
}

/// Those with the smallest block.
fn finest<'a>(all: &[Figure<'a>]) -> Vec<Figure<'a>> {
    let block = |figure: &Figure<'_>| disk::params(figure.row).map(|params| params.block);
    let least = all.iter().filter_map(block).min();
    let mut finest: Vec<Figure<'a>> = all.iter().filter(|figure| block(figure) == least).copied().collect();
    finest.sort_by_key(|figure| (figure.row.params.threads(), disk::params(figure.row).map(|params| params.depth)));
    finest
}

fn depths<'a>(all: &[Figure<'a>]) -> Vec<Group<'a>> {
    let place = |row: &Row| {
        let params = disk::params(row)?;
        Some((format!("{:?}", DiskParams { depth: 0, size: 0, ..params.clone() }), f64::from(params.depth)))
    };
    lines(grouped(all.iter().copied(), place))
}

/// What a metric of a disk is called on an axis.
fn axis(metric: MetricName) -> Axis {
    match metric {
        MetricName::Iops => Axis::new("Requests completed", Reading::Auto(Unit::PerSecond.into())),
        MetricName::Latency => Axis::new("Latency", Reading::Auto(Unit::Second.into())),
        _ => Axis::new("Throughput", Reading::Auto(Unit::BytePerSecond.into())),
    }
}

fn over_depth(name: &'static str, metric: MetricName) -> Over {
    let (title, about) = if metric == MetricName::Iops {
        ("How many requests in flight does the disk need?", "Random requests completed per second")
    } else {
        ("Where does latency start to climb?", "Median latency of random requests")
    };
    Over {
        area: Area::Disk,
        name,
        title: title.into(),
        about: format!("{about} over the requests in flight, a line for each workload."),
        x: Axis::new("Requests in flight per thread", Reading::Counts),
        y: axis(metric),
        places: Places::Depth,
        limit: PEAK,
    }
}

fn over_threads(name: &'static str, metric: MetricName) -> Over {
    let (title, about) = match metric {
        MetricName::Iops => (
            "Do more threads complete more requests?",
            "Random requests completed per second over threads, each workload at its best block.",
        ),
        MetricName::Latency => (
            "Does a request take longer with more threads?",
            "Median latency of random requests over threads, each workload at its smallest block.",
        ),
        _ => ("Does the disk grow with threads?", "Bytes per second over threads, each workload at its best block."),
    };
    Over {
        area: Area::Disk,
        name,
        title: title.into(),
        about: about.into(),
        x: Axis::new("Threads", Reading::Counts),
        y: axis(metric),
        places: Places::Threads,
        limit: PEAK,
    }
}

fn blocks(name: &'static str, metric: MetricName) -> Over {
    let reading = |unit: Unit| Reading::Log(unit.into());
    let (title, y, what) = if metric == MetricName::Latency {
        ("How long does a block take?", Axis::new("Latency", reading(Unit::Second)), "Median latency")
    } else {
        ("Which block does the disk need?", Axis::new("Throughput", reading(Unit::BytePerSecond)), "Bytes per second")
    };
    Over {
        title: title.into(),
        about: format!(
            "{what} over the size of blocks, both on logarithmic axes, a panel for each workload and a line for each number \
             of threads."
        ),
        x: Axis::new("Block", Reading::Sizes),
        y,
        ..over_threads(name, metric)
    }
}

fn sides_head(name: &str, title: &str) -> Head {
    let mut head = Head::new(Some(Area::Disk), name, title);
    head.about =
        "Each row beside what its device can do at most, where that is known, and what trusted tools measured.".into();
    head
}

/// The page cache's share: past it, after it was emptied, and served by it.
fn caches(document: &Document) -> Option<Chart> {
    let states = DiskCache::ALL;
    let rates = figures(document, Area::Disk, MetricName::Throughput);
    let key = |row: &Row| {
        let params =
            disk::params(row).filter(|params| params.engine != DiskEngine::Null && params.load_percent.is_none())?;
        // What reaches a cache and what goes past it differ in more than the cache; what is asked for is the same.
        let (pattern, op, block, depth) = (params.pattern, params.op, params.block, params.depth);
        Some((pattern, op, block, depth, params.threads, params.sync, params.layout))
    };
    let mut groups: Vec<(_, Vec<Figure<'_>>)> = Vec::new();
    for figure in rates {
        let Some(own) = key(figure.row) else { continue };
        match groups.iter_mut().find(|(other, _)| *other == own) {
            Some((_, group)) => group.push(figure),
            None => groups.push((own, vec![figure])),
        }
    }
    let state = |figure: &Figure<'_>| {
        let own = disk::params(figure.row).map(|params| params.cache);
        states.iter().position(|state| Some(*state) == own).unwrap_or(0)
    };
    groups.retain(|(_, group)| group.iter().any(|figure| state(figure) != state(&group[0])));
    groups.truncate(12);
    let rows: Vec<&Row> = groups.iter().map(|(_, group)| group[0].row).collect();
    let lines = groups.iter().zip(names(&rows, Places::Depth)).map(|((_, group), label)| {
        let marks = group.iter().map(|figure| own(figure, state(figure))).collect();
        DotLine { label, note: String::new(), marks, samples: Vec::new() }
    });
    let lines = lines.collect();
    let mut head = Head::new(Some(Area::Disk), "disk-caches", "How much of it is the page cache?");
    head.about =
        "Bytes per second of the same requests past the page cache, through it when it was empty, and from it.".into();
    head.columns = figure_columns(Unit::BytePerSecond);
    let shapes = [Shape::Circle, Shape::Square, Shape::Triangle];
    let words = ["past the page cache", "cold page cache", "warm page cache"];
    let kinds =
        words.iter().zip(shapes).enumerate().map(|(tone, (name, shape))| kind(name, shape, Some(tone))).collect();
    let axis = Axis::new(axis_title(Unit::BytePerSecond), Reading::Auto(Unit::BytePerSecond.into()));
    Dots { head, axis, kinds, lines, spanned: true }.chart()
}
