//! Metrics over many nodes, a line each on one axis: every value is a share of the median of its metric, slower to the
//! left. Few nodes are dots, many are a histogram, so that the size of a drawing does not grow with the number of nodes.

use std::collections::BTreeMap;

use areas::chart::{Mark, Reading, Shape};
use model::experiment::Area;
use model::number::{percent, percent_whole};

use super::drawing::svgs;
use super::scale::Scale;
use super::svg::{Anchor, At, Canvas, NARROW, TEXT, cut, text_width, widest};

#[derive(Clone, Debug)]
pub(crate) struct Strip {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) median: String,
    pub(crate) value: f64,
    pub(crate) text: String,
    pub(crate) shares: Vec<f64>,
    /// First and third quartile as such shares, the slower one first.
    pub(crate) quartiles: [f64; 2],
    /// A node below this share is an outlier.
    pub(crate) limit: Option<f64>,
    pub(crate) outliers: Vec<(String, f64)>,
}

/// Up to this number, nodes are dots.
const MOST_DOTS: usize = 64;
/// Width of a bin of a histogram, in units of the view box.
const BIN: f64 = 4.0;
/// Half of the height of what is drawn in a line.
const HALF: f64 = 8.0;
/// A share beyond these is drawn at the end of the axis, so that the other nodes stay apart; its tooltip has the value.
const SHARES: (f64, f64) = (0.5, 1.5);
const MOST_MARKED: usize = 12;
const MOST_NAMED: usize = 2;

pub(crate) fn strips(words: [&str; 3], area: Option<Area>, strips: &[Strip]) -> [String; 2] {
    svgs(area, words, |width| draw(strips, width)).0
}

/// The sizes of a drawing. Names are left of the lines in a wide one, else above them.
struct Frame {
    is_wide: bool,
    left: f64,
    right: f64,
    width: f64,
    top: f64,
    step: f64,
}

impl Frame {
    fn of(width: f64) -> Self {
        let is_wide = width >= NARROW;
        let (left, right, step) = if is_wide { (252.0, width - 100.0, 26.0) } else { (4.0, width - 4.0, 44.0) };
        Self { is_wide, left, right, width, top: TEXT + 14.0, step }
    }

    fn middle(&self, index: usize) -> f64 {
        self.top + (index as f64 + 1.0) * self.step - self.step.min(26.0) / 2.0
    }
}

fn draw(strips: &[Strip], width: f64) -> (Canvas, f64) {
    let mut canvas = Canvas::of(width);
    let frame = Frame::of(width);
    let most_label = if frame.is_wide { 130.0 } else { 96.0 };
    let labels: Vec<String> = strips.iter().map(|strip| cut(&outlier_names(strip), most_label)).collect();
    // The name of the slowest node is to the left of its value.
    let room = widest(&labels);
    let ends = (frame.left + if room > 0.0 { room + 12.0 } else { 8.0 }, frame.right - 10.0);
    let drawn = strips.iter().flat_map(|strip| strip.shares.iter().chain(&strip.limit));
    let drawn: Vec<f64> = drawn.map(|share| share.clamp(SHARES.0, SHARES.1)).collect();
    let scale = Scale::new(Reading::Share, &drawn, ends, if frame.is_wide { 6 } else { 4 });
    let height = frame.top + strips.len() as f64 * frame.step + 6.0;
    axis(&mut canvas, &scale, &frame, strips.len());
    for (index, (strip, label)) in strips.iter().zip(&labels).enumerate() {
        line(&mut canvas, &scale, &frame, index, (strip, label));
    }
    (canvas, height)
}

/// Shares at the top with a vertical line each, which does not cross names above the lines.
fn axis(canvas: &mut Canvas, scale: &Scale, frame: &Frame, lines: usize) {
    let reach = if frame.is_wide { frame.step / 2.0 } else { HALF + 4.0 };
    for tick in &scale.ticks {
        let Some(x) = scale.at(tick.value) else { continue };
        let is_median = (tick.value - 1.0).abs() < 1e-9;
        let class = if is_median { "frame" } else { "grid" };
        if frame.is_wide {
            canvas.line(class, (x, frame.top - 4.0), (x, frame.middle(lines.saturating_sub(1)) + reach));
        } else {
            (0..lines).map(|line| frame.middle(line)).for_each(|y| canvas.line(class, (x, y - reach), (x, y + reach)));
        }
        let text = if is_median { "median" } else { &tick.text };
        canvas.text("tick", (x, frame.top - 9.0), Anchor::Middle, text);
    }
}

fn place(scale: &Scale, share: f64) -> f64 {
    scale.clamped(share.clamp(SHARES.0, SHARES.1))
}

