//! Whether each area is as fast as it should be, in one line: the verdict and the one fact that explains it.

mod cause;

use model::document::{Answer, Document, Row, Status};
use model::experiment::Area;
use model::machine::Machine;
use model::number::{Notation, UnitScale, clock, percent_whole};
use model::peak::PeakKind;
use model::sample::{ExpectationVerdict, Metric, MetricName};
use model::unit::Better;

use self::cause::{LOST, cause, taken};
use crate::expectation::{HISTORY, judged_value, judges, source_words};
use crate::headline::{self, Headline};
use crate::rules::{AreaRules, Resource};

/// The answers of all areas of a run, in their order.
pub fn answers(document: &Document, table: &[AreaRules]) -> Vec<Answer> {
    let of = |area: &Area| {
        let rows: Vec<&Row> = document.experiments.iter().filter(|row| row.area == *area).collect();
        (!rows.is_empty()).then(|| answer(&AreaRules::of(table, *area), &rows, &document.machine))
    };
    Area::ALL.iter().filter_map(of).collect()
}

/// A line of the first screen of a run.
#[derive(Clone, Debug)]
pub struct HeadlineRow<'a> {
    /// Its area.
    pub area: Area,
    /// The area's name on its first line, else empty.
    pub group: &'static str,
    /// The line's text.
    pub words: String,
    /// The benchmark.
    pub row: &'a Row,
    /// The name of its metric.
    pub metric_name: MetricName,
    /// The metric that is shown; `None` where it was not measured.
    pub metric: Option<&'a Metric>,
}

/// The lines of the areas of these benchmarks, in order, on a machine with this many CPUs; and the titles of those
/// without a benchmark.
pub fn headline_rows<'a>(all: &'a [Row], cpus: u32, table: &[AreaRules]) -> (Vec<HeadlineRow<'a>>, Vec<&'static str>) {
    let mut last = "";
    let (mut lines, mut unplanned) = (Vec::new(), Vec::new());
    for rules in table {
        let rows: Vec<&Row> = all.iter().filter(|row| row.area == rules.area).collect();
        let title = (rules.answer.no_answer)(&rows).map_or(rules.answer.title, |[title, _]| title);
        let planned = headline::planned(rules.answer.headlines, &rows, cpus);
        for (line, found) in rules.answer.headlines.iter().zip(planned).filter(|_| !rows.is_empty()) {
            let Some((headline, row)) = found else {
                unplanned.extend(line.first().map(|headline| headline.title));
                continue;
            };
            let group = if title == last { "" } else { title };
            let metric = headline.metric(row);
            let (words, metric_name) = (headline.words(row), headline.metric);
            lines.push(HeadlineRow { area: rules.area, group, words, row, metric_name, metric });
            last = title;
        }
    }
    unplanned.dedup();
    (lines, unplanned)
}

/// A headline benchmark with its value and what it should be.
struct Judged<'a> {
    headline: &'a Headline,
    row: &'a Row,
    metric: &'a Metric,
}

