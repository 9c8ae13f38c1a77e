//! What a machine has reached in its own earlier runs, as the expectation of a result for which nothing more specific is known.

use model::document::{Document, Row, Status};
use model::number::{Notation, counted, quantity};
use model::sample::{Expectation, Metric, MetricName};
use model::warning::Confidence;

use crate::compare::serves_as_history;
use crate::expectation::{HISTORY, judge, judged_value};

/// The most earlier runs: older ones may be from another state of the machine.
pub const MOST_RUNS: usize = 10;
/// The fewest earlier runs: two may agree by chance.
const LEAST_RUNS: usize = 3;
/// How far beyond the values of earlier runs a value may be: runs of an unchanged machine differ by a few per cent. Where
/// they differ by more, it may be as far beyond as three runs are apart, and less far the more runs there are: of a few runs the
/// next one often is outside.
pub(crate) const MARGIN: f64 = 0.05;
/// The metrics that say how fast a machine is.
const METRICS: [MetricName; 4] = [MetricName::Throughput, MetricName::Latency, MetricName::Iops, MetricName::Clock];

/// Whether a run shows what another should reach: an earlier, complete one of the same machine.
pub fn precedes(earlier: &Document, run: &Document) -> bool {
    serves_as_history(earlier, run, run)
}

/// Adds the expectations of a run from earlier ones, and the verdicts of results that have no other expectation.
pub fn add(document: &mut Document, earlier: &[Document]) {
    for row in document.experiments.iter_mut().filter(|row| row.status == Status::Ok) {
        let (same, confidence, area) = (rows_like(row, earlier), row.confidence, row.area);
        for name in METRICS {
            let Some(metric) = row.metrics.iter_mut().find(|metric| metric.name == name) else { continue };
            let values: Vec<f64> = same.iter().filter_map(|row| value(row, name)).take(MOST_RUNS).collect();
            metric.expectations.extend(range(&values, Notation::of(area, metric.unit)));
            judge(metric, confidence);
        }
    }
}

/// The results of the same benchmark by the same method.
fn rows_like<'a>(row: &Row, runs: &'a [Document]) -> Vec<&'a Row> {
    let same = |other: &&Row| other.id == row.id && other.method == row.method && other.status == Status::Ok;
    runs.iter().filter_map(|run| run.experiments.iter().find(same)).collect()
}

/// The value that was judged; `None` where interference may have changed it.
fn value(row: &Row, name: MetricName) -> Option<f64> {
    let is_known = |metric: &&Metric| metric.summary.undisturbed.is_some() || row.confidence != Some(Confidence::Low);
    row.metric(name).filter(is_known).map(judged_value).filter(|value| *value > 0.0)
}

fn range(values: &[f64], notation: Notation) -> Option<Expectation> {
    let n = values.len();
    let least = values.iter().copied().reduce(f64::min).filter(|_| n >= LEAST_RUNS)?;
    let most = values.iter().copied().fold(least, f64::max);
    let [from, to] = [least, most].map(|value| quantity(value, notation));
    let runs = counted(n as u64, "run");
    let text = format!(
        "{from} to {to}, which the last {runs} of this machine reached, and a part of that range on both sides (5 % at least)"
    );
    let beyond = (most - least) * LEAST_RUNS as f64 / n as f64;
    let [below, above] = [least, most].map(|end| (MARGIN * end).max(beyond));
    let (low, high, n) = ((least - below).max(0.0), most + above, u32::try_from(n).ok());
    Some(Expectation { source: HISTORY.to_owned(), low, high, text, origin: None, date: None, n })
}

#[cfg(test)]
mod tests {
    use model::sample::ExpectationVerdict;

    use super::*;
    use crate::tests::document;

    fn run(started: &str, median: f64) -> Document {
        let mut run = document();
        (run.run.started, run.run.id, run.run.complete) = (started.to_owned(), started.to_owned(), true);
        let summary = &mut run.experiments[0].metrics[0].summary;
        (summary.median, summary.ci95) = (median, Some([0.99 * median, 1.01 * median]));
        run
    }

    fn judged(median: f64, earlier: &[Document]) -> (Vec<Expectation>, Option<ExpectationVerdict>) {
        let mut new = run("9", median);
        add(&mut new, earlier);
        let metric = new.experiments.remove(0).metrics.remove(0);
        (metric.expectations, metric.verdict)
    }

    #[test]
    fn three_earlier_runs_say_what_a_machine_should_reach() {
        let earlier = ["1", "2", "3"].map(|started| run(started, 100.0 + started.parse::<f64>().unwrap()));
        assert!(earlier.iter().all(|one| precedes(one, &run("9", 1.0))) && !precedes(&run("9", 1.0), &earlier[0]));
        assert_eq!(judged(100.0, &earlier[..2]), (Vec::new(), None), "two may agree by chance");
        let (ranges, verdict) = judged(100.0, &earlier);
        let [range] = &ranges[..] else { panic!("{ranges:?}") };
        assert_eq!((range.source.as_str(), range.n, verdict), (HISTORY, Some(3), Some(ExpectationVerdict::AsExpected)));
        assert!((range.low - 0.95 * 101.0).abs() < 1e-9 && (range.high - 1.05 * 103.0).abs() < 1e-9, "{range:?}");
        assert_eq!(judged(80.0, &earlier).1, Some(ExpectationVerdict::Below));
        assert_eq!(judged(130.0, &earlier).1, Some(ExpectationVerdict::Above));
        // A machine that varies gives a wide range: the fourth of four equal runs is the lowest one in every fourth case.
        let varying = ["1", "2", "3"].map(|started| run(started, 10.0 * started.parse::<f64>().unwrap() + 80.0));
        assert_eq!(judged(75.0, &varying).1, Some(ExpectationVerdict::AsExpected));
        assert_eq!(judged(60.0, &varying).1, Some(ExpectationVerdict::Below));
    }

    #[test]
    fn runs_of_other_methods_and_values_under_interference_say_nothing() {
        let mut earlier = ["1", "2", "3"].map(|started| run(started, 100.0));
        earlier[0].experiments[0].method = "another/1".to_owned();
        assert_eq!(judged(100.0, &earlier).0, Vec::new());
        earlier[0] = run("1", 100.0);
        earlier[0].experiments[0].confidence = Some(Confidence::Low);
        assert_eq!(judged(100.0, &earlier).0, Vec::new());
    }
}
