//! Situations from bug reports of other tools: what a machine's files can look like, and what must not be made of them.

use model::machine::{CoreKind, Machine};

use crate::discovery::discover;
use crate::fixture::Fixture;

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";

/// A machine of these CPUs, one package, with the siblings of each.
fn machine(name: &str, siblings: &[(u32, &str)]) -> Fixture {
    let present = siblings.len() - 1;
    let fixture = Fixture::new(name)
        .file(&format!("{CPU}/online"), &format!("0-{present}\n"))
        .file(&format!("{CPU}/present"), &format!("0-{present}\n"));
    siblings.iter().fold(fixture, |fixture, (cpu, siblings)| {
        let folder = format!("{CPU}/cpu{cpu}/topology");
        fixture
            .file(&format!("{folder}/physical_package_id"), "0\n")
            .file(&format!("{folder}/thread_siblings_list"), siblings)
    })
}

fn found(fixture: &Fixture) -> Machine {
    discover(&fixture.root())
}

#[test]
fn lists_that_end_in_a_nul_byte() {
    let machine = found(&machine("nul", &[(0, "0\n"), (1, "1\n")]).bytes(&format!("{NODE}/node0/cpulist"), b"0-1\n\0"));
    assert_eq!(machine.numa[0].cpus, [0, 1]);
}

#[test]
fn masks_without_lists() {
    let folder = |cpu: u32| format!("{CPU}/cpu{cpu}/topology");
    let mut fixture = Fixture::new("masks").file(&format!("{CPU}/online"), "0-3\n");
    for (cpu, siblings) in [(0, "5"), (1, "a"), (2, "5"), (3, "a")] {
        fixture = fixture
            .file(&format!("{}/physical_package_id", folder(cpu)), "0\n")
            .file(&format!("{}/thread_siblings", folder(cpu)), &format!("00000000,0000000{siblings}\n"));
        for (file, text) in [("level", "3"), ("type", "Unified"), ("size", "8M"), ("shared_cpu_map", "f")] {
            fixture = fixture.file(&format!("{CPU}/cpu{cpu}/cache/index3/{file}"), text);
        }
    }
    let machine = found(&fixture.file(&format!("{NODE}/node0/cpumap"), "f\n"));
    assert_eq!((machine.cpu.cores, machine.cpu.threads, machine.cpu.smt), (Some(2), Some(4), Some(true)));
    assert_eq!((machine.caches.len(), machine.numa[0].cpus.len()), (1, 4));
}

#[test]
fn neither_lists_nor_masks_are_unknown_and_not_none() {
    let mut fixture = machine("unknown", &[(0, "0\n"), (1, "1\n")]).file(&format!("{NODE}/node0/distance"), "10\n");
    for (file, text) in [("level", "3"), ("type", "Unified"), ("size", "8M")] {
        fixture = fixture.file(&format!("{CPU}/cpu0/cache/index3/{file}"), text);
    }
    let machine = found(&fixture);
    assert!(machine.caches.is_empty() && machine.numa.is_empty());
    assert!(["numa", "caches"].iter().all(|fact| machine.unknown.iter().any(|unknown| unknown.fact == *fact)));
}

#[test]
fn a_container_whose_list_of_online_cpus_is_made_up() {
    let of = |online: &str, allowed: &str| {
        let names: Vec<String> = (0..32).map(|cpu| cpu.to_string()).collect();
        let cpus: Vec<(u32, &str)> = (0..).zip(names.iter().map(String::as_str)).collect();
        let machine = found(
            &machine("lxcfs", &cpus)
                .file(&format!("{CPU}/online"), online)
                .file("proc/self/status", &format!("Cpus_allowed_list:\t{allowed}\n")),
        );
        (machine.cpu.threads, machine.cpu.available_cpus)
    };
    assert_eq!(of("0\n", "24"), (Some(1), vec![24]));
    assert_eq!(of("0-3\n", "3,7,12,29"), (Some(4), vec![3, 7, 12, 29]));
    assert_eq!(of("0-31\n", "0-63"), (Some(32), (0..32).collect()), "offline CPUs stay in the mask");
}

#[test]
fn nodes_that_share_their_cpus_are_no_nodes() {
    let fixture = machine("overlap", &[(0, "0\n"), (1, "1\n")]);
    let machine =
        found(&(0..8).fold(fixture, |fixture, node| fixture.file(&format!("{NODE}/node{node}/cpulist"), "0-1\n")));
    assert!(machine.numa.is_empty() && machine.unknown.iter().any(|unknown| unknown.why.contains("several nodes")));
}

#[test]
fn offline_cpus_share_no_cache_and_are_in_no_node() {
    let mut fixture = machine("offline", &[(0, "0\n"), (1, "1\n")]).file(&format!("{NODE}/node0/cpulist"), "0-11\n");
    for (file, text) in [("level", "3"), ("type", "Unified"), ("size", "8M"), ("shared_cpu_list", "0-11")] {
        fixture = fixture.file(&format!("{CPU}/cpu0/cache/index3/{file}"), text);
    }
    let machine = found(&fixture);
    assert_eq!((machine.caches[0].cpus.as_slice(), machine.numa[0].cpus.as_slice()), (&[0, 1][..], &[0, 1][..]));
}

