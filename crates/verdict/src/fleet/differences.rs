//! Facts that differ from those of most nodes of the same group.

use std::collections::BTreeMap;

use model::cluster::Difference;

use super::facts::Words;

/// The most values of a fact that are listed where none is that of most nodes.
const MOST_VALUES: usize = 4;

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
            if majority.get(fact) != Some(value) {
                found.entry((fact, value)).or_default().push((*node).to_owned());
            }
        }
    }
    let difference = |fact: &str, value: String, nodes: Vec<String>| Difference {
        group,
        fact: fact.to_owned(),
        majority: majority.get(fact).cloned().unwrap_or_default(),
        value,
        nodes,
    };
    let found: Vec<_> = found.into_iter().collect();
    let of_fact = |all: &[((&str, &str), Vec<String>)]| -> Vec<Difference> {
        let (fact, _) = all[0].0;
        if all.len() > MOST_VALUES && !majority.contains_key(fact) {
            let nodes = all.iter().flat_map(|(_, nodes)| nodes.clone()).collect();
            return vec![difference(fact, format!("{} values", all.len()), nodes)];
        }
        all.iter().map(|((_, value), nodes)| difference(fact, (*value).to_owned(), nodes.clone())).collect()
    };
    found.chunk_by(|one, next| one.0.0 == next.0.0).flat_map(of_fact).collect()
}
