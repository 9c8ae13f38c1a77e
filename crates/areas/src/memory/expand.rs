//! The memory benchmarks of a request on a machine.

use kernels::chase::MOST_CHAINS;
use kernels::lines::CacheLine;
use model::experiment::{Area, Background, Experiment, MemoryChoices, MemoryParams, memory_id};
use model::isa::{Isa, MemoryOp, MemoryPattern, Pages};
use model::machine::Machine;
use model::plan::{PlanError, Planned, Sampling};
use model::unit::format_size;
use model::warning::{Warning, WarningCode};

use super::blocks::{has_blocks, unfit_blocks, whole_orders};
use super::choice::{MemoryChoice, WorkingSets};
use super::seats::{Seats, check_nodes, seats};
use super::sets::{InstructionSet, instruction_sets, method};
use super::working_sets::{
    Asked, CACHES_PER_WORKING_SET, Obtainable, level_bytes, room_for_blocks, steps_of_levels, working_sets,
};
use crate::fields::each;
use crate::request::{Request, exact, in_table, is_asked};

/// Expected bytes per second of filling memory: between freed memory and memory that a hypervisor must provide.
const FILL_BYTES_PER_SECOND: f64 = 3e9;
/// Expected seconds to draw and link one node of a chase: two misses, some of them in flight at a time.
const LINK_SECONDS: f64 = 30e-9;
/// The smallest page: groups of a chase are multiples of it.
const PAGE_BYTES: u64 = 4 << 10;

#[derive(Clone, Debug)]
struct Combination {
    op: MemoryOp,
    isa: Isa,
    isa_named: bool,
    obstacle: Option<String>,
    pages: Pages,
    block: Option<u64>,
    chains: Option<u32>,
    background: Option<Background>,
}

pub(super) fn expand(request: &Request, machine: &Machine) -> Result<Vec<Planned>, PlanError> {
    let mut rows = Vec::new();
    for stanza in request.suite.memory.iter().flat_map(MemoryChoice::of_each_pattern) {
        check_nodes(machine, &stanza)?;
        let seats = seats(request, machine, &stanza);
        for combination in combinations(request, &stanza)? {
            for seats in &seats {
                rows.extend(rows_of(request, machine, &stanza, &combination, seats)?);
            }
        }
    }
    Ok(rows)
}

/// Every combination of a block's lists; an empty list is a parameter that does not apply.
fn combinations(request: &Request, stanza: &MemoryChoice) -> Result<Vec<Combination>, PlanError> {
    let mut all = Vec::new();
    check_chase(stanza)?;
    for &op in &stanza.op {
        check_pattern(stanza, op)?;
        for InstructionSet { isa, named, obstacle } in instruction_sets(request, op, &stanza.isa)? {
            let (pages, block, chains, background) = (Pages::Huge2M, None, None, None);
            let first = Combination { op, isa, isa_named: named, obstacle, pages, block, chains, background };
            all.extend(spread(&first, stanza));
        }
    }
    Ok(all)
}

fn spread(first: &Combination, stanza: &MemoryChoice) -> Vec<Combination> {
    let mut all = vec![first.clone()];
    let mut vary = |change: &dyn Fn(&Combination) -> Vec<Combination>| all = all.iter().flat_map(change).collect();
    vary(&|one| stanza.pages.iter().map(|pages| Combination { pages: *pages, ..one.clone() }).collect());
    vary(&|one| each(&stanza.block).into_iter().map(|block| Combination { block, ..one.clone() }).collect());
    let one_chain = (stanza.only_pattern() == MemoryPattern::Chase).then_some(1);
    vary(&|one| {
        let chains = each(&stanza.chains).into_iter().map(|chains| chains.or(one_chain));
        chains.map(|chains| Combination { chains, ..one.clone() }).collect()
    });
    vary(&|one| {
        let pauses = || if stanza.pause_ns.is_empty() { vec![0] } else { stanza.pause_ns.clone() };
        let loads = each(&stanza.background).into_iter().flat_map(|op| match op {
            None => vec![None],
            Some(op) => pauses().into_iter().map(|pause_ns| Some(Background { op, pause_ns })).collect(),
        });
        loads.map(|background| Combination { background, ..one.clone() }).collect()
    });
    all
}

