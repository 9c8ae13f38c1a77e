//! The memory nodes of this process's large buffers.

use std::collections::BTreeMap;

use crate::sysroot::Sysroot;

/// Smaller mappings are stacks, heaps, tables of the loader.
const LEAST_BUFFER_BYTES: u64 = 1 << 20;

/// The memory nodes with their CPUs.
pub fn nodes_of(root: &Sysroot) -> Vec<(u32, Vec<u32>)> {
    const NODES: &str = "sys/devices/system/node";
    let node = |name: String| {
        let number = name.strip_prefix("node")?.parse().ok()?;
        let file = |file: &str| format!("{NODES}/{name}/{file}");
        Some((number, root.cpus(&file("cpulist"), &file("cpumap"))?))
    };
    root.names(NODES).into_iter().filter_map(node).collect()
}

/// Bytes of this process's large buffers by memory node, if the kernel shows them.
pub fn bytes_by_node(root: &Sysroot) -> Option<BTreeMap<u32, u64>> {
    root.text("proc/self/numa_maps").map(|text| by_node(&text))
}

/// The least share of bytes on other nodes than `homes`, the nodes of equal shares; `None` without bytes or homes.
pub fn away_share(bytes: &BTreeMap<u32, u64>, homes: &[u32]) -> Option<f64> {
    let all: u64 = bytes.values().sum();
    if all == 0 || homes.is_empty() {
        return None;
    }
    let too_many = |(node, bytes): (&u32, &u64)| {
        let there = homes.iter().filter(|home| *home == node).count() as f64 / homes.len() as f64;
        (*bytes as f64 / all as f64 - there).max(0.0)
    };
    Some(bytes.iter().map(too_many).sum())
}

/// Lines such as `7f… default anon=512 dirty=512 N0=256 N1=256 kernelpagesize_kB=4` (`filesystems/proc.rst`).
fn by_node(text: &str) -> BTreeMap<u32, u64> {
    let mut sum = BTreeMap::new();
    for line in text.lines() {
        let field = |name: &str| {
            let value = |field: &str| field.strip_prefix(name)?.strip_prefix('=')?.parse::<u64>().ok();
            line.split_ascii_whitespace().find_map(value)
        };
        let page_bytes = field("kernelpagesize_kB").unwrap_or(4).saturating_mul(1024);
        if field("anon").unwrap_or(0).saturating_mul(page_bytes) < LEAST_BUFFER_BYTES {
            continue;
        }
        for field in line.split_ascii_whitespace() {
            let node = field.strip_prefix('N').and_then(|field| field.split_once('='));
            if let Some((Ok(node), Ok(pages))) = node.map(|(node, pages)| (node.parse::<u32>(), pages.parse::<u64>())) {
                let bytes: &mut u64 = sum.entry(node).or_default();
                *bytes = bytes.saturating_add(pages.saturating_mul(page_bytes));
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code, a heap, buffers of base pages and of huge pages on two nodes.
    const RECORDED: &str = "\
55d0c8a00000 default file=/usr/bin/assay mapped=900 N0=900 kernelpagesize_kB=4
55d0ca2ac000 default heap anon=40 dirty=40 active=0 N1=40 kernelpagesize_kB=4
7f2400000000 default anon=262144 dirty=262144 active=0 N0=196608 N1=65536 kernelpagesize_kB=4
7f2500000000 default file=/anon_hugepage\\040(deleted) huge anon=512 dirty=512 N1=512 kernelpagesize_kB=2048
7f2600000000 default stack:9 anon=5 dirty=5 N0=5 kernelpagesize_kB=4
7ffd00000000 default
";

    #[test]
    fn large_buffers_are_added_up_by_node_in_bytes() {
        let found = by_node(RECORDED);
        assert_eq!(found, BTreeMap::from([(0, 196_608 * 4096), (1, 65_536 * 4096 + (1 << 30))]));
        assert!(by_node("garbage\nN=1 Nx=2 N0=\n").is_empty());
    }

    #[test]
    fn nodes_have_their_cpus() {
        let fixture = crate::fixture::Fixture::new("nodes")
            .file("sys/devices/system/node/node0/cpulist", "0-1,4\n")
            .file("sys/devices/system/node/node1/cpulist", "\n")
            .file("sys/devices/system/node/possible", "0-1\n")
            .file("proc/self/numa_maps", RECORDED);
        assert_eq!(nodes_of(&fixture.root()), [(0, vec![0, 1, 4]), (1, vec![])]);
        assert_eq!(bytes_by_node(&fixture.root()), Some(by_node(RECORDED)));
    }

    #[test]
    fn what_lies_elsewhere_is_away() {
        let share = |bytes: &[(u32, u64)], threads: &[u32]| away_share(&bytes.iter().copied().collect(), threads);
        assert_eq!(share(&[(0, 3), (1, 1)], &[0, 0]), Some(0.25));
        assert_eq!(share(&[(1, 4)], &[0]), Some(1.0));
        assert_eq!(share(&[(0, 2), (1, 2)], &[0, 1]), Some(0.0));
        assert_eq!(share(&[(0, 4)], &[0, 1]), Some(0.5), "one of the two threads is far from its half");
        assert_eq!((share(&[], &[0]), share(&[(0, 4)], &[])), (None, None));
    }
}
