//! Items with equal keys.

/// Items by key, in the order in which the keys first occur.
pub fn by_key<T, K: PartialEq>(items: impl IntoIterator<Item = T>, key: impl Fn(&T) -> Option<K>) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for item in items {
        let Some(own) = key(&item) else { continue };
        match groups.iter_mut().find(|(other, _)| *other == own) {
            Some((_, group)) => group.push(item),
            None => groups.push((own, vec![item])),
        }
    }
    groups
}
