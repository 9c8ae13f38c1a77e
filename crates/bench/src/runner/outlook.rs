//! Forecast of a run's remaining time, and the time reserved for its end.

/// Below this much finished work no forecast is made.
const LEAST_SECONDS: f64 = 10.0;
/// Seconds for the end of a run on a fast disk: judgement, document, report.
const CLOSING_SECONDS: f64 = 1.0;
/// Maximum share of a time budget reserved for the end.
const CLOSING_SHARE: f64 = 0.2;
/// Files stored at the end: last result, histograms, document, report.
const CLOSING_STORES: f64 = 4.0;
/// Their slowness behind requests in flight.
const CLOSING_SLOWNESS: f64 = 2.0;
/// Share of a file's time for each file of histograms, which are stored together.
const TOGETHER_SHARE: f64 = 0.5;

/// Seconds of a time budget reserved for the end, if a file takes `each`, with this many unstored histograms.
pub(super) fn closing_seconds(budget: f64, each: f64, histograms: usize) -> f64 {
    let stores = CLOSING_SLOWNESS * CLOSING_STORES + TOGETHER_SHARE * histograms as f64;
    (CLOSING_SECONDS + stores * each).min(CLOSING_SHARE * budget)
}

/// Factor by which the rest will exceed its plan, at least 1: `so_far` seconds were spent on `planned - left` seconds of work.
pub(super) fn longer(so_far: f64, planned: f64, left: f64) -> f64 {
    let done = planned - left;
    if done < LEAST_SECONDS { 1.0 } else { (so_far / done).max(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_budget_its_end_has_a_part_that_grows_with_what_storing_takes_and_never_more_than_a_share() {
        let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-12, "{found}, not {wanted}");
        close(closing_seconds(60.0, 0.0, 26), 1.0);
        close(closing_seconds(60.0, 0.125, 0), 2.0);
        close(closing_seconds(60.0, 0.125, 16), 3.0);
        close(closing_seconds(60.0, 5.0, 26), 12.0);
        close(closing_seconds(1.0, 0.01, 0), 0.2);
    }

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
