//! What a value should be, as a range with its source, and whether it is. The source is never a guess: without one there is
//! no range and no verdict.

use model::document::{Row, Status};
use model::machine::Machine;
use model::number::{clock, percent_whole};
use model::peak::{Peak, PeakKind};
use model::sample::{Expectation, ExpectationVerdict, Metric, MetricName};
use model::unit::Better;
use model::warning::Confidence;

use crate::rules::AreaRules;

/// The source of expectations from earlier runs of the same machine.
pub const HISTORY: &str = "history";
/// No processor's clock is higher, in Hz: the end of the range above a base clock whose boost is unknown.
const HIGHEST_CLOCK_HZ: f64 = 10e9;
/// The share of its data sheet that a healthy device reaches; makers round, and state the slowest of a series.
const OF_DATASHEET: [f64; 2] = [0.9, 1.1];
/// Sources, the most specific first, with the limits that they are.
const SOURCES: &[(PeakKind, &str)] = &[
    (PeakKind::Declared, "declared"),
    (PeakKind::Datasheet, "datasheet"),
    (PeakKind::Link, "link"),
    (PeakKind::Limit, "limit"),
    (PeakKind::Inferred, "limit"),
    (PeakKind::Sustained, "limit"),
];

/// Sets the expectations and the verdicts of a result whose limits and confidence are set.
pub fn set(rules: &AreaRules, row: &mut Row, machine: &Machine) {
    if row.status != Status::Ok {
        return;
    }
    let reach = (rules.limit.reach)(row);
    let faster_clock = row.metric(MetricName::Clock).and_then(undisturbed_clock).unwrap_or(1.0);
    let confidence = row.confidence;
    // Those from earlier runs are known when a run ends, and stored with it.
    row.metrics.iter_mut().for_each(|metric| metric.expectations.retain(|range| range.source == HISTORY));
    if let Some(headline) = row.metrics.first_mut() {
        let ranges = of_limits(headline, reach, faster_clock);
        headline.expectations.splice(0..0, ranges);
    }
    if let Some(clock) = row.metrics.iter_mut().find(|metric| metric.name == MetricName::Clock) {
        clock.expectations.splice(0..0, of_clock(machine));
    }
    for metric in &mut row.metrics {
        metric.verdict = metric.expectations.first().and_then(|range| verdict(metric, range, confidence));
    }
}

/// The clock without interference over the measured one.
fn undisturbed_clock(clock: &Metric) -> Option<f64> {
    Some(clock.summary.undisturbed.as_ref()?.value / clock.summary.median).filter(|factor| factor.is_finite())
}

fn of_limits(metric: &Metric, reach: Option<[f64; 2]>, faster_clock: f64) -> Vec<Expectation> {
    let range = |(kind, source): &(PeakKind, &str)| {
        let peak = metric.peaks.iter().find(|peak| peak.kind == *kind)?;
        let shares = if *kind == PeakKind::Datasheet { OF_DATASHEET } else { reach? };
        let value = if *kind == PeakKind::Sustained { peak.value * faster_clock } else { peak.value };
        Some(of_peak(peak, value, shares, metric.better, source))
    };
    SOURCES.iter().filter_map(range).collect()
}

fn of_peak(peak: &Peak, value: f64, shares: [f64; 2], better: Better, source: &str) -> Expectation {
    let [low, high] = match better {
        Better::Higher => shares.map(|share| share * value),
        Better::Lower => [value / shares[1], value / shares[0]],
    };
    let text = format!("{} to {} of {}", percent_whole(shares[0]), percent_whole(shares[1]), peak.formula);
    Expectation { source: source.to_owned(), low, high, text, origin: None, date: None, n: None }
}

/// The base clock or more; at most the boost clock, where that is known.
fn of_clock(machine: &Machine) -> Option<Expectation> {
    let low = machine.cpu.base_hz.filter(|hz| *hz > 0.0)?;
    let boost = machine.cpu.boost_hz.filter(|hz| *hz > low);
    let text = match boost {
        Some(boost) => format!("{} (base) to {} (boost)", clock(low), clock(boost)),
        None => format!("{} (base) or more", clock(low)),
    };
    let high = boost.unwrap_or(HIGHEST_CLOCK_HZ);
    Some(Expectation { source: "limit".to_owned(), low, high, text, origin: None, date: None, n: None })
}

