//! Whether groups of values (process runs, sessions) differ by more than the values within them: then a group is one
//! draw, however many values it has. The rank test of Kruskal & Wallis (Journal of the American Statistical Association 47,
//! 1952). Its usual approximation by chi-square is poor for three process runs of three samples, so orders are counted
//! where they are few and drawn at random, with a fixed seed, where they are many.

use crate::observations::{Observations, median, median_of_sorted, sorted};
use crate::random::Random;
use crate::ranks::{mid_ranks, tie_correction, tie_sizes};

/// Groups differ if chance would make them as different less often than this.
const DIFFER_P: f64 = 0.05;
/// A spread between groups below this fraction of the median is negligible: half of the narrowest interval that a suite
/// asks for (1 %).
const NEGLIGIBLE: f64 = 0.005;
/// Up to this number, orders are counted one by one: 3 groups of 3 have 1680, 4 of 3 have 369 600.
const COUNTED_UP_TO: f64 = 5000.0;
/// Random orders otherwise: a p of 0.05 is known to within 0.005.
const DRAWN: u32 = 1999;
/// Random orders at least as extreme after which p is known well enough to stop (J. Besag & P. Clifford, Biometrika 78,
/// 1991).
const ENOUGH: u32 = 100;
/// The seed of the random orders, so that the same values give the same p.
const SEED: u64 = 0x6772_6f75_7073;

/// The spread of values between and within groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Components {
    /// The number of groups.
    pub groups: usize,
    /// The standard deviation of the groups' medians, in the unit of the values.
    pub between: f64,
    /// The median of the standard deviations within groups of at least two values, in the unit of the values.
    pub within: f64,
    /// The statistic of Kruskal & Wallis, corrected for ties.
    pub h: f64,
    /// The probability that groups differ at least as much by chance.
    pub p: f64,
    /// `between` as a fraction of the median of all values; infinite for a median of 0.
    pub relative: f64,
}

impl Components {
    /// Whether groups are the units: they differ by more than chance and not negligibly.
    pub fn differ(&self) -> bool {
        self.p < DIFFER_P && self.relative > NEGLIGIBLE
    }

    /// Spread between groups over spread within; `None` for no spread within.
    pub fn ratio(&self) -> Option<f64> {
        (self.within > 0.0).then(|| self.between / self.within)
    }
}

/// Values by group.
#[derive(Debug)]
pub(crate) struct Groups {
    /// The values of each group, ascending; at least one in each.
    pub(crate) sorted: Vec<Vec<f64>>,
    /// The group of each value, in the order of measurement.
    index: Vec<usize>,
}

impl Groups {
    /// `None` where the two lists differ in length or are empty.
    pub(crate) fn new(values: &[f64], groups: &[u32]) -> Option<Self> {
        if values.len() != groups.len() || values.is_empty() {
            return None;
        }
        let mut names = groups.to_vec();
        names.sort_unstable();
        names.dedup();
        let index: Vec<usize> = groups.iter().filter_map(|group| names.binary_search(group).ok()).collect();
        let mut by_group = vec![Vec::new(); names.len()];
        for (value, group) in values.iter().zip(&index) {
            by_group[*group].push(*value);
        }
        Some(Self { sorted: by_group.iter().map(|group| sorted(group)).collect(), index })
    }

    /// The median of each group.
    pub(crate) fn medians(&self) -> Vec<f64> {
        self.sorted.iter().map(|group| median_of_sorted(group)).collect()
    }

    /// The number of values in each group.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        self.sorted.iter().map(Vec::len).collect()
    }
}

/// The spread between and within groups; `None` for fewer than two groups, for no group with two values, for lists of
/// different lengths, and for a value that is not finite.
pub fn components(values: &[f64], groups: &[u32]) -> Option<Components> {
    let all = Observations::new(values)?;
    let grouped = Groups::new(values, groups)?;
    let within: Vec<f64> = grouped.sorted.iter().filter_map(|group| Observations::new(group)?.stddev()).collect();
    if grouped.sorted.len() < 2 || within.is_empty() {
        return None;
    }
    let ranks = mid_ranks(values);
    let sizes = grouped.sizes();
    let n = values.len() as f64;
    let found = sum_of_squares(&sizes, &ranks, &grouped.index);
    let ties = 1.0 - tie_correction(&tie_sizes(values)) / (n * n * n - n);
    // All values are equal: no group differs.
    let h = if ties > 0.0 { (12.0 / (n * (n + 1.0)) * found - 3.0 * (n + 1.0)) / ties } else { 0.0 };
    let between = Observations::new(&grouped.medians())?.stddev()?;
    Some(Components {
        groups: sizes.len(),
        between,
        within: median(&within),
        h,
        p: if ties > 0.0 { probability(&sizes, &ranks, &grouped.index, found) } else { 1.0 },
        relative: if between > 0.0 { between / all.median().abs() } else { 0.0 },
    })
}

/// The sum over groups of the squared sum of ranks over the size, with which the statistic rises.
fn sum_of_squares(sizes: &[usize], ranks: &[f64], index: &[usize]) -> f64 {
    let mut sums = vec![0.0; sizes.len()];
    for (rank, group) in ranks.iter().zip(index) {
        sums[*group] += rank;
    }
    spread_of(&sums, sizes)
}

