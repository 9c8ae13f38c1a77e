//! What the rows of memory say together: the levels of the curve against the caches that the machine reports, what address
//! translation, load and too few misses at a time cost, what stores read before they write, wider vectors, threads that
//! were not alike, and memory that is another node's.
//!
//! Each rule names its rows by their parameters; disturbed rows (grade C) take no part.

mod access;
pub(crate) mod levels;

use model::document::{Finding, Row};
use model::experiment::{Area, MemoryParams};
use model::isa::{MemoryOp, MemoryPattern, Pages};
use model::machine::Machine;
use model::sample::MetricName;
use model::unit::Better;

use super::figure::{Against, Figure, TENTH};
use super::rules::Code;
use super::scaling;
use super::words::{bytes, joined, size, time};
use levels::{Curve, DRAM, Level, curves, memory, stands_for_memory};

pub(crate) use access::{core_ceiling, reads_memory_alone};

/// The end of a level agrees with a cache where it is at least half of it and no more than one step of the curve beyond.
const AGREES: (f64, f64) = (0.5, 1.5);

/// A page size that changes latency by less than this is not worth a sentence.
const TRANSLATION_MATTERS: f64 = 1.05;

/// All findings of the memory area, of its quiet rows and their series.
pub(super) fn findings(quiet: &[&Row], series: &[Vec<&Row>], machine: &Machine) -> Vec<Finding> {
    let curves = curves(quiet, machine);
    let mut findings = scaling::findings(Area::Memory, &that_grow(series), machine);
    if let Some(curve) = curves.first().filter(|curve| slows_down(curve)) {
        findings.extend(levels_found(curve));
        findings.extend(against_caches(curve, machine));
    }
    findings.extend(translation(quiet));
    findings.extend(access::parallel_misses(quiet));
    findings.extend(access::under_load(quiet));
    findings.extend(access::write_allocate(quiet));
    findings.extend(access::wider_vectors(quiet));
    findings.extend(access::uneven_threads(quiet));
    findings.extend(access::other_nodes(quiet));
    findings
}

/// A quiet row's latency.
fn latency(row: &Row) -> Option<Figure> {
    Figure::of(row, MetricName::Latency)
}

/// Whether a row streams through memory in order, and in no special way.
fn is_stream(row: &Row) -> bool {
    memory(row).is_some_and(|params| {
        let special = params.block.is_some() || params.placement.is_some() || params.nodes.is_some();
        params.pattern == MemoryPattern::Sequential && !special && stands_for_memory(row)
    })
}

/// Whether a row is a chase of one thread through all of memory; what it varies is the caller's.
fn is_idle_chase(params: &MemoryParams) -> bool {
    params.pattern == MemoryPattern::Chase
        && params.threads == 1
        && params.background.is_none()
        && params.nodes.is_none()
        && params.placement.is_none()
}

/// The idle latency of memory: one chain through the whole buffer.
fn idle<'a>(rows: impl IntoIterator<Item = &'a Row>, pages: Pages) -> Option<(&'a Row, Figure)> {
    let wanted = |row: &&Row| {
        memory(row).is_some_and(|params| {
            is_idle_chase(params) && params.chains.unwrap_or(1) == 1 && params.pages == pages && params.group.is_none()
        }) && stands_for_memory(row)
    };
    let row = rows.into_iter().find(wanted)?;
    Some((row, latency(row)?))
}

/// The series that say how memory grows with threads: plain streams, and independent updates at random.
fn that_grow<'a>(series: &[Vec<&'a Row>]) -> Vec<Vec<&'a Row>> {
    let grows = |row: &Row| {
        let random = memory(row).is_some_and(|params| params.op == MemoryOp::Increment);
        is_stream(row) || random && stands_for_memory(row)
    };
    series.iter().filter(|rows| rows.first().is_some_and(|row| grows(row))).cloned().collect()
}

/// The name of a level in a sentence: `L2`, `DRAM`.
fn title(level: &Level) -> Option<String> {
    level.name.map(str::to_uppercase)
}

