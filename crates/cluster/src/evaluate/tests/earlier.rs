//! Nodes against their own results in an earlier plan.

use model::cluster::{History, SLOWER_THAN_BEFORE};

use super::built::{Built, Node};
use super::*;

/// A plan of last month.
fn month_ago(nodes: usize, others: &[(usize, Node)]) -> Built {
    let built = Built::measured(nodes, others);
    built.changed("plan.json", |plan| {
        plan["name"] = "october".into();
        plan["created"] = "2026-10-22T12:00:00Z".into();
    });
    built
}

fn against(built: &Built, earlier: &Built) -> ClusterDocument {
    evaluate_with_history(&built.folder, Some(&earlier.folder), program()).unwrap()
}

fn history(document: &ClusterDocument) -> &History {
    document.history.as_ref().unwrap()
}

/// The problems without that of few nodes.
fn texts(document: &ClusterDocument) -> Vec<&str> {
    let shown = document.problems.iter().filter(|problem| problem.code != "small_group");
    shown.map(|problem| problem.text.as_str()).collect()
}

fn slow_by(area: Area, speed: f64) -> Node {
    Node { slow: vec![(area, speed)], ..Node::default() }
}

#[test]
fn unchanged_nodes_are_compared_without_a_word() {
    let document = against(&Built::measured(6, &[]), &month_ago(6, &[]));
    let known =
        History { plan: "october".into(), created: "2026-10-22T12:00:00Z".into(), compared: 6, slower: Vec::new() };
    assert_eq!((history(&document), texts(&document)), (&known, Vec::new()));
    assert_eq!(evaluate(&Built::measured(1, &[]).folder).unwrap().history, None);
}

#[test]
fn a_node_slower_than_before_is_a_problem_with_both_values_and_the_ratio() {
    let document = against(&Built::measured(6, &[(3, slow_by(Area::Memory, 0.9))]), &month_ago(6, &[]));
    let [slower] = &history(&document).slower[..] else { panic!("{:?}", document.history) };
    assert_eq!((slower.node.as_str(), slower.slower, slower.compared), ("n3", 2, built::VALUES.len() as u64));
    assert!((slower.ratio - 0.9).abs() < 1e-9 && (slower.present / slower.earlier - 0.9).abs() < 1e-9, "{slower:?}");
    assert_eq!(codes(&document), [SLOWER_THAN_BEFORE]);
    assert_eq!(document.problems[0].nodes, ["n3"]);
    let values =
        "35.89 GB/s, 90.0 % of the earlier speed (39.88 GB/s in 'october' (2026-10-22)); 2 of 7 results are slower";
    assert_eq!(document.problems[0].text, format!("memory/sequential-read/t4: {} {values}", slower.metric));
    assert!(document.drain.is_empty() && document.slow.iter().all(|slow| slow.standing == Standing::Suspect));
}

#[test]
fn a_latency_that_grew_is_slower_and_a_tolerated_or_faster_value_is_not() {
    let speed = |speed| against(&Built::measured(1, &[(0, slow_by(Area::Memory, speed))]), &month_ago(1, &[]));
    for (share, slower) in [(0.96, 0), (1.3, 0), (0.93, 1)] {
        assert_eq!(history(&speed(share)).slower.len(), slower, "{share}");
    }
    // Of the two values of memory the rate is left out.
    let built = Built::measured(1, &[(0, slow_by(Area::Memory, 0.9))]);
    built.changed("done/n0/memory/run/run.json", |run| run["experiments"][0]["method"] = "made-up/2".into());
    let document = against(&built, &month_ago(1, &[]));
    let [slower] = &history(&document).slower[..] else { panic!("{:?}", document.history) };
    assert_eq!((slower.experiment.as_str(), slower.slower, slower.compared), ("memory/chase-load/t1", 1, 6));
    assert!(slower.present > slower.earlier && (slower.ratio - 0.9).abs() < 1e-9, "{slower:?}");
    let other = "1 benchmark not compared with 'october' (2026-10-22), because measured by another method or with other \
                 parameters: memory/sequential-read/t4";
    assert!(texts(&document).contains(&other), "{:?}", document.problems);
}

#[test]
fn noise_is_not_slower_than_before() {
    // Disks differ by 8 % from run to run.
    let disk = against(&Built::measured(1, &[(0, slow_by(Area::Disk, 0.88))]), &month_ago(1, &[]));
    assert_eq!(history(&disk).slower, []);
    let disk = against(&Built::measured(1, &[(0, slow_by(Area::Disk, 0.7))]), &month_ago(1, &[]));
    assert_eq!(history(&disk).slower.len(), 1);
    let changed = |of_earlier: bool, change: fn(&mut serde_json::Value)| {
        let (now, before) = (Built::measured(1, &[(0, slow_by(Area::Memory, 0.9))]), month_ago(1, &[]));
        let built = if of_earlier { &before } else { &now };
        built.changed("done/n0/memory/run/run.json", |run| {
            run["experiments"].as_array_mut().unwrap().iter_mut().for_each(change);
        });
        let document = against(&now, &before);
        (history(&document).slower.len(), texts(&document).len())
    };
    let low = |row: &mut serde_json::Value| row["confidence"] = "low".into();
    let few = |row: &mut serde_json::Value| row["metrics"][0]["summary"]["ci95"] = serde_json::Value::Null;
    let wide = |row: &mut serde_json::Value| {
        let summary = &mut row["metrics"][0]["summary"];
        let median = summary["median"].as_f64().unwrap();
        summary["ci95"] = vec![0.85 * median, 1.15 * median].into();
    };
    for of_earlier in [false, true] {
        for change in [low, few, wide] {
            assert_eq!(changed(of_earlier, change), (0, 0));
        }
    }
    assert_eq!(changed(false, |_| {}), (1, 1));
}