#[test]
fn cores_with_and_without_siblings_are_of_two_kinds() {
    let all = [(0, "0-1\n"), (1, "0-1\n"), (2, "2\n"), (3, "3\n")];
    let kinds = |machine: Machine| machine.cpu.core_types.iter().map(|kind| kind.kind).collect::<Vec<_>>();
    assert_eq!(kinds(found(&machine("hybrid", &all))), [CoreKind::Performance, CoreKind::Efficiency]);
    let with_offline = machine("half-offline", &all).file(&format!("{CPU}/present"), "0-7\n");
    assert_eq!(kinds(found(&with_offline)), [CoreKind::Uniform], "a sibling may be offline");
}

#[test]
fn paths_optical_drives_and_memory_are_no_disks() {
    let disk = |fixture: Fixture, name: &str| fixture.file(&format!("sys/block/{name}/size"), "2097152\n");
    let fixture = ["nvme1n1", "nvme1c1n1", "sr0", "zram0", "mmcblk0boot1", "sda"]
        .into_iter()
        .fold(Fixture::new("no-disks"), disk);
    let fixture = fixture
        .file("sys/block/nvme1c1n1/hidden", "1\n")
        .file("sys/block/sr0/device/type", "5\n")
        .file("sys/block/sda/device/type", "0\n");
    let names: Vec<String> = found(&fixture).disks.into_iter().map(|disk| disk.name).collect();
    assert_eq!(names, ["nvme1n1", "sda"]);
}

#[test]
fn speeds_that_no_link_has_are_unknown() {
    for (text, expected) in
        [("4294967295", None), ("2147483647", None), ("65535", None), ("-1", None), ("0", None), ("25000", Some(25e9))]
    {
        let fixture = Fixture::new("speed").file("sys/class/net/eth0/mtu", "1500\n");
        let machine = found(&fixture.file("sys/class/net/eth0/speed", text));
        assert_eq!(machine.nics[0].speed_bps, expected, "{text}");
    }
}

/// A leaf of CPUID as a line of `cpuid -r`.
fn leaf(leaf: u32, subleaf: u32, [eax, ebx, ecx, edx]: [u32; 4]) -> String {
    format!("   {leaf:#010x} {subleaf:#04x}: eax={eax:#010x} ebx={ebx:#010x} ecx={ecx:#010x} edx={edx:#010x}\n")
}

const INTEL: [u32; 3] = [0x756e_6547, 0x6c65_746e, 0x4965_6e69];

/// Leaf 0, and leaf 1 with a number of threads and an APIC number.
fn first_leaves(highest: u32, threads: u32, apic: u32) -> String {
    let [ebx, ecx, edx] = INTEL;
    leaf(0, 0, [highest, ebx, ecx, edx]) + &leaf(1, 0, [0xf29, apic << 24 | threads << 16, 0, 1 << 28])
}

#[test]
fn leaves_of_one_cpu_do_not_count_those_of_its_package() {
    let of = |cpus: &[u32]| {
        let levels = |apic| leaf(0xb, 0, [1, 2, 0x100, apic]) + &leaf(0xb, 1, [4, 8, 0x201, apic]);
        let cpu = |cpu: &u32| format!("CPU {cpu}:\n{}{}", first_leaves(0xb, 16, *cpu), levels(*cpu));
        let text: String = cpus.iter().map(cpu).collect();
        let machine = found(&Fixture::new("one-cpu").file("cpuid.txt", &text));
        let says_so = machine.unknown.iter().any(|unknown| unknown.why.contains("1 CPU of up to 8"));
        (machine.cpu.cores, machine.cpu.threads, machine.cpu.smt, says_so)
    };
    assert_eq!(of(&[0]), (None, None, None, true));
    assert_eq!(of(&[0, 1, 2, 3]), (Some(2), Some(4), Some(true), false), "cores may be disabled");
}

#[test]
fn a_pentium_4_without_leaf_4_has_one_core() {
    let text = format!("CPU 0:\n{}CPU 1:\n{}", first_leaves(2, 2, 0), first_leaves(2, 2, 1));
    let machine = found(&Fixture::new("pentium-4").file("cpuid.txt", &text));
    assert_eq!((machine.cpu.cores, machine.cpu.threads, machine.cpu.smt), (Some(1), Some(2), Some(true)));
}

#[test]
fn kinds_of_core_that_share_by_different_bits_keep_their_caches_and_cores() {
    // CPUs 0 and 1 share with 8 APIC numbers: group 2. CPUs 2 and 3 share with none: groups 2 and 3.
    let cpu = |(cpu, apic, shared): (u32, u32, u32)| {
        let levels = leaf(0xb, 0, [shared, 2, 0x100, apic]) + &leaf(0xb, 1, [7, 4, 0x201, apic]);
        let cache = leaf(4, 0, [((1 << shared) - 1) << 14 | 0x121, 0x02c0_003f, 0x3f, 0]);
        format!("CPU {cpu}:\n{}{cache}{levels}", first_leaves(0xb, 16, apic))
    };
    let text: String = [(0, 16, 3), (1, 17, 3), (2, 2, 0), (3, 3, 0)].map(cpu).concat();
    let machine = found(&Fixture::new("hybrid-caches").file("cpuid.txt", &text));
    let sharing: Vec<&[u32]> = machine.caches.iter().map(|cache| cache.cpus.as_slice()).collect();
    assert_eq!((sharing, machine.cpu.cores), (vec![&[0, 1][..], &[2], &[3]], Some(3)));
}