fn check_chase(stanza: &MemoryChoice) -> Result<(), PlanError> {
    let possible = |chains: &&u32| (1..=MOST_CHAINS).contains(&(**chains as usize));
    if let Some(chains) = stanza.chains.iter().find(|chains| !possible(chains)) {
        return Err(PlanError(format!("a chase of {chains} chains is not possible; write 1 to {MOST_CHAINS}")));
    }
    match stanza.group.filter(|group| *group == 0 || !group.is_multiple_of(PAGE_BYTES)).map(format_size) {
        Some(group) => {
            Err(PlanError(format!("a chase in groups of {group} is not possible; write a multiple of 4KiB")))
        }
        None => Ok(()),
    }
}

fn check_pattern(stanza: &MemoryChoice, op: MemoryOp) -> Result<(), PlanError> {
    let known = match (stanza.only_pattern(), stanza.block.is_empty()) {
        (MemoryPattern::Sequential, true) => MemoryOp::STREAMS,
        (MemoryPattern::Sequential | MemoryPattern::Random, false) => MemoryOp::OF_BLOCKS,
        (MemoryPattern::Random, true) => &[MemoryOp::Increment],
        (MemoryPattern::Chase, _) => &[MemoryOp::Load],
        (MemoryPattern::Pair, _) => &[MemoryOp::Handoff],
    };
    if known.contains(&op) {
        return Ok(());
    }
    let blocks = if stanza.block.is_empty() { "" } else { " in blocks" };
    Err(PlanError(format!("there is no kernel for {op} in the pattern {}{blocks}", stanza.only_pattern())))
}

/// The benchmarks of one combination on these CPUs: one per working set.
fn rows_of(
    request: &Request,
    machine: &Machine,
    stanza: &MemoryChoice,
    combination: &Combination,
    seats: &Seats,
) -> Result<Vec<Planned>, PlanError> {
    let cache_bytes = machine.last_level_caches_behind(&seats.cpus);
    let obtainable = Obtainable::of(machine, seats.memory_node);
    let room = room_for_blocks(stanza, combination.op, seats.cpus.len(), obtainable.most());
    let sets = working_sets(stanza, Asked { cache_bytes, room, obtainable });
    let varied = matches!(stanza.working_sets(), WorkingSets::Sweep { .. } | WorkingSets::Exactly(_));
    let levels = match stanza.working_sets() {
        WorkingSets::Sweep { .. } => Some(steps_of_levels(&sets, &level_bytes(machine, &seats.cpus))),
        _ => None,
    };
    let page_bytes = machine.memory.page_bytes;
    let one = One { request, stanza, combination, seats, cache_bytes, obtainable, page_bytes, varied, levels };
    let rows: Vec<Planned> = sets.into_iter().map(|working_set| one.row(working_set)).collect();
    let mut asked = rows.iter().filter(|row| is_asked(request, &row.experiment.id));
    match asked.find_map(|row| one.refusal(row.experiment.memory()?)) {
        Some(sentence) => Err(PlanError(sentence)),
        None => Ok(rows),
    }
}

struct One<'a> {
    request: &'a Request,
    stanza: &'a MemoryChoice,
    combination: &'a Combination,
    seats: &'a Seats,
    cache_bytes: Option<u64>,
    obtainable: Obtainable,
    page_bytes: Option<u64>,
    /// Whether the working set was chosen by its size.
    varied: bool,
    levels: Option<Vec<u64>>,
}

