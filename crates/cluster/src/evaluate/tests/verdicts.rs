//! Whether the nodes are equal, one is slow, or neither is certain.

use model::cluster::{ClusterVerdict, FailedAttempts};

use super::built::{Built, Node, conditions};
use super::*;

fn doubts(document: &ClusterDocument) -> Vec<&str> {
    document.doubts.iter().map(|doubt| doubt.code.as_str()).collect()
}

fn set(change: fn(&mut Machine)) -> Node {
    let mut node = Node::default();
    change(&mut node.machine);
    node
}

/// Nodes that reach these shares in memory, measured twice.
fn shares(shares: &[f64]) -> Built {
    let built = Built::plan(shares.len());
    for (index, share) in shares.iter().enumerate() {
        built.node(index, &Node { slow: vec![(Area::Memory, *share)], ..Node::default() });
    }
    built
}

#[test]
fn nodes_that_agree_in_results_and_settings_are_equal() {
    let document = evaluate(&Built::measured(6, &[]).folder).unwrap();
    assert_eq!((document.verdict, doubts(&document).len()), (ClusterVerdict::Equal, 0), "{:?}", document.doubts);
    assert!(document.area_limits.len() == 4 && document.area_limits.iter().all(|limit| limit.limit >= limit.needed));
}

#[test]
fn a_node_with_a_quota_is_a_suspect_though_its_results_do_not_stand_out() {
    let quota = set(|machine| machine.cpu.quota_cpus = Some(0.04));
    let document = evaluate(&Built::measured(6, &[(4, quota)]).folder).unwrap();
    assert_eq!(document.verdict, ClusterVerdict::Inconclusive);
    assert_eq!(doubts(&document), ["suspects", "settings_differ"]);
    let [slow] = &document.slow[..] else { panic!("{:?}", document.slow) };
    assert_eq!((slow.node.as_str(), slow.standing, slow.areas.len()), ("n4", Standing::Suspect, 0));
    assert_eq!(slow.causes[0].text, "its CPU quota is 0.04 CPUs, where most nodes have none");
    assert!(document.drain.is_empty() && second_pass_is_empty(&document), "a second pass decides nothing");
}

fn second_pass_is_empty(document: &ClusterDocument) -> bool {
    document.slow.iter().all(|slow| !slow.needs_second_pass())
}

#[test]
fn each_fault_of_the_hardware_makes_a_suspect_and_a_setting_alone_does_not() {
    let faults: [(&str, fn(&mut Machine)); 6] = [
        ("clock_cap", |machine| machine.cpu.clock_cap_hz = Some(2e9)),
        ("fewer_channels", |machine| machine.memory.channels = Some(7)),
        ("slower_memory", |machine| machine.memory.mts = Some(3200.0)),
        ("disk_link_below", |machine| machine.disks[0].link.as_mut().unwrap().below_maximum = Some(true)),
        ("adapter_bus_below", |machine| machine.nics[0].bus.as_mut().unwrap().below_maximum = Some(true)),
        ("link_speed", |machine| machine.nics[0].speed_bps = Some(10e9)),
    ];
    for (code, change) in faults {
        let document = evaluate(&Built::measured(5, &[(1, set(change))]).folder).unwrap();
        let [slow] = &document.slow[..] else { panic!("{code}: {:?}", document.slow) };
        assert_eq!((slow.node.as_str(), slow.standing, slow.causes[0].code.as_str()), ("n1", Standing::Suspect, code));
        assert_eq!(document.nodes[1].standing, Standing::Suspect, "{code}");
    }
    let kernel = set(|machine| machine.os.kernel = Some("5.4.0".into()));
    let document = evaluate(&Built::measured(6, &[(1, kernel)]).folder).unwrap();
    assert_eq!((document.verdict, document.differences.len()), (ClusterVerdict::Equal, 1));
    let faster = set(|machine| machine.nics[0].speed_bps = Some(100e9));
    let document = evaluate(&Built::measured(6, &[(2, faster)]).folder).unwrap();
    assert!(document.slow.is_empty(), "{:?}", document.slow);
    assert_eq!((document.verdict, doubts(&document)), (ClusterVerdict::Inconclusive, vec!["settings_differ"]));
}

#[test]
fn what_holds_for_most_nodes_is_no_cause_of_one() {
    let loaded = |share| Node { conditions: Conditions { other_load: Some(share), ..conditions() }, ..Node::default() };
    let built = Built::plan(6);
    for index in 0..6 {
        let slow = if index == 2 { vec![(Area::Cpu, 0.6)] } else { Vec::new() };
        built.node(index, &Node { slow, ..loaded(if index == 2 { 0.86 } else { 0.80 }) });
    }
    let document = evaluate(&built.folder).unwrap();
    assert_eq!((document.slow[0].node.as_str(), document.slow[0].causes.len()), ("n2", 0), "{:?}", document.slow);
    // All have a quota, each another one.
    let built = Built::plan(4);
    for (index, quota) in [0.5, 0.6, 0.7, 0.8].into_iter().enumerate() {
        let mut node = Node::default();
        node.machine.cpu.quota_cpus = Some(quota);
        built.node(index, &node);
    }
    let document = evaluate(&built.folder).unwrap();
    assert!(document.slow.is_empty(), "{:?}", document.slow);
    assert_eq!((document.differences.len(), document.differences[0].majority.as_str()), (4, ""));
    // Of two nodes one has it.
    let quota = set(|machine| machine.cpu.quota_cpus = Some(0.5));
    let document = evaluate(&Built::measured(2, &[(1, quota)]).folder).unwrap();
    assert_eq!((document.slow[0].node.as_str(), document.verdict), ("n1", ClusterVerdict::Inconclusive));
}

