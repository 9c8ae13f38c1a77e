//! How long a run will still take: what is certain, and by how much longer than that it has taken so far; and what is
//! kept of its time for its end.
//!
//! What has come of a row is not looked at here: what each certainly needs is its own business.

/// Seconds of certain work below which nothing is learnt from what they took.
const LEAST_SECONDS: f64 = 10.0;

/// The end of a run on a quick disk, in seconds: what rows say together, the document and the page.
const CLOSING_SECONDS: f64 = 1.0;

/// The most of a time budget that is kept for its end.
const CLOSING_SHARE: f64 = 0.2;

/// Times that a file is waited for at the end: what the last row left, the histograms, the document, and the page.
const CLOSING_STORES: f64 = 4.0;

/// How much longer these take than others: they wait behind what the last row had in flight.
const CLOSING_SLOWNESS: f64 = 2.0;

/// What each file of histograms takes of the time of one that is stored alone: they are stored together, and what is left
/// for each is its own data.
const TOGETHER_SHARE: f64 = 0.5;

/// What is kept of a time budget for the end of the run, in seconds, where storing a file takes `each` of them and so many
/// rows have histograms that are not stored yet.
pub(super) fn closing_seconds(budget: f64, each: f64, histograms: usize) -> f64 {
    let stores = CLOSING_SLOWNESS * CLOSING_STORES + TOGETHER_SHARE * histograms as f64;
    (CLOSING_SECONDS + stores * each).min(CLOSING_SHARE * budget)
}

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
