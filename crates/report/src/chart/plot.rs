//! Charts of points over an axis: lines with bands, limits and zones, in one panel or in several that share their axes.

use areas::chart::{Panel, Plot, Point, Series, Zone, by_key, is_drawable};
use model::number::quantity;

use super::key::{self, Item, Sign, line_class, mark_class};
use super::scale::{Scale, Tick};
use super::style::hue_class;
use super::svg::{Anchor, At, Canvas, NARROW, RADIUS, Segment, TEXT, cut, text_width, widest};

/// A linear axis leaves out limits beyond this multiple of the largest value, which would flatten everything else.
const FAR_LINEAR: f64 = 2.5;
/// The same on a logarithmic axis.
const FAR_LOG: f64 = 100.0;

/// More series than this have no direct labels.
const MOST_LABELS: usize = 12;
/// The bands of more series than this would cover each other; their intervals are whiskers.
const MOST_BANDS: usize = 4;
const LABEL_SHARE: f64 = 0.36;
/// Between the baselines of two direct labels.
const LABEL_STEP: f64 = 16.0;
/// From the last point to its label.
const LABEL_GAP: f64 = 14.0;
/// Free room around points inside the frame.
const INSET: f64 = 12.0;

struct Frame {
    width: f64,
    columns: usize,
    /// Width and height of one panel without its surroundings.
    plot: (f64, f64),
    left: f64,
    top: f64,
    step: f64,
    stride: f64,
}

pub(super) fn draw(plot: &Plot, width: f64) -> (Canvas, f64) {
    let mut canvas = Canvas::of(width);
    let direct = labels_fit(plot, width);
    let y = scale_y(plot, (1.0, 0.0));
    let top = key::draw(&mut canvas, &items(plot, direct, &y), width);
    let frame = frame(plot, width, top, direct, &y);
    let unit = y.titled(plot.y.title);
    canvas.text("unit", (0.0, top + TEXT), Anchor::Start, &cut(&unit, width));
    for (index, panel) in plot.panels.iter().enumerate() {
        draw_panel(plot, &mut canvas, &frame, (index, panel), direct);
    }
    let rows = plot.panels.len().div_ceil(frame.columns);
    let bottom = frame.top + rows as f64 * frame.step;
    let title = cut(&scale_x(plot, (0.0, width), width).titled(plot.x.title), width - frame.left);
    let columns = frame.columns.min(plot.panels.len()) as f64;
    let middle = frame.left + f64::midpoint(0.0, (columns - 1.0) * frame.stride + frame.plot.0);
    canvas.text("unit", (middle.max(text_width(&title) / 2.0), bottom + 2.0), Anchor::Middle, &title);
    (canvas, bottom + 12.0)
}

fn all_series(plot: &Plot) -> impl Iterator<Item = &Series> {
    plot.panels.iter().flat_map(|panel| &panel.series)
}

fn points(plot: &Plot) -> impl Iterator<Item = &Point> {
    all_series(plot).flat_map(|series| &series.points)
}

fn labels_fit(plot: &Plot, width: f64) -> bool {
    let [panel] = &plot.panels[..] else { return false };
    let fits = panel.series.iter().all(|series| text_width(&series.name) + LABEL_GAP < width * LABEL_SHARE);
    fits && panel.series.len() <= MOST_LABELS
}

