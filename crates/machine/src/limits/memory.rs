//! Theoretical peaks of memory: channels x transfers per second x width, for the NUMA nodes that a benchmark uses.

use std::collections::BTreeSet;

use model::experiment::MemoryParams;
use model::isa::MemoryOp;
use model::machine::{Machine, NumaNode};
use model::number::{UnitScale, clock};
use model::peak::{Peak, PeakKind};

use crate::declared::Declared;
use crate::limits::{input, peak, source};
use crate::memory::modules::CHANNEL_BITS;
use crate::sysroot::label;

/// The peaks for threads on `cpus`, B/s as the benchmark counts bytes; empty for latencies and counts of words.
pub fn memory_peaks(machine: &Machine, declared: &Declared, params: &MemoryParams, cpus: &[u32]) -> Vec<Peak> {
    if !MemoryOp::STREAMS.contains(&params.op) {
        return Vec::new();
    }
    let named = params.nodes.as_deref().and_then(|nodes| nodes.rsplit_once('-')?.1.parse().ok());
    let nodes = named.map_or_else(|| nodes_of(machine, cpus), |node| BTreeSet::from([node]));
    peaks_of(machine, declared, params.op, cpus, &nodes)
}

pub(crate) fn read_peaks(machine: &Machine, declared: &Declared, cpus: &[u32]) -> Vec<Peak> {
    peaks_of(machine, declared, MemoryOp::Read, cpus, &nodes_of(machine, cpus))
}

fn nodes_of(machine: &Machine, cpus: &[u32]) -> BTreeSet<u32> {
    cpus.iter().filter_map(|cpu| machine.cpu.place(*cpu)?.node).collect()
}

fn peaks_of(machine: &Machine, declared: &Declared, op: MemoryOp, cpus: &[u32], nodes: &BTreeSet<u32>) -> Vec<Peak> {
    let mut peaks = Vec::new();
    if let Some(part) = ChannelsInUse::by_nodes(machine, nodes) {
        let exact = dram(machine, declared, &part);
        peaks.extend(exact.or_else(|| rated(machine, op, nodes)));
        if peaks.is_empty() {
            peaks.extend(platform(machine, declared, &part));
        }
    } else {
        peaks.extend(rated(machine, op, nodes));
    }
    for peak in &mut peaks {
        peak.formula.push_str(&write_allocate(op));
    }
    peaks.extend(die_links(machine, declared, op, cpus));
    peaks
}

#[derive(Debug)]
struct ChannelsInUse {
    /// Each package in use, its nodes in use, all its nodes.
    packages: Vec<(usize, u32, u32)>,
    of: u32,
    words: String,
}

impl ChannelsInUse {
    /// `None` if a node in use has no CPUs: the modules of such a node are unknown.
    fn by_nodes(machine: &Machine, nodes: &BTreeSet<u32>) -> Option<Self> {
        let of = machine.packages();
        let with_cpus: Vec<&NumaNode> = machine.numa.iter().filter(|node| !node.cpus.is_empty()).collect();
        let used: Vec<&NumaNode> = with_cpus.iter().copied().filter(|node| nodes.contains(&node.node)).collect();
        if used.len() < nodes.len() {
            return None;
        }
        if nodes.is_empty() || used.len() == with_cpus.len() {
            let packages = (0..of as usize).map(|package| (package, 1, 1)).collect();
            return Some(Self { packages, of, words: String::new() });
        }
        let names: Vec<String> = nodes.iter().map(u32::to_string).collect();
        let plural = if names.len() == 1 { "" } else { "s" };
        let words = format!("node{plural} {}", names.join(", "));
        if machine.cpu.packages.is_some_and(|packages| packages > of) {
            // Packages that a hypervisor made up: the nodes share all channels.
            let [used, all] = [used.len(), with_cpus.len()].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
            return Some(Self { packages: vec![(0, used, all)], of: 1, words });
        }
        let packages_of = |node: &NumaNode| -> BTreeSet<u32> {
            node.cpus.iter().filter_map(|cpu| machine.cpu.place(*cpu)).map(|place| place.package).collect()
        };
        let count = |nodes: &[&NumaNode], package: &u32| {
            u32::try_from(nodes.iter().filter(|node| packages_of(node).contains(package)).count()).unwrap_or(u32::MAX)
        };
        let in_use: BTreeSet<u32> = used.iter().flat_map(|node| packages_of(node)).collect();
        let share = |package: &u32| (*package as usize, count(&used, package), count(&with_cpus, package));
        Some(Self { packages: in_use.iter().map(share).collect(), of, words })
    }

