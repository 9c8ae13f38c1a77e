//! How charts look: one set of rules for all, colours by name, so that a page can theme them and a file of its own has
//! them resolved.

use std::fmt::Write as _;

use model::experiment::Area;

/// Colours of the light theme, by the name of their custom property without `--chart-`. Text on paper has at least 4.5:1,
/// lines and marks at least 3:1 (WCAG 2.2, 1.4.3 and 1.4.11).
pub const LIGHT: &[(&str, &str)] = &[
    ("paper", "#ffffff"),
    ("ink", "#1d2329"),
    ("quiet", "#59636e"),
    ("grid", "#e4e7ea"),
    ("frame", "#9aa4ae"),
    ("second", "#3d4752"),
    ("third", "#7b8794"),
    ("cpu", "#1f6feb"),
    ("linpack", "#8250df"),
    ("memory", "#1a7f5a"),
    ("disk", "#b35900"),
    ("net", "#0b7285"),
];

/// The same of the dark theme.
pub const DARK: &[(&str, &str)] = &[
    ("paper", "#14181d"),
    ("ink", "#e6eaee"),
    ("quiet", "#9aa6b2"),
    ("grid", "#272e36"),
    ("frame", "#5a6673"),
    ("second", "#c4cdd6"),
    ("third", "#8d99a6"),
    ("cpu", "#6ea8fe"),
    ("linpack", "#b79bf5"),
    ("memory", "#4cc38a"),
    ("disk", "#f0a35e"),
    ("net", "#4fc3d9"),
];

/// What a chart's elements look like. Every colour is a custom property of [`LIGHT`], or `--chart-accent`, which is that
/// of the chart's area.
const RULES: &str = include_str!("chart.css");

/// The style sheet of a page with charts: the light colours, the rules, and each area's accent. A page in the dark theme
/// sets the colours of [`DARK`] over them; [`colours`] writes them.
pub fn style() -> String {
    let mut out = format!(":root{{{}}}\n", colours(LIGHT));
    for area in Area::ALL {
        let _ = writeln!(out, ".chart-{area}{{--chart-accent:var(--chart-{area})}}");
    }
    out.push_str(".chart-run{--chart-accent:var(--chart-ink)}\n");
    out.push_str("svg.chart{display:block;width:100%;height:auto}\nsvg.spark{display:inline;width:8em;height:1.6em}\n");
    out.push_str(RULES);
    out
}

/// Declarations of custom properties: `--chart-paper:#ffffff;…`.
pub fn colours(theme: &[(&str, &str)]) -> String {
    theme.iter().fold(String::new(), |mut out, (name, value)| {
        let _ = write!(out, "--chart-{name}:{value};");
        out
    })
}

/// The rules for a file of its own: the light colours in the place of custom properties, which not every program that
/// draws SVG knows.
pub(super) fn resolved(area: Option<Area>) -> String {
    let accent = area.map_or("ink", Area::name);
    let rules = RULES.replace("var(--chart-accent)", &format!("var(--chart-{accent})"));
    LIGHT.iter().fold(rules, |rules, (name, value)| rules.replace(&format!("var(--chart-{name})"), value))
}

/// The class of a chart of this area.
pub(super) fn class(area: Option<Area>) -> String {
    format!("chart chart-{}", area.map_or("run", Area::name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_its_own_needs_no_custom_property() {
        for area in Area::ALL.iter().map(|area| Some(*area)).chain([None]) {
            assert!(!resolved(area).contains("var("), "{}", resolved(area));
        }
        assert!(resolved(Some(Area::Disk)).contains("#b35900"));
    }

    #[test]
    fn both_themes_have_the_same_colours() {
        let names = |theme: &[(&'static str, &str)]| theme.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        assert_eq!(names(LIGHT), names(DARK));
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
    fn what_carries_meaning_stands_out_from_the_paper() {
        for theme in [LIGHT, DARK] {
            let paper = luminance(theme[0].1);
            for (name, value) in &theme[1..] {
                let (light, dark) = (luminance(value).max(paper), luminance(value).min(paper));
                let contrast = (light + 0.05) / (dark + 0.05);
                let least = match *name {
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
