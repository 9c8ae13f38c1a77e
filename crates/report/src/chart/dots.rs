//! Charts of results side by side: a line for each, with its marks along a common axis.

use areas::chart::{DotLine, Dots, Hue, Reading, is_drawable};

use super::key::{self, Item, Sign, mark_class};
use super::scale::Scale;
use super::style::hue_class;
use super::svg::{Anchor, At, Canvas, NARROW, RADIUS, cut, text_width, widest};

/// Height of a line: with its label next to it, and above it.
const STEP: f64 = 26.0;
const STEP_NARROW: f64 = 38.0;
const LABEL_SHARE: f64 = 0.4;
const SAMPLE: f64 = 2.6;

pub(super) fn draw(dots: &Dots, width: f64) -> (Canvas, f64) {
    let mut canvas = Canvas::of(width);
    let is_wide = width > NARROW;
    let top = key::draw(&mut canvas, &items(dots), width);
    let labels = widest(dots.lines.iter().map(|line| &line.label));
    let left = if is_wide { labels.min(width * LABEL_SHARE) + 18.0 } else { 10.0 };
    let notes = widest(dots.lines.iter().map(|line| &line.note));
    let right = width - if notes > 0.0 { notes + 14.0 } else { 26.0 };
    let scale = scale(dots, (left, right), width);
    let step = if is_wide { STEP } else { STEP_NARROW };
    let bottom = top + step * dots.lines.len() as f64 + 4.0;
    for tick in &scale.ticks {
        let (Some(at), Some(middle)) = (scale.at(tick.value), scale.middle(tick, (0.0, width))) else { continue };
        let origin = match dots.axis.reading {
            Reading::Ratio => Some(1.0),
            Reading::Difference => Some(0.0),
            _ => None,
        };
        let is_origin = origin.is_some_and(|origin: f64| (tick.value - origin).abs() < 1e-9);
        canvas.line(if is_origin { "frame" } else { "grid" }, (at, top), (at, bottom));
        canvas.text("tick", (middle, bottom + 15.0), Anchor::Middle, &tick.text);
    }
    let unit = cut(&scale.titled(dots.axis.title), width - 4.0);
    let half = text_width(&unit) / 2.0;
    let middle = f64::midpoint(left, right).clamp(half.min(width / 2.0), (width - half).max(width / 2.0));
    canvas.text("unit", (middle, bottom + 34.0), Anchor::Middle, &unit);
    for (index, line) in dots.lines.iter().enumerate() {
        let at = top + step * index as f64 + if is_wide { step / 2.0 } else { step * 0.7 };
        if is_wide {
            canvas.text("name", (left - 14.0, at + 4.0), Anchor::End, &cut(&line.label, left - 18.0));
        } else {
            canvas.text("name", (0.0, at - 14.0), Anchor::Start, &cut(&line.label, width));
        }
        canvas.text("name", (width, at + 4.0), Anchor::End, &line.note);
        draw_line(&mut canvas, dots, line, &scale, at);
    }
    (canvas, bottom + 44.0)
}

fn scale(dots: &Dots, ends: (f64, f64), width: f64) -> Scale {
    let marks = || dots.lines.iter().flat_map(|line| &line.marks);
    let is_positive = marks().all(|mark| mark.at > 0.0);
    let intervals = marks().filter_map(|mark| mark.interval).flatten();
    let samples = dots.lines.iter().flat_map(|line| line.samples.iter().copied());
    let all = marks().map(|mark| mark.at).chain(intervals).chain(samples);
    let all = all.filter(|value| is_drawable(*value) && (!is_positive || *value > 0.0));
    Scale::new(dots.axis.reading, &all.collect::<Vec<_>>(), (ends.0 + 6.0, ends.1 - 6.0), 6).thinned((0.0, width))
}

fn items(dots: &Dots) -> Vec<Item> {
    let marks = || dots.lines.iter().flat_map(|line| &line.marks);
    let used = dots.kinds.iter().enumerate().filter(|(index, _)| marks().any(|mark| mark.kind == *index));
    let kinds = used.map(|(_, kind)| Item::new(Sign::Mark { hue: kind.hue, shape: kind.shape }, &kind.name));
    let has_samples = dots.lines.iter().any(|line| !line.samples.is_empty());
    let has_whiskers = !has_samples && marks().any(|mark| mark.interval.is_some());
    let has_hollow = marks().any(|mark| mark.mark.is_doubtful());
    kinds
        .chain(has_samples.then(|| Item::new(Sign::Sample, "one sample each")))
        .chain(has_whiskers.then(|| Item::new(Sign::Whisker, "95 % interval")))
        .chain(has_hollow.then(Item::hollow))
        .collect()
}

fn draw_line(canvas: &mut Canvas, dots: &Dots, line: &DotLine, scale: &Scale, y: f64) {
    let places: Vec<f64> = line.marks.iter().filter_map(|mark| scale.at(mark.at)).collect();
    let least = places.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if dots.spanned && greatest > least {
        canvas.line("span", (least, y), (greatest, y));
    }
    for mark in &line.marks {
        let (Some(at), Some([low, high])) = (scale.at(mark.at), mark.interval) else { continue };
        let (from, to) = (scale.clamped(low), scale.clamped(high));
        if (at - from).max(to - at) > RADIUS {
            let own = dots.kinds[mark.kind].hue.filter(|_| line.samples.is_empty());
            canvas.line(&format!("whisker t{}", hue_class(own.unwrap_or(Hue::Plain(2)))), (from, y), (to, y));
        }
    }
    let samples: Vec<At> = line.samples.iter().filter_map(|value| Some((scale.at(*value)?, y))).collect();
    canvas.dots(&samples, SAMPLE);
    // Limits are under the measured values.
    let mut marks: Vec<_> = line.marks.iter().collect();
    marks.sort_by_key(|mark| dots.kinds[mark.kind].hue.is_some());
    for mark in marks {
        let Some(at) = scale.at(mark.at) else { continue };
        let kind = &dots.kinds[mark.kind];
        canvas.mark(&mark_class(kind.hue, mark.mark.is_doubtful()), kind.shape, (at, y), &mark.mark);
    }
}
