//! The style of charts: one set of rules, with colours by name, so that the HTML report has themes and a single file has
//! the colours themselves.

use std::fmt::Write as _;

use areas::label::labels;
use model::experiment::Area;

/// A theme's colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Dark text on white.
    Light,
    /// Light text on black.
    Dark,
}

/// The common colours by the name of their custom property without `--chart-`: light, then dark. On paper, text has a
/// contrast of at least 4.5:1, lines and marks of 3:1 (WCAG 2.2, 1.4.3 and 1.4.11).
const COMMON: [(&str, [&str; 2]); 7] = [
    ("paper", ["#ffffff", "#14181d"]),
    ("ink", ["#1d2329", "#e6eaee"]),
    ("quiet", ["#59636e", "#9aa6b2"]),
    ("grid", ["#e4e7ea", "#272e36"]),
    ("frame", ["#9aa4ae", "#5a6673"]),
    ("second", ["#3d4752", "#c4cdd6"]),
    ("third", ["#7b8794", "#8d99a6"]),
];

pub(super) const PAPER: &str = COMMON[0].1[0];

/// The names and colours of a theme: the common ones, then each area's.
fn palette(theme: Theme) -> impl Iterator<Item = (&'static str, &'static str)> {
    let areas = Area::ALL.iter().map(|area| (area.name(), labels(*area).colours));
    COMMON.into_iter().chain(areas).map(move |(name, colours)| (name, colours[theme as usize]))
}

/// The rules. Every colour is a custom property of [`palette`], or `--chart-accent`, the colour of the chart's area.
const RULES: &str = include_str!("chart.css");

/// The style sheet of a report with charts: the light colours, the rules, and each area's accent. The dark theme sets its
/// own [`colours`].
pub fn style() -> String {
    let mut out = format!(":root{{{}}}\n", colours(Theme::Light));
    for area in Area::ALL {
        let _ = writeln!(out, ".chart-{area}{{--chart-accent:var(--chart-{area})}}");
    }
    out.push_str(".chart-run{--chart-accent:var(--chart-ink)}\n");
    out.push_str("svg.chart{display:block;width:100%;height:auto}\n");
    out.push_str(RULES);
    out
}

/// Declarations of custom properties: `--chart-paper:#ffffff;…`.
pub fn colours(theme: Theme) -> String {
    palette(theme).map(|(name, value)| format!("--chart-{name}:{value};")).collect::<Vec<_>>().concat()
}

/// The rules for a single SVG file: with the light colours instead of custom properties, which some programs do not know.
pub(super) fn resolved(area: Option<Area>) -> String {
    let accent = area.map_or("ink", Area::name);
    let rules = RULES.replace("var(--chart-accent)", &format!("var(--chart-{accent})"));
    palette(Theme::Light).fold(rules, |rules, (name, value)| rules.replace(&format!("var(--chart-{name})"), value))
}

pub(super) fn class(area: Option<Area>) -> String {
    format!("chart chart-{}", area.map_or("run", Area::name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_file_has_no_custom_properties() {
        for area in Area::ALL.iter().map(|area| Some(*area)).chain([None]) {
            assert!(!resolved(area).contains("var("), "{}", resolved(area));
        }
        assert!(resolved(Some(Area::Disk)).contains("#b35900"), "the area's colour");
    }

    /// Relative luminance by WCAG 2.2.
    fn luminance(hex: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    #[test]
    fn colours_have_contrast_on_paper() {
        for theme in [Theme::Light, Theme::Dark] {
            let paper = luminance(COMMON[0].1[theme as usize]);
            for (name, value) in palette(theme).skip(1) {
                let (light, dark) = (luminance(value).max(paper), luminance(value).min(paper));
                let contrast = (light + 0.05) / (dark + 0.05);
                let least = match name {
                    "grid" => 1.1,
                    "frame" => 2.0,
                    "third" => 3.0,
                    _ => 4.5,
                };
                assert!(contrast >= least, "{name} {value}: {contrast:.2}");
            }
        }
    }
}
