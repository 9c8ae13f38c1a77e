//! Memory: where caches end, what bandwidth threads share, what a load costs a latency, what nodes and cores are apart.

use model::document::{Document, Row};
use model::experiment::{Area, MemoryParams};
use model::isa::{MemoryOp, MemoryPattern};
use model::sample::MetricName;
use model::unit::{Better, Unit};

use super::shared::{
    Over, PEAK, by_thread_lines, figures, is_finer, is_of_curve, one_block, only, over_blocks, samples, sides, widest,
    with_other_blocks,
};
use crate::chart::drawing::{Chart, Head};
use crate::chart::figure::{Figure, Group, grouped, lines, names};
use crate::chart::heat::{Heat, HeatCell};
use crate::chart::plot::{Axis, Panel, Plot, Series, Zone};
use crate::chart::scale::Reading;
use crate::grid::value::{Column, GridLine};
use areas::label::{Axis as Places, Label, block_words};
use areas::memory::label::params as memory;
use model::number::{Notation, quantity, size};

pub(super) fn charts(document: &Document) -> Vec<Chart> {
    let rates: Vec<Figure<'_>> = figures(document, Area::Memory, MetricName::Throughput).collect();
    let times: Vec<Figure<'_>> = figures(document, Area::Memory, MetricName::Latency).collect();
    let streams = only(&rates, is_stream);
    let (rates_of_blocks, times_of_blocks) = (only(&rates, has_blocks), only(&times, has_blocks));
    let most = widest(streams.iter().copied());
    let headline: Vec<Figure<'_>> = most.iter().copied().chain(idle(&times)).collect();
    let finest = one_block(by_thread_lines(&times_of_blocks), is_finer);
    [
        throughput().chart(by_thread_lines(&streams)),
        efficiency().efficiencies(by_thread_lines(&streams)),
        sides(sides_head(), &most),
        curve(&times, true),
        curve(&rates, false),
        over_blocks(&throughput_over_blocks(), with_other_blocks(&rates_of_blocks)),
        over_blocks(&latency_over_blocks(), with_other_blocks(&times_of_blocks)),
        latency_over_threads().chart(finest),
        chains(&rates),
        loaded(&times),
        matrix(&times, "memory-core-to-core", MemoryPattern::Pair),
        matrix(&rates, "memory-node-bandwidth", MemoryPattern::Sequential),
        matrix(&times, "memory-node-latency", MemoryPattern::Chase),
        samples(Area::Memory, "memory-samples", &headline),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Whether a row goes in order through all of the machine's memory, threads and nothing else being chosen.
fn is_stream(row: &Row) -> bool {
    let chosen = |params: &MemoryParams| params.block.is_some() || params.placement.is_some() || params.nodes.is_some();
    memory(row).is_some_and(|params| params.pattern == MemoryPattern::Sequential && !chosen(params))
        && !is_of_curve(row)
}

fn has_blocks(row: &Row) -> bool {
    memory(row).is_some_and(|params| params.block.is_some())
}

/// The latency of a chase through all of the memory, with nothing else going on.
fn idle<'a>(times: &[Figure<'a>]) -> Vec<Figure<'a>> {
    let is_idle = |row: &Row| {
        memory(row).is_some_and(|params| {
            params.pattern == MemoryPattern::Chase && params.background.is_none() && params.nodes.is_none()
        }) && !is_of_curve(row)
    };
    times.iter().filter(|figure| is_idle(figure.row)).copied().collect()
}

fn throughput() -> Over {
    Over {
        area: Area::Memory,
        name: "memory-throughput-over-threads",
        title: "Does memory bandwidth grow with threads?".into(),
        about:
            "Bytes per second through all of the memory over threads, a line for each operation, with the theoretical \
                peak as a dash at each point where it is known."
                .into(),
        x: Axis::new("Threads", Reading::Counts),
        y: Axis::new("Throughput", Reading::Auto(Unit::BytePerSecond.into())),
        places: Places::Threads,
        limit: PEAK,
    }
}

fn efficiency() -> Over {
    Over {
        name: "memory-efficiency-over-threads",
        title: "How much of its bandwidth does memory reach?".into(),
        about: "The share of the theoretical peak over threads, for each operation and for the tools beside it.".into(),
        y: Axis::new("Of the peak", Reading::Share),
        ..throughput()
    }
}

fn throughput_over_blocks() -> Over {
    Over {
        name: "memory-throughput-over-blocks",
        title: "Which block size does memory need?".into(),
        about:
            "Bytes per second over the size of blocks, both on logarithmic axes, a panel for each workload and a line \
                for each number of threads."
                .into(),
        x: Axis::new("Block", Reading::Sizes),
        y: Axis::new("Throughput", Reading::Log(Unit::BytePerSecond.into())),
        ..throughput()
    }
}

fn latency_over_blocks() -> Over {
    Over {
        name: "memory-latency-over-blocks",
        title: "How long does a block take?".into(),
        about: "Time of a visit over the size of blocks, both on logarithmic axes, a panel for each workload and a line for \
                each number of threads."
            .into(),
        x: Axis::new("Block", Reading::Sizes),
        y: Axis::new("Time of a visit", Reading::Log(Unit::Second.into())),
        ..throughput()
    }
}

