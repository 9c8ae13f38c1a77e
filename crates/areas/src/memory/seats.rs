//! The CPUs of a memory benchmark: in the usual order, by a placement, on one memory node with memory on another, or in pairs.

use model::isa::MemoryPattern;
use model::machine::{Machine, NumaNode};
use model::plan::PlanError;
use model::warning::Warning;
use verdict::grouping::by_key;

use super::choice::{MemoryChoice, NodePair};
use crate::request::Request;
use crate::threads::{place, place_on, placed_order, placement_matters, thread_counts, thread_counts_on};

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seats {
    pub(super) cpus: Vec<u32>,
    pub(super) placement: Option<model::isa::Placement>,
    pub(super) nodes: Option<String>,
    /// The node that the memory is bound to.
    pub(super) memory_node: Option<u32>,
    pub(super) oversubscribed: Option<Warning>,
    pub(super) obstacle: Option<String>,
}

const CPUS_IN_ALL_PAIRS: usize = 8;
/// The most pairs of each kind beyond that: three kinds and one pair of siblings are at most 64 benchmarks.
const PAIRS_OF_A_KIND: usize = 21;

pub(super) fn seats(request: &Request, machine: &Machine, stanza: &MemoryChoice) -> Vec<Seats> {
    if stanza.only_pattern() == MemoryPattern::Pair {
        return of_pairs(machine);
    }
    if stanza.nodes {
        return on_nodes(request, machine, stanza);
    }
    let threads = thread_counts(request, &stanza.threads, machine);
    let plain = |threads: u32| {
        let (cpus, oversubscribed) = place(threads, machine);
        Seats { cpus, oversubscribed, ..Seats::default() }
    };
    if stanza.placement.is_empty() {
        return threads.into_iter().map(plain).collect();
    }
    let mut all: Vec<Seats> = Vec::new();
    for threads in threads {
        if placement_matters(threads, machine) {
            all.extend(stanza.placement.iter().map(|&placement| {
                let (cpus, oversubscribed) = place_on(threads, placed_order(placement, machine));
                Seats { cpus, oversubscribed, placement: Some(placement), ..Seats::default() }
            }));
        } else if !request.choices.memory.placement.is_empty() {
            all.push(plain(threads));
        }
    }
    all
}

/// Checks that the chosen nodes exist: those of threads with CPUs, the others with memory.
pub(super) fn check_nodes(machine: &Machine, stanza: &MemoryChoice) -> Result<(), PlanError> {
    let nodes = |of: &dyn Fn(&NumaNode) -> bool| -> Vec<u32> {
        machine.numa.iter().filter(|node| of(node)).map(|node| node.node).collect()
    };
    let with_cpus = nodes(&|node| node.cpus.iter().any(|cpu| machine.cpu.available_cpus.contains(cpu)));
    let with_memory = nodes(&has_memory);
    for pair in &stanza.node_pairs {
        let needed = [(pair.threads, &with_cpus, "a CPU that we may use"), (pair.memory, &with_memory, "memory")];
        let missing = needed.into_iter().find(|(node, those, _)| !those.contains(node));
        if let Some((node, those, what)) = missing {
            let known = those.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            let advice = match &known[..] {
                "" => "the memory nodes of this machine are unknown; leave --nodes out".to_owned(),
                known => format!("those that have are {known}; take two of `assay info`'s memory nodes"),
            };
            return Err(PlanError(format!("--nodes {pair}: there is no node {node} with {what}: {advice}")));
        }
    }
    Ok(())
}

// A node of unknown size has memory, as nearly all do.
fn has_memory(node: &NumaNode) -> bool {
    node.total_bytes != Some(0)
}

/// Threads on each node with CPUs, memory on each with memory, or the chosen pairs; nothing on a single node.
fn on_nodes(request: &Request, machine: &Machine, stanza: &MemoryChoice) -> Vec<Seats> {
    let with_memory = || machine.numa.iter().filter(|node| has_memory(node)).map(|node| node.node);
    let chosen = |threads: u32, memory: u32| {
        stanza.node_pairs.is_empty() || stanza.node_pairs.contains(&NodePair { threads, memory })
    };
    let mut all = Vec::new();
    for node in machine.numa.iter().filter(|_| machine.numa.len() > 1 || !stanza.node_pairs.is_empty()) {
        let mut order = machine.cpu.placement_order();
        order.retain(|cpu| node.cpus.contains(cpu));
        if order.is_empty() {
            continue;
        }
        for threads in thread_counts_on(request, &stanza.threads, machine, &order) {
            let (cpus, oversubscribed) = place_on(threads, order.clone());
            all.extend(with_memory().filter(|memory| chosen(node.node, *memory)).map(|memory| Seats {
                cpus: cpus.clone(),
                nodes: Some(format!("{}-{memory}", node.node)),
                memory_node: Some(memory),
                oversubscribed: oversubscribed.clone(),
                ..Seats::default()
            }));
        }
    }
    all
}

