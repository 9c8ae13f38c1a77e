//! What a machine is: facts, each with its source, and the facts that could not be found.
//!
//! Plain data in base units (B, Hz, bit/s). An absent fact is `None`, never 0 and never a guess; how facts are found is
//! `machine`'s business. Every field has a default, so documents written before a field existed still load.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::isa::{Isa, words};

/// One machine as discovery saw it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Machine {
    /// The host's name.
    pub host: Option<String>,
    /// Kernel and distribution.
    pub os: Os,
    /// Processor: identity, topology, instruction sets, clocks and limits.
    pub cpu: Cpu,
    /// Every cache, once per group of CPUs that share it.
    pub caches: Vec<Cache>,
    /// Main memory and its limits.
    pub memory: Memory,
    /// Memory nodes.
    pub numa: Vec<NumaNode>,
    /// Block devices.
    pub disks: Vec<Disk>,
    /// Links that the data of several of these disks passes, those with the fewest disks behind them first.
    pub shared_links: Vec<SharedLink>,
    /// Network interfaces.
    pub nics: Vec<Nic>,
    /// What this machine runs on top of; `None` on bare metal, or where nothing can tell (then see `unknown`).
    pub virtualization: Option<Virtualization>,
    /// Where each fact came from: dotted path of the fact (`cpu.quota_cpus`) to its source.
    pub sources: BTreeMap<String, String>,
    /// What could not be found, why, and what follows from that.
    pub unknown: Vec<Unknown>,
}

/// The operating system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Os {
    /// Distribution and version, as `/etc/os-release` puts it.
    pub name: Option<String>,
    /// Kernel release (`uname -r`).
    pub kernel: Option<String>,
    /// Kernel build (`uname -v`).
    pub kernel_build: Option<String>,
    /// The kernel's current clock source.
    pub clocksource: Option<String>,
}

/// The processor, totals over all packages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cpu {
    /// `GenuineIntel`, `AuthenticAMD`, …
    pub vendor: Option<String>,
    /// The brand string.
    pub model_name: Option<String>,
    /// Display family.
    pub family: Option<u32>,
    /// Display model.
    pub model: Option<u32>,
    /// Stepping.
    pub stepping: Option<u32>,
    /// Name of the microarchitecture; on hybrids, of each core type joined by ` + `.
    pub microarchitecture: Option<String>,
    /// Sockets.
    pub packages: Option<u32>,
    /// Physical cores, all packages together.
    pub cores: Option<u32>,
    /// Logical CPUs, all packages together.
    pub threads: Option<u32>,
    /// Whether any core shows more than one hardware thread.
    pub smt: Option<bool>,
    /// The kinds of core, fastest first; one entry on a uniform machine.
    pub core_types: Vec<CoreType>,
    /// Where each logical CPU sits, ascending by number.
    pub topology: Vec<LogicalCpu>,
    /// The instruction sets that the CPU has and the operating system enables, in our words.
    pub isa: Vec<Isa>,
    /// The instruction sets that the cores have and that cannot be used here.
    pub withheld: Vec<Withheld>,
    /// Raw features behind them, in the kernel's spelling, as enabled.
    pub features: Vec<String>,
    /// The CPUs that this process may run on.
    pub available_cpus: Vec<u32>,
    /// The tightest CPU quota on the way to the root of the control groups, in CPUs; `None` without one.
    pub quota_cpus: Option<f64>,
    /// Guaranteed clock, Hz.
    pub base_hz: Option<f64>,
    /// Highest single-core clock, Hz.
    pub boost_hz: Option<f64>,
    /// Rate of the time stamp counter as CPUID gives it, Hz.
    pub tsc_hz: Option<f64>,
    /// Whether CPUID says that a hypervisor is present.
    pub hypervisor_bit: Option<bool>,
    /// Microcode revision.
    pub microcode: Option<String>,
    /// Frequency driver.
    pub scaling_driver: Option<String>,
    /// Frequency governor; several, joined by `, `, where CPUs differ.
    pub governor: Option<String>,
    /// Whether boost clocks are allowed.
    pub turbo: Option<bool>,
    /// The kernel's SMT switch (`on`, `off`, `notsupported`, …).
    pub smt_control: Option<String>,
    /// State of each known hardware vulnerability.
    pub mitigations: BTreeMap<String, String>,
}

