//! What a machine is, and what it could do at best.
//!
//! [`discover`] reads a [`Sysroot`]: this host, or a folder in which another machine was recorded by [`capture`]. It
//! never fails and never guesses: a fact that cannot be found is absent and listed as unknown, and every fact carries
//! its source. [`cpu_peaks`], [`memory_peaks()`], [`disk_peaks()`], [`net_peaks()`] and [`info_peaks`] turn facts into
//! theoretical peaks with their formulas. Nothing here measures, prints, or opens a path that does not come through the root.
#![forbid(unsafe_code)]

mod cpu;
mod declared;
mod disk;
#[cfg(test)]
mod fixture;
mod ledger;
mod limits;
mod list;
mod memory;
mod net;
mod surroundings;
mod sysroot;
mod system;

use std::io;
use std::path::Path;

use model::machine::Machine;

pub use cpu::dump::{Dump, Leaves, Registers};
pub use cpu::latency::imul_cycles;
pub use cpu::rates::{Resolved, resolve};
pub use cpu::sets::{lacking, missing};
pub use cpu::steps::{CpuKernel, kernels, steps};
pub use declared::{Declared, KEYS as DECLARED_KEYS};
pub use disk::filesystems::{FilesystemClass, FilesystemKind, filesystem_kind, filesystem_named};
pub use disk::storage::{storage, storage_source};
pub use disk::throttle::{IoLimit, IoLimits, io_limits};
pub use limits::disk::disk_peaks;
pub use limits::memory::memory_peaks;
pub use limits::net::{NetEnd, NetPath, net_peaks};
pub use limits::peaks::{cpu_peaks, info_peaks, info_peaks_of};
pub use list::parse_list;
pub use memory::placement::{away_share, bytes_by_node, nodes_of};
pub use net::addresses::{OwnAddress, own_addresses};
pub use net::routes::interface_to;
pub use surroundings::activity::{Activity, activity, steal_seconds, throttled_seconds};
pub use surroundings::counters::{DeviceIo, ProcessIo, device_io, process_io};
pub use surroundings::settings::settings;
pub use surroundings::{Watched, surroundings};
pub use sysroot::Sysroot;

use disk::drives::Drive;
use ledger::Ledger;
use system::cgroup::Limits;

/// Everything that can be known of a machine.
pub fn discover(root: &Sysroot) -> Machine {
    let mut ledger = Ledger::default();
    let mut limits = Limits::discover(root);
    let cpu = cpu::processor::discover(root, &mut limits, &mut ledger);
    let (caches, source) = cpu::caches::discover(root, &cpu.topology);
    if caches.is_empty() {
        ledger.missing(
            "caches",
            "no cache files in /sys, no cache leaves in CPUID",
            "working sets cannot be chosen by cache",
        );
    } else {
        ledger.source("caches", source);
    }
    let llc = cpu::caches::last_level_groups(&caches);
    let virtualization = system::virtualization(root, &mut ledger);
    let under_hypervisor = cpu.hypervisor_bit == Some(true) || virtualization.is_some();
    let bare_metal = cpu.hypervisor_bit == Some(false) && !under_hypervisor;
    let mut machine = Machine {
        host: ledger.need(
            "host",
            system::host(root),
            "no /proc/sys/kernel/hostname",
            "the machine goes without a name",
        ),
        os: system::os(root, &mut ledger),
        memory: memory::discover(root, limits, &cpu, bare_metal, &mut ledger),
        numa: memory::nodes(root, bare_metal, &mut ledger),
        disks: disk::storage::disks(root, under_hypervisor),
        nics: net::interfaces::interfaces(root, under_hypervisor),
        virtualization,
        cpu,
        caches,
        ..Machine::default()
    };
    machine.shared_links = disk::uplinks::shared(root, &machine.disks);
    cpu::processor::complete_topology(&mut machine, &llc);
    devices(&machine, &mut ledger);
    family_facts(&mut machine, bare_metal, &mut ledger);
    (machine.sources, machine.unknown) = (ledger.sources, ledger.unknown);
    machine
}

fn devices(machine: &Machine, ledger: &mut Ledger) {
    for (fact, empty, folder) in
        [("disks", machine.disks.is_empty(), "sys/block"), ("nics", machine.nics.is_empty(), "sys/class/net")]
    {
        let folder = sysroot::label(folder);
        if empty {
            ledger.missing(fact, format!("nothing in {folder}"), "none can be described");
        } else {
            ledger.source(fact, folder);
        }
    }
    for disk in machine.disks.iter().filter(|disk| disk.queue.counted == Some(false)) {
        let why = format!("{} is 0", sysroot::label(&format!("sys/block/{}/queue/iostats", disk.name)));
        let consequence = "what it did cannot be held against what it was asked, nor the traffic of others seen";
        ledger.missing(&format!("disks.{}.counts", disk.name), why, consequence);
    }
    for disk in machine.disks.iter().filter(|disk| disk.transport.is_some() && disk.link.is_none()) {
        let why = match disk.is_virtual {
            Some(true) => "a hypervisor's disk has no link",
            None => "under a hypervisor the speed of a link is whatever it says",
            Some(false) => "no speed of a link in /sys",
        };
        let consequence = "no ceiling of this disk is known; declare disk.read_bps and disk.read_iops";
        let consequence = if Drive::checked(disk).is_some() { "only its data sheet is a ceiling" } else { consequence };
        ledger.missing(&format!("disks.{}.link", disk.name), why, consequence);
    }
    let real = machine.disks.iter().filter(|disk| disk.is_virtual == Some(false));
    for disk in real.filter(|disk| disk.link.is_some() && Drive::checked(disk).is_none()) {
        let why = match disk.data_sheet {
            Some(_) => "the table of drives has it from memory, unchecked",
            None => "not in the table of drives under this name and with this capacity",
        };
        let consequence = "its link is the only ceiling known; declare disk.read_bps and disk.read_iops";
        ledger.missing(&format!("disks.{}.data_sheet", disk.name), why, consequence);
    }
}

/// Facts that follow from what the processor is.
fn family_facts(machine: &mut Machine, bare_metal: bool, ledger: &mut Ledger) {
    if machine.cpu.isa.contains(&model::isa::Isa::Sse2) {
        machine.memory.page_bytes = Some(4096);
        ledger.source("memory.page_bytes", "x86-64");
    }
    if let Some((bytes, source)) = memory::platforms::die_read_bytes(machine).filter(|_| bare_metal) {
        machine.memory.die_read_bytes_per_cycle = Some(bytes);
        ledger.source("memory.die_read_bytes_per_cycle", format!("table: {source}"));
    }
}

/// Discovers this host and saves all that was read under `folder`, so that [`Sysroot::folder`] finds the same machine
/// there.
///
/// The folder must be absent or empty: a stale file would become part of the machine.
pub fn capture(folder: &Path) -> io::Result<Machine> {
    capture_from(Sysroot::host(), folder)
}

/// [`capture`] from any root: a recorded machine comes out as recorded.
pub fn capture_from(root: Sysroot, folder: &Path) -> io::Result<Machine> {
    std::fs::create_dir_all(folder)?;
    if std::fs::read_dir(folder)?.next().is_some() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{} is not empty", folder.display())));
    }
    let root = root.recording();
    let machine = discover(&root);
    disk::storage::read_all(&root);
    root.write_record(folder)?;
    Ok(machine)
}