fn latency_over_threads() -> Over {
    Over {
        name: "memory-latency-over-threads",
        title: "Does a visit take longer with more threads?".into(),
        about: "Time that a thread sees for a visit of the smallest block, over threads, a line for each workload."
            .into(),
        y: Axis::new("Time of a visit", Reading::Auto(Unit::Second.into())),
        ..throughput()
    }
}

fn sides_head() -> Head {
    let mut head = Head::new(Some(Area::Memory), "memory-sides", "Measured and theory, operation by operation");
    head.about =
        "Bytes per second of each operation with the most threads, beside the theoretical peak and what trusted \
                  tools measured."
            .into();
    head
}

/// What a row shares with those of other working sets.
fn by_working_set(row: &Row) -> Option<(String, f64)> {
    let params = memory(row).filter(|_| is_of_curve(row))?;
    let same = MemoryParams { working_set: 0, level: None, ..params.clone() };
    Some((format!("{same:?}"), params.working_set as f64))
}

/// Latency, or throughput, over working sets, with the levels that were found in it.
fn curve(all: &[Figure<'_>], is_latency: bool) -> Option<Chart> {
    let own = all.iter().filter(|figure| (figure.metric.better == Better::Lower) == is_latency);
    let mut groups: Vec<_> =
        grouped(own.copied(), by_working_set).into_iter().filter(|group| group.figures.len() > 2).collect();
    groups.truncate(6);
    let (name, title, axis, unit) = if is_latency {
        ("memory-latency-curve", "Where do the caches end?", "Latency", Unit::Second)
    } else {
        ("memory-throughput-curve", "What does each cache let through?", "Throughput", Unit::BytePerSecond)
    };
    let x = Axis::new("Working set", Reading::Sizes);
    let mut plot = Plot::new(Some(Area::Memory), name, title, x, Axis::new(axis, Reading::Log(unit.into())));
    plot.head.about = format!(
        "{axis} over the working set, both on logarithmic axes; the stretches that one cache or the memory serves, as found \
         in the data, are named above."
    );
    plot.head.columns = Figure::columns(unit);
    let rows: Vec<&Row> = groups.iter().map(Group::first).collect();
    let zones = groups.first().map(|group| levels(&group.figures)).unwrap_or_default();
    let told = |group_rows: &[&Row]| -> Vec<String> {
        // The rows of a curve differ in their working sets, which are no part of its name.
        let sized = |(row, name): (&&Row, String)| {
            let own = memory(row).map(|params| size(params.working_set)).unwrap_or_default();
            name.split(", ").filter(|token| *token != own).collect::<Vec<_>>().join(", ")
        };
        group_rows.iter().zip(names(group_rows, Places::Threads)).map(sized).collect()
    };
    let series = groups.iter().zip(told(&rows)).enumerate();
    let series = series.map(|(look, (group, name))| group.series(name, look, bytes_words)).collect();
    plot.panels.push(Panel { series, zones, ..Panel::default() });
    plot.chart()
}

fn bytes_words(bytes: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was a u64")]
    block_words(bytes as u64)
}

/// The stretches of a curve that lie in one level: from the first to the last of its points in a row.
fn levels(figures: &[(f64, Figure<'_>)]) -> Vec<Zone> {
    let mut zones: Vec<(Option<&str>, Zone)> = Vec::new();
    for (bytes, figure) in figures {
        let level = memory(figure.row).and_then(|params| params.level.as_deref());
        match zones.last_mut() {
            Some((last, zone)) if *last == level => zone.to = *bytes,
            _ => zones.push((level, Zone { from: *bytes, to: *bytes, name: level.unwrap_or("").to_uppercase() })),
        }
    }
    zones.into_iter().filter(|(level, zone)| level.is_some() && zone.to > zone.from).map(|(_, zone)| zone).collect()
}

/// What is let through by so many chains of dependent loads at once.
fn chains(rates: &[Figure<'_>]) -> Option<Chart> {
    let place = |row: &Row| {
        let params = memory(row).filter(|params| params.pattern == MemoryPattern::Chase && !is_of_curve(row))?;
        let chains = params.chains.filter(|_| params.background.is_none())?;
        Some((format!("{:?}", MemoryParams { chains: None, ..params.clone() }), f64::from(chains)))
    };
    let over = Over {
        name: "memory-chains",
        title: "How many misses can a core have in flight?".into(),
        about: "Dependent loads per second over the number of independent chains of them in one thread; it levels off where \
                the core can have no more misses in flight."
            .into(),
        x: Axis::new("Chains", Reading::Counts),
        y: Axis::new("Loads", Reading::Auto(Unit::PerSecond.into())),
        ..throughput()
    };
    over.chart(lines(grouped(rates.iter().copied(), place)))
}

/// Latency over the bandwidth that others use meanwhile.
fn loaded(times: &[Figure<'_>]) -> Option<Chart> {
    let loaded = times.iter().filter(|figure| memory(figure.row).is_some_and(|params| params.background.is_some()));
    let mut groups: Vec<(String, Vec<(f64, Figure<'_>)>)> = Vec::new();
    for figure in loaded {
        let Some(load) = Figure::of(figure.row, MetricName::Throughput) else { continue };
        let Some(params) = memory(figure.row) else { continue };
        let op = params.background.map_or(MemoryOp::Read, |load| load.op);
        let same = MemoryParams { background: None, ..params.clone() };
        let key = format!("{op} {same:?}");
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, points)) => points.push((load.value(), *figure)),
            None => groups.push((key, vec![(load.value(), *figure)])),
        }
    }
    let bandwidth = Notation::Plain(Unit::BytePerSecond);
    let x = Axis::new("Bandwidth that the other threads use", Reading::Linear(bandwidth));
    let y = Axis::new("Latency", Reading::Linear(Unit::Second.into()));
    let title = "What does a load cost the latency of memory?";
    let mut plot = Plot::new(Some(Area::Memory), "memory-loaded-latency", title, x, y);
    plot.head.about =
        "Latency of dependent loads in one thread over the bandwidth that the other threads use meanwhile; each \
                       point is another pause between their accesses."
            .into();
    plot.head.columns = Figure::columns(Unit::Second);
    let series = groups.into_iter().enumerate().map(|(look, (_, mut figures))| {
        figures.sort_by(|one, other| one.0.total_cmp(&other.0));
        let load = memory(figures[0].1.row).and_then(|params| params.background);
        let name = load.map_or_else(String::new, |load| format!("while others {}", load.op));
        let points = figures.iter().map(|(at, figure)| figure.point(*at, quantity(*at, bandwidth))).collect();
        Series { name, look, joined: true, points, guide: Vec::new(), is_named_above: false }
    });
    let series = series.collect();
    plot.panels.push(Panel { series, ..Panel::default() });
    plot.chart()
}

/// The two places that a row is between: `0-1`, `cpu0-cpu1`.
fn between(row: &Row) -> Option<(u32, u32)> {
    let (from, to) = memory(row)?.nodes.as_deref()?.split_once('-')?;
    let number = |text: &str| text.trim_start_matches("cpu").parse().ok();
    Some((number(from)?, number(to)?))
}

/// From each node or core to each other; a line between two cores goes both ways.
fn matrix(all: &[Figure<'_>], name: &'static str, pattern: MemoryPattern) -> Option<Chart> {
    let first = all.iter().find(|figure| is_between(figure.row, pattern, None))?;
    let op = memory(first.row).map(|params| params.op);
    let own =
        all.iter().filter(|figure| is_between(figure.row, pattern, op) && figure.metric.unit == first.metric.unit);
    let both_ways = pattern == MemoryPattern::Pair;
    let (title, sides) = match pattern {
        MemoryPattern::Pair => ("Which cores are close to each other?", ("CPU", "CPU")),
        MemoryPattern::Chase => ("How far is each node's memory?", ("CPUs of node", "memory of node")),
        _ => ("How much of each node's memory reaches each node?", ("CPUs of node", "memory of node")),
    };
    let mut cells: Vec<HeatCell> = Vec::new();
    for figure in own {
        let Some((from, to)) = between(figure.row) else { continue };
        let cell = |from, to| HeatCell {
            from,
            to,
            line: GridLine::of(figure.row, figure.cells()),
            facts: figure.facts(),
            is_doubtful: figure.is_doubtful(),
        };
        cells.push(cell(from, to));
        if both_ways && from != to {
            cells.push(cell(to, from));
        }
    }
    cells.sort_by_key(|cell| (cell.from, cell.to));
    cells.dedup_by_key(|cell| (cell.from, cell.to));
    let of = |side: fn(&HeatCell) -> u32| {
        let mut all: Vec<u32> = cells.iter().map(side).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let (rows, columns) = (of(|cell| cell.from), of(|cell| cell.to));
    let mut head = Head::new(Some(Area::Memory), name, title);
    head.about = format!(
        "A matrix of {} ({}): the stronger the colour, the more; the figures stand in the cells where there is room.",
        Label::alone(first.row).what,
        if both_ways {
            "a line handed from one CPU to another and back"
        } else {
            "CPUs of one node, memory of another"
        },
    );
    head.columns = Figure::columns(first.metric.unit).into_iter().collect::<Vec<Column>>();
    let sides = if both_ways { ("from CPU", "to CPU") } else { sides };
    let sides = (sides.0.to_owned(), sides.1.to_owned());
    Heat { head, sides, rows, columns, notation: first.notation(), cells }.chart()
}

fn is_between(row: &Row, pattern: MemoryPattern, op: Option<MemoryOp>) -> bool {
    let is = |params: &MemoryParams| params.pattern == pattern && op.is_none_or(|op| params.op == op);
    memory(row).is_some_and(is) && between(row).is_some()
}
