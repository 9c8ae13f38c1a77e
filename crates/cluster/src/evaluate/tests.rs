mod built;
mod earlier;
mod verdicts;

use std::collections::BTreeSet;

use model::cluster::{HplTask, NodeState, OutcomeStatus, Standing, SuiteTask, Task, Work};
use model::document::{Conditions, DiskConditions, NetConditions};
use model::experiment::Area;
use model::machine::Machine;

use super::*;
use crate::folder::{State, write};
use crate::tests::support::program;
use built::{Built, Node, conditions};

/// Evaluated by the program that made the plan.
fn evaluate(folder: &Folder) -> Result<ClusterDocument> {
    super::evaluate(folder, program())
}

fn slow_in(area: Area) -> Node {
    Node { slow: vec![(area, 0.6)], ..Node::default() }
}

fn codes(document: &ClusterDocument) -> Vec<&str> {
    document.problems.iter().map(|problem| problem.code.as_str()).collect()
}

#[test]
fn healthy_nodes_are_one_group_without_a_word() {
    let document = evaluate(&Built::measured(6, &[]).folder).unwrap();
    assert_eq!((document.groups.len(), document.groups[0].nodes), (1, 6));
    assert_eq!(document.groups[0].hardware["memory"], "64 GiB");
    assert!(document.nodes.iter().all(|node| node.state == NodeState::Done && node.standing == Standing::Healthy));
    assert_eq!((document.plan.tasks, document.plan.ok, document.plan.node_seconds), (24, 24, 48.0));
    assert!(document.slow.is_empty() && document.differences.is_empty() && document.problems.is_empty());
    assert_eq!(document.distributions.len(), built::VALUES.len());
    let latency = document.distributions.iter().find(|one| one.experiment == "memory/chase-load/t1").unwrap();
    assert!(latency.limit.unwrap() > latency.median && latency.values[0].values[0].total_cmp(&latency.most).is_eq());
    assert_eq!(document.nodes[2].runs[0], "done/n2/cpu/run/run.json");
}

#[test]
fn a_slow_node_is_suspected_asked_again_and_named() {
    let built = Built::measured(6, &[(3, slow_in(Area::Cpu))]);
    let first = evaluate(&built.folder).unwrap();
    assert_eq!((first.slow[0].node.as_str(), first.slow[0].standing), ("n3", Standing::Suspect));
    assert_eq!((first.slow[0].areas.join(","), first.drain.len()), ("cpu".to_owned(), 0));
    assert!(first.slow[0].deviations.iter().any(|deviation| deviation.experiment == "area:cpu"));
    let again = second_pass(&built.folder, &first);
    let asked: BTreeSet<&str> = again.iter().map(|task| task.node.as_str()).collect();
    assert!(asked.len() == 3 && asked.contains("n3"), "the suspect and two others: {asked:?}");
    assert!(again.iter().all(|task| task.pass == 2 && task.name == "cpu.pass2"));
    assert_eq!(crate::tasks::add(&built.folder, &again).unwrap(), 3);
    assert_eq!(crate::tasks::add(&built.folder, &again).unwrap(), 0, "planned already");
    for task in &again {
        std::fs::remove_file(built.folder.waiting_task(&task.node, &task.name)).unwrap();
    }
    for task in &again {
        let index = task.node[1..].parse().unwrap();
        let node = if index == 3 { slow_in(Area::Cpu) } else { Node::default() };
        built.area(index, &node, Area::Cpu, 2);
    }
    let second = evaluate(&built.folder).unwrap();
    assert_eq!((second.slow[0].standing, second.drain.join(",")), (Standing::Slow, "n3".to_owned()));
    assert!(second.slow.len() == 1 && second.slow[0].deviations.iter().all(|deviation| deviation.of_median.len() == 2));
    assert!(second_pass(&built.folder, &second).is_empty());
}

