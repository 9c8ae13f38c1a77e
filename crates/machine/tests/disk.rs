//! Disks of made machines and of a recorded one: what discovery finds, and every peak with its arithmetic.
#![allow(clippy::unwrap_used, reason = "a test whose set-up fails has failed")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use machine::{Declared, Sysroot, discover, info_peaks, io_limits, storage};
use model::machine::Disk;
use model::peak::InfoPeak;

/// The machines, with a directory on the disk that each is about.
const MACHINES: [(&str, &str); 6] = [
    ("made-server-nvme-behind-a-narrow-bridge", "/data"),
    ("made-desktop-sata-solid-state", "/home"),
    ("made-nas-raid5-of-three-disks", "/srv"),
    ("made-server-eight-sata-behind-one-adapter", "/srv"),
    ("made-server-four-nvme-behind-one-uplink", "/fast"),
    ("made-laptop-usb-disk", "/media/usb"),
];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines").join(name)
}

fn peaks_in(folder: &Path, directory: &str) -> Vec<InfoPeak> {
    let root = Sysroot::folder(folder).unwrap();
    let behind = storage(&root, Path::new(directory));
    let limits = io_limits(&root, &behind);
    let all = info_peaks(&discover(&root), &Declared::default(), &BTreeMap::new(), Some((&behind, &limits)));
    all.into_iter().filter(|peak| peak.area == "disk").collect()
}

fn disk(name: &str, disk: &str) -> Disk {
    let machine = discover(&Sysroot::folder(&folder(name)).unwrap());
    machine.disks.into_iter().find(|found| found.name == disk).unwrap()
}

#[test]
fn every_peak_with_its_arithmetic_and_its_sources() {
    for (name, directory) in MACHINES {
        let mut listed = String::new();
        for peak in peaks_in(&folder(name), directory) {
            writeln!(listed, "{}, {}: {:.0} {}", peak.what, peak.kind, peak.value, peak.unit).unwrap();
            writeln!(listed, "  = {}", peak.formula).unwrap();
            for input in peak.inputs {
                writeln!(listed, "  {} {}: {}", input.name, input.value, input.source).unwrap();
            }
        }
        insta::assert_snapshot!(name, listed);
    }
}

#[test]
fn a_sata_drive_is_known_by_the_name_it_gives_itself() {
    let name = "made-desktop-sata-solid-state";
    let drive = disk(name, "sda");
    assert_eq!(drive.model.as_deref(), Some("Samsung SSD 870 EVO 1TB"), "SCSI says `Samsung SSD 870`");
    assert_eq!((drive.rotations_per_minute, drive.queue.device_requests), (None, Some(32)));
    let machine = discover(&Sysroot::folder(&folder(name)).unwrap());
    assert!(!machine.unknown.iter().any(|unknown| unknown.fact.starts_with("disks")), "{:?}", machine.unknown);
}

#[test]
fn a_disk_that_does_not_count_its_requests_is_reported() {
    let machine = discover(&Sysroot::folder(&folder("made-server-nvme-behind-a-narrow-bridge")).unwrap());
    let queue = &machine.disks[0].queue;
    assert_eq!((queue.counted, queue.merges.as_deref()), (Some(false), Some("none")));
    assert_eq!(queue.force_unit_access, Some(true));
    let listed: Vec<_> = machine.unknown.iter().filter(|unknown| unknown.fact == "disks.nvme0n1.counts").collect();
    assert_eq!(listed.len(), 1, "{:?}", machine.unknown);
    assert!(listed[0].why.contains("/sys/block/nvme0n1/queue/iostats"), "{listed:?}");
}

#[test]
fn disks_of_an_array_turn_alone_and_unchecked_values_are_only_shown() {
    let name = "made-nas-raid5-of-three-disks";
    assert_eq!(disk(name, "sda").rotations_per_minute, Some(5400));
    assert_eq!(disk(name, "md0").raid_chunk_bytes, Some(524_288));
    let sheet = disk(name, "sda").data_sheet.unwrap();
    assert_eq!((sheet.read_bytes_per_second, sheet.checked), (Some(150e6), false));
    let machine = discover(&Sysroot::folder(&folder(name)).unwrap());
    let listed: Vec<_> = machine.unknown.iter().filter(|unknown| unknown.fact == "disks.sda.data_sheet").collect();
    assert!(listed.len() == 1 && listed[0].why.contains("unchecked"), "{listed:?}");
}

#[test]
fn an_array_gets_no_more_than_the_link_that_its_disks_share() {
    let name = "made-server-eight-sata-behind-one-adapter";
    assert_eq!(disk(name, "sda").link.map(|link| link.bytes_per_second), Some(600_000_000), "each alone");
    let machine = discover(&Sysroot::folder(&folder("made-server-four-nvme-behind-one-uplink")).unwrap());
    let [uplink] = &machine.shared_links[..] else { panic!("{:?}", machine.shared_links) };
    assert_eq!((uplink.detail.as_str(), uplink.disks.len()), ("PCIe 3.0 x4, 8 GT/s", 4));
}

#[test]
fn a_disk_in_a_box_has_its_rotation_and_the_slowest_link() {
    let name = "made-laptop-usb-disk";
    assert_eq!(disk(name, "sdb").rotations_per_minute, Some(5400));
    let machine = discover(&Sysroot::folder(&folder(name)).unwrap());
    let listed = |fact: &str| machine.unknown.iter().any(|unknown| unknown.fact == fact);
    assert!(listed("disks.sdb.data_sheet") && !listed("disks.sdb.link"), "{:?}", machine.unknown);
}

#[test]
fn a_hypervisors_disks_are_followed_to_and_what_they_could_do_is_unknown() {
    let folder = folder("kvm-emerald-rapids-16-cpus");
    let root = Sysroot::folder(&folder).unwrap();
    let machine = discover(&root);
    let disks: Vec<_> = machine.disks.iter().map(|disk| (disk.name.as_str(), disk.driver.as_deref())).collect();
    let virtio = Some("virtio_blk");
    assert_eq!(disks, [("vda", virtio), ("vdb", virtio)], "loop devices on nothing and an empty zram are no disks");
    for disk in &machine.disks {
        assert_eq!((disk.transport.as_deref(), disk.is_virtual, &disk.link), (Some("virtio"), Some(true), &None));
        let fact = format!("disks.{}.link", disk.name);
        assert!(machine.unknown.iter().any(|unknown| unknown.fact == fact), "{:?}", machine.unknown);
        assert_eq!(disk.rotational, Some(true), "as the kernel reports");
        assert_eq!(disk.rotations_per_minute, None, "which a hypervisor's disk does not do");
    }
    for (directory, filesystem, disk) in [("/var/tmp", "ext4", "vda"), ("/usr/local/nvidia/lib", "squashfs", "vdb")] {
        let behind = storage(&root, Path::new(directory));
        assert_eq!((behind.filesystem.as_deref(), &behind.memory), (Some(filesystem), &None));
        let chain: Vec<_> =
            behind.chain.iter().map(|step| (step.depth, step.name.as_str(), step.kind.as_str())).collect();
        assert_eq!(chain, [(0, disk, "disk")]);
        assert_eq!(io_limits(&root, &behind), model::disk_target::IoLimits::default(), "io.max is empty");
        assert_eq!(peaks_in(&folder, directory), []);
    }
    let in_memory = storage(&root, Path::new("/dev/shm/x"));
    assert_eq!((in_memory.memory.as_deref(), in_memory.chain.len()), (Some("tmpfs"), 0));
}
