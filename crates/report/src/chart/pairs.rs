//! Heat maps from node to node: the slower, the stronger the colour. Up to 64 nodes have a row and a column each; above
//! that, consecutive nodes share one, and a cell shows the slowest of its pairs.

use std::collections::BTreeMap;

use areas::chart::Mark;
use model::experiment::Area;

use super::drawing::svgs;
use super::svg::{Anchor, At, Canvas, TEXT, cut, ramp_width, text_width, widest};

pub(crate) const MOST_SIDES: usize = 64;
/// Cells are marks up to this number of nodes.
const MOST_MARKED: usize = 16;
/// The share of the median that has the strongest colour.
const STRONGEST: f64 = 0.5;
const STEPS: usize = 8;
const LARGEST: f64 = 40.0;

#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) share: Option<f64>,
    pub(crate) value: String,
    pub(crate) text: String,
}

/// The number of nodes that share a row.
pub(crate) const fn sharing(nodes: usize) -> usize {
    nodes.div_ceil(MOST_SIDES)
}

pub(crate) fn matrix(
    area: Option<Area>,
    words: [&str; 3],
    names: &[String],
    unit: &str,
    pairs: &[Pair],
) -> Option<[String; 2]> {
    pairs.first()?;
    Some(svgs(area, words, |width| draw(names, unit, pairs, width)).0)
}

/// The slowest pair of each cell.
fn cells(pairs: &[Pair], together: usize) -> BTreeMap<(usize, usize), &Pair> {
    let mut cells: BTreeMap<(usize, usize), &Pair> = BTreeMap::new();
    // A pair without a value counts least.
    let weight = |pair: &Pair| pair.share.unwrap_or(f64::INFINITY);
    for pair in pairs {
        let cell = cells.entry((pair.from / together, pair.to / together)).or_insert(pair);
        if weight(pair) < weight(cell) {
            *cell = pair;
        }
    }
    cells
}

/// The names of rows and columns; columns have numbers where names do not fit.
fn sides(names: &[String], together: usize, room: f64) -> [Vec<String>; 2] {
    let numbers = (0..names.len()).step_by(together).map(|first| {
        let last = (first + together).min(names.len());
        if together == 1 { last.to_string() } else { format!("{}\u{2013}{last}", first + 1) }
    });
    let numbers: Vec<String> = numbers.collect();
    if together > 1 {
        return [numbers.clone(), numbers];
    }
    if widest(names) + 6.0 <= room {
        return [names.to_vec(), names.to_vec()];
    }
    [names.iter().zip(&numbers).map(|(name, number)| format!("{number} {name}")).collect(), numbers]
}

fn draw(names: &[String], unit: &str, pairs: &[Pair], width: f64) -> (Canvas, f64) {
    let mut canvas = Canvas::of(width);
    let together = sharing(names.len());
    let count = names.len().div_ceil(together).max(1);
    let room = (width / (count as f64 + 2.0)).min(LARGEST);
    let [rows, columns] = sides(names, together, room);
    let rows: Vec<String> = rows.iter().map(|name| cut(name, width / 4.0)).collect();
    let left = widest(&rows) + 12.0;
    let side = ((width - left - 4.0) / count as f64).min(LARGEST);
    let top = TEXT + 26.0;
    let above = ["from (down) to (across)", unit].into_iter().filter(|part| !part.is_empty());
    canvas.text("unit", (0.0, TEXT), Anchor::Start, &above.collect::<Vec<_>>().join(", "));
    canvas.sides([&rows, &columns], (left, top), (side, side));
    let place = |(from, to): (usize, usize)| (left + to as f64 * side, top + from as f64 * side);
    let cells = cells(pairs, together);
    let values = cells.iter().filter_map(|(at, pair)| Some((place(*at), *pair, slowness(pair.share?))));
    if names.len() <= MOST_MARKED {
        marks(&mut canvas, values, side);
    } else {
        tiles(&mut canvas, values, side);
    }
    let holes = cells.iter().filter(|(_, pair)| pair.share.is_none()).map(|(at, _)| place(*at));
    let holes: Vec<At> = holes.map(|(x, y)| (x + side / 2.0, y + side / 2.0)).collect();
    canvas.crosses("whisker t2", &holes, (side / 4.0).min(4.0));
    let height = key(&mut canvas, (left, top + count as f64 * side + 8.0), width, !holes.is_empty());
    (canvas, height)
}

fn marks<'a>(canvas: &mut Canvas, cells: impl Iterator<Item = (At, &'a Pair, f64)> + Clone, side: f64) {
    let fits = cells.clone().all(|(_, pair, _)| text_width(&pair.value) + 4.0 <= side);
    for ((x, y), pair, slowness) in cells {
        let mark = Mark { value: pair.share.unwrap_or_default(), text: pair.text.clone(), ..Mark::default() };
        canvas.cell((x, y), (side, side), slowness, &mark);
        if fits {
            canvas.text("name", (x + side / 2.0, y + side / 2.0 + 4.0), Anchor::Middle, &pair.value);
        }
    }
}

fn tiles<'a>(canvas: &mut Canvas, cells: impl Iterator<Item = (At, &'a Pair, f64)>, side: f64) {
    let mut steps = vec![Vec::new(); STEPS + 1];
    for (at, _, slowness) in cells {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to the number of steps")]
        let step = (slowness * STEPS as f64).round() as usize;
        steps[step].push(at);
    }
    for (step, at) in steps.iter().enumerate() {
        canvas.tiles(at, side, step as f64 / STEPS as f64);
    }
}

/// The strength of the colour of a share of the median: 0 for the median and faster.
fn slowness(share: f64) -> f64 {
    ((1.0 - share) / (1.0 - STRONGEST)).clamp(0.0, 1.0)
}

/// Draws the key of colours and crosses and returns its lower end.
fn key(canvas: &mut Canvas, (left, mut y): At, width: f64, has_holes: bool) -> f64 {
    let ends = ["median or faster", "half of it or less"];
    let x = if left + ramp_width(ends) <= width { left } else { 0.0 };
    canvas.ramp((x, y), ends);
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
            |(from, to)| Pair { from, to, share: share(from, to), value: "1".into(), text: format!("{from}>{to}") };
        pairs.map(pair).collect()
    }

    #[test]
    fn consecutive_nodes_share_a_cell_with_the_slowest_pair() {
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
        let words = ["m", "t", "a"];
        for nodes in [64, 200] {
            let names: Vec<String> = (0..nodes).map(|node| format!("node-{node:04}")).collect();
            let chart = matrix(
                None,
                words,
                &names,
                "Gb/s",
                &all(nodes, |from, to| Some(1.0 - (from % 7 * to % 5) as f64 / 50.0)),
            );
            let bytes = chart.unwrap()[0].len();
            assert!(bytes < 150_000, "{nodes}: {bytes}");
        }
        assert!(matrix(None, words, &[], "", &[]).is_none());
    }
}
