//! How steady the samples of the headline benchmarks were.

use model::document::Document;
use model::number::{quantity, spread};
use model::sample::Summary;

use super::builders::kind;
use super::data::{Body, Chart, ChartAxis, DotLine, Dots, Hue, Reading, Shape, is_drawable};
use super::measured::Measured;
use super::observed::{Seen, range};
use crate::answer::headlines;
use crate::label::labels;

/// A sample farther above the median than this is drawn at the end of the axis, so that the other samples stay apart.
const FARTHEST: f64 = 1.0;
/// Fewer samples do not show how steady a result is, and their median has no interval.
const FEWEST: usize = 6;

const ABOUT: &str = "Every sample of the headline benchmarks as a dot, relative to the result's median, with the median's 95 % \
                     interval; the end of each line has the median.";

pub(super) fn chart(document: &Document) -> Option<Chart> {
    let all = headlines(document).into_iter().filter_map(|line| {
        let own = Measured::find(line.row, line.metric?.name.as_str().parse().ok()?)?;
        let has_samples = own.value() > 0.0 && own.metric.samples.len() >= FEWEST && own.interval().is_some();
        has_samples.then(|| (own, format!("{}{}", labels(line.area).before, line.words)))
    });
    let shown: Vec<(Measured<'_>, String)> = all.collect();
    let half = |share: f64| Summary { median: 1.0, ci95: Some([1.0 - share, 1.0 + share]), ..Summary::default() };
    let widths = shown.iter().filter_map(|(measured, name)| {
        let [low, high] = measured.interval()?;
        Some(Seen { value: (high - low) / 2.0 / measured.value(), name: name.clone(), is_doubtful: false })
    });
    let observation = range(widths, |share| spread(&half(share), "\u{b1}"))?;
    let mut about = ABOUT.to_owned();
    if shown.iter().any(|(measured, _)| is_far(measured)) {
        about.push_str(" Samples above twice the median are at the end of the axis.");
    }
    let lines = shown.into_iter().map(|(measured, label)| line(&measured, label)).collect();
    let kinds = vec![kind("median with its 95 % interval", Shape::Circle, Some(Hue::Plain(1)))];
    let axis = ChartAxis::new("Difference from the result's median", Reading::Difference);
    Some(Chart {
        name: "run-samples",
        area: None,
        title: "How steady were the samples?".to_owned(),
        observation: format!("Half of the 95 % interval: {observation} of the median."),
        about,
        body: Body::Dots(Dots { axis, kinds, lines, spanned: false }),
    })
}

fn is_far(measured: &Measured<'_>) -> bool {
    let ends = measured.interval().into_iter().flatten();
    let values = measured.metric.samples.iter().map(|sample| sample.value).chain(ends);
    values.filter(|value| value.is_finite()).any(|value| value / measured.value() - 1.0 > FARTHEST)
}

fn line(measured: &Measured<'_>, label: String) -> DotLine {
    let median = measured.value();
    let about = |value: f64| (value / median - 1.0).min(FARTHEST);
    let samples = measured.metric.samples.iter().map(|sample| about(sample.value));
    let mut own = measured.dot(0);
    (own.at, own.interval) = (0.0, own.interval.map(|ends| ends.map(about)));
    let note = quantity(median, measured.notation());
    DotLine { label, note, marks: vec![own], samples: samples.filter(|value| is_drawable(*value)).collect() }
}