/// Pairs of CPUs; an impossible one if there is one CPU.
fn of_pairs(machine: &Machine) -> Vec<Seats> {
    let pair =
        |(a, b): (u32, u32)| Seats { cpus: vec![a, b], nodes: Some(format!("cpu{a}-cpu{b}")), ..Seats::default() };
    let all: Vec<Seats> = pairs(machine).into_iter().map(pair).collect();
    if !all.is_empty() {
        return all;
    }
    let (cpus, _) = place(2, machine);
    let obstacle = Some("cache line handoff needs two CPUs, and only one is available".to_owned());
    vec![Seats { cpus, obstacle, ..Seats::default() }]
}

/// All pairs of few CPUs, else a sample: SMT siblings, each core with the first of its own and of another cache, and
/// the first cores of the caches with each other.
fn pairs(machine: &Machine) -> Vec<(u32, u32)> {
    let mut cpus = machine.cpu.available_cpus.clone();
    cpus.sort_unstable();
    if cpus.len() <= CPUS_IN_ALL_PAIRS {
        return each_with_each(&cpus);
    }
    let cores = machine.cpu.one_per_core(&cpus);
    let llc = |cpu: u32| machine.cpu.place(cpu).and_then(|place| place.llc);
    let core = |cpu: u32| machine.cpu.place(cpu).map(|place| place.core);
    let firsts: Vec<u32> = by_key(cores.iter().copied(), |cpu| Some(llc(*cpu))).iter().map(|(_, own)| own[0]).collect();
    let of_one_core = |&cpu: &u32| !cores.contains(&cpu) && core(cpu).is_some() && core(cpu) == core(cores[0]);
    let siblings = cpus.iter().copied().find(of_one_core).map(|sibling| (cores[0], sibling));
    let with_firsts = |own: bool| {
        let others = cores.iter().filter(|cpu| !firsts.contains(cpu));
        let pairs = others.flat_map(|&cpu| firsts.iter().map(move |&first| (first, cpu)));
        pairs.filter(|(first, cpu)| (llc(*first) == llc(*cpu)) == own).collect::<Vec<_>>()
    };
    let kinds = [with_firsts(true), each_with_each(&firsts), with_firsts(false)];
    siblings.into_iter().chain(kinds.iter().flat_map(|kind| spread_out(kind))).collect()
}

fn each_with_each(cpus: &[u32]) -> Vec<(u32, u32)> {
    let with_later = |(index, &cpu): (usize, &u32)| cpus[index + 1..].iter().map(move |&other| (cpu, other));
    cpus.iter().enumerate().flat_map(with_later).collect()
}

