//! Thread counts on a machine, and the CPU of each thread.

use std::collections::BTreeSet;

use model::isa::Placement;
use model::machine::Machine;
use model::warning::{Warning, WarningCode};
use verdict::grouping::by_key;

use crate::fields::{MOST_THREADS, Threads};
use crate::request::Request;

/// The thread counts on this machine, ascending: the request's, else the suite's.
pub(crate) fn thread_counts(request: &Request, suite: &[Threads], machine: &Machine) -> Vec<u32> {
    thread_counts_on(request, suite, machine, &machine.cpu.available_cpus)
}

/// The same on these CPUs only.
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

/// The CPU of each thread: one per physical core first, fast cores before slow ones, then SMT siblings, then all over again
/// with a warning.
pub fn place(threads: u32, machine: &Machine) -> (Vec<u32>, Option<Warning>) {
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

/// The available CPUs in the order of a placement, by groups that share a last-level cache: `compact` fills one group after
/// the other; `scatter` takes a core of each in turn, groups of different memory nodes first. SMT siblings are last.
pub(crate) fn placed_order(placement: Placement, machine: &Machine) -> Vec<u32> {
    let order = machine.cpu.placement_order();
    let cores = machine.cpu.one_per_core(&order);
    let groups = groups_of(&order, machine);
    // A group's turn is its position among those of its node.
    let turn = |rank: usize| groups[..rank].iter().filter(|other| other.0 == groups[rank].0).count();
    let turns: Vec<usize> = (0..groups.len()).map(turn).collect();
    let place = |cpu: u32| {
        let within = |cpus: &[u32]| cpus.iter().position(|other| *other == cpu);
        let found = groups.iter().enumerate().find_map(|(rank, (_, cpus))| Some((rank, within(cpus)?)));
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

/// CPUs that share a last-level cache, in the order of placement, with their memory node.
fn groups_of(order: &[u32], machine: &Machine) -> Vec<(Option<u32>, Vec<u32>)> {
    let place = |cpu: &u32| machine.cpu.place(*cpu);
    let groups = by_key(order.iter().copied(), |cpu| Some(place(cpu).and_then(|place| place.llc))).into_iter();
    groups.map(|(_, cpus)| (place(&cpus[0]).and_then(|place| place.node), cpus)).collect()
}

pub(crate) fn placement_matters(threads: u32, machine: &Machine) -> bool {
    let taken =
        |placement| -> BTreeSet<u32> { place_on(threads, placed_order(placement, machine)).0.into_iter().collect() };
    taken(Placement::Compact) != taken(Placement::Scatter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::machine_with_cpus;

    #[test]
    fn more_threads_than_cpus_take_turns_and_say_so() {
        let machine = machine_with_cpus(2);
        let (cpus, warning) = place(4, &machine);
        assert_eq!(cpus, [0, 1, 0, 1]);
        assert_eq!(warning.unwrap().code, WarningCode::Oversubscribed);
        assert!(place(2, &machine).1.is_none());
    }

    /// Eight cores in four groups of two on two nodes; CPU 8 + n is the sibling of core n.
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
        let machine = machine_of_groups();
        let matters: Vec<u32> = (1..=16).filter(|threads| placement_matters(*threads, &machine)).collect();
        assert_eq!(matters, [2, 3, 4, 5, 6, 10, 11, 12, 13, 14], "seven of eight cores leave out the same one");
        let one_group = machine_with_cpus(8);
        assert!((1..=8).all(|threads| !placement_matters(threads, &one_group)));
        assert_eq!(placed_order(Placement::Scatter, &one_group), one_group.cpu.placement_order());
    }
}