fn answer(rules: &AreaRules, rows: &[&Row], machine: &Machine) -> Answer {
    let found = headline::planned(rules.answer.headlines, rows, machine.cpu.count());
    let planned: Vec<(&Headline, &Row)> = found.into_iter().flatten().collect();
    let judge = |&(headline, row)| Some(Judged { headline, row, metric: Headline::metric(headline, row)? });
    let judged: Vec<Judged<'_>> = planned.iter().filter_map(judge).collect();
    let with = |verdict| judged.iter().filter(|one| one.metric.verdict == Some(verdict)).collect::<Vec<_>>();
    let [below, as_expected, above] =
        [ExpectationVerdict::Below, ExpectationVerdict::AsExpected, ExpectationVerdict::Above].map(with);
    let (verdict, text, evidence) = if let Some([_, reason]) = (rules.answer.no_answer)(rows) {
        (None, reason.to_owned(), Vec::new())
    } else if planned.is_empty() && rows.iter().any(|row| row.status == Status::Ok) {
        (None, "not judged: this run has no headline benchmark".to_owned(), Vec::new())
    } else if judged.is_empty() {
        (None, not_measured(rows), Vec::new())
    } else if !below.is_empty() {
        (Some(ExpectationVerdict::Below), is_below(&below, machine, rules.uses), below)
    } else if !as_expected.is_empty() {
        let text = as_expected_words(&as_expected);
        (Some(ExpectationVerdict::AsExpected), text, as_expected)
    } else if !above.is_empty() {
        (Some(ExpectationVerdict::Above), format!("above what was expected: {}", compared(above[0])), above)
    } else if judged.iter().any(|one| one.metric.expectations.iter().any(judges)) {
        (None, "confidence too low to judge".to_owned(), judged.iter().collect())
    } else {
        (None, unknown(&judged, rules.answer.unknown), judged.iter().collect())
    };
    let mut evidence: Vec<String> = evidence.iter().map(|one| one.row.id.clone()).collect();
    evidence.dedup();
    Answer { area: rules.area, verdict, text, evidence }
}

