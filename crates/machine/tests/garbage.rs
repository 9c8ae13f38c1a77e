//! Whatever a recorded folder holds, discovery returns a machine.
#![allow(clippy::unwrap_used, reason = "a test whose set-up fails has failed")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use machine::{
    Declared, Dump, Sysroot, device_io, discover, info_peaks, interface_to, io_limits, parse_list, process_io, storage,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// The same cases in every run.
fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let seed = proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(config, seed)
}

/// Text made of the pieces that the parsers look for, and of anything else.
fn text() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "\n",
        "\n\n",
        " ",
        ":",
        "\t: ",
        "/",
        "..",
        ",",
        "-",
        "=",
        "0",
        "1",
        "65535",
        "4294967295",
        "18446744073709551615",
        "-1",
        "max",
        "max 100000",
        "1e999",
        "nan",
        "K",
        "kB",
        "[",
        "]",
        "\\040",
        "\\7",
        " - ",
        "cgroup rw,cpu,memory,cpuset",
        "cgroup2 cgroup2 rw",
        "cgroup rw,blkio",
        "8:0 rbps=1 wbps=max riops=",
        "GT/s",
        "8.0 GT/s PCIe",
        "6.0 Gbps",
        "overlay overlay rw,upperdir=/",
        "|-- 192.0.2.1\n/32 host LOCAL",
        "00000000",
        "read_bytes:",
        "22 21 0:1 / /sys/fs/cgroup rw - ",
        "0::/a/../b",
        "4:cpu,memory:/a",
        "MemTotal:",
        "Cpus_allowed_list:",
        "processor",
        "physical id",
        "core id",
        "flags",
        "sse2 avx2 fma",
        "@ 9.9GHz",
        "@ infGHz",
        "E:MEMORY_DEVICE_0_SIZE=",
        "\nE:MEMORY_DEVICE_1_SIZE=17179869184\nE:MEMORY_DEVICE_1_CONFIGURED_SPEED_MTS=",
        "\nE:MEMORY_DEVICE_1_LOCATOR=",
        "\nE:MEMORY_DEVICE_1_DATA_WIDTH=",
        "\nE:MEMORY_DEVICE_1_TYPE=LPDDR5\n",
        "P1-DIMMA1",
        "Controller0-ChannelA",
        "PROC 1 DIMM ",
        "Dell Inc.",
        "channel",
        "é",
        "\0",
    ];
    let piece = prop_oneof![4 => prop::sample::select(PIECES).prop_map(str::to_owned), 1 => any::<String>()];
    vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// CPUID lines with believable leaves and any registers, among text that is none.
fn cpuid() -> impl Strategy<Value = String> {
    const LEAVES: &[u32] = &[
        0,
        1,
        4,
        6,
        7,
        0xb,
        0xd,
        0x15,
        0x16,
        0x1a,
        0x1f,
        0x4000_0000,
        0x4000_0010,
        0x8000_0000,
        0x8000_0001,
        0x8000_0002,
        0x8000_0003,
        0x8000_0008,
        0x8000_001a,
        0x8000_001d,
        0x8000_001e,
        0x8000_0022,
        0x8000_0026,
    ];
    let register =
        prop_oneof![any::<u32>(), 0..0x400_u32, Just(u32::MAX), prop::sample::select(&[0x756e_6547, 0x6874_7541][..])];
    let leaf = (prop::sample::select(LEAVES), 0..4_u32, register.clone(), register.clone(), register.clone(), register);
    let line = leaf.prop_map(|(leaf, subleaf, a, b, c, d)| {
        format!("   {leaf:#010x} {subleaf:#04x}: eax={a:#010x} ebx={b:#010x} ecx={c:#010x} edx={d:#010x}\n")
    });
    let cpu = any::<u32>().prop_map(|cpu| format!("CPU {}:\n", cpu % 70_000));
    vec(prop_oneof![8 => line, 2 => cpu, 1 => text()], 0..60).prop_map(|lines| lines.concat())
}