/// Nodes with these shares of CPU time used by other jobs; `n2` at this speed in CPU, measured twice like `n0` and `n1`.
fn loaded(shares: &[f64], speed: f64) -> ClusterDocument {
    let built = Built::plan(shares.len());
    for (index, share) in shares.iter().enumerate() {
        let slow = if index == 2 { vec![(Area::Cpu, speed)] } else { Vec::new() };
        let seen = Conditions { other_load: Some(*share), ..conditions() };
        let node = Node { conditions: seen, slow, ..Node::default() };
        built.node(index, &node);
        (index < 3).then(|| built.area(index, &node, Area::Cpu, 2));
    }
    evaluate(&built.folder).unwrap()
}

#[test]
fn load_of_other_jobs_that_could_hide_a_slow_node_leaves_the_verdict_open() {
    for (shares, verdict) in [
        ([0.02; 6], ClusterVerdict::Equal),
        ([0.25, 0.23, 0.24, 0.26, 0.25, 0.24], ClusterVerdict::Inconclusive),
        ([0.01, 0.01, 0.31, 0.01, 0.01, 0.30], ClusterVerdict::Equal),
    ] {
        let document = loaded(&shares, 1.0);
        assert_eq!(document.verdict, verdict, "{shares:?}: {:?}", document.doubts);
        assert!(document.slow.iter().all(|slow| slow.areas.is_empty()), "{:?}", document.slow);
    }
    let open = loaded(&[0.25, 0.25, 0.25, 0.25, 0.01, 0.25], 1.0);
    let [doubt] = &open.doubts[..] else { panic!("{:?}", open.doubts) };
    assert_eq!(doubt.text, "other processes or VMs used 25 % of CPU time, which could hide a slow node");
    assert_eq!(doubt.nodes.join(" "), "n0 n1 n2 n3 n5");
    assert!(open.problems.contains(doubt));
}

#[test]
fn a_node_that_is_slow_by_the_load_of_other_jobs_is_named_with_that_cause() {
    let document = loaded(&[0.01, 0.01, 0.4, 0.01, 0.01, 0.01], 0.6);
    assert_eq!((document.verdict, document.drain.join(" ")), (ClusterVerdict::Slow, "n2".to_owned()));
    assert_eq!(document.slow[0].causes[0].text, "other processes used 40 % of its CPU time");
    assert!(document.doubts.is_empty(), "{:?}", document.doubts);
    let too_little = loaded(&[0.01, 0.01, 0.04, 0.01, 0.01, 0.01], 0.6);
    assert_eq!(too_little.slow[0].causes, [], "4 % of the time do not explain 40 % less");
}

#[test]
fn nodes_that_vary_so_much_that_none_stands_out_are_not_equal() {
    let document = evaluate(&shares(&[1.0, 0.8, 1.25, 0.6, 1.5, 1.0, 0.7, 1.3]).folder).unwrap();
    assert!(document.slow.is_empty(), "{:?}", document.slow);
    assert_eq!(document.verdict, ClusterVerdict::Inconclusive);
    assert!(doubts(&document).iter().all(|code| *code == "spread_too_wide"), "{:?}", document.doubts);
    let words: Vec<&str> = document.doubts.iter().map(|doubt| doubt.text.as_str()).collect();
    assert!(words[0].starts_with("the nodes vary too much in memory: only a node below "), "{words:?}");
    assert!(words[1].contains("memory/sequential-read/t4 and 1 more: none can stand out"), "{words:?}");
}

#[test]
fn nodes_that_lack_results_are_not_equal() {
    let lacking = |change: &dyn Fn(&Built)| {
        let built = Built::measured(5, &[]);
        change(&built);
        let document = evaluate(&built.folder).unwrap();
        assert_eq!((document.verdict, doubts(&document)), (ClusterVerdict::Inconclusive, vec!["results_missing"]));
        assert_eq!(
            (document.doubts[0].nodes.join(","), document.doubts[0].text.as_str()),
            ("n3".into(), "1 node lacks results")
        );
    };
    let done = |built: &Built| built.folder.tasks(State::Done, "n3");
    lacking(&|built| {
        let reason = (OutcomeStatus::Failed, Some("no space"));
        let work = Work::Suite(SuiteTask { areas: vec!["disk".into()], filter: None });
        std::fs::remove_dir_all(done(built).join("disk")).unwrap();
        built.outcome(3, "disk", 1, work, reason);
    });
    lacking(&|built| std::fs::remove_dir_all(done(built).join("disk")).unwrap());
    lacking(&|built| {
        built.changed("done/n3/cpu/run/run.json", |run| {
            run["experiments"][1]["status"] = "skipped".into();
        });
    });
    let few = evaluate(&Built::measured(3, &[]).folder).unwrap();
    assert_eq!((few.verdict, doubts(&few)), (ClusterVerdict::Inconclusive, vec!["not_compared"]));
    assert_eq!(doubts(&evaluate(&Built::plan(0).folder).unwrap()), ["no_nodes"]);
}

