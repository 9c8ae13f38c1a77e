//! Ranks of values with their ties.

/// The ranks of finite values, counted from 1; equal values share the mean of theirs.
pub(crate) fn mid_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    #[expect(clippy::float_cmp, reason = "a tie is exact equality")]
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = before as f64 + (tied.len() + 1) as f64 / 2.0;
        for &index in tied {
            ranks[index] = rank;
        }
        before += tied.len();
    }
    ranks
}

/// The sizes of the groups of equal values, without groups of one.
pub(crate) fn tie_sizes(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(clippy::float_cmp, reason = "a tie is exact equality")]
    let groups = sorted.chunk_by(|a, b| a == b);
    groups.filter(|group| group.len() > 1).map(|group| group.len() as f64).collect()
}

/// The sum of t^3 - t over groups of equal values, by which ties reduce the variance of a sum of ranks.
pub(crate) fn tie_correction(sizes: &[f64]) -> f64 {
    sizes.iter().map(|t| t * t * t - t).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_ranks() {
        assert_eq!(mid_ranks(&[30.0, 10.0, 20.0, 20.0, 20.0]), [5.0, 1.0, 3.0, 3.0, 3.0]);
        assert_eq!(mid_ranks(&[0.0, -0.0]), [1.5, 1.5]);
        assert!(mid_ranks(&[]).is_empty());
    }

    #[test]
    fn ties_are_counted() {
        assert_eq!(tie_sizes(&[1.0, 2.0, 2.0, 3.0, 3.0, 3.0]), [2.0, 3.0]);
        assert_eq!(tie_correction(&[2.0, 3.0]), 30.0);
    }
}
