//! What firmware's device tree states of a machine: its model, and the caches that the kernel's files leave open
//! (Devicetree Specification 0.4, sections 3.8 and 3.9). Numbers are big-endian.

use std::collections::BTreeMap;

use model::machine::{Cache, LogicalCpu};

use crate::ledger::Found;
use crate::sysroot::{Sysroot, label};
use crate::system::online::CPUS;

const PLACES: [&str; 2] = ["sys/firmware/devicetree/base", "proc/device-tree"];

fn file(root: &Sysroot, name: &str) -> Found<String> {
    PLACES.into_iter().map(|place| format!("{place}/{name}")).find_map(|file| Some((root.text(&file)?, label(&file))))
}

/// The name of the board.
pub(crate) fn model(root: &Sysroot) -> Found<String> {
    file(root, "model")
}

/// What the hypervisor states to be compatible with, such as `linux,kvm`.
pub(crate) fn hypervisor(root: &Sysroot) -> Found<String> {
    file(root, "hypervisor/compatible")
}

/// The caches of the tree, each once per group of CPUs that share it.
pub(crate) fn caches(root: &Sysroot, topology: &[LogicalCpu]) -> (Vec<Cache>, String) {
    let Some(place) = PLACES.into_iter().find(|place| !root.names(&format!("{place}/cpus")).is_empty()) else {
        return (Vec::new(), String::new());
    };
    let tree = Tree { root, place };
    let shared = tree.shared();
    let mut caches: BTreeMap<(u32, &str, String), Cache> = BTreeMap::new();
    for cpu in topology.iter().map(|place| place.cpu) {
        let Some(name) = root.link_name(&format!("{CPUS}/cpu{cpu}/of_node")) else { continue };
        let mut node = format!("{place}/cpus/{name}");
        let own =
            [("data", "d-cache"), ("instruction", "i-cache")].map(|(kind, prefix)| (1, kind, prefix, node.clone()));
        let mut found = own.to_vec();
        for level in 2..=4 {
            let next = tree.number(&node, "next-level-cache").or_else(|| tree.number(&node, "l2-cache"));
            let is_new = |path: &&String| found.iter().all(|(.., node)| node != *path);
            let Some(path) = next.and_then(|handle| shared.get(&handle)).filter(is_new) else { break };
            node.clone_from(path);
            found.push((level, "unified", "cache", node.clone()));
        }
        for (level, kind, prefix, node) in found {
            if let Some(cache) = tree.cache(&node, prefix, level, kind) {
                caches.entry((level, kind, node)).or_insert(cache).cpus.push(cpu);
            }
        }
    }
    (caches.into_values().collect(), label(&format!("{place}/cpus")))
}

struct Tree<'r> {
    root: &'r Sysroot,
    place: &'static str,
}

impl Tree<'_> {
    fn number(&self, node: &str, property: &str) -> Option<u32> {
        let bytes = self.root.bytes(&format!("{node}/{property}"))?;
        Some(u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?))
    }

    /// The nodes of caches by the number that refers to them: next to the CPUs, below one, or at the top.
    fn shared(&self) -> BTreeMap<u32, String> {
        let cpus = format!("{}/cpus", self.place);
        let of_cpu = self.root.names(&cpus).into_iter().filter(|name| name.starts_with("cpu@"));
        let folders =
            [self.place.to_owned(), cpus.clone()].into_iter().chain(of_cpu.map(|name| format!("{cpus}/{name}")));
        let nodes = folders.flat_map(|folder| {
            let caches = self.root.names(&folder).into_iter().filter(|name| name.contains("cache"));
            caches.map(|name| format!("{folder}/{name}")).collect::<Vec<_>>()
        });
        nodes.filter_map(|node| Some((self.number(&node, "phandle")?, node))).collect()
    }

    fn cache(&self, node: &str, prefix: &str, level: u32, kind: &str) -> Option<Cache> {
        let number = |name: &str| self.number(node, &format!("{prefix}-{name}")).filter(|number| *number > 0);
        let (bytes, line_bytes) = (number("size")?, number("line-size"));
        let ways = line_bytes.zip(number("sets")).and_then(|(line, sets)| Some(bytes / line.checked_mul(sets)?));
        let ways = ways.filter(|ways| *ways > 0);
        Some(Cache { level, kind: kind.to_owned(), bytes: Some(bytes.into()), line_bytes, ways, cpus: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn caches_follow_the_references_of_each_cpu() {
        let base = PLACES[0];
        let mut fixture = Fixture::new("device-tree").file(&format!("{base}/model"), "A board\0");
        for cpu in 0..2 {
            let node = format!("{base}/cpus/cpu@{cpu}");
            let link = format!("../../../../firmware/devicetree/base/cpus/cpu@{cpu}");
            fixture = fixture.link(&format!("{CPUS}/cpu{cpu}/of_node"), &link);
            for (property, value) in [
                ("d-cache-size", 0x8000_u32),
                ("d-cache-line-size", 64),
                ("d-cache-sets", 256),
                ("next-level-cache", 7),
            ] {
                fixture = fixture.bytes(&format!("{node}/{property}"), &value.to_be_bytes());
            }
        }
        for (property, value) in [("phandle", 7_u32), ("cache-size", 1 << 20), ("next-level-cache", 7)] {
            fixture = fixture.bytes(&format!("{base}/cpus/l2-cache0/{property}"), &value.to_be_bytes());
        }
        let place = |cpu| LogicalCpu { cpu, ..LogicalCpu::default() };
        let (found, _) = caches(&fixture.root(), &[place(0), place(1)]);
        let shown: Vec<_> = found.iter().map(|cache| (cache.level, cache.bytes, cache.ways, &cache.cpus[..])).collect();
        let first = [(1, Some(1 << 15), Some(2), &[0][..]), (1, Some(1 << 15), Some(2), &[1])];
        assert_eq!(shown, [first[0], first[1], (2, Some(1 << 20), None, &[0, 1])]);
        assert_eq!(model(&fixture.root()).map(|(name, _)| name).as_deref(), Some("A board"));
    }
}
