//! Main memory: how much, in which nodes, with which huge pages, and on how many channels.
//!
//! Channels and speed come from firmware tables, and a hypervisor's firmware tables are fiction: there they stay
//! unknown.

use std::collections::BTreeSet;

use model::machine::{Dimm, HugePages, HugePool, Memory, NumaNode};

use crate::cgroup::Limits;
use crate::ledger::{Found, Ledger};
use crate::list::parse_list;
use crate::smbios;
use crate::sysroot::{Sysroot, label};

/// What firmware says about memory modules, for udev's readers: needs no privilege (systemd 248 and later).
pub(crate) const UDEV_DMI: &str = "run/udev/data/+dmi:id";
/// The kernel's memory controllers.
const EDAC: &str = "sys/devices/system/edac/mc";

/// Memory as the kernel and the control groups see it.
pub(crate) fn discover(root: &Sysroot, limits: Limits, bare_metal: bool, ledger: &mut Ledger) -> Memory {
    const MEMINFO: &str = "proc/meminfo";
    let info = root.text(MEMINFO).unwrap_or_default();
    let found = |key: &str| kilobytes(&info, key).map(|bytes| (bytes, label(MEMINFO)));
    let no_peak = "no working set can be chosen by it";
    let mut memory = Memory {
        total_bytes: ledger.need("memory.total_bytes", found("MemTotal"), "no /proc/meminfo", no_peak),
        available_bytes: ledger.need("memory.available_bytes", found("MemAvailable"), "no /proc/meminfo", no_peak),
        swap_bytes: ledger.take("memory.swap_bytes", found("SwapTotal")),
        limit_bytes: ledger.take("memory.limit_bytes", limits.memory_bytes),
        limit_used_bytes: ledger.take("memory.limit_used_bytes", limits.memory_used_bytes),
        huge_pages: huge_pages(root, ledger),
        numa_balancing: ledger.take("memory.numa_balancing", balancing(root)),
        ..Memory::default()
    };
    if bare_metal {
        modules(root, &mut memory, ledger);
    }
    let why = if bare_metal { "firmware does not say, or not to this user" } else { "a hypervisor hides the modules" };
    let consequence = "no memory peak; `--declare memory.channels=… memory.mts=…` gives one";
    for (fact, absent) in [("memory.channels", memory.channels.is_none()), ("memory.mts", memory.mts.is_none())] {
        if absent {
            ledger.missing(fact, why, consequence);
        }
    }
    memory
}

fn balancing(root: &Sysroot) -> Found<bool> {
    const FILE: &str = "proc/sys/kernel/numa_balancing";
    root.number::<u32>(FILE).map(|state| (state != 0, label(FILE)))
}

/// The memory nodes.
pub(crate) fn nodes(root: &Sysroot, ledger: &mut Ledger) -> Vec<NumaNode> {
    const NODES: &str = "sys/devices/system/node";
    let node = |name: &String| {
        let number = name.strip_prefix("node")?.parse().ok()?;
        let file = |file: &str| root.text(&format!("{NODES}/{name}/{file}"));
        let info = file("meminfo");
        Some(NumaNode {
            node: number,
            cpus: file("cpulist").map(|list| parse_list(&list)).unwrap_or_default(),
            total_bytes: info.and_then(|info| kilobytes(&info, &format!("Node {number} MemTotal"))),
            distances: file("distance").into_iter().flat_map(|text| distances(&text)).collect(),
        })
    };
    let nodes: Vec<NumaNode> = root.names(NODES).iter().filter_map(node).collect();
    if nodes.is_empty() {
        ledger.missing("numa", "no /sys/devices/system/node", "memory is taken to be one node");
    } else {
        ledger.source("numa", label(NODES));
    }
    nodes
}

fn distances(text: &str) -> Vec<u32> {
    text.split_whitespace().filter_map(|distance| distance.parse().ok()).collect()
}