fn frame(plot: &Plot, width: f64, top: f64, direct: bool, y: &Scale) -> Frame {
    let count = plot.panels.len();
    let wide = width > NARROW;
    let columns = match (wide, count) {
        (_, 0 | 1) | (false, _) => 1,
        (true, 2 | 4) => 2,
        (true, _) => 3,
    };
    let left = y.widest() + 12.0;
    let names = widest(all_series(plot).map(|series| &series.name));
    let right = if direct { names + LABEL_GAP + 6.0 } else { 12.0 };
    let gap = 34.0;
    let inner = width - left - right - gap * (columns as f64 - 1.0);
    let across = inner / columns as f64;
    let labels = if direct { plot.panels.iter().map(|panel| panel.series.len()).max().unwrap_or(0) } else { 0 };
    let usual = match (count, wide) {
        (0 | 1, true) => 270.0,
        (0 | 1, false) => 220.0,
        (_, true) => 150.0,
        (_, false) => 130.0,
    };
    let down = f64::max(usual, labels as f64 * LABEL_STEP);
    let is_above = |panel: &Panel| panel.series.iter().any(|series| series.is_named_above);
    let has_names = plot.panels.iter().any(|panel| panel.zones.iter().any(|zone| !zone.is_open()) || is_above(panel));
    let heads = if count > 1 { 20.0 } else { 0.0 } + if has_names { 18.0 } else { 0.0 };
    let step = heads + down + 36.0;
    Frame { width, columns, plot: (across, down), left, top: top + TEXT + 13.0, step, stride: across + gap }
}

fn scale_x(plot: &Plot, ends: (f64, f64), width: f64) -> Scale {
    let guides = all_series(plot).flat_map(|series| &series.guide);
    let values: Vec<f64> = points(plot).map(|point| point.x).chain(guides.map(|(x, _)| *x)).collect();
    Scale::new(plot.x.reading, &values, ends, 10).thinned((0.0, width))
}

/// The scale of all values, of their intervals, and of the limits that are near.
fn scale_y(plot: &Plot, ends: (f64, f64)) -> Scale {
    let guides = all_series(plot).flat_map(|series| &series.guide);
    let mut values: Vec<f64> = points(plot).map(|point| point.y).chain(guides.map(|(_, y)| *y)).collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    let near = |low: f64, high: f64| move |value: &f64| is_drawable(*value) && *value >= low && *value <= high;
    let intervals = points(plot).filter_map(|point| point.mark.interval).flatten();
    values.extend(intervals.filter(near(least / 2.0, most * 1.5)));
    let most_ticks = if plot.panels.len() > 1 { 4 } else { 6 };
    let bare = Scale::new(plot.y.reading, &values, ends, most_ticks);
    let far = if bare.is_log { FAR_LOG } else { FAR_LINEAR };
    values.extend(points(plot).filter_map(|point| point.limit).filter(near(least, most * far)));
    Scale::new(plot.y.reading, &values, ends, most_ticks)
}

/// The signs that have no name next to them.
fn items(plot: &Plot, direct: bool, y: &Scale) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let has_peaks = points(plot).any(|point| point.limit.is_some_and(|peak| y.at(peak).is_some()));
    for (look, alike) in by_key(all_series(plot).filter(|_| !direct), |series| Some(series.look)) {
        items.push(Item::new(Sign::Series { look, joined: alike[0].joined }, &alike[0].name));
    }
    items.extend(has_peaks.then(|| Item::new(Sign::Peak, plot.limit)));
    let beyond = points(plot).filter_map(|point| point.limit).filter(|peak| y.at(*peak).is_none());
    let beyond = beyond.reduce(f64::max).zip(plot.y.reading.notation());
    let beyond = beyond.map(|(peak, notation)| format!("{} beyond the axis: {}", plot.limit, quantity(peak, notation)));
    items.extend(beyond.map(|text| Item::new(Sign::Note, text)));
    let open = plot.panels.iter().flat_map(|panel| &panel.zones).find(|zone| zone.is_open());
    items.extend(open.map(|zone| Item::new(Sign::Zone, &zone.name)));
    let bands = points(plot).any(|point| point.mark.interval.is_some());
    items.extend(bands.then(|| Item::new(Sign::Interval, "95 % interval of the median")));
    items.extend(points(plot).any(|point| point.mark.is_doubtful()).then(Item::hollow));
    items
}