    /// The channels in use, and whether the number is exact; otherwise it is an upper bound.
    fn channels(&self, all: u32, by_package: &[u32], most: Option<u32>, alike: bool) -> (u32, bool) {
        if self.words.is_empty() {
            return (all, true);
        }
        let as_many = u32::try_from(by_package.len()).is_ok_and(|count| count == self.of);
        let even = alike || most.is_some_and(|most| most.saturating_mul(self.of) == all);
        let mut exact = true;
        let mut sum = 0_u32;
        for (package, used, nodes) in &self.packages {
            let own = match by_package.get(*package) {
                Some(own) if as_many => *own,
                _ if self.of == 1 => all,
                _ if even && all.is_multiple_of(self.of) => all / self.of,
                _ => {
                    exact = false;
                    most.unwrap_or(all)
                }
            };
            let divides = own.saturating_mul(*used).is_multiple_of((*nodes).max(1));
            exact &= divides;
            sum = sum.saturating_add(if divides { own.saturating_mul(*used) / (*nodes).max(1) } else { own });
        }
        (sum.min(all), exact)
    }
}

#[derive(Clone, Debug)]
struct Sourced {
    value: f64,
    source: String,
    declared: bool,
}

fn sourced(machine: &Machine, declared: &Declared, fact: &'static str, found: Option<f64>) -> Option<Sourced> {
    let declared = declared.get(fact).map(|value| Sourced { value, source: "declared".to_owned(), declared: true });
    declared.or_else(|| found.map(|value| Sourced { value, source: source(machine, fact), declared: false }))
}

#[derive(Debug)]
struct Bus {
    /// Channels of the machine; `None` if only the total width is known.
    channels: Option<Sourced>,
    /// Data bits of one channel, or of all together.
    bits: Sourced,
}

fn usual_width() -> Sourced {
    let source = format!("a channel has {CHANNEL_BITS} data bits, without ECC");
    Sourced { value: f64::from(CHANNEL_BITS), source, declared: false }
}

fn bus(machine: &Machine, declared: &Declared) -> Option<Bus> {
    let memory = &machine.memory;
    let found = |value: f64| sourced(machine, &Declared::default(), "memory.bus_bits", Some(value));
    let Some(channels) = sourced(machine, declared, "memory.channels", memory.channels.map(f64::from)) else {
        return Some(Bus { channels: None, bits: found(f64::from(memory.bus_bits?))? });
    };
    let divides = |(bits, channels): &(u32, u32)| *channels > 0 && bits.is_multiple_of(*channels);
    let of_one = memory.bus_bits.zip(memory.channels).filter(divides);
    let of_one = || of_one.and_then(|(bits, channels)| found(f64::from(bits / channels)));
    let usual = || channels.declared.then(usual_width);
    let bits = sourced(machine, declared, "memory.width", None).or_else(of_one).or_else(usual)?;
    Some(Bus { channels: Some(channels), bits })
}

fn dram(machine: &Machine, declared: &Declared, part: &ChannelsInUse) -> Option<Peak> {
    let bus = bus(machine, declared)?;
    let mts = sourced(machine, declared, "memory.mts", machine.memory.mts)?;
    let is_declared = [Some(&bus.bits), Some(&mts), bus.channels.as_ref()].iter().flatten().any(|one| one.declared);
    let kind = if is_declared { PeakKind::Declared } else { PeakKind::Datasheet };
    Some(of_bus(kind, machine, part, &bus, &mts))
}