words! {
    /// What a core is in comparison with the machine's other cores.
    #[derive(Default)]
    CoreKind, "kind of core", {
        /// All cores are of one kind.
        #[default]
        Uniform => "uniform",
        /// The fast cores of a hybrid.
        Performance => "performance",
        /// The small cores of a hybrid.
        Efficiency => "efficiency",
        /// Small cores outside the main cluster.
        LowPowerEfficiency => "low_power_efficiency",
    }
}

/// One kind of core.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CoreType {
    /// Which kind.
    pub kind: CoreKind,
    /// Its microarchitecture.
    pub microarchitecture: Option<String>,
    /// Physical cores of this kind.
    pub cores: u32,
    /// Logical CPUs of this kind.
    pub threads: u32,
    /// Their numbers.
    pub cpus: Vec<u32>,
    /// Guaranteed clock, Hz.
    pub base_hz: Option<f64>,
    /// Highest single-core clock, Hz.
    pub boost_hz: Option<f64>,
    /// The instruction sets that these cores have and the operating system enables; [`Cpu::isa`] are those of all kinds.
    pub isa: Vec<Isa>,
    /// What one such core can finish in a clock cycle.
    pub ops_per_cycle: Vec<OpsPerCycle>,
}

words! {
    /// Who keeps an instruction set from us that the core has.
    WithheldBy, "keeper of an instruction set", {
        /// Its registers are not saved, or the permission for them was refused.
        OperatingSystem => "operating_system",
        /// The microarchitecture has it, and the guest's CPUID does not say so.
        Hypervisor => "hypervisor",
    }
}

/// An instruction set that cannot be used here though these cores have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Withheld {
    /// The instruction set.
    pub isa: Isa,
    /// Who keeps it from us.
    pub by: WithheldBy,
    /// How that is known, for a reader.
    pub why: String,
}

/// Work per clock cycle of one core for one kernel. An op is one multiply or one add: a multiply-add counts two.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OpsPerCycle {
    /// The experiment's id without its threads, such as `cpu/fma/fp64/avx512`.
    pub what: String,
    /// The figure; `None` where the table does not know, or knows only `candidates`.
    pub value: Option<f64>,
    /// Where parts of one model differ and CPUID cannot tell them apart: the possible figures. A probe decides.
    pub candidates: Vec<f64>,
    /// `flop/cycle` or `op/cycle`.
    pub unit: String,
    /// Where the figure comes from.
    pub source: String,
}

/// Where one logical CPU sits. Numbers other than `cpu`, `node` and `siblings` are our own, dense from 0 over the
/// machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LogicalCpu {
    /// The kernel's number.
    pub cpu: u32,
    /// Socket.
    pub package: u32,
    /// Physical core, unique over the machine: CPUs with the same number are SMT siblings.
    pub core: u32,
    /// Index into [`Cpu::core_types`].
    pub core_type: u32,
    /// Memory node, the kernel's number.
    pub node: Option<u32>,
    /// The CPUs of the same physical core, itself included, ascending.
    pub siblings: Vec<u32>,
    /// Group of CPUs that share the last-level cache.
    pub llc: Option<u32>,
}

/// One cache, as one group of CPUs shares it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cache {
    /// 1, 2, 3, …
    pub level: u32,
    /// `data`, `instruction` or `unified`.
    pub kind: String,
    /// Size, B.
    pub bytes: Option<u64>,
    /// Line size, B.
    pub line_bytes: Option<u32>,
    /// Associativity.
    pub ways: Option<u32>,
    /// The CPUs that share it.
    pub cpus: Vec<u32>,
}

