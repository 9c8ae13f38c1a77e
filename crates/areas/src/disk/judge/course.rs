//! How the rate of a device changed over the samples, and why the device may have slowed down.

use model::document::{DiskConditions, Row};
use model::experiment::DiskParams;
use model::number::{byte_rate, percent_tenths as percent, request_rate};
use model::sample::MetricName;
use model::unit::{Unit, format_size};
use model::warning::{Warning, WarningCode};
use verdict::judge::median;

/// Samples on each side of a cliff, at least.
const EACH_SIDE: usize = 3;
/// The least samples for a spread: as many as an interval needs.
const LEAST_SAMPLES: u32 = 6;

pub(super) fn warnings(params: &DiskParams, conditions: &DiskConditions, row: &Row) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = throttled(conditions).into_iter().collect();
    // A load sets the rate, and rounds until a drive is steady have their own rule.
    let free = params.load_percent.is_none() && conditions.steady_range.is_none();
    let Some(headline) = row.metrics.first().filter(|_| free) else { return warnings };
    let values: Vec<f64> = headline.samples.iter().map(|sample| sample.value).collect();
    let cliff = cliff(&values).and_then(|(index, lost)| {
        Warning::when(WarningCode::CacheCliff, lost, || {
            let rate = |part: &[f64]| rate(headline.unit, median(part).unwrap_or(0.0));
            let written = written_before(params, row, index)
                .map_or_else(String::new, |bytes| format!(", after {} in samples", format_size(bytes)));
            let (before, after) = (rate(&values[..index]), rate(&values[index..]));
            let which = format!("sample {} of {}", index + 1, values.len());
            format!("From {which} the rate was {} lower: {before} before{written}, {after} after.", percent(lost))
        })
    });
    let spread = headline.summary.cv_robust.filter(|_| headline.summary.n >= LEAST_SAMPLES).unwrap_or(0.0);
    // Two rates make a spread of their own.
    let unsteady = Warning::when(WarningCode::Unsteady, spread, || {
        format!("The rate varies by {} from sample to sample.", percent(spread))
    });
    warnings.extend(cliff.or(unsteady));
    warnings
}

fn rate(unit: Unit, value: f64) -> String {
    if unit == Unit::BytePerSecond { byte_rate(value) } else { request_rate(value) }
}

/// Bytes written in the samples before this one; `None` for benchmarks that do not only write.
fn written_before(params: &DiskParams, row: &Row, index: usize) -> Option<u64> {
    let moved = row.metric(MetricName::Throughput).filter(|_| params.op.writes() && !params.op.reads())?;
    let bytes: f64 = moved.samples.iter().take(index).map(|sample| sample.work).sum::<Option<f64>>()?;
    Some(model::unit::whole_part(bytes)).filter(|bytes| *bytes > 0)
}

