//! From a request to the plan.

use std::collections::HashSet;

use model::experiment::{Area as Name, Experiment};
use model::machine::Machine;
use model::plan::{Plan, PlanError, Planned, Sampling, TOOL_RUN_SECONDS};
use model::warning::{Warning, WarningCode};
use verdict::rules::AreaRules;

use crate::request::{AreaEntry, Request};
use crate::suite::{Suite, matches_any};
use crate::{cpu, disk, linpack, memory, net};

/// Every area, in the order of [`Name`]; a new one is a folder and one line here.
static AREAS: &[AreaEntry] = &[cpu::AREA, linpack::AREA, memory::AREA, disk::AREA, net::AREA];
/// How the results of every area are judged.
pub static RULES: &[AreaRules] = &[cpu::RULES, linpack::RULES, memory::RULES, disk::RULES, net::RULES];

pub fn rules(name: Name) -> AreaRules {
    AreaRules::of(RULES, name)
}

pub(crate) fn area(name: Name) -> &'static AreaEntry {
    &AREAS[name as usize]
}

/// Kernel and counting rule by which this version measures a benchmark; `None` if it cannot.
pub fn method(experiment: &Experiment) -> Option<String> {
    (area(experiment.area).method)(experiment)
}

/// The default period of CPU quotas [kernel documentation, `scheduler/sched-bwc.rst`].
const QUOTA_PERIOD_SECONDS: f64 = 0.1;
/// The fewest periods in a sample under a quota.
const QUOTA_PERIODS: f64 = 3.0;
const LAYOUT_SHARE: f64 = 1.0 / 3.0;

/// The plan of a request on a machine; an error for an area or filter that matches nothing, or an impossible choice.
pub fn plan(request: &Request, machine: &Machine) -> Result<Plan, PlanError> {
    let mut rows: Vec<Planned> = Vec::new();
    // Two blocks may ask for the same benchmark.
    let mut ids = HashSet::new();
    for area in AREAS {
        let expanded = (area.expand)(request, machine)?;
        rows.extend(expanded.into_iter().filter(|row| ids.insert(row.experiment.id.clone())));
    }
    check_areas(request, &rows)?;
    if request.exact_workload && rows.iter().all(|row| row.exact_work.is_none()) {
        let suite = &request.suite.name;
        return Err(PlanError(format!("the suite '{suite}' has no exact workloads; use the suite classic")));
    }
    rows.retain(|row| request.areas.is_empty() || request.areas.contains(&row.experiment.area));
    if let Some(filter) = &request.filter {
        apply_filter(&mut rows, filter)?;
    }
    for row in rows.iter_mut().filter(|row| row.exact_work.is_none()) {
        row.sampling.sample_seconds = under_quota(row.sampling.sample_seconds, row.cpus.len(), machine.cpu.quota_cpus);
    }
    for row in &mut rows {
        set_tools(row, request);
    }
    if cfg!(debug_assertions) {
        for row in &mut rows {
            row.warnings.push(Warning::new(WarningCode::DebugBuild, 1.0, "This is a debug build."));
        }
    }
    let Suite { name, sessions, pause, repeat_share, .. } = &request.suite;
    Ok(Plan {
        suite: name.clone(),
        rows,
        seed: request.seed,
        repeat: request.repeat,
        sessions: request.repeat.map_or(*sessions, |repeat| repeat.min(*sessions)),
        pause_seconds: *pause,
        repeat_share: *repeat_share,
        layout_seconds: layout_seconds(request),
        write_budget: request.write_budget.or(request.suite.write_budget.filter(|_| !request.exact_workload)),
        not_compared: Vec::new(),
    })
}

/// The most seconds for laying out a test file, if the suite has a time budget that applies.
fn layout_seconds(request: &Request) -> Option<u32> {
    let in_full =
        !request.choices.disk.size.is_empty() || request.exact_workload || !request.references.tools.is_empty();
    let seconds = request.suite.time_budget.filter(|_| !in_full)? * LAYOUT_SHARE;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a budget of a run is no century")]
    Some(seconds.max(1.0) as u32)
}

/// Sets the reference tools of a benchmark. Each sample is paired with a run of each tool, so it has a process run of its own
/// and their length.
fn set_tools(row: &mut Planned, request: &Request) {
    let of_suite = request.suite.references.as_ref().filter(|_| request.references.of_suite);
    // A tool shows the same at most steps of a curve.
    if row.alone && request.filter.is_none() {
        return;
    }
    if row.sampling.until_steady || of_suite.is_some_and(|wanted| !wanted.apply_to(row)) {
        return;
    }
    let wanted = |tool: &&String| of_suite.is_none_or(|suite| suite.has(tool));
    let can_run = |tool: &&String| (request.references.can_run)(tool, &row.experiment);
    row.reference_tools = request.references.tools.iter().filter(wanted).filter(can_run).cloned().collect();
    if !row.reference_tools.is_empty() {
        let sampling = row.sampling.clone();
        let samples = of_suite.map_or(sampling.samples, |wanted| sampling.samples.min(wanted.pairs));
        let whole = row.exact_work.is_some() || row.experiment.area == Name::Linpack;
        let sample_seconds = if whole { sampling.sample_seconds } else { TOOL_RUN_SECONDS };
        row.sampling = Sampling { samples, most: None, per_launch: 1, sample_seconds, ..sampling };
    }
}