#[test]
fn a_node_that_was_well_again_is_healthy() {
    let built = Built::measured(6, &[(3, slow_in(Area::Memory))]);
    for index in [0, 1, 3] {
        built.area(index, &Node::default(), Area::Memory, 2);
    }
    let document = evaluate(&built.folder).unwrap();
    assert!(document.slow.is_empty() && document.nodes[3].standing == Standing::Healthy);
}

/// Every cause planted once: code, area in which the node is slow, what is wrong with it.
fn planted() -> Vec<(&'static str, Area, Node)> {
    use Area::{Cpu, Disk, Memory, Net};

    let seen = |area, change: fn(&mut Conditions)| {
        let mut node = slow_in(area);
        change(&mut node.conditions);
        node
    };
    let set = |area, change: fn(&mut Machine)| {
        let mut node = slow_in(area);
        change(&mut node.machine);
        node
    };
    let disk = |disk| Node { conditions: Conditions { disk: Some(disk), ..conditions() }, ..slow_in(Disk) };
    let net = NetConditions { other_share: Some(0.3), ..NetConditions::default() };
    vec![
        ("cpu_quota", Cpu, seen(Cpu, |seen| (seen.throttled, seen.quota_cpus) = (Some(0.4), Some(0.5)))),
        ("other_load", Cpu, seen(Cpu, |seen| seen.other_load = Some(0.4))),
        ("stolen_time", Memory, seen(Memory, |seen| seen.steal = Some(0.3))),
        ("throttled_heat", Cpu, seen(Cpu, |seen| seen.thermal_events = Some(9))),
        ("throttled_power", Cpu, seen(Cpu, |seen| seen.power_events = Some(9))),
        ("clock_low", Cpu, seen(Cpu, |seen| seen.clock_hz = Some(1.8e9))),
        ("swapping", Memory, seen(Memory, |seen| seen.swapped_bytes_per_second = Some(1e6))),
        ("fewer_channels", Memory, set(Memory, |machine| machine.memory.channels = Some(4))),
        ("fewer_modules", Memory, set(Memory, |machine| machine.memory.dimms.truncate(7))),
        ("less_memory", Memory, set(Memory, |machine| machine.memory.total_bytes = Some(32 << 30))),
        ("slower_memory", Memory, set(Memory, |machine| machine.memory.mts = Some(3200.0))),
        ("huge_pages", Memory, seen(Memory, |seen| seen.pages_obtained = Some(0.1))),
        ("remote_pages", Memory, seen(Memory, |seen| seen.remote_pages = Some(0.5))),
        ("cpus_withheld", Cpu, seen(Cpu, |seen| seen.cpus_withheld = Some(0.5))),
        ("fewer_cores", Cpu, set(Cpu, |machine| machine.cpu.cores = Some(4))),
        (
            "disk_hot",
            Disk,
            disk(DiskConditions {
                device_celsius: Some(80.0),
                device_limit_celsius: Some(80.0),
                ..DiskConditions::default()
            }),
        ),
        ("disk_link", Disk, disk(DiskConditions { link_share: Some(0.5), ..DiskConditions::default() })),
        ("other_disk_load", Disk, disk(DiskConditions { other_share: Some(0.5), ..DiskConditions::default() })),
        ("other_disk", Disk, set(Disk, |machine| machine.disks[0].model = Some("Slow".into()))),
        (
            "disk_link_speed",
            Disk,
            set(Disk, |machine| machine.disks[0].link.as_mut().unwrap().detail = "PCIe 3.0".into()),
        ),
        ("other_net_load", Net, Node { conditions: Conditions { net: Some(net), ..conditions() }, ..slow_in(Net) }),
        ("link_speed", Net, set(Net, |machine| machine.nics[0].speed_bps = Some(1e9))),
        ("adapter_bus", Net, set(Net, |machine| machine.nics[0].bus.as_mut().unwrap().detail = "PCIe 3.0 x1".into())),
        ("other_mtu", Net, set(Net, |machine| machine.nics[0].mtu = Some(1500))),
        ("other_governor", Cpu, set(Cpu, |machine| machine.cpu.governor = Some("powersave".into()))),
        ("other_turbo", Cpu, set(Cpu, |machine| machine.cpu.turbo = Some(false))),
        ("quota_set", Cpu, set(Cpu, |machine| machine.cpu.quota_cpus = Some(0.5))),
        ("other_smt", Cpu, set(Cpu, |machine| machine.cpu.smt_control = Some("off".into()))),
        (
            "other_huge_pages",
            Memory,
            set(Memory, |machine| machine.memory.huge_pages.transparent = Some("never".into())),
        ),
        ("other_microcode", Cpu, set(Cpu, |machine| machine.cpu.microcode = Some("0x9".into()))),
        ("other_kernel", Cpu, set(Cpu, |machine| machine.os.kernel = Some("5.4.0".into()))),
        (
            "other_mitigations",
            Cpu,
            set(Cpu, |machine| {
                machine.cpu.mitigations.insert("spectre_v2".into(), "Vulnerable".into());
            }),
        ),
    ]
}