/// Main memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Memory {
    /// What the kernel manages, B.
    pub total_bytes: Option<u64>,
    /// What new work can have without swapping, B, at the time of discovery.
    pub available_bytes: Option<u64>,
    /// The tightest control-group limit, B; `None` without one.
    pub limit_bytes: Option<u64>,
    /// What that control group has charged already, B.
    pub limit_used_bytes: Option<u64>,
    /// Swap space, B.
    pub swap_bytes: Option<u64>,
    /// Populated memory channels over all packages.
    pub channels: Option<u32>,
    /// Populated channels of each package, in order; empty where nothing tells packages apart.
    pub channels_by_package: Vec<u32>,
    /// Configured transfers per second and pin, in units of 10^6 (MT/s, as vendors print it).
    pub mts: Option<f64>,
    /// Data width over all channels, bit, without ECC.
    pub bus_bits: Option<u32>,
    /// Channels per package that this processor family has at most: the platform's maximum, not what is populated.
    pub platform_channels: Option<u32>,
    /// Fastest transfers that this processor family supports, MT/s: not what is fitted.
    pub platform_mts: Option<f64>,
    /// Bytes that a die of cores can read at most in one cycle of the fabric between the dies; `None` where cores and
    /// memory controllers share a die, or the table does not know.
    pub die_read_bytes_per_cycle: Option<u32>,
    /// Slots for memory modules, populated or not.
    pub slots: Option<u32>,
    /// Populated memory modules.
    pub dimms: Vec<Dimm>,
    /// Base page size, B.
    pub page_bytes: Option<u64>,
    /// State of huge pages.
    pub huge_pages: HugePages,
    /// Whether the kernel migrates pages between nodes by itself.
    pub numa_balancing: Option<bool>,
}

/// One memory module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Dimm {
    /// Where it is plugged, as firmware names it.
    pub locator: Option<String>,
    /// Which bank or channel, as firmware names it.
    pub bank: Option<String>,
    /// Size, B.
    pub bytes: Option<u64>,
    /// Technology (`DDR5` …).
    pub kind: Option<String>,
    /// Configured speed, MT/s.
    pub mts: Option<f64>,
    /// Speed that the module is made for, MT/s.
    pub rated_mts: Option<f64>,
    /// Data width without ECC, bit.
    pub data_bits: Option<u32>,
    /// The channel that its slot's name was read as: modules with the same one share it.
    pub channel: Option<String>,
}

/// Huge pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HugePages {
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub transparent: Option<String>,
    /// When the kernel makes room for them.
    pub defrag: Option<String>,
    /// Reserved pools, one per size.
    pub pools: Vec<HugePool>,
}

/// One pool of reserved huge pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HugePool {
    /// Size of one page, B.
    pub page_bytes: u64,
    /// Pages in the pool.
    pub total: Option<u64>,
    /// Pages free.
    pub free: Option<u64>,
}

/// One memory node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NumaNode {
    /// The kernel's number.
    pub node: u32,
    /// Its CPUs; empty for a node of memory alone.
    pub cpus: Vec<u32>,
    /// Its memory, B.
    pub total_bytes: Option<u64>,
    /// Relative distance to every node, 10 = local, in the order of node numbers.
    pub distances: Vec<u32>,
    /// What firmware rates this node's memory at, for the CPUs nearest to it; `None` on most machines.
    pub rated: Option<NodeRating>,
}

/// What firmware rates a node's memory at (ACPI's HMAT): its own word, not a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NodeRating {
    /// Reads, B/s.
    pub read_bytes_per_second: Option<f64>,
    /// Writes, B/s.
    pub write_bytes_per_second: Option<f64>,
    /// Latency of a read, s.
    pub read_latency_seconds: Option<f64>,
    /// Latency of a write, s.
    pub write_latency_seconds: Option<f64>,
}

