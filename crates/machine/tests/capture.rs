//! A capture replays to the same machine, and stays inside its folder.
#![allow(clippy::unwrap_used, reason = "a test whose set-up fails has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use machine::{Declared, Sysroot, capture, capture_from, discover, info_peaks, storage};
use model::isa::Isa;
use model::peak::InfoPeak;

/// A new, empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn write(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn a_capture_of_a_capture_is_the_same_machine() {
    let (first, second) = (folder("first"), folder("second"));
    let captured = capture(&first).unwrap();
    assert_eq!(captured, discover(&Sysroot::folder(&first).unwrap()));
    let again = capture_from(Sysroot::folder(&first).unwrap(), &second).unwrap();
    assert_eq!(again, discover(&Sysroot::folder(&second).unwrap()));
    let root = |path: &Path| storage(&Sysroot::folder(path).unwrap(), Path::new("/"));
    assert_eq!(root(&first), root(&second));
}

#[test]
fn a_capture_of_every_recorded_machine_is_the_same_machine() {
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines")).unwrap() {
        let path = entry.unwrap().path();
        let Ok(original) = Sysroot::folder(&path) else { continue };
        let again = folder(&format!("again/{}", path.file_name().unwrap().display()));
        let machine = capture_from(Sysroot::folder(&path).unwrap(), &again).unwrap();
        let again = Sysroot::folder(&again).unwrap();
        assert_eq!((&machine, &machine), (&discover(&original), &discover(&again)), "{}", path.display());
        for directory in ["/data", "/home", "/srv", "/fast", "/media/usb", "/dev/shm"] {
            let behind = |root: &Sysroot| storage(root, Path::new(directory));
            assert_eq!(behind(&original), behind(&again), "{}", path.display());
            let limits = |root: &Sysroot| machine::io_limits(root, &behind(root));
            assert_eq!(limits(&original), limits(&again), "{}", path.display());
        }
    }
}