fn line(canvas: &mut Canvas, scale: &Scale, frame: &Frame, index: usize, (strip, label): (&Strip, &str)) {
    let y = frame.middle(index);
    if frame.is_wide {
        canvas.text("name", (0.0, y + 4.0), Anchor::Start, &cut(&strip.name, frame.left - 6.0));
        canvas.text("tick", (frame.width, y + 4.0), Anchor::End, &strip.median);
    } else {
        let above = y - HALF - 6.0;
        let room = frame.width - text_width(&strip.median) - 10.0;
        canvas.text("name", (0.0, above), Anchor::Start, &cut(&strip.name, room));
        canvas.text("tick", (frame.width, above), Anchor::End, &strip.median);
    }
    let x = |share: f64| place(scale, share);
    let [low, high] = strip.quartiles.map(x);
    canvas.rect("band b1", (low, y - HALF), (high - low, 2.0 * HALF));
    if strip.shares.len() > MOST_DOTS {
        histogram(canvas, scale, y, &strip.shares);
    } else {
        dots(canvas, scale, y, &strip.shares);
    }
    if let Some(limit) = strip.limit {
        canvas.line("edge", (x(limit), y - HALF - 2.0), (x(limit), y + HALF + 2.0));
    }
    let mark = |value, text| Mark { id: strip.id.clone(), value, text, ..Mark::default() };
    canvas.mark("limit", Shape::Bar, (x(1.0), y), &mark(strip.value, strip.text.clone()));
    for (node, share) in strip.outliers.iter().take(MOST_MARKED) {
        let text = format!("{node}: {} of the median, {}", percent(*share), strip.name);
        canvas.mark("mark m1", Shape::Diamond, (x(*share), y), &mark(*share, text));
    }
    if let Some((_, worst)) = strip.outliers.first() {
        canvas.text("name", (x(*worst) - 9.0, y + 4.0), Anchor::End, label);
    }
}

fn outlier_names(strip: &Strip) -> String {
    if let [(node, share)] = strip.outliers.as_slice() {
        return format!("{node} {}", percent_whole(*share));
    }
    let named = strip.outliers.iter().take(MOST_NAMED).map(|(node, _)| node.as_str()).collect::<Vec<_>>().join(", ");
    match strip.outliers.len().saturating_sub(MOST_NAMED) {
        0 => named,
        more => format!("{named}, +{more}"),
    }
}

fn dots(canvas: &mut Canvas, scale: &Scale, y: f64, shares: &[f64]) {
    const LANES: [f64; 3] = [0.0, -4.0, 4.0];
    let lanes = if shares.len() > 12 { &LANES[..] } else { &LANES[..1] };
    let at = shares.iter().enumerate().map(|(index, share)| (place(scale, *share), y + lanes[index % lanes.len()]));
    canvas.dots(&at.collect::<Vec<At>>(), 2.6);
}

/// Bins as one outline; a bin of one node is still visible.
fn histogram(canvas: &mut Canvas, scale: &Scale, y: f64, shares: &[f64]) {
    let mut bins = BTreeMap::new();
    for share in shares {
        #[expect(clippy::cast_possible_truncation, reason = "a coordinate of some hundred units")]
        let bin = (place(scale, *share) / BIN).floor() as i32;
        *bins.entry(bin).or_insert(0_u32) += 1;
    }
    let most = f64::from(bins.values().copied().max().unwrap_or(1));
    let base = y + HALF;
    for run in bins.iter().collect::<Vec<_>>().chunk_by(|one, next| next.0 - one.0 == 1) {
        let mut outline = vec![(f64::from(*run[0].0) * BIN, base)];
        for (bin, count) in run {
            let (from, top) = (f64::from(**bin) * BIN, base - (f64::from(**count) / most * 2.0 * HALF).max(1.5));
            outline.extend([(from, top), (from + BIN, top)]);
        }
        outline.push((f64::from(*run[run.len() - 1].0 + 1) * BIN, base));
        canvas.polygon("sample", &outline);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strip(nodes: usize) -> Strip {
        let shares: Vec<f64> = (0..nodes).map(|node| 1.0 + 0.01 * ((node * 7 % 11) as f64 - 5.0) / 5.0).collect();
        Strip {
            name: "fma fp64 avx512, 2 threads".to_owned(),
            id: "cpu/fma/fp64/avx512/t2".to_owned(),
            median: "241.0 GFLOP/s".to_owned(),
            value: 241e9,
            text: "the line".to_owned(),
            shares,
            quartiles: [0.995, 1.005],
            limit: Some(0.94),
            outliers: vec![("n17".to_owned(), 0.62)],
        }
    }

    fn drawn(nodes: usize) -> String {
        let [wide, _] = strips(["s", "Equal?", "About"], Some(Area::Cpu), &[strip(nodes)]);
        wide
    }

    #[test]
    fn an_outlier_is_marked_and_named() {
        let svg = drawn(8);
        assert!(svg.contains(">n17 62 %</text>") && svg.contains("n17: 62.0 % of the median"), "{svg}");
        let quiet = strips(["s", "", ""], None, &[Strip { outliers: Vec::new(), ..strip(8) }]);
        assert!(!quiet[0].contains("n17"));
    }
}
