//! The rows of memory: which working sets, CPUs and nodes a stanza comes to on a machine, and what each costs.

use std::iter;

use kernels::lines::Line;
use model::experiment::{Area, Background, Classic, Experiment, MemoryChoices, MemoryParams, Params, memory_id};
use model::isa::{Isa, MemoryOp, MemoryPattern, Pages, Placement};
use model::machine::Machine;
use model::unit::format_size;
use model::warning::{Warning, WarningCode};

use super::sets::{instruction_sets, method};
use crate::plan::{PlanError, Planned, Request, place, thread_counts};
use crate::suite::{IsaChoice, MemoryStanza, WorkingSets};

/// A working set is at least this many times the last-level caches that serve it.
const CACHES_PER_WORKING_SET: u64 = 4;

/// The share of the available memory that a working set of our own choice takes at most.
const AVAILABLE_SHARE: u64 = 2;

/// Filling speed for the expected cost, in bytes per second: between memory that was just freed and memory that a
/// hypervisor has to find first. A guess for `--list` and the time left; nothing that is measured rests on it.
const FILL_BYTES_PER_SECOND: f64 = 3e9;
/// Cost of linking one node of a cycle, in seconds, for the expected cost.
const LINK_SECONDS: f64 = 60e-9;

/// One combination of a stanza's lists.
#[derive(Clone, Debug)]
struct Combination {
    op: MemoryOp,
    isa: Isa,
    /// Whether the stanza names the instruction set.
    isa_named: bool,
    obstacle: Option<String>,
    pages: Pages,
    block: Option<u64>,
    chains: Option<u32>,
    background: Option<Background>,
    placement: Option<Placement>,
    threads: u32,
}

/// The rows of a request on a machine.
pub(super) fn expand(request: &Request, machine: &Machine) -> Result<Vec<Planned>, PlanError> {
    let mut rows = Vec::new();
    for stanza in &request.suite.memory {
        for combination in combinations(request, machine, stanza)? {
            rows.extend(rows_of(request, machine, stanza, &combination)?);
        }
    }
    Ok(rows)
}

/// Every combination of a stanza's lists on this machine; an empty list is a parameter that does not apply.
fn combinations(request: &Request, machine: &Machine, stanza: &MemoryStanza) -> Result<Vec<Combination>, PlanError> {
    let mut all = Vec::new();
    let threads = thread_counts(request, &stanza.threads, machine);
    for &op in &stanza.op {
        check_pattern(stanza, op)?;
        for &choice in &stanza.isa {
            for (isa, obstacle) in instruction_sets(request, op, choice)? {
                let first = Combination {
                    op,
                    isa,
                    isa_named: matches!(choice, IsaChoice::Named(_)),
                    obstacle,
                    pages: Pages::Huge2M,
                    block: None,
                    chains: None,
                    background: None,
                    placement: None,
                    threads: 1,
                };
                all.extend(spread(&first, stanza, &threads));
            }
        }
    }
    Ok(all)
}

/// The combinations of all other lists of a stanza.
fn spread(first: &Combination, stanza: &MemoryStanza, threads: &[u32]) -> Vec<Combination> {
    let mut all = vec![first.clone()];
    let mut vary = |change: &dyn Fn(&Combination) -> Vec<Combination>| all = all.iter().flat_map(change).collect();
    vary(&|one| stanza.pages.iter().map(|pages| Combination { pages: *pages, ..one.clone() }).collect());
    vary(&|one| each(&stanza.block).map(|block| Combination { block, ..one.clone() }).collect());
    let one_chain = (stanza.pattern == MemoryPattern::Chase).then_some(1);
    vary(&|one| {
        let chains = each(&stanza.chains).map(|chains| chains.or(one_chain));
        chains.map(|chains| Combination { chains, ..one.clone() }).collect()
    });
    vary(&|one| {
        let pauses = || if stanza.pause_ns.is_empty() { vec![0] } else { stanza.pause_ns.clone() };
        let loads = each(&stanza.background).flat_map(|op| match op {
            None => vec![None],
            Some(op) => pauses().into_iter().map(|pause_ns| Some(Background { op, pause_ns })).collect(),
        });
        loads.map(|background| Combination { background, ..one.clone() }).collect()
    });
    vary(&|one| each(&stanza.placement).map(|placement| Combination { placement, ..one.clone() }).collect());
    vary(&|one| threads.iter().map(|threads| Combination { threads: *threads, ..one.clone() }).collect());
    all
}

/// Each of a list, or once none where it is empty.
fn each<T: Copy>(list: &[T]) -> impl Iterator<Item = Option<T>> {
    let none = if list.is_empty() { Some(None) } else { None };
    list.iter().copied().map(Some).chain(none)
}

