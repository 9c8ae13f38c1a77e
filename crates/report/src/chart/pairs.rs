//! From node to node: a square of cells, the stronger the colour the slower. Up to 64 nodes have a line and a column
//! each; of more, neighbours share one, and a cell shows the slowest of its pairs.

use std::collections::BTreeMap;

use model::experiment::Area;

use super::drawing::{Chart, Drawing, Head, finish};
use super::strips::Words;
use super::svg::{Anchor, Canvas, Facts, TEXT, cut, text_width};

/// The most lines and columns.
pub(crate) const MOST_SIDES: usize = 64;
/// Up to so many nodes, each cell says what it is.
const MOST_TOLD: usize = 16;
/// A cell that reaches this share of the median, or less, has the strongest colour.
const STRONGEST: f64 = 0.5;
/// Steps of the colour.
const STEPS: usize = 8;
/// The largest side of a cell.
const LARGEST: f64 = 40.0;

/// A pair.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    /// Place of the node that sends.
    pub(crate) from: usize,
    /// Place of the other.
    pub(crate) to: usize,
    /// Share of the median, less being slower; `None` where it could not be measured.
    pub(crate) share: Option<f64>,
    /// Its value in a few characters.
    pub(crate) told: String,
    /// Its sentence.
    pub(crate) text: String,
}

/// How many nodes share a line.
pub(crate) const fn sharing(nodes: usize) -> usize {
    nodes.div_ceil(MOST_SIDES)
}

/// The chart; `None` where there is no pair.
pub(crate) fn matrix(words: Words<'_>, names: &[String], unit: &str, pairs: &[Pair]) -> Option<Chart> {
    pairs.first()?;
    let mut head = Head::new(Some(Area::Net), words.name, words.title);
    words.about.clone_into(&mut head.about);
    let table = head.grid(Vec::new(), Vec::new());
    let (wide, narrow) = (draw(names, unit, pairs, 720.0), draw(names, unit, pairs, 360.0));
    Some(finish(head, [&wide, &narrow], table, Vec::new()))
}

/// What stands at a place of the square: its slowest pair.
fn cells<'a>(pairs: &'a [Pair], together: usize) -> BTreeMap<(usize, usize), &'a Pair> {
    let mut cells: BTreeMap<(usize, usize), &'a Pair> = BTreeMap::new();
    // What has a value says more than what has none, and the slowest of values most.
    let weight = |pair: &Pair| pair.share.unwrap_or(f64::INFINITY);
    for pair in pairs {
        let cell = cells.entry((pair.from / together, pair.to / together)).or_insert(pair);
        if weight(pair) < weight(cell) {
            *cell = pair;
        }
    }
    cells
}

/// The names of lines and of columns; columns are numbered where names would not fit.
fn sides(names: &[String], together: usize, room: f64) -> (Vec<String>, Vec<String>) {
    let numbers = (0..names.len()).step_by(together).map(|first| {
        let last = (first + together).min(names.len());
        if together == 1 { last.to_string() } else { format!("{}\u{2013}{last}", first + 1) }
    });
    let numbers: Vec<String> = numbers.collect();
    if together > 1 {
        return (numbers.clone(), numbers);
    }
    if names.iter().all(|name| text_width(name) + 6.0 <= room) {
        return (names.to_vec(), names.to_vec());
    }
    (names.iter().zip(&numbers).map(|(name, number)| format!("{number} {name}")).collect(), numbers)
}

fn draw(names: &[String], unit: &str, pairs: &[Pair], width: f64) -> Drawing {
    let mut canvas = Canvas::of(width);
    let together = sharing(names.len());
    let count = names.len().div_ceil(together).max(1);
    let room = (width / (count as f64 + 2.0)).min(LARGEST);
    let (rows, columns) = sides(names, together, room);
    let rows: Vec<String> = rows.iter().map(|name| cut(name, width / 4.0)).collect();
    let left = rows.iter().map(|name| text_width(name)).fold(0.0, f64::max) + 12.0;
    let side = ((width - left - 4.0) / count as f64).min(LARGEST);
    let top = TEXT + 26.0;
    let above = ["from (down) to (across)", unit].into_iter().filter(|part| !part.is_empty());
    canvas.text("unit", (0.0, TEXT), Anchor::Start, &above.collect::<Vec<_>>().join(", "));
    name_sides(&mut canvas, (&rows, &columns), (left, top), side);
    let place = |(from, to): (usize, usize)| (left + to as f64 * side, top + from as f64 * side);
    let cells = cells(pairs, together);
    if names.len() <= MOST_TOLD {
        told(&mut canvas, &cells, side, place);
    } else {
        tiles(&mut canvas, &cells, side, place);
    }
    let holes = cells.iter().filter(|(_, pair)| pair.share.is_none());
    let holes: Vec<(f64, f64)> =
        holes.map(|(at, _)| place(*at)).map(|(x, y)| (x + side / 2.0, y + side / 2.0)).collect();
    canvas.crosses("whisker t2", &holes, (side / 4.0).min(4.0));
    let height = key(&mut canvas, (left, top + count as f64 * side + 8.0), width, !holes.is_empty());
    Drawing { width, height, body: canvas.into_body() }
}

