//! Shares and changes as percentages.

use super::digits::{digits, trimmed};
use crate::document::sample::Summary;

/// A ratio as a percentage with one decimal, two below 0.1 %: `99.3 %`; by an exponent where it is no share of anything.
pub fn percent(ratio: f64) -> String {
    let value = ratio * 100.0;
    if value.abs() >= 1e6 {
        return format!("{} %", digits(value));
    }
    let decimals = if value == 0.0 || value.abs() >= 0.095 { 1 } else { 2 };
    format!("{value:.decimals$} %")
}

/// A share in whole percent: `12 %`.
pub fn percent_whole(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// A share in tenths of a percent, however small: `0.1 %`.
pub fn percent_tenths(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A share in hundredths of a percent: `0.01 %`.
pub fn percent_hundredths(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// A share with two significant digits, as far as tenths go: `9.1 %`, `12 %`.
pub fn percent_brief(share: f64) -> String {
    if (100.0 * share).abs() < 9.95 { percent_tenths(share) } else { percent_whole(share) }
}

/// [`percent_brief`] without a zero behind the point: `2 %`, `2.5 %`.
pub fn percent_short(share: f64) -> String {
    percent_brief(share).replace(".0 %", " %")
}

/// A share of which small values matter, with at most four decimals: `0.001 %`.
pub fn percent_exact(share: f64) -> String {
    format!("{} %", trimmed(100.0 * share, 4))
}

/// A ratio as a change in percent, with its sign, without the percent sign: `-8.1`, `+120`.
pub fn change(ratio: f64) -> String {
    let percent = 100.0 * (ratio - 1.0);
    match percent.abs() {
        ..0.05 => "0.0".to_owned(),
        ..99.95 => format!("{percent:+.1}"),
        ..9999.5 => format!("{percent:+.0}"),
        _ => format!("{percent:+.2e}"),
    }
}

/// The widest half-width of an interval that is printed, in percent of the median.
const MOST_SPREAD: f64 = 999.0;

/// Half the width of the median's 95 % interval relative to it (`±0.3 %`), or the number of samples (`n=3`).
pub fn spread(summary: &Summary, plus_minus: &str) -> String {
    match summary.ci95 {
        Some([low, high]) if summary.median != 0.0 => {
            let half = 100.0 * (high - low).abs() / 2.0 / summary.median.abs();
            // Beyond ten times the median the exact width is not useful: `>999` keeps the column narrow.
            if half > MOST_SPREAD {
                return format!("{plus_minus}>{MOST_SPREAD} %");
            }
            // Never more exact than a hundredth of a percent: what is smaller is rounded up to it.
            let decimals = if half < 0.095 { 2 } else { usize::from(half < 9.95) };
            format!("{plus_minus}{:.decimals$} %", half.max(0.01))
        }
        _ => format!("n={}", summary.n),
    }
}

/// Deviations below this share of the median are rounding: no measurement is as exact as a millionth.
const LEAST_DEVIATION: f64 = 1e-6;

/// The samples' standard deviation for a reader: 0 where it is nothing but rounding; `None` of one sample.
pub fn deviation(summary: &Summary) -> Option<f64> {
    let is_rounding = |deviation: f64| deviation < LEAST_DEVIATION * summary.median.abs();
    summary.stddev.map(|deviation| if is_rounding(deviation) { 0.0 } else { deviation })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(n: u32, median: f64, ci95: Option<[f64; 2]>) -> Summary {
        Summary { n, median, ci95, ..Summary::default() }
    }

    #[test]
    fn percentages_are_short() {
        let shown = [0.9934, 0.0042, 0.0, 0.0007, -0.5, 9999.0, 1e300].map(percent);
        assert_eq!(shown, ["99.3 %", "0.4 %", "0.0 %", "0.07 %", "-50.0 %", "999900.0 %", "1.00e302 %"]);
    }

    #[test]
    fn equal_samples_have_no_deviation_but_that_of_their_rounding() {
        let of = |stddev| deviation(&Summary { stddev, ..summary(3, 4e6, None) });
        assert_eq!((of(Some(4.2e-8)), of(Some(3.9)), of(None)), (Some(0.0), Some(0.0), None));
        assert_eq!(of(Some(4.1)), Some(4.1), "what is measured is shown");
    }

    #[test]
    fn a_spread_without_an_interval_says_how_many_samples_there_are() {
        let of = |median, low, high| spread(&summary(9, median, Some([low, high])), "±");
        let narrow = [of(100.0, 99.7, 100.3), of(100.0, 99.99, 100.03), of(100.0, 100.0, 100.0)];
        assert_eq!(narrow, ["±0.3 %", "±0.02 %", "±0.01 %"]);
        let wide = [of(100.0, 80.0, 120.0), of(1.0, 0.5, 19.5), of(1.0, 0.5, 2e4)];
        assert_eq!(wide, ["±20 %", "±950 %", "±>999 %"]);
        assert_eq!(spread(&summary(3, 100.0, None), "+-"), "n=3");
    }

    #[test]
    fn each_precision_rounds_in_its_own_way() {
        assert_eq!([0.0949, 0.0995, 0.5].map(percent_brief), ["9.5 %", "10 %", "50 %"]);
        assert_eq!([0.02, 0.025, 0.2].map(percent_short), ["2 %", "2.5 %", "20 %"]);
        assert_eq!([0.00001, 0.001, 0.0].map(percent_exact), ["0.001 %", "0.1 %", "0 %"]);
        assert_eq!([1.0004, 0.919, 2.2, 1e5].map(change), ["0.0", "-8.1", "+120", "+1.00e7"]);
    }
}