#[test]
fn a_cluster_of_which_half_is_slower_is_one_sentence() {
    let slower = |nodes: &[usize]| {
        let others: Vec<(usize, Node)> = nodes.iter().map(|node| (*node, slow_by(Area::Cpu, 0.8))).collect();
        against(&Built::measured(4, &others), &month_ago(4, &[]))
    };
    assert_eq!(codes(&slower(&[2])), [SLOWER_THAN_BEFORE]);
    let document = slower(&[0, 1, 2, 3]);
    assert_eq!(document.problems[0].text, "4 of 4 nodes are slower than in 'october' (2026-10-22)");
    assert_eq!((document.problems[0].nodes.len(), document.problems.len()), (4, 5));
    assert!(document.slow.is_empty(), "none is slower than its equals");
    assert_eq!(slower(&[1, 3]).problems[0].code, "cluster_slower_than_before");
}

#[test]
fn the_last_pass_counts() {
    let built = Built::measured(6, &[(3, slow_in(Area::Memory))]);
    built.area(3, &Node::default(), Area::Memory, 2);
    assert_eq!(history(&against(&built, &month_ago(6, &[]))).slower, []);
}

#[test]
fn new_and_missing_nodes_and_changed_hardware_are_one_sentence_each() {
    let mut fewer = slow_in(Area::Cpu);
    fewer.machine.cpu.cores = Some(4);
    fewer.machine.memory.total_bytes = Some(48 << 30);
    let earlier = month_ago(6, &[]);
    std::fs::remove_dir_all(earlier.folder.path().join("done/n2")).unwrap();
    let document = against(&Built::measured(5, &[(1, fewer)]), &earlier);
    let found: Vec<(&str, String)> =
        document.problems.iter().map(|problem| (problem.text.as_str(), problem.nodes.join(","))).collect();
    let hardware = "1 node has other hardware than in 'october' (2026-10-22), so the results are not compared: \
                    cores 4 instead of 8, memory 48 GiB instead of 64 GiB";
    let expected = [
        (hardware, "n1"),
        ("1 node has results in 'october' (2026-10-22) and is not in this plan", "n5"),
        ("1 node has no results in 'october' (2026-10-22)", "n2"),
    ];
    assert_eq!(found, expected.map(|(text, nodes)| (text, nodes.to_owned())));
    assert_eq!((history(&document).compared, history(&document).slower.len()), (3, 0));
}

#[test]
fn an_earlier_plan_without_results_or_with_unreadable_ones_is_one_sentence() {
    let empty = Built::plan(3);
    empty.changed("plan.json", |plan| plan["created"] = "2026-09-01T00:00:00Z".into());
    let now = Built::measured(3, &[]);
    let document = against(&now, &empty);
    assert_eq!(texts(&document)[..], ["'plan' (2026-09-01) has no results: nothing was compared with it"]);
    assert_eq!(history(&document).compared, 0);
    let broken = month_ago(3, &[]);
    broken.spoil("done/n0/cpu/run/run.json", b"{\"schema\": ");
    broken.spoil("done/n1/cpu/run/run.json", b"[]");
    let document = against(&now, &broken);
    let start = "'done/n0/cpu/run/run.json' of 'october' (2026-10-22) cannot be read, nor can 1 more of its files: ";
    assert!(texts(&document).len() == 1 && texts(&document)[0].starts_with(start), "{:?}", document.problems);
    assert_eq!(history(&document).compared, 3);
}

#[test]
fn a_folder_without_a_plan_is_an_error_and_a_later_plan_a_sentence() {
    let now = Built::measured(1, &[]);
    let nowhere = Folder::at(&now.folder.path().join("done"));
    let error = evaluate_with_history(&now.folder, Some(&nowhere), program()).unwrap_err().to_string();
    assert!(error.ends_with("done' has no plan. Choose the folder of an earlier plan with --history"), "{error}");
    let document = against(&month_ago(1, &[]), &now);
    assert!(texts(&document)[0].starts_with("'plan' (2026-11-22) is not earlier than this plan"), "{document:?}");
}

#[test]
fn paths_between_nodes_that_are_all_slower_are_found() {
    let connected = |built: &Built, share: f64| {
        for (from, to) in (0..8).flat_map(|from| (0..8).map(move |to| (from, to))).filter(|(from, to)| from != to) {
            built.pair(from, to, Some(11.6e9 * share * (1.0 + 0.001 * ((from * 5 + to * 3) % 7) as f64)));
        }
    };
    let (now, before) = (Built::measured(8, &[]), month_ago(8, &[]));
    connected(&now, 0.8);
    connected(&before, 1.0);
    let document = against(&now, &before);
    assert!(document.slow.is_empty() && history(&document).slower.len() == 8, "{:?}", document.history);
    assert!(history(&document).slower.iter().all(|slower| slower.experiment.starts_with("net/") && slower.slower == 2));
}