/// Cells with what they are.
fn told(
    canvas: &mut Canvas,
    cells: &BTreeMap<(usize, usize), &Pair>,
    side: f64,
    place: impl Fn((usize, usize)) -> (f64, f64),
) {
    let fits = cells.values().all(|pair| text_width(&pair.told) + 4.0 <= side);
    for (at, pair) in cells {
        let Some(share) = pair.share else { continue };
        let (x, y) = place(*at);
        let facts = Facts { value: share, text: pair.text.clone(), ..Facts::default() };
        canvas.cell((x, y), (side, side), slowness(share), &facts);
        if fits {
            canvas.text("name", (x + side / 2.0, y + side / 2.0 + 4.0), Anchor::Middle, &pair.told);
        }
    }
}

/// Many cells, all of one colour as one path.
fn tiles(
    canvas: &mut Canvas,
    cells: &BTreeMap<(usize, usize), &Pair>,
    side: f64,
    place: impl Fn((usize, usize)) -> (f64, f64),
) {
    let mut steps = vec![Vec::new(); STEPS + 1];
    for (at, pair) in cells {
        let Some(share) = pair.share else { continue };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to the number of steps")]
        let step = (slowness(share) * STEPS as f64).round() as usize;
        steps[step].push(place(*at));
    }
    for (step, at) in steps.iter().enumerate() {
        canvas.tiles(at, side, step as f64 / STEPS as f64);
    }
}

/// How strong the colour of a share of the median is: 0 for the median and what is faster.
fn slowness(share: f64) -> f64 {
    ((1.0 - share) / (1.0 - STRONGEST)).clamp(0.0, 1.0)
}

/// As many names as do not touch.
fn name_sides(canvas: &mut Canvas, (rows, columns): (&[String], &[String]), (left, top): (f64, f64), side: f64) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive quotient")]
    let every = |needed: f64| (needed / side).ceil().max(1.0) as usize;
    let widest = columns.iter().map(|name| text_width(name)).fold(0.0, f64::max);
    for (index, name) in columns.iter().enumerate().step_by(every(widest + 5.0)) {
        canvas.text("tick", (left + (index as f64 + 0.5) * side, top - 6.0), Anchor::Middle, name);
    }
    for (index, name) in rows.iter().enumerate().step_by(every(TEXT + 2.0)) {
        canvas.text("tick", (left - 7.0, top + (index as f64 + 0.5) * side + 4.0), Anchor::End, name);
    }
}

/// What the colours and the cross stand for, and where that ends.
fn key(canvas: &mut Canvas, (left, mut y): (f64, f64), width: f64, has_holes: bool) -> f64 {
    let ends = ["median or faster", "half of it or less"];
    let needed = ends.iter().map(|end| text_width(end)).sum::<f64>() + 5.0 * 18.0 + 16.0;
    let x = if left + needed <= width { left } else { 0.0 };
    let from = x + text_width(ends[0]) + 8.0;
    canvas.text("tick", (x, y + TEXT), Anchor::Start, ends[0]);
    for step in 0..5 {
        canvas.swatch((from + f64::from(step) * 18.0, y), (18.0, TEXT + 2.0), f64::from(step) / 4.0);
    }
    canvas.text("tick", (from + 98.0, y + TEXT), Anchor::Start, ends[1]);
    if has_holes {
        y += TEXT + 10.0;
        canvas.crosses("whisker t2", &[(x + 5.0, y + TEXT - 4.0)], 4.0);
        canvas.text("tick", (x + 16.0, y + TEXT), Anchor::Start, "not measured");
    }
    y + TEXT + 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(nodes: usize, share: impl Fn(usize, usize) -> Option<f64>) -> Vec<Pair> {
        let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))).filter(|(from, to)| from != to);
        let pair =
            |(from, to)| Pair { from, to, share: share(from, to), told: "1".into(), text: format!("{from}>{to}") };
        pairs.map(pair).collect()
    }

    #[test]
    fn neighbours_share_a_cell_and_the_slowest_of_them_is_shown() {
        let pairs = all(128, |from, to| Some(if (from, to) == (17, 99) { 0.3 } else { 1.0 }));
        let cells = cells(&pairs, sharing(128));
        assert_eq!((sharing(128), sharing(64), sharing(65), cells.len()), (2, 1, 2, 64 * 64));
        let slow: Vec<_> = cells.iter().filter(|(_, pair)| pair.share.is_some_and(|share| share < 0.9)).collect();
        assert_eq!((slow.len(), *slow[0].0), (1, (8, 49)));
    }

    #[test]
    fn a_hole_gives_way_to_a_value() {
        let pairs = all(128, |from, _| (from == 1).then_some(0.9));
        assert!(cells(&pairs, 2)[&(0, 3)].share.is_some() && cells(&pairs, 2)[&(1, 3)].share.is_none());
    }

    #[test]
    fn a_square_of_any_number_of_nodes_is_small() {
        let words = Words { name: "m", title: "t", about: "a" };
        for nodes in [64, 200] {
            let names: Vec<String> = (0..nodes).map(|node| format!("node-{node:04}")).collect();
            let chart =
                matrix(words, &names, "Gb/s", &all(nodes, |from, to| Some(1.0 - (from % 7 * to % 5) as f64 / 50.0)));
            let bytes = chart.unwrap().svg.len();
            assert!(bytes < 150_000, "{nodes}: {bytes}");
        }
        assert!(matrix(words, &[], "", &[]).is_none());
    }
}
