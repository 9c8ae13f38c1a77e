//! Whether differences of pairs tend to one sign: the signed-rank test of F. Wilcoxon (Biometrics Bulletin 1, 1945),
//! two-sided, without differences of 0. Without zeros and ties, and up to 50 differences, the distribution is counted;
//! otherwise it is approximated by the normal one, corrected for ties and continuity.

use crate::distributions::normal_tail;
use crate::observations::Observations;
use crate::ranks::{mid_ranks, tie_correction, tie_sizes};

/// Up to this number of differences the distribution is counted, as scipy does.
const COUNTED_UP_TO: usize = 50;

/// The outcome of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedRank {
    /// The smaller of the sums of ranks of the positive and of the negative differences.
    pub w: f64,
    /// The probability of differences that tend at least as clearly to one sign, if they tend to none.
    pub p: f64,
}

/// Tests whether the differences are symmetric about 0; `None` without differences, and for one that is not finite.
pub fn signed_rank(differences: &[f64]) -> Option<SignedRank> {
    Observations::new(differences)?;
    let nonzero: Vec<f64> = differences.iter().copied().filter(|difference| *difference != 0.0).collect();
    let n = nonzero.len();
    if n == 0 {
        return Some(SignedRank { w: 0.0, p: 1.0 });
    }
    let sizes: Vec<f64> = nonzero.iter().map(|difference| difference.abs()).collect();
    let ranks = mid_ranks(&sizes);
    let positive: f64 = ranks.iter().zip(&nonzero).filter(|(_, value)| **value > 0.0).map(|(rank, _)| rank).sum();
    let w = positive.min((n * (n + 1)) as f64 / 2.0 - positive);
    let ties = tie_sizes(&sizes);
    let counted = ties.is_empty() && n == differences.len() && n <= COUNTED_UP_TO;
    let p = if counted { counted_p(n, w) } else { approximate_p(n as f64, w, &ties) };
    Some(SignedRank { w, p: p.min(1.0) })
}

/// Two-sided: the share of the 2^n choices of signs that give a sum of at most `w`.
fn counted_p(n: usize, w: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole sum of ranks")]
    let at_most = w as usize;
    let mut counts = vec![0.0; at_most + 1];
    counts[0] = 1.0;
    for rank in 1..=n {
        for sum in (rank..=at_most).rev() {
            counts[sum] += counts[sum - rank];
        }
    }
    2.0 * counts.iter().sum::<f64>() / 2.0_f64.powf(n as f64)
}

fn approximate_p(n: f64, w: f64, ties: &[f64]) -> f64 {
    let variance = (n * (n + 1.0) * (2.0 * n + 1.0) - tie_correction(ties) / 2.0) / 24.0;
    let beyond = n * (n + 1.0) / 4.0 - w - 0.5;
    if variance <= 0.0 || beyond <= 0.0 { 1.0 } else { 2.0 * normal_tail(beyond / variance.sqrt()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_counted_by_hand() {
        // All of one sign: 2 of 2^6 choices.
        let all = signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!((all.w, all.p), (0.0, 2.0 / 64.0));
        // Ranks 1 and 3 negative: sums up to 4 are {}, 1, 2, 3, 1+2, 4, 1+3: 7 choices of 32 on either side.
        let some = signed_rank(&[-1.0, 2.0, -3.0, 4.0, 5.0]).unwrap();
        assert_eq!((some.w, some.p), (4.0, 14.0 / 32.0));
        let mirrored = signed_rank(&[1.0, -2.0, 3.0, -4.0, -5.0]).unwrap();
        assert_eq!(mirrored, some);
    }

    #[test]
    fn zeros_say_nothing() {
        assert_eq!(signed_rank(&[0.0; 4]).unwrap(), SignedRank { w: 0.0, p: 1.0 });
        assert_eq!(signed_rank(&[0.0, 1.0, -2.0, 3.0]).unwrap().w, 2.0);
    }

    #[test]
    fn what_is_no_difference_is_refused() {
        assert_eq!(signed_rank(&[]), None);
        assert_eq!(signed_rank(&[1.0, f64::INFINITY]), None);
    }
}
