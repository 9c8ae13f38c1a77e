//! The plan: which experiments a request comes to on a machine, each with its CPUs, its sampling and its expected cost.
//!
//! A pure value: it can be printed, filtered and compared; making it measures nothing.

use std::collections::BTreeSet;

use model::disk_target::DiskTarget;
use model::experiment::Area;
use model::isa::Placement;
use model::machine::Machine;
use model::plan::{Plan, PlanError, Planned, Sampling, TOOL_RUN_SECONDS};
use model::warning::{Warning, WarningCode};

use crate::engine::ENGINES;
use crate::suite::{MOST_THREADS, Suite, Threads};

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The suite.
    pub suite: Suite,
    /// Only these areas.
    pub areas: Vec<Area>,
    /// Only ids that match this glob.
    pub filter: Option<String>,
    /// These thread counts instead of the suite's.
    pub threads: Vec<Threads>,
    /// Exactly so many samples a row, and no stop rule.
    pub repeat: Option<u32>,
    /// Do the totals that the suite states in full, however long it takes.
    pub exact_workload: bool,
    /// Bytes that may be written to disks in all, where that was said.
    pub write_budget: Option<u64>,
    /// Seed of order, data and permutations.
    pub seed: u64,
    /// What only the user chose, and ids therefore show.
    pub chosen: Chosen,
    /// Where disks are measured, as it was found; `None` where no directory could be looked at.
    pub disk: Option<DiskTarget>,
    /// The name of the other end's host; `None` where both ends are here.
    pub peer: Option<String>,
    /// Trusted tools to run beside our own measurements, by their ids.
    pub references: Vec<&'static str>,
    /// Whether these tools are there since the suite wants those that are found: then they stand where the suite has them.
    pub references_of_suite: bool,
}

impl Request {
    /// A whole suite as it is.
    pub fn of(suite: Suite) -> Self {
        let (areas, threads) = (Vec::new(), Vec::new());
        Self {
            suite,
            areas,
            filter: None,
            threads,
            repeat: None,
            exact_workload: false,
            write_budget: None,
            seed: 1,
            chosen: Chosen::default(),
            disk: None,
            peer: None,
            references: Vec::new(),
            references_of_suite: false,
        }
    }
}

/// Parameters the user named on the command line of an area.
#[expect(clippy::struct_excessive_bools, reason = "each says of one parameter whether it was chosen")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// An instruction set: one that this CPU lacks is then an error instead of a skipped row.
    pub isa: bool,
    /// A working set.
    pub working_set: bool,
    /// Page sizes.
    pub pages: bool,
    /// Blocks: one that does not fit is then an error instead of a skipped row.
    pub block: bool,
    /// Which cores are filled first: where it makes no difference there is then a row without it.
    pub placement: bool,
    /// The size of a file: one for which there is no room is then an error instead of a smaller one.
    pub size: bool,
    /// The order of a system: one that does not fit into memory is then an error instead of a skipped row.
    pub order: bool,
    /// An element type: one that this machine cannot do is then an error instead of a skipped row (LINPACK's).
    pub element: bool,
    /// A disk engine: one that cannot be had is then an error instead of another one.
    pub engine: bool,
    /// Anything of the requests to a disk but the size of its file: where none of them can be measured that is then an
    /// error instead of skipped rows.
    pub requests: bool,
}

/// The period of CPU quotas unless somebody chose another: kernel documentation, `scheduler/sched-bwc.rst`.
const QUOTA_PERIOD_SECONDS: f64 = 0.1;

/// Periods in a sample under a quota at least.
const QUOTA_PERIODS: f64 = 3.0;

/// Share of a suite's time in which test files are laid out.
const LAYOUT_SHARE: f64 = 1.0 / 3.0;

