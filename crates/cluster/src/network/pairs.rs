//! The tasks of the network between nodes: each pair is measured alone and again with its whole round, by the same two
//! benchmarks of `assay net`, a TCP stream and one-byte round trips.

use model::cluster::{PairTask, Pairing, Plan, PlanNode, Task, Work};

use super::rounds::{Ordered, rounds};

/// Expected seconds of a pair: five samples of two benchmarks, each in a new worker process.
pub(crate) const PAIR_SECONDS: f64 = 5.0;
/// The most pairs that are measured alone, which take an hour and a half; whole rounds only.
const MOST_ALONE: usize = 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) round: u32,
    pub(super) from: String,
    pub(super) to: String,
    /// Whether the whole round measures at the same time.
    pub(super) together: bool,
}

impl Pair {
    /// The name of its task, which belongs to the client.
    pub(super) fn task_name(&self) -> String {
        name(&self.to, self.together)
    }
}

/// The tasks of all pairs in the order of their rounds; each belongs to its client.
pub(crate) fn tasks(nodes: &[PlanNode], pairing: Pairing, seed: u64) -> Vec<Task> {
    let rounds = rounds(nodes.len(), pairing, seed);
    let alone = rounds_alone(rounds.iter().map(Vec::len));
    let mut tasks = Vec::new();
    for (number, round) in rounds.iter().enumerate() {
        for &(from, to) in round {
            let round = u32::try_from(number).unwrap_or(u32::MAX);
            let to = &nodes[to].name;
            let task = |together| Task {
                node: nodes[from].name.clone(),
                name: name(to, together),
                pass: 1,
                seconds: PAIR_SECONDS,
                tried: 0,
                work: Work::Pair(PairTask { to: to.clone(), round, together }),
            };
            tasks.extend((number < alone).then(|| task(false)));
            tasks.push(task(true));
        }
    }
    tasks
}

pub(super) fn name(to: &str, together: bool) -> String {
    format!("to-{to}.{}", if together { "together" } else { "alone" })
}

/// The rounds of a plan: the names of client and server of each pair.
pub(super) fn named_rounds(plan: &Plan) -> Vec<Vec<(String, String)>> {
    let Some(pairing) = plan.pairing else { return Vec::new() };
    let named = |&(from, to): &Ordered| (plan.nodes[from].name.clone(), plan.nodes[to].name.clone());
    let rounds = rounds(plan.nodes.len(), pairing, plan.seed);
    rounds.iter().map(|round| round.iter().map(named).collect()).collect()
}

/// The pairs of a node: first those measured alone, then those measured with their round.
pub(super) fn pairs_of(node: &str, rounds: &[Vec<(String, String)>]) -> Vec<Pair> {
    let alone = rounds_alone(rounds.iter().map(Vec::len));
    let mut pairs = Vec::new();
    for together in [false, true] {
        for (number, round) in rounds.iter().enumerate().filter(|(number, _)| together || *number < alone) {
            let round_number = u32::try_from(number).unwrap_or(u32::MAX);
            let ours = round.iter().filter(|(from, to)| from == node || to == node);
            let pair = |(from, to): &(String, String)| Pair {
                round: round_number,
                from: from.clone(),
                to: to.clone(),
                together,
            };
            pairs.extend(ours.map(pair));
        }
    }
    pairs
}

/// How many of the first rounds are also measured alone.
pub(super) fn rounds_alone(pairs_of_rounds: impl Iterator<Item = usize>) -> usize {
    let so_far = pairs_of_rounds.scan(0, |pairs, more| {
        *pairs += more;
        Some(*pairs)
    });
    so_far.take_while(|pairs| *pairs <= MOST_ALONE).count()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn nodes(count: usize) -> Vec<PlanNode> {
        (1..=count).map(|number| PlanNode { name: format!("n{number}"), partition: None }).collect()
    }

    #[test]
    fn each_pair_is_measured_alone_and_with_its_round() {
        let tasks = tasks(&nodes(5), Pairing::All, 1);
        assert_eq!(tasks.len(), 2 * 5 * 4);
        let names: BTreeSet<(&str, &str)> = tasks.iter().map(|task| (task.node.as_str(), task.name.as_str())).collect();
        assert_eq!(names.len(), tasks.len(), "names are unique on a node");
        assert!(names.contains(&("n5", "to-n1.alone")) && names.contains(&("n5", "to-n1.together")));
        assert!(names.iter().all(|(_, name)| crate::folder::is_plain_name(name)));
        let Work::Pair(first) = &tasks[0].work else { panic!("{tasks:?}") };
        assert_eq!(*first, PairTask { to: "n2".into(), round: 0, together: false });
    }

    #[test]
    fn pairs_of_many_nodes_are_measured_alone_as_far_as_that_takes_hours_at_most() {
        for (count, pairing, alone) in [
            (32, Pairing::All, 32 * 31),
            (64, Pairing::All, 1024),
            (200, Pairing::Ring, 1000),
            (2000, Pairing::Ring, 0),
        ] {
            let tasks = tasks(&nodes(count), pairing, 1);
            let found = tasks.iter().filter(|task| matches!(&task.work, Work::Pair(pair) if !pair.together)).count();
            assert_eq!(found, alone, "{count}");
            assert!(tasks.iter().any(|task| matches!(&task.work, Work::Pair(pair) if pair.together)));
        }
    }
}