fn spread_of(sums: &[f64], sizes: &[usize]) -> f64 {
    sums.iter().zip(sizes).map(|(sum, size)| sum * sum / *size as f64).sum()
}

/// The probability that groups of these sizes differ as much if all orders are equally likely.
fn probability(sizes: &[usize], ranks: &[f64], index: &[usize], found: f64) -> f64 {
    // Sums of the same ranks in another order differ in their last bits.
    let limit = found * (1.0 - 1e-12);
    if orders(sizes) <= COUNTED_UP_TO {
        let mut count = Count { sizes, ranks, limit, all: 0, extreme: 0 };
        count.place(0, &mut vec![0; sizes.len()], &mut vec![0.0; sizes.len()]);
        return f64::from(count.extreme) / f64::from(count.all.max(1));
    }
    let (mut random, mut index, mut extreme) = (Random::new(SEED), index.to_vec(), 0);
    for drawn in 1..=DRAWN {
        random.shuffle(&mut index);
        extreme += u32::from(sum_of_squares(sizes, ranks, &index) >= limit);
        if extreme >= ENOUGH {
            return f64::from(extreme) / f64::from(drawn);
        }
    }
    // The observed order is one of them.
    f64::from(extreme + 1) / f64::from(DRAWN + 1)
}

/// The number of ways to deal values to groups of these sizes.
fn orders(sizes: &[usize]) -> f64 {
    let (mut orders, mut dealt) = (1.0, 0.0);
    for &size in sizes {
        for k in 1..=size {
            dealt += 1.0;
            orders *= dealt / k as f64;
        }
    }
    orders
}

/// Counts all ways of dealing, and those at least as extreme.
struct Count<'a> {
    sizes: &'a [usize],
    ranks: &'a [f64],
    limit: f64,
    all: u32,
    extreme: u32,
}

impl Count<'_> {
    /// Deals this value and all after it; the depth is the number of values, which few thousand orders keep small.
    fn place(&mut self, value: usize, filled: &mut [usize], sums: &mut [f64]) {
        let Some(rank) = self.ranks.get(value).copied() else {
            self.all += 1;
            self.extreme += u32::from(spread_of(sums, self.sizes) >= self.limit);
            return;
        };
        for group in 0..self.sizes.len() {
            if filled[group] < self.sizes[group] {
                filled[group] += 1;
                sums[group] += rank;
                self.place(value + 1, filled, sums);
                sums[group] -= rank;
                filled[group] -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three_by_three(values: &[f64; 9]) -> Components {
        components(values, &[1, 1, 1, 2, 2, 2, 3, 3, 3]).unwrap()
    }

    #[test]
    fn separate_groups_counted_by_hand() {
        // Of 1680 ways to deal nine values to three groups of three, the 6 that keep 1-3, 4-6, 7-9 together are the
        // most extreme. H = 12 / 90 (36 + 225 + 576) / 3 - 30 = 7.2. Medians 2, 5, 8: a deviation of 3; within 1.
        let found = three_by_three(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
        assert!((found.p - 6.0 / 1680.0).abs() < 1e-12 && (found.h - 7.2).abs() < 1e-9, "{found:?}");
        assert_eq!((found.groups, found.between, found.within, found.ratio()), (3, 3.0, 1.0, Some(3.0)));
        assert!((found.relative - 0.6).abs() < 1e-12 && found.differ());
    }

    #[test]
    fn groups_that_are_mixed_do_not_differ() {
        let found = three_by_three(&[1.0, 5.0, 9.0, 2.0, 6.0, 7.0, 3.0, 4.0, 8.0]);
        assert!(found.p > 0.9 && !found.differ(), "{found:?}");
    }

    #[test]
    fn many_groups_take_random_orders() {
        let values: Vec<f64> = (0..30).map(|i| f64::from(i / 3) + 0.01 * f64::from(i % 3)).collect();
        let groups: Vec<u32> = (0..30).map(|i| i / 3).collect();
        let found = components(&values, &groups).unwrap();
        assert!((found.p - 1.0 / 2000.0).abs() < 1e-12 && found.differ(), "{found:?}");
        assert_eq!(components(&values, &groups), components(&values, &groups));
    }

    #[test]
    fn a_difference_too_small_to_mention() {
        let values: Vec<f64> = (0..9).map(|i| 1000.0 + f64::from(i)).collect();
        let found = components(&values, &[1, 1, 1, 2, 2, 2, 3, 3, 3]).unwrap();
        assert!(found.p < 0.01 && !found.differ(), "{found:?}");
    }

    #[test]
    fn none_where_nothing_can_be_said() {
        assert_eq!(components(&[], &[]), None);
        assert_eq!(components(&[1.0, 2.0], &[1]), None);
        assert_eq!(components(&[1.0, 2.0], &[1, 1]), None, "one group");
        assert_eq!(components(&[1.0, 2.0], &[1, 2]), None, "nothing within");
        assert_eq!(components(&[1.0, 2.0, f64::NAN], &[1, 1, 2]), None);
        let alike = components(&[3.0; 6], &[1, 1, 1, 2, 2, 2]).unwrap();
        assert_eq!((alike.p, alike.h, alike.between, alike.ratio(), alike.differ()), (1.0, 0.0, 0.0, None, false));
    }
}