#[test]
fn every_cause_is_found_where_it_was_planted() {
    let below: [(_, _, fn(&mut Machine)); 3] = [
        ("clock_cap", Area::Cpu, |machine| machine.cpu.clock_cap_hz = Some(2e9)),
        ("disk_link_below", Area::Disk, |machine| {
            machine.disks[0].link.as_mut().unwrap().below_maximum = Some(true);
        }),
        ("adapter_bus_below", Area::Net, |machine| machine.nics[0].bus.as_mut().unwrap().below_maximum = Some(true)),
    ];
    let below = below.map(|(code, area, change)| {
        let mut node = slow_in(area);
        change(&mut node.machine);
        (code, area, node)
    });
    let planted: Vec<_> = planted().into_iter().chain(below).collect();
    let named: BTreeSet<&str> = planted.iter().map(|(code, ..)| *code).collect();
    assert_eq!(named, fleet::cause_codes().into_iter().collect(), "every rule of the table is tried");
    for (code, area, node) in planted {
        let document = evaluate(&Built::measured(5, &[(4, node)]).folder).unwrap();
        let slow = document.slow.iter().find(|slow| slow.node == "n4").unwrap_or_else(|| panic!("{code}: not found"));
        assert_eq!(slow.areas, [area.name()], "{code}");
        let found: Vec<&str> = slow.causes.iter().map(|cause| cause.code.as_str()).collect();
        assert_eq!(found, [code], "{:?}", slow.causes);
    }
}

#[test]
fn differences_from_the_majority_are_reported_even_for_fast_nodes() {
    let mut node = Node::default();
    node.machine.os.kernel = Some("5.4.0".into());
    let document = evaluate(&Built::measured(5, &[(1, node)]).folder).unwrap();
    let [difference] = &document.differences[..] else { panic!("{:?}", document.differences) };
    let found = (difference.fact.as_str(), difference.majority.as_str(), difference.value.as_str());
    assert_eq!((found, difference.nodes.join(",")), (("kernel", "6.1.0", "5.4.0"), "n1".to_owned()));
    assert!(document.slow.is_empty());
}

#[test]
fn other_processors_and_other_sizes_in_number_are_other_groups() {
    let other = |change: fn(&mut Machine)| {
        let mut node = Node::default();
        change(&mut node.machine);
        node
    };
    let fat = other(|machine| machine.memory.total_bytes = Some(256 << 30));
    let old = other(|machine| machine.cpu.model_name = Some("Zephyr 100".into()));
    let others: Vec<(usize, Node)> =
        (5..9).map(|index| (index, fat.clone())).chain([(9, old), (10, fat.clone())]).collect();
    let document = evaluate(&Built::measured(11, &others).folder).unwrap();
    let sizes: Vec<u64> = document.groups.iter().map(|group| group.nodes).collect();
    assert_eq!(sizes, [5, 5, 1]);
    assert_eq!(codes(&document), ["mixed_hardware", "small_group"]);
    assert_eq!(document.nodes[9].standing, Standing::Unknown);
    let alone = document.distributions.iter().find(|one| one.group == 2).unwrap();
    assert!(alone.limit.is_none() && alone.remark.is_some());
}