#[test]
fn a_list_without_its_own_cpu_is_wrong() {
    let of = |[list, mask]: [&str; 2]| {
        let mut fixture = machine("own-cpu", &[(0, "0\n"), (1, "1\n")]);
        for (file, text) in
            [("level", "3"), ("type", "Unified"), ("size", "8M"), ("shared_cpu_list", list), ("shared_cpu_map", mask)]
        {
            fixture = fixture.file(&format!("{CPU}/cpu1/cache/index3/{file}"), text);
        }
        found(&fixture).caches.iter().map(|cache| cache.cpus.clone()).collect::<Vec<_>>()
    };
    assert_eq!(of(["0", "2"]), [[1]]);
    assert!(of(["", "00000000,00000000"]).is_empty(), "the number of CPUs that share it is unknown");
}

#[test]
fn siblings_under_the_newer_name() {
    let mut fixture = Fixture::new("core-cpus").file(&format!("{CPU}/online"), "0-3\n");
    for (cpu, siblings) in [(0, "1"), (1, "2"), (2, "c"), (3, "c")] {
        let folder = format!("{CPU}/cpu{cpu}/topology");
        fixture = fixture
            .file(&format!("{folder}/physical_package_id"), "0\n")
            .file(&format!("{folder}/core_id"), "0\n")
            .file(&format!("{folder}/core_cpus"), siblings);
    }
    let machine = found(&fixture);
    assert_eq!((machine.cpu.cores, machine.cpu.threads), (Some(3), Some(4)));
}

#[test]
fn cores_of_different_arm_parts_are_of_different_kinds() {
    let of = |parts: &[(u32, u32)]| {
        let all = [(0, "0\n"), (1, "1\n"), (2, "2\n"), (3, "3\n")];
        let mut fixture = machine("arm", &all[..parts.len()]);
        for (cpu, (part, capacity)) in (0..).zip(parts) {
            let folder = format!("{CPU}/cpu{cpu}");
            fixture = fixture.file(&format!("{folder}/cpu_capacity"), &format!("{capacity}\n"));
            if *part > 0 {
                let file = format!("{folder}/regs/identification/midr_el1");
                fixture = fixture.file(&file, &format!("{:#018x}\n", 0x410f_0000 | part << 4 | cpu));
            }
        }
        let machine = found(&fixture);
        let is_unknown = machine.unknown.iter().any(|unknown| unknown.fact == "cpu.core_types");
        let kinds: Vec<(CoreKind, Vec<u32>)> =
            machine.cpu.core_types.into_iter().map(|kind| (kind.kind, kind.cpus)).collect();
        (kinds, is_unknown)
    };
    let (small, big) = (CoreKind::Efficiency, CoreKind::Performance);
    let (kinds, is_unknown) = of(&[(0xd87, 718), (0xd87, 731), (0xd85, 997), (0xd85, 1024)]);
    assert_eq!((kinds, is_unknown), (vec![(big, vec![2, 3]), (small, vec![0, 1])], false));
    let uniform = |cpus: u32| vec![(CoreKind::Uniform, (0..cpus).collect())];
    assert_eq!(of(&[(0xd0c, 1024), (0xd0c, 1024)]), (uniform(2), false));
    let four = [(big, vec![3]), (small, vec![1]), (small, vec![2]), (CoreKind::LowPowerEfficiency, vec![0])];
    assert_eq!(of(&[(0xd46, 280), (0xd4d, 855), (0xd47, 855), (0xd4e, 1024)]), (four.into(), false));
    assert_eq!(of(&[(0, 234), (0, 1024)]), (uniform(2), true));
}

#[test]
fn a_control_group_that_no_mount_shows_has_unknown_limits() {
    let of = |group: &str, mounts: &str| {
        let fixture = Fixture::new("hidden-group").file("proc/self/cgroup", group).file("proc/self/mountinfo", mounts);
        let unknown = found(&fixture).unknown;
        let of_group = unknown.iter().filter(|unknown| unknown.why.contains("control group /job"));
        of_group.map(|unknown| unknown.fact.clone()).collect::<Vec<_>>()
    };
    let (sysfs, version_2) =
        ("2 1 0:20 / /sys rw - sysfs x rw\n", "2 1 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    assert_eq!(of("0::/job\n", sysfs), ["cpu.quota_cpus", "memory.limit_bytes"]);
    assert_eq!(of("4:memory:/job\n3:devices:/job\n2:cpu,cpuacct:/\n", sysfs), ["memory.limit_bytes"]);
    assert!(of("0::/job\n", version_2).is_empty() && of("0::/\n", sysfs).is_empty());
    assert!(of("3:devices:/job\n", sysfs).is_empty());
}
