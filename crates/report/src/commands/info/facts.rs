//! The facts of a machine in a reader's words. What is not known is left out here; it has a section of its own.

use model::machine::{
    Cache, CoreKind, CoreType, Cpu, Dimm, Disk, DriveSheet, Machine, MachineExpectation, Memory, Nic, NodeRating,
    NumaNode, OpsPerCycle, Os, Withheld, WithheldBy,
};
use model::number::{Notation, UnitScale, clock, counted, plain, quantity, size};
use model::unit::Unit;

use super::peaks::{OTHERS, fastest};
use super::section::{Fact, Section};
use crate::grid::groups::grouped;
use areas::cpu::label::stem_words;

struct Facts<'a> {
    machine: &'a Machine,
    facts: Vec<Fact>,
}

impl<'a> Facts<'a> {
    fn new(machine: &'a Machine) -> Self {
        Self { machine, facts: Vec::new() }
    }

    /// A fact that may be unknown; `path` is its place in the document.
    fn add(&mut self, name: &str, path: &str, value: Option<impl ToString>) {
        let value = value.map(|value| value.to_string()).filter(|value| !value.is_empty());
        self.facts.extend(value.map(|value| Fact::new(name, value, self.source(path))));
    }

    /// Where a fact comes from, or the part of the document that it belongs to.
    fn source(&self, path: &str) -> String {
        let mut paths = std::iter::successors(Some(path), |path| Some(path.rsplit_once('.')?.0));
        paths.find_map(|path| self.machine.sources.get(path)).cloned().unwrap_or_default()
    }
}

/// Every section, in the order in which they are read; some may be empty.
pub(super) fn sections(machine: &Machine) -> Vec<Section> {
    vec![
        section("System", machine, system),
        section("Processor", machine, |facts| processor(facts, &machine.cpu)),
        Section { aside: left_out(&machine.cpu), ..section("Cores", machine, |facts| cores(facts, &machine.cpu)) },
        section("Caches", machine, |facts| caches(facts, &machine.caches)),
        section("Memory", machine, |facts| memory(facts, &machine.memory)),
        section("Memory nodes", machine, |facts| numa(facts, &machine.numa)),
        section("Disks", machine, disks),
        section("Network interfaces", machine, |facts| machine.nics.iter().for_each(|nic| self::nic(facts, nic))),
        Section { title: "What it should reach", facts: machine.expected.iter().map(expected).collect(), aside: None },
    ]
}

/// A range in words; from the words of its source.
fn expected(of: &MachineExpectation) -> Fact {
    let MachineExpectation { quantity, benchmark, range, .. } = of;
    let name = benchmark.clone().unwrap_or_else(|| quantity.as_str().replace('_', " "));
    let origin = [range.origin.as_deref(), range.date.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(", ");
    Fact::new(name, range.text.clone(), format!("{}: {origin}", range.source))
}

fn section<'a>(title: &'static str, machine: &'a Machine, fill: impl FnOnce(&mut Facts<'a>)) -> Section {
    let mut facts = Facts::new(machine);
    fill(&mut facts);
    Section { title, facts: facts.facts, aside: None }
}

fn system(facts: &mut Facts<'_>) {
    let Os { name, kernel, kernel_build: _, clocksource } = &facts.machine.os;
    facts.add("distribution", "os.name", name.as_ref());
    facts.add("kernel", "os.kernel", kernel.as_ref());
    facts.add("clock source", "os.clocksource", clocksource.as_ref());
    let below = facts.machine.virtualization.as_ref();
    let name = below.map(|below| below.hypervisor.as_deref().unwrap_or("unknown"));
    facts.add("hypervisor", "virtualization", name);
    let cloud = facts.machine.cloud.as_ref();
    facts.add("cloud", "cloud", cloud.map(|cloud| cloud.provider.title()));
    facts.add("machine type", "cloud.machine_type", cloud.and_then(|cloud| cloud.machine_type.as_ref()));
}

/// Arm's implementers, which stand for the family; x86 has lower numbers.
const IMPLEMENTERS: std::ops::RangeFrom<u32> = 0x41..;