/// The whole interval of the value against the range: of the value without interference where that is known, since noise is
/// no property of the machine. A result of low confidence can be as expected, but never below or above.
pub(crate) fn verdict(
    metric: &Metric,
    range: &Expectation,
    confidence: Option<Confidence>,
) -> Option<ExpectationVerdict> {
    let is_low = confidence == Some(Confidence::Low);
    let [low, high] = match &metric.summary.undisturbed {
        Some(undisturbed) => undisturbed.ci95.unwrap_or([undisturbed.value; 2]),
        None => metric.summary.ci95.filter(|_| !is_low)?,
    };
    match (high < range.low, low > range.high, metric.better) {
        (false, false, _) => Some(ExpectationVerdict::AsExpected),
        _ if is_low => None,
        (true, _, Better::Higher) | (_, true, Better::Lower) => Some(ExpectationVerdict::Below),
        _ => Some(ExpectationVerdict::Above),
    }
}

/// The source of a range in a few words: `limit`, `data sheet`, `last 5 runs`.
pub fn source_words(range: &Expectation) -> String {
    match (range.source.as_str(), range.n) {
        ("datasheet", _) => "data sheet".to_owned(),
        (HISTORY, Some(n)) => format!("last {n} runs"),
        (source, _) => source.to_owned(),
    }
}

/// The value that is held against an expectation: the undisturbed one where it is known.
pub(crate) fn judged_value(metric: &Metric) -> f64 {
    metric.summary.undisturbed.as_ref().map_or(metric.summary.median, |undisturbed| undisturbed.value)
}

#[cfg(test)]
mod tests {
    use model::sample::{Summary, Undisturbed};

    use super::*;
    use crate::tests::{AREAS, document};

    fn row(median: f64, ci95: [f64; 2], undisturbed: Option<f64>, confidence: Confidence) -> Row {
        let mut row = document().experiments.remove(0);
        row.confidence = Some(confidence);
        let metric = &mut row.metrics[0];
        metric.summary = Summary { median, ci95: Some(ci95), ..Summary::default() };
        let of = |value| Undisturbed { value, ci95: Some([0.99 * value, 1.01 * value]), n: 9, of: String::new() };
        metric.summary.undisturbed = undisturbed.map(of);
        metric.peaks = vec![Peak {
            kind: PeakKind::Sustained,
            value: 100.0,
            formula: "10 x 10".into(),
            inputs: Vec::new(),
            uncertainty: None,
        }];
        row
    }

    fn judged(mut row: Row) -> (Vec<Expectation>, Option<ExpectationVerdict>) {
        let mut rules = AreaRules::of(AREAS, row.area);
        rules.limit.reach = |_| Some([0.9, 1.0]);
        set(&rules, &mut row, &Machine::default());
        let metric = row.metrics.remove(0);
        (metric.expectations, metric.verdict)
    }

    #[test]
    fn a_limit_is_a_range_with_its_arithmetic() {
        let (ranges, verdict) = judged(row(95.0, [94.0, 96.0], None, Confidence::High));
        let [range] = &ranges[..] else { panic!("{ranges:?}") };
        assert_eq!((range.source.as_str(), range.low, range.high), ("limit", 90.0, 100.0));
        assert_eq!((range.text.as_str(), verdict), ("90 % to 100 % of 10 x 10", Some(ExpectationVerdict::AsExpected)));
    }

    #[test]
    fn the_whole_interval_must_be_outside() {
        let of = |median, ci95| judged(row(median, ci95, None, Confidence::Fair)).1;
        assert_eq!(of(80.0, [78.0, 82.0]), Some(ExpectationVerdict::Below));
        assert_eq!(of(88.0, [85.0, 91.0]), Some(ExpectationVerdict::AsExpected));
        assert_eq!(of(120.0, [110.0, 130.0]), Some(ExpectationVerdict::Above));
    }

    #[test]
    fn noise_is_no_verdict_and_the_undisturbed_value_is_judged_where_it_is_known() {
        assert_eq!(judged(row(60.0, [40.0, 70.0], None, Confidence::Low)).1, None);
        assert_eq!(
            judged(row(60.0, [40.0, 70.0], Some(97.0), Confidence::Low)).1,
            Some(ExpectationVerdict::AsExpected)
        );
        assert_eq!(judged(row(60.0, [40.0, 70.0], Some(70.0), Confidence::Fair)).1, Some(ExpectationVerdict::Below));
        assert_eq!(judged(row(60.0, [40.0, 70.0], Some(70.0), Confidence::Low)).1, None);
    }

    #[test]
    fn a_clock_is_held_against_the_base_clock() {
        let machine = |base_hz, boost_hz| {
            let mut machine = Machine::default();
            (machine.cpu.base_hz, machine.cpu.boost_hz) = (base_hz, boost_hz);
            of_clock(&machine)
        };
        assert_eq!(machine(None, Some(3e9)), None);
        assert_eq!(machine(Some(2e9), None).unwrap().text, "2.00 GHz (base) or more");
        assert_eq!(machine(Some(2e9), Some(3e9)).unwrap().text, "2.00 GHz (base) to 3.00 GHz (boost)");
    }
}