fn platform(machine: &Machine, declared: &Declared, part: &ChannelsInUse) -> Option<Peak> {
    let memory = &machine.memory;
    let most = |fact: &'static str, value: f64| sourced(machine, &Declared::default(), fact, Some(value));
    let channels = match sourced(machine, declared, "memory.channels", memory.channels.map(f64::from)) {
        Some(channels) => channels,
        None => most("memory.platform_channels", f64::from(memory.platform_channels?.checked_mul(part.of)?))?,
    };
    let mts = sourced(machine, declared, "memory.mts", memory.mts);
    let mts = mts.or_else(|| most("memory.platform_mts", memory.platform_mts?))?;
    let bits = sourced(machine, declared, "memory.width", None).unwrap_or_else(usual_width);
    Some(of_bus(PeakKind::PlatformMaximum, machine, part, &Bus { channels: Some(channels), bits }, &mts))
}

fn of_bus(kind: PeakKind, machine: &Machine, part: &ChannelsInUse, bus: &Bus, mts: &Sourced) -> Peak {
    let transfers = input("transfers_per_second", mts.value * 1e6, &mts.source);
    let Some(channels) = &bus.channels else {
        let formula = format!("{} bit / 8 x {} MT/s", bus.bits.value, mts.value);
        let inputs = vec![input("data_bits", bus.bits.value, &bus.bits.source), transfers];
        return peak(kind, bus.bits.value / 8.0 * mts.value * 1e6, formula, inputs);
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole, positive count below 2^32")]
    let all = channels.value as u32;
    let by_package: &[u32] = if channels.declared { &[] } else { &machine.memory.channels_by_package };
    let (used, exact) = part.channels(all, by_package, machine.memory.platform_channels, channels.declared);
    let plural = if used == 1 { "" } else { "s" };
    let counted = match (part.words.as_str(), exact) {
        ("", _) => format!("{used} channel{plural}"),
        (nodes, true) => format!("{used} of {all} channels ({nodes})"),
        (nodes, false) => format!("at most {used} of {all} channels ({nodes})"),
    };
    let evenly = channels.declared && !part.words.is_empty();
    let source = if evenly { "declared, the same for each package" } else { &channels.source };
    let bytes = bus.bits.value / 8.0;
    let inputs = vec![
        input("channels", f64::from(used), source),
        transfers,
        input("bytes_per_transfer", bytes, &bus.bits.source),
    ];
    let formula = format!("{counted} x {} MT/s x {bytes} B", mts.value);
    peak(kind, f64::from(used) * mts.value * 1e6 * bytes, formula, inputs)
}

/// Firmware's rating of the nodes, for pure reads or pure writes; it does not rate mixes.
fn rated(machine: &Machine, op: MemoryOp, nodes: &BTreeSet<u32>) -> Option<Peak> {
    let (what, writes) = match op {
        MemoryOp::Read => ("read", false),
        MemoryOp::Write | MemoryOp::WriteNt => ("write", true),
        _ => return None,
    };
    let rate = |node: &u32| {
        let rated = machine.numa.iter().find(|one| one.node == *node)?.rated.as_ref()?;
        let rate = if writes { rated.write_bytes_per_second } else { rated.read_bytes_per_second };
        Some((*node, rate?))
    };
    let rates: Vec<(u32, f64)> = nodes.iter().map(rate).collect::<Option<_>>()?;
    let words =
        |(node, rate): &(u32, f64)| format!("{} of node {node}", UnitScale::GIGABYTES_PER_SECOND.fixed(*rate, 1));
    let of_node = |(node, rate): &(u32, f64)| {
        let file = format!("sys/devices/system/node/node{node}/access0/initiators");
        let source = format!("{} (HMAT)", label(&file));
        input(&format!("{what}_rate (node {node})"), *rate, &source)
    };
    let sum: f64 = rates.iter().map(|(_, rate)| rate).sum();
    let formula = format!("{}, as firmware rates its {what}s", rates.iter().map(words).collect::<Vec<_>>().join(" + "));
    (sum > 0.0).then(|| peak(PeakKind::Datasheet, sum, formula, rates.iter().map(of_node).collect()))
}

/// The limit of the links between core dies and memory controllers, if the fabric's clock was declared.
fn die_links(machine: &Machine, declared: &Declared, op: MemoryOp, cpus: &[u32]) -> Option<Peak> {
    if op != MemoryOp::Read {
        return None;
    }
    let (bytes, hz) = (machine.memory.die_read_bytes_per_cycle?, declared.get("memory.fclk_hz")?);
    let dies: BTreeSet<u32> = cpus.iter().map(|cpu| machine.cpu.place(*cpu)?.llc).collect::<Option<_>>()?;
    let dies = u32::try_from(dies.len()).ok().filter(|dies| *dies > 0)?;
    let plural = if dies == 1 { "" } else { "s" };
    let formula = format!("{dies} die link{plural} x {} x {bytes} B/cycle", clock(hz));
    let inputs = vec![
        input("dies", f64::from(dies), "groups of the CPUs in use that share a last-level cache"),
        input("fabric_clock_hz", hz, "declared"),
        input("bytes_per_cycle", f64::from(bytes), &source(machine, "memory.die_read_bytes_per_cycle")),
    ];
    Some(peak(PeakKind::Link, f64::from(dies) * f64::from(bytes) * hz, formula, inputs))
}

/// Notes traffic that is on the bus but not in the count: lines read only to be overwritten.
fn write_allocate(op: MemoryOp) -> String {
    let (counted, moved) = match op {
        MemoryOp::Write => (1, 2),
        MemoryOp::Copy | MemoryOp::Scale => (2, 3),
        MemoryOp::Add | MemoryOp::Triad => (3, 4),
        _ => return String::new(),
    };
    format!("; up to {moved} B cross the bus for each {counted} B counted (write-allocate)")
}

#[cfg(test)]
mod tests {
    use model::machine::{Cpu, LogicalCpu, Memory, NodeRating};

    use super::*;

    /// Two packages of eight CPUs and `nodes` nodes each; two CPUs share a last-level cache.
    fn machine(nodes: u32, memory: Memory) -> Machine {
        let place = |cpu: u32| LogicalCpu {
            cpu,
            package: cpu / 8,
            node: Some(cpu * nodes / 8),
            llc: Some(cpu / 2),
            ..LogicalCpu::default()
        };
        let topology: Vec<LogicalCpu> = (0..16).map(place).collect();
        let node = |number: u32| NumaNode {
            node: number,
            cpus: topology.iter().filter(|place| place.node == Some(number)).map(|place| place.cpu).collect(),
            ..NumaNode::default()
        };
        let numa = (0..2 * nodes).map(node).collect();
        Machine { cpu: Cpu { packages: Some(2), topology, ..Cpu::default() }, memory, numa, ..Machine::default() }
    }

    fn memory(channels: u32, by_package: &[u32]) -> Memory {
        Memory {
            channels: Some(channels),
            channels_by_package: by_package.to_vec(),
            bus_bits: Some(channels * 64),
            mts: Some(4800.0),
            platform_channels: Some(12),
            ..Memory::default()
        }
    }

    fn first(machine: &Machine, items: &[&str], cpus: &[u32]) -> (PeakKind, f64, String) {
        let peaks = read_peaks(machine, &Declared::parse(items).unwrap(), cpus);
        assert_eq!(peaks.len(), 1, "{peaks:?}");
        (peaks[0].kind, peaks[0].value, peaks[0].formula.clone())
    }

    #[test]
    fn a_row_is_held_against_the_channels_of_its_nodes() {
        let both: Vec<u32> = (0..16).collect();
        let two = machine(1, memory(22, &[12, 10]));
        assert_eq!(first(&two, &[], &both).2, "22 channels x 4800 MT/s x 8 B");
        let ten = "10 of 22 channels (node 1) x 4800 MT/s x 8 B".to_owned();
        assert_eq!(first(&two, &[], &[8, 9]), (PeakKind::Datasheet, 10.0 * 38.4e9, ten));
        let quarters = machine(4, memory(24, &[12, 12]));
        assert_eq!(first(&quarters, &[], &[0]).2, "3 of 24 channels (node 0) x 4800 MT/s x 8 B");
        assert_eq!(first(&quarters, &[], &[0, 9]).2, "6 of 24 channels (nodes 0, 4) x 4800 MT/s x 8 B");
        let uneven = machine(4, memory(22, &[10, 12]));
        assert_eq!(first(&uneven, &[], &[0]).2, "at most 10 of 22 channels (node 0) x 4800 MT/s x 8 B");
    }

    #[test]
    fn unassigned_channels_are_limited_by_the_package() {
        assert_eq!(first(&machine(1, memory(24, &[])), &[], &[0]).2, "12 of 24 channels (node 0) x 4800 MT/s x 8 B");
        let partly = machine(1, memory(20, &[]));
        assert_eq!(first(&partly, &[], &[0]).2, "at most 12 of 20 channels (node 0) x 4800 MT/s x 8 B");
        let (kind, _, formula) = first(&partly, &["memory.channels=20"], &[0]);
        assert_eq!((kind, formula.as_str()), (PeakKind::Declared, "10 of 20 channels (node 0) x 4800 MT/s x 8 B"));
    }

    #[test]
    fn one_node_of_two_packages_is_all_of_the_memory() {
        let mut one = machine(1, memory(24, &[12, 12]));
        one.numa = vec![NumaNode { node: 0, cpus: (0..16).collect(), ..NumaNode::default() }];
        one.cpu.topology.iter_mut().for_each(|place| place.node = Some(0));
        assert_eq!(first(&one, &[], &[0]).2, "24 channels x 4800 MT/s x 8 B");
        one.numa.clear();
        one.cpu.topology.iter_mut().for_each(|place| place.node = None);
        assert_eq!(first(&one, &[], &[0]).2, "24 channels x 4800 MT/s x 8 B");
    }

    #[test]
    fn a_node_of_a_guest_with_a_package_for_each_cpu_has_its_share() {
        let mut guest = machine(1, memory(24, &[]));
        guest.cpu.packages = Some(16);
        guest.cpu.hypervisor_bit = Some(true);
        guest.cpu.topology.iter_mut().for_each(|place| place.package = place.cpu);
        assert_eq!(first(&guest, &[], &[0]).2, "12 of 24 channels (node 0) x 4800 MT/s x 8 B");
    }

    #[test]
    fn soldered_memory_counts_by_its_whole_width() {
        let laptop = Memory { bus_bits: Some(128), mts: Some(7500.0), ..Memory::default() };
        let machine = Machine { memory: laptop, ..Machine::default() };
        assert_eq!(first(&machine, &[], &[0]), (PeakKind::Datasheet, 120e9, "128 bit / 8 x 7500 MT/s".to_owned()));
    }

    #[test]
    fn a_declared_width_is_a_channels() {
        let items = ["memory.channels=8", "memory.mts=6400", "memory.width=16"];
        let expected = (PeakKind::Declared, 102.4e9, "8 channels x 6400 MT/s x 2 B".to_owned());
        assert_eq!(first(&Machine::default(), &items, &[0]), expected);
        let narrow = Memory { channels: Some(2), mts: Some(4800.0), ..Memory::default() };
        let machine = Machine { memory: narrow, ..Machine::default() };
        assert_eq!(first(&machine, &[], &[0]).0, PeakKind::PlatformMaximum, "their width is unknown");
        assert_eq!(first(&machine, &["memory.width=32"], &[0]).2, "2 channels x 4800 MT/s x 4 B");
    }

    #[test]
    fn the_platforms_maximum_is_of_the_packages_in_use() {
        let open = Memory { platform_channels: Some(12), platform_mts: Some(4800.0), ..Memory::default() };
        let machine = machine(1, open);
        let (kind, value, formula) = first(&machine, &[], &[0]);
        assert_eq!((kind, value), (PeakKind::PlatformMaximum, 460.8e9));
        assert_eq!(formula, "12 of 24 channels (node 0) x 4800 MT/s x 8 B");
        assert_eq!(first(&machine, &["memory.mts=4000"], &[0]).0, PeakKind::PlatformMaximum);
    }

    #[test]
    fn firmwares_rating_serves_for_pure_reads_and_writes() {
        let mut machine = machine(1, Memory { platform_channels: Some(12), ..Memory::default() });
        let rating = |read| NodeRating { read_bytes_per_second: Some(read), ..NodeRating::default() };
        machine.numa[0].rated = Some(rating(300e9));
        let rated = "300.0 GB/s of node 0, as firmware rates its reads".to_owned();
        assert_eq!(first(&machine, &[], &[0]), (PeakKind::Datasheet, 300e9, rated));
        let peaks = |op, nodes: &[u32]| {
            let nodes = nodes.iter().copied().collect();
            peaks_of(&machine, &Declared::default(), op, &[0], &nodes)
        };
        assert!(peaks(MemoryOp::Copy, &[0]).is_empty() && peaks(MemoryOp::Write, &[0]).is_empty());
        assert!(peaks(MemoryOp::Read, &[0, 1]).is_empty(), "one of the two is not rated");
        let known = machine.memory.clone();
        machine.memory = memory(24, &[12, 12]);
        assert!(first(&machine, &[], &[0]).2.contains("MT/s"), "modules are known better");
        machine.memory = known;
        machine.numa.push(NumaNode { node: 2, rated: Some(rating(60e9)), ..NumaNode::default() });
        let far = peaks_of(&machine, &Declared::default(), MemoryOp::Read, &[0], &BTreeSet::from([2]));
        assert!(far[0].formula.starts_with("60.0 GB/s of node 2"), "a node without CPUs has no channels of ours");
    }

    #[test]
    fn dies_in_use_bound_reads_where_the_fabrics_clock_is_declared() {
        let mut machine = machine(1, memory(24, &[12, 12]));
        machine.memory.die_read_bytes_per_cycle = Some(32);
        let declared = Declared::parse(&["memory.fclk_hz=2e9"]).unwrap();
        let peaks = |op, cpus: &[u32]| peaks_of(&machine, &declared, op, cpus, &nodes_of(&machine, cpus));
        let link = peaks(MemoryOp::Read, &[0, 1, 2]).pop().unwrap();
        assert_eq!((link.kind, link.value), (PeakKind::Link, 128e9));
        assert_eq!(link.formula, "2 die links x 2.00 GHz x 32 B/cycle");
        assert_eq!(peaks(MemoryOp::Copy, &[0]).len(), 1, "of reads alone");
        assert_eq!(read_peaks(&machine, &Declared::default(), &[0]).len(), 1);
    }

    fn params(op: MemoryOp, nodes: Option<&str>) -> MemoryParams {
        let text = r#"{"pattern": "sequential", "op": "read", "working_set": 1, "pages": "2MiB", "isa": "avx2", "threads": 1}"#;
        MemoryParams { op, nodes: nodes.map(str::to_owned), ..serde_json::from_str(text).unwrap() }
    }

    #[test]
    fn rates_of_bytes_are_held_against_the_node_that_a_row_names() {
        let machine = machine(1, memory(24, &[12, 12]));
        let peaks = |op, nodes| memory_peaks(&machine, &Declared::default(), &params(op, nodes), &[0]);
        for op in [MemoryOp::Load, MemoryOp::Handoff, MemoryOp::Increment] {
            assert!(peaks(op, None).is_empty(), "{op}");
        }
        assert_eq!(peaks(MemoryOp::Read, None)[0].formula, "12 of 24 channels (node 0) x 4800 MT/s x 8 B");
        let formula = "12 of 24 channels (node 1) x 4800 MT/s x 8 B; up to 3 B cross the bus for each 2 B counted \
                       (write-allocate)";
        assert_eq!(peaks(MemoryOp::Copy, Some("0-1"))[0].formula, formula);
        let says = |op: &&MemoryOp| !write_allocate(**op).is_empty();
        let found: Vec<MemoryOp> = MemoryOp::ALL.iter().filter(says).copied().collect();
        assert_eq!(found, [MemoryOp::Write, MemoryOp::Copy, MemoryOp::Scale, MemoryOp::Add, MemoryOp::Triad]);
    }
}