fn processor(facts: &mut Facts<'_>, cpu: &Cpu) {
    facts.add("model", "cpu.model_name", cpu.model_name.as_ref());
    facts.add("vendor", "cpu.vendor", cpu.vendor.as_ref());
    let identity = cpu.family.zip(cpu.model).map(|(family, model)| match cpu.stepping {
        Some(stepping) if IMPLEMENTERS.contains(&family) => {
            format!("implementer {family:#x}, part {model:#05x}, r{}p{}", stepping >> 4, stepping & 0xf)
        }
        Some(stepping) => format!("family {family}, model {model}, stepping {stepping}"),
        None => format!("family {family}, model {model}"),
    });
    facts.add("identity", "cpu.family", identity);
    facts.add("microarchitecture", "cpu.microarchitecture", cpu.microarchitecture.as_ref());
    facts.add("packages", "cpu.packages", cpu.packages);
    facts.add("cores", "cpu.cores", cpu.cores);
    facts.add("CPUs (threads)", "cpu.threads", cpu.threads);
    facts.add("SMT", "cpu.smt", cpu.smt.map(|smt| if smt { "on" } else { "off" }));
    facts.add("usable CPUs", "cpu.available_cpus", Some(cpu_list(&cpu.available_cpus)));
    facts.add("CPU quota", "cpu.quota_cpus", cpu.quota_cpus.map(model::number::cpu_quota));
    let isa: Vec<&str> = cpu.isa.iter().map(|isa| isa.title()).collect();
    facts.add("instruction sets", "cpu.isa", Some(isa.join(", ")));
    // `AMX: hidden by the hypervisor`.
    facts.facts.extend(cpu.withheld.iter().enumerate().map(|(index, Withheld { isa, by, why })| {
        let by = match by {
            WithheldBy::OperatingSystem => "not enabled by the operating system",
            WithheldBy::Hypervisor => "hidden by the hypervisor",
        };
        let name = if index == 0 { "not usable here" } else { "" };
        Fact::new(name, format!("{}: {by}", isa.title()), why.clone())
    }));
    facts.add("base clock", "cpu.base_hz", cpu.base_hz.map(clock));
    facts.add("boost clock", "cpu.boost_hz", cpu.boost_hz.map(clock));
    facts.add("time-stamp counter", "cpu.tsc_hz", cpu.tsc_hz.map(|hertz| UnitScale::MEGAHERTZ.fixed(hertz, 1)));
    facts.add("governor", "cpu.governor", cpu.governor.as_ref());
    facts.add("frequency driver", "cpu.scaling_driver", cpu.scaling_driver.as_ref());
    facts.add("boost allowed", "cpu.turbo", cpu.turbo.map(|turbo| if turbo { "yes" } else { "no" }));
    facts.add("highest clock allowed", "cpu.clock_cap_hz", cpu.clock_cap_hz.map(clock));
    facts.add("microcode", "cpu.microcode", cpu.microcode.as_ref());
}

fn cores(facts: &mut Facts<'_>, cpu: &Cpu) {
    for core_type in &cpu.core_types {
        facts.add(core_kind_words(core_type.kind), "cpu.core_types", Some(core_words(core_type)));
        let further = core_type.isa.iter().filter(|isa| !cpu.isa.contains(isa)).map(|isa| isa.title());
        let further = further.collect::<Vec<_>>().join(", ");
        facts.add("  instruction sets of its own", "cpu.core_types", Some(further));
        for ops in fastest(&core_type.ops_per_cycle, |ops| &ops.what, most) {
            let name = format!("  {}", stem_words(&ops.what));
            facts.facts.extend(ops_words(ops).map(|value| Fact::new(name, value, ops.source.clone())));
        }
    }
}

/// What is said where work per cycle is not shown of all kernels.
fn left_out(cpu: &Cpu) -> Option<&'static str> {
    let chosen = |core_type: &CoreType| fastest(&core_type.ops_per_cycle, |ops| &ops.what, most).len();
    cpu.core_types.iter().any(|core_type| chosen(core_type) < core_type.ops_per_cycle.len()).then_some(OTHERS)
}

/// Work per cycle for choosing what to show; where parts differ, the best of them.
fn most(ops: &OpsPerCycle) -> f64 {
    ops.candidates.iter().copied().chain(ops.value).fold(0.0, f64::max)
}

