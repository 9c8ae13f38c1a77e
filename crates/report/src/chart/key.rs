//! The key above a chart: the signs that have no name next to them.

use areas::chart::{Hue, Look, Shape};

use super::style::hue_class;
use super::svg::{Anchor, At, Canvas, LINE, TEXT, cut, text_width};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    sign: Sign,
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sign {
    Series { look: Look, joined: bool },
    Mark { hue: Option<Hue>, shape: Shape },
    Peak,
    Interval,
    Whisker,
    Zone,
    Hollow,
    Sample,
    Note,
}

/// The class of a mark of this hue; without one, of a limit.
pub(super) fn mark_class(hue: Option<Hue>, hollow: bool) -> String {
    match hue {
        None => "limit".to_owned(),
        Some(hue) if hollow => format!("mark hollow h{}", hue_class(hue)),
        Some(hue) => format!("mark m{}", hue_class(hue)),
    }
}

/// The class of the line of a series.
pub(super) fn line_class(look: Look) -> String {
    format!("line t{} d{}", hue_class(look.hue), look.dash)
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

    fn draw(&self, canvas: &mut Canvas, (x, y): At) {
        match self.sign {
            Sign::Series { look, joined } => {
                if joined {
                    canvas.line(&line_class(look), (x - 9.0, y), (x + 9.0, y));
                }
                canvas.sign(&mark_class(Some(look.hue), false), look.shape, (x, y));
            }
            Sign::Mark { hue, shape } => canvas.sign(&mark_class(hue, false), shape, (x, y)),
            Sign::Peak => canvas.line("peak", (x - 8.0, y), (x + 8.0, y)),
            Sign::Interval => {
                canvas.rect("band b2", (x - 8.0, y - 5.0), (16.0, 10.0));
                canvas.line("whisker t2", (x, y - 5.0), (x, y + 5.0));
            }
            Sign::Whisker => canvas.line("whisker t2", (x - 8.0, y), (x + 8.0, y)),
            Sign::Zone => canvas.rect("zone", (x - 8.0, y - 6.0), (16.0, 12.0)),
            Sign::Hollow => canvas.sign(&mark_class(Some(Hue::Plain(1)), true), Shape::Circle, (x, y)),
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