/// The sample from which all rates are below all earlier ones, and the lost share of the median. The gap is at least as
/// wide as the wider group: noise does that in one of some hundred results of six samples.
fn cliff(values: &[f64]) -> Option<(usize, f64)> {
    let ends = |part: &[f64]| {
        let least = part.iter().copied().fold(f64::INFINITY, f64::min);
        (least, part.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    };
    let last = values.len().checked_sub(EACH_SIDE)?;
    let gap = |index: usize| {
        let ((before, fastest), (slowest, after)) = (ends(&values[..index]), ends(&values[index..]));
        let gap = before - after;
        (gap > 0.0 && gap >= (fastest - before).max(after - slowest)).then_some(gap)
    };
    let gaps = (EACH_SIDE..=last).filter_map(|index| Some((index, gap(index)?)));
    let (index, _) = gaps.max_by(|one, other| one.1.total_cmp(&other.1))?;
    let (before, after) = (median(&values[..index])?, median(&values[index..])?);
    (before > 0.0).then(|| (index, 1.0 - after / before))
}

/// A reason for the device to slow down: it reached its temperature limit, or its link was trained down.
fn throttled(conditions: &DiskConditions) -> Option<Warning> {
    let heat = conditions.device_celsius.zip(conditions.device_limit_celsius).filter(|(now, limit)| now >= limit);
    let link = conditions.link_share.filter(|share| *share < 1.0);
    let hot = heat.map(|(now, limit)| format!("The device reached {now:.0} degrees Celsius; its limit is {limit:.0}."));
    let slow = link.map(|share| format!("Its link fell to {} of its previous rate.", percent(share)));
    let seen: Vec<String> = [hot, slow].into_iter().flatten().collect();
    (!seen.is_empty()).then(|| Warning::new(WarningCode::DeviceThrottled, 1.0, &seen.join(" ")))
}

#[cfg(test)]
mod tests {
    use stats::random::Random;

    use super::super::tests::{QUIET, codes, good, row};
    use super::*;
    use crate::tests::disk_params;

    fn of(values: &[f64]) -> Vec<Warning> {
        warnings(&disk_params(32), &good(), &row(disk_params(32), good(), values))
    }

    fn names(values: &[f64]) -> Vec<String> {
        of(values).into_iter().map(|warning| warning.code.to_string()).collect()
    }

    #[test]
    fn a_cache_that_is_full_from_some_sample_on_is_found_and_noise_is_not() {
        let fell = [3.0e9, 2.9e9, 3.1e9, 3.0e9, 0.9e9, 1.0e9, 1.1e9, 1.0e9, 0.95e9];
        let found = of(&fell);
        assert!(
            found.len() == 1 && found[0].code.as_str() == "cache_cliff" && found[0].text.contains("sample 5 of 9"),
            "{found:?}"
        );
        assert!((found[0].value.unwrap() - 2.0 / 3.0).abs() < 1e-9);
        assert!(found[0].text.contains("3000000000 IOPS before, 1000000000 IOPS after"), "{found:?}");
        let rose: Vec<f64> = fell.iter().rev().copied().collect();
        assert!(!names(&rose).contains(&"cache_cliff".to_owned()), "a rise is none");
        let little = [3.0e9, 2.99e9, 3.01e9, 2.7e9, 2.69e9, 2.71e9];
        assert_eq!(names(&little), [""; 0], "a tenth is not worth it");
        assert_eq!(cliff(&[3.0, 3.0, 1.0, 1.0, 1.0]), None, "two samples before are too few");
        assert_eq!((cliff(&[]), cliff(&[1.0; 12])), (None, None));
        let mut random = Random::new(7);
        let (rows, mut found) = (2000_u32, 0);
        for _ in 0..rows {
            // A quarter up or down: more than a disk of a shared host varies.
            let values: Vec<f64> = (0..9).map(|_| 1e9 * (0.75 + 0.5 * random.below(1000) as f64 / 1000.0)).collect();
            found += u32::from(names(&values).contains(&"cache_cliff".to_owned()));
        }
        assert!(found <= rows / 500, "{found} of {rows}");
    }

    #[test]
    fn a_rate_that_changes_from_sample_to_sample_is_unsteady() {
        assert_eq!(names(&[1.0, 2.0, 0.5, 1.5, 0.7, 2.2, 1.1]), ["unsteady"]);
        assert_eq!(names(&QUIET), [""; 0]);
        assert_eq!(names(&[1.0, 1.15, 0.85, 1.1, 0.9, 1.2, 0.95]), [""; 0], "a busy host's fifth");
        assert_eq!(names(&[1.0, 2.0, 0.5]), [""; 0], "too few");
        let load = DiskParams { load_percent: Some(50), ..disk_params(32) };
        assert_eq!(warnings(&load, &good(), &row(load.clone(), good(), &[1.0, 2.0, 0.5, 1.5, 0.7, 2.2])), []);
    }

    #[test]
    fn heat_and_a_slower_link_are_warnings_at_their_limit() {
        let of = |conditions: DiskConditions| codes(disk_params(32), conditions);
        assert_eq!(of(DiskConditions { device_celsius: Some(81.85), ..good() }), ["throttled"]);
        assert_eq!(of(DiskConditions { device_celsius: Some(80.0), ..good() }), [""; 0]);
        assert_eq!(of(DiskConditions { device_celsius: Some(90.0), device_limit_celsius: None, ..good() }), [""; 0]);
        assert_eq!(of(DiskConditions { link_share: Some(0.5), ..good() }), ["throttled"]);
        let both = DiskConditions { device_celsius: Some(85.0), link_share: Some(0.25), ..good() };
        let text = &throttled(&both).unwrap().text;
        assert!(text.contains("85 degrees") && text.contains("25.0 %"), "{text}");
    }
}