#[test]
fn a_module_that_is_gone_makes_no_group_of_its_own() {
    let mut node = slow_in(Area::Memory);
    node.machine.memory.total_bytes = Some(56 << 30);
    let document = evaluate(&Built::measured(8, &[(2, node)]).folder).unwrap();
    assert_eq!(document.groups.len(), 1);
    assert_eq!(document.slow[0].causes[0].code, "less_memory");
}

#[test]
fn broken_files_are_problems_with_a_name() {
    let built = Built::measured(6, &[]);
    built.spoil("done/n0/cpu/run/run.json", b"{\"schema\": ");
    built.spoil("done/n1/cpu/outcome.json", b"\xff\xfe");
    built.spoil("done/n2/cpu/run/run.json", b"{\"schema\": \"assay.run/9\"}");
    built.spoil("nodes/n3/facts.json", b"[]");
    std::fs::remove_file(built.folder.path().join("done/n4/cpu/run/run.json")).unwrap();
    let document = evaluate(&built.folder).unwrap();
    let broken: BTreeSet<&str> = document
        .problems
        .iter()
        .filter(|problem| problem.code == "broken_result")
        .map(|problem| problem.nodes[0].as_str())
        .collect();
    assert_eq!(broken, BTreeSet::from(["n0", "n1", "n2", "n3", "n4"]));
    assert_eq!(document.plan.failed, 4);
    // What a node is, its documents know as well.
    assert_eq!((document.nodes[3].state, document.nodes[3].group), (NodeState::Done, Some(0)));
}

#[test]
fn nodes_that_wait_run_fail_or_never_came_say_so() {
    let built = Built::measured(5, &[]);
    let plan = Built::plan(9);
    std::fs::copy(plan.folder.path().join("plan.json"), built.folder.path().join("plan.json")).unwrap();
    let work = || Work::Suite(SuiteTask { areas: vec!["cpu".into()], filter: None });
    let task = Task { node: "n5".into(), name: "cpu".into(), pass: 1, seconds: 5.0, tried: 0, work: work() };
    write(&built.folder.tasks(State::Waiting, "n5").join("cpu.json"), &task).unwrap();
    write(&built.folder.tasks(State::Waiting, "n5").join(".node.json"), &task).unwrap();
    write(&built.folder.tasks(State::Running, "n6").join("cpu@0f.json"), &task).unwrap();
    built.outcome(7, "cpu", 1, work(), (OutcomeStatus::Failed, Some("never became available: 3 jobs ended")));
    built.outcome(0, "hpl", 1, work(), (OutcomeStatus::Skipped, Some("no xhpl")));
    // Published, and its worker was killed before it could take the task's file away.
    write(&built.folder.tasks(State::Running, "n1").join("cpu@0f.json"), &task).unwrap();
    let document = evaluate(&built.folder).unwrap();
    let states: Vec<NodeState> = document.nodes.iter().map(|node| node.state).collect();
    let expected = "partly done done done done waiting running failed waiting";
    assert_eq!(states.iter().map(|state| state.name()).collect::<Vec<_>>().join(" "), expected);
    assert_eq!((document.plan.left, document.plan.failed, document.plan.skipped), (2, 1, 1));
    let nodes = |code: &str| &document.problems.iter().find(|problem| problem.code == code).unwrap().nodes;
    assert_eq!((nodes("not_started").join(" "), nodes("no_results").join(" ")), ("n5 n8".into(), "n7".into()));
    assert!(document.nodes[7].why.as_deref().unwrap().contains("never became available"));
}

