//! Discovery of all facts of a machine.

use model::isa::Isa;
use model::machine::Machine;

use crate::cpu::arm::{self, hwcap};
use crate::cpu::{caches, processor};
use crate::disk::drives::Drive;
use crate::disk::{storage, uplinks};
use crate::expected;
use crate::ledger::Ledger;
use crate::memory::{self, platforms};
use crate::net::{interfaces, namespace};
use crate::sysroot::{self, Sysroot};
use crate::system;
use crate::system::cgroup::Limits;
use crate::system::cloud;
use crate::system::guest;

/// Discovers all facts of a machine.
pub fn discover(root: &Sysroot) -> Machine {
    let mut ledger = Ledger::default();
    let mut limits = Limits::discover(root);
    for (fact, why) in &limits.hidden {
        ledger.missing(fact, why, "benchmarks may exceed a limit that is not seen");
    }
    let cpu = processor::discover(root, &mut limits, &mut ledger);
    let (caches, source) = caches::discover(root, &cpu.topology);
    if caches.is_empty() {
        let of_x86 = "no cache files in /sys, no cache leaves in CPUID";
        let why = arm::or_x86(root, "no cache files in /sys", of_x86);
        ledger.missing("caches", why, "working sets cannot be chosen by cache");
    } else {
        ledger.source("caches", source);
    }
    let llc = caches::last_level_groups(&caches);
    let virtualization = system::virtualization(root, &mut ledger).or_else(|| guest::virtualization(root, &mut ledger));
    let under_hypervisor = cpu.hypervisor_bit == Some(true) || virtualization.is_some();
    let bare_metal = cpu.hypervisor_bit == Some(false) && !under_hypervisor;
    let host = system::file(root, "proc/sys/kernel/hostname");
    let mut machine = Machine {
        host: ledger.need("host", host, "no /proc/sys/kernel/hostname", "the machine has no name in the results"),
        os: system::os(root, &mut ledger),
        memory: memory::discover(root, limits, &cpu, bare_metal, &mut ledger),
        numa: memory::nodes(root, bare_metal, &mut ledger),
        disks: storage::disks(root, under_hypervisor),
        nics: interfaces::interfaces(root, under_hypervisor),
        virtualization,
        cloud: cloud::discover(root, &mut ledger),
        cpu,
        caches,
        ..Machine::default()
    };
    machine.shared_links = uplinks::shared(root, &machine.disks);
    // Offline CPUs stay in the nodes' lists.
    let cpu = &machine.cpu;
    let is_online = |number: &u32| cpu.topology.is_empty() || cpu.place(*number).is_some();
    machine.numa.iter_mut().for_each(|node| node.cpus.retain(is_online));
    processor::complete_topology(&mut machine, &llc);
    devices(&machine, &mut ledger);
    links_of_interfaces(root, &mut ledger);
    family_facts(root, &mut machine, bare_metal, &mut ledger);
    (machine.sources, machine.unknown) = (ledger.sources, ledger.unknown);
    expected::set(&mut machine);
    machine
}

fn links_of_interfaces(root: &Sysroot, ledger: &mut Ledger) {
    let folder = sysroot::label(namespace::INTERFACES);
    if root.names(namespace::INTERFACES).is_empty() || namespace::read(root).in_sysfs {
        return;
    }
    let why = format!("{folder} lists the interfaces of another network namespace");
    ledger.source("nics", sysroot::label(namespace::COUNTERS));
    ledger.missing("nics.links", why, "drivers, MTUs and link speeds of our interfaces are unknown");
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
        let consequence = "its traffic cannot be checked, and traffic of other processes is not seen";
        ledger.missing(&format!("disks.{}.counts", disk.name), why, consequence);
    }
    for disk in machine.disks.iter().filter(|disk| disk.transport.is_some() && disk.link.is_none()) {
        let why = match disk.is_virtual {
            Some(true) => "a virtual disk has no link",
            None => "a hypervisor may invent link speeds",
            Some(false) => "no link speed in /sys",
        };
        let consequence = "no limit of this disk is known; declare disk.read_bps and disk.read_iops";
        let consequence =
            if Drive::checked(disk).is_some() { "its data sheet is the only known limit" } else { consequence };
        ledger.missing(&format!("disks.{}.link", disk.name), why, consequence);
    }
    let real = machine.disks.iter().filter(|disk| disk.is_virtual == Some(false));
    for disk in real.filter(|disk| disk.link.is_some() && Drive::checked(disk).is_none()) {
        let why = match disk.data_sheet {
            Some(_) => "its row in the table of drives is unchecked",
            None => "the table of drives has no row with this name and capacity",
        };
        let consequence = "its link is the only known limit; declare disk.read_bps and disk.read_iops";
        ledger.missing(&format!("disks.{}.data_sheet", disk.name), why, consequence);
    }
}

fn family_facts(root: &Sysroot, machine: &mut Machine, bare_metal: bool, ledger: &mut Ledger) {
    let is_x86 = machine.cpu.isa.contains(&Isa::Sse2);
    // On Arm the kernel chooses 4, 16 or 64 KiB.
    let of_kernel = || hwcap::page_bytes(root).filter(|_| arm::is_arm(root));
    let page = if is_x86 { Some((4096, "x86-64".to_owned())) } else { of_kernel() };
    machine.memory.page_bytes = ledger.take("memory.page_bytes", page);
    if let Some((bytes, source)) = platforms::die_read_bytes(machine).filter(|_| bare_metal) {
        machine.memory.die_read_bytes_per_cycle = Some(bytes);
        ledger.source("memory.die_read_bytes_per_cycle", format!("table: {source}"));
    }
}
