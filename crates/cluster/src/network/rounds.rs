//! Which pairs of nodes are measured in which round. Pure: nodes are numbers from 0.
//!
//! In a round every node is a client at most once and a server at most once, so that a whole round can measure at the same
//! time. In a ring of shift d every node is the client of the node d places further: the shifts 1 … n - 1 together are
//! every ordered pair exactly once, for odd n as for even n.

use std::collections::BTreeSet;

use model::cluster::Pairing;
use stats::random::Random;

pub(crate) type Ordered = (usize, usize);

/// The rounds, none empty; no ordered pair is in two of them.
pub(crate) fn rounds(nodes: usize, pairing: Pairing, seed: u64) -> Vec<Vec<Ordered>> {
    let mut rounds: Vec<Vec<Ordered>> = match pairing {
        Pairing::All => (1..nodes).map(|shift| ring(nodes, shift)).collect(),
        Pairing::Ring => doubling(nodes).map(|shift| ring(nodes, shift)).chain(matchings(nodes, seed)).collect(),
        Pairing::Random => matchings(nodes, seed).collect(),
    };
    let mut seen = BTreeSet::new();
    for round in &mut rounds {
        round.retain(|pair| seen.insert(*pair));
    }
    rounds.retain(|round| !round.is_empty());
    rounds
}

fn ring(nodes: usize, shift: usize) -> Vec<Ordered> {
    (0..nodes).map(|from| (from, (from + shift) % nodes)).collect()
}

fn doubling(nodes: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1_usize), |shift| shift.checked_mul(2)).take_while(move |shift| *shift < nodes)
}

/// As many random matchings as there are doubling shifts, in both directions; of an odd number of nodes one is left out.
fn matchings(nodes: usize, seed: u64) -> impl Iterator<Item = Vec<Ordered>> {
    let mut random = Random::new(seed);
    doubling(nodes).map(move |_| {
        let mut order: Vec<usize> = (0..nodes).collect();
        random.shuffle(&mut order);
        order.chunks_exact(2).flat_map(|pair| [(pair[0], pair[1]), (pair[1], pair[0])]).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that in every round no node is a client twice, a server twice, or its own partner.
    fn check(nodes: usize, rounds: &[Vec<Ordered>]) {
        for round in rounds {
            let senders: BTreeSet<usize> = round.iter().map(|pair| pair.0).collect();
            let receivers: BTreeSet<usize> = round.iter().map(|pair| pair.1).collect();
            assert_eq!((senders.len(), receivers.len()), (round.len(), round.len()), "{nodes}: {round:?}");
            assert!(round.iter().all(|(from, to)| from != to && *from < nodes && *to < nodes), "{nodes}: {round:?}");
            assert!(!round.is_empty(), "{nodes}");
        }
        let pairs: Vec<Ordered> = rounds.iter().flatten().copied().collect();
        assert_eq!(pairs.iter().collect::<BTreeSet<_>>().len(), pairs.len(), "{nodes}: a pair comes twice");
    }

    #[test]
    fn all_is_every_ordered_pair_once_in_one_round_less_than_there_are_nodes() {
        for nodes in 2..=200 {
            let rounds = rounds(nodes, Pairing::All, 7);
            check(nodes, &rounds);
            assert_eq!(rounds.len(), nodes - 1);
            assert_eq!(rounds.iter().map(Vec::len).sum::<usize>(), nodes * (nodes - 1));
        }
    }

    #[test]
    fn samples_reach_every_node_in_rounds_that_grow_with_the_logarithm() {
        for nodes in 2..=200_usize {
            let logarithm = usize::try_from(nodes.next_power_of_two().ilog2()).unwrap();
            let ring = rounds(nodes, Pairing::Ring, 7);
            check(nodes, &ring);
            assert!((logarithm..=2 * logarithm).contains(&ring.len()), "{nodes}: {}", ring.len());
            assert_eq!(ring[0].len(), nodes, "the first shift is whole");
            let random = rounds(nodes, Pairing::Random, 7);
            check(nodes, &random);
            assert_eq!(random[0].len(), nodes - nodes % 2);
            let both = |pair: &Ordered| random.iter().flatten().any(|other| *other == (pair.1, pair.0));
            assert!(random.iter().flatten().all(both), "{nodes}: both directions");
        }
    }

    #[test]
    fn the_seed_draws_the_rounds_and_one_node_has_none() {
        for pairing in [Pairing::Ring, Pairing::Random] {
            assert_eq!(rounds(101, pairing, 3), rounds(101, pairing, 3));
            assert_ne!(rounds(101, pairing, 3), rounds(101, pairing, 4));
        }
        for pairing in [Pairing::All, Pairing::Ring, Pairing::Random] {
            assert!(rounds(0, pairing, 1).is_empty() && rounds(1, pairing, 1).is_empty());
        }
    }
}
