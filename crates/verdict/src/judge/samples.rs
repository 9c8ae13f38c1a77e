//! Warnings that follow from the samples alone: their spread, and a clock that moved.

use model::document::Row;
use model::number::percent_tenths as percent;
use model::sample::{Metric, MetricName, Sample};
use model::unit::Better;
use model::warning::{Warning, WarningCode};

use crate::samples::{median, values_of};

pub(super) fn clock(row: &Row) -> Vec<Warning> {
    let disagreement = row.conditions.clock_disagreement.unwrap_or(0.0);
    let moved = row.metric(MetricName::Clock).map_or(0.0, |clock| first_to_last_third(&clock.samples));
    let found = [
        Warning::when(WarningCode::ClockChainsDisagree, disagreement, || {
            format!("The two clock chains differ by {}.", percent(disagreement))
        }),
        Warning::when(WarningCode::ClockMoved, moved, || {
            format!("The clock moved by {} from the first samples to the last.", percent(moved))
        }),
    ];
    found.into_iter().flatten().collect()
}

fn first_to_last_third(samples: &[Sample]) -> f64 {
    let values = values_of(samples);
    let third = values.len() / 3;
    let (first, last) = (median(&values[..third]), median(&values[values.len() - third..]));
    first.zip(last).map_or(0.0, |(first, last)| (last - first).abs() / first.max(last))
}

/// The warnings about the samples; `target` is the relative half-width that their interval should have.
pub(super) fn spread(target: f64, headline: &Metric) -> Vec<Warning> {
    let launches: Vec<u32> = headline.samples.iter().map(|sample| sample.launch).collect();
    let summary = stats::summarise_grouped(&values_of(&headline.samples), &launches);
    let half_width = summary.as_ref().and_then(stats::Summary::relative_half_width).unwrap_or(0.0);
    let wide = Warning::when(WarningCode::WideInterval, half_width / target, || {
        format!("The 95 % confidence interval is ±{}, the target ±{}.", percent(half_width), percent(target))
    });
    let found = summary.iter().flat_map(|summary| &summary.warnings);
    found.filter_map(|found| of_values(found, headline.better)).chain(wide).collect()
}

fn of_values(found: &stats::Warning, better: Better) -> Option<Warning> {
    let (code, value) = match found {
        stats::Warning::TooFew { n, needed } => (WarningCode::FewSamples, needed.saturating_sub(*n) as f64),
        stats::Warning::Drifting { .. } => (WarningCode::Drifting, 1.0),
        stats::Warning::Bimodal(_) => (WarningCode::Bimodal, 1.0),
        // A first value that is better than the rest is no slow start.
        stats::Warning::FirstApart { ratio } if (*ratio < 1.0) != (better == Better::Higher) => return None,
        stats::Warning::FirstApart { .. } => (WarningCode::SlowFirst, 1.0),
        stats::Warning::Outliers { indices } => (WarningCode::Outliers, indices.len() as f64),
        stats::Warning::Autocorrelated { r, .. } => (WarningCode::Autocorrelated, *r),
        stats::Warning::GroupsDiffer { ratio, .. } => (WarningCode::LaunchesDiffer, *ratio),
        // The width of the interval shows it.
        stats::Warning::HighSpread { .. } => return None,
    };
    let sentence = found.to_string();
    let mut letters = sentence.chars();
    let capital = letters.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    Some(Warning::new(code, value, &format!("{capital}{}.", letters.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_sample_is_slow_only_in_the_direction_that_is_worse() {
        let low = stats::Warning::FirstApart { ratio: 0.8 };
        assert_eq!(of_values(&low, Better::Higher).unwrap().code, WarningCode::SlowFirst);
        assert!(of_values(&low, Better::Lower).is_none(), "a low latency is no slow start");
    }
}