/// The plan of a request on a machine.
///
/// # Errors
/// An area or filter that matches nothing, an instruction set that was named and is missing, a working set beyond
/// memory.
pub fn plan(request: &Request, machine: &Machine) -> Result<Plan, PlanError> {
    let mut rows: Vec<Planned> = Vec::new();
    for engine in ENGINES {
        for row in engine.expand(request, machine)? {
            // Two stanzas may ask for the same row, and "vector" may be what another stanza names.
            if !rows.iter().any(|other| other.experiment.id == row.experiment.id) {
                rows.push(row);
            }
        }
    }
    check_areas(request, &rows)?;
    if request.exact_workload && rows.iter().all(|row| row.exact_work.is_none()) {
        let suite = &request.suite.name;
        return Err(PlanError(format!(
            "the suite '{suite}' states no totals to be done in full; the suite classic does"
        )));
    }
    rows.retain(|row| request.areas.is_empty() || request.areas.contains(&row.experiment.area));
    if let Some(filter) = &request.filter {
        apply_filter(&mut rows, filter)?;
    }
    for row in rows.iter_mut().filter(|row| row.exact_work.is_none()) {
        row.sampling.sample_seconds = under_quota(row.sampling.sample_seconds, row.cpus.len(), machine.cpu.quota_cpus);
    }
    for row in &mut rows {
        put_tools_beside(row, request);
    }
    if cfg!(debug_assertions) {
        let warning = || Warning::new(WarningCode::DebugBuild, 1.0, "This is a debug build.");
        for row in &mut rows {
            row.warnings.push(warning());
        }
    }
    let Suite { name, sessions, pause, repeat_share, .. } = &request.suite;
    Ok(Plan {
        suite: name.clone(),
        rows,
        seed: request.seed,
        repeat: request.repeat,
        // A session without a sample is none.
        sessions: request.repeat.map_or(*sessions, |repeat| repeat.min(*sessions)),
        pause_seconds: *pause,
        repeat_share: *repeat_share,
        layout_seconds: layout_seconds(request),
        write_budget: request.write_budget.or(request.suite.write_budget),
    })
}

/// How long a test file may be laid out: for a part of the suite's time, where that is kept to.
fn layout_seconds(request: &Request) -> Option<u32> {
    let in_full = request.chosen.size || request.exact_workload || !request.references.is_empty();
    let seconds = request.suite.time_budget.filter(|_| !in_full)? * LAYOUT_SHARE;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a budget of a run is no century")]
    Some(seconds.max(1.0) as u32)
}

/// Notes which of the wanted tools stand beside a row. Each sample is then paired with a run of each tool, so it comes
/// from a launch of its own and is as long as theirs.
fn put_tools_beside(row: &mut Planned, request: &Request) {
    let of_suite = request.suite.references.as_ref().filter(|_| request.references_of_suite);
    // A curve has steps by the dozen, and a tool says the same beside most of them.
    if row.alone && request.filter.is_none() {
        return;
    }
    // Rounds follow each other without a pause.
    if row.sampling.until_steady || of_suite.is_some_and(|wanted| !wanted.stand_beside(row)) {
        return;
    }
    let wanted = |tool: &&&str| of_suite.is_none_or(|suite| suite.has(tool));
    let stands = |tool: &&&str| tools::find(tool).is_some_and(|tool| tool.supports(&row.experiment).is_ok());
    row.beside = request.references.iter().filter(wanted).filter(stands).map(|tool| (*tool).to_owned()).collect();
    if !row.beside.is_empty() {
        let sampling = row.sampling.clone();
        let samples = of_suite.map_or(sampling.samples, |wanted| sampling.samples.min(wanted.pairs));
        // What has an end of its own is as long as it is.
        let whole = row.exact_work.is_some() || row.experiment.area == Area::Linpack;
        let sample_seconds = if whole { sampling.sample_seconds } else { TOOL_RUN_SECONDS };
        row.sampling = Sampling { samples, most: None, per_launch: 1, sample_seconds, ..sampling };
    }
}

/// The length of a sample where a quota will stop its threads: a few whole periods, so that each sample has its fair
/// share of both running and standing still. Otherwise as it is.
fn under_quota(seconds: f64, threads: usize, quota_cpus: Option<f64>) -> f64 {
    if quota_cpus.is_none_or(|cpus| cpus >= threads as f64) {
        return seconds;
    }
    (seconds / QUOTA_PERIOD_SECONDS).ceil().max(QUOTA_PERIODS) * QUOTA_PERIOD_SECONDS
}

fn check_areas(request: &Request, rows: &[Planned]) -> Result<(), PlanError> {
    for area in &request.areas {
        if !rows.iter().any(|row| row.experiment.area == *area) {
            return Err(PlanError(format!(
                "the suite '{}' has no experiments of the area '{area}'",
                request.suite.name
            )));
        }
    }
    Ok(())
}

