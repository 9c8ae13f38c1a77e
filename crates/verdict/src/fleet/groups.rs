//! Groups of nodes of the same hardware.
//!
//! A missing memory module or an offline core must not make a group, so sizes count only where enough nodes have them.

use std::collections::BTreeMap;

use model::cluster::Group;
use model::number::UnitScale;
use stats::fleet::ENOUGH_NODES;

use super::facts::{Facts, HARDWARE, SIZE, Words};

/// The share by which memory sizes differ: kernels reserve some per cent, and one module of 24 is 4 %.
const MEMORY_APART: f64 = 0.03;

/// The group of each node, and the groups, largest first. A node without facts has none.
pub(super) fn groups(nodes: &[Option<&Facts>]) -> (Vec<Option<u32>>, Vec<Group>) {
    let mut kinds: BTreeMap<Words, Vec<usize>> = BTreeMap::new();
    for (index, facts) in nodes.iter().enumerate() {
        if let Some(facts) = facts {
            kinds.entry(of(facts, HARDWARE)).or_default().push(index);
        }
    }
    let mut found: Vec<(Words, Vec<usize>)> = Vec::new();
    for (kind, members) in kinds {
        let with_kind = |(size, members): (Words, _)| (kind.clone().into_iter().chain(size).collect(), members);
        found.extend(sizes(nodes, &members).into_iter().map(with_kind));
    }
    found.sort_by_key(|(_, members)| (std::cmp::Reverse(members.len()), members.first().copied()));
    let mut group_of = vec![None; nodes.len()];
    let mut groups = Vec::with_capacity(found.len());
    for (id, (hardware, members)) in (0..).zip(found) {
        for member in &members {
            group_of[*member] = Some(id);
        }
        groups.push(Group { id, hardware, nodes: members.len() as u64 });
    }
    (group_of, groups)
}

fn of(facts: &Facts, table: &[super::facts::Fact]) -> Words {
    let known = table.iter().filter_map(|fact| facts.hardware.get_key_value(fact.name));
    known.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn sizes(nodes: &[Option<&Facts>], members: &[usize]) -> Vec<(Words, Vec<usize>)> {
    let memory = memory_sizes(nodes, members);
    let mut sizes: BTreeMap<Words, Vec<usize>> = BTreeMap::new();
    for member in members {
        let Some(facts) = nodes[*member] else { continue };
        let mut size = of(facts, SIZE);
        size.extend(memory.get(member).map(|memory| ("memory".to_owned(), memory.clone())));
        sizes.entry(size).or_default().push(*member);
    }
    let mut sizes: Vec<(Words, Vec<usize>)> = sizes.into_iter().collect();
    sizes.sort_by_key(|(_, members)| std::cmp::Reverse(members.len()));
    let few = sizes.iter().position(|(_, members)| members.len() < ENOUGH_NODES).unwrap_or(sizes.len()).max(1);
    let rest: Vec<usize> = sizes.drain(few.min(sizes.len())..).flat_map(|(_, members)| members).collect();
    if let Some((_, largest)) = sizes.first_mut() {
        largest.extend(rest);
        largest.sort_unstable();
    }
    sizes
}

/// The memory size of each node in words; nodes between whose sizes there is no gap have the same.
pub(super) fn memory_sizes(nodes: &[Option<&Facts>], members: &[usize]) -> BTreeMap<usize, String> {
    let bytes = |member: &usize| Some((nodes[*member]?.memory_bytes.filter(|bytes| *bytes > 0)?, *member));
    let mut known: Vec<(u64, usize)> = members.iter().filter_map(bytes).collect();
    known.sort_unstable();
    let mut words = BTreeMap::new();
    let is_near = |a: &(u64, usize), b: &(u64, usize)| b.0 as f64 <= a.0 as f64 * (1.0 + MEMORY_APART);
    for size in known.chunk_by(is_near) {
        let bytes = size[size.len() / 2].0;
        let word = UnitScale::GIBIBYTES.fixed(bytes as f64, usize::from(bytes < 10 << 30));
        words.extend(size.iter().map(|(_, member)| (*member, word.clone())));
    }
    words
}