fn spread_out(pairs: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let count = pairs.len().min(PAIRS_OF_A_KIND);
    (0..count).map(|index| pairs[index * pairs.len() / count]).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::fields::Threads;
    use crate::memory::tests;
    use crate::tests::machine_with_cpus;
    use model::isa::Placement;

    fn request(placement: bool) -> Request {
        let mut request = tests::request(false);
        request.choices.memory.placement.extend(placement.then_some(Placement::Compact));
        request
    }

    fn stanza(change: impl Fn(&mut MemoryChoice)) -> MemoryChoice {
        tests::stanza(|stanza| {
            stanza.threads = vec![Threads::Doubling];
            change(stanza);
        })
    }

    /// Cores of two threads each, in groups that share a last-level cache, on these nodes.
    fn machine_of(cores: u32, in_group: u32, nodes: u32) -> Machine {
        let mut machine = machine_with_cpus(2 * cores);
        for place in &mut machine.cpu.topology {
            place.core = place.cpu % cores;
            place.llc = Some(place.core / in_group);
            place.node = Some(place.core * nodes / cores);
        }
        let cpus = |node| {
            let on_it = machine.cpu.topology.iter().filter(|place| place.node == Some(node));
            on_it.map(|place| place.cpu).collect()
        };
        machine.numa = (0..nodes).map(|node| NumaNode { node, cpus: cpus(node), ..NumaNode::default() }).collect();
        machine
    }

    fn nodes_of(seats: &[Seats]) -> Vec<&str> {
        seats.iter().filter_map(|seats| seats.nodes.as_deref()).collect()
    }

    #[test]
    fn nodes_are_paired_or_chosen_or_refused_with_those_there_are() {
        let across = stanza(|stanza| (stanza.nodes, stanza.threads) = (true, vec![Threads::All]));
        let mut machine = machine_of(4, 2, 2);
        let found = seats(&request(false), &machine, &across);
        assert_eq!(nodes_of(&found), ["0-0", "0-1", "1-0", "1-1"]);
        assert_eq!((&found[1].cpus[..], &found[2].cpus[..]), (&[0, 1][..], &[2, 3][..]), "threads on the first");
        machine.numa.push(NumaNode { node: 2, ..NumaNode::default() });
        machine.numa[0].total_bytes = Some(0);
        let found = seats(&request(false), &machine, &across);
        assert_eq!(nodes_of(&found), ["0-1", "0-2", "1-1", "1-2"], "no CPU on node 2, no memory on node 0");
        assert_eq!(seats(&request(false), &machine_of(4, 2, 1), &across), [], "one node is no pair of them");
        let pair = |threads, memory| NodePair { threads, memory };
        let with = |pairs: &[NodePair]| {
            stanza(|stanza| {
                (stanza.nodes, stanza.node_pairs, stanza.threads) = (true, pairs.to_vec(), vec![Threads::All]);
            })
        };
        let mut machine = machine_of(4, 2, 2);
        machine.numa.push(NumaNode { node: 2, ..NumaNode::default() });
        let chosen = with(&[pair(1, 0), pair(0, 2)]);
        assert_eq!(check_nodes(&machine, &chosen), Ok(()));
        assert_eq!(nodes_of(&seats(&request(false), &machine, &chosen)), ["0-2", "1-0"]);
        let one = machine_of(4, 4, 1);
        assert_eq!(nodes_of(&seats(&request(false), &one, &with(&[pair(0, 0)]))), ["0-0"], "one node, if it is named");
        let refused = |machine: &Machine, pair| check_nodes(machine, &with(&[pair])).unwrap_err().0;
        let sentence = refused(&machine, pair(2, 0));
        assert!(sentence.contains("node 2 with a CPU") && sentence.contains("0, 1;"), "{sentence}");
        assert!(refused(&one, pair(0, 1)).contains("--nodes 0-1: there is no node 1 with memory"));
        assert!(refused(&machine_with_cpus(2), pair(0, 0)).contains("leave --nodes out"));
    }

    #[test]
    fn a_placement_is_a_row_only_where_it_matters() {
        let placed = stanza(|stanza| stanza.placement = vec![Placement::Compact, Placement::Scatter]);
        let machine = machine_of(4, 2, 1);
        let of = |seats: Vec<Seats>| seats.into_iter().map(|seats| (seats.placement, seats.cpus)).collect::<Vec<_>>();
        let two = [(Some(Placement::Compact), vec![0, 1]), (Some(Placement::Scatter), vec![0, 2])];
        assert_eq!(of(seats(&request(false), &machine, &placed)), two);
        let chosen = of(seats(&request(true), &machine, &placed));
        assert_eq!(chosen.iter().filter(|(placement, _)| placement.is_none()).count(), 2, "of one thread and of four");
        let one_group = machine_of(4, 4, 1);
        assert_eq!(seats(&request(false), &one_group, &placed), []);
        let plain = of(seats(&request(true), &one_group, &placed));
        assert!(plain.len() == 3 && plain.iter().all(|(placement, _)| placement.is_none()), "{plain:?}");
    }

    #[test]
    fn few_cpus_are_paired_each_with_each_and_many_sampled() {
        let pair = stanza(|stanza| stanza.pattern = vec![MemoryPattern::Pair]);
        let found = seats(&request(false), &machine_with_cpus(3), &pair);
        assert_eq!(nodes_of(&found), ["cpu0-cpu1", "cpu0-cpu2", "cpu1-cpu2"]);
        assert_eq!(pairs(&machine_with_cpus(8)).len(), 28);
        let alone = seats(&request(false), &machine_with_cpus(1), &pair);
        assert!(alone.len() == 1 && alone[0].obstacle.as_ref().is_some_and(|reason| reason.contains("only one")));
        let machine = machine_of(6, 3, 1);
        let inside = [(0, 1), (0, 2), (3, 4), (3, 5)];
        let other = [(3, 1), (3, 2), (0, 4), (0, 5)];
        assert_eq!(pairs(&machine), [&[(0, 6)][..], &inside, &[(0, 3)], &other].concat());
        for (cores, in_group) in [(5, 5), (64, 8), (192, 16), (512, 1)] {
            let machine = machine_of(cores, in_group, 2);
            let pairs = pairs(&machine);
            let different: BTreeSet<_> = pairs.iter().map(|(a, b)| (a.min(b), a.max(b))).collect();
            assert!((1..=64).contains(&pairs.len()) && different.len() == pairs.len(), "{cores}: {pairs:?}");
            assert!(pairs.iter().all(|(a, b)| a != b));
            let siblings = |(a, b): &&(u32, u32)| a % cores == b % cores;
            assert_eq!(pairs.iter().filter(siblings).count(), 1, "{cores}");
        }
    }
}
