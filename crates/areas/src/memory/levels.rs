//! Which cache, or memory itself, serves a working set, as the curve over working sets shows it.
//!
//! `stats` finds the levels without knowing the caches; their names come from the sizes that the machine reports.

use model::document::Row;
use model::experiment::{MemoryParams, Params, memory_id_names_working_set};
use model::isa::MemoryPattern;
use model::machine::Machine;
use model::unit::Better;
use verdict::findings::estimate::{Estimate, is_undisturbed};
use verdict::grouping::by_key;

use super::label::params as memory;
use super::working_sets::CACHES_PER_WORKING_SET;

pub(super) const DRAM: &str = "dram";
const CACHES: [&str; 3] = ["l1", "l2", "l3"];

/// A curve over working sets: results that differ in nothing else.
#[derive(Debug)]
pub(super) struct Curve<'a> {
    pub(super) rows: Vec<&'a Row>,
    /// Its levels, the fastest first.
    pub(super) levels: Vec<Level>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Level {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) value: f64,
    /// `l1`, `l2`, `l3` or `dram`; `None` if no cache of the machine fits.
    pub(super) name: Option<&'static str>,
}

/// Whether a result's working set follows from the machine, so that it measures memory rather than a cache.
pub(super) fn stands_for_memory(row: &Row) -> bool {
    memory(row).is_some_and(|params| !memory_id_names_working_set(&row.id, params))
}

/// Every curve of a run, those of latency first: without prefetching they show levels best.
pub(super) fn curves<'a>(rows: &[&'a Row], machine: &Machine) -> Vec<Curve<'a>> {
    let points = rows.iter().copied().filter(|row| headline(row).is_some() && !stands_for_memory(row));
    let common = |row: &&Row| Some(MemoryParams { working_set: 0, level: None, ..memory(row)?.clone() });
    let mut groups = by_key(points, common);
    groups.sort_by_key(|(params, _)| params.pattern != MemoryPattern::Chase);
    groups.into_iter().filter_map(|(_, group)| curve(group, machine)).collect()
}

pub(super) fn headline(row: &Row) -> Option<(f64, Better)> {
    let metric = row.metrics.first().filter(|_| is_undisturbed(row))?;
    Some((Estimate::of_metric(metric)?.median, metric.better))
}

fn working_set(row: &Row) -> u64 {
    memory(row).map_or(0, |params| params.working_set)
}

/// The curve of these results; `None` if they are too few, or have no level.
fn curve<'a>(mut rows: Vec<&'a Row>, machine: &Machine) -> Option<Curve<'a>> {
    rows.sort_by_key(|row| working_set(row));
    let times = rows.iter().filter_map(|row| {
        let (value, better) = headline(row)?;
        Some((working_set(row) as f64, if better == Better::Higher { 1.0 / value } else { value }))
    });
    let found = stats::levels(&times.collect::<Vec<_>>())?;
    let cpus = &rows.first()?.conditions.cpus;
    let caches = machine.data_caches_of(*cpus.first().unwrap_or(&0));
    let behind = machine.last_level_caches_behind(cpus);
    // Two levels are never one cache.
    let mut left = &caches[..];
    let levels = found.iter().enumerate().map(|(index, level)| {
        let (first, last) = (working_set(rows[level.first]), working_set(rows[level.last]));
        let values: Vec<f64> = rows[level.first..=level.last].iter().filter_map(|row| Some(headline(row)?.0)).collect();
        let beyond = index + 1 == found.len() && behind.is_some_and(|bytes| last >= CACHES_PER_WORKING_SET * bytes);
        let middle = (first as f64 * last as f64).sqrt();
        let name = if beyond { Some(DRAM) } else { cache_of(middle, &mut left) };
        Level { first, last, value: stats::summarise(&values).map_or(level.value, |found| found.median), name }
    });
    let levels: Vec<Level> = levels.collect();
    (!levels.is_empty()).then_some(Curve { rows, levels })
}

/// The smallest remaining cache that holds the middle of a level; removes those up to it.
fn cache_of(middle: f64, left: &mut &[(u32, u64)]) -> Option<&'static str> {
    let index = left.iter().position(|(_, cache)| *cache as f64 >= middle)?;
    let (level, _) = left[index];
    *left = &left[index + 1..];
    CACHES.get((level as usize).checked_sub(1)?).copied()
}