fn draw_panel(plot: &Plot, canvas: &mut Canvas, frame: &Frame, (index, panel): (usize, &Panel), direct: bool) {
    let (across, down) = frame.plot;
    let (column, row) = (index % frame.columns, index / frame.columns);
    let left = frame.left + column as f64 * frame.stride;
    let above = frame.top + row as f64 * frame.step;
    let top = above + frame.step - 36.0 - down;
    let (right, bottom) = (left + across, top + down);
    let y = scale_y(plot, (bottom, top));
    let x = scale_x(plot, (left + INSET, right - INSET), frame.width);
    if plot.panels.len() > 1 {
        canvas.text("head", (left, above + TEXT), Anchor::Start, &cut(&panel.title, across));
    }
    zones(canvas, &panel.zones, &x, (left, top, right, bottom));
    let levels = y.ticks.iter().filter_map(|tick| y.at(tick.value)).map(|at| ((left, at), (right, at)));
    canvas.segments("grid", &levels.collect::<Vec<_>>());
    for Tick { value, text } in y.ticks.iter().filter(|_| column == 0) {
        let Some(at) = y.at(*value) else { continue };
        canvas.text("tick", (left - 8.0, at + 4.0), Anchor::End, text);
    }
    let notches = x.ticks.iter().filter_map(|tick| x.at(tick.value)).map(|at| ((at, bottom), (at, bottom + 4.0)));
    let axis: Vec<Segment> = std::iter::once(((left, bottom), (right, bottom))).chain(notches).collect();
    canvas.segments("frame", &axis);
    let is_last = index + frame.columns >= plot.panels.len();
    for tick in x.ticks.iter().filter(|_| is_last) {
        let Some(middle) = x.middle(tick, (0.0, frame.width)) else { continue };
        canvas.text("tick", (middle, bottom + 17.0), Anchor::Middle, &tick.text);
    }
    for series in &panel.series {
        lines(canvas, series, panel.series.len(), (&x, &y));
    }
    for series in &panel.series {
        for point in &series.points {
            let (Some(across), Some(down)) = (x.at(point.x), y.at(point.y)) else { continue };
            let class = mark_class(Some(series.look.hue), point.mark.is_doubtful());
            canvas.mark(&class, series.look.shape, (across, down), &point.mark);
        }
    }
    if direct {
        labels(canvas, panel, (&x, &y), (left, top, right, bottom));
    }
}

fn zones(canvas: &mut Canvas, zones: &[Zone], x: &Scale, (left, top, right, bottom): (f64, f64, f64, f64)) {
    for zone in zones {
        let from = x.clamped(zone.from).max(left);
        let to = if zone.is_open() { right } else { x.clamped(zone.to).min(right) };
        if to > from {
            canvas.rect("zone", (from, top), (to - from, bottom - top));
            // What has no end is named in the key.
            if !zone.is_open() && text_width(&zone.name) <= to - from {
                canvas.text("name", (f64::midpoint(from, to), top - 5.0), Anchor::Middle, &zone.name);
            }
        }
    }
}

fn lines(canvas: &mut Canvas, series: &Series, count: usize, (x, y): (&Scale, &Scale)) {
    let (class, hue) = (line_class(series.look), hue_class(series.look.hue));
    let place = |point: &Point| Some((x.at(point.x)?, y.at(point.y)?));
    for stretch in series.points.split(|point| point.mark.interval.is_none()).filter(|_| has_band(series, count)) {
        let edge = |which: usize| {
            stretch.iter().filter_map(move |point| Some((x.at(point.x)?, y.clamped(point.mark.interval?[which]))))
        };
        let corners: Vec<At> = edge(0).chain(edge(1).collect::<Vec<_>>().into_iter().rev()).collect();
        if stretch.len() > 1 {
            canvas.polygon(&format!("band b{hue}"), &corners);
        }
    }
    if series.joined {
        let points: Vec<At> = series.points.iter().filter_map(place).collect();
        canvas.polyline(&class, &points);
    }
    let guide: Vec<At> = series.guide.iter().map(|(at, value)| (x.clamped(*at), y.clamped(*value))).collect();
    canvas.polyline(&class, &guide);
    let peak = |point: &Point| {
        let ((at, _), height) = (place(point)?, y.at(point.limit?)?);
        Some(((at - 9.0, height), (at + 9.0, height)))
    };
    canvas.segments("peak", &series.points.iter().filter_map(peak).collect::<Vec<_>>());
    let whisker = |point: &Point| {
        let ((at, middle), [low, high]) = (place(point)?, point.mark.interval?);
        let ends = (y.clamped(low), y.clamped(high));
        let is_seen = (ends.0 - middle).abs().max((ends.1 - middle).abs()) > RADIUS;
        is_seen.then_some(((at, ends.0), (at, ends.1)))
    };
    let has_whiskers = !has_band(series, count);
    let whiskers: Vec<Segment> = series.points.iter().filter(|_| has_whiskers).filter_map(whisker).collect();
    canvas.segments(&format!("whisker t{hue}"), &whiskers);
}

