//! The correction of S. Holm (Scandinavian Journal of Statistics 6, 1979) for many tests at once: it keeps the
//! probability of a single false alarm in a whole table below the level, however the tests depend on each other.

/// The p-values, corrected for their number, in their order: compare them with the level of the whole table. A value
/// that is not a probability counts as 1.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let usable = |value: f64| if (0.0..=1.0).contains(&value) { value } else { 1.0 };
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| usable(p[a]).total_cmp(&usable(p[b])));
    let mut corrected = vec![1.0; p.len()];
    let mut largest: f64 = 0.0;
    for (position, index) in order.into_iter().enumerate() {
        largest = largest.max((p.len() - position) as f64 * usable(p[index])).min(1.0);
        corrected[index] = largest;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrected_by_hand() {
        // Sorted 0.01, 0.02, 0.03, 0.04: times 4, 3, 2, 1 gives 0.04, 0.06, 0.06, 0.04, never falling.
        let corrected = holm(&[0.03, 0.01, 0.04, 0.02]);
        for (found, expected) in corrected.iter().zip([0.06, 0.04, 0.06, 0.06]) {
            assert!((found - expected).abs() < 1e-15, "{corrected:?}");
        }
    }

    #[test]
    fn values_that_are_no_probability_count_as_one() {
        assert_eq!(holm(&[0.6, 0.7, f64::NAN, -1.0]), [1.0; 4]);
        assert_eq!(holm(&[0.0, f64::NAN]), [0.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
