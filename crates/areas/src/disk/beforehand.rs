//! Warnings about a disk benchmark that follow from its directory, before anything is measured.

use model::disk_target::DiskTarget;
use model::experiment::DiskParams;
use model::io::DiskEngine;
use model::machine::{Disk, Machine, StorageDevice};
use model::number::percent_tenths as percent;
use model::unit::format_size;
use model::warning::{Warning, WarningCode};

/// The share in use from which on a file system is nearly full: a choice, since it depends on drive and file system.
const NEARLY_FULL: f64 = 0.80;

pub(super) fn warnings(
    target: &DiskTarget,
    machine: &Machine,
    params: &DiskParams,
    engine_chosen: bool,
) -> Vec<Warning> {
    let found = [
        behind(target, machine),
        unaccounted(target, machine, params),
        part_of_sector(target, machine, params),
        nearly_full(target, params),
        stepped_down(target, params.engine).filter(|_| !engine_chosen),
    ];
    found.into_iter().flatten().collect()
}

/// The warning if the kernel does not count what the device moves. A network file system has no device here.
fn unaccounted(target: &DiskTarget, machine: &Machine, params: &DiskParams) -> Option<Warning> {
    if target.remote || !params.direct {
        return None;
    }
    let ends = target.storage.disks();
    let silent = machine.disks.iter().find(|disk| ends.contains(&disk.name) && disk.queue.counted == Some(false));
    let seen = match silent {
        Some(disk) => format!("{} does not count its requests (iostats is 0).", disk.name),
        None if ends.is_empty() => {
            let kind = target.storage.filesystem.as_deref().unwrap_or("a file system");
            format!("The device behind '{}' ({kind}) is unknown.", target.directory.display())
        }
        None => return None,
    };
    Some(Warning::new(WarningCode::Unaccounted, 1.0, &seen))
}

fn behind(target: &DiskTarget, machine: &Machine) -> Option<Warning> {
    let mut seen = Vec::new();
    if target.remote {
        let kind = target.storage.filesystem.as_deref().unwrap_or("a network file system");
        seen.push(format!("'{}' is on {kind}: its data is stored elsewhere.", target.directory.display()));
    } else {
        if target.storage.filesystem.as_deref() == Some("zfs") {
            seen.push("ZFS has its own cache in memory (ARC), which the page cache's numbers exclude.".to_owned());
        }
        seen.extend(target.storage.chain.iter().filter_map(cached_below));
        seen.extend(made_up(target, machine));
    }
    (!seen.is_empty()).then(|| Warning::new(WarningCode::HostCache, 1.0, &seen.join(" ")))
}

fn cached_below(device: &StorageDevice) -> Option<String> {
    let file = device.backing_file.as_ref().filter(|_| device.kind == "loop" && device.direct != Some(true))?;
    Some(format!(
        "{} is the file '{file}', which this machine's page cache may hold (unless set up with losetup --direct-io=on).",
        device.name
    ))
}

fn part_of_sector(target: &DiskTarget, machine: &Machine, params: &DiskParams) -> Option<Warning> {
    let (disk, sector) = largest_sector(target, machine).filter(|_| params.op.writes() && params.direct)?;
    (!params.block.is_multiple_of(sector)).then(|| {
        let is_provided = disk.is_virtual == Some(true) && !is_kernels_own(disk);
        let unseen = if is_provided { "; the sectors of the disk behind it are unknown" } else { "" };
        let (name, sectors, blocks) = (&disk.name, format_size(sector), format_size(params.block));
        let seen =
            format!("{name} reports physical sectors of {sectors}; blocks of {blocks} fill them only in part{unseen}.");
        Warning::new(WarningCode::PartOfSector, sector as f64 / params.block as f64, &seen)
    })
}