/// The length of a sample: whole periods of a quota that will stop its threads, so that each sample runs and pauses equally.
fn under_quota(seconds: f64, threads: usize, quota_cpus: Option<f64>) -> f64 {
    if quota_cpus.is_none_or(|cpus| cpus >= threads as f64) {
        return seconds;
    }
    (seconds / QUOTA_PERIOD_SECONDS).ceil().max(QUOTA_PERIODS) * QUOTA_PERIOD_SECONDS
}

fn check_areas(request: &Request, rows: &[Planned]) -> Result<(), PlanError> {
    let is_missing = |area: &&Name| !rows.iter().any(|row| row.experiment.area == **area);
    let suite = &request.suite.name;
    request
        .areas
        .iter()
        .find(is_missing)
        .map_or(Ok(()), |area| Err(PlanError(format!("the suite '{suite}' has no benchmarks of the area '{area}'"))))
}

fn apply_filter(rows: &mut Vec<Planned>, filter: &str) -> Result<(), PlanError> {
    matches_any(filter, "").map_err(PlanError)?;
    let matches = |row: &Planned, filter: &str| matches_any(filter, &row.experiment.id).unwrap_or(false);
    if !rows.iter().any(|row| matches(row, filter)) {
        let nearest = wider(filter).into_iter().find(|wider| rows.iter().any(|row| matches(row, wider)));
        let advice = nearest.map_or_else(
            || "see the ids with --list".to_owned(),
            |nearest| format!("did you mean '{nearest}'? '*' does not cross '/', '**' does"),
        );
        return Err(PlanError(format!("no benchmark matches the filter '{filter}'; {advice}")));
    }
    rows.retain(|row| matches(row, filter));
    Ok(())
}