/// Whether an id matches a glob, in which `*` does not cross `/` and `**` does.
///
/// # Errors
/// A sentence: it is no glob.
pub(crate) fn matches_id(glob: &str, id: &str) -> Result<bool, String> {
    let pattern = glob::Pattern::new(glob)
        .map_err(|error| format!("'{glob}' is no filter: {} at position {}", error.msg, error.pos))?;
    let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::default() };
    Ok(pattern.matches_with(id, options))
}

fn apply_filter(rows: &mut Vec<Planned>, filter: &str) -> Result<(), PlanError> {
    matches_id(filter, "").map_err(PlanError)?;
    rows.retain(|row| matches_id(filter, &row.experiment.id).unwrap_or(false));
    if rows.is_empty() {
        return Err(PlanError(format!("no experiment matches the filter '{filter}'; see the ids with --list")));
    }
    Ok(())
}

/// The thread counts of a stanza on this machine, ascending and each once: the request's, else the suite's.
pub(crate) fn thread_counts(request: &Request, suite: &[Threads], machine: &Machine) -> Vec<u32> {
    thread_counts_on(request, suite, machine, &machine.cpu.available_cpus)
}

/// The same where only these CPUs are to be used.
pub(crate) fn thread_counts_on(request: &Request, suite: &[Threads], machine: &Machine, available: &[u32]) -> Vec<u32> {
    let count = |cpus: usize| u32::try_from(cpus).unwrap_or(u32::MAX).max(1);
    let (all, smt) = (count(machine.cpu.one_per_core(available).len()), count(available.len()));
    let wanted = if request.threads.is_empty() { suite } else { &request.threads };
    let doubling = || std::iter::successors(Some(1_u32), |count| count.checked_mul(2)).take_while(|count| *count < all);
    let mut counts: Vec<u32> = wanted
        .iter()
        .flat_map(|threads| match *threads {
            Threads::All => vec![all],
            Threads::Doubling => doubling().chain([all]).collect(),
            Threads::Smt => Some(smt).filter(|smt| *smt > all).into_iter().collect(),
            Threads::Count(count) => vec![count],
        })
        .map(|count| count.min(MOST_THREADS))
        .collect();
    if counts.is_empty() {
        counts.push(all);
    }
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// The CPU of each of so many threads: one per physical core first, fast cores before slow ones, then SMT siblings,
/// then round again with a warning.
pub(crate) fn place(threads: u32, machine: &Machine) -> (Vec<u32>, Option<Warning>) {
    place_on(threads, machine.cpu.placement_order())
}

/// The same with the CPUs in this order.
pub(crate) fn place_on(threads: u32, mut order: Vec<u32>) -> (Vec<u32>, Option<Warning>) {
    if order.is_empty() {
        order.push(0);
    }
    let cpus: Vec<u32> = order.iter().copied().cycle().take(threads as usize).collect();
    let per_cpu = f64::from(threads) / order.len() as f64;
    let warning = Warning::when(WarningCode::Oversubscribed, per_cpu, || {
        format!("{threads} threads share {} available CPUs.", order.len())
    });
    (cpus, warning)
}

/// The available CPUs in the order of a placement, by the groups that share a last-level cache: `compact` fills one
/// group's cores and goes on to the next; `scatter` takes a core of each group in turn, groups of different memory
/// nodes first. Either way SMT siblings come last, and within a group fast cores first.
pub(crate) fn placed_order(placement: Placement, machine: &Machine) -> Vec<u32> {
    let order = machine.cpu.placement_order();
    let cores = machine.cpu.one_per_core(&order);
    let groups = groups_of(&order, machine);
    // One group of each node in turn: a group's turn is its place among those of its node.
    let turn = |rank: usize| groups[..rank].iter().filter(|other| other.node == groups[rank].node).count();
    let turns: Vec<usize> = (0..groups.len()).map(turn).collect();
    let place = |cpu: u32| {
        let within = |group: &CacheGroup| group.cpus.iter().position(|other| *other == cpu);
        let found = groups.iter().enumerate().find_map(|(rank, group)| Some((rank, within(group)?)));
        let (rank, within) = found.unwrap_or_default();
        let sibling = !cores.contains(&cpu);
        match placement {
            Placement::Compact => (sibling, rank, within, 0),
            Placement::Scatter => (sibling, within, turns.get(rank).copied().unwrap_or(0), rank),
        }
    };
    let mut order = order;
    order.sort_by_cached_key(|&cpu| place(cpu));
    order
}

/// CPUs that share a last-level cache, in the order of placement.
struct CacheGroup {
    /// The kernel's number of the cache's group, unknown where sysfs says nothing.
    llc: Option<u32>,
    node: Option<u32>,
    cpus: Vec<u32>,
}

/// The groups of these CPUs, in the order of their first one.
fn groups_of(order: &[u32], machine: &Machine) -> Vec<CacheGroup> {
    let mut groups: Vec<CacheGroup> = Vec::new();
    for &cpu in order {
        let place = machine.cpu.place(cpu);
        let (llc, node) = (place.and_then(|place| place.llc), place.and_then(|place| place.node));
        match groups.iter_mut().find(|group| group.llc == llc) {
            Some(group) => group.cpus.push(cpu),
            None => groups.push(CacheGroup { llc, node, cpus: vec![cpu] }),
        }
    }
    groups
}

/// Whether so many threads sit on other CPUs by one placement than by the other: there are several groups, and neither
/// one thread nor all cores.
pub(crate) fn placement_matters(threads: u32, machine: &Machine) -> bool {
    let taken =
        |placement| -> BTreeSet<u32> { place_on(threads, placed_order(placement, machine)).0.into_iter().collect() };
    taken(Placement::Compact) != taken(Placement::Scatter)
}

#[cfg(test)]
mod tests {
    use model::experiment::{DiskParams, Params};
    use model::io::{DiskLayout, DiskOp};
    use model::plan::Writes;

    use super::*;
    use crate::tests::{asked, disk_params, machine_with_cpus, planned};

    fn request(suite: &str) -> Request {
        Request::of(Suite::find(suite).unwrap())
    }

    #[test]
    fn the_quick_suite_has_its_rows_once_each() {
        let plan = plan(&request("quick"), &machine_with_cpus(2)).unwrap();
        let ids: Vec<_> = plan.rows.iter().map(|row| row.experiment.id.as_str()).collect();
        let of = |area: &str| ids.iter().filter(|id| id.starts_with(area)).count();
        assert_eq!((of("cpu/"), of("memory/"), of("disk/"), of("net/")), (12, 10, 8, 7), "{ids:#?}");
        assert!(ids.contains(&"disk/random-read/4KiB/d32/t1"));
        assert!(ids.contains(&"cpu/fma/fp64/scalar/t1"));
        assert!(ids.contains(&"memory/chase-load/4KiB/t1"));
        let mut unique = ids.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), ids.len());
    }

    /// Why rows of the classic suite may be left out: what a processor lacks, and nothing else.
    const STATED: &[&str] =
        &["this CPU", "this program has no", "the largest N that fits", "a solution is expected to take"];

    /// A directory with room for whatever is asked.
    fn roomy() -> DiskTarget {
        DiskTarget {
            directory: "/data".into(),
            total_bytes: 1 << 40,
            available_bytes: 1 << 40,
            ..DiskTarget::default()
        }
    }

    #[test]
    fn nothing_of_the_classic_suite_is_left_out_without_a_stated_reason() {
        let mut machine = machine_with_cpus(2);
        machine.memory.available_bytes = Some(23 << 30);
        machine.caches[0].bytes = Some(260 << 20);
        let request = Request { disk: Some(roomy()), ..request("classic") };
        let plan = plan(&request, &machine).unwrap();
        let left_out: Vec<_> =
            plan.rows.iter().filter_map(|row| Some((&row.experiment.id, row.obstacle.as_deref()?))).collect();
        let stated = |reason: &str| STATED.iter().any(|stated| reason.contains(stated));
        assert!(left_out.iter().all(|(_, reason)| stated(reason)), "{left_out:#?}");
        assert!(left_out.iter().all(|(id, _)| !id.starts_with("memory/")), "{left_out:#?}");
        let of_memory = plan.rows.iter().filter(|row| row.experiment.area == Area::Memory).count();
        assert_eq!(of_memory, 198);
    }

    #[test]
    fn the_budget_of_writes_is_the_suites_unless_another_is_named() {
        let budget = |suite: &str, write_budget| {
            let request = Request { write_budget, ..request(suite) };
            plan(&request, &machine_with_cpus(1)).unwrap().write_budget
        };
        let suites = ["quick", "standard", "rigorous", "classic", "steady"].map(|suite| budget(suite, None));
        assert_eq!(suites, [Some(100_000_000_000), Some(500_000_000_000), Some(1_000_000_000_000), None, None]);
        assert_eq!((budget("quick", Some(7)), budget("classic", Some(7))), (Some(7), Some(7)));
    }

    #[test]
    fn the_classic_suite_keeps_within_its_time_beside_every_tool() {
        let machine = machine_with_cpus(2);
        let references: Vec<&str> = tools::ids().collect();
        let with = |references_of_suite| {
            let request = Request {
                references: references.clone(),
                references_of_suite,
                disk: Some(roomy()),
                ..request("classic")
            };
            plan(&request, &machine).unwrap()
        };
        let (of_suite, in_full) = (with(true), with(false));
        let beside = |plan: &Plan| plan.rows.iter().filter(|row| !row.beside.is_empty()).count();
        assert!(beside(&of_suite) > 40 && beside(&of_suite) < beside(&in_full));
        for row in of_suite.rows.iter().filter(|row| !row.beside.is_empty()) {
            let (id, samples) = (&row.experiment.id, row.sampling.samples);
            // Of systems of equations the series says how many trials each order has.
            let least = if row.experiment.area == Area::Linpack { 1 } else { 3 };
            assert!(row.experiment.params.threads() <= 2 && (least..=6).contains(&samples), "{id}: {samples}");
            assert!(!id.contains("/8MiB/") || !id.starts_with("disk/"), "{id} is excepted");
        }
        assert!(of_suite.rows.iter().any(|row| row.experiment.id.starts_with("disk/sequential-read/8MiB/")));
        let budget = Suite::find("classic").unwrap().time_budget.unwrap();
        assert!(of_suite.expected_seconds() < budget, "{} s of {budget} s", of_suite.expected_seconds());
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
        plan.rows
            .iter_mut()
            .filter(|row| row.experiment.area == Area::Disk)
            .skip(1)
            .for_each(|row| row.obstacle = None);
        assert_eq!(plan.impossible(Area::Disk), None, "one can");
        plan.rows.retain(|row| row.experiment.area != Area::Disk);
        assert_eq!(plan.impossible(Area::Disk), None, "nobody wants one");
    }

    #[test]
    fn filters_and_areas_narrow_the_plan_or_are_errors() {
        let with = |areas: &[Area], filter: Option<&str>| {
            let request = Request { areas: areas.to_vec(), filter: filter.map(Into::into), ..request("quick") };
            plan(&request, &machine_with_cpus(2)).map(|plan| plan.rows.len())
        };
        assert_eq!(with(&[Area::Cpu], None), Ok(12));
        assert_eq!(with(&[], Some("cpu/fma/fp64/scalar/*")), Ok(2));
        assert_eq!(
            with(&[], Some("cpu/*/scalar/t1")).unwrap_err().0.matches("no experiment").count(),
            1,
            "* must not cross /"
        );
        assert_eq!(with(&[], Some("cpu/**/t1")), Ok(6));
        assert_eq!(with(&[Area::Disk], None), Ok(8));
        assert_eq!(with(&[Area::Linpack], None), Ok(2));
        assert!(with(&[], Some("[")).is_err());
    }

    #[test]
    fn more_threads_than_cpus_take_turns_and_say_so() {
        let machine = machine_with_cpus(2);
        let (cpus, warning) = place(4, &machine);
        assert_eq!(cpus, [0, 1, 0, 1]);
        assert_eq!(warning.unwrap().code, WarningCode::Oversubscribed);
        assert!(place(2, &machine).1.is_none());
    }

    /// Eight cores in four groups of two, on two nodes, and a sibling of each core: CPU 8 + n is that of core n.
    fn machine_of_groups() -> Machine {
        let mut machine = machine_with_cpus(16);
        for place in &mut machine.cpu.topology {
            place.core = place.cpu % 8;
            place.llc = Some(place.core / 2);
            place.node = Some(place.core / 4);
        }
        machine
    }

    #[test]
    fn compact_fills_a_group_and_scatter_takes_one_of_each() {
        let machine = machine_of_groups();
        let first = |placement, threads| place_on(threads, placed_order(placement, &machine)).0;
        assert_eq!(first(Placement::Compact, 10), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(first(Placement::Scatter, 8), [0, 4, 2, 6, 1, 5, 3, 7], "one of each node, then the other groups");
        assert_eq!(first(Placement::Scatter, 16)[8..], [8, 12, 10, 14, 9, 13, 11, 15]);
    }

    #[test]
    fn a_placement_matters_between_one_thread_and_all_cores() {
        let machine = machine_of_groups();
        let matters: Vec<u32> = (1..=16).filter(|threads| placement_matters(*threads, &machine)).collect();
        assert_eq!(matters, [2, 3, 4, 5, 6, 10, 11, 12, 13, 14], "seven of eight cores leave out the same one");
        let one_group = machine_with_cpus(8);
        assert!((1..=8).all(|threads| !placement_matters(threads, &one_group)));
        assert_eq!(placed_order(Placement::Scatter, &one_group), one_group.cpu.placement_order());
    }

    #[test]
    fn a_quota_is_sampled_over_whole_periods() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(under_quota(0.12, 1, None), 0.12));
        assert!(close(under_quota(0.12, 1, Some(1.0)), 0.12), "one thread is not stopped by a quota of one CPU");
        assert!(close(under_quota(0.12, 1, Some(0.5)), 0.3));
        assert!(close(under_quota(0.35, 2, Some(1.5)), 0.4));
    }

    #[test]
    fn expected_cost_counts_every_launch() {
        let plan = plan(&request("quick"), &machine_with_cpus(2)).unwrap();
        assert!(plan.expected_seconds() > 10.0 && plan.expected_seconds() < 120.0, "{}", plan.expected_seconds());
        let row = &plan.rows[0];
        assert!(row.expected_seconds(Some(1)) < row.expected_seconds(None));
    }

    fn row(params: DiskParams, exact_work: Option<f64>) -> Planned {
        let mut row = Planned { exact_work, ..planned() };
        (row.experiment.area, row.experiment.params) = (Area::Disk, Params::Disk(params));
        row.sampling.samples = 4;
        (row.sampling.per_launch, row.sampling.sample_seconds, row.sampling.warm_up_seconds) = (2, 0.5, [0.0, 0.25]);
        row
    }

    #[test]
    fn files_count_once_and_writes_by_their_time_or_total() {
        let of_rows = |rows: Vec<Planned>| Plan { rows, repeat: None, ..asked().plan }.writes();
        let read = || disk_params(1);
        let write = || DiskParams { op: DiskOp::Write, ..disk_params(1) };
        let size = read().size;
        assert_eq!(of_rows(vec![planned()]), None, "no row of a disk");
        let skipped = Planned { obstacle: Some("no room".into()), ..row(write(), None) };
        assert_eq!(of_rows(vec![skipped]), None);
        let files_alone = Writes { file_bytes: size, ..Writes::default() };
        assert_eq!(of_rows(vec![row(read(), None), row(read(), None)]), Some(files_alone), "one file for both");
        let each = DiskParams { layout: DiskLayout::PerThread, threads: 3, ..read() };
        assert_eq!(of_rows(vec![row(read(), None), row(each, None)]).unwrap().file_bytes, 3 * size);
        let timed = of_rows(vec![row(read(), None), row(write(), None)]);
        assert_eq!(timed, Some(Writes { seconds: 4.0 * 0.5 + 2.0 * 0.25, ..files_alone }));
        let mixed = DiskParams { op: DiskOp::Mixed, ..write() };
        let whole = of_rows(vec![row(write(), Some(10.0)), row(mixed, Some(10.0))]).unwrap();
        assert_eq!((whole.total_bytes, whole.seconds), (4.0 * 10.0 * 4096.0 * 1.5, 1.0));
        let mut steady = row(write(), None);
        steady.sampling.until_steady = true;
        assert_eq!(of_rows(vec![steady]).unwrap().file_bytes, 2 * size);
    }
}