fn nearly_full(target: &DiskTarget, params: &DiskParams) -> Option<Warning> {
    let total = Some(target.total_bytes).filter(|bytes| *bytes > 0 && params.op.writes())?;
    let used = 1.0 - target.available_bytes as f64 / total as f64;
    (used >= NEARLY_FULL).then(|| {
        let seen = format!("{} of '{}' is in use or reserved.", percent(used), target.directory.display());
        Warning::new(WarningCode::NearlyFull, used, &seen)
    })
}

/// The largest physical sector that direct requests reach, with its disk: the lowest of several with the same.
fn largest_sector<'m>(target: &DiskTarget, machine: &'m Machine) -> Option<(&'m Disk, u64)> {
    let named = |name: &String| machine.disks.iter().find(|disk| disk.name == *name);
    let reached = past_the_cache(&target.storage.chain).filter_map(|device| named(device.disk.as_ref()?));
    let sector = |disk: &'m Disk| Some((disk, u64::from(disk.physical_block_bytes.filter(|bytes| *bytes > 0)?)));
    reached.filter_map(sector).max_by_key(|(_, bytes)| *bytes)
}

/// The devices of a chain that direct requests reach: not those below a cached loop device.
fn past_the_cache(chain: &[StorageDevice]) -> impl Iterator<Item = &StorageDevice> {
    let mut cached_below: Option<u32> = None;
    chain.iter().filter(move |device| {
        if cached_below.is_some_and(|depth| device.depth > depth) {
            return false;
        }
        cached_below = (device.kind == "loop" && device.direct != Some(true)).then_some(device.depth);
        true
    })
}

/// The hypervisor or driver that provides the lowest disks; layers above them (LVM, LUKS) belong to this kernel.
fn made_up(target: &DiskTarget, machine: &Machine) -> Option<String> {
    let ends = target.storage.disks();
    let ends: Vec<&Disk> = machine.disks.iter().filter(|disk| ends.contains(&disk.name)).collect();
    let is_loop = |disk: &&&Disk| target.storage.chain.iter().any(|on| on.name == disk.name && on.kind == "loop");
    let hypervisor = machine.virtualization.as_ref();
    let whose = hypervisor.and_then(|found| found.hypervisor.as_deref()).unwrap_or("a hypervisor");
    if let Some(disk) = ends.iter().find(|disk| disk.is_virtual == Some(true) && !is_kernels_own(disk)) {
        let (name, model) = (&disk.name, disk.model.as_ref().filter(|_| hypervisor.is_none()));
        return Some(match model {
            Some(model) => format!("{name} reports the model '{model}': its data is stored elsewhere."),
            None => format!("{name} is provided by {whose}."),
        });
    }
    if let Some(Disk { name, .. }) = ends.iter().filter(|disk| !is_loop(disk)).find(|disk| is_kernels_own(disk)) {
        let unknown = "where its data is stored is unknown";
        return Some(format!("{name} is provided by a driver of this kernel; {unknown}."));
    }
    let name = ends.iter().find(|disk| !is_kernels_own(disk)).map_or("The disk", |disk| &disk.name);
    hypervisor.map(|_| format!("{name} is provided or passed through by {whose}."))
}

/// Whether a driver of this kernel makes up a disk (`loop0`, `nbd0`, `zd0`): it is on no bus.
fn is_kernels_own(disk: &Disk) -> bool {
    disk.is_virtual == Some(true) && disk.transport.is_none() && disk.driver.is_none()
}