/// A line such as `MemTotal:  24684096 kB`, in bytes.
pub(crate) fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn huge_pages(root: &Sysroot, ledger: &mut Ledger) -> HugePages {
    const TRANSPARENT: &str = "sys/kernel/mm/transparent_hugepage";
    const POOLS: &str = "sys/kernel/mm/hugepages";
    let choice = |name: &str| {
        let file = format!("{TRANSPARENT}/{name}");
        Some((chosen(&root.text(&file)?)?, label(&file)))
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
    HugePages {
        transparent: ledger.need(
            "memory.huge_pages.transparent",
            choice("enabled"),
            "no /sys/kernel/mm/transparent_hugepage",
            "whether large buffers get huge pages is seen only by measuring",
        ),
        defrag: ledger.take("memory.huge_pages.defrag", choice("defrag")),
        pools,
    }
}

/// The word in brackets: `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    let (_, after) = text.split_once('[')?;
    after.split_once(']').map(|(word, _)| word.to_owned())
}

/// Memory modules, channels and speed of a bare machine.
fn modules(root: &Sysroot, memory: &mut Memory, ledger: &mut Ledger) {
    let from_udev = root.text(UDEV_DMI).map(|text| dimms(&text)).filter(|dimms| !dimms.is_empty());
    let from_table = || root.bytes(smbios::FILE).map(|table| smbios::modules(&table));
    let file = if from_udev.is_some() { UDEV_DMI } else { smbios::FILE };
    memory.dimms = from_udev.or_else(from_table).unwrap_or_default();
    if !memory.dimms.is_empty() {
        ledger.source("memory.dimms", label(file));
        memory.mts = ledger.take("memory.mts", agreed(&memory.dimms).map(|mts| (mts, label(file))));
    }
    memory.channels = ledger.take("memory.channels", channels(root, &memory.dimms, file));
    let width = memory.dimms.first().and_then(|dimm| dimm.data_bits);
    let uniform = memory.dimms.iter().all(|dimm| dimm.data_bits == width);
    if let (Some(channels), Some(width), true) = (memory.channels, width, uniform) {
        memory.bus_bits = channels.checked_mul(width);
        ledger.source("memory.bus_bits", "channels x data width of a module");
    }
}

/// The speed that every module runs at; none if they differ, since then nobody knows what the controller made of it.
fn agreed(dimms: &[Dimm]) -> Option<f64> {
    let first = dimms.first()?.mts?;
    dimms.iter().all(|dimm| dimm.mts == Some(first)).then_some(first)
}

/// Populated modules from udev's database: lines `E:MEMORY_DEVICE_0_SIZE=17179869184`.
fn dimms(text: &str) -> Vec<Dimm> {
    /// More slots than any machine has.
    const MOST: usize = 1024;
    let value = |slot: usize, key: &str| {
        let prefix = format!("E:MEMORY_DEVICE_{slot}_{key}=");
        text.lines().find_map(|line| line.strip_prefix(&prefix)).map(|value| value.trim().to_owned())
    };
    let number = |slot: usize, key: &str| value(slot, key)?.parse::<u32>().ok().filter(|number| *number > 0);
    let slots = text.lines().filter(|line| line.starts_with("E:MEMORY_DEVICE_")).count().min(MOST);
    let dimm = |slot: usize| {
        let bytes = value(slot, "SIZE")?.parse::<u64>().ok().filter(|bytes| *bytes > 0)?;
        Some(Dimm {
            locator: value(slot, "LOCATOR"),
            bank: value(slot, "BANK_LOCATOR"),
            bytes: Some(bytes),
            kind: value(slot, "TYPE").filter(|kind| !kind.starts_with('<')),
            mts: number(slot, "CONFIGURED_SPEED_MTS").map(f64::from),
            data_bits: number(slot, "DATA_WIDTH"),
        })
    };
    (0..slots).filter_map(dimm).collect()
}

/// The lines of udev's database that speak of memory modules, less those that name the very piece.
pub(crate) fn without_serials(text: &str) -> String {
    let kept = |line: &&str| {
        line.starts_with("E:MEMORY_") && !["_SERIAL_NUMBER=", "_ASSET_TAG="].iter().any(|name| line.contains(name))
    };
    text.split_inclusive('\n').filter(kept).collect()
}

