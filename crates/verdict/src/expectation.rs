//! What a value should be, as a range with its source, and whether it is. The source is never a guess: without one there is
//! no range and no verdict.

use model::document::{Row, Status};
use model::machine::{ExpectedQuantity, Machine, MachineExpectation};
use model::number::{Notation, clock, percent_whole, quantity};
use model::peak::{Peak, PeakKind};
use model::sample::{Expectation, ExpectationVerdict, HIGHEST_CLOCK_HZ, Metric, MetricName, Summary};
use model::unit::Better;
use model::warning::Confidence;

use crate::rules::AreaRules;

/// The source of expectations from earlier runs of the same machine.
pub const HISTORY: &str = "history";
/// The share of its data sheet that a healthy device reaches; makers round, and state the slowest of a series.
const OF_DATASHEET: [f64; 2] = [0.9, 1.1];
/// What the hardware can do at most.
const LIMIT: &str = "limit";
/// Results of machines like this one.
const SIMILAR: &str = "similar";
/// The fewest other machines whose results are a range: fewer are shown, and judge nothing.
const LEAST_MACHINES: u32 = 3;
/// The sources of ranges, the most specific first.
const MOST_SPECIFIC: &[&str] = &["declared", "published", "datasheet", "link", LIMIT, SIMILAR, HISTORY];
/// Limits that are sources of ranges, the most specific first.
const SOURCES: &[(PeakKind, &str)] = &[
    (PeakKind::Declared, "declared"),
    (PeakKind::Datasheet, "datasheet"),
    (PeakKind::Link, "link"),
    (PeakKind::Limit, LIMIT),
    (PeakKind::Inferred, LIMIT),
    (PeakKind::Sustained, LIMIT),
];

/// Sets the expectations and the verdicts of a result whose limits and confidence are set.
pub fn set(rules: &AreaRules, row: &mut Row, machine: &Machine) {
    if row.status != Status::Ok {
        return;
    }
    let reach = (rules.limit.reach)(row);
    let faster_clock = row.metric(MetricName::Clock).and_then(undisturbed_clock).unwrap_or(1.0);
    let confidence = row.confidence;
    let quantity = |metric: &Metric| metric.name.known().and_then(|name| (rules.limit.published)(row, name, machine));
    let quantities: Vec<Option<ExpectedQuantity>> = row.metrics.iter().map(quantity).collect();
    for (index, (metric, quantity)) in row.metrics.iter_mut().zip(quantities).enumerate() {
        // Those from earlier runs are known when a run ends, and stored with it.
        metric.expectations.retain(|range| range.source == HISTORY);
        let is_clock = metric.name == MetricName::Clock;
        let of_limits = if index == 0 { of_limits(metric, reach, faster_clock) } else { Vec::new() };
        let is_nominal = matches!(quantity, Some(ExpectedQuantity::Clock | ExpectedQuantity::OneCoreClock));
        let of_clock = if is_clock && is_nominal { of_clock(machine) } else { None };
        let applies = |one: &&MachineExpectation| match quantity {
            _ if one.benchmark.is_some() => {
                one.benchmark.as_ref() == Some(&row.id) && one.metric.as_ref() == Some(&metric.name)
            }
            Some(quantity) => one.quantity == quantity,
            None => false,
        };
        let of_machine = machine.expected.iter().filter(applies).map(|one| one.range.clone());
        metric.expectations.extend(of_machine.chain(of_limits).chain(of_clock));
        judge(metric, confidence);
    }
}

/// Orders a metric's expectations and sets the verdict against the first that judges.
pub fn judge(metric: &mut Metric, confidence: Option<Confidence>) {
    let rank = |range: &Expectation| {
        let source = MOST_SPECIFIC.iter().position(|source| *source == range.source);
        (!judges(range), source.unwrap_or(MOST_SPECIFIC.len()))
    };
    metric.expectations.sort_by_key(rank);
    let first = metric.expectations.first().filter(|range| judges(range));
    metric.verdict = first.and_then(|range| verdict(metric, range, confidence));
}

/// The first metric of a result that is below its expected range, in a sentence; `None` without one.
pub fn below(row: &Row) -> Option<String> {
    let metric = row.metrics.iter().find(|metric| metric.verdict == Some(ExpectationVerdict::Below))?;
    let range = metric.expectations.first()?;
    let notation = Notation::of(row.area, metric.unit);
    let value = quantity(judged_value(metric), notation);
    let [from, to] = [range.low, range.high].map(|end| quantity(end, notation));
    Some(format!("{} {value} is below the expected {from} to {to} ({})", metric.name, source_words(range)))
}

/// Whether a value outside of a range is below or above what it should be.
pub(crate) fn judges(range: &Expectation) -> bool {
    range.source != SIMILAR || range.n.is_some_and(|n| n >= LEAST_MACHINES)
}

/// The clock without interference over the measured one.
fn undisturbed_clock(clock: &Metric) -> Option<f64> {
    Some(clock.summary.undisturbed.as_ref()?.value / clock.summary.median).filter(|factor| factor.is_finite())
}

fn of_limits(metric: &Metric, reach: Option<[f64; 2]>, faster_clock: f64) -> Vec<Expectation> {
    let range = |(kind, source): &(PeakKind, &str)| {
        let peak = metric.peaks.iter().find(|peak| peak.kind == *kind)?;
        let shares = if *kind == PeakKind::Datasheet { OF_DATASHEET } else { reach? };
        let value = match kind {
            PeakKind::Sustained => least_limit(metric, peak.value * faster_clock),
            _ => peak.value,
        };
        Some(of_peak(peak, value, shares, metric.better, source))
    };
    SOURCES.iter().filter_map(range).collect()
}