impl One<'_> {
    fn row(&self, working_set: u64) -> Planned {
        let params = self.params(working_set);
        let chosen = MemoryChoices {
            working_set: self.varied && params.pattern != MemoryPattern::Pair,
            pages: !self.request.choices.memory.pages.is_empty(),
            isa: (!self.request.choices.memory.isa.is_empty() || self.combination.isa_named)
                && !matches!(params.op, MemoryOp::Load | MemoryOp::Handoff),
        };
        let linked_bytes = if params.pattern == MemoryPattern::Chase { chased(&params) } else { 0 };
        let nodes = linked_bytes as f64 / CacheLine::BYTES as f64;
        let classic = |workload: &String| in_table(Area::Memory, workload, self.stanza.total);
        let (sampling, exact_work) = self.sampling(&params);
        let warnings = self.seats.oversubscribed.clone().into_iter().chain(self.possibly_cached(&params)).collect();
        let obstacle = self.obstacle(&params);
        let linking = nodes * LINK_SECONDS / f64::from(params.threads);
        let setup_seconds = params.working_set as f64 / FILL_BYTES_PER_SECOND + linking;
        let (id, method) = (memory_id(&params, chosen), method(&params));
        let classic = self.stanza.classic.as_ref().map(classic);
        let experiment = Experiment { classic, ..Experiment::new(id, params, &method) };
        Planned {
            alone: self.levels.as_ref().is_some_and(|levels| !levels.contains(&working_set)),
            exact_work,
            setup_seconds,
            obstacle,
            warnings,
            ..Planned::new(experiment, self.seats.cpus.clone(), sampling)
        }
    }

    fn params(&self, working_set: u64) -> MemoryParams {
        let params = self.params_of(working_set);
        if !has_blocks(&params) {
            return params;
        }
        // A generated random order has a power of two of blocks. One working set serves all blocks if memory allows.
        let most = self.obtainable.most();
        let whole = |working_set: u64, block: Option<u64>| {
            whole_orders(&MemoryParams { block, working_set, ..params.clone() }, most)
        };
        let others = if self.varied { &[] } else { &self.stanza.block[..] };
        let of_all = others.iter().fold(working_set, |bytes, block| whole(bytes, Some(*block))).max(working_set);
        let working_set = whole(of_all, params.block);
        MemoryParams { working_set, ..params }
    }

    fn params_of(&self, working_set: u64) -> MemoryParams {
        let Combination { op, isa, pages, block, chains, background, .. } = *self.combination;
        MemoryParams {
            pattern: self.stanza.only_pattern(),
            op,
            block,
            working_set,
            pages,
            isa,
            chains,
            group: self.stanza.group,
            background,
            placement: self.seats.placement,
            threads: u32::try_from(self.seats.cpus.len()).unwrap_or(u32::MAX),
            level: None,
            nodes: self.seats.nodes.clone(),
        }
    }

    fn sampling(&self, params: &MemoryParams) -> (Sampling, Option<f64>) {
        let sampling = self.request.sampling(Area::Memory, self.stanza.sampling.as_ref());
        let Some(total) = self.stanza.total.filter(|_| self.request.exact_workload) else { return (sampling, None) };
        (exact(&sampling, total / (expected_rate(params) * f64::from(params.threads))), Some(total))
    }

    fn obstacle(&self, params: &MemoryParams) -> Option<String> {
        let known = self.combination.obstacle.clone().or_else(|| self.seats.obstacle.clone());
        let too_large = self.obtainable.obstacle(params.working_set);
        let alone = params.background.is_some() && params.threads < 2;
        let alone = alone.then(|| "latency under load needs a second core for the load".to_owned());
        let larger = self.page_bytes.filter(|bytes| params.pages == Pages::Base4K && *bytes != PAGE_BYTES);
        let larger = larger.map(|bytes| format!("the base pages of this kernel have {}", format_size(bytes)));
        known.or(too_large).or_else(|| unfit_blocks(params)).or(alone).or(larger)
    }

    /// Why the request is refused: the user chose something impossible.
    fn refusal(&self, params: &MemoryParams) -> Option<String> {
        let chosen = &self.request.choices.memory;
        let unfit = unfit_blocks(params).filter(|_| !chosen.block.is_empty());
        // Of several nodes another may have the memory.
        let one_place = !chosen.working_sets.is_empty() && self.seats.memory_node.is_none();
        unfit.or_else(|| self.obtainable.obstacle(params.working_set).filter(|_| one_place))
    }

    /// The warning for a working set that caches may hold, except on a suite's own curve.
    fn possibly_cached(&self, params: &MemoryParams) -> Option<Warning> {
        let of_curve = self.varied && self.request.choices.memory.working_sets.is_empty();
        let bytes = self.cache_bytes.filter(|_| !of_curve && self.stanza.beyond_caches)?;
        let (whose, accessed) = match params.background {
            Some(_) => ("The chase's half", chased(params)),
            None => ("The working set", params.working_set),
        };
        let warning = Warning::when(WarningCode::PossiblyCached, bytes as f64 / accessed as f64, || {
            let (accessed, bytes) = (format_size(accessed), format_size(bytes));
            format!("{whose} of {accessed} is not {CACHES_PER_WORKING_SET} times the last-level cache of {bytes}.")
        })?;
        let shares = params.working_set / accessed.max(1);
        let advice = self.obtainable.advice(bytes.saturating_mul(CACHES_PER_WORKING_SET * shares));
        Some(Warning { advice: advice.unwrap_or_else(|| warning.advice.clone()), ..warning })
    }
}

