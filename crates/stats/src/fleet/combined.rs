//! The results of an area together: one number for each node, and the limit below which a node stands out. The spread over
//! nodes is computed again without the nodes that stand out. That of a few nodes is drawn towards the expected one, weighted
//! by degrees of freedom as G. K. Smyth does for variances ("Linear models and empirical Bayes methods for assessing
//! differential expression in microarray experiments", Stat. Appl. in Genetics and Molecular Biology 3, 2004).

use crate::distributions::student_quantile;
use crate::observations::{MAD_TO_SIGMA, median, median_of_sorted, sorted};

use super::spread::{ENOUGH_NODES, Sort};

/// Expected healthy nodes below their limit by chance, per group, over all nodes and areas: half of the 1 % that is
/// allowed, since single results may err as well.
const FALSE_ALARMS: f64 = 0.005;
/// The probability that a healthy node is measured again: one in 740, three standard deviations of a normal variable.
const SCREENED: f64 = 0.001_35;
/// Number of nodes that the expected spread is worth: it does not count in groups of hundreds, and keeps four nodes
/// that agree by chance from finding a fault in a tiny difference.
const EXPECTED_DEGREES: f64 = 10.0;
/// Degrees of freedom of a median absolute deviation, per node: it takes 1 / 0.37 as many normal values as a standard
/// deviation for the same precision (F. R. Hampel, "The influence curve and its role in robust estimation", Journal of
/// the American Statistical Association 69, 1974).
const EFFICIENCY: f64 = 0.37;
/// The largest share of a group that is left out as slow: beyond it, nobody knows which nodes are healthy.
const MOST_SLOW: f64 = 0.4;

/// An area over equal nodes, as logarithms of ratios to the median; less is worse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Combined {
    /// The median of the nodes that do not stand out.
    pub(super) centre: f64,
    /// Below this a node stands out and is measured again.
    pub(super) screen: f64,
    /// Below this, on average over two passes, it is slow.
    pub(super) limit: f64,
}

/// The centre, spread and limits of one number for each node, in a group of which `areas` areas are judged; `None`
/// where fewer than [`ENOUGH_NODES`] nodes have one.
pub(super) fn combine(nodes: &[Option<f64>], sort: Sort, areas: usize) -> Option<Combined> {
    let ascending = sorted(&nodes.iter().flatten().copied().filter(|value| value.is_finite()).collect::<Vec<_>>());
    let n = ascending.len();
    if n < ENOUGH_NODES {
        return None;
    }
    let chance = FALSE_ALARMS / (n * areas.max(1)) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length")]
    let most_left_out = (n as f64 * MOST_SLOW) as usize;
    let mut left_out = 0;
    loop {
        let combined = limits(&ascending[left_out..], sort, chance);
        let low = ascending.partition_point(|value| *value < combined.screen);
        // Nodes left out before stay out, so that this ends.
        if low <= left_out || low > most_left_out {
            return Some(combined);
        }
        left_out = low;
    }
}

/// From the ascending numbers of nodes that do not stand out, at least one.
fn limits(kept: &[f64], sort: Sort, chance: f64) -> Combined {
    let centre = median_of_sorted(kept);
    let seen = MAD_TO_SIGMA * median(&kept.iter().map(|value| (value - centre).abs()).collect::<Vec<_>>());
    let degrees = EFFICIENCY * (kept.len() - 1) as f64;
    let expected = sort.expected_scale();
    let all = degrees + EXPECTED_DEGREES;
    let scale = ((degrees * seen * seen + EXPECTED_DEGREES * expected * expected) / all).sqrt();
    let drop = (1.0 - sort.least_drop()).ln();
    let below = |chance: f64| centre + drop.min(-scale * student_quantile(all, 1.0 - 2.0 * chance));
    Combined { centre, screen: below(SCREENED), limit: below(chance.min(SCREENED)) }
}
