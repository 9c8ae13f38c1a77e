use super::*;
use crate::random::Random;

/// Results of one area that vary from node to node, and from pass to pass, by `noise`; the nodes in `slow` are slower
/// by a tenth. The second pass has these and two other nodes.
fn group(random: &mut Random, nodes: usize, results: usize, noise: f64, slow: &[usize]) -> Vec<GroupResult> {
    let mut result = |index: usize| {
        let better = if index.is_multiple_of(2) { Better::Higher } else { Better::Lower };
        let mut value = |node: usize| {
            let speed = if slow.contains(&node) { 0.9 } else { 1.0 } * (noise * random.normal()).exp();
            if better == Better::Higher { 3e9 * speed } else { 2e-9 / speed }
        };
        let first = (0..nodes).map(|node| Some(value(node))).collect();
        let again = slow.iter().copied().chain((0..nodes).filter(|node| !slow.contains(node)).take(2));
        GroupResult {
            area: 0,
            sort: Sort::Core,
            better,
            first,
            second: again.map(|node| (node, value(node))).collect(),
        }
    };
    (0..results).map(&mut result).collect()
}

fn slow(verdict: &FleetVerdict) -> Vec<usize> {
    let is_slow = |node: &usize| verdict.nodes[*node].standing == NodeStanding::Slow;
    (0..verdict.nodes.len()).filter(is_slow).collect()
}

#[test]
fn the_limit_is_six_scales_and_the_least_drop() {
    let equal = spread(&[100.0, 100.0, 100.0, 100.0, 80.0], Better::Higher, Sort::Core).unwrap();
    assert_eq!((equal.scale, equal.limit()), (0.005, Some(95.0)));
    assert_eq!(spread(&[100.0; 5], Better::Higher, Sort::Device).unwrap().limit(), Some(90.0));
    // Deviations 2, 1, 0, 1, 2: their median is 1 %.
    let wide = spread(&[98.0, 99.0, 100.0, 101.0, 102.0], Better::Higher, Sort::Core).unwrap();
    assert!((wide.scale - 0.014_826).abs() < 1e-12 && (wide.limit().unwrap() - 91.1044).abs() < 1e-9, "{wide:?}");
    assert!(!wide.is_wide());
}

#[test]
fn a_latency_is_turned_round() {
    let latency = spread(&[1.0, 1.0, 1.0, 1.0, 2.0], Better::Lower, Sort::Core).unwrap();
    assert_eq!(latency.ratio(2.0), Some(0.5));
    assert!((latency.limit().unwrap() - 1.0 / 0.95).abs() < 1e-12);
    assert_eq!((latency.ratio(0.0), latency.ratio(f64::NAN)), (None, None));
}

#[test]
fn what_has_no_limit_says_why() {
    let three = spread(&[1.0, 1.0, 0.1], Better::Higher, Sort::Core).unwrap();
    assert_eq!((three.limit_ratio, three.limit()), (Err(TooWide::FewNodes), None));
    let wild = spread(&[1.0, 2.0, 3.0, 4.0, 5.0], Better::Higher, Sort::Core).unwrap();
    assert_eq!(wild.limit_ratio, Err(TooWide::Everything));
    assert!(wild.is_wide());
    assert_eq!(spread(&[], Better::Higher, Sort::Core), None);
    assert_eq!(spread(&[1.0, 0.0], Better::Higher, Sort::Core), None);
}

#[test]
fn a_tenth_that_no_result_shows_is_seen_by_all_together() {
    let mut random = Random::new(1);
    let results = group(&mut random, 40, 12, 0.03, &[7, 30]);
    let verdict = judge_fleet(40, &results);
    assert_eq!(slow(&verdict), [7, 30]);
    let evidence = &verdict.nodes[7].evidence[0];
    assert_eq!((evidence.subject, evidence.of_median.len(), evidence.confirmed), (Subject::Area(0), 2, true));
    assert!(verdict.nodes[7].evidence.iter().all(|one| matches!(one.subject, Subject::Area(_))), "by no result alone");
}

#[test]
fn a_third_of_the_nodes_may_be_slow() {
    let mut random = Random::new(2);
    let faulty: Vec<usize> = (0..12).collect();
    let verdict = judge_fleet(40, &group(&mut random, 40, 10, 0.02, &faulty));
    assert_eq!(slow(&verdict), faulty);
}

#[test]
fn one_pass_makes_suspects_and_a_second_clears_them() {
    let mut random = Random::new(3);
    let mut results = group(&mut random, 16, 8, 0.01, &[3]);
    let again: Vec<Vec<(usize, f64)>> = results.iter_mut().map(|result| std::mem::take(&mut result.second)).collect();
    let verdict = judge_fleet(16, &results);
    assert_eq!(verdict.nodes[3].standing, NodeStanding::Suspect);
    assert!(slow(&verdict).is_empty());
    // It recovered: as fast as the controls.
    for (result, again) in results.iter_mut().zip(again) {
        let control = again[1].1;
        result.second = again.into_iter().map(|(node, _)| (node, control)).collect();
    }
    let verdict = judge_fleet(16, &results);
    assert!(verdict.nodes.iter().all(|node| node.standing == NodeStanding::Healthy && node.evidence.is_empty()));
}

