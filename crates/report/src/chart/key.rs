//! The key above a chart: the signs that have no name next to them.

use areas::chart::Shape;

use super::svg::{Anchor, At, Canvas, LINE, SHAPES, TEXT, cut, text_width};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    sign: Sign,
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sign {
    Series {
        look: usize,
        joined: bool,
    },
    Mark {
        tone: Option<usize>,
        shape: Shape,
    },
    /// The limit of a point.
    Peak,
    Interval,
    Hollow,
    /// Single samples.
    Sample,
    /// Text without a sign.
    Note,
}

/// Tone, dashes and shape of a series.
pub(super) const fn look(number: usize) -> (usize, usize, Shape) {
    (number % 3, number / 3 % 4, SHAPES[number % SHAPES.len()])
}

/// The class of a mark of this tone; without a tone, of a limit.
pub(super) fn mark_class(tone: Option<usize>, hollow: bool) -> String {
    match tone {
        None => "limit".to_owned(),
        Some(tone) if hollow => format!("mark hollow h{tone}"),
        Some(tone) => format!("mark m{tone}"),
    }
}

/// Room for a sign.
const SIGN: f64 = 22.0;
/// Between a meaning and the next sign.
const GAP: f64 = 18.0;

impl Item {
    pub(super) fn new(sign: Sign, name: impl Into<String>) -> Self {
        Self { sign, name: name.into() }
    }

    pub(super) fn hollow() -> Self {
        Self::new(Sign::Hollow, "hollow: low confidence")
    }

    /// Draws the sign with its centre at a point.
    fn draw(&self, canvas: &mut Canvas, (x, y): At) {
        match self.sign {
            Sign::Series { look: number, joined } => {
                let (tone, dash, shape) = look(number);
                if joined {
                    canvas.line(&format!("line t{tone} d{dash}"), (x - 9.0, y), (x + 9.0, y));
                }
                canvas.sign(&mark_class(Some(tone), false), shape, (x, y));
            }
            Sign::Mark { tone, shape } => canvas.sign(&mark_class(tone, false), shape, (x, y)),
            Sign::Peak => canvas.line("peak", (x - 8.0, y), (x + 8.0, y)),
            Sign::Interval => {
                canvas.rect("band b2", (x - 8.0, y - 5.0), (16.0, 10.0));
                canvas.line("whisker t2", (x, y - 5.0), (x, y + 5.0));
            }
            Sign::Hollow => canvas.sign(&mark_class(Some(1), true), Shape::Circle, (x, y)),
            Sign::Note => {}
            Sign::Sample => canvas.dots(&[(x - 5.0, y), (x, y), (x + 5.0, y)], 2.2),
        }
    }
}

pub(super) fn draw(canvas: &mut Canvas, items: &[Item], width: f64) -> f64 {
    let (mut x, mut line) = (0.0, 0.0);
    for item in items {
        let sign = if item.sign == Sign::Note { 0.0 } else { SIGN };
        let name = cut(&item.name, width - sign);
        let needed = sign + text_width(&name);
        if x > 0.0 && x + needed > width {
            (x, line) = (0.0, line + 1.0);
        }
        let baseline = TEXT + line * TEXT * LINE * 1.1;
        item.draw(canvas, (x + 9.0, baseline - 4.0));
        canvas.text("name", (x + sign, baseline), Anchor::Start, &name);
        x += needed + GAP;
    }
    if items.is_empty() { 0.0 } else { (line + 1.0) * TEXT * LINE * 1.1 + 10.0 }
}
