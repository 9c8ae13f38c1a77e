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

use super::{FEW, basis, scaling, size};
use crate::scaling::rate;
use levels::{Curve, DRAM, Level, curves, median, memory, stands_for_memory};

pub(crate) use access::{core_ceiling, reads_memory_alone};

/// The end of a level agrees with a cache where it is at least half of it and no more than one step of the curve beyond.
const AGREES: (f64, f64) = (0.5, 1.5);

/// A page size that changes latency by less than this is not worth a sentence.
const TRANSLATION_MATTERS: f64 = 1.05;

/// All findings of the memory area.
pub(super) fn findings(rows: &[Row], series: &[Vec<&Row>], machine: &Machine) -> Vec<Finding> {
    let curves = curves(rows, machine);
    let mut findings = Vec::new();
    if let Some(curve) = curves.first() {
        findings.extend(levels_found(curve));
        findings.extend(against_caches(curve, machine));
    }
    findings.extend(growth(series));
    findings.extend(translation(rows, machine));
    findings.extend(access::parallel_misses(rows));
    findings.extend(access::under_load(rows));
    findings.extend(access::write_allocate(rows));
    findings.extend(access::wider_vectors(rows));
    findings.extend(access::uneven_threads(rows));
    findings.extend(access::other_nodes(rows));
    findings
}

fn finding(code: &str, text: String, evidence: &[&Row]) -> Finding {
    let evidence = evidence.iter().map(|row| row.id.clone()).collect();
    Finding { code: code.to_owned(), area: Area::Memory, text, evidence }
}

/// A time as a sentence has it: three digits.
fn nanoseconds(seconds: f64) -> String {
    let value = 1e9 * seconds;
    if value < 9.95 {
        format!("{value:.2} ns")
    } else if value < 99.95 {
        format!("{value:.1} ns")
    } else {
        format!("{value:.0} ns")
    }
}

/// A rate as a sentence has it.
fn gigabytes(bytes_per_second: f64) -> String {
    let value = bytes_per_second / 1e9;
    if value < 99.95 { format!("{value:.1} GB/s") } else { format!("{value:.0} GB/s") }
}

/// A row's latency with what it rests on: `98.7 ns (n=9, ±0.8 %)`.
fn quoted(row: &Row) -> Option<String> {
    let metric = row.metric(MetricName::Latency)?;
    Some(format!("{} ({})", nanoseconds(metric.summary.median), basis(metric)))
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
fn idle(rows: &[Row], pages: Pages, group: Option<u64>) -> Option<(&Row, f64)> {
    let wanted = |row: &&Row| {
        memory(row).is_some_and(|params| {
            is_idle_chase(params)
                && params.chains.unwrap_or(1) == 1
                && (params.pages, params.group.is_some()) == (pages, group.is_some())
        }) && stands_for_memory(row)
    };
    let row = rows.iter().find(wanted)?;
    Some((row, median(row, MetricName::Latency)?))
}

/// The name of a level in a sentence: `L2`, `DRAM`.
fn title(level: &Level) -> Option<String> {
    level.name.map(str::to_uppercase)
}

/// What the curve goes by: `Latency`, or `The read rate`.
fn curve_words(curve: &Curve<'_>) -> String {
    match memory(curve.rows[0]) {
        Some(params) if params.pattern != MemoryPattern::Chase => format!("The {} rate", params.op),
        _ => "Latency".to_owned(),
    }
}

/// The levels that the curve shows.
fn levels_found(curve: &Curve<'_>) -> Option<Finding> {
    let chase = memory(curve.rows[0])?.pattern == MemoryPattern::Chase;
    let value = |level: &Level| if chase { nanoseconds(level.value) } else { gigabytes(level.value) };
    let count = curve.levels.len();
    let told = curve.levels.iter().enumerate().map(|(index, level)| {
        let name = title(level).map_or_else(String::new, |name| format!(" ({name})"));
        if index + 1 == count && count > 1 {
            format!("{} from {} on{name}", value(level), size(level.first))
        } else {
            format!("{} up to {}{name}", value(level), size(level.last))
        }
    });
    let (first, last) = (curve.rows.first()?, curve.rows.last()?);
    let from_to = format!("{} to {}", size(memory(first)?.working_set), size(memory(last)?.working_set));
    let n = curve.rows.iter().filter_map(|row| row.metrics.first()).map(|metric| metric.summary.n).min()?;
    let text = format!(
        "{} over working sets of {from_to} ({} points, n={n} each) has {count} level{}: {}.",
        curve_words(curve),
        curve.rows.len(),
        if count == 1 { "" } else { "s" },
        told.collect::<Vec<_>>().join(", ")
    );
    Some(finding("memory_levels", text, &[first, last]))
}

/// The curve's levels beside the caches that the machine reports, as far as the curve goes.
fn against_caches(curve: &Curve<'_>, machine: &Machine) -> Vec<Finding> {
    let cpu = curve.rows[0].conditions.cpus.first().copied().unwrap_or(0);
    let (Some(first), Some(last)) = (curve.rows.first(), curve.rows.last()) else { return Vec::new() };
    let reach = memory(last).map_or(0, |params| params.working_set);
    let caches = machine.data_caches_of(cpu);
    let mut agreeing: Vec<String> = Vec::new();
    let mut findings = Vec::new();
    for (level, bytes) in caches.into_iter().filter(|(_, bytes)| *bytes < reach) {
        let cache = format!("L{level}");
        let ends = |level: &&Level| title(level).is_some_and(|name| name == cache);
        match curve.levels.iter().rev().find(ends) {
            Some(found) if (AGREES.0..=AGREES.1).contains(&(found.last as f64 / bytes as f64)) => {
                agreeing.push(format!("{cache} of {}", size(bytes)));
            }
            Some(found) if found.last > bytes => {
                let text = format!(
                    "The curve goes on level beyond the {cache} of {} that the machine reports, up to {}: it is not \
                     that cache alone that serves it{}.",
                    size(bytes),
                    size(found.last),
                    shared_words(machine)
                );
                findings.push(finding("cache_size_differs", text, &[first, last]));
            }
            Some(found) => {
                let text = format!(
                    "The machine reports an {cache} of {}, but the level of the curve that it would serve ends at {}{}.",
                    size(bytes),
                    size(found.last),
                    shared_words(machine)
                );
                findings.push(finding("cache_size_differs", text, &[first, last]));
            }
            None => {
                let text = format!(
                    "The curve has no level of its own for the {cache} of {} that the machine reports{}.",
                    size(bytes),
                    shared_words(machine)
                );
                findings.push(finding("cache_not_seen", text, &[first, last]));
            }
        }
    }
    if !agreeing.is_empty() {
        let text = format!("The curve leaves its levels where the machine reports the ends of {}.", joined(&agreeing));
        findings.insert(0, finding("cache_sizes_agree", text, &[first, last]));
    }
    findings
}

/// Why a guest may not have the cache that it is shown.
fn shared_words(machine: &Machine) -> &'static str {
    match machine.virtualization {
        Some(_) => ": in a guest, part of it may be somebody else's, and its size made up",
        None => "",
    }
}