#[test]
fn what_slowed_the_controls_too_speaks_against_nobody() {
    let mut random = Random::new(4);
    let mut results = group(&mut random, 16, 8, 0.005, &[]);
    for result in &mut results {
        let worse = if result.better == Better::Higher { 0.9 } else { 1.0 / 0.9 };
        // Slow in the first pass; in the second all nodes are slower by a tenth.
        result.first[5] = result.first[5].map(|value| value * worse);
        result.second = [5, 0, 1].map(|node| (node, result.first[9].unwrap() * worse)).to_vec();
    }
    let with_controls = judge_fleet(16, &results);
    assert!(slow(&with_controls).is_empty(), "{:?}", with_controls.nodes[5]);
    for result in &mut results {
        result.second.truncate(1);
    }
    assert_eq!(slow(&judge_fleet(16, &results)), [5], "without controls nobody could know");
}

#[test]
fn one_result_far_off_is_named_alone() {
    let mut random = Random::new(5);
    let mut results = group(&mut random, 20, 8, 0.01, &[]);
    results[2].first[11] = results[2].first[11].map(|value| value / 2.0);
    results[2].second = vec![(11, results[2].first[11].unwrap())];
    let verdict = judge_fleet(20, &results);
    assert_eq!(slow(&verdict), [11]);
    assert_eq!(verdict.nodes[11].evidence[0].subject, Subject::Result(2));
}

#[test]
fn a_result_that_is_often_low_by_chance_names_only_who_is_lower_still() {
    let mut random = Random::new(8);
    let mut results = group(&mut random, 100, 6, 0.002, &[]);
    let usual = 3e9;
    // Ten nodes were slow once in one result; one of them is so again by chance, and another node is far off twice.
    for node in 0..10 {
        results[0].first[node] = Some(usual * 0.8);
    }
    results[0].first[50] = Some(usual * 0.4);
    results[0].second = (1..10).map(|node| (node, usual)).chain([(0, usual * 0.8), (50, usual * 0.4)]).collect();
    assert_eq!(slow(&judge_fleet(100, &results)), [50]);
    // If it were all ten, it would not be chance.
    results[0].second = (0..10).map(|node| (node, usual * 0.8)).collect();
    assert_eq!(slow(&judge_fleet(100, &results)), (0..10).collect::<Vec<_>>());
}

#[test]
fn a_node_that_is_low_twice_while_chance_made_another_low_is_no_healthy_one() {
    let mut random = Random::new(9);
    let mut results = group(&mut random, 8, 6, 0.002, &[]);
    let usual = 3e9;
    // Node 1 is low twice, node 2 is lower still once: either may be chance.
    (results[0].first[1], results[0].first[2]) = (Some(usual * 0.6), Some(usual * 0.5));
    results[0].second = vec![(1, usual * 0.6), (2, usual), (3, usual)];
    let verdict = judge_fleet(8, &results);
    let standings = [1, 2, 3].map(|node| verdict.nodes[node].standing);
    assert_eq!(standings, [NodeStanding::Suspect, NodeStanding::Healthy, NodeStanding::Healthy]);
    assert_eq!(verdict.nodes[1].evidence[0].of_median.len(), 2);
}

#[test]
fn the_more_nodes_differ_the_slower_a_node_must_be_to_stand_out() {
    let mut random = Random::new(10);
    let mut limit = |noise: f64| judge_fleet(12, &group(&mut random, 12, 1, noise, &[])).areas[0].unwrap();
    let (quiet, noisy) = (limit(0.002), limit(0.2));
    assert!((quiet - 0.95).abs() < 1e-9 && noisy < 0.8, "{quiet} {noisy}");
    assert_eq!(judge_fleet(3, &group(&mut random, 3, 1, 0.01, &[])).areas, [None]);
}

#[test]
fn too_few_and_unmeasured_nodes_are_not_judged() {
    let mut random = Random::new(6);
    let three = judge_fleet(3, &group(&mut random, 3, 8, 0.001, &[1]));
    assert!(three.nodes.iter().all(|node| node.standing == NodeStanding::Unknown));
    let mut results = group(&mut random, 8, 4, 0.01, &[]);
    for result in &mut results {
        result.first[2] = None;
    }
    assert_eq!(judge_fleet(8, &results).nodes[2].standing, NodeStanding::Unknown);
    assert!(judge_fleet(0, &[]).nodes.is_empty());
}

#[test]
fn hostile_values_are_no_results() {
    let values = [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300];
    let result = GroupResult {
        area: 3,
        sort: Sort::Core,
        better: Better::Higher,
        first: values.iter().map(|value| Some(*value)).collect(),
        second: vec![(99, 1.0), (0, f64::NAN)],
    };
    let verdict = judge_fleet(5, &[result]);
    assert!(verdict.spreads[0].is_none());
    assert!(verdict.nodes.iter().all(|node| node.standing == NodeStanding::Unknown));
}

#[test]
fn healthy_nodes_are_seldom_named() {
    let mut random = Random::new(7);
    let named = (0..400).filter(|_| {
        let results = group(&mut random, 30, 10, 0.03, &[]);
        // The second pass has all nodes.
        let again = group(&mut random, 30, 10, 0.03, &[]);
        let asked: Vec<GroupResult> = results
            .into_iter()
            .zip(again)
            .map(|(result, again)| GroupResult {
                second: again.first.iter().enumerate().filter_map(|(node, value)| Some((node, (*value)?))).collect(),
                ..result
            })
            .collect();
        !slow(&judge_fleet(30, &asked)).is_empty()
    });
    // 1 % of 400 groups are 4; 9 or more of them have a chance of 2 in 100.
    assert!(named.count() <= 8);
}
