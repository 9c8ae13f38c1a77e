//! The style of charts: one set of rules, with colours by name, so that the HTML report has themes and a single file has
//! the colours themselves.

use std::fmt::Write as _;

use areas::chart::Hue;
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
const COMMON: [(&str, [&str; 2]); 11] = [
    ("paper", ["#ffffff", "#14181d"]),
    ("ink", ["#1d2329", "#e6eaee"]),
    ("quiet", ["#59636e", "#9aa6b2"]),
    ("grid", ["#e4e7ea", "#272e36"]),
    ("frame", ["#9aa4ae", "#5a6673"]),
    ("second", ["#3d4752", "#c4cdd6"]),
    ("third", ["#7b8794", "#8d99a6"]),
    ("read", ["#2f3f9f", "#a3b0ff"]),
    ("write", ["#c2255c", "#ff8fb0"]),
    ("tcp", ["#0b7285", "#4fc3d9"]),
    ("udp", ["#6b6400", "#d6c94f"]),
];

/// How far the shades of counts are from an area's colour: towards the paper below 0, towards the ink above.
const STEPS: [f64; Hue::STEPS] = [-0.2, 0.0, 0.4, 0.8];

pub(super) const PAPER: &str = COMMON[0].1[0];

/// The names and colours of a theme: the common ones, each area's, and the shades of counts.
fn palette(theme: Theme) -> Vec<(String, String)> {
    let pick = |colours: [&'static str; 2]| colours[theme as usize];
    let [paper, ink, ..] = COMMON.map(|(_, colours)| pick(colours));
    let accents = Area::ALL.iter().map(|area| (area.name(), pick(labels(*area).colours)));
    let all = COMMON.iter().map(|(name, colours)| (*name, pick(*colours))).chain(accents.clone());
    let mut all: Vec<(String, String)> = all.map(|(name, colour)| (name.to_owned(), colour.to_owned())).collect();
    for (name, colour) in accents.chain([("ink", pick(COMMON[5].1))]) {
        let shade = |step: f64| mixed(colour, if step < 0.0 { paper } else { ink }, step.abs());
        all.extend(STEPS.iter().enumerate().map(|(index, step)| (format!("{name}-{index}"), shade(*step))));
    }
    all
}

fn mixed(one: &str, other: &str, share: f64) -> String {
    let channel =
        |hex: &str, at: usize| f64::from(u8::from_str_radix(hex.get(at..at + 2).unwrap_or("0"), 16).unwrap_or(0));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between two channels of eight bits")]
    let mix = |at: usize| (channel(one, at) * (1.0 - share) + channel(other, at) * share).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(1), mix(3), mix(5))
}

/// The end of the classes of a hue: `7` in `m7`.
pub(super) const fn hue_class(hue: Hue) -> usize {
    match hue {
        Hue::Plain(number) => number % 3,
        Hue::Step(step) => 3 + if step < Hue::STEPS { step } else { Hue::STEPS - 1 },
        Hue::Read => 7,
        Hue::Write => 8,
        Hue::Tcp => 9,
        Hue::Udp => 10,
    }
}

/// The colours of the classes of hues, by number.
const HUES: [&str; 11] =
    ["accent", "second", "third", "accent-0", "accent-1", "accent-2", "accent-3", "read", "write", "tcp", "udp"];

fn rules() -> String {
    let mut out = RULES.to_owned();
    for (number, name) in HUES.iter().enumerate() {
        let colour = format!("var(--chart-{name})");
        let _ = writeln!(
            out,
            ".chart .b{number},.chart .m{number}{{fill:{colour}}}\n.chart .t{number},.chart .h{number}{{stroke:{colour}}}"
        );
    }
    out
}

/// The rules. Every colour is a custom property of [`palette`], or `--chart-accent`, the colour of the chart's area.
const RULES: &str = include_str!("chart.css");

/// The style sheet of a report with charts: the light colours, the rules, and each area's accent. The dark theme sets its
/// own [`colours`].
pub fn style() -> String {
    let mut out = format!(":root{{{}}}\n", colours(Theme::Light));
    for (class, accent) in Area::ALL.iter().map(|area| (area.name(), area.name())).chain([("run", "ink")]) {
        let _ = write!(out, ".chart-{class}{{--chart-accent:var(--chart-{accent})");
        (0..Hue::STEPS).for_each(|step| {
            let _ = write!(out, ";--chart-accent-{step}:var(--chart-{accent}-{step})");
        });
        out.push_str("}\n");
    }
    out.push_str("svg.chart{display:block;width:100%;height:auto}\n");
    out.push_str(&rules());
    out
}

/// Declarations of custom properties: `--chart-paper:#ffffff;…`.
pub fn colours(theme: Theme) -> String {
    palette(theme).iter().map(|(name, value)| format!("--chart-{name}:{value};")).collect::<Vec<_>>().concat()
}

/// The rules for a single SVG file: with the light colours instead of custom properties, which some programs do not know.
pub(super) fn resolved(area: Option<Area>) -> String {
    let accent = area.map_or("ink", Area::name);
    let rules = rules().replace("var(--chart-accent", &format!("var(--chart-{accent}"));
    let all = palette(Theme::Light).into_iter();
    all.fold(rules, |rules, (name, value)| rules.replace(&format!("var(--chart-{name})"), &value))
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
    fn shades_and_colours_have_contrast_on_paper() {
        for theme in [Theme::Light, Theme::Dark] {
            let paper = luminance(COMMON[0].1[theme as usize]);
            for (name, value) in palette(theme).iter().skip(1) {
                let (light, dark) = (luminance(value).max(paper), luminance(value).min(paper));
                let contrast = (light + 0.05) / (dark + 0.05);
                let least = match name.as_str() {
                    "grid" => 1.1,
                    "frame" => 2.0,
                    "third" => 3.0,
                    name if name.ends_with("-0") => 3.0,
                    _ => 4.5,
                };
                assert!(contrast >= least, "{name} {value}: {contrast:.2}");
            }
        }
    }
}