#[test]
fn a_folder_that_is_none_or_that_is_not_empty_is_an_error() {
    let occupied = folder("occupied");
    write(&occupied, "proc/meminfo", "MemTotal: 1 kB\n");
    assert_eq!(capture(&occupied).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    assert!(Sysroot::folder(Path::new("no/such/folder")).is_err());
    let file = folder("file").join("file");
    fs::write(&file, "").unwrap();
    assert!(Sysroot::folder(&file).is_err());
}

#[test]
fn an_empty_folder_is_a_machine_of_unknowns() {
    let machine = discover(&Sysroot::folder(&folder("empty")).unwrap());
    assert_eq!(machine.cpu.cores, None);
    assert_eq!(machine.cpu.isa, [Isa::Scalar]);
    assert!(machine.caches.is_empty() && machine.disks.is_empty() && machine.nics.is_empty());
    for fact in ["cpu.vendor", "cpu.topology", "cpu.isa", "memory.total_bytes", "caches", "os.kernel"] {
        assert!(machine.unknown.iter().any(|unknown| unknown.fact == fact), "{fact} is not said to be unknown");
    }
    assert!(info_peaks(&machine, &Declared::default(), &BTreeMap::new(), None).is_empty());
}

#[test]
fn no_link_leads_out_of_the_folder() {
    let folder = folder("links");
    fs::create_dir_all(folder.join("proc")).unwrap();
    std::os::unix::fs::symlink("/proc/meminfo", folder.join("proc/meminfo")).unwrap();
    std::os::unix::fs::symlink("/sys", folder.join("sys")).unwrap();
    let machine = discover(&Sysroot::folder(&folder).unwrap());
    assert_eq!(machine.memory.total_bytes, None);
    assert!(machine.numa.is_empty() && machine.nics.is_empty());
}

#[test]
fn cpuinfo_alone_gives_sets_and_topology() {
    let folder = folder("cpuinfo");
    let cpu = |number: u32, core: u32| {
        format!(
            "processor\t: {number}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 63\nstepping\t: 2\n\
             model name\t: Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz\nphysical id\t: 0\ncore id\t\t: {core}\n\
             flags\t\t: fpu sse2 ssse3 avx fma avx2\n\n"
        )
    };
    write(&folder, "proc/cpuinfo", &[cpu(0, 0), cpu(1, 1), cpu(2, 0), cpu(3, 1)].concat());
    let machine = discover(&Sysroot::folder(&folder).unwrap());
    assert_eq!((machine.cpu.cores, machine.cpu.threads, machine.cpu.smt), (Some(2), Some(4), Some(true)));
    assert_eq!(machine.cpu.microarchitecture.as_deref(), Some("Haswell"));
    assert_eq!(machine.cpu.base_hz, Some(2.5e9));
    assert_eq!(machine.sources["cpu.isa"], "/proc/cpuinfo");
    assert_eq!(machine.cpu.placement_order(), [0, 1, 2, 3]);
}

/// A process two groups deep in both versions of control groups, the tighter limit being the outer one.
fn control_groups(folder: &Path) {
    write(
        folder,
        "proc/self/mountinfo",
        "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
         32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
         35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
         41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
    );
    write(folder, "proc/self/cgroup", "4:memory:/a/b\n2:cpu,cpuacct:/a/b\n0::/c/d\n");
    write(folder, "proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3\n");
}

#[test]
fn the_tightest_group_on_the_way_up_binds_in_version_1() {
    let folder = folder("cgroup1");
    control_groups(&folder);
    write(&folder, "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n");
    write(&folder, "sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
    write(&folder, "sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n");
    write(&folder, "sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n");
    write(&folder, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write(&folder, "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1073741824\n");
    write(&folder, "sys/fs/cgroup/memory/a/memory.usage_in_bytes", "4096\n");
    write(&folder, "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "2147483648\n");
    let machine = discover(&Sysroot::folder(&folder).unwrap());
    assert_eq!(machine.cpu.quota_cpus, Some(0.5));
    assert_eq!((machine.memory.limit_bytes, machine.memory.limit_used_bytes), (Some(1 << 30), Some(4096)));
    assert_eq!(machine.sources["cpu.quota_cpus"], "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us");
    assert_eq!(machine.cpu.available_cpus, [0, 1, 2, 3]);
}

#[test]
fn version_2_has_its_own_files_and_its_own_word_for_no_limit() {
    let folder = folder("cgroup2");
    control_groups(&folder);
    write(&folder, "sys/fs/cgroup/unified/c/cpu.max", "150000 100000\n");
    write(&folder, "sys/fs/cgroup/unified/c/d/cpu.max", "max 100000\n");
    write(&folder, "sys/fs/cgroup/unified/c/memory.max", "max\n");
    write(&folder, "sys/fs/cgroup/unified/c/d/memory.max", "536870912\n");
    write(&folder, "sys/fs/cgroup/unified/c/d/memory.current", "8192\n");
    write(&folder, "sys/fs/cgroup/unified/c/d/cpuset.cpus.effective", "1-2\n");
    let machine = discover(&Sysroot::folder(&folder).unwrap());
    assert_eq!(machine.cpu.quota_cpus, Some(1.5));
    assert_eq!((machine.memory.limit_bytes, machine.memory.limit_used_bytes), (Some(1 << 29), Some(8192)));
    assert_eq!(machine.cpu.available_cpus, [1, 2]);
}

#[test]
fn storage_is_followed_from_the_mount_to_the_disks() {
    let folder = folder("storage");
    write(
        &folder,
        "proc/self/mountinfo",
        "1 0 253:0 / /data rw,noatime - xfs /dev/mapper/vg-data rw\n2 0 0:5 / /tmp rw - tmpfs tmpfs rw\n",
    );
    for (name, number, extra) in [
        ("dm-0", "253:0", Some(("dm/name", "vg-data"))),
        ("sda1", "8:1", Some(("partition", "1"))),
        ("sda", "8:0", None),
        ("nvme0n1", "259:0", None),
    ] {
        write(&folder, &format!("sys/class/block/{name}/dev"), number);
        if let Some((file, text)) = extra {
            write(&folder, &format!("sys/class/block/{name}/{file}"), text);
        }
    }
    for slave in ["sda1", "nvme0n1"] {
        write(&folder, &format!("sys/class/block/dm-0/slaves/{slave}/dev"), "");
    }
    fs::create_dir_all(folder.join("sys/dev/block")).unwrap();
    for (number, target) in [
        ("253:0", "../../devices/virtual/block/dm-0"),
        ("8:1", "../../devices/pci0/block/sda/sda1"),
        ("8:0", "../../devices/pci0/block/sda"),
        ("259:0", "../../devices/pci0/nvme/nvme0/nvme0n1"),
    ] {
        std::os::unix::fs::symlink(target, folder.join("sys/dev/block").join(number)).unwrap();
    }
    let root = Sysroot::folder(&folder).unwrap();
    let found = storage(&root, Path::new("/data/deep/inside"));
    assert_eq!(found.filesystem.as_deref(), Some("xfs"));
    let chain: Vec<_> = found.chain.iter().map(|d| (d.depth, d.name.as_str(), d.kind.as_str())).collect();
    assert_eq!(chain, [(0, "dm-0", "mapper"), (1, "nvme0n1", "disk"), (1, "sda1", "partition"), (2, "sda", "disk")]);
    assert_eq!(found.chain[2].disk.as_deref(), Some("sda"));
    assert!(storage(&root, Path::new("/tmp")).chain.is_empty());
}

/// A bare machine of two channels with one module each, known to udev and to the memory controllers' driver.
fn modules(folder: &Path) {
    write(folder, "proc/cpuinfo", "processor\t: 0\nphysical id\t: 0\ncore id\t: 0\nflags\t: fpu sse2\n\n");
    let module = |slot: u32| {
        format!(
            "E:MEMORY_DEVICE_{slot}_SIZE=17179869184\nE:MEMORY_DEVICE_{slot}_LOCATOR=DIMM {slot}\n\
             E:MEMORY_DEVICE_{slot}_DATA_WIDTH=64\nE:MEMORY_DEVICE_{slot}_CONFIGURED_SPEED_MTS=2133\n\
             E:MEMORY_DEVICE_{slot}_SERIAL_NUMBER=SECRET{slot}\n"
        )
    };
    write(folder, "run/udev/data/+dmi:id", &format!("I:1\nE:ID_SERIAL=SECRET\n{}{}", module(0), module(1)));
    for channel in 0..2 {
        let dimm = format!("sys/devices/system/edac/mc/mc0/dimm{channel}");
        write(folder, &format!("{dimm}/size"), "16384\n");
        write(folder, &format!("{dimm}/dimm_location"), &format!("channel {channel} slot 0\n"));
    }
}

#[test]
fn a_bare_machine_names_its_modules_and_a_capture_keeps_their_serials_to_itself() {
    let (first, second) = (folder("modules"), folder("modules-again"));
    modules(&first);
    let machine = capture_from(Sysroot::folder(&first).unwrap(), &second).unwrap();
    let memory = &machine.memory;
    assert_eq!((memory.channels, memory.mts, memory.bus_bits), (Some(2), Some(2133.0), Some(128)));
    assert_eq!(memory.dimms.len(), 2);
    assert_eq!(machine, discover(&Sysroot::folder(&second).unwrap()));
    let recorded = fs::read_to_string(second.join("run/udev/data/+dmi:id")).unwrap();
    assert!(recorded.contains("CONFIGURED_SPEED") && !recorded.contains("SECRET"), "{recorded}");
}

#[test]
fn a_hypervisors_modules_are_not_believed() {
    let folder = folder("fiction");
    modules(&folder);
    write(&folder, "proc/cpuinfo", "processor\t: 0\nphysical id\t: 0\ncore id\t: 0\nflags\t: fpu hypervisor\n\n");
    let machine = discover(&Sysroot::folder(&folder).unwrap());
    assert_eq!((machine.memory.channels, machine.memory.mts), (None, None));
    assert!(machine.memory.dimms.is_empty());
}

/// Discovery says where each fact of these sections comes from.
#[test]
fn every_fact_has_a_source() {
    let machine = discover(&Sysroot::host());
    let document = serde_json::to_value(&machine).unwrap();
    for section in ["os", "cpu", "memory"] {
        for (name, value) in document[section].as_object().unwrap() {
            let fact = format!("{section}.{name}");
            let empty = value.is_null()
                || value.as_array().is_some_and(Vec::is_empty)
                || value.as_object().is_some_and(serde_json::Map::is_empty);
            let sourced = machine.sources.keys().any(|key| *key == fact || key.starts_with(&format!("{fact}.")));
            assert!(empty || sourced, "{fact} = {value} has no source");
        }
    }
}

/// A bare machine with a drive behind a subsystem of NVM Express, a SATA disk, a SAS disk, and a limit on the first.
fn drives(folder: &Path) {
    const NVME: &str = "sys/devices/pci0000:00/0000:00:1d.0/0000:3d:00.0";
    const SUBSYSTEM: &str = "sys/devices/virtual/nvme-subsystem/nvme-subsys0";
    const SAS: &str = "sys/devices/pci0000:00/0000:05:00.0/host4/port-4:0";
    for (name, number, path) in [
        ("nvme0n1", "259:0", "virtual/nvme-subsystem/nvme-subsys0/nvme0n1"),
        ("sda", "8:0", "pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda"),
        ("sdb", "8:16", "pci0000:00/0000:05:00.0/host4/port-4:0/end_device-4:0/target4:0:0/4:0:0:0/block/sdb"),
    ] {
        for (file, text) in [("size", "2048\n"), ("dev", &format!("{number}\n"))] {
            write(folder, &format!("sys/block/{name}/{file}"), text);
            write(folder, &format!("sys/class/block/{name}/{file}"), text);
        }
        fs::create_dir_all(folder.join("sys/dev/block")).unwrap();
        let target = format!("../../devices/{path}");
        std::os::unix::fs::symlink(target, folder.join("sys/dev/block").join(number)).unwrap();
    }
    fs::create_dir_all(folder.join(SUBSYSTEM)).unwrap();
    let controller = "../../../pci0000:00/0000:00:1d.0/0000:3d:00.0/nvme/nvme0";
    std::os::unix::fs::symlink(controller, folder.join(SUBSYSTEM).join("nvme0")).unwrap();
    write(folder, &format!("{SUBSYSTEM}/nvme0n1/dev"), "259:0\n");
    write(folder, &format!("{NVME}/nvme/nvme0/transport"), "pcie\n");
    for (file, text) in [
        ("current_link_speed", "8.0 GT/s PCIe\n"),
        ("current_link_width", "4\n"),
        ("max_link_speed", "16.0 GT/s PCIe\n"),
        ("max_link_width", "4\n"),
    ] {
        write(folder, &format!("{NVME}/{file}"), text);
    }
    write(folder, "sys/class/ata_link/link3/sata_spd", "6.0 Gbps\n");
    fs::create_dir_all(folder.join(SAS)).unwrap();
    std::os::unix::fs::symlink("../phy-4:0", folder.join(SAS).join("phy-4:0")).unwrap();
    write(folder, "sys/class/sas_phy/phy-4:0/negotiated_linkrate", "12.0 Gbit\n");
    write(
        folder,
        "proc/self/mountinfo",
        "1 0 259:0 / /data rw - xfs /dev/nvme0n1 rw\n2 0 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    );
    write(folder, "proc/self/cgroup", "0::/bench\n");
    write(folder, "sys/fs/cgroup/bench/io.max", "259:0 rbps=1000000000 wbps=max riops=max wiops=max\n");
}

#[test]
fn links_and_limits_of_disks_are_captured() {
    let (first, second) = (folder("drives"), folder("drives-again"));
    drives(&first);
    let machine = capture_from(Sysroot::folder(&first).unwrap(), &second).unwrap();
    let root = Sysroot::folder(&second).unwrap();
    assert_eq!(machine, discover(&root));
    let links = machine.disks.iter().filter_map(|disk| Some((&*disk.name, &*disk.link.as_ref()?.detail)));
    let nvme = "PCIe 3.0 x4, 8 GT/s (the device could do PCIe 4.0 x4)";
    assert_eq!(links.collect::<Vec<_>>(), [("nvme0n1", nvme), ("sda", "SATA 6 Gbit/s"), ("sdb", "SAS 12 Gbit/s")]);
    let behind = storage(&root, Path::new("/data/x"));
    let limits = machine::io_limits(&root, &behind);
    let declared = Declared::parse(&["disk.read_iops=500000"]).unwrap();
    let peaks = info_peaks(&machine, &declared, &BTreeMap::new(), Some((&behind, &limits)));
    let line = |peak: &InfoPeak| format!("{} {} {:.0} = {}", peak.what, peak.kind, peak.value, peak.formula);
    let listed: Vec<String> = peaks.iter().map(line).collect();
    let link = format!("({nvme}; with packets of 256 B 91 % is data)");
    assert_eq!(
        listed,
        [
            "disk/sequential-read/1MiB/d32 limit 1000000000 = 1 GB/s allowed by the control group",
            &format!("disk/sequential-read/1MiB/d32 link 3938000000 = 3.938 GB/s {link}"),
            &format!("disk/sequential-write/1MiB/d32 link 3938000000 = 3.938 GB/s {link}"),
            "disk/random-read/4KiB/d32 declared 500000 = 500000 requests/s declared",
            "disk/random-read/4KiB/d32 limit 244141 = 1 GB/s allowed by the control group / 4KiB",
            &format!("disk/random-read/4KiB/d32 link 961426 = 3.938 GB/s / 4KiB {link}"),
            &format!("disk/random-write/4KiB/d32 link 961426 = 3.938 GB/s / 4KiB {link}"),
        ]
    );
}