/// Whether the intervals of a series, one of `count`, form a band.
fn has_band(series: &Series, count: usize) -> bool {
    let two = |two: &[Point]| two.iter().all(|point| point.mark.interval.is_some());
    series.joined && count <= MOST_BANDS && series.points.windows(2).any(two)
}

/// The names of series next to their last points, as near as possible without touching.
fn labels(canvas: &mut Canvas, panel: &Panel, (x, y): (&Scale, &Scale), frame: (f64, f64, f64, f64)) {
    let (left, top, right, bottom) = frame;
    let last = |series: &Series| series.points.iter().rev().find_map(|point| Some((x.at(point.x)?, y.at(point.y)?)));
    let named = |above: bool| -> Vec<(&Series, At)> {
        let own = panel.series.iter().filter(|series| series.is_named_above == above && !series.name.is_empty());
        own.filter_map(|series| Some((series, last(series)?))).collect()
    };
    let mut right_of_points = named(false);
    right_of_points.sort_by(|one, other| one.1.1.total_cmp(&other.1.1));
    let wanted: Vec<f64> = right_of_points.iter().map(|(_, (_, at))| *at).collect();
    for ((series, (across, at)), placed) in right_of_points.iter().zip(spread(&wanted, LABEL_STEP, (top, bottom))) {
        let from = right - INSET + LABEL_GAP;
        if (placed - at).abs() > 3.0 || from - across > 3.0 * LABEL_GAP {
            canvas.line("lead", (across + RADIUS + 2.0, *at), (from - 3.0, placed));
        }
        canvas.text("name", (from, placed + 4.0), Anchor::Start, &series.name);
    }
    let mut above = named(true);
    above.sort_by(|one, other| one.1.0.total_cmp(&other.1.0));
    let wanted: Vec<f64> = above.iter().map(|(_, (across, _))| *across).collect();
    let width = widest(above.iter().map(|(series, _)| &series.name));
    let placed = spread(&wanted, width + 8.0, (left + width / 2.0, right - width / 2.0));
    for ((series, (_, at)), middle) in above.iter().zip(placed) {
        canvas.text("name", (middle, at - 10.0), Anchor::Middle, &series.name);
    }
}

/// Ascending places moved apart to at least `step`, inside `ends` as far as there is room.
fn spread(wanted: &[f64], step: f64, (low, high): (f64, f64)) -> Vec<f64> {
    let mut placed: Vec<f64> = Vec::with_capacity(wanted.len());
    for at in wanted {
        let least = placed.last().map_or(low, |before: &f64| before + step);
        placed.push(at.max(least));
    }
    let mut most = high;
    for at in placed.iter_mut().rev() {
        *at = at.min(most);
        most = *at - step;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_moved_apart_and_stay_inside() {
        assert_eq!(spread(&[10.0, 12.0, 13.0], 16.0, (0.0, 100.0)), [10.0, 26.0, 42.0]);
        assert_eq!(spread(&[90.0, 95.0], 16.0, (0.0, 100.0)), [84.0, 100.0]);
        assert_eq!(spread(&[], 16.0, (0.0, 100.0)), [0.0; 0]);
    }
}
