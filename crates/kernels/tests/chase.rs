//! The pointer chase: one cycle a chain, followed load by load.

use std::collections::{BTreeSet, HashMap};

use kernels::chase::{Chase, MOST_CHAINS, Order};
use kernels::lines::CacheLine;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn build(nodes: &mut [CacheLine], order: Order, seed: u64) -> Option<Chase<'_>> {
    let mut scratch = vec![CacheLine::default(); Chase::scratch_lines(nodes.len())];
    Chase::build(nodes, &mut scratch, order, seed)
}

/// The nodes of some steps from a node on.
fn walk(chase: &Chase, start: usize, steps: u64) -> Vec<usize> {
    (0..steps)
        .scan(start, |index, _| {
            *index = chase.next(*index).ok()?;
            Some(*index)
        })
        .collect()
}

/// The nodes of a chain from its current node on, once round.
fn cycle(chase: &Chase, chain: usize) -> Vec<usize> {
    let start = chase.position(chain);
    let mut nodes = vec![start];
    nodes.extend(
        std::iter::successors(chase.next(start).ok(), |&index| chase.next(index).ok()).take_while(|i| *i != start),
    );
    nodes
}

#[test]
fn impossible_chains_are_refused() {
    let with = |nodes: usize, chains: usize, group: Option<usize>| {
        build(&mut vec![CacheLine::default(); nodes], Order { chains, group }, 1).is_some()
    };
    assert!(!with(0, 1, None) && !with(5, 0, None) && !with(5, 6, None) && !with(5, 1, Some(0)));
    assert!(!with(100, MOST_CHAINS + 1, None));
    assert!(with(5, 5, None) && with(5, 1, Some(9)) && with(100, MOST_CHAINS, Some(1)));
    let mut nodes = vec![CacheLine([7; 8]); 100];
    assert!(
        Chase::build(&mut nodes, &mut [CacheLine::default(); 6], Order::RANDOM, 1).is_none(),
        "100 nodes need 7 lines"
    );
    assert_eq!(nodes, [CacheLine([7; 8]); 100]);
}

#[test]
fn one_node_points_to_itself() {
    let mut node = [CacheLine::default()];
    let mut chase = build(&mut node, Order::RANDOM, 1).unwrap();
    assert_eq!(chase.verify(), Ok(()));
    chase.follow(3);
    assert_eq!((chase.position(0), chase.verify_position()), (0, Ok(())));
}

#[test]
fn the_other_words_of_a_node_stay_as_they_are() {
    let mut nodes = vec![CacheLine([7; 8]); 100];
    build(&mut nodes, Order::RANDOM, 1).unwrap();
    assert!(nodes.iter().all(|node| node.0[2..] == [7; 6]));
}

#[test]
fn every_cycle_is_equally_likely() {
    // Four nodes have 3! = 6 cycles: 6000 seeds give 1000 each, with a standard deviation of 29; five of them are 144.
    let mut counts = HashMap::new();
    for seed in 0..6000 {
        let mut nodes = [CacheLine::default(); 4];
        let chase = build(&mut nodes, Order::RANDOM, seed).unwrap();
        *counts.entry(walk(&chase, 0, 4)).or_insert(0_u32) += 1;
    }
    assert_eq!(counts.len(), 6);
    assert!(counts.values().all(|count| count.abs_diff(1000) < 144), "{counts:?}");
}

#[test]
fn orders_of_groups_and_of_their_lines_are_equally_likely() {
    // Three groups of two: 2! orders of the groups in the cycle, 2! of the lines in each of the three.
    let mut counts = HashMap::new();
    for seed in 0..16_000 {
        let mut nodes = [CacheLine::default(); 6];
        let chase = build(&mut nodes, Order { chains: 1, group: Some(2) }, seed).unwrap();
        let mut order = cycle(&chase, 0);
        // The same cycle from the first line of group 0 on.
        let enters = (0..6).find(|&at| order[at] / 2 == 0 && order[(at + 5) % 6] / 2 != 0).unwrap();
        order.rotate_left(enters);
        *counts.entry(order).or_insert(0_u32) += 1;
    }
    // 16 orders of 1000 each, with a standard deviation of 31; five of them are 153.
    assert_eq!(counts.len(), 16, "{counts:?}");
    assert!(counts.values().all(|count| count.abs_diff(1000) < 153), "{counts:?}");
}

fn config() -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(4), failure_persistence: None, cases: 100, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_chain_is_one_cycle_through_its_share_of_the_nodes(
        nodes in 1_usize..3000, chains in 1..=MOST_CHAINS, group in prop::option::of(1_usize..200), seed: u64,
    ) {
        let mut buffer = vec![CacheLine::default(); nodes];
        let order = Order { chains: chains.min(nodes), group };
        let chase = build(&mut buffer, order, seed).unwrap();
        prop_assert_eq!(chase.verify(), Ok(()));
        let cycles: Vec<_> = (0..chase.chains()).map(|chain| cycle(&chase, chain)).collect();
        let lengths: BTreeSet<_> = cycles.iter().map(Vec::len).collect();
        let (least, most) = (lengths.first().unwrap(), lengths.last().unwrap());
        prop_assert!(most - least <= 1, "chains of {} to {} nodes", least, most);
        let all: BTreeSet<_> = cycles.iter().flatten().copied().collect();
        prop_assert!(all.into_iter().eq(0..nodes) && cycles.iter().map(Vec::len).sum::<usize>() == nodes);
        // No group begins before the one before it is finished.
        let groups: Vec<_> = cycles.concat().into_iter().map(|node| node / group.unwrap_or(nodes)).collect();
        let runs = 1 + groups.windows(2).filter(|pair| pair[0] != pair[1]).count();
        prop_assert_eq!(runs, nodes.div_ceil(group.unwrap_or(nodes)));
    }

    #[test]
    fn follow_agrees_with_single_steps(
        nodes in 32_usize..3000, chains in 1..=MOST_CHAINS, seed: u64, rounds in 0_u64..40,
    ) {
        let mut buffer = vec![CacheLine::default(); nodes];
        let mut chase = build(&mut buffer, Order { chains, group: None }, seed).unwrap();
        let steps = rounds * chase.loads_per_round() / chains as u64;
        for _ in 0..2 {
            let starts: Vec<usize> = (0..chains).map(|chain| chase.position(chain)).collect();
            let expected: Vec<usize> =
                starts.iter().map(|&start| walk(&chase, start, steps).last().copied().unwrap_or(start)).collect();
            chase.follow(rounds);
            let found: Vec<usize> = (0..chains).map(|chain| chase.position(chain)).collect();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(chase.verify_position(), Ok(()));
        }
        prop_assert_eq!(chase.verify(), Ok(()));
    }
}