#[test]
fn a_slow_node_is_slow_whatever_else_is_in_doubt() {
    let built = Built::measured(
        6,
        &[(3, slow_in(Area::Cpu)), (5, set(|machine| machine.cpu.governor = Some("powersave".into())))],
    );
    for index in [0, 1, 3] {
        let node = if index == 3 { slow_in(Area::Cpu) } else { Node::default() };
        built.area(index, &node, Area::Cpu, 2);
    }
    let document = evaluate(&built.folder).unwrap();
    assert_eq!((document.verdict, document.drain.join(",")), (ClusterVerdict::Slow, "n3".to_owned()));
    assert_eq!(doubts(&document), ["settings_differ"]);
}

#[test]
fn drained_nodes_given_up_on_one_host_are_not_one_machine() {
    let built = Built::measured(6, &[]);
    let why = "never became available: drained";
    for index in [4, 5] {
        for area in ["cpu", "memory", "disk", "net"] {
            let work = Work::Suite(SuiteTask { areas: vec![area.into()], filter: None });
            let _ = std::fs::remove_dir_all(built.folder.tasks(State::Done, &format!("n{index}")).join(area));
            built.outcome(index, area, 1, work, (OutcomeStatus::Skipped, Some(why)));
            built.changed(&format!("done/n{index}/{area}/outcome.json"), |outcome| {
                (outcome["claim"]["host"], outcome["claim"]["boot"]) = ("login".into(), "b1 pid:[1]".into());
            });
        }
    }
    let document = evaluate(&built.folder).unwrap();
    assert_eq!(codes(&document), ["no_results"], "{:?}", document.problems);
    let problem = &document.problems[0];
    assert_eq!(
        (problem.nodes.join(","), problem.text.as_str()),
        ("n4,n5".into(), &*format!("2 nodes have no results: {why}"))
    );
}

#[test]
fn failed_attempts_are_counted_by_node_and_reason_also_if_a_later_one_had_a_result() {
    let built = Built::measured(4, &[]);
    for (place, reason) in
        [("cpu@1a", Some("killed by signal 9")), ("cpu@1b", Some("killed by signal 9")), ("disk@2", None)]
    {
        let path = format!("failed/n2/{place}");
        if let Some(reason) = reason {
            let work = Work::Suite(SuiteTask { areas: vec!["cpu".into()], filter: None });
            let from = built.outcome(3, "gone", 1, work, (OutcomeStatus::Failed, Some(reason)));
            let to = built.folder.path().join(&path);
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::rename(from, to).unwrap();
        } else {
            std::fs::create_dir_all(built.folder.path().join(&path)).unwrap();
        }
    }
    let document = evaluate(&built.folder).unwrap();
    let attempts = |task: &str, area: &str, reason: &str, count| FailedAttempts {
        task: task.into(),
        area: area.into(),
        reason: reason.into(),
        count,
    };
    let expected = [attempts("cpu", "cpu", "killed by signal 9", 2), attempts("disk", "", "it left no reason", 1)];
    assert_eq!(document.nodes[2].failed_attempts, expected);
    assert!(document.nodes[1].failed_attempts.is_empty() && document.verdict == ClusterVerdict::Equal);
    let seconds: Vec<(&str, f64)> =
        document.nodes[1].seconds.iter().map(|(area, seconds)| (&**area, *seconds)).collect();
    assert_eq!(seconds, [("cpu", 2.0), ("disk", 2.0), ("memory", 2.0), ("net", 2.0)]);
}

#[test]
fn a_report_has_the_times_of_its_first_and_last_task() {
    let built = Built::measured(4, &[]);
    for (place, when) in
        [("n0/cpu", "2026-11-22T12:05:00Z"), ("n0/net", "2026-11-22T12:07:00Z"), ("n2/cpu", "2026-11-22T12:01:00Z")]
    {
        built.changed(&format!("done/{place}/outcome.json"), |outcome| outcome["claim"]["when"] = when.into());
    }
    let document = evaluate(&built.folder).unwrap();
    let times = [&document.plan.first, &document.plan.last, &document.nodes[0].last, &document.nodes[1].last];
    let times = times.map(|time| time.as_deref().unwrap_or_default());
    assert_eq!(times, ["2026-11-22T12:01:00Z", "2026-11-22T12:07:00Z", "2026-11-22T12:07:00Z", ""]);
}
