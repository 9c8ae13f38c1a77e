//! The figures of an area together: one number a node, and from where on it stands out among its equals.
//!
//! The spread over nodes is the median absolute deviation, which a third of slow nodes cannot spoil, taken again without
//! those that stand out. Few nodes know their own spread poorly; theirs is drawn towards what healthy nodes are expected
//! to have, by the weighing of degrees of freedom that G. K. Smyth gives for variances ("Linear models and empirical
//! Bayes methods for assessing differential expression in microarray experiments", Statistical Applications in Genetics
//! and Molecular Biology 3, 2004), and the limit is a quantile of Student's distribution with as many degrees.

use crate::distributions::fisher_quantile;
use crate::observations::{MAD_TO_SIGMA, median_of_sorted};

use super::sort::{ENOUGH_NODES, Sort};

/// Healthy nodes that are below their limit by chance, in a hundred groups, all nodes and areas together: half of what
/// is allowed in all (1 %), since single figures may err as well.
const FALSE_ALARMS: f64 = 0.005;
/// The chance that a healthy node is looked at again: one in 740, three standard deviations of a normal variable. It
/// costs a second pass of one node in so many, and leaves what is slow some room for bad luck in the first.
const SCREENED: f64 = 0.001_35;
/// Nodes whose worth the expected spread has: as many as make it count for nothing in groups of hundreds, and keep four
/// nodes that happen to agree from finding a fault in a hair.
const EXPECTED_DEGREES: f64 = 10.0;
/// Degrees of freedom of a median absolute deviation, per node: it takes 1 / 0.37 as many normal values as a standard
/// deviation for the same precision (F. R. Hampel, "The influence curve and its role in robust estimation", Journal of
/// the American Statistical Association 69, 1974).
const EFFICIENCY: f64 = 0.37;
/// At most this share of a group is left out as slow: beyond it, nobody can tell who the healthy ones are.
const MOST_SLOW: f64 = 0.4;

/// An area over equal nodes. All are logarithms of ratios to the median; less is worse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Combined {
    /// The middle of the nodes that do not stand out.
    pub centre: f64,
    /// Their spread, as a standard deviation.
    pub scale: f64,
    /// Below this a node stands out and is looked at again.
    pub screen: f64,
    /// Below this, over two passes, it is slow.
    pub limit: f64,
}

/// The middle, spread and limits of one number a node, in a group of which so many areas are judged; `None` where fewer
/// than [`ENOUGH_NODES`] nodes have one.
pub fn combine(nodes: &[Option<f64>], sort: Sort, areas: usize) -> Option<Combined> {
    let mut ascending: Vec<f64> = nodes.iter().flatten().copied().filter(|value| value.is_finite()).collect();
    ascending.sort_by(f64::total_cmp);
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
        // Those left out before stay out, so that this ends.
        if low <= left_out || low > most_left_out {
            return Some(combined);
        }
        left_out = low;
    }
}

/// From the numbers of nodes that do not stand out, ascending and at least one.
fn limits(kept: &[f64], sort: Sort, chance: f64) -> Combined {
    let centre = median_of_sorted(kept);
    let mut distances: Vec<f64> = kept.iter().map(|value| (value - centre).abs()).collect();
    distances.sort_by(f64::total_cmp);
    let seen = MAD_TO_SIGMA * median_of_sorted(&distances);
    let degrees = EFFICIENCY * (kept.len() - 1) as f64;
    let expected = sort.expected().scale;
    let all = degrees + EXPECTED_DEGREES;
    let scale = ((degrees * seen * seen + EXPECTED_DEGREES * expected * expected) / all).sqrt();
    let drop = (1.0 - sort.least_drop()).ln();
    let below = |chance: f64| centre + drop.min(-scale * student_beyond(chance, all));
    Combined { centre, scale, screen: below(SCREENED), limit: below(chance.min(SCREENED)) }
}

/// The t that Student's variable with so many degrees of freedom exceeds with this probability, below one half. Its square is
/// Fisher's with one and as many.
fn student_beyond(chance: f64, degrees: f64) -> f64 {
    fisher_quantile(1.0 - 2.0 * chance, 1.0, degrees).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_is_students() {
        // R: qt(0.99865, 10), qt(1 - 1e-6, 380)
        for (chance, degrees, t) in [(0.001_35, 10.0, 3.957), (1e-6, 380.0, 4.825), (0.025, 10.0, 2.228)] {
            assert!((student_beyond(chance, degrees) / t - 1.0).abs() < 2e-3, "{chance} {degrees}");
        }
    }
}
