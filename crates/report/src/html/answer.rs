//! The answer and the headline benchmarks: the same sentences and values as on the terminal's first screen.

use areas::HeadlineRow;
use areas::label::labels;
use minijinja::{Value, context};
use model::document::{Document, Status};
use model::number::{counted, spread};
use model::sample::ExpectationVerdict;
use model::warning::Confidence;

use super::log::WarningKind;
use super::tables::Anchors;
use crate::terminal::answer::{expected, missing, scale, verdict, why_low};

const MOST_WARNINGS: usize = 4;

/// The verdict on the machine, the answers of its areas, why confidence is low, the most frequent warnings, and how many
/// results have no value.
pub(super) fn answer(document: &Document, lines: &[HeadlineRow<'_>], kinds: &[WarningKind]) -> Value {
    let answers = document.answers.iter().map(|answer| {
        let below = answer.verdict == Some(ExpectationVerdict::Below);
        context! { accent => answer.area.name(), title => labels(answer.area).title, text => answer.text, below }
    });
    let warnings = kinds.iter().filter(|kind| kind.lowered() > 0).take(MOST_WARNINGS);
    context! {
        verdict => verdict(&document.answers),
        lines => answers.collect::<Vec<_>>(),
        why_low => why_low(lines),
        warnings => warnings.collect::<Vec<_>>(),
        absent => absent(document),
        state => crate::terminal::state(document),
    }
}

/// `1 failed, 4 skipped`; empty where all results have values.
fn absent(document: &Document) -> String {
    let count = |status: Status| document.experiments.iter().filter(|row| row.status == status).count();
    let counts = [Status::Failed, Status::Skipped].map(|status| (count(status), status.name()));
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, name)| format!("{} {name}", counted(*count as u64, "result"))).collect::<Vec<_>>().join(", ")
}

/// The lines of the headline table.
pub(super) fn headlines(lines: &[HeadlineRow<'_>], anchors: &Anchors<'_>) -> Vec<Value> {
    let line = |line: &HeadlineRow<'_>| {
        let anchor = line.row.and_then(|row| anchors.link(&row.id));
        let words = &line.words;
        let Some(metric) = line.metric else {
            return context! { group => line.group, accent => line.area.name(), words, anchor, missing => missing(line) };
        };
        let scale = scale(metric, line.area);
        context! {
            group => line.group,
            accent => line.area.name(),
            words,
            anchor,
            measured => scale.three(metric.summary.median),
            unit => scale.unit(),
            spread => spread(&metric.summary, "±"),
            undisturbed => metric.summary.undisturbed.as_ref().map(|found| scale.three(found.value)),
            expected => expected(metric, scale),
            below => metric.verdict == Some(ExpectationVerdict::Below),
            confidence => line.row.and_then(|row| row.confidence).map(Confidence::name),
        }
    };
    lines.iter().map(line).collect()
}
