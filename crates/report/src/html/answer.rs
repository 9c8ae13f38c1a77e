//! The answer and the headline benchmarks: the same sentences and values as on the terminal's first screen.

use areas::HeadlineRow;
use minijinja::{Value, context};
use model::document::Document;
use model::number::spread;
use model::sample::ExpectationVerdict;
use model::warning::Confidence;

use super::tables::Anchors;
use crate::terminal::answer::{expected, missing, scale, verdict, why_not_high};

pub(super) fn answer(document: &Document, lines: &[HeadlineRow<'_>]) -> Value {
    let answers = areas::answer_lines(document);
    let said = answers.iter().map(|line| {
        let below = line.verdict == Some(ExpectationVerdict::Below);
        context! { accent => line.area.name(), title => line.title, text => line.text, below }
    });
    context! {
        verdict => verdict(&answers),
        lines => said.collect::<Vec<_>>(),
        unplanned => areas::unplanned(document),
        why => why_not_high(lines),
        state => crate::terminal::state(document),
    }
}

pub(super) fn headlines(lines: &[HeadlineRow<'_>], anchors: &Anchors<'_>) -> Vec<Value> {
    let line = |line: &HeadlineRow<'_>| {
        let anchor = anchors.link(&line.row.id);
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
            expected => expected(metric, scale).replace("  ", ", "),
            below => metric.verdict == Some(ExpectationVerdict::Below),
            confidence => line.row.confidence.map(Confidence::name),
        }
    };
    lines.iter().map(line).collect()
}
