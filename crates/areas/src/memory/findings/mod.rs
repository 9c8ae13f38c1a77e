//! Findings of memory results: levels of the curve, address translation, load, and remote memory.

use model::document::{Finding, Row};
use model::experiment::memory_id_names_working_set;
use model::isa::{MemoryOp, MemoryPattern, Pages};
use model::number::brief::{bytes, percent, time, times};
use model::number::size_exact as size;
use model::sample::MetricName;
use verdict::findings::estimate::{Against, Estimate, TENTH, rate};
use verdict::findings::rules::{FindingRules, Rule};

use super::core_ceiling::{idle, is_stream, latency};
use super::label::{LABELS, params as memory};
use super::levels::{Curve, DRAM, Level, curves, stands_for_memory};

pub(super) const MEMORY_LEVELS: Rule = Rule::new(
    "memory_levels",
    "values",
    "{what} over working sets has {count} levels: {levels}.",
    "level stretches of the curve (stats::levels), named by the caches that the machine reports",
    "the points of the curve",
);
pub(super) const LOAD_BENDS: Rule = Rule::new(
    "load_bends",
    "bound",
    "Memory latency climbs beyond {rate} of traffic ({share} of the peak): {latency} there, {most} at the peak.",
    "the point of three or more farthest below the line from the least to the most traffic, by a tenth of both ranges \
     at least",
    "the points",
);
const TRANSLATION_COST: Rule = Rule::new(
    "translation_cost",
    "difference",
    "A random access takes {small} with 4 KiB pages and {large} with 2 MiB pages: address translation costs {cost}.",
    "small pages take 5 % longer or more",
    "the two results",
);
const REMOTE_MEMORY: Rule = Rule::new(
    "remote_memory",
    "difference",
    "{value} of remote memory is {factor} that of local memory: {far} versus {near}.",
    "the medians over pairs of nodes; the ranges do not meet",
    "all pairs",
);

pub(super) const FINDINGS: FindingRules = FindingRules {
    describe,
    scaling_series: |series, _| {
        let shows = |rows: &&Vec<&Row>| rows.first().is_some_and(|row| shows_scaling(row));
        series.iter().filter(shows).cloned().collect()
    },
    scaling_limit: |first, _, is_limited| {
        let of_memory = memory(first).is_some_and(|params| params.level.as_deref() == Some(DRAM));
        (of_memory && is_limited).then(|| ": memory is the limit".to_owned())
    },
    rules: &[MEMORY_LEVELS, LOAD_BENDS, TRANSLATION_COST, REMOTE_MEMORY],
    results: |quiet, _, machine| {
        let levels = curves(quiet, machine).first().filter(|curve| slows_down(curve)).and_then(levels_found);
        let single = [levels, translation(quiet), under_load(quiet)];
        single.into_iter().flatten().chain(other_nodes(quiet)).collect()
    },
    ..FindingRules::new(LABELS.title)
};

/// A page size that changes latency by less than this is not worth a sentence.
const TRANSLATION_MATTERS: f64 = 1.05;
/// The least depth of a knee below the line from the first to the last point, as a share of both ranges.
const LEAST_BEND: f64 = 0.1;

/// `Random memory copy of 8 KiB blocks`.
fn describe(row: &Row) -> String {
    let Some(params) = memory(row) else { return row.id.clone() };
    let op = params.op.name();
    let op = op.strip_suffix("_nt").map_or_else(|| op.replace('_', " "), |op| format!("non-temporal {op}"));
    let what = match params.pattern {
        MemoryPattern::Chase => "Dependent loads from memory".to_owned(),
        MemoryPattern::Pair => "Cache line handoff between two cores".to_owned(),
        MemoryPattern::Random => format!("Random memory {op}"),
        MemoryPattern::Sequential => format!("Memory {op}"),
    };
    let blocks = params.block.map_or_else(String::new, |block| format!(" of {} blocks", size(block)));
    let names_size = memory_id_names_working_set(&row.id, params);
    let over = if names_size { format!(" over {}", size(params.working_set)) } else { String::new() };
    let names_isa = row.id.split('/').any(|part| part == params.isa.name());
    let set = if names_isa { format!(" ({})", params.isa.title()) } else { String::new() };
    format!("{what}{blocks}{over}{set}")
}

/// Whether a result shows how memory scales with threads: plain streams, and independent updates at random addresses.
fn shows_scaling(row: &Row) -> bool {
    let random = memory(row).is_some_and(|params| params.op == MemoryOp::Increment);
    is_stream(row) || random && stands_for_memory(row)
}

/// Whether each level of a curve is slower than the one before: otherwise they are noise.
fn slows_down(curve: &Curve<'_>) -> bool {
    let chase = memory(curve.rows[0]).is_some_and(|params| params.pattern == MemoryPattern::Chase);
    let slower = |pair: &[Level]| {
        let ratio = if chase { pair[1].value / pair[0].value } else { pair[0].value / pair[1].value };
        ratio >= TENTH
    };
    curve.levels.windows(2).all(slower)
}

