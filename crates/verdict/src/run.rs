//! Judges a run: what only its results together show, and a stored run again.

use model::document::{Document, Row, Status};
use model::sample::{Metric, Summary};
use model::warning::{self, Confidence};

use crate::rules::AreaRules;
use crate::{answer, efficiency, expectation, findings, history, samples, scaling};

/// Judges a stored run again by the rules of this version. Its warnings stay: most rest on what no document has.
pub fn judge_again(document: &mut Document, rules: &[AreaRules]) {
    let Document { experiments, machine, .. } = &mut *document;
    for row in experiments.iter_mut().filter(|row| row.status == Status::Ok && !row.metrics.is_empty()) {
        let of_area = AreaRules::of(rules, row.area);
        row.metrics.iter_mut().for_each(summarise);
        let of_efficiency = efficiency::judge(&of_area, row, machine);
        let is_new = |warning: &warning::Warning| !row.warnings.iter().any(|other| other.code == warning.code);
        row.warnings.extend(of_efficiency.filter(is_new));
        efficiency::withdraw_impossible(row);
        row.confidence = Some(warning::confidence(&row.warnings));
    }
    judge_together(document, &[], rules);
}

/// Computes a summary from the samples again. Percentiles come from a histogram, which is not in the document.
fn summarise(metric: &mut Metric) {
    let samples = metric.samples.clone();
    if let Some(found) = samples::metric(metric.name.as_str(), metric.unit, metric.better, samples) {
        metric.summary = Summary { percentiles: metric.summary.percentiles, ..found.summary };
        metric.samples = found.samples;
    }
}

/// Sets confidence, scaling, expectations and findings of a run; `earlier` are complete runs of the same machine before it.
pub fn judge_together(document: &mut Document, earlier: &[Document], rules: &[AreaRules]) {
    let (rows, machine) = (&mut document.experiments, &document.machine);
    for rules in rules {
        (rules.judge.together)(rows, machine);
    }
    document.run.confidence = headline_confidence(rows);
    scaling::set(rows, rules);
    for row in rows.iter_mut() {
        expectation::set(&AreaRules::of(rules, row.area), row, machine);
    }
    document.findings = findings::findings(rows, machine, rules);
    history::add(document, earlier);
    document.answers = answer::answers(document, rules);
}

/// The worst confidence of the headline results: all but the scalar ones, which are for comparison where there are others.
pub fn headline_confidence(rows: &[Row]) -> Option<Confidence> {
    let is_headline = |row: &&Row| !row.id.contains("/scalar/");
    let of_headline = rows.iter().filter(is_headline).filter_map(|row| row.confidence).max();
    of_headline.or_else(|| rows.iter().filter_map(|row| row.confidence).max())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{AREAS, document, sample};

    #[test]
    fn a_run_of_scalar_results_alone_has_their_confidence() {
        let mut document = document();
        let row = document.experiments[0].clone();
        let with = |id: &str, confidence| Row { id: id.into(), confidence: Some(confidence), ..row.clone() };
        let scalar = with("cpu/fma/fp64/scalar/t1", Confidence::Low);
        document.experiments = vec![scalar.clone()];
        assert_eq!(headline_confidence(&document.experiments), Some(Confidence::Low));
        document.experiments.push(with("cpu/fma/fp64/avx2/t1", Confidence::High));
        assert_eq!(headline_confidence(&document.experiments), Some(Confidence::High));
        assert_eq!(headline_confidence(&[Row { confidence: None, ..scalar }]), None);
    }

    #[test]
    fn a_stored_run_judged_again_is_the_same_and_follows_its_samples() {
        for values in [&[1.0; 9][..], &[1.0, 1.1, 0.9, 1.05, 0.95, 1.2, 5.0]] {
            let mut judged = document();
            judged.experiments[0].metrics[0].samples = values.iter().map(|value| sample(*value)).collect();
            judge_again(&mut judged, AREAS);
            let mut again: Document = serde_json::from_str(&serde_json::to_string(&judged).unwrap()).unwrap();
            judge_again(&mut again, AREAS);
            assert_eq!(again, judged, "{values:?}");
            assert_eq!(again.experiments[0].metrics[0].summary.n as usize, values.len());
        }
    }
}
