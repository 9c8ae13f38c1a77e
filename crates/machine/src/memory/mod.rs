//! Main memory: size, nodes, huge pages, channels. A hypervisor invents firmware's tables of modules.

pub(crate) mod channels;
pub(crate) mod locators;
pub(crate) mod modules;
pub(crate) mod placement;
pub(crate) mod platforms;
pub(crate) mod smbios;

use std::collections::BTreeSet;

use model::machine::{Cpu, HugePages, HugePool, Memory, NodeRating, NumaNode};

use crate::ledger::Ledger;
use crate::list::bracketed;
use crate::sysroot::{Sysroot, label};
use crate::system::cgroup::Limits;

pub(crate) fn discover(root: &Sysroot, limits: Limits, cpu: &Cpu, bare_metal: bool, ledger: &mut Ledger) -> Memory {
    const MEMINFO: &str = "proc/meminfo";
    const BALANCING: &str = "proc/sys/kernel/numa_balancing";
    let balancing = root.number::<u32>(BALANCING).map(|state| (state != 0, label(BALANCING)));
    let info = root.text(MEMINFO).unwrap_or_default();
    let found = |key: &str| kilobytes(&info, key).map(|bytes| (bytes, label(MEMINFO)));
    let no_peak = "working sets cannot be chosen by it";
    let mut memory = Memory {
        total_bytes: ledger.need("memory.total_bytes", found("MemTotal"), "no /proc/meminfo", no_peak),
        available_bytes: ledger.need("memory.available_bytes", found("MemAvailable"), "no /proc/meminfo", no_peak),
        swap_bytes: ledger.take("memory.swap_bytes", found("SwapTotal")),
        limit_bytes: ledger.take("memory.limit_bytes", limits.memory_bytes),
        limit_used_bytes: ledger.take("memory.limit_used_bytes", limits.memory_used_bytes),
        huge_pages: huge_pages(root, ledger),
        numa_balancing: ledger.take("memory.numa_balancing", balancing),
        ..Memory::default()
    };
    let platform = platforms::limits(cpu);
    if let Some(most) = platform {
        (memory.platform_channels, memory.platform_mts) = (Some(most.channels), Some(most.mts));
        ledger.source("memory.platform_channels", format!("table: at most, for each package ({})", most.source));
        ledger.same("memory.platform_channels", &["memory.platform_mts"]);
    }
    if bare_metal {
        modules::discover(root, cpu, platform, &mut memory, ledger);
    } else {
        let why = match cpu.hypervisor_bit {
            None => "it is unknown whether a hypervisor invents the firmware tables",
            Some(_) => "a hypervisor hides the modules",
        };
        for fact in ["memory.channels", "memory.mts"] {
            ledger.missing(fact, why, "no memory peak; `--declare memory.channels=… memory.mts=…` gives one");
        }
    }
    memory
}

/// The memory nodes; firmware's ratings only on a bare machine.
pub(crate) fn nodes(root: &Sysroot, bare_metal: bool, ledger: &mut Ledger) -> Vec<NumaNode> {
    const NODES: &str = "sys/devices/system/node";
    let node = |name: &String| {
        let number = name.strip_prefix("node")?.parse().ok()?;
        let path = |file: &str| format!("{NODES}/{name}/{file}");
        let file = |file: &str| root.text(&path(file));
        let (info, distances) = (file("meminfo").unwrap_or_default(), file("distance").unwrap_or_default());
        let bytes = |key: &str| kilobytes(&info, &format!("Node {number} {key}"));
        Some(NumaNode {
            node: number,
            cpus: root.cpus(&path("cpulist"), &path("cpumap"))?,
            total_bytes: bytes("MemTotal"),
            available_bytes: bytes("MemFree").map(|free| {
                let cached = [bytes("Active(file)"), bytes("Inactive(file)")].into_iter().flatten();
                free.saturating_add(cached.fold(0, u64::saturating_add) / 2)
            }),
            distances: distances.split_whitespace().filter_map(|distance| distance.parse().ok()).collect(),
            rated: rated(root, &format!("{NODES}/{name}")).filter(|_| bare_metal),
        })
    };
    let nodes: Vec<NumaNode> = root.names(NODES).iter().filter_map(node).collect();
    let consequence = "memory counts as one node";
    if nodes.is_empty() {
        ledger.missing("numa", "no /sys/devices/system/node, or its nodes have no list of CPUs", consequence);
        return nodes;
    }
    if overlap(&nodes) {
        ledger.missing("numa", "firmware gives the same CPUs to several nodes, which cannot be", consequence);
        return Vec::new();
    }
    ledger.source("numa", label(NODES));
    nodes
}

/// Whether a CPU is in several nodes.
fn overlap(nodes: &[NumaNode]) -> bool {
    let mut seen = BTreeSet::new();
    nodes.iter().flat_map(|node| &node.cpus).any(|cpu| !seen.insert(*cpu))
}

