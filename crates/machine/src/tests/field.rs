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
    let fixture = ["nvme1n1", "nvme1c1n1", "sr0", "zram0", "sda"].into_iter().fold(Fixture::new("no-disks"), disk);
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