/// One block device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Disk {
    /// The kernel's name (`nvme0n1`).
    pub name: String,
    /// Device number, `major:minor`.
    pub device: Option<String>,
    /// What it calls itself.
    pub model: Option<String>,
    /// Kernel driver behind it.
    pub driver: Option<String>,
    /// Size, B.
    pub bytes: Option<u64>,
    /// Whether it spins (virtual disks often say so falsely).
    pub rotational: Option<bool>,
    /// Rotations per minute as the drive itself tells them; `None` for one that does not turn or does not tell.
    pub rotations_per_minute: Option<u32>,
    /// Logical block, B.
    pub logical_block_bytes: Option<u32>,
    /// Physical block, B.
    pub physical_block_bytes: Option<u32>,
    /// I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Requests the kernel queues for it.
    pub queue_requests: Option<u32>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Version of its firmware, as it tells it.
    pub firmware: Option<String>,
    /// How the kernel handles its requests.
    pub queue: DiskQueue,
    /// The devices it is built on (RAID, LVM, encryption).
    pub slaves: Vec<String>,
    /// How it is attached: `pcie`, `sata`, `sas`, `usb`, `virtio`, … as far as the kernel shows it.
    pub transport: Option<String>,
    /// The narrowest link on the way to it; `None` where no link is known, or where a hypervisor makes the link up.
    pub link: Option<DiskLink>,
    /// Whether a hypervisor or the kernel makes it up; `None` where that cannot be told.
    pub is_virtual: Option<bool>,
    /// Level of a software RAID (`raid0`, `raid5`, …).
    pub raid_level: Option<String>,
    /// Members that a software RAID is laid out over, without spares.
    pub raid_members: Option<u32>,
    /// Bytes in a row that a software RAID puts on one member before it goes on to the next; `None` where it has none.
    pub raid_chunk_bytes: Option<u64>,
    /// What the table of drives says of it; `None` for one that is not in the table under this name and capacity, or that
    /// a hypervisor makes up.
    pub data_sheet: Option<DriveSheet>,
}

/// What a drive's maker says of it: figures of the table of drives, not of this very drive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DriveSheet {
    /// Large reads in order, B/s.
    pub read_bytes_per_second: Option<f64>,
    /// Large writes in order, B/s.
    pub write_bytes_per_second: Option<f64>,
    /// Reads of 4 KiB at random with as many in flight as the drive likes best, 1/s; `None` for one that turns.
    pub reads_per_second: Option<f64>,
    /// Writes, likewise; `None`, too, where the sheet's figure is no limit of a fresh file.
    pub writes_per_second: Option<f64>,
    /// Rotations per minute of one that turns.
    pub rotations_per_minute: Option<u32>,
    /// Whether these figures were compared with a document. Those that were not are told here and make no peak: no
    /// efficiency and no verdict rests on them.
    pub checked: bool,
    /// Where they come from.
    pub source: String,
}

/// How the kernel handles a disk's requests (`queue/` of the device, kernel documentation `ABI/stable/sysfs-block`): each is
/// `None` where it does not say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DiskQueue {
    /// Queues of the device itself.
    pub hardware_queues: Option<u32>,
    /// Requests that the device takes at once, over all its queues: what NCQ or SCSI is set to (`device/queue_depth`), or
    /// what the submission queues of an NVM Express controller hold (`sqsize` in each).
    pub device_requests: Option<u32>,
    /// Whether a write can be told to be on the medium when it is over (FUA), without a flush of the whole cache.
    pub force_unit_access: Option<bool>,
    /// Whether completions can be polled for.
    pub polled: Option<bool>,
    /// Which neighbouring requests are made one: `all`, `simple` (the last one alone is looked at) or `none`.
    pub merges: Option<String>,
    /// Where a request is completed: on `any` CPU, in the `group` of the one that made it, or on that `same` one.
    pub completes_on: Option<String>,
    /// The latency of reads above which writes are held back, in seconds; 0 where they never are.
    pub write_back_throttle_seconds: Option<f64>,
    /// Whether requests are counted; without that nothing can be held against what the device says that it did.
    pub counted: Option<bool>,
}

/// The narrowest link between a disk, or a network adapter, and the processor: what can pass at most, not what the device can do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DiskLink {
    /// `pcie`, `sata`, `sas`, `usb`, `mmc`, or `network` for a disk of another machine.
    pub kind: String,
    /// Bytes that pass in one direction, B/s, less the line code; packet headers are not taken off.
    pub bytes_per_second: u64,
    /// For a reader: `PCIe 4.0 x4, 16 GT/s`.
    pub detail: String,
    /// Whether the disk's own link could carry more than this: trained down, or in a slot that is too small. `None`
    /// where its maximum is not known.
    pub below_maximum: Option<bool>,
    /// Where the figures come from.
    pub source: String,
}

