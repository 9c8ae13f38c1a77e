//! Facts that differ from those of most nodes of the same group.

use std::collections::BTreeMap;

use model::cluster::Difference;

use super::facts::Words;

pub(super) fn majority(nodes: &[(&str, &Words)]) -> Words {
    let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for (_, words) in nodes {
        for (fact, value) in *words {
            *counts.entry(fact).or_default().entry(value).or_default() += 1;
        }
    }
    let winner = |(fact, values): (&str, BTreeMap<&str, usize>)| {
        let known: usize = values.values().sum();
        let (value, count) = values.into_iter().max_by_key(|(_, count)| *count)?;
        (2 * count > known).then(|| (fact.to_owned(), value.to_owned()))
    };
    counts.into_iter().filter_map(winner).collect()
}

pub(super) fn differences(group: u32, nodes: &[(&str, &Words)], majority: &Words) -> Vec<Difference> {
    let mut found: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for (node, words) in nodes {
        for (fact, value) in *words {
            if majority.get(fact).is_some_and(|usual| usual != value) {
                found.entry((fact, value)).or_default().push((*node).to_owned());
            }
        }
    }
    let difference = |((fact, value), nodes): ((&str, &str), Vec<String>)| Difference {
        group,
        fact: fact.to_owned(),
        majority: majority.get(fact).cloned().unwrap_or_default(),
        value: value.to_owned(),
        nodes,
    };
    found.into_iter().map(difference).collect()
}