/// Populated channels: counted by the memory controllers' driver, else by locators that name their channel. Locators of
/// other styles differ from vendor to vendor, so they are not read: a wrong peak is worse than none.
fn channels(root: &Sysroot, dimms: &[Dimm], file: &str) -> Found<u32> {
    let mut populated = BTreeSet::new();
    for controller in root.names(EDAC).iter().filter(|name| name.starts_with("mc")) {
        for dimm in root.names(&format!("{EDAC}/{controller}")).iter().filter(|name| name.starts_with("dimm")) {
            let file = |name: &str| root.text(&format!("{EDAC}/{controller}/{dimm}/{name}"));
            let filled = file("size").and_then(|size| size.parse::<u64>().ok()).is_some_and(|size| size > 0);
            if let (true, Some(channel)) = (filled, file("dimm_location").and_then(|place| channel_word(&place))) {
                populated.insert((controller.clone(), channel));
            }
        }
    }
    if !populated.is_empty() {
        return Some((u32::try_from(populated.len()).ok()?, label(EDAC)));
    }
    let named = |dimm: &Dimm| {
        let bank = dimm.bank.clone().unwrap_or_default();
        let locator = dimm.locator.clone().unwrap_or_default();
        channel_prefix(&bank).or_else(|| channel_prefix(&locator))
    };
    let names: Option<BTreeSet<String>> = dimms.iter().map(named).collect();
    let count = names.filter(|names| !names.is_empty()).and_then(|names| u32::try_from(names.len()).ok())?;
    Some((count, label(file)))
}

/// The channel's number in `channel 3 slot 0`.
fn channel_word(place: &str) -> Option<String> {
    place.split_whitespace().skip_while(|word| *word != "channel").nth(1).map(str::to_owned)
}

/// `P0_Node0_Channel3_Dimm1` and `P0 CHANNEL C` up to and with the channel's name: what tells channels apart.
fn channel_prefix(locator: &str) -> Option<String> {
    let lower = locator.to_lowercase();
    let start = lower.find("channel")? + "channel".len();
    let gap = lower[start..].len() - lower[start..].trim_start().len();
    let name = lower[start + gap..].chars().take_while(char::is_ascii_alphanumeric).count();
    (name > 0).then(|| lower[..start + gap + name].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_sizes_are_kibibytes() {
        assert_eq!(kilobytes("MemTotal:       24684096 kB\nMemFree: 1 kB", "MemTotal"), Some(24_684_096 * 1024));
        assert_eq!(kilobytes("MemTotal: 99999999999999999999 kB", "MemTotal"), None);
        assert_eq!(kilobytes("", "MemTotal"), None);
    }

    #[test]
    fn modules_are_those_with_a_size_at_their_configured_speed() {
        let text = "E:MEMORY_DEVICE_0_SIZE=17179869184\nE:MEMORY_DEVICE_0_BANK_LOCATOR=P0_Node0_Channel0_Dimm0\n\
                    E:MEMORY_DEVICE_0_SPEED_MTS=2667\nE:MEMORY_DEVICE_0_CONFIGURED_SPEED_MTS=2400\n\
                    E:MEMORY_DEVICE_0_TYPE=<OUT OF SPEC>\nE:MEMORY_DEVICE_1_SIZE=0\n\
                    E:MEMORY_DEVICE_2_SIZE=17179869184\nE:MEMORY_DEVICE_2_CONFIGURED_SPEED_MTS=2400";
        let dimms = dimms(text);
        assert_eq!(dimms.len(), 2);
        assert_eq!((dimms[0].mts, dimms[0].kind.as_deref()), (Some(2400.0), None));
        assert_eq!(agreed(&dimms), Some(2400.0));
    }

    #[test]
    fn channels_are_counted_by_name_or_not_at_all() {
        assert_eq!(channel_prefix("P0_Node0_Channel3_Dimm1").as_deref(), Some("p0_node0_channel3"));
        assert_eq!(channel_prefix("P0 CHANNEL C").as_deref(), Some("p0 channel c"));
        assert_eq!(channel_prefix("DIMM_A1"), None);
        assert_eq!(channel_prefix("channel"), None);
    }
}