/// A link on the way to several disks, which together get no more than it carries. Where the same disks share several
/// links in a row, it is the narrowest of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SharedLink {
    /// `pcie`, `sata`, `sas`, `usb`, or `network` for disks of another machine.
    pub kind: String,
    /// Which one: the PCI function at one of its ends (`0000:3d:00.0`), the SATA port (`ata3`), the SAS port (`port-0:0`),
    /// the USB device (`2-1`) or the network interface.
    pub place: String,
    /// Bytes that pass in one direction, B/s, less the line code; packet headers are not taken off.
    pub bytes_per_second: u64,
    /// For a reader: `PCIe 3.0 x4, 8 GT/s`.
    pub detail: String,
    /// The disks behind it: names in [`Machine::disks`].
    pub disks: Vec<String>,
    /// Where the figures come from.
    pub source: String,
}

/// What is behind a directory: its mount and the block devices under it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Storage {
    /// The directory asked about.
    pub directory: String,
    /// Where its file system is mounted.
    pub mount_point: Option<String>,
    /// Type of file system.
    pub filesystem: Option<String>,
    /// What is mounted (`/dev/nvme0n1p2`, `tmpfs`, `host:/export`).
    pub source: Option<String>,
    /// Mount options.
    pub options: Vec<String>,
    /// Block devices from the one mounted down to those that are built on no other; empty where there is none.
    pub chain: Vec<StorageDevice>,
    /// Where one of the ways down ends in memory, that way in words: `tmpfs`, `ext4 on zram1`, `xfs on loop0 on tmpfs`.
    pub memory: Option<String>,
}

impl Storage {
    /// The disks that are built on no other, each once, in the order of the chain: names in [`Machine::disks`].
    pub fn disks(&self) -> Vec<String> {
        let depth_after = |index: usize| self.chain.get(index + 1).map(|device| device.depth);
        let mut disks: Vec<String> = Vec::new();
        for (index, device) in self.chain.iter().enumerate() {
            let is_leaf = depth_after(index) <= Some(device.depth);
            disks.extend(device.disk.clone().filter(|disk| is_leaf && !disks.contains(disk)));
        }
        disks
    }

    /// The devices between the file system and those disks that all of its data passes through, from the top: a
    /// partition is no step of its own.
    pub fn layers(&self) -> Vec<String> {
        let alone =
            |device: &&StorageDevice| self.chain.iter().filter(|other| other.depth == device.depth).count() == 1;
        let disks = self.disks();
        let common = self.chain.iter().take_while(alone).filter(|device| device.kind != "partition");
        common.map(|device| device.name.clone()).filter(|name| !disks.contains(name)).collect()
    }
}

/// One step of the way from a file system down to hardware.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StorageDevice {
    /// The kernel's name.
    pub name: String,
    /// 0 for the device mounted, one more for each layer below.
    pub depth: u32,
    /// `partition`, `mapper`, `multipath`, `raid`, `loop`, `memory` or `disk`.
    pub kind: String,
    /// Name of the whole disk in [`Machine::disks`].
    pub disk: Option<String>,
    /// The file that a loop device shows as a disk.
    pub backing_file: Option<String>,
    /// Whether a loop device reads and writes that file past the page cache.
    pub direct: Option<bool>,
}

