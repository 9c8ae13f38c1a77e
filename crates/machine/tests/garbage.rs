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
    const PIECES: &str = "\n¦\n\n¦ ¦:¦\t: ¦/¦..¦,¦-¦=¦0¦1¦65535¦-1¦max¦1e999¦nan¦K¦kB¦[¦]¦\\040¦\\7¦ - ¦GT/s¦6.0 Gbps¦00000000¦\
        0::/a/../b¦MemTotal:¦processor¦core id¦flags¦@ 9.9GHz¦@ infGHz¦P1-DIMMA1¦Dell Inc.¦channel¦é¦\0¦4294967295¦\
        18446744073709551615¦max 100000¦cgroup rw,cpu,memory,cpuset¦cgroup2 cgroup2 rw¦cgroup rw,blkio¦\
        8:0 rbps=1 wbps=max riops=¦8.0 GT/s PCIe¦overlay overlay rw,upperdir=/¦|-- 192.0.2.1\n/32 host LOCAL¦\
        read_bytes:¦22 21 0:1 / /sys/fs/cgroup rw - ¦4:cpu,memory:/a¦Cpus_allowed_list:¦physical id¦sse2 avx2 fma¦\
        E:MEMORY_DEVICE_0_SIZE=¦\nE:MEMORY_DEVICE_1_SIZE=17179869184\nE:MEMORY_DEVICE_1_CONFIGURED_SPEED_MTS=¦\
        \nE:MEMORY_DEVICE_1_LOCATOR=¦\nE:MEMORY_DEVICE_1_DATA_WIDTH=¦\nE:MEMORY_DEVICE_1_TYPE=LPDDR5\n¦\
        Controller0-ChannelA¦PROC 1 DIMM ¦Amazon EC2¦m5.large¦{¦\"ds\":¦\"meta_data\":{¦}¦Features\t: fp asimd sve¦\
        CPU implementer\t: 0x41\n¦CPU part\t: 0xd40\n¦0x00000000411fd401¦linux,kvm¦Raspberry Pi 4¦0x";
    let pieces = prop::sample::select(PIECES.split('¦').collect::<Vec<_>>());
    let piece = prop_oneof![4 => pieces.prop_map(str::to_owned), 1 => any::<String>()];
    vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// CPUID lines with believable leaves and any registers, among text that is none.
fn cpuid() -> impl Strategy<Value = String> {
    const BASIC: &[u32] = &[0, 1, 4, 6, 7, 0xb, 0xd, 0x15, 0x16, 0x1a, 0x1f, 1 << 30, 1 << 30 | 0x10];
    const EXTENDED: &[u32] = &[0, 1, 2, 3, 8, 0x1a, 0x1d, 0x1e, 0x22, 0x26];
    let leaves: Vec<u32> = BASIC.iter().copied().chain(EXTENDED.iter().map(|leaf| 1 << 31 | leaf)).collect();
    let register =
        prop_oneof![any::<u32>(), 0..0x400_u32, Just(u32::MAX), prop::sample::select(&[0x756e_6547, 0x6874_7541][..])];
    let leaf = (prop::sample::select(leaves), 0..4_u32, register.clone(), register.clone(), register.clone(), register);
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

/// Files that take free text, by folder.
const FILES: &[(&str, &str)] = &[
    ("proc", "cpuinfo meminfo self/status self/cgroup self/mountinfo self/io net/route net/ipv6_route net/fib_trie"),
    ("etc", "os-release"),
    ("sys/devices/system/cpu", "online cpu0/cpufreq/base_frequency"),
    ("sys/devices/system/cpu/cpu0/topology", "physical_package_id thread_siblings_list"),
    ("sys/devices/system/cpu/cpu0/cache/index0", "level type size"),
    ("sys/devices/system/node/node0", "meminfo distance cpulist"),
    ("sys/devices/system/node/node0/access0/initiators", "read_bandwidth read_latency"),
    ("sys/fs/cgroup", "cpu.max memory.max cpu.cfs_quota_us cpu.cfs_period_us memory.limit_in_bytes io.max"),
    ("sys/fs/cgroup", "blkio.throttle.read_bps_device"),
    (
        "sys/block/sda",
        "size dev md/level md/raid_disks md/chunk_size device/model device/vpd_pg89 device/vpd_pgb1 stat",
    ),
    ("sys/class", "ata_device/dev1.0/id block/sda/dev ata_link/link1/sata_spd net/eth0/mtu net/eth0/type"),
    ("sys/class", "net/eth0/speed dmi/id/sys_vendor dmi/id/product_name dmi/id/chassis_asset_tag"),
    ("run/cloud-init", "instance-data.json"),
    ("sys/devices/pci0000:00/0000:3d:00.0", "current_link_speed current_link_width max_link_width"),
    ("sys/kernel/mm/transparent_hugepage", "enabled"),
    ("run/udev/data", "+dmi:id"),
    ("sys/firmware/dmi/tables", "DMI"),
    (".", "xcr0.txt"),
    ("sys/devices/system/cpu/cpu0", "regs/identification/midr_el1 cpu_capacity cpufreq/cpuinfo_max_freq"),
    ("proc", "self/auxv sys/abi/sve_default_vector_length device-tree/model device-tree/hypervisor/compatible"),
    ("sys/firmware/devicetree/base/cpus", "l2-cache/phandle l2-cache/cache-size l2-cache/next-level-cache"),
    ("sys/firmware/devicetree/base/cpus/cpu@0", "d-cache-size d-cache-line-size d-cache-sets next-level-cache phandle"),
    ("sys/devices/system/edac/mc/mc0", "dimm0/size dimm0/dimm_location dimm0/dimm_label mc_name"),
    ("sys/devices/system/edac/mc/mc0", "rank1/size rank1/dimm_location"),
    ("sys/bus/event_source/devices", "uncore_imc_0 amd_umc_4294967295"),
];

fn files() -> Vec<String> {
    let in_folder =
        |(folder, names): &(&str, &str)| names.split(' ').map(|name| format!("{folder}/{name}")).collect::<Vec<_>>();
    FILES.iter().flat_map(in_folder).collect()
}

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
    let files = files();
    let contents = (vec(text(), files.len()), cpuid());
    runner(100)
        .run(&contents, |(texts, cpuid)| {
            let _ = fs::remove_dir_all(&folder);
            for (file, text) in files.iter().zip(&texts) {
                let path = folder.join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            // A processor of Arm has no CPUID.
            if !cpuid.len().is_multiple_of(2) {
                fs::write(folder.join("cpuid.txt"), cpuid).unwrap();
            }
            let node = "../../../../firmware/devicetree/base/cpus/cpu@0";
            std::os::unix::fs::symlink(node, folder.join("sys/devices/system/cpu/cpu0/of_node")).unwrap();
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