#[test]
fn any_list_is_a_list_of_cpus() {
    runner(500)
        .run(&text(), |text| {
            let list = parse_list(&text);
            prop_assert!(list.is_sorted_by(|a, b| a < b));
            prop_assert!(list.iter().all(|cpu| *cpu <= 65_535));
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_dump_survives_being_written_and_read() {
    runner(200)
        .run(&cpuid(), |text| {
            let dump = Dump::parse(&text);
            prop_assert_eq!(&Dump::parse(&dump.to_string()), &dump);
            Ok(())
        })
        .unwrap();
}

/// Files that take free text.
const FILES: &[&str] = &[
    "proc/cpuinfo",
    "proc/meminfo",
    "proc/self/status",
    "proc/self/cgroup",
    "proc/self/mountinfo",
    "etc/os-release",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
    "sys/devices/system/cpu/cpu0/cache/index0/level",
    "sys/devices/system/cpu/cpu0/cache/index0/type",
    "sys/devices/system/cpu/cpu0/cache/index0/size",
    "sys/devices/system/cpu/cpu0/cpufreq/base_frequency",
    "sys/devices/system/node/node0/meminfo",
    "sys/devices/system/node/node0/distance",
    "sys/fs/cgroup/cpu.max",
    "sys/fs/cgroup/memory.max",
    "sys/fs/cgroup/cpu.cfs_quota_us",
    "sys/fs/cgroup/cpu.cfs_period_us",
    "sys/fs/cgroup/memory.limit_in_bytes",
    "sys/block/sda/size",
    "sys/block/sda/dev",
    "sys/block/sda/md/level",
    "sys/block/sda/md/raid_disks",
    "sys/block/sda/md/chunk_size",
    "sys/block/sda/device/model",
    "sys/block/sda/device/vpd_pg89",
    "sys/block/sda/device/vpd_pgb1",
    "sys/class/ata_device/dev1.0/id",
    "sys/block/sda/stat",
    "sys/class/block/sda/dev",
    "sys/devices/pci0000:00/0000:3d:00.0/current_link_speed",
    "sys/devices/pci0000:00/0000:3d:00.0/current_link_width",
    "sys/devices/pci0000:00/0000:3d:00.0/max_link_width",
    "sys/class/ata_link/link1/sata_spd",
    "sys/fs/cgroup/io.max",
    "sys/fs/cgroup/blkio.throttle.read_bps_device",
    "proc/self/io",
    "proc/net/route",
    "proc/net/ipv6_route",
    "proc/net/fib_trie",
    "sys/class/net/eth0/mtu",
    "sys/class/net/eth0/type",
    "sys/class/net/eth0/speed",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "run/udev/data/+dmi:id",
    "sys/firmware/dmi/tables/DMI",
    "xcr0.txt",
    "sys/devices/system/edac/mc/mc0/dimm0/size",
    "sys/devices/system/edac/mc/mc0/dimm0/dimm_location",
    "sys/devices/system/edac/mc/mc0/dimm0/dimm_label",
    "sys/devices/system/edac/mc/mc0/rank1/size",
    "sys/devices/system/edac/mc/mc0/rank1/dimm_location",
    "sys/devices/system/edac/mc/mc0/mc_name",
    "sys/devices/system/node/node0/cpulist",
    "sys/devices/system/node/node0/access0/initiators/read_bandwidth",
    "sys/devices/system/node/node0/access0/initiators/read_latency",
    "sys/class/dmi/id/sys_vendor",
    "sys/bus/event_source/devices/uncore_imc_0",
    "sys/bus/event_source/devices/amd_umc_4294967295",
];

/// Tables of firmware's whose structures have believable lengths and any contents.
fn firmware_table() -> impl Strategy<Value = Vec<u8>> {
    let structure = (prop::sample::select(&[17_u8, 17, 17, 0, 127][..]), vec(any::<u8>(), 2..0x60), text());
    let bytes = structure.prop_map(|(kind, rest, names)| {
        let length = u8::try_from(rest.len() + 2).unwrap();
        [&[kind, length][..], &rest, names.as_bytes(), &[0, 0]].concat()
    });
    vec(bytes, 0..8).prop_map(|structures| structures.concat())
}

#[test]
fn any_table_of_firmwares_on_a_bare_machine_is_a_machine() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("garbage-table");
    let _ = fs::remove_dir_all(&folder);
    let write = |file: &str, bytes: &[u8]| {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    write("proc/cpuinfo", b"processor\t: 0\nphysical id\t: 0\ncore id\t: 0\nflags\t: fpu sse2\n\n");
    let with_modules = Cell::new(0);
    runner(100)
        .run(&(firmware_table(), text()), |(table, udev)| {
            write("sys/firmware/dmi/tables/DMI", &table);
            write("run/udev/data/+dmi:id", udev.as_bytes());
            let machine = discover(&Sysroot::folder(&folder).unwrap());
            prop_assert_eq!(machine.cpu.hypervisor_bit, Some(false));
            with_modules.set(with_modules.get() + i32::from(!machine.memory.dimms.is_empty()));
            prop_assert!(
                machine.memory.channels.is_none_or(|channels| channels as usize <= machine.memory.dimms.len())
            );
            for peak in info_peaks(&machine, &Declared::default(), &BTreeMap::new(), None) {
                prop_assert!(peak.value.is_finite() && peak.value > 0.0, "{} {}", peak.what, peak.formula);
            }
            Ok(())
        })
        .unwrap();
    assert!(with_modules.get() > 10, "tables that show no module test nothing");
}

#[test]
fn any_folder_is_a_machine() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("garbage");
    let contents = (vec(text(), FILES.len()), cpuid());
    runner(100)
        .run(&contents, |(texts, cpuid)| {
            let _ = fs::remove_dir_all(&folder);
            for (file, text) in FILES.iter().zip(&texts) {
                let path = folder.join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            fs::write(folder.join("cpuid.txt"), cpuid).unwrap();
            fs::create_dir_all(folder.join("sys/dev/block")).unwrap();
            for number in ["8:0", "0:1", "1"] {
                let device = "../../devices/pci0000:00/0000:3d:00.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";
                std::os::unix::fs::symlink(device, folder.join("sys/dev/block").join(number)).unwrap();
            }
            let root = Sysroot::folder(&folder).unwrap();
            let machine = discover(&root);
            let behind = storage(&root, Path::new("/sys/fs/cgroup/x"));
            let limits = io_limits(&root, &behind);
            process_io(&root);
            device_io(&root, "sda");
            interface_to(&root, [192, 0, 2, 1].into());
            interface_to(&root, [0xfd00, 0, 0, 0, 0, 0, 0, 1].into());
            let behind = Some((&behind, &limits));
            for peak in info_peaks(&machine, &Declared::default(), &BTreeMap::new(), behind) {
                prop_assert!(peak.value.is_finite() && peak.value > 0.0, "{} {}", peak.what, peak.formula);
            }
            prop_assert!(machine.cpu.quota_cpus.is_none_or(|cpus| cpus.is_finite() && cpus > 0.0));
            prop_assert!(machine.cpu.base_hz.is_none_or(|hz| hz.is_finite() && hz > 0.0));
            Ok(())
        })
        .unwrap();
}