/// `a`, `a and b`, `a, b and c`.
fn joined(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// How rates grow with their threads: a sentence each where they are few, else one for all.
fn growth(series: &[Vec<&Row>]) -> Vec<Finding> {
    let plain = |rows: &&Vec<&Row>| {
        let first = rows.first().copied();
        let random = |row: &Row| memory(row).is_some_and(|params| params.op == MemoryOp::Increment);
        first.is_some_and(|row| is_stream(row) || random(row) && stands_for_memory(row))
    };
    let several: Vec<&Vec<&Row>> = series.iter().filter(plain).filter(|rows| rows.len() > 1).collect();
    if several.len() <= FEW {
        return several.iter().filter_map(|rows| scaling(rows)).collect();
    }
    let step = |rows: &&Vec<&'_ Row>| -> Option<f64> {
        let quiet = rows.iter().all(|row| row.grade.is_some_and(|grade| grade < model::warning::Grade::C));
        rate(rows.last()?).zip(rate(rows.first()?)).filter(|_| quiet).map(|(last, first)| last / first)
    };
    let steps: Vec<(f64, &Row, &Row)> =
        several.iter().filter_map(|rows| Some((step(rows)?, *rows.first()?, *rows.last()?))).collect();
    let least = steps.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let most = steps.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(least), Some(most)) = (least, most) else { return Vec::new() };
    let (few, many) = (least.1.params.threads(), least.2.params.threads());
    let limit = super::LIMITED * f64::from(many) / f64::from(few);
    let limited = steps.iter().filter(|step| step.0 < limit).count();
    let bound = match limited {
        0 => "none is held back by the memory that all share",
        all if all == steps.len() => "memory, not cores, is the limit of all of them",
        _ => "memory, not cores, is the limit of those below",
    };
    let bound = if limited > 0 && limited < steps.len() { format!("{bound} {limit:.2}x") } else { bound.to_owned() };
    let text = format!(
        "From {few} to {many} threads {} kinds of access grow {:.2}x ({}) to {:.2}x ({}): {bound}.",
        steps.len(),
        least.0,
        access::words(least.1),
        most.0,
        access::words(most.1)
    );
    vec![finding("memory_scaling", text, &[least.1, least.2, most.1, most.2])]
}

/// What address translation costs: the same chase with large pages, with small ones, and with small ones that it takes
/// group by group.
fn translation(rows: &[Row], machine: &Machine) -> Option<Finding> {
    let (huge, with_huge) = idle(rows, Pages::Huge2M, None)?;
    let (small, with_small) = idle(rows, Pages::Base4K, None)?;
    let grouped = idle(rows, Pages::Base4K, Some(1));
    if with_small / with_huge < TRANSLATION_MATTERS {
        return None;
    }
    let guest = match machine.virtualization {
        Some(_) => {
            " In a guest, 2 MiB pages need not be 2 MiB pages of the host: what remains of translation in the lower \
             figure cannot be told from here."
        }
        None => "",
    };
    let by_group = grouped.and_then(|(row, _)| {
        let bytes = memory(row)?.group?;
        Some(format!(" Taken {} by {} it is {}: nearly no page is walked for.", size(bytes), size(bytes), quoted(row)?))
    });
    let text = format!(
        "A random access takes {} with 4 KiB pages and {} with 2 MiB pages: address translation costs {}.{}{guest}",
        quoted(small)?,
        quoted(huge)?,
        nanoseconds(with_small - with_huge),
        by_group.unwrap_or_default()
    );
    let evidence: Vec<&Row> = [huge, small].into_iter().chain(grouped.map(|(row, _)| row)).collect();
    Some(finding("translation_cost", text, &evidence))
}

#[cfg(test)]
pub(crate) mod tests;