/// Sets the level of every memory result, as the run's first curve shows it; none between two levels.
pub(super) fn set(rows: &mut [Row], machine: &Machine) {
    let quiet: Vec<&Row> = rows.iter().filter(|row| is_undisturbed(row)).collect();
    let levels = curves(&quiet, machine).into_iter().next().map(|curve| curve.levels).unwrap_or_default();
    for row in rows.iter_mut().filter(|row| row.confidence.is_some()) {
        let behind = machine.last_level_caches_behind(&row.conditions.cpus);
        if let Params::Memory(params) = &mut row.params {
            params.level = level_of(params, &levels, behind).map(str::to_owned);
        }
    }
}

/// The level that serves a result: a core's caches hold a thread's part, the last-level caches hold all of it.
fn level_of(params: &MemoryParams, levels: &[Level], behind: Option<u64>) -> Option<&'static str> {
    if params.pattern == MemoryPattern::Pair {
        return None;
    }
    let threads = u64::from(params.threads.max(1));
    let last = levels.last().filter(|level| level.name == Some(DRAM) && params.working_set >= level.first);
    if last.is_some() && behind.is_some_and(|bytes| params.working_set >= CACHES_PER_WORKING_SET * bytes) {
        return Some(DRAM);
    }
    let share = params.working_set / threads;
    let own = levels.iter().find(|level| (level.first..=level.last).contains(&share))?;
    // A curve of one thread does not show what several threads share.
    own.name.filter(|name| *name != DRAM && (threads == 1 || CACHES[..2].contains(name)))
}

#[cfg(test)]
mod tests {
    use model::warning::Confidence;

    use super::super::findings::tests::{curve_rows, machine};
    use super::*;

    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;

    fn levels_of(rows: &mut [Row], machine: &Machine) -> Vec<(u64, Option<String>)> {
        set(rows, machine);
        rows.iter().map(|row| memory(row).unwrap()).map(|params| (params.working_set, params.level.clone())).collect()
    }

    #[test]
    fn each_working_set_has_the_level_that_serves_it_and_none_between_two() {
        let mut rows = curve_rows();
        let found = levels_of(&mut rows, &machine(32 * MIB));
        let at = |bytes: u64| found.iter().find(|(size, _)| *size == bytes).and_then(|(_, level)| level.as_deref());
        assert_eq!(
            [at(4 * KIB), at(48 * KIB), at(2 * MIB), at(32 * MIB)],
            [Some("l1"), Some("l1"), Some("l2"), Some("l3")]
        );
        assert_eq!([at(64 * MIB), at(128 * MIB), at(1024 * MIB)], [None, Some("dram"), Some("dram")]);
        let mut rows = curve_rows();
        let found = levels_of(&mut rows, &machine(260 * MIB));
        assert!(found.iter().all(|(_, level)| level.as_deref() != Some(DRAM)), "{found:?}");
        let mut rows = curve_rows();
        let unknown = Machine { caches: Vec::new(), ..machine(32 * MIB) };
        assert!(levels_of(&mut rows, &unknown).iter().all(|(_, level)| level.is_none()));
    }

    #[test]
    fn levels_need_a_curve_and_threads_have_caches_of_their_own() {
        let mut rows = curve_rows();
        rows.truncate(2);
        assert!(levels_of(&mut rows, &machine(32 * MIB)).iter().all(|(_, level)| level.is_none()));
        let mut rows = curve_rows();
        rows.iter_mut().for_each(|row| row.confidence = Some(Confidence::Low));
        assert!(levels_of(&mut rows, &machine(32 * MIB)).iter().all(|(_, level)| level.is_none()), "disturbed");
        let mut rows = curve_rows();
        let mut shared = rows[0].clone();
        if let Params::Memory(params) = &mut shared.params {
            (params.threads, params.working_set) = (2, 2 * MIB);
        }
        shared.conditions.cpus = vec![0, 1];
        shared.id = "memory/sequential-read/2MiB/t2".into();
        rows.push(shared);
        let found = levels_of(&mut rows, &machine(32 * MIB));
        assert_eq!(found.last().unwrap().1.as_deref(), Some("l2"), "1 MiB each");
    }
}