#[test]
fn skewed_clocks_and_other_versions_are_problems() {
    let built = Built::measured(5, &[]);
    built.facts(2, &Node::default(), Some(-90.0));
    let path = built.folder.path().join("nodes/n3/facts.json");
    let other = std::fs::read_to_string(&path).unwrap().replace("\"c0ffee\"", "\"def\"");
    std::fs::write(path, other).unwrap();
    let document = evaluate(&built.folder).unwrap();
    assert_eq!(codes(&document), ["mixed_versions", "clock_skew"]);
    assert_eq!(
        (document.problems[0].nodes.join(","), document.problems[1].nodes.join(",")),
        ("n3".into(), "n2".into())
    );
}

#[test]
fn nodes_on_one_machine_are_a_problem_and_a_suite_of_a_file_has_its_name() {
    let built = Built::measured(4, &[]);
    for (index, boot) in [(0, "b1 pid:[1]"), (1, "b2 pid:[1]"), (2, "b1 pid:[2]"), (3, "b3 pid:[1]")] {
        built.changed(&format!("done/n{index}/cpu/outcome.json"), |outcome| {
            outcome["claim"]["host"] = "vm".into();
            outcome["claim"]["boot"] = boot.into();
        });
    }
    let tiny = "name = \"tiny\"\nabout = \"one row\"\n[sampling.cpu]\nsamples = 3\nsample = \"20ms\"\n\
                warm_up = [\"10ms\", \"20ms\"]\ntarget = 0.1\n[[cpu]]\nop = \"fma\"\ntype = [\"fp64\"]\n\
                isa = [\"scalar\"]\nthreads = [\"1\"]\n";
    built.changed("plan.json", |plan| plan["suite"] = tiny.into());
    let document = evaluate(&built.folder).unwrap();
    assert_eq!((codes(&document), document.plan.suite.as_str()), (vec!["shared_machine"], "tiny"));
    assert_eq!(document.problems[0].nodes, ["n0", "n2"]);
    assert!(document.problems[0].text.starts_with("2 nodes are one machine, 'vm'"), "{}", document.problems[0].text);
}

#[test]
fn pairs_become_matrices_with_their_holes() {
    let built = Built::measured(4, &[]);
    for (from, to, value) in [(0, 1, Some(1e9)), (1, 0, Some(3e9)), (2, 3, None)] {
        built.pair(from, to, value);
    }
    let document = evaluate(&built.folder).unwrap();
    let [matrix] = &document.pairs[..] else { panic!("{:?}", document.pairs) };
    assert_eq!((matrix.median, matrix.pairs.len(), matrix.together), (Some(2e9), 3, false));
    let hole = matrix.pairs.iter().find(|pair| pair.value.is_none()).unwrap();
    assert_eq!((hole.from.as_str(), hole.reason.as_deref()), ("n2", Some("it never answered")));
    assert!(document.distributions.iter().all(|one| one.experiment != matrix.experiment), "no value of a node");
}

/// Sixteen nodes with a path between any two, `share` of the usual rate.
fn connected(share: impl Fn(usize, usize) -> f64) -> Built {
    let built = Built::measured(16, &[(11, slow_in(Area::Memory))]);
    for (from, to) in (0..16).flat_map(|from| (0..16).map(move |to| (from, to))).filter(|(from, to)| from != to) {
        built.pair(from, to, Some(11.6e9 * share(from, to) * (1.0 + 0.001 * ((from * 5 + to * 3) % 7) as f64)));
    }
    built
}