/// Bytes that all chases access: half of them under load.
const fn chased(params: &MemoryParams) -> u64 {
    if params.background.is_some() { params.working_set / 2 } else { params.working_set }
}

/// Work per second and thread of an ordinary machine of today, for the expected length of a total.
const fn expected_rate(params: &MemoryParams) -> f64 {
    match params.op {
        MemoryOp::Load => 1e7,
        MemoryOp::Handoff => 5e6,
        MemoryOp::Increment => 1e8,
        MemoryOp::ByteLoop => 2e9,
        _ => 8e9,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use model::machine::NumaNode;

    use super::*;
    use crate::fields::Threads;
    use crate::memory::tests::{request, stanza};
    use crate::request::LEAST_SAMPLES;
    use crate::suite::Suite;
    use crate::tests::{machine_with_cpus, request_of};

    fn rows_on(machine: &Machine, change: impl Fn(&mut MemoryChoice)) -> Result<Vec<Planned>, PlanError> {
        let suite = Suite { memory: vec![stanza(change)], ..Suite::embedded("quick").unwrap() };
        expand(&request_of(suite), machine)
    }

    fn chase(stanza: &mut MemoryChoice) {
        (stanza.pattern, stanza.op, stanza.threads) =
            (vec![MemoryPattern::Chase], vec![MemoryOp::Load], vec![Threads::All]);
    }

    #[test]
    fn a_working_set_that_does_not_fit_is_an_obstacle_unless_it_was_chosen() {
        let mut machine = machine_with_cpus(1);
        (machine.memory.limit_bytes, machine.memory.limit_used_bytes) = (Some(3 << 30), Some(1 << 30));
        let too_large =
            |stanza: &mut MemoryChoice| (stanza.op, stanza.working_sets) = (vec![MemoryOp::Read], vec![4 << 30]);
        let rows = rows_on(&machine, too_large).unwrap();
        assert!(rows.iter().all(|row| row.obstacle.as_ref().is_some_and(|reason| reason.contains("2.0 GiB"))));
        // Of the chosen working sets the filter excludes those that are too large.
        let suite = Suite { memory: vec![stanza(too_large)], ..Suite::embedded("quick").unwrap() };
        let mut request = request_of(suite);
        request.choices.memory.working_sets = vec![4 << 30];
        let refused = expand(&request, &machine).unwrap_err();
        assert!(refused.0.contains("4GiB") && refused.0.contains("2.0 GiB"), "{refused}");
        request.filter = Some("**/1MiB/**".to_owned());
        assert!(expand(&request, &machine).unwrap().iter().all(|row| row.obstacle.is_some()));
    }

    #[test]
    fn in_a_memory_cgroup_of_400_mib_the_advice_is_about_the_limit_and_not_a_larger_working_set() {
        let mut machine = machine_with_cpus(2);
        machine.caches[0].bytes = Some(256 << 20);
        let advice = |machine: &Machine| rows_on(machine, |_| {}).unwrap()[0].warnings[0].advice.clone();
        machine.memory.available_bytes = Some(1536 << 20);
        assert_eq!(advice(&machine), "Choose a larger --working-set.", "twice as much still fits");
        (machine.memory.limit_bytes, machine.memory.limit_used_bytes) = (Some(400 << 20), Some(20 << 20));
        let limited = "Raise the memory limit of the control group (memory.max): 1GiB would be needed.";
        assert_eq!(advice(&machine), limited);
        (machine.memory.limit_bytes, machine.memory.available_bytes) = (None, Some(300 << 20));
        assert_eq!(advice(&machine), "Free memory: 0.3 GiB are available, 1GiB would be needed.");
    }

    #[test]
    fn memory_on_a_node_with_little_of_it_is_sized_by_that_node_or_skipped() {
        let mut machine = machine_with_cpus(2);
        machine.caches[0].bytes = Some(32 << 20);
        let node = |node, cpus: &[u32], available_bytes| NumaNode {
            node,
            cpus: cpus.to_vec(),
            total_bytes: Some(64 << 30),
            available_bytes,
            ..NumaNode::default()
        };
        // An expander of CXL memory, most of it reserved as huge pages.
        machine.numa =
            vec![node(0, &[0, 1], Some(32 << 30)), node(2, &[], Some(200 << 20)), node(3, &[], Some(1 << 10))];
        let bound = |stanza: &mut MemoryChoice| (stanza.op, stanza.nodes) = (vec![MemoryOp::Read], true);
        let found = |rows: Vec<Planned>| -> Vec<(String, u64, Option<String>)> {
            let of = |row: Planned| {
                let params = row.experiment.memory().unwrap().clone();
                (params.nodes.unwrap(), params.working_set, row.obstacle)
            };
            rows.into_iter().filter(|row| row.cpus.len() == 1).map(of).collect()
        };
        let sized = found(rows_on(&machine, bound).unwrap());
        assert_eq!((sized[0].1, sized[0].2.clone()), (1 << 30, None));
        assert_eq!((sized[1].1, sized[1].2.clone()), (100 << 20, None), "half of what node 2 has");
        assert!(sized[2].2.as_ref().is_some_and(|why| why.contains("is available on node 3")), "{sized:?}");
        let chosen = |stanza: &mut MemoryChoice| {
            bound(stanza);
            stanza.working_sets = vec![1 << 30];
        };
        let reasons: Vec<Option<String>> =
            found(rows_on(&machine, chosen).unwrap()).into_iter().map(|row| row.2).collect();
        let of_node_2 = "a working set of 1GiB does not fit: 0.2 GiB of memory is available on node 2";
        assert_eq!((&reasons[0], reasons[1].as_deref()), (&None, Some(of_node_2)));
    }

    #[test]
    fn a_chase_under_load_has_a_half_beyond_the_caches_and_needs_a_second_core() {
        let loaded = |stanza: &mut MemoryChoice| {
            chase(stanza);
            (stanza.background, stanza.pause_ns) = (vec![MemoryOp::Read], vec![0, 400]);
        };
        let mut machine = machine_with_cpus(2);
        machine.caches[0].bytes = Some(256 << 20);
        let rows = rows_on(&machine, loaded).unwrap();
        let ids: Vec<&str> = rows.iter().map(|row| row.experiment.id.as_str()).collect();
        assert_eq!(ids, ["memory/chase-load/2MiB/with-read-p0/t2", "memory/chase-load/2MiB/with-read-p400/t2"]);
        let params = rows[0].experiment.memory().unwrap();
        assert_eq!((params.working_set, chased(params)), (2 << 30, 1 << 30));
        assert!(rows.iter().all(|row| row.obstacle.is_none() && row.warnings.is_empty()), "{rows:#?}");
        machine.memory.available_bytes = Some(2 << 30);
        let cached = rows_on(&machine, loaded).unwrap();
        assert!(cached[0].warnings[0].text.contains("The chase's half of 512MiB"), "{:?}", cached[0].warnings);
        let alone = rows_on(&machine_with_cpus(1), loaded).unwrap();
        assert!(alone.iter().all(|row| row.obstacle.as_ref().is_some_and(|reason| reason.contains("second core"))));
    }

    #[test]
    fn base_pages_of_4_kib_are_an_obstacle_where_the_kernel_s_are_larger() {
        let mut machine = machine_with_cpus(1);
        machine.memory.page_bytes = Some(64 << 10);
        let rows = rows_on(&machine, |stanza| {
            chase(stanza);
            stanza.pages = vec![Pages::Base4K, Pages::Huge2M];
        });
        let obstacles: Vec<Option<String>> = rows.unwrap().into_iter().map(|row| row.obstacle).collect();
        assert_eq!(obstacles, [Some("the base pages of this kernel have 64KiB".to_owned()), None]);
    }

    #[test]
    fn chains_and_groups_that_no_chase_has_are_refused() {
        let refused = |chains: u32, group: Option<u64>| {
            let rows = rows_on(&machine_with_cpus(1), |stanza| {
                chase(stanza);
                (stanza.chains, stanza.group) = (vec![chains], group);
            });
            rows.err().map(|error| error.0)
        };
        assert_eq!((refused(1, None), refused(32, Some(8 << 10))), (None, None));
        assert!(refused(33, None).unwrap().contains("33 chains") && refused(0, None).is_some());
        assert!(refused(1, Some(6 << 10)).unwrap().contains("6KiB") && refused(1, Some(0)).is_some());
    }

    #[test]
    fn a_block_larger_than_a_threads_share_is_an_obstacle() {
        let rows = rows_on(&machine_with_cpus(2), |stanza| {
            (stanza.op, stanza.block) = (vec![MemoryOp::Copy], vec![8 << 20, 16 << 20]);
            (stanza.working_sets, stanza.threads) = (vec![32 << 20], vec![Threads::All]);
        });
        let known =
            |row: &Planned| row.obstacle.as_ref().is_some_and(|reason| reason.contains("a block of 16MiB is larger"));
        let found: Vec<bool> = rows.unwrap().iter().map(known).collect();
        assert_eq!(found, [false, true], "two threads with two arrays of 8 MiB each");
    }

    fn sets_of_blocks(machine: &Machine, pattern: MemoryPattern, blocks: &[u64]) -> Vec<(u64, bool)> {
        let rows = rows_on(machine, |stanza| {
            (stanza.pattern, stanza.op, stanza.block) = (vec![pattern], vec![MemoryOp::Copy], blocks.to_vec());
            stanza.threads = vec![Threads::Count(8)];
        });
        let set = |row: &Planned| (row.experiment.memory().unwrap().working_set, row.obstacle.is_none());
        rows.unwrap().iter().map(set).collect()
    }

    #[test]
    fn blocks_share_a_working_set_in_which_the_largest_of_them_fits() {
        let mut machine = machine_with_cpus(2);
        let blocks = [8, 1 << 10, 10 << 20, 80 << 20];
        let all = |bytes: u64| vec![(bytes, true); 4];
        assert_eq!(sets_of_blocks(&machine, MemoryPattern::Sequential, &blocks), all(1280 << 20));
        assert_eq!(sets_of_blocks(&machine, MemoryPattern::Random, &blocks), all(2 << 30), "powers of two of blocks");
        // 80 MiB for each of two arrays of eight threads are more than half of this.
        machine.memory.available_bytes = Some(2 << 30);
        let found = sets_of_blocks(&machine, MemoryPattern::Sequential, &blocks);
        assert_eq!(found.iter().map(|set| set.1).collect::<Vec<_>>(), [true, true, true, false], "{found:?}");
        assert!(found.iter().all(|set| set.0 == 1 << 30), "those that fit are not kept from it: {found:?}");
    }

    #[test]
    fn a_total_is_done_in_full_where_that_is_asked_for() {
        let stanza = stanza(|stanza| (stanza.classic, stanza.total) = (Some("RWS".into()), Some(1e11)));
        let suite = Suite { memory: vec![stanza], ..Suite::embedded("quick").unwrap() };
        for exact_workload in [false, true] {
            let request = Request { exact_workload, ..request_of(suite.clone()) };
            for row in expand(&request, &machine_with_cpus(2)).unwrap() {
                assert_eq!(row.experiment.classic.as_ref().and_then(|classic| classic.total), Some(1e11));
                assert_eq!(row.exact_work, exact_workload.then_some(1e11));
                assert_eq!(row.sampling.samples == LEAST_SAMPLES && row.sampling.sample_seconds > 1.0, exact_workload);
            }
        }
    }

    #[test]
    fn a_line_is_handed_between_two_cpus_whatever_the_threads() {
        let pair = |stanza: &mut MemoryChoice| {
            (stanza.pattern, stanza.op) = (vec![MemoryPattern::Pair], vec![MemoryOp::Handoff]);
            (stanza.working_sets, stanza.threads) = (vec![1 << 30], vec![Threads::Count(5)]);
        };
        let rows = rows_on(&machine_with_cpus(2), pair).unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(
            (rows[0].experiment.id.as_str(), &rows[0].cpus[..]),
            ("memory/pair-handoff/t2/cpu0-cpu1", &[0, 1][..])
        );
        let alone = rows_on(&machine_with_cpus(1), pair).unwrap();
        assert!(alone[0].experiment.id == "memory/pair-handoff/t2" && alone[0].obstacle.is_some(), "{alone:?}");
    }

    #[test]
    fn every_row_has_an_id_of_its_own() {
        let rows = expand(&request(false), &machine_with_cpus(2)).unwrap();
        let ids: BTreeSet<&str> = rows.iter().map(|row| row.experiment.id.as_str()).collect();
        assert!(ids.contains("memory/chase-load/48KiB/2MiB/t1") && ids.len() == rows.len(), "{ids:#?}");
    }
}