/// Why there is no verdict: nothing is known, or too little; and what gives one.
fn unknown(judged: &[Judged<'_>], advice: &str) -> String {
    let too_few = judged.iter().find_map(|one| one.metric.expectations.first()).map(source_words);
    let reason = too_few.map_or("no expectation known".to_owned(), |source| format!("no verdict from {source}"));
    format!("{reason}; {advice}")
}

/// Why nothing was measured: the reason of the first benchmark.
fn not_measured(rows: &[&Row]) -> String {
    let failed = rows.iter().find(|row| row.status == Status::Failed);
    let reason = failed.or(rows.first()).and_then(|row| row.reason.as_deref());
    match reason {
        Some("time_budget") => "not measured: the time budget was used up".to_owned(),
        Some("write_budget") => "not measured: the write budget was used up".to_owned(),
        Some(reason) => format!("not measured: {reason}"),
        None => "not measured".to_owned(),
    }
}

/// The worst shortfall with its cause; how many others there are.
fn is_below(below: &[&Judged<'_>], machine: &Machine, uses: &[Resource]) -> String {
    let worst = below.iter().min_by(|a, b| shortfall(a.metric).total_cmp(&shortfall(b.metric)));
    let others = match below.len() {
        0 | 1 => String::new(),
        2 => "; 1 more is below".to_owned(),
        n => format!("; {} more are below", n - 1),
    };
    let words = worst.map(|one| format!("{}; {}", compared(one), cause(one.row, machine, uses)));
    format!("BELOW: {}{others}", words.unwrap_or_default())
}

/// The value over the nearer end of its range: below 1 where it falls short.
fn shortfall(metric: &Metric) -> f64 {
    let Some(range) = metric.expectations.first() else { return 1.0 };
    match metric.better {
        Better::Higher => judged_value(metric) / range.low,
        Better::Lower => range.high / judged_value(metric),
    }
}

/// `FP64 FMA, 2 threads 120 GFLOP/s, expected 165 to 178 (limit)`.
fn compared(one: &Judged<'_>) -> String {
    let value = judged_value(one.metric);
    let scale = UnitScale::of(value, Notation::of(one.row.area, one.metric.unit));
    let expected = one.metric.expectations.first().map(|range| {
        let ends = if one.metric.name == MetricName::Clock && range.source != HISTORY {
            range.text.clone()
        } else {
            format!("{} to {}", scale.three(range.low), scale.three(range.high))
        };
        format!(", expected {ends} ({})", source_words(range))
    });
    let words = one.headline.words(one.row);
    format!("{words} {} {}{}", scale.three(value), scale.unit(), expected.unwrap_or_default())
}

/// `as expected when undisturbed: 97 % of its limit at 3.04 GHz; other VMs on the host took 12 % of CPU time`.
fn as_expected_words(expected: &[&Judged<'_>]) -> String {
    let of_limit = expected.iter().find_map(|one| {
        let sustained = one.metric.peaks.iter().find(|peak| peak.kind == PeakKind::Sustained)?;
        let clock_metric = one.row.metric(MetricName::Clock)?;
        let hz = judged_value(clock_metric);
        let share = judged_value(one.metric) / (sustained.value * hz / clock_metric.summary.median);
        Some(format!(": {} of its limit at {}", percent_whole(share.min(1.0)), clock(hz)))
    });
    let lost = expected.iter().filter_map(|one| lost(one.metric)).fold(0.0, f64::max);
    let of_history = || {
        let ranges = expected.iter().filter_map(|one| one.metric.expectations.first());
        let runs = ranges.filter(|range| range.source == HISTORY).filter_map(|range| range.n).max()?;
        Some(format!(": like its last {runs} runs"))
    };
    let share = of_limit.or_else(of_history).unwrap_or_default();
    if lost < LOST {
        return format!("as expected{share}");
    }
    let taken = expected.iter().filter_map(|one| taken(one.row)).max_by(|one, other| one.0.total_cmp(&other.0));
    let throttled = expected.iter().filter_map(|one| one.row.conditions.throttled).fold(0.0, f64::max);
    let cause = match taken {
        _ if throttled >= LOST => format!("a CPU quota stopped it for {} of the time", percent_whole(throttled)),
        Some((taken, by)) => format!("{by} took {} of CPU time", percent_whole(taken)),
        None => format!("interference took {} of its rate", percent_whole(lost)),
    };
    format!("as expected when undisturbed{share}; {cause}")
}

/// The share of the undisturbed rate that interference took.
fn lost(metric: &Metric) -> Option<f64> {
    let undisturbed = metric.summary.undisturbed.as_ref()?.value;
    Some(match metric.better {
        Better::Higher => 1.0 - metric.summary.median / undisturbed,
        Better::Lower => 1.0 - undisturbed / metric.summary.median,
    })
}

#[cfg(test)]
mod tests {
    use model::sample::{Expectation, Undisturbed};

    use super::*;
    use crate::headline::AnswerRules;
    use crate::tests::{AREAS, document};

    const HEADLINES: &[&[Headline]] = &[&[Headline {
        title: "FP64",
        metric: MetricName::Throughput,
        rank: |row| Some(row.params.threads().into()),
        detail: |row| format!("{} threads", row.params.threads()),
    }]];

    fn rules() -> AreaRules {
        AreaRules {
            answer: AnswerRules { headlines: HEADLINES, unknown: "declare one", ..AnswerRules::DEFAULT },
            ..AreaRules::of(AREAS, Area::Cpu)
        }
    }

    fn said(
        verdict: Option<ExpectationVerdict>,
        change: impl FnOnce(&mut Row),
    ) -> (Option<ExpectationVerdict>, String) {
        let mut row = document().experiments.remove(0);
        let expectation = Expectation {
            source: "limit".into(),
            low: 150e9,
            high: 170e9,
            text: String::new(),
            origin: None,
            date: None,
            n: None,
        };
        row.metrics[0].summary.median = 120e9;
        row.metrics[0].expectations = vec![expectation];
        row.metrics[0].verdict = verdict;
        change(&mut row);
        let answer = answer(&rules(), &[&row], &Machine::default());
        (answer.verdict, answer.text)
    }

    #[test]
    fn each_verdict_has_its_sentence() {
        let below = said(Some(ExpectationVerdict::Below), |_| {});
        let words = "BELOW: FP64, 1 threads 120 GFLOP/s, expected 150 to 170 (limit); no cause found";
        assert_eq!(below, (Some(ExpectationVerdict::Below), words.to_owned()));
        assert_eq!(said(Some(ExpectationVerdict::AsExpected), |_| {}).1, "as expected");
        assert!(said(Some(ExpectationVerdict::Above), |_| {}).1.starts_with("above what was expected: FP64"));
        assert_eq!(said(None, |_| {}), (None, "confidence too low to judge".to_owned()));
        assert_eq!(said(None, |row| row.metrics[0].expectations.clear()).1, "no expectation known; declare one");
        let one_machine = |row: &mut Row| {
            let range = &mut row.metrics[0].expectations[0];
            (range.source, range.n) = ("similar".to_owned(), Some(1));
        };
        assert_eq!(said(None, one_machine).1, "no verdict from 1 machine like it; declare one");
    }

    #[test]
    fn threads_with_a_cpu_each_come_first_and_then_what_the_machine_can_run() {
        let of = |threads, reason: Option<&str>| {
            let mut row = document().experiments.remove(0);
            if let model::experiment::Params::Cpu(own) = &mut row.params {
                own.threads = threads;
            }
            if let Some(reason) = reason {
                (row.status, row.reason) = (Status::Skipped, Some(reason.to_owned()));
            }
            row
        };
        let chosen = |rows: &[Row], cpus| {
            let rows: Vec<&Row> = rows.iter().collect();
            headline::planned(HEADLINES, &rows, cpus)[0].map(|(_, row)| row.params.threads())
        };
        let rows = [of(1, None), of(2, None), of(8, None)];
        assert_eq!([1, 2, 3, 8].map(|cpus| chosen(&rows, cpus)), [Some(1), Some(2), Some(2), Some(8)]);
        assert_eq!(chosen(&rows[2..], 2), Some(8), "there is no other");
        let needs = [of(1, None), of(2, Some("it needs more memory than there is")), of(8, None)];
        assert_eq!(chosen(&needs, 2), Some(1), "what the machine cannot run");
        let late = [of(1, None), of(2, Some("time_budget"))];
        assert_eq!(chosen(&late, 2), Some(2), "the lines are the same, whatever came of them");
    }

    #[test]
    fn interference_is_named_where_it_took_more_than_a_little() {
        let disturbed = |median: f64, [processes, vms]: [f64; 2]| {
            said(Some(ExpectationVerdict::AsExpected), |row| {
                (row.conditions.other_load, row.conditions.steal) = (Some(processes), Some(vms));
                let of = Undisturbed { value: 160e9, ci95: None, n: 9, of: String::new() };
                row.metrics[0].summary.undisturbed = Some(of);
                row.metrics[0].summary.median = median;
            })
            .1
        };
        assert_eq!(disturbed(158e9, [0.0, 0.3]), "as expected");
        for (shares, by) in [
            ([0.0, 0.24], "other VMs on the host took 24 % of CPU time"),
            ([0.2, 0.001], "other processes took 20 % of CPU time"),
            ([0.1, 0.1], "other processes and VMs took 20 % of CPU time"),
            ([0.0, 0.01], "interference took 25 % of its rate"),
        ] {
            assert_eq!(disturbed(120e9, shares), format!("as expected when undisturbed; {by}"));
        }
        let throttled = said(Some(ExpectationVerdict::AsExpected), |row| {
            row.conditions.throttled = Some(0.5);
            let of = Undisturbed { value: 160e9, ci95: None, n: 9, of: String::new() };
            row.metrics[0].summary.undisturbed = Some(of);
        });
        assert_eq!(throttled.1, "as expected when undisturbed; a CPU quota stopped it for 50 % of the time");
    }

    #[test]
    fn what_earlier_runs_of_the_machine_reached_is_named() {
        let of_history = |verdict| {
            said(Some(verdict), |row| {
                let range = &mut row.metrics[0].expectations[0];
                (range.source, range.n) = (HISTORY.to_owned(), Some(4));
            })
            .1
        };
        let as_expected = of_history(ExpectationVerdict::AsExpected);
        assert_eq!(as_expected, "as expected: like its last 4 runs");
        assert!(of_history(ExpectationVerdict::Below).contains(" (last 4 runs)"));
    }

    #[test]
    fn a_benchmark_that_was_not_measured_says_why() {
        let skipped = |row: &mut Row| {
            (row.status, row.reason) = (Status::Skipped, Some("time_budget".into()));
            row.metrics.clear();
        };
        assert_eq!(said(None, skipped).1, "not measured: the time budget was used up");
    }
}
