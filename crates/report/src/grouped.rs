//! Items with equal keys together.

use std::collections::HashMap;
use std::hash::Hash;

/// The items of each key, the keys in the order in which they first occur.
pub(crate) fn grouped<K: Hash + Eq + Clone, T>(items: impl IntoIterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    let mut places: HashMap<K, usize> = HashMap::new();
    for (key, item) in items {
        let place = *places.entry(key.clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}