/// One network interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Nic {
    /// The kernel's name (`eth0`).
    pub name: String,
    /// Negotiated link speed, bit/s; virtual interfaces have none, or a made-up one.
    pub speed_bps: Option<f64>,
    /// Whether that speed is a link's: hardware's own word, and no figure written into a driver. `None` without a
    /// speed.
    pub speed_trusted: Option<bool>,
    /// What kind of link it is: `ethernet`, `infiniband`, `loopback`; `None` for others.
    pub kind: Option<String>,
    /// Kernel driver.
    pub driver: Option<String>,
    /// Largest packet, B.
    pub mtu: Option<u32>,
    /// `up`, `down`, `unknown`, …
    pub state: Option<String>,
    /// Whether no hardware stands behind it (loopback, bridges, veth) or a hypervisor's device does.
    pub is_virtual: Option<bool>,
    /// Receive queues.
    pub receive_queues: Option<u32>,
    /// Transmit queues.
    pub transmit_queues: Option<u32>,
    /// `full` or `half`, as it was negotiated.
    pub duplex: Option<String>,
    /// What it is where other interfaces carry its packets: `bond`, `team`, `bridge`, `vlan`, or `stacked` for others
    /// (macvlan, ipvlan).
    pub layer: Option<String>,
    /// How a bond spreads packets: `balance-rr`, `active-backup`, `802.3ad` …
    pub bond_mode: Option<String>,
    /// The interfaces that carry its packets: of a bond those that are up and in use.
    pub lower: Vec<String>,
    /// Where its adapter is on the PCI bus: `0000:3b:00.1`, of which the last figure tells its ports apart.
    pub pci_address: Option<String>,
    /// The narrowest PCI Express link between the adapter and the processor; `None` in a guest, where it may be made up.
    pub bus: Option<DiskLink>,
    /// The InfiniBand port that carries its packets.
    pub infiniband: Option<InfinibandPort>,
}

/// An InfiniBand port under a network interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct InfinibandPort {
    /// The adapter (`mlx5_0`).
    pub device: String,
    /// The port's number, counted from 1.
    pub port: u32,
    /// Its rate in the kernel's words: `56 Gb/sec (4X FDR)`.
    pub rate: String,
    /// Its generation: `SDR`, `DDR`, `QDR`, `FDR10`, `FDR`, `EDR`, `HDR`, `NDR`, `XDR`.
    pub generation: Option<String>,
    /// Lanes side by side.
    pub lanes: Option<u32>,
    /// Bits of data per second, less the line code.
    pub data_bps: Option<f64>,
    /// Whether packets go through connections (up to 65520 B) instead of single datagrams.
    pub connected: Option<bool>,
}

/// The hypervisor underneath.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Virtualization {
    /// Its common name (`KVM`, `Hyper-V`, `Xen`); `None` where the signature is not a known one.
    pub hypervisor: Option<String>,
    /// The twelve characters of CPUID leaf 0x40000000.
    pub signature: Option<String>,
}

/// A fact that could not be found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Unknown {
    /// Dotted path of the fact, such as `memory.mts`.
    pub fact: String,
    /// Why it is not known.
    pub why: String,
    /// What cannot be said or done without it.
    pub consequence: String,
}

impl Cpu {
    /// One logical CPU for each distinct physical core among `cpus`, in the order of `cpus`.
    ///
    /// A CPU that the topology does not list counts as a core of its own.
    pub fn one_per_core(&self, cpus: &[u32]) -> Vec<u32> {
        let mut seen = BTreeSet::new();
        let core = |cpu: u32| self.place(cpu).map_or((u32::MAX, cpu), |place| (place.core, 0));
        cpus.iter().copied().filter(|cpu| seen.insert(core(*cpu))).collect()
    }

    /// Where one logical CPU sits.
    pub fn place(&self, cpu: u32) -> Option<&LogicalCpu> {
        self.topology.iter().find(|place| place.cpu == cpu)
    }

    /// The kind of core behind one logical CPU.
    pub fn core_type_of(&self, cpu: u32) -> Option<&CoreType> {
        self.core_types.iter().find(|core_type| core_type.cpus.contains(&cpu))
    }

    /// The available CPUs in the order in which threads should take them: one per physical core first, fast core types
    /// before slow ones, then the SMT siblings.
    pub fn placement_order(&self) -> Vec<u32> {
        let mut available = self.available_cpus.clone();
        available.sort_by_cached_key(|&cpu| (self.place(cpu).map_or(0, |place| place.core_type), cpu));
        let mut order = self.one_per_core(&available);
        let first: BTreeSet<u32> = order.iter().copied().collect();
        order.extend(available.into_iter().filter(|cpu| !first.contains(cpu)));
        order
    }
}

