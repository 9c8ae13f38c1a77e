//! Judges a whole run, and a stored run again.

use model::document::{Document, Row, Status};
use model::machine::Machine;
use model::sample::{Metric, Summary};
use model::warning::{self, Confidence, Warning, WarningCode};

use crate::rules::AreaRules;
use crate::{efficiency, findings, judge, samples, scaling};

const OF_EFFICIENCY: &[WarningCode] = &[WarningCode::PeakUnknown, WarningCode::AbovePeak, WarningCode::AboveDatasheet];

/// Judges a run again from its document; warnings that rest on what no document has are kept.
pub fn judge_again(document: &mut Document, rules: &[AreaRules]) {
    let Document { experiments, machine, .. } = &mut *document;
    for row in experiments.iter_mut().filter(|row| row.status == Status::Ok && !row.metrics.is_empty()) {
        judge_result(&AreaRules::of(rules, row.area), row, machine);
    }
    judge_together(document, rules);
}

/// Judges what only the results of a run together show: confidence, scaling, findings.
pub fn judge_together(document: &mut Document, rules: &[AreaRules]) {
    let (rows, machine) = (&mut document.experiments, &document.machine);
    for rules in rules {
        (rules.judge.together)(rows, machine);
    }
    document.run.confidence = headline_confidence(rows);
    scaling::set(rows, rules);
    document.findings = findings::findings(rows, machine, rules);
}

/// The worst confidence of the headline results: all but the scalar ones, which are for comparison only.
pub fn headline_confidence(rows: &[Row]) -> Option<Confidence> {
    let is_headline = |row: &&Row| !row.id.contains("/scalar/");
    rows.iter().filter(is_headline).filter_map(|row| row.confidence).max()
}

fn judge_result(rules: &AreaRules, row: &mut Row, machine: &Machine) {
    row.metrics.iter_mut().for_each(summarise);
    if row.conditions.disk.is_some() && judge::is_of_rounds(row) {
        judge::set_steady(row);
    }
    let is_renewed = |warning: &Warning| {
        warning.code.known().is_some_and(|code| judge::RENEWED.contains(&code) || OF_EFFICIENCY.contains(&code))
    };
    let mut renewed = judge::warnings_of_stored(rules, row);
    renewed.retain(is_renewed);
    renewed.extend(efficiency::judge(rules, row, machine));
    let mut warnings = Vec::new();
    for warning in std::mem::take(&mut row.warnings) {
        let same = renewed.iter().position(|other| other.code == warning.code);
        match same {
            Some(place) => warnings.push(renewed.remove(place)),
            None if is_renewed(&warning) => {}
            None => warnings.push(warning),
        }
    }
    row.warnings = warnings;
    row.warnings.extend(renewed);
    (rules.judge.losses)(row);
    efficiency::withdraw_impossible(row);
    row.confidence = Some(warning::confidence(&row.warnings));
}

/// Computes a summary from the samples again. Percentiles come from a histogram, which is not in the document.
fn summarise(metric: &mut Metric) {
    let samples = metric.samples.clone();
    if let Some(found) = samples::metric(metric.name.as_str(), metric.unit, metric.better, samples) {
        metric.summary = Summary { percentiles: metric.summary.percentiles, ..found.summary };
        metric.samples = found.samples;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{AREAS, document, metric_sample};

    fn of_samples(values: &[f64]) -> Document {
        let mut document = document();
        let metric = &mut document.experiments[0].metrics[0];
        metric.samples = values.iter().map(|value| metric_sample(*value).sample).collect();
        judge_again(&mut document, AREAS);
        document
    }

    #[test]
    fn a_stored_run_judged_again_gives_the_same_result() {
        for values in [&[1.0; 9][..], &[1.0, 1.1, 0.9, 1.05, 0.95, 1.2, 5.0], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]]
        {
            let judged = of_samples(values);
            let stored: Document = serde_json::from_str(&serde_json::to_string(&judged).unwrap()).unwrap();
            let mut again = stored.clone();
            judge_again(&mut again, AREAS);
            assert_eq!(again, stored, "{values:?}");
            assert_eq!(again.experiments[0].metrics[0].summary.n as usize, values.len());
        }
    }

    #[test]
    fn what_the_samples_do_not_say_any_more_is_gone_and_the_rest_is_kept() {
        let mut document = of_samples(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        let codes = |document: &Document| -> Vec<String> {
            document.experiments[0].warnings.iter().map(|warning| warning.code.to_string()).collect()
        };
        assert!(codes(&document).contains(&"drifting".to_owned()), "{:?}", codes(&document));
        document.experiments[0].warnings.insert(0, Warning::new(WarningCode::Steal, 0.5, "Seen."));
        document.experiments[0].metrics[0].samples.iter_mut().for_each(|sample| sample.value = 1.0);
        judge_again(&mut document, AREAS);
        assert!(codes(&document).contains(&"steal".to_owned()) && !codes(&document).contains(&"drifting".to_owned()));
        assert_eq!(document.experiments[0].confidence, Some(Confidence::Low), "for the time that was stolen");
    }
}