fn core_words(core_type: &CoreType) -> String {
    let mut parts = vec![counted(u64::from(core_type.cores), "core")];
    if core_type.threads != core_type.cores {
        parts.push(counted(u64::from(core_type.threads), "CPU"));
    }
    parts.extend(core_type.microarchitecture.clone());
    parts.extend(core_type.base_hz.map(|hertz| format!("base {}", clock(hertz))));
    parts.extend(core_type.boost_hz.map(|hertz| format!("boost {}", clock(hertz))));
    parts.join(", ")
}

fn ops_words(ops: &OpsPerCycle) -> Option<String> {
    let known = ops.value.map_or_else(|| ops.candidates.clone(), |value| vec![value]);
    let known: Vec<String> = known.into_iter().map(plain).collect();
    (!known.is_empty()).then(|| format!("{} {}", known.join(" or "), ops.unit))
}

const fn core_kind_words(kind: CoreKind) -> &'static str {
    match kind {
        CoreKind::Uniform => "all alike",
        CoreKind::Performance => "performance",
        CoreKind::Efficiency => "efficiency",
        CoreKind::LowPowerEfficiency => "low-power efficiency",
    }
}

/// Caches of one kind are one fact.
fn caches(facts: &mut Facts<'_>, caches: &[Cache]) {
    let named = caches.iter().map(|cache| (format!("L{} {}", cache.level, cache.kind), cache_words(cache)));
    for ((name, value), alike) in grouped(named, |words| Some(words.clone())) {
        let value = if alike.len() > 1 { format!("{} x {value}", alike.len()) } else { value };
        facts.add(&name, "caches", Some(value));
    }
}

fn dimm_words(dimm: &Dimm) -> String {
    let made_for = dimm.rated_mts.filter(|rated| Some(*rated) != dimm.mts);
    let speed = match dimm.mts {
        Some(runs) => {
            let rated = made_for.map_or_else(String::new, |rated| format!(" (made for {rated})"));
            Some(format!("{runs} MT/s{rated}"))
        }
        None => made_for.map(|rated| format!("made for {rated} MT/s")),
    };
    let width = dimm.data_bits.map(|bits| format!("{bits} bit"));
    known([dimm.bytes.map(size), dimm.kind.clone(), speed, width])
}

fn cache_words(cache: &Cache) -> String {
    let mut parts = vec![cache.bytes.map_or_else(|| "size unknown".to_owned(), size)];
    parts.extend(cache.ways.map(|ways| format!("{ways}-way")));
    parts.extend((cache.cpus.len() > 1).then(|| format!("shared by {} CPUs", cache.cpus.len())));
    parts.join(", ")
}

fn memory(facts: &mut Facts<'_>, memory: &Memory) {
    facts.add("total", "memory.total_bytes", memory.total_bytes.map(size));
    facts.add("available", "memory.available_bytes", memory.available_bytes.map(size));
    facts.add("limit", "memory.limit_bytes", memory.limit_bytes.map(size));
    facts.add("limit used", "memory.limit_used_bytes", memory.limit_used_bytes.map(size));
    facts.add("swap", "memory.swap_bytes", memory.swap_bytes.map(size));
    facts.add("channels", "memory.channels", memory.channels.map(|channels| channel_words(channels, memory)));
    facts.add("transfer rate", "memory.mts", memory.mts.map(|rate| format!("{rate} MT/s")));
    facts.add("data width", "memory.bus_bits", memory.bus_bits.map(|bits| format!("{bits} bit")));
    let speed = memory.platform_mts.map(|rate| format!(" at {rate} MT/s")).unwrap_or_default();
    let most = memory.platform_channels.map(|channels| format!("{channels} per package{speed}, fitted or not"));
    facts.add("most channels", "memory.platform_channels", most);
    let link = memory.die_read_bytes_per_cycle.map(|bytes| format!("at most {bytes} B read per fabric cycle"));
    facts.add("link of a die", "memory.die_read_bytes_per_cycle", link);
    let filled = |slots: u32| format!("{slots}, {} with a module", memory.dimms.len());
    facts.add("slots", "memory.slots", memory.slots.map(filled));
    for (words, alike) in grouped(&memory.dimms, |dimm| Some(dimm_words(dimm))) {
        facts.add("modules", "memory.dimms", Some(format!("{} x {words}", alike.len())));
    }
    facts.add("base page", "memory.page_bytes", memory.page_bytes.map(size));
    facts.add("huge pages", "memory.huge_pages.transparent", memory.huge_pages.transparent.as_ref());
    facts.add("huge page defragmentation", "memory.huge_pages.defrag", memory.huge_pages.defrag.as_ref());
    let balancing = memory.numa_balancing.map(|balancing| if balancing { "on" } else { "off" });
    facts.add("NUMA balancing", "memory.numa_balancing", balancing);
    for pool in memory.huge_pages.pools.iter().filter(|pool| pool.total.is_some_and(|total| total > 0)) {
        let counts = pool.total.map(|total| format!("{total} reserved, {} free", pool.free.unwrap_or(0)));
        facts.add(&format!("pool of {}", size(pool.page_bytes)), "memory.huge_pages.pools", counts);
    }
}