/// Whether each level of a curve is slower than the one before, so that they are levels and not noise.
fn slows_down(curve: &Curve<'_>) -> bool {
    let chase = memory(curve.rows[0]).is_some_and(|params| params.pattern == MemoryPattern::Chase);
    let slower = |pair: &[Level]| {
        let ratio = if chase { pair[1].value / pair[0].value } else { pair[0].value / pair[1].value };
        ratio >= TENTH
    };
    curve.levels.windows(2).all(slower)
}

/// The levels that the curve shows.
fn levels_found(curve: &Curve<'_>) -> Option<Finding> {
    let params = memory(curve.rows[0])?;
    let chase = params.pattern == MemoryPattern::Chase;
    let value = |level: &Level| if chase { time(level.value) } else { bytes(level.value) };
    let count = curve.levels.len();
    let told = curve.levels.iter().enumerate().map(|(index, level)| {
        let name = title(level).map_or_else(String::new, |name| format!(" ({name})"));
        if index + 1 == count && count > 1 {
            format!("{} from {} on{name}", value(level), size(level.first))
        } else {
            format!("{} up to {}{name}", value(level), size(level.last))
        }
    });
    let what = if chase { "Latency".to_owned() } else { format!("The {} rate", params.op) };
    let fields = [("what", what), ("count", count.to_string()), ("levels", told.collect::<Vec<_>>().join(", "))];
    (count > 1).then(|| Code::MemoryLevels.tell(Area::Memory, &fields, &curve.rows))
}

/// The curve's levels beside the caches that the machine reports, as far as the curve goes.
fn against_caches(curve: &Curve<'_>, machine: &Machine) -> Vec<Finding> {
    let cpu = curve.rows[0].conditions.cpus.first().copied().unwrap_or(0);
    let Some(reach) = curve.rows.last().and_then(|row| memory(row)).map(|params| params.working_set) else {
        return Vec::new();
    };
    let mut agreeing: Vec<String> = Vec::new();
    let mut findings = Vec::new();
    for (level, bytes) in machine.data_caches_of(cpu).into_iter().filter(|(_, bytes)| *bytes > 0 && *bytes < reach) {
        let cache = format!("L{level}");
        let serves = |level: &&Level| title(level).is_some_and(|name| name == cache);
        let fields = |end: u64| {
            let guest = match machine.virtualization {
                Some(_) => "; in a guest it may be shared, or made up",
                None => "",
            };
            [("cache", cache.clone()), ("size", size(bytes)), ("guest", guest.to_owned()), ("end", size(end))]
        };
        match curve.levels.iter().rev().find(serves) {
            Some(found) if (AGREES.0..=AGREES.1).contains(&(found.last as f64 / bytes as f64)) => {
                agreeing.extend(is_left(curve, found, bytes).then(|| format!("{cache} of {}", size(bytes))));
            }
            Some(found) => {
                findings.push(Code::CacheSizeDiffers.tell(Area::Memory, &fields(found.last), &curve.rows));
            }
            None => findings.push(Code::CacheNotSeen.tell(Area::Memory, &fields(0), &curve.rows)),
        }
    }
    if !agreeing.is_empty() {
        let fields = [("caches", joined(&agreeing))];
        findings.insert(0, Code::CacheSizesAgree.tell(Area::Memory, &fields, &curve.rows));
    }
    findings
}

/// Whether a curve is slower than a level up to four times beyond the cache that ends it.
fn is_left(curve: &Curve<'_>, level: &Level, bytes: u64) -> bool {
    let beyond = |size: u64| size as f64 > AGREES.1 * bytes as f64 && size <= levels::CACHES_PER_WORKING_SET * bytes;
    let rows = curve.rows.iter().filter(|row| memory(row).is_some_and(|params| beyond(params.working_set)));
    let found: Vec<(f64, Better)> = rows.filter_map(|row| levels::headline(row)).collect();
    let values: Vec<f64> = found.iter().map(|(value, _)| *value).collect();
    let slower = |value: f64| match found[0].1 {
        Better::Higher => level.value / value,
        Better::Lower => value / level.value,
    };
    stats::summarise(&values).is_ok_and(|beyond| slower(beyond.median) >= TENTH)
}

/// What address translation costs: the same chase with large pages and with small ones.
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
    Some(Code::TranslationCost.tell(Area::Memory, &fields, &[huge, small]))
}

#[cfg(test)]
pub(crate) mod tests;
