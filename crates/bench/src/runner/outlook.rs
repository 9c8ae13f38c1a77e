//! How long a run will still take: what is certain, and by how much longer than that it has taken so far.
//!
//! No row is looked at here: what each certainly needs is its own business.

/// Seconds of certain work below which nothing is learnt from what they took.
const LEAST_SECONDS: f64 = 10.0;

/// How many times as long as planned what is left will take, by what was done: rows whose intervals stay wide go on beyond
/// the samples that are certain. Never less than 1. `so_far` seconds have passed, and of `planned` ones, which a quiet
/// machine would certainly need, `left` are still to come.
pub(super) fn longer(so_far: f64, planned: f64, left: f64) -> f64 {
    let done = planned - left;
    if done < LEAST_SECONDS { 1.0 } else { (so_far / done).max(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_longer_so_far_takes_longer_still() {
        let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-12, "{found}, not {wanted}");
        // 200 s of work took 300 s.
        close(longer(300.0, 1200.0, 1000.0), 1.5);
        // What was quick may have been the quick part.
        close(longer(100.0, 1200.0, 1000.0), 1.0);
        for (so_far, planned, left) in [(9.0, 1200.0, 1195.0), (0.0, 0.0, 0.0), (5.0, 10.0, 20.0)] {
            close(longer(so_far, planned, left), 1.0);
        }
    }
}