fn channel_words(channels: u32, memory: &Memory) -> String {
    let each: Vec<String> = memory.channels_by_package.iter().map(u32::to_string).collect();
    if each.len() > 1 { format!("{channels} ({} on the packages)", each.join(" + ")) } else { channels.to_string() }
}

fn numa(facts: &mut Facts<'_>, nodes: &[NumaNode]) {
    for node in nodes {
        let cpus = if node.cpus.is_empty() { "no CPUs".to_owned() } else { format!("CPUs {}", cpu_list(&node.cpus)) };
        let distances: Vec<String> = node.distances.iter().map(u32::to_string).collect();
        let distances = (distances.len() > 1).then(|| format!("distances {}", distances.join(" ")));
        let memory = node.total_bytes.map(|bytes| if bytes == 0 { "no memory".to_owned() } else { size(bytes) });
        let value = known([Some(cpus), memory, distances]);
        facts.add(&format!("node {}", node.node), "numa", Some(value));
        if let Some(value) = node.rated.as_ref().map(rating_words).filter(|value| !value.is_empty()) {
            let source = format!("/sys/devices/system/node/node{}/access0/initiators (HMAT)", node.node);
            facts.facts.push(Fact::new("  as firmware rates it", value, source));
        }
    }
}

fn rating_words(rated: &NodeRating) -> String {
    quantities([
        ("reads", rated.read_bytes_per_second, Unit::BytePerSecond.into()),
        ("writes", rated.write_bytes_per_second, Unit::BytePerSecond.into()),
        ("a read takes", rated.read_latency_seconds, Unit::Second.into()),
        ("a write", rated.write_latency_seconds, Unit::Second.into()),
    ])
    .join(", ")
}

fn disks(facts: &mut Facts<'_>) {
    let machine = facts.machine;
    machine.disks.iter().for_each(|one| disk(facts, one));
    for link in &machine.shared_links {
        let rate = quantity(link.bytes_per_second as f64, Unit::BytePerSecond);
        let value = format!("{}: {rate} at most, for {} together", link.detail, link.disks.join(", "));
        facts.facts.push(Fact::new(format!("link at {}", link.place), value, link.source.clone()));
    }
}

fn disk(facts: &mut Facts<'_>, disk: &Disk) {
    let spins = disk.rotational.map(|spins| if spins { "reports that it spins" } else { "solid state" }.to_owned());
    let spins = disk.rotations_per_minute.map(|rotations| format!("{rotations} rotations/min")).or(spins);
    let scheduler = disk.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}"));
    let virtual_one = disk.is_virtual.and_then(|is_virtual| is_virtual.then(|| "virtual".to_owned()));
    // A driver is often named after what it drives.
    let is_named = |transport: &String| disk.driver.as_ref().is_some_and(|driver| driver.contains(transport));
    let transport = disk.transport.clone().filter(|transport| !is_named(transport));
    let raid = disk.raid_level.as_ref().map(|level| match disk.raid_members {
        Some(members) => format!("{level} of {}", counted(u64::from(members), "member")),
        None => level.clone(),
    });
    let (model, driver, bytes) = (disk.model.clone(), disk.driver.clone(), disk.bytes.map(size));
    facts.add(&disk.name, "disks", Some(known([model, bytes, driver, transport, virtual_one, raid, spins, scheduler])));
    facts.add(&format!("{} queue", disk.name), "disks", queue(disk));
    if let Some(link) = &disk.link {
        let less = if link.below_maximum == Some(true) { ", less than the disk could use" } else { "" };
        let rate = quantity(link.bytes_per_second as f64, Unit::BytePerSecond);
        let value = format!("{}: {rate} at most{less}", link.detail);
        facts.facts.push(Fact::new(format!("{} link", disk.name), value, link.source.clone()));
    }
    if let Some(sheet) = &disk.data_sheet {
        facts.facts.push(Fact::new(format!("{} data sheet", disk.name), sheet_words(sheet), sheet.source.clone()));
    }
}