#[test]
fn a_node_to_which_every_path_has_41_percent_is_slow_in_the_network() {
    let built = connected(|_, to| if to == 6 { 0.41 } else { 1.0 });
    for index in [0, 1, 11] {
        let node = if index == 11 { slow_in(Area::Memory) } else { Node::default() };
        built.area(index, &node, Area::Memory, 2);
    }
    let document = evaluate(&built.folder).unwrap();
    assert_eq!(document.drain, ["n6", "n11"], "{:?}", document.slow);
    let n6 = &document.slow[0];
    assert_eq!((n6.standing, n6.areas.as_slice()), (Standing::Slow, &["net".to_owned()][..]));
    let worst = &n6.deviations[0];
    assert_eq!(worst.experiment, "net/inbound/tcp-stream/peer/t1");
    assert!(worst.of_median.len() == 2 && worst.of_median.iter().all(|share| (share - 0.41).abs() < 0.01), "{worst:?}");
    assert!(document.nodes.iter().all(|node| node.standing != Standing::Suspect));
    let outbound =
        document.distributions.iter().find(|one| one.experiment == "net/outbound/tcp-stream/peer/t1").unwrap();
    assert!(outbound.n == 16 && outbound.values.iter().all(|value| value.values[0] > outbound.limit.unwrap()));
}

#[test]
fn one_slow_path_accuses_neither_end() {
    let built = connected(|from, to| if (from, to) == (2, 6) { 0.1 } else { 1.0 });
    let document = evaluate(&built.folder).unwrap();
    assert!(document.slow.iter().all(|slow| slow.node == "n11"), "{:?}", document.slow);
}

#[test]
fn a_slow_node_among_four_is_distinguished_from_the_peers_of_its_paths() {
    let built = Built::measured(4, &[]);
    for (from, to) in (0..4).flat_map(|from| (0..4).map(move |to| (from, to))).filter(|(from, to)| from != to) {
        built.pair(from, to, Some(if from == 3 || to == 3 { 3e9 } else { 11e9 }));
    }
    let document = evaluate(&built.folder).unwrap();
    let found: Vec<_> = document.slow.iter().map(|slow| (slow.node.as_str(), slow.standing)).collect();
    assert_eq!(found, [("n3", Standing::Slow)], "{:?}", document.slow);
}

#[test]
fn paths_that_were_slow_in_one_half_of_the_rounds_accuse_no_node() {
    let built = Built::measured(4, &[]);
    for (from, to) in (0..4).flat_map(|from| (0..4).map(move |to| (from, to))).filter(|(from, to)| from != to) {
        let is_disturbed = to == 1 && (from + to) % 2 == 1;
        built.pair(from, to, Some(if is_disturbed { 8e9 } else { 11e9 }));
    }
    assert!(evaluate(&built.folder).unwrap().slow.is_empty());
}

#[test]
fn hpl_stands_against_the_sum_of_peaks() {
    let built = Built::measured(4, &[]);
    let work = |nodes: &[&str]| Work::Hpl(HplTask { nodes: nodes.iter().map(ToString::to_string).collect() });
    built.outcome(0, "hpl", 1, work(&["n0", "n1"]), (OutcomeStatus::Ok, None));
    built.outcome(1, "hpl", 1, work(&["n1", "n9"]), (OutcomeStatus::Skipped, Some("no xhpl")));
    let document = evaluate(&built.folder).unwrap();
    let found =
        |index: usize| (document.hpl[index].rate, document.hpl[index].peak, document.hpl[index].reason.as_deref());
    assert_eq!((found(0), found(1)), ((Some(8e10), Some(2e11), None), (None, None, Some("no xhpl"))));
}

#[test]
fn no_plan_is_an_error_and_no_results_are_none() {
    let scratch = crate::tests::support::scratch();
    assert!(
        evaluate(&Folder::at(&scratch.path().join("nothing"))).unwrap_err().to_string().contains("assay cluster plan")
    );
    let document = evaluate(&Built::plan(3).folder).unwrap();
    assert!(document.groups.is_empty() && document.nodes.iter().all(|node| node.state == NodeState::Waiting));
    assert_eq!(document.nodes[0].why.as_deref(), Some("it has no tasks"));
    assert!(second_pass(&Built::plan(1).folder, &document).is_empty());
}