/// There is a kernel for this operation in this order.
fn check_pattern(stanza: &MemoryStanza, op: MemoryOp) -> Result<(), PlanError> {
    let known = match (stanza.pattern, stanza.block.is_empty()) {
        (MemoryPattern::Sequential, true) => MemoryOp::STREAMS,
        (MemoryPattern::Sequential, false) | (MemoryPattern::Random, false) => MemoryOp::OF_BLOCKS,
        (MemoryPattern::Random, true) => &[MemoryOp::Increment],
        (MemoryPattern::Chase, _) => &[MemoryOp::Load],
        (MemoryPattern::Pair, _) => &[MemoryOp::Handoff],
    };
    if known.contains(&op) {
        return Ok(());
    }
    let blocks = if stanza.block.is_empty() { "" } else { " in blocks" };
    Err(PlanError(format!("there is no kernel for {op} in the pattern {}{blocks}", stanza.pattern)))
}

/// The rows of one combination: one per working set.
fn rows_of(
    request: &Request,
    machine: &Machine,
    stanza: &MemoryStanza,
    combination: &Combination,
) -> Result<Vec<Planned>, PlanError> {
    let (cpus, oversubscribed) = place(combination.threads, machine);
    let cache_bytes = caches_behind(&cpus, machine);
    let sets = working_sets(request, machine, stanza, cache_bytes)?;
    let varied = matches!(stanza.working_sets(), WorkingSets::Sweep { .. } | WorkingSets::Exactly(_));
    let row = |working_set: u64| {
        row(request, stanza, combination, &cpus, oversubscribed.clone(), (working_set, varied, cache_bytes))
    };
    Ok(sets.into_iter().map(row).collect())
}

fn row(
    request: &Request,
    stanza: &MemoryStanza,
    combination: &Combination,
    cpus: &[u32],
    oversubscribed: Option<Warning>,
    (working_set, varied, cache_bytes): (u64, bool, Option<u64>),
) -> Planned {
    let chase = stanza.pattern == MemoryPattern::Chase;
    let params = MemoryParams {
        pattern: stanza.pattern,
        op: combination.op,
        block: combination.block,
        working_set,
        pages: combination.pages,
        isa: combination.isa,
        chains: combination.chains,
        group: stanza.group,
        background: combination.background,
        placement: combination.placement,
        threads: combination.threads,
        level: None,
        nodes: None,
    };
    let chosen = MemoryChoices {
        working_set: varied,
        pages: request.chosen.pages,
        isa: (request.chosen.isa || combination.isa_named) && !chase,
    };
    // A working set that was asked for by its size is meant to be in the caches or not, as it comes.
    let cached = cache_bytes.filter(|_| !varied && stanza.beyond_caches).and_then(|bytes| {
        Warning::when(WarningCode::PossiblyCached, bytes as f64 / working_set as f64, || {
            format!(
                "The working set of {} is not {CACHES_PER_WORKING_SET} times the last-level cache of {}.",
                format_size(working_set),
                format_size(bytes)
            )
        })
    });
    let nodes = if chase { working_set as f64 / Line::BYTES as f64 / f64::from(combination.threads) } else { 0.0 };
    let classic = stanza.classic.as_ref().map(|workload| Classic {
        table: "memory".to_owned(),
        workload: workload.clone(),
        class: None,
        total: stanza.total,
    });
    Planned {
        experiment: Experiment {
            id: memory_id(&params, chosen),
            area: Area::Memory,
            method: method(&params),
            classic,
            kernel: None,
            params: Params::Memory(params),
        },
        cpus: cpus.to_vec(),
        other_cpus: Vec::new(),
        beside: Vec::new(),
        sampling: stanza.sampling.clone().unwrap_or_else(|| request.suite.sampling(Area::Memory)),
        exact_work: None,
        setup_seconds: working_set as f64 / FILL_BYTES_PER_SECOND + nodes * LINK_SECONDS,
        obstacle: combination.obstacle.clone(),
        warnings: oversubscribed.into_iter().chain(cached).collect(),
    }
}

/// Bytes of the distinct last-level caches that serve these CPUs; `None` where no cache is known.
fn caches_behind(cpus: &[u32], machine: &Machine) -> Option<u64> {
    let level = machine.caches.iter().filter(|cache| cache.kind != "instruction").map(|cache| cache.level).max()?;
    let serving =
        |cache: &&model::machine::Cache| cache.level == level && cpus.iter().any(|cpu| cache.cpus.contains(cpu));
    let bytes: u64 = machine.caches.iter().filter(serving).filter_map(|cache| cache.bytes).sum();
    (bytes > 0).then_some(bytes)
}

/// Memory that can be had: what is available, or what the control group still allows.
fn obtainable_bytes(machine: &Machine) -> Option<u64> {
    let memory = &machine.memory;
    let in_group = memory.limit_bytes.map(|limit| limit.saturating_sub(memory.limit_used_bytes.unwrap_or(0)));
    memory.available_bytes.into_iter().chain(in_group).min()
}