/// What a table has on a drive. Where nobody compared it with anything it says so, since nothing else rests on it.
fn sheet_words(sheet: &DriveSheet) -> String {
    let mut values = quantities([
        ("reads", sheet.read_bytes_per_second, Unit::BytePerSecond.into()),
        ("writes", sheet.write_bytes_per_second, Unit::BytePerSecond.into()),
        ("4 KiB random reads", sheet.reads_per_second, Notation::Iops),
        ("4 KiB random writes", sheet.writes_per_second, Notation::Iops),
    ]);
    values.extend(sheet.rotations_per_minute.map(|rotations| format!("{rotations} rotations/min")));
    let values = values.join(", ");
    if sheet.checked { values } else { format!("listed as {values}; not verified, so no peak is derived") }
}

fn quantities(values: [(&str, Option<f64>, Notation); 4]) -> Vec<String> {
    let words = |(before, value, notation)| Some(format!("{before} {}", quantity(value?, notation)));
    values.into_iter().filter_map(words).collect()
}

fn queue(disk: &Disk) -> Option<String> {
    let queue = &disk.queue;
    let some = |is: Option<bool>, wanted: bool, words: &str| (is == Some(wanted)).then(|| words.to_owned());
    let throttle = queue.write_back_throttle_seconds.filter(|seconds| *seconds > 0.0);
    let words = [
        queue.hardware_queues.map(|queues| counted(u64::from(queues), "hardware queue")),
        queue.device_requests.map(|requests| format!("takes {requests} at once")),
        disk.queue_requests.map(|requests| format!("{requests} requests")),
        disk.write_cache.as_ref().map(|cache| format!("{cache} cache")),
        some(queue.force_unit_access, true, "FUA"),
        some(queue.force_unit_access, false, "no FUA"),
        some(queue.polled, true, "polling possible"),
        queue.merges.as_ref().filter(|merges| *merges != "all").map(|merges| format!("merges {merges}")),
        throttle.map(|seconds| format!("writes throttled above {}", quantity(seconds, Unit::Second))),
        some(queue.counted, false, "requests are not counted"),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn nic(facts: &mut Facts<'_>, nic: &Nic) {
    let virtual_one = nic.is_virtual.and_then(|is_virtual| is_virtual.then(|| "virtual".to_owned()));
    let doubt = if nic.speed_trusted == Some(false) { " according to its driver" } else { "" };
    let speed = nic.speed_bps.map(|speed| format!("{} Gb/s{doubt}", plain(speed / 1e9)));
    let mtu = nic.mtu.map(|mtu| format!("MTU {mtu}"));
    facts.add(&nic.name, "nics", Some(known([nic.state.clone(), speed, nic.driver.clone(), mtu, virtual_one])));
}

/// The parts that are known; a device of which nothing is known is still there.
fn known<const N: usize>(parts: [Option<String>; N]) -> String {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "present".to_owned() } else { parts.join(", ") }
}

fn cpu_list(cpus: &[u32]) -> String {
    let mut sorted = cpus.to_vec();
    sorted.sort_unstable();
    let words = sorted.chunk_by(|one, next| one + 1 == *next).map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        only => only[0].to_string(),
    });
    words.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use model::machine::SharedLink;

    use super::*;

    #[test]
    fn cpus_are_ranges() {
        assert_eq!(cpu_list(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(cpu_list(&[]), "");
    }

    #[test]
    fn the_source_of_a_part_is_that_of_the_whole_where_it_has_none_of_its_own() {
        let mut machine = Machine::default();
        machine.sources.insert("memory".into(), "/proc/meminfo".into());
        let facts = Facts::new(&machine);
        assert_eq!(facts.source("memory.huge_pages.transparent"), "/proc/meminfo");
        assert_eq!(facts.source("cpu.smt"), "");
    }

    #[test]
    fn a_shared_link_is_shown_with_its_disks() {
        let link = SharedLink {
            place: "0000:05:00.0".into(),
            bytes_per_second: 3_938_000_000,
            detail: "PCIe 3.0 x4, 8 GT/s".into(),
            disks: vec!["sda".into(), "sdb".into()],
            source: "a file".into(),
            ..SharedLink::default()
        };
        let machine = Machine { shared_links: vec![link], ..Machine::default() };
        let [fact] = &section("Disks", &machine, disks).facts[..] else { panic!("one fact") };
        assert_eq!((fact.name.as_str(), fact.source.as_str()), ("link at 0000:05:00.0", "a file"));
        assert_eq!(fact.value, "PCIe 3.0 x4, 8 GT/s: 3.938 GB/s at most, for sda, sdb together");
    }

    #[test]
    fn an_unverified_data_sheet_is_marked() {
        let turning = DriveSheet {
            read_bytes_per_second: Some(150e6),
            write_bytes_per_second: Some(150e6),
            rotations_per_minute: Some(5400),
            ..DriveSheet::default()
        };
        let words = "listed as reads 150.0 MB/s, writes 150.0 MB/s, 5400 rotations/min; not verified, so no \
             peak is derived";
        assert_eq!(sheet_words(&turning), words);
        let solid = DriveSheet { reads_per_second: Some(98e3), checked: true, ..DriveSheet::default() };
        let words = sheet_words(&solid);
        assert_eq!(words, "4 KiB random reads 98.00 kIOPS");
        let machine = Machine::default();
        let disk = Disk { name: "sda".into(), data_sheet: Some(solid), ..Disk::default() };
        let shown = section("Disks", &machine, |facts| super::disk(facts, &disk));
        assert!(shown.facts.iter().any(|fact| fact.name == "sda data sheet" && fact.value == words), "{shown:?}");
    }

    /// Two packages whose second lacks two modules.
    fn server() -> Machine {
        let dimm = Dimm {
            bytes: Some(64 << 30),
            kind: Some("DDR5".into()),
            mts: Some(4400.0),
            rated_mts: Some(4800.0),
            data_bits: Some(64),
            ..Dimm::default()
        };
        let memory = Memory {
            channels: Some(22),
            channels_by_package: vec![12, 10],
            platform_channels: Some(12),
            platform_mts: Some(4800.0),
            die_read_bytes_per_cycle: Some(32),
            slots: Some(24),
            dimms: vec![dimm; 22],
            ..Memory::default()
        };
        let node = |node: u32| NumaNode { node, cpus: vec![node], distances: vec![10, 32], ..NumaNode::default() };
        let rated = NodeRating {
            read_bytes_per_second: Some(307.2e9),
            read_latency_seconds: Some(110e-9),
            ..NodeRating::default()
        };
        let far = NumaNode { node: 2, rated: Some(rated), ..NumaNode::default() };
        Machine { memory, numa: vec![node(0), node(1), far], ..Machine::default() }
    }

    #[test]
    fn memory_is_shown_with_fitted_and_possible_channels() {
        let machine = server();
        let values = |section: &Section| {
            section.facts.iter().map(|fact| (fact.name.clone(), fact.value.clone())).collect::<Vec<_>>()
        };
        let shown = values(&section("Memory", &machine, |facts| memory(facts, &machine.memory)));
        let expected = [
            ("channels", "22 (12 + 10 on the packages)"),
            ("most channels", "12 per package at 4800 MT/s, fitted or not"),
            ("link of a die", "at most 32 B read per fabric cycle"),
            ("slots", "24, 22 with a module"),
            ("modules", "22 x 64 GiB, DDR5, 4400 MT/s (made for 4800), 64 bit"),
        ];
        assert_eq!(shown, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let shown = values(&section("Memory nodes", &machine, |facts| numa(facts, &machine.numa)));
        let expected = [
            ("node 0", "CPUs 0, distances 10 32"),
            ("node 1", "CPUs 1, distances 10 32"),
            ("node 2", "no CPUs"),
            ("  as firmware rates it", "reads 307.2 GB/s, a read takes 110.0 ns"),
        ];
        assert_eq!(shown, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn the_rate_of_a_module_differs_from_its_rating() {
        let words = |mts, rated_mts| dimm_words(&Dimm { mts, rated_mts, ..Dimm::default() });
        assert_eq!(words(Some(4800.0), Some(4800.0)), "4800 MT/s");
        assert_eq!(words(None, Some(4800.0)), "made for 4800 MT/s");
        assert_eq!(words(None, None), "present");
    }
}