fn levels_found(curve: &Curve<'_>) -> Option<Finding> {
    let params = memory(curve.rows[0])?;
    let chase = params.pattern == MemoryPattern::Chase;
    let value = |level: &Level| if chase { time(level.value) } else { bytes(level.value) };
    let count = curve.levels.len();
    let levels = curve.levels.iter().enumerate().map(|(index, level)| {
        let name = level.name.map_or_else(String::new, |name| format!(" ({})", name.to_uppercase()));
        if index + 1 == count && count > 1 {
            format!("{} from {} on{name}", value(level), size(level.first))
        } else {
            format!("{} up to {}{name}", value(level), size(level.last))
        }
    });
    let what = if chase { "Latency".to_owned() } else { format!("The {} rate", params.op) };
    let fields = [("what", what), ("count", count.to_string()), ("levels", levels.collect::<Vec<_>>().join(", "))];
    MEMORY_LEVELS.finding(&fields, &curve.rows).filter(|_| count > 1)
}

/// What address translation costs: the same chase with large and with small pages.
fn translation(rows: &[&Row]) -> Option<Finding> {
    let (huge, with_huge) = idle(rows.iter().copied(), Pages::Huge2M)?;
    let (small, with_small) = idle(rows.iter().copied(), Pages::Base4K)?;
    let matters = with_small.median / with_huge.median >= TRANSLATION_MATTERS;
    (matters && with_small.against(with_huge)? == Against::More).then_some(())?;
    let fields = [
        ("small", time(with_small.median)),
        ("large", time(with_huge.median)),
        ("cost", time(with_small.median - with_huge.median)),
    ];
    TRANSLATION_COST.finding(&fields, &[huge, small])
}

fn under_load(rows: &[&Row]) -> Option<Finding> {
    let is_loaded = |row: &&Row| memory(row).is_some_and(|own| own.background.is_some() && own.nodes.is_none());
    let loaded = || rows.iter().copied().filter(is_loaded);
    // A curve has one thread count: the most.
    let most_threads = loaded().map(|row| row.params.threads()).max()?;
    let own = loaded().filter(|row| row.params.threads() == most_threads);
    let mut known: Vec<(&Row, Loaded)> =
        own.filter_map(|row| Some((row, (rate(row)?.median, latency(row)?)))).collect();
    known.sort_by(|(_, a), (_, b)| a.0.total_cmp(&b.0));
    let (evidence, points): (Vec<&Row>, Vec<Loaded>) = known.into_iter().unzip();
    let ((least_rate, idle), (most_rate, most)) = (*points.first()?, *points.last()?);
    let climbs = points.len() > 2 && most_rate > least_rate;
    (climbs && most.against(idle)? == Against::More).then_some(())?;
    let (rate, latency) = knee(&points)?;
    let fields = [
        ("rate", bytes(rate)),
        ("share", percent(rate / most_rate)),
        ("latency", time(latency.median)),
        ("most", time(most.median)),
    ];
    LOAD_BENDS.finding(&fields, &evidence)
}

/// A chase under load: the traffic of the other threads in bytes per second, and the latency meanwhile.
type Loaded = (f64, Estimate);

/// Where the curve bends: the point farthest below the line from the first point to the last, as a share of both ranges.
fn knee(points: &[Loaded]) -> Option<Loaded> {
    let (first, last) = (points.first()?, points.last()?);
    let (wide, high) = (last.0 - first.0, last.1.median - first.1.median);
    let below = |point: &Loaded| (point.0 - first.0) / wide - (point.1.median - first.1.median) / high;
    let inner = points.get(1..points.len() - 1).filter(|_| wide > 0.0 && high > 0.0)?;
    let farthest = inner.iter().max_by(|a, b| below(a).total_cmp(&below(b)))?;
    let climbs = last.1.against(farthest.1) == Some(Against::More);
    (climbs && below(farthest) >= LEAST_BEND).then_some(*farthest)
}

fn other_nodes(rows: &[&Row]) -> Vec<Finding> {
    let compare = |op: MemoryOp, name: MetricName, what: &str, words: fn(f64) -> String| {
        let values = rows.iter().copied().filter_map(|row| {
            let params = memory(row).filter(|params| params.op == op && params.pattern != MemoryPattern::Pair)?;
            let (threads, memory) = params.nodes.as_deref()?.split_once('-')?;
            Some((row, threads == memory, Estimate::of_result(row, name)?.median))
        });
        let (own, other): (Vec<_>, Vec<_>) = values.partition(|(_, is_local, _)| *is_local);
        let middle = |of: &[(&Row, bool, f64)]| {
            let values: Vec<f64> = of.iter().map(|(.., value)| *value).collect();
            let summary = stats::summarise(&values)?;
            Some((summary.median, [summary.min, summary.max]))
        };
        let ((near, [near_low, near_high]), (far, [far_low, far_high])) = (middle(&own)?, middle(&other)?);
        (far_low > near_high || far_high < near_low).then_some(())?;
        let fields =
            [("value", what.to_owned()), ("factor", times(far / near)), ("far", words(far)), ("near", words(near))];
        let evidence: Vec<&Row> = own.iter().chain(&other).map(|(row, ..)| *row).collect();
        REMOTE_MEMORY.finding(&fields, &evidence)
    };
    let latency = compare(MemoryOp::Load, MetricName::Latency, "Latency", time);
    let reading = compare(MemoryOp::Read, MetricName::Throughput, "The read rate", bytes);
    latency.into_iter().chain(reading).collect()
}

#[cfg(test)]
pub(super) mod tests;