/// A limit at a measured clock, which is at least what was reached: the clock is measured in other moments than the value.
fn least_limit(metric: &Metric, limit: f64) -> f64 {
    let reached = metric.summary.undisturbed.as_ref().filter(|_| metric.better == Better::Higher);
    reached.map_or(limit, |undisturbed| limit.max(undisturbed.value))
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
    Some(Expectation { source: LIMIT.to_owned(), low, high, text, origin: None, date: None, n: None })
}

fn verdict(metric: &Metric, range: &Expectation, confidence: Option<Confidence>) -> Option<ExpectationVerdict> {
    let judged = JudgedValue::of(&metric.summary, confidence)?.against([range.low, range.high], metric.better)?;
    // Nothing exceeds a limit: the clock in it was measured too low, which is a warning.
    let is_impossible = judged == ExpectationVerdict::Above && range.source == LIMIT;
    Some(if is_impossible { ExpectationVerdict::AsExpected } else { judged })
}

/// A value that is held against a range: the undisturbed one where it is known, since noise is no property of the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct JudgedValue {
    pub(crate) value: f64,
    pub(crate) interval: [f64; 2],
    /// Whether it is of low confidence.
    pub(crate) is_low: bool,
}

impl JudgedValue {
    /// The judged value of a metric; `None` where its interval is unknown.
    pub(crate) fn of(summary: &Summary, confidence: Option<Confidence>) -> Option<Self> {
        let is_low = confidence == Some(Confidence::Low);
        let (value, interval) = match &summary.undisturbed {
            Some(undisturbed) => (undisturbed.value, undisturbed.ci95.unwrap_or([undisturbed.value; 2])),
            None => (summary.median, summary.ci95.filter(|_| !is_low)?),
        };
        Some(Self { value, interval, is_low })
    }

    /// The verdict against a range. The value is below or above where it is outside and its interval excludes the middle of
    /// the range, so that neither noise nor a tolerated difference alone decides. A value of low confidence can be as
    /// expected, but never below or above.
    pub(crate) fn against(&self, [least, most]: [f64; 2], better: Better) -> Option<ExpectationVerdict> {
        let (value, [low, high], middle) = (self.value, self.interval, f64::midpoint(least, most));
        // A wide range has a far middle: there the published value itself is excluded.
        let is_less = value < least && high < middle.min(least / OF_DATASHEET[0]);
        let is_more = value > most && low > middle.max(most / OF_DATASHEET[1]);
        match (is_less, is_more, better) {
            (false, false, _) => Some(ExpectationVerdict::AsExpected),
            _ if self.is_low => None,
            (true, _, Better::Higher) | (_, true, Better::Lower) => Some(ExpectationVerdict::Below),
            _ => Some(ExpectationVerdict::Above),
        }
    }
}

/// The source of a range in a few words: `limit`, `data sheet`, `last 5 runs`.
pub fn source_words(range: &Expectation) -> String {
    match (range.source.as_str(), range.n) {
        ("datasheet", _) => "data sheet".to_owned(),
        (HISTORY, Some(n)) => format!("last {n} runs"),
        (SIMILAR, Some(1)) => "1 machine like it".to_owned(),
        (SIMILAR, Some(n)) => format!("{n} machines like it"),
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
        let exceeded = judged(row(95.0, [94.0, 96.0], Some(104.0), Confidence::High));
        assert_eq!((exceeded.0[0].high, exceeded.1), (104.0, Some(ExpectationVerdict::AsExpected)));
    }

    #[test]
    fn the_value_is_outside_and_its_interval_excludes_the_middle() {
        let of = |median, ci95| judged(row(median, ci95, None, Confidence::Fair)).1;
        assert_eq!(of(80.0, [78.0, 82.0]), Some(ExpectationVerdict::Below));
        assert_eq!(of(88.0, [85.0, 91.0]), Some(ExpectationVerdict::Below));
        assert_eq!(of(88.0, [80.0, 96.0]), Some(ExpectationVerdict::AsExpected), "noise");
        let wide = Expectation { high: 1000.0, ..judged(row(95.0, [94.0, 96.0], None, Confidence::High)).0.remove(0) };
        let of_wide = |median, ci95| verdict(&row(median, ci95, None, Confidence::Fair).metrics[0], &wide, None);
        assert_eq!(of_wide(88.0, [70.0, 106.0]), Some(ExpectationVerdict::AsExpected), "noise against a wide range");
        assert_eq!(of_wide(80.0, [70.0, 90.0]), Some(ExpectationVerdict::Below));
        assert_eq!(of(91.0, [90.0, 92.0]), Some(ExpectationVerdict::AsExpected), "tolerated");
        assert_eq!(of(120.0, [110.0, 130.0]), Some(ExpectationVerdict::AsExpected), "nothing exceeds a limit");
        let declared = Expectation { source: "declared".into(), high: 100.0, ..wide };
        let above = verdict(&row(120.0, [110.0, 130.0], None, Confidence::Fair).metrics[0], &declared, None);
        assert_eq!(above, Some(ExpectationVerdict::Above));
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