impl Machine {
    /// The caches of data that serve a CPU, the one nearest to it first: level and size, B.
    pub fn data_caches_of(&self, cpu: u32) -> Vec<(u32, u64)> {
        let serving = self.caches.iter().filter(|cache| cache.kind != "instruction" && cache.cpus.contains(&cpu));
        let mut found: Vec<(u32, u64)> = serving.filter_map(|cache| Some((cache.level, cache.bytes?))).collect();
        found.sort_unstable();
        found
    }

    /// The distinct last-level caches that serve these CPUs together, B; `None` where none is known.
    pub fn last_level_caches_behind(&self, cpus: &[u32]) -> Option<u64> {
        let level = self.caches.iter().filter(|cache| cache.kind != "instruction").map(|cache| cache.level).max()?;
        let serving = |cache: &&Cache| cache.level == level && cpus.iter().any(|cpu| cache.cpus.contains(cpu));
        let bytes: u64 = self.caches.iter().filter(serving).filter_map(|cache| cache.bytes).sum();
        (bytes > 0).then_some(bytes)
    }

    /// The largest group of CPUs' last-level cache, B.
    pub fn last_level_cache_bytes(&self) -> Option<u64> {
        let level = self.caches.iter().filter(|cache| cache.kind != "instruction").map(|cache| cache.level).max()?;
        self.caches.iter().filter(|cache| cache.level == level).filter_map(|cache| cache.bytes).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(cpu: u32, core: u32, core_type: u32) -> LogicalCpu {
        LogicalCpu { cpu, core, core_type, ..LogicalCpu::default() }
    }

    #[test]
    fn an_empty_object_is_a_machine_of_unknowns() {
        let machine: Machine = serde_json::from_str("{}").unwrap();
        assert_eq!(machine, Machine::default());
        assert!(serde_json::to_value(&machine).unwrap()["cpu"]["base_hz"].is_null());
    }

    #[test]
    fn threads_take_one_cpu_per_core_first_and_fast_cores_before_slow_ones() {
        let cpu = Cpu {
            topology: vec![place(0, 0, 1), place(1, 1, 0), place(2, 1, 0), place(3, 2, 0), place(4, 2, 0)],
            available_cpus: vec![0, 1, 2, 3, 4],
            ..Cpu::default()
        };
        assert_eq!(cpu.placement_order(), [1, 3, 0, 2, 4]);
        assert_eq!(cpu.one_per_core(&[1, 2, 9]), [1, 9]);
    }

    #[test]
    fn a_chain_ends_in_the_disks_that_are_built_on_no_other() {
        let device = |name: &str, depth, disk: &str| StorageDevice {
            name: name.into(),
            depth,
            kind: String::new(),
            disk: (!disk.is_empty()).then(|| disk.into()),
            ..StorageDevice::default()
        };
        let partitions = [device("md0", 0, "md0"), device("sda1", 1, "sda"), device("sdb1", 1, "sdb")];
        let storage = |chain: &[StorageDevice]| Storage { chain: chain.to_vec(), ..Storage::default() };
        assert_eq!(storage(&partitions).disks(), ["sda", "sdb"]);
        assert_eq!(
            storage(&[device("dm-0", 0, ""), device("sda2", 1, "sda"), device("sda3", 1, "sda")]).disks(),
            ["sda"]
        );
        assert!(storage(&[]).disks().is_empty());
        assert_eq!(storage(&partitions).layers(), ["md0"], "partitions side by side are no layer");
        let image = [device("dm-0", 0, "dm-0"), device("loop0", 1, "loop0"), device("vda", 2, "vda")];
        assert_eq!(
            (storage(&image).layers(), storage(&image).disks()),
            (vec!["dm-0".into(), "loop0".into()], vec!["vda".into()])
        );
        let whole = StorageDevice { kind: "partition".into(), ..device("sda1", 0, "sda") };
        assert_eq!(storage(&[whole, device("sda", 1, "sda")]).layers(), [""; 0]);
    }
}