/// Firmware's rating for the nearest CPUs (`mm/numaperf.rst`: MiB/s and nanoseconds; 0 is unknown).
fn rated(root: &Sysroot, node: &str) -> Option<NodeRating> {
    const BYTES: f64 = 1_048_576.0;
    let rating = |name: &str, unit: f64| {
        let number: u32 = root.number(&format!("{node}/access0/initiators/{name}"))?;
        (number > 0).then(|| f64::from(number) * unit)
    };
    let rated = NodeRating {
        read_bytes_per_second: rating("read_bandwidth", BYTES),
        write_bytes_per_second: rating("write_bandwidth", BYTES),
        read_latency_seconds: rating("read_latency", 1e-9),
        write_latency_seconds: rating("write_latency", 1e-9),
    };
    (rated != NodeRating::default()).then_some(rated)
}

/// `MemTotal:  24684096 kB` in bytes.
pub(crate) fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn huge_pages(root: &Sysroot, ledger: &mut Ledger) -> HugePages {
    const TRANSPARENT: &str = "sys/kernel/mm/transparent_hugepage";
    const POOLS: &str = "sys/kernel/mm/hugepages";
    let choice = |name: &str| {
        let file = format!("{TRANSPARENT}/{name}");
        Some((bracketed(&root.text(&file)?)?.to_owned(), label(&file)))
    };
    let pool = |name: &String| {
        let page_bytes = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse::<u64>().ok()?.checked_mul(1024)?;
        let number = |file: &str| root.number(&format!("{POOLS}/{name}/{file}"));
        Some(HugePool { page_bytes, total: number("nr_hugepages"), free: number("free_hugepages") })
    };
    let pools: Vec<HugePool> = root.names(POOLS).iter().filter_map(pool).collect();
    if !pools.is_empty() {
        ledger.source("memory.huge_pages.pools", label(POOLS));
    }
    let why = "no /sys/kernel/mm/transparent_hugepage";
    let consequence = "only a measurement shows whether large buffers get huge pages";
    HugePages {
        transparent: ledger.need("memory.huge_pages.transparent", choice("enabled"), why, consequence),
        defrag: ledger.take("memory.huge_pages.defrag", choice("defrag")),
        pools,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn the_kernels_sizes_are_kibibytes() {
        assert_eq!(kilobytes("MemTotal:       24684096 kB\nMemFree: 1 kB", "MemTotal"), Some(24_684_096 * 1024));
        assert_eq!(kilobytes("MemTotal: 99999999999999999999 kB", "MemTotal"), None);
        assert_eq!(kilobytes("MemAvailable: many kB", "MemAvailable"), None);
        assert_eq!(kilobytes("", "MemTotal"), None);
    }

    #[test]
    fn reserved_huge_pages_of_a_node_are_not_available_and_half_of_its_page_cache_is() {
        let folder = "sys/devices/system/node";
        let fixture = Fixture::new("node-memory")
            .file(&format!("{folder}/node0/cpulist"), "0-3\n")
            .file(
                &format!("{folder}/node0/meminfo"),
                "Node 0 MemTotal:       16777216 kB\nNode 0 MemFree:          102400 kB\n\
                 Node 0 Active(file):     40960 kB\nNode 0 Inactive(file):   61440 kB\nNode 0 HugePages_Total:  8000\n",
            )
            .file(&format!("{folder}/node1/cpulist"), "4-7\n")
            .file(&format!("{folder}/node1/meminfo"), "Node 1 MemTotal:       0 kB\nNode 1 MemFree:       0 kB\n")
            .file(&format!("{folder}/node2/cpulist"), "\n");
        let nodes = nodes(&fixture.root(), true, &mut Ledger::default());
        let found: Vec<_> = nodes.iter().map(|node| (node.total_bytes, node.available_bytes)).collect();
        assert_eq!(found, [(Some(16 << 30), Some(150 << 20)), (Some(0), Some(0)), (None, None)]);
    }

    #[test]
    fn firmwares_ratings_are_taken_where_there_are_any() {
        let folder = "sys/devices/system/node/node0";
        let fixture = Fixture::new("rated")
            .file(&format!("{folder}/cpulist"), "0-3\n")
            .file(&format!("{folder}/access0/initiators/read_bandwidth"), "292968\n")
            .file(&format!("{folder}/access0/initiators/write_bandwidth"), "0\n")
            .file(&format!("{folder}/access0/initiators/read_latency"), "110\n");
        let of = |bare_metal| nodes(&fixture.root(), bare_metal, &mut Ledger::default()).remove(0).rated;
        let rated = of(true).unwrap();
        assert_eq!((rated.read_bytes_per_second, rated.write_bytes_per_second), (Some(292_968.0 * 1_048_576.0), None));
        assert_eq!((rated.read_latency_seconds, rated.write_latency_seconds), (Some(110.0 * 1e-9), None));
        assert_eq!(of(false), None, "a hypervisor makes them up");
        assert_eq!(nodes(&Fixture::new("unrated").root(), true, &mut Ledger::default()), []);
    }
}