/// Filters that match more than this one, the nearest first.
fn wider(filter: &str) -> Vec<String> {
    let crossing = filter.replace("**", "*").replace('*', "**");
    let inside = format!("**/{}/**", crossing.trim_matches(['*', '/']));
    vec![crossing.clone(), format!("{}/**", crossing.trim_end_matches(['*', '/'])), format!("**/{crossing}"), inside]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use model::disk_target::DiskTarget;
    use model::experiment::Area;

    use super::*;
    use crate::tests::{machine_with_cpus, request};

    /// Why rows of the classic suite may be left out: what a processor lacks, and nothing else.
    const STATED: &[&str] =
        &["this CPU", "this program has no", "the largest N that fits", "a solution is expected to take"];

    #[test]
    fn every_area_is_in_both_tables_in_the_order_of_its_names() {
        assert!(RULES.iter().map(|rules| rules.area).eq(Area::ALL.iter().copied()));
        assert!(RULES.iter().map(|rules| rules.findings.title).eq(AREAS.iter().map(|area| area.labels.title)));
    }

    #[test]
    fn the_quick_suite_has_its_rows_once_each() {
        let plan = plan(&request("quick"), &machine_with_cpus(2)).unwrap();
        let ids: Vec<_> = plan.rows.iter().map(|row| row.experiment.id.as_str()).collect();
        let of = |area: &str| ids.iter().filter(|id| id.starts_with(area)).count();
        assert_eq!((of("cpu/"), of("memory/"), of("disk/"), of("net/")), (12, 10, 8, 7), "{ids:#?}");
        for id in ["disk/random-read/4KiB/d32/t1", "cpu/fma/fp64/scalar/t1", "memory/chase-load/4KiB/t1"] {
            assert!(ids.contains(&id), "{id}");
        }
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        let first = plan.rows.iter().filter(|row| row.first).map(|row| row.experiment.id.as_str());
        assert!(first.clone().all(|id| id.starts_with("cpu/fma/fp64/")) && first.count() == 4, "a headline soon");
        assert!(plan.expected_seconds() > 10.0 && plan.expected_seconds() < 120.0, "{}", plan.expected_seconds());
        assert!(
            plan.rows[0].expected_seconds(Some(1)) < plan.rows[0].expected_seconds(None),
            "every process run counts"
        );
    }

    #[test]
    fn nothing_of_the_classic_suite_is_left_out_without_a_stated_reason() {
        let mut machine = machine_with_cpus(2);
        machine.memory.available_bytes = Some(23 << 30);
        machine.caches[0].bytes = Some(260 << 20);
        let bytes = 1 << 40;
        let roomy = DiskTarget { total_bytes: bytes, available_bytes: bytes, ..DiskTarget::default() };
        let request = Request { disk: Some(roomy), ..request("classic") };
        let plan = plan(&request, &machine).unwrap();
        let left_out: Vec<_> =
            plan.rows.iter().filter_map(|row| Some((&row.experiment.id, row.obstacle.as_deref()?))).collect();
        let stated = |reason: &str| STATED.iter().any(|stated| reason.contains(stated));
        assert!(left_out.iter().all(|(_, reason)| stated(reason)), "{left_out:#?}");
        assert!(left_out.iter().all(|(id, _)| !id.starts_with("memory/")), "{left_out:#?}");
        let of_memory = plan.rows.iter().filter(|row| row.experiment.area == Area::Memory).count();
        assert_eq!(of_memory, 198);
        let powers = plan.rows.iter().filter_map(|row| row.experiment.memory()).map(|params| params.working_set);
        assert!(powers.clone().all(|bytes| bytes.is_power_of_two() && bytes >= 4 * (260 << 20)), "pmbw has them");
        let mixed = plan.rows.iter().filter(|row| row.experiment.id.starts_with("disk/random-mixed/"));
        let files_each = mixed.clone().filter(|row| row.experiment.id.contains("/per_thread/"));
        assert_eq!((mixed.count(), files_each.count()), (35, 15), "8 B to 80 MiB");
    }

    #[test]
    fn the_budget_of_writes_is_the_suites_unless_another_is_named() {
        let budget = |suite: &str, write_budget| {
            let request = Request { write_budget, ..request(suite) };
            plan(&request, &machine_with_cpus(1)).unwrap().write_budget
        };
        let suites = ["quick", "standard", "rigorous", "classic", "steady"].map(|suite| budget(suite, None));
        let expected = [Some(4 << 30), Some(500_000_000_000), Some(1_000_000_000_000), Some(120 << 30), None];
        assert_eq!(suites, expected);
        assert_eq!((budget("quick", Some(7)), budget("classic", Some(7))), (Some(7), Some(7)));
        let exact = Request { exact_workload: true, ..request("classic") };
        assert_eq!(plan(&exact, &machine_with_cpus(1)).unwrap().write_budget, None);
    }

    #[test]
    fn one_cpu_has_one_row_where_two_would_be_the_same() {
        let plan = plan(&request("quick"), &machine_with_cpus(1)).unwrap();
        assert!(plan.rows.iter().all(|row| row.experiment.params.threads() == 1));
        let of = |areas: &[Area]| plan.rows.iter().filter(|row| areas.contains(&row.experiment.area)).count();
        assert_eq!((of(&[Area::Cpu, Area::Memory]), of(&[Area::Disk]), of(&[Area::Net])), (12, 8, 4));
    }

    #[test]
    fn an_area_is_impossible_where_none_of_its_rows_can_be_measured() {
        let mut plan = plan(&request("quick"), &machine_with_cpus(2)).unwrap();
        assert!(plan.impossible(Area::Disk).is_some_and(|why| why.contains("--dir")), "no directory is known");
        assert_eq!(plan.impossible(Area::Cpu), None);
        let of_disk = plan.rows.iter_mut().filter(|row| row.experiment.area == Area::Disk);
        of_disk.skip(1).for_each(|row| row.obstacle = None);
        assert_eq!(plan.impossible(Area::Disk), None, "one can");
        plan.rows.retain(|row| row.experiment.area != Area::Disk);
        assert_eq!(plan.impossible(Area::Disk), None, "nobody wants one");
    }

    #[test]
    fn filters_and_areas_narrow_the_plan_or_are_errors() {
        let with = |filter: &str| {
            let request = Request { filter: Some(filter.to_owned()), ..request("quick") };
            plan(&request, &machine_with_cpus(2)).unwrap_err().to_string()
        };
        for (filter, nearest) in [("cpu/*", "cpu/**"), ("cpu", "cpu/**"), ("fma/*", "**/fma/**"), ("t1", "**/t1")] {
            assert!(with(filter).contains(&format!("did you mean '{nearest}'?")), "{}", with(filter));
        }
        assert!(with("gpu/*").contains("--list"));
        let with = |areas: &[Area], filter: Option<&str>| {
            let request = Request { areas: areas.to_vec(), filter: filter.map(Into::into), ..request("quick") };
            plan(&request, &machine_with_cpus(2)).map(|plan| plan.rows.len())
        };
        assert_eq!(with(&[Area::Cpu], None), Ok(12));
        assert_eq!(with(&[], Some("cpu/fma/fp64/scalar/*")), Ok(2));
        assert!(with(&[], Some("cpu/*/scalar/t1")).unwrap_err().0.contains("no benchmark"), "* must not cross /");
        assert_eq!(with(&[], Some("cpu/**/t1")), Ok(6));
        assert_eq!(with(&[Area::Disk], None), Ok(8));
        assert_eq!(with(&[Area::Linpack], None), Ok(2));
        assert!(with(&[], Some("[")).is_err());
    }

    #[test]
    fn a_quota_is_sampled_over_whole_periods() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(under_quota(0.12, 1, None), 0.12));
        assert!(close(under_quota(0.12, 1, Some(1.0)), 0.12), "one thread is not stopped by a quota of one CPU");
        assert!(close(under_quota(0.12, 1, Some(0.5)), 0.3));
        assert!(close(under_quota(0.35, 2, Some(1.5)), 0.4));
    }
}