fn stepped_down(target: &DiskTarget, engine: DiskEngine) -> Option<Warning> {
    let why = target.no_io_uring.as_ref()?;
    let used = if engine == DiskEngine::Libaio { "Native asynchronous I/O is" } else { "Blocking calls are" };
    let seen = format!("{used} used because io_uring is not available: {why}.");
    Some(Warning::new(WarningCode::EngineSteppedDown, 1.0, &seen))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use model::io::{DiskCache, DiskOp};
    use model::machine::{Storage, Virtualization};
    use model::warning::Confidence;

    use super::*;
    use crate::tests::{disk_params, machine_with_cpus};

    fn target(chain: &[(&str, &str)]) -> DiskTarget {
        let device = |(depth, (name, kind)): (u32, &(&str, &str))| StorageDevice {
            name: (*name).into(),
            depth,
            kind: (*kind).into(),
            disk: Some((*name).into()),
            backing_file: (*kind == "loop").then(|| "/images/one".into()),
            direct: None,
        };
        DiskTarget {
            directory: PathBuf::from("/data"),
            storage: Storage { chain: (0..).zip(chain).map(device).collect(), ..Storage::default() },
            total_bytes: 1 << 40,
            available_bytes: 1 << 39,
            ..DiskTarget::default()
        }
    }

    /// What is made of nothing but software: no bus and no driver.
    fn software(name: &str) -> Disk {
        Disk { name: name.into(), is_virtual: Some(true), ..Disk::default() }
    }

    fn real(name: &str) -> Disk {
        Disk { is_virtual: Some(false), transport: Some("nvme".into()), ..software(name) }
    }

    fn virtio(name: &str) -> Disk {
        Disk { transport: Some("virtio".into()), driver: Some("virtio_blk".into()), ..software(name) }
    }

    fn said(chain: &[(&str, &str)], disks: Vec<Disk>, hypervisor: Option<&str>) -> Option<String> {
        let mut machine = machine_with_cpus(1);
        machine.disks = disks;
        machine.virtualization =
            hypervisor.map(|name| Virtualization { hypervisor: Some(name.into()), ..Virtualization::default() });
        behind(&target(chain), &machine).map(|warning| warning.text)
    }

    #[test]
    fn layers_of_this_kernel_on_real_disks_are_nobody_elses() {
        let lvm = [("dm-0", "mapper"), ("dm-1", "mapper"), ("nvme0n1", "disk")];
        assert_eq!(said(&lvm, vec![software("dm-0"), software("dm-1"), real("nvme0n1")], None), None);
        let array = [("md0", "raid"), ("nvme0n1", "disk")];
        assert_eq!(said(&array, vec![software("md0"), real("nvme0n1")], None), None);
        assert_eq!(said(&[("nvme0n1", "disk")], vec![real("nvme0n1"), virtio("vda")], None), None, "another disk");
        assert_eq!(said(&[], Vec::new(), None), None);
    }

    #[test]
    fn where_nobody_counts_what_a_device_moves_that_is_said() {
        let of = |target: &DiskTarget, disks: Vec<Disk>, params: &DiskParams| {
            let machine = Machine { disks, ..machine_with_cpus(1) };
            unaccounted(target, &machine, params).map(|warning| (warning.code, warning.confidence, warning.text))
        };
        let on_nvme = target(&[("nvme0n1", "disk")]);
        let counting = |counted| {
            let mut disk = real("nvme0n1");
            disk.queue.counted = counted;
            vec![disk]
        };
        assert_eq!(of(&on_nvme, counting(Some(true)), &disk_params(1)), None);
        assert_eq!(of(&on_nvme, counting(None), &disk_params(1)), None);
        let (code, confidence, text) = of(&on_nvme, counting(Some(false)), &disk_params(1)).unwrap();
        assert_eq!((code.as_str(), confidence), ("unaccounted", Confidence::High));
        assert!(text.starts_with("nvme0n1 does not count"), "{text}");
        let cached = DiskParams { direct: false, cache: DiskCache::Warm, ..disk_params(1) };
        assert_eq!(of(&on_nvme, counting(Some(false)), &cached), None, "through the cache nobody expects it");
        let mut nowhere = target(&[]);
        nowhere.storage.filesystem = Some("zfs".into());
        let (.., text) = of(&nowhere, Vec::new(), &disk_params(1)).unwrap();
        assert!(text.starts_with("The device behind '/data' (zfs) is unknown."), "{text}");
        assert!(behind(&nowhere, &machine_with_cpus(1)).unwrap().text.contains("ARC"), "its own cache may answer");
        nowhere.remote = true;
        assert_eq!(of(&nowhere, Vec::new(), &disk_params(1)), None);
    }

    #[test]
    fn what_is_below_a_guests_disk_or_a_loop_device_may_cache() {
        let lvm = [("dm-0", "mapper"), ("vda", "disk")];
        let text = said(&lvm, vec![software("dm-0"), virtio("vda")], Some("KVM")).unwrap();
        assert!(text.starts_with("vda is provided by KVM.") && !text.contains("dm-0"), "{text}");
        let unknown = Disk { is_virtual: None, ..real("sda") };
        let text = said(&[("sda", "disk")], vec![unknown], Some("KVM")).unwrap();
        assert!(text.starts_with("sda is provided or passed through by KVM."), "{text}");
        assert!(said(&[], Vec::new(), Some("KVM")).unwrap().starts_with("The disk is provided or passed"));
        let chain = [("loop0", "loop"), ("nvme0n1", "disk")];
        let disks = || vec![software("loop0"), real("nvme0n1")];
        let text = said(&chain, disks(), None).unwrap();
        assert!(text.starts_with("loop0 is the file '/images/one', which this machine's page cache"), "{text}");
        assert!(!text.contains("provided by"), "{text}");
        let guest = said(&[("loop0", "loop"), ("vda", "disk")], vec![software("loop0"), virtio("vda")], Some("KVM"));
        let guest = guest.unwrap();
        assert!(guest.contains("loop0 is the file") && guest.contains("vda is provided by KVM."), "{guest}");
        let unresolved = said(&[("loop0", "loop")], vec![software("loop0")], None).unwrap();
        assert!(unresolved.contains("loop0 is the file") && !unresolved.contains("driver"), "{unresolved}");
        let mut past = target(&chain);
        past.storage.chain[0].direct = Some(true);
        let machine = Machine { disks: disks(), ..machine_with_cpus(1) };
        assert_eq!(behind(&past, &machine), None, "requests go past the page cache on both floors");
    }

    #[test]
    fn what_a_driver_makes_of_something_unseen_is_reported_as_that() {
        for hypervisor in [None, Some("KVM")] {
            let text = said(&[("nbd0", "disk")], vec![software("nbd0")], hypervisor).unwrap();
            assert!(text.starts_with("nbd0 is provided by a driver of this kernel"), "{text}");
        }
        let card = Disk {
            model: Some("Amazon Elastic Block Store".into()),
            transport: Some("nvme".into()),
            ..software("nvme0n1")
        };
        let text = said(&[("nvme0n1", "disk")], vec![card], None).unwrap();
        assert!(text.starts_with("nvme0n1 reports the model 'Amazon Elastic Block Store'"), "{text}");
    }

    /// The warning for random writes to these devices, each with its physical sector size.
    fn of_sectors(chain: &[(&str, &str)], disks: &[(Disk, u32)], params: &DiskParams) -> Option<Warning> {
        let disks = disks.iter().cloned();
        let disks = disks.map(|(disk, bytes)| Disk { physical_block_bytes: Some(bytes), ..disk }).collect();
        part_of_sector(&target(chain), &Machine { disks, ..machine_with_cpus(1) }, params)
    }

    #[test]
    fn writes_of_less_than_the_largest_sector_on_the_way_are_reported() {
        let writes = |block| DiskParams { op: DiskOp::Write, block, ..disk_params(1) };
        let on_nvme = |params| of_sectors(&[("nvme0n1", "disk")], &[(real("nvme0n1"), 4096)], &params);
        let reported = on_nvme(writes(1024)).unwrap();
        let expected = "nvme0n1 reports physical sectors of 4KiB; blocks of 1KiB fill them only in part.";
        assert!(reported.text.starts_with(expected), "{reported:?}");
        assert_eq!((reported.value, reported.confidence), (Some(4.0), Confidence::High));
        assert!(on_nvme(writes(6144)).is_some(), "the second half of every other block is part of a sector");
        assert!(on_nvme(DiskParams { op: DiskOp::Mixed, ..writes(512) }).is_some());
        assert_eq!((on_nvme(writes(4096)), on_nvme(writes(1 << 20))), (None, None));
        assert_eq!(on_nvme(DiskParams { op: DiskOp::Read, ..writes(1024) }), None, "reading changes nothing");
        let warm = DiskParams { cache: DiskCache::Warm, direct: false, ..writes(1024) };
        assert_eq!(on_nvme(warm), None, "the page cache writes whole pages");
        assert_eq!(of_sectors(&[("sda", "disk")], &[(real("sda"), 512)], &writes(1024)), None);
        assert_eq!(of_sectors(&[("sda", "disk")], &[], &writes(1024)), None, "nothing is known of it");
        let writes = || DiskParams { op: DiskOp::Write, block: 1024, ..disk_params(1) };
        let text = |chain: &[(&str, &str)], disks: &[(Disk, u32)]| {
            of_sectors(chain, disks, &writes()).map_or_else(String::new, |warning| warning.text)
        };
        let lvm = [("dm-0", "mapper"), ("sda", "disk")];
        assert!(text(&lvm, &[(software("dm-0"), 4096), (real("sda"), 4096)]).starts_with("sda reports"));
        assert!(text(&lvm, &[(software("dm-0"), 4096), (real("sda"), 512)]).starts_with("dm-0 reports"));
        let mixed = [("md0", "raid"), ("sda", "disk"), ("sdb", "disk")];
        assert!(text(&mixed, &[(real("sda"), 4096), (real("sdb"), 512)]).starts_with("sda reports"));
        let guest = text(&[("vda", "disk")], &[(virtio("vda"), 4096)]);
        assert!(guest.contains("; the sectors of the disk behind it are unknown."), "{guest}");
        let on_loop = [("loop0", "loop"), ("sda", "disk")];
        let disks = [(software("loop0"), 512), (real("sda"), 4096)];
        assert_eq!(text(&on_loop, &disks), "", "the page cache below writes whole pages");
        let mut past = target(&on_loop);
        past.storage.chain[0].direct = Some(true);
        let disks = disks.into_iter().map(|(disk, bytes)| Disk { physical_block_bytes: Some(bytes), ..disk });
        let machine = Machine { disks: disks.collect(), ..machine_with_cpus(1) };
        assert!(part_of_sector(&past, &machine, &writes()).unwrap().text.starts_with("sda reports"));
    }

    #[test]
    fn a_file_system_that_is_nearly_full_is_reported_where_a_row_writes() {
        let of = |op, available: u64| {
            let target = DiskTarget { total_bytes: 100 << 30, available_bytes: available << 30, ..target(&[]) };
            nearly_full(&target, &DiskParams { op, ..disk_params(1) })
        };
        let reported = of(DiskOp::Write, 15).unwrap();
        assert!(reported.text.starts_with("85.0 % of '/data' is in use or reserved."), "{reported:?}");
        assert_eq!((reported.code.as_str(), reported.confidence), ("nearly_full", Confidence::High));
        assert!(of(DiskOp::Mixed, 0).is_some());
        assert_eq!((of(DiskOp::Write, 21), of(DiskOp::Read, 5)), (None, None));
        let unknown = DiskTarget { total_bytes: 0, available_bytes: 0, ..target(&[]) };
        assert_eq!(nearly_full(&unknown, &DiskParams { op: DiskOp::Write, ..disk_params(1) }), None);
    }

    #[test]
    fn a_servers_disk_is_reported_and_keeps_its_confidence() {
        let reported =
            warnings(&DiskTarget { remote: true, ..target(&[]) }, &machine_with_cpus(1), &disk_params(1), false);
        let codes: Vec<_> = reported.iter().map(|warning| (warning.code.as_str(), warning.confidence)).collect();
        assert_eq!(codes, [("host_cache", Confidence::High)]);
    }
}