/// The working sets of a stanza, in bytes, each a size that fits.
fn working_sets(
    request: &Request,
    machine: &Machine,
    stanza: &MemoryStanza,
    cache_bytes: Option<u64>,
) -> Result<Vec<u64>, PlanError> {
    let obtainable = obtainable_bytes(machine);
    let beyond =
        |least: u64| within(least.max(cache_bytes.unwrap_or(0).saturating_mul(CACHES_PER_WORKING_SET)), obtainable);
    match stanza.working_sets() {
        WorkingSets::Least(least) => Ok(vec![beyond(least)]),
        WorkingSets::About(bytes) => Ok(vec![bytes.min(within(bytes, obtainable).max(bytes.min(1 << 20)))]),
        WorkingSets::Sweep { from, least } => Ok(octaves(from, beyond(least))),
        WorkingSets::Exactly(sets) => {
            for bytes in &sets {
                if let Some(obtainable) =
                    obtainable.filter(|obtainable| bytes > obtainable && request.chosen.working_set)
                {
                    return Err(PlanError(format!(
                        "a working set of {} does not fit: {:.1} GiB of memory can be had here",
                        format_size(*bytes),
                        obtainable as f64 / f64::from(1 << 30)
                    )));
                }
            }
            Ok(sets)
        }
    }
}

/// So many bytes, or what half of the memory there is allows, in whole MiB.
fn within(wanted: u64, obtainable: Option<u64>) -> u64 {
    let bounded = obtainable.map_or(wanted, |obtainable| wanted.min(obtainable / AVAILABLE_SHARE));
    (bounded >> 20 << 20).max(1 << 20)
}

/// Sizes from the first to the last, two in each octave: powers of two, and half as much again.
fn octaves(first: u64, last: u64) -> Vec<u64> {
    let powers = iter::successors(Some(first.next_power_of_two()), |bytes| bytes.checked_mul(2));
    let sizes = powers.flat_map(|bytes| [bytes, bytes / 2 * 3]);
    sizes.take_while(|bytes| *bytes <= last).filter(|bytes| *bytes >= first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Chosen;
    use crate::suite::{MemoryChoice, Suite};
    use crate::tests::machine_with_cpus;

    fn stanza(change: impl Fn(&mut MemoryStanza)) -> MemoryStanza {
        let mut stanza = Suite::of_memory(&MemoryChoice::default()).unwrap().memory.remove(0);
        change(&mut stanza);
        stanza
    }

    fn request(chosen: bool) -> Request {
        let chosen = Chosen { working_set: chosen, ..Chosen::default() };
        Request { chosen, ..Request::of(Suite::of_memory(&MemoryChoice::default()).unwrap()) }
    }

    #[test]
    fn a_working_set_is_four_caches_or_what_memory_allows() {
        let machine = machine_with_cpus(2);
        let gib = 1_u64 << 30;
        let least = |cache| working_sets(&request(false), &machine, &stanza(|_| {}), Some(cache)).unwrap();
        assert_eq!(least(32 << 20), [gib]);
        assert_eq!(least(gib), [4 * gib]);
        assert_eq!(least(64 * gib), [8 * gib], "half of 16 GiB");
        let exactly = |bytes| {
            let stanza = stanza(|stanza| stanza.working_sets = vec![bytes]);
            working_sets(&request(true), &machine, &stanza, Some(gib))
        };
        assert_eq!(exactly(8 << 20), Ok(vec![8 << 20]));
        assert!(exactly(17 * gib).unwrap_err().0.contains("does not fit"));
    }

    #[test]
    fn a_sweep_takes_two_steps_an_octave_and_ends_beyond_the_caches() {
        assert_eq!(octaves(4 << 10, 16 << 10), [4 << 10, 6 << 10, 8 << 10, 12 << 10, 16 << 10]);
        assert_eq!(octaves(5 << 10, 13 << 10), [8 << 10, 12 << 10]);
        let machine = machine_with_cpus(2);
        let sweep = stanza(|stanza| stanza.sweep_from = Some(4 << 10));
        let sizes = working_sets(&request(false), &machine, &sweep, Some(512 << 20)).unwrap();
        assert_eq!(sizes.last(), Some(&(2 << 30)));
    }

    #[test]
    fn every_row_has_an_id_of_its_own() {
        let rows = expand(&request(false), &machine_with_cpus(2)).unwrap();
        let mut ids: Vec<&str> = rows.iter().map(|row| row.experiment.id.as_str()).collect();
        assert!(ids.contains(&"memory/chase-load/48KiB/2MiB/t1"), "{ids:#?}");
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}
